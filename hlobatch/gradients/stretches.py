"""Turns loops of very many turns into loops of stretches, each a call that the way back computes again.

::

    loop: %c = …; branch %c, body, done            loop:   %length = 8; jump next
    body: %x = …; jump loop                        next:   %length = %length + 1
                                          ==>              %x, %how = call again @f.loop.stretch(%x, %length)
                                                   asked:  %more = %how == 0; branch %more, next, done

                                                   def f.loop.stretch(%x', %left) -> (%x', %how):
                                                     loop:   %c' = …; branch %c', body, leave0
                                                     body:   %x' = …; jump again
                                                     again:  %left = %left - 1; …; branch %more, loop, pause
                                                     pause:  %how = 0; halt
                                                     leave0: %how = 1; halt

A stretch has one turn more than the one before. So ``n`` turns, however many they are, make about ``sqrt(2 n)``
stretches of at most as many turns: a tape holds the state at the beginning of each stretch, and all turns of one
stretch. Each turn is computed twice.

Reference: Stumm and Walther, "New algorithms for optimal online checkpointing", SIAM Journal on Scientific Computing,
2010.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import jax.numpy as jnp
import numpy as np

from hlobatch.analysis.liveness import liveness
from hlobatch.gradients.arrays import primitive
from hlobatch.ir.code import MOVE
from hlobatch.ir.names import NewNames
from hlobatch.ir.ops import HALT, BranchOp, FunctionCallOp, GotoOp, PrimOp
from hlobatch.ir.program import MAIN, Block, ControlFlowGraph, Function, Program
from hlobatch.ir.types import Type, tensor

FIRST_TURNS: Final = 8
"""Turns of the first stretch. Chosen by judgement (2026-11): a few turns are kept on the tape at once."""


def in_stretches(program: Program) -> Program:
    """The program with its outermost loops run in stretches."""
    made = _Stretches(program, dict(program.var_defs))
    functions = {f.name: made.function(f) for f in program.all_functions}
    changed = program.with_functions(functions)
    return changed.replace(functions=(*changed.functions, *made.functions), var_defs=made.types)


@dataclass(frozen=True)
class _Loop:
    """A loop that is entered at one block.

    Attributes:
        header: The block at which it is entered.
        blocks: All of its blocks, the header first.
        exits: The blocks to which lanes leave it; ``HALT`` may be one.
        carried: Variables that it writes, and that a later turn or the code after it reads.
        unset: The carried variables that have no value before the loop.
        read: Variables that it only reads.
    """

    header: Block
    blocks: tuple[Block, ...]
    exits: tuple[str, ...]
    carried: tuple[str, ...]
    unset: tuple[str, ...]
    read: tuple[str, ...]


@dataclass
class _Stretches:
    """Makes functions of the loops of a program.

    Attributes:
        program: The program.
        types: Types of all variables; those of new variables are added.
        functions: The functions made so far.
    """

    program: Program
    types: dict[str, Type]
    functions: list[Function] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.new_name = NewNames(self.types)
        self.new_function = NewNames((MAIN, *(f.name for f in self.program.functions)))

    def function(self, function: Function) -> Function:
        """The function with calls of new functions in place of its loops."""
        for loop in self._loops(function):
            name = self.new_function(f"{function.name}.{loop.header.name}.stretch")
            self.functions.append(self._stretch(name, loop))
            inner = {block.name for block in loop.blocks}
            calling = list(self._calling(name, function, loop))
            blocks = [
                new
                for old in function.graph
                for new in (calling if old is loop.header else () if old.name in inner else (old,))
            ]
            function = function.replace(graph=ControlFlowGraph(tuple(blocks)))
        return function

    def _loops(self, function: Function) -> Iterator[_Loop]:
        """The outermost loops of a function that are entered at one block."""
        graph, after = function.graph, _reached(function.graph)
        seen = set[str]()
        for block in graph:
            if block.name in seen or block.name not in after[block.name]:
                continue
            blocks = [b for b in graph if b.name in after[block.name] and block.name in after[b.name]]
            seen.update(b.name for b in blocks)
            loop = self._loop(function, blocks)
            if loop is not None:
                yield loop

    def _loop(self, function: Function, blocks: Sequence[Block]) -> _Loop | None:
        """The loop of some blocks; None if it has several entries, or carries a key that has no value before it."""
        graph, inner, live = function.graph, {b.name for b in blocks}, liveness(function)
        entries = [b for b in blocks if b is graph.enter_block() or not inner.issuperset(graph.predecessors[b.name])]
        if len(entries) != 1:
            return None
        (header,) = entries
        exits = tuple(dict.fromkeys(t for b in blocks for t in b.successors if t not in inner))
        at_exits = {v for t in exits for v in (function.vars_out if t == HALT else live.before[t])}
        written = {v for b in blocks for op in b.ops for v in op.defs if not self.types[v].is_static}
        before = {v for v in live.before[header.name] if not self.types[v].is_static}
        carried = sorted(written & (before | at_exits))
        unset = tuple(v for v in carried if v not in before)
        if any(leaf.is_key for v in unset for leaf in self.types[v].tensor_leaves):
            return None
        read = tuple(sorted(before - written - set(self.program.vars_in)))
        ordered = (header, *(b for b in blocks if b is not header))
        return _Loop(header, ordered, exits, tuple(carried), unset, read)

    # The function of a stretch

    def _stretch(self, name: str, loop: _Loop) -> Function:
        """The function that runs some turns of a loop."""
        written = [v for b in loop.blocks for op in b.ops for v in op.defs]
        own = {v: self._variable(f"{v}:stretch", self.types[v]) for v in dict.fromkeys((*written, *loop.read))}
        left, how = (self._variable(f"{name}.{word}", _NUMBER) for word in ("$left", "$how"))
        more = self._variable(f"{name}.$more", _FLAG)
        names = NewNames(block.name for block in loop.blocks)
        again, pause, *leave = map(names, ("again", "pause", *(f"leave{i}" for i in range(len(loop.exits)))))
        target = {loop.header.name: again, **dict(zip(loop.exits, leave, strict=True))}
        place = loop.header.location

        def rename(v: str) -> str:
            return own.get(v, v)

        blocks = [b.rename(rename, rename).retarget(lambda t: target.get(t, t)) for b in loop.blocks]
        counted = self._counted(left, -1, loop.header)
        asked = primitive(lambda n: [n > 0], [left], [more], self.types, "left > 0", loop.header)
        ends = [Block(again, (counted, asked), BranchOp(more, loop.header.name, pause, location=place), place)]
        for number, end in enumerate((pause, *leave)):
            ends.append(Block(end, (self._number(how, number, loop.header),), GotoOp(HALT, location=place), place))
        carried = tuple(map(rename, loop.carried))
        graph = ControlFlowGraph((*blocks, *ends))
        return Function(name, graph, (*carried, *map(rename, loop.read), left), (*carried, how), location=place)

    # The caller of a stretch

    def _calling(self, name: str, function: Function, loop: _Loop) -> Iterator[Block]:
        """The blocks that replace a loop."""
        like, place = loop.header, loop.header.location
        length, how = (self._variable(f"{name}.{word}", _NUMBER) for word in ("$length", "$ended"))
        names = NewNames(block.name for block in function.graph)
        words = ("next", "behind", *("asked" for _ in loop.exits))
        following, behind, *asked = (names(f"{like.name}.{word}") for word in words)
        begin = [self._number(length, FIRST_TURNS - 1, like)]
        begin += [self._zeros(loop.unset, like)] if loop.unset else []
        yield Block(like.name, tuple(begin), GotoOp(following, location=place), place)
        # New names: a carried ``$failure`` variable is not the failure number of this call.
        received = [self._variable(f"{name}.$received", self.types[v]) for v in loop.carried]
        given = (*loop.carried, *loop.read, length)
        call = FunctionCallOp(name, given, (*received, how), again=True, location=place)
        yield Block(following, (self._counted(length, 1, like), call), GotoOp(behind, location=place), place)
        moved = (PrimOp(tuple(received), loop.carried, MOVE, "move", location=place),) if received else ()
        yield Block(behind, moved, GotoOp(asked[0] if asked else following, location=place), place)
        for number, (block, other) in enumerate(zip(asked, (following, *loop.exits), strict=False)):
            is_it = self._variable(f"{name}.$is", _FLAG)
            test = primitive(lambda n, i=number: [n == i], [how], [is_it], self.types, f"how == {number}", like)
            rest = asked[number + 1] if number + 1 < len(asked) else loop.exits[-1]
            yield Block(block, (test,), BranchOp(is_it, other, rest, location=place), place)

    # Operations

    def _variable(self, name: str, type_: Type) -> str:
        name = self.new_name(name)
        self.types[name] = type_
        return name

    def _number(self, variable: str, number: int, like: Block) -> PrimOp:
        return primitive(lambda: [jnp.int32(number)], [], [variable], self.types, str(number), like)

    def _counted(self, variable: str, step: int, like: Block) -> PrimOp:
        run = lambda n: [n + np.int32(step)]  # noqa: E731
        return primitive(run, [variable], [variable], self.types, f"count {step:+}", like)

    def _zeros(self, variables: Sequence[str], like: Block) -> PrimOp:
        leaves = [leaf for v in variables for leaf in self.types[v].tensor_leaves]
        run = lambda: [jnp.zeros(leaf.shape, leaf.dtype) for leaf in leaves]  # noqa: E731
        return primitive(run, [], variables, self.types, "zero", like)


_NUMBER, _FLAG = tensor(np.int32), tensor(np.bool_)


def _reached(graph: ControlFlowGraph) -> Mapping[str, Collection[str]]:
    """For each block, the blocks that can be reached from it."""
    found: dict[str, set[str]] = {}
    for block in graph:
        pending, reached = list(block.successors), set[str]()
        while pending:
            name = pending.pop()
            if name != HALT and name not in reached:
                reached.add(name)
                pending += graph.block(name).successors
        found[block.name] = reached
    return found
