"""Compiles a workload for a GPU or a TPU that is not there: `python -m benchmarks.ahead_of_time cuda|tpu WORKLOAD`.

    python -m benchmarks.ahead_of_time cuda fibonacci --inputs 10000 --dispatch kernel
    python -m benchmarks.ahead_of_time tpu  fibonacci
    python -m benchmarks.ahead_of_time ptxas [WORKLOAD] [--forms thread,warp]

XLA's compilers for both run on machines without such devices; the one for NVIDIA's GPUs reads a description of the
card. They come with packages, each in an environment of its own (Python 3.12 or later; no driver is needed):

    cuda:   pip install . --group ahead-of-time-cuda
    tpu:    pip install . --group ahead-of-time-tpu

It prints the time of compilation, the memory of a run, and the operations of a run: for a GPU the kernels and loops
that the host starts, one on a line, those within a loop indented; for a TPU the number of operations of each kind, and
the cycles that the compiler expects of each fusion. For a kernel (`--dispatch kernel`) it prints the registers, stack
and spills that `ptxas` reports, or for a TPU the cycles of a turn in the compiler's schedule.

`ptxas` in place of a platform prints registers, stack and spills for a workload, or for all workloads and samplers, for
three cards and all forms of lanes' code (`benchmarks/gpu.py`); `near frames` are those of its frames that lie in a
thread's local memory, `frames` and `scratch` what a lane has in other memory.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

CARDS: Final = ("sm_80", "sm_90", "sm_100")
"""An A100, an H100 or H200, and a B200."""
H100: Final = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 shared_memory_per_core: 233472
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647 block_dim_limit_y: 65535
  block_dim_limit_z: 65535 memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 84929347584 shared_memory_per_block_optin: 232448 cuda_compute_capability { major: 9 }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 7 } runtime_version { major: 12 minor: 9 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
"""The GPU to compile for, as XLA describes devices to itself."""
TPU: Final = "v5e:2x2"
DUMP: Final = "--xla_dump_to={} --xla_dump_hlo_as_text --xla_dump_emitter_re=thunk.* --xla_gpu_autotune_level=0"
"""Flags of XLA's compiler for GPUs. Autotuning is off, since nothing can run on a card that is not there. The compiler
for CPUs of jaxlib 0.11, which compiles the preparation of inputs, ends the process if it is to dump all emitters."""
DUMP_OF_TPU: Final = "--xla_jf_dump_to={} --xla_jf_dump_llo_text=true"
"""Flags of the compiler for TPUs, whose schedules are read for the cycles of a kernel's turn."""
MOST_LINE: Final = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.ahead_of_time", description=__doc__)
    parser.add_argument("platform", choices=["cuda", "tpu", "ptxas"])
    parser.add_argument("workload", nargs="?", help="one of benchmarks/kernels.py; fibonacci if none is named")
    parser.add_argument("--inputs", type=int, help="in the batch; as many as the workload has if not given")
    parser.add_argument("--dispatch", default="auto", help="as in hb.batch")
    parser.add_argument(
        "--forms", type=lambda text: text.split(","), help="of lanes' code, for ptxas; all if not given"
    )
    args = parser.parse_args(arguments)
    if args.platform == "ptxas":
        os.environ["JAX_PLATFORMS"] = "cpu"
        for line in table(args.workload, args.forms):
            print(line, flush=True)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(args.platform, folder)
        workload = args.workload or "fibonacci"
        traced = traced_for(args.platform, workload, args.inputs, args.dispatch)
        compiled, seconds = compile_for(args.platform, traced)
        print(f"compiled in {seconds:.2f} s; {compiled.memory_analysis().temp_size_in_bytes:,} bytes of memory")
        print(*(of_gpu(folder) if args.platform == "cuda" else of_tpu(compiled.as_text())), sep="\n")
        if args.dispatch == "kernel" and args.platform == "tpu":
            print(of_tiles(folder))
        elif args.dispatch == "kernel":
            print(header(), reported(workload, Code.of(traced)), sep="\n")
    return 0


