"""Workloads written by hand as kernels of numba.cuda, a thread to each input: peers of hlobatch's code of lanes.

    NUMBA_ENABLE_CUDASIM=1 python -m benchmarks.cuda_peers [--inputs N]

compares their results with hlobatch's; with that variable, numba's simulator runs them on a CPU. `benchmarks.gpu` times
them on a GPU, if numba is installed and has CUDA. Inputs are on the device before, and results stay there.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import jax
import numpy as np
from numba import cuda, float32, int32

from benchmarks.workloads.collatz import WIDTH
from benchmarks.workloads.mandelbrot import LIMIT
from benchmarks.workloads.quicksort import DEPTH, LENGTH

THREADS: Final = 64
"""Threads of a block."""
RANGES: Final = DEPTH + 1
"""Ranges that wait in quicksort, at most."""


@cuda.jit
def collatz(start: Any, best: Any, most: Any, work: Any) -> None:
    """The number with the longest sequence, its length, and the total length, for ten numbers each."""
    k = cuda.grid(1)
    if k >= start.shape[0]:
        return
    longest, number, total = int32(-1), start[k], int32(0)
    for offset in range(WIDTH):
        n, steps = start[k] + int32(offset), int32(0)
        while n != 1:
            n = n >> 1 if n & 1 == 0 else int32(3) * n + int32(1)
            steps += int32(1)
        total += steps
        if steps > longest:
            number, longest = start[k] + int32(offset), steps
    best[k], most[k], work[k] = number, longest, total


@cuda.jit
def mandelbrot(x0: Any, y0: Any, result: Any) -> None:
    """The iterations that stay within a circle, up to a limit."""
    k = cuda.grid(1)
    if k >= x0.shape[0]:
        return
    x, y, steps = float32(0), float32(0), int32(0)
    while steps < LIMIT and x * x + y * y <= float32(4):
        x, y = x * x - y * y + x0[k], float32(2) * x * y + y0[k]
        steps += int32(1)
    result[k] = steps


@cuda.jit
def quicksort(values: Any, result: Any, compared: Any) -> None:
    """The values of each row in order, and the number of comparisons, with a stack of ranges in local memory."""
    k = cuda.grid(1)
    if k >= values.shape[0]:
        return
    for i in range(LENGTH):
        result[k, i] = values[k, i]
    begins, ends = cuda.local.array(RANGES, int32), cuda.local.array(RANGES, int32)
    count, total = 1, 0
    begins[0], ends[0] = 0, LENGTH
    while count > 0:
        count -= 1
        begin, end = begins[count], ends[count]
        pivot, place = result[k, end - 1], begin
        for i in range(begin, end - 1):
            value = result[k, i]
            if value < pivot:
                result[k, i], result[k, place] = result[k, place], value
                place += 1
        result[k, end - 1], result[k, place] = result[k, place], pivot
        total += end - 1 - begin
        if end - place > 2:
            begins[count], ends[count] = place + 1, end
            count += 1
        if place - begin > 1:
            begins[count], ends[count] = begin, place
            count += 1
    compared[k] = total


class Peer(NamedTuple):
    """A kernel, which takes its inputs and then the arrays for its results.

    Attributes:
        kernel: A function of numba.cuda.
        results: For each result, the dtype and the shape of a row.
    """

    kernel: Any
    results: Sequence[tuple[Any, tuple[int, ...]]]


PEERS: Final[dict[str, Peer]] = {
    "collatz": Peer(collatz, [(np.int32, ())] * 3),
    "mandelbrot": Peer(mandelbrot, [(np.int32, ())]),
    "quicksort": Peer(quicksort, [(np.float32, (LENGTH,)), (np.int32, ())]),
}
"""The peers by workload."""


def peer(name: str, arguments: Sequence[Any]) -> Callable[[], list[Any]] | None:
    """A run of a workload's peer, whose results are on the device when it ends; None if there is none or no CUDA."""
    if name not in PEERS or not cuda.is_available():
        return None
    kernel, rows = PEERS[name]
    given = [cuda.to_device(np.asarray(x)) for x in arguments]
    count = len(given[0])
    results = [cuda.device_array((count, *shape), dtype) for dtype, shape in rows]

    def run() -> list[Any]:
        kernel[-(-count // THREADS), THREADS](*given, *results)
        cuda.synchronize()
        return results

    return run


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all peers with hlobatch; returns the exit status."""
    from benchmarks.kernels import CASES, agreement

    parser = argparse.ArgumentParser("python -m benchmarks.cuda_peers", description=__doc__)
    parser.add_argument("--inputs", type=int, default=4)
    args = parser.parse_args(arguments)
    shares = []
    for name in PEERS:
        module, (function, made, _) = importlib.import_module(f"benchmarks.workloads.{name}"), CASES[name]
        inputs = getattr(module, made)(args.inputs)
        if (run := peer(name, inputs)) is None:
            print("numba finds no CUDA")
            return 1
        found, wanted = [x.copy_to_host() for x in run()], jax.tree.leaves(getattr(module, function)(*inputs))
        shares.append(agreement(found, wanted))
        print(f"{name}: {shares[-1]:.1%} of the numbers are equal")
    return int(min(shares) < 1)


if __name__ == "__main__":
    sys.exit(main())
