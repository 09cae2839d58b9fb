"""A batch divided among threads: the same results, errors and counts as in one piece."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stopping
import two_threads
from runs import request_of
from zoo import LOOP

import hlobatch as hb
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.runtime import leaving
from hlobatch.runtime import threads as runtime_threads
from hlobatch.runtime.division import divide
from hlobatch.runtime.plan import Room
from hlobatch.strategy.options import Options
from hlobatch.strategy.plan_run import Policies
from hlobatch.targets.registry import target_of


@hb.batch
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


@hb.batch
def halvings(x, limit):
    steps = 0
    while x > limit:
        x = x / 2
        steps += 1
    return {"x": x, "steps": steps}


INPUTS = np.array([3, 7, 4, 5, 0, 11, 2], np.int32)
TRUTH = [3, 21, 5, 8, 1, 144, 2]


def variant(**options: object) -> hb.BatchedFunction:
    """The program in XLA's loop over all lanes; ``test_kernels.py`` tests the other form."""
    return hb.batch(fibonacci.function, **{"optimizations": LOOP, **options})


def parts_of(batched: hb.BatchedFunction, *args: object) -> int:
    """Threads that a call of a batched function uses."""
    traced = batched.trace(*args)
    return divide(traced.plan, traced.call.physical()).threads


@pytest.mark.parametrize("threads", [1, 2, 3, 6, 7, 8, 100])
@pytest.mark.parametrize("lanes", [None, 1, 3, 50])
def test_any_number_of_threads(threads: int, lanes: int | None) -> None:
    divided = variant(threads=threads, lanes=lanes)
    assert divided(INPUTS).tolist() == TRUTH
    assert parts_of(divided, INPUTS) == min(threads, 7, lanes or threads)


@pytest.mark.parametrize("size", range(6))
def test_sizes_that_do_not_divide(size: int) -> None:
    assert variant(threads=3)(INPUTS[:size]).tolist() == TRUTH[:size]


def test_pytrees_and_shared_arguments() -> None:
    x = np.linspace(1, 100, 9, dtype=np.float32)
    divided = hb.batch(halvings.function, in_axes=(0, None), threads=2)
    whole = hb.batch(halvings.function, in_axes=(0, None), threads=1)
    got, wanted = divided(x, np.float32(3)), whole(x, np.float32(3))
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def test_wide_arrays_and_typed_keys() -> None:
    @hb.batch(threads=2)
    def walk(key, x):
        while x.sum() < 3:
            key, use = jax.random.split(key)
            x = x + jax.random.uniform(use, (2, 3))
        return key, x

    keys = jax.random.split(jax.random.key(0), 5)
    start = np.zeros((5, 2, 3), np.float32)
    got_key, got = walk(keys, start)
    wanted_key, wanted = hb.batch(walk.function, threads=1)(keys, start)
    assert got.shape == (5, 2, 3)
    np.testing.assert_array_equal(jax.random.key_data(got_key), jax.random.key_data(wanted_key))
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_what_it_was_called_with_before_does_not_matter() -> None:
    divided = variant(threads=2)
    for inputs in (INPUTS, jnp.asarray(INPUTS), INPUTS.astype(np.int64), INPUTS[:4]):
        assert divided(inputs).tolist() == TRUTH[: len(inputs)]
        assert divided(inputs).tolist() == TRUTH[: len(inputs)]


def test_stacks_of_one_part_grow() -> None:
    """The second of two threads has the deep inputs; the first is done long before."""
    inputs = np.array([0, 12, 1, 11, 0, 13], np.int32)
    found, stats = variant(threads=2, max_stack_depth=2).with_stats(inputs)
    assert found.tolist() == [1, 233, 1, 144, 1, 377]
    assert (stats.depth, stats.resumptions, stats.threads) == (16, 3, 2)


def projections(n, x, data):
    if n <= 0:
        return jnp.float32(0)
    return jnp.tanh(x @ data.T).sum() + projections(n - 1, x / 2, data)


DATA = np.random.default_rng(0).standard_normal((300, 260)).astype(np.float32)


def projections_of_data(n, x):
    return 0.0 if n <= 0 else jnp.tanh(x @ jnp.asarray(DATA).T).sum() + projections_of_data(n - 1, x / 2)


