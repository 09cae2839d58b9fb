"""Floats of 8 and 16 bits -> LLVM IR that converts them from and to float32, in which they are computed.

A bfloat16 and a float of 8 bits are integers of their bits to LLVM. The latter have many formats, all of which follow
from a few of their numbers: how many bits the significand has, the least exponent, and what NaN, infinity and -0 are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from hlobatch.kernels.types import FLOAT32, number
from hlobatch.typing import DType


def widened(e: Any, x: str, dtype: DType) -> str:
    """A short float, converted to float32."""
    if str(dtype) == "float16":
        return str(e.op(f"fpext half {x} to float"))
    if dtype.itemsize == 1:
        table = e.constant(np.arange(256, dtype=np.uint8).view(dtype).astype(FLOAT32))
        return str(e.load(table.ref, FLOAT32, e.op(f"zext i8 {x} to i64")))
    bits = e.op(f"zext i16 {x} to i32")
    return str(e.op(f"bitcast i32 {e.op(f'shl i32 {bits}, 16')} to float"))


def narrowed(e: Any, x: str, dtype: DType) -> str:
    """A float32 rounded to a short float: by integer operations, since not every processor has others."""
    if str(dtype) == "float16":
        return str(e.op(f"fptrunc float {x} to half"))
    if dtype.itemsize == 1:
        return _in_eight_bits(e, x, Format.of(dtype))
    bits = e.op(f"bitcast float {x} to i32")
    odd = e.op(f"and i32 {e.op(f'lshr i32 {bits}, 16')}, 1")
    half = e.op(f"add i32 {odd}, 32767")
    rounded = e.op(f"lshr i32 {e.op(f'add i32 {bits}, {half}')}, 16")
    is_nan = e.op(f"fcmp uno float {x}, {x}")
    return str(e.op(f"trunc i32 {e.op(f'select i1 {is_nan}, i32 32704, i32 {rounded}')} to i16"))


@final
@dataclass(frozen=True)
class Format:
    """A format of 8 bits: a sign, an exponent and a significand.

    Attributes:
        fraction: Bits of the significand that are stored.
        least_exponent: The exponent of the least normal number.
        largest: The largest finite number.
        beyond: The bits of what a larger number becomes: infinity, or NaN where there is none.
        nan: The bits of NaN.
        has_negative_zero: Whether there is a -0.
    """

    fraction: int
    least_exponent: int
    largest: float
    beyond: int
    nan: int
    has_negative_zero: bool

    @classmethod
    @cache
    def of(cls, dtype: DType) -> Format:
        facts: Any = jnp.finfo(dtype)  # type: ignore[no-untyped-call]

        def bits(x: float) -> int:
            return int(np.asarray(x, FLOAT32).astype(dtype).view(np.uint8))

        return cls(facts.nmant, facts.minexp, float(facts.max), bits(np.inf), bits(np.nan), bits(-0.0) != 0)

    @property
    def step(self) -> float:
        """The least positive number, by which numbers below the least normal one differ."""
        return float(2.0 ** (self.least_exponent - self.fraction))


def _in_eight_bits(e: Any, x: str, to: Format) -> str:
    """The bits of a float32 rounded to a format; ties go to the even one."""
    real: Any = lambda v: number(v, FLOAT32)  # noqa: E731
    bits = e.op(f"bitcast float {x} to i32")
    size = e.intrinsic("fabs", FLOAT32, x)
    power = e.op(f"bitcast i32 {e.op(f'and i32 {bits}, {0xFF << 23}')} to float")
    scaled = e.op(f"fmul float {power}, {real(2.0 ** (23 - to.fraction))}")
    large = e.intrinsic("maximum", FLOAT32, scaled, real(to.step * 2.0**23))  # its last digit is that of the result
    rounded = e.op(f"fsub float {e.op(f'fadd float {size}, {large}')}, {large}")
    exponent = (127 - (1 - to.least_exponent)) << to.fraction
    own = e.op(f"lshr i32 {e.op(f'bitcast float {rounded} to i32')}, {23 - to.fraction}")
    normal = e.op(f"sub i32 {own}, {exponent}")
    steps = e.op(f"fptoui float {e.op(f'fmul float {rounded}, {real(1 / to.step)}')} to i32")
    is_small = e.op(f"fcmp olt float {rounded}, {real(2.0**to.least_exponent)}")
    found = e.op(f"select i1 {is_small}, i32 {steps}, i32 {normal}")
    is_beyond = e.op(f"fcmp ugt float {rounded}, {real(to.largest)}")
    found = e.op(f"select i1 {is_beyond}, i32 {to.beyond}, i32 {found}")
    sign = e.op(f"and i32 {e.op(f'lshr i32 {bits}, 24')}, 128")
    if not to.has_negative_zero:
        sign = e.op(f"select i1 {e.op(f'icmp eq i32 {found}, 0')}, i32 0, i32 {sign}")
    found = e.op(f"or i32 {found}, {sign}")
    is_nan = e.op(f"fcmp uno float {x}, {x}")
    return str(e.op(f"trunc i32 {e.op(f'select i1 {is_nan}, i32 {to.nan}, i32 {found}')} to i8"))
