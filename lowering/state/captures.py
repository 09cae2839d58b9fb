"""Arrays that the user's code takes from its surroundings, such as a data set -> operands of the module, each once.

Without this, every function that mentions such an array would hold it as a constant. Small ones do stay constants,
which XLA folds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import ClosedJaxpr, is_tracer
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import from_physical, physical, to_physical
from hlobatch.ir.program import Program
from hlobatch.ir.types import TensorType
from hlobatch.typing import Arrays

LEAST_ELEMENTS_PASSED: Final = 16
"""Elements from which a captured array is an operand of the module; a smaller one is a constant, which XLA folds.
Chosen by judgement (2026-11), not measured."""


@dataclass(frozen=True, eq=False)
class Captures:
    """The captured arrays of a program.

    Attributes:
        arrays: Each array once.
        positions: By the identity of an array, its position in ``arrays``.
    """

    arrays: tuple[Any, ...]
    positions: dict[int, int]

    @property
    def types(self) -> list[TensorType]:
        typed = [jax.typeof(array) for array in self.arrays]
        return [TensorType(aval.dtype, tuple(aval.shape)) for aval in typed]

    @property
    def avals(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the operands of the module that stand for the captured arrays."""
        return [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in map(physical, self.types)]

    def operands(self, known: Mapping[int, Any] = MappingProxyType({})) -> list[Any]:
        """The operands to pass for the captured arrays: concrete arrays, even if a call is being traced.

        Args:
            known: By the identity of an array, the operand to pass for it; others are made here.
        """
        pairs = zip(self.arrays, self.types, strict=True)
        with jax.ensure_compile_time_eval():
            return [known[id(a)] if id(a) in known else to_physical(a, t) for a, t in pairs]

    @property
    def are_traced(self) -> bool:
        """Whether some of the arrays are tracers, which mean nothing outside the trace that they belong to."""
        return any(map(is_tracer, self.arrays))

    def substituted(self, op: PrimOp, operands: Arrays) -> PrimOp:
        """The primitive with its captured arrays replaced by operands."""
        function, found = op.code.typed, self._of(op)
        if function is None or not found:
            return op
        consts = list(function.captured)
        for index, position in found.items():
            consts[index] = from_physical(operands[position], self.types[position])
        jaxpr = ClosedJaxpr(function.jaxpr.jaxpr, consts)
        return op.replace(function=TracedFunction(function.in_types, function.out_types, jaxpr))

    def used_by(self, op: PrimOp) -> set[int]:
        """Positions of the arrays a primitive uses."""
        return set(self._of(op).values())

    def _of(self, op: PrimOp) -> dict[int, int]:
        """By the position of an array among those that the primitive's code captures, its position in ``arrays``."""
        found = enumerate(op.code.captured)
        return {i: self.positions[id(c)] for i, c in found if id(c) in self.positions}


def captures(program: Program) -> Captures:
    """The arrays that a program's primitives capture."""
    arrays: dict[int, Any] = {}
    for op in program.ops:
        arrays.update({id(c): c for c in op.code.captured if np.size(c) >= LEAST_ELEMENTS_PASSED or is_tracer(c)})
    return Captures(tuple(arrays.values()), {key: i for i, key in enumerate(arrays)})
