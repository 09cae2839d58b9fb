"""Values of any types <-> words of 32 bits, as which they leave a lane for the host."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.ir.types import TensorType, Type

MOST_WORDS: Final = 64
"""Words of 32 bits that are kept of the values that an exception is made of; what does not fit is left out."""


class Unkept:
    """What stands for a value that is too large to be kept."""

    def __repr__(self) -> str:
        return "…"

    def __format__(self, form: str) -> str:
        return "…"


def kept(types: Sequence[Type], room: int = MOST_WORDS) -> list[tuple[TensorType, bool]]:
    """The leaves of some types, in order, and whether there is room for each.

    Args:
        types: The types.
        room: Words of 32 bits that there are for all.
    """
    found = list[tuple[TensorType, bool]]()
    for leaf in (leaf for type_ in types for leaf in type_.tensor_leaves):
        size = words_for(leaf)
        found.append((leaf, size <= room))
        room -= size if size <= room else 0
    return found


@functools.cache
def words_for(leaf: TensorType) -> int:
    """How many words an array takes."""
    return int(jax.eval_shape(_as_words, leaf.aval).size)


def size_of(types: Sequence[Type], room: int = MOST_WORDS) -> int:
    """How many words the values of some types take, as far as they are kept."""
    return sum(words_for(leaf) for leaf, fits in kept(types, room) if fits)


def encoded(leaves: Sequence[Any], types: Sequence[Type], size: int, room: int = MOST_WORDS) -> Any:
    """Arrays as ``i32[size]``, zeros at the end."""
    pairs = zip(leaves, kept(types, room), strict=True)
    words = [_as_words(leaf) for leaf, (_, fits) in pairs if fits]
    flat = jnp.concatenate([*words, jnp.zeros(0, jnp.int32)])
    return jnp.pad(flat, (0, size - flat.size))


def decoded(words: np.ndarray, types: Sequence[Type], room: int = MOST_WORDS) -> list[Any]:
    """What ``encoded`` was given, as NumPy's arrays and scalars; a Python number where there was one."""
    found: list[Any] = []
    for leaf, fits in kept(types, room):
        if not fits:
            found.append(Unkept())
            continue
        size = words_for(leaf)
        found.append(_from_words(np.asarray(words[:size], np.int32), leaf))
        words = words[size:]
    return found


def _as_words(value: Any) -> Any:
    value = jnp.asarray(jax.random.key_data(value) if TensorType(value.dtype).is_key else value)
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        value = jnp.stack([value.real, value.imag], -1)
    if value.dtype.itemsize < 4:
        value = value.astype(jnp.float32 if jnp.issubdtype(value.dtype, jnp.floating) else jnp.int32)
    return jnp.ravel(jax.lax.bitcast_convert_type(value, jnp.int32))


def _from_words(words: np.ndarray, leaf: TensorType) -> Any:
    if leaf.is_key:
        return words.view(np.uint32)
    dtype = np.dtype(leaf.dtype)
    wide = {1: np.float32, 2: np.float32} if jnp.issubdtype(dtype, jnp.floating) else {1: np.int32, 2: np.int32}
    stored = dtype if dtype.itemsize >= 4 else np.dtype(wide[dtype.itemsize])
    value = words.view(stored).astype(dtype).reshape(leaf.shape)
    return value.item() if leaf.weak and leaf.shape == () else value[()]
