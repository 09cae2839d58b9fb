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

from collections.abc import Iterable, Mapping

from hlobatch.analysis.dataflow import Dataflow, Solution, solve
from hlobatch.analysis.liveness import liveness
from hlobatch.ir.names import NewNames
from hlobatch.ir.ops import HALT, Op
from hlobatch.ir.program import Block, Function, Program

Definition = tuple[str, str, int]
"""A variable, and where it is written: block and position; block "" means a parameter, or no write at all."""
Definitions = frozenset[Definition]
Reaching = Mapping[str, Definitions]
"""For each variable whose value may still be read, the definitions that may be the last ones of it."""


def split_live_ranges(program: Program) -> Program:
    """The program with its variables renamed by live range."""
    return program.map_functions(lambda f: _Webs(f).renamed())


def reaching_definitions(function: Function) -> Solution[Reaching]:
    """For each block, the definitions that may be the last ones of their variables, as far as these are live."""
    live = liveness(function)
    written = {block.name: _written(block) for block in function.graph}

    def transfer(block: Block, reaching: Reaching) -> Reaching:
        after = {**reaching, **written[block.name]}
        return {name: after[name] for name in live.after[block.name] if name in after}

    start = {name: frozenset([_start(name)]) for name in live.before[function.graph.enter_block().name]}
    problem = Dataflow(forward=True, boundary=start, initial={}, merge=_merged, transfer=transfer)
    return solve(function.graph, problem)


def _start(name: str) -> Definition:
    """What stands for the value that a variable has at first."""
    return (name, "", -1)


def _written(block: Block) -> Reaching:
    """The last definitions in a block."""
    return {v: frozenset([(v, block.name, index)]) for index, op in enumerate(block.ops) for v in op.defs}


def _merged(paths: Iterable[Reaching]) -> Reaching:
    merged: dict[str, Definitions] = {}
    for path in paths:
        for name, definitions in path.items():
            merged[name] = merged[name] | definitions if name in merged else definitions
    return merged


class _Webs:
    """The live ranges of one function, as sets of definitions (union-find)."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.parent: dict[Definition, Definition] = {}
        self.reaching = reaching_definitions(function)

    def find(self, definition: Definition) -> Definition:
        found = definition
        while (onward := self.parent.get(found, found)) != found:
            found = onward
        while definition != found:  # the way is shorter next time
            self.parent[definition], definition = found, self.parent[definition]
        return found

    def unite(self, definitions: Iterable[Definition]) -> None:
        roots = {self.find(d) for d in definitions}
        first = min(roots, default=None)
        for root in roots:
            if first is not None and root != first:
                self.parent[root] = first

    def renamed(self) -> Function:
        """The function with a name for each live range."""
        for block in self.function.graph:
            reaching = dict(self.reaching.before[block.name])
            for index, op in enumerate(block.ops):
                for name in op.uses:
                    self.unite(reaching.get(name, ()))
                reaching.update(_of(block, index, op))
        given_back = {name: self._at_exit(name) for name in self.function.vars_out}
        for definitions in given_back.values():
            self.unite(definitions)
        self.names = self._names()
        return self.function.replace(
            graph=self.function.graph.map_blocks(self._renamed_block),
            vars_out=tuple(self.names[self.find(min(given_back[name]))] for name in self.function.vars_out),
        )

    def _at_exit(self, name: str) -> Definitions:
        """What gives a result its value; a parameter that is given back is another variable if it always is another."""
        exits = (self.reaching.after[b.name] for b in self.function.graph if HALT in b.terminator.successors)
        found = frozenset(d for reaching in exits for d in reaching.get(name, ()))
        start = _start(name)
        return found if found and name in self.function.vars_in and start not in found else found | {start}

    def _names(self) -> dict[Definition, str]:
        """A name for each root: the plain one for parameters and results, and for the first of the others."""
        names = {self.find(_start(v)): v for v in (*self.function.vars_in, *self.function.vars_out)}
        new = NewNames(names.values())
        for block in self.function.graph:
            for index, op in enumerate(block.ops):
                for variable in op.defs:
                    root = self.find((variable, block.name, index))
                    if root not in names:
                        names[root] = new(variable)
        return names

    def _renamed_block(self, block: Block) -> Block:
        reaching = dict(self.reaching.before[block.name])
        ops: list[Op] = []
        for index, op in enumerate(block.ops):
            uses = {v: self._name(v, reaching) for v in op.uses}
            reaching.update(_of(block, index, op))
            defs = {v: self._name(v, reaching) for v in op.defs}
            ops.append(op.rename(uses.__getitem__, defs.__getitem__))
        *instructions, terminator = ops
        return block.replace(instructions=tuple(instructions), terminator=terminator)

    def _name(self, variable: str, reaching: Reaching) -> str:
        last = min(reaching.get(variable, ()), default=_start(variable))
        return self.names.get(self.find(last), variable)


def _of(block: Block, index: int, op: Op) -> Reaching:
    """The definitions that an operation is."""
    return {v: frozenset([(v, block.name, index)]) for v in op.defs}
