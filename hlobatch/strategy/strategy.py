"""The strategy of a run: a value that says how one batch, or one thread's part of it, runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hlobatch.analysis.block_groups import Groups, alone, small_together
from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.ir.program import Program
from hlobatch.lowering.blocks.compaction import Widths
from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.turns.schedule import Schedule, earliest, least_idle, most_lanes
from hlobatch.strategy.policy import Policy
from hlobatch.strategy.widths import times
from hlobatch.targets.loop import LoopCosts


@dataclass(frozen=True)
class Strategy:
    """How a batch runs in XLA's loop over all lanes.

    Attributes:
        inputs: Size of the batch: an int, or a symbolic dimension.
        lanes: Inputs in flight; all inputs if there is no queue.
        has_queue: Whether lanes that are done take new inputs.
        policy: What holds of all batches of the program: dispatch form, schedule, when tests are made, and why.
    """

    inputs: Any
    lanes: Any
    has_queue: bool
    policy: Policy

    def explained(self, layout: Layout) -> str:
        """The decisions and their reasons, in words."""
        policy = self.policy
        queue = f"lanes take inputs from a queue: {self.lanes:,} in flight, {policy.why_so_many}"
        takes = queue if self.has_queue else "a lane for each input"
        return f"dispatch {policy.form!r}, schedule {policy.schedule!r}: {policy.reason}\n{takes}" + (
            f"\none thread: {policy.undivided}" if policy.undivided else ""
        )

    def groups(self, program: Program) -> Groups:
        """The groups of blocks that run in one step."""
        policy = self.policy
        return small_together(program) if policy.form == "chain" and policy.schedule == "cost" else alone(program)

    def order(self, layout: Layout, groups: Groups, widths: Widths, costs: LoopCosts) -> Schedule:
        """The schedule of the groups; ``widths`` says which blocks also have code for few lanes."""
        program = layout.program
        if layout.lanes == 1:
            return earliest(groups)
        if self.policy.schedule == "most_lanes":
            return most_lanes(groups)
        if self.policy.schedule != "cost" or _is_one_loop(program, groups, layout):
            return earliest(groups)
        blocks = program.graph.blocks
        lanes = layout.lanes if isinstance(layout.lanes, int) else costs.lanes.most
        taken = [times(layout.calls, group, lanes, costs.step_operations / lanes, widths) for group in groups]
        return least_idle(groups, taken, [any(blocks[i].sync for i in group) for group in groups])


def _is_one_loop(program: Program, groups: Groups, layout: Layout) -> bool:
    """Whether lanes repeat one group until they leave it, and go through every other group once."""
    if layout.queue:
        return False
    repeated = repeated_blocks(program)
    turning = [group for group in groups if any(program.graph.blocks[i].name in repeated for i in group)]
    return len(turning) == 1
