"""A tile: an element for each of 1,024 lanes, as a vector register of a TPU holds them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.kernels.types import NoKernelError

TILE: Final = (8, 128)
"""The shape of a vector register."""
LANES: Final = math.prod(TILE)
"""Lanes of a group."""
DTYPES: Final = frozenset({"bool", "int32", "uint32", "float32"})
"""Dtypes of a lane's numbers; conditions are kept as ``int32``."""

MOST_ELEMENTS: Final = 128
"""Largest number of elements of an array of a lane; that of 1,024 lanes takes half a megabyte of the fast memory."""

Tile = Any


def check(shape: Sequence[int], dtype: Any, what: str) -> None:
    """Refuse what is not a number of one of ``DTYPES``, or a small array of such."""
    if math.prod(shape) > MOST_ELEMENTS:
        raise NoKernelError(f"{what} has arrays of more than {MOST_ELEMENTS} elements, for which tiles have no room")
    if str(dtype) not in DTYPES:
        raise NoKernelError(f"{what} has numbers of {dtype}, and tiles hold {', '.join(sorted(DTYPES))}")


def full(value: Any, dtype: Any, shape: Sequence[int] = ()) -> Tile:
    """A tile of equal numbers, or an array of such tiles."""
    return jnp.full((*shape, *TILE), value, dtype)


def kept(dtype: Any) -> np.dtype[Any]:
    """The dtype in which a number is kept: Mosaic carries no conditions from turn to turn."""
    return np.dtype(np.int32) if dtype == np.bool_ else np.dtype(dtype)


def held(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape in which an array is kept: a number stands for one without elements, of which Mosaic has none."""
    return tuple(shape) if math.prod(shape) else ()


def unheld(tile: Tile, shape: Sequence[int]) -> Tile:
    """An array as it was before it was kept."""
    return tile if math.prod(shape) else nothing(tile.dtype, shape)


def nothing(dtype: Any, shape: Sequence[int]) -> Tile:
    """An array without elements, of which nothing is computed."""
    return np.zeros((*shape, *TILE), dtype)


def unkept(tile: Tile, dtype: Any) -> Tile:
    """A tile as it was before it was kept."""
    return tile != 0 if dtype == np.bool_ and tile.dtype != np.bool_ else tile


def as_bits(tile: Tile, dtype: Any) -> Tile:
    """The bits of a tile as numbers of another dtype of 32 bits."""
    return tile if tile.dtype == dtype else jax.lax.bitcast_convert_type(tile, dtype)


def word_at(ref: Any, row: Tile) -> Tile:
    """The word in a frame of each lane's own: of all levels of the stack, all but one count as nothing."""
    return jnp.sum(jnp.where(_levels(ref) == row, ref[...], 0), axis=0, dtype=jnp.int32)


def put_word(ref: Any, row: Tile, word: Tile, mask: Tile) -> None:
    """Write a word into a frame of each lane's own, at one of all levels of the stack."""
    row = jnp.where(mask, row, -1)
    ref[...] = jnp.where(_levels(ref) == row, jnp.broadcast_to(word, ref.shape), ref[...])


def _levels(ref: Any) -> Any:
    return jax.lax.broadcasted_iota(jnp.int32, ref.shape, 0)
