"""Copies the branch or return of a small block into the blocks that lead to it (tail duplication): no lane stops there.

::

    body:                                    body:
      %n = prim "n - 1" (%n)                   %n = prim "n - 1" (%n)
      jump head                                %c = prim "n > 0" (%n)
    head:                                      %r' = prim "1" ()
      %c = prim "n > 0" (%n)      ==>          %r = prim "select" (%c, %r, %r')
      branch %c, other, end                    jump head
    end:                                       // past head: branch %c, other, end
      %r = prim "1" ()                         // past end: return by %f.$return
      return by %f.$return                   other:
    other:                                     …
      …

Finding a block of a few operations takes longer than running it. So if a block is followed by blocks that only branch
or return, it computes their conditions itself, and its lanes go straight to where those blocks would send them. A chain
of ``elif`` becomes one block, and the base case of a recursion is tested, and returns, where the call is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hlobatch.analysis import machine_flow
from hlobatch.analysis.allocation import allocate
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.analysis.cost import block_cost
from hlobatch.analysis.liveness import Names, union
from hlobatch.analysis.machine_liveness import live_in
from hlobatch.ir.code import BOTH, EITHER, NEITHER_BUT, SELECT
from hlobatch.ir.names import unused
from hlobatch.ir.ops import BranchOp, IndirectGotoOp, Op, PrimOp, Terminator, with_own_results
from hlobatch.ir.physical import elements
from hlobatch.ir.program import STORED, Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import Type
from hlobatch.transforms.if_conversion import MOST_OPERATIONS_SELECTED
from hlobatch.transforms.simplify_cfg import reachable

MOST_OPERATIONS_COPIED: Final = MOST_OPERATIONS_SELECTED / 2
"""Operations that may be copied to the end of a block, where lanes that go elsewhere run them too. Chosen by judgement
(2026-11), not measured.
"""


def ask_ahead(program: Program) -> Program:
    """The lowered, allocated program with branches and returns of small blocks copied to the ends of others."""
    frames = CallFrames(program)
    tests = {block.name: block for block in program.graph if _only_asks(program, block)}
    returns = {block.name: block for block in program.graph if _only_returns(frames, block)}
    if not tests and not returns:
        return program
    types, live = dict(program.var_defs), live_in(program)
    asking = program.graph.map_blocks(lambda block: _Asking(program, block, tests, returns, live, types).block)
    graph = reachable(asking)
    mentioned = {v for block in graph for op in (*block.ops, *block.asks) for v in (*op.uses, *op.defs)}
    kept = {v: t for v, t in types.items() if v in mentioned or v in (*program.vars_in, *program.vars_out)}
    return allocate(program.replace(graph=graph, var_defs=kept))


def _only_asks(program: Program, block: Block) -> bool:
    """Whether a block only computes a condition and branches on it, and no other block reads what it computes."""
    asked = {v for op in block.instructions for v in op.defs}
    asks = isinstance(block.terminator, BranchOp) and block.terminator.cond_var in asked and not block.sync
    is_private = all(program.alloc(v) in (Alloc.TEMPORARY, Alloc.NULL) for v in asked)
    return asks and is_private and _may_run_anywhere(block)


def _only_returns(frames: CallFrames, block: Block) -> bool:
    """Whether a block only computes results and returns, and no stack has to be popped for the return itself."""
    end = block.terminator
    if not isinstance(end, IndirectGotoOp) or block.sync:
        return False
    moves_nothing = frames.is_framed(end.counter) or frames.program.alloc(end.counter) is Alloc.REGISTER
    return moves_nothing and _may_run_anywhere(block)


def _may_run_anywhere(block: Block) -> bool:
    """Whether a block may run in lanes that do not come to it (speculation): its code terminates on any input."""
    return all(op.code.is_total for op in block.instructions)


Path = tuple[tuple[str, bool], ...]
"""The conditions that lead to a block, as variables, and which value each has on the way."""


@dataclass
class _Asking:
    """Copies the small blocks that follow a block to its end.

    Attributes:
        program: The program.
        source: The block as it was.
        tests: By name, the blocks that only branch.
        returns: By name, the blocks that only return.
        live: For each block, the variables that are live at its beginning.
        types: The types of all variables; new variables are added.
        ops: Operations copied from other blocks, in order.
        asked: By name, the copied blocks, and their terminators.
        given_back: Stored variables that copied returns write.
        cost: The cost of the copied operations.
    """

    program: Program
    source: Block
    tests: Mapping[str, Block]
    returns: Mapping[str, Block]
    live: Mapping[str, Names]
    types: dict[str, Type]
    ops: list[Op] = field(default_factory=list)
    asked: dict[str, BranchOp | IndirectGotoOp] = field(default_factory=dict)
    given_back: set[str] = field(default_factory=set)
    cost: float = 0.0

    @property
    def block(self) -> Block:
        if isinstance(self.source.terminator, IndirectGotoOp):
            return self.source
        self._ask(self.source.terminator.successors)
        self._return()
        return self._so_far

    @property
    def _so_far(self) -> Block:
        """The block with the copies that have been made so far."""
        instructions = (*self.source.instructions, *self.ops)
        return self.source.replace(instructions=instructions, asked=tuple(self.asked.items()))

    def _ask(self, names: Iterable[str]) -> None:
        """Copy the tests among the named blocks, then those that they lead to, nearest first."""
        pending = list(names)
        while pending:
            test = self.tests.get(pending.pop(0))
            if test is None or test.name in self.asked or test is self.source or self._comes_back(test):
                continue
            if not self._pays(block_cost(self.program, test)):
                continue
            branch = test.terminator
            assert isinstance(branch, BranchOp)
            ops, names = with_own_results(test.instructions, self._new)
            self.ops += ops
            self.asked[test.name] = branch.replace(cond_var=names[branch.cond_var])
            pending += branch.successors

    def _comes_back(self, test: Block) -> bool:
        """Whether copied tests would make a cycle, in which a lane would go round forever without counting a step."""
        after = defaultdict(tuple, {name: end.successors for name, end in self.asked.items()})
        return test.name in machine_flow.reachable(after, test.successors)

    def _pays(self, cost: float) -> bool:
        """Whether the budget allows ``cost`` more operations; if so, they are taken from it."""
        pays = self.cost + cost <= MOST_OPERATIONS_COPIED
        self.cost += cost if pays else 0.0
        return pays

    def _return(self) -> None:
        """Copy the returns that the terminator or a copied test leads to."""
        ways: dict[str, list[Path]] = {}
        self._follow(self.source.terminator, (), ways)
        is_loop = self._so_far.goes_on_to_itself
        deciding = {v for paths in ways.values() for path in paths for v, _ in path}
        for name, paths in ways.items():
            block = self.returns[name]
            written = {v for op in block.instructions for v in op.defs if self.program.alloc(v) in STORED}
            if deciding.isdisjoint(written) and not (is_loop and block.instructions):
                self._return_for(block, paths, sorted(written))

    def _follow(self, end: Terminator, path: Path, ways: dict[str, list[Path]]) -> None:
        """Add the paths to blocks that only return to ``ways``."""
        holds = (True, False) if isinstance(end, BranchOp) else (None,)
        for name, each in zip(end.successors, holds, strict=True):
            onward = path if each is None else (*path, *((v, each) for v in end.uses))
            if name in self.returns:
                ways.setdefault(name, []).append(onward)
            elif name in self.asked:
                self._follow(self.asked[name], onward, ways)

    def _return_for(self, block: Block, paths: Sequence[Path], written: Sequence[str]) -> None:
        """Copy a block that returns, if that pays; its results are selected where the lane took one of the paths."""
        assert isinstance(block.terminator, IndirectGotoOp)
        others = [*self._so_far.successors, *self.asked]
        needed = union(self.live[name] for name in others if name != block.name)
        changed = [v for v in written if v in needed or v in self.given_back]
        selected = sum(elements(self.types[v]) for v in changed) * len(paths)
        if not self._pays(block_cost(self.program, block) + selected):
            return
        self.asked[block.name] = block.terminator
        self.given_back |= set(written)
        own = {v for op in block.instructions for v in op.defs}.difference(written).union(changed)
        ops, names = with_own_results(block.instructions, self._new, own)
        self.ops += ops
        for path in paths if changed else ():
            condition, holds = self._all_of(path)
            for v in changed:
                values = (names[v], v) if holds else (v, names[v])
                self.ops.append(PrimOp((condition, *values), (v,), SELECT, "select", location=block.location))

    def _all_of(self, path: Path) -> tuple[str, bool]:
        """A variable and a value: the variable has the value in the lanes that take the path."""
        condition, holds = path[0]
        for other, also in path[1:]:
            joined = self._new(other)
            pair = (condition, other) if also or not holds else (other, condition)
            logic = {True: BOTH, False: EITHER}[holds] if holds == also else NEITHER_BUT
            self.ops.append(PrimOp(pair, (joined,), logic, logic.name, location=self.source.location))
            condition, holds = joined, holds or also
        return condition, holds

    def _new(self, variable: str) -> str:
        at = f"@{self.source.name}"
        name = unused(variable.removesuffix(at) + at, self.types)
        self.types[name] = self.types[variable]
        return name
