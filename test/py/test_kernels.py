"""Programs as kernels, code of their own for each lane: how runs use them, and the handling of inputs without a result.

That they compute what plain Python does is tested with all other executors (``test_equivalence.py``,
``test_generated.py``).
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from own_code import WITHOUT, checking, needs_llvm
from shares import by_day
from test_equivalence import array
from zoo import LOOP, ZOO, ZooProgram

import hlobatch as hb
from hlobatch.kernels.ffi import Directory
from hlobatch.kernels.interface import STACK_BYTES, Operands, Options
from hlobatch.kernels.lane import LaneEmitter
from hlobatch.kernels.module import to_llvm
from hlobatch.kernels.processors import CPU, NVPTX
from hlobatch.runtime.kernel import Run
from hlobatch.runtime.kernel_call import TARGET
from hlobatch.runtime.kernel_plan import kernel_of, shape_of
from hlobatch.targets.lanes import LaneCosts
from hlobatch.targets.rates import Rates
from hlobatch.targets.registry import target_of

pytestmark = [needs_llvm, pytest.mark.usefixtures("optimized_kernels")]


def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


def down(n):
    """Turns as often as its argument says, and for ever if that is negative."""
    while n != 0:
        n = n - 1
    return n + 5


def deep(n):
    """Recurses as deep as its argument says."""
    if n <= 0:
        return 0
    return deep(n - 1) + 1


def picky(n):
    if n == 3:
        raise ValueError(f"not {n}")
    if n > 5:
        raise KeyError(n)
    return n * 2


SIZE = 37
NUMBERS = np.arange(SIZE, dtype=np.int32) % 11
FIBONACCI = [(1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)[n] for n in NUMBERS]


DISPATCH = "kernel"
"""``test_gangs.py`` runs some of these tests with another."""


def kernel(function: Any, **options: Any) -> hb.BatchedFunction:
    return hb.batch(function, dispatch=DISPATCH, **options)


# The program of a lane


def test_lanes_run_one_side_of_a_branch() -> None:
    """What lanes that run together would compute both sides of; but a loop over an array has no branches."""

    def divides(n, m):
        total = 0
        while n != 0:
            if n % 3 == 0:
                total = total + n // m
            n = n - 1
        return total

    def positive(x):
        total = jnp.float32(0)
        for i in range(40):
            if x[i] > 0:
                total = total + x[i]
        return total

    x = np.linspace(-3, 4, 80, dtype=np.float32).reshape(2, 40)
    plan = hb.batch(divides).trace(NUMBERS, NUMBERS + 1).plan
    assert "select" in str(plan.programs.machine)
    assert "select" not in str(plan.programs.of_a_lane)
    assert [*map(int, kernel(divides)(NUMBERS, NUMBERS + 1))] == [divides(int(n), int(n) + 1) for n in NUMBERS]
    assert len(hb.batch(positive).trace(x).plan.programs.of_a_lane.graph.blocks) == 1
    np.testing.assert_allclose(kernel(positive)(x), [row[row > 0].sum() for row in x], rtol=1e-6)


def test_captured_arrays_of_both_sides() -> None:
    """The code of a lane may capture arrays in another order than the loop over all lanes does."""
    first, second = (jnp.arange(20, dtype=jnp.float32) * k for k in (1, -2))

    def look_up(n):
        x = jnp.float32(0)
        while n > 0:
            if n % 2 == 0:
                x = x + second[n]
            else:
                x = x + first[n]
            n = n - 1
        return x

    expected = [sum(float((first if k % 2 else second)[k]) for k in range(1, n + 1)) for n in NUMBERS]
    batched = kernel(look_up)
    assert np.asarray(batched(NUMBERS)).tolist() == expected
    assert np.asarray(jax.jit(batched)(NUMBERS)).tolist() == expected


# Indices


def test_indices_outside_of_arrays() -> None:
    """Reads are moved inside, writes are dropped; negative indices count from the end, once."""

    def moved(i, j, line, table):
        k = 0
        while k < 2:
            line = line.at[i].set(line[j] + line[i])
            table = table.at[i, j].add(table[j, i] + line[i - 3])
            table = table.at[j].set(table[i] + 1)
            k = k + 1
        return line, table, jax.lax.dynamic_slice(line, (i,), (2,)), table[j]

    steps = np.array([-(2**31), -40, -17, -16, -9, -8, -1, 0, 1, 7, 8, 15, 16, 40, 2**31 - 1], np.int32)
    i, j = (axis.reshape(-1) for axis in np.meshgrid(steps, steps))
    line = np.arange(16 * i.size, dtype=np.int32).reshape(-1, 16)
    table = np.arange(72 * i.size, dtype=np.int32).reshape(-1, 8, 9)
    with checking():
        found = kernel(moved)(i, j, line, table)
    assert jax.tree.all(jax.tree.map(np.array_equal, found, hb.batch(moved)(i, j, line, table)))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_indices_that_no_signed_number_can_be(dtype: Any) -> None:
    """The largest of unsigned types are larger than any place, and not before the first."""

    def main(i, line):
        again = line.at[i].set(9, mode="clip").at[i].add(5)
        moved = jax.lax.dynamic_update_slice(line, line[:2] * 3, (i,))
        return line[i], line.at[i].get(mode="fill"), jax.lax.dynamic_slice(line, (i,), (2,)), again, moved

    with jax.enable_x64(True):
        most = int(np.iinfo(dtype).max)
        i = np.array([0, 1, 5, 6, most // 2, most // 2 + 1, most - 4, most], dtype)
        line = np.arange(10, 16) * np.ones((len(i), 1), int)
        with checking():
            found = kernel(main)(i, line)
        wanted = jax.jit(jax.vmap(main))(i, line)
    jax.tree.map(np.testing.assert_array_equal, found, wanted)


@pytest.mark.parametrize("dispatch", ["kernel", "gang"])
def test_shifts_by_the_width_and_beyond(dispatch: str) -> None:
    """They give 0, or the sign where they are arithmetic, as in XLA."""

    def shifts(a, b):
        results = [a, a, a]
        while b >= 0:
            left, right = jax.lax.shift_left(a, b), jax.lax.shift_right_logical(a, b)
            results = [left, right, jax.lax.shift_right_arithmetic(a, b)]
            b = -1
        return results

    a, b = np.array([1, -1, 5, -7, -8], np.int32), np.array([31, 32, 33, 40, 1], np.int32)
    found = hb.batch(shifts, dispatch=dispatch)(a, b)
    left, right, arithmetic = (np.asarray(part).tolist() for part in found)
    assert left == [-(1 << 31), 0, 0, 0, -16]
    assert right == [0, 0, 0, 0, (1 << 31) - 4]
    assert arithmetic == [0, -1, 0, -1, -4]


@pytest.mark.parametrize("dtype", by_day([bool, np.int16, np.int8, np.uint8, np.uint32, np.int32], 3))
def test_products_and_sums_wrap_around_as_those_of_jax(dtype: Any) -> None:
    """Those of whole numbers; of flags, a sum is true where a term is."""

    def main(x):
        into = jax.lax.dot(x, x, preferred_element_type=jnp.int32)
        added = x if dtype is bool else x[0].at[jnp.array([0, 1, 1, 0])].add(x[1, :4])
        return x @ x, jnp.vdot(x, x), jnp.outer(x[0], x[1]), into, x.sum(0), x.prod(1), added, x.cumsum(0)

    rng = np.random.default_rng(3)
    ends = (0, 1) if dtype is bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for size in (2, 12):
        x = rng.integers(*ends, (5, size + 4, size + 4), dtype=np.int64, endpoint=True).astype(dtype)
        jax.tree.map(np.testing.assert_array_equal, kernel(main)(x), jax.jit(jax.vmap(main))(x))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint32"])
def test_orders_in_which_nan_has_a_place(dtype: Any) -> None:
    """-NaN, -infinity, -0, 0, infinity and NaN are in order, as JAX's searches and sorts have them."""

    def main(x, y):
        return [order.bind(x, y) for order in (jax.lax.lt_to_p, jax.lax.le_to_p, jax.lax.eq_to_p)]

    some = [-np.nan, -np.inf, -2.0, -0.0, 0.0, 1.5, np.inf, np.nan]
    if not jnp.issubdtype(dtype, jnp.floating):
        some = [0, 1, 100, 127]
    x, y = (jnp.asarray(each.ravel(), dtype) for each in np.meshgrid(some, some))
    jax.tree.map(np.testing.assert_array_equal, kernel(main)(x, y), jax.jit(jax.vmap(main))(x, y))


