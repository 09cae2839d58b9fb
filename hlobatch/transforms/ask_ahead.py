"""Lets a block ask what those that it leads to would ask: a lane does not stand at a block that only asks.

::

    body:                                    body:
      %n = prim "n - 1" (%n)                   %n = prim "n - 1" (%n)
      jump head                                %c = prim "n > 0" (%n)
    head:                                      jump head
      %c = prim "n > 0" (%n)      ==>          // past head: branch %c, other, end
      branch %c, other, end                  other:
    other:                                     …
      …

A block of a few operations takes as long to come to as to run. Where the next one is known when a block ends, as many
as follow each other may be asked: a chain of ``elif`` is one block then, and a recursion's base case is told apart
where the call is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from hlobatch.analysis.allocation import allocate
from hlobatch.analysis.cost import block_cost
from hlobatch.analysis.sharing import surely_ends
from hlobatch.ir.ops import BranchOp, IndirectGotoOp, Op, PrimOp, renaming
from hlobatch.ir.program import Block, ControlFlowGraph, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import Type
from hlobatch.transforms.if_conversion import CHEAP, MADE_HERE
from hlobatch.transforms.simplify_cfg import reachable

MOST: Final = CHEAP / 2
"""Operations that are asked ahead at the end of a block; lanes that go elsewhere carry them out too."""


def ask_ahead(program: Program) -> Program:
    """The lowered, allocated program with the tests of blocks that only ask where others end."""
    tests = {block.name: block for block in program.graph if _only_asks(program, block)}
    if not tests:
        return program
    types, alloc = dict(program.var_defs), dict(program.var_alloc)
    blocks = tuple(_Asking(program, block, tests, types, alloc).block for block in program.graph)
    graph = reachable(ControlFlowGraph(blocks))
    mentioned = {v for block in graph for op in block.ops for v in (*op.uses, *op.defs)}
    kept = {v: t for v, t in types.items() if v in mentioned or v in (*program.vars_in, *program.vars_out)}
    return allocate(program.replace(graph=graph, var_defs=kept, var_alloc={v: alloc[v] for v in kept}))


def _only_asks(program: Program, block: Block) -> bool:
    """Whether a block is a branch and what decides it, which is nobody else's business."""
    asked = {v for op in block.instructions for v in op.defs}
    asks = isinstance(block.terminator, BranchOp) and block.terminator.cond_var in asked and not block.sync
    return asks and all(_is_private(program, op) for op in block.instructions)


def _is_private(program: Program, op: Op) -> bool:
    is_total = isinstance(op, PrimOp) and (op.function in MADE_HERE or surely_ends(op))
    return is_total and all(program.alloc(v) in (Alloc.TEMPORARY, Alloc.NULL) for v in op.defs)


@dataclass
class _Asking:
    """A block that asks ahead.

    Attributes:
        program: The program.
        source: The block as it was.
        tests: The blocks that only ask.
        types: Of all variables; new ones are added.
        alloc: Their allocation.
        ops: What is asked, in order.
        asked: Where.
        cost: Of that.
    """

    program: Program
    source: Block
    tests: Mapping[str, Block]
    types: dict[str, Type]
    alloc: dict[str, Alloc]
    ops: list[Op] = field(default_factory=list)
    asked: dict[str, BranchOp] = field(default_factory=dict)
    cost: float = 0.0

    @property
    def block(self) -> Block:
        if isinstance(self.source.terminator, IndirectGotoOp):
            return self.source
        self._ask(self.source.terminator.successors)
        if not self.asked:
            return self.source
        instructions = (*self.source.instructions, *self.ops)
        return self.source.replace(instructions=instructions, asked=tuple(self.asked.items()))

    def _ask(self, names: Iterable[str]) -> None:
        """Ask what blocks would ask, the nearest first."""
        pending = list(names)
        while pending:
            test = self.tests.get(pending.pop(0))
            if test is None or test.name in self.asked or test is self.source:
                continue
            cost = block_cost(self.program, test)
            if self.cost + cost > MOST:
                continue
            self.cost += cost
            branch = test.terminator
            assert isinstance(branch, BranchOp)
            names = {v: self._fresh(v) for op in test.instructions for v in op.defs}
            rename = renaming(names)
            self.ops += [op.rename(rename, rename) for op in test.instructions]
            self.asked[test.name] = branch.rename(rename, rename)
            pending += branch.successors

    def _fresh(self, variable: str) -> str:
        name = f"{variable}@{self.source.name}"
        while name in self.types:
            name += "'"
        self.types[name], self.alloc[name] = self.types[variable], self.alloc[variable]
        return name
