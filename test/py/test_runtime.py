"""Running: growth of stacks, limits, the queue, counts, caches, and what must never be silently wrong."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stopping
from runs import layout_of, request_of
from zoo import LOOP

import hlobatch as hb
from hlobatch import _jax
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.runtime.call_keys import array_type
from hlobatch.strategy.options import Options
from hlobatch.strategy.plan_run import Policies, plan_run
from hlobatch.targets.registry import target_of
from hlobatch.transforms import fold_constants


def fib(n):
    return 1 if n <= 1 else fib(n - 2) + fib(n - 1)


@hb.batch
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


INPUTS = np.array([3, 7, 4, 5, 0, 11], np.int32)
TRUTH = [fib(int(n)) for n in INPUTS]


def variant(**options: object) -> hb.BatchedFunction:
    """The program in XLA's loop over all lanes; ``test_kernels.py`` tests the other form."""
    return hb.batch(fibonacci.function, **{"optimizations": LOOP, **options})


@pytest.mark.parametrize(
    ("dispatch", "lanes"),
    [
        ("chain", None),
        ("guarded", 4),
        pytest.param("chain", 4, marks=pytest.mark.slow),
        pytest.param("case", 1, marks=pytest.mark.slow),
        pytest.param("sweep", 1, marks=pytest.mark.slow),
    ],
)
def test_stacks_grow_while_running(dispatch: str, lanes: int | None) -> None:
    found, stats = variant(max_stack_depth=2, dispatch=dispatch, lanes=lanes).with_stats(INPUTS)
    assert found.tolist() == TRUTH
    assert stats.depth == 16
    assert stats.resumptions == 3


@pytest.mark.parametrize("platforms", [("cpu",), ("cuda",)])
def test_random_numbers_are_drawn_without_a_loop(platforms: tuple[str, ...]) -> None:
    """JAX draws them in a loop on a CPU; in a block, that is a hundred kernels instead of one."""
    traced = jax.jit(lambda key: jax.random.split(key, 3)).trace(jax.random.key(0))
    assert "stablehlo.while" not in str(_jax.lower_to_stablehlo(traced, platforms))


def test_random_numbers_are_those_of_jax() -> None:
    @hb.batch
    def draw(key, n):
        total = 0.0
        while n > 0:
            key, use = jax.random.split(key)
            total += jax.random.normal(use)
            n -= 1
        return total, jax.random.bits(key, (3,), "uint8")

    def one(key, n):
        def turn(_, carried):
            key, use = jax.random.split(carried[0])
            return key, carried[1] + jax.random.normal(use)

        key, total = jax.lax.fori_loop(0, n, turn, (key, 0.0))
        return total, jax.random.bits(key, (3,), "uint8")

    keys, turns = jax.random.split(jax.random.key(3), 9), np.arange(9)
    (total, bits), (wanted, wanted_bits) = draw(keys, turns), jax.vmap(one)(keys, turns)
    np.testing.assert_allclose(total, wanted, rtol=1e-6)
    np.testing.assert_array_equal(bits, wanted_bits)


@hb.batch
def halvings_of(n):
    count = 0
    while n > 1:
        n = n // 2
        count = count + 1
    return count


@pytest.mark.parametrize("stacks", [True, False])
def test_an_accelerator_keeps_the_blocks_of_a_sweep_apart(stacks: bool) -> None:
    """Where they have stacks; a CPU's compiler needs none, and drops them."""
    function, barriers = fibonacci if stacks else halvings_of, stacks
    plan = hb.batch(function.function, dispatch="sweep").trace(INPUTS).plan
    portable = layout_of(plan, len(INPUTS))
    assert "optimization_barrier" not in str(to_stablehlo(request_of(plan, portable)))
    layout = replace(portable, holds_stacks=target_of("cuda").holds_stacks)
    assert ("optimization_barrier" in str(to_stablehlo(request_of(plan, layout)))) is barriers


