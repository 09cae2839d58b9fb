"""The functions for the way forward, which leaves a tape, and for the way back along it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch.analysis.liveness import liveness
from hlobatch.gradients.arrays import Array, own_type, primitive, tensor_of, zeros
from hlobatch.gradients.back import Back, Border, back_of
from hlobatch.gradients.tangents import ended_with
from hlobatch.gradients.variables import CAME, Variables
from hlobatch.ir.code import MOVE
from hlobatch.ir.ops import HALT, BranchOp, GotoOp, Op, PopOp, PrimOp, PushOp
from hlobatch.ir.program import Block, ControlFlowGraph, Function
from hlobatch.ir.types import Type, tensor

START: Final = "back:start"
"""Name of the block in which the way back ends. Names of other functions' blocks have no colon."""
_AHEAD: Final = "ahead:start"
"""Name of a block before a function's first one, if that is in a loop."""


class Ways:
    """The ways forward and back through a function.

    Attributes:
        variables: Names and types.
        function: The function.
    """

    def __init__(self, variables: Variables, function: Function) -> None:
        self.variables, self.function, self.types = variables, function, variables.types
        graph, live = function.graph, liveness(function)
        self._before: Mapping[str, Sequence[Array]] = {
            name: variables.with_bars(sorted(names)) for name, names in live.before.items()
        } | {HALT: variables.with_bars(sorted(function.vars_out))}
        self._after: Mapping[str, Sequence[Array]] = {
            name: variables.with_bars(sorted(names)) for name, names in live.after.items()
        }
        entry = graph.enter_block().name
        start: tuple[str | None, ...] = (None,)
        self._sources = {
            name: (*(start if name == entry else ()), *found) for name, found in graph.predecessors.items()
        }
        self._backs = {
            block.name: Back(variables, function.name, block, Border(self._before[block.name], self._after[block.name]))
            for block in graph
        }

    def _is_join(self, name: str) -> bool:
        """Whether a block, or the end of the function, has several predecessors."""
        return len(self._sources[name]) > 1

    def _number(self, source: str | None, target: str) -> int:
        """The number of a predecessor of a block; None stands for the start of the function."""
        return self._sources[target].index(source)

    # Forward

    def forward(self) -> Function:
        """The function that leaves a tape."""
        graph = ControlFlowGraph(tuple(block for old in self.function.graph for block in self._forward(old)))
        function = self.function.replace(graph=graph)
        if self._is_join(HALT):
            function = ended_with(function, [PushOp((CAME,), location=self.function.location)])
        entry = self.function.graph.enter_block().name
        if self._is_join(entry):
            came = self._came([self._number(None, entry)], self.function)
            start = Block(_AHEAD, (came,), GotoOp(entry), self.function.location)
            function = function.replace(graph=ControlFlowGraph((start, *function.graph.blocks)))
        return function

    def _forward(self, block: Block) -> Iterator[Block]:
        back = self._backs[block.name]
        ops: list[Op] = [PushOp((CAME,), location=block.location)] if self._is_join(block.name) else []
        ops += [_to_tape(array, tape, self.types, block) for array, tape in back.saved.items()]
        ops += [PushOp(tuple(back.saved.values()), location=block.location)] if back.saved else []
        again = self._backs[block.name].again
        ops += block.instructions if again is None else (*block.instructions[:-1], *again.forward())
        came = self._leaving(block)
        if came and back.call is not None:  # the callee writes ``CAME``, too
            behind = f"{block.name}:called"
            yield block.replace(instructions=tuple(ops), terminator=GotoOp(behind, location=block.location))
            yield Block(behind, came, block.terminator, block.location)
        else:
            yield block.replace(instructions=(*ops, *came))

    def _leaving(self, block: Block) -> tuple[PrimOp, ...]:
        """The operation that notes from where a lane comes to the next block, if that has several predecessors."""
        end = block.terminator
        numbers = [self._number(block.name, name) for name in end.successors if self._is_join(name)]
        if len(set(numbers)) > 1:
            assert isinstance(end, BranchOp)
            return (self._came(numbers, block, end.cond_var),)
        return (self._came(numbers, block),) if numbers else ()

    def _came(self, numbers: Sequence[int], like: Any, condition: str | None = None) -> PrimOp:
        values = [np.int32(number) for number in numbers]
        if condition is None:
            return primitive(lambda: [jnp.asarray(values[0])], (), (CAME,), self.types, f"came {values[0]}", like)
        text = f"came {values[0]} or {values[1]}"
        return primitive(lambda c: [jnp.where(c, *values)], (condition,), (CAME,), self.types, text, like)

    # Back

    def backward(self) -> Function:
        """The function from cotangents of the results to those of the parameters."""
        function, variables = self.function, self.variables
        taken = tuple(map(variables.bar, variables.with_bars(function.vars_out)))
        given = variables.with_bars(function.vars_in)
        results = [
            variables.like(a, f"{a.variable}:back{a.place}") for a in given
        ]  # new variables, so that no call has to save them
        known = set(self._before[function.graph.enter_block().name])
        pairs = list(zip(results, given, strict=True))
        ops = self._zeros([name for name, a in pairs if a not in known], function)
        moves = [(name, variables.bar(a)) for name, a in pairs if a in known]
        if moves:
            written, read = zip(*moves, strict=True)
            ops = (*ops, PrimOp(read, written, MOVE, "move", location=function.location))
        blocks = (*self._towards(HALT, back_of(HALT), ()), *self._all_back())
        graph = ControlFlowGraph((*blocks, Block(START, ops, GotoOp(HALT), function.location)))
        return Function(back_of(function.name), graph, taken, tuple(results), location=function.location)

    def both(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Function:
        """Main: the way forward, and back from the cotangents of ``outputs`` to those of ``inputs``."""
        types, function, variables = self.types, self.function, self.variables
        given = [variables.like(a, f"{a.variable}:cotangent{a.place}") for a in outputs]
        bars = [variables.bar(a) for a in outputs]
        begin = [primitive(lambda *arrays: arrays, given, bars, types, "cotangents", function)] if given else []
        sums = [variables.sum_of(a) for a in inputs]
        result = function.vars_out[0]
        pair_type = Type((types[result].tensors, tuple(own_type(tensor_of(a, types)).tensors for a in inputs)))
        pair = variables.new("main.$with_cotangents", pair_type)
        packed = primitive(lambda *arrays: arrays, [result, *sums], [pair], types, "result, cotangents", function)
        turn = back_of(HALT)
        first, *ahead = (block.retarget(lambda name: turn if name == HALT else name) for block in self.forward().graph)
        first = first.replace(instructions=(*self._zeros(sums, function), *first.instructions))
        back = (*self._towards(HALT, turn, begin), *self._all_back())
        end = Block(START, (packed,), GotoOp(HALT), function.location)
        graph = ControlFlowGraph((first, *ahead, *back, end))
        return function.replace(
            graph=graph, vars_in=(*function.vars_in, *given), vars_out=(pair, *function.vars_out[1:])
        )

    def _all_back(self) -> Iterator[Block]:
        """The blocks that go back through the function's blocks, the last first."""
        for block in reversed(self.function.graph.blocks):
            back = self._backs[block.name]
            yield from back.called()
            yield from self._towards(block.name, back.name, tuple(back.ops()))

    def _towards(self, target: str, name: str, ops: Sequence[Op]) -> Iterator[Block]:
        """The blocks that end the way back through a block, and go on through the predecessor that the lane came from.

        Args:
            target: The block, or ``HALT``.
            name: The name of the first of the new blocks.
            ops: The operations that it begins with.
        """
        sources = self._sources[target]
        location = self.function.location if target == HALT else self.function.graph.block(target).location
        if len(sources) > 1:
            ops = (*ops, PopOp((CAME,), location=location))
        for number, source in enumerate(sources[:-1]):
            condition = self._is_from(number)
            asked = condition.vars_out[0]
            edge, rest = f"{name}:from{number}", f"{name}:not{number}"
            yield Block(name, (*ops, condition), BranchOp(asked, edge, rest, location=location), location)
            yield self._edge(source, target, edge, ())
            name, ops = rest, ()
        yield self._edge(sources[-1] if sources else None, target, name, ops)

    def _edge(self, source: str | None, target: str, name: str, ops: Sequence[Op]) -> Block:
        """The block that goes back along an edge; cotangents that are live only at the source's end are set to zero."""
        known = set(self._before[target])
        missing = [] if source is None else [self.variables.bar(a) for a in self._after[source] if a not in known]
        goes_to = START if source is None else back_of(source)
        zero = self._zeros(missing, self.function)
        return Block(name, (*ops, *zero), GotoOp(goes_to, location=self.function.location), self.function.location)

    def _is_from(self, number: int) -> PrimOp:
        name = self.variables.new(f"{self.function.name}.$from", tensor(np.bool_))
        text = f"came == {number}"
        return primitive(lambda came: [came == number], (CAME,), (name,), self.types, text, self.function)

    def _zeros(self, names: Sequence[str], like: Any) -> tuple[PrimOp, ...]:
        return (zeros(names, self.types, like),) if names else ()


def _to_tape(array: Array, tape: str, types: Mapping[str, Type], like: Any) -> PrimOp:
    """The operation that copies an array of a variable to a tape."""
    return primitive(lambda *arrays: [arrays[array.place]], (array.variable,), (tape,), types, "to the tape", like)
