"""Stacks in one kernel: lanes as the last axis, and loops that push and pop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_bodies import (
    IN_ONE_KERNEL,
    THUNKS,
    fibonacci,
)
from runs import as_one_kernel, chosen_layout, layout_of
from zoo import LOOP

import hlobatch as hb
from hlobatch.lowering.arrays.stacks import pop_at_once, push_at_once
from hlobatch.targets.cpu.stack_loops import MOST_ROWS_LOOPED, pop_in_loops, push_in_loops

pytestmark = IN_ONE_KERNEL


@pytest.mark.parametrize(
    ("lanes", "vector", "one_kernel", "axis", "width"),
    [
        (31, 8, True, 0, 31),
        (32, 8, True, -1, 56),
        (56, 8, True, -1, 56),
        (57, 8, True, -1, 64),
        (57, 8, False, 0, 57),
        (32, 16, True, -1, 64),
        (65, 16, True, -1, 80),
    ],
)
def test_many_lanes_are_the_last_axis_in_whole_vectors(lanes, vector, one_kernel, axis, width):
    plan = fibonacci.trace(jnp.arange(lanes)).plan
    layout = layout_of(plan, lanes, 8)
    layout = as_one_kernel(plan, layout, vector=vector) if one_kernel else layout
    assert (layout.lane_axis, layout.width) == (axis, width)
    assert layout.array((2, 3), np.float32, 9).shape == ((9, 2, 3, width) if axis else (9, width, 2, 3))


@pytest.mark.parametrize("lanes", [None, 40])
def test_many_lanes_grow_their_stacks_and_run_out_of_steps(lanes):
    n = np.arange(90, dtype=np.int32) % 12
    truth = [1, 1]
    for _ in range(10):
        truth.append(truth[-1] + truth[-2])
    how = {"lanes": lanes, "threads": 1, "optimizations": LOOP}
    found, stats = hb.batch(fibonacci.function, max_stack_depth=7, **how).with_stats(n)
    assert found.tolist() == [truth[i] for i in n]
    assert stats.resumptions == 1
    with pytest.raises(hb.StepLimitError) as caught:
        hb.batch(fibonacci.function, max_steps=150, **how)(n)
    assert {int(n[i]) for i in caught.value.lanes} == {9, 10, 11}
    outputs = np.asarray(caught.value.outputs)
    started = np.flatnonzero(outputs)
    assert len(started) > 40
    assert all(outputs[i] == truth[n[i]] for i in started if i not in caught.value.lanes)


@pytest.mark.parametrize(("axis", "by_bits"), [(0, False), (-1, False), (-1, True)])
@pytest.mark.parametrize("event", [(), (3,), (2, 3)])
@pytest.mark.parametrize(
    ("depth", "apart"),
    [
        (20, 15),
        (MOST_ROWS_LOOPED + 30, 3),
        (MOST_ROWS_LOOPED + 30, MOST_ROWS_LOOPED // 2),
        (MOST_ROWS_LOOPED + 30, MOST_ROWS_LOOPED + 20),
    ],
)
def test_stacks_in_loops_are_stacks(axis, by_bits, event, depth, apart):
    rng = np.random.default_rng(1)
    lanes = 9
    stack = rng.standard_normal((depth, lanes, *event), np.float32)
    top = rng.standard_normal((lanes, *event), np.float32)
    stacks, tops = [stack, np.zeros((depth, lanes), int)], [top, np.arange(lanes)]
    turned = [np.moveaxis(x, 1, axis) if axis else x for x in stacks]
    tops_turned = [np.moveaxis(x, 0, axis) for x in tops]
    pointer = np.array([0, apart, *rng.integers(0, apart, lanes - 2)], np.int32)
    push, pop = jax.jit(push_at_once), jax.jit(pop_at_once)
    push_turned, pop_turned = (
        jax.jit(lambda *operands, run=run: run(*operands, axis, by_bits)) for run in (push_in_loops, pop_in_loops)
    )
    for mask in (rng.random(lanes) < 0.5, np.zeros(lanes, bool), np.ones(lanes, bool)):
        wanted, got = push(stacks, pointer, tops, mask), push_turned(turned, pointer, tops_turned, mask)
        for one, other in zip(wanted, got, strict=True):
            other = np.moveaxis(other, axis, 1) if axis else other
            np.testing.assert_array_equal(one[:-1], other[:-1])  # the last row is spare
        wanted, got = pop(stacks, pointer, tops, mask), pop_turned(turned, pointer, tops_turned, mask)
        for one, other in zip(wanted, got, strict=True):
            np.testing.assert_array_equal(one, np.moveaxis(other, axis, 0))


@pytest.mark.parametrize(
    ("axis", "depth", "event", "loops"), [(-1, 33, 3, 1), (-1, 33, 4, 4), (-1, 80, 1, 6), (0, 33, 3, 3)]
)
def test_a_few_numbers_of_a_lane_are_pushed_with_the_others(axis, depth, event, loops):
    """Where they are few, through rows; the others through rows, or to where lanes are found, and through those."""
    lanes = 64
    shapes = [(depth, lanes), (depth, lanes, event)] if axis == 0 else [(depth, lanes), (depth, event, lanes)]
    stacks = [jnp.zeros(shape) for shape in shapes]
    tops = [stack[0] for stack in stacks]
    pointer, mask = jnp.zeros(lanes, jnp.int32), jnp.ones(lanes, bool)
    for run in (push_in_loops, pop_in_loops):
        text = jax.jit(lambda *a, run=run: run(*a, axis, False)).lower(stacks, pointer, tops, mask).as_text()
        assert text.count("stablehlo.while") == loops


def test_lanes_are_in_front_of_long_rows_that_are_pushed():
    def sums(width):
        @hb.batch
        def total(x, n):
            if n <= 0:
                return x
            return total(x + 1, n - 1) * 0.5 + total(x * 0.5, n - 2) * x

        return total, jnp.arange(40.0 * width).reshape(40, width) / 1000, jnp.arange(40) % 7

    for width, axis in ((63, -1), (64, 0)):
        function, x, n = sums(width)
        plan = function.trace(x, n).plan
        assert chosen_layout(plan, 40, plan.depth).lane_axis == axis
        wanted = hb.batch(function.function, optimizations=THUNKS)(x, n)
        np.testing.assert_allclose(function(x, n), wanted, rtol=1e-5)
