"""Blocks, graphs, functions and programs: immutable, compared by value, linked by name.

Blocks name their successors instead of holding them, so a recursive program is an ordinary finite value and a pass is
``Program -> Program``. The first block of a graph is its entry; the order of blocks is the schedule's priority.

Reference: seed data model ``Program``; Radul et al. (2020), figures 2 and 4.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from hlobatch.console import counted, folded
from hlobatch.diagnostics import UNKNOWN, Location
from hlobatch.ir.effects import Effect
from hlobatch.ir.failures import Failure
from hlobatch.ir.ops import HALT, BranchOp, IndirectGotoOp, Op, PrimOp, PushGotoOp, Terminator
from hlobatch.ir.types import Type


class VariableAllocation(enum.IntEnum):
    """How a variable is stored: a proof that this much suffices (paper section 3.2, optimizations 2 to 4).

    ``NULL``: never read, or nothing but Python objects: no storage. ``SHARED``: the same in every lane and computed
    once before the loop: stored without the batch axis. ``TEMPORARY``: lives inside one block. ``REGISTER``: one masked
    value per lane. ``FULL``: a stack per lane.
    """

    NULL = 0
    SHARED = 1
    TEMPORARY = 2
    REGISTER = 3
    FULL = 4


STORED = (VariableAllocation.REGISTER, VariableAllocation.FULL)
"""How a variable that lives from one block to the next is allocated."""
COMPUTED_ONCE = frozenset({VariableAllocation.SHARED, VariableAllocation.NULL})
"""How the results of an operation that computes a ``SHARED`` value are allocated."""


def _are_same(new: Sequence[object], old: Sequence[object]) -> bool:
    """Whether two sequences hold the same objects, so that their owner is returned unchanged."""
    return len(new) == len(old) and all(map(operator.is_, new, old))


def _is_as_it_was(one: object, changes: Mapping[str, Any]) -> bool:
    """Whether attributes hold what they are to be replaced by, or tuples of the same objects."""
    pairs = ((getattr(one, name), new) for name, new in changes.items())
    return all(new is old or (isinstance(new, tuple) and _are_same(new, old)) for old, new in pairs)


def _past(names: Iterable[str], asked: Mapping[str, BranchOp | IndirectGotoOp]) -> Iterator[str]:
    """The blocks that control gets to by way of blocks that were copied, whose terminators are ``asked``."""
    for name in names:
        yield from _past(asked[name].successors, asked) if name in asked else (name,)


@dataclass(frozen=True)
class Block:
    """A basic block.

    Attributes:
        name: Unique in its graph.
        instructions: Straight-line operations.
        terminator: Where control goes next.
        sync: Whether the user marked its entry with ``hb.sync()`` as a point worth waiting at.
        asked: By name, the small blocks whose instructions were copied to the end of this one, and their terminators:
            control does not go to such a block, but straight to where its terminator leads. Only in lowered programs
            (``transforms/ask_ahead.py``).
    """

    name: str
    instructions: tuple[Op, ...]
    terminator: Terminator
    location: Location = field(default=UNKNOWN, compare=False)
    sync: bool = False
    asked: tuple[tuple[str, BranchOp | IndirectGotoOp], ...] = ()

    def __repr__(self) -> str:
        return f"Block({self.name}: {len(self.instructions)} operations)"

    @cached_property
    def ops(self) -> tuple[Op, ...]:
        """Instructions and terminator, in order."""
        return (*self.instructions, self.terminator)

    @cached_property
    def written(self) -> frozenset[str]:
        """The variables that its operations write."""
        return frozenset(name for op in self.ops for name in op.defs)

    @cached_property
    def read_first(self) -> frozenset[str]:
        """The variables that it reads before it writes them."""
        found = frozenset[str]()
        for op in reversed(self.ops):
            found = found.difference(op.defs).union(op.uses)
        return found

    @property
    def asks(self) -> tuple[BranchOp | IndirectGotoOp, ...]:
        """The terminators of the blocks that were copied to the end of this one."""
        return tuple(end for _, end in self.asked)

    @property
    def returns(self) -> IndirectGotoOp | None:
        """The return that may end the block, its own or a copied one; None if there is none."""
        return next((end for end in (self.terminator, *self.asks) if isinstance(end, IndirectGotoOp)), None)

    @property
    def successors(self) -> tuple[str, ...]:
        """Names of the blocks that control may pass to within this graph (``HALT`` for its exit)."""
        ends = self.terminator.successors
        return tuple(dict.fromkeys(_past(ends, dict(self.asked)))) if self.asked else ends

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of all blocks that it leads to: the successors, and the block to which a call returns."""
        return (*self.successors, *self.terminator.targets[len(self.terminator.successors) :])

    @property
    def goes_on_to_itself(self) -> bool:
        """Whether the block jumps back to itself, which makes a loop; a recursive call does not."""
        return self.name in self.successors and not isinstance(self.terminator, PushGotoOp)

    def replace(self, **changes: Any) -> Block:
        """A copy with some attributes replaced; the same block if they are as they were."""
        return self if _is_as_it_was(self, changes) else replace(self, **changes)

    def map_instructions(self, transform: Callable[[Op], Op]) -> Block:
        """The block with ``transform(op)`` in place of each instruction."""
        return self.replace(instructions=tuple(map(transform, self.instructions)))

    def expand_instructions(self, transform: Callable[[Op], Iterable[Op]]) -> Block:
        """The block with the operations ``transform(op)`` in place of each instruction."""
        return self.replace(instructions=tuple(new for op in self.instructions for new in transform(op)))

    def retarget(self, target: Callable[[str], str]) -> Block:
        """The block with every block name in its terminator mapped."""
        return self.replace(terminator=self.terminator.retarget(target))

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> Block:
        """The block with its variables renamed."""
        return self.replace(
            instructions=tuple(op.rename(uses, defs) for op in self.instructions),
            terminator=self.terminator.rename(uses, defs),
        )


