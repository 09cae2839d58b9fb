"""Splits a block's instructions into straight-line segments, each one compiled as a function on one lane's arrays.

A segment is a run of primitives between other operations. Variables that are written and read only inside a segment
never leave it. Compiled segments are cached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlobatch.interpreters.backends import Backend, BatchFunction, Mask
from hlobatch.ir.effects import Emission
from hlobatch.ir.ops import LogOp, Op, PrimOp
from hlobatch.ir.physical import lane_function
from hlobatch.ir.program import Block, Program
from hlobatch.ir.types import grouped
from hlobatch.typing import ArrayLike

Environment = dict[str, list[Any]]
"""The arrays ``[lanes, *event]`` of each variable."""
BlockCodeCache = dict[Any, tuple[Block, BatchFunction]]


@dataclass(frozen=True)
class Segment:
    """Consecutive primitives of a block.

    Attributes:
        key: The block's identity and the position of the first primitive.
        block: The block, kept alive so that its identity is not reused.
        ops: The primitives.
    """

    key: tuple[int, int]
    block: Block
    ops: tuple[PrimOp, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Variables read before the segment writes them."""
        written: set[str] = set()
        needed: dict[str, None] = {}
        for op in self.ops:
            needed.update(dict.fromkeys(v for v in op.uses if v not in written))
            written.update(op.defs)
        return tuple(needed)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(v for op in self.ops for v in op.defs))


def parts(block: Block) -> Iterator[Segment | Op]:
    """A block's instructions, with consecutive primitives gathered into segments."""
    run: list[PrimOp] = []
    for index, op in enumerate(block.instructions):
        if isinstance(op, PrimOp):
            run.append(op)
            continue
        if run:
            yield Segment((id(block), index - len(run)), block, tuple(run))
            run = []
        yield op
    if run:
        yield Segment((id(block), len(block.instructions) - len(run)), block, tuple(run))


def run_segment(
    program: Program, segment: Segment, env: Environment, mask: Mask, backend: Backend, cache: BlockCodeCache
) -> dict[str, list[Any]]:
    """The new arrays of the segment's outputs; meaningful only in the lanes of ``mask``."""
    key = (type(backend), *segment.key)
    if key not in cache:
        cache[key] = (segment.block, backend.wrap_straightline_callable(_lane_code(program, segment)))
    arrays = [array for name in segment.inputs for array in env[name]]
    return _by_name(program, segment.outputs, cache[key][1](arrays, mask))


def _by_name(program: Program, names: Sequence[str], arrays: Iterable[Any]) -> dict[str, list[Any]]:
    """The arrays of each variable, from all arrays in order."""
    return dict(zip(names, grouped(arrays, [program.var_defs[name] for name in names]), strict=True))


def _lane_code(program: Program, segment: Segment) -> Any:
    functions = [(op, lane_function(op, program.var_defs)) for op in segment.ops]

    def run(*arrays: ArrayLike) -> list[Any]:
        env = _by_name(program, segment.inputs, arrays)
        for op, function in functions:
            results = function(*(array for name in op.vars_in for array in env[name]))
            env.update(_by_name(program, op.vars_out, results))
        return [array for name in segment.outputs for array in env[name]]

    return run


def masked_update(env: Environment, values: Environment, mask: Mask, backend: Backend) -> None:
    """Overwrite variables in the lanes of ``mask``."""
    for name, arrays in values.items():
        old = env.get(name)
        env[name] = arrays if old is None else [backend.where(mask, a, o) for a, o in zip(arrays, old, strict=True)]


def emit(program: Program, op: LogOp, env: Environment, mask: Mask, emission: Emission) -> None:
    """Carry out an effect for the lanes of ``mask``."""
    words = [np.asarray(array) for name in op.vars_in for array in env[name]]
    for lane in np.flatnonzero(mask).tolist():
        emission.perform(program.effects[op.number], lane, words[0][lane] if words else ())
