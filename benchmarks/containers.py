"""The cost of containers and library functions: processor time of 1,000 lanes, in each form, checked against Python.

`python -m benchmarks.containers [NAME …]` prints a table. It has processor time, of all threads, and not wall-clock
time, since only the former is comparable on a machine with other load.
"""

from __future__ import annotations

import bisect
import heapq
import sys
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax
import numpy as np

import hlobatch as hb

LANES: Final = 1_000
RUNS: Final = 11
FORMS: Final[Mapping[str, dict[str, Any]]] = {
    "default": {},
    "kernel": {"dispatch": "kernel"},
    "XLA's loop": {"optimizations": hb.Optimizations(kernels=False)},
}


def heap(seed):
    """40 pushes on a heap, and 40 pops."""
    heap, total = [], 0
    for _ in range(40):
        seed = (seed * 1103 + 12345) % 65536
        heapq.heappush(heap, seed % 1000)
    for _ in range(40):
        total = (total * 31 + heapq.heappop(heap)) % 1000003
    return total


def heap_of_tuples(seed):
    """40 pushes and pops on a heap of tuples: a cost and a number."""
    heap, total = [], 0
    for i in range(40):
        seed = (seed * 1103 + 12345) % 65536
        heapq.heappush(heap, (seed % 100, i))
    while heap:
        cost, i = heapq.heappop(heap)
        total = (total * 31 + cost + i) % 1000003
    return total


def heap_in_order(seed):
    """A list made a heap by `heapify`, then 40 pops."""
    heap, total = [], 0
    for _ in range(40):
        seed = (seed * 1103 + 12345) % 65536
        heap.append(seed % 1000)
    heapq.heapify(heap)
    while heap:
        total = (total * 31 + heapq.heappop(heap)) % 1000003
    return total


def table(seed):
    """200 look-ups in a dict of up to 60 keys."""
    counts, total = {}, 0
    for _ in range(200):
        seed = (seed * 1103 + 12345) % 65536
        key = seed % 60
        if key in counts:
            counts[key] += 1
        else:
            counts[key] = 1
        total = (total * 31 + counts[key]) % 1000003
    return total


def counter(seed):
    """200 increments and look-ups in a Counter of up to 60 keys."""
    counts, total = Counter(), 0
    for _ in range(200):
        seed = (seed * 1103 + 12345) % 65536
        counts[seed % 60] += 1
        total = (total * 31 + counts[seed % 60]) % 1000003
    return total


def sums(seed):
    """Sum and maximum of a growing list in each of 40 steps."""
    items, total = [], 0
    for _ in range(40):
        seed = (seed * 1103 + 12345) % 65536
        if seed % 4:
            items.append(seed % 1000)
        total = (total * 31 + sum(items) + max(items, default=0)) % 1000003
    return total


def questions(seed):
    """`any` and `all` of a growing list in each of 40 steps."""
    items, total = [], 0
    for _ in range(40):
        seed = (seed * 1103 + 12345) % 65536
        if seed % 4:
            items.append(seed % 10 > 7)
        total = total * 3 % 1009 + any(items) + 2 * all(items)
    return total


def sorting(seed):
    """A growing list that is sorted in every fifth step."""
    items, total = [], 0
    for i in range(40):
        seed = (seed * 1103 + 12345) % 65536
        if seed % 4:
            items.append(seed % 1000)
        if i % 5 == 4 and items:
            total = (total * 31 + sorted(items)[len(items) // 2]) % 1000003
    return total


def bisecting(seed):
    """`bisect.insort` into a growing list, and `bisect_left`."""
    items, total = [], 0
    for _ in range(40):
        seed = (seed * 1103 + 12345) % 65536
        bisect.insort(items, seed % 1000)
        total = (total * 31 + bisect.bisect_left(items, 500)) % 1000003
    return total


def queue(seed):
    """A deque with appends at one end and pops at the other."""
    items, total = deque(), 0
    for i in range(100):
        seed = (seed * 1103 + 12345) % 65536
        items.append(seed % 1000)
        if i % 3 == 2:
            total = (total * 31 + items.popleft() + items[0]) % 1000003
    return total


def members(seed):
    """`in`, `index` and `count` on a growing list."""
    items, total = [], 0
    for _ in range(100):
        seed = (seed * 1103 + 12345) % 65536
        if seed % 60 not in items:
            items.append(seed % 60)
        total = (total * 31 + items.index(seed % 60) + items.count(7)) % 1000003
    return total


def ordered(seed):
    """A cache of the eight keys that were used last, as an OrderedDict."""
    used, total = OrderedDict(), 0
    for _ in range(100):
        seed = (seed * 1103 + 12345) % 65536
        key = seed % 12
        if key in used:
            used.move_to_end(key)
        else:
            total += 1
            used[key] = seed
            if len(used) > 8:
                used.popitem(last=False)
    return total


def least(seed):
    """The three smallest of 40 numbers."""
    items = []
    for _ in range(40):
        seed = (seed * 1103 + 12345) % 65536
        items.append(seed % 1000)
    first, second, third = heapq.nsmallest(3, items)
    return first * 1000 + second * 100 + third


ALL: Final[Sequence[Callable[[Any], Any]]] = (
    heap,
    heap_of_tuples,
    heap_in_order,
    table,
    counter,
    sums,
    questions,
    sorting,
    bisecting,
    queue,
    members,
    ordered,
    least,
)


def measured(function: Callable[[Any], Any], options: Mapping[str, Any]) -> tuple[float, float]:
    """The median processor time of a run in milliseconds, and that of the first call in seconds."""
    batched, seeds = hb.batch(function, **options), np.arange(LANES, dtype=np.int32)
    begun = time.process_time()
    found = np.asarray(batched(seeds))
    first = time.process_time() - begun
    for lane in range(0, LANES, 97):
        assert found[lane] == function(lane), (function.__name__, lane)
    times = []
    for _ in range(RUNS):
        begun = time.process_time()
        jax.block_until_ready(batched(seeds))
        times.append(time.process_time() - begun)
    return 1e3 * float(np.median(times)), first


def main(names: Sequence[str]) -> None:
    print(f"{'':16}" + "".join(f"{form:>24}" for form in FORMS))
    for function in ALL:
        if names and function.__name__ not in names:
            continue
        line = f"{function.__name__:16}"
        for options in FORMS.values():
            try:
                run, first = measured(function, options)
                line += f"{f'{run:.2f} ms (first {first:.2f} s)':>24}"
            except hb.HloBatchError as error:
                line += f"{type(error).__name__:>24}"
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
