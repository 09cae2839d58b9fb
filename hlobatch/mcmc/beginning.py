"""The position of a chain, or a position to try -> a point with its density, and a first step size, in one program.

It is one loop: the first turn computes the density at the position, and each further turn the density one step away
from it, until a step size is found. So the program has one copy of the density, which serves the start, further tries,
and the search for another step size after a new metric.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

import hlobatch as hb
from hlobatch.mcmc.compiling import quickly_compiled
from hlobatch.mcmc.nuts import FlatLogDensity, Point, select
from hlobatch.mcmc.step_size import Search, Start, StepSize, begun, searching
from hlobatch.typing import ArrayLike, PyTree

Begin = Callable[[Point, ArrayLike, Array, Array, PyTree], tuple[Point, StepSize]]
"""`(points, tried, momenta, scale, data)` -> the points of chains, and their step sizes; of the momenta,
`Float[Array, "chains rows dim"]`, the first row is used."""


class Beginning(NamedTuple):
    """A chain at its beginning.

    Attributes:
        point: Its point; only the position, as long as the density is not known.
        is_known: `Bool[Array, ""]`, whether the density is known.
        search: The search for a step size.
    """

    point: Point
    is_known: Array
    search: Search

    def next(self, momentum: Array, scale: Array) -> Array:
        """The position whose density is needed."""
        start = Start(self.point.position, self.point.log_density, self.point.gradient, momentum, scale)
        return jnp.where(self.is_known, start.ahead(self.search), self.point.position)

    def told(self, momentum: Array, scale: Array, position: Array, value: Array, slope: Array) -> Beginning:
        """The chain once the density at the position of `next` is known."""
        start = Start(self.point.position, self.point.log_density, self.point.gradient, momentum, scale)
        search = select(self.is_known, start.judged(self.search, value, slope), self.search)
        point = select(self.is_known, self.point, Point(position, value, slope, -value))
        return Beginning(point, jnp.bool_(True), search)


def from_where(point: Point, tried: Array) -> Beginning:
    """Returns a chain at a point, if the density there is finite, else at the position `tried`."""
    is_known = jnp.isfinite(point.log_density) & jnp.isfinite(point.gradient).all() & jnp.isfinite(point.position).all()
    point = point._replace(position=jnp.where(is_known, point.position, tried))
    return Beginning(point, is_known, searching(point.log_density))


def make_begin(log_density: FlatLogDensity, *, followed: bool, data_axis: int | None, scale_axis: int | None) -> Begin:
    """Returns the function that begins chains, batched over chains.

    Args:
        log_density: A function of a position and the data.
        followed: Whether lanes have to run the density, since JAX cannot trace it.
        data_axis: The axis of chains of the data, if there is one.
        scale_axis: The axis of chains of the metric, if there is one.
    """
    in_axes = (0, 0, 0, scale_axis, data_axis)
    if not followed:
        value_and_grad = jax.value_and_grad(log_density)

        def begin(point: Point, tried: Array, momenta: Array, scale: Array, data: PyTree) -> tuple[Point, StepSize]:
            momentum = momenta[0]

            def further(beginning: Beginning) -> Beginning:
                position = beginning.next(momentum, scale)
                return beginning.told(momentum, scale, position, *value_and_grad(position, data))

            beginning = jax.lax.while_loop(lambda one: ~one.search.is_found, further, from_where(point, tried))
            return beginning.point, begun(beginning.search.log_step)

        return quickly_compiled(jax.vmap(begin, in_axes), runs_seldom=True)

    of_lane = make_begin_in_lane(log_density, followed=True)

    @partial(hb.batch, in_axes=in_axes)
    def in_lanes(point: Point, tried: Array, momenta: Array, scale: Array, data: PyTree) -> tuple[Point, StepSize]:
        return of_lane(point, tried, momenta[0], scale, data)

    return in_lanes


def make_begin_in_lane(log_density: FlatLogDensity, *, followed: bool) -> Callable[..., tuple[Point, StepSize]]:
    """Returns the function that begins one chain, to be called by a batched function.

    Args:
        log_density: A function of a position and the data.
        followed: Whether lanes have to run the density.
    """
    value_and_grad = jax.value_and_grad(hb.batch(log_density) if followed else log_density)

    @hb.batch
    def of_lane(point: Point, tried: Array, momentum: Array, scale: Array, data: PyTree) -> tuple[Point, StepSize]:
        beginning = from_where(point, tried)
        while not beginning.search.is_found:
            position = beginning.next(momentum, scale)
            value, slope = value_and_grad(position, data)
            beginning = beginning.told(momentum, scale, position, value, slope)
        return beginning.point, begun(beginning.search.log_step)

    return of_lane
