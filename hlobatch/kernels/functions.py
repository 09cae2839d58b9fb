"""JAX's primitives that are functions of a number -> LLVM IR: calls of libm, LLVM's intrinsics, code written in JAX.

Results may differ in the last bits from XLA's, which computes most functions by polynomials of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch.kernels.arithmetic import Params, whole_division
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.rules import on_numbers
from hlobatch.kernels.types import FLOAT32, NoKernelError, is_float, is_signed, kind, number
from hlobatch.kernels.values import Value
from hlobatch.typing import DType


def in_jax(e: Emitter, function: Callable[..., Any], dtype: DType, *operands: str) -> str:
    """Emit a function of scalars that is written in JAX."""
    return e.written(function, *[Value(np.dtype(dtype), (), x) for x in operands])[0].ref


@on_numbers("div")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
    return e.op(f"fdiv {kind(d)} {a}, {b}") if is_float(d) else whole_division(e, d, a, b, is_quotient=True)


_OF_LIBM: Final = (
    "log1p", "expm1", "tan", "cbrt", "erf", "erfc", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
    "exp2", "exp", "log", "sin", "cos",
)  # fmt: skip
_OF_LLVM: Final = ("floor", "ceil")


def _function(name: str, *, by_intrinsic: bool) -> None:
    @on_numbers(name)
    def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
        return e.intrinsic(name, d, a) if by_intrinsic else e.call(name, d, a)


for _name in _OF_LLVM:
    _function(_name, by_intrinsic=True)
for _name in _OF_LIBM:
    _function(_name, by_intrinsic=False)


@on_numbers("lgamma")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    if not e.processor.math_prefix:
        raise NoKernelError("`lgamma` has no code: that of libm writes to a variable of all threads")
    return e.call("lgamma", d, a)


_ABOVE: Final = (-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
                 1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03)  # fmt: skip
_BELOW: Final = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
_LARGEST: Final = np.float32(7.90531110763549805)


def _tanh(x: Any) -> Any:
    """``tanh`` of 32 bits by the rational function that XLA uses."""
    near = jnp.clip(x, -_LARGEST, _LARGEST)
    square = near * near
    over, under = jnp.float32(_ABOVE[0]), jnp.float32(_BELOW[0])
    for c in _ABOVE[1:]:
        over = over * square + np.float32(c)
    for c in _BELOW[1:]:
        under = under * square + np.float32(c)
    is_small = jnp.abs(x) < np.float32(0.0004)
    return jnp.where(is_small, x, jnp.where(jnp.abs(x) >= 20, jnp.copysign(np.float32(1), x), near * over / under))


@on_numbers("tanh")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    is_for_vectors = d == FLOAT32 and (e.processor.has_vectors or e.processor.width > 1)
    return in_jax(e, _tanh, d, a) if is_for_vectors else e.call("tanh", d, a)


@on_numbers("atan2")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
    return e.call("atan2", d, a, b)


@on_numbers("nextafter")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
    return e.call("nextafter", d, a, b)


@on_numbers("sqrt")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.intrinsic("sqrt", d, a)


@on_numbers("rsqrt")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.op(f"fdiv {kind(d)} {number(1, d)}, {e.intrinsic('sqrt', d, a)}")


@on_numbers("abs")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    if is_float(d):
        return e.intrinsic("fabs", d, a)
    return e.intrinsic("abs", d, a, flag="false") if is_signed(d) else a


@on_numbers("round")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    return e.intrinsic("roundeven" if int(p["rounding_method"]) == 1 else "round", d, a)


@on_numbers("logistic")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    k, one = kind(d), number(1, d)
    power = e.call("exp", d, e.op(f"fneg {k} {a}"))
    return e.op(f"fdiv {k} {one}, {e.op(f'fadd {k} {one}, {power}')}")


_NEAR: Final = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
_FAR: Final = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
               0.00943887047, 1.00167406, 2.83297682)  # fmt: skip


def _inverse_error(x: Any) -> Any:
    """The inverse of ``erf`` for 32 bits, by the polynomials of Giles that XLA uses."""
    w = -jnp.log1p(-x * x)
    is_near = w < 5
    w = jnp.where(is_near, w - np.float32(2.5), jnp.sqrt(w) - 3)
    total = jnp.where(is_near, np.float32(_NEAR[0]), np.float32(_FAR[0]))
    for n, f in zip(_NEAR[1:], _FAR[1:], strict=True):
        total = jnp.where(is_near, np.float32(n), np.float32(f)) + total * w
    return jnp.where(jnp.abs(x) == 1, x * np.float32(np.inf), total * x)


@on_numbers("erf_inv")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str) -> str:
    if e.processor.math_prefix:
        return e.call("erfinv", d, a)
    if d != FLOAT32:
        raise NoKernelError(f"`erf_inv` of {d} has no code")
    return in_jax(e, _inverse_error, d, a)


@on_numbers("pow")
def _(e: Emitter, d: Any, s: Any, p: Params, a: str, b: str) -> str:
    if not is_float(d):
        raise NoKernelError("`pow` of whole numbers has no code")
    return e.call("pow", d, a, b)
