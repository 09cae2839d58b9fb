"""A warp to a lane, and lanes of a warp that meet before dear blocks: correct on a CPU, with threads in random order.

The LLVM IR is that for a GPU; threads run until they meet, one at a time, in a random order (``warps.py``).
"""

import itertools
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import warps
from hypothesis import HealthCheck, given, note, settings
from on_threads import CROWDED, MEETING, WARPS, WARPS_WITH_LITTLE, on_threads
from own_code import checking, needs_llvm
from test_generated import ROWS, SHARED, expected, load, modules

import hlobatch as hb
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.warp import WarpEmitter
from hlobatch.runtime.kernel_plan import device_kernel
from hlobatch.targets.gpu import code, forms
from hlobatch.targets.registry import target_of

pytestmark = [
    needs_llvm,
    pytest.mark.skipif(not warps.IS_HERE, reason="the threads of a warp have stacks of their own on x86-64"),
]

SEEDS = np.arange(2, dtype=np.int32)


def turned(x, n):
    """Reads of elements of other threads, sums, and one element that all threads read before it is overwritten."""
    while n > 0:
        y = x[::-1] + jnp.sum(x)
        x = (y % 7) * x[n]
        n = n - 1
    return x


def vectors(seed):
    x = jnp.sin(jnp.arange(40.0) * (seed + 1))
    a = jnp.cos(jnp.arange(40.0)[:, None] * x)
    places = jnp.arange(40) * 7 % 11
    total = 0.0
    while seed >= 0:
        x = jnp.sort(a @ x)[::-1]
        x = x.at[places].add(jnp.cumsum(x @ a))
        x = x.at[3].set(jnp.max(x)).at[5].set(jnp.nan_to_num(x[2] / x[3]))
        x = x / (1 + jnp.abs(x).max())
        a = jnp.outer(x, x) + a.T
        total = total + jnp.argmax(x) + x @ x
        seed = seed - 1
    return total, x, a[:2, :3], jnp.argmin(a, axis=1), jnp.any(x > 0.5)


def best_of(seed):
    """Reductions with ties (the first wins), NaN (which wins against all), integers, booleans and complex numbers."""
    x = jnp.arange(70) * 31 % 10 + seed
    y = jnp.where(x == 4, jnp.nan, x * 1.0)
    z = x + 1j * jnp.flip(x)
    return (
        jnp.argmax(x),
        jnp.argmin(y),
        jnp.sum(z),
        jnp.prod(z[:12] / 9),
        jnp.min(x),
        jnp.all(x >= 0),
        jnp.sum(x % 2 == 0),
    )


def running(seed):
    """Cumulative sums in both directions, along each axis, of few lines and of many.

    Sorting with payload, and with NaN.
    """
    x = jnp.sin(jnp.arange(40.0) * (seed + 2))
    total, m = jnp.zeros(40), jnp.zeros((3, 40))
    while seed >= 0:
        m = jnp.cumsum(jnp.outer(x[:3], x), axis=1)
        total = jnp.cumsum(m.T, axis=0)[:, 1] + jnp.cumsum(x > 0) + jnp.argsort(jnp.round(x * 3))
        total = total + jax.lax.cummax(x) * jax.lax.cumprod(jnp.cos(x), reverse=True)
        x = jnp.sort(jnp.outer(x, m[0]), axis=0)[:, 2]
        seed = seed - 1
    return total, m, jnp.sort(jnp.where(total > 20, jnp.nan, jnp.round(total)))


def deep(seed):
    """A recursion with frames of arrays and numbers."""

    def down(x, n):
        if n == 0:
            return x
        y = down(x[::-1] + n, n - 1)
        return y * 2 - x + down(y, n - 2 if n > 1 else 0)

    return down(jnp.arange(50) + seed, seed + 4)


def solved(seed):
    """Factorizations of large matrices, whose arrays are shared, and of small ones, which each thread has by itself."""
    a = jnp.sin(jnp.arange(100.0).reshape(10, 10) * (seed + 1)) + 8 * jnp.eye(10)
    b = a[:3, :3]
    x, y = jnp.ones(10), jnp.ones(3)
    while seed >= 0:
        x = jnp.linalg.solve(a, x) + jnp.linalg.cholesky(a @ a.T)[9] + jnp.abs(jnp.linalg.qr(a)[1][0])
        x = x + jnp.linalg.eigvalsh(a + a.T) / 10 + jnp.linalg.inv(a)[2] @ a
        y = jnp.linalg.solve(b, y) + jnp.abs(jnp.linalg.qr(b)[0][1]) + jnp.linalg.cholesky(b @ b.T)[2]
        seed = seed - 1
    return x, y


def run(function: Callable[..., Any], *given: Any, on: Processor = WARPS, **options: Any) -> Any:
    with on_threads(on):
        return jax.tree.map(np.asarray, hb.batch(function, dispatch="kernel", **options)(*given))


# A warp to a lane


