"""The arrays of a program whose derivatives matter, for some inputs and outputs (activity analysis).

An array is active if it may depend on a differentiated input (it is varied), and a differentiated output may depend on
it (it is useful). Only dependence through floating-point arrays counts: an integer or a boolean has no derivative. The
analysis ignores control flow and does not tell calls of a function apart.

Reference: Griewank and Walther, "Evaluating Derivatives", second edition, 2008, section 6.2.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from hlobatch._jax import Jaxpr, Literal
from hlobatch.gradients.arrays import Array, Types, arrays_of, is_differentiable, tensor_of
from hlobatch.ir.code import JaxprCode, Select
from hlobatch.ir.evaluation import variables_among
from hlobatch.ir.ops import FunctionCallOp, Op, PrimOp
from hlobatch.ir.program import Program
from hlobatch.ir.types import TensorType

Edge = tuple[Array, Array]


def active_arrays(program: Program, inputs: Collection[Array], outputs: Collection[Array]) -> frozenset[Array]:
    """The active arrays.

    Args:
        program: The program, typed, with calls.
        inputs: The arrays of main's parameters with respect to which derivatives are taken.
        outputs: The arrays of main's results whose derivatives are taken.
    """
    edges = [edge for op in program.ops for edge in dependences(program, op)]
    varied = _reached(inputs, edges)
    useful = _reached(outputs, [(after, before) for before, after in edges])
    return frozenset(varied & useful)


def dependences(program: Program, op: Op) -> Iterator[Edge]:
    """Pairs of an array that an operation reads and an array that it writes and that may depend on the first."""
    types = program.var_defs
    edges: Iterable[Edge] = ()
    if isinstance(op, PrimOp):
        edges = _of_primitive(op, types)
    elif isinstance(op, FunctionCallOp):
        callee = program.function(op.function)
        pairs = [*zip(op.vars_in, callee.vars_in, strict=True), *zip(callee.vars_out, op.vars_out, strict=True)]
        edges = (edge for source, target in pairs for edge in _alike(source, target, types))
    for before, after in edges:
        if is_differentiable(tensor_of(before, types)) and is_differentiable(tensor_of(after, types)):
            yield before, after


def _of_primitive(op: PrimOp, types: Types) -> Iterator[Edge]:
    before = [array for v in op.vars_in for array in arrays_of(v, types)]
    code = op.code.typed
    if op.code.is_copy:
        for source, target in zip(op.vars_in, op.vars_out, strict=True):
            yield from _alike(source, target, types)
    elif isinstance(op.code, Select):
        for source in op.vars_in[1:]:
            yield from _alike(source, op.vars_out[0], types)
    elif code is None:
        yield from ((a, b) for a in before for v in op.vars_out for b in arrays_of(v, types))
    else:
        read = iter(_positions(code))
        for variable, type_ in zip(op.vars_out, code.out_types, strict=True):
            own = [next(read) if isinstance(leaf, TensorType) else frozenset[int]() for leaf in type_.leaves]
            wanted = [i for i, leaf in enumerate(types[variable].leaves) if isinstance(leaf, TensorType)]
            for place, leaf in enumerate(wanted):
                yield from ((before[i], Array(variable, place)) for i in sorted(own[leaf]))


def _positions(code: JaxprCode) -> list[frozenset[int]]:
    """For each result of code, the positions of the operands on which it depends through floating-point values."""
    jaxpr: Jaxpr = code.inlined.jaxpr
    known: dict[Any, frozenset[int]] = {v: frozenset({i}) for i, v in enumerate(jaxpr.invars)}
    for equation in jaxpr.eqns:
        read = frozenset[int]().union(*(known.get(v, frozenset()) for v in variables_among(equation.invars)))
        known |= {v: read for v in equation.outvars if is_differentiable(v.aval)}
    return [frozenset() if isinstance(v, Literal) else known.get(v, frozenset()) for v in jaxpr.outvars]


def _alike(source: str, target: str, types: Types) -> Iterator[Edge]:
    """Pairs of corresponding arrays of two variables, one of which is copied to the other."""
    return iter(zip(arrays_of(source, types), arrays_of(target, types), strict=False))


def _reached(start: Iterable[Array], edges: Iterable[Edge]) -> set[Array]:
    after: Mapping[Array, list[Array]] = collections.defaultdict(list)
    for source, target in edges:
        after[source].append(target)
    found = set(start)
    pending = list(found)
    while pending:
        for target in after[pending.pop()]:
            if target not in found:
                found.add(target)
                pending.append(target)
    return found