def test_searches_in_sorted_arrays_have_a_kernel() -> None:
    def main(line, x):
        while x < 5:
            x = x * 2
        return jnp.searchsorted(line, x)

    line = np.sort(np.random.default_rng(1).normal(size=(9, 20)) * 9, axis=1).astype(np.float32)
    x = np.linspace(0.1, 9.5, 9, dtype=np.float32)
    found = kernel(main)(line, x)
    assert found.tolist() == [main(*each) for each in zip(line, x, strict=True)]


@pytest.mark.usefixtures("optimized_in_full")  # else XLA computes with bfloat16 as float32, and changes a NaN
@pytest.mark.parametrize(
    ("dtype", "to"), [("float32", "uint8"), ("float32", "bfloat16"), ("uint16", "uint8"), ("int16", "float16")]
)
@pytest.mark.parametrize("dispatch", ["kernel", "gang"])
def test_bits_as_numbers_of_another_width(dtype: str, to: str, dispatch: str) -> None:
    def main(x):
        parts = jax.lax.bitcast_convert_type(x, to)
        one = jax.lax.bitcast_convert_type(x[1, 2], to)
        return parts, one, jax.lax.bitcast_convert_type(parts[1:], dtype), jax.lax.bitcast_convert_type(one, dtype)

    x = jnp.asarray(np.random.default_rng(1).normal(size=(5, 3, 4)) * 99, dtype)
    as_bits = lambda a: np.asarray(a).tobytes()  # noqa: E731
    with checking():
        found = hb.batch(main, dispatch=dispatch)(x)
    assert jax.tree.map(as_bits, found) == jax.tree.map(as_bits, jax.jit(jax.vmap(main))(x))


@pytest.mark.parametrize("dtype", [jnp.int4, jnp.uint4, jnp.int2, jnp.uint2])
def test_integers_of_less_than_a_byte(dtype: Any) -> None:
    """JAX keeps several in one byte of an array; within a lane each has a byte of its own."""
    table = jnp.asarray(np.arange(40) % 2, dtype)

    def moved(x, n):
        while n > 0:
            x, n = x + 1, n - 1
        return x

    def counted(x, n):
        row = jnp.zeros(3, dtype)
        while n > 0:
            row, n = row.at[n % 3].set(x.astype(dtype) + row[(n + 1) % 3]), n - 1
        return row.astype(jnp.int32)

    n = np.arange(40, dtype=np.int32) % 3
    with pytest.raises(hb.KernelError, match="which lie several to a byte, have no code"):
        kernel(moved)(table, n)
    with pytest.raises(hb.KernelError, match="which lie several to a byte, have no code"):
        kernel(lambda x, n: moved(x, n) + table[n].astype(int))(n, n)
    for run in (hb.batch(moved), jax.jit(hb.batch(moved))):
        np.testing.assert_array_equal(run(table, n).astype(int), (table + n.astype(dtype)).astype(int))
    for dispatch in ("kernel", "gang"):
        np.testing.assert_array_equal(
            hb.batch(counted, dispatch=dispatch)(n, n), hb.batch(counted, optimizations=LOOP)(n, n)
        )


