"""The layout of a run's state, and the idiom of its code, from the program, the user's options and the strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hlobatch.analysis import constants
from hlobatch.analysis.cost import largest_array
from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.analysis.updates import taken_as_a_whole
from hlobatch.ir.physical import array_bytes, physical
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.lowering.idiom import Idiom
from hlobatch.lowering.state.layout import Layout
from hlobatch.strategy.options import Options
from hlobatch.strategy.strategy import Strategy
from hlobatch.targets.target import Run, Target

LEAST_BYTES_DIVIDED: Final = 256 * 1024
"""Bytes from which XLA divides a kernel that only copies them among threads."""

LEAST_NUMBERS_OF_A_LONG_ROW: Final = 64
"""Numbers in a row from which the row fills vectors by itself, so that the axis of lanes need not be the last."""


@dataclass(frozen=True, eq=False)
class States:
    """The states of a program's runs.

    Attributes:
        program: The program that runs, with explicit stacks.
        options: The user's options.
        summed: Results that are sums over lanes; a run with any is not compiled to one kernel.
    """

    program: Program
    options: Options
    summed: frozenset[str] = frozenset()

    @cached_property
    def has_long_rows(self) -> bool:
        """Whether most pushed elements are in long rows, which are better copied whole than gathered from lanes."""
        pushed = (v for v, alloc in self.program.var_alloc.items() if alloc is Alloc.FULL)
        shapes = [physical(t).shape for v in pushed for t in self.program.var_defs[v].tensor_leaves]
        in_long_rows = sum(math.prod(shape) for shape in shapes if shape and shape[-1] >= LEAST_NUMBERS_OF_A_LONG_ROW)
        return 2 * in_long_rows > sum(map(math.prod, shapes))

    @cached_property
    def largest_array(self) -> int:
        """Bytes per lane of the largest array that is computed in a block which a lane may run repeatedly."""
        repeated = repeated_blocks(self.program)
        return max((largest_array(block) for block in self.program.graph if block.name in repeated), default=0)

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables: arguments that no lane assigns and of which lanes read only elements; read in place."""
        return constants.tables(self.program) if self.options.optimizations.tables else frozenset()

    @cached_property
    def constants(self) -> frozenset[str]:
        """The arguments that no lane assigns, which may be read in place."""
        return constants.constants(self.program) if self.options.optimizations.tables else frozenset()

    @cached_property
    def touched_in_part(self) -> frozenset[str]:
        """Variables of which only single elements are read or changed in blocks that a lane may run repeatedly."""
        repeated = repeated_blocks(self.program)
        blocks = (block for block in self.program.graph if block.name in repeated)
        return frozenset(self.program.var_defs.keys() - taken_as_a_whole(blocks))

    def idiom(self, strategy: Strategy, target: Target, *, is_alone: bool = False, is_within: bool = False) -> Idiom:
        """The best idiom for the code of a run.

        Args:
            strategy: The strategy of the run.
            target: The machine that it runs on.
            is_alone: Whether the run has one device of this machine to itself, and is compiled now.
            is_within: Whether the run is part of a computation that the user compiles.
        """
        run = Run(
            lanes=strategy.lanes,
            one_kernel=strategy.one_kernel,
            is_alone=is_alone,
            is_within=is_within,
            has_long_rows=self.has_long_rows,
            wants_small_kernels=self.options.optimizations.one_kernel,
        )
        return target.idiom(run)

    def layout(self, strategy: Strategy, idiom: Idiom, depth: int, **how: bool) -> Layout:
        """The layout of a run, ``depth`` frames per stack; ``how`` are attributes of ``Layout`` on how it ends."""
        return Layout(
            program=self.program,
            inputs=strategy.inputs,
            lanes=strategy.lanes,
            depth=depth,
            queue=strategy.has_queue,
            max_steps=self.options.max_steps,
            idiom=idiom,
            tables=self.tables,
            constants=self.constants,
            tape_ratio=self.options.tape_ratio,
            summed=self.summed,
            **how,
        )

    def is_small(self, layout: Layout) -> bool:
        """Whether every array that is computed repeatedly is too small for XLA to divide among threads."""
        if not isinstance(layout.inputs, int):
            return False
        touched_in_part = layout.buffers.union(layout.handed_in, *map(layout.tops, self.touched_in_part))
        slots = layout.slots | {top: aval for v in layout.in_place for top, aval in layout.variable(v).items()}
        sizes = (array_bytes(aval) for slot, aval in slots.items() if slot not in touched_in_part)
        return bool(max(layout.lanes * self.largest_array, *sizes) < LEAST_BYTES_DIVIDED)

    def fits_one_kernel(self, strategy: Strategy, target: Target) -> bool:
        """Whether a run can be compiled to one kernel, and that is better."""
        if not self.options.optimizations.one_kernel or self.summed:
            return False
        layout = self.layout(strategy, self.idiom(strategy, target), self.options.max_stack_depth)
        return self.is_small(layout) and target.makes_one_kernel(self.program, strategy.lanes)
