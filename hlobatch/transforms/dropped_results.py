"""Refuses a call whose result is dropped, if the callee does nothing but return that result.

::

    quicksort(a, low, middle)      a = quicksort(a, low, middle)

The statement on the left runs and changes nothing, since JAX arrays are values. Nobody means it, so it is an error; the
statement on the right is what was meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.type_inference import Inference
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.to_cfg import DROPPED
from hlobatch.ir.ops import FunctionCallOp, Op, PrimOp
from hlobatch.ir.program import Function, Program


def check_dropped_results(program: Program, found: Inference) -> None:
    """Refuse calls whose result is dropped, if the callee prints nothing, raises nothing and changes nothing.

    Raises:
        UnsupportedSyntaxError: There is such a call.
    """
    for function in program.all_functions:
        for op, prints in _operations(function, found):
            if not _is_dropped(op, found) or prints:
                continue
            if isinstance(op, FunctionCallOp) and _may_print(program.function(op.function), program, found):
                continue
            assert isinstance(op, (FunctionCallOp, PrimOp))
            raise UnsupportedSyntaxError(
                "the value of this call is not used, and the call does nothing else",
                op.location,
                help=f"give it a name, as in `x = {op.location.text or '…'}`: arrays are values, and what a function "
                "makes of its arguments comes back as its result. Items that it assigns (`a[i] = v`) its caller has.",
            )


def _operations(function: Function, found: Inference) -> Iterator[tuple[Op, bool]]:
    """The operations of a function that are reached, each with whether it has an effect on the host."""
    for block in function.graph:
        place = (function.name, block.name)
        if place in found.reached:
            for index, op in enumerate(block.instructions):
                traced = found.traced.get((place, index))
                yield op, traced is not None and traced.has_host_do


def _is_dropped(op: Op, found: Inference) -> bool:
    """Whether the only result of an operation is a value that the user's code drops and that has arrays."""
    if len(op.defs) != 1 or not user_name(op.defs[0]).startswith(f"${DROPPED}"):
        return False
    return op.defs[0] in found.types and bool(found.types[op.defs[0]].tensor_leaves)


def _may_print(function: Function, program: Program, found: Inference) -> bool:
    """Whether a function, or one that it calls, has an effect on the host."""
    pending, seen = [function.name], set[str]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for op, prints in _operations(program.function(name), found):
            if prints:
                return True
            if isinstance(op, FunctionCallOp):
                pending.append(op.function)
    return False
