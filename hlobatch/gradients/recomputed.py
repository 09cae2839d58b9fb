"""Calls that the way back makes again: of such a call, a lane saves only the arguments on the tape.

::

    a: …; %r = call again @f(%x)    ==>    a:             …; push the tape of %x; %r = call @plain.f(%x)

                                           back.a:        pop the tape of %x; %$r = call @f(%x)           leaves a tape
                                           back.a:again:  %$bar = call @back.f(%r:bar0)

The callee becomes three functions of the program: unchanged and without a tape, for the way forward (``plain.f``); with
a tape; and the way back along that tape. Its effects on the host happen only the first time.

Reference: Griewank and Walther, "Evaluating Derivatives", second edition, 2008, section 12.2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hlobatch.analysis.call_graph import CallGraph
from hlobatch.gradients.arrays import Array, arrays_of, primitive
from hlobatch.gradients.variables import Variables
from hlobatch.ir.ops import FunctionCallOp, LogOp, Op, PopOp, PrimOp, PushOp
from hlobatch.ir.program import Block, Function, Program


def plain(name: str) -> str:
    """The name of a function's copy without a tape."""
    return f"plain.{name}"


def recomputed(program: Program) -> frozenset[str]:
    """The functions that are called again on the way back, and all functions that they call."""
    graph = CallGraph(program)
    first = {site.op.function for site in graph.sites if site.op.again}
    return frozenset(first.union(*(graph.reachable[name] for name in first)))


def printing_once(program: Program) -> Program:
    """The program in which a function with effects runs at most once forward, and once more on the way back."""
    inner = recomputed(program)
    if not program.effects or not inner:
        return program

    def function(old: Function) -> Function:
        def op(each: Op) -> Op:
            if not isinstance(each, FunctionCallOp):
                return each
            return each.replace(again=old.name not in inner and each.function in inner)

        return old.map_blocks(lambda block: block.map_instructions(op))

    return program.map_functions(function)


def silent(function: Function) -> Function:
    """A function without its effects on the host."""

    def kept(op: Op) -> tuple[Op, ...]:
        return () if isinstance(op, LogOp) else (op,)

    return function.map_blocks(lambda block: block.expand_instructions(kept))


def plain_copies(variables: Variables, names: Collection[str]) -> Iterator[Function]:
    """Copies of functions, unchanged except for new names of variables."""
    program = variables.program
    for function in program.functions:
        if function.name in names:
            yield _plain_copy(variables, function)


def _plain_copy(variables: Variables, function: Function) -> Function:
    own = dict.fromkeys((*function.vars_in, *(v for block in function.graph for op in block.ops for v in op.defs)))
    typed = {v: variables.new(f"{v}:plain", variables.types[v]) for v in own}

    def rename(name: str) -> str:
        return typed.get(name, name)

    def renamed(op: Any) -> Any:
        changed = op.rename(rename, rename)
        return changed.replace(function=plain(op.function)) if isinstance(op, FunctionCallOp) else changed

    def block(old: Block) -> Block:
        return old.map_instructions(renamed).replace(terminator=renamed(old.terminator))

    vars_in, vars_out = tuple(map(rename, function.vars_in)), tuple(map(rename, function.vars_out))
    return function.map_blocks(block).replace(name=plain(function.name), vars_in=vars_in, vars_out=vars_out)


@dataclass(frozen=True)
class Again:
    """A call that the way back makes again.

    Attributes:
        variables: Names and types.
        owner: The name of the calling function.
        call: The call.
    """

    variables: Variables
    owner: str
    call: FunctionCallOp

    @cached_property
    def _saved(self) -> dict[Array, str]:
        """The arrays of its arguments that a lane saves, each with its tape."""
        types = self.variables.types
        arrays = [a for v in dict.fromkeys(self.call.vars_in) for a in arrays_of(v, types)]
        arrays = [a for a in arrays if not self.variables.is_input(a)]
        return dict(zip(arrays, self.variables.tapes_for(arrays), strict=True))

    def forward(self) -> Iterator[Op]:
        """The operations of the way forward: save the arguments, then call the copy without a tape."""
        types = self.variables.types
        for array, tape in self._saved.items():
            run = lambda *arrays, place=array.place: [arrays[place]]  # noqa: E731
            yield primitive(run, (array.variable,), (tape,), types, "to the tape", self.call)
        if self._saved:
            yield PushOp(tuple(self._saved.values()), location=self.call.location)
        yield self.call.replace(function=plain(self.call.function), again=False)

    def back(self) -> Iterator[Op]:
        """The operations that call it again on the way back, with a tape."""
        types, given = self.variables.types, dict[str, str]()
        if self._saved:
            yield PopOp(tuple(self._saved.values()), location=self.call.location)
        for variable in dict.fromkeys(array.variable for array in self._saved):
            name = given[variable] = self.variables.new(f"{self.owner}.$again", types[variable])
            tapes = [self._saved[array] for array in arrays_of(variable, types)]
            yield self._rebuilt(tapes, name)
        vars_in = tuple(given.get(v, v) for v in self.call.vars_in)
        vars_out = tuple(self.variables.new(f"{self.owner}.$again", types[v]) for v in self.call.vars_out)
        yield FunctionCallOp(self.call.function, vars_in, vars_out, location=self.call.location)

    def _rebuilt(self, tapes: list[str], name: str) -> PrimOp:
        return primitive(lambda *arrays: arrays, tapes, [name], self.variables.types, "from the tape", self.call)
