"""Draws the parts of a program that combines features of Python: expressions, conditions and control flow."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

Lines = list[str]


@dataclass
class Writer:
    """Draws the parts of one program.

    Attributes:
        draw: The source of random choices.
        features: The features that the program combines.
        names: The integer variables in scope.
        within: The nesting depth of the parts of features that are being written.
    """

    draw: random.Random
    features: list[Feature] = field(default_factory=list)
    names: list[str] = field(default_factory=lambda: ["a", "b", "t"])
    within: int = 0
    turns: ClassVar[Sequence[str]] = ("a", "b", "3")
    ranges: ClassVar[Sequence[str]] = ("range(3)", "range(a)", "(a, 2, b)", "range(1, b + 1)")

    def number(self, depth: int = 1) -> str:
        """An expression for a small integer."""
        kind = self.draw.random()
        if depth == 0 or kind < 0.35 or self.within > 2:
            return self.draw.choice([*self.names, str(self.draw.randint(0, 5))])
        if kind < 0.6:
            return self.feature().value(self)
        left, right = self.number(depth - 1), self.number(depth - 1)
        if kind < 0.7:
            return f"({left} if {self.condition()} else {right})"
        return f"({left} {self.draw.choice('+-*')} {right}) % {self.draw.randint(3, 9)}"

    def condition(self) -> str:
        kind = self.draw.random()
        test = f"{self.number(0)} {self.draw.choice(['<', '==', '!=', '>='])} {self.number(0)}"
        if kind < 0.15:
            return f"{test} and {self.number(0)} > {self.draw.randint(0, 4)}"
        if kind < 0.3 and self.within <= 2:
            return self.feature().condition(self)
        return f"not {test}" if kind < 0.35 else test

    def feature(self) -> Feature:
        return self.draw.choice(self.features)

    def statements(self, depth: int) -> Lines:
        """A few statements."""
        return [line for _ in range(self.draw.randint(1, 3)) for line in self.statement(depth)]

    def statement(self, depth: int) -> Lines:
        kind = self.draw.random()
        if depth == 0 or kind < 0.55:
            others = [feature for feature in self.features if depth > 0 or not feature.is_compound]
            if not others or self.draw.random() >= 0.75:
                return [self.seen(self.number())]
            return self.draw.choice(others).statement(self)
        if kind < 0.72:
            otherwise = ["else:", *indented(self.statements(depth - 1))] if self.draw.random() < 0.5 else []
            return [f"if {self.condition()}:", *indented(self.statements(depth - 1)), *otherwise]
        if kind < 0.84:
            return self._for(depth)
        counter = f"w{self.draw.randint(0, 99)}"
        return [
            f"{counter} = {self.draw.choice(self.turns)}",
            f"while {counter} > 0:",
            f"    {counter} -= 1",
            *indented(self.statements(depth - 1)),
        ]

    def _for(self, depth: int) -> Lines:
        name = f"i{self.draw.randint(0, 99)}"
        self.names.append(name)
        body = self.statements(depth - 1)
        self.names.remove(name)
        over = self.draw.choice(self.ranges)
        early = [f"    if {self.condition()}:", f"        {self.draw.choice(['break', 'continue'])}"]
        return [f"for {name} in {over}:", *(early if self.draw.random() < 0.3 else []), *indented(body)]

    def seen(self, value: str) -> str:
        """A statement that lets the result depend on a value."""
        return f"t = (t * 3 + {value}) % 1009"

    def part(self, letter: str) -> str:
        """The replacement of a letter in a feature's text: an expression for ``#``, a plain integer for ``@``."""
        return self.number() if letter == "#" else self.number(0) if letter == "@" else letter


def indented(lines: Sequence[str]) -> Lines:
    return [f"    {line}" for line in lines]


class Feature:
    """One feature.

    Definitions before ``main``, statements at its beginning, and expressions and statements that use it. The statements
    of a compound feature hold statements of others.
    """

    is_compound = False
    helpers: str = ""
    begins: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ("a > b",)
    changes: tuple[str, ...] = ()

    def begin(self, w: Writer) -> Lines:
        return [filled(w.draw.choice(self.begins), w)] if self.begins else []

    def value(self, w: Writer) -> str:
        text = filled(w.draw.choice(self.values), w)
        return f"({text})" if " else " in text and not text.startswith("(") else text

    def condition(self, w: Writer) -> str:
        return filled(w.draw.choice(self.conditions), w)

    def statement(self, w: Writer) -> Lines:
        if self.changes and w.draw.random() < 0.7:
            return filled(w.draw.choice(self.changes), w).splitlines()
        return [w.seen(self.value(w))]


def filled(text: str, w: Writer) -> str:
    """A text with its marks replaced by expressions."""
    w.within += 1
    parts = [w.part(letter) for letter in text]
    w.within -= 1
    return "".join(parts)
