"""The support of a parameter -> a bijector from unconstrained coordinates, with the logarithm of its Jacobian.

| Bijector | Parameters |
|---|---|
| `real` | any |
| `positive` | above 0 |
| `above(low)`, `below(high)`, `interval(low, high)` | between bounds |
| `ordered` | increasing along the last axis |
| `simplex` | positive, adding up to 1 along the last axis |
| `correlation_cholesky` | lower Cholesky factors of correlation matrices, `[..., n, n]` |

Reference:
    Stan Reference Manual, "Constraint Transforms".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

import hlobatch as hb
from hlobatch.mcmc.errors import ArgumentError

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Bijector:
    """Unconstrained coordinates `x` <-> a parameter `y`.

    Attributes:
        name: The text that makes the bijector, such as `above(1)`.
        forward: `x -> (y, log_det)`: the parameter, and the logarithm of the determinant of the Jacobian, a scalar.
        inverse: `y -> x`. Not finite if `y` is not in the support.
        unconstrained_shape: The shape of `y` -> the shape of `x`.
        misfit: The shape of `y` -> the reason why no parameter has that shape; empty if one can.
    """

    name: str
    forward: Callable[[Array], tuple[Array, Array]]
    inverse: Callable[[Array], Array]
    unconstrained_shape: Callable[[Shape], Shape]
    misfit: Callable[[Shape], str] = lambda _: ""

    def __repr__(self) -> str:
        return f"mcmc.{self.name}"


def _same(shape: Shape) -> Shape:
    return shape


def _without_axes(shape: Shape) -> str:
    return "" if shape and shape[-1] else "is for arrays with an axis, along which its elements depend on each other"


def _not_square(shape: Shape) -> str:
    return "" if len(shape) >= 2 and shape[-1] == shape[-2] > 0 else "is for square matrices"


def _if_near(near: Array, x: Array) -> Array:
    """The coordinates of a parameter if it lies in the support, up to rounding; else NaN."""
    return jnp.where(near, x, jnp.nan)


def _are_one(sums: Array) -> Array:
    """Whether these are 1, up to the rounding of their summands."""
    return jnp.abs(sums - 1.0) < float(np.sqrt(np.finfo(sums.dtype).eps))


@hb.at_the_call
def above(low: float) -> Bijector:
    """A parameter above a number.

    Args:
        low: The number.

    Examples:
        >>> y, log_det = above(1.0).forward(jnp.float32(0.0))
        >>> float(y), float(log_det)
        (2.0, 0.0)
    """
    bound = _number("above", low)
    return _half_line(bound, 1.0, f"above({bound:g})")


@hb.at_the_call
def below(high: float) -> Bijector:
    """A parameter below a number.

    Args:
        high: The number.

    Examples:
        >>> y, _ = below(1.0).forward(jnp.float32(0.0))
        >>> float(y)
        0.0
    """
    bound = _number("below", high)
    return _half_line(bound, -1.0, f"below({bound:g})")


def _number(name: str, bound: Any) -> float:
    """A bound, which all elements of a parameter share."""
    if np.ndim(bound) or not np.isfinite(bound):
        raise ArgumentError(
            f"a bound of {name} is {bound!r}, and has to be a finite number.",
            help="give each part of a parameter its own bijector; a half-line has one bound: mcmc.above or mcmc.below.",
        )
    return float(bound)


@functools.cache
def _half_line(bound: float, sign: float, name: str) -> Bijector:
    """The bijector onto a half-line, from a bound upwards or downwards."""
    return Bijector(
        name,
        lambda x: (bound + sign * jnp.exp(x), jnp.sum(x)),
        lambda y: jnp.log(sign * (y - bound)),
        _same,
    )


@hb.at_the_call
def interval(low: float, high: float) -> Bijector:
    """A parameter between two numbers.

    Args:
        low: The lesser number.
        high: The greater number.

    Raises:
        ArgumentError: Nothing is between the numbers.

    Examples:
        >>> y, _ = interval(-1.0, 3.0).forward(jnp.float32(0.0))
        >>> float(y)
        1.0
    """
    bounds = _number("interval", low), _number("interval", high)
    if not bounds[0] < bounds[1]:
        raise ArgumentError(f"interval({low}, {high}) is empty.", help="the first number has to be the smaller one.")
    return _between(*bounds)


@functools.cache
def _between(low: float, high: float) -> Bijector:
    """The bijector onto the interval between two bounds."""
    width = high - low

    def forward(x: Array) -> tuple[Array, Array]:
        log_det = jnp.sum(jax.nn.log_sigmoid(x) + jax.nn.log_sigmoid(-x) + np.log(width))
        return low + width * jax.nn.sigmoid(x), log_det

    def inverse(y: Array) -> Array:
        share = (y - low) / width
        return jnp.log(share) - jnp.log1p(-share)

    return Bijector(f"interval({low:g}, {high:g})", forward, inverse, _same)


def _ordered() -> Bijector:
    def forward(x: Array) -> tuple[Array, Array]:
        steps = jnp.concatenate([x[..., :1], jnp.exp(x[..., 1:])], axis=-1)
        return jnp.cumsum(steps, axis=-1), jnp.sum(x[..., 1:])

    def inverse(y: Array) -> Array:
        return jnp.concatenate([y[..., :1], jnp.log(jnp.diff(y, axis=-1))], axis=-1)

    return Bijector("ordered", forward, inverse, _same, _without_axes)


def _simplex() -> Bijector:
    """Stick-breaking: each coordinate is the share of the rest that a part takes; zero makes equal parts."""

    def offsets(breaks: int) -> NDArray[np.float64]:
        parts: NDArray[np.float64] = np.arange(breaks, 0, -1.0)
        return np.log(parts)

    def forward(x: Array) -> tuple[Array, Array]:
        logit = x - jnp.asarray(offsets(x.shape[-1]), x.dtype)
        log_share, log_rest = jax.nn.log_sigmoid(logit), jax.nn.log_sigmoid(-logit)
        log_left = jnp.cumsum(log_rest, axis=-1)
        log_before = log_left - log_rest
        y = jnp.exp(jnp.concatenate([log_before + log_share, log_left[..., -1:]], axis=-1))
        return y, jnp.sum(log_before + log_share + log_rest)

    def inverse(y: Array) -> Array:
        after = jnp.cumsum(y[..., :0:-1], axis=-1)[..., ::-1]  # what each break leaves
        x = jnp.log(y[..., :-1]) - jnp.log(after) + jnp.asarray(offsets(y.shape[-1] - 1), y.dtype)
        return _if_near(_are_one(y.sum(axis=-1, keepdims=True)), x)

    return Bijector("simplex", forward, inverse, lambda shape: (*shape[:-1], shape[-1] - 1), _without_axes)


def _correlation_cholesky() -> Bijector:
    """Canonical partial correlations: each element of a row takes a share of the norm that is left of 1 in the row."""

    def forward(x: Array) -> tuple[Array, Array]:
        size = int((1 + np.sqrt(1 + 8 * x.shape[-1])) // 2)
        row, column = np.tril_indices(size, -1)
        partial = jnp.zeros((*x.shape[:-1], size, size), x.dtype).at[..., row, column].set(jnp.tanh(x))
        rest = 0.5 * jnp.log1p(-(partial**2))
        before = jnp.cumsum(rest, axis=-1) - rest  # logarithm of the norm that is left at each element
        below = np.tril(np.ones((size, size), bool), -1)
        lower = jnp.where(below, partial, jnp.eye(size, dtype=x.dtype)) * jnp.exp(before)
        log_det = jnp.sum(jnp.where(below, 2 * rest + before, 0.0))
        return lower * np.tril(np.ones((size, size))).astype(x.dtype), log_det

    def inverse(y: Array) -> Array:
        size = y.shape[-1]
        left = 1.0 - (jnp.cumsum(y**2, axis=-1) - y**2)
        row, column = np.tril_indices(size, -1)
        partial: Array = y[..., row, column] / jnp.sqrt(left[..., row, column])
        diagonal = jnp.diagonal(y, axis1=-2, axis2=-1)
        is_factor = _are_one((y**2).sum(axis=-1)).all(axis=-1) & (diagonal > 0).all(axis=-1)
        is_factor &= (jnp.triu(y, 1) == 0).all(axis=(-2, -1))
        return _if_near(is_factor[..., None], jnp.arctanh(partial))

    return Bijector(
        "correlation_cholesky",
        forward,
        inverse,
        lambda shape: (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2),
        _not_square,
    )


real: Final = Bijector("real", lambda x: (x, jnp.zeros((), x.dtype)), lambda y: y, _same)
"""A parameter that may be any number, of any shape: the same as None."""

positive: Final = _half_line(0.0, 1.0, "positive")
"""A parameter above 0, of any shape."""

ordered: Final = _ordered()
"""Numbers that increase along the last axis, `[..., n]`."""

simplex: Final = _simplex()
"""Positive numbers that sum to 1 along the last axis, `[..., n]`."""

correlation_cholesky: Final = _correlation_cholesky()
"""The Cholesky factor of a matrix of correlations, `[..., n, n]`: lower triangular, its rows of norm 1."""
