"""A program with explicit stacks -> a kernel of Pallas for TPUs, in which 1,024 lanes lie in tiles of 8 x 128 numbers.

A tile is what a vector register of a TPU holds. Each number of a lane is an element of a tile, each stack is an array
of tiles in the fast memory (VMEM), and a group of lanes runs until the last of them has ended. In a turn, all blocks
run in program order, with a mask of the lanes that are at the block. So the loop and all that it reads stay in the
core, where XLA's loop starts dozens of kernels in each turn.

This version runs programs on numbers and small arrays of ``bool``, ``int32``, ``uint32`` and ``float32``, with calls,
random keys, exceptions, ``max_steps`` and counted blocks. It refuses large arrays, arrays that all lanes read, other
dtypes, loops within a primitive, and effects on the host. A group does not take new inputs while its other lanes go on,
and no block is left out because no lane is at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np

from hlobatch._jax import called_by
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.ir.code import variables
from hlobatch.ir.evaluation import inlined
from hlobatch.ir.names import is_tape
from hlobatch.ir.ops import HALT, LogOp, PrimOp
from hlobatch.ir.physical import lane_function, physical
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import TensorType
from hlobatch.kernels.interface import Operands, Options
from hlobatch.kernels.module import KernelModule
from hlobatch.kernels.types import NoKernelError, layout, size
from hlobatch.targets.tpu.tile import check, held


@dataclass(frozen=True)
class TileModule(KernelModule):
    """The kernel of a program for TPUs.

    Attributes:
        tiles: The function that the kernel is made of.
    """

    tiles: Any = field(default=None, compare=False)


def module_of(program: Program, name: str, operands: Operands, options: Options) -> TileModule:
    """The kernel of a program.

    Raises:
        NoKernelError: It has something that this kernel has no code for.
    """
    tiles = Tiles(program, operands, options)
    areas = [tiles.stacks[tiles.calls.pointers[v]] for v in tiles.stacked for _ in tiles.leaves[v]]
    tapes = frozenset(number for pointer, number in tiles.stacks.items() if is_tape(pointer))
    near = (0,) * len(tiles.stacks)
    counted = len(program.graph.blocks) if options.counts else 0
    text = f"// {name}\n{program}\n// {options}, {operands}"
    bytes_ = tuple(4 * size(held(leaf.shape)) for v in tiles.stacked for leaf in tiles.leaves[v])
    return TileModule(text, bytes_, tuple(areas), tapes, near, 0, 0, counted, tiles=tiles)


def _held(leaf: TensorType) -> TensorType:
    """The type in which an array is kept."""
    return TensorType(leaf.dtype, held(leaf.shape))


class Tiles:
    """The function of a kernel.

    Attributes:
        program: The program.
        operands: The arrays that it takes.
        options: What it is made for.
        calls: What calls save in one frame.
        leaves: For each variable, the types of its numbers.
        numbers: The number of each block; the largest stands for the end.
        stacked: The variables that have a stack.
        stacks: For each stack pointer, by name, the number of its stack.
        codes: By the identity of a primitive, its jaxpr of one lane.
        captured: By identity, the types of the arrays that lanes read and the program's code captured.

    Raises:
        NoKernelError: The program has something that this kernel has no code for.
    """

    def __init__(self, program: Program, operands: Operands, options: Options) -> None:
        self.program, self.operands, self.options = program, operands, options
        self.calls = CallFrames(program)
        names = [*(block.name for block in program.graph), HALT]
        self.numbers = {name: np.int32(k) for k, name in enumerate(names)}
        self.leaves = {v: self._stored_types(v) for v in program.var_defs}
        for leaf in (leaf for leaves in self.leaves.values() for leaf in leaves):
            check(leaf.shape, leaf.dtype, "a variable of a lane")
        full = (v for v in program.var_defs if program.alloc(v) is Alloc.FULL and self.leaves[v])
        self.stacked = list(full)
        self.stacks = {name: k for k, name in enumerate(dict.fromkeys(self.calls.pointers[v] for v in self.stacked))}
        ops = [op for block in program.graph for op in program.ops_in_loop(block)]
        self.codes = {id(op): self._code(op) for op in ops if isinstance(op, PrimOp)}
        self.captured = self._captured()
        if (log := next((op for op in ops if isinstance(op, LogOp)), None)) is not None:
            raise NoKernelError(f"what lanes have Python do has no code: {log.text}")

    def types(self, v: str) -> list[TensorType]:
        return [physical(leaf) for leaf in self.program.var_defs[v].tensor_leaves]

    def _stored_types(self, v: str) -> list[TensorType]:
        interface = v in self.program.vars_in or v in self.program.vars_out
        return self.types(v) if interface or self.program.alloc(v) is not Alloc.NULL else []

    def _code(self, op: PrimOp) -> Any:
        """The jaxpr of a primitive, of one lane."""
        types = self.program.var_defs
        jaxpr = op.code.jaxpr_for([types[v] for v in op.vars_in], [types[v] for v in op.vars_out])
        if jaxpr is None:
            avals = [leaf.aval for v in op.vars_in for leaf in self.types(v)]
            jaxpr = jax.make_jaxpr(lane_function(op, types))(*avals)
        jaxpr = inlined(jaxpr, called_by)
        for variable in (*jaxpr.jaxpr.constvars, *variables(jaxpr.jaxpr)):
            dtype, shape = layout(variable.aval)
            check(shape, dtype, f"`{op.text}`")
        if not op.code.is_total:
            raise NoKernelError(f"`{op.text}` has a loop inside, and a kernel of tiles has those of the program alone")
        return jaxpr

    def _captured(self) -> dict[int, TensorType]:
        """By identity, the types of the captured arrays that lanes read; others are for what is computed before."""
        arrays = {id(array): array for code in self.codes.values() for array in code.consts}
        found = {captured: arrays[captured] for captured in self.operands.captured if captured in arrays}
        return {captured: TensorType(np.dtype(array.dtype), tuple(array.shape)) for captured, array in found.items()}

    def read(self, operands: Sequence[Any]) -> list[Any]:
        """Those of a kernel's operands that lanes read."""
        count = len(self.operands.captured)
        pairs = zip(self.operands.captured, operands[:count], strict=True)
        return [*(array for captured, array in pairs if captured in self.captured), *operands[count:]]

    @cached_property
    def given(self) -> list[bool]:
        """For each array that the kernel takes, whether all lanes share it."""
        shared = sum(len(self.leaves[v]) for v in self.operands.computed)
        return [*[True] * len(self.captured), *self.operands.shared, *[True] * shared]

    @cached_property
    def given_types(self) -> list[TensorType]:
        """Types of the arrays of a lane that a group is given."""
        names = (*self.program.vars_in, *self.operands.computed)
        return [*map(_held, self.captured.values()), *(_held(leaf) for v in names for leaf in self.leaves[v])]

    @cached_property
    def kept(self) -> list[str]:
        """The variables that keep their numbers from block to block, and are written."""
        written = {v for op in self.program.ops for v in (*op.defs, *op.moved)} - set(self.operands.computed)
        temporary = {v for v in self.leaves if self.program.alloc(v) is Alloc.TEMPORARY} - {*self.program.vars_out}
        return [v for v in self.leaves if v in written - temporary or v in self.program.vars_out]

    @cached_property
    def results(self) -> list[TensorType]:
        """Types of the arrays of a lane that a group writes: of results, of the status, and of counts."""
        found = [_held(leaf) for v in self.program.vars_out for leaf in self.leaves[v]]
        counts = len(self.program.graph.blocks) if self.options.counts else 0
        return [*found, *[TensorType(np.dtype(np.int32), ())] * (1 + counts)]
