"""A graph and the types of its variables -> the variables with a known value at the end of each block, and the values.

This is constant propagation. The type of a variable holds everywhere: after ``err = inf``, a loop that assigns ``err``
anew makes it an array. But on the way into the loop it is known to be infinite. Known values are represented by a type
as well, in which more leaves are Python objects.

Reference: Kildall (1973).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hlobatch.analysis.dataflow import Dataflow, solve
from hlobatch.analysis.tracing import trace
from hlobatch.diagnostics import HloBatchError
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Block, ControlFlowGraph
from hlobatch.ir.types import Static, Type
from hlobatch.values.facts import Learned, NotYet, Tried

Known = Mapping[str, Type]
"""Types with known values, for variables of which more is known than their type."""


@dataclass
class KnownValues:
    """Propagates known values through blocks.

    Attributes:
        types: The type of each variable, which holds everywhere.
    """

    types: Mapping[str, Type]
    _traced: dict[Any, tuple[Type, ...] | None] = field(default_factory=dict)

    def at_ends(self, graph: ControlFlowGraph) -> dict[str, Known]:
        """The known values at the end of each block that control reaches."""

        def merge(values: Iterable[Known | None]) -> Known | None:
            reached = [known for known in values if known is not None]
            if not reached:
                return None
            return {v: t for v, t in reached[0].items() if all(known.get(v) == t for known in reached)}

        def transfer(block: Block, known: Known | None) -> Known | None:
            return None if known is None else self.after(block, known)

        problem = Dataflow[Known | None](forward=True, boundary={}, initial=None, merge=merge, transfer=transfer)
        return {name: known for name, known in solve(graph, problem).after.items() if known is not None}

    def after(self, block: Block, known: Known) -> Known:
        """The known values after a block, given those before it."""
        found = dict(known)
        for op in block.instructions:
            gives_nothing = op.code.deletes or op.code.is_undefined
            results = self._results(op, found) if isinstance(op, PrimOp) and not gives_nothing else None
            for name in op.defs:
                found.pop(name, None)
            if results is not None:
                told = zip(op.defs, results, strict=True)
                found |= {v: t for v, t in told if any(isinstance(leaf, Static) for leaf in t.leaves)}
        return found

    def of(self, name: str, known: Known) -> Type | None:
        """The type of a variable, with its value where that is known; None if it has no type."""
        return known.get(name, self.types.get(name))

    def _results(self, op: PrimOp, known: Known) -> tuple[Type, ...] | None:
        """Types of the results of a primitive; None if it refuses its operands with their known values, or has none."""
        in_types = [self.of(name, known) for name in op.vars_in]
        key = (id(op), *in_types)
        if key not in self._traced:
            self._traced[key] = self._result_types(op, in_types)
        return self._traced[key]

    def _result_types(self, op: PrimOp, in_types: list[Type | None]) -> tuple[Type, ...] | None:
        operands = [type_ for type_ in in_types if type_ is not None]
        if len(operands) < len(in_types):
            return None
        try:
            return trace(op, operands, [True] * len(op.vars_out)).out_types
        except (HloBatchError, Learned, NotYet, Tried):  # what is known on one path is no fact about the program
            return None
