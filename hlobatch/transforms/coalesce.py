"""Lets both sides of a copy share storage if they do not interfere, and drops the copy (register coalescing).

An array before and after an update of some of its elements is treated like the two sides of a copy, so that the update
happens in place.

::

    %build_tree.walk = prim "move" (%sample.walk)
    push_jump build_tree.entry, …                        push_jump build_tree.entry, …
    …                                              ==>   …
    %sample.walk = prim "move" (%build_tree.$result)

(all three being one variable then). A value that is passed to every call and returned by it is then written only where
it changes. Two variables interfere if one is written while the other is live, other than by a copy of it.

Reference: Chaitin (1982), register coalescing.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import TypeGuard

from hlobatch.analysis.allocation import RETURN_ADDRESS
from hlobatch.analysis.machine_liveness import points
from hlobatch.analysis.updates import tensors, updated
from hlobatch.ir.code import MOVE
from hlobatch.ir.names import is_sum, is_tape
from hlobatch.ir.ops import Op, PrimOp
from hlobatch.ir.physical import physical
from hlobatch.ir.program import Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import TensorType, Type

Interference = dict[str, set[str]]


def coalesce_copies(program: Program) -> Program:
    """The lowered program with fewer variables and fewer copies."""
    program = program.replace(graph=program.graph.map_blocks(_with_moves))
    merged = _Merging(program)
    for target, source in (*_copies(program), *_updates(program)):
        merged.try_merge(target, source)
    return merged.program()


def _is_copy(op: Op) -> TypeGuard[PrimOp]:
    """Whether an operation returns its operands unchanged."""
    return isinstance(op, PrimOp) and op.code.is_copy


def _with_moves(block: Block) -> Block:
    """The block with the user's own copies turned into moves."""
    return block.map_instructions(lambda op: op.replace(function=MOVE) if _is_copy(op) else op)


def _copies(program: Program) -> Iterator[tuple[str, str]]:
    """Targets and sources of copies, those in later blocks (and so in inner functions) first."""
    for block in reversed(program.graph.blocks):
        for op in block.instructions:
            if _is_copy(op):
                yield from zip(op.vars_out, op.vars_in, strict=True)


def _updates(program: Program) -> Iterator[tuple[str, str]]:
    """For each array that an operation updates, in whole or in part, the variable after it and the one before."""
    for block in program.graph:
        for op in block.instructions:
            if isinstance(op, PrimOp) and (code := op.code.typed) is not None:
                before, after = tensors(op.vars_in, code.in_types), tensors(op.vars_out, code.out_types)
                yield from dict.fromkeys((after[i], before[j]) for i, j in updated(code).items())


def interference(program: Program) -> Interference:
    """For each variable, the variables that are live where it is written, or written where it is live."""
    found: Interference = collections.defaultdict(set)

    def clash(one: str, others: set[str]) -> None:
        for other in others - {one}:
            found[one].add(other)
            found[other].add(one)

    for _, op, live in points(program):
        for target in op.defs:
            clash(target, (set(live) | set(op.defs)) - {_copied(op, target)})
    for name in program.vars_in:
        clash(name, set(program.vars_in))
    return found


def _copied(op: Op, target: str) -> str:
    """The variable that an operation copies to ``target`` without changing it, as a swap would; else ``target``."""
    if not _is_copy(op):
        return target
    source = op.vars_in[op.vars_out.index(target)]
    return target if source in op.vars_out else source


class _Merging:
    """The variables merged so far (union-find), and the variables that each merged one interferes with."""

    def __init__(self, program: Program) -> None:
        self.source = program
        self.clashes = interference(program)
        self.parent = {name: name for name in program.var_defs}

    def find(self, name: str) -> str:
        while self.parent[name] != name:
            name = self.parent[name]
        return name

    def try_merge(self, target: str, source: str) -> None:
        """Merge two variables unless they interfere, differ in type, or must have storage of their own."""
        one, other = self.find(target), self.find(source)
        if one == other or other in self.clashes[one] or not self._alike(one, other):
            return
        kept, gone = (other, one) if _plainer(other, one) else (one, other)
        self.parent[gone] = kept
        others = self.clashes.pop(gone, set())
        self.clashes[kept] |= others
        for name in others:
            self.clashes[name].discard(gone)
            self.clashes[name].add(kept)

    def _alike(self, one: str, other: str) -> bool:
        kinds = (Alloc.TEMPORARY, Alloc.REGISTER, Alloc.FULL)
        names = (one, other)
        if any(self.source.alloc(name) not in kinds or name.endswith(RETURN_ADDRESS) for name in names):
            return False
        if is_tape(one) or is_tape(other):  # a call pops what it saved, but what is pushed on a tape stays
            return False
        return stored_alike(*(self.source.var_defs[name] for name in names))

    def program(self) -> Program:
        def rename(block: Block) -> Block:
            return block.rename(self.find, self.find).expand_instructions(_needed)

        kept = {v: t for v, t in self.source.var_defs.items() if self.parent[v] == v}
        allocation = {v: self.source.alloc(v) for v in kept}
        for name in self.parent:
            root = self.find(name)
            allocation[root] = max(allocation[root], self.source.alloc(name))
        return self.source.replace(
            var_alloc=allocation,
            graph=self.source.graph.map_blocks(rename),
            var_defs=kept,
            vars_in=tuple(map(self.find, self.source.vars_in)),
            vars_out=tuple(map(self.find, self.source.vars_out)),
        )


def stored_alike(one: Type, other: Type) -> bool:
    """Whether two types differ in weakness at most: Python numbers are stored as arrays of the same dtype."""
    if not one.has_pattern_of(other):
        return False
    pairs = zip(one.leaves, other.leaves, strict=True)
    return all(
        (a.dtype, physical(a)) == (b.dtype, physical(b))
        if isinstance(a, TensorType) and isinstance(b, TensorType)
        else a == b
        for a, b in pairs
    )


def _plainer(one: str, other: str) -> bool:
    """Whether a name is the better one to keep: a sum's (known by its prefix), else not main's, and no temporary."""
    return _obscurity(one) < _obscurity(other)


def _obscurity(name: str) -> tuple[bool, bool, bool, bool, str]:
    return not is_sum(name), name.startswith("main."), "$" in name, name[-1].isdigit(), name


def _needed(op: Op) -> tuple[Op, ...]:
    """The operation without copies of a variable to itself; none if nothing is left."""
    if not _is_copy(op):
        return (op,)
    pairs = [(t, s) for t, s in zip(op.vars_out, op.vars_in, strict=True) if t != s]
    if not pairs:
        return ()
    targets, sources = zip(*pairs, strict=True)
    return (op.replace(vars_in=sources, vars_out=targets),)
