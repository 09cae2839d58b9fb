"""Splits primitives: the part that is the same in every lane moves to the entry of main (invariant code motion).

::

    def main(%main.q):                            def main(%main.q):
      …                                             %f.$shared1 = prim "density(q, data.T)" ()
    def f(%f.q):                             ==>    …
      %f.p = prim "density(q, data.T)" (%f.q)     def f(%f.q):
                                                    %f.p = prim "density(q, data.T)" (%f.q, %f.$shared1)

A primitive is a statement of the user's, with all the code that it calls. A part of it that works on a data set alone,
such as a transpose, would run again whenever its block runs. XLA moves such code out of a loop, but not out of a branch
in a loop, which is what a block becomes.

Each result of such a part becomes an array that is kept for the whole run. So a result is moved only if it is no larger
than its operands, or expensive, and in no case huge. Other results are computed in the primitive.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final

import numpy as np

from hlobatch._jax import ClosedJaxpr, Equation, Jaxpr, is_key
from hlobatch.analysis.cost import bytes_of, equation_cost
from hlobatch.analysis.sharing import equation_surely_ends, shared_roots
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.code import JaxprCode
from hlobatch.ir.evaluation import are_alike, evaluated, needed_for, traced, variables_among
from hlobatch.ir.ops import Op, PrimOp
from hlobatch.ir.program import Block, Program
from hlobatch.ir.types import TensorType, Type, grouped
from hlobatch.jax_primitives import FUSED, Costs, costing

LEAST_ELEMENTS_READ: Final = 16
"""Elements that shared operands have to have for a result of theirs to be kept: with fewer, it is recomputed at next to
no cost. Chosen by judgement (2026-11), not measured.
"""
LEAST_OPERATIONS_KEPT_AN_ELEMENT: Final = 8.0
"""Operations per element from which a result is kept even if it is larger than its operands. Chosen in 2026-11 so that
tables of some hundred numbers, which a statement computes from no operand, are computed once.
"""
LEAST_OPERATIONS_KEPT: Final = 100.0
"""Operations that a result takes at least if it is kept though it is larger than its operands. Chosen by judgement
(2026-11), not measured.
"""
MOST_BYTES_KEPT: Final = 2**28
"""Bytes up to which a result is kept for the whole run; beyond that, memory is worth more than time. Chosen by
judgement (2026-11), not measured.
"""
_TAKING_LONG: Final = costing(Costs.FUNCTION, Costs.RANDOM)
"""Primitives that are expensive per element, so that even a result with no operands may be worth an array."""


def split_shared(program: Program) -> Program:
    """The program with values that are the same in every lane computed once, parts of primitives among them."""
    roots = shared_roots(program)
    first = program.graph.enter_block().instructions
    before = tuple(takewhile(lambda op: isinstance(op, PrimOp) and roots.keys() >= {*op.defs}, first))
    splitter = _Splitter(program, roots.keys() & {*program.vars_in, *(v for op in before for v in op.defs)})
    changed = program.map_graphs(lambda graph: graph.map_blocks(splitter.block))
    if not splitter.moved:
        return program
    entry = changed.graph.enter_block()
    entry = entry.replace(instructions=(*before, *splitter.moved, *entry.instructions[len(before) :]))
    return changed.replace(graph=changed.graph.with_blocks(entry), var_defs={**program.var_defs, **splitter.types})


@dataclass
class _Splitter:
    """Splits the primitives of a program.

    Attributes:
        program: The program, typed, with calls.
        shared: Variables that are the same in every lane, and are computed before the first variable that is not.
        moved: The primitives made of parts that were moved so far.
        types: Types of the variables that ``moved`` writes.
        known: By operands of a moved part, the variables that hold results of these operands, each with its jaxpr.
    """

    program: Program
    shared: AbstractSet[str]
    moved: list[PrimOp] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)
    known: defaultdict[tuple[str, ...], list[tuple[str, ClosedJaxpr]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def block(self, block: Block) -> Block:
        return block.map_instructions(self._op)

    def _op(self, op: Op) -> Op:
        function = op.code.rewritable
        if not isinstance(op, PrimOp) or function is None:
            return op
        if self.shared >= {*op.defs}:
            return op  # the whole operation is computed once
        shared = self._of_inputs(op)
        if not _may_split(function, shared):
            return op
        code = _Code.of(function.inlined, shared)
        stored = code.stored()
        if not stored:
            return op
        names = [self._variable(op, function, code, value) for value in stored]
        in_types = (*function.in_types, *(self.types[name] for name in names))
        rest = TracedFunction(in_types, function.out_types, code.rest(stored))
        return op.replace(vars_in=(*op.vars_in, *names), function=rest)

    def _of_inputs(self, op: PrimOp) -> list[bool]:
        """For each tensor of a primitive's operands, whether it is the same in every lane."""
        return [v in self.shared for v in op.vars_in for _ in self.program.var_defs[v].tensor_leaves]

    def _variable(self, op: PrimOp, function: JaxprCode, code: _Code, value: Any) -> str:
        """The variable of a moved value, computed by a new primitive unless an earlier one computes the same."""
        read = code.reads(value)
        leaves = grouped(code.inputs, [self.program.var_defs[v] for v in op.vars_in])
        given = [i for i, each in enumerate(leaves) if read.intersection(each)]
        names, in_types = tuple(op.vars_in[i] for i in given), tuple(function.in_types[i] for i in given)
        jaxpr = code.slice(value, [x for i in given for x in leaves[i]])
        for variable, other in self.known[names]:
            if are_alike(jaxpr, other):
                return variable
        name = f"{op.vars_out[0].rsplit('.', 1)[0]}.$shared{len(self.moved) + 1}"
        self.types[name] = type_ = Type(TensorType(value.aval.dtype, value.aval.shape, value.aval.weak_type))
        self.known[names].append((name, jaxpr))
        slice_ = TracedFunction(in_types, (type_,), jaxpr)
        self.moved.append(PrimOp(names, (name,), slice_, op.text, location=op.location))
        return name


