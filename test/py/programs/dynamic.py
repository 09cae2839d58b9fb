"""Dynamic programs: tables filled in place, memo tables, and recursion with a choice."""

import functools

import numpy as np

from programs.table import Program


def edit_distance(a, b):
    m, n = len(a), len(b)
    d = np.zeros((m + 1, n + 1), dtype=int)
    for i in range(m + 1):
        d[i, 0] = i
    for j in range(n + 1):
        d[0, j] = j
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[m, n]


def edit_distance_two_rows(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            if x == y:
                current.append(previous[j - 1])
            else:
                current.append(1 + min(previous[j - 1], previous[j], current[-1]))
        previous = current
    return previous[-1]


def longest_common_subsequence(a, b):
    n, m = len(a), len(b)
    L = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n):
        for j in range(m):
            if a[i] == b[j]:
                L[i + 1][j + 1] = L[i][j] + 1
            else:
                L[i + 1][j + 1] = max(L[i + 1][j], L[i][j + 1])
    return L[n][m]


def lcs_recursive(a, b, i, j):
    if i == 0 or j == 0:
        return 0
    if a[i - 1] == b[j - 1]:
        return 1 + lcs_recursive(a, b, i - 1, j - 1)
    return max(lcs_recursive(a, b, i - 1, j), lcs_recursive(a, b, i, j - 1))


