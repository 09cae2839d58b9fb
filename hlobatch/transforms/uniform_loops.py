"""Turns a one-block loop that all lanes go through equally often into one primitive, which contains a JAX loop.

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

The input and the result are typed programs with calls, whose loops test at their ends (``rotate_loops.py``). Which
loops are uniform is decided by ``analysis/trip_counts.py``.

Lanes that enter such a loop together leave it together: the loop needs no schedule and no mask, and its counter is one
number for all lanes. The blocks before and after the loop merge with it. So a program without any other loop becomes
straight-line code, and a loop around it becomes a loop of one block, which may be uniform as well: the pass goes on
from the inside out until no uniform loop is left. All turns together count as one step of a lane (``max_steps``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.analysis.liveness import Names, liveness, read_after
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

MOST_EQUATIONS_UNROLLED: Final = 64
"""Equations, of all turns together, up to which a loop is unrolled. It is a limit on the size of the module: XLA
compiles a loop faster than copies of its body. Chosen by judgement (2026-11-24), not measured.
"""

Values = dict[str, list[Any]]
"""For each variable, the arrays that store it on one lane."""


def convert_uniform_loops(program: Program) -> Program:
    """The typed program with calls, with uniform one-block loops turned into primitives."""
    shared = shared_roots(program).keys()
    functions = {}
    for function in program.all_functions:
        while (loop := next(_loops(function.graph, shared), None)) is not None:
            function = _with_primitive(function, loop, program.var_defs)
        functions[function.name] = function
    changed = program.with_functions(functions)
    return program if changed == program else changed


def _loops(graph: ControlFlowGraph, shared: AbstractSet[str]) -> Iterator[UniformLoop]:
    """The uniform loops of a graph, except blocks that the user marked with ``hb.sync()``, which stay blocks."""
    for block in graph:
        if not block.sync and all(op.code.is_open for op in block.instructions):
            loop = uniform_loop(graph, block, shared)
            if loop is not None:
                yield loop


def _with_primitive(function: Function, loop: UniformLoop, types: Mapping[str, Type]) -> Function:
    """The function with a primitive in place of a loop."""
    live_out = read_after(function) if loop.after == HALT else liveness(function).before[loop.after]
    primitive = _LoopPrimitive(_LoopVariables(loop, live_out), types)
    computed = loop.block.replace(instructions=primitive.instructions, terminator=GotoOp(loop.after))
    before = (each.replace(terminator=GotoOp(loop.block.name)) for each in loop.before)
    return function.replace(graph=simplify_graph(function.graph.with_blocks(computed, *before)))


@dataclass(frozen=True)
class _LoopVariables:
    """The operations of a loop that are needed, and the variables that enter it, are carried and leave it.

    Attributes:
        loop: The loop.
        live_out: Variables that are live after the loop.
    """

    loop: UniformLoop
    live_out: Names

    @cached_property
    def test(self) -> PrimOp:
        """The operation that computes whether there is another turn."""
        (condition,) = self.loop.block.terminator.uses
        return next(op for op in reversed(self._primitives) if condition in op.defs)

    @property
    def _primitives(self) -> list[PrimOp]:
        return [op for op in self.loop.block.instructions if isinstance(op, PrimOp)]

    @property
    def _tested(self) -> Names:
        """The variables that the test reads; empty if the number of turns is known beforehand."""
        return frozenset() if self.loop.turns else frozenset(self.test.vars_in)

    @cached_property
    def ops(self) -> list[PrimOp]:
        """The operations of a turn whose results are read in the turn, in a later turn or after the loop."""
        live_in: Names = frozenset()
        while True:
            kept, live = needed(self._primitives, self.live_out | self._tested | live_in)
            if live == live_in:
                return [op for op in kept if isinstance(op, PrimOp)]
            live_in = live

    @cached_property
    def _written(self) -> list[str]:
        """The variables that a turn writes."""
        return list(dict.fromkeys(v for op in self.ops for v in op.defs))

    @cached_property
    def live_in(self) -> list[str]:
        """The loop's live-in variables: their values from before the loop are read."""
        read, written = dict[str, None](), set[str]()
        for op in self.ops:
            read |= {v: None for v in op.uses if v not in written}
            written.update(op.defs)
        if not self.loop.turns:  # with no turn at all, the results keep their values from before
            read |= dict.fromkeys([*self._tested, *self.results])
        return list(read)

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The variables that the primitive reads; the other live-in variables have known values before the loop."""
        return tuple(v for v in self.live_in if v not in self.loop.starts)

    @cached_property
    def results(self) -> tuple[str, ...]:
        """The variables that the primitive writes."""
        return tuple(v for v in self._written if v in self.live_out)

    @cached_property
    def carried(self) -> list[str]:
        """The loop-carried variables: a turn writes them for the next turn, or for the code after the loop."""
        return [v for v in self._written if v in self.live_in or v in self.live_out]


@dataclass(frozen=True)
class _LoopPrimitive:
    """The code of a loop as a primitive, for one lane.

    Attributes:
        variables: The variables of the loop.
        types: Types of all variables of the program.
    """

    variables: _LoopVariables
    types: Mapping[str, Type]

    @property
    def _loop(self) -> UniformLoop:
        return self.variables.loop

    @property
    def instructions(self) -> tuple[PrimOp, ...]:
        """The whole loop as one primitive; no instruction if its results are not read."""
        operands, results = self.variables.operands, self.variables.results
        if not results:
            return ()
        in_types, out_types = (tuple(self.types[v] for v in names) for names in (operands, results))
        leaves = [leaf for type_ in in_types for leaf in type_.tensor_leaves]
        jaxpr = jax.make_jaxpr(self._run)(*(leaf.aval for leaf in leaves))
        function = TracedFunction(in_types, out_types, jaxpr)
        return (PrimOp(operands, results, function, self._text, location=self._loop.block.location),)

    @property
    def _text(self) -> str:
        head = f"{self._loop.turns} turns" if self._loop.turns else f"while {self.variables.test.text}"
        return f"{head}: {'; '.join(op.text for op in self.variables.ops)}"

    def _run(self, *tensors: Any) -> list[Any]:
        """Computes the tensors of the results from those of the operands."""
        values = self._after(self._before(tensors))
        pairs = ((values[v], self._leaves(v)) for v in self.variables.results)
        return [from_physical(a, leaf) for arrays, leaves in pairs for a, leaf in zip(arrays, leaves, strict=True)]

    def _before(self, tensors: Sequence[Any]) -> Values:
        """The values before the first turn."""
        operands, starts = self.variables.operands, self._loop.starts
        own = grouped(tensors, [self.types[v] for v in operands])
        values = {v: list(map(to_physical, row, self._leaves(v))) for v, row in zip(operands, own, strict=True)}
        values |= {v: lane_function(op, self.types)() for v, op in starts.items() if v in self.variables.live_in}
        for v in self.variables.carried:
            blank = [jnp.zeros(leaf.shape, leaf.dtype) for leaf in map(physical, self._leaves(v))]
            values.setdefault(v, blank)  # only a placeholder: the first turn writes it before it is read
        return values

    def _after(self, values: Values) -> Values:
        """The values after the last turn."""
        turns = self._loop.turns
        if turns and (turns == 1 or self._is_unrolled(turns)):
            for _ in range(turns):
                values = self._turn(values)
            return values
        carried = {v: values[v] for v in self.variables.carried}

        def turn(carried: Values) -> Values:
            after = self._turn({**values, **carried})
            return {v: after[v] for v in self.variables.carried}

        if turns:
            last: Values = jax.lax.fori_loop(0, turns, lambda _, carried: turn(carried), carried)
        else:
            last = jax.lax.while_loop(lambda carried: self._goes_on({**values, **carried}), turn, carried)
        return last

    def _turn(self, values: Values) -> Values:
        """The values after one turn."""
        values = dict(values)
        for op in self.variables.ops:
            self._apply(op, values)
        return values

    def _goes_on(self, values: Values) -> Any:
        """Whether another turn follows."""
        values = dict(values)
        self._apply(self.variables.test, values)
        ((holds,),) = (values[v] for v in self._loop.block.terminator.uses)
        return holds

    def _apply(self, op: PrimOp, values: Values) -> None:
        """Add the results of an operation to the values."""
        results = lane_function(op, self.types)(*(array for v in op.vars_in for array in values[v]))
        values.update(zip(op.vars_out, grouped(results, [self.types[v] for v in op.vars_out]), strict=True))

    def _leaves(self, variable: str) -> Sequence[TensorType]:
        return self.types[variable].tensor_leaves

    def _is_unrolled(self, turns: int) -> bool:
        """Whether the loop is unrolled since it is small and its body has no loop."""
        if any(op.code.primitives & LOOPS for op in self.variables.ops):
            return False
        return turns * sum(op.code.size for op in self.variables.ops) <= MOST_EQUATIONS_UNROLLED
