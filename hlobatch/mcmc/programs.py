"""A log density and the shape of a run -> the few compiled functions that a run is made of, kept for the next one.

All but one are plain JAX, on all chains in step: they take a small share of the time. `advance` is where the time goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from hlobatch.mcmc.chains import Chain, Drawn, Limits, make_advance, noise_for
from hlobatch.mcmc.kept import kept
from hlobatch.mcmc.metric import Moments, factor, identity, no_moments, with_draws
from hlobatch.mcmc.nuts import Noise, Point
from hlobatch.mcmc.parameters import Parameters
from hlobatch.mcmc.step_size import StepSize, begun, first_log_step, settled

PIECE: Final = 25
"""Draws of each chain that are summed up at a time: windows are multiples of it, most of them."""


@dataclass(frozen=True)
class Shape:
    """What a program is compiled for, besides the sizes of arrays.

    Attributes:
        parameters: Of one chain.
        dense: Whether the metric has correlations.
        pool: Whether all chains have one metric and one step size.
        shared_data: Whether all chains have the same data.
        max_depth: Doublings of a trajectory at most.
        options: Of `hb.batch`, as items.
    """

    parameters: Parameters
    dense: bool
    pool: bool
    shared_data: bool
    max_depth: int
    options: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Programs:
    """The functions of a run; arrays of chains have the axis `chains` in front.

    Attributes:
        evaluate: `(positions, data) -> Point`, with the log density and its gradient.
        noise: `(keys, made, rows) -> Noise`, of chains that have made so many draws.
        advance: `(chains, noise, first, until, limits, scale, data) -> (chains, drawn)`.
        first_step: `(points, momenta, scale, data) -> StepSize`, searched for where each chain is, with the first of
            its momenta, `Float[Array, "chains rows dim"]`.
        pooled: `StepSize -> StepSize`, the average as the step size; of all chains together where they are pooled.
        learn: `(moments, positions, counts) -> Moments`, with those positions of `Float[Array, "chains rows dim"]` that
            count, `Bool[Array, "chains rows"]`.
        scale: `Moments -> ` the metric.
        nothing_learned: `chains -> (moments, scale)`.
    """

    evaluate: Callable[[Array, Any], Point]
    noise: Callable[[Array, Any, int], Noise]
    advance: Callable[[Chain, Noise, Array, Array, Limits, Array, Any], tuple[Chain, Drawn]]
    first_step: Callable[[Point, Array, Array, Any], StepSize]
    pooled: Callable[[StepSize], StepSize]
    learn: Callable[[Moments, Any, Any], Moments]
    scale: Callable[[Moments], Array]
    nothing_learned: Callable[[int], tuple[Moments, Array]]

    def metric_of(self, window: NDArray[Any]) -> Array:
        """The metric that the draws of a window make, `Float[ndarray, "chains draws dim"]`.

        They are summed up in the order of their numbers, a few at a time: in which calls they were made, which is a
        matter of time, changes nothing.
        """
        chains, draws, dim = window.shape
        moments, _ = self.nothing_learned(chains)
        for start in range(0, draws, PIECE):
            piece = window[:, start : start + PIECE]
            padded = np.zeros((chains, PIECE, dim), window.dtype)
            padded[:, : piece.shape[1]] = piece
            counts = np.broadcast_to(np.arange(PIECE) < piece.shape[1], (chains, PIECE))
            moments = self.learn(moments, padded, counts)
        return self.scale(moments)

    def begun(self, key: Array, made: Any, point: Point, scale: Array, data: Any, rows: int) -> StepSize:
        """Step sizes to begin with, of chains that have a new metric.

        They are tried with momenta of draws that nobody makes: noise of so many `rows` is compiled anyway.
        """
        momenta = self.noise(key, -1 - np.asarray(made), rows).momentum
        return self.first_step(point, momenta, scale, data)


@kept
def programs_for(log_density: Callable[..., Any], shape: Shape) -> Programs:
    """Returns the functions for a log density of parameters and data.

    They are the same ones for the same function, as long as what it reads outside is equal.
    """
    parameters, dense, pool = shape.parameters, shape.dense, shape.pool
    of_position = parameters.log_density(log_density)
    value_and_grad = jax.value_and_grad(of_position)
    data_axis = None if shape.shared_data else 0
    scale_axis = None if pool else 0

    def evaluate(position: Array, data: Any) -> Point:
        value, gradient = value_and_grad(position, data)
        return Point(position, value, gradient, -value)

    def first_step(point: Point, momenta: Array, scale: Array, data: Any) -> StepSize:
        here = (point.position, point.log_density, point.gradient)
        return begun(first_log_step(lambda position: value_and_grad(position, data), *here, momenta[0], scale))

    def pooled(step: StepSize) -> StepSize:
        step = jax.vmap(settled)(step)
        if not pool:
            return step
        return step._replace(log_step=jnp.full_like(step.log_step, jnp.median(step.log_step)))

    def nothing_learned(chains: int) -> tuple[Moments, Array]:
        dim, dtype = parameters.dim, parameters.dtype
        one = identity(dim, dense=dense, dtype=dtype)
        scale = jax.device_put(one if pool else np.broadcast_to(one, (chains, *one.shape)))
        return no_moments(chains, dim, dense=dense, pool=pool, dtype=dtype), scale

    return Programs(
        evaluate=jax.jit(jax.vmap(evaluate, (0, data_axis))),
        noise=jax.jit(
            partial(noise_for, dim=parameters.dim, dtype=parameters.dtype, max_depth=shape.max_depth),
            static_argnames="rows",
        ),
        advance=make_advance(
            of_position,
            shape.max_depth,
            shared_scale=pool,
            shared_data=shape.shared_data,
            options=dict(shape.options),
        ),
        first_step=jax.jit(jax.vmap(first_step, (0, 0, scale_axis, data_axis))),
        pooled=jax.jit(pooled),
        learn=jax.jit(with_draws),
        scale=jax.jit(factor),
        nothing_learned=nothing_learned,
    )


@kept
def what_to_keep(postprocess: Callable[[Any], Any] | None, parameters: Parameters) -> Callable[[Array], Any]:
    """Returns what makes of positions, `Float[Array, "chains rows dim"]`, a pytree of `[chains, rows, ...]`."""

    def taken(position: Array) -> Any:
        tree, _ = parameters.at(position)
        return tree if postprocess is None else postprocess(tree)

    return jax.jit(jax.vmap(jax.vmap(taken)))
