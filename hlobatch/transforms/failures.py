"""Finds the statements by which a typed program may raise, and drops failure results from a program in which none can.

A function returns, beside its result, the number of the lane's failure and the values of its exception. If no lane can
reach a statement that raises, these results are dropped.

::

    def main(%x) -> (%$result, %$failure, %$details):            def main(%x) -> (%$result):
      %$result, %$failure, %$details = call @f(%x)         ==>     %$result = call @f(%x)
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.analysis.type_inference import Inference, Place
from hlobatch.diagnostics import BatchTypeError, HloBatchError, Location, as_also
from hlobatch.frontend.failures import Recorder, Relay
from hlobatch.ir.failures import DETAILS, FAILURE, RAISED, Failure
from hlobatch.ir.ops import FunctionCallOp, GotoOp, Op, PrimOp
from hlobatch.ir.program import Block, Function, Program
from hlobatch.ir.types import Static
from hlobatch.prelude import is_of_prelude

_Return = tuple[Function, Block, int]
"""The place to which a call returns: the instruction of this number of a block of a function."""


def raise_what_is_reached(program: Program, found: Inference) -> None:
    """Raise an exception now if every lane would raise it with the same values, as Python would.

    Raises:
        BatchTypeError: Every lane raises; the error is also an instance of the user's class.
    """
    number, calls = _failure_of_all(program, found) or (0, ())
    for failure in failures_of(program, found) if number else ():
        if failure.number == number and not any(type_.tensor_leaves for type_ in failure.in_types):
            error = failure.make(*(type_.rebuild([]) for type_ in failure.in_types))
            kind = as_also(BatchTypeError, type(error))
            wrong = kind(f"{type(error).__name__}: {error}", failure.location)
            raise functools.reduce(HloBatchError.called_from, calls, wrong) from error


def _failure_of_all(program: Program, found: Inference) -> tuple[int, Sequence[Location]] | None:
    """The number of the failure with which every lane ends, 0 for none; None if that differs or is not known.

    Beside it, the calls through which lanes come to the failure, the innermost first.
    """
    number, calls = 0, tuple[Location, ...]()
    for place, index, op, callers in _surely(program):
        if op is None:
            return number, calls
        if isinstance(op, PrimOp) and any(user_name(name) == FAILURE for name in op.defs):
            known = op.function.number if isinstance(op.function, Recorder) else _known(found.traced[place, index])
            if known is None:
                return None
            number = known
            if isinstance(op.function, Recorder):
                calls = tuple(block.instructions[i - 1].location for _, block, i in callers[:0:-1])
    return None


def _known(traced: TracedFunction) -> int | None:
    """The Python number that traced code returns; None if its result is an array."""
    (type_,) = traced.written_types
    (leaf,) = type_.leaves
    return leaf.value if isinstance(leaf, Static) else None


def _surely(program: Program) -> Iterator[tuple[Place, int, Op | None, Sequence[_Return]]]:
    """The operations that every lane runs, from the entry to the first branch; None last if the program ends there.

    Each with the places that calls around it return to.
    """
    function = program.main_function()
    callers = list[_Return]()
    block, first, seen = function.graph.enter_block(), 0, set[tuple[str, str, int, int]]()
    while (here := (function.name, block.name, first, len(callers))) not in seen:
        seen.add(here)
        for index, op in enumerate(block.instructions[first:], first):
            yield (function.name, block.name), index, op, callers
            if isinstance(op, FunctionCallOp):
                callers.append((function, block, index + 1))
                function = program.function(op.function)
                block, first = function.graph.enter_block(), 0
                break
        else:
            after = block.terminator
            if not isinstance(after, GotoOp):
                return
            if after.block in function.graph:
                block, first = function.graph.block(after.block), 0
            elif callers:
                function, block, first = callers.pop()
            else:
                yield (function.name, block.name), len(block.instructions), None, callers
                return


def failures_of(program: Program, found: Inference) -> tuple[Failure, ...]:
    """The statements that lanes may reach and that raise, by number, in a program with decided branches folded."""
    failures, of_library, calls = list[Failure](), list[Failure](), list[Relay]()
    for place, index, op in _reached(program, found):
        if isinstance(op.function, Relay):
            calls.append(op.function)
        elif isinstance(op.function, Recorder):
            raised, types = op.function, found.traced[place, index].in_types
            known = of_library if is_of_prelude(raised.location.file) else failures
            known.append(Failure(raised.number, raised.text, raised.exception, types, raised.location, raised.kind))
    failures += [
        replace(one, number=call(one.number)[0], text=call.text, location=call.location)
        for call in calls
        for one in of_library
    ]
    return tuple(sorted(failures, key=lambda failure: failure.number))


def _reached(program: Program, found: Inference) -> Iterator[tuple[Place, int, PrimOp]]:
    """The primitives that a lane may reach."""
    for function in program.all_functions:
        for block in function.graph:
            place = (function.name, block.name)
            if place in found.reached:
                yield from ((place, i, op) for i, op in enumerate(block.instructions) if isinstance(op, PrimOp))


def without_failures(program: Program) -> Program:
    """The program without failure numbers and exception values among the functions' results, as no lane can fail.

    Where a ``try`` keeps the failure of a call apart, functions keep these results, and only the program gives none.
    """
    if any(RAISED in user_name(name) for op in program.ops if isinstance(op, FunctionCallOp) for name in op.vars_out):
        return program.replace(vars_out=program.vars_out[:1])

    def results(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if user_name(name) not in (FAILURE, DETAILS))

    def call(op: Op) -> Op:
        return op.replace(vars_out=results(op.vars_out)) if isinstance(op, FunctionCallOp) else op

    def function(old: Function) -> Function:
        calling = old.map_blocks(lambda block: block.map_instructions(call))
        return calling.replace(vars_out=results(old.vars_out))

    return program.map_functions(function)
