"""Kernels on a GPU: the launch, and the handling of inputs that a first pass does not finish.

No test here needs a GPU. Where something is run, a CPU runs the threads of a grid one after the other
(``on_threads.py``); tests of the call that XLA is given only lower it.
"""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P
from on_threads import on_threads
from own_code import WITHOUT, needs_llvm
from shares import share
from zoo import ZOO, ZooProgram

import hlobatch as hb
from benchmarks import gpu
from benchmarks.ahead_of_time import CARDS, Code, assembled, assembler, traced_for
from benchmarks.kernels import CASES, agreement
from hlobatch.kernels import jit
from hlobatch.kernels.processors import MEETING, NVPTX, WARP, Processor
from hlobatch.runtime import device_kernel
from hlobatch.runtime.kernel_plan import device_kernel as device_kernel_of
from hlobatch.targets.gpu import code
from hlobatch.targets.gpu.forms import NAMES
from hlobatch.targets.gpu.target import Gpu
from hlobatch.targets.registry import target_of

pytestmark = needs_llvm

HAS_COMPILER = importlib.util.find_spec("jax_cuda12_plugin") is not None
"""Whether XLA's compiler for GPUs is there, with or without one."""
NUMBERS = np.arange(11, dtype=np.int32)
FIBONACCI = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]


def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


def down(n):
    """Turns as often as its argument says, and for ever if that is negative."""
    while n != 0:
        n = n - 1
    return n + 5


def kernel(function, **options):
    return hb.batch(function, dispatch="kernel", **options)


# Runs


def test_stacks_grow_for_those_that_want_more() -> None:
    """All others keep their results; inside jit there are as many frames as declared."""
    with on_threads():
        batched = kernel(fibonacci, max_stack_depth=3)
        found, stats = batched.with_stats(NUMBERS)
        assert found.tolist() == FIBONACCI
        assert stats.resumptions == 1
        with pytest.raises(Exception, match="more than 3 stack frames"):
            jax.block_until_ready(jax.jit(batched)(NUMBERS))
        assert jax.jit(kernel(fibonacci))(NUMBERS).tolist() == FIBONACCI


def test_stretches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that has used up its turns leaves its inputs off, and they begin anew with more turns."""
    monkeypatch.setattr(device_kernel, "FIRST_TURNS", 8)
    n = np.asarray([3, 1000, 0, 50, 7, 2, 9, 100, 4], np.int32)
    with on_threads():
        runner, passes = kernel(down), []
        with mock.patch.object(device_kernel, "_wait", lambda outputs, _: passes.append(len(outputs))):
            assert runner(n).tolist() == [5] * 9
    assert len(passes) > 3


def test_an_interrupted_run_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_kernel, "FIRST_TURNS", 100)
    passes = iter([None, None, KeyboardInterrupt])

    def wait(outputs, is_over):
        if (error := next(passes)) is not None:
            raise error

    monkeypatch.setattr(device_kernel, "_wait", wait)
    with on_threads(), pytest.raises(hb.Interrupted, match="when 3 of 4 inputs were finished") as caught:
        kernel(down)(np.asarray([3, -1, 20, 7], np.int32))
    assert list(caught.value.unfinished) == [1]
    assert np.asarray(caught.value.outputs)[[0, 2, 3]].tolist() == [5, 5, 5]


def test_a_run_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between passes and while one goes on, its progress is told, and its time is over some time."""
    monkeypatch.setattr(device_kernel, "FIRST_TURNS", 100)
    told = []

    def down_by_two(n):
        while n != 0:
            n = n - 2
        return n

    with on_threads(), pytest.raises(hb.TimeLimitError, match="had finished 3 of 4 inputs") as caught:
        kernel(down_by_two, timeout=0.2, progress=told.append)(np.asarray([4, 1, 20, 8], np.int32))
    assert list(caught.value.unfinished) == [1]
    assert told[-1].done == 3


