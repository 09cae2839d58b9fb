"""A ``stablehlo.sine`` or ``stablehlo.cosine`` of numbers of 32 bits -> polynomials, which LLVM vectorizes.

XLA has LLVM call the C library for each number. Here, arguments are reduced to an eighth of a turn by subtractions,
which are exact for arguments below a limit, and polynomials give sine and cosine. If any argument is larger, or is not
a number, the library is called as well, and each number takes the result that is right for it. Errors are at most three
units in the last place.

Source: coefficients and method of Moshier's Cephes library, ``single/sinf.c``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.module.splice import aval_of

SINES, COSINES = "stablehlo.sine", "stablehlo.cosine"
LIMIT: Final = 1024.0
"""Arguments from which multiples of the parts of `OCTANT` are not exact."""
LEAST_NUMBERS: Final = 8
"""Numbers below which an array does not fill a vector, and the library is called."""
MOST_NUMBERS_ONCE: Final = 1024
"""Numbers for which the library takes ten microseconds, and polynomials tens of milliseconds to compile."""
OCTANT: Final = (0.78515625, 2.4187564849853515625e-4, 3.7747668102383614e-8, 1.2816720757972595e-12)
"""A quarter of pi, in parts of so few bits that their multiples are exact."""
SINE: Final = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COSINE: Final = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


@dataclass(frozen=True)
class Trigonometric:
    """A ``stablehlo.sine`` or ``stablehlo.cosine`` of numbers of 32 bits, as a function of them."""

    is_sine: bool

    def __call__(self, x: Any) -> Any:
        return jax.lax.cond(jnp.all(_is_small(x)), self._approximated, self._either, x)

    def _either(self, x: Any) -> Any:
        """Of each number what it has alone: the others do not change a lane's result."""
        library = jax.lax.sin if self.is_sine else jax.lax.cos
        return where(_is_small(x), self._approximated(x), library(x))

    def _approximated(self, x: Any) -> Any:
        eighths = jnp.floor(jnp.abs(x) * np.float32(4 / math.pi)).astype(jnp.int32)
        even = (eighths + 1) & ~1  # the nearest multiple of a quarter turn
        z = jnp.abs(x)
        for part in OCTANT:
            z = z - even.astype(x.dtype) * np.float32(part)
        quarter = (even >> 1) & 3
        square = z * z
        sine = _polynomial(SINE, square) * square * z + z
        cosine = _polynomial(COSINE, square) * square * square - 0.5 * square + 1
        swapped = (quarter & 1) == 1
        if self.is_sine:
            return where((quarter >= 2) ^ jnp.signbit(x), -1, 1) * where(swapped, cosine, sine)
        return where((quarter == 1) | (quarter == 2), -1, 1) * where(swapped, sine, cosine)


def _is_small(x: Any) -> Any:
    return jnp.abs(x) < LIMIT


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    total = jnp.zeros_like(x)
    for coefficient in coefficients:
        total = total * x + np.float32(coefficient)
    return total


def trigonometric_of(operation: Any) -> Callable[[Any], Any] | None:
    """What a ``stablehlo.sine`` or ``stablehlo.cosine`` does; None where the library may as well do it."""
    aval = aval_of(operation.operands[0])
    wanted = aval.dtype == np.float32 and math.prod(aval.shape) >= LEAST_NUMBERS
    return Trigonometric(operation.name == SINES) if wanted else None


def is_little_once(operation: Any) -> bool:
    """Whether an operation that runs once is a sine or cosine that the library has before polynomials are compiled."""
    return operation.name in (SINES, COSINES) and math.prod(aval_of(operation.operands[0]).shape) <= MOST_NUMBERS_ONCE
