"""Integers of lanes <-> their numerals: the texts that ``str``, ``bin`` and ``format`` make, and that ``int`` reads.

::

    of_integer(n)                      LaneText of "-120"
    value_of(LaneText of "-120")       n

The digits are computed all at once, one for each power of the base that the dtype can hold.
"""

from __future__ import annotations

from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch._jax import weakly
from hlobatch.diagnostics import IntegerOverflowError, LetterError
from hlobatch.ir.choice import Choice
from hlobatch.values.lane_failures import fails, is_wanted
from hlobatch.values.one_of import OneOf
from hlobatch.values.texts import LaneText

PREFIXES: Final = {2: "0b", 8: "0o", 16: "0x"}
"""What stands in front of the digits, by base."""
_ZERO, _SMALL, _LARGE, _UNDERSCORE = map(ord, "0aA_")


def of_flag(flag: Any) -> Choice:
    """``str`` of a flag."""
    return OneOf(jnp.asarray(flag, jnp.int32), ("False", "True"))


def of_integer(
    value: Any, base: int = 10, prefix: str = "", *, plus: str = "", group: str = "", large: bool = False
) -> Any:
    """The numeral of an integer, a :class:`LaneText`.

    Args:
        value: The integer, ``i[]``.
        base: The base, at least 2.
        prefix: What stands between the sign and the digits.
        plus: The sign of a number that is not negative.
        group: What stands between groups of digits: of three in base 10, else of four.
        large: Whether digits beyond 9 are capital letters.
    """
    value = jnp.asarray(value)
    if value.dtype == jnp.bool_:
        value = value.astype(jnp.int32)
    bits = 8 * value.dtype.itemsize
    unsigned = jnp.dtype(f"uint{bits}")
    is_negative = value < 0
    size = value.astype(unsigned)
    size = jnp.where(is_negative, (~size) + unsigned.type(1), size)
    powers = _powers(base, bits)
    digits = (size // jnp.asarray(powers, unsigned)) % unsigned.type(base)
    count = jnp.maximum(jnp.sum(size >= jnp.asarray(powers, unsigned), dtype=jnp.int32), 1)
    digits = digits.astype(jnp.int32)
    letters = jnp.where(digits < 10, digits + _ZERO, digits - 10 + (_LARGE if large else _SMALL))
    if group:
        per = 3 if base == 10 else 4
        places = np.arange(len(powers) + (len(powers) - 1) // per)
        is_group = places % (per + 1) == per
        letters = jnp.where(jnp.asarray(is_group), ord(group), letters[jnp.asarray(places - places // (per + 1))])
        count = count + (count - 1) // per
    front = LaneText.of(prefix) if plus == "" else LaneText.of(plus + prefix)
    signed = LaneText.of(f"-{prefix}")
    lead = jnp.where(is_negative, signed.size, len(plus + prefix)).astype(jnp.int32)
    room = len(letters) + 1 + len(prefix)
    order = jnp.arange(room, dtype=jnp.int32)
    own = letters[jnp.clip(lead + count - 1 - order, 0, len(letters) - 1)]
    before = jnp.where(is_negative, signed.with_room(room).codes, front.with_room(room).codes)
    return LaneText.masked(jnp.where(order < lead, before, own), lead + count)


def _powers(base: int, bits: int) -> list[int]:
    """The powers of a base that an unsigned number of some bits can hold."""
    found = [1]
    while found[-1] * base < 1 << bits:
        found.append(found[-1] * base)
    return found


def value_of(text: Any, base: int, dtype: Any) -> Any:
    """The number that a text shows, as a Python integer of a dtype; a lane fails whose text shows none.

    Args:
        text: A :class:`LaneText`.
        base: The base, from 2 to 36.
        dtype: The dtype of the number.
    """
    spaces = text.strip()
    codes, size, room = spaces.codes, spaces.size, spaces.capacity
    order = jnp.arange(room, dtype=jnp.int32)
    is_negative = codes[0] == ord("-")
    begin = jnp.int32(is_negative | (codes[0] == ord("+")))
    large = jnp.where((codes >= _SMALL) & (codes < _SMALL + 26), codes - _SMALL + _LARGE, codes)
    is_prefixed: Any = jnp.bool_(False)
    if base in PREFIXES and room > 2:
        is_prefixed = (codes[begin] == _ZERO) & (
            large[jnp.minimum(begin + 1, room - 1)] == ord(PREFIXES[base][1].upper())
        )
        begin = begin + 2 * is_prefixed.astype(jnp.int32)
    there = (order >= begin) & (order < size)
    is_number = (codes >= _ZERO) & (codes < _ZERO + 10)
    is_letter = (large >= _LARGE) & (large < _LARGE + 26)
    digits = jnp.where(is_number, codes - _ZERO, jnp.where(is_letter, large - _LARGE + 10, base))
    is_digit = there & (digits < base)
    before = jnp.pad(is_digit, (1, 0))[:-1] | ((order == begin) & is_prefixed)
    is_between = (codes == _UNDERSCORE) & before & jnp.pad(is_digit, (0, 1))[1:]
    is_none = ~jnp.any(is_digit) | jnp.any(there & ~is_digit & ~is_between)
    is_other = jnp.any(codes >= 128)
    fails(LetterError, "a text with a letter that is not of ASCII is read as a number", is_other)
    fails(ValueError, f"invalid literal for int() with base {base}", is_none & ~is_other)
    places = jnp.cumsum(is_digit[::-1], dtype=jnp.int32)[::-1] - 1
    bits = 8 * np.dtype(dtype).itemsize
    unsigned = np.dtype(f"uint{bits}")
    powers = np.array([pow(base, k, 1 << bits) for k in range(room)], unsigned)
    parts = jnp.where(is_digit, digits, 0).astype(unsigned) * jnp.asarray(powers)[jnp.maximum(places, 0)]
    found = jnp.sum(parts, dtype=unsigned)
    if is_wanted(IntegerOverflowError):
        _check_size(jnp.where(is_digit, digits, 0), places, is_negative, base, dtype)
    found = found.astype(dtype)
    return weakly(jnp.where(is_negative, -found, found), dtype)


def _check_size(digits: Any, places: Any, is_negative: Any, base: int, dtype: Any) -> None:
    """Note the lanes whose number has more bits than a dtype: that with one digit less fits, or has too many digits."""
    most, bits = int(jnp.iinfo(dtype).max), 8 * np.dtype(dtype).itemsize  # type: ignore[no-untyped-call]
    unsigned = np.dtype(f"uint{bits}")
    safe = len(_powers(base, bits - 1)) - 1  # numbers of so many digits fit
    count = jnp.max(jnp.where(digits > 0, places + 1, 0))
    powers = np.array([pow(base, k, 1 << bits) for k in range(digits.shape[0])], unsigned)
    others = jnp.where(places > 0, digits, 0).astype(unsigned) * jnp.asarray(powers)[jnp.maximum(places - 1, 0)]
    head = jnp.sum(others, dtype=unsigned)
    last = jnp.max(jnp.where(places == 0, digits, 0)).astype(unsigned)
    limit = jnp.asarray(most, unsigned) + is_negative.astype(unsigned)
    base_ = unsigned.type(base)
    is_large = (head > limit // base_) | ((head == limit // base_) & (last > limit % base_))
    text = f"the result of `int` does not fit into {np.dtype(dtype)}"
    fails(IntegerOverflowError, text, (count > safe + 1) | ((count == safe + 1) & is_large))
