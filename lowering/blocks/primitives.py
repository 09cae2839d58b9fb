"""A primitive that was traced for one lane, and arrays of all lanes -> its results on all lanes (batching)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch._jax import ClosedJaxpr, jaxpr_as_fun
from hlobatch.diagnostics import UNKNOWN
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import lane_function
from hlobatch.lowering.blocks.tables import looking_up
from hlobatch.lowering.blocks.updates import updating
from hlobatch.lowering.state.layout import Layout
from hlobatch.typing import ArrayLike, Arrays


@dataclass(frozen=True)
class Call:
    """A primitive and the arrays it is given.

    Attributes:
        op: The primitive.
        layout: The state.
        lanes: How many lanes the arrays have.
        arrays: The arrays of ``op.vars_in`` in order; those of shared variables have no lane axis.
        varies: For each array, whether lanes differ in it.
        tables: Positions of the arrays that have rows for all inputs, in which lanes look values up.
        rows: The index of each lane's input, ``i32[lanes]``; None where there is no table.
        part: Code on one lane's arrays that is run in place of the primitive's; None to run the primitive's own.
    """

    op: PrimOp
    layout: Layout
    lanes: ArrayLike
    arrays: list[Any]
    varies: list[bool]
    tables: tuple[int, ...] = ()
    rows: Any = None
    part: ClosedJaxpr | None = None

    @cached_property
    def function(self) -> Callable[..., Sequence[Any]]:
        """The primitive on one lane's arrays, followed by the index of the lane's input if there are tables."""
        if self.tables:
            assert self.code is not None
            return looking_up(self.code, self.tables)
        if self.part is not None:
            run: Callable[..., Sequence[Any]] = jaxpr_as_fun(self.part)
            return run
        return lane_function(self.op, self.layout.program.var_defs)

    @property
    def _given(self) -> tuple[list[Any], list[bool]]:
        """The arguments of ``function`` and, for each, whether lanes differ in it."""
        if not self.tables:
            return self.arrays, self.varies
        return [*self.arrays, self.rows], [*self.varies, True]

    def results(self) -> list[Any]:
        """The arrays of ``op.vars_out`` in order."""
        arrays, varies = self._given
        with named_by(self.op):
            return over_lanes(self.function, varies, self.lanes, arrays)

    @property
    def code(self) -> ClosedJaxpr | None:
        """The primitive's jaxpr, if it is on one lane's arrays and can be batched; else None."""
        if self.part is not None:
            return self.part
        types = self.layout.program.var_defs
        return self.op.code.jaxpr_for([types[v] for v in self.op.vars_in], [types[v] for v in self.op.vars_out])

    def updating(self, mask: ArrayLike, targets: Mapping[int, int]) -> tuple[list[Any], frozenset[int]]:
        """The results, and the positions of those that are updates in place: outside of the mask they are as before.

        Args:
            mask: The active lanes.
            targets: See ``blocks.updates.updating``.
        """
        arrays, varies = self._given
        shapes = [self.layout.event(a) if v else a.shape for a, v in zip(arrays, varies, strict=True)]
        avals = [jax.ShapeDtypeStruct(shape, a.dtype) for shape, a in zip(shapes, arrays, strict=True)]
        found = updating(self.function, avals, varies, targets)
        if found is None:
            return self.results(), frozenset()
        with named_by(self.op):
            return over_lanes(found, [True, *varies], self.lanes, [mask, *arrays]), found.results


def over_lanes(
    function: Callable[..., Sequence[Any]], varies: Sequence[bool], lanes: ArrayLike, arrays: Arrays
) -> list[Any]:
    """What a function of one lane's arrays gives on arrays of all lanes, which differ in some of them."""

    def of_lane(*given: Any) -> Sequence[Any]:  # JAX prints a callable object that it maps, and loses Ctrl-C meanwhile
        return function(*given)

    if any(varies):
        return list(jax.vmap(of_lane, tuple(0 if differs else None for differs in varies))(*arrays))
    return [jnp.broadcast_to(r, (lanes, *jnp.shape(r))) for r in function(*arrays)]


def named_by(op: PrimOp) -> AbstractContextManager[Any]:
    """A context in which traced operations are named by the user's function and line, which XLA's profiles show."""
    place = op.location
    return nullcontext() if place is UNKNOWN else jax.named_scope(f"{place.function or 'line'}:{place.line}")


def needs_real_inputs(op: PrimOp) -> bool:
    """Whether a primitive's time depends on its inputs, so that no lane's junk may reach it.

    An inner ``while`` runs until its slowest lane is done; a lane that only passes by must not be that lane.
    """
    return "while" in op.code.primitives
