"""Compaction: expensive blocks that few lanes are at are computed for these lanes only."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from by_hand import INT, block, prim, program
from runs import layout_of, request_of
from shares import forms

import hlobatch as hb
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.analysis.cost import block_time, primitives_time
from hlobatch.instructions import HALT, GotoOp, PopOp, PushOp
from hlobatch.instructions import VariableAllocation as Alloc
from hlobatch.lowering.blocks.block import block_functions
from hlobatch.lowering.blocks.compaction import Everyone, Few, compacted
from hlobatch.lowering.state.captures import captures
from hlobatch.lowering.state.layout import Layout
from hlobatch.strategy.widths import times, widths
from hlobatch.targets.registry import target_of

INPUTS, LANES = 40, 16
ONE_IN_EIGHT = LANES // 8


@hb.batch(lanes=LANES, threads=1)
def walk(key, steps):
    noise = jax.random.normal(key, (24,))  # dearer than all that lanes come back to
    place = jnp.float32(0)
    for _ in range(steps):
        place += 0.5
    return place + noise.sum(), noise


@hb.batch(lanes=LANES, threads=1)
def inner_loop(x, steps):
    """The block that is dear has a loop, which must not see what inactive lanes hold."""
    bits = jax.random.bits(jax.random.key(x), (16,))
    low = jax.lax.while_loop(lambda n: n > 0, lambda n: n - 1, x)
    for _ in range(steps):
        low += 2
    return low, bits


def walks() -> tuple[Any, ...]:
    return jax.random.split(jax.random.key(3), INPUTS), jnp.arange(INPUTS, dtype=jnp.int32) * 7 % 23


def inner_loops() -> tuple[Any, ...]:
    return jnp.arange(INPUTS, dtype=jnp.int32), jnp.arange(INPUTS, dtype=jnp.int32) * 5 % 17


def widths_of(function: hb.BatchedFunction, args: tuple[Any, ...]) -> dict[int, tuple[int, ...]]:
    plan = function.trace(*args).plan
    return dict(request_of(plan, layout_of(plan, INPUTS, plan.depth)).widths)


@pytest.mark.parametrize(("function", "inputs"), [(walk, walks), (inner_loop, inner_loops)], ids=["walk", "inner_loop"])
@pytest.mark.parametrize("dispatch", ["auto", *forms("equals")])
def test_equals_one_example_at_a_time(
    function: hb.BatchedFunction, inputs: Callable[[], tuple[Any, ...]], dispatch: str
) -> None:
    args = inputs()
    options = {"lanes": LANES, "threads": 1, "dispatch": dispatch}
    compacting = hb.batch(function.function, **options)
    assert widths_of(compacting, args) == {0: (ONE_IN_EIGHT,)}
    wanted = [function.function(*(x[i] for x in args)) for i in range(INPUTS)]
    for got, rows in zip(
        jax.tree.leaves(compacting(*args)), zip(*map(jax.tree.leaves, wanted), strict=True), strict=True
    ):
        np.testing.assert_allclose(got, np.stack(rows), rtol=1e-6)


def test_can_be_switched_off() -> None:
    off = hb.batch(walk.function, lanes=LANES, threads=1, optimizations=hb.Optimizations(compaction=False))
    assert widths_of(off, walks()) == {}


def test_not_where_all_lanes_start_together() -> None:
    assert widths_of(hb.batch(walk.function, lanes=INPUTS), walks()) == {}
    assert widths_of(hb.batch(walk.function, lanes=8), walks()) == {}


@hb.batch(lanes=LANES, threads=1)
def come_back(key, steps):
    """A program whose expensive block is the one that lanes come back to."""
    total = jnp.float32(0)
    while steps > 0:
        total += jax.random.normal(jax.random.fold_in(key, steps), (24,)).sum()
        steps -= 1
    return total


def test_not_where_lanes_come_back() -> None:
    assert widths_of(come_back, walks()) == {}


@pytest.mark.parametrize("queue", [True, False])
def test_where_lanes_come_back_to_what_takes_very_long(monkeypatch: pytest.MonkeyPatch, queue: bool) -> None:
    """On thirds of the lanes, as they become fewer at the end of a run."""
    monkeypatch.setattr("hlobatch.strategy.widths.LONG_OPERATIONS", (1.0, 1.0))
    monkeypatch.setattr("hlobatch.strategy.widths.LEAST_OPERATIONS_AN_ELEMENT", 0.0)
    lanes = LANES if queue else INPUTS
    function = hb.batch(come_back.function, lanes=lanes, threads=1)
    plan = function.trace(*walks()).plan
    request = request_of(plan, layout_of(plan, INPUTS, plan.depth))
    third = {LANES: 6, INPUTS: 14}[lanes]
    (index,) = (i for i, few in request.widths.items() if few == (third, 2 * third - 1))
    computed = [primitives_time(plan.programs.lowered, block) for block in plan.programs.lowered.graph]
    assert computed[index] == max(computed)
    assert len(times(CallFrames(plan.programs.lowered), (index,), lanes, 100.0, request.widths)) == 1, (
        "the schedule waits for all of them"
    )
    assert widths(request.layout, target_of("gpu")).keys() & {index} == set()
    wanted = [come_back.function(*(x[i] for x in walks())) for i in range(INPUTS)]
    np.testing.assert_allclose(function(*walks()), np.stack(wanted), rtol=1e-5, atol=1e-6)


def test_what_takes_very_long() -> None:
    weights = jnp.eye(700) / 2

    @hb.batch
    def halved(x, steps):
        while steps > 0:
            x = weights @ x
            steps -= 1
        return x

    def widths_for(size: int) -> dict[int, tuple[int, ...]]:
        plan = halved.trace(jnp.ones((size, 700)), jnp.arange(size, dtype=jnp.int32)).plan
        return dict(widths(layout_of(plan, size, plan.depth), target_of("cpu")))

    assert list(widths_for(90).values()) == [(30, 60)]
    assert widths_for(12) == {}, "long for each lane, but not for all"


def test_not_where_many_lanes_are_all_that_takes_long() -> None:
    @hb.batch
    def sines(x, steps):
        while steps > 0:
            x = jnp.sin(jnp.sin(jnp.sin(x)))
            steps -= 1
        return x

    plan = sines.trace(jnp.ones(3), jnp.arange(3, dtype=jnp.int32)).plan
    dearest = max(primitives_time(plan.programs.lowered, block) for block in plan.programs.lowered.graph)
    assert 10 < dearest < 1_000
    layout = Layout(plan.programs.lowered, inputs=10**6, lanes=10**6, depth=4)
    assert widths(layout, target_of("cpu")) == {}


def test_the_schedule_is_told_what_few_lanes_take() -> None:
    plan = walk.trace(*walks()).plan
    calls = CallFrames(plan.programs.lowered)
    few, everyone = times(calls, (0,), LANES, 100.0, {0: (ONE_IN_EIGHT,)})
    computed = primitives_time(plan.programs.lowered, plan.programs.lowered.graph.blocks[0])
    assert (few.lanes, everyone.lanes) == (ONE_IN_EIGHT, LANES)
    assert everyone.taken == 100.0 + block_time(calls, plan.programs.lowered.graph.blocks[0])
    assert everyone.taken - few.taken == pytest.approx(computed * 7 / 8)
    assert times(calls, (0,), LANES, 100.0, {}) == [everyone]


def test_the_dear_block_runs_for_each_input_once() -> None:

    def first_block(function: hb.BatchedFunction) -> Any:
        return function.with_stats(*walks())[1].blocks[0]

    compacting = first_block(walk)
    waiting = first_block(
        hb.batch(walk.function, lanes=LANES, threads=1, optimizations=hb.Optimizations(compaction=False))
    )
    assert compacting.active == waiting.active == INPUTS
    assert compacting.executions >= waiting.executions


def test_lanes_without_steps_left_are_not_computed_for() -> None:
    """Lanes without steps left wait at the block until the end of the run; other results are as without compaction."""

    def outputs(**optimizations: bool) -> tuple[Any, Any]:
        switched = hb.Optimizations(**optimizations)
        limited = hb.batch(walk.function, lanes=LANES, threads=1, max_steps=9, optimizations=switched)
        with pytest.raises(hb.StepLimitError) as caught:
            limited(*walks())
        return caught.value.lanes, caught.value.outputs

    (stopped, got), (wanted_stopped, wanted) = outputs(), outputs(compaction=False)
    assert stopped == wanted_stopped
    done = [i for i in range(INPUTS) if i not in stopped]
    assert done
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one[np.array(done)], other[np.array(done)], rtol=1e-6)


@pytest.mark.parametrize("active", [[], [3], [0, 4], [1, 2, 5], range(6)], ids=str)
def test_widths(active: list[int]) -> None:
    mask = jnp.zeros(6, bool).at[jnp.array(list(active), int)].set(True)
    values = {"x": jnp.arange(6.0), "y": jnp.arange(12.0).reshape(6, 2), "same": jnp.arange(6)}
    computed_for: list[int] = []

    def run(lanes: Any, given: Any) -> list[Any]:
        x, y = lanes.taken(given["x"]), lanes.taken(given["y"])
        jax.debug.callback(lambda: computed_for.append(x.shape[0]))
        return [lanes.put(given["y"], y + x[:, None]), given["same"]]

    changed = jax.jit(lambda: compacted(run, (1, 3), mask, values, {"x", "y", "same"}, ("y", "same")))()
    jax.effects_barrier()
    assert set(changed) == {"y"}
    wanted = np.where(mask[:, None], values["y"] + values["x"][:, None], values["y"])
    np.testing.assert_array_equal(changed["y"], wanted)
    assert computed_for == [{0: 0, 1: 1, 2: 3, 3: 3, 6: 6}[len(active)]] * bool(active)


def test_the_first_lane_stands_in_for_those_that_are_not_there() -> None:
    few = Few(jnp.array([False, True, False, True]), 3)
    np.testing.assert_array_equal(few.taken(jnp.array([5, 6, 7, 8])), [6, 8, 6])
    np.testing.assert_array_equal(few.put(jnp.zeros(4, int), jnp.array([1, 2, 1])), [0, 1, 0, 2])
    assert Everyone(few.mask).count == 4


@pytest.mark.parametrize("widths", [{}, {0: (1,)}, {0: (2,)}], ids=["everyone", "more", "few"])
def test_primitives_see_what_a_pop_between_them_restores(widths: dict[int, tuple[int, ...]]) -> None:
    code = program(
        block(
            "entry",
            PushOp(("n",)),
            prim("n + 1", "n", "n", lambda n: n + 1),
            prim("10 * n", "n", "a", lambda n: 10 * n),
            PopOp(("n",)),
            prim("a + n", "a n", "r", lambda a, n: a + n),
            GotoOp(HALT),
        ),
        var_defs=dict.fromkeys("nar", INT),
        var_alloc={"n": Alloc.FULL, "a": Alloc.TEMPORARY, "r": Alloc.REGISTER},
    )
    layout = Layout(code, inputs=2, lanes=2, depth=4)
    (function,) = block_functions(layout, captures(code), widths)
    state = {slot: jnp.zeros(aval.shape, aval.dtype) for slot, aval in layout.slots.items()}
    state["n#0"] = jnp.array([3, 5], jnp.int32)
    written = dict(zip(function.writes, function(*(state[slot] for slot in function.reads)), strict=True))
    np.testing.assert_array_equal(written["r#0"], [43, 65])
    np.testing.assert_array_equal(written["n#0"], [3, 5])