def test_growth_is_remembered() -> None:
    shallow = variant(max_stack_depth=2)
    shallow(INPUTS)
    assert shallow.with_stats(INPUTS)[1].resumptions == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_growth_for_an_input_without_end_is_not_remembered(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All later runs would keep, copy and clear the deepest stacks that there can be."""
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 256)
    down = hb.batch(stopping.down, max_stack_depth=2, threads=threads, max_steps=1_000_000)
    deep, endless = np.array([1, 20, 3, 2], np.int32), np.array([3, 2, 10_000, 1], np.int32)
    with pytest.raises(hb.StackOverflowError, match="lane 2"):
        down(endless)
    assert down.with_stats(deep[:1])[1].depth == 2
    assert down.with_stats(deep)[1].depth == 32
    with pytest.raises(hb.StackOverflowError, match="lane 2"):
        down(endless)
    assert down.with_stats(deep)[1].depth == 32


def test_no_work_is_lost_when_stacks_grow() -> None:
    """A run that grew executed as many blocks for as many lanes as one that had room from the start."""
    _, grown = variant(max_stack_depth=2).with_stats(INPUTS)
    _, roomy = variant(max_stack_depth=16).with_stats(INPUTS)
    assert [block.active for block in grown.blocks] == [block.active for block in roomy.blocks]


def test_endless_recursion_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 64)

    @hb.batch
    def down(n):
        if n == 0:
            return 0
        return 1 + down(n - 1)

    with pytest.raises(hb.StackOverflowError, match="lane 1 of 'down' needed more than 64 stack frames") as caught:
        down(np.array([3, -1, 5], np.int32))
    assert caught.value.lanes == (1,)
    assert caught.value.outputs[0] == 3
    assert caught.value.outputs[2] == 5


def test_an_input_without_end_leaves_the_only_lane_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 16)

    @hb.batch(lanes=1, threads=1, max_stack_depth=16)
    def down(n):
        if n == 0:
            return 0
        return 1 + down(n - 1)

    with pytest.raises(hb.StackOverflowError, match=r"lane 1 of 'down' .* 16 stack frames\n") as caught:
        down(np.array([3, 100, 5], np.int32))
    assert caught.value.lanes == caught.value.unfinished == (1,)
    assert caught.value.outputs[0] == 3
    assert caught.value.outputs[2] == 5


@pytest.mark.parametrize("lanes", [None, 2])
def test_all_inputs_without_a_result_are_listed(lanes: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs that were stopped for another reason than the reported one are listed, too."""
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 16)

    batched = hb.batch(stopping.down, lanes=lanes, threads=1, max_stack_depth=16, max_steps=500)
    with pytest.raises(hb.StepLimitError, match="lane 1 of 'down' had not finished") as caught:
        batched(np.array([3, -1, 5, 100, 2], np.int32))
    error = caught.value
    assert error.lanes == (1,)
    assert error.unfinished == (1, 3)
    assert [int(error.outputs[i]) for i in (0, 2, 4)] == [3, 5, 2]
    assert "error.unfinished" in error.help


@pytest.mark.parametrize("lanes", [None, 2])
def test_one_endless_lane_stops_alone(lanes: int | None) -> None:
    @hb.batch(max_steps=200, lanes=lanes)
    def count_down(n):
        steps = 0
        while n != 0:
            n -= 1
            steps += 1
        return steps

    with pytest.raises(hb.StepLimitError, match="lane 2 of 'count_down'") as caught:
        count_down(np.array([3, 50, -1, 7], np.int32))
    assert caught.value.lanes == (2,)
    assert np.delete(np.asarray(caught.value.outputs), 2).tolist() == [3, 50, 7]


def test_step_limit_counts_blocks_of_one_input_not_of_the_batch() -> None:
    limited = variant(max_steps=2000, lanes=2)
    many = np.tile(INPUTS, 50)
    assert limited(many).tolist() == TRUTH * 50


@pytest.mark.parametrize("lanes", [1, 2, 5, 6, 7, 100])
def test_queue_of_inputs(lanes: int) -> None:
    assert variant(lanes=lanes)(INPUTS).tolist() == TRUTH


