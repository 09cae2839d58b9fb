"""A program, the user's options and a strategy -> the layout of the run's state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hlobatch.analysis import constants
from hlobatch.ir.program import Program
from hlobatch.lowering.state.layout import Layout
from hlobatch.strategy.options import Options
from hlobatch.strategy.strategy import Strategy


@dataclass(frozen=True, eq=False)
class States:
    """The states of a program's runs.

    Attributes:
        program: With explicit stacks, as it runs.
        options: What the user asked for.
        summed: Results that all lanes have together.
    """

    program: Program
    options: Options
    summed: frozenset[str] = frozenset()

    @cached_property
    def tables(self) -> frozenset[str]:
        """The tables: arguments that no lane assigns and of which lanes read only elements; read in place."""
        return constants.tables(self.program) if self.options.optimizations.tables else frozenset()

    @cached_property
    def constants(self) -> frozenset[str]:
        """The arguments that no lane assigns, which may be read in place."""
        return constants.constants(self.program) if self.options.optimizations.tables else frozenset()

    def layout(self, strategy: Strategy, depth: int, **how: bool) -> Layout:
        """The state of a run with ``depth`` frames per stack; ``how`` are attributes of ``Layout`` on how it ends."""
        return Layout(
            program=self.program,
            inputs=strategy.inputs,
            lanes=strategy.lanes,
            depth=depth,
            queue=strategy.has_queue,
            max_steps=self.options.max_steps,
            tables=self.tables,
            constants=self.constants,
            tape_ratio=self.options.tape_ratio,
            summed=self.summed,
            **how,
        )
