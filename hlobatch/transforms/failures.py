"""A typed program -> the places where lanes may raise, and the program without results for failures that no lane has.

A function gives back which failure a lane has had, if any, beside its result. Where no lane can reach a statement that
raises, these results are dropped.

::

    def main(%x) -> (%$result, %$failure, %$details):            def main(%x) -> (%$result):
      %$result, %$failure, %$details = call @f(%x)         ==>     %$result = call @f(%x)
"""

from __future__ import annotations

from collections.abc import Iterator

from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.type_inference import Inference
from hlobatch.diagnostics import BatchTypeError, as_also
from hlobatch.frontend.failures import Recorder
from hlobatch.ir.failures import DETAILS, FAILURE, Failure
from hlobatch.ir.ops import FunctionCallOp, GotoOp, Op, PrimOp
from hlobatch.ir.program import Block, Function, Program
from hlobatch.ir.types import TensorType


def raise_what_is_reached(program: Program, found: Inference) -> None:
    """Raise now what every lane would raise, whatever its values are, as Python does at once.

    Raises:
        BatchTypeError: It does; what is raised is also one of the user's class.
    """
    for function, block, index, op in _surely(program):
        if isinstance(op, PrimOp) and isinstance(op.function, Recorder):
            types = found.traced[(function.name, block.name), index].in_types
            leaves = [leaf for type_ in types for leaf in type_.leaves]
            if not any(isinstance(leaf, TensorType) for leaf in leaves):
                error = op.function.exception(*(type_.rebuild([]) for type_ in types))
                kind = as_also(BatchTypeError, type(error))
                raise kind(f"{type(error).__name__}: {error}", op.location) from error


def _surely(program: Program) -> Iterator[tuple[Function, Block, int, Op]]:
    """The operations that every lane comes to: from the entry to the first branch."""
    function = program.main_function()
    block, seen = function.graph.enter_block(), set[tuple[str, str]]()
    while (function.name, block.name) not in seen:
        seen.add((function.name, block.name))
        for index, op in enumerate(block.instructions):
            yield function, block, index, op
            if isinstance(op, FunctionCallOp):
                function = program.function(op.function)
                block = function.graph.enter_block()
                break
        else:
            after = block.terminator
            if not isinstance(after, GotoOp) or after.block not in function.graph:
                return
            block = function.graph.block(after.block)


def failures_of(program: Program, found: Inference) -> tuple[Failure, ...]:
    """The places where lanes may raise, in order; of a program in which branches decided at build time are jumps."""
    failures = []
    for function in program.all_functions:
        for block in function.graph:
            place = (function.name, block.name)
            for index, op in enumerate(block.instructions):
                if place in found.reached and isinstance(op, PrimOp) and isinstance(op.function, Recorder):
                    raised, types = op.function, found.traced[place, index].in_types
                    failures.append(Failure(raised.number, raised.text, raised.exception, types, raised.location))
    return tuple(sorted(failures, key=lambda failure: failure.number))


def without_failures(program: Program) -> Program:
    """The program whose functions no longer give back which failure a lane had; for programs in which none fails."""

    def results(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if user_name(name) not in (FAILURE, DETAILS))

    def call(op: Op) -> Op:
        return op.replace(vars_out=results(op.vars_out)) if isinstance(op, FunctionCallOp) else op

    def function(old: Function) -> Function:
        calling = old.map_blocks(lambda block: block.map_instructions(call))
        return calling.replace(vars_out=results(old.vars_out))

    return program.map_functions(function)
