"""The primitives of one block, as one function of arrays, and the function that takes cotangents back through them.

::

    %t = prim "exp(y)" (%y)                 the way back:  %y:bar0 = prim (%y, %e:bar0, %y:bar0)
    %e = prim "t - x" (%t, %x)      ==>                    which is jax.vjp of both primitives together
    %y = prim "y - e" (%y, %e)

What is in the middle, such as ``t``, is computed again on the way back. The arrays that this takes are those that the
block reads before it writes them, less those that turn out not to be needed (of ``x + 1``, nothing is).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax

from hlobatch._jax import ClosedJaxpr
from hlobatch.gradients.activity import dependences
from hlobatch.gradients.arrays import Array, arrays_of, on_arrays, tensor_of
from hlobatch.gradients.errors import explaining
from hlobatch.ir.evaluation import evaluated, inlined, needed_for, variables_among
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Program


@dataclass(frozen=True)
class Straight:
    """The primitives of a block, in order.

    Attributes:
        program: That the block is of.
        ops: The primitives.
    """

    program: Program
    ops: tuple[PrimOp, ...]

    @cached_property
    def written(self) -> frozenset[str]:
        """The variables that they write."""
        return frozenset(v for op in self.ops for v in op.vars_out)

    @cached_property
    def reads(self) -> tuple[Array, ...]:
        """The arrays that they read as they were before the block, in order."""
        found: dict[Array, None] = {}
        written: set[str] = set()
        for op in self.ops:
            before = [v for v in op.vars_in if v not in written]
            found |= dict.fromkeys(array for v in before for array in arrays_of(v, self.program.var_defs))
            written.update(op.vars_out)
        return tuple(found)

    def on_which(self, outputs: Collection[Array], active: Collection[Array]) -> list[Array]:
        """The active arrays among ``reads`` on which some of those may depend that are written."""
        wanted = set(outputs)
        for op in reversed(self.ops):
            edges = [(a, b) for a, b in dependences(self.program, op) if b in wanted]
            wanted = {array for array in wanted if array.variable not in op.vars_out}
            wanted |= {before for before, _ in edges}
        return [array for array in self.reads if array in wanted and array in active]

    def run(self, values: Mapping[Array, Any]) -> dict[Array, Any]:
        """All arrays after the block, given those before it.

        Raises:
            DerivativeError: In a derivative of it: a primitive has none.
        """
        types, known = self.program.var_defs, dict(values)
        for op in self.ops:
            given = [known[array] for v in op.vars_in for array in arrays_of(v, types)]
            with explaining(op):
                results = on_arrays(op, types)(*given)
            known |= dict(zip((a for v in op.vars_out for a in arrays_of(v, types)), results, strict=True))
        return known


@dataclass(frozen=True)
class Pullback:
    """What takes cotangents back through a block.

    Attributes:
        straight: The block's primitives.
        outputs: The arrays after the block whose cotangents it takes, in order.
        inputs: The arrays before it whose cotangents it gives, in order.
    """

    straight: Straight
    outputs: tuple[Array, ...]
    inputs: tuple[Array, ...]

    @cached_property
    def _jaxpr(self) -> ClosedJaxpr:
        """From all that the block reads, and cotangents, to cotangents."""
        types, reads = self.straight.program.var_defs, self.straight.reads
        avals = [_aval(array, types) for array in (*reads, *self.outputs)]

        def back(*arrays: Any) -> list[Any]:
            known = dict(zip(reads, arrays, strict=False))

            def forward(*varied: Any) -> list[Any]:
                after = self.straight.run({**known, **dict(zip(self.inputs, varied, strict=True))})
                return [after[array] for array in self.outputs]

            given = [known[array] for array in self.inputs]
            with explaining(self.straight.ops[-1]):
                _, pull = jax.vjp(forward, *given)
                return list(pull(list(arrays[len(reads) :])))

        return inlined(jax.make_jaxpr(back)(*avals))

    @cached_property
    def _equations(self) -> list[Any]:
        jaxpr: Any = self._jaxpr.jaxpr
        return needed_for(jaxpr.outvars, jaxpr.eqns)

    @cached_property
    def needs(self) -> tuple[Array, ...]:
        """The arrays before the block that it takes beside cotangents, in order."""
        jaxpr: Any = self._jaxpr.jaxpr
        atoms: Iterable[Any] = (*jaxpr.outvars, *(v for e in self._equations for v in e.invars))
        read = set(variables_among(atoms))
        return tuple(a for a, v in zip(self.straight.reads, jaxpr.invars, strict=False) if v in read)

    def __call__(self, values: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of ``inputs``, given the values of ``needs`` and the cotangents of ``outputs``."""
        jaxpr: Any = self._jaxpr.jaxpr
        places = {array: place for place, array in enumerate(self.straight.reads)}
        variables = [jaxpr.invars[places[array]] for array in self.needs]
        variables += jaxpr.invars[len(self.straight.reads) :]
        known = dict(zip(variables, (*values, *cotangents), strict=True))
        known |= dict(zip(jaxpr.constvars, self._jaxpr.consts, strict=True))
        return evaluated(self._equations, known, jaxpr.outvars)


def _aval(array: Array, types: Any) -> jax.ShapeDtypeStruct:
    tensor = tensor_of(array, types)
    return jax.ShapeDtypeStruct(tensor.shape, tensor.dtype)