@pytest.mark.parametrize(
    ("function", "data", "lanes"),
    [
        (projections, [DATA], 4),
        pytest.param(projections, [DATA], None, marks=pytest.mark.slow),
        pytest.param(projections_of_data, [], 4, marks=pytest.mark.slow),
        pytest.param(projections_of_data, [], None, marks=pytest.mark.slow),
    ],
    ids=["argument, queue", "argument", "closure, queue", "closure"],
)
def test_what_all_lanes_share_is_computed_once_for_all_threads(function, data, lanes):
    """Shared values are computed once, also for runs that continue with larger stacks."""
    n = np.arange(9, dtype=np.int32) % 7
    args = (n, np.full((9, 260), 0.1, np.float32), *data)
    how = {"in_axes": (0, 0, *[None] * len(data)), "max_stack_depth": 4, "lanes": lanes}
    whole, divided = (hb.batch(function, threads=threads, **how) for threads in (1, 2))
    np.testing.assert_allclose(divided(*args), whole(*args), rtol=1e-5, atol=1e-5)
    divided = hb.batch(function, threads=2, **how)  # nothing is known of how deep it goes
    found, stats = divided.with_stats(*args)
    np.testing.assert_allclose(found, whole(*args), rtol=1e-5, atol=1e-5)
    assert stats.resumptions > 0

    division = divide(divided.trace(*args).plan, args)
    assert division.operands(args)[-1].shape == DATA.T.shape
    module = str(to_stablehlo(request_of(division.plan, division.layout(Room(2)), shared_given=True)))
    assert "tanh" in module
    assert "@shared" not in module


def test_growth_is_remembered() -> None:
    shallow = variant(threads=2, lanes=4, max_stack_depth=2)
    shallow(INPUTS)
    assert shallow.with_stats(INPUTS)[1].resumptions == 0


def test_counts_are_of_all_parts() -> None:
    _, divided = variant(threads=2).with_stats(INPUTS[:6])
    _, whole = variant(threads=1).with_stats(INPUTS[:6])
    assert [block.active for block in divided.blocks] == [block.active for block in whole.blocks]
    assert (divided.inputs, divided.lanes, divided.threads) == (6, 6, 2)
    assert 0 < divided.utilization <= 1
    assert "6 lanes in 2 threads for 6 inputs" in str(divided)
    _, nothing = variant(threads=2).with_stats(INPUTS[:0])
    assert (nothing.steps, nothing.utilization) == (0, 1.0)


def test_endless_recursion_names_lanes_of_the_whole_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 64)

    @hb.batch(threads=2)
    def down(n):
        if n == 0:
            return 0
        return 1 + down(n - 1)

    with pytest.raises(hb.StackOverflowError, match="lanes 2, 5 of 'down'") as caught:
        down(np.array([3, 5, -1, 7, 9, -1, 11], np.int32))
    assert caught.value.lanes == (2, 5)
    assert np.delete(np.asarray(caught.value.outputs), [2, 5]).tolist() == [3, 5, 7, 9, 11]


def test_step_limit_names_lanes_of_the_whole_batch() -> None:
    @hb.batch(max_steps=100, threads=3)
    def count_down(n):
        while n != 0:
            n -= 1
        return n

    with pytest.raises(hb.StepLimitError) as caught:
        count_down(np.array([3, 5, -1, 7, 9, 1, 11], np.int32))
    assert caught.value.lanes == (2,)
    assert np.delete(np.asarray(caught.value.outputs), 2).tolist() == [0] * 6


def test_parts_that_stop_at_different_depths() -> None:
    """The first of two threads is done before stacks grow in the second, one input of which is endless."""
    divided = hb.batch(stopping.down, max_steps=1_000, threads=2, max_stack_depth=2)
    with pytest.raises(hb.StepLimitError, match="lane 3 of 'down'") as caught:
        divided(np.array([0, 12, 1, -1, 0, 13], np.int32))
    assert caught.value.unfinished == (3,)
    assert np.delete(np.asarray(caught.value.outputs), 3).tolist() == [0, 12, 1, 0, 13]


def test_settings_of_the_calling_thread_hold() -> None:
    """JAX keeps some settings per thread; what runs in another thread was compiled under those of the caller."""
    divided = hb.batch(halvings.function, threads=2, in_axes=(0, None))
    x = np.array([1.0, 1e300, 5.0, 7.0])
    with jax.enable_x64(True):
        result = divided(x, 3.0)
        assert result["x"].dtype == jnp.float64
        assert result["steps"].tolist()[1] > 900
    assert divided(x[2:], 3.0)["x"].dtype == jnp.float32