def test_limits_and_failures() -> None:
    """Steps that are used up, exceptions of the user's, and recursion without an end name their inputs."""

    def checked(n):
        if n == 3:
            raise ValueError(f"no {n}")
        return down(n)

    def endless(n):
        return 0 if n == 1 else endless(n) + 1

    with on_threads():
        with pytest.raises(hb.StepLimitError) as steps:
            kernel(down, max_steps=40)(np.asarray([1, 90, 2, -1], np.int32))
        with pytest.raises(hb.LaneError, match="no 3") as failed:
            kernel(checked)(NUMBERS)
        with mock.patch("hlobatch.config.STACK_DEPTH_LIMIT", 64), pytest.raises(hb.StackOverflowError) as overflow:
            kernel(endless, max_stack_depth=4)(np.asarray([1, 0, 1, 1, 5], np.int32))
    assert list(steps.value.unfinished) == [1, 3]
    assert list(failed.value.lanes) == [3]
    assert np.asarray(failed.value.outputs)[[0, 1, 2, 4]].tolist() == [5] * 4
    assert list(overflow.value.lanes) == [1, 4]


def test_inside_jit_vmap_scan_and_shard_map() -> None:
    """With arrays that all inputs share, one that the program captures, and values computed before all lanes."""
    table = jnp.asarray([3, 1, 4, 1, 5], jnp.int32)

    def walk(n, rate):
        total, step = 0, rate * 2 + 1
        while n > 0:
            total = total + table[n % 5] * step
            n = n - 2
        return total

    def wanted(n, rate):
        return [int(sum(int(table[k % 5]) * (rate * 2 + 1) for k in range(x, 0, -2))) for x in n]

    with on_threads():
        batched = kernel(walk, in_axes=(0, None))
        both = jnp.stack([NUMBERS, NUMBERS[::-1]])
        assert batched(NUMBERS, 3).tolist() == wanted(NUMBERS, 3)
        assert jax.jit(lambda n, r: batched(n + 0, r + 1))(NUMBERS, 3).tolist() == wanted(NUMBERS, 4)
        twice = jax.vmap(batched, in_axes=(0, None))(both, 3)
        assert twice.tolist() == [wanted(row, 3) for row in np.asarray(both)]
        _, found = jax.lax.scan(lambda carry, row: (carry, batched(row, 3)), 0, both)
        assert found.tolist() == twice.tolist()
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
        split = jax.shard_map(lambda n: batched(n, 3), mesh=mesh, in_specs=P("d"), out_specs=P("d"))
        assert jax.jit(split)(NUMBERS).tolist() == wanted(NUMBERS, 3)


def test_statistics_are_those_of_a_cpu() -> None:
    counted = [kernel(fibonacci).with_stats(NUMBERS)[1]]
    with on_threads():
        counted.append(kernel(fibonacci).with_stats(NUMBERS)[1])
    assert [b.executions for b in counted[0].blocks] == [b.executions for b in counted[1].blocks]


def test_derivatives_by_what_lanes_share() -> None:
    """Their sum over lanes is XLA's there: threads of a grid have no sums of their own."""

    def grown(x, rate):
        y = x
        while y < 10:
            y = y * rate
        return y

    def loss(rate, function):
        return function(x, rate).sum()

    x = np.linspace(0.5, 3, 7, dtype=np.float32)
    wanted = jax.grad(lambda r: loss(r, hb.batch(grown, in_axes=(0, None))))(1.7)
    with on_threads():
        found = jax.grad(lambda r: loss(r, kernel(grown, in_axes=(0, None))))(1.7)
        inside = jax.jit(jax.grad(lambda r: loss(r, kernel(grown, in_axes=(0, None)))))(1.7)
    np.testing.assert_allclose([found, inside], [wanted, wanted], rtol=1e-5)


# The choice


def test_own_code_is_not_chosen_before_it_was_measured() -> None:
    with on_threads():
        _, stats = hb.batch(down).with_stats(NUMBERS)
    assert "once `make bench-gpu` has measured it" in stats.choice


def test_own_code_is_chosen_where_it_wins() -> None:
    """Where lanes compute numbers and keep stacks, and not where their values are vectors, once that is turned on."""

    def turned(x, a):
        while x[0] > 0:
            x = jnp.tanh(a @ x) - 0.1
        return x

    chosen = replace(target_of("cuda"), chooses_own_code=True)
    x, a = np.ones((3, 40), np.float32), np.ones((3, 40, 40), np.float32)
    traced = [hb.batch(f).trace(*given) for f, *given in ((fibonacci, NUMBERS), (down, NUMBERS), (turned, x, a))]
    judged = [chosen.judge(each.plan.programs.of_a_lane) for each in traced]
    assert [verdict.by_themselves for verdict in judged] == [True, True, False]
    with on_threads(chooses_own_code=True):
        _, stats = hb.batch(down).with_stats(NUMBERS)
        assert hb.batch(fibonacci)(NUMBERS).tolist() == FIBONACCI
    assert "dispatch 'kernel'" in stats.choice


