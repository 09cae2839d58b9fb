"""A plan -> the layout of a run's state, and the request for its module."""

from typing import Any

from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.to_stablehlo import Request
from hlobatch.runtime.plan import Plan


def layout_of(plan: Plan, inputs: Any, depth: int | None = None, **how: bool) -> Layout:
    """The layout of the state of a run."""
    return plan.layout(plan.strategy(inputs), depth or plan.depth, **how)


def request_of(plan: Plan, layout: Layout, **how: Any) -> Request:
    """The request that builds the module for a layout."""
    return plan.request(plan.strategy(layout.inputs), layout, **how)
