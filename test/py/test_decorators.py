"""Regressions: calls and decorators that lost an option, an axis or a default."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_functions import ints, total

import hlobatch as hb


@pytest.mark.parametrize("how", ["alias", "helper", "argument"])
def test_call_that_no_name_outside_says_took_an_event_axis_for_the_batch(how: str) -> None:
    def helper(v):
        return total(v)

    @hb.batch
    def alias(v):
        f = total
        return f(v)

    @hb.batch
    def through_helper(v):
        return helper(v)

    @hb.batch(static_argnames="f")
    def given(v, f):
        return f(v)

    call = {"alias": alias, "helper": through_helper, "argument": functools.partial(given, f=total)}[how]
    assert call(np.ones((2, 3), np.float32)).tolist() == [3, 3]


def test_call_that_is_not_seen_took_an_event_axis_for_the_batch() -> None:
    @hb.batch
    def mapped(v):
        return jax.vmap(total)(jnp.stack([v, v])).sum()

    with pytest.raises(hb.UnsupportedSyntaxError, match="'total' is batched, but this call of it cannot be seen"):
        mapped(np.ones((2, 3), np.float32))


def test_decorator_below_was_dropped() -> None:
    def doubled(f):
        @functools.wraps(f)
        def wrapper(y):
            return 2 * f(y)

        return wrapper

    @hb.batch
    @doubled
    def increment(x):
        return x + 1

    assert increment(ints(1, 2)).tolist() == [4, 6]


def test_options_of_an_inner_batch_won() -> None:
    inner = hb.batch(lambda x, y: x + jnp.sum(y))
    outer = hb.batch(inner, in_axes=(0, None))
    assert outer(ints(1, 2), ints(1, 1, 1)).tolist() == [4, 5]


def test_keywords_in_another_order_than_the_parameters() -> None:
    @hb.batch
    def difference(y, x):
        return y - x

    same = ints(5)
    assert difference(x=same, y=same).tolist() == [0]
    assert difference(x=ints(1), y=ints(11)).tolist() == [10]


def test_changed_static_argument_had_an_old_plan() -> None:
    @hb.batch(static_argnames="k")
    def scale(x, k):
        return x * k[0]

    with pytest.raises(hb.BatchTypeError, match="k is static, but a list cannot be hashed"):
        scale(ints(1), [2])
    assert [scale(ints(1), k).dtype.name for k in ((1,), (1.0,))] == ["int32", "float32"]


def test_shared_number_was_not_weak() -> None:
    scale = hb.batch(lambda x, k: x * k, in_axes=(0, None))
    assert scale(np.float16([1]), 2.0).dtype == np.float16
    assert scale(np.float16([1]), np.float32(2)).dtype == np.float32


ZEROS = jnp.zeros(2)


def test_default_array_did_not_fit_itself() -> None:
    @hb.batch
    def count(n, total=ZEROS):
        if n <= 0:
            return total
        return count(n - 1, total + 1)

    assert count(ints(0, 2)).tolist() == [[0, 0], [2, 2]]
