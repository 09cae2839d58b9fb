"""The idioms for XLA's CPU backend: a run as one kernel, in which loops cost next to nothing, or as several kernels.

With many lanes in one kernel, arrays are ``[*event, lanes]``, so that every innermost loop is over lanes, and LLVM
vectorizes it. Where most of what is pushed are long rows, arrays are ``[lanes, *event]`` even so: rows are copied
whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hlobatch._jax import ClosedJaxpr
from hlobatch.lowering.idiom import Ahead, Arrays, Called, Function, Idiom, Slots
from hlobatch.lowering.module.passes import ModulePass
from hlobatch.lowering.module.splice import Avals, Splicer
from hlobatch.targets.cpu.batching import over_lanes
from hlobatch.targets.cpu.one_kernel import in_a_kernel
from hlobatch.targets.cpu.passes import of_one_kernel, of_several_kernels
from hlobatch.targets.cpu.stack_loops import pop_in_loops, push_in_loops
from hlobatch.targets.cpu.turns_at_once import turns_at_once

LEAST_LANES_LOOPED: Final = 56
"""Lanes below which LLVM makes straight code of a loop over them before it looks for what to do several at a time."""


@final
@dataclass(frozen=True)
class OneKernel(Idiom):
    """A run that is one kernel.

    Where XLA is asked to leave out the passes that one kernel is better without, it moves no code out of loops, and
    neither calls a library nor makes trees of reductions.

    Attributes:
        vector: Numbers of 32 bits that the processor does at a time.
        scatters_in_loops: Whether scatters are loops of ours.
    """

    is_one_kernel: bool = True
    finds_next_once: bool = True
    vector: int = 8
    scatters_in_loops: bool = False

    def width(self, lanes: Any) -> Any:
        """The number of lanes, rounded up to whole vectors where the innermost loops are over lanes."""
        return -(-max(LEAST_LANES_LOOPED, lanes) // self.vector) * self.vector if self.lane_axis else lanes

    def over_lanes(
        self, function: Function, code: ClosedJaxpr | None, varies: Sequence[bool], lanes: Any, arrays: Arrays
    ) -> list[Any]:
        if not self.lane_axis:
            return super().over_lanes(function, code, varies, lanes, arrays)
        return over_lanes(function if code is None else code, varies, lanes)(*arrays)

    def push(self, stacks: Arrays, row: Any, tops: Arrays, mask: Any) -> list[Any]:
        return push_in_loops(stacks, row, tops, mask, axis=self.lane_axis, by_bits=self.by_bits)

    def pop(self, stacks: Arrays, row: Any, tops: Arrays, mask: Any) -> list[Any]:
        return pop_in_loops(stacks, row, tops, mask, axis=self.lane_axis, by_bits=self.by_bits)

    def several_turns(self, run: Function, given: Slots, writes: Sequence[str], counter: str) -> Function | None:
        return turns_at_once(run, given, writes, counter)

    def ahead(self, splicer: Splicer, function: Function, avals: Avals, name: str) -> Called:
        """Another kernel, which XLA compiles beside that of the run."""
        return in_a_kernel(splicer, function, avals, name)

    def passes(self, module: Any, splicer: Splicer, ahead: Ahead | None) -> dict[str, ModulePass]:
        how = {"scatters_in_loops": self.scatters_in_loops, "passes_left_out": not self.moves_code_out}
        return of_one_kernel(module, splicer, ahead, **how)


@final
@dataclass(frozen=True)
class SeveralKernels(Idiom):
    """A run of several kernels that has one processor to itself.

    Attributes:
        small: Whether what works on little is in kernels of its own.
    """

    finds_next_once: bool = True
    small: bool = False

    def outlined(self, splicer: Splicer, function: Function, avals: Avals, name: str) -> Called:
        return in_a_kernel(splicer, function, avals, name)

    def passes(self, module: Any, splicer: Splicer, ahead: Ahead | None) -> dict[str, ModulePass]:
        return of_several_kernels(module, splicer, small=self.small)
