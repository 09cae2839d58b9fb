"""Returns the arrays of a result from the variables that hold them, without a final block that puts it together.

::

    def main(%n) -> (%result):                         def main(%n) -> (%f.count, %f.y):
      main.entry:                                        f.entry:
        push_jump f.entry, return to end by %f.$return     …
      f.entry:                                           f.leaf:
        …                                      ==>         return by %f.$return
      f.leaf:
        return by %f.$return
      end:
        %result = prim "(count, y)" (%f.count, %f.y)
        halt

Without the final block, the call in the first block becomes a jump. The structure of the user's result (a tuple, a
dict) is known without the program, so the host puts the result together.
"""

from __future__ import annotations

from hlobatch.analysis.allocation import allocate
from hlobatch.ir.ops import HALT, PrimOp
from hlobatch.ir.program import Block, Program
from hlobatch.ir.types import TensorType
from hlobatch.transforms.simplify_cfg import simplify_cfg


def results_in_parts(program: Program) -> Program:
    """The lowered program with the variables that hold the results' arrays as outputs, in order."""
    last = [block for block in program.graph if HALT in block.terminator.successors]
    parts = _parts(program, last[0]) if len(last) == 1 else None
    if parts is None:
        return program
    end = last[0].replace(instructions=last[0].instructions[:-1])
    defined = {v: t for v, t in program.var_defs.items() if v not in program.vars_out or v in parts}
    changed = program.replace(graph=program.graph.with_blocks(end), vars_out=parts, var_defs=defined)
    return allocate(simplify_cfg(changed))


def _parts(program: Program, block: Block) -> tuple[str, ...] | None:
    """The variables from which a block's last operation makes the results, if it does no more than that; else None."""
    if not block.instructions or len(block.terminator.successors) > 1:
        return None
    op = block.instructions[-1]
    code = op.code.typed
    if not isinstance(op, PrimOp) or code is None or op.vars_out != program.vars_out:
        return None
    given, results = (_leaves(program, variables) for variables in (op.vars_in, op.vars_out))
    is_same = code.is_identity and given == results and len(set(op.vars_in)) == len(op.vars_in) > 0
    return op.vars_in if is_same else None


def _leaves(program: Program, variables: tuple[str, ...]) -> list[TensorType]:
    return [leaf for v in variables for leaf in program.var_defs[v].tensor_leaves]
