"""``test and x or y`` as a value: against plain Python."""

import pytest
from test_lists_as_written import is_alike


def values(n):
    step = (n > 2 and n * 2) or 4
    none = (n > 3 and n - 4) or -1
    return step, none, (n % 2 == 0 and n < 4 and n + 1) or (n > 4 and 9) or 7, [(not n and 5) or n][0]


def in_other_places(n):
    seen = []

    def noted(x):
        seen.append(x)
        return x

    first = (noted(n) > 1 and noted(n - 2)) or noted(10)
    items = [(x > 1 and x) or n for x in range(3)]
    if (n > 2 and n - 3) or n == 1:
        first += 100
    while (n > 1 and n) or n < 0:
        n -= 1
    return first, items, seen, max((n > 0 and 3) or 4, 1)


def calls(n):
    def down(k):
        return (k > 0 and down(k - 1) + k) or 1

    text = (n > 2 and "big") or "small"
    return down(n), len(text)


@pytest.mark.parametrize("program", [values, in_other_places, calls], ids=lambda program: program.__name__)
def test_each_lane_is_as_in_python(program):
    is_alike(program, 7)
