"""A kernel and XLA's operations in turn, on a CPU that runs the threads of a grid (``on_threads.py``)."""

import contextlib
from collections.abc import Callable
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P
from on_threads import IN_TURN, WARPS_IN_TURN, handing_everything_over, on_threads
from own_code import checking, needs_llvm

import hlobatch as hb
from hlobatch.kernels.processors import IN_TURN as IN_TURN_OF_A_GPU
from hlobatch.kernels.processors import WARP_IN_TURN, Processor
from hlobatch.runtime import device_kernel, in_turn
from hlobatch.runtime.kernel_plan import device_kernel as device_kernel_of
from hlobatch.targets.gpu import errands, forms
from hlobatch.targets.registry import target_of

pytestmark = needs_llvm

ROWS = np.sin(np.arange(60_000.0, dtype=np.float32).reshape(6000, 10))
SEEDS = np.arange(5, dtype=np.int32)


def kernel(function, **options):
    return hb.batch(function, dispatch="kernel", **options)


def descent(seed):
    """A loop of each lane's own length around a product of a large matrix that all lanes share."""
    x, count = jnp.sin(jnp.arange(10.0) + seed), 0
    while jnp.sum(x * x) > 0.1 * (seed + 1):
        value, slope = jax.value_and_grad(lambda x: jnp.sum(jnp.tanh(ROWS @ x) ** 2))(x)
        x = 0.9 * x - slope * 1e-5
        count = count + 1 if value > 1 else 0
    return x, count


def deep(seed):
    """A recursion, whose frames outlive the errands within it."""

    def down(x, n):
        if n <= 0:
            return jnp.tanh(x @ x.T)
        y = down(x[::-1] + n, n - 1)
        return y * 0.5 - x + down(y, n - 2)

    return down(jnp.arange(9.0).reshape(3, 3) + seed, seed)


def checked(n):
    if n == 3:
        raise ValueError(f"no {n}")
    while n != 0:
        n = n - 1
    return n + 5


@pytest.mark.parametrize("function", [descent, deep])
@pytest.mark.parametrize("processor", [IN_TURN, pytest.param(WARPS_IN_TURN, marks=pytest.mark.slow)])
def test_values(function: Callable[..., Any], processor: Processor) -> None:
    """Values equal those of XLA's loop, with bounds checks, stacks that grow, and every primitive as an errand."""
    wanted = hb.batch(function)(SEEDS)
    everything = contextlib.nullcontext() if function is descent else handing_everything_over()
    with on_threads(processor), everything, checking():
        found, stats = kernel(function, max_stack_depth=4).with_stats(SEEDS)
    jax.tree.map(lambda got, want: np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-4), found, wanted)
    assert "in turn with XLA" in stats.choice
    assert "utilization 100.0%" in str(stats)
    assert (stats.resumptions > 0) == (function is deep)


def test_only_long_products_are_errands() -> None:
    """One call of the library in a turn for all lanes that wait, inside jit too; the rest is the kernel's."""
    with on_threads(IN_TURN):
        traced = kernel(descent).trace(SEEDS)
        shape = device_kernel_of(traced.plan, target_of("gpu")).shape
        (errand,) = (shape.program.graph.block(name).instructions for name in shape.errands)
        assert [op.text.startswith("value, slope") for op in errand] == [True]
        found = jax.jit(kernel(descent))(SEEDS)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), found, hb.batch(descent)(SEEDS))


def test_inside_vmap_scan_and_shard_map() -> None:
    twice = np.stack([SEEDS, SEEDS[::-1]])
    wanted = hb.batch(descent)(SEEDS)[0]
    with on_threads(IN_TURN):
        mapped = jax.vmap(kernel(descent))(twice)[0]
        _, scanned = jax.lax.scan(lambda carry, row: (carry, kernel(descent)(row)[0]), 0, twice)
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
        split = jax.shard_map(kernel(descent), mesh=mesh, in_specs=P("d"), out_specs=P("d"))
        found = [*mapped, *scanned, jax.jit(split)(SEEDS)[0]]
    for got, want in zip(found, [wanted, wanted[::-1]] * 2 + [wanted], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4)