@pytest.mark.parametrize(
    "function", [vectors, best_of, deep, *(pytest.param(f, marks=pytest.mark.slow) for f in (running, solved))]
)
def test_values(function: Callable[..., Any]) -> None:
    """Values equal those of a lane in one thread, with bounds checks and memory of each kind."""
    wanted = hb.batch(function, dispatch="kernel")(SEEDS)
    with checking():
        found = run(function, SEEDS, on=WARPS_WITH_LITTLE, max_stack_depth=3)
    jax.tree.map(lambda got, want: np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-4), found, wanted)


def test_a_missing_meeting_is_found() -> None:
    """The meetings before a read of `x` written in the turn before, and before a write of `x` that all have read."""
    x, n = np.arange(140, dtype=np.int32).reshape(2, 70) % 9, np.asarray([3, 6], np.int32)
    wanted = np.asarray(hb.batch(turned)(x, n))
    meeting = WarpEmitter._meeting

    def is_right_without(left_out: int) -> bool:
        made = itertools.count()

        def some(self: WarpEmitter) -> str:
            return "" if next(made) == left_out else meeting(self)

        with mock.patch.object(WarpEmitter, "_meeting", some):
            return np.array_equal(run(turned, x, n), wanted)

    assert is_right_without(-1)
    assert not is_right_without(1)
    assert not is_right_without(2)


def test_threads_that_part_are_found() -> None:
    """A thread that ends while others wait for it, which would hang a GPU."""
    with (
        mock.patch.object(WarpEmitter, "_of_word", lambda self, x, thread: x),
        pytest.raises(Exception, match="parted"),
    ):
        run(lambda x: turned(x, jnp.sum(x) % 5), np.arange(140).reshape(2, 70))


def test_statistics_and_limits() -> None:
    def down(x, n):
        while n != 0:
            x, n = x[::-1] + 1, n - 1
        return x

    x, n = np.zeros((6, 40), np.int32), np.asarray([3, 0, 9, 2, 30, 1], np.int32)
    with on_threads(WARPS):
        batched = hb.batch(down, dispatch="kernel")
        found, stats = batched.with_stats(x, n)
        with pytest.raises(hb.StepLimitError) as steps:
            hb.batch(down, dispatch="kernel", max_steps=20)(x, n)
    _, wanted = hb.batch(down, dispatch="kernel").with_stats(x, n)
    assert found[:, 0].tolist() == n.tolist()
    assert [b.executions for b in stats.blocks] == [b.executions for b in wanted.blocks]
    assert list(steps.value.unfinished) == [4]
    assert "in 32 threads" in stats.choice


def test_what_a_gpu_is_given() -> None:
    """The PTX has arrays in memory that a warp shares and none in a thread's; barriers and shuffles."""
    text = ptx(turned, np.zeros((1, 70), np.int32), np.zeros(1, np.int32), form="warp")
    assert {"bar.warp.sync", "shfl.sync.idx.b32", "st.shared.b32"} <= {word for word in text.split() if "." in word}
    assert ".local" not in text
    assert "redux" not in text


# Programs that nobody thought of

OPERATIONS = (
    "x = x[::-1] + y",
    "y = jnp.cumsum(x) % 97",
    "x = jnp.sort(x * 7 % 31 + y % 5)",
    "x = x.at[y % N].add(x) % 1009",
    "y = y.at[k % N].set(x[k * 3 % N])",
    "s = s + jnp.sum(x) % 101 + jnp.argmax(y % 13)",
    "x = (m @ x) % 89",
    "x = (x @ m) % 89",
    "m = m.T + x % 3",
    "m = m.at[k % N].set(y % 7)",
    "m = (m @ m[:, :N]) % 11",
    "m = m.at[y % N].add(x % 5)",
    "y = jnp.roll(x, 1) - s",
    "x, y = y, x",
    "x = jnp.where(y % 2 == 0, x, y)",
    "y = jax.lax.dynamic_update_slice(y, x[:5], (s % N,))",
    "x = jnp.maximum(x, jnp.max(y) - s % 3) % 1009",
    "s = (x[s % N] + s) % 1009",
    "x = x.at[2].set(s % 100).at[3].add(x[2])",
    "z = x[:4]; x = x.at[:4].set(y[2:6]); y = y.at[3:7].add(z)",
    "x = jnp.concatenate([y[5:], x[:5]])",
    "y = jax.lax.scan(lambda c, r: (c + r.sum(), r * c % 17), s, m)[1][:, 1]",
    "y = jax.lax.fori_loop(0, s % 4, lambda i, v: v[::-1] + i, y)",
    "x = jax.lax.cond(s % 2 == 0, lambda: x + 1, lambda: y[::-1])",
    "m = m + jnp.outer(x % 3, y % 3) % 5",
    "x, y = turned(x, y, s % 3)",
)
"""Statements that change vectors `x` and `y`, a matrix `m` and a number `s`, in turn `k`."""
HEAD = """\
import hlobatch as hb
import jax
import jax.numpy as jnp

N = {size}


def turned(x, y, depth):
    if depth == 0:
        return x, y
    u, v = turned(y[::-1] % 503, x, depth - 1)
    return u + x, v - y


@hb.batch
def entry(x, n):
    y, s, k = x[::-1] * 3 % 41, 0, 0
    m = (x[:, None] + 2 * y) % 19
    while k < n:
"""


