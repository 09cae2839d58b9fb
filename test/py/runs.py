"""A plan -> the strategy, the state and the module of one of its runs, in one kernel or in several, as a test asks."""

from dataclasses import replace
from typing import Any
from unittest import mock

from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.to_stablehlo import Request
from hlobatch.runtime.plan import Plan
from hlobatch.strategy.plan_run import plan_run
from hlobatch.strategy.state import States
from hlobatch.strategy.strategy import Strategy
from hlobatch.targets.cpu.idioms import OneKernel
from hlobatch.targets.registry import target_of
from hlobatch.targets.target import Run


def strategy_of(plan: Plan, inputs: Any, *, one_kernel: bool = False) -> Strategy:
    """How a run goes that is one kernel, or that is not."""
    with mock.patch.object(States, "fits_one_kernel", return_value=one_kernel):
        return plan_run(plan.programs.policies, plan.states, inputs, is_alone=True)


def as_one_kernel(plan: Plan, layout: Layout, **processor: Any) -> Layout:
    """The same lanes in one kernel, on a processor like this one but for some attributes; XLA runs all its passes."""
    run = Run(layout.lanes, one_kernel=True, has_long_rows=plan.states.has_long_rows)
    idiom = replace(target_of("cpu"), **processor).idiom(run)
    assert isinstance(idiom, OneKernel)
    return replace(layout, idiom=replace(idiom, scatters_in_loops=False, draws_in_loops=False, moves_code_out=True))


def layout_of(plan: Plan, inputs: Any, depth: int | None = None, *, one_kernel: bool = False, **how: bool) -> Layout:
    """The state of such a run."""
    layout = plan.layout(strategy_of(plan, inputs, one_kernel=one_kernel), depth or plan.depth, **how)
    return as_one_kernel(plan, layout) if one_kernel else layout


def chosen_layout(plan: Plan, inputs: Any, depth: int | None = None) -> Layout:
    """The state of a run on this machine, in one kernel where that is chosen."""
    strategy = plan.strategy(inputs, is_alone=True)
    return plan.layout(strategy, depth or plan.depth, plan.idiom(strategy))


def request_of(plan: Plan, layout: Layout, **how: Any) -> Request:
    """What to build for a state, in one kernel or in several as that says."""
    return plan.request(strategy_of(plan, layout.inputs, one_kernel=layout.idiom.is_one_kernel), layout, **how)
