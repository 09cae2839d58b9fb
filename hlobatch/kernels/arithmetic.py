"""JAX's elementwise primitives of a few instructions -> LLVM IR: arithmetic, comparisons, shifts, selects, conversions.

Integer division is defined as in XLA: a number divided by zero is -1 with the dividend as the remainder, and the least
number divided by -1 is itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.rules import apply, on_numbers
from hlobatch.kernels.short_floats import narrowed, widened
from hlobatch.kernels.types import (
    BOOL,
    FLOAT32,
    SUFFIXES,
    NoKernelError,
    bits_of,
    is_complex,
    is_float,
    is_short_float,
    is_signed,
    kind,
    number,
    part_type,
)
from hlobatch.typing import DType

Params = dict[str, Any]


def _instruction(name: str, of_floats: str, of_integers: str) -> None:
    @on_numbers(name)
    def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
        of_own = "or" if d == BOOL and of_integers == "add" else of_integers  # the sum of two booleans is their `or`
        return e.op(f"{of_floats if is_float(d) or is_complex(d) else of_own} {kind(d)} {a}, {b}")


for _name, _of_floats, _of_integers in (
    ("add", "fadd", "add"), ("add_any", "fadd", "add"), ("sub", "fsub", "sub"), ("and", "", "and"), ("or", "", "or"),
    ("xor", "", "xor"),
):  # fmt: skip
    _instruction(_name, _of_floats, _of_integers)


@on_numbers("mul")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
    if not is_complex(d):
        return e.op(f"{'fmul' if is_float(d) else 'mul'} {kind(d)} {a}, {b}")
    k = kind(part_type(d))
    (ar, ai), (br, bi) = ((e.part(x, d, 0), e.part(x, d, 1)) for x in (a, b))

    def times(x: str, y: str) -> str:
        return e.op(f"fmul {k} {x}, {y}")

    real = e.op(f"fsub {k} {times(ar, br)}, {times(ai, bi)}")
    return e.pair(real, e.op(f"fadd {k} {times(ar, bi)}, {times(ai, br)}"), d)


@on_numbers("not")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.op(f"xor {kind(d)} {a}, -1")


@on_numbers("neg")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.op(f"fneg {kind(d)} {a}") if is_float(d) or is_complex(d) else e.op(f"sub {kind(d)} 0, {a}")


def whole_division(e: Emitter, d: Any, a: str, b: str, *, is_quotient: bool) -> str:
    """The quotient or the remainder of integers, defined as in XLA for a divisor of 0 or -1."""
    k = kind(d)
    name = "div" if is_quotient else "rem"
    is_zero = e.op(f"icmp eq {k} {b}, 0")
    by = e.op(f"select i1 {is_zero}, {k} 1, {k} {b}")
    if is_signed(d):
        is_minus = e.op(f"icmp eq {k} {by}, -1")
        by = e.op(f"select i1 {is_minus}, {k} 1, {k} {by}")
        got = e.op(f"s{name} {k} {a}, {by}")
        negated = e.op(f"sub {k} 0, {a}") if is_quotient else "0"
        got = e.op(f"select i1 {is_minus}, {k} {negated}, {k} {got}")
    else:
        got = e.op(f"u{name} {k} {a}, {by}")
    return e.op(f"select i1 {is_zero}, {k} {'-1' if is_quotient else a}, {k} {got}")


@on_numbers("rem")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
    return e.call("fmod", d, a, b) if is_float(d) else whole_division(e, d, a, b, is_quotient=False)


def _comparison(name: str, of_floats: str) -> None:
    @on_numbers(name)
    def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
        if is_complex(s):
            own = part_type(s)
            real, imaginary = (apply(e, name, BOOL, e.part(a, s, k), e.part(b, s, k), of=own) for k in range(2))
            return e.op(f"{'and' if name == 'eq' else 'or'} i1 {real}, {imaginary}")
        if is_float(s):
            return e.op(f"fcmp {of_floats} {kind(s)} {a}, {b}")
        sign = "" if name in ("eq", "ne") else "s" if is_signed(s) else "u"
        return e.op(f"icmp {sign}{name} {kind(s)} {a}, {b}")


for _name, _of_floats in {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}.items():
    _comparison(_name, _of_floats)


def _total_order(name: str) -> None:
    """Register a comparison by the total order of floats: -0 before 0, and NaN first or last by its sign."""

    @on_numbers(f"{name}_to")
    def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
        if is_complex(s):
            raise NoKernelError(f"`{name}_to` of {s} has no code")
        if not is_float(s):
            return apply(e, name, BOOL, a, b, of=s)
        one, other = (_in_order(e, x, s) for x in (a, b))
        return e.op(f"icmp {'eq' if name == 'eq' else 's' + name} i{8 * s.itemsize} {one}, {other}")


def _in_order(e: Emitter, x: str, dtype: DType) -> str:
    """An integer of as many bits as a float, whose order as a signed integer is the float's total order."""
    k, bits = f"i{8 * dtype.itemsize}", 8 * dtype.itemsize
    own = x if kind(dtype) == k else e.op(f"bitcast {kind(dtype)} {x} to {k}")
    sign = e.op(f"ashr {k} {own}, {bits - 1}")
    return e.op(f"xor {k} {own}, {e.op(f'lshr {k} {sign}, 1')}")