def test_queue_keeps_lanes_busy() -> None:
    """Far more inputs than lanes: nearly every lane has something to do at every step of a sweep."""
    many = np.random.default_rng(0).integers(0, 12, 2000).astype(np.int32)
    _, streamed = variant(lanes=32, dispatch="guarded").with_stats(many)
    assert streamed.lanes == 32
    assert sum(block.active for block in streamed.blocks) / 32 > 0.95 * streamed.steps / 6 * 1.0
    _, alone = variant(dispatch="guarded").with_stats(many[:32])
    assert streamed.utilization > 1.2 * alone.utilization


def test_inner_loops_never_see_junk() -> None:
    """A primitive with a loop of its own would not end on the zeros of lanes that only pass by."""

    def steps_to_one(n):
        def body(state):
            n, steps = state
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

        return jax.lax.while_loop(lambda state: state[0] != 1, body, (n, 0))[1]

    @hb.batch
    def collatz(n):
        if n > 0:
            return steps_to_one(n)
        return -1

    for dispatch in ("chain", "case", "guarded", "sweep"):
        found = hb.batch(collatz.function, dispatch=dispatch)(np.array([0, 6, 0, 7, 1], np.int32))
        assert found.tolist() == [-1, 8, -1, 16, 0]


def test_a_loop_over_shared_data_is_not_run_ahead() -> None:
    """What all lanes share is computed before the loop, but not what might never end."""

    @hb.batch(in_axes=(0, None))
    def maybe(n, data):
        if n > 100:
            return jax.lax.while_loop(lambda x: x != 0.5, lambda x: x, data)
        return data + n

    assert maybe(np.array([1, 2], np.int32), np.float32(3)).tolist() == [4.0, 5.0]


def test_batch_mates_do_not_change_random_draws() -> None:
    @hb.batch
    def first_below(key, bound):
        u = jax.random.uniform(key)
        while u > bound:
            key, part = jax.random.split(key)
            u = jax.random.uniform(part)
        return u

    keys = jax.random.split(jax.random.key(0), 6)
    bounds = jnp.array([0.1, 0.9, 0.2, 0.01, 0.5, 0.3])
    together = first_below(keys, bounds)
    alone = [first_below(keys[i : i + 1], bounds[i : i + 1])[0] for i in range(6)]
    assert together.tolist() == [float(u) for u in alone]


def test_statics_and_types_do_not_share_code() -> None:
    @hb.batch(static_argnames="mode")
    def fold(x, mode):
        if mode == "sum":
            return x.sum()
        return x.max()

    x = np.array([[1, 2], [3, 4]], np.int32)
    assert fold(x, "sum").tolist() == [3, 7]
    assert fold(x, "max").tolist() == [2, 4]
    assert fold(x.astype(np.float32), "sum").dtype == np.float32


@pytest.mark.parametrize("first", [lambda f: f, jax.jit], ids=["called", "traced"])
@pytest.mark.parametrize("threads", [1, 2])
def test_calls_with_arrays_are_found_again(first: Callable[[object], Callable[..., object]], threads: int) -> None:
    """Also where the first call of all was part of a trace, in which what ``jax.numpy`` makes is no array."""

    @hb.batch(threads=threads)
    def halvings(x, n=5):
        steps = 0
        while x >= 1:
            x, steps = x / 2, steps + 1
        return {"x": x, "steps": steps, "name": "halved", "n": n}

    array_type.cache_clear()
    first(lambda x: halvings(x)["x"])(jnp.ones(6))
    wanted = halvings(jnp.arange(6.0), n=jnp.arange(6))
    stacks = variant(threads=threads, max_stack_depth=2)
    assert stacks(jnp.asarray(INPUTS)).tolist() == TRUTH
    with mock.patch("hlobatch.runtime.arguments.Binder.bind", side_effect=AssertionError("not found again")):
        found = halvings(jnp.arange(6.0), n=jnp.arange(6))
        assert stacks(jnp.asarray(INPUTS[::-1])).tolist() == TRUTH[::-1]
    assert found["name"] == "halved"
    assert found["steps"].tolist() == wanted["steps"].tolist() == [0, 1, 2, 2, 3, 3]
    np.testing.assert_array_equal(found["x"], wanted["x"])