@dataclass(frozen=True)
class ControlFlowGraph:
    """Basic blocks, the entry first."""

    blocks: tuple[Block, ...]

    def __repr__(self) -> str:
        return f"ControlFlowGraph({len(self.blocks)} blocks, the first {self.blocks[0].name})"

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return MappingProxyType({block.name: i for i, block in enumerate(self.blocks)})

    def map_blocks(self, transform: Callable[[Block], Block]) -> ControlFlowGraph:
        """The graph with ``transform(block)`` in place of each block."""
        return self._with(map(transform, self.blocks))

    def expand_blocks(self, transform: Callable[[Block], Iterable[Block]]) -> ControlFlowGraph:
        """The graph with the blocks ``transform(block)`` in place of each block."""
        return self._with(new for block in self.blocks for new in transform(block))

    def _with(self, blocks: Iterable[Block]) -> ControlFlowGraph:
        new = tuple(blocks)
        return self if _are_same(new, self.blocks) else ControlFlowGraph(new)

    def with_blocks(self, *blocks: Block) -> ControlFlowGraph:
        """The graph with these blocks in place of its blocks of the same names."""
        others = {block.name: block for block in blocks}
        return self.map_blocks(lambda block: others.get(block.name, block))

    def starting_with(self, ops: Iterable[Op]) -> ControlFlowGraph:
        """The graph with operations inserted at the beginning of its entry block."""
        entry = self.enter_block()
        return self.with_blocks(entry.replace(instructions=(*ops, *entry.instructions)))

    def enter_block(self) -> Block:
        """The block where execution starts."""
        return self.blocks[0]

    def exit_index(self) -> int:
        """The program counter of a lane that is off the end of the graph."""
        return len(self.blocks)

    def block(self, name: str) -> Block:
        return self.blocks[self._index[name]]

    def block_index(self, name: str) -> int:
        """The program counter of a block; ``exit_index()`` for ``HALT``."""
        return self.exit_index() if name == HALT else self._index[name]

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    @cached_property
    def predecessors(self) -> Mapping[str, tuple[str, ...]]:
        """For each block and for ``HALT``, the names of the blocks that may pass control to it."""
        found: dict[str, list[str]] = {block.name: [] for block in self.blocks}
        found[HALT] = []
        for block in self.blocks:
            for successor in dict.fromkeys(block.successors):
                found[successor].append(block.name)
        return MappingProxyType({name: tuple(names) for name, names in found.items()})


@dataclass(frozen=True)
class Function:
    """A function of a program, as calls see it.

    Attributes:
        name: Unique in its program.
        graph: Its body; control leaves by ``HALT``.
        vars_in: Parameters.
        vars_out: Variables that hold the results when control has left.
        type_inference: Computes the result type as the user declared it, if they did; checked, not trusted.
    """

    name: str
    graph: ControlFlowGraph
    vars_in: tuple[str, ...]
    vars_out: tuple[str, ...]
    type_inference: Callable[..., Any] | None = field(default=None, compare=False)
    location: Location = field(default=UNKNOWN, compare=False)

    def __repr__(self) -> str:
        return f"Function({self.name}: {len(self.graph.blocks)} blocks)"

    def replace(self, **changes: Any) -> Function:
        """A copy with some attributes replaced; the same function if they are as they were."""
        return self if _is_as_it_was(self, changes) else replace(self, **changes)

    def map_blocks(self, transform: Callable[[Block], Block]) -> Function:
        """The function with ``transform(block)`` in place of each block."""
        return self.replace(graph=self.graph.map_blocks(transform))


