"""A TPU as a target: XLA's loop over all lanes; a kernel only where the user asks for it.

The kernel is right in Pallas's interpreter, and Mosaic and XLA compile it for a v5e that is not there
(``python -m benchmarks.ahead_of_time tpu fibonacci --dispatch kernel``), but it has never run on a TPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.ir.program import Program
from hlobatch.kernels.grid import Grid
from hlobatch.kernels.interface import Operands, Options
from hlobatch.kernels.module import KernelModule
from hlobatch.kernels.processors import MOSAIC, Processor
from hlobatch.kernels.types import NoKernelError
from hlobatch.targets.accelerators import accelerator
from hlobatch.targets.lanes import Verdict
from hlobatch.targets.target import Form, Target
from hlobatch.targets.tpu.group import kernel_of
from hlobatch.targets.tpu.tile import LANES, TILE, held, kept
from hlobatch.targets.tpu.tiles import TileModule, Tiles, module_of

TPU: Final = "tpu"
"""JAX's name of the platform."""
NAME: Final = "tiles"
"""The name of the kernel in what XLA compiles."""
MOST_STACK_BYTES: Final = 12 << 20
"""Bytes of fast memory (VMEM) that the stacks of a group of lanes may take, of the 16 MiB that XLA gives a kernel."""


@dataclass(frozen=True)
class Tpu(Target):
    """A TPU.

    Attributes:
        interpreted: Whether Pallas's interpreter runs kernels, which tests use.
    """

    interpreted: bool = False

    def judge(self, program: Program) -> Verdict:
        del program
        return Verdict(False, "code of its own has never run on a TPU, so that dispatch='kernel' has to ask for it")

    def form_for(self, program: Program) -> Form | None:
        del program
        return Form(MOSAIC, "it was never run on a TPU, only in an interpreter and through a TPU's compiler")

    def module(self, program: Program, name: str, operands: Operands, options: Options) -> KernelModule:
        return module_of(program, name, operands, options)

    def check(self, module: KernelModule) -> None:
        """Lower the kernel by Mosaic, which needs no TPU."""
        frames = tuple((0, 1) for _ in module.stack_of)
        tiles = _tiles(module)
        avals = [jax.ShapeDtypeStruct((*leaf.shape, *TILE), kept(leaf.dtype)) for leaf in tiles.given_types]
        run = jax.jit(_calling(tiles, Grid(LANES, LANES, frames, 0, 0), interpreted=False))
        try:
            run.trace(*avals).lower(lowering_platforms=(TPU,))
        except Exception as error:  # whatever Mosaic has no code for, the program can run without a kernel
            raise NoKernelError(f"Mosaic does not take it ({_said(error)})") from error

    def has_room(self, grid: Grid) -> bool:
        return LANES * grid.stack_bytes <= MOST_STACK_BYTES

    def lanes_for(self, inputs: int, lane_bytes: int, processor: Processor) -> int:
        del lane_bytes, processor
        return -(-inputs // LANES) * LANES

    def call(
        self,
        module: KernelModule,
        grid: Grid,
        operands: Sequence[Any],
        results: Sequence[Any],
        *,
        goes_on: bool = False,
    ) -> list[Any]:
        assert not goes_on, "no primitive is handed over"
        if not self.has_room(grid):
            raise NoKernelError(
                f"the stacks of {LANES:,} lanes take {LANES * grid.stack_bytes:,} bytes of fast memory, and may take "
                f"{MOST_STACK_BYTES:,}; a smaller max_stack_depth makes them smaller"
            )
        tiles, count = _tiles(module), len(results) - (3 if module.blocks else 2)
        given = [_tiled(x, grid, shared=shared) for x, shared in zip(tiles.read(operands), tiles.given, strict=True)]
        found = [_of_lanes(x) for x in _calling(tiles, grid, interpreted=self.interpreted)(*given)]
        pairs = zip(found, results[: count + 1], strict=False)
        stored = [x[: grid.inputs].astype(t.dtype) if t.size else jnp.zeros(t.shape, t.dtype) for x, t in pairs]
        scratch = jnp.zeros(results[count + 1].shape, results[count + 1].dtype)
        if not module.blocks:
            return [*stored, scratch]
        counts = jnp.stack(found[count + 1 :], axis=1).astype(np.uint32)
        return [*stored, scratch, jnp.stack([counts, jnp.zeros_like(counts)], axis=2)]


def tpu() -> Tpu:
    """The target of a TPU."""
    others = accelerator(TPU)
    return Tpu(TPU, others.loop, MOSAIC, holds_stacks=others.holds_stacks)


def _tiles(module: KernelModule) -> Tiles:
    assert isinstance(module, TileModule)
    tiles = module.tiles
    assert isinstance(tiles, Tiles)
    return tiles


def _tiled(array: Any, grid: Grid, *, shared: bool) -> Any:
    """An array of numbers as tiles of all lanes; the last input's number stands for lanes without an input."""
    array = jnp.asarray(array)
    array = array.astype(kept(array.dtype))
    first = array.shape[: 0 if shared else 1]
    if not array.size:
        array = jnp.zeros((*first, *held(array.shape[len(first) :])), array.dtype)
    if shared:
        return jnp.broadcast_to(array[..., None, None], (*array.shape, *TILE))
    missing = [(0, grid.lanes - grid.inputs), *[(0, 0)] * (array.ndim - 1)]
    padded = jnp.moveaxis(jnp.pad(array, missing, mode="edge"), 0, -1)
    return padded.reshape(*array.shape[1:], -1, TILE[1])


def _of_lanes(tiles: Any) -> Any:
    """An array of tiles as an array of all lanes."""
    return jnp.moveaxis(tiles.reshape(*tiles.shape[:-2], -1), -1, 0)


def _calling(tiles: Tiles, grid: Grid, *, interpreted: bool) -> Callable[..., Any]:
    """The call of the kernel, as a function of tiles to tiles."""
    from jax.experimental import pallas as pl  # noqa: PLC0415  # it takes a second, and nothing else needs it
    from jax.experimental.pallas import tpu as pltpu  # noqa: PLC0415

    def of_group(leaf: Any, *, shared: bool = False) -> Any:
        """The part of an array of tiles that a group has."""
        before = (0,) * len(leaf.shape)
        return pl.BlockSpec((*leaf.shape, *TILE), lambda k: (*before, 0 if shared else k, 0))

    rows = grid.lanes // TILE[1]
    areas = enumerate(leaf for v in tiles.stacked for leaf in tiles.leaves[v])
    stacks = [pltpu.VMEM((grid.frames[k][1], *held(leaf.shape), *TILE), jnp.int32) for k, leaf in areas]
    call: Callable[..., Any] = pl.pallas_call(
        kernel_of(tiles, grid),
        grid=(grid.lanes // LANES,),
        in_specs=[of_group(leaf, shared=s) for leaf, s in zip(tiles.given_types, tiles.given, strict=True)],
        out_specs=[of_group(leaf) for leaf in tiles.results],
        out_shape=[jax.ShapeDtypeStruct((*t.shape, rows, TILE[1]), kept(t.dtype)) for t in tiles.results],
        scratch_shapes=stacks,
        interpret=interpreted,
        name=NAME,
    )
    return call


def _said(error: Exception) -> str:
    """The first line of an error that says something."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:200]
