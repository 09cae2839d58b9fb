"""Functions that make a container where none is given, as a memo or for results: against plain Python."""

import pytest
from test_lists_as_written import is_alike


def fib(k, memo=None):
    if memo is None:
        memo = {0: 0, 1: 1}
    if k not in memo:
        memo[k] = fib(k - 1, memo) + fib(k - 2, memo)
    return memo[k]


def a_memo(n):
    """Each call without a memo has one of its own; a caller sees what its own memo gets."""
    memo = {0: 0, 1: 1}
    return fib(n) + fib(n + 1), fib(n, memo), len(memo)


def collected(k, out=None):
    if out is None:
        out = []
    if k > 0:
        out.append(k)
        collected(k - 2, out)
    return out


def results(n):
    fresh, mine = collected(n), [100]
    collected(n, mine)
    collected(3)
    return fresh, mine, len(collected(2, mine))


def paths(items, path=None, found=None):
    if path is None:
        path = []
    found = [] if found is None else found
    found.append(len(path))
    for i in range(len(items)):
        path.append(items[i])
        paths(items[i + 1 :], path, found)
        path.pop()
    return found


def two_of_them(n):
    return paths(list(range(n % 4)))


def early(k, memo=None):
    if k > 4:
        raise ValueError(k)
    if k < 2:
        return k
    if memo is None:
        memo = {}
    memo[k] = early(k - 1, memo) + early(k - 2, memo)
    return memo[k] + len(memo)


def passed_on(k, memo=None):
    found = fib(k, memo)
    return found, 1 if memo is None else len(memo)


def through_others(n):
    memo = {0: 0, 1: 1}
    try:
        least = early(n)
    except ValueError:
        least = -1
    return least, passed_on(n, memo), len(memo)


class Solver:
    def solve(self, n, memo=None):
        if memo is None:
            memo = {}
        if n in memo:
            return memo[n]
        memo[n] = 1 if n <= 1 else self.solve(n - 1, memo) + self.solve(n - 2, memo)
        return memo[n]


def a_method(n):
    return Solver().solve(n)


def doubled(items, out=None):
    if out is None:
        out = []
    for x in items:
        out.append(x * 2)


def without_return(n):
    mine = []
    doubled([1, n], mine)
    doubled([1, n])
    return mine


PROGRAMS = [a_method, results, without_return]
BY_NIGHT = [pytest.param(program, marks=pytest.mark.slow) for program in (a_memo, two_of_them, through_others)]


@pytest.mark.parametrize("program", [*PROGRAMS, *BY_NIGHT], ids=lambda program: program.__name__)
def test_each_lane_is_as_in_python(program):
    is_alike(program, 7)
