"""Functions and methods of texts, where something differs between lanes -> lanes' texts and numbers.

::

    ",".join(words), "abc".count(letter)          a method of a known text, on a lane's
    int(text, 2), ord(letter)                     the lane's number
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.lane_numbers import as_index, as_int
from hlobatch.frontend.members import bit_count
from hlobatch.frontend.text_formats import by_format, character, joined
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing
from hlobatch.values.numerals import PREFIXES, of_integer, value_of
from hlobatch.values.texts import LaneText, is_known_text, is_text, of_one_letter
from hlobatch.values.whole_numbers import default


def code_of(letter: Any, /) -> Any:
    """``ord``."""
    return of_one_letter(letter, "ord()")


def _numeral(base: int) -> Callable[[Any], Any]:
    def numeral(value: Any, /) -> Any:
        value = as_index(value, {2: "bin", 8: "oct", 16: "hex"}[base])
        text = of_integer(value, base, PREFIXES[base])
        if base == 2:
            text.known_counts = {"1": partial(bit_count, value)}
        return text

    return numeral


def as_integer(value: Any = 0, base: Any = 10) -> Any:
    """``int`` of a number or a text."""
    if not is_text(value):
        return as_int(value)
    if is_tracer(base):
        raise BatchTypeError(
            "the base of a numeral differs between lanes", help="add up the digits: `n = base * n + int(digit, 36)`."
        )
    if type(base) is not int or not 2 <= base <= 36:
        raise BatchTypeError(f"`int` of a text in base {base!r}", help="name a base from 2 to 36.")
    return value_of(LaneText.of(value), base, default(int))


MEANINGS: Final = {chr: character, ord: code_of, bin: _numeral(2), oct: _numeral(8), hex: _numeral(16)}
"""Functions of Python's that make texts, or read them."""


# Methods of known texts


def method(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[[], Any] | None:
    """A call of a method of a known text with what differs between lanes; None for any other call."""
    if isinstance(function, types.MethodDescriptorType) and function.__objclass__ is str and args:
        own, *rest = args
        return partial(getattr(own, function.__name__), *rest, **kwargs) if isinstance(own, LaneText) else None
    if not isinstance(function, types.BuiltinMethodType) or type(function.__self__) is not str:
        return None
    own, name = function.__self__, function.__name__
    if name == "format":
        return partial(by_format, own, *args, **kwargs)
    if name == "join" and len(args) == 1:
        return _join(own, args[0])
    given = [part for arg in (*args, *kwargs.values()) for part in (arg if isinstance(arg, tuple) else (arg,))]
    if not any(isinstance(part, LaneText) or is_tracer(part) for part in given):
        return None
    return partial(getattr(LaneText.of(own), name), *args, **kwargs)


def _join(between: str, items: Any) -> Callable[[], Any] | None:
    """The call of ``join``, if an item differs between lanes."""
    if isinstance(items, Growing):
        return partial(LaneText.of(between).join, items)
    parts = list(items) if isinstance(items, Iterable) and type(items) is not str else []
    differ = [
        part for part in parts if isinstance(part, LaneText) or (isinstance(part, Choice) and is_known_text(part))
    ]
    if not differ:
        return partial(between.join, parts) if parts and type(items) not in (list, tuple) else None
    if not all(map(is_text, parts)):
        return partial(between.join, parts)  # Python's error
    separated = [part for item in parts for part in (between, item)][1:]
    return partial(joined, *separated)
