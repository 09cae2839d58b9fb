"""``sum(…)``, ``any(…)`` and the like of a comprehension -> a loop, if tracing cannot go through the items.

::

                                                   $1 = False
    if any(clashes(r, i) for r in range(n)): ==>   for $r in range(n):
        …                                              if clashes($r, i):
                                                           $1 = True
                                                           break
                                                   if $1: …

That is so if the program itself carries out a call in it, or if it iterates over a range whose length differs between
lanes. The loop is not written out, and ends for a lane as soon as its result is known, as in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hlobatch._jax import is_tracer
from hlobatch.frontend.comprehensions import Comprehension, loops_of, nested, placed, renamed
from hlobatch.frontend.iteration import is_long, length
from hlobatch.frontend.lane_numbers import differs
from hlobatch.ir.choice import Choice
from hlobatch.ir.value import Collection
from hlobatch.values.facts import Learned, Site
from hlobatch.values.number_tables import table_of

REDUCERS: Final[Mapping[Any, str]] = {f: f.__name__ for f in (sum, any, all, min, max, len, next)}
"""Functions that iterate once over their items, in order, and keep only their result."""


_FAILURES: Final = {
    "min": ("ValueError", "min() iterable argument is empty"),
    "max": ("ValueError", "max() iterable argument is empty"),
    "next": ("StopIteration", "there is no item"),
}
"""Python's exception where there is no item."""


@dataclass(frozen=True, slots=True)
class Looped:
    """The fact that the iterable of a comprehension has a length that differs between lanes, or very many items."""

    is_told_early: ClassVar[bool] = True


def range_of(site: Site, *bounds: Any) -> range:
    """``range(…)`` in the argument of a reducer.

    Raises:
        Learned: Its length differs between lanes.
    """
    if differs(bounds):
        raise Learned(site, Looped())
    return range(*bounds)


def gone_over(site: Site, items: Any) -> Any:
    """The iterable of a comprehension that is the argument of a reducer.

    Raises:
        Learned: Its length differs between lanes, or it has very many numbers.
    """
    has_lanes_length = isinstance(items, Collection) or (isinstance(items, Choice) and is_tracer(length(items)))
    if has_lanes_length or has_many(items):
        raise Learned(site, Looped())
    return items


def has_many(items: Any) -> bool:
    """Whether an iterable has so many items, all of them known numbers, that iteration over it becomes a loop."""
    return is_long(items) and table_of(items) is not None


def arguments_of(call: ast.Call, name: str) -> dict[str, ast.expr] | None:
    """The arguments of a reducer's call but the first, by name; None if it has other arguments."""
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    more = {"sum": "start", "next": "default"}.get(name)
    if len(call.args) == 2 and more is not None:
        given[more] = call.args[1]
    allowed = {"sum": {"start"}, "next": {"default"}, "min": {"key", "default"}, "max": {"key", "default"}}
    is_whole = len(given) == len(call.args) - 1 + len(call.keywords) and not any(
        isinstance(argument, ast.Starred) for argument in call.args
    )
    return given if is_whole and given.keys() <= allowed.get(name, set()) else None


def as_reduction(
    name: str,
    node: Comprehension,
    given: Mapping[str, ast.expr],
    result: str,
    fresh: Callable[[str], str],
    *,
    may_be_empty: bool,
) -> list[ast.stmt]:
    """Statements that assign the result of a reducer on a comprehension to a variable.

    Args:
        name: The reducer.
        node: The comprehension.
        given: Its other arguments.
        result: The variable.
        fresh: Makes unused names, for variables of the loop's own.
        may_be_empty: Whether there may be no item in some lanes.
    """
    loops, names = loops_of(node, fresh)
    assert not isinstance(node, ast.DictComp)
    item = renamed(node.elt, names)
    reduction = _Reduction(result, item, given, fresh)
    begin, body, leave = getattr(reduction, name)()
    statements = [*begin, *nested(loops, body, leave)]
    if name in ("min", "max") and "default" in given:
        value = ast.IfExp(_is_none(result), given["default"], _read(result))
        statements.append(_assign(result, value))
    elif name in _FAILURES and may_be_empty and "default" not in given:
        kind, text = _FAILURES[name]
        error = ast.Call(ast.Name(kind, ast.Load()), [ast.Constant(text)], [])
        statements.append(ast.If(_is_none(result), [ast.Raise(error, None)], []))
    return [placed(statement, node) for statement in statements]


Parts = tuple[list[ast.stmt], list[ast.stmt], ast.expr | None]
"""The statements before the loops, the body of the innermost, and the condition to leave all loops, or None."""


@dataclass(frozen=True)
class _Reduction:
    """The loop of a reducer; each method is one of ``REDUCERS``."""

    result: str
    item: ast.expr
    given: Mapping[str, ast.expr]
    fresh: Callable[[str], str]

    def sum(self) -> Parts:
        start = self.given.get("start", ast.Constant(0))
        return [_assign(self.result, start)], [self._add(self.item)], None

    def len(self) -> Parts:
        return [_assign(self.result, ast.Constant(0))], [self._add(ast.Constant(1))], None

    def _add(self, value: ast.expr) -> ast.stmt:
        return _assign(self.result, ast.BinOp(_read(self.result), ast.Add(), value))

    def any(self) -> Parts:
        found: list[ast.stmt] = [_assign(self.result, ast.Constant(True)), ast.Break()]
        return [_assign(self.result, ast.Constant(False))], [ast.If(self.item, found, [])], _read(self.result)

    def all(self) -> Parts:
        found: list[ast.stmt] = [_assign(self.result, ast.Constant(False)), ast.Break()]
        fails = ast.UnaryOp(ast.Not(), self.item)
        leave = ast.UnaryOp(ast.Not(), _read(self.result))
        return [_assign(self.result, ast.Constant(True))], [ast.If(fails, found, [])], leave

    def next(self) -> Parts:
        found = self.fresh("found")
        begin = [_assign(self.result, self.given.get("default", ast.Constant(None)))]
        begin.append(_assign(found, ast.Constant(False)))
        return begin, [_assign(self.result, self.item), _assign(found, ast.Constant(True)), ast.Break()], _read(found)

    def min(self) -> Parts:
        return self._extreme(ast.Lt())

    def max(self) -> Parts:
        return self._extreme(ast.Gt())

    def _extreme(self, better: ast.cmpop) -> Parts:
        """The first item that no later one surpasses."""
        value = self.fresh("value")
        begin, body = [_assign(self.result, ast.Constant(None))], [_assign(value, self.item)]
        best, rank, keep = self.result, value, [_assign(self.result, _read(value))]
        if "key" in self.given:
            best, rank = self.fresh("best"), self.fresh("rank")
            begin.append(_assign(best, ast.Constant(None)))
            body.append(_assign(rank, ast.Call(self.given["key"], [_read(value)], [])))
            keep.append(_assign(best, _read(rank)))
        test = ast.BoolOp(ast.Or(), [_is_none(best), ast.Compare(_read(rank), [better], [_read(best)])])
        return begin, [*body, ast.If(test, keep, [])], None


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _is_none(name: str) -> ast.expr:
    return ast.Compare(_read(name), [ast.Is()], [ast.Constant(None)])