def test_calls_of_arrays_in_a_row_have_a_shorter_way() -> None:
    @hb.batch(in_axes=(0, None))
    def powers(x, base):
        total = x * 0
        while x >= base:
            x, total = x // base, total + base
        return total + x

    def long_way(*args: object) -> bool:
        with mock.patch("hlobatch.runtime.shortcuts.Shortcuts.looked_up", side_effect=LookupError):
            try:
                powers(*args)
            except LookupError:
                return True
            return False

    x, base = jnp.arange(6), jnp.int32(2)
    wanted = powers(x, base).tolist()
    assert not long_way(x, base)
    assert powers(x[::-1], base).tolist() == wanted[::-1]
    others = [
        (jnp.arange(7), base),
        (x.astype(jnp.float32), base),
        (x, jnp.asarray(2)),  # a weak type
        (x, 2),
        (np.arange(6, dtype=np.int32), base),
        ((x,), base),
        (x,),
    ]
    assert all(long_way(*args) for args in others)
    assert powers(x.astype(jnp.float32), base).dtype == jnp.float32
    assert powers(x, jnp.asarray(2)).tolist() == powers(np.arange(6), 2).tolist() == wanted
    with jax.numpy_dtype_promotion("strict"):
        assert long_way(x, base)
    with jax.enable_x64(True):
        assert long_way(x, base)
    with hb.disable_batching():
        assert powers(5, 2) == 5
    assert jax.jit(lambda x: powers(x, base))(x).tolist() == wanted
    assert not long_way(x, base)


def test_calls_with_typed_keys_are_found_again() -> None:
    @hb.batch
    def draw(pair, n):
        key, shift = pair
        return jax.random.fold_in(key, n), jax.random.uniform(key) + shift

    def wanted(pair: object, n: jax.Array) -> tuple[jax.Array, jax.Array]:
        keys, shifts = pair  # `jax.vmap` draws for all lanes what an rbg generator makes of the first one's key
        with hb.disable_batching():
            one_by_one = [draw((key, shift), i) for key, shift, i in zip(keys, shifts, n, strict=True)]
        return jnp.stack([key for key, _ in one_by_one]), jnp.stack([number for _, number in one_by_one])

    n = jnp.arange(3)
    for impl in ("threefry2x32", "rbg"):
        one, other = (jax.random.split(jax.random.key(seed, impl=impl), 3) for seed in (1, 2))
        draw((one, n / 2), n)
        with mock.patch("hlobatch.runtime.arguments.Binder.bind", side_effect=AssertionError("not found again")):
            (keys, numbers), (right_keys, right_numbers) = draw((other, n / 3), n), wanted((other, n / 3), n)
        assert keys.dtype == right_keys.dtype
        np.testing.assert_array_equal(jax.random.key_data(keys), jax.random.key_data(right_keys))
        np.testing.assert_allclose(numbers, right_numbers, rtol=1e-6)
    words = jax.random.key_data(one)
    with pytest.raises(TypeError, match="key"):  # arrays of the same words are no keys
        draw((words[:, 0], n / 2), n)


def test_interpreters_may_share_a_cache() -> None:
    """Compiled blocks of two programs in one cache do not get mixed up."""
    cache: dict = {}
    tripled = hb.batch(lambda n: n * 3)
    squared = hb.batch(lambda n: n * n)
    backend = hb.stackless.XlaBackend()
    for _ in range(2):
        for function, truth in ((tripled, [9, 21]), (squared, [9, 49])):
            program = function.trace(INPUTS[:2]).program
            assert hb.stackless.execute(program, backend, cache, INPUTS[:2])[0].tolist() == truth


def test_stats_add_up() -> None:
    found, stats = variant(dispatch="chain", schedule="earliest").with_stats(INPUTS[:4])
    assert found.tolist() == TRUTH[:4]
    assert stats.inputs == stats.lanes == 4
    assert stats.steps == sum(block.executions for block in stats.blocks)
    add = stats.block("fibonacci.after_fibonacci.return")
    assert add.executions == 20
    assert add.active == sum(truth - 1 for truth in TRUTH[:4])
    assert add.location.line == fibonacci.function.__code__.co_firstlineno + 4
    assert 0 < stats.utilization < 1
    assert "fibonacci.entry" in str(stats)