MEASURED = {
    "collatz": 89,
    "mandelbrot": 81,
    "quicksort": 18,
    "interpreter": 16,
    "takeuchi": 12,
    "fibonacci": 10,
    "continuation": 10,
    "queens": 6,
    "kd_tree": 5,
    "funnel": 3.7,
    "eight_schools": 1.5,
    "quadrature": 0.27,
    "stiff": 0.19,
    "tree_search": 0.062,
    "tree_network": 0.056,
    "gaussian": 0.027,
    "neural_ode": 0.017,
}
"""How many times as fast as XLA's loop a thread to each lane was on an H200, in the better of its two forms."""
BY_DAY = ("collatz", "continuation", "stiff", "quadrature")


@pytest.mark.parametrize(
    "workload", [pytest.param(name, marks=() if name in BY_DAY else pytest.mark.slow) for name in MEASURED]
)
def test_the_choice_agrees_with_what_was_measured(workload: str) -> None:
    """Code of its own is chosen where it was faster, and the expected gain or loss is no more than thrice too large.

    Where blocks are cheap, branches and stacks, which the expectation leaves out, are most of a thread's time.
    """
    chosen, measured = replace(target_of("cuda"), chooses_own_code=True), MEASURED[workload]
    program = traced_for("cuda", workload, 100, "auto").plan.programs.of_a_lane
    expected = chosen.forms.times_of_loop(program)
    assert chosen.judge(program).by_themselves == (measured > 1)
    assert expected > measured / 3
    assert expected < 3 * measured or measured >= 5


def test_amds_gpus_have_a_reason() -> None:
    assert "NVIDIA" in target_of("rocm").judge(hb.batch(down).trace(NUMBERS).plan.programs.of_a_lane).reason


@pytest.mark.parametrize("processor", [NVPTX, MEETING, WARP])
@pytest.mark.parametrize(("inputs", "bytes_"), [(1, 0), (100, 1 << 20), (10_000, 0), (1_000_000, 64), (50, 1 << 40)])
def test_lanes_of_a_grid(inputs: int, bytes_: int, processor: Processor) -> None:
    """Whole blocks, no more than the card has in flight or there is memory for, and enough for few inputs."""
    target, each = Gpu("gpu", target_of("cuda").loop), processor.threads_per_lane
    lanes, block = target.lanes_for(inputs, bytes_, processor), target.block(inputs, each) // each
    assert lanes % block == 0
    assert block * each % processor.threads_that_meet == 0
    assert block <= lanes < inputs + block or lanes == block
    assert lanes * each <= 132 * 2048
    assert lanes == block or lanes * bytes_ <= 4 << 30


# The call


def lowered(function, *avals) -> str:
    """The module that XLA is given for an NVIDIA GPU, on a machine without one."""
    return jax.jit(function).trace(*avals).lower(lowering_platforms=("cuda",)).as_text()


def test_the_call_that_xla_is_given() -> None:
    """One call in an ordinary module; operands first, then results, what became of inputs, and scratch memory."""
    text = lowered(lambda n: kernel(down)(n) + 1, jax.ShapeDtypeStruct((1000,), np.int32))
    assert text.count("stablehlo.custom_call") == text.count("@__gpu$xla.gpu.ptx") == 1
    for part in ('kernel_type = "ptx"', 'name = "kernel"', "grid_x = 32 ", "block_x = 32 ", "shared_mem_bytes = 0 "):
        assert part in text
    assert "output_indices = [1 : i32, 2 : i32, 3 : i32]" in text
    code_ = re.search(r'kernel_data = "([^"]*)"', text)[1]
    assert ".visible .entry kernel(" in code_
    assert ".target sm_80\\0A" in code_, "not code to be debugged"
    assert code_.count(".param .u64") == 4