FORMATS = ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")


@pytest.mark.parametrize("dispatch", ["kernel", "gang"])
@pytest.mark.parametrize("name", [*by_day(FORMATS, 2)])
def test_floats_of_eight_bits(name: str, dispatch: str) -> None:
    """All sums and products of two of them, the extremes of rows, and numbers between two of them and beyond all."""
    dtype = jnp.dtype(f"float8_{name}")

    def main(row, x, n):
        found = (row[0], row[0], row[0], row[0], x.astype(dtype))
        while n > 0:
            found = (row[0] + row[1], row[0] * row[1], row.max(), row.min(), x.astype(dtype))
            n = n - 1
        return found

    every = np.arange(256, dtype=np.uint8).view(dtype)
    rows = np.stack([np.repeat(every, 256), np.tile(every, 256)], 1)
    wide = rows.astype(np.float32)
    powers = np.exp2(np.random.default_rng(1).uniform(-24, 24, len(rows) - 256)).astype(np.float32)
    numbers = np.concatenate([powers, (wide[:256, 1] + wide[1:257, 1]) / 2])
    with np.errstate(all="ignore"):
        sums = (wide[:, 0] + wide[:, 1], wide[:, 0] * wide[:, 1], wide.max(1), wide.min(1), numbers)
        wanted = [each.astype(dtype) for each in sums]
    found = hb.batch(main, dispatch=dispatch)(rows, numbers, np.ones(len(rows), np.int32))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(one).astype(np.float32), other.astype(np.float32))


def test_indices_that_the_user_moves() -> None:
    """What counts from the end is known by its form, which may be the user's own, of another array."""

    def own(i, x, flags):
        total = 0
        while i > -9:
            total = total + x[jnp.where(i < 0, i + 3, i)] * 2 + x[jnp.where(i < 1, i + 3, i)]
            total = total - x[jnp.where(i < 0, i + 3, i + 1)] + x[jnp.where(flags[i], i + 3, i)]
            i = i - 1
        return total

    x = np.arange(7 * 5, dtype=np.int32).reshape(7, 5) ** 2
    i, flags = np.arange(-2, 5, dtype=np.int32), x % 3 == 1
    with checking():
        found = kernel(own)(i, x, flags)
    assert np.asarray(found).tolist() == np.asarray(hb.batch(own)(i, x, flags)).tolist()


def test_an_index_is_tested_and_seldom_moved() -> None:
    """Where a lane has a processor to itself. Beside other lanes it had better not branch."""

    def total(n, x):
        s = 0
        while n != 0:
            s = s + x[n]
            n = n - 1
        return s

    plan = hb.batch(total).trace(NUMBERS, np.zeros((SIZE, 16), np.int32)).plan
    on_cpu, on_gpu = (shape_of(plan).module(processor).text for processor in (CPU, NVPTX))
    assert "outside" in on_cpu
    assert "outside" not in on_gpu


# In other computations


@pytest.mark.parametrize("threads", [1, 3])
def test_inside_jit_vmap_and_scan(threads: int) -> None:
    """A kernel is an ordinary part of a JAX computation, and gives the same there."""
    batched = kernel(fibonacci, threads=threads)
    assert jax.jit(batched)(NUMBERS).tolist() == FIBONACCI
    assert jax.jit(lambda n: batched(n + 1) - 1)(NUMBERS - 1).tolist() == [x - 1 for x in FIBONACCI]
    twice = jax.vmap(batched)(jnp.stack([NUMBERS, NUMBERS[::-1]]))
    assert twice.tolist() == [FIBONACCI, FIBONACCI[::-1]]
    _, found = jax.lax.scan(lambda carry, row: (carry, batched(row)), 0, jnp.stack([NUMBERS, NUMBERS[::-1]]))
    assert found.tolist() == twice.tolist()


@pytest.mark.parametrize("program", by_day(ZOO, 16), ids=lambda program: program.name)
def test_zoo_under_vmap(program: ZooProgram) -> None:
    """The zoo in two batches side by side, where its arguments allow for that."""
    if program.name in WITHOUT or program.static or any(axis != 0 for axis in program.in_axes):
        return  # these have arguments that jax.vmap cannot map
    function = program.variant(dispatch="kernel", max_stack_depth=64)
    arguments = program.inputs(3)
    if not all(isinstance(x, (np.ndarray, jax.Array)) for x in jax.tree.leaves(arguments)):
        return
    alone = function(*arguments)
    both = jax.vmap(function)(*jax.tree.map(lambda x: jnp.stack([x, x]), arguments))
    for one, two in zip(jax.tree.leaves(alone), jax.tree.leaves(both), strict=True):
        np.testing.assert_array_equal(array(two), [array(one)] * 2)


def test_same_bits_inside_jit() -> None:
    """Numbers too small for the usual form are zeros in both places, as XLA has it."""

    def f(x):
        while x > 0.5:
            x = x * 0.5
        return jnp.exp(x) * 1e-38 * 1e-5 + jnp.sin(x)

    x = np.linspace(0, 9, 50, dtype=np.float32)
    alone, inside = kernel(f)(x), jax.jit(kernel(f))(x)
    assert np.asarray(alone).tobytes() == np.asarray(inside).tobytes()