def knapsack(weights, values, capacity, most=30):
    best = [0] * (most + 1)
    for w, v in zip(weights, values):
        for c in range(capacity, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[capacity]


def knapsack_recursive(weights, values, capacity):
    n = len(weights)

    def solve(i, room):
        if i == n:
            return 0
        without = solve(i + 1, room)
        if weights[i] > room:
            return without
        return max(without, values[i] + solve(i + 1, room - weights[i]))

    return solve(0, capacity)


def coin_change(coins, amount, most=40):
    """The smallest number of coins, or -1."""
    INF = 10**9
    dp = np.full(most + 1, INF)
    dp[0] = 0
    for x in range(1, amount + 1):
        for c in coins:
            if c <= x and dp[x - c] + 1 < dp[x]:
                dp[x] = dp[x - c] + 1
    return int(dp[amount]) if dp[amount] < INF else -1


def count_change(amount, kinds):
    """The number of ways to change an amount, as in the book by Abelson and Sussman."""
    coins = (1, 5, 10, 25, 50)
    if amount == 0:
        return 1
    if amount < 0 or kinds == 0:
        return 0
    return count_change(amount, kinds - 1) + count_change(amount - coins[kinds - 1], kinds)


def longest_increasing_subsequence(a):
    n = len(a)
    best = [1] * n
    for i in range(n):
        for j in range(i):
            if a[j] < a[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
    return max(best)


def lis_patience(a):
    """The length of the longest increasing subsequence, by patience sorting."""
    tails = []
    for x in a:
        lo, hi = 0, len(tails)
        while lo < hi:
            mid = (lo + hi) // 2
            if tails[mid] < x:
                lo = mid + 1
            else:
                hi = mid
        if lo == len(tails):
            tails.append(x)
        else:
            tails[lo] = x
    return len(tails)


def matrix_chain(dims):
    n = len(dims) - 1
    cost = np.zeros((n, n), dtype=int)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = 10**8
            for k in range(i, j):
                q = cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
                if q < cost[i, j]:
                    cost[i, j] = q
    return cost[0, n - 1]


def kadane(a):
    """The largest sum of a stretch."""
    best = current = a[0]
    for x in a[1:]:
        current = max(x, current + x)
        best = max(best, current)
    return best


def kadane_with_bounds(a):
    best, best_start, best_end = -float("inf"), 0, 0
    current, start = 0.0, 0
    for end, x in enumerate(a):
        if current <= 0:
            start = end
            current = x
        else:
            current += x
        if current > best:
            best = current
            best_start = start
            best_end = end + 1
    return best, best_start, best_end


def stock_trades(prices, fee):
    """The most profit of any number of trades with a fee."""
    cash, hold = 0.0, -prices[0]
    for p in prices[1:]:
        cash, hold = max(cash, hold + p - fee), max(hold, cash - p)
    return cash


def climb_stairs(n):
    if n <= 2:
        return n
    a, b = 1, 2
    for _ in range(3, n + 1):
        a, b = b, a + b
    return b


def fibonacci_memo(n):
    memo = {0: 0, 1: 1}

    def fib(k):
        if k not in memo:
            memo[k] = fib(k - 1) + fib(k - 2)
        return memo[k]

    return fib(n)


def tribonacci(n):
    table = [0, 0, 1] + [0] * 27
    for i in range(3, n + 1):
        table[i] = table[i - 1] + table[i - 2] + table[i - 3]
    return table[n]


def unique_paths(m, n):
    """Paths in an ``m`` by ``n`` grid, recursively."""
    if m == 1 or n == 1:
        return 1
    return unique_paths(m - 1, n) + unique_paths(m, n - 1)


def min_path_sum(grid):
    rows, cols = grid.shape
    for i in range(rows):
        for j in range(cols):
            if i == 0 and j == 0:
                continue
            up = grid[i - 1, j] if i > 0 else 10**6
            left = grid[i, j - 1] if j > 0 else 10**6
            grid[i, j] += min(up, left)
    return grid[-1, -1]


def partition_count(n):
    """Partitions of a number, by Euler's pentagonal numbers."""
    p = [1] + [0] * 40
    for i in range(1, n + 1):
        k = 1
        while k * (3 * k - 1) // 2 <= i:
            sign = 1 if k % 2 else -1
            p[i] += sign * p[i - k * (3 * k - 1) // 2]
            if k * (3 * k + 1) // 2 <= i:
                p[i] += sign * p[i - k * (3 * k + 1) // 2]
            k += 1
    return p[n]


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def max_subset_sum(a, target):
    """Whether some of the numbers add up to a target."""
    reachable = 1
    for x in a:
        reachable |= reachable << x
    return (reachable >> target) & 1 == 1


def house_robber(houses):
    take = skip = 0
    for money in houses:
        take, skip = skip + money, max(take, skip)
    return max(take, skip)


def optimal_game(a):
    """The margin by which the first of two players wins who take numbers from the ends."""

    @functools.cache
    def score(i, j):
        if i == j:
            return a[i]
        return max(a[i] - score(i + 1, j), a[j] - score(i, j - 1))

    return score(0, len(a) - 1)


_RNG = np.random.default_rng(17)
_WORDS = np.array([[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [1, 1, 2, 2, 3], [9, 9, 9, 9, 9]])
_OTHERS = np.array([[1, 2, 3, 4, 5], [2, 3, 4, 6, 5], [1, 2, 3, 4, 5], [2, 1, 2, 1, 3], [1, 2, 9, 3, 4]])
_NUMBERS = np.array([[3, -2, 5, -1, 2, -9], [-3, -1, -2, -5, -4, -6], [1, 2, 3, 4, 5, 6], [4, -5, 4, -5, 7, 0]])

PROGRAMS = [
    Program(edit_distance, (_WORDS, _OTHERS)),
    Program(edit_distance_two_rows, (_WORDS, _OTHERS)),
    Program(longest_common_subsequence, (_WORDS, _OTHERS)),
    Program(lcs_recursive, (_WORDS, _OTHERS, [5, 5, 4, 5, 3], [5, 4, 5, 5, 5])),
    Program(
        knapsack,
        (
            np.array([[1, 3, 4, 5], [2, 2, 6, 5], [10, 20, 5, 6], [4, 4, 4, 4]]),
            np.array([[1, 4, 5, 7], [6, 3, 5, 4], [60, 100, 10, 2], [1, 2, 3, 4]]),
            [7, 10, 30, 3],
        ),
    ),
    Program(
        knapsack_recursive,
        (
            np.array([[1, 3, 4, 5], [2, 2, 6, 5], [10, 20, 5, 6], [4, 4, 4, 4]]),
            np.array([[1, 4, 5, 7], [6, 3, 5, 4], [60, 100, 10, 2], [1, 2, 3, 4]]),
            [7, 10, 30, 3],
        ),
    ),
    Program(coin_change, (np.array([[1, 2, 5], [2, 4, 6], [3, 7, 11], [1, 15, 25]]), [11, 7, 29, 30])),
    Program(count_change, ([0, 10, 25, 31], [5, 5, 3, 4])),
    Program(longest_increasing_subsequence, (_NUMBERS,)),
    Program(lis_patience, (_NUMBERS,)),
    Program(matrix_chain, (np.array([[10, 30, 5, 60], [40, 20, 30, 10], [5, 5, 5, 5], [1, 100, 1, 100]]),)),
    Program(kadane, (_NUMBERS,)),
    Program(kadane_with_bounds, (_NUMBERS.astype(float),)),
    Program(
        stock_trades, (np.array([[1.0, 3, 2, 8, 4, 9], [5.0, 4, 3, 2, 1, 0], [1.0, 2, 3, 4, 5, 6]]), [2.0, 1.0, 0.5])
    ),
    Program(climb_stairs, ([1, 2, 3, 10, 30],)),
    Program(fibonacci_memo, ([0, 1, 2, 10, 20],)),
    Program(tribonacci, ([0, 2, 3, 10, 29],)),
    Program(unique_paths, ([1, 3, 4, 2], [5, 3, 4, 7])),
    Program(min_path_sum, (_RNG.integers(0, 9, (4, 4, 5)),)),
    Program(partition_count, ([1, 5, 10, 40],)),
    Program(ackermann, ([0, 1, 2, 2], [3, 4, 2, 3])),
    Program(max_subset_sum, (np.array([[3, 4, 5, 2], [1, 2, 4, 8], [2, 4, 6, 8], [5, 5, 5, 5]]), [9, 15, 7, 11])),
    Program(house_robber, (np.array([[1, 2, 3, 1], [2, 7, 9, 3], [5, 1, 1, 5], [0, 0, 0, 0]]),)),
    Program(optimal_game, (np.array([[1, 5, 2, 4], [1, 20, 3, 2], [7, 7, 7, 7], [2, 1, 1, 9]]),)),
]
