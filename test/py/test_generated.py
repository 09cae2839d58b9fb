"""Randomly generated well-formed programs, compiled and run, equal plain Python example by example.

A generated module has one or two functions that recurse with less and less fuel, and an entry that calls them; one
argument is shared by all lanes. Every variable has a value from the first line on, every loop a bound, and every
product and assignment is reduced by a modulus, so that Python's integers and 32-bit ones agree. What is left to chance
is control: branches that leave loops and functions at any place, calls in any expression, conditions that may be known
when the program is built.
"""

import functools
import hashlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from own_code import HAS_LLVM, checking
from zoo import LOOP, UNOPTIMIZED, optimizing_little

import hlobatch as hb
from hlobatch import stackless, virtual_machine

Draw = Callable[[st.SearchStrategy[Any]], Any]
Lines = list[str]

ROWS = np.asarray([[0, 0, 0], [1, 2, 3], [-4, 3, 7], [9, -1, -8], [6, 11, 2]], np.int32)
"""The batch that every program runs on: one row per example."""
SHARED = np.int32(5)
"""The value of an argument that all lanes share."""
DEPTH = 16
PARAMETERS = ("fuel", "a", "b", "c")
LOCALS = ("x", "y", "i")
CALLS = 2
"""Call sites of each function, one in a loop for two outside: enough for tree recursion, and few calls in all."""
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"lanes": 2},
    {"max_stack_depth": 2},
    {"dispatch": "sweep"},
    {"dispatch": "chain", "lanes": 2},
    {"optimizations": UNOPTIMIZED},
)


@dataclass
class Function:
    """A function that is being written.

    Attributes:
        draw: Where choices come from.
        callees: Functions it may call.
        fuel: The expression passed to them for ``fuel``.
        calls: Call sites it may still have.
        loops: How many loops are around what is being written.
        counters: Loops written so far; each counts its turns in a variable of its own.
    """

    draw: Draw
    callees: tuple[str, ...]
    fuel: str
    calls: int = CALLS
    loops: int = 0
    counters: int = 0

    # Expressions

    def number(self, depth: int = 2) -> str:
        """An integer expression, of magnitude below a hundred thousand if its variables are below two thousand."""
        kinds = ["name", "constant"] if depth == 0 else [*NUMBERS, *(["call"] if self._may_call else [])]
        kind = self.draw(st.sampled_from(kinds))
        match kind:
            case "constant":
                return str(self.draw(st.integers(-3, 9)))
            case "name":
                return self.draw(st.sampled_from((*PARAMETERS, *LOCALS)))
            case "call":
                return self.call()
            case "ternary":
                return f"({self.number(depth - 1)} if {self.condition(depth - 1)} else {self.number(depth - 1)})"
        operands = [self.number(depth - 1) for _ in range(NUMBERS[kind].count("{}"))]
        return NUMBERS[kind].format(*operands)

    def condition(self, depth: int = 2) -> str:
        """An expression for a test: comparisons, chains, their combinations, and the truth of a number."""
        kinds = ["<", "odd"] if depth == 0 else ["<", "odd", "==", "chain", "not", "and", "or", "truth"]
        kind = self.draw(st.sampled_from(kinds))
        match kind:
            case "<" | "==":
                return f"{self.number(0)} {kind} {self.number(max(0, depth - 1))}"
            case "odd":
                return f"{self.number(0)} % 2 == 1"
            case "chain":
                return f"{self.number(0)} <= {self.number(0)} < {self.number(0)}"
            case "not":
                return f"not {self.condition(depth - 1)}" if depth > 1 else f"not {self.number(0)}"
            case "truth":
                return self.number(depth - 1)
        return f"({self.condition(depth - 1)} {kind} {self.condition(depth - 1)})"

    def call(self) -> str:
        """A call with less fuel. Its arguments hold no call: the second would multiply the first."""
        left, self.calls = self.calls - 1 - self.loops, 0
        as_it_is = self.draw(st.booleans())
        b, c = "b" if as_it_is else self.number(0), self.draw(st.sampled_from(("c", "c", "a")))
        arguments = ", ".join([self.fuel, self.number(1), b, c])
        self.calls = left
        return f"{self.draw(st.sampled_from(self.callees))}({arguments})"

    @property
    def _may_call(self) -> bool:
        return self.calls > self.loops

    # Statements

    def body(self, depth: int) -> Lines:
        """A few statements, indented; nothing follows one that control does not pass."""
        lines: Lines = []
        for _ in range(self.draw(st.integers(1, 3))):
            lines += self.statement(depth)
            if lines[-1].split()[0] in ("return", "break", "continue"):
                break
        return [f"    {line}" for line in lines]

    def statement(self, depth: int) -> Lines:
        leaves = ["assign", "assign", "augment", "swap", "return"]
        leaves += ["tail call"] if self._may_call else []
        leaves += ["two calls"] * 2 if self.calls > self.loops + 1 else []
        leaves += ["break", "continue"] if self.loops else []
        nests = ["if", "for", "while"] if self.loops < 2 else ["if"]
        match self.draw(st.sampled_from(leaves if depth == 0 else [*leaves, *nests, *nests])):
            case "assign":
                return [f"{self.target()} = ({self.number()}) % 1009"]
            case "augment":
                name = self.target()
                return [f"{name} {self.draw(st.sampled_from(('+=', '-=', '^=')))} {self.number(1)}", f"{name} %= 997"]
            case "swap":
                return ["a, (x, y) = x, (y, a)"]
            case "return":
                return [f"return ({self.number()}) % 1009"]
            case "tail call":
                return [f"return {self.call()}"]
            case "two calls":
                return [f"x, y = {self.call()}, {self.call()}"]
            case "if":
                return self.choice(depth)
            case "for":
                return self.for_loop(depth)
            case "while":
                return self.while_loop(depth)
            case leave:
                return [leave]

    def target(self) -> str:
        return self.draw(st.sampled_from(("x", "y", "a", "b", "i")))

    def choice(self, depth: int) -> Lines:
        lines = [f"if {self.condition()}:", *self.body(depth - 1)]
        if self.draw(st.booleans()):
            lines += [f"elif {self.condition(1)}:", *self.body(depth - 1)]
        return lines + self.otherwise(depth)

    def otherwise(self, depth: int) -> Lines:
        return ["else:", *self.body(depth - 1)] if self.draw(st.booleans()) else []

    def for_loop(self, depth: int) -> Lines:
        bounds = self.draw(st.sampled_from(("{} % 4", "1, {} % 4", "{} % 4, 0, -2", "2", "{} % 3, 3")))
        head = f"for i in range({bounds.format(self.number(0))}):"
        return [head, *self.looped(depth), *self.otherwise(depth)]

    def while_loop(self, depth: int) -> Lines:
        self.counters += 1
        turn = f"t{self.counters}"
        self.loops += 1
        head = [f"{turn} = 0", f"while {turn} < 3 and {self.condition(1)}:", f"    {turn} += 1"]
        self.loops -= 1
        return [*head, *self.looped(depth), *self.otherwise(depth)]

    def looped(self, depth: int) -> Lines:
        self.loops += 1
        lines = self.body(depth - 1)
        self.loops -= 1
        return lines

    def source(self, name: str) -> str:
        """The whole function."""
        start = [f"{local} = {value}" for local, value in zip(LOCALS, ("1", "b", "0"), strict=True)]
        base = ["if fuel <= 0:", f"    return {self.number(0)}"]
        lines = [f"    {line}" for line in (*start, *base)] + self.body(3)
        return "\n".join(["@hb.batch", f"def {name}({', '.join(PARAMETERS)}):", *lines, "    return x + y"])

    def entry(self) -> str:
        """The whole entry: it ends in a call."""
        lines = [f"    {local} = {parameter}" for local, parameter in zip(LOCALS, ("a", "b", "c"), strict=True)]
        last = f"    return {self.callees[-1]}({self.fuel}, x, y, c)"
        return "\n".join(
            ["@hb.batch(in_axes=(0, 0, 0, None))", f"def entry({', '.join(PARAMETERS)}):", *lines, *self.body(2), last]
        )


