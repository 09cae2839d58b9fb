"""Inner functions that call each other and change variables around them: generated programs against plain Python.

A function that calls another in tail position becomes a jump if both give back the same variables; these may be
parameters at once, each function having them in an order of its own.
"""

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from zoo import optimizing_little

import hlobatch as hb

INPUTS = (0, 1, 2, 3, 5, 7)
BY_DAY, BY_NIGHT = range(8), range(8, 200)


class Writer:
    """The text of a program of two to four functions that change ``a``, ``b``, ``c`` and ``d`` around them."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.functions = "fghp"[: self.draw.randint(2, 4)]

    def program(self) -> str:
        lines = ["def main(n):", "    a, b, c, d = 0, 1, [0] * 8, {}"]
        for name in self.functions:
            lines += [f"    def {name}(k):", *(f"        {line}" for line in self.body())]
        more = self.draw.choice(["", f" + {self.functions[-1]}(n - 1)"])
        lines += [f"    r = {self.functions[0]}(n){more}", "    return r, a, b, sum(c), c[1], len(d), sum(d.values())"]
        return "\n".join(lines) + "\n"

    def body(self) -> list[str]:
        own = self.draw.sample(["a", "b"], self.draw.randint(0, 2))
        lines = [f"nonlocal {', '.join(own)}"] if own else []
        lines += [self.change(own) for _ in range(self.draw.randint(0, 2))]
        lines.append(f"if k < 1: return {self.draw.choice(['0', 'k', 'c[0]', *own])}")
        if self.draw.random() < 0.5:
            other = self.draw.choice(self.functions)
            calls = (f"return {other}(k - 1)", f"c[k % 8] = {other}(k - 1)", f"d[k] = {other}(k - 1)")
            lines += [
                f"if k % 3 == {self.draw.randint(0, 1)}:",
                f"    {self.change(own)}",
                f"    {self.draw.choice(calls)}",
            ]
        first, second = self.draw.choices(self.functions, k=2)
        ends = (f"{first}(k - 1)", f"{first}(k - 1) + 1", f"{first}(k - 1) if k > 2 else {second}(k - 2)")
        return [*lines, f"return {self.draw.choice(ends)}"]

    def change(self, own: list[str]) -> str:
        name = self.draw.choice([*own, "c", "d"])
        if name == "c":
            return f"c[(k + {self.draw.randint(0, 7)}) % 8] += k"
        if name == "d":
            return f"d[k] = d.get(k, 0) + {self.draw.randint(1, 5)}"
        return f"{name} = {name} * 3 % 101 + {self.draw.choice(['k', 'len(d)'])}"


def made(seed: int) -> Callable[[int], tuple[int, ...]]:
    text, file = Writer(seed).program(), f"<functions in turn {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    main: Callable[[int], tuple[int, ...]] = names["main"]
    return main


def assert_as_in_python(seed: int) -> None:
    main = made(seed)
    with optimizing_little():
        found = hb.batch(main)(np.array(INPUTS, np.int32))
    rows = [tuple(int(column[i]) for column in found) for i in range(len(INPUTS))]
    assert rows == [main(n) for n in INPUTS], Writer(seed).program()


@pytest.mark.parametrize("seed", BY_DAY)
def test_as_in_python(seed: int) -> None:
    assert_as_in_python(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", BY_NIGHT)
def test_more_are_as_in_python(seed: int) -> None:
    assert_as_in_python(seed)
