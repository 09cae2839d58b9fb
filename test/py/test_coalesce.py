"""Coalescing: copies share storage where that is safe, and nowhere else."""

import numpy as np
import pytest

import hlobatch as hb
from hlobatch.ir.ops import PrimOp


@hb.batch
def swap_in_a_loop(a, b, n):
    while n > 0:
        a, b = b, a
        n -= 1
    return a * 100 + b


@hb.batch
def rotate(a, b, c, n):
    while n > 0:
        a, b, c = b, c, a
        n -= 1
    return a * 100 + b * 10 + c


@hb.batch
def lost_copy(x, n):
    y = x
    while n > 0:
        y = x
        x = x + 1
        n -= 1
    return y


@hb.batch
def permuted_tail_call(a, b, n):
    if n == 0:
        return a * 100 + b
    return permuted_tail_call(b, a, n - 1)


@hb.batch
def copy_kept_across_a_call(x, n):
    if n == 0:
        return x
    y = x
    x = copy_kept_across_a_call(x + 1, n - 1)
    return y * 10 + x


@hb.batch
def threaded(state, n):
    if n == 0:
        return (state[0] + 1, state[1])
    state = threaded(state, n - 1)
    if state[0] > 6:
        return state
    return threaded(state, n - 1)


N = np.array([0, 1, 2, 3, 4], np.int32)
A, B, C = (np.array([k, k + 1, 3, 5, 7], np.int32) for k in (1, 2, 4))
CASES = [
    (swap_in_a_loop, (A, B, N)),
    (rotate, (A, B, C, N)),
    (lost_copy, (A, N)),
    (permuted_tail_call, (A, B, N)),
    (copy_kept_across_a_call, (A, N)),
    (threaded, ((A, B), N)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_meaning_stays(function: hb.BatchedFunction, args: tuple) -> None:
    with hb.disable_batching():
        rows = [[tuple(p[i] for p in a) if isinstance(a, tuple) else a[i] for a in args] for i in range(len(N))]
        wanted = [function(*row) for row in rows]
    found = function(*args)
    if isinstance(found, tuple):
        assert [tuple(map(int, row)) for row in zip(*found, strict=True)] == [tuple(map(int, w)) for w in wanted]
    else:
        assert found.tolist() == [int(w) for w in wanted]


def moves(program: hb.Program) -> list[PrimOp]:
    return [op for op in program.ops if isinstance(op, PrimOp) and op.code.is_copy]


def test_a_value_threaded_through_calls_is_one_variable() -> None:
    """A value that goes into every call and comes out of it is never copied."""
    program = threaded.trace((A, B), N).lowered_program
    assert moves(program) == []
    states = [name for name, type_ in program.var_defs.items() if len(type_.tensor_leaves) == 2]
    assert states == ["threaded.state"]


def test_switched_off_it_keeps_its_copies() -> None:
    plain = hb.batch(threaded.function, optimizations=hb.Optimizations(coalesce=False))
    assert len(moves(plain.trace((A, B), N).lowered_program)) > 3
