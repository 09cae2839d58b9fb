"""Functions of the user's that branch, given to functions of Python's library: sort keys, and what ``map`` calls.

Items of iterators are computed as they are used: what a function changes or raises for others does not happen. Each
program has a function that only branches, one that notes what it was asked, and one that raises.
"""

import itertools
import textwrap
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from feature_pairs import in_lanes, in_python, made, outcome, right_or_refused
from shares import by_day

import hlobatch as hb

BEFORE = """
import functools
import heapq
import itertools
from dataclasses import dataclass


def bent(x):
    if x > 2:
        return x - 5
    return x


def checked(x, most):
    if x > most:
        raise ValueError(x)
    return x


@dataclass
class Job:
    weight: int
    due: int

    def score(self):
        if self.due > 2:
            return self.weight
        return self.due * 10
"""

EXPRESSIONS = (
    *("max(range(a + 2), key=bent)", "max(range(4), key=lambda x: bent(x) + a)", "min([a, b, 3], key=bent)"),
    *("min((a, 2), (3, b), key=lambda p: bent(p[0]))[1]", "max([x for x in range(a)], key=bent, default=-1)"),
    *("sorted([a, 3, 1, 5], key=bent)[0]", "sorted(range(a + 1), key=lambda x: (bent(x) % 2, -x), reverse=True)[0]"),
    *(
        "max({1: a, 2: 3, 3: b}.items(), key=lambda pair: bent(pair[1]))[0]",
        "max(enumerate([5, a, b]), key=lambda p: bent(p[1]))[0]",
    ),
    *("sum(map(bent, [a, b, 3]))", "list(map(lambda x: bent(x) * b, [a, 4]))[1]", "sum(map(bent, range(a)))"),
    *(
        "len(list(filter(lambda x: bent(x) > 0, [a, b, 4])))",
        "sum(filter(bent, range(b + 2)))",
        "[*map(bent, [a, 4]), 7][1]",
    ),
    *(
        "any(map(lambda x: bent(x) > b, range(a)))",
        "all(x < 2 for x in map(bent, range(a + 3)))",
        "a in map(bent, range(6))",
    ),
    *(
        "functools.reduce(lambda s, x: bent(s) + x, [a, b, 4])",
        "functools.reduce(lambda s, x: bent(s) * 2 + x, range(a), b)",
    ),
    *(
        "list(itertools.accumulate([a, b, 4], lambda s, x: bent(s) + x))[-1]",
        "heapq.nlargest(2, [a, b, 3], key=bent)[1]",
    ),
    *(
        "len(list(itertools.takewhile(lambda x: bent(x) < a, range(6))))",
        "next(filter(lambda x: bent(x) > 1, range(a + 9)), -1)",
    ),
    *("len([k for k, g in itertools.groupby([a, b, 3, 4], key=lambda x: bent(x) > 0)])", "(lambda x: bent(x) * 2)(a)"),
    *("{'x': lambda v: bent(v), 'y': lambda v: v * v}['x'](a)", "sum(max(row, key=bent) for row in ([1, a], [b, 3]))"),
    *(
        "max([Job(a, 1), Job(2, b), Job(3, 3)], key=lambda job: job.score()).weight",
        "min([Job(a, 1), Job(2, b)], key=Job.score).due",
    ),
)
"""Expressions that run: a function with a branch is called for each item."""


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression: str) -> None:
    found = outcome(f"{BEFORE}\n\ndef main(a, b):\n    return int({expression})\n")
    assert found.kind == "ran", found.what


@pytest.mark.parametrize("sort", ["jobs.sort(key=lambda job: job.score())", "jobs.sort(key=Job.score, reverse=True)"])
def test_sorting_in_place(sort: str) -> None:
    found = outcome(f"""{BEFORE}
def main(a, b):
    jobs = [Job(a, 1), Job(2, b), Job(3, 3)]
    {sort}
    return jobs[0].weight * 100 + jobs[2].due * 10
""")
    assert found.kind == "ran", found.what


