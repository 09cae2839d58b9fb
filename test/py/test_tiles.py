"""A TPU's kernel of tiles: right in Pallas's interpreter, and lowered by Mosaic, both without a TPU.

``table`` says for each program of the zoo whether it has such a kernel, or why not.
"""

import functools
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import test_registers
from on_tiles import NO_TILES, on_tiles
from test_device_kernels import FIBONACCI, NUMBERS, fibonacci
from test_generated import load
from zoo import ZOO, ZooProgram

import hlobatch as hb
from hlobatch.runtime.kernel_plan import device_kernel
from hlobatch.targets.registry import target_of


def reason(program: ZooProgram) -> str:
    """Why a program has no kernel of tiles; empty if it has one, which Mosaic lowers."""
    try:
        device_kernel(program.variant(dispatch="kernel").trace(*program.inputs(17)).plan, target_of("tpu"))
    except hb.KernelError as error:
        return error.message.partition(" has no kernel: ")[2]
    return ""


def table() -> Iterator[tuple[ZooProgram, str]]:
    """The programs of the zoo, each with the reason why it has no kernel of tiles; empty if it has one."""
    for program in ZOO:
        with on_tiles():
            why = reason(program)
        yield program, why


def kernel(function, **options):
    return hb.batch(function, dispatch="kernel", **options)


def test_calls() -> None:
    with on_tiles():
        assert kernel(fibonacci, max_stack_depth=9)(NUMBERS).tolist() == FIBONACCI


@pytest.mark.slow
def test_stacks_that_grow() -> None:
    """Lanes of two groups; those with too few frames run again, and runs of blocks are counted."""
    with on_tiles():
        found, stats = kernel(fibonacci, max_stack_depth=5).with_stats(np.arange(1025, dtype=np.int32) % 11)
    assert found.tolist() == (FIBONACCI * 94)[:1025]
    assert stats.resumptions == 1
    assert "in an element of tiles of 1,024" in stats.choice
    assert "never run on a TPU" in stats.choice


def test_a_kernel_has_to_be_asked_for() -> None:
    verdict = target_of("tpu").judge(hb.batch(fibonacci).trace(NUMBERS).plan.programs.of_a_lane)
    assert not verdict.by_themselves
    assert "dispatch='kernel' has to ask for it" in verdict.reason


