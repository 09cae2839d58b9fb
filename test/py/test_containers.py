"""Lists, deques, heaps, sets and dicts of another length in each lane: every operation against plain Python."""

import heapq
import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from feature_pairs import made, right_or_refused
from marked import Marked
from optimized_hlo import whole_writes
from zoo import optimizing_little

import hlobatch as hb

NUMBERS = np.arange(13, dtype=np.int32)


def check(function: Callable[..., Any], *columns: Any) -> None:
    """Assert that a batch gives what plain Python gives for each example."""
    with optimizing_little():
        found = jax.tree.leaves(hb.batch(function)(*map(jnp.asarray, columns)))
    for row in range(len(columns[0])):
        example = [
            column[row].copy() if column[row].ndim else column[row].item() for column in map(np.asarray, columns)
        ]
        for leaf, wanted in zip(found, jax.tree.leaves(function(*example)), strict=True):
            np.testing.assert_allclose(np.asarray(leaf)[row], wanted, rtol=1e-6, err_msg=f"row {row}")


def ends(n):
    items = [0, 0, 0]
    while n > 0:
        items[n % 3] += n
        if n % 4 == 0:
            items.append(n)
        n -= 1
    items[-1] = 100
    items.extend([1, 2])
    del items[0]
    items.remove(1)
    return items[0], items[-1], items[-2], items.index(100), items.count(2), len(items), 100 in items, 77 in items


def middle(n):
    items = []
    for i in range(n):
        items.append((i * 7 % 5, float(i)))
        if i % 3 == 2:
            items.pop(1)
        if i % 4 == 3:
            items.insert(1, (9, 0.5))
    items.sort()
    total = 0.0
    for k, (a, b) in enumerate(items):
        total += (k + 1) * (a + b)
    part = items[1:3]
    part.reverse()
    for a, b in part:
        total = 2 * total + a - b
    return total, len(items), len(part), len(items[-2:]), len(items[::-1])


def sorted_by(n):
    items = []
    while n > 0:
        items.append((n % 4, n))
        n -= 1
    items.sort(key=lambda pair: pair[0], reverse=True)
    total = 0
    for a, b in items:
        total = total * 7 % 1009 + a * 10 + b
    up = sorted(items, key=lambda pair: -pair[1])
    return total, up[0] if len(up) > 0 else (-1, -1), max(items, default=(5, 5)), min(items, default=(5, 5))


def of_known_length_in_order(n):
    spans = [(n % 5, n + 3), (n * 3 % 7, n + 2), (4, n + 1)]
    spans.sort()
    merged = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    spans.sort(key=lambda span: span[1], reverse=True)
    return len(merged), sum(end - start for start, end in merged), spans[0]


