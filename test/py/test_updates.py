"""Partial updates of arrays are made in place, for the lanes of a mask only."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from zoo import LOOP

import hlobatch as hb
from hlobatch.lowering.blocks.updates import updating

ARRAY = jnp.array([1.5, -0.0, jnp.nan, -jnp.inf, 1e-40, 7.0], jnp.float32)
KINDS: dict[str, Callable[..., Any]] = {
    "set": lambda a, i, x: a.at[i].set(x),
    "set here": lambda a, i, x: a.at[2].set(x),
    "set many": lambda a, i, x: a.at[jnp.stack([i, i + 1, i])].set(x),
    "set a slice": lambda a, i, x: a.at[1:4].set(x),
    "set, or clip": lambda a, i, x: a.at[i].set(x, mode="clip"),
    "set in bounds": lambda a, i, x: a.at[i % 6].set(x, mode="promise_in_bounds"),
    "set by a byte": lambda a, i, x: a.at[i.astype(jnp.uint8)].set(x),
    "set twice": lambda a, i, x: a.at[i].set(x).at[i + 1].set(a[0]),
    "swap": lambda a, i, x: a.at[0].set(a[i]).at[i].set(a[0]),
    "add": lambda a, i, x: a.at[i].add(x),
    "subtract": lambda a, i, x: a.at[i].subtract(x),
    "multiply": lambda a, i, x: a.at[i].multiply(x),
    "add many": lambda a, i, x: a.at[jnp.stack([i, i])].add(x),
    "less": lambda a, i, x: a.at[i].min(x),
    "more": lambda a, i, x: a.at[i].max(x),
    "apply": lambda a, i, x: a.at[i].apply(jnp.negative),
    "slice": lambda a, i, x: jax.lax.dynamic_update_slice(a, jnp.stack([x, x]), (i,)),
    "inside a call": lambda a, i, x: jax.jit(lambda b: b.at[i].set(x))(a),
}
NONE: dict[str, Callable[..., Any]] = {
    "of another shape": lambda a, i, x: a.reshape(3, 2).at[i].set(x).reshape(6),
    "if": lambda a, i, x: jnp.where(x > 0, a.at[i].set(x), a),
    "of something computed": lambda a, i, x: (a + x).at[i].set(x),
    "of something else": lambda a, i, x: jnp.zeros(6).at[i].set(a[0]),
    "and more": lambda a, i, x: a.at[i].set(x) + 1,
    "no update": lambda a, i, x: a,
}


def found(kind: Callable[..., Any], *, place_varies: bool = True) -> Any:
    avals = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (ARRAY, jnp.int32(0), jnp.float32(0))]
    return updating(lambda *arguments: [kind(*arguments)], avals, [True, place_varies, True], {0: 0})


@pytest.mark.parametrize("place_varies", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_lane_that_is_not_active_keeps_every_bit(kind: str, place_varies: bool) -> None:
    function = KINDS[kind]
    update = found(function, place_varies=place_varies)
    combines = kind in ("add", "subtract", "multiply", "add many", "less", "more", "apply")
    if combines and not place_varies:
        assert update is None, "there is nothing to add that changes no bit"
        return
    assert update.results == {0}
    run = jax.jit(lambda active, i, x: update(active, ARRAY, i, x)[0])
    with jax.debug_nans(False):
        for i in range(-8, 9):
            kept, changed = run(False, i, jnp.float32(3.0)), run(True, i, jnp.float32(3.0))
            np.testing.assert_array_equal(np.asarray(kept).view(np.uint32), np.asarray(ARRAY).view(np.uint32))
            np.testing.assert_array_equal(changed, function(ARRAY, jnp.int32(i), jnp.float32(3.0)))


@pytest.mark.parametrize("kind", NONE)
def test_what_is_no_update_is_left_alone(kind: str) -> None:
    assert found(NONE[kind]) is None


@hb.batch
def heap_sorted(values, size):
    """Heap sort in place: builds a heap, then takes the largest item again and again."""
    start, end = size // 2, size
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            values = values.at[end].set(values[0]).at[0].set(values[end])
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and values[child] < values[child + 1]:
                child += 1
            if values[root] >= values[child]:
                break
            values = values.at[root].set(values[child]).at[child].set(values[root])
            root = child
    return values


def test_sorting_in_place() -> None:
    random = np.random.default_rng(5)
    values, sizes = random.normal(size=(64, 40)).astype(np.float32), random.integers(0, 41, 64).astype(np.int32)
    wanted = [np.concatenate([np.sort(v[:n]), v[n:]]) for v, n in zip(values, sizes, strict=True)]
    np.testing.assert_array_equal(hb.batch(heap_sorted.function, optimizations=LOOP)(values, sizes), wanted)