def test_what_has_no_kernel_says_why() -> None:
    def summed(x):
        total = 0.0
        while x[0] > total:
            total = total + 1
        return total

    def halved(n):
        return jax.lax.while_loop(lambda n: n > 9, lambda n: n // 2, n)

    with on_tiles():
        with pytest.raises(hb.KernelError, match="has a loop inside"):
            kernel(halved)(NUMBERS)
        with pytest.raises(hb.KernelError, match="has arrays of more than 128 elements, for which tiles have no room"):
            kernel(summed)(np.zeros((2, 300), np.float32))
        with pytest.raises(hb.KernelError, match="numbers of int8"):
            kernel(lambda n: n if n < 2 else n - 1)(NUMBERS.astype(np.int8))


def test_exceptions_of_lanes() -> None:
    def checked(n):
        if n == 3:
            raise ValueError(f"no {n}")
        return n

    with on_tiles(), pytest.raises(hb.LaneError, match="no 3") as failed:
        kernel(checked)(NUMBERS)
    assert list(failed.value.lanes) == [3]
    assert np.asarray(failed.value.outputs)[[2, 4]].tolist() == [2, 4]


def looked_up(x, m, i):
    """Reads and writes at indices outside of arrays, from the end, of unsigned numbers, in all modes."""
    u = jnp.uint32(2**32 - 1) - i.astype(jnp.uint32)
    numbers = [x.at[i].get(mode="clip"), x.at[i].get(mode="fill"), x.at[u].get(mode="fill", fill_value=7)]
    numbers += [x.at[u].get(mode="clip"), x[jnp.clip(i, 0, 3)], jnp.where(i > 2, -0.0 * x, x)[i]]
    rows = [x.at[i].set(9), x.at[u].add(3), x.at[i].set(1, mode="clip"), m.at[i].max(x)[1], m.at[:, i].mul(2)[2]]
    rows += [jax.lax.dynamic_update_slice(m, m[:2, :2], (u, u))[2], m.at[i].get(mode="clip"), m.at[i].get()]
    squares = [jax.lax.dynamic_slice(m, (i, i - 2), (2, 3)), m[jnp.stack([i, i + 1]), jnp.asarray([[0], [2], [3]])].T]
    return numbers, rows, squares


def indexed(x, m, i):
    found = looked_up(x, m, i)
    while i < 2:
        x = x.at[i % 4].add(1)
        found = looked_up(x, m, i)
        i = i + 3
    return found, x


def test_indices_of_lanes() -> None:
    """A zero keeps its sign, and what is not a number is not lost."""
    i = np.asarray([-9, -4, -1, 0, 3, 4, 99], np.int32)
    x = np.asarray([[-0.0, np.nan, np.inf, 2.5]] * 7, np.float32)
    m = np.arange(84, dtype=np.float32).reshape(7, 3, 4)
    wanted = hb.batch(indexed, optimizations=hb.Optimizations(kernels=False))(x, m, i)
    with on_tiles():
        found = kernel(indexed)(x, m, i)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
        assert (np.signbit(one) == np.signbit(other))[~np.isnan(other)].all()


TABLE = jnp.asarray(np.arange(120) % 7, jnp.int32)


def walked(v, steps, n):
    """A lane's own array, one that all lanes share, one that the code captures, and one that is kept on a stack."""
    if n <= 0:
        return v
    w = walked(v[::-1] + steps[n % 2], steps, n - 1)
    return w.at[n % 3].add(TABLE[w[0] % 120] + v[n % 3])


@pytest.mark.slow
def test_arrays_of_lanes_in_two_groups() -> None:
    v, steps, n = (
        np.arange(3 * 1030, dtype=np.int32).reshape(1030, 3),
        np.eye(2, 3, dtype=np.int32),
        np.arange(1030) % 5,
    )
    wanted = hb.batch(walked, in_axes=(0, None, 0), optimizations=hb.Optimizations(kernels=False))(v, steps, n)
    with on_tiles():
        found = kernel(walked, in_axes=(0, None, 0), max_stack_depth=6)(v, steps, n)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_programs_on_arrays_by_chance(seed: int, tmp_path: Path) -> None:
    """Programs on vectors and matrices, also recursive ones, give the integers of XLA's loop."""
    without = "sort", "argmax", "fori_loop"  # which Mosaic has no code for, or tiles have none
    some = tuple(line for line in test_registers.OPERATIONS if not any(name in line for name in without))
    with mock.patch.object(test_registers, "OPERATIONS", some):
        source = test_registers.program(seed)
    entry, size = load(source, tmp_path).entry.function, int(source.split("N = ")[1].split()[0])
    v, n = np.arange(5 * size, dtype=np.int32).reshape(5, size) * 5 % 23, np.arange(5, dtype=np.int32) % 4
    wanted = hb.batch(entry, optimizations=hb.Optimizations(kernels=False))(v, n)
    with on_tiles():
        found = kernel(entry)(v, n)
    jax.tree.map(lambda got, want: np.testing.assert_array_equal(got, want, err_msg=source), found, wanted)


@pytest.mark.slow
def test_limits() -> None:
    """Steps that are used up, stacks that the fast memory has no room for, and stretches between which Ctrl-C acts."""

    def down(n):
        while n != 0:
            n = n - 1
        return n + 5

    def endless(n):
        return 0 if n == 1 else endless(n) + 1

    with on_tiles():
        with pytest.raises(hb.StepLimitError) as steps:
            kernel(down, max_steps=40)(np.asarray([1, 90, 2, -1], np.int32))
        with pytest.raises(hb.StackOverflowError) as overflow:
            kernel(endless, max_stack_depth=4)(np.asarray([1, 0, 1, 1], np.int32))
        with pytest.raises(hb.KernelError, match="smaller max_stack_depth"):
            kernel(endless, max_stack_depth=10_000)(NUMBERS)
        with mock.patch("hlobatch.runtime.device_kernel.FIRST_TURNS", 8):
            assert kernel(down)(np.asarray([3, 1000, 0], np.int32)).tolist() == [5] * 3
        assert jax.jit(kernel(fibonacci))(NUMBERS).tolist() == FIBONACCI
    assert list(steps.value.unfinished) == [1, 3]
    assert list(overflow.value.lanes) == [1]


def plain(x):
    """An array as NumPy's; of random keys, their words."""
    is_key = jax.dtypes.issubdtype(getattr(x, "dtype", None), jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(x) if is_key else x)


@pytest.mark.slow
def test_the_zoo() -> None:
    """All programs on numbers of 32 bits and small arrays run, with plain Python's values; others say why not."""
    found_reasons = list(table())
    for program, why in found_reasons:
        assert not why or any(reason in why for reason in NO_TILES), program.name
        if why:
            continue
        with on_tiles():
            found = program.variant(dispatch="kernel", max_stack_depth=14)(*program.inputs(17))
        wanted = jax.tree.map(lambda *rows: np.stack([plain(x) for x in rows]), *program.expected)
        check = functools.partial(np.testing.assert_allclose, rtol=1e-5, err_msg=program.name)
        jax.tree.map(check, jax.tree.map(plain, found), wanted)
    assert sum(not why for _, why in found_reasons) == 87
