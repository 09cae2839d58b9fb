"""Repeated calls: compiled code calls the kernel, and Python runs only where it is needed.

What is promised of a first call holds of later ones, and in ``jax.jit``: the first ones run the kernel from Python, and
only then is the way prepared that all others go.
"""

import ctypes
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from own_code import needs_llvm
from test_kernels import FIBONACCI, NUMBERS, SIZE, alarm, deep, down, fibonacci, kernel, picky

import hlobatch as hb
from hlobatch.ir.fate import Fate
from hlobatch.kernels import ffi_handler, ffi_structs, jit
from hlobatch.kernels.ffi import Directory
from hlobatch.kernels.types import NoKernelError
from hlobatch.runtime import kernel_by_itself, kernel_call
from hlobatch.runtime.kernel import Run
from hlobatch.runtime.kinds_of_calls import CALLS_FROM_PYTHON
from hlobatch.runtime.shortcuts import Shortcuts

pytestmark = needs_llvm
THREE: Any = jnp.asarray([0, 1, 2], jnp.int32)


def familiar(batched: hb.BatchedFunction, *args: Any, **kwargs: Any) -> hb.BatchedFunction:
    """A function that was called with arguments like these, as often as it takes to call it the short way."""
    for _ in range(CALLS_FROM_PYTHON + 3):
        jax.block_until_ready(batched(*args, **kwargs))
    return batched


