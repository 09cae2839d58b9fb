"""A dtype of JAX -> LLVM's types of a number in a register and in memory, and the text of a constant."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch._jax import Aval, is_key
from hlobatch.ir.code import KEYS
from hlobatch.typing import DType


class NoKernelError(Exception):
    """Something in a program has no code as a kernel, so the program stays with XLA; the message says what."""


_KINDS: Final = {
    "bool": "i1", "int2": "i2", "uint2": "i2", "int4": "i4", "uint4": "i4", "int8": "i8", "uint8": "i8",
    "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64",
    "float16": "half", "bfloat16": "i16", "float32": "float", "float64": "double",
    "complex64": "<2 x float>", "complex128": "<2 x double>",
    **dict.fromkeys((
        "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
        "float8_e5m2fnuz",
    ), "i8"),
}  # fmt: skip
"""LLVM's type for each dtype. A bfloat16 and floats of 8 bits are kept as their bits and computed in float32, since not
every processor has them."""

SUFFIXES: Final = {"half": "f16", "float": "f32", "double": "f64"}
"""The suffixes of the names of LLVM's intrinsics, by type."""
BOOL: Final = np.dtype(bool)
INT64: Final = np.dtype("int64")
FLOAT32: Final = np.dtype("float32")


@cache
def kind(dtype: DType) -> str:
    """The type of a number in a register.

    Raises:
        NoKernelError: There is none.
    """
    if str(dtype) not in _KINDS:
        raise NoKernelError(f"numbers of type {dtype} have no code")
    return _KINDS[str(dtype)]


@cache
def is_narrow(dtype: DType) -> bool:
    """Whether a number has fewer bits than its element in memory."""
    return kind(dtype) in ("i1", "i2", "i4")


def must_not_be_packed(dtype: DType) -> None:
    """Raise for integers of less than a byte, of which XLA keeps several in one byte of an array.

    Raises:
        NoKernelError: They are such integers, which are in bytes of their own within a lane's code.
    """
    if is_narrow(dtype) and dtype != BOOL:
        raise NoKernelError(f"arguments and results of type {dtype}, which lie several to a byte, have no code")


def stored(dtype: DType) -> str:
    """The type of an element in memory."""
    return "i8" if is_narrow(dtype) else kind(dtype)


def alignment(dtype: DType) -> int:
    """The alignment of an element, in bytes."""
    return int(dtype.itemsize // 2 if is_complex(dtype) else dtype.itemsize)


@cache
def is_float(dtype: DType) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating))


@cache
def is_short_float(dtype: DType) -> bool:
    """Whether a dtype is a float of 8 or 16 bits, which is computed in float32."""
    return is_float(dtype) and np.dtype(dtype).itemsize <= 2


@cache
def is_complex(dtype: DType) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.complexfloating))


@cache
def is_signed(dtype: DType) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.signedinteger))


def bits_of(dtype: DType) -> int:
    """The number of bits of an integer type."""
    return int(kind(dtype)[1:])


def part_of(llvm_type: str) -> str | None:
    """LLVM's type of the parts of a complex number; None if a type is not that of a complex number."""
    return llvm_type[len("<2 x ") : -1] if llvm_type.startswith("<2 x ") else None


def part_type(dtype: DType) -> np.dtype[Any]:
    """The type of the parts of a complex number."""
    return np.dtype("float32" if dtype == np.complex64 else "float64")


def least(dtype: DType) -> Any:
    if dtype == BOOL:
        return False
    _must_be_real(dtype)
    return _extreme(dtype, -np.inf) if is_float(dtype) else int(jnp.iinfo(dtype).min)  # type: ignore[no-untyped-call]


def greatest(dtype: DType) -> Any:
    if dtype == BOOL:
        return True
    _must_be_real(dtype)
    return _extreme(dtype, np.inf) if is_float(dtype) else int(jnp.iinfo(dtype).max)  # type: ignore[no-untyped-call]


def _extreme(dtype: DType, infinity: float) -> float:
    """Infinity, or the largest number of a format that has none."""
    is_there = np.isinf(np.asarray(infinity, dtype).astype(FLOAT32))
    facts: Any = jnp.finfo(dtype)  # type: ignore[no-untyped-call]
    return infinity if is_there else float(np.copysign(float(facts.max), infinity))


def _must_be_real(dtype: DType) -> None:
    if is_complex(dtype):
        raise NoKernelError(f"the least or greatest number of type {dtype} has no code")


def size(shape: Sequence[int]) -> int:
    """The number of elements of an array."""
    return math.prod(shape)


def layout(aval: Aval) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The dtype and shape in memory of a JAX aval; a key of the default generator is an axis of two words.

    Raises:
        NoKernelError: It is a key of another generator.
    """
    if is_key(aval):
        if str(aval.dtype) != KEYS:
            raise NoKernelError(f"keys of type {aval.dtype} have no code")
        return np.dtype("uint32"), (*aval.shape, 2)
    return np.dtype(aval.dtype), tuple(aval.shape)


def number(x: Any, dtype: DType) -> str:
    """The text of a constant in a register."""
    dtype = np.dtype(dtype)
    if dtype == BOOL:
        return "true" if x else "false"
    if is_complex(dtype):
        part, x = part_type(dtype), complex(x)
        return f"<{kind(part)} {number(x.real, part)}, {kind(part)} {number(x.imag, part)}>"
    if is_short_float(dtype):
        bits = int(np.asarray(x, dtype).view(np.uint16 if dtype.itemsize == 2 else np.uint8))
        return f"0xH{bits:04X}" if kind(dtype) == "half" else str(bits)
    if is_float(dtype):
        return _hexadecimal(np.asarray(x, dtype))
    return str(int(x))


def _hexadecimal(x: np.ndarray[Any, Any]) -> str:
    """A float as the bits of a double, in which LLVM's text has shorter ones, too."""
    if np.isnan(x):
        return "0x7FF8000000000000"
    return "0x" + struct.pack(">d", float(x)).hex().upper()


def in_memory(x: Any, dtype: DType) -> str:
    """The text of a constant as an element in memory."""
    if is_narrow(dtype):
        return str(int(x))
    return number(x, dtype)
