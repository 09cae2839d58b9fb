"""A log density and the shape of a run -> the compiled functions of the run, cached for the next one.

All but one are plain JAX, on all chains in lockstep: they take a small share of the time, and `advance` the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

import hlobatch as hb
from hlobatch.mcmc.beginning import Begin, make_begin
from hlobatch.mcmc.chains import Chain, Drawn, make_advance, noise_for
from hlobatch.mcmc.compiling import quickly_compiled
from hlobatch.mcmc.density import LogDensity, is_followed
from hlobatch.mcmc.kept import kept
from hlobatch.mcmc.metric import Moments, balanced, factor, identity, no_moments, with_draws
from hlobatch.mcmc.nuts import Noise
from hlobatch.mcmc.parameters import Parameters
from hlobatch.typing import ArrayLike, PyTree

PIECE: Final = 25
"""Draws of each chain that are summed at a time: most windows are multiples of it."""


@dataclass(frozen=True)
class Shape:
    """The key of a compiled program, besides the sizes of arrays.

    Attributes:
        parameters: The parameters of one chain.
        dense: Whether the metric has correlations.
        gradients: Whether the metric is learned from gradients, too.
        pool: Whether all chains have one metric, and one step size if theirs are alike.
        shared_data: Whether all chains have the same data.
        max_depth: The most doublings of a trajectory.
        followed: Whether lanes have to run the log density, since JAX cannot trace it.
        options: Options of `hb.batch`, as items.
    """

    parameters: Parameters
    dense: bool
    gradients: bool
    pool: bool
    shared_data: bool
    max_depth: int
    followed: bool
    options: tuple[tuple[str, Any], ...]

    @property
    def width(self) -> int:
        """The number of values of each draw from which the metric is learned."""
        return (2 if self.gradients else 1) * self.parameters.dim


@dataclass(frozen=True)
class Programs:
    """The functions of a run; arrays of chains have the axis `chains` in front.

    Attributes:
        begin: `(points, tried, momenta, scale, data) -> (points, step sizes)`; chains whose point has no finite density
            are moved to the tried positions.
        noise: `(keys, made, rows) -> Noise`, for chains that have made these numbers of draws.
        advance: `(chains, noise, first, until, limits, scale, data) -> (chains, drawn)`.
        learn: `(moments, positions, counts) -> (Moments, metric)`, with those positions of
            `Float[Array, "chains rows dim"]` that count, `Bool[Array, "chains rows"]`.
        nothing_learned: `chains -> (moments, scale)`.
        compiled: The shapes for which they were compiled before a run.
    """

    begin: Begin
    noise: Callable[[Array, ArrayLike, int], Noise]
    advance: hb.BatchedFunction[..., tuple[Chain, Drawn]]
    learn: Callable[[Moments, ArrayLike, ArrayLike], tuple[Moments, Array]]
    nothing_learned: Callable[[int], tuple[Moments, Array]]
    compiled: set[Hashable] = field(default_factory=set)

    def metric_of(self, window: NDArray[Any]) -> Array:
        """The metric estimated from the draws of a window, `Float[ndarray, "chains draws dim"]`.

        They are summed in the order of their numbers, a few at a time, so that the result does not depend on the calls
        in which they were made, which depend on timing.
        """
        chains, draws, dim = window.shape
        moments, scale = self.nothing_learned(chains)
        for start in range(0, draws, PIECE):
            piece = window[:, start : start + PIECE]
            padded = np.zeros((chains, PIECE, dim), window.dtype)
            padded[:, : piece.shape[1]] = piece
            counts = np.broadcast_to(np.arange(PIECE) < piece.shape[1], (chains, PIECE))
            moments, scale = self.learn(moments, padded, counts)
        return scale

    def keys(self, key: Array, chains: int, rows: int) -> Array:
        """A key for each chain, independent of the number of chains: that of the noise of draw i of `key` for chain i.

        `noise` is compiled for as many rows anyway, and NumPy takes the keys from it, so that XLA compiles no more.
        """
        one, kind = np.asarray(jax.random.key_data(key)), jax.random.key_impl(key)

        def keys_of(words: NDArray[Any]) -> Array:
            keys: Array = jax.random.wrap_key_data(jax.device_put(words), impl=kind)
            return keys

        of_chains = keys_of(np.broadcast_to(one, (chains, *one.shape)))
        of_draws = self.noise(of_chains, np.arange(chains, dtype=np.int32), rows).key
        return keys_of(np.asarray(jax.random.key_data(of_draws))[:, 0])

    def momenta(self, keys: Array, number: ArrayLike, rows: int) -> Array:
        """The momenta of each chain's draws from these numbers on; negative numbers belong to no draw."""
        return self.noise(keys, number, rows).momentum


@kept
def is_followed_for(log_density: LogDensity, parameters: Parameters, data_types: PyTree, shared_data: bool) -> bool:
    """Returns whether lanes have to run a log density of parameters and data."""
    structure, types = data_types
    shapes = [jax.ShapeDtypeStruct(shape if shared_data else shape[1:], dtype) for shape, dtype in types]
    position = jax.ShapeDtypeStruct((parameters.dim,), parameters.dtype)
    return is_followed(parameters.log_density(log_density), position, jax.tree.unflatten(structure, shapes))


@kept
def programs_for(log_density: LogDensity, shape: Shape) -> Programs:
    """Returns the functions for a log density of parameters and data.

    The same function has the same ones, as long as all that it reads outside is equal.
    """
    parameters, dense, pool = shape.parameters, shape.dense, shape.pool
    of_position = parameters.log_density(log_density)
    data_axis = None if shape.shared_data else 0
    scale_axis = None if pool else 0

    def learn(moments: Moments, positions: Array, counts: Array) -> tuple[Moments, Array]:
        moments = with_draws(moments, positions, counts)
        return moments, balanced(moments) if shape.gradients else factor(moments)

    def nothing_learned(chains: int) -> tuple[Moments, Array]:
        dim, dtype = parameters.dim, parameters.dtype
        one = identity(dim, dense=dense, dtype=dtype)
        scale = jax.device_put(one if pool else np.broadcast_to(one, (chains, *one.shape)))
        return no_moments(chains, shape.width, dense=dense, pool=pool, dtype=dtype), scale

    return Programs(
        begin=make_begin(of_position, followed=shape.followed, data_axis=data_axis, scale_axis=scale_axis),
        noise=quickly_compiled(
            partial(noise_for, dim=parameters.dim, dtype=parameters.dtype, max_depth=shape.max_depth),
            static=("rows",),
        ),
        advance=make_advance(
            of_position,
            shape.max_depth,
            followed=shape.followed,
            shared_scale=pool,
            shared_data=shape.shared_data,
            gradients=shape.gradients,
            options=dict(shape.options),
        ),
        learn=quickly_compiled(learn),
        nothing_learned=nothing_learned,
    )


@kept
def what_to_keep(
    postprocess: Callable[[PyTree], PyTree] | None, parameters: Parameters
) -> tuple[Callable[[Array], Any], Any]:
    """Returns a function from positions, `Float[Array, "chains rows dim"]`, to a pytree of `[chains, rows, ...]`.

    The second result is the pytree of one draw, with shapes and dtypes.
    """

    def taken(position: Array) -> PyTree:
        tree, _ = parameters.at(position)  # a row may hold a gradient behind the position
        return tree if postprocess is None else postprocess(tree)

    like = jax.eval_shape(taken, jax.ShapeDtypeStruct((parameters.dim,), parameters.dtype))
    return quickly_compiled(jax.vmap(jax.vmap(taken))), like
