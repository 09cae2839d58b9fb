"""A plan -> the strategy, the state and the module of one of its runs, in one kernel or in several, as a test asks."""

from typing import Any
from unittest import mock

from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.to_stablehlo import Request
from hlobatch.runtime.plan import Plan
from hlobatch.strategy.plan_run import plan_run
from hlobatch.strategy.state import States
from hlobatch.strategy.strategy import Strategy


def strategy_of(plan: Plan, inputs: Any, *, one_kernel: bool = False) -> Strategy:
    """How a run goes that is one kernel, or that is not."""
    with mock.patch.object(States, "fits_one_kernel", return_value=one_kernel):
        return plan_run(plan.policies, plan.states, inputs, is_alone=True)


def layout_of(plan: Plan, inputs: Any, depth: int | None = None, *, one_kernel: bool = False, **how: bool) -> Layout:
    """The state of such a run."""
    return plan.layout(strategy_of(plan, inputs, one_kernel=one_kernel), depth or plan.depth, **how)


def chosen_layout(plan: Plan, inputs: Any, depth: int | None = None) -> Layout:
    """The state of a run on this machine, in one kernel where that is chosen."""
    return plan.layout(plan.strategy(inputs, is_alone=True), depth or plan.depth)


def request_of(plan: Plan, layout: Layout, **how: Any) -> Request:
    """What to build for a state, in one kernel or in several as that says."""
    return plan.request(strategy_of(plan, layout.inputs, one_kernel=layout.one_kernel), layout, **how)
