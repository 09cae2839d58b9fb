"""Code of its own for each lane against XLA's loop over all lanes, and against numba: `python -m benchmarks.kernels`.

    python -m benchmarks.kernels [--threads N] [workload …]
    python -m benchmarks.kernels --compile

Runs are interleaved, and ratios are medians of ratios within one round. Seconds of processor time are
printed too, which are more reliable if other programs run on the machine. `--compile` times first calls of large
programs.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np

import hlobatch as hb

CASES: Final = {
    "fibonacci": ("fibonacci", "numbers", 10_000),
    "takeuchi": ("takeuchi", "triples", 1_000),
    "queens": ("solutions", "placements", 1_000),
    "interpreter": ("run", "inputs", 10_000),
    "quicksort": ("quicksort", "inputs", 1_000),
    "kd_tree": ("nearest", "inputs", 10_000),
    "tree_network": ("meaning", "inputs", 1_000),
    "continuation": ("follow", "inputs", 1_000),
    "tree_search": ("search", "inputs", 1_000),
    "collatz": ("longest", "starts", 10_000),
    "mandelbrot": ("escape_time", "points", 20_000),
    "stiff": ("solve", "inputs", 1_000),
    "quadrature": ("integral", "inputs", 1_000),
    "neural_ode": ("train", "inputs", 100),
}
"""For each workload: the name of its function, the name of the function that makes inputs, and their number."""
ROUNDS: Final = 9


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """The wall-clock seconds and the seconds of processor time of a call."""
    began, used = time.perf_counter(), time.process_time()
    jax.block_until_ready(run())
    return time.perf_counter() - began, time.process_time() - used


def agreement(ours: Any, theirs: Any) -> float:
    """The share of numbers that are bitwise equal, in the array where it is smallest."""
    pairs = zip(map(_numbers, jax.tree.leaves(ours)), map(_numbers, jax.tree.leaves(theirs)), strict=True)
    return min(float(np.mean((a == b) | ((a != a) & (b != b)))) for a, b in pairs)


def _numbers(array: Any) -> Any:
    """An array as NumPy's; of typed random keys, their words."""
    return np.asarray(jax.random.key_data(array) if jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key) else array)


def numba_of(module: Any, count: int) -> Callable[[], Any] | None:
    """A run of the workload's numba contender; None if it has none."""
    contenders = module.WORKLOAD.contenders if hasattr(module, "WORKLOAD") else {}
    made = next((c for name, c in contenders.items() if name.startswith("numba")), None)
    return None if made is None else made(type(module.WORKLOAD.sizes[0])(count, count)).run


def row(name: str, threads: int) -> str:
    """A row of the table: the figures of a workload."""
    function_name, inputs, count = CASES[name]
    module = importlib.import_module(f"benchmarks.workloads.{name}")
    function, arguments = getattr(module, function_name), getattr(module, inputs)(count)
    of = functools.partial(
        hb.batch, function.function, in_axes=function.in_axes, static_argnames=tuple(function.static), threads=threads
    )
    kernel, loop = of(dispatch="kernel"), of(optimizations=hb.Optimizations(kernels=False))
    firsts = [timed(lambda f=f: f(*arguments))[0] for f in (kernel, loop)]
    same = agreement(kernel(*arguments), loop(*arguments))
    numba = numba_of(module, count) if threads == 1 else None
    runs = [lambda: kernel(*arguments), lambda: loop(*arguments), *([numba] if numba else [])]
    _ = [run() for run in runs]
    rounds = [[timed(run) for run in runs] for _ in range(ROUNDS)]
    columns = [f"{min(each[0][1] for each in rounds) * 1e3:9.2f}"]
    for other in range(1, 3):
        for clock in range(2):
            ratios = [each[other][clock] / each[0][clock] for each in rounds if len(each) > other]
            columns.append(f"{statistics.median(ratios):7.2f}" if ratios else "      –")
    return f"{name:13s} {' '.join(columns)}  {firsts[0]:6.2f} {firsts[1]:6.2f}  {same:8.2%}"


HEAD: Final = f"""\
{"":13s} {"kernel,":>9s} {"XLA’s loop takes":>15s} {"numba takes":>15s}  {"first call, s":>13s}  {"the same":>8s}
{"":13s} {"ms (CPU)":>9s}{" times     CPU" * 2:>32s}  {"kernel":>6s} {"XLA":>6s}  {"bits":>8s}"""


def mutual(count: int) -> str:
    """Source of a program with functions in a ring, each of which calls the next."""
    start = "@hb.batch\ndef f{0}(n):\n    if n <= {0}:\n        return n + {0}\n"
    one = start + "    return f{1}(n - 1) + f{1}(n - 2) % 7\n"
    return "\n\n".join(["import hlobatch as hb\n", *[one.format(i, (i + 1) % count) for i in range(count)]])


def chain(count: int) -> str:
    """Source of a program with a chain of `elif`s."""
    tests = "".join(f"    {'el' if i else ''}if n == {i}:\n        n = n * {i + 2} + {i}\n" for i in range(count))
    return f"import hlobatch as hb\n\n\n@hb.batch\ndef f0(n):\n{tests}    return n\n"


def straight(count: int) -> str:
    """Source of a program with many lines of straight code."""
    head = "import hlobatch as hb\n\n\n@hb.batch\ndef f0(x):\n    while x > 100:\n        x = x - 7\n"
    lines = "".join(f"    x = x * {1 + i % 3} + {i}\n    x = x % 1009\n" for i in range(count // 2))
    return f"{head}{lines}    return x\n"


LARGE: Final = {
    "50 functions that call each other": lambda: mutual(50),
    "300 elifs": lambda: chain(300),
    "3,000 straight lines": lambda: straight(3_000),
}


def first_calls() -> None:
    """Print the processor time of first calls of large programs, and its part until blocks with stacks exist."""
    for number, (name, source) in enumerate(LARGE.items()):
        path = Path(tempfile.mkdtemp()) / f"large_{number}.py"
        path.write_text(source())
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        n, kernel = np.arange(8, dtype=np.int32), hb.batch(module.f0.function, dispatch="kernel")
        used = time.process_time()
        plan = kernel.trace(n).plan
        program = plan.programs.of_a_lane
        traced = time.process_time() - used
        result, whole = kernel(n), time.process_time() - used
        with hb.disable_batching():
            assert np.asarray(result).tolist() == [int(module.f0(np.int32(k))) for k in n]
        print(
            f"{name}: {whole:.2f} s of the processor's time, of which {traced:.2f} until there are",
            f"{len(program.graph.blocks)} blocks with explicit stacks",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("workloads", nargs="*", help="their names; by default all of the table")
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of both; numba has one, and is timed beside one"
    )
    parser.add_argument("--compile", action="store_true", help="how long large programs take to their first result")
    options = parser.parse_args()
    if options.compile:
        first_calls()
        return
    print(HEAD)
    for name in options.workloads or CASES:
        print(row(name, options.threads), flush=True)


if __name__ == "__main__":
    main()
