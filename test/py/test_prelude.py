"""The prelude's version of Python's library: CPython's own tests under CPython, and lanes against CPython's modules."""

import bisect
import functools
import heapq
import importlib
import itertools
import math
import operator
import queue
import statistics
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import cpythons_tests
import numpy as np
import pytest
from test_containers import check

import hlobatch as hb
from hlobatch import prelude
from hlobatch.targets.registry import target_of


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


def gone_over(a, n):
    items = [x for x in a if x > 5 * n]
    turned = sum(map(lambda x, y: x * 3 + y, items, items[1:]))
    zipped = list(zip(items, range(n), strict=False)) + list(filter(lambda x: x[0] > n, [(n, 3), (4, a[0])]))
    best = max(enumerate(items, 1), key=lambda pair: pair[1])
    return turned, sum(filter(lambda x: x % 2, items)), len(zipped), best[0], len(dict(enumerate(items)))


def parts_of_a_list(a, n):
    items = [x % 10 for x in a if x > 5 * n]
    first = sum(itertools.takewhile(lambda x: x != 4, items)), sum(itertools.dropwhile(lambda x: x != 4, items))
    rest = sum(itertools.filterfalse(None, items)), sum(itertools.islice(items, 1, n + 1, 2))
    groups = [key * len(list(group)) for key, group in itertools.groupby(items)]
    return *first, *rest, sum(groups), sum(abs(x - y) for x, y in itertools.pairwise(items))


def lists_put_together(a, n):
    items = [x % 10 for x in a if x > 60]
    sums = list(itertools.accumulate(items, max, initial=n))
    return digest(sums), digest(itertools.chain(items, range(n), [3]))


def pairs_of_items(a, n):
    items = [x % 10 for x in a if x > 60]
    products = itertools.starmap(lambda x, y: x * y, itertools.product(items, range(n % 3)))
    return sum([x * y for x, y in itertools.combinations(items, 2)]), sum(products)


def folded(a, n):
    items = [x for x in a if x > 5 * n]
    begun = functools.reduce(lambda x, y: (x * 2 + y) % 101, items, n)
    return begun, functools.reduce(max, [*items, 3])


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


def other_dicts_of_pairs(a, n):
    items = [x % 7 for x in a if x > 10 * n]
    placed, known = OrderedDict(enumerate(items)), OrderedDict([(n, 1), (3, 2)])
    if items:
        placed.move_to_end(0)
    last = defaultdict(int, zip(items, range(n), strict=False))
    copied = OrderedDict(last)
    return digest(placed), digest(placed.values()), last[77] + len(last), digest(copied), len(known), known[3]


