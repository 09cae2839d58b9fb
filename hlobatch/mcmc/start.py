"""What a user gives to start from -> the points where chains start, of finite density, or an error that says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from hlobatch.mcmc.checks import checked_count
from hlobatch.mcmc.errors import ArgumentError, InitialValueError
from hlobatch.mcmc.nuts import Point
from hlobatch.mcmc.parameters import Parameters, describe

TRIES: Final = 100
"""How often a chain that starts at random may start again (Stan's choice)."""

Evaluate = Callable[[Array], Point]
"""Positions, `Float[Array, "chains dim"]`, -> points."""


def parameters_of(init: Any, constraints: Any, chains: int | None) -> tuple[Parameters, int]:
    """Returns what the parameters of one chain are, and how many chains there are.

    Args:
        init: As `sample` takes it.
        constraints: Likewise.
        chains: Likewise.

    Raises:
        ArgumentError: They do not fit together.
    """
    count = None if chains is None else checked_count("chains", chains, 1)
    if callable(init):
        if count is None:
            raise ArgumentError(
                "init is a function, and is called for each chain.", help="say how many there are: chains=64."
            )
        return describe(jax.eval_shape(init, jax.random.key(0)), constraints), count
    if count is not None:
        return describe(init, constraints), count
    sizes = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(init)}
    if len(sizes) != 1 or sizes & {(), (0,)}:
        raise ArgumentError(
            "without `chains`, init has an axis of chains in front of each of its arrays, all of the same size.",
            help="give chains=64, and it is the parameters of one chain, around which all start.",
        )
    [(size,)] = sizes
    return describe(jax.tree.map(lambda leaf: jnp.asarray(leaf)[0], init), constraints), size


def starting_points(
    init: Any, keys: Array, parameters: Parameters, evaluate: Evaluate, *, one_for_all: bool, jitter: float
) -> Point:
    """Returns the points where chains start.

    Args:
        init: As `sample` takes it.
        keys: `Key[Array, "chains"]`.
        parameters: Of one chain.
        evaluate: The log density and its gradient.
        one_for_all: Whether `init` is the parameters of one chain.
        jitter: How far from those, up and down, each unconstrained coordinate of a chain starts.

    Raises:
        InitialValueError: Some chain has no finite density.
    """

    def positions(keys: Array) -> Array:
        if callable(init):
            return jax.vmap(lambda key: parameters.position(init(key)))(keys)
        if not one_for_all:
            return jax.vmap(parameters.position)(init)
        center = parameters.position(init)
        return jax.vmap(lambda key: center + jax.random.uniform(key, center.shape, center.dtype, -jitter, jitter))(keys)

    def given(chain: int) -> Any:
        if callable(init):
            return init(keys[chain])
        return init if one_for_all else jax.tree.map(lambda leaf: leaf[chain], init)

    can_differ = callable(init) or (one_for_all and jitter > 0.0)
    point = evaluate(positions(keys))
    for again in range(1, TRIES if can_differ else 1):
        bad = ~_is_finite(point)
        if not bad.any():
            return point
        tried = evaluate(positions(jax.vmap(jax.random.fold_in, (0, None))(keys, again)))
        point = jax.tree.map(lambda new, old: jnp.where(bad.reshape(-1, *[1] * (new.ndim - 1)), new, old), tried, point)  # noqa: B023
    if not _is_finite(point).all():
        raise _explained(point, given, parameters, evaluate, tries=TRIES if can_differ else 1)
    return point


def _is_finite(point: Point) -> Any:
    """Which chains may start where they are, `Bool[ndarray, "chains"]`."""
    arrays = (point.position, point.log_density[:, None], point.gradient)
    return np.logical_and.reduce([np.isfinite(np.asarray(array)).all(axis=-1) for array in arrays])


def _explained(
    point: Point, given: Callable[[int], Any], parameters: Parameters, evaluate: Evaluate, tries: int
) -> InitialValueError:
    """The error: the first chain that cannot start, and the parameters that it cannot start with."""
    good = _is_finite(point)
    chain = int(np.argmin(good))
    position, gradient = np.asarray(point.position[chain]), np.asarray(point.gradient[chain])
    value = float(point.log_density[chain])
    outside = _names(parameters, ~np.isfinite(position))
    steep = _names(parameters, ~np.isfinite(gradient))
    if outside:
        names, what = outside, "is not in its support"
    elif good.any() and (swapped := _cured_by(point, chain, int(np.argmax(good)), parameters, evaluate)):
        names, what = swapped, f"has log density {value:g}, which another chain's value would make finite"
    elif steep and np.isfinite(value):
        names, what = steep, f"has log density {value:g} and a gradient that is not finite"
    else:
        names, what = steep if len(steep) < len(parameters.names) else (), f"has log density {value:g}"
    subject = f"parameter {' and '.join(names)} of chain {chain}" if names else f"chain {chain}"
    tree = given(chain) if outside else parameters.at(point.position[chain])[0]
    shown = ", ".join(
        f"{name}={_shown(leaf)}"
        for name, leaf in zip(parameters.names, jax.tree.leaves(tree), strict=True)
        if name in names or not names
    )
    others = f"; so do {(~good).sum() - 1} other chains" if (~good).sum() > 1 else ""
    tried = f" after {tries} tries" if tries > 1 else ""
    remedy = "start where the density is positive and smooth, in the middle of the prior, say."
    if outside:
        supports = {name: b for name, b in zip(parameters.names, parameters.bijectors, strict=True) if name in names}
        remedy = f"start inside of {' and '.join(map(repr, supports.values()))}, or change the constraint."
    return InitialValueError(f"{subject} {what}{tried}: {shown}{others}.", chain, names, remedy)


def _shown(value: Any) -> str:
    """A number, or a few of an array."""
    array = np.asarray(value)
    return np.array2string(array, precision=4, threshold=6, separator=", ") if array.ndim else f"{float(array):.4g}"


def _cured_by(point: Point, chain: int, other: int, parameters: Parameters, evaluate: Evaluate) -> tuple[str, ...]:
    """The parameter whose value in a chain that may start lets the one start that may not."""
    start = 0
    for name, size in zip(parameters.names, parameters.sizes, strict=True):
        here = slice(start, start + size)
        tried = point.position.at[chain, here].set(point.position[other, here])
        if _is_finite(evaluate(tried))[chain]:
            return (name,)
        start += size
    return ()


def _names(parameters: Parameters, bad: Any) -> tuple[str, ...]:
    """The parameters to which some of these elements of a position belong."""
    parts = np.split(bad, np.cumsum(parameters.sizes)[:-1])
    return tuple(name for name, part in zip(parameters.names, parts, strict=True) if part.any())
