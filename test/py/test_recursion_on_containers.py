"""Recursive functions that change the lists, dicts and objects that they are given: generated programs against Python.

A function gives its changed parameters back beside its result. In a recursive call, the caller's own parameters are
saved and restored at the place where these results arrive.
"""

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from zoo import optimizing_little

import hlobatch as hb

INPUTS = (0, 1, 2, 3, 4, 6)
BY_DAY, BY_NIGHT = range(6), range(6, 200)
LISTS = ("x[:]", "list(x)", "x[1:]", "x[:len(x) // 2]", "[k]", "[]", "x + [k]", "sorted(x)")
OTHERS = {
    "dict": ("y", "y", "{}", "dict(y)", "{k: r}"),
    "box": ("y", "y", "Box(k)", "Box(r)"),
    "number": ("y", "y + 1", "len(x)", "r"),
}


class Box:
    def __init__(self, value: int) -> None:
        self.value, self.items = value, [value % 10]

    def add(self, value: int) -> int:
        self.value = (self.value * 3 + value) % 1009
        self.items.append(value % 10)
        return len(self.items)


class Writer:
    """The text of a program with one or two recursive functions of a list, of another container, and of a depth."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.other = self.draw.choice(sorted(OTHERS))
        self.functions = "fg"[: self.draw.randint(1, 2)]

    def program(self) -> str:
        lines = [line for name in self.functions for line in self.function(name)]
        first = {"dict": "{n: 1}", "box": "Box(n)", "number": "n"}[self.other]
        whole = {"dict": "len(y), sum(y.values())", "box": "y.value, sum(y.items), len(y.items)", "number": "y"}
        return "\n".join(
            [
                *lines,
                "def main(n):",
                f"    x, y = [], {first}",
                "    for i in range(n):",
                "        x.append(i * 5 % 7)",
                f"    r = {self.functions[0]}(x, y, n)",
                f"    return r, len(x), sum(x), x[0] if x else -1, {whole[self.other]}",
                "",
            ]
        )

    def function(self, name: str) -> list[str]:
        lines = ["r = 0", "if k <= 0:", f"    {self.change()}", f"    return {self.result()}"]
        calls = 0
        for _ in range(self.draw.randint(3, 6)):
            if calls < 2 and self.draw.random() < 0.45:
                calls += 1
                lines += self.call()
            elif self.draw.random() < 0.3:
                lines += [f"if {self.draw.choice(['r % 2 == 0', 'len(x) > 2', 'k % 3 == 1'])}:", f"    {self.change()}"]
            else:
                lines.append(self.change())
        if not calls:
            lines += self.call()
        lines.append(f"return {self.result()}")
        return [f"def {name}(x, y, k):", *(f"    {line}" for line in lines)]

    def call(self) -> list[str]:
        other = self.draw.choice(OTHERS[self.other])
        given = self.draw.choice(["z", "z", "x"])
        call = f"{self.draw.choice(self.functions)}({given}, {other}, k - {self.draw.randint(1, 2)})"
        kept = self.draw.choice(["r = {}", "r += {}", "{}", "x.append({} % 10)"]).format(call)
        after = self.draw.choice(["pass", "r += len(z)", "r = (r + sum(z)) % 1009", "x.append(len(z))"])
        return [f"z = {self.draw.choice(LISTS)}", kept, after]

    def change(self) -> str:
        of_list = ("x.append(k)", "x.append(r % 10)", "if x: x[0] = r % 10 + 1", "if x: x.pop()", "if x: x[-1] += k")
        of_other = {
            "dict": ("y[k] = r", "y[k % 3] = y.get(k % 3, 0) + len(x)"),
            "box": ("y.value += k", "r += y.add(k)", "y.items.append(r % 10)"),
            "number": ("y += k", "r += y"),
        }
        return self.draw.choice((*of_list, *of_other[self.other]))

    def result(self) -> str:
        return self.draw.choice(["r % 1009", "r + len(x)", "(r + sum(x)) % 1009", "k", "len(x)"])


def functions_of(text: str, name: str) -> dict[str, Callable[..., Any]]:
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space: dict[str, Any] = {"Box": Box}
    exec(compile(text, name, "exec"), space)
    return space


@pytest.mark.parametrize("seed", [*BY_DAY, *(pytest.param(seed, marks=pytest.mark.slow) for seed in BY_NIGHT)])
def test_containers_are_changed_through_recursion(seed: int) -> None:
    text = Writer(seed).program()
    main = functions_of(text, f"<recursion on containers {seed}>")["main"]
    expected = [main(n) for n in INPUTS]
    with optimizing_little():
        found = hb.batch(main)(np.array(INPUTS, np.int32))
    lanes = [tuple(int(part[lane]) for part in found) for lane in range(len(INPUTS))]
    assert lanes == expected, text