def test_stats_say_what_was_chosen_and_why() -> None:
    _, asked = variant(dispatch="chain", schedule="earliest").with_stats(INPUTS)
    assert "dispatch 'chain', schedule 'earliest': as asked for" in str(asked)
    assert "a lane for each input" in str(asked)
    _, chosen = variant(lanes=2, threads=1).with_stats(INPUTS)
    assert "lanes take inputs from a queue: 2 in flight" in str(chosen)
    _, swept = variant(optimizations=LOOP).with_stats(INPUTS)
    assert "dispatch 'sweep', schedule 'sweep': " in str(swept)
    assert "cheap enough to run every block each time" in str(swept)


def test_on_a_gpu_few_lanes_run_all_blocks_of_what_is_dear() -> None:
    """The host would wait for each test; with many lanes, or where the user says how blocks run, they are tested."""

    @hb.batch(in_axes=(0, None))
    def dear(n, weights):
        return weights.sum() if n < 2 else dear(n - 1, jnp.tanh(weights @ weights)) + dear(n - 2, weights)

    plan = dear.trace(np.arange(4), np.eye(20, dtype=np.float32)).plan

    def form(inputs: int, platform: str, **options: Any) -> str:
        policies = Policies.of(plan.programs.in_program_order, Options(lanes=inputs, **options), target_of(platform))
        return plan_run(policies, inputs).policy.form

    assert [form(lanes, "gpu") for lanes in (1, 1_000, 10**8)] == ["sweep", "sweep", "chain"]
    assert [form(lanes, "cpu") for lanes in (1, 10**8)] == ["chain", "chain"]
    assert [form(lanes, "gpu", dispatch="chain") for lanes in (1, 10**8)] == ["chain", "chain"]


def test_stages() -> None:
    traced = variant().trace(jax.ShapeDtypeStruct((6,), jnp.int32))
    lowered = traced.lower()
    assert "push" in lowered.as_text("autobatch")
    assert "stablehlo.while" in lowered.as_text("stablehlo")
    assert lowered.as_text("hlo").startswith("HloModule")
    compiled = lowered.compile()
    assert compiled(INPUTS).tolist() == TRUTH
    assert compiled.memory_analysis() is not None
    assert "flops" in compiled.cost_analysis()
    with pytest.raises(hb.BatchTypeError, match="compiled for other arguments"):
        compiled(INPUTS[:2])
    with pytest.raises(ValueError, match="dialect"):
        lowered.as_text("assembly")


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_printed_is_what_is_compiled(threads: int) -> None:
    """A part of the batch."""
    inputs = np.arange(1000, dtype=np.int32) % 9
    lowered = variant(threads=threads, optimizations=LOOP).trace(inputs).lower()
    text, compiled = lowered.as_text(), lowered.compile()
    assert compiled.threads == threads
    parameters = re.search(r"entry_computation_layout={\((.*?)\)->", compiled.as_text())[1]
    main = re.search(r"func public @main\((.*?)\) ->", text)[1]
    assert (parameters.count("s32[]"), main.count("tensor<i32>")) == (threads, threads), (
        "the number of the part, where there are several, and of the turns of a stretch"
    )
    assert f"-> (tensor<{1000 // threads}xi32>" in text
    assert f"s32[{1000 // threads}]" in compiled.as_text().splitlines()[0]
    assert "tensor<1000xi32>" in lowered.as_text("portable")
    for dialect in ("stablehlo", "portable"):
        assert "test_runtime.py" in lowered.as_text(dialect, debug_info=True)


def test_compiled_program_grows_too() -> None:
    assert variant(max_stack_depth=2).trace(INPUTS).lower().compile()(INPUTS).tolist() == TRUTH


def test_disable_batching_runs_one_example() -> None:
    with hb.disable_batching():
        assert fibonacci(10) == 89


