"""A log density and the shape of a run -> the few compiled functions that a run is made of, kept for the next one.

All but one are plain JAX, on all chains in step: they take a small share of the time. `advance` is where the time goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

import hlobatch as hb
from hlobatch.mcmc.chains import Chain, Drawn, Limits, make_advance, noise_for
from hlobatch.mcmc.density import is_followed
from hlobatch.mcmc.kept import kept
from hlobatch.mcmc.metric import Moments, factor, identity, no_moments, with_draws
from hlobatch.mcmc.nuts import FlatLogDensity, Noise, Point
from hlobatch.mcmc.parameters import Parameters
from hlobatch.mcmc.step_size import Start, StepSize, agreed, begun, first_log_step, searching, settled

PIECE: Final = 25
"""Draws of each chain that are summed up at a time: windows are multiples of it, most of them."""


@dataclass(frozen=True)
class Shape:
    """What a program is compiled for, besides the sizes of arrays.

    Attributes:
        parameters: Of one chain.
        dense: Whether the metric has correlations.
        pool: Whether all chains have one metric, and one step size if theirs are alike.
        shared_data: Whether all chains have the same data.
        max_depth: Doublings of a trajectory at most.
        followed: Whether lanes have to run the log density, which JAX cannot trace.
        options: Of `hb.batch`, as items.
    """

    parameters: Parameters
    dense: bool
    pool: bool
    shared_data: bool
    max_depth: int
    followed: bool
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
        pooled: `StepSize -> StepSize`, the average as the step size; one of all chains where they are pooled and it is
            alike.
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


Starting = tuple[Callable[[Array, Any], Point], Callable[[Point, Array, Array, Any], StepSize]]
"""`evaluate` and `first_step` of `Programs`."""


def started_by_jax(log_density: FlatLogDensity, data_axis: int | None, scale_axis: int | None) -> Starting:
    """Returns what a run starts with, for a log density that JAX can trace."""
    value_and_grad = jax.value_and_grad(log_density)

    def evaluate(position: Array, data: Any) -> Point:
        value, gradient = value_and_grad(position, data)
        return Point(position, value, gradient, -value)

    def first_step(point: Point, momenta: Array, scale: Array, data: Any) -> StepSize:
        start = Start(point.position, point.log_density, point.gradient, momenta[0], scale)
        return begun(first_log_step(lambda position: value_and_grad(position, data), start))

    return (
        jax.jit(jax.vmap(evaluate, (0, data_axis))),
        jax.jit(jax.vmap(first_step, (0, 0, scale_axis, data_axis))),
    )


def started_in_lanes(log_density: FlatLogDensity, data_axis: int | None, scale_axis: int | None) -> Starting:
    """Returns what a run starts with, for a log density that lanes have to run."""
    value_and_grad = jax.value_and_grad(hb.batch(log_density))

    @hb.batch(in_axes=(0, data_axis))
    def evaluate(position: Array, data: Any) -> Point:
        value, gradient = value_and_grad(position, data)
        return Point(position, value, gradient, -value)

    @hb.batch(in_axes=(0, 0, scale_axis, data_axis))
    def first_step(point: Point, momenta: Array, scale: Array, data: Any) -> StepSize:
        start = Start(point.position, point.log_density, point.gradient, momenta[0], scale)
        search = searching(start)
        while not search.is_found:
            value, slope = value_and_grad(start.ahead(search), data)
            search = start.judged(search, value, slope)
        return begun(search.log_step)

    return evaluate, first_step


@kept
def is_followed_for(
    log_density: Callable[..., Any], parameters: Parameters, data_types: Any, shared_data: bool
) -> bool:
    """Returns whether lanes have to run a log density of parameters and data."""
    structure, types = data_types
    shapes = [jax.ShapeDtypeStruct(shape if shared_data else shape[1:], dtype) for shape, dtype in types]
    position = jax.ShapeDtypeStruct((parameters.dim,), parameters.dtype)
    return is_followed(parameters.log_density(log_density), position, jax.tree.unflatten(structure, shapes))


@kept
def programs_for(log_density: Callable[..., Any], shape: Shape) -> Programs:
    """Returns the functions for a log density of parameters and data.

    They are the same ones for the same function, as long as what it reads outside is equal.
    """
    parameters, dense, pool = shape.parameters, shape.dense, shape.pool
    of_position = parameters.log_density(log_density)
    data_axis = None if shape.shared_data else 0
    scale_axis = None if pool else 0
    starting = started_in_lanes if shape.followed else started_by_jax
    evaluate, first_step = starting(of_position, data_axis, scale_axis)

    def pooled(step: StepSize) -> StepSize:
        step = jax.vmap(settled)(step)
        return agreed(step) if pool else step

    def nothing_learned(chains: int) -> tuple[Moments, Array]:
        dim, dtype = parameters.dim, parameters.dtype
        one = identity(dim, dense=dense, dtype=dtype)
        scale = jax.device_put(one if pool else np.broadcast_to(one, (chains, *one.shape)))
        return no_moments(chains, dim, dense=dense, pool=pool, dtype=dtype), scale

    return Programs(
        evaluate=evaluate,
        noise=jax.jit(
            partial(noise_for, dim=parameters.dim, dtype=parameters.dtype, max_depth=shape.max_depth),
            static_argnames="rows",
        ),
        advance=make_advance(
            of_position,
            shape.max_depth,
            followed=shape.followed,
            shared_scale=pool,
            shared_data=shape.shared_data,
            options=dict(shape.options),
        ),
        first_step=first_step,
        pooled=jax.jit(pooled),
        learn=jax.jit(with_draws),
        scale=jax.jit(factor),
        nothing_learned=nothing_learned,
    )


@kept
def what_to_keep(
    postprocess: Callable[[Any], Any] | None, parameters: Parameters
) -> tuple[Callable[[Array], Any], Any]:
    """Returns what makes of positions, `Float[Array, "chains rows dim"]`, a pytree of `[chains, rows, ...]`.

    And what one draw is in it, with shapes and dtypes.
    """

    def taken(position: Array) -> Any:
        tree, _ = parameters.at(position)
        return tree if postprocess is None else postprocess(tree)

    like = jax.eval_shape(taken, jax.ShapeDtypeStruct((parameters.dim,), parameters.dtype))
    return jax.jit(jax.vmap(jax.vmap(taken))), like
