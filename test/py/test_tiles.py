"""A TPU's kernel of tiles: right in Pallas's interpreter, and lowered by Mosaic, both without a TPU.

``table`` says for each program of the zoo whether it has such a kernel, or why not.
"""

import functools
from collections.abc import Iterator
from unittest import mock

import jax
import numpy as np
import pytest
from on_tiles import NO_TILES, on_tiles
from test_device_kernels import FIBONACCI, NUMBERS, fibonacci
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

    def checked(n):
        if n == 3:
            raise ValueError(n)
        return n

    with on_tiles():
        with pytest.raises(hb.KernelError, match="it may raise"):
            kernel(checked)(NUMBERS)
        with pytest.raises(hb.KernelError, match="has arrays, and lanes of a TPU's tiles have numbers alone"):
            kernel(summed)(np.zeros((2, 3), np.float32))
        with pytest.raises(hb.KernelError, match="numbers of int8"):
            kernel(lambda n: n if n < 2 else n - 1)(NUMBERS.astype(np.int8))


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


@pytest.mark.slow
def test_the_zoo() -> None:
    """All programs on numbers of 32 bits run, and give plain Python's values; all others say why not."""
    found_reasons = list(table())
    for program, why in found_reasons:
        assert not why or any(reason in why for reason in NO_TILES), program.name
        if why:
            continue
        with on_tiles():
            found = program.variant(dispatch="kernel", max_stack_depth=16)(*program.inputs(17))
        wanted = jax.tree.map(lambda *rows: np.stack(rows), *program.expected)
        check = functools.partial(np.testing.assert_allclose, rtol=1e-5, err_msg=program.name)
        jax.tree.map(check, jax.tree.map(np.asarray, found), wanted)
    assert sum(not why for _, why in found_reasons) == 50
