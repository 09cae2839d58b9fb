"""Several runs of a block as one loop over lanes: the same numbers, where it is a block of which that can be made."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import as_one_kernel, layout_of, request_of

import hlobatch as hb
from hlobatch.lowering.to_stablehlo import Request, to_stablehlo
from hlobatch.lowering.turns.dispatch import LOOPS_BETWEEN_TESTS
from hlobatch.targets.cpu import idioms
from hlobatch.targets.cpu.turns_at_once import MOST_OPERATIONS_OF_A_TURN, TURNS_IN_A_LOOP, TurnsAtOnce, turns_at_once

LANES = 64
NUMBERS = jax.ShapeDtypeStruct((LANES,), np.int32)
REALS = jax.ShapeDtypeStruct((LANES,), np.float32)
BOOLEANS = jax.ShapeDtypeStruct((LANES,), np.bool_)


def step(counter: Any, n: Any, kept: Any) -> list[Any]:
    """One turn of a masked loop: what it writes, in another order than it reads it."""
    here = counter == 1
    half = jnp.where(n % 2 == 0, n >> 1, 3 * n + 1)
    return [jnp.where(here, half, n), jnp.where(here & (half == kept), 2, counter)]


READS = {"pc": NUMBERS, "n": NUMBERS, "kept": NUMBERS}


def test_turns_in_a_row_are_those_one_by_one() -> None:
    together = turns_at_once(step, READS, ["n", "pc"], "pc")
    assert together is not None
    counter, n = jnp.arange(LANES) % 3, jnp.arange(1, LANES + 1)
    kept = jnp.ones_like(n)
    expected = [n, counter]
    for _ in range(TURNS_IN_A_LOOP):
        expected = step(expected[1], expected[0], kept)
    found = jax.jit(lambda *a: together(*a))(counter, n, kept)
    assert [a.tolist() for a in found] == [a.tolist() for a in expected]
    assert [a.dtype for a in found] == [a.dtype for a in expected]


@pytest.mark.parametrize("riders", [0, 1, 2, 5])
def test_what_is_only_read_stays_for_all_turns(riders: int) -> None:
    """In the places of three numbers that are carried, of which two are no counter, if there is room."""

    def add(counter: Any, total: Any, count: Any, *fixed: Any) -> list[Any]:
        return [counter, total + sum(x.astype(total.dtype) for x in fixed), count + 1]

    kinds = [REALS, NUMBERS, BOOLEANS, REALS, NUMBERS][:riders]
    avals = {"pc": NUMBERS, "total": REALS, "count": NUMBERS, **{f"x{i}": kind for i, kind in enumerate(kinds)}}
    together = turns_at_once(add, avals, ["pc", "total", "count"], "pc")
    assert together is not None
    fixed = [(jnp.arange(LANES) % (i + 2)).astype(kind.dtype) for i, kind in enumerate(kinds)]
    counter = jnp.arange(LANES) % 3
    kept, total, count = jax.jit(lambda *a: together(*a))(counter, jnp.ones(LANES), jnp.arange(LANES), *fixed)
    assert kept.tolist() == counter.tolist()
    assert total.tolist() == (1 + TURNS_IN_A_LOOP * sum((x.astype(float) for x in fixed), jnp.zeros(LANES))).tolist()
    assert count.tolist() == (jnp.arange(LANES) + TURNS_IN_A_LOOP).tolist()


def test_bits_are_what_they_were_in_the_place_of_another_number() -> None:
    """Integers that are no real numbers, or tiny ones, in the place of a real number."""
    for wanted in (0x7FA00001, 1, -1, -(2**31), 0x7F800000):
        bits = jnp.full(LANES, wanted, jnp.int32)

        def keep_that(counter: Any, total: Any, bits: Any, wanted: int = wanted) -> list[Any]:
            return [counter, jnp.where(bits == wanted, total + 1, total)]

        together = turns_at_once(keep_that, {"pc": NUMBERS, "total": REALS, "bits": NUMBERS}, ["pc", "total"], "pc")
        assert together is not None
        assert together.riders
        _, total = jax.jit(lambda *a, run=together: run(*a))(jnp.zeros(LANES, jnp.int32), jnp.zeros(LANES), bits)
        assert total.tolist() == [TURNS_IN_A_LOOP] * LANES


@pytest.mark.parametrize(("kind", "arrays"), [(NUMBERS, 2), (REALS, 2), (BOOLEANS, 3)], ids=str)
def test_no_array_is_written_of_what_stays_as_it_is_if_another_has_room(kind: Any, arrays: int) -> None:
    avals = {**READS, "kept": kind}
    together = turns_at_once(step, avals, ["n", "pc"], "pc")
    assert together is not None
    (reduction,) = (e for e in jax.make_jaxpr(together)(*avals.values()).eqns if e.primitive.name.startswith("reduce"))
    assert len(reduction.outvars) == arrays


EVENTS = jax.ShapeDtypeStruct((3, LANES), np.float32)


@pytest.mark.parametrize(
    ("function", "reads"),
    [
        pytest.param(lambda x: [x + jnp.arange(LANES)], {"x": NUMBERS}, id="lanes are numbered"),
        pytest.param(lambda x: [x + jnp.sum(x)], {"x": NUMBERS}, id="lanes are added up"),
        pytest.param(lambda x: [x[::-1]], {"x": NUMBERS}, id="lanes are exchanged"),
        pytest.param(lambda x: [x + 1], {"x": EVENTS}, id="events"),
        pytest.param(lambda x, y: [x + y[0]], {"x": REALS, "y": EVENTS}, id="events are read"),
        pytest.param(lambda x: [jnp.sin(x)], {"x": REALS}, id="a library"),
        pytest.param(lambda x: [x**1.5], {"x": REALS}, id="a power"),
        pytest.param(lambda x: [x * x], {"x": jax.ShapeDtypeStruct((LANES,), np.complex64)}, id="complex numbers"),
        pytest.param(lambda x: [x + 1], {"x": jax.ShapeDtypeStruct((LANES,), jnp.bfloat16)}, id="16 bits"),
        pytest.param(lambda x: [sum([x] * (MOST_OPERATIONS_OF_A_TURN + 2))], {"x": NUMBERS}, id="long"),
    ],
)
def test_no_loop_is_made_of_anything_else(function: Any, reads: Any) -> None:
    def counting(counter: Any, *arrays: Any) -> list[Any]:
        return [*function(*arrays), counter]

    assert turns_at_once(counting, {"pc": NUMBERS, **reads}, ["x", "pc"], "pc") is None


def test_nor_where_something_is_written_that_was_not_read() -> None:
    assert turns_at_once(lambda x: [x, x + 1], {"pc": NUMBERS}, ["pc", "y"], "pc") is None


@hb.batch
def gcd(a: Any, b: Any) -> Any:
    turns = 0
    while b != 0:
        a, b = b, a % b
        turns += 1
    return a, turns


@pytest.mark.parametrize("lanes", [None, 40])
@pytest.mark.parametrize("count", [1, 7, 100, 300])
def test_a_loop_that_is_swept_makes_them(count: int, lanes: int | None) -> None:
    generator = np.random.default_rng(count)
    a, b = (jnp.asarray(generator.integers(0, 10_000, count), jnp.int32) for _ in range(2))
    batched = hb.batch(gcd.function, lanes=lanes, threads=1)
    found, turns = batched(a, b)
    with hb.disable_batching():
        expected = [gcd(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert found.tolist() == [int(value) for value, _ in expected]
    assert turns.tolist() == [int(value) for _, value in expected]


@hb.batch
def down(n: Any) -> Any:
    while n > 0:
        n -= 1
    return n


@pytest.mark.parametrize("one_kernel", [True, False])
def test_lanes_that_wait_for_a_new_input_do_not_end_the_turns_of_others(one_kernel: bool) -> None:
    """Three lanes of 32 are too few to take new inputs, and three more are still in their loop."""
    inputs = jnp.asarray([1] * 27 + [100] * 3 + [5_000] * 3)
    options = hb.Optimizations(one_kernel=one_kernel)
    _, stats = hb.batch(down.function, lanes=32, threads=1, schedule="sweep", optimizations=options).with_stats(inputs)
    rounds = min(block.executions for block in stats.blocks)
    assert max(block.executions for block in stats.blocks) >= 5_000
    assert rounds < 50


@pytest.mark.parametrize("one_kernel", [True, False])
def test_lanes_that_are_done_take_new_inputs_before_the_others_have_left_their_loop(one_kernel: bool) -> None:
    inputs = jnp.asarray([2_000, *[1] * 7] * 16)
    options = hb.Optimizations(one_kernel=one_kernel)
    _, stats = hb.batch(down.function, lanes=64, threads=1, schedule="sweep", optimizations=options).with_stats(inputs)
    assert max(block.executions for block in stats.blocks) < 2_500  # 4,000 in two batches of 64


def test_they_are_one_reduction() -> None:
    together = turns_at_once(step, READS, ["n", "pc"], "pc")
    assert together is not None
    text = jax.jit(lambda *a: together(*a)).lower(*READS.values()).as_text()
    assert text.count("stablehlo.reduce(") == 1
    assert "stablehlo.while" not in text


@pytest.mark.parametrize(("one_kernel", "made"), [(True, 1), (False, 0)])
def test_they_are_made_in_one_kernel(one_kernel: bool, made: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[TurnsAtOnce | None] = []

    def noted(*args: Any) -> TurnsAtOnce | None:
        found.append(turns_at_once(*args))
        return found[-1]

    monkeypatch.setattr(idioms, "turns_at_once", noted)
    a = jnp.arange(1, 301)
    options = hb.Optimizations(kernels=False, one_kernel=one_kernel)
    hb.batch(gcd.function, threads=1, optimizations=options)(a, a)
    assert len([each for each in found if each is not None]) == made


def request_of_a_loop() -> Request:
    """For 300 inputs of a loop on numbers, in one kernel."""
    plan = hb.batch(gcd.function, threads=1).trace(jnp.arange(300), jnp.arange(300)).plan
    return request_of(plan, as_one_kernel(plan, layout_of(plan, 300)))


def test_what_was_traced_once_is_not_traced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    request, trace = request_of_a_loop(), jax.make_jaxpr
    again: list[Any] = []

    def noted(function: Any, *args: Any, **kwargs: Any) -> Any:
        again.append(function)
        return trace(function, *args, **kwargs)

    monkeypatch.setattr(jax, "make_jaxpr", noted)
    to_stablehlo(request)
    assert not again


def test_no_other_copy_of_the_block_is_compiled() -> None:
    request = request_of_a_loop()
    text = str(to_stablehlo(request))
    block = request.layout.program.graph.blocks[1].name
    assert text.count(f"call @block_1.{block}.turns(") == LOOPS_BETWEEN_TESTS
    assert f"@block_1.{block}(" not in text