@pytest.fixture
def from_python(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The runs that were made, or gone on with, from Python."""
    runs = list[Run]()
    finish = Run.finish
    monkeypatch.setattr(Run, "finish", lambda run: runs.append(run) or finish(run))
    return runs


def scaled(x, factor):
    while x.sum() < 100:
        x = x * factor
    return {"x": x, "y": (x + 1, factor)}


def drawn(key, n):
    while n > 3:
        key, other = jax.random.split(key)
        n = n - 1 - jax.random.randint(other, (), 0, 2)
    return key, n


def arguments() -> dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[Any, ...]]]:
    x, keys = np.linspace(1, 2, 12, dtype=np.float32).reshape(4, 3), jax.random.split(jax.random.key(3), 4)
    return {
        "jax's arrays": (fibonacci, {}, (jnp.asarray(NUMBERS),)),
        "numpy's arrays": (fibonacci, {}, (NUMBERS,)),
        "numpy's arrays of 64 bits": (fibonacci, {}, (NUMBERS.astype(np.int64),)),
        "weak": (fibonacci, {}, (jnp.asarray([3, 4]) * 0 + jnp.full(2, 3),)),
        "a shared number": (scaled, {"in_axes": (0, None)}, (x, 1.5)),
        "a shared array": (scaled, {"in_axes": (0, None)}, (jnp.asarray(x), jnp.float32(1.5))),
        "another axis": (scaled, {"in_axes": (1, None)}, (jnp.asarray(x.T), 1.5)),
        "keys": (drawn, {}, (keys, jnp.arange(4))),
    }


@pytest.mark.parametrize("name", arguments())
def test_a_call_gives_what_the_first_one_gave(name: str) -> None:
    """A later call gives the same values, types and pytree."""
    function, options, args = arguments()[name]
    batched = kernel(function, **options)
    first = batched(*args)
    for _ in range(CALLS_FROM_PYTHON + 3):
        again = batched(*args)
        assert jax.tree.structure(again) == jax.tree.structure(first)
        for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(first), strict=True):
            assert jax.typeof(a) == jax.typeof(b)
            if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
                a, b = jax.random.key_data(a), jax.random.key_data(b)
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("of", [jnp.asarray, np.asarray, np.int64], ids=["jax", "numpy", "of 64 bits"])
def test_python_has_no_part_in_it(of: Any, from_python: list[Run]) -> None:
    batched = familiar(kernel(fibonacci), NUMBERS)
    familiar(batched, of(NUMBERS))
    from_python.clear()
    assert [batched(of(NUMBERS)).tolist() for _ in range(3)] == [FIBONACCI] * 3
    assert not from_python
    assert batched(np.full(SIZE, 2, np.int32)).tolist() == [2] * SIZE


def test_where_xla_calls_no_kernel(from_python: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of XLA may call foreign functions in a way that is not known: Python does it then."""
    monkeypatch.setattr(kernel_by_itself, "check_registered", mock.Mock(side_effect=NoKernelError("not known")))
    assert [kernel(fibonacci)(NUMBERS).tolist() for _ in range(2)] == [FIBONACCI] * 2
    batched = familiar(kernel(fibonacci), NUMBERS)
    from_python.clear()
    assert batched(NUMBERS).tolist() == FIBONACCI
    assert len(from_python) == 1


def test_a_new_size_is_not_compiled_for(from_python: list[Run]) -> None:
    """What is compiled of a kernel serves any batch; what calls it is compiled for a size that is seen often."""
    batched = kernel(fibonacci)
    for _ in range(CALLS_FROM_PYTHON + 4):
        batched(NUMBERS)
    assert len(from_python) == CALLS_FROM_PYTHON + 1
    batched(NUMBERS[:5])
    assert len(from_python) == CALLS_FROM_PYTHON + 2


def test_errors() -> None:
    """A later call reports failed lanes as the first one does."""
    first, short = kernel(picky), familiar(kernel(picky), THREE)
    for n, kind in (([0, 3, 2], ValueError), ([0, 1, 9], KeyError)):
        said = []
        for batched in (first, short):
            with pytest.raises(kind) as info:
                batched(jnp.asarray(n, jnp.int32))
            error = info.value
            said.append((str(error), error.lanes, error.unfinished, np.asarray(error.outputs)[0].item()))
        assert said[0] == said[1]
        assert short(THREE).tolist() == [0, 2, 4]


def test_the_users_line_is_the_first_in_a_traceback() -> None:
    short = familiar(kernel(picky), THREE)
    with pytest.raises(ValueError, match="not 3") as info:
        short(THREE + 2)
    frames = [frame.path for frame in info.traceback]
    assert all("hlobatch/runtime" not in str(path) for path in frames)


def test_steps() -> None:
    short = familiar(kernel(down, max_steps=50), THREE)
    with pytest.raises(hb.StepLimitError, match="after 50 blocks") as info:
        short(jnp.asarray([3, 5, 1000], jnp.int32))
    assert list(info.value.lanes) == [2]
    assert info.value.outputs.tolist()[:2] == [5, 5]


def test_stacks_grow(from_python: list[Run]) -> None:
    """They grow while it runs, and what was enough is what later calls have from the start."""
    short = familiar(kernel(deep, max_stack_depth=4), THREE)
    from_python.clear()
    assert short(jnp.asarray([1, 300, 20], jnp.int32)).tolist() == [1, 300, 20]
    assert [run.growths for run in from_python] == [4]
    assert short(jnp.asarray([1, 300, 20], jnp.int32)).tolist() == [1, 300, 20]
    assert len(from_python) == 1
    with pytest.raises(hb.StackOverflowError):
        short(jnp.asarray([1, 10_000_000, 20], jnp.int32))
    assert short(THREE).tolist() == [0, 1, 2]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_takes_too_long_is_left_to_others(
    threads: int, from_python: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call gives up after its time. Python, and a thread that can be told to stop, run all of its inputs."""
    monkeypatch.setattr(kernel_by_itself, "OWN_SECONDS", 1e-5)
    n = np.full(SIZE, 3, np.int32)
    n[[5, 20]] = 40_000_000
    batched = familiar(kernel(down, threads=threads), NUMBERS)
    from_python.clear()
    passed = list[Any]()
    finish = Run.finish  # of the fixture
    with mock.patch.object(Run, "finish", lambda run: passed.append(run.status.copy()) or finish(run)):
        assert batched(n).tolist() == [5] * SIZE
    ((status,),) = [passed]
    assert set(status) == {Fate.UNSTARTED}


def test_a_run_that_is_known_to_be_long_is_given_to_threads_at_once(from_python: list[Run]) -> None:
    batched, n = kernel(down, threads=2), np.full(SIZE, 5_000_000, np.int32)
    for _ in range(CALLS_FROM_PYTHON + 3):
        assert batched(n).tolist() == [5] * SIZE
    assert len(from_python) == CALLS_FROM_PYTHON + 3


def test_interrupted() -> None:
    """Ctrl-C ends a call that goes the short way, with what was finished until then."""
    batched = familiar(kernel(down), NUMBERS)
    n = np.where(NUMBERS == 4, -1, NUMBERS).astype(np.int32)
    began = time.process_time()
    with pytest.raises(hb.Interrupted) as info, alarm():
        batched(n)
    assert time.process_time() - began < 2
    assert set(info.value.unfinished) <= set(range(SIZE))
    done = [i for i in range(SIZE) if i not in info.value.unfinished]
    assert done
    assert all(info.value.outputs[i].item() == 5 for i in done)
    assert batched(NUMBERS).tolist() == [5] * SIZE


def test_interrupted_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal that comes before anybody knows what the call gave back; later calls are as before."""
    batched = familiar(kernel(down), NUMBERS)
    monkeypatch.setattr(kernel_by_itself, "is_in_another_thread", mock.Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(hb.Interrupted) as info:
        batched(NUMBERS)
    assert len(info.value.unfinished) == SIZE
    monkeypatch.undo()
    assert batched(NUMBERS).tolist() == [5] * SIZE


def grown(x, y):
    while x < 100:
        x = x * 2 + y
    return x


def test_calls_of_other_types() -> None:
    """A prepared call finds out by itself that arguments are of other types, as often as they change."""
    batched = familiar(kernel(grown), a := jnp.arange(1, 5), jnp.zeros(4, jnp.int32))
    other: list[tuple[Any, ...]] = [
        (a[:2], a[:2]), (a.astype(jnp.float32), a), (np.arange(1, 5), np.zeros(4, np.int64)), (jnp.arange(1, 5), a),
        (a.astype(jnp.int8), a.astype(jnp.int8)),
    ]  # fmt: skip
    for args in 2 * other:
        wanted = hb.batch(grown, optimizations=hb.Optimizations(kernels=False))(*args)
        assert (got := batched(*args)).dtype == wanted.dtype
        assert got.tolist() == wanted.tolist()
        assert batched(a, jnp.zeros(4, jnp.int32)).tolist() == [128, 128, 192, 128]
    with pytest.raises(hb.BatchTypeError):
        batched(a, a[:3])
    with pytest.raises(hb.BatchTypeError):
        batched(a)
    with pytest.raises(hb.BatchTypeError):
        batched(a, "a")


def test_a_shared_number_is_no_array() -> None:
    """A Python number is a value of its own type, whatever array was in its place before."""

    def beside(x, y):
        while x < 100:
            x = x * 2
        return x, y

    batched = familiar(kernel(beside, in_axes=(0, None)), a := jnp.arange(1, 5), jnp.int8(1))
    assert [batched(a, y)[1].dtype for y in (jnp.int8(1), 1, 1.0, jnp.float32(1))] == [
        "int8",
        "int32",
        *["float32"] * 2,
    ]


class Pair(NamedTuple):
    low: Any
    high: Any


@jax.tree_util.register_dataclass
@dataclass
class Node:
    value: Any
    kind: Any = field(metadata={"static": True}, default=1)


@jax.tree_util.register_dataclass
@dataclass
class Box:
    pair: Any


def of_trees(tree, box=None, step=1, *, low=0):
    count = low
    while tree["pair"].low < tree["pair"].high:
        tree = {"pair": Pair(tree["pair"].low + step, tree["pair"].high)}
        count += 1
    return {"count": count, "end": tree["pair"]} if box is None else (count, box.pair[0] * 2)


def of_three(a, b, c):
    while a < 10:
        a = a + b
    return a, b, c


def calls_of_other_shapes() -> dict[str, tuple[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]]]:
    n = jnp.arange(1, 5)
    tree = {"pair": Pair(n, n + 3)}
    return {
        "a dict": (of_trees, 0, (tree,), {}),
        "a dict of numpy's": (of_trees, 0, (jax.tree.map(np.asarray, tree),), {}),
        "a keyword": (of_trees, 0, (), {"tree": tree}),
        "two keywords": (of_trees, 0, (tree,), {"low": n, "step": n}),
        "a dataclass": (of_trees, 0, (tree, Box((n, n))), {}),
        "keywords in any order": (of_three, 0, (), {"c": n + 2, "a": n, "b": n + 1}),
        "keywords and one array": (of_three, 0, (), {"c": n, "b": n, "a": n}),
        "another axis": (scaled, (1, None), (jnp.ones((3, 4)), jnp.float32(2)), {}),
        "keys in a tuple": (lambda pair: drawn(*pair), 0, ((jax.random.split(jax.random.key(3), 4), n),), {}),
    }


@pytest.mark.parametrize("name", calls_of_other_shapes())
def test_arguments_of_any_shape_go_the_short_way(name: str) -> None:
    """JAX's compiled dispatch takes the pytrees and keywords of a call as they are."""
    function, in_axes, args, kwargs = calls_of_other_shapes()[name]
    batched = kernel(function, in_axes=in_axes)
    wanted = jax.tree.map(str, batched(*args, **kwargs))
    familiar(batched, *args, **kwargs)
    with mock.patch.object(Shortcuts, "looked_up", side_effect=AssertionError("looked up")):
        assert jax.tree.map(str, batched(*args, **kwargs)) == wanted
        assert jax.tree.map(str, batched(*args, **dict(reversed(kwargs.items())))) == wanted


def test_a_program_without_a_loop_goes_the_short_way_too() -> None:
    def both(pair, factor=2):
        return {"sum": pair.low + pair.high * factor, "pair": (pair.high, pair.low)}

    batched, n = hb.batch(both), jnp.arange(4)
    wanted = jax.tree.map(str, batched(pair=Pair(n, n + 1)))
    familiar(batched, pair=Pair(n, n + 1))
    with mock.patch.object(Shortcuts, "looked_up", side_effect=LookupError):
        assert jax.tree.map(str, batched(pair=Pair(n, n + 1))) == wanted
        assert jax.tree.map(str, batched(Pair(n, n + 1))) == wanted
        with pytest.raises(LookupError):
            batched(Pair(n, n + 1.5))
    assert batched(Pair(n, n + 1.5))["sum"].dtype == jnp.float32
    assert batched(Pair(n[:2], n[:2]), factor=n[:2])["sum"].tolist() == [0, 2]
    with pytest.raises(hb.BatchTypeError, match="has size 2"):
        batched(pair=Pair(n, n[:2]))


def test_keywords_of_one_array_are_told_apart_later() -> None:
    batched, n = kernel(of_three), jnp.arange(1, 5)
    familiar(batched, c=n, b=n, a=n)
    for call in ({"c": n + 1, "b": n, "a": n + 2}, {"a": n + 2, "b": n, "c": n + 1}):
        assert [x.tolist() for x in batched(**call)][1:] == [[1, 2, 3, 4], [2, 3, 4, 5]]


def test_objects_that_equal_others_are_told_apart() -> None:
    """JAX takes 1, 1.0 and True in a pytree for the same; Python's values differ."""

    def kinds(node, table):
        while node.value < 4:
            node = Node(node.value + 1, node.kind)
        return node.value * node.kind, table[1]

    n = jnp.arange(4)
    batched = familiar(kernel(kinds), Node(n, 1), {1: n})
    for kind in (1, 1.0, True, 2):
        for _ in range(CALLS_FROM_PYTHON + 2):
            value, _ = batched(Node(n, kind), {kind if kind != 2 else 1: n})
        assert value.tolist() == [4 * kind] * 4
        assert (value.dtype == jnp.float32) == isinstance(kind, float)


def test_arrays_that_jax_takes_for_others_are_refused_later_too() -> None:
    """Regression: once compiled, JAX computes with the bytes of masked arrays and of those of another byte order."""
    numbers = np.array([2, 3, 4], np.int32)
    for array in (numbers, jnp.asarray(numbers)):
        batched = hb.batch(scaled)
        for _ in range(6):
            batched(array, array)
        for other in (np.ma.array(numbers, mask=[0, 1, 0]), numbers.astype(">i4")):
            with pytest.raises(hb.BatchTypeError, match="JAX has no"):
                batched(other, numbers)


def test_static_numbers_are_told_apart() -> None:
    """Regression: a call with another static number ended in an error of ours."""

    @hb.batch(static_argnames="k")
    def times(n, k):
        total = 0
        while n > 0:
            total, n = total + k, n - 1
        return total

    numbers = jnp.arange(4)
    for k in (1, 2, 1, 2.5, True, 2, 2, 2, 2, 2, 3, 2):
        assert times(numbers, k).tolist() == [k * n for n in range(4)]


@pytest.mark.parametrize("number", [1e300, 2**40])
def test_numbers_out_of_range_are_refused_later_too(number: float) -> None:
    x = jnp.ones((4, 3))
    batched = familiar(kernel(scaled, in_axes=(0, None)), x, type(number)(2))
    assert batched(x, type(number)(3))["y"][1].tolist() == [3] * 4
    with pytest.raises(hb.BatchTypeError, match="too large"):
        batched(x, number)


def test_transformations_of_a_familiar_call() -> None:
    """JAX traces a function that was called with such arrays as it traces any other."""
    batched = familiar(kernel(grown), a := jnp.arange(1.0, 5.0), b := jnp.ones(4))
    wanted = batched(a, b).tolist()
    assert jax.jit(batched)(a, b).tolist() == wanted
    assert jax.vmap(batched)(a[None], b[None])[0].tolist() == wanted
    _, tangent = jax.jvp(batched, (a, b), (jnp.ones(4), jnp.zeros(4)))
    assert tangent.tolist() == [64, 64, 32, 32]
    with hb.disable_batching():
        assert batched(1.0, 1.0) == wanted[0]


def test_a_failure_in_another_thread_spoils_nothing() -> None:
    """Threads whose calls fail or end well at the same time each have their own results, or error."""
    short = familiar(kernel(picky), THREE)
    barrier = threading.Barrier(4)

    def work(k: int) -> bool:
        barrier.wait(10)
        for _ in range(50):
            if k % 2:
                assert short(THREE).tolist() == [0, 2, 4]
            else:
                with pytest.raises(ValueError, match="not 3"):
                    short(THREE + 1)
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_a_failure_is_computed_once() -> None:
    """Where a call has failed, Python makes the next one at once, and compiled code those after one that ended."""
    short = familiar(kernel(picky), THREE)
    entered = mock.Mock(wraps=kernel_by_itself.is_in_another_thread)
    with mock.patch.object(kernel_by_itself, "is_in_another_thread", entered):
        for _ in range(5):
            with pytest.raises(ValueError, match="not 3"):
                short(THREE + 1)
        assert entered.call_count == 1
        assert short(THREE).tolist() == short(THREE).tolist() == [0, 2, 4]
        assert entered.call_count == 2


def test_settings_of_jax() -> None:
    """A call under other settings is not like an earlier one, and what is looked for is found."""

    def halved(x):
        while x > 1:
            x = x / 2
        return jnp.log(x)

    x = np.asarray([5.0, 0.5])
    batched = familiar(kernel(halved), x)
    assert batched(x).dtype == jnp.float32
    with jax.enable_x64(True):
        assert familiar(batched, x)(x).dtype == jnp.float64
    assert batched(x).dtype == jnp.float32
    negative = np.asarray([5.0, -0.5])
    assert np.isnan(batched(negative)).tolist() == [False, True]
    with jax.debug_nans(True):
        for _ in range(3):
            with pytest.raises(FloatingPointError, match="gives NaN in lane 1"):
                batched(negative)
        assert np.isfinite(batched(x)).all()
    with jax.disable_jit():
        assert np.isfinite(batched(x)).all()


FACTOR = 2
TABLE = np.arange(5, dtype=np.int32)


def test_what_it_reads_outside() -> None:
    """Globals, and arrays that are changed in place, are read anew in each call."""

    def times(n):
        total = 0
        while n > 0:
            total = total + FACTOR * TABLE[n]
            n = n - 1
        return total

    batched = familiar(kernel(times), THREE)
    assert batched(THREE).tolist() == [0, 2, 6]
    with mock.patch.dict(globals(), FACTOR=3):
        assert familiar(batched, THREE)(THREE).tolist() == [0, 3, 9]
    TABLE[1] = 10
    try:
        assert familiar(batched, THREE)(THREE).tolist() == [0, 20, 24]
    finally:
        TABLE[1] = 1
    assert batched(THREE).tolist() == [0, 2, 6]


def test_threads_of_the_users() -> None:
    """Calls in several threads at once, each of which may have something to say."""
    batched = familiar(kernel(deep, max_stack_depth=2), THREE)

    def call(k: int) -> Any:
        if k % 7 == 3:
            with pytest.raises(hb.StackOverflowError):
                batched(jnp.asarray([0, 1 << 30, k], jnp.int32))
            return [0, 1, 2]
        return (batched(jnp.asarray([k, 2 * k, k % 3], jnp.int32)) - jnp.asarray([k, 2 * k - 1, k % 3 - 2])).tolist()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(call, range(20))) == [[0, 1, 2]] * 20


def test_threads_that_all_come_first() -> None:
    """XLA is told of the handler once, whoever asks, and the handler of each kernel."""
    kernel_call.check_registered()
    kernel_call._register.cache_clear()
    with mock.patch.object(jax.ffi, "register_ffi_target") as register, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: kernel_call.check_registered(), range(32)))
    assert register.call_count == 1


