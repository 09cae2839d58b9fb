"""A GPU for tests, whose threads a CPU runs one after the other, by the text that the code of a GPU is made of."""

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from unittest import mock

import jax
import numpy as np

from hlobatch.kernels import jit
from hlobatch.kernels.grid import Grid
from hlobatch.kernels.processors import NVPTX, Entry, Processor
from hlobatch.targets.gpu.target import GPU, Gpu
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import h100

IN_A_LOOP = replace(NVPTX, name="threads", platform="cpu", triple="", math_prefix="", entry=Entry.LOOP)
"""The processor of a GPU, but for names."""
FEW_AT_HAND = replace(IN_A_LOOP, near_bytes=48, own_bytes=64)
"""One that has few frames and arrays at hand."""


@dataclass(frozen=True)
class Threads(Gpu):
    """Has few threads, so that each takes several inputs."""

    most_threads: int = 4

    def threads_for(self, inputs: int, thread_bytes: int) -> int:
        del thread_bytes
        return max(1, min(inputs, self.most_threads))

    def check(self, text: str) -> None:
        jit.check_there()

    def call(self, text: str, grid: Grid, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        code = _compiled(text + grid.constants)

        def run(*given: Any) -> list[Any]:
            arrays = [np.ascontiguousarray(x) for x in given]
            arrays += [np.full((*t.shape,), 0x5A, np.uint8).astype(t.dtype) for t in results]  # what lay in its memory
            table = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
            code.run(ctypes.addressof(table), 0)
            return arrays[len(given) :]

        return list(jax.pure_callback(run, results, *operands))


_compiled = cache(jit.compiled)


@contextlib.contextmanager
def on_threads(processor: Processor = IN_A_LOOP, **attributes: Any) -> Iterator[Threads]:
    """Within it, JAX seems to have a GPU."""
    target = Threads(GPU, LoopCosts(h100()), processor, **attributes)
    with (
        mock.patch("jax.default_backend", return_value=GPU),
        mock.patch("hlobatch.targets.registry.gpu", return_value=target),
        mock.patch("hlobatch.runtime.primitive.lowering_platforms", return_value=("cuda",)),
        mock.patch("hlobatch.runtime.sums.lowering_platforms", return_value=("cuda",)),
        mock.patch("hlobatch.runtime.primitive.is_for_one_cpu", return_value=False),
    ):
        yield target