STATEMENTS = (
    "for y in map(f, ITEMS):\n    t = t * 2 + y\n    if y: break",
    "for y in (f(x) for x in ITEMS):\n    t += y + 1\n    if y: break",
    "for y in (f(x + z) for x in ITEMS for z in (0, 1)):\n    t += y + 1",
    "for y in filter(f, ITEMS):\n    t += y + 1\n    break",
    "for i, y in enumerate(map(f, ITEMS)):\n    t += y + i\n    if y: break",
    "for y in [f(x) for x in ITEMS]:\n    t += y\n    if y: break",
    "for y, z in zip(map(f, ITEMS), range(2)):\n    t += y + z",
    "for y, z in zip(range(2), map(f, ITEMS)):\n    t += y + z",
    "kept = map(f, ITEMS)\nfor y in kept:\n    t += y + 1\n    if y: break",
    "x, *y = map(f, ITEMS)\nt = x + len(y)",
    "t = sum(itertools.islice(map(f, ITEMS), 2))",
    "t = len(list(itertools.takewhile(lambda z: z < 1, map(f, ITEMS))))",
    "t = max(map(f, ITEMS), default=0)",
    "t = min(3, *map(f, ITEMS))",
    "xs = []\nxs.extend(map(f, ITEMS))\nt = len(xs)",
    "t = next(map(f, ITEMS), 5)",
    "t = next(iter(map(f, ITEMS)), 5)",
    "t = int(any(map(f, ITEMS)))",
    "t = int(any([f(x) for x in ITEMS]))",
    "t = int(all(f(x) for x in ITEMS))",
    "t = len([f(x) for x in ITEMS])",
    "t = next(itertools.accumulate(map(f, ITEMS)), 5)",
    "t = sum(y * z for y, z in zip(map(f, ITEMS), range(1)))",
    "t = len(dict(zip(range(2), map(f, ITEMS))))",
    "t = sum(y for y in map(f, ITEMS) if y)",
    "t = int(any(y for y in map(f, ITEMS)))",
    "t = tuple(map(f, ITEMS))[0] if b < 0 else 1",
    "t = sum(filter(f, ITEMS))",
    "t = int(1 in map(f, ITEMS))",
    "t = int(1 not in (f(x) for x in ITEMS))",
    "for y in itertools.starmap(lambda u, v: f(u) + v, zip(ITEMS, ITEMS)):\n    t = t * 2 + y\n    if y > 1: break",
    "for y in itertools.filterfalse(f, ITEMS):\n    t += y + 1\n    break",
    "for y in itertools.dropwhile(f, ITEMS):\n    t += y + 1\n    if y: break",
    "for y in itertools.takewhile(f, ITEMS):\n    t += y + 1\n    if y: break",
    "for y in itertools.accumulate(ITEMS, lambda u, v: u + f(v)):\n    t += y + 1\n    if y: break",
    "for k, g in itertools.groupby(ITEMS, key=f):\n    t += k + 1\n    if k == 0: break",
    "for y in map(lambda u, v: f(u) + v, ITEMS, ITEMS):\n    t = t * 2 + y\n    if y > 1: break",
    "t = sum(itertools.starmap(lambda u, v: f(u) + v, zip(ITEMS, ITEMS)))",
    "t = max(ITEMS, key=f, default=0)",
    "t = sum(sorted(ITEMS, key=f)[:1])",
)
"""Statements that use the items of an iterator, some of them not all."""
FUNCTIONS = {
    "branches": "f = lambda x: bent(x)",
    "notes": "def f(x):\n    seen.append(x)\n    if x > b:\n        return 1\n    return 0",
    "raises": "f = lambda x: checked(x, b)",
}
ITEMS = {"known": "(0, 1, 2, 3)", "of a lane's number": "range(a)"}
PROGRAMS = [(statement, function, items) for statement in STATEMENTS for function in FUNCTIONS for items in ITEMS]


def check(statement: str, function: str, items: str) -> None:
    """Fail unless a program does what Python does, or is refused."""
    inner = textwrap.indent(statement.replace("ITEMS", ITEMS[items]), " " * 8)
    defined = textwrap.indent(FUNCTIONS[function], " " * 4)
    found = outcome(f"""{BEFORE}
def main(a, b):
    seen, t = [], 0
{defined}
    try:
{inner}
    except ValueError:
        t += 100
    return t * 10000 + len(seen) * 100 + sum(seen)
""")
    assert found.kind != "wrong", found.what


@pytest.mark.parametrize(("statement", "function", "items"), PROGRAMS[::7])
def test_items_are_computed_as_they_are_used(statement: str, function: str, items: str) -> None:
    check(statement, function, items)


@pytest.mark.slow
@pytest.mark.parametrize(("statement", "function", "items"), PROGRAMS)
def test_all_items_are_computed_as_they_are_used(statement: str, function: str, items: str) -> None:
    check(statement, function, items)


