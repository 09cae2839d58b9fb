"""Checks of derivatives: against finite differences, against each other, and against JAX's derivatives of plain Python.

A function is given with its arguments. It is differentiated with respect to every floating-point array among them, and
all floating-point results are checked. Finite differences need 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb


def is_differentiable(array: Any) -> bool:
    return isinstance(array, (np.ndarray, jax.Array)) and jnp.issubdtype(array.dtype, np.inexact)


def doubled(tree: Any) -> Any:
    """A pytree with its floating-point arrays in 64 bits."""

    def wide(x: Any) -> Any:
        return jnp.asarray(x, np.complex128 if jnp.iscomplexobj(x) else np.float64)

    return jax.tree.map(lambda x: wide(x) if is_differentiable(x) else x, tree)


@dataclass(frozen=True)
class At:
    """A function at a point.

    Attributes:
        function: A function of all arguments.
        args: The arguments, of which floating-point arrays vary.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]

    @property
    def point(self) -> list[Any]:
        return [jnp.asarray(x) for x in jax.tree.leaves(self.args) if is_differentiable(x)]

    def results(self, *some: Any) -> list[Any]:
        """All arrays of the result as a list, given values of the varying arrays."""
        leaves, tree = jax.tree.flatten(self.args)
        supply = iter(some)
        given = [next(supply) if is_differentiable(x) else x for x in leaves]
        return jax.tree.leaves(self.function(*jax.tree.unflatten(tree, given)))

    @cached_property
    def places(self) -> list[int]:
        """The positions of the floating-point results."""
        return [i for i, x in enumerate(self.results(*self.point)) if is_differentiable(x)]

    def __call__(self, *some: Any) -> list[Any]:
        """The floating-point results as a list, given values of the varying arrays."""
        found = self.results(*some)
        return [found[i] for i in self.places]


def directions(point: Sequence[Any], seed: int = 0) -> list[Any]:
    random = np.random.default_rng(seed)

    def like(x: Any) -> Any:
        parts = random.normal(size=(2, *x.shape))
        return jnp.asarray(parts[0] + 1j * parts[1] if jnp.iscomplexobj(x) else parts[0], x.dtype)

    return [like(x) for x in point]


def dot(one: Sequence[Any], other: Sequence[Any]) -> complex:
    """The inner product of two lists of arrays, without conjugation."""
    return complex(sum(jnp.sum(a * b) for a, b in zip(one, other, strict=True)))


def moved(point: Sequence[Any], tangents: Sequence[Any], step: float) -> list[Any]:
    return [x + step * d for x, d in zip(point, tangents, strict=True)]


class Pulled(NamedTuple):
    """Cotangents of results, and of arguments."""

    cotangents: Sequence[Any]
    bars: Sequence[Any]


def both_modes_agree(run: Callable[..., Sequence[Any]], point: Sequence[Any], step: float = 1e-6) -> Pulled:
    """Assert that ``jvp`` agrees with finite differences, and ``vjp`` with ``jvp`` (the dot-product test)."""
    tangents = directions(point)
    values, derivatives = jax.jvp(run, point, tangents)
    for value, plain in zip(values, run(*point), strict=True):
        np.testing.assert_allclose(value, plain, rtol=1e-9, atol=1e-12)
    ahead, behind = run(*moved(point, tangents, step)), run(*moved(point, tangents, -step))
    for found, a, b in zip(derivatives, ahead, behind, strict=True):
        np.testing.assert_allclose(found, (a - b) / (2 * step), rtol=2e-6, atol=1e-6 * max(0.1, float(_largest(found))))
    _, pull = jax.vjp(run, *point)
    cotangents = directions(values, 1)
    pulled = Pulled(cotangents, pull(cotangents))
    forward, back = dot(cotangents, derivatives), dot(pulled.bars, tangents)
    scale = sum(float(jnp.sum(jnp.abs(c * d))) for c, d in zip(cotangents, derivatives, strict=True))
    assert abs(forward - back) <= 1e-12 * max(1.0, scale)
    return pulled


def _largest(array: Any) -> Any:
    return jnp.max(jnp.abs(array), initial=0)


def equals_unrolled(at: At, pulled: Pulled, examples: Sequence[tuple[Any, ...]], axes: Sequence[int | None]) -> None:
    """Assert that cotangents equal JAX's for plain Python, which each example unrolls in its own way.

    Args:
        at: A batched function and a batch of examples; its results have the batch in front.
        pulled: The cotangents at that point.
        examples: The arguments of each example.
        axes: For each differentiated array, its batch axis.
    """
    with hb.disable_batching():
        parts = [
            _unrolled(replace(at, args=one), at.places, [c[i] for c in pulled.cotangents])
            for i, one in enumerate(examples)
        ]
    for place, (bar, axis) in enumerate(zip(pulled.bars, axes, strict=True)):
        own = [part[place] for part in parts]
        wanted = np.sum(own, 0) if axis is None else np.moveaxis(np.stack(own), 0, axis)
        np.testing.assert_allclose(bar, wanted, rtol=1e-9, atol=1e-10 * max(1.0, float(_largest(bar))))


def _unrolled(at: At, places: Sequence[int], cotangents: Sequence[Any]) -> Any:
    def run(*some: Any) -> list[Any]:
        found = at.results(*some)
        return [jnp.asarray(found[i], c.dtype) for i, c in zip(places, cotangents, strict=True)]

    return jax.vjp(run, *at.point)[1](list(cotangents))


@pytest.fixture
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield
