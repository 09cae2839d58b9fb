"""Programs as people write them, through every executor, equal plain Python; what is refused is listed.

A program is in one of three states: it runs as it is, it runs after the rewrite that the message names
(``Program.rewrite``), or it is listed in ``programs/refused.py`` with the class of its error. The list only shrinks: a
program that begins to run is a failure here until its line is gone.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import pytest
import shares
from neighbors import share_operations
from programs import PROGRAMS
from programs.refused import REFUSED
from programs.table import ByLane, Program, check, own_part
from shares import covering, each_value, features, pairs_and_calls
from typed_once import typed_once  # noqa: F401  # a fixture
from zoo import UNOPTIMIZED, optimizing_little

import hlobatch as hb
from hlobatch import stackless, virtual_machine

BATCHES = (0, 1, 2, 17)
DEPTH = 64
"""Stacks of the virtual machine and inside ``jax.jit`` do not grow."""

Run = Callable[[Program, list[int]], Any]
"""Runs a program on a batch of examples; its result has a batch axis."""

ALLOWED = [program for program in PROGRAMS if program.name not in REFUSED]


@functools.lru_cache(maxsize=1)
def traced(program: Program) -> hb.Traced:
    """Traced once for all that interpret it."""
    share_operations(program, ALLOWED)
    return program.trace()


def compiled_with(**options: Any) -> Run:
    return lambda program, rows: program.call(program.variant(**options), rows)


def inside_jit(program: Program, rows: list[int]) -> Any:
    batched = program.variant(max_stack_depth=DEPTH)
    return jax.jit(lambda *arrays: batched(*arrays, **program.static))(*program.arrays(rows))


def interpreted(select: Callable[[hb.Traced], hb.Program]) -> Run:
    def run(program: Program, rows: list[int]) -> Any:
        code = select(traced(program))
        return ByLane(hb.instructions.interpret(code, *program.example(row)) for row in rows)

    return run


def run_stackless(backend: stackless.Backend) -> Run:
    def run(program: Program, rows: list[int]) -> Any:
        (result,) = stackless.execute(traced(program).program, backend, {}, *program.arguments(rows))
        return result

    return run


def run_virtual_machine(backend: virtual_machine.Backend) -> Run:
    def run(program: Program, rows: list[int]) -> Any:
        code = traced(program).lowered_program
        (result,) = virtual_machine.execute(code, program.arguments(rows), DEPTH, backend, {})
        return result

    return run


EXECUTORS: dict[str, tuple[Run, int | None]] = {
    "compiled": (compiled_with(), None),
    "interpret": (interpreted(lambda traced: traced.program), 1),
    "stackless": (run_stackless(stackless.NumpyBackend()), 2),
    "vm": (run_virtual_machine(virtual_machine.NumpyBackend()), 2),
    "interpret_lowered": (interpreted(lambda traced: traced.lowered_program), None),
    "stackless_xla": (run_stackless(stackless.XlaBackend()), None),
    "vm_xla": (run_virtual_machine(virtual_machine.XlaBackend()), None),
    "case": (compiled_with(dispatch="case"), None),
    "chain": (compiled_with(dispatch="chain"), None),
    "guarded": (compiled_with(dispatch="guarded"), None),
    "sweep": (compiled_with(dispatch="sweep"), None),
    "queue": (compiled_with(lanes=2), None),
    "unoptimized": (compiled_with(optimizations=UNOPTIMIZED), None),
    "inside_jit": (inside_jit, None),
}
"""How a program is run, and on how many of its examples in the usual run (None: all of them)."""

OTHERS = covering({program.name: features(program.function) for program in ALLOWED[::14]}, [*EXECUTORS][1:], 1)
"""How each fourteenth program runs by day; all other forms but the one that a user gets wait for the night."""


USUAL = each_value({program.name: pairs_and_calls(program.function) for program in ALLOWED})
"""Programs that run by day: in them, each pair of kinds of statements, and what any program calls of Python's."""


def is_quick(program: Program, executor: str) -> bool:
    return executor in OTHERS.get(program.name, ()) or (executor == "compiled" and program.name in USUAL)


def grid() -> Iterator[Any]:
    for program in ALLOWED:
        for executor, (_, few) in EXECUTORS.items():
            name = f"{program.name}-{executor}"
            if is_quick(program, executor):
                yield pytest.param(program, executor, few, id=name)
            elif shares.by_night:
                yield pytest.param(program, executor, few, id=name, marks=pytest.mark.slow)
            if few is not None and shares.by_night:
                yield pytest.param(program, executor, None, id=f"{name}-all", marks=pytest.mark.slow)


@pytest.mark.usefixtures("typed_once")
@pytest.mark.parametrize(("program", "executor", "few"), list(grid()))
def test_it_is_what_python_says(program: Program, executor: str, few: int | None) -> None:
    rows = program.finishing[:few]
    with program.precision(), optimizing_little():
        check(program, rows, EXECUTORS[executor][0](program, rows))


@pytest.mark.slow
@pytest.mark.parametrize("program", ALLOWED, ids=lambda program: program.name)
def test_batches_of_any_size(program: Program) -> None:
    with program.precision(), optimizing_little():
        batched = program.variant()
        for size in BATCHES:
            rows = program.rows_of(size)
            check(program, rows, program.call(batched, rows))


def error_of(program: Program) -> Exception | None:
    """The outcome of a program's first call: an error, hlobatch's or another, a wrong result, or None if it runs."""
    try:
        with program.precision(), optimizing_little():
            check(program, program.finishing, program.call(program.variant(), program.finishing))
    except Exception as error:  # noqa: BLE001
        return error
    return None


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name in REFUSED], ids=lambda program: program.name)
def test_what_is_refused_is_listed(program: Program) -> None:
    error = error_of(program)
    assert error is not None, f"{program.name} runs: take it off the list (programs_report.py --write)"
    assert type(error).__name__ == REFUSED[program.name], str(error)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.rewrite], ids=lambda program: program.name)
def test_a_rewrite_is_needed(program: Program) -> None:
    """The program is refused without its rewrite."""
    error = error_of(dataclasses.replace(program, rewrite=None))
    assert isinstance(error, hb.HloBatchError), f"{program.name} runs as it is: take its rewrite away"


@pytest.mark.parametrize("program", [p for p in ALLOWED if p.raises], ids=lambda program: program.name)
def test_a_lane_fails_as_its_example_does(program: Program) -> None:
    """An exception of plain Python for an example is raised for a batch with it, and other lanes have results."""
    rows = list(range(program.rows))
    with program.precision(), pytest.raises(program.raises) as raised:
        program.call(program.variant(), rows)
    assert isinstance(raised.value, hb.LaneError)
    assert list(raised.value.lanes) == [row for row in rows if row not in program.finishing]
    outputs = raised.value.outputs
    check(program, program.finishing, ByLane(own_part(outputs, row) for row in program.finishing))


def test_the_list_names_programs() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names)), "two programs of one name"
    assert set(REFUSED) <= set(names)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_examples_differ(program: Program) -> None:
    """A program has several examples that end with a result, and the results are not all the same."""
    assert len(program.finishing) >= 3 - bool(program.raises)
    assert (len(program.finishing) < program.rows) == bool(program.raises)
    results = [str(program.outcomes[row]) for row in program.finishing]
    assert len(set(results)) > 1
