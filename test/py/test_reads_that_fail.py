"""Reads of containers in a `try`, some before anything is put in: generated programs against plain Python.

What puts the first item in may stand behind the read that fails, in its handler or in a later turn of the loop.
"""

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from zoo import optimizing_little

import hlobatch as hb

INPUTS = (0, 1, 2, 3, 6)
BY_DAY, BY_NIGHT = (0, 1, 3, 6), range(7, 150)  # of which about half are refused
BEGINNING = """from collections import deque
import heapq


def get(items, k):
    if k > 4:
        return k
    return items[k]


def main(n):
    t, d, xs, s, q, h = 0, {}, [], set(), deque(), []
    for i in range(n):
"""
ENDING = "    return t % 10007, len(d), sum(d.values()), len(xs), sum(xs), len(s), len(q), len(h)\n"
READS = (
    "t += d[#]",
    "t += xs[#]",
    "t += get(d, #)",
    "t += get(xs, #)",
    "t += max(xs)",
    "t += min(d.values())",
    "t += xs.index(#)",
    "t += q[0] + q[-1]",
    "t += d.get(#, 2)",
    "d[#] += 1",
    "xs[#] += 2",
    "t += xs.pop()",
    "t += q.popleft()",
    "t += d.pop(#)",
    "s.remove(#)",
    "t += heapq.heappop(h)",
)
PUTS = ("d[#] = #", "xs.append(#)", "s.add(#)", "q.append(#)", "heapq.heappush(h, #)", "t += 7")
CAUGHT = ("KeyError", "IndexError", "LookupError", "(ValueError, LookupError)", "Exception")


def program(seed: int) -> str:
    """The text of a program of one or two `try` statements in a loop."""
    draw = random.Random(seed)

    def one_of(texts: tuple[str, ...]) -> str:
        parts = draw.choice(texts).split("#")
        return "".join(part + draw.choice(["i", "i % 2", "t % 3", "n % 3", "1"]) for part in parts[:-1]) + parts[-1]

    lines = []
    for _ in range(draw.randint(1, 2)):
        lines += ["try:", *(f"    {one_of(READS)}" for _ in range(draw.randint(1, 2)))]
        lines += [f"except {draw.choice(CAUGHT)}:", f"    {one_of(PUTS)}"]
        lines += draw.choice([["finally:", f"    {one_of(PUTS)}"], [one_of(PUTS)], []])
    return BEGINNING + "".join(f"        {line}\n" for line in lines) + ENDING


def made(seed: int) -> Callable[[int], tuple[int, ...]]:
    text, file = program(seed), f"<reads that fail {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    main: Callable[[int], tuple[int, ...]] = names["main"]
    return main


def in_python(main: Callable[[int], tuple[int, ...]], n: int) -> Any:
    """The result, or the class of the exception."""
    try:
        return main(n)
    except (LookupError, ValueError) as error:
        return type(error)


def in_lanes(main: Callable[[int], tuple[int, ...]]) -> list[Any]:
    """The result of each lane, or the class of its exception."""
    errors: Any = {}
    try:
        found = hb.batch(main, dispatch="kernel")(np.array(INPUTS, np.int32))
    except hb.LaneError as error:
        found, errors = error.outputs, error.errors
    return [type(errors[i]) if i in errors else tuple(int(part[i]) for part in found) for i in range(len(INPUTS))]


def refusal(main: Callable[[int], tuple[int, ...]]) -> hb.HloBatchError | None:
    """The error with which a program is refused; None if it runs."""
    try:
        hb.batch(main).trace(np.array(INPUTS, np.int32))
    except hb.HloBatchError as error:
        return error
    return None


def assert_as_in_python(seed: int) -> None:
    """An index out of range goes on, as the language says, unless the program catches it."""
    main = made(seed)
    if (refused := refusal(main)) is not None:
        assert refused.location.line > 0, program(seed)
        return
    with optimizing_little():
        found = in_lanes(main)
    for n, lane in zip(INPUTS, found, strict=True):
        right = in_python(main, n)
        assert lane == right or right is IndexError, program(seed)


@pytest.mark.parametrize("seed", BY_DAY)
def test_as_in_python(seed: int) -> None:
    assert_as_in_python(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", BY_NIGHT)
def test_more_are_as_in_python(seed: int) -> None:
    assert_as_in_python(seed)
