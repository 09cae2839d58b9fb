"""Known texts that get longer in recursions and loops: one function for all of them, against plain Python."""

import numpy as np
import pytest
from test_lists_as_written import is_alike

import hlobatch as hb


def parentheses(n):
    found = []

    def go(s, opened, closed):
        if opened == closed == 0:
            found.append(s)
            return
        if opened:
            go(s + "(", opened - 1, closed)
        if closed > opened:
            go(s + ")", opened, closed - 1)

    go("", n % 4, n % 4)
    return found


def codes(n):
    def go(k, s):
        return [s] if k == 0 else go(k - 1, s + "0") + go(k - 1, s + "1")

    return go(n % 4, "")


def before_and_behind(n):
    def go(k, s="x"):
        if k <= 0:
            return len(s) * 10 + s.count("y")
        return go(k - 1, s + "y") if k % 2 else go(k - 2, "z" + s)

    return go(n)


def words_that_do_not_grow(n):
    def go(k, mode):
        if k == 0:
            return {"up": 1, "down": 2}[mode]
        return go(k - 1, "down" if mode == "up" else "up") + (3 if mode == "up" else 0)

    word = "on"
    for _ in range(n):
        word = "off" if word == "on" else "on"
    return go(n, "up"), {"on": 1, "off": 2}[word]


def loops(n):
    one = two = ""
    for _ in range(n):
        one += "ab"
    while len(two) < n:
        two = "c" + two if len(two) % 2 else two + "de"
    return one, two


def several_calls(n):
    """Regression: a parameter that is one of more and more texts has no place in the function that assigns it."""

    def spelled(w, k):
        if k <= 0:
            return w
        return spelled(w + "a", k - 1) if k % 2 else spelled("b" + w, k - 2)

    word = spelled("", n)
    word = spelled("", 0)
    return len(word) + len(spelled("", n % 5))


def without_two_ones(n):
    """Known texts decide a branch of the recursion, and a lane's number ends it."""

    def go(w, k, found):
        if k == 0:
            found.append(w)
            return
        for c in "01":
            if not w.endswith("1") or c == "0":
                go(w + c, k - 1, found)

    found = []
    go("", n % 4, found)
    return found


def ended_by_the_text(n):
    def go(word, k):
        if len(word) == 2:
            return {"aa": 1, "ab": 2, "ba": 3, "bb": 4}[word] * 10 + k
        return go(word + "a", k + 1) if k % 2 else go(word + "b", k + 2)

    return go("", n)


PROGRAMS = [several_calls, before_and_behind, words_that_do_not_grow, loops, ended_by_the_text]
ONE_FOR_ALL = [parentheses, codes, without_two_ones]


@pytest.mark.parametrize("program", [*PROGRAMS, *ONE_FOR_ALL], ids=lambda program: program.__name__)
def test_each_lane_is_as_in_python(program):
    is_alike(program, 7)


@pytest.mark.parametrize("program", [*ONE_FOR_ALL, before_and_behind], ids=lambda program: program.__name__)
def test_the_recursion_is_one_function(program):
    """Regression: it was sixteen functions, one for each of the first texts, before it was one for any text."""
    functions = hb.batch(program).trace(np.arange(3)).program.functions
    assert len(functions) == 2
