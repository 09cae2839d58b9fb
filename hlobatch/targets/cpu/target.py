"""The CPU of this machine as a target: kernels of one lane, whole runs in one XLA kernel, a thread for each core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from hlobatch import _jax
from hlobatch._jax import Compilation
from hlobatch.ir.program import Program
from hlobatch.kernels.processors import CPU
from hlobatch.kernels.vector_functions import has_library
from hlobatch.lowering.idiom import PORTABLE, Idiom
from hlobatch.targets.cpu import processor, whole_runs
from hlobatch.targets.cpu.idioms import OneKernel, SeveralKernels
from hlobatch.targets.lanes import LaneCosts
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import own, server
from hlobatch.targets.target import Run, Target


@final
@dataclass(frozen=True)
class Cpu(Target):
    """A processor.

    Attributes:
        stores_masked: Whether it is quick to store a vector in some lanes of it and not in others.
    """

    stores_masked: bool = True

    def makes_one_kernel(self, program: Program, lanes: int) -> bool:
        return whole_runs.fits_one_kernel(program, lanes, self.vector)

    def idiom(self, run: Run) -> Idiom:
        if run.one_kernel:
            is_behind = run.lanes >= whole_runs.LEAST_LANES_IN_VECTORS and not run.has_long_rows
            small_fusions = _jax.makes_small_fusions()
            return OneKernel(
                lane_axis=-1 if is_behind else 0,
                by_bits=is_behind and not self.stores_masked,
                vector=self.vector,
                scatters_in_loops=run.is_within or not small_fusions,
                draws_in_loops=not small_fusions,
                moves_code_out=run.is_within or not _jax.leaves_passes_out(),
            )
        if run.is_alone:
            return SeveralKernels(small=run.wants_small_kernels and run.lanes == 1)
        return PORTABLE

    def compiler_options(self, how: Compilation) -> dict[str, Any]:
        return _jax.compiler_options(how)


def cpu() -> Cpu:
    """The cores that this process may use now, with the vectors that they have."""
    return Cpu(
        "cpu",
        LoopCosts(own("cpu") or server()),
        CPU,
        LaneCosts() if has_library() else LaneCosts(gang_function=1),
        is_host=True,
        divides=True,
        threads=processor.cores(),
        vector=processor.vector(),
        stores_masked=processor.stores_masked(),
        narrows_long_blocks=True,
    )