for _name in ("eq", "le", "lt"):
    _total_order(_name)


def _extremum(name: str) -> None:
    """Register ``min`` or ``max``; the result is NaN if an operand is, as in XLA."""

    @on_numbers(name)
    def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
        if is_float(d):
            return e.intrinsic(name + "imum", d, a, b)
        if d == BOOL:
            return e.op(f"{'or' if name == 'max' else 'and'} i1 {a}, {b}")
        return e.intrinsic(("s" if is_signed(d) else "u") + name, d, a, b)


_extremum("max")
_extremum("min")


def _shift(name: str, how: str) -> None:
    """Register a shift; one by the width of the type or more gives 0, or the sign for an arithmetic shift."""

    @on_numbers(name)
    def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
        k, bits = kind(d), bits_of(d)
        is_over = e.op(f"icmp uge {k} {b}, {bits}") if bits > 4 else "false"
        if how == "ashr":
            return e.op(f"ashr {k} {a}, {e.op(f'select i1 {is_over}, {k} {bits - 1}, {k} {b}')}")
        by = e.op(f"select i1 {is_over}, {k} 0, {k} {b}")
        return e.op(f"select i1 {is_over}, {k} 0, {k} {e.op(f'{how} {k} {a}, {by}')}")


_shift("shift_left", "shl")
_shift("shift_right_logical", "lshr")
_shift("shift_right_arithmetic", "ashr")


@on_numbers("square")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return apply(e, "mul", d, a, a)


@on_numbers("one_minus_square")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    one = number(1, d)
    return apply(e, "mul", d, apply(e, "add", d, one, a), apply(e, "sub", d, one, a))


@on_numbers("sign")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    k = kind(d)
    if is_float(d):
        is_kept = e.op(f"fcmp ueq {k} {a}, {number(0, d)}")  # zeros and NaN are their own signs
        return e.op(f"select i1 {is_kept}, {k} {a}, {k} {e.intrinsic('copysign', d, number(1, d), a)}")
    greater = "sgt" if is_signed(d) else "ugt"
    is_more = e.op(f"zext i1 {e.op(f'icmp {greater} {k} {a}, 0')} to {k}")
    is_less = e.op(f"zext i1 {e.op(f'icmp slt {k} {a}, 0')} to {k}") if is_signed(d) else "0"
    return e.op(f"sub {k} {is_more}, {is_less}")


@on_numbers("is_finite")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.op(f"fcmp olt {kind(s)} {e.intrinsic('fabs', s, a)}, {number(np.inf, s)}")


@on_numbers("copy", "stop_gradient", "reshard")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return a


@on_numbers("reduce_precision")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    if not is_float(d) or p["exponent_bits"] + p["mantissa_bits"] + 1 != 8 * d.itemsize:
        raise NoKernelError("`reduce_precision` to another precision has no code")
    return a