IN_SHARDS = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax, jax.numpy as jnp, numpy as np, hlobatch as hb
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

@hb.batch(dispatch="kernel", max_stack_depth=4)
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)

mesh = Mesh(jax.devices(), ("x",))
n = jnp.arange(32) % 5
placed = jax.device_put(n, NamedSharding(mesh, P("x")))
mapped = jax.jit(jax.shard_map(fibonacci, mesh=mesh, in_specs=P("x"), out_specs=P("x")))
expected = [(1, 1, 2, 3, 5)[k % 5] for k in range(32)]
for _ in range(3):
    assert mapped(placed).tolist() == expected
assert fibonacci(placed).tolist() == expected
third = jax.devices()[3]
for _ in range(6):
    assert fibonacci(jax.device_put(n, third)).devices() == {third}
    with jax.default_device(third):
        assert fibonacci(np.arange(5)).devices() == {third}
    assert fibonacci(np.arange(5)).devices() == {jax.devices()[0]}
free = hb.batch(fibonacci.function)
assert "dispatch 'kernel'" in free.with_stats(n)[1].choice
assert "dispatch 'kernel'" not in free.with_stats(placed)[1].choice
for _ in range(6):
    assert free(placed).tolist() == expected
    assert free(placed).sharding == placed.sharding
assert jax.jit(fibonacci)(placed).tolist() == expected
print("ok")
"""


def test_in_shards(tmp_path: Path) -> None:
    """Eight devices call it at the same time; by itself it runs where its inputs are, if that is one of them."""
    script = tmp_path / "script.py"
    script.write_text(IN_SHARDS)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert run.stdout.strip() == "ok", run.stderr


def test_another_process() -> None:
    """What was compiled in one process may come to others, which refuse it if they have no such kernel."""
    jax.jit(kernel(fibonacci))(NUMBERS)
    call = jax.ffi.ffi_call(TARGET, [jax.ShapeDtypeStruct((3,), np.int32)] * 2)
    with pytest.raises(jax.errors.JaxRuntimeError, match="has not made this kernel in this process: trace it anew"):
        jax.block_until_ready(call(jnp.arange(3), kernel=np.int64(16)))


CACHED = """
import jax, numpy as np, hlobatch as hb

@hb.batch
def gcd(a, b):
    seen = np.zeros(4, np.int32)
    while b:
        a, b = b, a % b
        seen[a % 4] += 1
    return a, seen

a, b = np.arange(9, dtype=np.int32), np.arange(9, dtype=np.int32) * 7 + 3
assert "dispatch 'kernel'" in gcd.with_stats(a, b)[1].choice
inside = jax.jit(gcd)(a, b)[0]
assert inside.tolist() == np.gcd(a, b).tolist()
"""


def test_in_the_persistent_cache(tmp_path: Path) -> None:
    """A process finds what another one has compiled around a kernel."""
    script, cache = tmp_path / "script.py", tmp_path / "cache"
    script.write_text(CACHED)
    all_of_it = {"MIN_COMPILE_TIME_SECS": "0", "MIN_ENTRY_SIZE_BYTES": "-1"}
    settings = {f"JAX_PERSISTENT_CACHE_{name}": value for name, value in all_of_it.items()}
    found = []
    for _ in range(2):
        environment = os.environ | settings | {"JAX_COMPILATION_CACHE_DIR": str(cache)}
        subprocess.run([sys.executable, script], env=environment, timeout=300, check=True)
        found.append({path.name for path in cache.iterdir() if not path.name.endswith("-atime")})
    assert any(name.startswith("jit_gcd") for name in found[0])
    assert found[0] == found[1]


def test_a_directory_of_kernels() -> None:
    """A key is found where looking for it in turn leads; one that is not there leads to an empty place."""
    directory = Directory()
    keys = [*range(1, 40, 2), *(1 + (k << 12) for k in range(1, 40)), 2**62 + 1]

    def look(key: int) -> int:
        cell = ctypes.c_int64.from_address(directory.address)
        mask = ctypes.c_int64.from_address(cell.value).value
        table = (ctypes.c_int64 * (3 + 2 * mask)).from_address(cell.value)
        place = key & mask
        while table[1 + 2 * place] not in (0, key):
            place = (place + 1) & mask
        return table[2 + 2 * place] if table[1 + 2 * place] else 0

    for count, key in enumerate(keys):
        directory.add(key, 1_000 + count)
        assert [look(k) for k in keys] == [1_000 + i if i <= count else 0 for i in range(len(keys))]


def test_exports_are_portable() -> None:
    exported = jax.export.export(jax.jit(kernel(fibonacci)))(NUMBERS)
    assert TARGET not in exported.mlir_module()
    assert exported.call(NUMBERS).tolist() == FIBONACCI
    assert TARGET in jax.jit(kernel(fibonacci)).lower(NUMBERS).as_text()


# Inputs without a result


def test_lanes_that_raise() -> None:
    with pytest.raises(hb.LaneError, match="raised ValueError: not 3") as info:
        kernel(picky)(NUMBERS)
    lanes = [i for i, n in enumerate(NUMBERS) if n == 3 or n > 5]
    assert list(info.value.lanes) == lanes
    assert isinstance(info.value.errors[6], KeyError)
    outputs = info.value.outputs.tolist()
    assert [outputs[i] for i in range(SIZE) if i not in lanes] == [
        2 * n for i, n in enumerate(NUMBERS) if i not in lanes
    ]
    with pytest.raises(Exception, match="raised ValueError: not 3"):
        jax.block_until_ready(jax.jit(kernel(picky))(NUMBERS))
    assert kernel(picky)(np.arange(3)).tolist() == [0, 2, 4]


def test_max_steps() -> None:
    with pytest.raises(hb.StepLimitError) as info:
        kernel(down, max_steps=50)(np.asarray([3, 1000, 4, -1], np.int32))
    assert list(info.value.lanes) == [1, 3]
    assert [info.value.outputs[i].item() for i in (0, 2)] == [5, 5]
    with pytest.raises(Exception, match="had not finished after 50 blocks"):
        jax.block_until_ready(jax.jit(kernel(down, max_steps=50))(np.asarray([3, 1000], np.int32)))


def test_stacks_grow() -> None:
    """Only the lanes that were too deep are run again, and the depth is remembered."""
    n = np.asarray([3, 1000, 50, 7, 200], np.int32)
    batched = kernel(deep, max_stack_depth=2)
    result, stats = batched.with_stats(n)
    assert result.tolist() == n.tolist()
    assert stats.resumptions > 1
    assert stats.depth >= 1000
    _, again = batched.with_stats(n)
    assert again.resumptions == 0


def test_frames_of_many_types() -> None:
    """What a call saves lies in one place, each array where its elements may begin."""

    def mixed(n, small, flag, wide, row, z):
        if n <= 0:
            return small, flag, wide, row, z
        a, b, c, d, e = mixed(n - 1, small + 1, jnp.logical_not(flag), wide * 0.5, row[::-1] * 3, z * 1j)
        f, g, h, i, j = mixed(n - 3, small - 2, flag ^ (n % 2 == 0), wide - n, row + small, z + wide)
        return (a * small + f, b ^ g ^ flag, c + h * wide, d - i + row, e + j * z)

    n = np.arange(9, dtype=np.int32)
    flag, wide = n % 2 == 0, n.astype(np.float32) / 3
    small, row = n.astype(np.int8), np.arange(27, dtype=np.int16).reshape(9, 3)
    arguments = (n, small, flag, wide, row, (wide + 2j).astype(np.complex64))
    with checking():
        found = kernel(mixed, max_stack_depth=2)(*arguments)
    for ours, theirs in zip(found, hb.batch(mixed)(*arguments), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_stacks_that_grow_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 256)
    n = np.asarray([3, 1000, 50], np.int32)
    with pytest.raises(hb.StackOverflowError, match="more than 256 stack frames") as info:
        kernel(deep)(n)
    assert list(info.value.lanes) == [1]
    assert [info.value.outputs[i].item() for i in (0, 2)] == [3, 50]
    with pytest.raises(hb.StackOverflowError, match="larger stacks take more memory") as info:
        kernel(deep, max_stack_bytes=1000)(n)
    with pytest.raises(Exception, match="raise max_stack_depth"):
        jax.block_until_ready(jax.jit(kernel(deep))(n))


@contextlib.contextmanager
def alarm() -> Iterator[None]:
    """A context in which a SIGINT arrives after a third of a second."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("threads", [1, 3])
