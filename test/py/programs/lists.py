"""Programs whose arguments and results are lists of unequal lengths."""

import bisect
import heapq
from collections import Counter, defaultdict, deque

import numpy as np

from programs.table import Program


def prime_factors_of(n):
    """The prime factors of a number, in order."""
    out = []
    d = 2
    while d * d <= n:
        while n % d == 0:
            out.append(d)
            n //= d
        d += 1
    if n > 1:
        out.append(n)
    return out


def two_that_sum_to(xs, target):
    """The places of two items that sum to a target."""
    seen = {}
    for i, x in enumerate(xs):
        if target - x in seen:
            return [seen[target - x], i]
        seen[x] = i
    return []


def merge_sorted(xs):
    """The items in order, by recursion on both halves."""
    if len(xs) <= 1:
        return xs
    mid = len(xs) // 2
    left = merge_sorted(xs[:mid])
    right = merge_sorted(xs[mid:])
    out = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    out.extend(left[i:])
    out.extend(right[j:])
    return out


def quick_sorted(xs):
    """The items in order, by recursion on the smaller and the larger ones."""
    if len(xs) <= 1:
        return xs
    p = xs[0]
    small = [x for x in xs[1:] if x < p]
    big = [x for x in xs[1:] if x >= p]
    return quick_sorted(small) + [p] + quick_sorted(big)


def all_subsets(n):
    """All subsets of the first numbers."""
    out = [[]]
    for i in range(n):
        out = out + [s + [i] for s in out]
    return out


def all_permutations(n):
    """All orders of the first numbers, by insertion."""
    if n == 0:
        return [[]]
    out = []
    for p in all_permutations(n - 1):
        for i in range(len(p) + 1):
            out.append(p[:i] + [n] + p[i:])
    return out


def all_queens(n):
    """All ways to place queens, by backtracking in an inner function."""
    out = []

    def place(row, cols):
        if row == n:
            out.append(cols[:])
            return
        for c in range(n):
            ok = True
            for r in range(row):
                if cols[r] == c or abs(cols[r] - c) == row - r:
                    ok = False
                    break
            if ok:
                cols.append(c)
                place(row + 1, cols)
                cols.pop()

    place(0, [])
    return out


def breadth_first_order(adj, start):
    """The nodes of a graph that a start reaches, the nearest first."""
    seen = {start}
    queue = deque([start])
    order = []
    while queue:
        u = queue.popleft()
        order.append(u)
        for v in range(6):
            if adj[u][v] and v not in seen:
                seen.add(v)
                queue.append(v)
    return order


def shortest_path(w, s, t):
    """The nodes on the shortest path to a target."""
    n = 6
    dist = [10**6] * n
    prev = [-1] * n
    dist[s] = 0
    heap = [(0, s)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for v in range(n):
            if w[u][v] > 0 and d + w[u][v] < dist[v]:
                dist[v] = d + w[u][v]
                prev[v] = u
                heapq.heappush(heap, (dist[v], v))
    path = []
    while t != -1:
        path.append(t)
        t = prev[t]
    return path[::-1]


def smallest_tails(xs):
    """The smallest last items of increasing subsequences of each length."""
    tails = []
    for x in xs:
        i = bisect.bisect_left(tails, x)
        if i == len(tails):
            tails.append(x)
        else:
            tails[i] = x
    return tails


def run_lengths(xs):
    """Pairs of an item and how often it repeats."""
    out = []
    for x in xs:
        if out and out[-1][0] == x:
            out[-1] = (x, out[-1][1] + 1)
        else:
            out.append((x, 1))
    return out


def run_lengths_in_lists(xs):
    """Lists of an item and how often it repeats, changed in place."""
    out = []
    for x in xs:
        if out and out[-1][0] == x:
            out[-1][1] += 1
        else:
            out.append([x, 1])
    return out


def merged_intervals(xs):
    """Intervals between neighbors, those that overlap merged."""
    pairs = sorted((min(a, b), max(a, b)) for a, b in zip(xs, xs[1:]))
    out = []
    for a, b in pairs:
        if out and a <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], b))
        else:
            out.append((a, b))
    return out


def pascals_triangle(n):
    """The rows of Pascal's triangle."""
    rows = []
    for i in range(n):
        row = [1] * (i + 1)
        for j in range(1, i):
            row[j] = rows[i - 1][j - 1] + rows[i - 1][j]
        rows.append(row)
    return rows


def grouped_by_remainder(xs):
    """Items by their remainder, in a dict."""
    groups = defaultdict(list)
    for x in xs:
        groups[x % 3].append(x)
    return dict(groups)


def counted(xs):
    """How often each item is there."""
    return Counter(xs)


def most_common_item(xs):
    """The item that is there most often."""
    c = Counter(xs)
    return max(c, key=lambda k: c[k])


