"""A name for a part of a value -> the path to that part, so that a change by the name changes the part.

::

    for p in points:            for $i, p in enumerate(points):
        p.x += 1          ==>       points[$i].x += 1
    row = grid[r]               $k = r; row = grid[$k]
    row.append(v)         ==>   grid[$k].append(v)

Lanes hold values and no references, so a change by such a name is refused (``analysis/aliases.py``). As long as the
name means one place in the statements behind it, each use of it is replaced by the path to that place
(``same_place.py``), which tracing then checks like any other code. A second name of a whole object is replaced by the
first one, or the first by the second; names in a new container (``hands = [left, right]``) are replaced by its items;
and a loop over places that are listed (``for row in (left, right)``) is written out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hlobatch.analysis.aliases import AnotherName
from hlobatch.frontend.by_choice import of_choice
from hlobatch.frontend.nodes import located
from hlobatch.frontend.same_place import is_kept, names_in, note_change, with_place, written_out
from hlobatch.frontend.scopes import is_path, leave_the_loop, stored_names, target_names, with_parts
from hlobatch.frontend.straight_line import StraightLineLowering
from hlobatch.frontend.syntax import assigned, helper, literal, load
from hlobatch.values.facts import of_code

_PARTS: Final = (ast.Attribute, ast.Subscript)


def of_items(lowering: StraightLineLowering, loop: ast.For) -> ast.For:
    """A loop, with paths in place of the names of its items if its body changes items by their names."""
    found = lowering.callees.facts.of(AnotherName, of_code(lowering.location(loop.target)))
    names = [name for name in target_names(loop.target) if found is not None and name in found.variables]
    known = [lowering.static_value(ast.Name(name)) for name in ("enumerate", "range")]
    if found is None or not names or known != [enumerate, range]:
        return loop
    number, count, body = lowering.temporary(), lowering.temporary(), list(loop.body)
    for name in names:
        path = _gone_over(lowering, loop, name)
        if path is None:
            return loop
        place = _item(path, number)
        if not is_kept(lowering, name, place, body):
            return loop
        body = [with_place(statement, name, place) for statement in body]
        note_change(lowering, place)
        items = helper("__hb_numbered", [path, lowering.constant(found.error)], path)
        lowering.assign(count, helper("__hb_length", [items], path), loop)
    return _counted(loop, number, count, body)


def _counted(loop: ast.For, number: str, count: str, body: list[ast.stmt]) -> ast.For:
    """A loop that also counts its turns, in the variable ``number``."""

    def stored(target: ast.expr, value: ast.expr) -> ast.stmt:
        return located(ast.Assign([target], value), target)

    def called(name: str, argument: ast.expr) -> ast.expr:
        return located(ast.Call(load(name, loop.iter), [argument], []), loop.iter)

    counted, turns = located(ast.Name(number, ast.Store()), loop.target), called("range", load(count, loop.iter))
    match loop.target, loop.iter:
        case ast.Name(), path if is_path(path):
            return _loop(loop, counted, turns, [stored(loop.target, _item(path, number)), *body])
        case ast.Tuple([place, ast.Name() as name]), ast.Call(_, [path], []) if is_path(path):
            given = [stored(place, load(number, place)), stored(name, _item(path, number))]
            return _loop(loop, counted, turns, [*given, *body])
    target = located(ast.Tuple([counted, loop.target], ast.Store()), loop.target)
    return _loop(loop, target, called("enumerate", loop.iter), body)


def _item(path: ast.expr, number: str) -> ast.expr:
    """The item of a container in the turn whose number is in a variable."""
    return located(ast.Subscript(path, load(number, path), ast.Load()), path)


def _loop(loop: ast.For, target: ast.expr, over: ast.expr, body: list[ast.stmt]) -> ast.For:
    return located(ast.For(target, over, body, loop.orelse, None), loop)


def _gone_over(lowering: StraightLineLowering, loop: ast.For, variable: str) -> ast.expr | None:
    """The expression of the container that a loop's variable takes its values from; None if there is none."""

    def of(target: ast.expr, over: ast.expr) -> ast.expr | None:
        match target, over:
            case ast.Name(name), _ if name == variable:
                return over
            case ast.Tuple([_, item]), ast.Call(function, [items]) if lowering.static_value(function) is enumerate:
                return of(item, items)
            case ast.Tuple(parts), ast.Call(function, others) if lowering.static_value(function) is zip and len(
                parts
            ) == len(others):
                return next((found for one in zip(parts, others, strict=True) if (found := of(*one))), None)
        return None

    return of(loop.target, loop.iter)


def of_name(
    lowering: StraightLineLowering, node: ast.stmt, behind: Sequence[ast.stmt]
) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
    """An assignment, as some statements, and the statements behind it, with paths in place of names.

    None if the assignment needs no change.
    """
    if (choice := of_choice(lowering, node, behind)) is not None:
        return choice
    if not isinstance(node, ast.Assign):
        return None
    found = lowering.callees.facts.of(AnotherName, of_code(lowering.location(node)))
    if found is None:
        return None
    if len(node.targets) > 1:
        return _of_one_object(lowering, node, behind)
    return _of_parts(lowering, node, found.variables, behind)


