"""A typed program -> its forms on the way to the machine (optimized, with stacks, ordered), each made from another.

::

    specialized ─► with_calls ─► in_order ─► lowered ─► machine        XLA's loop over all lanes
              └──────────────────────────────────────► of_a_lane       code of a lane's own
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import jax

from hlobatch.analysis.machine_flow import headers
from hlobatch.ir.program import Program
from hlobatch.strategy.options import Options
from hlobatch.strategy.plan_run import Policies
from hlobatch.targets.registry import target_of
from hlobatch.transforms.pipeline import (
    allocated_program,
    computed_once,
    lowered_program,
    machine_program,
    ordered_program,
)


@dataclass(frozen=True, eq=False)
class Programs:
    """The forms of a program.

    Attributes:
        specialized: Typed, before optimization.
        shared: Inputs that all lanes share.
        options: What the user asked for.
    """

    specialized: Program
    shared: frozenset[str]
    options: Options

    @cached_property
    def with_calls(self) -> Program:
        """The optimized program, with calls."""
        return allocated_program(self._computed_once, self.options.optimizations)

    @cached_property
    def _computed_once(self) -> Program:
        """The typed program with calls after passes that compute things once, before those on branches and loops."""
        return computed_once(self.specialized, self.shared, self.options.optimizations)

    @cached_property
    def in_order(self) -> Program:
        """The program with explicit stacks, its blocks in program order."""
        return lowered_program(self.with_calls, self.options.optimizations)

    @cached_property
    def policies(self) -> Policies:
        """How it runs, however large a batch is, on the platform that JAX runs on."""
        return Policies.of(self.in_order, self.options, target_of(jax.default_backend()))

    @cached_property
    def lowered(self) -> Program:
        """The program with explicit stacks, its blocks in the order in which they are run."""
        if self.policies.several.schedule == "earliest":
            return self.in_order  # that order is the schedule
        return ordered_program(self.in_order)

    @cached_property
    def machine(self) -> Program:
        """The program that XLA's loop runs; what it gives back are the arrays of its results."""
        return machine_program(self.lowered, self.options.optimizations)

    @cached_property
    def of_a_gang(self) -> Program:
        """The program with explicit stacks for lanes that run at once: they compute both sides of a cheap branch."""
        return machine_program(self.in_order, replace(self.options.optimizations, ask_ahead=False))

    @cached_property
    def of_a_lane(self) -> Program:
        """The program with explicit stacks as a lane runs it by itself.

        No block does what its successors would: such a lane loses nothing by a branch, and runs one side of it. But a
        loop that is one block without branches is a loop over arrays, and remains that.
        """
        converted, wanted = self.of_a_gang, replace(self.options.optimizations, ask_ahead=False, if_conversion=False)
        if not self.options.optimizations.if_conversion:
            return converted
        branching = lowered_program(allocated_program(self._computed_once, wanted), wanted)
        return converted if len(headers(converted)) < len(headers(branching)) else machine_program(branching, wanted)
