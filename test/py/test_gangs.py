"""Gangs of lanes: the behavior that only they have, and the promises that they share with kernels of one lane."""

from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import test_kernels
from own_code import WITHOUT, checking, needs_llvm
from zoo import LOOP, ZOO

import hlobatch as hb
from hlobatch.kernels.types import NoKernelError
from hlobatch.kernels.vector_functions import VectorFunction
from hlobatch.kernels.widening import Called, operands_of, widened
from hlobatch.runtime.kernel import FIRST_TURNS, MOST_GROWTH, Kernel
from hlobatch.runtime.kernel_plan import kernel_of, shape_of
from hlobatch.targets.lanes import LaneCosts

pytestmark = [needs_llvm, pytest.mark.usefixtures("optimized_kernels")]

SIZES = (0, 1, 2, 17, 33, 63, 64, 65, 1_000)
LANES = 64
"""More than a gang of any processor's vectors has, of what these tests compute, but for the widest."""


def gang(function: Any, **options: Any) -> hb.BatchedFunction:
    return hb.batch(function, dispatch="gang", **options)


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def nested(n, x):
    total = 0.0
    for i in range(n):
        y = x + i
        while y > 1:
            y = y / 2
            total = total + y
        if total > 100:
            return total, i
    return total, -1


def starts(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).integers(1, 10_000, count).astype(np.int32)


# What is computed


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("threads", [1, 2])
def test_lanes_take_inputs_until_none_are_left(size: int, threads: int) -> None:
    """Inputs take from 0 to some 250 turns, so that lanes are never done together."""
    n = starts(size)
    assert gang(collatz, threads=threads)(n).tolist() == [collatz(int(k)) for k in n]


