"""Decides the strategy of a run, given the program's policies, the batch and the target.

There is one policy (``policy.py``) for runs in a single kernel and one for runs in several. What remains to decide for
a batch is which of the two applies, that is, whether XLA can make one kernel of the run; and whether there are so few
lanes that running every block takes less time than a test of which block is next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hlobatch.ir.program import Program
from hlobatch.strategy.options import Options
from hlobatch.strategy.policy import Case, Policy, policy_for, said_of
from hlobatch.strategy.properties import Properties
from hlobatch.strategy.state import States
from hlobatch.strategy.strategy import Strategy
from hlobatch.targets.target import Target


@dataclass(frozen=True, eq=False)
class Policies:
    """The policies of a program on a target, for runs in one kernel and in several.

    Attributes:
        properties: The properties of the program.
        options: The user's options.
        target: The machine that it runs on.
    """

    properties: Properties
    options: Options
    target: Target

    @classmethod
    def of(cls, program: Program, options: Options, target: Target) -> Policies:
        """The policies for a program with explicit stacks, its blocks in program order."""
        return cls(Properties(program, options.optimizations.tables), options, target)

    @cached_property
    def several(self) -> Policy:
        """The policy for a run in several kernels; its threads and its order of blocks are used for all runs."""
        return policy_for(self.properties, self.options, self.target)

    @cached_property
    def one(self) -> Policy:
        """The policy for a run in one kernel."""
        return policy_for(self.properties, self.options, self.target, one_kernel=True)


def plan_run(policies: Policies, states: States, inputs: Any, *, is_alone: bool) -> Strategy:
    """The strategy of a run.

    Args:
        policies: The program's policies.
        states: The states of its runs.
        inputs: Size of the batch: an int, or a symbolic dimension.
        is_alone: Whether the run has one device of this machine to itself and runs now; otherwise JAX may divide
            it.
    """
    if is_alone and isinstance(inputs, int):
        strategy = _strategy(policies, policies.one, inputs, one_kernel=True)
        if states.fits_one_kernel(strategy, policies.target):
            return strategy
    return _strategy(policies, policies.several, inputs, one_kernel=False)


def _strategy(policies: Policies, policy: Policy, inputs: Any, *, one_kernel: bool) -> Strategy:
    lanes = policy.lanes_for(inputs) if isinstance(inputs, int) else policies.options.lanes
    has_queue = lanes is not None and lanes < inputs if isinstance(inputs, int) else lanes is not None
    in_flight = lanes if has_queue else inputs
    policy = _swept(policies, policy, in_flight, one_kernel=one_kernel) or policy
    return Strategy(inputs, in_flight, has_queue, one_kernel, policy)


def _swept(policies: Policies, policy: Policy, lanes: Any, *, one_kernel: bool) -> Policy | None:
    """The policy with all blocks run in each turn, if that takes so few lanes less time than a test; else None."""
    properties, options, costs = policies.properties, policies.options, policies.target.loop
    is_open = options.in_loop.dispatch == options.schedule == "auto" and policy.form != "sweep"
    most = int(costs.test_operations / max(properties.work, 1.0))
    if not (is_open and most and properties.repeats and not properties.has_inner_loops):
        return None
    if not isinstance(lanes, int) or lanes > most:
        return None
    reason = said_of(properties, f"up to {most:,} lanes run all blocks sooner than one test")
    rounds = Case(properties, policies.target, one_kernel).rounds
    share = costs.cheap_lanes_per_done
    return replace(policy, form="sweep", schedule="sweep", rounds=rounds, share=share, reason=reason)