def _of_parts(
    lowering: StraightLineLowering, node: ast.Assign, variables: frozenset[str], behind: Sequence[ast.stmt]
) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
    """An assignment with one target and the statements behind it, as by ``of_name``.

    Args:
        lowering: The lowering of the function.
        node: The assignment.
        variables: The names of which a change shows under another name.
        behind: The statements behind the assignment.
    """
    pairs = list(_bound(node.targets[0], node.value))
    if len({name for name, _ in pairs}) < len(pairs):
        return None
    kept: list[tuple[str, ast.expr]] = []
    others, changed, bound = list(behind), node, stored_names(node)
    for name, value in pairs:
        path = _item_of_default(value)
        if name in variables and isinstance(path, _PARTS):
            place = _with_kept_keys(lowering, path, kept)
            written = written_out(lowering, name, place, others) if bound.isdisjoint(names_in(place)) else None
            if written is None:
                return None
            if isinstance(value, ast.Call):
                kept.append((lowering.temporary(), _setdefault(place, value)))
            others, changed = written, _replaced(changed, value, place)
        elif name in variables:
            others = _of_whole(lowering, load(name, node), path, variables - bound, others)
    for name, key in kept:
        lowering.assign(name, key, node)
    return [changed], others


def _of_whole(
    lowering: StraightLineLowering, name: ast.expr, value: ast.expr, variables: frozenset[str], behind: list[ast.stmt]
) -> list[ast.stmt]:
    """Statements with one name of an object in place of another, or with parts of a new container in place of names.

    Args:
        lowering: The lowering of the function.
        name: The variable that the value is assigned to.
        value: The value.
        variables: The names that may be replaced, beside that variable.
        behind: The statements.
    """
    if isinstance(value, ast.Name) and value.id in variables and isinstance(name, ast.Name):
        ways = [(name.id, value), (value.id, name)]
        return next((one for way in ways if (one := written_out(lowering, *way, behind)) is not None), behind)
    held = [] if isinstance(value, ast.Name) else list(_parts_of_display(name, value))
    for own, part in held:
        is_once = [other for other, _ in held].count(own) == 1
        if is_once and own in variables and (written := written_out(lowering, own, part, behind)) is not None:
            behind = written
    return behind


def _of_one_object(
    lowering: StraightLineLowering, node: ast.Assign, behind: Sequence[ast.stmt]
) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
    """``a = b = value`` as ``a = value`` and ``b = a``, with one of the names in place of the others behind it."""
    names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    if len(set(names)) < len(node.targets):
        return None
    for kept in names:
        others: list[ast.stmt] | None = list(behind)
        for name in names:
            if name != kept and others is not None:
                others = written_out(lowering, name, load(kept, node), others)
        if others is not None:
            rest = [assigned(name, load(kept, node), node) for name in names if name != kept]
            return [assigned(kept, node.value, node), *rest], others
    return None


def _parts_of_display(place: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names in a display, each with its place in the container that the display makes."""

    def item(key: ast.expr) -> ast.expr:
        return located(ast.Subscript(place, key, ast.Load()), place)

    match value:
        case ast.Name(name):
            yield name, place
        case ast.List(parts) | ast.Tuple(parts) if not any(isinstance(part, ast.Starred) for part in parts):
            for i, part in enumerate(parts):
                yield from _parts_of_display(item(literal(i, place)), part)
        case ast.Dict(keys, values):
            known = [key.value for key in keys if isinstance(key, ast.Constant)]
            if len(set(known)) == len(keys):
                for key, part in zip(known, values, strict=True):
                    yield from _parts_of_display(item(literal(key, place)), part)


def of_listed(lowering: StraightLineLowering, loop: ast.For) -> list[list[ast.stmt]] | None:
    """The turns of a loop over a display of places, each with its place in place of the loop's variable.

    None if the loop's body does not change its items by their name, or may leave the loop early.
    """
    found = lowering.callees.facts.of(AnotherName, of_code(lowering.location(loop.target)))
    match loop:
        case ast.For(ast.Name(name), ast.Tuple(places) | ast.List(places), body, []):
            pass
        case _:
            return None
    if found is None or name not in found.variables or leave_the_loop(body):
        return None
    turns = []
    for place in places:
        if not is_kept(lowering, name, place, body):
            return None
        turns.append([assigned(name, place, loop.target), *(with_place(one, name, place) for one in body)])
        note_change(lowering, place)
    return turns


def _item_of_default(value: ast.expr) -> ast.expr:
    """The item ``d[k]`` in place of ``d.setdefault(k, default)``, which returns it; any other expression itself."""
    match value:
        case ast.Call(ast.Attribute(entries, "setdefault"), [key, _], []):
            return located(ast.Subscript(entries, key, ast.Load()), value)
    return value


def _setdefault(item: ast.expr, call: ast.Call) -> ast.expr:
    """A call of ``setdefault`` with the container and the key of an item in place of its own."""
    assert isinstance(item, ast.Subscript)
    method = located(ast.Attribute(item.value, "setdefault", ast.Load()), call.func)
    return located(ast.Call(method, [item.slice, *call.args[1:]], []), call)


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(name), _:
            yield name, value
        case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
            for one in zip(targets, values, strict=True):
                yield from _bound(*one)


def _replaced(node: Any, old: ast.expr, new: ast.expr) -> Any:
    return new if node is old else with_parts(node, lambda part: _replaced(part, old, new))


def _with_kept_keys(lowering: StraightLineLowering, path: ast.expr, kept: list[tuple[str, ast.expr]]) -> ast.expr:
    """A path with a temporary in place of each computed key, so that the key keeps its value."""
    match path:
        case ast.Attribute(value, name):
            return located(ast.Attribute(_with_kept_keys(lowering, value, kept), name, ast.Load()), path)
        case ast.Subscript(value, key):
            value = _with_kept_keys(lowering, value, kept)
            if not isinstance(key, (ast.Constant, ast.Slice)):
                kept.append((lowering.temporary(), key))
                key = load(kept[-1][0], key)
            return located(ast.Subscript(value, key, ast.Load()), path)
    return path
