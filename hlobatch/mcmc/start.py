"""The user's `init` -> the points where chains start, of finite density, or an error that says why there are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from hlobatch.mcmc.checks import checked_count
from hlobatch.mcmc.compiling import quickly_compiled
from hlobatch.mcmc.errors import ArgumentError, InitialValueError
from hlobatch.mcmc.kept import kept
from hlobatch.mcmc.nuts import Point
from hlobatch.mcmc.parameters import Parameters, describe
from hlobatch.mcmc.step_size import StepSize
from hlobatch.typing import ArrayLike, PyTree

TRIES: Final = 100
"""Most tries of a chain that starts at random (Stan's choice)."""

Momenta = Callable[[Array, int], Array]
"""Keys of chains, and a draw number that is not used -> standard normals, `Float[Array, "chains rows dim"]`."""

Begin = Callable[[Array, Point, ArrayLike], tuple[Point, StepSize]]
"""Keys, points, and positions to try where a point has no finite density -> points, and first step sizes."""


@dataclass(frozen=True)
class Given:
    """The user's arguments about the start.

    Attributes:
        init: The argument of `sample`.
        parameters: The parameters of one chain.
        chains: The number of chains.
        one_for_all: Whether `init` is the parameters of one chain.
        jitter: The distance from those, up and down, within which each unconstrained coordinate of a chain starts.
    """

    init: PyTree
    parameters: Parameters
    chains: int
    one_for_all: bool
    jitter: float

    @property
    def can_differ(self) -> bool:
        """Whether another try starts chains elsewhere."""
        return callable(self.init) or (self.one_for_all and self.jitter > 0.0)

    def at(self, again: int, keys: Array, momenta: Momenta) -> Array:
        """The positions where chains start, at the try number `again`."""
        if callable(self.init):
            keys = _others(keys, np.int32(again)) if again else keys
            return positions_of(self.init, self.parameters)(keys)
        if not self.one_for_all:
            return positions_at(None, self.parameters)(self.init)
        jitter = np.asarray(self.jitter, self.parameters.dtype)
        return positions_around(None, self.parameters)(self.init, jitter, momenta(keys, -2 - again))

    def of(self, chain: int, keys: Array) -> PyTree:
        """The user's parameters for a chain."""
        if callable(self.init):
            return self.init(keys[chain])
        return self.init if self.one_for_all else jax.tree.map(lambda leaf: leaf[chain], self.init)


_others: Final = jax.jit(jax.vmap(jax.random.fold_in, (0, None)))


@kept
def positions_of(init: Callable[[Array], PyTree], parameters: Parameters) -> Callable[[Array], Array]:
    """Returns a function from keys to positions, by the user's function."""
    return quickly_compiled(jax.vmap(lambda key: parameters.position(init(key))), runs_seldom=True)


@kept
def positions_at(_: None, parameters: Parameters) -> Callable[[PyTree], Array]:
    """Returns a function from the parameters of each chain to positions."""
    return quickly_compiled(jax.vmap(parameters.position), runs_seldom=True)


@kept
def positions_around(_: None, parameters: Parameters) -> Callable[[PyTree, ArrayLike, Array], Array]:
    """Returns a function from the parameters of one chain, a distance, and normals, to positions within that distance.

    The normals are made into uniform numbers, since XLA takes long to compile the drawing of others.
    """

    def around(tree: PyTree, jitter: Array, normals: Array) -> Array:
        uniform = jax.lax.erf(normals[:, 0] * np.sqrt(0.5).astype(normals.dtype))
        return parameters.position(tree) + jitter * uniform

    return quickly_compiled(around, runs_seldom=True)


def parameters_of(
    init: PyTree, constraints: PyTree, number: int | None, things: str = "chains"
) -> tuple[Parameters, int]:
    """Returns the parameters of one chain, and the number of chains.

    Args:
        init: The argument of `sample`.
        constraints: The argument of `sample`.
        number: The argument `chains` of `sample`.
        things: The name of that argument: `mcmc.smc` has particles in place of chains.

    Raises:
        ArgumentError: They do not fit together.
    """
    count = None if number is None else checked_count(things, number, 1)
    if callable(init):
        if count is None:
            raise ArgumentError(
                f"init is a function, which makes the start of one of the {things}.",
                help=f"say how many there are: {things}=64.",
            )
        return describe(jax.eval_shape(init, jax.random.key(0)), constraints), count
    if count is not None:
        return describe(init, constraints), count
    sizes = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(init)}
    if len(sizes) != 1 or sizes & {(), (0,)}:
        raise ArgumentError(
            f"without `{things}`, init has an axis of {things} in front of each of its arrays, all of the same size.",
            help="give chains=64, and it is the parameters of one chain, around which all start."
            if things == "chains"
            else f"give a function from a key to a draw from the prior, and {things}=1000.",
        )
    [(size,)] = sizes
    arrays = jax.eval_shape(lambda tree: jax.tree.map(jnp.asarray, tree), init)
    one = jax.tree.map(lambda aval: jax.ShapeDtypeStruct(aval.shape[1:], aval.dtype), arrays)
    return describe(one, constraints), size