@dataclass(frozen=True)
class _Code:
    """The equations of a primitive, and its values that are the same in every lane.

    Attributes:
        closed: The primitive's jaxpr.
        slices: For each value that is the same in every lane, the indices of the equations that compute it.
    """

    closed: ClosedJaxpr
    slices: dict[Any, frozenset[int]]

    @classmethod
    def of(cls, closed: ClosedJaxpr, shared: Sequence[bool]) -> _Code:
        jaxpr: Jaxpr = closed.jaxpr
        given = (v for v, is_shared in zip(jaxpr.invars, shared, strict=True) if is_shared)
        slices: dict[Any, frozenset[int]] = dict.fromkeys((*jaxpr.constvars, *given), frozenset())
        for number, equation in enumerate(jaxpr.eqns):
            values = _read(equation)
            if slices.keys() >= set(values) and equation_surely_ends(equation):
                slices |= dict.fromkeys(equation.outvars, frozenset({number}.union(*(slices[v] for v in values))))
        return cls(closed, slices)

    @property
    def inputs(self) -> Sequence[Any]:
        jaxpr: Jaxpr = self.closed.jaxpr
        return tuple(jaxpr.invars)

    @property
    def equations(self) -> Sequence[Any]:
        jaxpr: Jaxpr = self.closed.jaxpr
        return tuple(jaxpr.eqns)

    def stored(self) -> list[Any]:
        """The values that are the same in every lane, read by code that is not, and worth an array."""
        jaxpr: Jaxpr = self.closed.jaxpr
        pending = [v for e in self.equations if not self._is_shared(e) for v in _read(e)]
        pending += variables_among(jaxpr.outvars)
        found: dict[Any, None] = {}
        seen: set[Any] = set()
        while pending:
            value = pending.pop(0)
            if value in seen or not self.slices.get(value):
                continue
            seen.add(value)
            if self._is_worth_storing(value):
                found[value] = None
            else:
                pending += _read(self._definition(value))
        return list(found)

    def _definition(self, value: Any) -> Any:
        """The equation that computes a value: the last of its slice."""
        return self.equations[max(self.slices[value])]

    def _is_shared(self, equation: Equation) -> bool:
        return all(v in self.slices for v in equation.outvars)

    def _is_worth_storing(self, value: Any) -> bool:
        equations = [self.equations[i] for i in self.slices[value]]
        if is_key(value.aval) or bytes_of(value) > MOST_BYTES_KEPT or all(e.primitive.name in FUSED for e in equations):
            return False
        defined = self._definition(value)
        if defined.primitive.name in FUSED and bytes_of(value) > sum(map(bytes_of, _read(defined))):
            return False
        roots = {v for e in equations for v in _read(e) if not self.slices[v]}
        read = sum(math.prod(v.aval.shape) for v in roots)
        if read >= LEAST_ELEMENTS_READ and bytes_of(value) <= sum(map(bytes_of, roots)):
            return True
        cost = sum(equation_cost(e) for e in equations)
        return bool(cost >= max(LEAST_OPERATIONS_KEPT, LEAST_OPERATIONS_KEPT_AN_ELEMENT * math.prod(value.aval.shape)))

    def reads(self, value: Any) -> set[Any]:
        """The variables that are read to compute a value."""
        return {v for i in self.slices[value] for v in _read(self.equations[i])}

    def slice(self, value: Any, inputs: Sequence[Any]) -> ClosedJaxpr:
        """The jaxpr that computes a value from ``inputs``."""
        wanted = self.slices[value]
        equations = [e for i, e in enumerate(self.equations) if i in wanted]
        return self._traced(equations, inputs, [value])

    def rest(self, stored: Sequence[Any]) -> ClosedJaxpr:
        """The jaxpr that computes the primitive's results from its inputs and the stored values."""
        jaxpr: Jaxpr = self.closed.jaxpr
        equations = needed_for(jaxpr.outvars, self.equations, stored)
        return self._traced(equations, [*jaxpr.invars, *stored], jaxpr.outvars)

    def _traced(self, equations: Sequence[Equation], inputs: Sequence[Any], outputs: Sequence[Any]) -> ClosedJaxpr:
        jaxpr: Jaxpr = self.closed.jaxpr

        def run(*arrays: Any) -> list[Any]:
            known = dict(zip((*jaxpr.constvars, *inputs), (*self.closed.consts, *arrays), strict=True))
            return evaluated(equations, known, outputs)

        return traced(run, inputs)


def _may_split(function: JaxprCode, shared: Sequence[bool]) -> bool:
    """Whether a primitive may have a shared part that is worth keeping."""
    captures_data = any(np.size(c) >= LEAST_ELEMENTS_READ for c in function.captured)
    return captures_data or any(shared) or bool(function.primitives & _TAKING_LONG)


def _read(equation: Equation) -> list[Any]:
    """The variables that an equation reads."""
    return variables_among(equation.invars)
