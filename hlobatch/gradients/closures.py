"""Makes captured arrays inputs of a program, so that it can be differentiated by them.

::

    def main(%main.x):                              def main(%main.x, %main.$captured1):
      %f.y = prim "w * x" (%main.x)     ==>           %f.y = prim "w * x" (%main.x, %main.$captured1)

A captured array is a constant of each primitive that reads it. As an input, it is shared by all lanes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from hlobatch._jax import ClosedJaxpr
from hlobatch.gradients.arrays import on_arrays, primitive
from hlobatch.ir.names import NewNames
from hlobatch.ir.ops import Op, PrimOp
from hlobatch.ir.program import Program
from hlobatch.ir.types import TensorType, Type
from hlobatch.typing import ArrayLike, Arrays


def with_captured_as_inputs(program: Program, arrays: Arrays) -> Program:
    """The program with some captured arrays as additional inputs, after its own.

    Args:
        program: The program, typed, with calls.
        arrays: Arrays that its primitives capture, found by identity.
    """
    types, new_name = dict(program.var_defs), NewNames(program.var_defs)
    names: dict[int, str] = {}
    for array in arrays:
        name = names[id(array)] = new_name("main.$captured")
        aval = jax.typeof(array)
        types[name] = Type(TensorType(aval.dtype, tuple(aval.shape)))

    def opened(op: Op) -> Op:
        given = dict.fromkeys(names[id(c)] for c in op.code.captured if id(c) in names)
        return _reading(op, list(given), names, types) if isinstance(op, PrimOp) and given else op

    changed = program.map_graphs(lambda graph: graph.map_blocks(lambda block: block.map_instructions(opened)))
    return changed.replace(var_defs=types, vars_in=(*program.vars_in, *names.values()))


def _reading(op: PrimOp, given: Sequence[str], names: Mapping[int, str], types: Mapping[str, Type]) -> PrimOp:
    """A primitive that reads variables in place of captured arrays."""
    code = op.code.typed
    assert code is not None
    places = {i: given.index(names[id(c)]) for i, c in enumerate(code.captured) if id(c) in names}
    count = sum(len(types[v].tensor_leaves) for v in op.vars_in)

    def run(*arrays: ArrayLike) -> list[Any]:
        consts = [arrays[count + places[i]] if i in places else c for i, c in enumerate(code.jaxpr.consts)]
        own = replace(code, jaxpr=ClosedJaxpr(code.jaxpr.jaxpr, consts))
        return on_arrays(op.replace(function=own), types)(*arrays[:count])

    return primitive(run, [*op.vars_in, *given], op.vars_out, types, op.text, op)
