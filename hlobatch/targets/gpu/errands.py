"""Which primitives XLA computes for all lanes of a GPU that wait, in turn with the kernel that runs everything else.

They are those for which a library starts a few large kernels: long products, factorizations and sorts of large arrays;
and those without code in a lane. A primitive with a loop of unknown length stays in the kernel, since lanes that do
not wait for it would take part in the loop.
"""

from __future__ import annotations

import math
from typing import Any, Final

from hlobatch.analysis.cost import multiplications
from hlobatch.ir.ops import PrimOp
from hlobatch.kernels.body import has_code
from hlobatch.kernels.processors import NVPTX
from hlobatch.targets.work import FACTORED, equations_of

LEAST_WORK: Final = 1 << 16
"""Operations of a lane in products, factorizations and sorts from which a primitive is an errand: a thread takes some
tens of microseconds for them, as long as XLA takes to test and start a turn. Chosen by judgement (2026-11)."""


def is_errand(op: PrimOp) -> bool:
    """Whether XLA computes a primitive for all lanes that wait."""
    code = op.code.typed
    if code is None or not op.code.is_total or op.code.has_host_do:
        return False
    work = sum(map(_work, equations_of(code.jaxpr.jaxpr)))
    return work >= LEAST_WORK or not has_code(code.jaxpr, NVPTX)


def _work(equation: Any) -> float:
    """Operations of an equation of a kind that libraries compute much faster than a thread."""
    name = equation.primitive.name
    if name == "dot_general":
        return multiplications(equation)
    elements = math.prod(equation.invars[0].aval.shape) if equation.invars else 0
    if name in FACTORED:
        return float(elements * equation.outvars[0].aval.shape[-1])
    return elements * math.log2(max(elements, 2)) if name == "sort" else 0
