"""Arrays of few elements in registers of a GPU's thread: the values on a CPU, and the local memory of the PTX."""

import random
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from on_threads import IN_A_LOOP, MEETING, on_threads
from own_code import checking, needs_llvm
from test_generated import load

import hlobatch as hb
from hlobatch.runtime.kernel_plan import device_kernel
from hlobatch.targets.gpu import code
from hlobatch.targets.registry import target_of

pytestmark = needs_llvm

OPERATIONS = (
    "s = s + v[s % N]",
    "v = v.at[s % N].set(s % 50)",
    "v = v.at[w % N].add(w)",
    "v[k % N], v[s % N] = v[s % N], v[k % N]",
    "w = v[w % N] % 31",
    "v = jnp.sort(v * 7 % 23)",
    "w = jnp.argsort(v % 5) + jnp.cumsum(w) % 7",
    "m = m.at[s % N].set(v % 97)",
    "m = m.at[s % N, k % N].add(1)",
    "v = m[s % N] + m[:, k % N] % 11",
    "m = (m @ m.T + jnp.outer(v, w)) % 101",
    "v = jax.lax.dynamic_update_slice(v, w[:2], (s % N,)) + jax.lax.dynamic_slice(v, (s % 3,), (N,))",
    "s = (s + jnp.argmax(m[k % N]) + jnp.sum(m)) % 211",
    "v = jax.lax.scan(lambda c, r: (c + r[c % N], r[c % N] % 13), s, m)[1]",
    "v = jax.lax.fori_loop(0, s % 4, lambda i, x: x[::-1].at[i % N].add(i), v)",
    "v = jax.lax.cond(s % 2 == 0, lambda: v + w, lambda: v[::-1])",
    "v = turned(v, s % 3)",
)
"""Statements that change vectors `v` and `w`, a matrix `m` and a number `s`, in turn `k`."""
HEAD = """\
import hlobatch as hb
import jax
import jax.numpy as jnp

N = {size}


def turned(v, depth):
    if depth == 0:
        return v
    return turned(v[::-1] % 53, depth - 1).at[depth % N].add(v[depth % N])


@hb.batch
def entry(v, n):
    w, s, k = v[::-1] * 3 % 41, 1, 0
    m = (v[:, None] + 2 * w) % 19
    while k < n:
"""


def program(seed: int) -> str:
    chance = random.Random(seed)
    some = [chance.choice(OPERATIONS) for _ in range(chance.randint(3, 6))]
    lines = [f"        {'if (s + k) % 3 != 0: ' if chance.random() < 0.3 else ''}{line}" for line in some]
    end = ["        k = k + 1", "    return v, w, m, s"]
    return HEAD.format(size=chance.choice((2, 3, 4, 9))) + "\n".join([*lines, *end]) + "\n"


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(k, marks=pytest.mark.slow) for k in range(3, 80))])
def test_programs_by_chance(seed: int, tmp_path: Path) -> None:
    """Integers are exactly those of XLA's loop."""
    source = program(seed)
    entry = load(source, tmp_path).entry.function
    on = (IN_A_LOOP, MEETING)[seed % 2]
    size, rows = int(source.split("N = ")[1].split()[0]), max(5, on.lanes_that_meet + 2)
    v, n = np.arange(rows * size, dtype=np.int32).reshape(rows, size) * 5 % 23, np.arange(rows) % 4
    wanted = hb.batch(entry, optimizations=hb.Optimizations(kernels=False))(v, n)
    with on_threads(on), checking():
        found = hb.batch(entry, dispatch="kernel")(v, n)
    jax.tree.map(lambda got, want: np.testing.assert_array_equal(got, want, err_msg=source), found, wanted)


@jax.jit
def solved(rows):
    """Gauss and Jordan's method: loops over 8 x 9 elements, some of them within others."""
    for k in range(8):
        pivot = rows[k] / rows[k, k]
        factors = rows[:, k].at[k].set(0.0)
        rows = (rows - factors[:, None] * pivot).at[k].set(pivot)
    return rows


def eliminated(rows):
    while jnp.sum(jnp.abs(rows[:, 8])) > 1:
        rows = solved(rows)
    return rows[:, 8]


def nearest(point, other):
    """An element at a place that only the lane knows, of an array of three."""
    axis = 0
    while point[axis] < other[axis]:
        point = point.at[axis].add(1.0)
        axis = (axis + 1) % 3
    return point


def counted(n):
    """The same of an array of a hundred, which stays in memory."""
    found = jnp.zeros(100, jnp.int32)
    while n > 0:
        found = found.at[n % 100].add(n)
        n = n // 3
    return found[7]


def products(x):
    """Loops over a matrix of 24 x 24, which are not unrolled."""
    a = jnp.outer(x, x)
    while x[0] < 9:
        x = jnp.tanh(a @ x) + 1
    return x


def noise(key):
    """Random numbers, more than there are registers for, each of which is read once."""
    total = 0.0
    while total < 9:
        key, one = jax.random.split(key)
        total = total + jnp.sum(jnp.abs(jax.random.normal(one, (10, 10))) * jax.random.uniform(key, (10, 10)))
    return total


@pytest.mark.parametrize(
    ("function", "inputs", "is_in_memory", "most_lines"),
    [
        (eliminated, (np.ones((2, 8, 9), np.float32),), False, 5000),
        (nearest, (np.ones((2, 3), np.float32),) * 2, False, 1000),
        (counted, (np.arange(2),), True, 1000),
        (noise, (jax.random.split(jax.random.key(0), 2),), False, 2000),
        (products, (np.ones((2, 24), np.float32),), False, 5000),
    ],
)
def test_local_memory(function, inputs, is_in_memory: bool, most_lines: int) -> None:
    """A thread has local memory only for arrays of many elements, and its code is not much longer for it."""
    kernel = device_kernel(hb.batch(function, dispatch="kernel").trace(*inputs).plan, target_of("cuda"))
    text = code.ptx(kernel.module.text + kernel.grid(kernel.declared_frames, 100).constants, (8, 0))
    assert (".local" in text) == is_in_memory
    assert len(text.splitlines()) < most_lines