def queue(n):
    waiting = deque([((0, 1), n)])
    total = 0
    while waiting:
        (i, j), left = waiting.popleft()
        total += i * j + left
        if left > 0:
            waiting.append(((i + 1, j + left), left // 2))
            if left % 2:
                waiting.appendleft(((j, i), left - 2))
            waiting.rotate(1)
    return total


def arrays(n):
    stack = [np.zeros(3)]
    total = 0.0
    while stack:
        x = stack.pop()
        total += x.sum()
        if n > 7:
            y = x.copy()
            y[n % 3] = n
            stack.append(y)
            stack.append(x * 2.0)
            n -= 1
    return total


def grown_while_gone_over(n):
    order = [n]
    for x in order:
        if x > 1:
            order.append(x // 2)  # noqa: PERF401
    return len(order), order[-1]


def comprehensions(n):
    items = []
    while n > 0:
        items.append(n)
        n -= 2
    squares = [x * x for x in items if x != 5]
    return (
        sum(x * x for x in items),
        any(x == 3 for x in items),
        max((x % 5 for x in items), default=0),
        len(squares),
        sum(squares),
        sum(items),
        items == [3, 1],
        items == squares,
        sum(i * x for i, x in enumerate(items)),
        sum(x * y for x, y in zip(items, reversed(items), strict=False)),
    )


def those_that(n):
    kept = [x for x in range(10) if x % 3 != n % 3]
    kept = [*kept, n]
    return len(kept), kept[-1], kept[2], sum(kept), sorted(kept, reverse=True)[1]


def backwards(n):
    items = []
    while n > 0:
        items.append(n)
        n -= 2
    total = 0
    for x in reversed(items):
        total = 2 * total + x
    for x, y in zip(items, items[1:], strict=False):  # noqa: RUF007
        total += x * y
    return total


def concatenated(n):
    left, right = [], []
    while n > 0:
        if n % 2:
            left.append(n)
        else:
            right += [n, 5]
        n -= 1
    both = left + right
    left, right = right, left
    other = both.copy()
    both.clear()
    return len(both), sum(other), len(left), len(right)


def push_all(stack, items):
    for x in items:
        if x > 2:
            stack.append(x)


def helper(n):
    stack = []
    push_all(stack, [n, n + 1])
    push_all(stack, [n, 3])
    return len(stack), sum(stack)


class Stack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        return self.items.pop()


def in_an_object(n):
    stack, total = Stack(), 0
    while n > 0:
        stack.push(n)
        if n % 3 == 0:
            total = 2 * total + stack.pop()
        n -= 1
    return total, len(stack.items)


def lists_in_a_list(n):
    neighbours = [[] for _ in range(4)]
    for k in range(12):
        u, v = (k * n) % 4, (k + n) % 3
        neighbours[u].append(v)
    total = 0
    for v in neighbours[n % 4]:
        total = total * 4 + v + 1
    return total, len(neighbours[2])


def in_the_order_of_evaluation(n):
    stack = [7, n]
    while n > 3:
        stack.append(n)
        n -= 1
    difference = stack.pop() - digest(stack)
    return (
        digest(stack),
        stack.pop() if n > 2 else -1,
        difference,
        [stack[i] if i < len(stack) else 0 for i in range(4)],
    )


def digest(items):
    total = 0
    for k in range(len(items)):
        total = (total * 31 + items[k] * (k + 1)) % 10007
    return total


def asked_for_their_class(n):
    items = [i for i in range(4) if i < n]
    waiting, seen = deque(items), set(items)
    waiting.append(n)
    kinds = isinstance(items, list), isinstance(waiting, (list, deque)), isinstance(seen, list), type(items) is list
    return kinds, len(waiting), bool(items)


def found_by_try(n):
    stack, turns = [1], 0
    try:
        while True:
            if turns < n:
                stack.append(n)
            turns += 1
            stack.pop()
            if turns > n:
                stack.pop()
    except IndexError:
        return turns
    return -1


PROGRAMS = (
    *(
        ends,
        middle,
        sorted_by,
        of_known_length_in_order,
        queue,
        arrays,
        grown_while_gone_over,
        comprehensions,
        those_that,
        backwards,
    ),
    *(
        concatenated,
        helper,
        in_an_object,
        lists_in_a_list,
        found_by_try,
        in_the_order_of_evaluation,
        asked_for_their_class,
    ),
)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_in_python(function: Callable[..., Any]) -> None:
    check(function, NUMBERS)


def path_of(n, path, longest):
    path.append(n)
    if n <= 1:
        longest = max(longest, len(path))
    else:
        longest = path_of(n - 2, path, longest)
        if n % 2 == 0:
            longest = path_of(n - 1, path, longest)
    path.pop()
    return longest


def longest_path(n):
    path = []
    return path_of(n, path, 0), len(path)


@pytest.mark.slow
def test_a_recursion_appends_to_its_argument() -> None:
    check(longest_path, NUMBERS[:7])


def heap(a, n):
    heap, total = [], 0
    for x in a:
        heapq.heappush(heap, x)
        if x % 3 == 0 and heap:
            total = (total * 7 + heapq.heappop(heap)) % 1009
        if x % 7 == 2 and len(heap) > 0:
            total = (total * 7 + heapq.heapreplace(heap, x + 9)) % 1009
        if x % 5 == 1:
            total = (total * 7 + heapq.heappushpop(heap, x - 2)) % 1009
    return total, digest(heap)


def heap_of_all(a, n):
    heap = [x for x in a if x > n]
    heapq.heapify(heap)
    total = digest(heap)
    if n % 2 == 0:
        heap = []
    return total, digest(heap), heapq.heappushpop(heap, 50), digest(heap)


def heap_of_tuples(a, n):
    heap, total = [], 0
    for i in range(len(a)):
        heapq.heappush(heap, (a[i] % 3, i, 0.5 * a[i]))
    while heap:
        first, i, x = heapq.heappop(heap)
        total = (total * 7 + first + i * int(2 * x)) % 10007
    return total


@pytest.mark.parametrize("function", [heap, heap_of_all, heap_of_tuples], ids=lambda f: f.__name__)
def test_heaps_have_the_same_items_in_the_same_places(function: Callable[..., Any]) -> None:
    random = np.random.default_rng(3)
    check(function, random.integers(0, 100, (40, 15), np.int32), random.integers(0, 90, 40, np.int32))


# Sets and dicts


def members(a, n):
    seen, twice = set(), 0
    for x in a:
        if x in seen:
            twice += 1
        else:
            seen.add(x)
        if x == 3:
            seen.discard(1)
    if n in seen:  # noqa: FURB132
        seen.remove(n)
    seen.update((n, 100))
    return len(seen), twice, sum(seen), max(seen), 7 in seen, sorted(seen)[1], min(seen), n + 100 in seen


def last_places(a, n):
    last, start, best = {}, 0, 0
    for i, c in enumerate(a):
        if c in last and last[c] >= start:
            start = last[c] + 1
        last[c] = i
        best = max(best, i - start + 1)
    total = 0
    for key in last:
        total = total * 10 % 10007 + key
    for key, place in last.items():
        total = (total * 7 + key * place) % 1009
    return best, total, len(last), last.get(n, -1), max(last.values()), sum(last), n in last.keys()


def counted(a, n):
    counts = Counter(a.tolist())
    value, most = counts.most_common(1)[0]
    counts[n] += 1
    del counts[n + 50]  # a Counter lacks the key, and raises nothing
    del counts[value]
    return value, most, len(counts), counts[n], counts[77]


def grouped(a, n):
    sums = defaultdict(int)
    for i, x in enumerate(a):
        sums[x % 3] += i
    return max(sums.values()), len(sums), sums[n], len(sums)


def keys_of_several_numbers(a, n):
    cost = {(0, 0): 0}
    todo = [(0, 0)]
    while todo:
        r, c = todo.pop()
        for dr, dc in ((0, 1), (1, 0)):
            place = (r + dr, c + dc)
            if r + dr + c + dc <= n and place not in cost:
                cost[place] = cost[r, c] + 1
                todo.append(place)
    if (1, 1) in cost:
        del cost[1, 1]
    popped, made = cost.pop((0, 1), 100), cost.setdefault((9, n), 5)
    cost.update({(7, n): n})
    return len(cost), sum(cost.values()), popped, made, cost[0, 0], cost[7, n]


def written_out(a, n):
    some = {n, n % 2, 1}
    every = {x % (n + 1) for x in a}
    known = {n: 1, 2: 3}
    squares = {x: x * x for x in range(6) if x < n}
    overwritten = {x % 3: x + n for x in range(6) if x < n}
    return (
        (len(some), len(every), len(known), known[2], len(squares), sum(squares.values())),
        (len(overwritten), sum(overwritten.values()), len({n, 2, n}), sum({x // 2 for x in range(5) if x < n})),
        (len(set(a)), len({x for x in a if x > n})),
    )


def memoized(a, n):
    memo = {0: 0, 1: 1}

    def fibonacci(k):
        if k not in memo:
            memo[k] = fibonacci(k - 1) + fibonacci(k - 2)
        return memo[k]

    return fibonacci(n), len(memo)


def found_by_key(a, n):
    known = {}
    for x in a:
        known[x] = 2 * x
    try:
        return known[n]
    except KeyError:
        return -1


def asked_without_a_default(a, n):
    successor, words, pairs = {}, {}, {}
    for x in a:
        successor[x] = (5 * x + 3) % 8
        words[x] = "even" if x % 2 == 0 else "odd"
        pairs[x] = (x, x + 0.5)
    at, steps = successor.get(n), 0
    while at is not None and steps < 9:
        steps += at
        at = successor.get(at)
    word, pair = words.get(n + 1), pairs.get(n)
    taken = successor.pop(n, None), successor.pop(n, None)
    return (
        (steps, 0 if word is None else len(word), -1.0 if pair is None else pair[0] + pair[1]),
        (taken[0] is None, taken[1] is None, sum(v for v in map(successor.get, range(8)) if v is not None)),
        max((v for v in [successor.get(0), successor.get(4)] if v is not None), default=-1),
        max((successor.get(0), successor.get(4)), key=lambda v: -1 if v is None else v) or 0,
        (successor.get(3) == 2, successor.get(3) in (None, 5), bool(words.get(3)), len(successor)),
    )


def computed_with_what_is_missing(a, n):
    known = {}
    for x in a:
        known[x] = 2 * x
    try:
        return known.get(n) + 1
    except TypeError:
        return -1


def sets_together(a, n):
    low, high = {x for x in a if x < n + 3}, {x for x in a if x > n}
    known = low | {n, 2}
    return (
        (len(low & high), len(low | high), len(low - high), low == high, low == low & high, len(known)),
        (sum(low.union([n, 50])), len(low.difference({1, 2})), high == {n + 1}),
    )


TABLES = (
    sets_together,
    members,
    last_places,
    counted,
    grouped,
    keys_of_several_numbers,
    written_out,
    memoized,
    found_by_key,
    asked_without_a_default,
    computed_with_what_is_missing,
)


@pytest.mark.parametrize("function", TABLES, ids=lambda f: f.__name__)
def test_tables_as_in_python(function: Callable[..., Any]) -> None:
    random = np.random.default_rng(4)
    check(function, random.integers(0, 8, (9, 9), np.int32), np.arange(9, dtype=np.int32))


@hb.batch
def looked_up(n):
    known = hb.capacity({}, 3)
    for i in range(n):
        known[2 * i] = i
    return known[4]


def test_a_key_that_is_missing_and_a_dict_that_is_full() -> None:
    with pytest.raises(hb.LaneError, match="no such key") as caught:
        looked_up(jnp.array([3, 2, 0]))
    assert isinstance(caught.value, KeyError)
    assert caught.value.lanes == (1, 2)
    with pytest.raises(hb.CapacityError, match="more than 3 items"):
        looked_up(jnp.array([3, 4]))


@hb.batch
def shown(n):
    seen, places = set(), {}
    for i in range(n):
        seen.add(i * i)
        places[i, n] = 0.5 * i
    print(seen, places, len(seen))
    return n


def test_tables_are_printed_as_python_has_them(capsys) -> None:
    shown(jnp.array([2]))
    assert capsys.readouterr().out.strip().endswith("{0, 1} {(0, 2): 0.0, (1, 2): 0.5} 2")


@hb.batch
def printed_and_full(n):
    items = []
    for i in range(n):
        items.append(i)  # noqa: PERF402
    print(n, len(items))
    return len(items)


def test_what_prints_is_not_run_again(capsys) -> None:
    with pytest.raises(hb.CapacityError):
        printed_and_full(jnp.array([1, 100]))
    assert len(capsys.readouterr().out.splitlines()) == 1


def distinct(n):
    seen = set()
    for i in range(n):
        seen.add(i * i)
    return len(seen)


def test_sets_get_more_room() -> None:
    assert hb.batch(distinct)(jnp.array([3, 200])).tolist() == [3, 200]


@hb.batch
def popped_from_a_heap(n):
    heap = [n]
    while n >= 0:
        heapq.heappop(heap)
        n -= 1
    return len(heap)


def test_a_lane_that_pops_an_empty_heap() -> None:
    with pytest.raises(hb.LaneError, match="index out of range") as caught:
        popped_from_a_heap(jnp.array([0, 1]))
    assert isinstance(caught.value, IndexError)
    assert caught.value.lanes == (1,)


# Lanes that fail


@hb.batch
def popped(n):
    stack = [n]
    while n > 0:
        stack.pop()
        n -= 1
    return len(stack)


def test_a_lane_that_pops_an_empty_list_fails_and_the_others_go_on() -> None:
    with pytest.raises(hb.LaneError, match="pop from empty list") as caught:
        popped(jnp.array([0, 1, 2, 0]))
    assert isinstance(caught.value, IndexError)
    assert caught.value.lanes == (2,)
    assert caught.value.outputs[:2].tolist() == [1, 0]
    assert caught.value.location.line == popped.__wrapped__.__code__.co_firstlineno + 4


@hb.batch
def taken(n):
    items = []
    for i in range(3):
        if i < n:
            items.append(i)  # noqa: PERF401
    return items[n - 2], items.index(n - 1)


@pytest.mark.parametrize(("n", "text"), [(0, "list index out of range"), (4, "is not in list")])
def test_what_is_not_there(n: int, text: str) -> None:
    with pytest.raises(hb.LaneError, match=text) as caught:
        taken(jnp.array([2, n, 3]))
    assert caught.value.lanes == (1,)


# Capacity


def hailstones(n):
    seen = []
    while n > 1:
        seen.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return len(seen), max(seen, default=1)


def test_a_call_by_itself_is_made_again_with_more_room() -> None:
    batched = hb.batch(hailstones)
    for _ in range(2):
        length, highest = batched(jnp.array([1, 6, 27, 97]))
        assert length.tolist() == [0, 8, 111, 118]
        assert highest.tolist() == [1, 16, 9232, 9232]
    length, _ = batched(jnp.array([27, 1, 1, 1]))  # the same program
    assert length.tolist() == [111, 0, 0, 0]
    assert jax.jit(batched)(jnp.array([1, 6, 27, 97]))[0].tolist() == [0, 8, 111, 118]  # which knows the room by now
    with pytest.raises(jax.errors.JaxRuntimeError, match="a list is full: write"):
        jax.jit(hb.batch(hailstones))(jnp.array([1, 6, 27, 97]))


@hb.batch
def with_room(n):
    items = hb.capacity([], 10)
    while n > 0:
        items.append(n)
        n -= 1
    return sum(items)


def test_append_costs_what_one_item_does() -> None:
    """Whatever the room: of Python's numbers, too, whose arrays adopt the dtype of what they meet."""

    def seconds(capacity: int) -> float:
        @hb.batch(dispatch="kernel", threads=1)
        def f(n):
            items = hb.capacity([0], capacity)
            for i in range(n):
                items.append((items[-1] + i) % 1000)
            return items[-1]

        times, n = [], np.array([3_000], np.int32)
        for _ in range(5):
            began = time.process_time()
            assert int(f(n)[0]) == 3_000 * 2_999 // 2 % 1000
            times.append(time.process_time() - began)
        return min(times)

    assert seconds(1 << 19) < 20 * seconds(1 << 12)


def test_statistics_are_of_a_run_with_enough_room() -> None:
    """What a call finds to be enough, later calls begin with, whichever of both it was."""

    @hb.batch
    def f(n):
        items = [n]
        while len(items) <= n:
            items.append(0)
        return len(items)

    n = np.array([3, 300], np.int32)
    result, stats = f.with_stats(n)
    assert result.tolist() == [4, 301]
    assert stats.inputs == 2
    assert f(n).tolist() == [4, 301]
    assert f.with_stats(n)[0].tolist() == [4, 301]


LONG_LISTS = {
    "ints": [*range(-5, 5)],
    "wide": [2**32 - 1, 7, 9, 1, 2, 3],
    "floats": [0.0, -0.0, 1.5, float("nan"), float("inf")],
    "flags": [True, False, False, True, True],
    "mixed": [1, 2.5, True, 4, 5],
    "complex": [1j, 2.0 + 0j, 3j, 4j, 5j],
    "the same": [7.5] * 9,
    "many": list(range(200_000)),
}


@pytest.mark.parametrize("name", LONG_LISTS)
def test_a_lane_finds_a_number_of_a_list_from_outside(name: str) -> None:
    outside = LONG_LISTS[name]

    @hb.batch
    def f(i):
        return outside[i]

    places = np.array([*range(5), -1], np.int32)
    found = np.asarray(f(places))
    wanted = np.array([outside[i] for i in places], found.dtype)
    np.testing.assert_array_equal(found, wanted)
    if wanted.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_a_capacity_holds_everywhere() -> None:
    assert with_room(jnp.array([3, 10])).tolist() == [6, 55]
    assert jax.jit(with_room)(jnp.array([3, 10])).tolist() == [6, 55]
    with pytest.raises(hb.CapacityError, match=re.escape("hb.capacity(items, n)")) as caught:
        with_room(jnp.array([3, 11]))
    assert isinstance(caught.value, hb.LaneError)
    assert caught.value.lanes == (1,)
    assert caught.value.outputs[0] == 6


def test_an_artifact_says_that_a_list_is_full(tmp_path) -> None:
    hb.export(with_room, jnp.arange(3)).save(tmp_path / "artifact")
    artifact = hb.load(tmp_path / "artifact")
    assert artifact.call(jnp.array([3, 10, 0])).tolist() == [6, 55, 0]
    with pytest.raises(hb.LaneError, match="append"):
        artifact.call(jnp.array([3, 11, 0]))


def test_capacity_is_nothing_in_plain_python() -> None:
    items = [1]
    assert hb.capacity(items, 3) is items


@hb.batch
def catches_all(n):
    items = hb.capacity([], 2)
    try:
        for i in range(n):
            items.append(i)
            items[i] += 1
    except Exception:  # noqa: BLE001  # that is what people write
        return -1
    return len(items)


def test_a_full_list_is_nothing_that_the_program_could_catch() -> None:
    assert catches_all(jnp.array([0, 2])).tolist() == [0, 2]
    with pytest.raises(hb.CapacityError):
        catches_all(jnp.array([0, 3]))


@pytest.mark.usefixtures("optimized_in_full")
def test_no_list_is_copied_where_an_item_is_pushed() -> None:
    @hb.batch(threads=1)
    def walk(n, seed):
        stack, total = hb.capacity([1], 512), 0
        while stack and n > 0:
            x = stack.pop()
            n -= 1
            total += x
            seed = (seed * 1103 + 12345) % 65536
            if seed % 3 != 0 or not stack:
                stack.append(x + 1)
                stack.append(seed % 7)
        return total

    if jax.default_backend() == "cpu":
        compiled = walk.trace(np.zeros(64, np.int32), np.zeros(64, np.int32)).lower().compile()
        assert whole_writes(compiled.as_text(), [(512, 64), (64, 512)])["copy"] == 0


COUNTS = Counter([1, 1, 2_000_000, 2_000_000])


def test_a_counter_that_nobody_changes_has_any_names():
    """Its keys and counts are the objects that they were, however often it is looked at."""

    def outside(x):
        counts = COUNTS
        y = x + counts[1]
        return y + counts[2_000_000]

    def with_two_names(x):
        counts = Counter([1, 1, 2])
        same = counts
        total = 0
        for _ in range(2):
            total += counts[1] + x
        return total + same[2]

    numbers = np.arange(3)
    assert hb.batch(outside)(numbers).tolist() == [4, 5, 6]
    assert hb.batch(with_two_names)(numbers).tolist() == [5, 7, 9]


def _set_in_a_list(x):
    rows = [set(), set()]
    s = rows[0]
    s.add(x)
    return len(rows[0])


def _each_set_of_a_list(x):
    rows = [set(), set()]
    for s in rows:
        s.add(x)
    return len(rows[0]) + len(rows[1])


def _set_in_a_dict(x):
    found = {"a": set()}
    s = found["a"]
    s.add(x)
    return len(found["a"])


def _set_in_a_tuple(x):
    pair = (set(), set())
    a, _ = pair
    a.add(x)
    return len(pair[0])


def _set_with_two_names(x):
    a = b = set()
    a.add(x)
    return len(b)


def _one_of_two_counters(x):
    odd, even = Counter(), Counter()
    for v in range(3):
        counts = odd if v % 2 else even
        counts[v + x] += 1
    return sum(odd.values()) * 10 + sum(even.values())


def _one_of_two_deques(x):
    a, b = deque(), deque()
    for k in range(4):
        some = a if k < x else b
        some.append(k)
    return len(a) * 10 + len(b)


class _Seen:
    def __init__(self):
        self.seen = set()

    def visit(self, v):
        seen = self.seen
        seen.add(v)


def _set_of_an_object(x):
    seen = _Seen()
    seen.visit(x)
    seen.visit(x + 1)
    return len(seen.seen)


def _added_through_another_name(s, v):
    t = s
    t.add(v)


def _set_in_a_helper(x):
    s = set()
    _added_through_another_name(s, x)
    return len(s)


def _list_or_none(x):
    a = [1, 2]
    v = [None, a][x % 2]
    if v is not None:
        v[0] = 9
    return a[0]


def _growing_list_or_none(x):
    a = [i for i in range(3) if i < x]
    v = {1: a}.get(x)
    if v is not None:
        v.append(9)
    return len(a)


def _list_with_an_item_or_none(x):
    a = [x if x > 1 else None, 1]
    b = a
    b[1] = 7
    return a[1]


def _list_with_a_place_or_none(x):
    a = [None] * 3
    a[x % 3] = x
    b = a
    b[0] = 7
    return -1 if a[0] is None else a[0]


def _list_of_a_key(x):
    found = {x: [x]}
    v = found.get(2)
    if v is not None:
        v.append(9)
    return len(found[x])


@pytest.mark.parametrize(
    "function",
    [
        _list_or_none,
        _list_with_an_item_or_none,
        _list_with_a_place_or_none,
        _growing_list_or_none,
        _list_of_a_key,
        _set_in_a_list,
        _each_set_of_a_list,
        _set_in_a_dict,
        _set_in_a_tuple,
        _set_with_two_names,
        _one_of_two_counters,
        _one_of_two_deques,
        _set_of_an_object,
        _set_in_a_helper,
    ],
    ids=lambda function: function.__name__[1:],
)
def test_another_name_sees_what_it_sees_in_python(function):
    """Sets, deques and counters that are empty so far are Python's own objects, and have names as lists do."""
    assert right_or_refused(function, range(3)) is None


_KNOWN, _GROWING = "[[a], [2], [3]]", "[[x, 1] for x in range(a + 2)]"


@pytest.mark.parametrize(
    ("items", "way"),
    [
        *((_KNOWN, way) for way in ("[x for x in s if x[0] > 1]", "s[a % 2:]", "sorted(s, key=lambda x: x[0])")),
        *((_KNOWN, way) for way in ("[max(s, key=lambda x: x[0])]", "[next(x for x in s if x[0] > 0)]")),
        *((_KNOWN, way) for way in ("(min(s[0], s[1], key=lambda x: x[0]),)", "[x if x[0] > 1 else [5] for x in s]")),
        *(
            (_GROWING, way)
            for way in ("s[:]", "s[::-1]", "s[1:] + [[5, 5]]", "list(reversed(s))", "dict(enumerate(s))")
        ),
    ],
)
def test_a_list_has_two_names_however_it_came_by_the_other_one(items, way, tmp_path):
    """Where lanes take one of several lists, or rows of a container are moved, they are the lists that they were."""
    text = f"""
def f(a):
    s = {items}
    z = {way}
    z[0].append(7)
    s[0].append(a)
    return sum(map(sum, s)) + 100 * sum(z[0]) + 1000 * sum(s[-1])
"""
    function = Marked(text, None, ()).module(tmp_path, "shared").f
    assert right_or_refused(function, range(4)) is None


class _Cell:
    def __init__(self):
        self.seen, self.times = None, 0


def places_without_a_value(n):
    first, pairs, cells = [None] * 5, [None, None], [_Cell(), _Cell(), _Cell()]
    i = 0
    while i < n:
        k = (i * i + 1) % 5
        if first[k] is None:
            first[k] = i
        else:
            first[k] += 10
        if pairs[k % 2] is None or pairs[k % 2][0] < i:
            pairs[k % 2] = (i, k / 2)
        if cells[k % 3].seen is None:
            cells[k % 3].seen = i
        cells[k % 3].times += 1
        i += 1
    first[0], first[n % 5] = first[n % 5], first[0]
    return (
        (sum(v for v in first if v is not None), first.count(None), None in first, first.index(None)),
        sum(x + y for x, y in [pair for pair in pairs if pair is not None][:1]),
        (sum(cell.times for cell in cells), sum(0 if cell.seen is None else cell.seen + 1 for cell in cells)),
    )


def remembered(n):
    memo = [None] * 30

    def fibonacci(k):
        if k < 2:
            return k
        if memo[k] is None:
            memo[k] = fibonacci(k - 1) + fibonacci(k - 2)
        return memo[k]

    return fibonacci(n)


def paths_of_a_grid(n):
    memo = [[None] * 4 for _ in range(4)]

    def paths(i, j):
        if i == 0 or j == 0:
            return 1
        if memo[i][j] is not None:
            return memo[i][j]
        memo[i][j] = paths(i - 1, j) + paths(i, j - 1)
        return memo[i][j]

    return paths(n % 4, 3)


def table_of_places(n):
    """As many items as are kept in one array where all are numbers."""
    table, row = [[None] * 5 for _ in range(4)], [None] * 20
    for k in range(n):
        table[k % 4][k * 2 % 5] = row[k * 3 % 20] = k
    first, second = table[n % 4][(n + 1) % 5], row[n * 3 % 20]
    count = sum(table[i][j] is None for i in range(4) for j in range(5))
    return -1 if first is None else first, second is None, count


def ways_through_a_table(n):
    memo = [[None] * 6 for _ in range(6)]

    def ways(i, j):
        if i == 0:
            return 1
        if memo[i][j] is not None:
            return memo[i][j]
        memo[i][j] = ways(i - 1, j) + j
        if j > 1:
            memo[i][j] += ways(i, j - 1)
        return memo[i][j]

    return ways(n % 6, n % 5)


NONE_IN_SOME_LANES = [places_without_a_value, remembered, paths_of_a_grid, table_of_places, ways_through_a_table]


@pytest.mark.parametrize("function", NONE_IN_SOME_LANES, ids=lambda f: f.__name__)
def test_items_that_are_none_in_some_lanes(function):
    check(function, NUMBERS)


def least_above(n):
    best = None
    for i in range(5):
        value = (7 * i) % 5 + n
        if value > 9 and (best is None or value < best):
            best = value
    return best


def test_a_lane_whose_result_is_none_fails_and_the_others_go_on():
    with pytest.raises(hb.LaneError, match="the result is None") as caught:
        hb.batch(least_above)(NUMBERS)
    without = [n for n in NUMBERS.tolist() if least_above(n) is None]
    assert sorted(caught.value.errors) == without
    given = np.asarray(caught.value.outputs)
    assert [given[n] for n in NUMBERS if n not in without] == [least_above(n) for n in range(13) if n not in without]


def greatest_so_far(n):
    items, best = [], 0
    for i in range(n):
        if i > 0:
            best += max(items)
        items.append(i)
    return best


def first_of_those_so_far(n):
    items, total = [], 0
    for i in range(n):
        if i > 0:
            first, *_ = items
            total += first
        items.append(i + 1)
    return total


def least_of_a_queue(n):
    items, total = deque(), 0
    for i in range(n):
        if i > 1:
            total += min(items)
        items.append(i + 1)
    return total


@pytest.mark.parametrize("function", [greatest_so_far, first_of_those_so_far, least_of_a_queue])
def test_whatever_an_empty_list_raises_it_may_be_one_that_grows(function):
    """Only some of the texts that Python has for it were known: this was refused with the text of Python's error."""
    assert hb.batch(function)(np.arange(5, dtype=np.int32)).tolist() == [function(n) for n in range(5)]


@dataclass
class Compared:
    """Objects that ``__eq__`` compares, so that Python cannot hash them."""

    value: int


UNHASHABLE: dict[str, Callable[[Any], Any]] = {
    "an item": lambda n: {n: 1}[[n]],
    "an item that may be left out": lambda n: {n: 1}.get([n], 3),
    "an item of known ones": lambda n: {1: 2}[[n]],
    "a member": lambda n: [n] in {n, 1},
    "a member of known ones": lambda n: [n] in {1, 2},
    "a key": lambda n: {n} in {1: 2, 3: 4},
    "in a tuple": lambda n: {(1, n): 1}.get((1, [n]), 3),
    "a dict": lambda n: {n: 1}.get({n: 1}, 3),
    "put in": lambda n: len({[n]: 2}),
    "an object": lambda n: Compared(n) in {1, 2},
    "an object beside keys of a lane": lambda n: Compared(n) in {n: 1},
    "an object that may be left out": lambda n: {n: 1}.get(Compared(n), 3),
}


@pytest.mark.parametrize("function", UNHASHABLE.values(), ids=UNHASHABLE)
def test_what_cannot_be_hashed_is_no_key(function: Callable[[Any], Any]) -> None:
    """Regression: most of them were keys that equal the row of their items, silently."""
    with pytest.raises(TypeError, match="unhashable type") as pythons:
        function(3)
    with pytest.raises(hb.BatchTypeError, match=str(pythons.value).split("type: ")[1]):
        hb.batch(function)(np.arange(3))


def test_a_number_has_no_items() -> None:
    """Regression: an IndexError, which a program may catch where Python raises a TypeError."""

    def first(n: Any) -> Any:
        try:
            return n[0]
        except IndexError:
            return 1

    with pytest.raises(hb.BatchTypeError, match="an int has no items"):
        hb.batch(first)(np.arange(3))


# Keys of lanes whose values are None; positions


@pytest.mark.parametrize(
    ("body", "is_refused"),
    [
        ("return list(dict.fromkeys([n, 3, 2, n]))[0], len(dict.fromkeys([n, 3, n]))", False),
        ("return sum(dict.fromkeys([i % n for i in range(n + 4)]))", False),
        ("d = dict.fromkeys([n, 3], 0); d[3] += 4; return sum(d.values())", False),
        ("d = dict.fromkeys([n, 2]); return d.get(2) is None, d.get(9, 5) is None, 3 in d, d.pop(3, 7) is None", False),
        ("d = dict.fromkeys([n, 2]); d.update(dict.fromkeys([n + 1])); d.setdefault(3, None); return len(d)", False),
        ("d = {n: None, 2: None}; return d == dict.fromkeys([2, n]), d == {n: 1, 2: 3}, {n: 1} == {n: None}", False),
        ("d = {n: None}; e = d if n > 2 else {n: None, 2: None}; return e.get(2) is None, len(e)", False),
        ("d = {n: None}; k, v = d.popitem(); return k, v is None, len([k for k, v in d.items() if v is None])", False),
        ("d = dict.fromkeys('abc', n); return sum(d.values())", False),
        ("d = {n: None, 2: None}; return len(d.values())", True),
        ("d = {n: None}; d[2] = n; return d[2]", True),
        ("d = dict.fromkeys([n, 2], []); d[2].append(n); return len(d[n])", True),
        (
            "xs = [n, 2, 3, n, 5]; return xs.index(n, 1), xs.index(5, 0, 5), xs.index(3, n - 4), (4, n).index(n, -1)",
            False,
        ),
        (
            "xs = [i % 3 for i in range(n + 4)]; return xs.index(0, 1), xs.index(1, n - 1), xs.index(2, -4, n + 3)",
            False,
        ),
        ("xs = [4, n, 5]; return xs.index(n, n)", False),
        ("xs = [i for i in range(n)]; return xs.index(0, 1)", False),
        ("rows = [[n, 2], [3, 4, n]]; del rows[n % 2][0], rows[0][-1]; return sum(rows[0]), sum(rows[1])", False),
        ("rows = [[n, 2], [3, 4, n]]; del rows[n % 2][n]; return sum(rows[0]), sum(rows[1])", False),
        ("rows = [[n, 2], [3, 4, n]]; i = (n + 1) % 2; del rows[i][1:]; return len(rows[0]), len(rows[1])", False),
        ("d = {n: [1, 2, n], 7: [8]}; del d[n][0]; return sum(d[n]), len(d[7])", False),
    ],
)
def test_keys_and_positions_as_in_python(body: str, is_refused: bool) -> None:
    statements, values = body.split("return ")
    text = "def code(*vs):\n    t = 0\n    for v in vs: t = t * 20 + v\n    return t\n"
    error = right_or_refused(made(f"{text}def main(n):\n    {statements}return code({values})\n"), [1, 3, 5])
    assert (error is not None) == is_refused, error
