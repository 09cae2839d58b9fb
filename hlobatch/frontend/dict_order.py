"""The iterable that traced code iterates -> the same, or an error if it is a dict whose keys are in no known order.

::

    if x > 1: d = {"b": 1, "a": 2}
    else:     d = {"a": 2, "b": 1}
    d["a"]                    the same for both orders
    for key in d: …           refused: which key comes first depends on the lane

A variable has one type in all lanes. So if two paths give it dicts of the same keys in different orders, both are
sorted (``ir/boxed.py``), which only code that iterates such a dict can tell. So such a dict becomes no table with rows
in the order of its keys (``values/tables.py``).
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import types
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from typing import Any, Final

from hlobatch.values.known_orders import check_order
from hlobatch.values.lane_failures import needed

IN_ORDER: Final = frozenset(
    {list, tuple, iter, enumerate, zip, reversed, map, filter, collections.deque, functools.reduce, dict.fromkeys}
    | {value for value in vars(itertools).values() if isinstance(value, type)}
)
"""Functions of Python whose result depends on the order in which they iterate their arguments."""
_BY_KEY: Final = frozenset({builtins.min, builtins.max, builtins.sorted})
"""Functions whose result depends on that order if they are given a key, for which several items may be equal."""
_OF_ALL: Final = frozenset({zip, itertools.chain, itertools.product, itertools.zip_longest, itertools.compress})
"""Functions that iterate all of their arguments."""
_BEHIND_A_FUNCTION: Final = frozenset(
    {map, filter, functools.reduce, itertools.filterfalse, itertools.takewhile, itertools.dropwhile, itertools.starmap}
)
"""Functions that iterate those behind the first."""
_METHODS: Final = frozenset({"extend", "update", "join"})
"""Methods that iterate their argument in order."""


def in_known_order(value: Any) -> Any:
    """The iterable, unchanged.

    Raises:
        BatchTypeError: It is a dict, or a view of one, whose keys are in different orders on two paths.
    """
    needed(value, TypeError, "'NoneType' object is not iterable")
    entries = getattr(value, "mapping", None) if isinstance(value, (KeysView, ValuesView, ItemsView)) else value
    if isinstance(entries, (dict, types.MappingProxyType)):
        check_order(entries, "goes over", "go over `sorted(…)` of it, or ")
    return value


def check_arguments(function: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise an error for a call of a function of Python that would iterate a dict whose keys are in no known order.

    Raises:
        BatchTypeError: The call would iterate such a dict.
    """
    gone_over: tuple[Any, ...] = ()
    if isinstance(function, types.BuiltinMethodType) and not isinstance(function.__self__, types.ModuleType):
        if function.__name__ == "popitem":
            in_known_order(function.__self__)
        gone_over = args if function.__name__ in _METHODS else ()
    elif function in IN_ORDER or (function in _BY_KEY and "key" in kwargs):
        gone_over = _gone_over(function, args)
    for argument in gone_over:
        in_known_order(argument)


def _gone_over(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call that it iterates."""
    if function in _OF_ALL:
        return args
    if function in (builtins.min, builtins.max) and len(args) > 1:
        return ()
    if function in _BEHIND_A_FUNCTION:
        return args[1:2] if function is functools.reduce else args[1:]
    return () if function in (itertools.repeat, itertools.count) else args[:1]
