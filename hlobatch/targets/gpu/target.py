"""A GPU as a target: thousands of lanes in flight in XLA's loop, or threads that run code of their own.

A GPU without a profile gets that of the H100 that was measured. The host waits for the device at each test of a loop, 8
to 25 microseconds, in which the device computes about 1e9 operations. So every block runs in each turn, up to 1e9
operations for all lanes and blocks together. Measured in 2026-11 on an H100 with jax 0.11 (``docs/design.md``): up to
7e8 operations a turn, ten workloads took a half to a tenth of the time that tests took; NUTS on a Gaussian, with 96,000
operations per lane, took a fifth with 1,000 lanes, as long with 10,000 and 1.7 times as long with 65,536.

Code of its own, a thread to a lane, was measured on an H200 with jax 0.11: where a lane's values are numbers, stacks
and small arrays, it took a 5th to an 89th of the time of XLA's loop (Collatz 89, Mandelbrot 81, quicksort 18, stack
machine 16, Takeuchi 12, Fibonacci and continuation 10, queens 6, k-d tree 5); where threads of a warp meet, funnel took
a 3.7th and eight schools two thirds. Where a lane's values are long vectors, it took 4 to 60 times as long (quadrature
4, stiff 5, tree network 18, NUTS of 100 dimensions 37, neural ODE 59). For those, other threads run lanes
(``forms.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np

from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Program
from hlobatch.kernels.grid import KERNEL, Grid
from hlobatch.kernels.module import KernelModule
from hlobatch.kernels.processors import NVPTX, Processor
from hlobatch.targets.gpu import code
from hlobatch.targets.gpu.errands import is_errand
from hlobatch.targets.gpu.forms import Forms, form_of
from hlobatch.targets.lanes import Verdict
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import h100, own
from hlobatch.targets.target import Form, Target
from hlobatch.targets.work import largest_of_lanes

GPU: Final = "gpu"
"""JAX's name of the platform of all GPUs."""
NVIDIA: Final = "cuda"
"""JAX's name of the platform of NVIDIA's GPUs."""
NAMES: Final = (GPU, NVIDIA, "rocm")
"""All names of platforms of GPUs."""
CALL: Final = "__gpu$xla.gpu.ptx"
"""The name of XLA's custom call of a kernel in PTX."""
FEW_INPUTS: Final = 1 << 14
"""Inputs up to which a block has 32 threads, so that they are on more cores; blocks of more inputs have 64. With blocks
of 32, continuation took 0.87 of the time for a thousand inputs, and 0.95 for ten thousand, and others as long; for a
million, Fibonacci took 1.2 times as long, and Mandelbrot 1.5 times."""
THREADS_OF_A_CORE: Final = 2048
"""Largest number of threads in flight on a multiprocessor."""
BLOCKS_OF_A_CORE: Final = 32
"""Largest number of blocks of threads in flight on a multiprocessor."""
MOST_SCRATCH_BYTES: Final = 4 << 30
"""Bytes of memory that the lanes of a grid may take; if they need more, fewer lanes run at once."""


@dataclass(frozen=True)
class Gpu(Target):
    """A GPU.

    Attributes:
        cores: Multiprocessors.
        chooses_own_code: Whether code of its own is chosen for a program where it is expected to win, if the user
            leaves it open. Off, since this version has not run on a card: ``make bench-gpu`` is what turns it on, if
            the column of ``dispatch="kernel"`` is ahead of XLA's loop there as it was in the measurement above.
        own_elements: Largest number of elements of a variable for which a thread runs a lane by itself.
        forms: The constants of the choice of a form.
    """

    holds_stacks: bool = True
    cores: int = 132
    chooses_own_code: bool = False
    own_elements: int = 256
    forms: Forms = Forms()

    def judge(self, program: Program) -> Verdict:
        """Choose code of lanes where a thread to each is expected to be faster than XLA's loop."""
        if self.processor is None:
            return Verdict(False, "code of its own is made for NVIDIA's GPUs")
        if not self.chooses_own_code:
            return Verdict(False, "code of its own is chosen on GPUs once `make bench-gpu` has measured it there")
        if not repeated_blocks(program):
            return Verdict(False, "no lane goes back to a block")
        form = self.form_for(program)
        if form is not None and form.processor.threads_per_lane > 1:
            return Verdict(False, f"{form.reason}, and that has not run on a card")
        if (most := largest_of_lanes(program)) > self.own_elements:
            return Verdict(False, f"a lane has arrays of {most:,} elements, which a thread works on one by one")
        times = self.forms.times_of_loop(program)
        if times < 1:
            return Verdict(False, f"a thread to each lane is expected to take {1 / times:.1f} times as long")
        return Verdict(True, "a thread to each lane waits for no test of a loop by the host")

    def form_for(self, program: Program) -> Form | None:
        return None if self.processor is None else form_of(program, self.forms)

    # How a grid is started

    def block(self, inputs: int, each: int = 1) -> int:
        """Threads of a block.

        If several threads run a lane, a block is one lane, which has its shared memory for itself.
        """
        return each if each > 1 else 32 if inputs <= FEW_INPUTS else 64

    def lanes_for(self, inputs: int, lane_bytes: int, processor: Processor) -> int:
        """A lane for each input, in whole blocks, as far as the card has threads in flight and memory for them."""
        each = processor.threads_per_lane
        block = self.block(inputs, each) // each
        most = THREADS_OF_A_CORE if each == 1 else BLOCKS_OF_A_CORE
        most = min(self.cores * most, MOST_SCRATCH_BYTES // max(lane_bytes, 1))
        return max(block, min(-(-inputs // block) * block, most // block * block))

    def check(self, module: KernelModule) -> None:
        code.needed_library(module.text)

    def hands_over(self, op: PrimOp) -> bool:
        return is_errand(op)

    def call(
        self,
        module: KernelModule,
        grid: Grid,
        operands: Sequence[Any],
        results: Sequence[Any],
        *,
        goes_on: bool = False,
    ) -> list[Any]:
        block = self.block(grid.inputs, grid.threads_per_lane)
        sizes = {f"{what}_{axis}": 1 for what in ("grid", "block") for axis in "xyz"}
        sizes |= {"grid_x": -(-grid.threads // block), "block_x": block, "shared_mem_bytes": 0}
        first = len(operands) - len(results)
        same = {first + k: k for k in range(len(results))} if goes_on else None
        call = jax.ffi.ffi_call(CALL, results, input_output_aliases=same)
        places = tuple(np.int32(len(operands) + k) for k in range(len(results)))
        numbers = {name: np.int32(size) for name, size in sizes.items()}
        made = code.ptx(module.text + grid.constants)
        return list(call(*operands, name=KERNEL, kernel_type="ptx", kernel_data=made, output_indices=places, **numbers))


def gpu(platform: str) -> Gpu:
    """The target of a platform of GPUs, with its profile."""
    processor: Processor | None = NVPTX if platform == NVIDIA or (platform == GPU and not _is_amds()) else None
    return Gpu(GPU, LoopCosts(own(GPU) or h100()), processor, cores=code.cores_here(Gpu.cores))


def _is_amds() -> bool:
    """Whether JAX's GPUs are AMD's."""
    return "rocm" in jax.local_devices()[0].client.platform_version.lower()