def test_calls_from_several_threads() -> None:
    divided = variant(threads=2)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda shift: divided((INPUTS + shift) % 12).tolist(), range(12)))
    whole = variant(threads=1)
    assert found == [whole((INPUTS + shift) % 12).tolist() for shift in range(12)]


def test_inside_a_transformation_there_is_one_part() -> None:
    divided = variant(threads=2)
    assert jax.jit(divided)(INPUTS).tolist() == TRUTH
    assert jax.vmap(divided)(INPUTS[None]).tolist() == [TRUTH]
    with jax.disable_jit():
        assert parts_of(divided, INPUTS) == 1
        assert divided(INPUTS).tolist() == TRUTH


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_ahead_of_time_it_is_divided_too(threads: int) -> None:
    """And calls of the function afterwards compile nothing more."""
    divided, inputs = variant(threads=threads), jnp.asarray(INPUTS)
    compiled = divided.trace(inputs).lower().compile()
    assert compiled.threads == threads
    compilations: list[str] = []

    def listener(event: str, _: float, **__: object) -> None:
        if "backend_compile" in event:
            compilations.append(event)

    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        assert compiled(inputs).tolist() == TRUTH
        assert divided(inputs).tolist() == TRUTH
    finally:
        jax.monitoring.unregister_event_duration_listener(listener)
    assert compilations == []


@pytest.mark.parametrize(
    ("function", "data"), [(projections, [DATA]), (projections_of_data, [])], ids=["argument", "closure"]
)
def test_ahead_of_time_threads_share_what_they_read(function, data):
    args = (np.arange(9, dtype=np.int32) % 7, np.full((9, 260), 0.1, np.float32), *data)
    how = {"in_axes": (0, 0, *[None] * len(data)), "max_stack_depth": 2}
    whole, divided = (hb.batch(function, threads=threads, **how) for threads in (1, 2))
    compiled = divided.trace(*args).lower().compile()
    np.testing.assert_allclose(compiled(*args), whole(*args), rtol=1e-5, atol=1e-5)


def test_auto_divides_what_is_worth_it() -> None:
    """Batches are divided as on two cores (conftest.py)."""
    many, few = np.tile(INPUTS, 100), INPUTS
    assert parts_of(fibonacci, many) == 2
    assert parts_of(fibonacci, few) == 1

    @hb.batch
    def straight(x):
        return jnp.sin(x) * 2

    assert parts_of(straight, np.ones(100_000, np.float32)) == 1
    assert straight.trace(np.ones(4, np.float32)).plan.programs.policies.policy.threads_for(10**9) == 1


@pytest.mark.parametrize("how", ["captured", "shared"])
@pytest.mark.parametrize(("columns", "least"), [(1024, 16), (64, 1)])
def test_a_large_matrix_is_not_fetched_by_each_core_for_few_lanes(how: str, columns: int, least: int) -> None:
    matrix = jnp.full((512, columns), 0.01)

    @hb.batch
    def captured(x):
        if x.max() < 1:
            return x
        return 0.5 * captured(matrix @ (x @ matrix))

    @hb.batch(in_axes=(0, None))
    def shared(x, matrix):
        if x.max() < 1:
            return x
        return 0.5 * shared(matrix @ (x @ matrix), matrix)

    x = jnp.ones((4, 512))
    traced = captured.trace(x) if how == "captured" else shared.trace(x, matrix)
    choice = traced.plan.programs.policies.policy
    assert [choice.threads_for(count) for count in (2 * least - 1, 2 * least)] == [1, 2]


def test_platforms_with_cores_of_their_own_get_one_part() -> None:
    program = fibonacci.trace(INPUTS).lowered_program
    of = {name: Policies.of(program, Options(), target_of(name)).policy for name in ("cpu", "gpu")}
    assert {name: policy.threads_for(10**6) for name, policy in of.items()} == {"cpu": 2, "gpu": 1}


