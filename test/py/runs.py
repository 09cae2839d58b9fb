"""A plan -> the state and the module of one of its runs, as a test asks."""

from typing import Any

from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.to_stablehlo import Request
from hlobatch.runtime.plan import Plan


def layout_of(plan: Plan, inputs: Any, depth: int | None = None, **how: bool) -> Layout:
    """The state of a run."""
    return plan.layout(plan.strategy(inputs), depth or plan.depth, **how)


def request_of(plan: Plan, layout: Layout, **how: Any) -> Request:
    """What to build for a state."""
    return plan.request(plan.strategy(layout.inputs), layout, **how)
