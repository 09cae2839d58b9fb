"""Lists whose length is a lane's number, as people write them: each program against plain Python, lane by lane."""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import lane_by_lane
import numpy as np
import pytest
from zoo import optimizing_little

import hlobatch as hb

N = np.array([5, 8, 1, 13, 3])
PAIRS = np.array([3, 1, 5, 6, 2]), np.array([4, 1, 2, 6, 5])


PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    """One of the programs."""
    PROGRAMS[function.__name__] = function
    return function


# Repeated: as often as the lane says


@program
def sieve(n):
    is_prime = [True] * (n + 1)
    is_prime[0] = is_prime[1] = False
    p = 2
    while p * p <= n:
        if is_prime[p]:
            for q in range(p * p, n + 1, p):
                is_prime[q] = False
        p += 1
    return sum(is_prime), sum([p for p in range(n + 1) if is_prime[p]])


@program
def sieve_by_slices(n):
    is_prime = [True] * (n + 1)
    for p in range(2, n + 1):
        is_prime[2 * p :: p] = [False] * len(is_prime[2 * p :: p])
    return sum(is_prime), len(is_prime)


@program
def slices_of_known_lists(n, m):
    items, rows = [1, 2, 3, 4, 5, 6], [[1, 2], [3, 4]]
    items[-2:2] = items[:n]
    items[1:3] = range(m)
    rows[1][:1] = [n] * m
    return sum(items), len(items), rows[1][0], len(rows[1])


@program
def change(n):
    fewest = [0] + [float("inf")] * n
    for s in range(1, n + 1):
        for coin in (1, 5, 7):
            if coin <= s:
                fewest[s] = min(fewest[s], fewest[s - coin] + 1)
    return fewest[n], fewest[-1]


@program
def paths(n, m):
    grid = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            grid[i][j] = 1 if i == 0 or j == 0 else grid[i - 1][j] + grid[i][j - 1]
    return grid[n - 1][m - 1], sum(len(row) for row in grid)


@program
def triangle(n):
    rows = []
    for i in range(n):
        row = [1] * (i + 1)
        for j in range(1, i):
            row[j] = rows[i - 1][j - 1] + rows[i - 1][j]
        rows.append(row)
    return sum(rows[n - 1]), len(rows)


@program
def of_several(n):
    twice = n * [1, 2]
    twice *= 2
    return sum([1, 2, 3] * n), len(twice), [0, 1] * n == [0, 1] * 5, len([1] * (n - 4)), [2] * n == [2, 2, 2]