def test_interrupted(threads: int) -> None:
    """Whatever was finished is kept; without Ctrl-C, this has no end."""
    n = np.where(NUMBERS == 4, -1, NUMBERS).astype(np.int32)
    batched = kernel(down, threads=threads)
    assert batched(NUMBERS).tolist() == [5] * SIZE
    began = time.process_time()
    with pytest.raises(hb.Interrupted) as info, alarm():
        batched(n)
    assert time.process_time() - began < 10
    assert set(np.flatnonzero(NUMBERS == 4)) & set(info.value.unfinished)
    done = [i for i in range(SIZE) if i not in info.value.unfinished]
    assert all(info.value.outputs[i].item() == 5 for i in done)
    assert batched(NUMBERS).tolist() == [5] * SIZE


def test_runs_beside_each_other() -> None:
    """Runs in several threads of the user's do not wait for each other, and one that is interrupted stops no other."""
    batched = kernel(fibonacci, threads=2)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda k: batched((NUMBERS + k) % 11).tolist(), range(60)))
    assert found == [batched((NUMBERS + k) % 11).tolist() for k in range(60)]


def test_a_slow_input_takes_about_as_long_as_by_itself() -> None:
    """One that turns a hundred thousand times as often as the others, once it is known how long turns take."""
    n = np.where(np.arange(1000) == 500, 3_000_000, 3).astype(np.int32)
    batched = kernel(down, threads=2)
    for _ in range(4):
        assert batched(n).tolist() == [5] * 1000
    _, stats = batched.with_stats(n)
    turns = max(block.executions for block in stats.blocks)
    assert 3_000_000 <= turns < 3 * 3_000_000