def numbers_of_math(a, n):
    items, halves = [x % 4 + 1 for x in a if x > 50 + n], [x * 0.5 for x in a if x > 10 * n]
    products = math.prod(items), math.prod(range(1, n + 1)), math.prod((x % 3 + 1 for x in a if x > 70), start=n)
    whole = math.gcd(*items), math.lcm(*range(1, n // 2 + 1)), math.gcd(*[n, 6])
    sides = math.fsum(halves), math.hypot(*halves), math.hypot(*range(n)), math.dist(halves, [2.0] * len(halves))
    return *products, *whole, *sides, total(*items), total(*range(n), by=3)


def total(*numbers, by=1):
    found = 0
    for number in numbers:
        found += number * by
    return found + len(numbers)


def looked_for(a, n):
    items, pairs, place = [x % 10 for x in a if x > 5 * n], [(x % 3, x % 2) for x in a if x > n], -1
    try:
        place = operator.indexOf(items, n)
    except ValueError:
        place = 100
    found = operator.countOf(items, 4), operator.countOf(pairs, (1, n % 2)), operator.countOf(range(n), 4)
    known = operator.countOf([1, 2, 1], 1), operator.countOf([n, 3, a[0]], 3), operator.indexOf([n, 9], n)
    for k in range(4):
        place = place * 3 + operator.countOf(items, k)
    return place, *found, *known


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


def reduced(a, n):
    items, pairs = [x for x in a if x > n], [(x % 3, x) for x in a if x > 50]
    total = sum(items) + sum(items, 10) + max(items, default=3) * 7 - min(items, default=4)
    if pairs:
        total += (
            max(pairs)[1] * 3 + min(pairs)[1] + min(pairs, key=lambda p: -p[1])[0] + max(pairs, key=lambda p: p[0])[1]
        )
    halves = [0.5 * x for x in items]
    return total, sum(halves), max(sum(items), n), sum(x > 50 for x in items) + sum([min(n, x) for x in items])


def of_nothing(a, n):
    items, total = [x for x in a if x > 90 + n], 0
    try:
        total = min(items) + max(items)
    except ValueError:
        total = -1
    return total


def in_a_lambda(a, n):
    items = [x for x in a if x > n]
    weigh = lambda xs: sum(xs) + max(xs, default=0)  # noqa: E731
    rows = [[x, n] for x in a if x < 50]
    return weigh(items), sum([max(row) for row in rows]), len([x for x in items if x < max(items)])


def tidied(xs):
    xs.sort()
    return xs[-1]


def ordered_in_place(a, n):
    items, queue = [x for x in a if x > n], Queue()
    items.sort(key=lambda x: x % 10, reverse=n % 2 == 1)
    for x in a:
        queue.heap.append(x)
        queue.heap.sort()
    fixed = [n, 3, a[0]]
    fixed.sort(key=lambda x: -x)
    return digest(items), tidied(items) if items else 0, digest(items), digest(queue.heap), fixed[1]


def used_last(a, n):
    used, left = OrderedDict(), 0
    for x in a:
        if x % 4 in used:
            used.move_to_end(x % 4, x % 3 != 1)
        else:
            used[x % 4] = x
            if len(used) > 2:
                left = left * 5 + used.popitem(last=False)[0]
    try:
        used.move_to_end(n)
    except KeyError:
        left += 10000
    return left, digest(used.values())


def counted_less(a, n):
    counts, others = Counter(x % 5 for x in a), Counter()
    counts.subtract([x % 4 for x in a if x > 10 * n])
    counts.subtract({n: 2, 1: 3})
    for x in a:
        others.subtract([x % 3, n])
    counts.subtract(others)
    others.update([n])
    left = digest(counts.elements())
    return left, counts[0], counts[n], counts[77], len(counts), others[n], len(list(others.elements()))


def counted_anew(a, n):
    groups = [[x for x in a if x % 3 == rest] for rest in range(n % 4)]
    counts = Counter()
    for group in groups:
        counts.update(group)
    others = Counter([x % 2 for x in a if x > n])
    counts.update(others)
    counts.update({n: 2, 1: n})
    doubled, few = Counter({x: 2 * x for x in a if x > n}), Counter({n: 2, 3: a[0]})
    few[n] += 1
    return digest(counts.elements()), counts.total(), digest(doubled.values()), doubled[77], few[n], few[3], few[-1]


def flattened(a, n):
    rows = [[x for x in a if x % 3 == rest] for rest in range(n % 4)]
    chain = itertools.chain.from_iterable
    left = digest(chain(rows)) + sum(chain([rows[0], [4, n]] if n % 4 else [[n], [1, 2]]))
    for x in chain(row[:1] for row in rows):
        left = left * 3 + x
    known = list(chain([[1, 2], [n]])) + list(chain([(1, 2), range(2)]))
    return left, len(set(chain(rows))), max(chain([0, *row] for row in rows), default=-1), sum(known)


def ordered(a, n):
    items, pairs = [x for x in a if x > n], [(x % 3, i, 0.5 * x) for i, x in enumerate(a) if x > n]
    total = digest(sorted(items)) + digest(sorted(items, reverse=True)) + digest(sorted(items, key=lambda x: x % 7))
    for k, (rest, i, half) in enumerate(sorted(pairs, key=lambda p: p[0], reverse=n % 2 == 0)):
        total += (k + 1) * (rest + 3 * i + int(2 * half))
    least, *_, greatest = sorted([n, a[0], a[1], 7])
    return total, least, greatest, sorted([n, a[2], 5], reverse=True)[1]


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
        reduced,
        of_nothing,
        in_a_lambda,
        ordered,
        pytest.param(ordered_in_place, marks=pytest.mark.slow),
        used_last,
        counted_less,
        pytest.param(counted_anew, marks=pytest.mark.slow),
        flattened,
        searched,
        gone_over,
        parts_of_a_list,
        lists_put_together,
        pairs_of_items,
        folded,
        looked_for,
        numbers_of_math,
        other_dicts_of_pairs,
        put_in_order,
        beyond_bounds,
        pytest.param(merged, marks=pytest.mark.slow),
    ],
    ids=lambda function: function.__name__,
)
def test_lanes_have_what_cpython_has(function: Callable[..., Any]) -> None:
    check(function, A, N)


def test_every_function_of_the_prelude_stands_for_one_of_python() -> None:
    names = dict(prelude.names())
    assert set(names) == set(cpythons_tests.CLASSES)
    for module, found in names.items():
        own = importlib.import_module(f"hlobatch.prelude.{module}")
        pythons = importlib.import_module(module)
        public = {name for name, value in vars(own).items() if isinstance(value, FunctionType) and name[0] != "_"}
        assert {name for name in public if hasattr(pythons, name)} == {name for name in found if "." not in name}
        assert all(prelude.standing_for(operator.attrgetter(name)(pythons)) for name in found)


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


