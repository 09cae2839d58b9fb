"""A GPU for tests: a CPU runs its threads one after the other, from the LLVM IR that a GPU's code is made of."""

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from unittest import mock

import jax
import numpy as np
import warps

from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Program
from hlobatch.kernels import jit
from hlobatch.kernels.grid import Grid
from hlobatch.kernels.module import KernelModule
from hlobatch.kernels.processors import NVPTX, Entry, Processor
from hlobatch.targets.gpu.target import GPU, Gpu
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import h100
from hlobatch.targets.target import Form

IN_A_LOOP = replace(NVPTX, name="threads", platform="cpu", triple="", math_prefix="", entry=Entry.LOOP)
"""The processor of a GPU, with the names of a CPU."""
WARPS = replace(IN_A_LOOP, side_by_side=False, threads_per_lane=32, near_bytes=0)
"""Such a processor with a warp to each lane."""
WARPS_WITH_LITTLE = replace(WARPS, own_bytes=256)
"""The same with little fast memory."""
MEETING = replace(IN_A_LOOP, lanes_that_meet=32)
"""Such a processor on which 32 lanes meet before dear blocks."""
CROWDED = replace(MEETING, most_lanes_first=True)
"""The same, with the block at which most lanes wait first."""
IN_TURN = replace(IN_A_LOOP, in_turn=True, near_bytes=0)
"""Such a processor whose lanes have XLA compute some primitives."""
WARPS_IN_TURN = replace(WARPS, in_turn=True)
"""The same with a warp to each lane."""
FEW_AT_HAND = replace(IN_A_LOOP, near_bytes=48, own_bytes=64)
"""Such a processor with few frames and arrays near a thread."""


@dataclass(frozen=True)
class Threads(Gpu):
    """A GPU with few threads, so that each takes several inputs.

    The threads of a lane take turns from barrier to barrier.
    """

    most_lanes: int = 4

    def lanes_for(self, inputs: int, lane_bytes: int, processor: Processor) -> int:
        del lane_bytes
        together = processor.lanes_that_meet
        return max(together, min(inputs, self.most_lanes) // together * together)

    def form_for(self, program: Program) -> Form | None:
        return None if self.processor is None else Form(self.processor, "as a test has it")

    def check(self, module: KernelModule) -> None:
        jit.check_there()

    def call(
        self,
        module: KernelModule,
        grid: Grid,
        operands: Sequence[Any],
        results: Sequence[Any],
        *,
        goes_on: bool = False,
    ) -> list[Any]:
        compiled = warps.compiled if self.processor.threads_that_meet > 1 else _compiled
        code = compiled(module.text + grid.constants)

        def run(*given: Any) -> list[Any]:
            arrays = [np.ascontiguousarray(x) for x in given]
            if goes_on:
                arrays += [np.array(x) for x in given[-len(results) :]]
            else:  # arbitrary contents
                arrays += [np.full((*t.shape,), 0x5A, np.uint8).astype(t.dtype) for t in results]
            table = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
            failed = code.run(ctypes.addressof(table), warps.stacks())
            assert not failed, "threads of a lane have parted"
            return arrays[len(given) :]

        return list(jax.pure_callback(run, results, *operands))


@contextlib.contextmanager
def handing_everything_over() -> Iterator[None]:
    """A context in which XLA computes all primitives that it may, in turn with kernels that are made for that."""

    def is_errand(op: PrimOp) -> bool:
        return op.code.typed is not None and op.code.is_total and not op.code.has_host_do

    with mock.patch("hlobatch.targets.gpu.target.is_errand", is_errand):
        yield


_compiled = cache(jit.compiled)


@contextlib.contextmanager
def on_threads(processor: Processor = IN_A_LOOP, **attributes: Any) -> Iterator[Threads]:
    """A context in which JAX seems to have a GPU."""
    target = Threads(GPU, LoopCosts(h100()), processor, **attributes)
    with (
        mock.patch("jax.default_backend", return_value=GPU),
        mock.patch("hlobatch.targets.registry.gpu", return_value=target),
        mock.patch("hlobatch.runtime.primitive.lowering_platforms", return_value=("cuda",)),
        mock.patch("hlobatch.runtime.sums.lowering_platforms", return_value=("cuda",)),
        mock.patch("hlobatch.runtime.primitive.is_for_one_cpu", return_value=False),
    ):
        yield target