def prepare(platform: str, folder: str) -> None:
    """Set the environment variables that XLA reads when it is loaded later, by JAX, which itself runs on the CPU."""
    os.environ |= {"CUDA_VISIBLE_DEVICES": "-1", "TPU_SKIP_MDS_QUERY": "1", "JAX_PLATFORMS": "cpu"}
    os.environ["LIBTPU_INIT_ARGS"] = DUMP_OF_TPU.format(folder)
    if platform == "cuda":
        os.environ["XLA_FLAGS"] = DUMP.format(folder)
        tools = next((Path(p) / "nvidia" / "cuda_nvcc" / "bin" for p in sys.path if (Path(p) / "nvidia").is_dir()), "")
        os.environ["PATH"] += os.pathsep + str(tools)


def traced_for(platform: str, workload: str, inputs: int | None, dispatch: str) -> Any:
    """A workload, traced as on a machine with such devices."""
    import hlobatch as hb
    from benchmarks.gpu import SAMPLED, of_sampler, of_workload
    from benchmarks.kernels import CASES

    if workload in SAMPLED:
        function, arguments = of_sampler(workload, inputs or 1000)
    else:
        function, arguments = of_workload(workload, inputs or CASES[workload][-1])
    static = tuple(function.static)
    with elsewhere(platform):
        return hb.batch(function.function, in_axes=function.in_axes, static_argnames=static, dispatch=dispatch).trace(
            *arguments
        )


def elsewhere(platform: str) -> Any:
    """A context in which the strategy of a run is chosen as for a platform."""
    return mock.patch("jax.default_backend", return_value="gpu" if platform == "cuda" else platform)


def compile_for(platform: str, traced: Any) -> tuple[Any, float]:
    """The compiled run, without the effects by which Python learns of failed lanes; and the seconds of compilation."""
    import jax
    from jax.sharding import SingleDeviceSharding

    from hlobatch.runtime.primitive import run_within

    where = SingleDeviceSharding(device(platform))
    placed = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where) for x in traced.call.physical()]
    with elsewhere(platform), traced.plan.as_typed():
        began = time.perf_counter()
        compiled = jax.jit(lambda *inputs: run_within(traced.plan, inputs)).trace(*placed).lower().compile()
    return compiled, time.perf_counter() - began


def device(platform: str) -> Any:
    """A device to compile for, and not to run on."""
    from jax.experimental import topologies

    if platform == "cuda":
        return topologies.get_topology_desc(platform="cuda", target_config=H100, topology="1x1x1").devices[0]
    return topologies.get_topology_desc(platform="tpu", topology_name=TPU).devices[0]


# Output


def of_gpu(folder: str) -> Iterator[str]:
    """The kernels and loops that the host runs, in order."""
    newest = max(Path(folder).glob("*thunk_sequence.txt"), key=lambda path: path.stat().st_mtime)
    lines = newest.read_text().splitlines()
    for line in lines:
        yield line[:MOST_LINE]
    yield from of_turns(lines)


def of_turns(lines: Sequence[str]) -> Iterator[str]:
    """For each loop that is in no other: how many kernels and loops the host starts in a turn of it."""
    found = [(len(line) - len(line.lstrip()), op[1]) for line in lines if (op := re.match(r"\s*\d+: (k\w+)", line))]
    outer = [place for place, (depth, kind) in enumerate(found) if kind == "kWhile" and depth == 0]
    for place in outer:
        inside = [kind for _, kind in itertools.takewhile(lambda op: op[0] > 0, found[place + 1 :])]
        loops = inside.count("kWhile") + inside.count("kConditional")
        yield f"a turn: {len(inside) - loops} kernels and copies, {loops} loops and conditionals, which the host tests"


def of_tpu(text: str) -> Iterator[str]:
    """How often each kind of operation occurs, and the cycles that the compiler expects, by computation."""
    computation, cycles = "?", collections.defaultdict[str, list[int]](list)
    for line in text.splitlines():
        if head := re.match(r"(?:ENTRY )?%(\S+) \(", line):
            computation = head[1]
        if found := re.search(r'estimated_cycles":"?(\d+)', line):
            cycles[computation].append(int(found[1]))
    kinds = r"\s(while|conditional|fusion|copy|scatter|gather|dynamic-update-slice|dot|sort)\("
    yield ", ".join(f"{count} of {kind}" for kind, count in collections.Counter(re.findall(kinds, text)).items())
    for name, each in cycles.items():
        yield f"{name}: {len(each)} fusions, {sum(each):,} cycles: {each}"