def test_a_daemon_thread_of_the_users() -> None:
    batched, found = familiar(kernel(fibonacci), NUMBERS), list[Any]()
    thread = threading.Thread(target=lambda: found.append(batched(NUMBERS).tolist()), daemon=True)
    thread.start()
    thread.join()
    assert found == [FIBONACCI]


def test_arguments_are_not_kept() -> None:
    """Nor are results: what prepares a call for later ones has what it needs of the arrays, and not them."""
    batched, n = kernel(deep), jnp.asarray([3, 40, 2], jnp.int32)
    result = familiar(batched, n)(n)
    kept = weakref.ref(n), weakref.ref(result)
    del n, result
    gc.collect()
    assert [array() for array in kept] == [None, None]


def test_results_are_not_written_on_again() -> None:
    """What a call gave back stays as it is, whatever later calls have left to Python."""
    short = familiar(kernel(deep, max_stack_depth=2), THREE)
    before = [short(jnp.asarray([1, 40 * k, 2], jnp.int32)) for k in range(5)]
    short(jnp.asarray([7, 3000, 7], jnp.int32))
    assert [x.tolist() for x in before] == [[1, 40 * k, 2] for k in range(5)]


# Threads that the handler starts


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A number for each thread that a handler of its own wants to start; it cannot start any."""
    wanted = list[int]()

    def create(*_: Any) -> int:
        wanted.append(1)
        return 11  # EAGAIN

    pointer = ctypes.c_void_p
    callback = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, pointer, pointer)(create)
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.add_symbol("hlobatch_test_create", ctypes.cast(callback, pointer).value)
    monkeypatch.setattr(jit, "_is_here", lambda _: True)
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    version = ffi_structs.version(header.read_text())
    assert version is not None
    text = ffi_handler.handler(kernel_call._directory, version).replace("@pthread_create", "@hlobatch_test_create")
    code = jit.loaded(text)
    address = ctypes.c_void_p(code.get_function_address(ffi_handler.HANDLER))
    jax.ffi.register_ffi_target(f"of_{id(wanted)}", jax.ffi.pycapsule(address), platform="cpu")
    monkeypatch.setattr(kernel_call, "TARGET", f"of_{id(wanted)}")
    yield wanted
    _alive.extend([code, callback])


_alive: list[Any] = []
"""What XLA may call as long as the process lives."""


@pytest.mark.parametrize("is_in_jit", [False, True])
def test_threads_are_woken_where_a_run_is_worth_it(started: list[int], *, is_in_jit: bool) -> None:
    """A small batch runs in the thread that calls; so does a large one if there is no other."""
    batched = kernel(down, threads=4)
    call = jax.jit(batched) if is_in_jit else batched
    small, large = jnp.full(SIZE, 10, jnp.int32), jnp.full(SIZE, 1_000_000, jnp.int32)
    for _ in range(5):
        assert call(small).tolist() == [5] * SIZE
    assert not started
    assert call(large).tolist() == [5] * SIZE
    assert len(started) == 1  # after the first attempt it has no hope


def test_a_key_that_nobody_knows() -> None:
    """The handler refuses it, whatever it is asked to give back."""
    assert Directory().address
    call = jax.ffi.ffi_call(kernel_call.TARGET, [jax.ShapeDtypeStruct((4,), np.int32)])
    with pytest.raises(jax.errors.JaxRuntimeError, match="has not made this kernel"):
        jax.block_until_ready(call(THREE, kernel=np.int64(16)))
