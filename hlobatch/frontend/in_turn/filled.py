"""``items.extend(f(x) for x in xs)``, where it shows that Python adds each item before it computes the next -> a loop.

::

    items.extend(f(x) for x in xs)      ==>     for $x in xs: $1 = f($x); items.append($1)

    try:                                        try:
        entries.update(f(x) for x in xs)            $1 = []
    except ValueError: …                ==>         try:
                                                        for $x in xs: $2 = f($x); $1.append($2)
                                                    finally:
                                                        entries.update($1)
                                                except ValueError: …

It shows where an item is computed from the container, and where computing one may raise and that is caught: the items
before it have been added. Elsewhere all items are computed first, which takes less.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from hlobatch.frontend.following import is_generator
from hlobatch.frontend.in_turn.comprehensions import loops_of, nested, placed, renamed
from hlobatch.frontend.in_turn.lazy import LAZY, one_by_one
from hlobatch.frontend.nodes import located, prefixes, with_fields
from hlobatch.frontend.scopes import root_of
from hlobatch.frontend.syntax import assigned, helper, literal, load
from hlobatch.frontend.whole_function import WholeLowering
from hlobatch.frontend.written import Part, written

E = TypeVar("E", bound=ast.expr)

_BY_ITEMS: Final = {
    "extend": "PLACE.append(ITEM)",
    "extendleft": "PLACE.appendleft(ITEM)",
    "update": "PLACE.update((ITEM,))",
    "difference_update": "PLACE.difference_update((ITEM,))",
}
"""The methods that add or take out items one by one, and statements that do so with one item."""


@dataclass(frozen=True, slots=True)
class FilledInTurn:
    """The fact that a statement fills a container with items of which one may raise, where that is caught."""


@dataclass(frozen=True, slots=True)
class Filling:
    """A statement that fills a container with items one by one.

    Attributes:
        node: The statement: a call of a method, or ``+=``.
        place: The container.
        method: The method.
        items: The items.
        root: The variable that holds the container, or of which it is a part.
    """

    node: ast.Expr | ast.AugAssign
    place: ast.expr
    method: str
    items: ast.GeneratorExp
    root: str


def filling_of(node: ast.stmt, function: WholeLowering) -> Filling | None:
    """A statement as one that fills a container with items one by one; None if it does not.

    Args:
        node: The statement.
        function: The lowering of the function that it stands in.
    """
    match node:
        case ast.Expr(ast.Call(ast.Attribute(place, method), [given], [])) if method in _BY_ITEMS:
            pass
        case ast.AugAssign(place, ast.Add(), given):
            place, method = with_fields(place, ctx=ast.Load()), "extend"
        case _:
            return None
    root, items = root_of(place), _items(given, function)
    if items is None or not isinstance(root, ast.Name) or root.id not in function.local:
        return None
    return Filling(node, place, method, items, root.id)


def _items(given: ast.expr, function: WholeLowering) -> ast.GeneratorExp | None:
    """What a method is given, as a generator expression; None if Python does not compute it item by item."""
    if isinstance(given, ast.GeneratorExp):
        return given
    if not isinstance(given, ast.Call):
        return None
    if _is_generator(given, function):
        item = "_hb_item"
        goes_over = ast.comprehension(_at(ast.Name(item, ast.Store()), given), given, [], 0)
        return _at(ast.GeneratorExp(_at(ast.Name(item, ast.Load()), given), [goes_over]), given)
    return one_by_one(given, function.static_value)


def _is_generator(call: ast.Call, function: WholeLowering) -> bool:
    """Whether a call is one of a generator of the user's."""
    drawn = function.draws(call)
    if drawn is not None:
        return drawn.function not in LAZY.values()
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    called = function.scope.get(name) or function.static_value(call.func)
    return is_generator(called)


def _at(node: E, place: ast.AST) -> E:
    return located(node, place)


def reads_container(filling: Filling, function: WholeLowering) -> bool:
    """Whether an item may be computed from the container: code or a function that it calls reads that."""
    parts = _later_parts(filling.items, function)
    return _may_be_an_item(filling) or any(_reads(part, filling, function) for part in parts)


def _may_be_an_item(filling: Filling) -> bool:
    """Whether the container may be an item of the first iterable: ``rows[i].extend(len(row) for row in rows)``."""
    steps = len(list(prefixes(filling.place)))
    first = filling.items.generators[0].iter
    inner = {id(node.value) for node in ast.walk(first) if isinstance(node, ast.Subscript)}
    chains = (node for node in ast.walk(first) if isinstance(node, (ast.Name, ast.Subscript)) and id(node) not in inner)
    return isinstance(filling.place, ast.Subscript) and any(
        isinstance(root := root_of(chain), ast.Name) and root.id == filling.root and len(list(prefixes(chain))) < steps
        for chain in chains
    )


def _later_parts(items: ast.GeneratorExp, function: WholeLowering) -> Iterator[ast.expr]:
    """The parts of a generator expression that are evaluated as items are computed; its first iterable is not."""
    yield items.elt
    for index, generator in enumerate(items.generators):
        yield from generator.ifs
        if index or (isinstance(generator.iter, ast.Call) and _is_generator(generator.iter, function)):
            yield generator.iter


def _reads(part: ast.expr, filling: Filling, function: WholeLowering) -> bool:
    """Whether a part of the items reads the container, or calls what may read it."""
    place, root = ast.dump(filling.place), filling.root
    is_part = isinstance(filling.place, ast.Attribute)
    own = {id(node.value) for node in ast.walk(part) if isinstance(node, ast.Attribute) and not _of_containers(node)}
    for node in ast.walk(part):
        match node:
            case ast.Name(name) if name in function.scope:
                found = root in function.scope[name].captured
            case ast.Name(name):  # the container, or an object that holds it and is passed on
                found = name == root and id(node) not in own
            case ast.Attribute() | ast.Subscript():
                found = ast.dump(node) == place
            case _:
                found = is_part and _calls_method_of(node, root)
        if found:
            return True
    return False


def _calls_method_of(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name(value), _)):
            return value == name
    return False


def _of_containers(node: ast.Attribute) -> bool:
    """Whether an attribute is a method of Python's containers."""
    return any(hasattr(kind, node.attr) for kind in (list, dict, set))


def statements(filling: Filling, made: str, fresh: Callable[[], str], *, reads: bool) -> list[ast.stmt]:
    """Statements with the effect of one that fills a container, item by item.

    Args:
        filling: The statement.
        made: A name for a list of the items, which is the same when the program is built again.
        fresh: Makes unused names.
        reads: Whether an item may be computed from the container.
    """
    node, items, place, method = filling.node, filling.items, filling.place, filling.method
    loops, names = loops_of(items, lambda stem: fresh() + stem)
    parts: dict[str, Part] = {"PLACE": place, "MADE": made, "ITEM": fresh(), "VALUE": renamed(items.elt, names)}
    checked = assigned(fresh(), helper("__hb_check_filled", [place, literal(method, node)], node), node)
    by_items = reads or method.startswith("extend")
    # An item that raises is none: a statement that raises assigns nothing.
    body = nested(
        loops, written("ITEM = VALUE\n" + (_BY_ITEMS[method] if by_items else "MADE.append(ITEM)"), items, **parts)
    )
    body = [placed(statement, items) for statement in body]
    if by_items:
        return [checked, *body]
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Call)
    filled = with_fields(node, value=with_fields(node.value, args=[load(made, items)]))
    return [checked, *written("MADE = []", items, **parts), located(ast.Try(body, [], [], [filled]), node)]
