"""Branches on conditions that are known when the program is built, and names whose type depends on them."""

import jax.numpy as jnp
import numpy as np

import hlobatch as hb

X = np.array([1.0, 2.0], np.float32)


@hb.batch(static_argnames=("scale", "mode"))
def scaled(x, scale=None, mode="plain"):
    if scale is None:
        scale = 7
    if mode == "double":
        scale = scale * 2
    return x * scale


def test_default_of_none_is_replaced() -> None:
    assert scaled(X).tolist() == [7.0, 14.0]
    assert scaled(X, 3.0).tolist() == [3.0, 6.0]
    assert scaled(X, mode="double").tolist() == [14.0, 28.0]


@hb.batch
def inner(x, weights=None):
    if weights is None:
        weights = jnp.ones(3)
    return (x * weights).sum()


@hb.batch
def outer(x):
    return inner(x) + 1


def test_default_of_none_is_replaced_in_a_callee() -> None:
    assert outer(X).tolist() == [4.0, 7.0]
    assert inner(X).tolist() == [3.0, 6.0]


def test_a_name_may_change_its_type_behind_a_decided_branch() -> None:
    @hb.batch(static_argnames="flat")
    def norm(x, flat):
        if flat:
            x = x.reshape(-1)
        return 2 * x

    x = np.ones((2, 2, 3), np.float32)
    assert norm(x, True).shape == (2, 6)
    assert norm(x, False).shape == (2, 2, 3)


def test_a_branch_that_is_not_decided_keeps_values_of_both_types() -> None:
    @hb.batch
    def either(x, n):
        y = "none"
        if n > 0:
            y = x
        if isinstance(y, str):
            return -x
        return y

    assert either(X, np.array([0, 1], np.int32)).tolist() == [-X[0], X[1]]
