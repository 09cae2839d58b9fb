"""Python's library as hlobatch has it: CPython's own tests under CPython, and lanes against CPython's own modules."""

import bisect
import heapq
import importlib
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import cpythons_tests
import numpy as np
import pytest
from test_containers import check

import hlobatch as hb
from hlobatch import prelude


@pytest.mark.skipif(not find_spec("test"), reason="this Python is installed without its own tests")
@pytest.mark.parametrize("module", cpythons_tests.CLASSES)
def test_cpythons_own_tests_pass(module: str) -> None:
    done = subprocess.run([sys.executable, "-I", cpythons_tests.__file__, module], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


A = np.random.default_rng(5).integers(0, 100, (24, 9), np.int32)
N = np.arange(24, dtype=np.int32) % 10


def digest(items: Any) -> Any:
    total = 0
    for item in items:
        total = (total * 31 + item) % 10007
    return total


def pushed_and_popped(a, n):
    heap = []
    for x in a:
        if len(heap) > n % 4:
            heapq.heapreplace(heap, x)
        else:
            heapq.heappush(heap, x)
    last = heapq.heappop(heap)
    return last, heapq.heappushpop(heap, 50), digest(heap)


class Queue:
    def __init__(self):
        self.heap = []

    def put(self, *item):
        heapq.heappush(self.heap, item)


def in_an_object(a, n):
    queue, total = Queue(), 0
    for i in range(n):
        queue.put(a[i] % 5, i)
    while queue.heap:
        total = total * 7 % 1009 + heapq.heappop(queue.heap)[1]
    return total


def several(a, n):
    heaps = [[], []]
    for i in range(n):
        heapq.heappush(heaps[i % 2], -a[i])
    return digest(heaps[0]), digest(heaps[1])


def of_known_length(a, n):
    heap = [n, a[0], a[1] % 4, 7]
    heapq.heapify(heap)
    return heap[0], heap[1], heap[2], heap[3], heapq.heappop(heap)


def known(a, n):
    heap = [(5, "five"), (3, "three")]
    heapq.heapify(heap)
    heapq.heappush(heap, (4, "four"))
    return n + len(heapq.heappop(heap)[1])


def by_other_names(a, n):
    push, heap = heapq.heappush, [x for x in a if x > 50]
    pop = lambda h: heapq.heappop(h)  # noqa: E731
    heapq.heapify(heap)
    push(heap, n)
    return pop(heap), [heapq.heappop(heap) for _ in range(min(len(heap), 2))] == [1, 2]


def helped(a, n):
    def pop(heap):
        return heapq.heappop(heap)

    heap = []
    for x in a:
        heapq.heappush(heap, x)
    return pop(heap), pop(heap), digest(heap)


def when_empty(a, n):
    heap, total = [a[i] for i in range(n % 4)], 0
    heapq.heapify(heap)
    try:
        for _ in range(2):
            total += heapq.heappop(heap)
    except IndexError:
        total += 1000
    return total, len(heap)


def least_and_greatest(a, n):
    items = [x for x in a if x > 40]
    return digest(heapq.nsmallest(2, items)), digest(heapq.nlargest(n - 2, items)), digest(heapq.nsmallest(3, a))


def by_a_key(a, n):
    items = [(i, a[i] % 4) for i in range(n)]
    total = 0
    for i, k in heapq.nsmallest(3, items, key=lambda t: t[1]):
        total = total * 11 + i * 5 + k
    for i, k in heapq.nlargest(3, items, lambda t: t[1]):
        total = total * 11 + i * 5 + k
    return total


def searched(a, n):
    items = sorted(x for x in a if x > n)
    pairs = [(x // 10, i) for i, x in enumerate(items)]
    found = bisect.bisect(items, 50), bisect.bisect_left(items, n, 0, len(items)), bisect.bisect_right(pairs, (5, 2))
    return *found, bisect.bisect_left([1, 4, 6], n), bisect.bisect_left(items, n, key=lambda x: x // 7)


def put_in_order(a, n):
    items = []
    for x in a:
        bisect.insort(items, x % 20)
    bisect.insort_left(items, n)
    bisect.insort_right(items, -n, n % 4, key=lambda x: x // 3)
    return digest(items)


def beyond_bounds(a, n):
    items, found = [x for x in a if x > 10], -1
    try:
        found = bisect.bisect_left(items, 200, n - 2, n + 4)
    except IndexError:
        found = 100
    except ValueError:
        found = 200
    return found


def merged(a, n):
    left, right = sorted(x for x in a if x > n), sorted(a[i] for i in range(n))
    total = digest(heapq.merge(left, right, [10, 20]))
    for item in heapq.merge(left, [30, 60], key=lambda x: x // 7):
        total = (total * 3 + item) % 1009
    return total, digest(heapq.merge(left[::-1], right[::-1], reverse=True))


@pytest.mark.parametrize(
    "function",
    [
        pushed_and_popped,
        in_an_object,
        several,
        of_known_length,
        known,
        by_other_names,
        helped,
        when_empty,
        least_and_greatest,
        by_a_key,
        searched,
        put_in_order,
        beyond_bounds,
        merged,
    ],
    ids=lambda function: function.__name__,
)
def test_lanes_have_what_cpython_has(function: Callable[..., Any]) -> None:
    check(function, A, N)


def test_every_function_of_the_prelude_stands_for_one_of_python() -> None:
    names = dict(prelude.names())
    assert set(names) >= {"bisect", "heapq"}
    for module, found in names.items():
        own = importlib.import_module(f"hlobatch.prelude.{module}")
        public = {name for name, value in vars(own).items() if isinstance(value, FunctionType) and name[0] != "_"}
        assert public == set(found)
        assert all(prelude.standing_for(getattr(importlib.import_module(module), name)) for name in found)


def pops_too_often(n):
    heap = [i for i in range(n) if i > 2]
    heapq.heapify(heap)
    return heapq.heappop(heap) + heapq.heappop(heap)


def has_no_room(n):
    heap = hb.capacity([], 3)
    for i in range(n):
        heapq.heappush(heap, -i)
    return heap[0]


def asks_beyond_the_end(n):
    items = [i * 3 % 7 for i in range(7) if i < n]
    return len(heapq.nsmallest(2, [0, 1, 2], key=lambda i: items[i]))


def pops_from_nothing(n):
    return n + heapq.heappop([])


def is_of_two_kinds(n):
    heap = [n]
    heapq.heappush(heap, (n, 2))
    return len(heap)


@pytest.mark.parametrize(
    ("function", "kind", "at"),
    [
        (pops_too_often, IndexError, "heapq.heappop(heap)"),
        (has_no_room, hb.CapacityError, "heapq.heappush(heap, -i)"),
        (asks_beyond_the_end, IndexError, "heapq.nsmallest(2, [0, 1, 2], key=lambda i: items[i])"),
        (pops_from_nothing, hb.BatchTypeError, "heapq.heappop([])"),
        (is_of_two_kinds, TypeError, "heapq.heappush(heap, (n, 2))"),
    ],
)
def test_what_is_wrong_is_said_of_the_call(function: Callable[..., Any], kind: type[Exception], at: str) -> None:
    with pytest.raises(hb.HloBatchError) as caught:
        hb.batch(function)(N[1:9])
    assert isinstance(caught.value, kind)
    assert caught.value.location.text == at
    assert "hlobatch/prelude" not in str(caught.value)
