"""Copies a variable where it leaves code in which it is known not to be None, so that each part has a type of its own.

::

    branch %$if, after, there               branch %$if, after, there
    there:                                  there:
      %x = prim "x is there" (%x)             %x = prim "x is there" (%x)
      %y = prim "x + 1" (%x)          ==>     %y = prim "x + 1" (%x)
      jump after                              %x = prim "x" (%x)
    after:                                    jump after
      %z = prim "x is None" (%x)            after: …

A variable that is not None on one of two paths has a narrower type on that path. A read after the paths merge would
join it with the variable of the other path, and the narrower type would be lost. With the copy between them, they are
separate live ranges, and ``split_live_ranges.py`` gives each a name, and so a type, of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from hlobatch.analysis.dataflow import Dataflow, Solution, solve
from hlobatch.analysis.liveness import liveness
from hlobatch.ir.code import MOVE
from hlobatch.ir.names import unused
from hlobatch.ir.ops import GotoOp, PrimOp, renaming
from hlobatch.ir.program import Block, Function, Program
from hlobatch.values.optional import NotNone

Definition = tuple[str, str, int]
"""A variable and the block and position of an operation that writes it."""
Reaching = Mapping[str, frozenset[Definition]]
"""For some live variables, the definitions that reach this point; block "" stands for no value yet."""


def separate_narrowed(program: Program) -> Program:
    """The untyped program with a copy where a narrowed variable joins another definition of it."""
    return program.map_functions(_separated)


def _separated(function: Function) -> Function:
    narrowed: dict[Definition, PrimOp] = {
        (op.vars_out[0], block.name, index): op
        for block in function.graph
        for index, op in enumerate(block.instructions)
        if isinstance(op, PrimOp) and isinstance(op.code, NotNone)
    }
    if not narrowed:
        return function
    reaching = _reaching_definitions(function, {name for name, _, _ in narrowed})
    taken = {block.name for block in function.graph}

    def with_copies(block: Block) -> Iterator[Block]:
        onward: dict[str, str] = {}
        copies: list[Block] = []
        for name in dict.fromkeys(n for n in block.successors if n in function.graph):
            meet = [
                op
                for definition, op in narrowed.items()
                if reaching.after[block.name].get(definition[0]) == frozenset([definition])
                and reaching.before[name].get(definition[0], frozenset([definition])) != frozenset([definition])
            ]
            if meet:
                onward[name] = unused(f"{name}.also", taken)
                taken.add(onward[name])
                ops = tuple(
                    PrimOp(op.vars_in, op.vars_out, MOVE, op.text.split()[0], location=op.location) for op in meet
                )
                copies.append(Block(onward[name], ops, GotoOp(name, location=block.location), block.location))
        yield block.retarget(renaming(onward))
        yield from copies

    return function.replace(graph=function.graph.expand_blocks(with_copies))


def _reaching_definitions(function: Function, names: Collection[str]) -> Solution[Reaching]:
    """For each block, the definitions of some variables that reach it, as long as the variables are live."""
    live = liveness(function)
    written = {
        block.name: {
            v: frozenset([(v, block.name, index)]) for index, op in enumerate(block.ops) for v in op.defs if v in names
        }
        for block in function.graph
    }

    def transfer(block: Block, reaching: Reaching) -> Reaching:
        after = {**reaching, **written[block.name]}
        return {name: after[name] for name in after if name in live.after[block.name]}

    start = {name: frozenset([(name, "", -1)]) for name in names}
    return solve(function.graph, Dataflow(forward=True, boundary=start, initial={}, merge=_merged, transfer=transfer))


def _merged(paths: Iterable[Reaching]) -> Reaching:
    merged: dict[str, frozenset[Definition]] = {}
    for path in paths:
        for name, definitions in path.items():
            merged[name] = merged.get(name, frozenset()) | definitions
    return merged
