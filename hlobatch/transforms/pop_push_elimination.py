"""Cancels a pop and the push of the same variable that follows it, so that the write between calls is in place.

::

    pop %n                            %m = prim "m + 1" (%m)
    %m = prim "m + 1" (%m)     ==>    %n = prim "move" (%m)
    push %n                           push_jump …
    %n = prim "move" (%m)
    push_jump …

Between two calls in one block the saved value stays in place, if no operation between reads or writes the variable, and
if the variable is written before it is read after the push. The callee may be what reads it: a parameter that is passed
on unchanged, in its own position, stays on the stack too.

Reference: paper section 3.2, optimization 5.
"""

from __future__ import annotations

from hlobatch.analysis.liveness import Names, before
from hlobatch.analysis.machine_liveness import live_out
from hlobatch.ir.ops import Op, PopOp, PushOp
from hlobatch.ir.program import Block, Program


def eliminate_pop_push(program: Program) -> Program:
    """The lowered program without pairs of pop and push that cancel."""
    live = live_out(program)
    graph = program.graph.map_blocks(lambda block: _block(block, live[block.name]))
    return program if graph == program.graph else program.replace(graph=graph)


def _block(block: Block, live: Names) -> Block:
    ops = list(block.ops)
    for start, op in enumerate(ops):
        if isinstance(op, PopOp):
            for name in op.vars:
                end = _matching_push(ops, start, name)
                if end is not None and not _is_read(ops[end + 1 :], name, live):
                    ops[start] = _dropping(ops[start], name)
                    ops[end] = _dropping(ops[end], name)
    *instructions, terminator = ops
    kept = tuple(o for o in instructions if not (isinstance(o, (PopOp, PushOp)) and not o.vars))
    return block.replace(instructions=kept, terminator=terminator)


def _matching_push(ops: list[Op], start: int, name: str) -> int | None:
    """Position of the next push of a variable, if nothing touches the variable before it."""
    for index in range(start + 1, len(ops)):
        op = ops[index]
        if isinstance(op, PushOp) and name in op.vars:
            return index
        if name in op.uses or name in op.defs:
            return None
    return None


def _is_read(ops: list[Op], name: str, live: Names) -> bool:
    """Whether a variable is live before the last operations of a block."""
    for op in reversed(ops):
        live = before(op, live)
    return name in live


def _dropping(op: Op, name: str) -> Op:
    assert isinstance(op, (PopOp, PushOp))
    return op.replace(vars=tuple(v for v in op.vars if v != name))