def program(seed: int) -> str:
    chance = random.Random(seed)
    some = [chance.choice(OPERATIONS) for _ in range(chance.randint(4, 7))]
    lines = [f"        {'if (s + k) % 3 != 0: ' if chance.random() < 0.3 else ''}{line}" for line in some]
    end = ["        k = k + 1", "    return x, y, m, s"]
    return HEAD.format(size=chance.choice((9, 33, 40))) + "\n".join([*lines, *end]) + "\n"


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(k, marks=pytest.mark.slow) for k in range(3, 102))])
def test_programs_by_chance(seed: int, tmp_path: Path) -> None:
    """Integers are exactly those of a lane in one thread."""
    source = program(seed)
    entry = load(source, tmp_path).entry.function
    size = int(source.split("N = ")[1].split()[0])
    on = (WARPS, WARPS_WITH_LITTLE, MEETING, CROWDED)[seed % 4]
    rows = max(2, on.lanes_that_meet + 2)
    x, n = np.arange(rows * size, dtype=np.int32).reshape(rows, size) * 5 % 23, np.arange(2, rows + 2) % 5
    wanted = jax.tree.map(np.asarray, hb.batch(entry, dispatch="kernel")(x, n))
    with checking():
        found = run(entry, x, n, on=on)
    jax.tree.map(lambda got, want: np.testing.assert_array_equal(got, want, err_msg=source), found, wanted)


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(source=modules())
def test_generated_programs(source: str, tmp_path: Path) -> None:
    """Control flow, calls and frames of numbers give plain Python's values."""
    note(source)
    module = load(source, tmp_path)
    wanted = expected(module)
    for on in (WARPS, MEETING, CROWDED):
        found = run(module.entry.function, *ROWS.T, SHARED, on=on, in_axes=module.entry.in_axes, max_stack_depth=2)
        assert found.tolist() == wanted


# Lanes that meet


def parting(x, n):
    """Lanes that reach a dear block by different paths, at different times, after cheap loops of different lengths."""
    total = 0.0
    while n > 0:
        m = n * 7 % 5
        while m > 0:
            total, m = total + 1, m - 1
        if n % 3 == 0:
            x = jnp.tanh(jnp.exp(-x) @ jnp.cos(x) + x)
        else:
            total = total + jnp.sum(jnp.sin(x))
        n = n - 1
    return total, x


@pytest.mark.parametrize("on", [MEETING, CROWDED])
def test_lanes_that_meet(on: Processor) -> None:
    x = np.linspace(-1, 1, 70 * 12, dtype=np.float32).reshape(70, 12)
    n = (np.arange(70, dtype=np.int32) * 13) % 11
    wanted = hb.batch(parting, dispatch="kernel")(x, n)
    found = run(parting, x, n, on=on)
    jax.tree.map(lambda got, want: np.testing.assert_allclose(got, want, rtol=1e-5), found, wanted)


def test_only_dear_blocks_are_met_at() -> None:
    """A loop of numbers has none."""
    x, n = np.zeros((1, 12), np.float32), np.zeros(1, np.int32)
    assert "redux.sync.min.u32" in ptx(parting, x, n, form="meeting")
    assert "redux" not in ptx(lambda n: n if n < 2 else n - 1, n, form="meeting")


def test_most_lanes_are_found_by_a_match() -> None:
    x, n = np.zeros((1, 12), np.float32), np.zeros(1, np.int32)
    assert {"match.any.sync.b32", "redux.sync.min.u32"} <= set(ptx(parting, x, n, form="crowded").split())
    assert "match" not in ptx(parting, x, n, form="meeting")


def ptx(function: Callable[..., Any], *given: Any, form: str) -> str:
    with mock.patch.dict(os.environ, HLOBATCH_OWN_CODE=form):
        kernel = device_kernel(hb.batch(function, dispatch="kernel").trace(*given).plan, target_of("cuda"))
    return code.ptx(kernel.module.text + kernel.grid(kernel.declared_frames, 100).constants, (8, 0))


# The choice


def test_the_form_is_chosen_by_what_lanes_do() -> None:
    """A warp for long vectors, meetings where several blocks are dear, and a thread for numbers."""

    def walk(x, a):
        while x[0] > 0:
            x = jnp.tanh(a @ x) - 0.1
        return x

    def down(n):
        while n != 0:
            n = n - 1
        return n

    x, a = np.zeros((1, 12), np.float32), np.zeros((1, 40, 40), np.float32)
    cases = {"warp": (walk, a[0, :1], a), "meeting": (parting, x, SEEDS[:1]), "thread": (down, SEEDS)}
    for name, (function, *inputs) in cases.items():
        found = target_of("cuda").form_for(hb.batch(function).trace(*inputs).plan.programs.of_a_lane)
        assert found.processor == forms.NAMES[name]
        assert found.reason


def test_a_form_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOBATCH_OWN_CODE", "fibre")
    with pytest.raises(hb.KernelError, match="'fibre', and may be thread, meeting, crowded, warp"):
        device_kernel(hb.batch(vectors, dispatch="kernel").trace(SEEDS).plan, target_of("cuda"))