def combinations(n, k):
    """All combinations of k numbers, by backtracking in an inner function."""
    out = []

    def go(start, cur):
        if len(cur) == k:
            out.append(list(cur))
            return
        for i in range(start, n):
            cur.append(i)
            go(i + 1, cur)
            cur.pop()

    go(0, [])
    return out


def coins_for(n):
    """Coins that make a sum, as few as can be."""
    coins = (1, 3, 4)
    best = [0] + [10**6] * n
    choice = [0] * (n + 1)
    for a in range(1, n + 1):
        for c in coins:
            if c <= a and best[a - c] + 1 < best[a]:
                best[a] = best[a - c] + 1
                choice[a] = c
    out = []
    while n:
        out.append(choice[n])
        n -= choice[n]
    return out


def common_subsequence(xs, ys):
    """The longest subsequence that two lists share."""
    n, m = len(xs), len(ys)
    t = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n):
        for j in range(m):
            t[i + 1][j + 1] = t[i][j] + 1 if xs[i] == ys[j] else max(t[i][j + 1], t[i + 1][j])
    out = []
    i, j = n, m
    while i and j:
        if xs[i - 1] == ys[j - 1]:
            out.append(xs[i - 1])
            i -= 1
            j -= 1
        elif t[i - 1][j] >= t[i][j - 1]:
            i -= 1
        else:
            j -= 1
    out.reverse()
    return out


def sliding_maximum(xs, k):
    """The largest item of each window."""
    dq = deque()
    out = []
    for i, x in enumerate(xs):
        while dq and xs[dq[-1]] <= x:
            dq.pop()
        dq.append(i)
        if dq[0] <= i - k:
            dq.popleft()
        if i >= k - 1:
            out.append(xs[dq[0]])
    return out


def moves_of_hanoi(n, a, b, c):
    """The moves of the towers of Hanoi."""
    if n == 0:
        return []
    return moves_of_hanoi(n - 1, a, c, b) + [(a, c)] + moves_of_hanoi(n - 1, b, a, c)


def sorted_uniques(xs):
    """The distinct items in order."""
    return sorted(set(xs))


def next_greater(xs):
    """For each item the next larger one behind it."""
    out = [-1] * len(xs)
    stack = []
    for i, x in enumerate(xs):
        while stack and xs[stack[-1]] < x:
            out[stack.pop()] = x
        stack.append(i)
    return out


_RNG = np.random.default_rng(0)
_EDGES = np.asarray(_RNG.integers(0, 3, (5, 6, 6)) == 0, np.int32)
_LENGTHS = np.asarray(_RNG.integers(0, 9, (5, 6, 6)) * _EDGES, np.int32)


def _lists(longest, most=9, last=()):
    """Five lists of random numbers."""
    return [[*_RNG.integers(0, most, _RNG.integers(0, longest)).tolist(), *last] for _ in range(5)]


PROGRAMS = (
    Program(prime_factors_of, ([2, 60, 97, 1, 1024],)),
    Program(two_that_sum_to, ([[1, 2, 3], [5], [4, 4], [0, 9, 1, 8], [2]], [5, 5, 8, 9, 4])),
    Program(merge_sorted, (_lists(7),)),
    Program(quick_sorted, (_lists(7),)),
    Program(all_subsets, ([0, 1, 3, 4, 2],)),
    Program(all_permutations, ([0, 1, 3, 4, 2],)),
    Program(all_queens, ([1, 4, 5, 3, 6],)),
    Program(breadth_first_order, (_EDGES, [0, 1, 2, 3, 4])),
    Program(shortest_path, (_LENGTHS, [0, 1, 2, 3, 4], [5, 4, 3, 2, 1])),
    Program(smallest_tails, (_lists(9),)),
    Program(run_lengths, (_lists(9, 3),)),
    Program(run_lengths_in_lists, (_lists(9, 3),)),
    Program(merged_intervals, (_lists(9, last=(1, 5)),)),
    Program(pascals_triangle, ([0, 1, 3, 4, 2],)),
    Program(grouped_by_remainder, (_lists(9),)),
    Program(counted, (_lists(9, 4),)),
    Program(most_common_item, (_lists(9, 3, last=(1,)),)),
    Program(combinations, ([4, 5, 3, 4, 2], [2, 3, 1, 4, 2])),
    Program(coins_for, ([0, 6, 7, 13, 1],)),
    Program(common_subsequence, (_lists(7, 4), _lists(7, 4))),
    Program(sliding_maximum, (_lists(9), [1, 2, 3, 2, 1])),
    Program(moves_of_hanoi, ([0, 1, 3, 2, 4], [0] * 5, [1] * 5, [2] * 5)),
    Program(sorted_uniques, (_lists(9),)),
    Program(next_greater, (_lists(9),)),
)
