"""Turns a loop of one block that all lanes go through equally often into one primitive, a loop of JAX's.

::

    a:                                     a:
      %i = prim "0" ()                       %x = prim "9 turns: x * 2 + i" (%x)
      jump body                              …
    body:
      %x = prim "x * 2 + i" (%x, %i)  ==>
      %i = prim "i + 1" (%i)
      %c = prim "i < 9" (%i)
      branch %c, body, after
    after:
      …

Lanes that come to such a loop together stay together: there is nothing to schedule in it and no lane to mask, and its
counter is one number for all lanes. The blocks before and after it merge with it. So a program without any other loop
becomes straight-line code, and a loop around it becomes a loop of one block, which may be uniform as well. All turns
together count as one step of a lane (``max_steps``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.analysis.liveness import Names, liveness
from hlobatch.analysis.sharing import shared_roots
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.analysis.trip_counts import UniformLoop, uniform_loop
from hlobatch.ir.ops import HALT, GotoOp, PrimOp
from hlobatch.ir.physical import from_physical, lane_function, physical, to_physical
from hlobatch.ir.program import ControlFlowGraph, Function, Program
from hlobatch.ir.types import TensorType, Type, grouped
from hlobatch.jax_primitives import LOOPS
from hlobatch.transforms.dead_code import needed
from hlobatch.transforms.simplify_cfg import simplify_graph

UNROLLED: Final = 64
"""Equations of all turns together, up to which they are written out one after the other."""

Values = dict[str, list[Any]]
"""The arrays that variables are stored in, on one lane."""


def convert_uniform_loops(program: Program) -> Program:
    """The typed program with calls, its uniform loops of one block as primitives."""
    shared = shared_roots(program).keys()
    functions = {}
    for function in program.all_functions:
        while (loop := next(_loops(function.graph, shared), None)) is not None:
            function = _without(loop, function, program.var_defs)
        functions[function.name] = function
    changed = program.with_functions(functions)
    return program if changed == program else changed


def _loops(graph: ControlFlowGraph, shared: AbstractSet[str]) -> Iterator[UniformLoop]:
    for block in graph:
        if not block.sync and all(op.code.is_open for op in block.instructions):
            loop = uniform_loop(graph, block, shared)
            if loop is not None:
                yield loop


def _without(loop: UniformLoop, function: Function, types: Mapping[str, Type]) -> Function:
    """The function with a primitive in the place of a loop."""
    wanted = frozenset(function.vars_out) if loop.after == HALT else liveness(function).before[loop.after]
    instructions = _Code(loop, wanted, types).instructions
    computed = loop.block.replace(instructions=instructions, terminator=GotoOp(loop.after))
    before = (each.replace(terminator=GotoOp(loop.block.name)) for each in loop.before)
    return function.replace(graph=simplify_graph(function.graph.with_blocks(computed, *before)))


@dataclass(frozen=True)
class _Code:
    """What a loop computes.

    Attributes:
        loop: The loop.
        wanted: Variables that may be read after it.
        types: Of all variables.
    """

    loop: UniformLoop
    wanted: Names
    types: Mapping[str, Type]

    @property
    def instructions(self) -> tuple[PrimOp, ...]:
        """All of it as one primitive, if anything of it is wanted."""
        if not self.results:
            return ()
        in_types, out_types = (tuple(self.types[v] for v in names) for names in (self.given, self.results))
        leaves = [leaf for type_ in in_types for leaf in type_.tensor_leaves]
        jaxpr = jax.make_jaxpr(self._run)(*(leaf.aval for leaf in leaves))
        head = f"{self.loop.turns} turns" if self.loop.turns else f"while {self._test.text}"
        text = f"{head}: {'; '.join(op.text for op in self._ops)}"
        function = TracedFunction(in_types, out_types, jaxpr)
        return (PrimOp(self.given, self.results, function, text, location=self.loop.block.location),)

    # What of it is wanted, and what that takes

    @cached_property
    def _test(self) -> PrimOp:
        """What computes the condition of another turn."""
        (condition,) = self.loop.block.terminator.uses
        return next(op for op in reversed(self._all) if condition in op.defs)

    @property
    def _all(self) -> list[PrimOp]:
        return [op for op in self.loop.block.instructions if isinstance(op, PrimOp)]

    @property
    def _asked(self) -> Names:
        """What is read to decide on a turn, where they are not counted beforehand."""
        return frozenset() if self.loop.turns else frozenset(self._test.vars_in)

    @cached_property
    def _ops(self) -> list[PrimOp]:
        """The operations of a turn of which something is wanted, in that turn, a later one or after the loop."""
        entering: Names = frozenset()
        while True:
            kept, live = needed(self._all, self.wanted | self._asked | entering)
            if live == entering:
                return [op for op in kept if isinstance(op, PrimOp)]
            entering = live

    @cached_property
    def _changed(self) -> list[str]:
        """The variables that a turn writes."""
        return list(dict.fromkeys(v for op in self._ops for v in op.defs))

    @cached_property
    def _entering(self) -> list[str]:
        """The variables whose values before the loop matter."""
        read, written = dict[str, None](), set[str]()
        for op in self._ops:
            read |= {v: None for v in op.uses if v not in written}
            written.update(op.defs)
        if not self.loop.turns:  # it may not turn at all
            read |= dict.fromkeys([*self._asked, *self.results])
        return list(read)

    @cached_property
    def results(self) -> tuple[str, ...]:
        return tuple(v for v in self._changed if v in self.wanted)

    @cached_property
    def given(self) -> tuple[str, ...]:
        return tuple(v for v in self._entering if v not in self.loop.starts)

    @cached_property
    def _carried(self) -> list[str]:
        """What a turn leaves to the next, or to what is after the loop."""
        return [v for v in self._changed if v in self._entering or v in self.wanted]

    # Its meaning on one lane

    def _run(self, *tensors: Any) -> list[Any]:
        own = grouped(tensors, [self.types[v] for v in self.given])
        values = {v: list(map(to_physical, row, self._leaves(v))) for v, row in zip(self.given, own, strict=True)}
        values |= {v: lane_function(op, self.types)() for v, op in self.loop.starts.items() if v in self._entering}
        for v in self._carried:
            blank = [jnp.zeros(leaf.shape, leaf.dtype) for leaf in map(physical, self._leaves(v))]
            values.setdefault(v, blank)  # the first turn writes it
        values = self._after(values)
        pairs = ((values[v], self._leaves(v)) for v in self.results)
        return [from_physical(a, leaf) for arrays, leaves in pairs for a, leaf in zip(arrays, leaves, strict=True)]

    def _after(self, values: Values) -> Values:
        """The values after the last turn."""
        turns = self.loop.turns
        if turns and (turns == 1 or self._are_few(turns)):
            for _ in range(turns):
                values = self._turn(values)
            return values
        carried = {v: values[v] for v in self._carried}

        def turn(carried: Values) -> Values:
            after = self._turn({**values, **carried})
            return {v: after[v] for v in self._carried}

        if turns:
            last: Values = jax.lax.fori_loop(0, turns, lambda _, carried: turn(carried), carried)
        else:
            last = jax.lax.while_loop(lambda carried: self._holds({**values, **carried}), turn, carried)
        return last

    def _turn(self, values: Values) -> Values:
        """The values after one turn."""
        values = dict(values)
        for op in self._ops:
            self._apply(op, values)
        return values

    def _holds(self, values: Values) -> Any:
        """Whether there is another turn."""
        values = dict(values)
        self._apply(self._test, values)
        ((holds,),) = (values[v] for v in self.loop.block.terminator.uses)
        return holds

    def _apply(self, op: PrimOp, values: Values) -> None:
        results = lane_function(op, self.types)(*(array for v in op.vars_in for array in values[v]))
        values.update(zip(op.vars_out, grouped(results, [self.types[v] for v in op.vars_out]), strict=True))

    def _leaves(self, variable: str) -> Sequence[TensorType]:
        return self.types[variable].tensor_leaves

    def _are_few(self, turns: int) -> bool:
        """Whether the turns are so small that they are better written out."""
        if any(op.code.primitives & LOOPS for op in self._ops):
            return False
        return turns * sum(op.code.size for op in self._ops) <= UNROLLED
