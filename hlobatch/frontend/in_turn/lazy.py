"""Python's functions that go over items one by one -> generators of the same meaning, for items that a generator gives.

A list of the items would not do: the generator may have no end, or take turns with the loop.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.frontend.in_turn.comprehensions import renamed
from hlobatch.frontend.nodes import Comprehension, located
from hlobatch.prelude import builtins
from hlobatch.prelude import itertools as stand_ins


def _enumerate(items: Iterable[Any], start: int = 0) -> Iterator[Any]:
    number = start
    for item in items:
        yield number, item
        number += 1


def _islice(items: Iterable[Any], stop: int) -> Iterator[Any]:
    left = stop
    if left <= 0:
        return
    for item in items:
        yield item
        left -= 1
        if left <= 0:
            return


def _takewhile(predicate: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if not predicate(item):
            return
        yield item


def _filter(predicate: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if predicate(item):
            yield item


def _map(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        yield function(item)


LAZY: Final[Mapping[Any, Callable[..., Iterator[Any]]]] = {
    enumerate: _enumerate,
    filter: _filter,
    itertools.islice: _islice,
    itertools.takewhile: _takewhile,
    map: _map,
}
"""The generators, by the functions of Python that they stand for."""


_ONCE: Final = (ast.Call, ast.NamedExpr)
"""Parts of an expression for a function that are evaluated once, for all items."""
AT_ONCE: Final = frozenset(
    {
        *(builtins.filter, builtins.map, stand_ins.accumulate, stand_ins.dropwhile, stand_ins.filterfalse),
        *(stand_ins.groupby, stand_ins.starmap, stand_ins.takewhile),
    }
)
"""Functions of the prelude that compute all items at once, by a function that they are given, where Python computes
each as it is used."""


@dataclass(frozen=True, slots=True)
class ItemsRaise:
    """The fact that a function of the user's, which one of ``AT_ONCE`` calls for each item, may raise."""


def one_by_one(items: ast.Call, static_value: Callable[[ast.expr], Any]) -> ast.GeneratorExp | None:
    """A call of ``map`` or ``filter`` as a generator expression; None for any other call."""
    called = static_value(items.func)
    return as_generator(items, next((own for lazy, own in LAZY.items() if called is lazy), None))


def as_generator(node: ast.Call, drawn: Any) -> ast.GeneratorExp | None:
    """``map(f, xs)`` as ``(f(x) for x in xs)``, and ``filter(f, xs)`` as ``(x for x in xs if f(x))``; else None.

    Args:
        node: The call.
        drawn: The generator in ``LAZY`` that it stands for.
    """
    if drawn not in (_map, _filter) or len(node.args) != 2 or node.keywords:
        return None
    function, items = node.args
    if not isinstance(function, ast.Lambda) and any(isinstance(part, _ONCE) for part in ast.walk(function)):
        return None
    name = "_hb_item"
    item = located(ast.Name(name, ast.Load()), function)
    target = located(ast.Name(name, ast.Store()), function)
    call = _of_lambda(function, item) or located(ast.Call(function, [item], []), function)
    if drawn is _filter and isinstance(function, ast.Constant):  # None: the items that are true
        call = item
    conditions: list[ast.expr] = [] if drawn is _map else [call]
    made = ast.GeneratorExp(call if drawn is _map else item, [ast.comprehension(target, items, conditions, 0)])
    # A place of its own, from the function to the items: facts about calls at the others are not of its loop.
    made.lineno, made.col_offset = function.lineno, function.col_offset
    made.end_lineno, made.end_col_offset = items.end_lineno, items.end_col_offset
    return made


def _of_lambda(function: ast.expr, item: ast.Name) -> ast.expr | None:
    """The body of a lambda of one parameter for an item; None if it is another function, or contains others."""
    match function:
        case ast.Lambda(ast.arguments([], [ast.arg(name)], None, [], [], None, []), body):
            is_plain = not any(isinstance(part, ast.Lambda | Comprehension) for part in ast.walk(body))
            return renamed(body, {name: item.id}) if is_plain else None
    return None


def calls_in_lambda(items: ast.Call) -> bool:
    """Whether an iterator is given a lambda that calls a function, which may have an effect."""
    lambdas = (given.body for given in items.args if isinstance(given, ast.Lambda))
    return any(isinstance(part, ast.Call) for body in lambdas for part in ast.walk(body))
