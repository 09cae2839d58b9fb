"""Primitives that XLA computes for all lanes that wait, in turn with the kernel that runs everything else.

A lane that comes to an errand writes the values that the primitive reads, keeps its variables in the memory of the
host, and leaves the kernel. When XLA has computed the results, the kernel is started again, and the lane goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hlobatch.analysis.machine_liveness import live_in
from hlobatch.ir.fate import NUMBER, Fate
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import physical
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import TensorType


@dataclass(frozen=True)
class Errand:
    """A primitive that is handed over, alone in its block.

    Attributes:
        block: The name of the block.
        op: The primitive.
        told: Its operands that differ between lanes, without arguments that are read where they lie.
        wanted: Its results that the lanes keep.
        live: Variables that lanes still need after it, besides its results.
        fate: What a lane that waits for it has as its status: it is on its way, and the errand's number above.
    """

    block: str
    op: PrimOp
    told: tuple[str, ...]
    wanted: tuple[str, ...]
    live: frozenset[str]
    fate: int


def errands_of(program: Program, names: Sequence[str]) -> list[Errand]:
    """The errands of a program, given the names of their blocks."""
    live = live_in(program) if names else {}
    in_place = read_in_place(program)

    def errand(number: int, name: str) -> Errand:
        block = program.graph.block(name)
        (op,), (after,) = block.instructions, block.successors
        assert isinstance(op, PrimOp)
        own = (v for v in dict.fromkeys(op.vars_in) if program.alloc(v) is not Alloc.SHARED and v not in in_place)
        kept = (v for v in op.vars_out if program.alloc(v) is not Alloc.NULL or v in program.vars_out)
        fate = int(Fate.RUNNING) | number << NUMBER
        return Errand(name, op, tuple(own), tuple(kept), live[after].difference(op.vars_out), fate)

    return [errand(number, name) for number, name in enumerate(names, 1)]


def read_in_place(program: Program) -> frozenset[str]:
    """The arguments that no lane assigns to, so that they stay where the host has them."""
    written = {v for op in program.ops for v in (*op.defs, *op.moved)}
    return frozenset(program.vars_in) - written


def arrays_of(program: Program, variables: Sequence[str]) -> list[TensorType]:
    """Types of the arrays of variables, for one lane."""
    return [physical(leaf) for v in variables for leaf in program.var_defs[v].tensor_leaves]


FIRST: Final = int(Fate.UNSTARTED)
"""The status of a lane before the kernel is started for the first time."""