@on_numbers("population_count")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.intrinsic("ctpop", d, a)


@on_numbers("clz")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.intrinsic("ctlz", d, a, flag="false")


@on_numbers("integer_pow")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    result, power, left = "", a, abs(p["y"])
    while left:
        if left & 1:
            result = power if not result else apply(e, "mul", d, result, power)
        left >>= 1
        if left:
            power = apply(e, "mul", d, power, power)
    result = result or number(1, d)
    return apply(e, "div", d, number(1, d), result) if p["y"] < 0 else result


@on_numbers("convert_element_type")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    if d == s:
        return a
    if is_complex(d):
        own = part_type(d)
        parts = [e.part(a, s, k) for k in range(2)] if is_complex(s) else [a]
        parts = [apply(e, "convert_element_type", own, x, of=part_type(s) if is_complex(s) else s) for x in parts]
        return e.pair(parts[0], parts[1] if len(parts) > 1 else number(0, own), d)
    if is_complex(s):
        return apply(e, "convert_element_type", d, e.part(a, s, 0), of=part_type(s))
    if is_short_float(s):
        return apply(e, "convert_element_type", d, widened(e, a, s), of=FLOAT32)
    if is_short_float(d):
        return narrowed(e, apply(e, "convert_element_type", FLOAT32, a, of=s), d)
    return _converted(e, d, s, a)


def _converted(e: Emitter, d: Any, s: Any, a: str) -> str:
    """A conversion between integers and floats of 32 and 64 bits."""
    f, t = kind(s), kind(d)
    if d == BOOL:
        return e.op(f"fcmp une {f} {a}, {number(0, s)}") if is_float(s) else e.op(f"icmp ne {f} {a}, 0")
    if is_float(s) and is_float(d):
        return e.op(f"{'fpext' if d.itemsize > s.itemsize else 'fptrunc'} {f} {a} to {t}")
    if is_float(s):
        name = e.external(f"llvm.fpto{'s' if is_signed(d) else 'u'}i.sat.{t}.{SUFFIXES[f]}", t, f)
        return e.op(f"call {t} @{name}({f} {a})")
    if is_float(d):
        return e.op(f"{'sitofp' if is_signed(s) else 'uitofp'} {f} {a} to {t}")
    if bits_of(s) == bits_of(d):
        return a
    return e.op(f"{('sext' if is_signed(s) else 'zext') if bits_of(d) > bits_of(s) else 'trunc'} {f} {a} to {t}")


@on_numbers("bitcast_convert_type")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    if is_complex(d) != is_complex(s):
        raise NoKernelError(f"`bitcast_convert_type` of {s} to {d} has no code")
    return a if kind(d) == kind(s) else e.op(f"bitcast {kind(s)} {a} to {kind(d)}")


@on_numbers("real")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.part(a, s, 0)


@on_numbers("imag")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.part(a, s, 1)


@on_numbers("complex")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
    return e.pair(a, b, d)


@on_numbers("conj")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    if not is_complex(s):
        return e.pair(a, number(0, s), d)
    return e.pair(e.part(a, s, 0), e.op(f"fneg {kind(part_type(d))} {e.part(a, s, 1)}"), d)


@on_numbers("clamp")
def _(e: Emitter, d: Any, s: Any, p: Params, low: str, x: str, high: str) -> str:
    return apply(e, "min", d, apply(e, "max", d, low, x), high)


@on_numbers("select_n")
def _(e: Emitter, d: Any, s: Any, p: Params, which: str, *cases: str) -> str:
    k = kind(d)
    if s == BOOL:
        return e.op(f"select i1 {which}, {k} {cases[-1]}, {k} {cases[0]}")
    got = cases[-1]
    for place, case in reversed(list(enumerate(cases[:-1]))):
        got = e.op(f"select i1 {e.op(f'icmp eq {kind(s)} {which}, {place}')}, {k} {case}, {k} {got}")
    return got
