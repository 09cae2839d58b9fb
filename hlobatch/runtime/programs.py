"""The forms of a typed program on its way to execution: optimized, with stacks, ordered; each is made on first use.

::

    specialized ─► with_calls ─► in_program_order ─► lowered ─► machine   XLA's loop over all lanes
              └──────────────────────────────────────────────► of_a_lane  kernels
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
        specialized: The typed program, before optimization.
        shared: Inputs that all lanes share.
        options: The user's options.
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
        """The typed program after the passes that compute things once, before those on branches and loops."""
        return computed_once(self.specialized, self.shared, self.options.optimizations)

    @cached_property
    def in_program_order(self) -> Program:
        """The program with explicit stacks, its blocks in program order."""
        return lowered_program(self.with_calls, self.options.optimizations)

    @cached_property
    def policies(self) -> Policies:
        """The program's policies on the platform that JAX runs on."""
        return Policies.of(self.in_program_order, self.options, target_of(jax.default_backend()))

    @cached_property
    def lowered(self) -> Program:
        """The program with explicit stacks, its blocks in the order in which they are run."""
        if self.policies.policy.schedule == "earliest":
            return self.in_program_order  # this schedule needs the order of the program
        return ordered_program(self.in_program_order)

    @cached_property
    def machine(self) -> Program:
        """The program that XLA's loop runs; its outputs are the arrays of its results."""
        return machine_program(self.lowered, self.options.optimizations)

    @cached_property
    def of_a_gang(self) -> Program:
        """The program with explicit stacks for gangs, whose lanes compute both sides of a cheap branch."""
        return machine_program(self.in_program_order, replace(self.options.optimizations, ask_ahead=False))

    @cached_property
    def of_a_lane(self) -> Program:
        """The program with explicit stacks for kernels that run one lane at a time.

        No tests are copied into other blocks and branches are not converted: a single lane loses nothing by a branch,
        and runs one side of it. But a loop that conversion makes a single block without branches is a loop over arrays,
        and stays so.
        """
        converted, wanted = self.of_a_gang, replace(self.options.optimizations, ask_ahead=False, if_conversion=False)
        if not self.options.optimizations.if_conversion:
            return converted
        branching = lowered_program(allocated_program(self._computed_once, wanted), wanted)
        return converted if len(headers(converted)) < len(headers(branching)) else machine_program(branching, wanted)