def run_here(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code that imports from this folder in a process of its own, with a limit of time."""
    here = Path(__file__).parent
    environment = os.environ | environment | {"PYTHONPATH": f"{here}:{here.parent.parent}", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def matrices(lanes: int, size: int = 30) -> jax.Array:
    noise = 0.01 * jax.random.normal(jax.random.key(0), (lanes, size, size))
    return 3 * jnp.eye(size) + (noise + noise.swapaxes(1, 2)) / 2


def grown_by(name: str, **options: object) -> hb.BatchedFunction:
    """A loop of one of the operations of `two_threads`, which XLA computes."""
    operation = two_threads.OPERATIONS[name]
    operands = 2 if name in two_threads.WITH_TWO else 1

    @hb.batch(**{"optimizations": LOOP, **options})
    def grown(matrix, turns):
        for _ in range(turns):
            matrix = matrix + 1e-6 * jnp.sum(operation(*[matrix] * operands)) * jnp.eye(30)
        return matrix.sum()

    return grown


def test_a_matrix_of_each_lane_stays_where_it_is() -> None:
    """It is as much to copy, for a thread or for a lane that takes a new input, as several turns take to compute."""

    def powers(matrix, x):
        while x @ x > 1e-3:
            x = matrix @ x
        return x

    def policy(matrix: Any, *in_axes: int | None) -> Any:
        traced = hb.batch(powers, in_axes=in_axes, optimizations=LOOP).trace(matrix, jnp.ones((5, 40)))
        return traced.plan.programs.policies.policy

    of_each, of_all = policy(matrices(5, 40), 0, 0), policy(matrices(1, 40)[0], None, 0)
    assert [of_each.threads_for(10**6), of_all.threads_for(10**6)] == [1, 2]
    assert of_each.lanes_for(1000) == 1000 > of_all.lanes_for(1000)
    assert of_each.lanes_for(10**6) < 10**6  # they do not stay in any cache


@pytest.mark.parametrize("name", two_threads.OPERATIONS)
def test_what_xla_calls_lapack_for_stays_in_one_thread(name: str) -> None:
    """Whether it does is XLA's to say; our table is of JAX's primitives."""
    operation, operands = two_threads.OPERATIONS[name], 2 if name in two_threads.WITH_TWO else 1
    compiled = jax.jit(jax.vmap(operation)).lower(*[matrices(4)] * operands).compile()
    calls_lapack = 'custom_call_target="lapack' in compiled.as_text()
    for asked in ({}, {"threads": 2}):
        choice = grown_by(name, **asked).trace(matrices(4), np.ones(4, np.int32)).plan.programs.policies.policy
        assert choice.threads_for(10**6) == (1 if calls_lapack else 2)
        assert (
            choice.undivided.endswith("calls LAPACK, where two threads may wait for each other for ever")
            == calls_lapack
        )


def test_why_a_batch_is_not_divided_is_said() -> None:
    _, stats = grown_by("cholesky").with_stats(matrices(3), np.arange(3, dtype=np.int32))
    assert stats.threads == 1
    said = "one thread: `cholesky` calls LAPACK, where two threads may wait for each other for ever"
    assert said in stats.choice.splitlines()


def test_foreign_functions_are_called_from_one_thread() -> None:
    results = jax.ShapeDtypeStruct((30, 30), np.float32), jax.ShapeDtypeStruct((), np.int32)
    factorize = jax.ffi.ffi_call("lapack_spotrf_ffi", results, vmap_method="broadcast_all")

    @hb.batch(threads=2)
    def factored(matrix):
        while matrix[0, 0] < 9:
            factor, _ = factorize(matrix, uplo=np.uint8(ord("L")))
            matrix = matrix + factor
        return matrix.sum()

    choice = factored.trace(matrices(4)).plan.programs.policies.policy
    assert choice.threads_for(10**6) == 1
    assert choice.undivided.startswith("`ffi_call` calls a foreign function")


LAPACK = """
import numpy as np
from test_threads import grown_by, matrices
turns = np.arange(200, dtype=np.int32) % 30
for name in ("cholesky", "qr", "lu", "triangular_solve", "eigh", "fft", "sort", "large matmul"):
    for threads in (None, 2):
        found = grown_by(name, threads=threads)(matrices(200), turns)
        assert found.shape == (200,) and np.isfinite(found).all()
    print(name, flush=True)
"""


@pytest.mark.slow
def test_what_two_threads_must_not_call_at_once_ends() -> None:
    """It runs in a process of its own, since a deadlock cannot be ended from within."""
    done = run_here(LAPACK)
    assert done.stdout.splitlines()[-1:] == ["large matmul"], done.stdout + done.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_a_library_is_called_once_for_what_all_threads_share(threads: int) -> None:
    @hb.batch(in_axes=(0, None), threads=threads)
    def scaled(x, matrix):
        factor = jnp.linalg.cholesky(matrix)
        while x.sum() < 10:
            x = x + factor @ x
        return x

    x, matrix = np.ones((9, 3), np.float32), np.diag(np.float32([4, 9, 16]))
    factor = np.diag(np.float32([2, 3, 4]))
    np.testing.assert_allclose(scaled(x, matrix), np.ones((9, 3)) @ (np.eye(3) + factor), rtol=1e-6)
    division = divide(scaled.trace(x, matrix).plan, [x, matrix])
    assert division.threads == threads
    module = str(to_stablehlo(request_of(division.plan, division.layout(Room(2)), shared_given=threads > 1)))
    assert ("cholesky" in module or "potrf" in module) == (threads == 1)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_threads_is_a_positive_int(threads: object) -> None:
    with pytest.raises(ValueError, match="threads is a positive int"):
        variant(threads=threads)


def test_an_error_in_one_call_waits_for_the_others() -> None:
    done = []

    def slow() -> None:
        done.append("slow")

    def broken() -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        runtime_threads.together([broken, slow])
    with pytest.raises(ArithmeticError):
        runtime_threads.together([slow, broken])
    assert done == ["slow", "slow"]


AT_EXIT = """
import os, signal, sys, threading, time
import numpy as np
import hlobatch as hb

what, how, dispatch, threads = sys.argv[1:]

@hb.batch(dispatch=dispatch, threads=int(threads))
def endless(n):
    while n != 0:
        n = n | 1
    return n

def work():
    while True:
        if what == "runs":
            endless(np.arange(1, 9, dtype=np.int32))
        elif what == "calls":
            endless(np.zeros(8, np.int32))
        else:
            hb.batch(endless.function, dispatch=dispatch)(np.zeros(8, np.int32))

if what != "makes":
    endless(np.zeros(8, np.int32))
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=work, daemon=how == "daemon").start()
time.sleep(1)
print("leaving", time.time(), flush=True)
if how == "interrupted":  # in Python's own wait for the thread
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
"""


@pytest.mark.parametrize(
    ("what", "how", "dispatch", "threads"),
    [
        ("runs", "daemon", "kernel", 2),
        ("makes", "daemon", "sweep", 1),
        *(
            pytest.param(what, how, *form, marks=pytest.mark.slow)
            for what in ("runs", "makes", "calls")
            for how in ("daemon", "interrupted")
            for form in (("kernel", 1), ("sweep", 1), ("sweep", 2))
            if (what, how, *form) != ("makes", "daemon", "sweep", 1)
        ),
    ],
)
def test_a_process_exits_while_another_thread_is_busy(what: str, how: str, dispatch: str, threads: int) -> None:
    """No thread aborts the process: those that Python does not wait for, or no longer after Ctrl-C."""
    command = [sys.executable, "-c", AT_EXIT, what, how, dispatch, str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr or how == "interrupted"
    assert time.time() - float(done.stdout.split()[1]) < 30


LOST_AT_EXIT = """
import sys, threading, weakref
import hlobatch
from hlobatch.runtime import leaving