def started(given: Given, keys: Array, momenta: Momenta, begin: Begin) -> tuple[Point, StepSize]:
    """Returns the points where chains of these keys start, and their first step sizes.

    Raises:
        InitialValueError: Some chain has no finite density.
    """
    tries = TRIES if given.can_differ else 1
    positions = given.at(0, keys, momenta)
    point, step = begin(keys, unknown(positions), positions)
    for again in range(1, tries):
        if _is_finite(point).all():
            break
        point, step = begin(keys, point, given.at(again, keys, momenta))
    if _is_finite(point).all():
        return point, step

    def evaluate(positions: PyTree) -> Point:
        return begin(keys, unknown(positions), positions)[0]

    raise _explained(point, lambda chain: given.of(chain, keys), given.parameters, evaluate, tries)


def unknown(positions: Array) -> Point:
    """Returns points with unknown densities."""
    chains, dim = positions.shape
    value, gradient = np.full(chains, np.nan, positions.dtype), np.full((chains, dim), np.nan, positions.dtype)
    return Point(positions, *jax.device_put((value, gradient, value)))


def _is_finite(point: Point) -> NDArray[np.bool_]:
    """Whether each chain has a finite density and gradient, `Bool[ndarray, "chains"]`."""
    arrays = (point.position, np.asarray(point.log_density)[:, None], point.gradient)
    finite: NDArray[np.bool_] = np.logical_and.reduce([np.isfinite(np.asarray(x)).all(axis=-1) for x in arrays])
    return finite


def _explained(
    point: Point,
    given: Callable[[int], PyTree],
    parameters: Parameters,
    evaluate: Callable[[PyTree], Point],
    tries: int,
) -> InitialValueError:
    """The error for the first chain that cannot start, with the parameters that are the cause."""
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
    """The text of a number, or of the first and last numbers of an array."""
    array = np.asarray(value)
    return np.array2string(array, precision=4, threshold=6, separator=", ") if array.ndim else f"{float(array):.4g}"


def _cured_by(
    point: Point, chain: int, other: int, parameters: Parameters, evaluate: Callable[[PyTree], Point]
) -> tuple[str, ...]:
    """The parameter whose value in a chain that can start would let the other one start; empty if there is none."""
    start = 0
    for name, size in zip(parameters.names, parameters.sizes, strict=True):
        here = slice(start, start + size)
        tried = point.position.at[chain, here].set(point.position[other, here])
        if _is_finite(evaluate(tried))[chain]:
            return (name,)
        start += size
    return ()


def _names(parameters: Parameters, bad: NDArray[np.bool_]) -> tuple[str, ...]:
    """The names of the parameters to which these elements of a position belong."""
    parts = np.split(bad, np.cumsum(parameters.sizes)[:-1])
    return tuple(name for name, part in zip(parameters.names, parts, strict=True) if part.any())
