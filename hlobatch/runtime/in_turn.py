"""Runs a kernel and XLA's operations in turn: lanes leave the kernel for errands, which XLA computes for all of them.

::

    while a lane waits:
        answers = [errand(what lanes told) for each errand]     XLA's operations, on arrays of all lanes
        results, told, status, memory = kernel(answers, …)      until each lane waits for an errand, or has ended

What the kernel writes it finds again when it is started anew: the loop carries these arrays, and XLA gives the kernel
the same memory for them. Each input has a lane of its own, which keeps its memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.ir.fate import FATES, Fate
from hlobatch.ir.physical import array_count, lane_function
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import grouped
from hlobatch.kernels.errands import FIRST, Errand, arrays_of, errands_of, read_in_place
from hlobatch.kernels.grid import FOR_EVER, Grid
from hlobatch.kernels.module import KernelModule
from hlobatch.lowering.blocks.primitives import named_by, over_lanes
from hlobatch.runtime.kernel_shape import Shape
from hlobatch.targets.target import Target

TURNS_OF_A_THREAD: Final = 1 << 10
"""Turns of a thread that count as much as a turn of the loop around the kernel. Chosen by judgement (2026-11)."""

Arrays = Sequence[Any]


@dataclass(frozen=True, eq=False)
class InTurn:
    """A run of a kernel with errands, as a function for JAX to trace.

    Attributes:
        shape: The shape of the kernel.
        target: The device.
        module: The kernel.
        grid: The numbers with which it is started.
    """

    shape: Shape
    target: Target
    module: KernelModule
    grid: Grid

    def __call__(self, given: Arrays, results: Arrays) -> list[Any]:
        """The arrays that the kernel has written when no lane waits any more, without those that errands were told.

        Args:
            given: Captured arrays, inputs and computed shared values.
            results: Shapes and dtypes of the arrays that the kernel writes: results, status, memory, and counts.
        """
        end = len(self.shape.result_types)
        told = [leaf for errand in self._errands for leaf in self._of_all(errand.told)]
        types = [*results[:end], *told, *results[end:]]
        status = end + len(told)
        first = [jnp.zeros(t.shape, t.dtype) for t in types]
        first[status] = jnp.full(types[status].shape, FIRST, types[status].dtype)

        def goes_on(state: tuple[Any, list[Any]]) -> Any:
            turn, arrays = state
            some = jnp.any(_waits(arrays[status]))
            return some if self.grid.turns == FOR_EVER else some & (turn < self._most_turns)

        def run(state: tuple[Any, list[Any]]) -> tuple[Any, list[Any]]:
            turn, arrays = state
            answers = self._answers(given, arrays[end:status], arrays[status])
            operands = [*given, *answers, *arrays]
            return turn + 1, self.target.call(self.module, self.grid, operands, types, goes_on=True)

        _, arrays = jax.lax.while_loop(goes_on, run, (jnp.int32(0), first))
        said = jnp.where(_waits(arrays[status]), np.int32(Fate.RUNNING), arrays[status])
        return [*arrays[:end], said, *arrays[status + 1 :]]

    @property
    def _most_turns(self) -> int:
        return max(1, min(self.grid.turns // TURNS_OF_A_THREAD, np.iinfo(np.int32).max))

    @cached_property
    def _errands(self) -> list[Errand]:
        return errands_of(self.shape.program, self.shape.errands)

    def _of_all(self, variables: Sequence[str]) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the arrays of variables, for all lanes."""
        leaves = arrays_of(self.shape.program, variables)
        return [jax.ShapeDtypeStruct((self.grid.inputs, *leaf.shape), leaf.dtype) for leaf in leaves]

    def _answers(self, given: Arrays, told: Arrays, said: Any) -> list[Any]:
        """The results of all errands, for all lanes; those of lanes that do not wait for an errand are never read."""
        types, supply = self.shape.program.var_defs, iter(told)
        known, found = self._known(given), list[Any]()
        for errand in self._errands:
            own = {v: [next(supply) for _ in range(array_count(types[v]))] for v in errand.told}
            blank = [jnp.zeros(t.shape, t.dtype) for t in self._of_all(errand.wanted)]
            if len(self._errands) == 1:
                found += self._answer(errand, known | own, given)
            else:
                run = lambda errand=errand, own=own: self._answer(errand, known | own, given)  # noqa: E731
                found += jax.lax.cond(jnp.any(said == errand.fate), run, lambda blank=blank: blank)
        return found

    def _answer(self, errand: Errand, values: Mapping[str, Arrays], given: Arrays) -> list[Any]:
        """The results of an errand that lanes keep."""
        program, op = self.shape.program, errand.op
        function = lane_function(self.shape.captures.substituted(op, given), program.var_defs)
        arrays = [array for v in op.vars_in for array in values.get(v, ())]
        varies = [program.alloc(v) is not Alloc.SHARED for v in op.vars_in for _ in values.get(v, ())]
        with named_by(op):
            results = over_lanes(function, varies, self.grid.inputs, arrays)
        own = dict(zip(op.vars_out, grouped(results, [program.var_defs[v] for v in op.vars_out]), strict=True))
        return [array for v in errand.wanted for array in own[v]]

    def _known(self, given: Arrays) -> dict[str, Arrays]:
        """The values that the kernel does not change: those that all lanes share, and arguments read in place."""
        program, types = self.shape.program, self.shape.program.var_defs
        names = [*program.vars_in, *self.shape.computed]
        arrays = grouped(given[len(self.shape.captures.arrays) :], [types[v] for v in names])
        fixed = {*self.shape.computed, *read_in_place(program)}
        return {v: own for v, own in zip(names, arrays, strict=True) if v in fixed}


def _waits(said: Any) -> Any:
    """Whether each lane waits for an errand, or was not started yet, by its status."""
    return (said == FIRST) | ((said & np.int32(FATES) == np.int32(Fate.RUNNING)) & (said > np.int32(Fate.RUNNING)))
