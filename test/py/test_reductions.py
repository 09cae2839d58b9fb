"""``sum(…)`` and the like of comprehensions that are loops: over ranges of a lane's length, with calls that branch."""

import functools

import numpy as np
import pytest

import hlobatch as hb

N = np.array([0, 1, 2, 5, 17, 40], np.int32)


def digits(k):
    total = 0
    while k > 0:
        total += k % 10
        k //= 10
    return total


def counted(n):
    return sum(k * n for k in range(n) if k % 2), len([k for k in range(n) if k % 3 == 0]), sum(1 for _ in range(n))


def decided(n):
    return any(k * k == n for k in range(n)), all(k < 30 for k in range(n)), any(k > n for k in range(n))


def extremes(n):
    most = max((k % 7 for k in range(n)), default=-1)
    nearest = min((k for k in range(n)), key=lambda v: abs(v - 3), default=9)
    return most, nearest, max(-k for k in range(n, n + 3)), min((n - k, k) for k in range(n + 1))[1]


def found(n):
    return next((k for k in range(2, n) if n % k == 0), n), next(
        (k * j for k in range(n) for j in range(k) if k + j > 5), 0
    )


def nested(n):
    pairs = sum(k * j for k in range(n) for j in range(k) if (k + j) % 2)
    return (
        pairs,
        any(k * j == 12 for k in range(n) for j in range(k, n)),
        all(k + j < 70 for k in range(n) for j in range(n)),
    )


def called(n):
    total = sum(digits(k) for k in range(n, n + 4) if k % 2 == n % 2)
    return total, any(digits(k + j) == 7 for k in range(n) for j in range(3)), max(digits(k + n) for k in range(5))


def in_conditions(n):
    count = 0
    while not all(count % d for d in range(2, n)) or count < n:
        count += 1
        if any(digits(count + k) == 11 for k in range(3)):
            break
    return count if n > 2 and min(digits(k) for k in range(1, n)) == 1 else -count


def of_no_call(n):
    try:
        least = min(digits(k) - k for k in range(n // 5))
    except ValueError:
        least = -100
    try:
        return least, max((digits(k), k) for k in range(n, 20))[1]
    except ValueError:
        return least, -1


def kept(n):
    costs = []
    for i in range(1, n):
        least = min(digits(k * i) for k in range(1, i + 1))
        costs.append(least)
    return sum(costs), len(costs)


def of_itself(n):
    @functools.cache
    def cost(low, high):
        if low >= high:
            return 0
        return min(cost(low, k - 1) + cost(k + 1, high) + k for k in range(low, high))

    return cost(1, n % 10)


PROGRAMS = [counted, decided, extremes, found, nested, called, in_conditions, of_no_call, kept, of_itself]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_reductions_equal_python(program):
    result = hb.batch(program)(N)
    columns = [np.asarray(column).tolist() for column in (result if isinstance(result, tuple) else [result])]
    for row, n in enumerate(N.tolist()):
        expected = program(n)
        pairs = zip(columns, expected if isinstance(expected, tuple) else [expected], strict=True)
        assert [column[row] for column, _ in pairs] == list(expected if isinstance(expected, tuple) else [expected])


def test_where_there_is_no_item():
    @hb.batch
    def least(n):
        return min(k * k - n for k in range(n))

    @hb.batch
    def first(n):
        return next(k for k in range(n) if k > 2)

    @hb.batch
    def least_of_calls(n):
        return 1 if min(digits(k) for k in range(n)) is None else 2

    for function in (least, least_of_calls):
        with pytest.raises(ValueError, match="iterable argument is empty") as caught:
            function(N)
        assert caught.value.lanes == (0,)
    with pytest.raises(hb.LaneError, match="there is no item") as caught:
        first(N)
    assert caught.value.lanes == (0, 1, 2)
