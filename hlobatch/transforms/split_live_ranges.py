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

from collections.abc import Iterable

from hlobatch.analysis.dataflow import Dataflow, Solution, solve
from hlobatch.ir.names import unused
from hlobatch.ir.ops import Op
from hlobatch.ir.program import Block, Function, Program

Definition = tuple[str, str, int]
"""A variable, and where it is written: block and position; block "" means a parameter, or no write at all."""
Definitions = frozenset[Definition]


def split_live_ranges(program: Program) -> Program:
    """The program with its variables renamed by live range."""
    return program.map_functions(lambda f: _Webs(f).renamed())


def reaching_definitions(function: Function) -> Solution[Definitions]:
    """For each block, the definitions that may be the last ones of their variables."""
    names = {v for block in function.graph for op in block.ops for v in (*op.uses, *op.defs)}
    names |= {*function.vars_in, *function.vars_out}
    start = frozenset((v, "", -1) for v in names)

    def merge(sets: Iterable[Definitions]) -> Definitions:
        return frozenset().union(*sets)

    def transfer(block: Block, definitions: Definitions) -> Definitions:
        for index, op in enumerate(block.ops):
            definitions = _after(block, index, op, definitions)
        return definitions

    problem = Dataflow(forward=True, boundary=start, initial=frozenset(), merge=merge, transfer=transfer)
    return solve(function.graph, problem)


class _Webs:
    """The live ranges of one function, as sets of definitions (union-find)."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.parent: dict[Definition, Definition] = {}
        self.reaching = self._reaching_definitions()

    def _reaching_definitions(self) -> dict[str, Definitions]:
        solution = reaching_definitions(self.function)
        self.at_exit = [
            solution.after[block.name] for block in self.function.graph if "halt" in block.terminator.successors
        ]
        return dict(solution.before)

    def find(self, definition: Definition) -> Definition:
        while self.parent.get(definition, definition) != definition:
            definition = self.parent[definition]
        return definition

    def unite(self, definitions: Iterable[Definition]) -> None:
        first, *rest = [self.find(d) for d in sorted(definitions)]
        for other in rest:
            self.parent[max(first, other)] = min(first, other)
            first = min(first, other)

    def renamed(self) -> Function:
        """The function with a name for each live range."""
        for block in self.function.graph:
            definitions = self.reaching[block.name]
            for index, op in enumerate(block.ops):
                for name in op.uses:
                    self.unite(d for d in definitions if d[0] == name)
                definitions = _after(block, index, op, definitions)
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
        found = frozenset(d for definitions in self.at_exit for d in definitions if d[0] == name)
        start = (name, "", -1)
        return found if found and name in self.function.vars_in and start not in found else found | {start}

    def _names(self) -> dict[Definition, str]:
        """A name for each root: the plain one for parameters and results, and for the first of the others."""
        names: dict[Definition, str] = {self.find((v, "", -1)): v for v in self.function.vars_in}
        names |= {self.find((v, "", -1)): v for v in self.function.vars_out}
        taken = set(names.values())
        for block in self.function.graph:
            for index, op in enumerate(block.ops):
                for variable in op.defs:
                    root = self.find((variable, block.name, index))
                    if root not in names:
                        names[root] = unused(variable, taken)
                        taken.add(names[root])
        return names

    def _renamed_block(self, block: Block) -> Block:
        definitions = self.reaching[block.name]
        ops: list[Op] = []
        for index, op in enumerate(block.ops):
            uses = {v: self._name(v, definitions) for v in op.uses}
            defs = {v: self.names[self.find((v, block.name, index))] for v in op.defs}
            ops.append(op.rename(uses.__getitem__, defs.__getitem__))
            definitions = _after(block, index, op, definitions)
        *instructions, terminator = ops
        return block.replace(instructions=tuple(instructions), terminator=terminator)

    def _name(self, variable: str, definitions: Definitions) -> str:
        reaching = min((d for d in definitions if d[0] == variable), default=(variable, "", -1))
        return self.names.get(self.find(reaching), variable)


def _after(block: Block, index: int, op: Op, definitions: Definitions) -> Definitions:
    if not op.defs:
        return definitions
    kept = frozenset(d for d in definitions if d[0] not in op.defs)
    return kept | frozenset((v, block.name, index) for v in op.defs)
