"""A name for a part of a value -> the path to that part, so that a change by the name changes the part.

::

    for p in points:            for $i, p in enumerate(points):
        p.x += 1          ==>       points[$i].x += 1
    row = grid[r]               $k = r; row = grid[$k]
    row.append(v)         ==>   grid[$k].append(v)

Lanes hold values and no references, so a change by such a name is refused (``analysis/aliases.py``). If the name means
the same place in all statements that follow, each use of it is replaced by the path to that place, which tracing then
checks like any other code. It means the same place if no statement may put another object there, or assigns to the
name.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from hlobatch.analysis.aliases import AnotherName
from hlobatch.frontend.changes import HARMLESS, rebinding
from hlobatch.frontend.nodes import all_arguments, located, prefixes, walk_all, with_fields
from hlobatch.frontend.scopes import dump_as_read, is_path, root_of, stored_names, target_names, with_parts
from hlobatch.frontend.straight_line import StraightLineLowering
from hlobatch.frontend.syntax import helper, load
from hlobatch.values.facts import of_code

_PARTS: Final = (ast.Attribute, ast.Subscript)
_SCOPES: Final = (ast.Lambda, ast.FunctionDef, ast.comprehension)


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
        others = written_out(lowering, name, _item(path, number), body)
        if others is None:
            return loop
        body = others
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
) -> tuple[ast.stmt, list[ast.stmt]] | None:
    """An assignment and the statements behind it, with paths in place of names.

    None if the assignment needs no change.
    """
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    found = lowering.callees.facts.of(AnotherName, of_code(lowering.location(node)))
    pairs = [] if found is None else list(_bound(node.targets[0], node.value))
    if found is None or len({name for name, _ in pairs}) < len(pairs):
        return None
    kept: list[tuple[str, ast.expr]] = []
    others, changed = list(behind), node
    for name, value in pairs:
        path = _item_of_default(value)
        if name in found.variables and isinstance(path, _PARTS):
            place = _with_kept_keys(lowering, path, kept)
            written = written_out(lowering, name, place, others)
            if written is None:
                return None
            if isinstance(value, ast.Call):
                kept.append((lowering.temporary(), _setdefault(place, value)))
            others, changed = written, _replaced(changed, value, place)
    for name, key in kept:
        lowering.assign(name, key, node)
    return changed, others


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


def written_out(
    lowering: StraightLineLowering, variable: str, place: ast.expr, body: Sequence[ast.stmt]
) -> list[ast.stmt] | None:
    """Statements with a path in place of each read of a variable.

    None if the variable may not mean that path in all.
    """
    root = root_of(place)
    parts = walk_all(body)
    if not isinstance(root, ast.Name) or not lowering.is_own(root.id) or not is_path(place):
        return None
    if root.id in lowering.callee.source.signature.parameters and rebinding(lowering.source.node, root.id) is not None:
        return None
    named = {part.id for part in ast.walk(place) if isinstance(part, ast.Name)}
    if not (named | {variable}).isdisjoint(name for statement in body for name in stored_names(statement)):
        return None
    inside = walk_all(part for part in parts if isinstance(part, _SCOPES))
    if any(isinstance(part, ast.Name) and part.id == variable for part in inside):
        return None
    if _may_move(lowering, place, named, parts):
        return None
    lowering.changes_own(root.id)
    return [_with_place(statement, variable, place) for statement in body]


def _with_place(node: Any, variable: str, place: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id == variable:
        return _at(place, node)
    return with_parts(node, lambda part: _with_place(part, variable, place))


def _at(place: ast.expr, node: ast.AST) -> ast.expr:
    """A copy of a path, with the location of a node."""
    copied: ast.expr = with_parts(with_fields(place), lambda part: _at(part, node))
    return located(copied, node)


def _may_move(lowering: StraightLineLowering, place: ast.expr, named: set[str], parts: Iterable[ast.AST]) -> bool:
    """Whether statements may put another object into a place, or into a value that it is a part of."""
    held = [ast.dump(one) for one in prefixes(place)]
    seen = {name for name, one in lowering.scope.items() if not named.isdisjoint({*one.captured, *one.bound})}
    for part in parts:
        if isinstance(part, ast.Name) and part.id in seen:
            return True
        if isinstance(part, _PARTS) and not isinstance(part.ctx, ast.Load):
            whole = dump_as_read(part)
            if whole in {*held, ast.dump(place)} or (isinstance(part, ast.Subscript) and ast.dump(part.value) in held):
                return True
        if isinstance(part, ast.Call) and any(ast.dump(one) in held for one in _given(part)):
            function = lowering.static_value(part.func)
            if not isinstance(function, (type, types.BuiltinFunctionType)) or function not in HARMLESS:
                return True
    return False


def _given(call: ast.Call) -> Iterator[ast.expr]:
    for argument in all_arguments(call):
        yield argument.value if isinstance(argument, ast.Starred) else argument
    if isinstance(call.func, ast.Attribute):
        yield call.func.value