def test_what_has_no_code_is_an_errand() -> None:
    def waves(n):
        x = jnp.sin(jnp.arange(8.0) * n)
        while n > 0:
            x = jnp.abs(jnp.fft.rfft(jnp.concatenate([x, x])))[:8]
            x, n = x / (1 + jnp.max(x)), n - 1
        return x

    with on_threads(), pytest.raises(hb.KernelError, match="`fft` has no code"):
        kernel(waves)(SEEDS)
    with on_threads(IN_TURN):
        np.testing.assert_allclose(kernel(waves)(SEEDS), hb.batch(waves)(SEEDS), rtol=1e-5)


def test_limits_and_failures() -> None:
    """Exceptions and used up steps name their inputs; the others keep their results."""
    with on_threads(IN_TURN), handing_everything_over():
        with pytest.raises(hb.LaneError, match="no 3") as failed:
            kernel(checked)(SEEDS)
        with pytest.raises(hb.StepLimitError) as stepped:
            kernel(checked, max_steps=30)(np.asarray([1, 90, 2], np.int32))
    assert np.asarray(failed.value.outputs)[[0, 1, 2, 4]].tolist() == [5] * 4
    assert list(stepped.value.lanes) == [1]


def test_stretches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes that wait when the turns of the loop are used up begin anew, with more turns."""
    monkeypatch.setattr(device_kernel, "FIRST_TURNS", 1 << 6)
    monkeypatch.setattr(in_turn, "TURNS_OF_A_THREAD", 1)
    n = np.asarray([2, 100, 0, 50, 7], np.int32)
    passes = []
    with on_threads(IN_TURN), handing_everything_over():
        with mock.patch.object(device_kernel, "_wait", lambda outputs, _: passes.append(len(outputs))):
            assert kernel(checked)(n).tolist() == [5] * 5
    assert len(passes) == 2


def test_errands_by_their_work() -> None:
    """A product with few elements, and one in a loop that may never end for a lane that passes by, are no errands."""

    def found(function):
        program = hb.batch(function).trace(SEEDS).plan.programs.of_a_lane
        ops = [op for block in program.graph for op in program.primitives_in_loop(block)]
        return any(map(errands.is_errand, ops))

    def product(rows):
        def run(n):
            x = jnp.ones(10) * n
            while n > 0:
                x, n = jnp.tanh((ROWS[:rows] @ x) @ ROWS[:rows]), n - 1
            return x

        return run

    def inner(n):
        return jax.lax.while_loop(lambda x: jnp.sum(x) > n, lambda x: x - jnp.abs(ROWS @ x).sum(), jnp.ones(10))

    assert found(product(6000))
    assert not found(product(30))
    assert not found(inner)


def test_the_call_that_xla_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop around one call, which is given the arrays that it wrote before in the same memory."""
    monkeypatch.setenv("HLOBATCH_OWN_CODE", forms.IN_TURN_NAME)
    given = jax.ShapeDtypeStruct((100,), np.int32)
    text = jax.jit(kernel(descent)).trace(given).lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("@__gpu$xla.gpu.ptx") == text.count("stablehlo.while") == 1
    assert text.count("#stablehlo.output_operand_alias") == 5  # two results, what an errand is told, status, memory


def test_the_form_is_that_of_the_rest() -> None:
    """Threads run the rest where it is numbers, warps where it is vectors; the errands do not count."""

    def numbers(n):
        while n > 0:
            n = n - 1 - jnp.sum(jnp.abs(ROWS @ (ROWS.T @ (ROWS @ jnp.ones(10) * n)))).astype(int) % 2
        return n

    def vectors(n):
        x = jnp.ones(1000) * n
        while n > 0:
            x, n = jnp.tanh(x[::-1] + x.sum()), n - 1
        return x

    def form(function):
        return forms.Forms().in_turn(hb.batch(function).trace(SEEDS).plan.programs.of_a_lane).processor

    assert form(numbers) == IN_TURN_OF_A_GPU
    assert form(vectors) == WARP_IN_TURN
