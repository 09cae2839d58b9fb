"""What is used on every path, and what depends on inputs on every path: where a zero cotangent or tangent is none.

::

    y = 1 / x                    y is used on the path that the branch takes, and not on the other:
    if x > 0:                    its cotangent may be zero because of that
        return y * x             y * x is used on every path that computes it
    return x

``zeros.py`` costs some operations for each product. It is only needed where a cotangent may be zero because a lane
does not use a value, and where a tangent may be zero because a variable is constant on the path of a lane. Where the
product of a zero and an infinity comes from a path itself, JAX's derivative of that path is a NaN, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from hlobatch._jax import ClosedJaxpr, Equation, Jaxpr, Literal, called_by
from hlobatch.analysis.dataflow import Dataflow, Solution, solve
from hlobatch.gradients.arrays import Array, arrays_of
from hlobatch.gradients.zeros import STEEP, is_called, is_steep
from hlobatch.ir.evaluation import variables_among
from hlobatch.ir.ops import FunctionCallOp, Op, PrimOp
from hlobatch.ir.program import Block, Program

Found = frozenset[Array]

_RESHAPING: Final = frozenset(
    [
        "neg",
        "reshape",
        "broadcast_in_dim",
        "squeeze",
        "expand_dims",
        "transpose",
        "rev",
        "convert_element_type",
        "copy",
        "copy_p",
        "reduce_sum",
    ]
)
"""Primitives of one array of which all elements are used, and which depend on nothing else."""
_COMBINING: Final = STEEP | _RESHAPING | frozenset(["add", "sub", "add_any", "dot_general"])
"""Primitives of which all elements of all operands are used, and which depend on each operand."""
_PARTS: Final = frozenset(["slice", "dynamic_slice"])
"""Primitives whose result is a part of their first operand."""


# Backward: what is used


def unused_perhaps(closed: ClosedJaxpr, used: Collection[int]) -> tuple[set[int], frozenset[int]]:
    """The equations whose results may be unused, and the positions of the operands that are surely used.

    Args:
        closed: Code.
        used: The positions of the results that are surely used.

    Returns:
        The identities of those equations among the steep ones, also in jaxprs that are called; and the positions.
    """
    jaxpr: Jaxpr = closed.jaxpr
    found, sure = set[int](), set(variables_among(jaxpr.outvars[i] for i in used))
    for equation in reversed(jaxpr.eqns):
        own = [i for i, v in enumerate(equation.outvars) if v in sure]
        if is_called(equation):
            inner, places = unused_perhaps(called_by(equation), own)
            found |= inner
            sure.update(variables_among(equation.invars[i] for i in places))
        elif not own:
            found.update([id(equation)] if is_steep(equation) else [])
        elif equation.primitive.name in _COMBINING or equation.primitive.name == "concatenate":
            sure.update(variables_among(equation.invars))
    return found, frozenset(i for i, v in enumerate(jaxpr.invars) if v in sure)


@dataclass(frozen=True)
class Used:
    """The arrays of a program that are used on every path from some point.

    Arguments of calls and results of functions are not known to be used.

    Attributes:
        program: The program, typed, with calls.
    """

    program: Program

    def after_primitives(self, function: str, block: Block) -> Found:
        """The arrays that are surely used after the primitives of a function's block, before a call that ends it."""
        after = self._solutions[function].after[block.name]
        last = block.instructions[-1] if block.instructions else None
        after = frozenset() if after is None else after
        return self.before(last, after) if isinstance(last, FunctionCallOp) else after

    def before(self, op: Op, after: Found) -> Found:
        """The arrays that are surely used before an operation, given those that are after it."""
        kept = frozenset(array for array in after if array.variable not in op.defs)
        return kept.union(self._operands(op, after)) if isinstance(op, PrimOp) else kept

    def _operands(self, op: PrimOp, after: Found) -> Iterator[Array]:
        """The arrays that a primitive reads and surely uses."""
        types, code = self.program.var_defs, op.code.typed
        if op.code.is_copy:
            for source, target in zip(op.vars_in, op.vars_out, strict=True):
                for a, b in zip(arrays_of(source, types), arrays_of(target, types), strict=False):
                    if b in after:
                        yield a
        elif code is not None:
            read = [array for v in op.vars_in for array in arrays_of(v, types)]
            yield from (read[i] for i in unused_perhaps(code.jaxpr, self.results(op, after))[1])

    def results(self, op: PrimOp, after: Found) -> list[int]:
        """The positions of the surely used results of a primitive's code."""
        written = [array for v in op.vars_out for array in arrays_of(v, self.program.var_defs)]
        code = op.code.typed
        is_simple = code is not None and len(code.jaxpr.jaxpr.outvars) == len(written)
        return [i for i, array in enumerate(written) if array in after] if is_simple else []

    @cached_property
    def _solutions(self) -> Mapping[str, Solution[Found | None]]:
        """For each function, the surely used arrays at the borders of its blocks."""
        main = self.program.main_function()
        results = frozenset(a for v in main.vars_out for a in arrays_of(v, self.program.var_defs))
        return {
            f.name: solve(f.graph, self._problem(results if f.name == main.name else frozenset()))
            for f in self.program.all_functions
        }

    def _problem(self, results: Found) -> Dataflow[Found | None]:
        def merge(values: Iterable[Found | None]) -> Found | None:
            known = [value for value in values if value is not None]
            return frozenset.intersection(*known) if known else None

        def transfer(block: Block, after: Found | None) -> Found | None:
            if after is None:
                return None
            for op in reversed(block.instructions):
                after = self.before(op, after)
            return after

        return Dataflow(forward=False, boundary=results, initial=None, merge=merge, transfer=transfer)


