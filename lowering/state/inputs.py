"""The array operands of the module -> inputs that lanes take, tables that are read in place, and shared values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import lane_function
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import grouped
from hlobatch.lowering.state.captures import Captures
from hlobatch.lowering.state.footprint import capture_slot
from hlobatch.lowering.state.layout import Layout, Slots
from hlobatch.typing import Arrays


@dataclass(frozen=True)
class Inputs:
    """The arrays that the module takes, in order.

    Attributes:
        layout: The state of the run.
    """

    layout: Layout

    @property
    def slots(self) -> list[str]:
        """The names of the arrays, among the values that are passed around beside the state."""
        return [f"input#{position}" for position in range(len(self.layout.input_avals))]

    @property
    def of_lanes(self) -> list[str]:
        """Variables of which each lane has its own value, and which the program reads."""
        return [v for v in self.layout.program.vars_in if v in self.layout.stored]

    def by_variable(self, arrays: Arrays) -> dict[str, list[Any]]:
        """The arrays of each variable."""
        program = self.layout.program
        types = [program.var_defs[v] for v in program.vars_in]
        return dict(zip(program.vars_in, grouped(arrays, types), strict=True))

    def entering(self, given: Slots) -> dict[str, Any]:
        """The arrays of all inputs, ``[inputs, *event]``, by the slot that a lane copies its own row to."""
        arrays = self.by_variable([given[slot] for slot in self.slots])
        return {top: array for v in self.of_lanes for top, array in zip(self.layout.tops(v), arrays[v], strict=True)}

    def where_they_lie(self, arrays: Arrays) -> dict[str, Any]:
        """Arrays ``[inputs, *event]`` that are read where they lie, outside of the state, by their slot in blocks."""
        own, outside = self.by_variable(arrays), self.layout.tables | self.layout.in_place
        read = (v for v in self.layout.program.vars_in if v in outside)
        return {top: array for v in read for top, array in zip(self.layout.tops(v), own[v], strict=True)}

    def named(self, captured: Sequence[Any], arrays: Arrays, shared: Sequence[Any]) -> dict[str, Any]:
        """The values that do not change in a run, by slot: shared values, captured arrays, and inputs."""
        fixed = dict(zip(self.layout.shared_slots, shared, strict=True))
        fixed |= {capture_slot(i): value for i, value in enumerate(captured)}
        return fixed | self.where_they_lie(arrays) | dict(zip(self.slots, arrays, strict=True))

    def shared(self, captures: Captures, captured: Sequence[Any], arrays: Arrays) -> list[Any]:
        """The shared values: inputs without a batch axis, and what the entry block computes from them."""
        program = self.layout.program
        values = {v: own for v, own in self.by_variable(arrays).items() if self._is_shared(v)}
        for op in program.graph.enter_block().instructions:
            if isinstance(op, PrimOp) and program.is_computed_once(op):
                op = captures.substituted(op, captured)
                operands = [a for v in op.vars_in for a in values.get(v, [])]
                results = lane_function(op, program.var_defs)(*operands)
                types = [program.var_defs[v] for v in op.vars_out]
                values.update(zip(op.vars_out, grouped(results, types), strict=True))
        return [array for v in self.layout.shared for array in values[v]]

    def _is_shared(self, variable: str) -> bool:
        return self.layout.program.alloc(variable) is Alloc.SHARED