NUMBERS = {
    "name": "",
    "constant": "",
    "+": "{} + {}",
    "-": "({} - {})",
    "*": "({} * {} % 97)",
    "//": "{} // 3",
    "&": "({} & 7)",
    "or": "({} or {})",
    "and": "({} and {})",
    "abs": "abs({})",
    "ternary": "",
}
"""Kinds of integer expressions, those that are mere operators with their spelling."""


@st.composite
def modules(draw: Draw) -> str:
    """The source of a module with recursive functions and ``entry``."""
    names = ("f", "g")[: draw(st.integers(1, 2))]
    functions = [Function(draw, names, "fuel - 1").source(name) for name in names]
    entry = Function(draw, names, draw(st.sampled_from(("2", "b % 4")))).entry()
    return "\n\n\n".join(["import hlobatch as hb", *functions, entry]) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("generated")


def load(source: str, folder: Path) -> ModuleType:
    """The module of a source, in a file of its own: its functions are read from there."""
    name = f"generated_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(module: ModuleType) -> list[int]:
    """The results of plain Python, example by example."""
    with hb.disable_batching():
        return [module.entry(*map(int, row), int(SHARED)) for row in ROWS]


def check(source: str, folder: Path, options: dict[str, Any]) -> None:
    """Compiled, eager with stacks, and eager with masks: all as plain Python."""
    module = load(source, folder)
    wanted = expected(module)
    with optimizing_little():
        for executor, result in results(module.entry, options):
            assert result.tolist() == wanted, executor


def results(entry: hb.BatchedFunction, options: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The results of each executor."""
    columns = [*ROWS.T, np.broadcast_to(SHARED, len(ROWS))]
    traced, numpy = entry.trace(*ROWS.T, SHARED), stackless.NumpyBackend()
    yield "virtual machine", *virtual_machine.execute(traced.lowered_program, columns, DEPTH, numpy)
    yield "stackless", *stackless.execute(traced.program, numpy, None, *columns)
    if HAS_LLVM:
        with checking():
            checked = hb.batch(entry.function, in_axes=entry.in_axes, dispatch="kernel", max_stack_depth=1)
            yield "kernel, checked", checked(*ROWS.T, SHARED)
            gang = hb.batch(entry.function, in_axes=entry.in_axes, dispatch="gang", max_stack_depth=1)
            yield "gang, checked", gang(*ROWS.T, SHARED)
        yield "kernel", hb.batch(entry.function, in_axes=entry.in_axes, dispatch="kernel")(*ROWS.T, SHARED)
    yield (
        "compiled",
        hb.batch(entry.function, in_axes=entry.in_axes, **{"optimizations": LOOP, **options})(*ROWS.T, SHARED),
    )


@given(source=modules(), options=st.sampled_from(OPTIONS))
def test_generated(source: str, options: dict[str, Any], folder: Path) -> None:
    note(source)
    check(source, folder, options)


@given(source=modules())
def test_generated_programs_are_well_formed(source: str, folder: Path) -> None:
    """All return an integer that 32 bits hold, after few calls: what is compared above has a meaning."""
    calls = 0

    def counted(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def call(*args: int) -> int:
            nonlocal calls
            calls += 1
            assert all(abs(arg) < 1 << 24 for arg in args)
            return function(*args)

        return call

    module = load(source, folder)
    for name in ("f", "g"):
        if hasattr(module, name):
            setattr(module, name, counted(getattr(module, name)))
    assert all(isinstance(value, int) and abs(value) < 1 << 24 for value in expected(module))
    assert calls <= 500