def test_the_call_of_a_warp_to_each_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block for each lane, whose memory is a part of the code."""
    monkeypatch.setenv("HLOBATCH_OWN_CODE", "warp")
    text = lowered(kernel(lambda x: x[::-1].cumsum()), jax.ShapeDtypeStruct((1000, 70), np.int32))
    for part in ("grid_x = 1000 ", "block_x = 32 ", "shared_mem_bytes = 0 ", ".shared .align 16 .b8 near["):
        assert part in text


def test_where_nobody_asks_for_it_xla_has_its_loop() -> None:
    text = lowered(hb.batch(down), jax.ShapeDtypeStruct((1000,), np.int32))
    assert "custom_call" not in text
    assert "stablehlo.while" in text


def test_without_the_library_of_functions() -> None:
    """A program that computes none has a kernel; another says what is missing and where it comes from."""

    def cooled(x):
        while x > 1:
            x = x - jnp.exp(-x)
        return x

    aval = jax.ShapeDtypeStruct((100,), np.float32)
    with mock.patch("hlobatch.targets.gpu.code._library", return_value=None):
        assert "__gpu$xla.gpu.ptx" in lowered(kernel(lambda n: down(n)), jax.ShapeDtypeStruct((9,), np.int32))
        with pytest.raises(hb.KernelError, match="nvidia-cuda-nvcc"):
            lowered(kernel(cooled), aval)


def test_gangs_are_of_cpus() -> None:
    with on_threads(), pytest.raises(hb.KernelError, match="gangs run on CPUs"):
        hb.batch(down, dispatch="gang")(NUMBERS)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")
def test_kernels_by_hand_agree() -> None:
    """Numba's simulator of a GPU runs them on a CPU."""
    command = [sys.executable, "-m", "benchmarks.cuda_peers"]
    simulated = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    run = subprocess.run(command, env=simulated, capture_output=True, text=True, timeout=200, check=False)
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]


def test_the_benchmark_knows_its_workloads() -> None:
    """Each is a workload or a sampler's problem; a form that failed is a row, too."""
    assert gpu.SIZES.keys() <= CASES.keys() | gpu.SAMPLED.keys()
    figures = {"workload": "collatz", "inputs": 1000, "chosen": "thread", "thread": "KernelError: why", "loop": 0.002}
    row = gpu.line(figures | {"warp": 0.004, "numba": 0.007})
    assert row.count("|") == gpu.HEAD.splitlines()[-1].count("|")
    assert row == "| collatz, 1,000 | **KernelError: why** | – | – | 4.00 | – | 2.00 | – | – | 7.00 | – |  |"


def test_the_benchmark_compares_random_keys() -> None:
    """Which are part of the result of a sampler."""
    ours, theirs = ({"key": jax.random.split(jax.random.key(seed), 4), "x": NUMBERS} for seed in (1, 2))
    assert agreement(ours, ours) == 1
    assert agreement(ours, theirs) < 0.1


def test_the_benchmark_keeps_what_was_found_before_a_process_was_ended() -> None:
    assert gpu.last_of(b'{"loop": 1}\n{"loop": 1, "thread": 2}\n{"loop": 1, "thr') == {"loop": 1, "thread": 2}
    assert gpu.last_of(None) == {}


# The code


def some_by_day() -> Iterator[Any]:
    """The zoo, of which three quarters are for the night."""
    for program in ZOO:
        by_day = program.name in WITHOUT or share(program.name, range(4)) == (0,)
        yield pytest.param(program, id=program.name, marks=() if by_day else pytest.mark.slow)


@pytest.mark.parametrize("program", [*some_by_day()])
def test_llvm_takes_the_code_of_a_gpu(program: ZooProgram) -> None:
    """The same lane, with its stacks side by side with those of others."""
    if program.name in WITHOUT:
        with pytest.raises(hb.KernelError, match=WITHOUT[program.name]):
            of_a_card(program)
        return
    text = of_a_card(program)
    assert "define ptx_kernel void @kernel(" in text
    jit.check(text)