class Kept:
    pass

def lose(_):
    raise SystemExit

def lose_another(_):
    raise ValueError("shown")

leaving._leave()
kept, other = Kept(), Kept()
lost, shown = weakref.ref(kept, lose), weakref.ref(other, lose_another)
del kept, other
"""


def test_what_a_callback_loses_at_exit_is_not_shown() -> None:
    """Python shows an exception that a weak reference's callback loses; the one that ends a thread is raised again."""
    done = run_here(LOST_AT_EXIT)
    assert done.returncode == 0
    assert "SystemExit" not in done.stderr
    assert "ValueError: shown" in done.stderr


STREAM_AT_EXIT = """
import threading, time
import numpy as np
import hlobatch as hb
from test_threads import fibonacci
waits = threading.Event()

def batches():
    yield np.arange(5)
    waits.set()
    time.sleep(100)

threading.Thread(target=lambda: list(hb.stream(fibonacci, batches())), daemon=True).start()
waits.wait()
print("leaving", time.time(), flush=True)
"""


@pytest.mark.slow
def test_a_process_exits_while_a_stream_waits_for_its_next_batch() -> None:
    done = run_here(STREAM_AT_EXIT)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.time() - float(done.stdout.split()[1]) < leaving.MOST_SECONDS / 2


def test_workers_are_started_as_needed_and_serve_again() -> None:
    pool, gate = runtime_threads.Workers("test", 3), threading.Event()
    waiting = [pool.submit(gate.wait) for _ in range(3)]
    late = pool.submit(threading.current_thread)
    assert not late.done()
    gate.set()
    assert [future.result() for future in waiting] == [True] * 3
    names = {late.result().name, *(pool.submit(threading.current_thread).result().name for _ in range(9))}
    assert names <= {"test-0", "test-1", "test-2"}
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 // 0).result()