@pytest.mark.parametrize(
    "options",
    [{"schedule": "random"}, {"dispatch": "fast"}, {"max_stack_depth": 0}, {"lanes": -1}, {"max_steps": 1.5}],
)
def test_wrong_options_are_refused(options: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        variant(**options)


def test_schedule_and_dispatch_have_to_fit() -> None:
    with pytest.raises(ValueError, match="cannot be dispatched"):
        variant(schedule="sweep", dispatch="chain")


def test_shared_data_stays_shared_through_mutual_recursion() -> None:
    """Functions that pass a shared array on to each other read the one there is."""

    @hb.batch(in_axes=(0, None))
    def even(n, w):
        if n == 0:
            return w.sum()
        return odd(n - 1, w) + w[0]

    @hb.batch
    def odd(n, w):
        if n == 0:
            return 0.0
        return even(n - 1, w) * 2.0

    w = np.arange(1, 20, dtype=np.float32)
    n = np.arange(4, dtype=np.int32)
    with hb.disable_batching():
        wanted = [float(even(int(k), w)) for k in n]
    assert even(n, w).tolist() == wanted
    lowered = even.trace(n, w).lowered_program
    arrays = [name for name, type_ in lowered.var_defs.items() if type_.tensor_leaves[0].shape == (19,)]
    assert arrays == ["main.w"]
    assert lowered.var_alloc["main.w"] is hb.VariableAllocation.SHARED


@pytest.mark.parametrize(
    ("size", "lanes", "remembered"), [(8, None, 0), (1, None, 0), (8, 4, 1)], ids=["together", "one lane", "queue"]
)
def test_lanes_that_enter_one_loop_together_need_no_schedule(size: int, lanes: int | None, remembered: int) -> None:
    @hb.batch(lanes=lanes)
    def settle(x):
        while x[0] > 0.1:
            x = jnp.tanh(x) @ jnp.eye(64)
        return x

    plan = settle.trace(jnp.ones((size, 64))).plan
    request = request_of(plan, layout_of(plan, size, plan.depth))
    assert request.form == "chain"
    assert len(request.schedule.memory) == remembered


class Model:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    @hb.batch(static_argnames="self")
    def halvings(self, x):
        n = 0
        while x > 1:
            x, n = x * self.rate, n + 1
        return n


def test_methods() -> None:
    x = jnp.asarray([1.0, 4.0, 9.0])
    assert Model.halvings(Model(0.5), x).tolist() == [0, 2, 4]
    assert Model.halvings(Model(0.1), x).tolist() == [0, 1, 1]


TABLE = np.arange(2**17, dtype=np.float32).reshape(512, 256) % 13


def weighted(table):
    """A program that takes a table from outside, and of it only what does not depend on its input."""

    @hb.batch
    def weighted(x):
        turned = jnp.asarray(table).T / 2
        noise = jax.random.normal(jax.random.key(1), (512, 256))
        while x < 100:
            x = x + 1 + jnp.abs(turned[3, 5] + turned[7] @ noise[:, 2])
        return x

    return weighted


def test_what_depends_on_captured_arrays_alone_is_computed_once_for_all_runs(monkeypatch):
    x = np.arange(5, dtype=np.float32)
    plain = hb.batch(weighted(TABLE).function, optimizations=hb.Optimizations(fold_constants=False))
    folded = weighted(TABLE)
    np.testing.assert_allclose(folded(x), plain(x), rtol=1e-6)
    (kept,) = plain.trace(x).plan.captures.arrays
    assert kept.shape == TABLE.shape
    assert [a.shape for a in folded.trace(x).plan.captures.arrays] == [TABLE.T.shape, TABLE.shape]  # turned, and noise
    monkeypatch.setattr(fold_constants, "MOST_BYTES_KEPT", 4 * TABLE.size - 1)
    huge = weighted(TABLE)
    np.testing.assert_allclose(huge(x), plain(x), rtol=1e-6)
    (kept,) = huge.trace(x).plan.captures.arrays
    assert kept.shape == TABLE.shape


def test_arrays_that_are_being_traced_are_not_folded():
    x = np.arange(5, dtype=np.float32)
    run = jax.jit(lambda table, x: weighted(table)(x))
    for table in (TABLE, TABLE + 1):
        np.testing.assert_allclose(run(table, x), weighted(table)(x), rtol=1e-6)
