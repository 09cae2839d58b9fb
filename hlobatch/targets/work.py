"""A lowered program -> the operations of one lane, by kinds that cost differently in XLA's loop and in a lane."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch._jax import Equation, Jaxpr, subjaxprs_of
from hlobatch.analysis.cost import multiplications
from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.ir.names import is_tape
from hlobatch.ir.physical import elements
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.jax_primitives import READS, UPDATES, Costs, costing

FUNCTIONS: Final = costing(Costs.FUNCTION)
"""Primitives for which a lane by itself calls a library function, or evaluates a polynomial, for each element."""
IN_VECTORS: Final = ("tanh",)
"""Those of these primitives that are no call in a lane's code, so that LLVM vectorizes them."""
FILLS: Final = ("broadcast_in_dim", "iota")
"""Primitives that compute nothing: the memory of an empty list, and numbers that are compared with its length."""
LEAST_ELEMENTS_IN_VECTORS: Final = 8
"""Elements of an array of one lane from which its operations are vectorized."""
MOST_PRODUCTS_WITH_OWN: Final = 8
"""Largest number of multiplications per element of the largest variable for which that variable is taken to be a matrix
of the lane's own. More multiplications come from a matrix that all lanes share and whose product is long, as in a
regression; chosen by judgement (2026-11)."""
FACTORED: Final = {
    "cholesky": (1 / 6, 0.6),
    "lu": (1 / 3, 0.6),
    "triangular_solve": (1 / 2, 0.6),
    "geqrf": (0.5, 1.4),
    "householder_product": (0.5, 1.4),
    "qr": (1.0, 1.4),
    "eigh": (8.0, 2.0),
}
"""For each factorization: LAPACK's cost for each of n * n * n elements, relative to a multiplication in its Cholesky
factorization, and the cost of a lane's code relative to LAPACK's. Measured with 100 lanes of 4 to 64 rows by ``python
-m benchmarks.factorizations`` (AVX-512, jax 0.10.2, 2026-11)."""


@dataclass
class Work:
    """The operations of one lane in all repeated blocks (those on a cycle), each counted once.

    Attributes:
        whole: Operations on integers and booleans.
        floats: Operations on floats.
        functions: Elements of slow functions (see ``FUNCTIONS``) that are computed one by one.
        wide_functions: The part of ``functions`` that is in arrays with enough elements for vectors.
        polynomials: Elements of such functions that are computed in vectors, also by a lane's code.
        products: Multiplications of contractions.
        own_products: The part of them with a matrix of the lane's own, to which no other lane has access.
        wide: Other operations of any kind, on arrays with enough elements for vectors.
        reads: Number of reads by index.
        updates: Number of updates by index.
        found: Elements that reads by index give.
        saved: Elements that are pushed on stacks or popped.
        taped: Elements that are written to tapes or read.
        calls: Calls of LAPACK, if XLA computes factorizations.
        factored: Multiplications in these calls, or other work of the same cost.
        factored_in_lane: The same work, weighted by its cost in a lane's code.
        rows: The largest number of rows or columns of a matrix that is factored.
    """

    whole: float = 0
    floats: float = 0
    functions: float = 0
    wide_functions: float = 0
    polynomials: float = 0
    products: float = 0
    own_products: float = 0
    wide: float = 0
    reads: float = 0
    updates: float = 0
    found: float = 0
    saved: float = 0
    taped: float = 0
    calls: float = 0
    factored: float = 0
    factored_in_lane: float = 0
    rows: int = 0

    @classmethod
    def of(cls, program: Program) -> Work:
        """The work of a program with explicit stacks."""
        work, repeated = cls(), repeated_blocks(program)
        for block in program.graph:
            if block.name not in repeated:
                continue
            for op in program.primitives_in_loop(block):
                if (code := op.code.typed) is not None:
                    work._add(code.jaxpr.jaxpr)
            moved = [v for op in block.ops for v in op.moved if program.alloc(v) is Alloc.FULL]
            work.saved += sum(elements(program.var_defs[v]) for v in moved if not is_tape(v))
            work.taped += sum(elements(program.var_defs[v]) for v in moved if is_tape(v))
        largest = largest_of_lanes(program)
        if largest <= work.products <= MOST_PRODUCTS_WITH_OWN * largest:
            work.own_products = work.products
        return work

    @property
    def of_floats(self) -> float:
        """Operations of the kinds that are mostly on floats."""
        return self.floats + self.functions + self.polynomials + self.products + self.wide

    def _add(self, jaxpr: Jaxpr) -> None:
        for equation in equations_of(jaxpr):
            name, aval = equation.primitive.name, equation.outvars[0].aval
            count = math.prod(getattr(aval, "shape", ()))
            is_float = jnp.issubdtype(aval.dtype, jnp.inexact)
            if name in READS:
                self.reads += 1
                self.found += count
            elif name in UPDATES:
                self.updates += 1
            elif name == "dot_general":
                self.products += multiplications(equation)
            elif name in FACTORED:
                self._add_factored(equation)
            elif name in IN_VECTORS and count >= LEAST_ELEMENTS_IN_VECTORS and aval.dtype == np.float32:
                self.polynomials += count
            elif is_float and name in FUNCTIONS:
                self.functions += count
                self.wide_functions += count if count >= LEAST_ELEMENTS_IN_VECTORS else 0
            elif count >= LEAST_ELEMENTS_IN_VECTORS:
                self.wide += count if name not in FILLS else 0
            elif is_float:
                self.floats += count
            else:
                self.whole += count

    def _add_factored(self, equation: Equation) -> None:
        per_product, slower = FACTORED[equation.primitive.name]
        *batch, m, n = equation.outvars[0].aval.shape
        multiplications = per_product * math.prod(batch) * m * n * equation.invars[0].aval.shape[-1]
        self.calls += math.prod(batch)
        self.factored += multiplications
        self.factored_in_lane += slower * multiplications
        self.rows = max(self.rows, m, n)


def equations_of(jaxpr: Jaxpr) -> Iterator[Any]:
    """The equations of a jaxpr and its inner jaxprs, except equations that only run inner jaxprs."""
    for equation in jaxpr.eqns:
        inner = list(subjaxprs_of(equation))
        if inner and equation.primitive.name not in UPDATES:
            for one in inner:
                yield from equations_of(one)
        else:
            yield equation


def largest_of_lanes(program: Program) -> int:
    """The number of elements of the largest variable that is not shared."""
    own = [kind for v, kind in program.var_defs.items() if program.alloc(v) is not Alloc.SHARED]
    return max((elements(kind) for kind in own), default=0)