def middle_one(seed):
    items = [seed * i * 37 % 101 for i in range(20) if seed * i % 3 != 2]
    return sorted(items)[len(items) // 2]


@pytest.mark.parametrize("function", [pops_too_often, middle_one])
def test_code_of_the_prelude_runs_as_a_kernel_by_itself(function: Callable[..., Any]) -> None:
    program = hb.batch(function).trace(np.arange(5, 9, dtype=np.int32)).lowered_program
    assert target_of("cpu").judge(program).by_themselves


@pytest.fixture
def registered() -> Iterator[None]:
    @hb.stands_for(statistics.median_low)
    def median_low(data):
        if not data:
            raise statistics.StatisticsError("no median for empty data")
        return sorted(data)[(len(data) - 1) // 2]

    @hb.stands_for(heapq._heapify_max)
    def turned(heap):
        for i in range(len(heap) // 2):
            heap[i], heap[-1 - i] = heap[-1 - i], heap[i]

    @hb.stands_for(queue.PriorityQueue)
    class Ordered:
        def __init__(self):
            self.heap = []

        def put(self, item):
            heapq.heappush(self.heap, item)

        def get(self):
            return heapq.heappop(self.heap)

        def empty(self):
            return not self.heap

    yield
    prelude._REGISTERED.clear()


def middles(a, n):
    items, known = [x for x in a if x > n], statistics.median_low([3, 1, 2])
    middle = statistics.median_low(items) if items else -1
    heapq._heapify_max(items)
    return middle, statistics.median_low(list(a)), [0, 10, 20, 30][known], digest(items)


def queued(a, n):
    waiting, total = queue.PriorityQueue(), 0
    for i in range(n):
        waiting.put((a[i] % 7, i))
    while not waiting.empty():
        rank, i = waiting.get()
        total = (total * 3 + rank * i) % 1009
    return total, isinstance(waiting, queue.PriorityQueue), isinstance(waiting, dict)


def test_a_class_is_registered_in_place_of_a_library_s(registered: None) -> None:
    check(queued, A, N)


def test_a_function_is_registered_in_place_of_a_library_s(registered: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = hb.batch(middles)(A, N)
    monkeypatch.setattr(heapq, "_heapify_max", prelude.standing_for(heapq._heapify_max))
    wanted = [middles(a, n) for a, n in zip(A.tolist(), N.tolist(), strict=True)]
    np.testing.assert_array_equal(np.stack(found, axis=1), wanted)
    with pytest.raises(hb.LaneError, match="no median for empty data"):
        hb.batch(lambda n: statistics.median_low([x for x in range(3) if x < n]))(N)
    with pytest.raises(TypeError):
        hb.stands_for(3)


def summed_twice(n):
    doubled = itertools.chain(range(n), [3])
    return sum(doubled) + sum(doubled)


def in_each_turn(n):
    total = 0
    items = (i for i in range(n))
    for _ in range(2):
        total += sum(items)
    return total


def asked_for_its_truth(n):
    pairs = zip(range(n), range(n), strict=False)
    return 1 if pairs else 0


def squares(items):
    total = 0
    for x in items:
        total += x * sum(items)
    return total


def by_a_helper(n):
    return squares(i for i in range(n))


def doubled(n):
    pairs = (2 * i for i in range(n))
    return n, pairs


def returned_by_a_helper(n):
    _, items = doubled(n)
    return sum(items) + sum(items)


@pytest.mark.parametrize("function", [summed_twice, asked_for_its_truth, by_a_helper])
def test_an_iterator_that_may_be_used_up_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(hb.UnsupportedSyntaxError, match="is an iterator, which may be used up"):
        hb.batch(function)(np.arange(3))


@pytest.mark.parametrize("function", [in_each_turn, returned_by_a_helper])
def test_an_iterator_that_is_used_up_gives_no_more_items(function: Callable[..., Any]) -> None:
    assert hb.batch(function)(np.arange(3)).tolist() == [function(n) for n in range(3)]


def iterators_gone_over_once(a, n):
    items = filter(lambda x: x > n, range(9))
    total = sum(items)
    above = [x for x in a if x > 50]
    items = enumerate(above)
    if n > 4:
        return total + sum(place * x for place, x in items)
    for k in range(n):
        pairs = zip(range(k), range(n), strict=False)
        total += sum(x * y for x, y in pairs)
    for place, x in items:
        total += place + x
    return total


def test_an_iterator_in_a_variable() -> None:
    check(iterators_gone_over_once, A, N)