def test_left_to_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes that take longer than the calling thread may wait begin anew in others, and counts are not lost."""
    monkeypatch.setattr("hlobatch.runtime.kernel.FIRST_TURNS", 50)
    for threads in (1, 2):
        result, stats = kernel(fibonacci, threads=threads).with_stats(NUMBERS)
        assert result.tolist() == FIBONACCI
        assert stats.threads == threads
        assert stats.block("fibonacci.entry").executions == sum(2 * x - 1 for x in FIBONACCI)
        assert kernel(fibonacci, threads=threads)(NUMBERS).tolist() == FIBONACCI


def test_nan_is_found() -> None:
    def f(x):
        while x > 2:
            x = x - 1
        return jnp.log(x)

    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="gives NaN in lane 1"):
        kernel(f)(np.asarray([3.5, -1.0], np.float32))


def test_powers_and_platforms() -> None:
    """A float to the power of a whole number that differs between lanes, and code that JAX has for each platform."""

    def f(n, x):
        while n > 3:
            n = n - 1
        here = jax.lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x - 1)
        return jax.lax.pow(x, n) + here

    n, x = np.arange(5, dtype=np.int32), np.linspace(0.5, 2, 5, dtype=np.float32)
    np.testing.assert_allclose(kernel(f)(n, x), hb.batch(f)(n, x), rtol=1e-6)


# What says how it runs


def test_statistics() -> None:
    result, stats = kernel(fibonacci).with_stats(NUMBERS)
    assert result.tolist() == FIBONACCI
    assert "dispatch 'kernel': as asked for" in str(stats)
    assert stats.utilization == 1
    assert stats.inputs == SIZE
    assert stats.block("fibonacci.entry").executions == sum(2 * x - 1 for x in FIBONACCI)


def test_compiled() -> None:
    lowered = kernel(fibonacci).trace(NUMBERS).lower()
    assert "define internal i32 @lane(" in lowered.as_text("llvm")
    assert "stablehlo.while" in lowered.as_text()
    compiled = lowered.compile()
    assert compiled(NUMBERS).tolist() == FIBONACCI
    assert "run:" in compiled.as_text()
    assert compiled.threads >= 1


def test_an_empty_batch() -> None:
    nothing = jnp.zeros(0, jnp.int32)
    assert kernel(fibonacci)(nothing).tolist() == []
    assert kernel(fibonacci).trace(nothing).lower().compile()(nothing).tolist() == []


def test_nothing_is_moved_behind_the_users_back() -> None:
    """Results are memory that JAX takes as it is: no transfer, and none that is forbidden."""
    batched, n = kernel(fibonacci, max_stack_depth=2), jnp.asarray(NUMBERS)
    with jax.transfer_guard("disallow_explicit"):
        found = batched(n), batched(n)
    assert [x.tolist() for x in found] == [FIBONACCI] * 2


def test_what_has_no_kernel_says_why() -> None:
    def f(x):
        while x.sum() > 10:
            x = jnp.linalg.svd(x @ x.T + jnp.eye(2))[0]
        return x

    with pytest.raises(hb.KernelError, match=r"'f' has no kernel: `\w+` has no code"):
        kernel(f)(np.ones((3, 2, 2), np.float32))
    with pytest.raises(hb.KernelError, match="has no kernel"):
        jax.jit(kernel(f))(np.ones((3, 2, 2), np.float32))
    with pytest.raises(hb.KernelError, match="has no kernel"):
        kernel(f).trace(np.ones((3, 2, 2), np.float32)).lower().as_text("llvm")


WITHOUT_LLVM = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "llvmlite":
            raise ImportError("hidden")

sys.meta_path.insert(0, Hidden())
import numpy as np, hlobatch as hb

def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)

n = np.arange(5)
print(hb.batch(fibonacci)(n).tolist())
try:
    hb.batch(fibonacci, dispatch="kernel")(n)
except hb.KernelError as error:
    print(error.message)
"""


def test_without_llvm(tmp_path: Path) -> None:
    """Where it cannot be imported, XLA runs everything, and who asks for a kernel is told."""
    script = tmp_path / "script.py"
    script.write_text(WITHOUT_LLVM)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    results, said = run.stdout.splitlines()
    assert results == "[1, 1, 2, 3, 5]"
    assert said == "'fibonacci' has no kernel: `llvmlite` cannot be imported (ImportError: hidden)"


