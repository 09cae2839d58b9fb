"""The search for NaNs, and checks that users wrote."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify
from small_functions import ints

import hlobatch as hb


@hb.batch
def logarithms(x):
    while x > 1:
        x = x / 2
    y = jnp.log(x)
    return y * 2


WAYS = {
    "called": logarithms,
    "with stats": logarithms.with_stats,
    "in jit": jax.jit(logarithms),
    "mapped": lambda x: jax.vmap(logarithms)(x[None]),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_search_for_nans_ends_and_names_lanes_and_the_line(way):
    """Regression: the search did not end, and then raised an error that named neither."""
    x = jnp.array([3.0, -5.0, 2.0, -1.0])
    WAYS[way](x)
    with jax.debug_nans(True):
        for _ in range(2):
            with pytest.raises(FloatingPointError, match=r"'jnp.log\(x\)' gives NaN in lanes 1, 3") as caught:
                WAYS[way](x)
            assert isinstance(caught.value, hb.LaneError)
            assert caught.value.location.text == "y = jnp.log(x)"
            assert caught.value.lanes == (1, 3)
        assert jnp.isfinite(logarithms(jnp.array([3.0, 2.0]))).all()


def test_the_search_for_infinity_and_in_a_recursion():
    @hb.batch
    def reciprocals(x, n, scale):
        if n == 0:
            return jnp.where(x > 5, jnp.log(x - 9), 1 / x)
        return reciprocals(x, n - 1, scale) + reciprocals(x - 1, n - 1, scale) * scale["k"]

    arguments = np.float32([5, 2, 4]), ints(2, 2, 2), {"k": np.float32([1, 1, 1])}
    with jax.debug_nans(True):
        reciprocals(*arguments)
    with jax.debug_infs(True), pytest.raises(FloatingPointError, match="infinity in lane 1") as caught:
        reciprocals(*arguments)
    assert "jnp.where" in caught.value.location.text
    assert np.isinf(caught.value.outputs[1])


@pytest.mark.parametrize("name", ["float_checks", "nan_checks", "div_checks", "index_checks", "all_checks"])
def test_automatic_checks_found_nothing_in_what_is_batched(name):
    for way in ("called", "in jit", "mapped"):
        checked = checkify.checkify(WAYS[way], errors=getattr(checkify, name))
        with pytest.raises(hb.HloBatchError, match="'logarithms' is batched, and checkify's automatic checks"):
            checked(jnp.array([3.0, -5.0]))


def test_checks_that_users_wrote_are_made_around_what_is_batched():
    def around(x):
        checkify.check(jnp.all(x > 0), "below zero")
        return logarithms(x)

    error, result = checkify.checkify(around)(jnp.array([3.0, -5.0]))
    assert "below zero" in error.get()
    assert result.shape == (2,)


@pytest.mark.parametrize("of", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
@pytest.mark.parametrize("axis", [0, 1])
def test_an_input_may_be_nan(of, axis):
    """Regression: it was an error of JAX's, even if no result depends on it."""

    @hb.batch(in_axes=axis)
    def known(x):
        total = 0.0
        for value in x:
            if not jnp.isnan(value):
                total += value
        return total

    rows = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]], np.float32)
    given = of(rows.T if axis else rows)
    with jax.debug_nans(True):
        for _ in range(2):
            assert known(given).tolist() == [1, 2, 7]


def test_the_search_for_leaks_finds_none_of_the_compilers():
    """Regression: values that the compiler keeps while it builds a program were reported as leaks of the user's."""

    def listed(n):
        return sum([i + n for i in range(n)])

    with jax.checking_leaks():
        assert hb.batch(listed)(np.array([1, 3], np.int32)).tolist() == [1, 12]
