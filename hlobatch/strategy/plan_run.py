"""Decides the strategy of a run, given the program's policies, the batch and the target.

The policy (``policy.py``) says how runs of any size go. What is left to decide for a batch is whether lanes are so few
that running every block takes less time than to ask which block is next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hlobatch.ir.program import Program
from hlobatch.strategy.options import Options
from hlobatch.strategy.policy import Case, Policy, policy_for, said_of
from hlobatch.strategy.properties import Properties
from hlobatch.strategy.strategy import Strategy
from hlobatch.targets.target import Target


@dataclass(frozen=True, eq=False)
class Policies:
    """How a program runs on a target.

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
    def policy(self) -> Policy:
        """How batches of any size run."""
        return policy_for(self.properties, self.options, self.target)


def plan_run(policies: Policies, inputs: Any) -> Strategy:
    """The strategy of a run.

    Args:
        policies: How the program runs, however large a batch is.
        inputs: Size of the batch: an int, or a symbolic dimension.
    """
    policy = policies.policy
    lanes = policy.lanes_for(inputs) if isinstance(inputs, int) else policies.options.lanes
    has_queue = lanes is not None and lanes < inputs if isinstance(inputs, int) else lanes is not None
    in_flight = lanes if has_queue else inputs
    return Strategy(inputs, in_flight, has_queue, _swept(policies, in_flight) or policy)


def _swept(policies: Policies, lanes: Any) -> Policy | None:
    """The policy with all blocks run in each turn, if a test takes longer than all blocks do for so few lanes."""
    policy, properties, options, costs = policies.policy, policies.properties, policies.options, policies.target.loop
    is_open = options.in_loop.dispatch == options.schedule == "auto" and policy.form != "sweep"
    most = int(costs.test_operations / max(properties.work, 1.0))
    if not (is_open and most and properties.repeats and not properties.has_inner_loops):
        return None
    if not isinstance(lanes, int) or lanes > most:
        return None
    reason = said_of(properties, f"up to {most:,} lanes run all blocks sooner than one test")
    rounds = Case(properties, policies.target).rounds
    share = costs.cheap_lanes_per_done
    return replace(policy, form="sweep", schedule="sweep", rounds=rounds, share=share, reason=reason)
