"""Gives every web of a variable (definitions and uses that reach each other) a name of its own.

::

    %x = prim "jnp.zeros(3)" ()        %x = prim "jnp.zeros(3)" ()
    %x = prim "x.sum()" (%x)      ==>  %x:1 = prim "x.sum()" (%x)
    %y = prim "x + 1" (%x)             %y = prim "x + 1" (%x:1)

Two definitions keep one name only if some read may see either. So the user may rebind a name to a value of another
type, and a value that is needed only briefly is not stored as long as another value that has the same name.

Reference: webs, in Muchnick, Advanced Compiler Design and Implementation, section 16.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlobatch.analysis import machine_flow
from hlobatch.analysis.liveness import liveness
from hlobatch.ir.names import NewNames
from hlobatch.ir.ops import HALT, Op
from hlobatch.ir.program import Block, Function, Program

Definition = tuple[str, str, int]
"""A variable and the block and position of an operation that writes it."""

_BEFORE = -1
"""The position that stands for all definitions of a variable that reach the start of a block."""


def split_live_ranges(program: Program) -> Program:
    """The program with its variables renamed by live range."""
    return program.map_functions(split_live_ranges_of)


def split_live_ranges_of(function: Function) -> Function:
    """The function with its variables renamed by live range."""
    return _Webs(function).renamed()


class _Webs:
    """The live ranges of one function, as sets of definitions (union-find).

    All definitions that reach a point where a variable is live are seen by one read, and so belong to one set. They are
    united where paths join, so that reads need not be looked at.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.parent: dict[Definition, Definition] = {}
        self.last = {block.name: _last_definitions(block) for block in function.graph}

    def find(self, definition: Definition) -> Definition:
        found = definition
        while (onward := self.parent.get(found, found)) != found:
            found = onward
        while definition != found:  # path compression
            self.parent[definition], definition = found, self.parent[definition]
        return found

    def unite(self, definitions: Iterable[Definition]) -> None:
        roots = [self.find(d) for d in definitions]
        for root in roots:
            self.parent[root] = roots[0]

    def renamed(self) -> Function:
        """The function with a name for each live range."""
        live = liveness(self.function)
        for block in self.function.graph:
            for name in live.after[block.name]:
                successors = (s for s in block.successors if s != HALT and name in live.before[s])
                self.unite([self._at_end(block, name), *((name, successor, _BEFORE) for successor in successors)])
        given_back = {name: self._given_back(name) for name in self.function.vars_out}
        self.names = self._names()
        return self.function.replace(
            graph=self.function.graph.map_blocks(self._renamed_block),
            vars_out=tuple(self.names[self.find(given_back[name])] for name in self.function.vars_out),
        )

    def _at_end(self, block: Block, name: str) -> Definition:
        """The definition of a variable that reaches the end of a block."""
        return self.last[block.name].get(name, (name, block.name, _BEFORE))

    def _at_start(self, name: str) -> Definition:
        """The definition that stands for the value a variable has when the function begins."""
        return (name, self.function.graph.enter_block().name, _BEFORE)

    def _given_back(self, name: str) -> Definition:
        """The united definitions of a result at the exits, with its first value unless that never reaches an exit."""
        exits = [block for block in self.function.graph if HALT in block.successors]
        self.unite(self._at_end(block, name) for block in exits)
        if exits and name in self.function.vars_in and not self._is_kept(name, exits):
            return self._at_end(exits[0], name)
        self.unite([self._at_start(name), *(self._at_end(block, name) for block in exits)])
        return self._at_start(name)

    def _is_kept(self, name: str, exits: Iterable[Block]) -> bool:
        """Whether a variable may still have its first value at an exit of the function."""
        onward = {b.name: () if name in self.last[b.name] else b.successors for b in self.function.graph}
        reached = machine_flow.reachable(onward, [self.function.graph.enter_block().name])
        return any(block.name in reached and name not in self.last[block.name] for block in exits)

    def _names(self) -> dict[Definition, str]:
        """A name for each set of definitions: the plain name for parameters, results and the first of the others."""
        names = {self.find(self._at_start(v)): v for v in (*self.function.vars_in, *self.function.vars_out)}
        new = NewNames(names.values())
        for block in self.function.graph:
            for definition in _definitions(block):
                root = self.find(definition)
                if root not in names:
                    names[root] = new(definition[0])
        return names

    def _renamed_block(self, block: Block) -> Block:
        now: dict[str, Definition] = {}
        ops: list[Op] = []

        def name(variable: str) -> str:
            return self.names.get(self.find(now.get(variable, (variable, block.name, _BEFORE))), variable)

        for index, op in enumerate(block.ops):
            uses = {v: name(v) for v in op.uses}
            now |= {v: (v, block.name, index) for v in op.defs}
            defs = {v: name(v) for v in op.defs}
            ops.append(op.rename(uses.__getitem__, defs.__getitem__))
        *instructions, terminator = ops
        return block.replace(instructions=tuple(instructions), terminator=terminator)


def _definitions(block: Block) -> Iterator[Definition]:
    return ((v, block.name, index) for index, op in enumerate(block.ops) for v in op.defs)


def _last_definitions(block: Block) -> dict[str, Definition]:
    return {definition[0]: definition for definition in _definitions(block)}
