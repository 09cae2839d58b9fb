"""Turns cheap branches into selects, and chains of short-circuit conditions into one branch (if-conversion).

::

    a:                                  a:
      branch %c, b, d                     %x:then = prim "x + 1" (%x)
    b:                                    %x = prim "select" (%c, %x:then, %x)
      %x = prim "x + 1" (%x)      ==>     jump d
      jump d

    a:                                  a:
      branch %c, b, z                     %d = prim "y > 0" (%y)
    b:                                    %c:and = prim "and" (%c, %d)
      %d = prim "y > 0" (%y)      ==>     branch %c:and, e, z
      branch %d, e, z

    a:                                  a:
      branch %c, base, b                  %d = prim "y > 0" (%y)
    base:                                 %x:else = prim "1" ()
      %r = prim "1" ()                    %x = prim "select" (%c, %x:else, %x)
      halt                                %c:and = prim "neither_but" (%c, %d)
    b:                            ==>     branch %c:and, e, z
      %d = prim "y > 0" (%y)            z:
      branch %d, e, z                     %r = prim "x" (%x)
    z:                                    halt
      %r = prim "x" (%x)
      halt

Primitives have no effects, so running the side that is not taken changes nothing (speculation). It pays if a side takes
less time than another turn of the loop that runs blocks. Code that might not terminate (an inner ``while``) is never
run speculatively.

Reference: Allen et al. (1983), conversion of control dependence to data dependence.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hlobatch.analysis.cost import primitive_cost
from hlobatch.analysis.liveness import Names, liveness, read_after
from hlobatch.ir.code import BOTH, EITHER, NEITHER_BUT, SELECT, UNLESS
from hlobatch.ir.names import NewNames
from hlobatch.ir.ops import HALT, BranchOp, GotoOp, Op, PrimOp, with_own_results
from hlobatch.ir.program import Block, Function, Program
from hlobatch.ir.types import Type
from hlobatch.transforms.graph_in_change import GraphInChange
from hlobatch.transforms.simplify_cfg import simplify_graph

MOST_OPERATIONS_SELECTED: Final = 48.0
"""Operations per lane, selected elements among them, up to which both sides of a branch are computed: about what one
more turn through the loop over blocks costs a lane. Found in 2026-11 with Collatz and Mandelbrot (`docs/design.md`)."""


def convert_ifs(program: Program) -> Program:
    """The typed program with calls, with cheap branches converted to selects."""
    types = dict(program.var_defs)
    names = NewNames(types)
    return program.map_functions(lambda f: _Converter(f, types, names).converted()).replace(var_defs=types)


class _Converter:
    """Converts the branches of one function, the first that can be converted first, until none is left.

    The variables that are live at the beginning of a block stay the same: a select reads a variable only if it was live
    already. A branch that could not be converted is tried again only if a block near it has changed.

    Attributes:
        function: The function as it was.
        types: Types of all variables of the program; those of new variables are added.
        new_name: Makes names that the program does not have.
        own: Variables that the function receives or writes, but not shared variables of other functions.
        live: The variables that are live at the beginning of each block.
        graph: The graph as it is now.
    """

    def __init__(self, function: Function, types: dict[str, Type], new_name: NewNames) -> None:
        self.function, self.types, self.new_name = function, types, new_name
        self.own = {*function.vars_in, *(v for block in function.graph for op in block.ops for v in op.defs)}
        self.live = liveness(function).before
        self.graph = GraphInChange(function.graph)

    def converted(self) -> Function:
        """The function with its branches converted."""
        graph = self.function.graph
        first = next((found for block in graph if (found := self._convert(block)) is not None), None)
        if first is None:
            return self.function
        self.graph = GraphInChange(simplify_graph(graph.with_blocks(first)))
        self._convert_all()
        return self.function.replace(graph=self.graph.graph)

    def _convert_all(self) -> None:
        order = {name: place for place, name in enumerate(self.graph.blocks)}
        names = [*order]
        work = [*order.values()]
        waits = set(work)
        while work:
            place = heapq.heappop(work)
            waits.remove(place)
            block = self.graph.blocks.get(names[place])
            if block is None or (found := self._convert(block)) is None:
                continue
            for name in self._near(self.graph.replace(found)):
                if order[name] not in waits:
                    waits.add(order[name])
                    heapq.heappush(work, order[name])

    def _near(self, changed: Iterable[str]) -> Iterator[str]:
        """The blocks whose branches have to be tried again after some blocks have changed."""
        for name in changed:
            yield name
            for source in self.graph.sources[name]:
                yield source
                if HALT in self.graph.blocks[name].successors:
                    yield from self.graph.sources[source]

    def _convert(self, block: Block) -> Block | None:
        if not isinstance(block.terminator, BranchOp):
            return None
        return self._diamond(block) or self._short_circuit(block)

    # Branches whose sides join

    def _diamond(self, block: Block) -> Block | None:
        """The block with both sides of its branch run, if they join in one place and are cheap; else None."""
        branch = block.terminator
        assert isinstance(branch, BranchOp)
        sides = [self._side(block, name) for name in (branch.true_block, branch.false_block)]
        if len({side.join for side in sides}) != 1:
            return None
        join = sides[0].join
        after = self._live(join)
        changed = sorted({v for side in sides for op in side.ops for v in op.defs} & after)
        if not self._worth_it([op for side in sides for op in side.ops], changed):
            return None
        renamed = [self._renamed(side.ops, word) for side, word in zip(sides, ("then", "else"), strict=True)]
        ops: list[Op] = [op for side_ops, _ in renamed for op in side_ops]
        for name in changed:
            values = [names.get(name, name) for _, names in renamed]
            ops.append(PrimOp((branch.cond_var, *values), (name,), SELECT, "select", location=branch.location))
        instructions = (*block.instructions, *ops)
        return block.replace(instructions=instructions, terminator=GotoOp(join, location=branch.location))

    def _live(self, name: str) -> Names:
        """The variables that are live at the beginning of a block, or for ``HALT`` at the function's end."""
        return read_after(self.function) if name == HALT else self.live[name]

    def _side(self, block: Block, name: str) -> _Side:
        """The operations of one side of a branch and its join point, which is the side itself if it cannot be run."""
        if name == HALT or not self.graph.is_only_from(name, block.name):
            return _Side((), name)
        other = self.graph.blocks[name]
        if other.sync or not isinstance(other.terminator, GotoOp):
            return _Side((), name)
        if not all(isinstance(op, PrimOp) for op in other.instructions):
            return _Side((), name)
        return _Side(other.instructions, other.terminator.block)

    def _worth_it(self, ops: Iterable[Op], selected: Iterable[str]) -> bool:
        """Whether operations are cheap, with the selects they need, and safe to run speculatively."""
        primitives = [op for op in ops if isinstance(op, PrimOp)]
        if not all(op.code.is_total for op in primitives):
            return False
        elements = sum(math.prod(leaf.shape) for v in selected for leaf in self.types[v].tensor_leaves)
        return sum(map(primitive_cost, primitives)) + elements <= MOST_OPERATIONS_SELECTED

    def _renamed(
        self, ops: Iterable[Op], word: str, only: Collection[str] | None = None
    ) -> tuple[list[Op], dict[str, str]]:
        """Operations in a row, renamed to write to new variables, and the new names (``with_own_results``)."""
        return with_own_results(ops, lambda variable: self._fresh(variable, word), only)

    def _fresh(self, variable: str, word: str) -> str:
        name = self.new_name(f"{variable}:{word}")
        self.own.add(name)
        self.types[name] = self.types[variable]
        return name

    # Conditions one after the other

    def _short_circuit(self, block: Block) -> Block | None:
        """The block with its condition joined to the next one's, if both fail to the same place; else None."""
        branch = block.terminator
        assert isinstance(branch, BranchOp)
        for name, other_side in ((branch.true_block, branch.false_block), (branch.false_block, branch.true_block)):
            second = self._condition_block(block, name)
            if second is None:
                continue
            for side in self._ways_out(block, other_side, second.terminator.successors):
                after = self._live(side.join)
                changed = sorted({v for op in (*side.ops, *second.instructions) for v in op.defs} & after)
                if self._worth_it((*side.ops, *second.instructions), changed):
                    return self._joined(block, second, side, changed)
        return None

    def _ways_out(self, block: Block, name: str, ends: Sequence[str]) -> Iterator[_Side]:
        """The side of a branch for each of ``ends`` to which it leads, or which returns what the side returns."""
        side = self._side(block, name)
        if side.join in ends:
            yield side
        elif side.join == HALT and side.ops:
            *ops, result = side.ops
            for end in ends:
                written = self._as_given_back(result, end)
                if written is not None:
                    yield _Side((*ops, written), end)

    def _as_given_back(self, op: Op, end: str) -> PrimOp | None:
        """An operation that writes the result, made to write what ``end`` returns; None if ``end`` does more."""
        code = op.code.typed
        if end == HALT or not isinstance(op, PrimOp) or code is None:
            return None
        # `end` has to return by a single identity primitive on variables of this function, each given once.
        block = self.graph.blocks[end]
        if block.sync or block.terminator.successors != (HALT,) or len(block.instructions) != 1:
            return None
        (last,) = block.instructions
        if not isinstance(last, PrimOp) or not op.vars_out == last.vars_out == self.function.vars_out:
            return None
        if last.code.typed is None or not last.code.typed.is_identity:
            return None
        if len(set(last.vars_in)) < len(last.vars_in) or not self.own.issuperset(last.vars_in):
            return None
        wanted = [self.types[v] for v in last.vars_in]
        if [leaf for v in op.vars_out for leaf in self.types[v].leaves] != [leaf for t in wanted for leaf in t.leaves]:
            return None
        # The same tensors, grouped into the variables that `end` reads instead of the results.
        leaves = iter(leaf for t in code.out_types for leaf in t.leaves)
        types = tuple(Type.of_leaves(tuple(next(leaves) for _ in t.leaves), t.treedef) for t in wanted)
        return op.replace(vars_out=last.vars_in, function=code.with_out_types(types))

    def _condition_block(self, block: Block, name: str) -> Block | None:
        if name in (HALT, block.name) or not self.graph.is_only_from(name, block.name):
            return None
        second = self.graph.blocks[name]
        if second.sync or not isinstance(second.terminator, BranchOp):
            return None
        condition = block.terminator.uses
        is_kept = all(isinstance(op, PrimOp) and not {*op.defs}.intersection(condition) for op in second.instructions)
        return second if is_kept else None

    def _joined(self, block: Block, second: Block, side: _Side, changed: Sequence[str]) -> Block:
        """The block with both conditions joined; ``changed`` are the variables to select at the join point."""
        first, then = block.terminator, second.terminator
        assert isinstance(first, BranchOp)
        assert isinstance(then, BranchOp)
        on_true = first.true_block == second.name
        exit_on_false = then.false_block == side.join
        logic = {(True, True): BOTH, (True, False): UNLESS, (False, False): EITHER, (False, True): NEITHER_BUT}[
            on_true, exit_on_false
        ]
        left, others = self._renamed(side.ops, "exit")
        goes_on, names = self._renamed(second.instructions, "next", changed)
        condition = names.get(then.cond_var, then.cond_var)
        ops = [*left, *goes_on]
        for v in changed:
            values = [each.get(v, v) for each in ((names, others) if on_true else (others, names))]
            ops.append(PrimOp((first.cond_var, *values), (v,), SELECT, "select", location=first.location))
        joined = self._fresh(then.cond_var, "joined")
        join = PrimOp((first.cond_var, condition), (joined,), logic, logic.name, location=first.location)
        return block.replace(instructions=(*block.instructions, *ops, join), terminator=then.replace(cond_var=joined))


@dataclass(frozen=True)
class _Side:
    """One side of a branch: its operations before the join point, and the join point."""

    ops: tuple[Op, ...]
    join: str
