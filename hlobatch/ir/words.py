"""Encodes values as 32-bit words, as which they go from a lane to the host, and decodes them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.ir.growing import Growing
from hlobatch.ir.types import TensorType, Type

MOST_WORDS: Final = 256
"""32-bit words that an exception's values may take, such as lists of 64 integers; values that do not fit are left out,
the largest first."""


class Unkept:
    """Stands for a value that was left out because it did not fit; of a container, the length may be known."""

    def __init__(self, length: Any = None) -> None:
        self.length = length

    def __len__(self) -> int:
        return int(self.length)

    def __repr__(self) -> str:
        return "…"

    def __format__(self, form: str) -> str:
        return "…"


def python_number(value: Any) -> Any:
    """A scalar as a Python number, so that it is written as in Python; all else as it is.

    A float of less than 64 bits becomes the shortest decimal number that rounds to it: 0.1 and not 0.10000000149.
    """
    if not isinstance(value, (np.generic, np.ndarray)) or np.shape(value):
        return value
    number = np.asarray(value).item()
    return type(number)(str(np.asarray(value))) if isinstance(number, (float, complex)) else number


def kept(types: Sequence[Type], room: int = MOST_WORDS) -> list[tuple[TensorType, bool]]:
    """The tensor leaves of some types, in order, and whether each fits, if those of fewer words come first.

    Args:
        types: The types.
        room: Number of 32-bit words for all of them.
    """
    leaves = [leaf for type_ in types for leaf in type_.tensor_leaves]
    fitting = set[int]()
    for place in sorted(range(len(leaves)), key=lambda place: words_for(leaves[place])):
        size = words_for(leaves[place])
        if size <= room:
            fitting.add(place)
            room -= size
    return [(leaf, place in fitting) for place, leaf in enumerate(leaves)]


def shortened(values: Sequence[Any], room: int = MOST_WORDS) -> list[Any]:
    """The values of an exception, or their types, with texts that are cut off so that all of them fit.

    Args:
        values: The values; or types, in the form of ``Type.tensors``.
        room: Number of 32-bit words for all of them.
    """
    parts = jax.tree.leaves(values, is_leaf=_is_text)
    count = sum(map(_is_text, parts))
    if not count:
        return list(values)
    sizes = (words_for(kind) for kind in map(_kind, parts) if kind is not None)
    letters = max((room - sum(sizes)) // count - 1, 1)
    return [
        jax.tree.map(lambda part: part.shortened(letters) if _is_text(part) else part, one, is_leaf=_is_text)
        for one in values
    ]


def _is_text(part: Any) -> bool:
    return isinstance(part, Growing) and part.python is str


def _kind(part: Any) -> TensorType | None:
    """The type of an array, or the type itself; None for anything else."""
    if isinstance(part, TensorType):
        return part
    return TensorType(part.dtype, part.shape) if isinstance(part, jax.Array) else None


@functools.cache
def words_for(leaf: TensorType) -> int:
    """Number of words that an array takes."""
    return int(jax.eval_shape(_as_words, leaf.aval).size)


def size_of(types: Sequence[Type], room: int = MOST_WORDS) -> int:
    """Number of words that the values of some types take, without leaves that do not fit."""
    return sum(words_for(leaf) for leaf, fits in kept(types, room) if fits)


def encoded(leaves: Sequence[Any], types: Sequence[Type], size: int, room: int = MOST_WORDS) -> Any:
    """The leaves that fit as ``i32[size]``, padded with zeros."""
    pairs = zip(leaves, kept(types, room), strict=True)
    words = [_as_words(leaf) for leaf, (_, fits) in pairs if fits]
    flat = jnp.concatenate([*words, jnp.zeros(0, jnp.int32)])
    return jnp.pad(flat, (0, size - flat.size))


def decoded(words: np.ndarray, types: Sequence[Type], room: int = MOST_WORDS) -> list[Any]:
    """The encoded values as NumPy arrays and scalars, Python numbers for weak scalars; ``Unkept`` for one left out."""
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