@program
def of_a_growing_one(n):
    items = [2 * i for i in range(n)] * (n // 2)
    return len(items), sum(items), items[-1] if items else -1, len([2 * i for i in range(n)] * 2)


@program
def out_of_buckets(n):
    counts, out = [0] * 5, []
    for i in range(n):
        counts[i * i % 5] += 1
    for i, count in enumerate(counts):
        out += [i] * count
    return out[0], out[-1], len(out)


@program
def then_changed(n):
    items = [0] * n
    items.append(7)
    items.insert(0, 5)
    items.extend([1] * n)
    items.pop()
    return sum(items), len(items), items[0], items[n]


# Given to functions and given back, kept in objects and dicts, joined with lists of other lengths


def fill(items, value):
    for i in range(len(items)):
        items[i] = value + i


@program
def to_a_helper(n):
    items = [0] * n
    fill(items, 3)
    return sum(items)


def doubles(n):
    if n == 1:
        return [1, 2, 3]
    return [2 * i for i in range(n)]


@program
def from_a_helper(n):
    return sum(doubles(n)) + len(doubles(n + 1))


@program
def in_an_object(n):
    box = Box(n)
    for i in range(n):
        box.put(i, i * i)
    return sum(box.items), box.count


@program
def in_a_dict(n):
    d = {"a": [0] * n, "b": [1, 2]}
    for i in range(n):
        d["a"][i] = i
    d["b"].append(n)
    return sum(d["a"]), len(d["b"])


@program
def joined(n):
    items = [0] * n if n > 3 else [1, 2]
    others = [1] if n > 3 else [1, 2, 3]
    return len(items), sum(others), len(items + others)


class Box:
    def __init__(self, n):
        self.items = [0] * n
        self.count = 0

    def put(self, i, value):
        self.items[i] = value
        self.count += 1


# Slices with the bounds, or the step, of a lane


@program
def of_a_known_list(n, m):
    x = [3, 1, 4, 1, 5, 9, 2, 6]
    return sum(x[n:m]), len(x[m:]), x[:n] == x[:m], sum(x[-n:]), sum(x[n : n + 2]), sum(x[: n % 3] + x[4:])


@program
def by_steps(n, m):
    x, y = list(range(12)), list(range(n))
    backwards = x[n:m:-1], x[::-2], y[::-1], y[n::-2]
    return sum(x[::m]), sum(y[1::2]), len(y[::3]), sum(x[-n::m]), *map(sum, backwards), len(x[m::n])


@program
def rotated(n):
    x = [1, 2, 3, 4, 5, 6]
    turned = x[n % 6 :] + x[: n % 6]
    return turned[0], turned[5], sum(i * y for i, y in enumerate(turned))


@program
def assigned(n, m):
    x = list(range(12))
    x[n:] = [1] * m
    x[::m] = [7] * len(x[::m])
    x[:1] = []
    x[1:1] = x[:n]
    return sum(i * y for i, y in enumerate(x)), len(x)


@program
def assigned_backwards(n):
    x = list(range(n + 4))
    x[1:4] = x[1:4][::-1]
    x[n:0:-2] = x[0:n:2] if n % 2 == 0 else x[n:0:-2]
    x[-2:] = reversed(x[-2:])
    return sum(i * y for i, y in enumerate(x)), len(x)


@program
def taken_out(n, m):
    x = list(range(20))
    del x[n : n + m]
    del x[::m]
    del x[:1:-m]
    return sum(i * y for i, y in enumerate(x)), len(x)


@program
def next_permutation(n):
    x = list(range(n))
    for _ in range(5):
        i = n - 2
        while i >= 0 and x[i] >= x[i + 1]:
            i -= 1
        if i < 0:
            break
        j = n - 1
        while x[j] <= x[i]:
            j -= 1
        x[i], x[j] = x[j], x[i]
        x[i + 1 :] = x[i + 1 :][::-1]
    return sum(i * y for i, y in enumerate(x))


@program
def of_another_size(n):
    x = list(range(n))
    try:
        x[::2] = [1, 2, 3]
    except ValueError:
        return -1
    return sum(x)


@program
def unchanged_where_it_fails(n):
    x, y, z = list(range(n)), list(range(n)), list(range(n))
    try:
        x[::2] = [1, 2, 30]
    except ValueError:
        y.append(5)
    try:
        del y[:: n - 3]
    except ValueError:
        z.append(7)
    try:
        z[:: n - 3] = [50, 51]
    except ValueError:
        x.append(1)
    return sum(x), sum(y), sum(z)


# Ranges whose step is the lane's


@program
def up(n, k):
    r = range(n % 3, n * 2, k)
    last = list(r)[-1] if r else -1
    return len(r), sum(r), last, 4 in r, max(r, default=-1), r[::-1][0] if r else -2, r.index(n % 3)


@program
def down(n, k):
    r = range(n, -3, -k)
    return len(r), sum(r), min(r, default=5), max(r, default=5), 1 in r, len(r[::k]), r.index(n), r[-1]


@program
def gone_over(n, k):
    total = 0
    for i in range(n, 0, -k):
        for j in range(0, i, k):
            total += i * j + 1
    return total, sum(i for i in range(k, n, k)), len([2 * i for i in range(n, 0, -k)])


@program
def either_way(n, k):
    way = k - 3
    total = 0
    for i in range(10 * n, 40 - 10 * n, way or 1):
        total += i
    return total


@program
def no_step(n, k):
    try:
        return len(range(0, 5, n - 5))
    except ValueError:
        return -1


@program
def several(n, k):
    r = range(0, 10, 2) if n > 3 else range(20, 5, -3)
    return len(r), r[1], sum(r), r[-1], 8 in r


# Containers in lists and dicts that grow, each of a length of its own


@program
def neighbors(n):
    graph, degree = [[] for _ in range(n)], [0] * n
    for i in range(n):
        for j in range(i + 1, n, 2):
            graph[i].append((j, i))
            degree[j] += 1
    queue, order = deque(i for i in range(n) if degree[i] == 0), []
    while queue:
        u = queue.popleft()
        order.append(u)
        for v, _ in graph[u]:
            degree[v] -= 1
            if degree[v] == 0:
                queue.append(v)
    return order[-1], len(order), sum(len(edges) for edges in graph)


@program
def uneven_rows(n):
    rows = [[1, 2], [3]]
    for i in range(n):
        row = [i] if i % 2 else [i, i]
        rows.append(row)
    rows[n // 2] += [1, 2]
    rows[0][0] = 7
    rows[-1].insert(0, 5)
    last = rows[-1].pop()
    rows.append([n] * n)
    return sum(len(row) for row in rows), sum(sum(row) for row in rows), last


@program
def groups(n):
    by_rest, firsts, seen = defaultdict(list), {}, defaultdict(set)
    for i in range(n):
        by_rest[i * i % 4].append(i)
        firsts.setdefault(i % 3, []).append(i)
        seen[i % 2].add(i // 4)
    best = 0
    for rest, found in by_rest.items():
        best = max(best, 10 * len(found) + rest)
    lengths = [len(found) for found in firsts.values()]
    return best, len(by_rest.get(1, [])), sum(by_rest.get(9, [5])), max(lengths), len(seen[0])


@program
def sets_and_dicts_in_lists(n):
    sets, dicts = [set() for _ in range(n)], [{} for _ in range(n)]
    four = [set() for _ in range(4)]
    for i in range(3 * n):
        sets[i % n].add(i % 4)
        dicts[i % n][i % 5] = i
        four[i % 4].add(i % 7)
    return sum(len(s) for s in sets), sum(sum(d.values()) for d in dicts), sum(len(s) for s in four)


@program
def paths_on_a_stack(n):
    stack, done = [(0, [0])], []
    while stack:
        at, path = stack.pop()
        if at >= n % 7:
            done.append(path)
            continue
        stack.append((at + 1, [*path, at + 1]))
        if at % 2:
            stack.append((at + 2, path + [at + 2]))  # noqa: RUF005
    return len(done), max(len(path) for path in done), sum(sum(path) for path in done)


@program
def subsets(n):
    out, at_hand = [[]], []

    def go(i):
        out.append(at_hand[:])
        for j in range(i, n % 5):
            at_hand.append(j)
            go(j + 1)
            at_hand.pop()

    go(0)
    return len(out), sum(len(one) for one in out), sum(sum(one) for one in out)


@program
def comprehensions_of_dicts_and_sets(n):
    place = {i * 3 % 7: i for i in range(n)}
    late = {key: value + 1 for key, value in place.items() if value}
    lists = {i: [] for i in range(n)}
    for i in range(2 * n):
        lists[i % n].append(i)
    paired = dict(zip(range(n), [i * i for i in range(n)], strict=False))
    members = {i % 3 for i in range(n)}
    return len(place), sum(late.values()), sum(len(v) for v in lists.values()), sum(paired.values()), len(members)


@program
def put_behind_each_other(n):
    items, out = [i for i in range(n)], []  # noqa: C416
    for part in (items, range(n), [7]):
        out.extend(part)
    return len(out), sum(out), len(items)


# Deques that forget


@program
def window(n):
    last, spread = deque(maxlen=3), 0
    for i in range(n):
        last.append(i * i % 7)
        if len(last) == last.maxlen:
            spread += max(last) - min(last)
    items = list(last)
    items.extend([5, 6, 1, 2])
    return spread, len(items), items[0], last.popleft(), len(last)


@program
def both_ends(n):
    last, none = deque([n, 1, 2, 3], maxlen=3), deque(maxlen=0)
    for i in range(n):
        last.appendleft(i)
        none.append(i)
        if i % 3 == 2:
            last.extend([7, n])
    from_items = deque([i for i in range(n)], maxlen=2)  # noqa: C416
    from_items.append(9)
    return sum(i * x for i, x in enumerate(last)), last[0], len(none), sum(from_items), len(from_items)


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def product(self):
        return self.x * self.y


@program
def objects_in_lists(n):
    points, by_key = [Point(i % 3, i) for i in range(n)], {}
    points[0].x = 9
    points[n // 2].y += 5
    points.append(Point(n, 1))
    points.sort(key=lambda p: (p.x, -p.y))
    total = 0
    for p in points:
        total += p.product()
        by_key[p.x] = p
    best = max(points, key=lambda p: p.y)
    return total, sum(p.y for p in points), best.x, points.pop().y, sum(p.y for p in by_key.values())


@program
def row_in_two_places(n):
    rows = [[0] * 3] * n
    rows[0][1] = 5
    return sum(rows[-1])


@program
def list_in_two_places(n):
    rows = [[]] * n
    rows[0].append(5)
    return len(rows[-1])


@program
def name_of_a_row(n):
    rows = [[] for _ in range(n + 1)]
    row = rows[0]
    row.append(5)
    return len(rows[0]) + n


@program
def row_of_a_dict(n):
    by_rest = defaultdict(list)
    for i in range(n):
        row = by_rest[i % 2]
        row.append(i)
    return len(by_rest[0])


@program
def row_put_there_twice(n):
    row, rows = [], []
    for i in range(n):
        row.append(i)
        rows.append(row)
    return sum(len(row) for row in rows)


@program
def object_gone_over(n):
    points = [Point(i, 2 * i) for i in range(n)]
    for p in points:
        p.x += 1
    return sum(p.x for p in points)


@program
def object_looked_for(n):
    points = [Point(i, 2 * i) for i in range(n)]
    return Point(0, 0) in points


def put_into_the_middle_of_what_may_be_full(n):
    last = deque([n], maxlen=2)
    last.insert(1, n)
    return len(last)


@program
def reduced_before_the_first_item_is_known(n):
    primes, pile = [], deque()
    c = 2
    while len(primes) < n:
        few = sum(p < 4 for p in pile) + max((p for p in primes), default=0)
        if all(c % p for p in primes):
            primes.append(c)
            pile.append(c + few)
        c += 1
    return primes[-1], sum(primes), pile[-1], next((p for p in primes if p > 4), -1), len([p for p in pile if p > 5])


@program
def objects_compared(n):
    points = [Point(i, 2 * i) for i in range(n)]
    return points == [Point(i, 2 * i) for i in range(n)]


def lists_in_order(n):
    rows = [[i] * (i % 3) for i in range(n)]
    return max(rows)[0]


# One of several lists, each of its own length

ROADS = {0: [(1, 4), (2, 1)], 1: [(3, 1)], 2: [(1, 2), (3, 5)], 3: []}


@program
def shortest_ways(n):
    ways, heap = {}, [(n, n % 4)]
    while heap:
        length, place = heapq.heappop(heap)
        if place not in ways:
            ways[place] = length
            for other, more in ROADS[place]:
                heapq.heappush(heap, (length + more, other))
    return sum(ways.values()), len(ways)


@program
def one_of_several_lists(n):
    links, total = [[1, 2], [n], [3], []], 0
    for k in range(n):
        row = links[(n + k) % 4]
        total = total * 2 + len(row) + sum(row) + (n in row) + (row[0] if row else 7)
    return total


@program
def one_of_several_lists_changed(n):
    links = [[1, 2], [n], [3], []]
    links[n % 4].append(n)
    links[2].append(5)
    return sum(links[n % 4]), len(links[0]), sum(links[2])


@pytest.mark.parametrize("function", [lists_in_order, put_into_the_middle_of_what_may_be_full])
def test_what_python_would_see_otherwise_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises((hb.BatchTypeError, hb.UnsupportedSyntaxError)):
        hb.batch(function)(N)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_python(name: str) -> None:
    function = PROGRAMS[name]
    columns = PAIRS if function.__code__.co_argcount == 2 else (N,)
    with optimizing_little():
        found = jax.tree.leaves(hb.batch(function)(*map(jnp.asarray, columns)))
    wanted = jax.tree.leaves(lane_by_lane.batch(function)(*columns))
    assert len(found) == len(wanted)
    for got, value in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-6)
