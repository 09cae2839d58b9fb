"""The choice of cases that run by day, in the usual run of the tests; at night all run."""

import ast
import functools
import inspect
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

by_night = False
"""Whether slow tests run, too; by day, cases that only they need are not even collected."""


@dataclass(frozen=True)
class Part:
    """One of several parts of all tests, into which a hash of its name puts a test, on any machine.

    Attributes:
        number: Which part it is, from zero.
        count: The number of parts.
    """

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> "Part":
        """The part that is written as ``7/20``.

        Raises:
            pytest.UsageError: It is not written so, or there is no such part.
        """
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if not found or int(found[1]) >= int(found[2]):
            raise pytest.UsageError(f"{text} is no part: the last of twenty is 19/20")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def __contains__(self, test: str) -> bool:
        return zlib.crc32(test.encode()) % self.count == self.number


def share(name: str, among: Sequence[T], count: int = 1) -> tuple[T, ...]:
    """A number of the items, chosen by a program's name so that programs divide them evenly."""
    first = zlib.crc32(name.encode()) % len(among)
    apart = len(among) / count
    return tuple(among[(first + round(i * apart)) % len(among)] for i in range(count))


def forms(test: str, among: Sequence[str] = ("case", "chain", "guarded", "sweep")) -> list[Any]:
    """All forms of XLA's loop; by day one of them, chosen by a test's name so that tests divide them evenly."""
    usual = share(test, among)
    return [form if form in usual else pytest.param(form, marks=pytest.mark.slow) for form in among]


def features(function: Callable[..., Any]) -> frozenset[str]:
    """The kinds of statements and expressions in a function."""
    return frozenset(type(node).__name__ for node in nodes(function) if isinstance(node, (ast.stmt, ast.expr)))


def pairs_and_calls(function: Callable[..., Any]) -> set[Any]:
    """All pairs of features of a function, and the names of what it calls, except what its own file defines."""
    called = (ast.unparse(node.func).split(".")[-1] for node in nodes(function) if isinstance(node, ast.Call))
    own = defined(inspect.unwrap(function).__code__.co_filename)
    return {*itertools.combinations(sorted(features(function)), 2), *(name for name in called if name not in own)}


def nodes(function: Callable[..., Any]) -> Iterator[ast.AST]:
    """The syntax nodes of a function."""
    code = inspect.unwrap(function).__code__
    return ast.walk(definitions(code.co_filename)[code.co_firstlineno])


@functools.cache
def parsed(file: str) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(Path(file).read_bytes())


@functools.cache
def defined(file: str) -> frozenset[str]:
    """The names of the functions, methods and classes that a file defines."""
    return frozenset(node.name for node in ast.walk(parsed(file)) if isinstance(node, (ast.FunctionDef, ast.ClassDef)))


@functools.cache
def definitions(file: str) -> dict[int, ast.stmt]:
    """The definitions of functions in a file by their first lines, which are those of their decorators."""
    found = [node for node in ast.walk(parsed(file)) if isinstance(node, ast.FunctionDef)]
    return {min(part.lineno for part in (node, *node.decorator_list)): node for node in found}


def covering(programs: Mapping[str, Iterable[str]], among: Sequence[T], count: int) -> dict[str, tuple[T, ...]]:
    """For each program a number of forms, so that each form meets each feature, and all about equally often.

    Args:
        programs: For each program, by name, its features.
        among: The forms.
        count: The number of forms of a program.
    """
    met = Counter[tuple[T, str]]()
    found = {}
    for name, has in programs.items():
        mine = sorted({*has, "any"})
        gain = {form: sum(2.0 ** -met[form, feature] for feature in mine) for form in among}
        found[name] = tuple(sorted(among, key=lambda form: -gain[form])[:count])
        met.update((form, feature) for form in found[name] for feature in mine)
    return found


def each_value(cases: Mapping[T, AbstractSet[Any]]) -> set[T]:
    """A subset of the cases, given the values of each, in which all values occur."""
    often = Counter(value for has in cases.values() for value in has)
    some = {case for case, has in cases.items() if any(often[value] == 1 for value in has)}
    left = often.keys() - set[Any]().union(*(cases[case] for case in some))
    while left:
        best = max(cases, key=lambda case: len(cases[case] & left))
        left -= cases[best]
        some.add(best)
    return some


def by_day(cases: Sequence[T], count: int) -> list[Any]:
    """All cases; by day only a number of them, evenly spaced in the sequence."""
    usual = {i * len(cases) // count for i in range(count)}
    return [
        case if i in usual else pytest.param(case, marks=pytest.mark.slow)
        for i, case in enumerate(cases)
        if i in usual or by_night
    ]
