"""The order of the stages: function -> program with calls -> lowered program. ``registry.py`` has their passes.

Between passes the verifier runs, and with ``HLOBATCH_DUMP_IR=folder`` the numbered IR after each is written there.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from hlobatch import config
from hlobatch.analysis.facts import NONE_KNOWN, Facts
from hlobatch.ir.program import Program, VariableAllocation
from hlobatch.ir.types import Type
from hlobatch.ir.verifier import verify
from hlobatch.transforms import registry
from hlobatch.transforms.optimizations import ALL, Optimizations
from hlobatch.transforms.registry import Given, Pass

Observer = Callable[[str, Program], None]


def specialized_program(program: Program, in_types: Mapping[str, Type], facts: Facts = NONE_KNOWN) -> Program:
    """From the frontend's program to a typed one, whose primitives no longer run the user's Python.

    Args:
        program: The untyped program.
        in_types: Types of its inputs.
        facts: What is known about its variables.
    """
    if config.verify_each():
        verify(program)
    return run(program, registry.TYPING, Given(in_types=in_types, facts=facts))


def optimized_program(program: Program, shared: Collection[str] = (), optimizations: Optimizations = ALL) -> Program:
    """From a typed program to an allocated one; both with calls.

    Args:
        program: From ``specialized_program``.
        shared: Inputs that all lanes share.
        optimizations: Which passes run.
    """
    return allocated_program(computed_once(program, shared, optimizations), optimizations)


def computed_once(program: Program, shared: Collection[str], optimizations: Optimizations = ALL) -> Program:
    """The typed program without what need not be computed in each lane or in each run; that is computed once."""
    program = program.replace(var_alloc=dict.fromkeys(shared, VariableAllocation.SHARED))
    return run(program, registry.ONCE, Given(optimizations))


def allocated_program(program: Program, optimizations: Optimizations = ALL) -> Program:
    """From a typed program to an allocated one: branches and loops as they are to run, and storage for variables."""
    return run(program, registry.STORING, Given(optimizations))


def with_few_blocks(program: Program, optimizations: Optimizations = ALL) -> Program:
    """From a typed program to a typed one, its branches and loops as they are to run."""
    return run(program, registry.BRANCHES, Given(optimizations))


def lowered_program(program: Program, optimizations: Optimizations = ALL) -> Program:
    """From a typed program with calls to one with explicit stacks."""
    return run(program, registry.LOWERING, Given(optimizations))


def ordered_program(program: Program) -> Program:
    """From a program with explicit stacks to the same with its blocks in the order in which they are run."""
    return run(program, registry.ORDERING, Given())


def machine_program(program: Program, optimizations: Optimizations = ALL) -> Program:
    """From a program with explicit stacks to the one that runs: results in parts, small blocks copied into others."""
    return run(program, registry.FINISHING, Given(optimizations))


def run(program: Program, passes: Sequence[Pass], given: Given) -> Program:
    """Run those passes that are on, in order, verifying and dumping between them."""
    for found in passes:
        if not found.runs(given):
            continue
        program = found.made(given)(program)
        if config.verify_each():
            verify(program)
        dump(found.name, program)
        for observe in _observers.get():
            observe(found.name, program)
    return program


_observers: contextvars.ContextVar[tuple[Observer, ...]] = contextvars.ContextVar("hlobatch_observers", default=())


@contextlib.contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """A context in which ``observer`` is told of every pass that has run, and of the program the pass made."""
    token = _observers.set((*_observers.get(), observer))
    try:
        yield
    finally:
        _observers.reset(token)


_dumped = itertools.count()


def dump(stage: str, code: object, suffix: str = ".txt") -> None:
    """Write a program, or a module, as it is after a stage, if dumping is on."""
    folder = config.dump_directory()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{next(_dumped):03d}-{stage}{suffix}").write_text(str(code))
