"""A log density of a pytree of parameters, some of them constrained -> one of a vector without constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import PyTreeDef

from hlobatch.mcmc.bijectors import Bijector, real
from hlobatch.mcmc.density import LogDensity
from hlobatch.mcmc.errors import ArgumentError
from hlobatch.typing import ArrayLike, DType, PyTree


@dataclass(frozen=True)
class Parameters:
    """The parameters of one chain: their names, shapes and constraints, and their places in the vector of a position.

    Attributes:
        structure: The structure of the pytree.
        names: The names of its leaves, as a user would write them.
        shapes: The shapes of the leaves.
        bijectors: The bijectors of the leaves.
        dtype: The dtype of a position.
    """

    structure: PyTreeDef
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    bijectors: tuple[Bijector, ...]
    dtype: DType

    @property
    def _unconstrained(self) -> list[tuple[int, ...]]:
        return [b.unconstrained_shape(shape) for b, shape in zip(self.bijectors, self.shapes, strict=True)]

    @property
    def sizes(self) -> list[int]:
        """The number of elements of a position that belong to each leaf."""
        return [math.prod(shape) for shape in self._unconstrained]

    @property
    def dim(self) -> int:
        """The number of elements of a position."""
        return sum(self.sizes)

    def position(self, tree: PyTree) -> Array:
        """The position, `Float[Array, "dim"]`, of the parameters of one chain; not finite outside of the support."""
        leaves = jax.tree.leaves(tree)
        parts = [
            b.inverse(jnp.asarray(leaf, self.dtype)).reshape(-1) for b, leaf in zip(self.bijectors, leaves, strict=True)
        ]
        return jnp.concatenate(parts)

    def at(self, position: Array) -> tuple[PyTree, Array]:
        """The parameters at a position, and the logarithm of the Jacobian's determinant."""
        leaves, log_det, start = [], jnp.zeros((), position.dtype), 0
        for bijector, shape, size in zip(self.bijectors, self._unconstrained, self.sizes, strict=True):
            leaf, log_det_here = bijector.forward(position[start : start + size].reshape(shape))
            leaves.append(leaf)
            log_det = log_det + log_det_here
            start += size
        return jax.tree.unflatten(self.structure, leaves), log_det

    def log_density(self, function: LogDensity) -> Callable[[Array, PyTree], Array]:
        """The log density of a position and data, given a function of parameters and, if there are data, of these."""

        def of_position(position: Array, data: PyTree) -> Array:
            tree, log_det = self.at(position)
            return scalar(function(tree, *data), position.dtype) + log_det

        return of_position


def scalar(value: ArrayLike, dtype: DType) -> Array:
    """Returns the result of a log density as a number of this dtype; an error if it is no number."""
    if value is None:
        raise ArgumentError("the log density gives None.", help="end it with `return` and its value.")
    if isinstance(value, (tuple, list, dict)):
        raise ArgumentError(
            f"the log density gives a {type(value).__name__}, and has to give a number.",
            help="return the log density alone; what else is wanted of a draw, compute in postprocess=.",
        )
    array = jnp.asarray(value)
    if array.shape != ():
        raise ArgumentError(
            f"the log density has to be a scalar, and is an array of shape {array.shape}.",
            help="add its parts up: return jnp.sum(…).",
        )
    if not jnp.issubdtype(array.dtype, jnp.floating) and not isinstance(value, int):
        raise ArgumentError(
            f"the log density is of {array.dtype}, and has to be a real number.",
            help="of a complex number, return what is meant: its real part, or the square of its absolute value.",
        )
    return array.astype(dtype)


def describe(tree: PyTree, constraints: PyTree = None) -> Parameters:
    """Returns the description of such parameters, those of one chain.

    Args:
        tree: Arrays, numbers or `jax.ShapeDtypeStruct`.
        constraints: Bijectors in a pytree of the same structure; a bijector or None for a whole part of it.
            Unconstrained entries of a dict may be left out.

    Raises:
        ArgumentError: There are no parameters, some are no real numbers, or the constraints do not fit them.
    """
    paths, structure = jax.tree.flatten_with_path(tree)
    names = tuple(_name(path) for path, _ in paths)
    if not names:
        raise ArgumentError("init has no parameters.", help='write them with where they start, as in {"mu": 0.0}.')
    avals = [_aval(name, leaf) for name, (_, leaf) in zip(names, paths, strict=True)]
    dtype = jnp.result_type(*(aval.dtype for aval in avals))
    bijectors = tuple(_spread(constraints, tree, "constraints"))
    shapes = tuple(tuple(np.shape(aval)) for aval in avals)
    for name, bijector, shape in zip(names, bijectors, shapes, strict=True):
        if reason := bijector.misfit(shape):
            raise ArgumentError(f"parameter {name} has shape {shape}, and {bijector!r} {reason}.")
    found = Parameters(structure, names, shapes, bijectors, dtype)
    if not found.dim:
        raise ArgumentError(f"there is nothing to sample: no parameter of {', '.join(names)} has an element.")
    return found


def _aval(name: str, leaf: Any) -> Any:
    """The shape and dtype of a parameter."""
    try:
        aval = leaf if isinstance(leaf, jax.ShapeDtypeStruct) else jax.eval_shape(jnp.asarray, leaf)
    except (TypeError, ValueError):
        raise ArgumentError(f"parameter {name} is {leaf!r}, and has to be a number or an array.") from None
    if not jnp.issubdtype(aval.dtype, jnp.floating):
        raise ArgumentError(
            f"parameter {name} is of {aval.dtype}, and gradients are taken of real numbers only.",
            help="write it with a decimal point, or sum over its values in the log density.",
        )
    return aval


def _spread(constraints: PyTree, tree: PyTree, where: str) -> list[Bijector]:
    """The bijector of each leaf."""
    if constraints is None or isinstance(constraints, Bijector):
        return [constraints or real] * len(jax.tree.leaves(tree))
    if isinstance(constraints, Mapping) and isinstance(tree, Mapping):
        unknown = [key for key in constraints if key not in tree]
        if unknown:
            raise ArgumentError(f"{where} names {unknown[0]!r}, and the parameters are {', '.join(map(repr, tree))}.")
        keys = sorted(tree)  # the order in which JAX flattens a dict
        return [b for key in keys for b in _spread(constraints.get(key), tree[key], f"{where}[{key!r}]")]
    if callable(constraints):
        name = getattr(constraints, "__name__", "it")
        raise ArgumentError(
            f"{where} is the function {name}, which makes a bijector.",
            help=f"call it: mcmc.{name}(…) with its numbers.",
        )
    parts = jax.tree.leaves(constraints, is_leaf=lambda part: part is not constraints)
    trees = jax.tree.leaves(tree, is_leaf=lambda part: part is not tree)
    if type(constraints) is not type(tree) or len(parts) != len(trees):
        raise ArgumentError(
            f"{where} is {constraints!r}, which has not the structure of the parameters.",
            help="write a bijector, as in mcmc.positive, or None, for each of them.",
        )
    return [b for part, subtree in zip(parts, trees, strict=True) for b in _spread(part, subtree, where)]


def _name(path: Any) -> str:
    """The name of a leaf, `tau` or `theta.0`; a single array is called `position`."""
    return jax.tree_util.keystr(path, simple=True, separator=".") or "position"