NUMBERS = [1, 2, 5, 9]
COUNTED = "counts = defaultdict(int)\nfor i in range(n):\n    counts[i * 7 % 4 + 1] += i\n"
LISTED = "counts = defaultdict(list)\nfor i in range(n):\n    counts[i * 7 % 4 + 1].append(i)\n"
KEYS = (
    COUNTED + "return max(counts, key=lambda k: counts[k]) + len(counts) * 10",
    COUNTED + "return min(counts, key=lambda k: (counts[k] % 3, -k)) + len(counts) * 10",
    COUNTED + "return sorted(counts, key=lambda k: -counts[k])[0] + len(counts) * 10",
    COUNTED + "def size(k):\n    return counts[k]\nreturn max(counts, key=size) + len(counts) * 10",
    LISTED + "best = max(counts, key=lambda k: (len(counts[k]), -k))\nreturn best * 10 + len(counts[best])",
)


def counting(body: str) -> Callable[[int], int]:
    """A function of one number with a body."""
    text = "def main(n):\n" + textwrap.indent(body, "    ") + "\n"
    return made(text, defaultdict=defaultdict, itertools=itertools, Adder=Adder)


@pytest.mark.parametrize("body", KEYS)
def test_a_key_reads_a_dict_with_defaults(body: str) -> None:
    """Regression: reading might add the key to the dict, whose arrays were then those of one item."""
    main = counting(body)
    assert in_lanes(main, NUMBERS) == in_python(main, NUMBERS)


def test_a_key_that_the_dict_lacks_fails_in_its_lanes() -> None:
    chosen = "max(list(counts), key=lambda k: counts[k % 3 + 1])"
    main = counting(COUNTED + f"before = len(counts)\nbest = {chosen}\nreturn len(counts) - before")
    added = [main(n) for n in NUMBERS]
    assert 0 < sum(map(bool, added)) < len(added)
    with pytest.raises(hb.LaneError, match="reads a key that the dict lacks") as caught:
        hb.batch(main)(np.array(NUMBERS, np.int32))
    assert {type(error) for error in caught.value.errors.values()} == {hb.MissingValueError}
    assert sorted(caught.value.errors) == [i for i, count in enumerate(added) if count]


@pytest.mark.parametrize("body", ["seen.add(k)", "seen.discard(k)"])
def test_a_key_that_changes_what_is_around_it_is_refused(body: str) -> None:
    program = f"seen, items = {{n}}, [i * 7 % 4 for i in range(n)]\nreturn max(items, key=lambda k: ({body}, k)[1])"
    with pytest.raises(hb.UnsupportedSyntaxError, match="for all items at once changes an object around it"):
        hb.batch(counting(program))(np.array(NUMBERS, np.int32))


class Adder:
    """An object that branches, and remembers what it was asked."""

    def __init__(self, total: int = 0) -> None:
        self.total = total

    def __call__(self, x: Any, y: Any = 0) -> Any:
        while x > 10:
            x -= 3
        self.total += x + y
        return self.total

    def few(self, x: Any) -> bool:
        self.total += 1
        return bool(x < 9 if self.total < 4 else x < 1)


ONE = ("Adder()", "Adder(n)", "Adder().few", "adder", "adder.few")
ASKING = (
    *("sum(map(ONE, [n, 2, 3]))", "sum(list(map(ONE, range(n))))", "sum(x for x in map(ONE, range(n)) if x > 3)"),
    *(
        "len(list(filter(ONE, range(n))))",
        "any(map(ONE, range(n)))",
        "max(map(ONE, range(n)))",
        "[*map(ONE, [n, 4])][1]",
    ),
    *(
        "sum(itertools.takewhile(ONE, range(n)))",
        "sum(itertools.dropwhile(ONE, range(n)))",
        "sorted(range(n), key=ONE)[0]",
    ),
    *(
        "sum(itertools.starmap(ONE, [(1,), (n,)]))",
        "sum(itertools.accumulate([n, 2, 3], ONE))",
        "(lambda f: f(*[n]))(ONE)",
    ),
)


@pytest.mark.parametrize("case", by_day([*itertools.product(ASKING, ONE)], 26), ids=" of ".join)
def test_a_function_that_is_made_for_a_call_is_made_once(case: tuple[str, str]) -> None:
    """Regression: ``map(Adder(), items)`` made one for each item; a method called with stars lost what it changed."""
    asked, one = case
    main = counting(f"adder = Adder(1)\nfound = {asked.replace('ONE', one)}\nreturn found + adder.total")
    right_or_refused(main, NUMBERS)
