"""Sums over lanes: adding to one shared array gives the sum of each lane's own additions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlobatch._jax import jaxpr_as_fun
from hlobatch.analysis.sums_over_lanes import Lanes, adding
from hlobatch.ir.outer import with_outer_product

LANES = 5
MASK = np.array([True, False, True, True, False])


def _outer(total: Any, x: Any, y: Any) -> Any:
    return with_outer_product(total, x, y)


def _product(total: Any, x: Any, y: Any) -> Any:
    return total + jnp.tensordot(x, y, axes=0)


def _two_products(total: Any, x: Any, y: Any) -> Any:
    return (jnp.tensordot(jnp.sin(y), x, axes=0).T - jnp.tensordot(x, y, axes=0)) + total


def _chosen(total: Any, x: Any, y: Any) -> Any:
    return total + jnp.where(x[0] > 0, jnp.tensordot(x, y, axes=0), jnp.zeros_like(total))


def _elements(total: Any, x: Any, y: Any) -> Any:
    return total.at[jnp.int32(jnp.abs(x[0])) % 3, 1].add(y.sum())


def _row_and_product(total: Any, x: Any, y: Any) -> Any:
    return with_outer_product(total.at[jnp.argmax(x)].add(y), x, y)


def _anything(total: Any, x: Any, y: Any) -> Any:
    return total + jnp.exp(jnp.outer(x, y))


ADDING = [_outer, _product, _two_products, _chosen, _elements, _row_and_product, _anything]


@pytest.mark.parametrize("code", ADDING)
def test_all_lanes_add_what_each_would(code: Callable[..., Any]) -> None:
    random = np.random.default_rng(1)
    x, y, total = (np.float32(random.normal(size=shape)) for shape in ((LANES, 3), (LANES, 4), (3, 4)))
    x[1, 1], y[4, 0] = np.nan, np.inf  # in lanes that pass by
    closed = jax.make_jaxpr(code)(total, x[0], y[0])
    found = adding(closed, {0: 0})
    assert found is not None
    assert found.given == (1, 2)
    parts = jax.vmap(jaxpr_as_fun(found.code))(x, y)
    argument, add = found.adders[0]
    want = total + sum(code(jnp.asarray(total), x[i], y[i]) - total for i in np.flatnonzero(MASK))
    assert argument == 0
    np.testing.assert_allclose(add(total, Lanes(parts, MASK)), want, rtol=1e-5, atol=1e-5)


def _scaled(total: Any, x: Any, y: Any) -> Any:
    return total * x[0] + jnp.outer(x, y)


def _read_twice(total: Any, x: Any, y: Any) -> Any:
    return total + total.sum() * jnp.outer(x, y)


def _replaced(total: Any, x: Any, y: Any) -> Any:
    return total.at[0].set(y)


@pytest.mark.parametrize("code", [_scaled, _read_twice, _replaced])
def test_code_that_does_more_than_add_is_left_alone(code: Callable[..., Any]) -> None:
    closed = jax.make_jaxpr(code)(jnp.ones((3, 4)), jnp.ones(3), jnp.ones(4))
    assert adding(closed, {0: 0}) is None
