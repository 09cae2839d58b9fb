"""What inputs begin with: the first block of a program, run where inputs come in, or ahead of the run."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import chosen_layout, layout_of, request_of

import hlobatch as hb
from hlobatch.lowering.state.captures import captures
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.lowering.turns.beginning import Beginning, beginning_of

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="XLA makes such kernels on a CPU only")

INPUTS = 83
TABLE = jnp.cos(jnp.arange(400.0))


@hb.batch
def cheap(n: Any) -> Any:
    total, turns = 1.5, 0
    while n > turns:
        total, turns = total / 2 + n, turns + 1
    return total, turns


@hb.batch
def dear(x: Any) -> Any:
    """Four thousand operations before the first turn, of what is captured and of what all lanes share."""
    low = jnp.sum(jnp.sin(x * TABLE) * jnp.exp(jnp.linspace(0.0, 1.0, 400)))
    turns = 0
    while low > -1 and turns < 40:
        low, turns = low - 0.5 - x / 8, turns + 1
    return low, turns


@hb.batch
def dear_recursion(x: Any) -> Any:
    low = jnp.sum(jnp.sin(x * jnp.linspace(0.0, 3.0, 200)))
    return deepen(x, low, jnp.int32(9))


@hb.batch
def deepen(x: Any, y: Any, n: Any) -> Any:
    if n == 0 or y > x:
        return y, 1
    left, more = deepen(x, y + 1, n - 1)
    right, others = deepen(x - 1, y, n - 2 if n > 1 else 0)
    return left + right, more + others


@hb.batch
def drawn(key: Any, n: Any) -> Any:
    """Random numbers from the first block on."""
    at = jnp.sum(jax.random.normal(key, (12,)))
    while n > 0:
        key, one = jax.random.split(key)
        at, n = at + jax.random.normal(one), n - 1
    return at


@hb.batch
def factorial(n: Any) -> Any:
    return 1 if n <= 1 else n * factorial(n - 1)


def found(function: Any, *arrays: Any, **options: Any) -> Beginning | None:
    plan = hb.batch(function.function, threads=1, **options).trace(*arrays).plan
    layout = layout_of(plan, len(arrays[0]), plan.depth, one_kernel=True)
    groups = request_of(plan, layout).groups
    return beginning_of(layout, captures(layout.program), groups)


def text_of(function: Any, *arrays: Any, **options: Any) -> str:
    plan = hb.batch(function.function, threads=1, **options).trace(*arrays).plan
    layout = layout_of(plan, len(arrays[0]), plan.depth, one_kernel=True)
    return str(to_stablehlo(request_of(plan, layout)))


COUNTS = jnp.arange(INPUTS) % 11
REALS = jnp.linspace(0.0, 2.0, INPUTS)
KEYS = jax.random.split(jax.random.key(0), INPUTS)
CASES = {
    "cheap": (cheap, (COUNTS,)),
    "dear": (dear, (REALS,)),
    "dear_recursion": (dear_recursion, (REALS,)),
    "drawn": (drawn, (KEYS, COUNTS)),
    "factorial": (factorial, (COUNTS,)),
}


def one_by_one(function: Any, arrays: Any) -> list[np.ndarray[Any, Any]]:
    with hb.disable_batching():
        results = [jax.tree.leaves(function(*(a[i] for a in arrays))) for i in range(len(arrays[0]))]
    return [np.asarray(each) for each in zip(*results, strict=True)]


@pytest.mark.parametrize("options", [{"threads": 2}, {"lanes": 33}, {"lanes": 5}, {"lanes": INPUTS}], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_one_by_one(name: str, options: dict[str, int]) -> None:
    function, arrays = CASES[name]
    batched = hb.batch(function.function, **{"threads": 1, **options})
    for got, wanted in zip(jax.tree.leaves(batched(*arrays)), one_by_one(function, arrays), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dispatch", ["case", "chain", "guarded", "sweep"])
@pytest.mark.parametrize("name", ["cheap", "dear"])
def test_so_they_are_however_blocks_are_dispatched(name: str, dispatch: str) -> None:
    function, arrays = CASES[name]
    batched = hb.batch(function.function, lanes=40, threads=1, dispatch=dispatch)
    for got, wanted in zip(jax.tree.leaves(batched(*arrays)), one_by_one(function, arrays), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


def test_so_they_are_in_a_jitted_function_and_where_stacks_grow() -> None:
    batched = hb.batch(dear_recursion.function, lanes=32, threads=1, max_stack_depth=2)
    for got, wanted in zip(batched(REALS), one_by_one(dear_recursion, (REALS,)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5)
    fixed = hb.batch(dear.function, lanes=32)
    wanted, turns = one_by_one(dear, (REALS * 1.0,))
    got, counted = jax.jit(lambda x: fixed(x * 1.0))(REALS)
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)
    assert counted.tolist() == turns.tolist()


def test_a_few_operations_are_done_for_the_lane_that_takes_an_input() -> None:
    beginning = found(cheap, COUNTS, lanes=32)
    assert beginning is not None
    assert not beginning.is_ahead
    text = text_of(cheap, COUNTS, lanes=32)
    assert "@block_0" not in text
    assert "@begin" not in text


def test_many_are_done_ahead_in_a_kernel_of_their_own() -> None:
    beginning = found(dear, REALS, lanes=32)
    assert beginning is not None
    assert beginning.is_ahead
    text = text_of(dear, REALS, lanes=32)
    assert "@block_0" not in text
    main = text[text.index("func.func public @main") :]
    main = main[: main.index("\n  }")]
    assert main.count("xla_cpu_small_call") == 2
    assert main.index("call @begin") < main.index("call @kernel")


def test_what_all_lanes_share_is_computed_once_then() -> None:
    assert text_of(dear, REALS, lanes=32).count("call @shared") == 0


@pytest.mark.parametrize("name", ["dear", "dear_recursion", "drawn"])
def test_without_a_queue_all_lanes_begin_with_it(name: str) -> None:
    function, arrays = CASES[name]
    beginning = found(function, *arrays, lanes=INPUTS)
    assert beginning is not None
    assert not beginning.is_ahead
    assert "@block_0" not in text_of(function, *arrays, lanes=INPUTS)


def test_a_block_that_lanes_come_back_to_is_one_of_the_loop() -> None:
    assert found(factorial, COUNTS, lanes=32, optimizations=hb.Optimizations(ask_ahead=False)) is None


def test_so_is_one_that_is_neither_cheap_nor_dear() -> None:
    @hb.batch
    def neither(x: Any) -> Any:
        y = jnp.sum(jnp.tanh(x * jnp.linspace(0.0, 1.0, 9)))
        while y > 0:
            y -= x + 1
        return y

    assert found(neither, REALS, lanes=32) is None


def test_so_is_one_that_gives_back_much() -> None:
    @hb.batch
    def much(x: Any) -> Any:
        y = jnp.tanh(x * jnp.linspace(0.0, 1.0, 500))
        while y[0] > -3:
            y = y - x - 1
        return y

    assert found(much, REALS, lanes=32) is None


@pytest.mark.parametrize("option", [{"max_steps": 50}, {"optimizations": hb.Optimizations(one_kernel=False)}])
def test_so_is_every_one_where_steps_are_counted_or_kernels_are_several(option: dict[str, Any]) -> None:
    plan = hb.batch(cheap.function, lanes=32, threads=1, **option).trace(COUNTS).plan
    layout = chosen_layout(plan, INPUTS, plan.depth)
    assert beginning_of(layout, captures(layout.program), request_of(plan, layout).groups) is None


def test_so_is_every_one_where_executions_are_counted() -> None:
    _, stats = hb.batch(cheap.function, lanes=32, threads=1).with_stats(COUNTS)
    assert [block.executions > 0 for block in stats.blocks] == [True] * len(stats.blocks)


def test_inputs_end_where_the_first_block_ends_them() -> None:
    """Of half of them nothing is left to do after the first block."""
    got, turns = hb.batch(cheap.function, lanes=32, threads=1)(COUNTS % 2 * 7)
    assert turns.tolist() == (COUNTS % 2 * 7).tolist()
    assert got[COUNTS % 2 == 0].tolist() == [1.5] * int(jnp.sum(COUNTS % 2 == 0))


def test_the_first_rows_are_computed_again_where_the_last_lanes_are_few() -> None:
    """83 inputs, 32 at a time: the last 32 begin before the 64th."""
    beginning = found(dear, REALS, lanes=32)
    assert beginning is not None
    block = replace(beginning.block, layout=replace(beginning.block.layout, inputs=INPUTS))
    fixed = {
        slot: TABLE if slot.startswith("capture") else jnp.exp(jnp.linspace(0.0, 1.0, 400)) for slot in beginning.reads
    }
    arrays = replace(beginning, block=block).of_all({"dear.x#0": REALS}, fixed)
    assert {len(array) for array in arrays} == {INPUTS}
