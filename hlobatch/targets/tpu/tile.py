"""A tile: an element for each of 1,024 lanes, as a vector register of a TPU holds them, and operations on tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ClosedJaxpr
from hlobatch.ir.evaluation import as_it_is, evaluated
from hlobatch.kernels.types import NoKernelError

TILE: Final = (8, 128)
"""The shape of a vector register."""
LANES: Final = math.prod(TILE)
"""Lanes of a group."""
DTYPES: Final = frozenset({"bool", "int32", "uint32", "float32"})
"""Dtypes of a lane's numbers; conditions are kept as ``int32``."""

Tile = Any


def check(shape: Sequence[int], dtype: Any, what: str) -> None:
    """Refuse what is not a number of one of ``DTYPES``."""
    if shape:
        raise NoKernelError(f"{what} has arrays, and lanes of a TPU's tiles have numbers alone")
    if str(dtype) not in DTYPES:
        raise NoKernelError(f"{what} has numbers of {dtype}, and tiles hold {', '.join(sorted(DTYPES))}")


def full(value: Any, dtype: Any) -> Tile:
    """A tile of equal numbers."""
    return jnp.full(TILE, value, dtype)


def kept(dtype: Any) -> np.dtype[Any]:
    """The dtype in which a number is kept: Mosaic carries no conditions from turn to turn."""
    return np.dtype(np.int32) if dtype == np.bool_ else np.dtype(dtype)


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


def on_tiles(code: ClosedJaxpr, values: Sequence[Tile]) -> list[Tile]:
    """The results of a primitive on tiles: its jaxpr for each element."""
    jaxpr: Any = code.jaxpr

    def of_a_lane(*numbers: Any) -> list[Any]:
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), numbers, strict=True))
        return evaluated(jaxpr.eqns, known, jaxpr.outvars, _evaluated)

    if not values:
        return [jnp.broadcast_to(x, TILE) for x in of_a_lane()]
    return list(jax.vmap(jax.vmap(of_a_lane))(*values))


def _evaluated(equation: Any, numbers: Sequence[Any]) -> Sequence[Any]:
    """The results of an equation; Mosaic has no copies, and signs only where there is a TPU."""
    if equation.primitive.name == "copy":
        return numbers
    if equation.primitive.name == "sign":
        (x,) = numbers
        one = jnp.ones((), x.dtype)
        return [jnp.where(x > 0, one, jnp.where(x < 0, -one, x))]
    return as_it_is(equation, numbers)