def test_a_thread_that_is_busy_for_ever_is_given_no_other_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if threads of the pool look for calls before, while and after others are submitted."""
    start = runtime_threads.start

    def start_slowly(*how: Any) -> None:
        start(*how)
        time.sleep(0.05)  # time for the new thread to look for a call before there is one

    monkeypatch.setattr(runtime_threads, "start", start_slowly)
    pool, gate = runtime_threads.Workers("test", 5), threading.Event()
    try:
        for number in range(4):
            pool.submit(gate.wait)
            assert pool.submit(lambda number=number: number).result(10) == number
    finally:
        gate.set()


DEVICES = """
import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
import hlobatch as hb
from hlobatch.runtime.division import divide
from test_threads import INPUTS, TRUTH, fibonacci
first, second = jax.devices()
divided = hb.batch(fibonacci.function, threads=2)
for device in (first, second, first):
    there = divided(jax.device_put(INPUTS, device))
    assert there.tolist() == TRUTH
    assert there.devices() == {device}, there.devices()
with jax.default_device(second):
    assert divided(INPUTS).devices() == {second}
sharded = jax.device_put(np.tile(INPUTS, 2), NamedSharding(jax.make_mesh((2,), ("b",)), P("b")))
plan = divided.trace(sharded).plan
assert [divide(plan, [x]).threads for x in (sharded, INPUTS)] == [1, 2]
assert divided(sharded).tolist() == TRUTH * 2
print("two devices")
"""


def test_arrays_stay_on_their_devices() -> None:
    """Those on one device are divided there; JAX runs what is sharded, and no part of it is gathered here."""
    done = run_here(DEVICES, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert done.stdout == "two devices\n", done.stderr


@pytest.mark.parametrize("wide", [True, False])
def test_64_bits_that_are_allowed_to_one_thread(wide: bool) -> None:
    """Those that it starts are others, and JAX asks each."""

    @hb.batch(threads=2)
    def depth(n):
        return n if n <= 0 else 1 + depth(n - 1)

    n = np.arange(40, dtype=np.int64)
    jax.config.update("jax_enable_x64", not wide)
    try:
        with jax.enable_x64(wide):
            found = depth(n), depth(n)
    finally:
        jax.config.update("jax_enable_x64", False)
    assert [x.tolist() for x in found] == [n.tolist()] * 2
    assert found[0].dtype == (jnp.int64 if wide else jnp.int32)


def test_arrays_without_elements() -> None:
    @hb.batch(threads=2, optimizations=LOOP)
    def none_of_many(n):
        while n > 3:
            n -= 2
        return jnp.zeros((0, 3)) * n, n

    empty, n = none_of_many(np.arange(40))
    assert empty.shape == (40, 0, 3)
    assert n.max() == 3


def test_nans_are_found_where_the_caller_can_catch_them() -> None:
    logarithm = hb.batch(lambda x: jnp.log(x), threads=2)
    x = np.array([-1.0, 1.0], np.float32)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        logarithm(x)
    assert np.isnan(logarithm(x)[0])


def test_stacks_grow_where_nothing_may_be_moved() -> None:
    @hb.batch(threads=2, max_stack_depth=4)
    def depth(n):
        return n if n <= 0 else 1 + depth(n - 1)

    n = jax.device_put(np.arange(30, dtype=np.int32))
    with jax.transfer_guard("disallow"):
        found = depth(n)
    assert found.tolist() == n.tolist()