# Forward: what is constant


def constant_perhaps(closed: ClosedJaxpr, operands: Mapping[int, bool]) -> tuple[set[int], dict[int, bool]]:
    """The equations of which an operand may be constant on a path, and which results may be.

    Args:
        closed: Code.
        operands: For the position of each operand with a tangent, whether it may be constant on a path.

    Returns:
        The identities of those equations among the steep ones, also in jaxprs that are called; and for the position of
        each result with a tangent, whether it may be constant.
    """
    jaxpr: Jaxpr = closed.jaxpr
    found, known = set[int](), {jaxpr.invars[i]: is_constant for i, is_constant in operands.items()}
    for equation in jaxpr.eqns:
        given = {i: known[v] for i, v in enumerate(equation.invars) if not isinstance(v, Literal) and v in known}
        if not given:
            continue
        if is_called(equation):
            inner, own = constant_perhaps(called_by(equation), given)
            found |= inner
            known |= {equation.outvars[i]: is_constant for i, is_constant in own.items()}
            continue
        if is_steep(equation) and any(given.values()):
            found.add(id(equation))
        known |= dict.fromkeys(equation.outvars, _may_be_constant(equation, given))
    results = enumerate(jaxpr.outvars)
    return found, {i: known[v] for i, v in results if not isinstance(v, Literal) and v in known}


def _may_be_constant(equation: Equation, given: Mapping[int, bool]) -> bool:
    name = equation.primitive.name
    if name in _COMBINING:
        return all(given.values())
    if name in _PARTS:
        return given.get(0, True)
    if name in ("select_n", "concatenate"):
        places = range(1 if name == "select_n" else 0, len(equation.invars))
        return any(given.get(i, True) for i in places)
    return True


@dataclass
class Constant:
    """The active arrays of a program that may be constant on the path of a lane.

    Attributes:
        program: The program, typed, with calls.
        active: The arrays that have tangents.
    """

    program: Program
    active: Collection[Array]
    found: set[Array] = field(default_factory=set)

    def __post_init__(self) -> None:
        before = -1
        while len(self.found) != before:
            before = len(self.found)
            for op in self.program.ops:
                self.found.update(self._written(op))

    def operands(self, op: PrimOp) -> dict[int, bool]:
        """For the position of each active array that a primitive reads, whether it may be constant."""
        read = [array for v in op.vars_in for array in arrays_of(v, self.program.var_defs)]
        return {i: array in self.found for i, array in enumerate(read) if array in self.active}

    def _written(self, op: Op) -> Iterator[Array]:
        types = self.program.var_defs
        if isinstance(op, FunctionCallOp):
            callee = self.program.function(op.function)
            for source, target in (
                *zip(op.vars_in, callee.vars_in, strict=True),
                *zip(callee.vars_out, op.vars_out, strict=True),
            ):
                yield from self._copied(source, target)
        elif isinstance(op, PrimOp) and op.code.is_copy:
            for source, target in zip(op.vars_in, op.vars_out, strict=True):
                yield from self._copied(source, target)
        elif isinstance(op, PrimOp):
            written = [array for v in op.vars_out for array in arrays_of(v, types)]
            code = op.code.typed
            known: Mapping[int, bool] = {}
            if code is not None and len(code.jaxpr.jaxpr.outvars) == len(written):
                known = constant_perhaps(code.jaxpr, self.operands(op))[1]
            yield from (a for i, a in enumerate(written) if a in self.active and known.get(i, True))

    def _copied(self, source: str, target: str) -> Iterator[Array]:
        types = self.program.var_defs
        for a, b in zip(arrays_of(source, types), arrays_of(target, types), strict=False):
            if b in self.active and (a not in self.active or a in self.found):
                yield b