@pytest.mark.slow
@pytest.mark.parametrize("form", [name for name in NAMES if name != "thread"])
@pytest.mark.parametrize("program", ZOO, ids=lambda program: program.name)
def test_llvm_takes_the_other_forms(program: ZooProgram, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOBATCH_OWN_CODE", form)
    if program.name not in WITHOUT:
        jit.check(of_a_card(program))


def of_a_card(program: ZooProgram) -> str:
    """The code of a program as LLVM IR, for a thousand inputs."""
    target = target_of("cuda")
    with mock.patch.object(Gpu, "check"):
        found = device_kernel_of(program.traced.plan, target)
    return found.module.text + found.grid(found.declared_frames, 1000).constants


needs_assembler = pytest.mark.skipif(
    assembler() is None or code._library() is None, reason="`ptxas` and libdevice, of nvidia-cuda-nvcc, are not there"
)


@needs_assembler
@pytest.mark.slow
@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("program", ZOO, ids=lambda program: program.name)
def test_nvidias_assembler_takes_it(program: ZooProgram, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For an A100, an H100 and a B200; what it reports is what ``python -m benchmarks.ahead_of_time ptxas`` prints.

    LLVM has left out no meeting of threads and no exchange of numbers; those in a loop it may write several times.
    """
    monkeypatch.setenv("HLOBATCH_OWN_CODE", form)
    if program.name not in WITHOUT:
        text = of_a_card(program)
        ptx = code.ptx(text, (8, 0))
        called = {"@meet(": "bar.warp.sync", "@of_thread(": "shfl.sync", "@least(": "redux.sync"}
        for name, instruction in called.items():
            assert ptx.count(instruction) >= len(re.findall(f"call \\w+ {re.escape(name)}", text))
        assert all(0 < assembled(ptx, card).registers <= 255 for card in CARDS)


@needs_assembler
@pytest.mark.parametrize("function", [down, fibonacci])
def test_numbers_take_no_memory(function) -> None:
    """Of code that computes numbers, all is in registers but for the frames of its stack."""
    made = Code.of(kernel(function).trace(NUMBERS))
    report = assembled(made.ptx, "sm_90")
    assert report.spilled == 0
    assert report.stack == made.near_bytes


IN_MEMORY = {"quicksort": 4 * 128, "eight_schools": 1464, "funnel": 1464}
"""Bytes of a thread's local memory besides frames: the numbers to be sorted; the random numbers of all draws of a
sampler, and its results. Lanes index these by numbers of their own."""


@needs_assembler
@pytest.mark.slow
@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize(
    "workload",
    ["takeuchi", "queens", "interpreter", "collatz", "mandelbrot", "kd_tree", "continuation", *IN_MEMORY],
)
def test_workloads_take_no_memory_but_for_frames(workload: str, card: str) -> None:
    """A thread has no local memory but for its frames, and for arrays that lanes index by numbers of their own."""
    made = gpu.in_form("thread", lambda: Code.of(traced_for("cuda", workload, 100, "kernel")))()
    report = assembled(made.ptx, card)
    assert report.spilled == 0
    assert report.stack - made.near_bytes == IN_MEMORY.get(workload, 0)


@pytest.mark.parametrize(("depth", "far"), [(2, 0), (32, 0), (40, 8)])
def test_first_frames_are_near_the_thread(depth: int, far: int) -> None:
    """And only those above are in memory of the host's; a frame of Fibonacci's is three numbers."""
    found = device_kernel_of(kernel(fibonacci, max_stack_depth=depth).trace(NUMBERS).plan, target_of("cuda"))
    grid = found.grid(found.declared_frames, 1000)
    assert found.module.near == (32,)
    assert grid.stack_bytes == 3 * -(-4 * far // 64) * 64
    text = code.ptx(found.module.text + grid.constants, (8, 0))
    assert text.count("st.local") >= 2


@pytest.mark.slow
@pytest.mark.skipif(not HAS_COMPILER, reason="XLA's compiler for GPUs is not installed")
@pytest.mark.parametrize("workload", ["fibonacci", "kd_tree", "quadrature"])
def test_xlas_compiler_for_gpus_makes_one_kernel_of_the_call(workload: str) -> None:
    command = [sys.executable, "-m", "benchmarks.ahead_of_time", "cuda", workload, "--dispatch", "kernel"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert "kCustomKernel" in run.stdout
    assert "kWhile" not in run.stdout


def test_ptx_is_made_of_it() -> None:
    program = next(program for program in ZOO if program.name == "fibonacci")
    assert ".visible .entry kernel(" in code.ptx(of_a_card(program), (9, 0))
