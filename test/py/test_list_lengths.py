"""Lists whose length is a lane's number, as people write them: each program against plain Python, lane by lane."""

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