IN_A_CHILD = """
import os, signal, warnings
import numpy as np, hlobatch as hb
warnings.simplefilter("ignore")  # JAX's, of forks

@hb.batch(threads=2)
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)

n = np.full(40, 31, np.int32)  # long enough for other threads to take lanes
wanted = np.asarray(fibonacci(n)).tolist()
child = os.fork()
if not child:
    signal.alarm(60)
    os._exit(np.asarray(fibonacci(n)).tolist() != wanted)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process forks here")
def test_in_a_child_process() -> None:
    """It has none of its parent's threads, and waited for them."""
    done = subprocess.run([sys.executable, "-c", IN_A_CHILD], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


# Where it is chosen


def test_chosen_where_the_target_says_so() -> None:
    """Recursion on numbers is the kernel's, by itself and inside jit, unless that is switched off."""
    batched = hb.batch(fibonacci)
    result, stats = batched.with_stats(NUMBERS)
    assert result.tolist() == FIBONACCI
    assert "dispatch 'kernel': lanes in step would take" in stats.choice
    assert TARGET in jax.jit(batched).lower(NUMBERS).as_text()
    assert jax.jit(batched)(NUMBERS).tolist() == FIBONACCI
    assert "dispatch 'kernel'" not in hb.batch(fibonacci, optimizations=LOOP).with_stats(NUMBERS)[1].choice
    assert TARGET not in jax.jit(hb.batch(fibonacci, optimizations=LOOP)).lower(NUMBERS).as_text()
    queued = hb.batch(fibonacci, lanes=4).with_stats(NUMBERS)[1]
    assert "how the loop over all lanes runs is asked for" in queued.choice


def test_not_chosen_says_why() -> None:
    def numbers(x):
        while x > 1:
            x = x * 0.7
        return x

    def recursive(n, x):
        if n <= 0:
            return x
        return recursive(n - 1, jax.lax.lgamma(x + 3)) + recursive(n - 2, x)

    def once(x):
        return x * 2

    x = np.linspace(1, 9, 5, dtype=np.float32)
    cases = (
        (numbers, (np.linspace(1, 9, 20_000, dtype=np.float32),), "a loop over all lanes would take 0."),
        (recursive, (np.arange(5), x), "'recursive' has no kernel: `lgamma` has no code"),
        (once, (x,), "no lane goes back to a block"),
    )
    for function, arguments, reason in cases:
        result, stats = hb.batch(function, optimizations=hb.Optimizations(gangs=False)).with_stats(*arguments)
        assert "no code of its own for each lane: " in stats.choice
        assert reason in stats.choice
        assert np.asarray(result).tobytes() == np.asarray(hb.batch(function, optimizations=LOOP)(*arguments)).tobytes()


def newton(a):
    x = a
    while abs(x * x - a) > 1e-4 * a:
        x = 0.5 * (x + a / x)
    return x


def test_few_lanes_run_by_themselves() -> None:
    """A turn of the loop takes as long for few lanes as for many, by itself and in ``jax.jit``; exports are XLA's."""
    batched, loop = (hb.batch(newton, optimizations=o) for o in (hb.Optimizations(gangs=False), LOOP))
    few, many = np.linspace(1, 9, 9, dtype=np.float32), np.linspace(1, 9, 10_000, dtype=np.float32)
    for x, is_few in ((few, True), (many, False)):
        result, stats = batched.with_stats(x)
        assert ("dispatch 'kernel': up to" in stats.choice) == is_few
        assert (TARGET in jax.jit(batched).lower(x).as_text()) == is_few
        np.testing.assert_allclose(result, loop(x), rtol=1e-6)
        np.testing.assert_array_equal(jax.jit(batched)(x), result)
    shapes = jax.ShapeDtypeStruct((9,), np.float32)
    assert TARGET not in jax.export.export(jax.jit(batched))(shapes).mlir_module()
    (symbolic,) = jax.export.symbolic_shape("b")
    jax.export.export(jax.jit(batched))(jax.ShapeDtypeStruct((symbolic,), np.float32))
    np.testing.assert_array_equal(jax.vmap(batched)(few[:, None])[:, 0], batched(few))


def test_few_lanes_of_a_loop_that_is_asked_for() -> None:
    """What the user says of how a loop runs is of XLA's loop whatever the batch; a limit of steps is of one form."""
    few = np.linspace(1, 9, 9, dtype=np.float32)
    for options in ({"lanes": 3}, {"schedule": "earliest"}, {"optimizations": LOOP}):
        for x in (few, np.linspace(1, 9, 500, dtype=np.float32)):
            choice = hb.batch(newton, **options).with_stats(x)[1].choice
            assert "dispatch 'kernel'" not in choice
            assert "dispatch 'gang'" not in choice
    limited = hb.batch(newton, max_steps=1000)
    assert all("dispatch 'gang'" in limited.with_stats(few[:size])[1].choice for size in (1, 9))


def test_how_many_lanes_are_few() -> None:
    """The more a turn computes, the fewer."""

    def dear(x):
        while x.sum() > 1:
            x = jnp.tanh(x @ x.T) * 0.5
        return x

    without_gangs = LaneCosts().without_gangs

    def few(function: Any, *args: Any, costs: LaneCosts = without_gangs) -> int:
        return costs.judge(hb.batch(function).trace(*args).plan.programs.of_a_lane).few

    x = np.ones((3, 30, 30), np.float32)
    assert few(dear, x) < 10
    assert few(newton, x[:, 0, 0]) > few(lambda x: newton(x) + newton(x + 1) + newton(x * 2), x[:, 0, 0]) > 10
    costs = LaneCosts()
    assert few(newton, x[:, 0, 0], costs=costs) == costs.most_few
    cheap = replace(costs, gang=Rates(*(cost / 4 for cost in costs.gang)))
    assert 0 < few(newton, x[:, 0, 0], costs=cheap) < costs.most_few / 2


def test_matrices_of_each_lane() -> None:
    """XLA's loop fetches them in each turn; a matrix that lanes share it fetches once for all of them."""

    def power(m, n):
        x = jnp.ones(m.shape[0])
        while n > 0:
            x = m @ x
            n = n - 1
        return x

    def by_themselves(size: int, *, is_shared: bool = False) -> bool:
        m, n = np.ones((2, size, size), np.float32), np.ones(2, np.int32)
        batched = hb.batch(power, in_axes=(None if is_shared else 0, 0))
        verdict = LaneCosts().judge(batched.trace(m[0] if is_shared else m, n).plan.programs.of_a_lane)
        return verdict.of_batch(1_000).by_themselves and not verdict.is_gang

    assert by_themselves(40)
    assert by_themselves(100)
    assert not by_themselves(600, is_shared=True)


def test_rows_of_a_matrix_of_each_lane() -> None:
    """XLA's loop finds each element of such a row by itself, for each lane; one that all lanes share may be a table."""

    def walk(m, n):
        v = jnp.zeros(m.shape[1])
        i = 0
        while i < n:
            v = jnp.tanh(v + m[i % m.shape[0]])
            i = i + 1
        return v

    m, n = np.ones((500, 64, 32), np.float32), np.arange(500, dtype=np.int32)
    verdict = target_of("cpu").judge(hb.batch(walk).trace(m, n).plan.programs.of_a_lane)
    assert verdict.by_themselves
    assert not verdict.is_gang


def test_targets() -> None:
    program = hb.batch(fibonacci).trace(NUMBERS).plan.programs.of_a_lane
    assert target_of("cpu").judge(program).by_themselves
    verdict = target_of("other").judge(program)
    assert (verdict.by_themselves, verdict.reason) == (False, "code of its own is not made for 'other'")


FIRST_IN_A_PROCESS = """
import numpy as np, jax.numpy as jnp, hlobatch as hb

def f(x):
    while x > 1:
        x = jnp.log1p(x) * 0.5 + jnp.power(x, 0.25) * 0.1
    return x

x = np.linspace(1, 9, 5, dtype=np.float32)
np.testing.assert_allclose(hb.batch(f, dispatch="kernel")(x), hb.batch(f)(x), rtol=1e-5)
print("ok")
"""


def test_functions_of_the_system_in_the_first_kernel(tmp_path: Path) -> None:
    """Functions of the system are found before LLVM has compiled anything."""
    script = tmp_path / "script.py"
    script.write_text(FIRST_IN_A_PROCESS)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert run.stdout.strip() == "ok", run.stderr


# The code


def test_out_of_bounds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mode that checks finds what would leave an array, were a rule wrong."""
    monkeypatch.setattr("hlobatch.kernels.windows.clamped", lambda _, i, most: i)

    def f(table, i):
        while i % 2 == 0:
            i = i // 2
        return jax.lax.dynamic_index_in_dim(table, i, keepdims=False)

    table = np.arange(20, dtype=np.int32)
    with checking(), pytest.raises(AssertionError, match="would have left its arrays"):
        hb.batch(f, in_axes=(None, 0), dispatch="kernel")(table, np.asarray([1, 2, 999]))


def test_large_arrays_lie_in_memory_of_the_host() -> None:
    """Arrays too large for a thread's stack do not end the process."""

    def f(n):
        table = jnp.zeros((1 << 18,), jnp.int32)
        other = jnp.ones((1 << 18,), jnp.int32)
        while n > 0:
            table = table.at[n].add(n)
            other = other.at[n].set(table[n] + other[n - 1])
            n = n - 1
        return table.sum() + other.sum()

    n = np.asarray([3, 100, 7], np.int32)
    with hb.disable_batching():
        expected = [int(f(int(k))) for k in n]
    assert kernel(f)(n).tolist() == expected
    assert jax.jit(kernel(f))(n).tolist() == expected
    assert kernel_of(kernel(f).trace(n).plan).module.local_bytes >= 2 << 20


ON_SMALL_STACKS = """
import resource, threading
import numpy as np, jax, hlobatch as hb

def turned(a):
    for k in range(60):
        a = (a[::-1] + a.at[k].add(k)) % 1000
    return a

def f(a, n):
    if n > 0:
        a = turned(a)
    return a

given = np.ones((3, 1000), np.int32), np.array([1, 0, 1], np.int32)
kernel = hb.batch(f, follow=False, dispatch="kernel", threads=2)
found = [kernel(*given), jax.jit(kernel)(*given)]
threading.stack_size(128 << 10)
thread = threading.Thread(target=lambda: found.extend([kernel(*given), jax.jit(kernel)(*given)]))
thread.start()
thread.join()
wanted = np.asarray(jax.vmap(lambda a, n: jax.lax.cond(n > 0, turned, lambda a: a, a))(*given))
assert len(found) == 4 and all((np.asarray(each) == wanted).all() for each in found)
print("ok")
"""


def test_many_small_arrays_on_small_stacks(tmp_path: Path) -> None:
    """A process with threads of 512 KiB, as other systems give them, and one of 128 KiB, goes on."""
    script = tmp_path / "script.py"
    script.write_text(ON_SMALL_STACKS)
    limit = f"ulimit -s 512; exec {sys.executable} {script}"
    run = subprocess.run(["bash", "-c", limit], capture_output=True, text=True, timeout=300, check=False)
    assert run.stdout.strip() == "ok", run.stderr[-2000:]


def test_lanes_with_much_on_the_stack_run_in_threads_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stack of the calling thread may be small."""
    here: list[object] = []
    run_here = Run._run_here
    monkeypatch.setattr(Run, "_run_here", lambda run, call: here.append(call) or run_here(run, call))

    def turned(a):
        for k in range(8):
            a = (a[::-1] + a.at[k].add(k)) % 1000
        return a

    def some_turned(a, n):
        if n > 0:
            a = turned(a)
        return a

    found = kernel(some_turned, follow=False)(np.ones((3, 1000), np.int32), np.array([1, 0, 1], np.int32))
    assert np.asarray(found)[1].tolist() == [1] * 1000
    assert not here
    kernel(fibonacci)(NUMBERS)
    assert here


@pytest.mark.parametrize("elements", [1, 8, 900])
def test_what_lies_on_the_stack_is_counted(elements: int) -> None:
    """Whatever the arrays' sizes; what is too much lies in memory of the host's."""
    emitter = LaneEmitter(CPU, {}, checked=False)
    for _ in range(100_000):
        emitter.cell("i64")
        emitter.memory(np.dtype(np.float32), elements)
        if emitter.local_bytes:
            break
    assert 0 < emitter.own_bytes <= STACK_BYTES // 2
    assert emitter.local_bytes


def test_places_in_the_source() -> None:
    """A profiler sees the lines of the user's file."""
    text = kernel(fibonacci).trace(NUMBERS).lower().as_text("llvm")
    line = fibonacci.__code__.co_firstlineno
    assert f"!DILocation(line: {line + 1}," in text
    assert f"!DILocation(line: {line + 3}," in text
    assert f'filename: "{Path(__file__).name}"' in text


def test_code_without_the_host() -> None:
    """A program, what it takes, and a processor are all that the code is made of."""
    plan = kernel(fibonacci).trace(NUMBERS).plan
    texts = [to_llvm(plan.programs.of_a_lane, "f", Operands((), (False,), ()), Options(p)).text for p in (CPU, NVPTX)]
    assert "define i32 @run(" in texts[0]
    assert "define ptx_kernel void @kernel(" in texts[1]