MAIN: Final = "main"


@dataclass(frozen=True)
class Program:
    """An autobatchable program.

    Attributes:
        graph: The control flow graph of its main function.
        functions: The functions it may call, by ``FunctionCallOp``; empty once calls are lowered.
        var_defs: Type of each variable; names are global. Empty before type inference.
        vars_in: Variables in which to store the inputs when starting.
        vars_out: Variables from which to read the outputs when finished.
        var_alloc: Allocation of each variable; empty before allocation, except for inputs known to be ``SHARED``.
        failures: The statements that may raise. If there are any, the last two outputs are the number of the failure
            that a lane came to, 0 if none, and the encoded values that its exception is made of.
        effects: The statements that the host carries out for lanes; ``LogOp.number`` is an index into it.
    """

    graph: ControlFlowGraph
    functions: tuple[Function, ...]
    var_defs: Mapping[str, Type]
    vars_in: tuple[str, ...]
    vars_out: tuple[str, ...]
    var_alloc: Mapping[str, VariableAllocation]
    location: Location = field(default=UNKNOWN, compare=False)
    failures: tuple[Failure, ...] = ()
    effects: tuple[Effect, ...] = ()

    def main_function(self) -> Function:
        """The main program as a ``Function``."""
        return self._main

    @cached_property
    def _main(self) -> Function:
        return Function(MAIN, self.graph, self.vars_in, self.vars_out, location=self.location)

    def replace(self, **changes: Any) -> Program:
        """A copy with some attributes replaced."""
        return replace(self, **changes)

    @property
    def all_functions(self) -> tuple[Function, ...]:
        """The main function, then the others."""
        return (self.main_function(), *self.functions)

    def function(self, name: str) -> Function:
        """The function of a name, none of which is the main one."""
        for function in self.functions:
            if function.name == name:
                return function
        raise KeyError(name)

    def with_functions(self, functions: Mapping[str, Function]) -> Program:
        """A copy with functions replaced by name, ``MAIN`` among them."""
        main = functions.get(MAIN, self._main)
        if main is self._main and all(functions.get(f.name, f) is f for f in self.functions):
            return self
        return self.replace(
            graph=main.graph,
            vars_in=main.vars_in,
            vars_out=main.vars_out,
            functions=tuple(functions.get(f.name, f) for f in self.functions),
        )

    def map_functions(self, transform: Callable[[Function], Function]) -> Program:
        """A copy with every function transformed, the main function first."""
        return self.with_functions({function.name: transform(function) for function in self.all_functions})

    def map_graphs(self, transform: Callable[[ControlFlowGraph], ControlFlowGraph]) -> Program:
        """A copy with every function's graph transformed."""
        return self.map_functions(lambda function: function.replace(graph=transform(function.graph)))

    @property
    def ops(self) -> Iterator[Op]:
        """Every operation of every function."""
        return (op for f in self.all_functions for block in f.graph for op in block.ops)

    @property
    def is_lowered(self) -> bool:
        """Whether it has lowered calls or returns, ``PushGotoOp`` or ``IndirectGotoOp``; without calls it has none."""
        return any(isinstance(op, (PushGotoOp, IndirectGotoOp)) for op in self.ops)

    def alloc(self, name: str) -> VariableAllocation:
        """The allocation of a variable (``FULL`` suffices for every variable)."""
        return self.var_alloc.get(name, VariableAllocation.FULL)

    def ops_in_loop(self, block: Block) -> Iterator[Op]:
        """The operations of a block without those that compute ``SHARED`` values, which run once before the loop."""
        return (op for op in block.ops if not self.is_computed_once(op))

    def is_computed_once(self, op: Op) -> bool:
        """Whether an operation runs once, before the loop: a result is ``SHARED``, and none is stored per lane."""
        kinds = {self.alloc(v) for v in op.vars_out} if isinstance(op, PrimOp) else set[VariableAllocation]()
        return VariableAllocation.SHARED in kinds and kinds <= COMPUTED_ONCE

    def primitives_in_loop(self, block: Block) -> list[PrimOp]:
        """The primitives among ``ops_in_loop``."""
        return [op for op in self.ops_in_loop(block) if isinstance(op, PrimOp)]

    def __repr__(self) -> str:
        calls = f" and {counted(len(self.functions), 'function')}" if self.functions else ""
        return f"Program({counted(len(self.graph.blocks), 'block')}{calls}: str(program) has them)"

    def _repr_html_(self) -> str:
        return folded(repr(self), str(self))

    def __str__(self) -> str:
        from hlobatch.ir.printer import print_program  # noqa: PLC0415  # the printer is written in terms of programs

        return print_program(self)
