"""A function -> the variables that are live at the borders of each block: those whose value may still be read.

Reference: paper section 3.2: caller saves "only what is live".
"""

from __future__ import annotations

from collections.abc import Iterable

from hlobatch.analysis.dataflow import Dataflow, Solution, solve
from hlobatch.ir.names import is_sum
from hlobatch.ir.ops import Op
from hlobatch.ir.program import Block, Function

Names = frozenset[str]


def union(sets: Iterable[Names]) -> Names:
    """The union of live sets."""
    return frozenset().union(*sets)


def before(op: Op, live_after: Names) -> Names:
    """The variables that are live before an operation, given those that are live after it."""
    return (live_after - frozenset(op.defs)) | frozenset(op.uses)


def through(block: Block, live_out: Names) -> Names:
    """The variables that are live at a block's entry, given those that are live at its exit."""
    return block.read_first | (live_out - block.written)


def after_each(block: Block, live_out: Names) -> list[Names]:
    """The variables that are live after each operation of a block, given those that are live at its exit."""
    found, live = list[Names](), live_out
    for op in reversed(block.ops):
        found.append(live)
        live = before(op, live)
    return found[::-1]


def read_after(function: Function) -> Names:
    """The variables that may be read after a function has ended: its results, and sums that it adds to."""
    return frozenset(
        (*function.vars_out, *(v for block in function.graph for op in block.ops for v in op.defs if is_sum(v)))
    )


def liveness(function: Function) -> Solution[Names]:
    """Live sets of a function: ``before[b]`` is ``live_in`` of block b, ``after[b]`` its ``live_out``."""
    problem = Dataflow(forward=False, boundary=read_after(function), initial=frozenset(), merge=union, transfer=through)
    return solve(function.graph, problem)