@pytest.mark.parametrize("size", SIZES)
def test_inside_jit(size: int) -> None:
    n = starts(size)
    assert jax.jit(gang(collatz))(n).tolist() == [collatz(int(k)) for k in n]


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("function", [collatz, nested])
def test_other_vectors(bits: int, function: Any) -> None:
    """LLVM makes of wide vectors what a processor has, so that all widths run on any."""
    arguments = (starts(100),) if function is collatz else (starts(100) % 50, np.linspace(0, 9, 100, dtype=np.float32))
    with mock.patch("hlobatch.kernels.jit.vector_bits", return_value=bits):
        found, stats = gang(function, threads=1).with_stats(*arguments)
    assert stats.lanes == 4 * bits // 32
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(hb.batch(function)(*arguments)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_same_bits_as_a_lane_by_itself() -> None:
    """Programs without library functions give the same bits in a gang as in a single lane."""
    n, x = starts(500) % 60, np.random.default_rng(1).normal(size=500).astype(np.float32)
    for one, other in zip(gang(nested)(n, x), hb.batch(nested, dispatch="kernel")(n, x), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "log1p", "expm1", "sqrt", "cbrt", "arctan", "sinh", "exp2", "arcsinh")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("has_library", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions(name: str, has_library: bool, dtype: Any) -> None:
    """Functions by a library for vectors, and lane by lane without one."""

    def repeated(x):
        total = x * 0
        for _ in range(3):
            total = total + getattr(jnp, name)(x)
        return total

    with jax.enable_x64(dtype == np.float64):
        x = np.random.default_rng(2).uniform(0.01, 5, 200).astype(dtype)
        batched = gang(repeated)
        if has_library:
            found = batched(x)
        else:
            with mock.patch.object(VectorFunction, "find", return_value=None):
                found = batched(x)
        wanted = getattr(np, name)(x.astype(np.float64)) * 3
        np.testing.assert_allclose(found, wanted, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.uint16, np.int32, np.uint32, jnp.bfloat16, np.float16, jnp.float8_e4m3fn]
)
def test_types(dtype: Any) -> None:
    """Each lane finds, changes and sums elements of its own array of any type, at places of its own."""

    def moved(row, at):
        total = row[0] * 0
        while at > 0:
            row = row.at[at - 1].set(jnp.maximum(row[at], row[at - 1]))
            total = total + row[at]
            at = at - 1
        return total, row

    rows = np.random.default_rng(3).integers(0, 2, (90, 6)).astype(dtype)
    at = (np.arange(90) % 6).astype(np.int32)
    found, wanted = gang(moved)(rows, at), hb.batch(moved, dispatch="kernel")(rows, at)
    for one, other in zip(found, wanted, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@pytest.mark.parametrize("rows", [1, 3, 4, 9])
@pytest.mark.parametrize("columns", [1, 5, 16])
def test_products(rows: int, columns: int) -> None:
    """Products with a shared matrix and with each lane's own, in blocks and remainders of blocks."""
    random = np.random.default_rng(4)
    shared = random.normal(size=(rows, columns)).astype(np.float32)
    own, x = (random.normal(size=(70, *shape)).astype(np.float32) for shape in ((rows, columns), (columns,)))

    def twice(shared, own, x, n):
        total = x[0] * 0
        while n > 0:
            total = total + (shared @ x).sum() + (own @ x).max() + (own.T @ own).sum()
            n = n - 1
        return total

    n = np.arange(70, dtype=np.int32) % 4
    found = gang(twice, in_axes=(None, 0, 0, 0))(shared, own, x, n)
    each = (shared @ x[..., None]).sum((1, 2)) + (own @ x[..., None]).max((1, 2)) + (own.mT @ own).sum((1, 2))
    np.testing.assert_allclose(found, each * n, rtol=1e-4, atol=1e-4)


def test_complex_numbers() -> None:
    """Rows of complex numbers that each lane keeps on a stack, changes at places of its own, sums and multiplies."""

    def powers(z, row, n):
        if n == 0:
            return z * 0 + 1, row
        at = n % 5
        row = row.at[at].set(jnp.where(row[at - 1].real > 0, row[at] * z, jnp.conj(row[at]))).at[0].add(1j)
        below, row = powers(z, row, n - 1)
        return below * z + row[at] - jnp.sum(row * MATRIX[:5, :5]) + (row @ row).imag, row

    random, forms = np.random.default_rng(6), (gang(powers), hb.batch(powers, dispatch="kernel"))
    for size in SIZES:
        z, row = (random.normal(size=(size, *s, 2)).astype(np.float32) @ [1, 1j] for s in ((), (5,)))
        z, row, n = z.astype(np.complex64) / 4, row.astype(np.complex64), np.arange(size, dtype=np.int32) % 7
        for found, wanted in zip(*(form(z, row, n) for form in forms), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_loops_and_branches_of_jax_within_a_block() -> None:
    """Lanes that are done wait for the others, and what one branch changes, lanes of the other do not see."""

    def inner(n, x):
        def turn(state):
            i, y = state
            return i + 1, jax.lax.cond(y > 10, lambda y: y / 3, lambda y: y * 1.5 + i, y)

        total = x
        while n > 0:
            most = n
            _, y = jax.lax.while_loop(lambda state, most=most: state[0] < most, turn, (0, total))
            total = jax.lax.switch(n % 3, [lambda y: y, lambda y: y + 1, lambda y: -y], y)
            n = n - 1
        return total

    n, x = np.arange(150, dtype=np.int32) % 7, np.linspace(-3, 20, 150, dtype=np.float32)
    found, wanted = gang(inner)(n, x), hb.batch(inner, dispatch="kernel")(n, x)
    assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


# What kernels promise


@pytest.mark.parametrize(
    "name",
    [
        "test_indices_outside_of_arrays", "test_indices_that_the_user_moves", "test_same_bits_inside_jit",
        "test_lanes_that_raise", "test_max_steps", "test_stacks_grow", "test_runs_beside_each_other",
        "test_nan_is_found", "test_powers_and_platforms", "test_an_empty_batch", "test_in_a_child_process",
        "test_nothing_is_moved_behind_the_users_back", "test_exports_are_portable",
    ],
)  # fmt: skip
def test_as_kernels_of_one_lane(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_kernels, "DISPATCH", "gang")
    getattr(test_kernels, name)()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ["test_interrupted", "test_inside_jit_vmap_and_scan"])
def test_as_kernels_of_one_lane_in_threads(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_kernels, "DISPATCH", "gang")
    getattr(test_kernels, name)(threads)


def test_out_of_bounds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane of a gang that would leave an array is stopped, and the mode that checks says so."""
    monkeypatch.setattr(test_kernels, "DISPATCH", "gang")
    with monkeypatch.context() as patched:
        patched.setattr("hlobatch.kernels.windows.clamped", lambda _, i, __: i)
        f = gang(sum_of)
        with checking(), pytest.raises(AssertionError, match="would have left its arrays"):
            f(np.zeros((5, 300), np.float32), np.asarray([0, 1, 2, 3, 9_999]), np.ones(5, np.int32))


def sum_of(x, i, n):
    total = 0.0
    while n > 0:
        total = total + jax.lax.dynamic_slice(x, (i,), (1,))[0]
        n = n - 1
    return total


def test_statistics() -> None:
    """Executions are those of gangs, and lanes those that took part."""
    n = starts(300)
    result, stats = gang(collatz, threads=1).with_stats(n)
    assert result.tolist() == [collatz(int(k)) for k in n]
    turning = max(stats.blocks, key=lambda block: block.active)
    assert turning.active == sum(collatz(int(k)) for k in n)
    assert turning.active / stats.lanes <= turning.executions < turning.active
    assert 0.5 < stats.utilization <= 1
    assert f"{stats.lanes} lanes in the vectors of each thread" in stats.choice


def test_left_to_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs of a gang that takes longer than the calling thread may wait begin anew in others."""
    monkeypatch.setattr("hlobatch.runtime.kernel.FIRST_TURNS", 5)
    n = starts(700)
    for threads in (1, 2):
        assert gang(collatz, threads=threads)(n).tolist() == [collatz(int(k)) for k in n]


def test_turns_that_were_made_are_told() -> None:
    """Else a thread that waits for no signal would take for short what is long."""
    batched, few = gang(collatz, threads=1), starts(3)
    calls = [batched(few) for _ in range(4)]
    assert all(found.tolist() == calls[0].tolist() for found in calls)
    assert kernel_of(batched.trace(few).plan).turns <= FIRST_TURNS * MOST_GROWTH


def test_turns_of_a_block_that_repeats_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that branches to itself uses up the fuel of its turns when it is left, all at once."""
    told: list[int] = []
    note = Kernel.note_turns
    monkeypatch.setattr(
        Kernel, "note_turns", lambda self, turns, seconds: told.append(turns) or note(self, turns, seconds)
    )

    def countdown(n):
        while n > 0:
            n = n - 1
        return n

    batched = gang(countdown, threads=1)
    for turns in (0, 8):
        assert batched(np.full(3, turns, np.int32)).tolist() == [0, 0, 0]
    assert sum(told[1:]) >= 8 * told[0]


MATRIX = np.random.default_rng(1).normal(size=(20, 20)).astype(np.float32) / 9


def parted(x, n):
    """One block that is dear, and loops of other lengths around it."""
    k = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        if n % 4 == 1:
            x = jnp.tanh(MATRIX @ x) + n
            k += 1
    return x, k


def test_dear_blocks_wait_for_lanes() -> None:
    """If each block ran for any lane at it, a third of the lanes would take part in the dear one."""
    x, n = np.ones((300, 20), np.float32), starts(300)
    (result, times), stats = gang(parted, threads=1, optimizations=hb.Optimizations(if_conversion=False)).with_stats(
        x, n
    )
    wanted, counted = hb.batch(parted, dispatch="kernel")(x, n)
    np.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-3)
    assert times.tolist() == counted.tolist()
    dear = max(stats.blocks, key=lambda block: block.cost)
    assert dear.active == sum(times)
    assert dear.active / stats.lanes / dear.executions > 0.5


@pytest.mark.parametrize("dispatch", ["kernel", "gang"])
def test_arrays_that_are_needed_no_more_lend_their_memory(dispatch: str) -> None:
    """Four times as many operations need no more of it."""

    def turns(count: int) -> Any:
        def function(x, n):
            while n > 0:
                for k in range(count):
                    x = (x[::-1] + x.at[k].add(k)) % 1000
                n = n - 1
            return x

        return function

    def taken(count: int) -> int:
        batched = hb.batch(turns(count), follow=False, dispatch=dispatch)
        x, n = np.ones((3, 500), np.int32), np.array([1, 0, 2], np.int32)
        np.testing.assert_array_equal(batched(x, n), hb.batch(turns(count), follow=False, optimizations=LOOP)(x, n))
        module = kernel_of(batched.trace(x, n).plan).module
        return module.local_bytes + module.stack_bytes

    assert taken(8) < 1.2 * taken(2)


# What is chosen


def test_chosen_for_numbers() -> None:
    n = starts(200)
    result, stats = hb.batch(collatz).with_stats(n)
    assert "dispatch 'gang': nothing but numbers is computed" in stats.choice
    assert result.tolist() == [collatz(int(k)) for k in n]
    for switched_off in (hb.Optimizations(gangs=False), LOOP):
        _, stats = hb.batch(collatz, optimizations=switched_off).with_stats(n)
        assert "gang" not in stats.choice


def test_chosen_for_batches_that_fill_it() -> None:
    first, second = np.random.default_rng(5).normal(size=(2, 40, 40)).astype(np.float32) / 9

    @hb.batch
    def steps(x, n):
        while n > 0:
            x = jnp.tanh(second @ jnp.tanh(first @ x))
            n = n - 1
        return x

    x, n = np.ones((200, 40), np.float32), np.arange(200, dtype=np.int32) % 5
    _, many = steps.with_stats(x, n)
    result, few = steps.with_stats(x[:3], n[:3])
    assert "dispatch 'gang'" in many.choice
    assert "dispatch 'gang'" not in few.choice
    np.testing.assert_allclose(steps(x, n)[:3], result, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jax.jit(steps)(x[:3], n[:3]), result, rtol=1e-4, atol=1e-5)


def test_one_lane_at_a_time_where_a_gang_has_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next best form is chosen by its costs; XLA's loop only where that is the better one of the two."""

    def squares(x):
        while x > 1:
            x = x * 0.7
        return x

    def no_gang(self: Any, *_: Any) -> None:
        raise NoKernelError("nothing has code")

    monkeypatch.setattr("hlobatch.kernels.gang.Gang.__init__", no_gang)
    for function, argument, wanted in (
        (collatz, starts(200), "dispatch 'kernel': up to"),
        (squares, np.linspace(1, 9, 20_000, dtype=np.float32), "no code of its own for each lane: 'squares' has no"),
    ):
        result, stats = hb.batch(function).with_stats(argument)
        assert wanted in stats.choice
        assert "nothing has code" in stats.choice
        np.testing.assert_allclose(result, hb.batch(function, optimizations=LOOP)(argument), rtol=1e-5)


def test_not_chosen_for_functions_without_a_library() -> None:
    """One lane after the other, they take a gang as long as lanes by themselves, and XLA has them for vectors."""

    def repeated(x):
        while x > 1:
            x = jnp.exp(-x) + jnp.sin(x)
        return x

    program = hb.batch(repeated).trace(np.ones(9, np.float32)).plan.programs.of_a_lane
    assert LaneCosts().judge(program).is_gang
    assert not LaneCosts().without_vector_functions.judge(program).is_gang


# Instructions


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fadd float %a, %b", "fadd <4 x float> W%a, W%b"),
        ("fadd reassoc contract double %a, %b", "fadd reassoc contract <4 x double> W%a, W%b"),
        ("icmp ult i64 %a, 3", "icmp ult <4 x i64> W%a, W3"),
        ("select i1 %c, i32 %a, i32 %b", "select <4 x i1> W%c, <4 x i32> W%a, <4 x i32> W%b"),
        ("sext i8 %a to i64", "sext <4 x i8> W%a to <4 x i64>"),
        ("fneg half %a", "fneg <4 x half> W%a"),
        ("getelementptr float, ptr %p, i64 %i", "getelementptr float, <4 x ptr> W%p, <4 x i64> W%i"),
    ],
)
def test_an_instruction_for_all_lanes(text: str, wanted: str) -> None:
    assert widened(text, 4, lambda _, x: f"W{x}") == wanted
    assert operands_of(text) == [x.removeprefix("W") for x in wanted.replace(",", "").split() if x.startswith("W")]


def test_an_instruction_of_no_known_form() -> None:
    with pytest.raises(NoKernelError, match="has no form for several lanes"):
        widened("extractelement <2 x float> %a, i32 0", 4, lambda _, x: x)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("llvm.smax.i32", "llvm.smax.v8i32"), ("llvm.fptosi.sat.i32.f64", "llvm.fptosi.sat.v8i32.v8f64")],
)
def test_intrinsics_of_vectors(name: str, wanted: str) -> None:
    call = Called.read(f"call i32 @{name}(i32 %a, i32 %b)")
    assert call is not None
    assert call.of_vectors(8) == wanted


@pytest.mark.parametrize("program", ZOO[::9], ids=lambda program: program.name)
def test_code_is_made_without_the_host(program: Any) -> None:
    """All that has code for one lane has code for a gang."""
    shape = shape_of(program.variant(dispatch="gang").trace(*program.inputs(2)).plan)
    if program.name in WITHOUT:
        with pytest.raises(NoKernelError, match=WITHOUT[program.name]):
            shape.module()
    else:
        assert "define internal i32 @gang(" in shape.module().text