def of_tiles(folder: str) -> str:
    """The cycles of a turn of a kernel of tiles: the instructions (bundles) in the innermost loop of its schedule."""
    from hlobatch.targets.tpu.group import TURNS_PER_TEST
    from hlobatch.targets.tpu.target import NAME
    from hlobatch.targets.tpu.tile import LANES

    schedule = max(Path(folder).glob(f"*-{NAME}*-[0-9][0-9]-final_bundles.txt"), default=None)
    if schedule is None:
        return "the compiler wrote no schedule of the kernel"
    inner = len(re.findall(r"^ *0x[0-9a-f]+ .*?: *>>+ \{", schedule.read_text(), re.MULTILINE))
    return f"{inner / TURNS_PER_TEST:,.0f} cycles a turn of all blocks, for {LANES:,} lanes"


# Kernels


class Code(NamedTuple):
    """The PTX of a kernel, and bytes of memory of each lane.

    Attributes:
        ptx: The code.
        stack_bytes: Frames in scratch memory.
        local_bytes: Arrays in scratch memory.
        near_bytes: Frames in the local memory of its thread.
    """

    ptx: str
    stack_bytes: int
    local_bytes: int
    near_bytes: int

    @classmethod
    def of(cls, traced: Any, inputs: int = 1000) -> Code:
        """The code of a traced function, for a number of inputs.

        Raises:
            NoKernelError: There is no code, or a library that it needs is not found.
        """
        from hlobatch.runtime.kernel_plan import device_kernel
        from hlobatch.targets.gpu import code
        from hlobatch.targets.registry import target_of

        kernel = device_kernel(traced.plan, target_of("cuda"))
        grid = kernel.grid(kernel.declared_frames, inputs)
        module = kernel.module
        near = sum(
            bytes_ * module.near[stack] for bytes_, stack in zip(module.frame_bytes, module.stack_of, strict=True)
        )
        made = code.ptx(module.text + grid.constants, (8, 0))
        return cls(made, grid.stack_bytes, grid.local_bytes, near)


class Report(NamedTuple):
    """The report of `ptxas` on a kernel for a card: registers, and bytes of each thread."""

    registers: int
    stack: int
    spilled: int


def assembler() -> str | None:
    """The path of `ptxas`, in packages of CUDA or on the PATH; None if it is not found."""
    places = [Path(p) / "nvidia" / name / "bin" / "ptxas" for p in sys.path for name in ("cuda_nvcc", "cu13")]
    found = next((str(place) for place in places if place.is_file()), None)
    return found or shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")


def assembled(ptx: str, card: str) -> Report:
    """The report of `ptxas` on some PTX.

    Raises:
        RuntimeError: `ptxas` rejects it, or is not found.
    """
    if (tool := assembler()) is None:
        raise RuntimeError("there is no `ptxas`, which the package nvidia-cuda-nvcc brings")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.ptx"
        file.write_text(ptx)
        command = [tool, f"-arch={card}", "-v", str(file), "-o", str(Path(folder) / "kernel.cubin")]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"ptxas does not take it for {card}: {run.stderr[:500]}")
    numbers = r"(\d+) bytes stack frame, (\d+) bytes spill stores", r"Used (\d+) registers"
    (stack, spilled), (registers,) = (re.search(pattern, run.stderr).groups() for pattern in numbers)  # type: ignore[union-attr]
    return Report(int(registers), int(stack), int(spilled))


def header() -> str:
    """The head of a table of reports."""
    cards = " | ".join(f"{card}: registers, stack, spills" for card in CARDS)
    return f"| workload | {cards} | near frames | frames | scratch |\n|---|{'---|' * len(CARDS)}---|---|---|"


def reported(name: str, code: Code) -> str:
    """A row of the table of reports; memory in bytes of each thread."""
    reports = (assembled(code.ptx, card) for card in CARDS)
    cells = " | ".join(f"{r.registers}, {r.stack:,}, {r.spilled:,}" for r in reports)
    return f"| {name} | {cells} | {code.near_bytes:,} | {code.stack_bytes:,} | {code.local_bytes:,} |"


def table(workload: str | None = None, forms: Sequence[str] | None = None) -> Iterator[str]:
    """The table for a workload, or for all that are measured on a GPU, with a row for each form of lanes' code."""
    from benchmarks.gpu import FORMS, SIZES, in_form

    yield header()
    for name in [workload] if workload else SIZES:
        traced = traced_for("cuda", name, None, "kernel")
        for form in forms or FORMS:
            yield reported(f"{name}, {form}", in_form(form, lambda traced=traced: Code.of(traced))())


if __name__ == "__main__":
    sys.exit(main())
