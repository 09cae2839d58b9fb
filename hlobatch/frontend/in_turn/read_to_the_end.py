"""A function -> its generator expressions of which Python makes all items, where they stand.

::

    list(f(x) for x in xs)                   all items
    zip(ys, (f(x) for x in xs))              as many as ``ys`` has, if these are fewer

Lanes make all items where the program makes a call for each. So those of other generator expressions may have no
effect.
"""

from __future__ import annotations

import ast
import collections
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from hlobatch.frontend.nodes import walk

Place = tuple[int, int, int | None, int | None]
"""The first and the last line and column of an expression."""
StaticValue = Callable[[ast.expr], Any]
"""Gives the values of names from outside of the function."""

_READERS: Final = (
    *(list, tuple, set, frozenset, dict, sorted, sum, min, max, len, math.prod, math.fsum),
    *(collections.deque, collections.Counter, collections.OrderedDict, functools.reduce),
)
"""Functions that read their iterable to its end before they return."""
_METHODS: Final = frozenset({"extend", "extendleft", "fromkeys", "join", "union", "update"})
"""Methods that do so."""
_HANDING_ON: Final = (enumerate, filter, map, reversed, itertools.accumulate, itertools.chain, itertools.starmap)
"""Functions whose iterators, read to their ends, have read the one iterable, or one after the other, to its end."""
_WITH_FUNCTION: Final = (filter, map, itertools.starmap)


def place_of(node: ast.expr) -> Place:
    """The place of an expression."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def read_to_their_ends(function: ast.AST, static_value: StaticValue) -> frozenset[Place]:
    """The places of generator expressions that are read to their ends where they stand.

    Args:
        function: The function.
        static_value: Gives the values of names from outside of it.
    """
    readers = (reader for node in walk(function) for reader in _read_by(node, static_value))
    return frozenset(place_of(found) for reader in readers for found in _all_of(reader, static_value))


def _read_by(node: ast.AST, static_value: StaticValue) -> Sequence[ast.expr]:
    """The expressions whose items an expression or a statement reads to their end."""
    match node:
        case ast.Call(ast.Attribute(_, method), arguments) if method in _METHODS:
            return arguments
        case ast.Call(function, arguments) if _is_one_of(static_value(function), _READERS):
            return arguments
        case ast.Starred(items) | ast.AugAssign(_, _, items) | ast.Assign([ast.Tuple() | ast.List()], items):
            return [items]
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return [generator.iter for generator in node.generators]
    return []


def _all_of(node: ast.expr, static_value: StaticValue) -> Iterator[ast.expr]:
    """The generator expressions of which all items are made if all those of an expression are."""
    match node:
        case ast.GeneratorExp(_, generators):
            yield node
            for generator in generators:
                yield from _all_of(generator.iter, static_value)
        case ast.Call(function, arguments) if _is_one_of(made := static_value(function), _HANDING_ON):
            if _is_one_of(made, _WITH_FUNCTION) and len(arguments) == 2:
                yield from _all_of(arguments[1], static_value)
            elif not _is_one_of(made, _WITH_FUNCTION):
                for argument in arguments:
                    yield from _all_of(argument, static_value)


def _is_one_of(value: Any, functions: Sequence[Any]) -> bool:
    """Whether a value, which may have an ``__eq__`` of its own, is one of some functions."""
    return any(value is function for function in functions)
