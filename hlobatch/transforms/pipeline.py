"""The order of the stages: function -> program with calls -> lowered program. ``registry.py`` has their passes.

Between passes the verifier runs, and with ``HLOBATCH_DUMP_IR=folder`` the numbered IR after each is written there.
"""

from __future__ import annotations

import contextvars
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager

from hlobatch import config
from hlobatch.ir.program import Program, VariableAllocation
from hlobatch.ir.types import Type
from hlobatch.ir.verifier import verify
from hlobatch.scoped import having
from hlobatch.transforms import registry
from hlobatch.transforms.optimizations import ALL, Optimizations
from hlobatch.transforms.registry import Given, Pass
from hlobatch.values.facts import NONE_KNOWN, Facts

Observer = Callable[[str, Program], None]


def specialized_program(program: Program, in_types: Mapping[str, Type], facts: Facts = NONE_KNOWN) -> Program:
    """The typed program, whose primitives no longer run the user's Python.

    Args:
        program: The frontend's program, untyped.
        in_types: Types of its inputs.
        facts: Facts that earlier rounds of tracing found.
    """
    if config.verify_each():
        verify(program)
    return run(program, registry.TYPING, Given(in_types=in_types, facts=facts))


def optimized_program(program: Program, shared: Collection[str] = (), optimizations: Optimizations = ALL) -> Program:
    """The allocated program of a typed one; both have calls.

    Args:
        program: A program from ``specialized_program``.
        shared: Inputs that all lanes share.
        optimizations: Which passes run.
    """
    return allocated_program(computed_once(program, shared, optimizations), optimizations)


def computed_once(program: Program, shared: Collection[str], optimizations: Optimizations = ALL) -> Program:
    """The typed program with values computed once that are the same in each lane, or in each run."""
    program = program.replace(var_alloc=dict.fromkeys(shared, VariableAllocation.SHARED))
    return run(program, registry.ONCE, Given(optimizations))


def allocated_program(program: Program, optimizations: Optimizations = ALL) -> Program:
    """The allocated program of a typed one, with branches and loops in their final form."""
    return run(program, registry.STORING, Given(optimizations))


def with_few_blocks(program: Program, optimizations: Optimizations = ALL) -> Program:
    """The typed program with branches and loops in their final form, not allocated."""
    return run(program, registry.BRANCHES, Given(optimizations))


def lowered_program(program: Program, optimizations: Optimizations = ALL) -> Program:
    """The program with explicit stacks of an allocated program with calls."""
    return run(program, registry.LOWERING, Given(optimizations))


def ordered_program(program: Program) -> Program:
    """The program with explicit stacks with its blocks in the order in which they are run."""
    return run(program, registry.ORDERING, Given())


def machine_program(program: Program, optimizations: Optimizations = ALL) -> Program:
    """The program that runs, of one with explicit stacks: results in parts, small blocks copied into others."""
    return run(program, registry.FINISHING, Given(optimizations))


def run(program: Program, passes: Sequence[Pass], given: Given) -> Program:
    """Run the passes that are switched on, in order, verifying and dumping after each."""
    for found in passes:
        if not found.runs(given):
            continue
        before, program = program, found.made(given)(program)
        if program is not before and config.verify_each():
            verify(program)
        dump(found.name, program)
        for observe in _observers.get():
            observe(found.name, program)
    return program


_observers: contextvars.ContextVar[tuple[Observer, ...]] = contextvars.ContextVar("hlobatch_observers", default=())


def observed(observer: Observer) -> AbstractContextManager[tuple[Observer, ...]]:
    """Within it, ``observer`` is called after every pass with the pass's name and the program that it made."""
    return having(_observers, (*_observers.get(), observer))


_dumped = itertools.count()


def dump(stage: str, code: object, suffix: str = ".txt") -> None:
    """Write a program, or a module, to a numbered file after a stage, if dumping is on."""
    folder = config.dump_directory()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{next(_dumped):03d}-{stage}{suffix}").write_text(str(code))
