"""The strategy: how one batch, or one thread's part of it, runs; a value that everything after the decision reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hlobatch.analysis.block_groups import Groups, alone, small_together
from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.ir.program import Program
from hlobatch.lowering.blocks.compaction import Widths
from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.turns.schedule import Schedule, earliest, least_idle, most_lanes
from hlobatch.strategy.widths import times
from hlobatch.targets.loop import LoopCosts


@dataclass(frozen=True)
class Strategy:
    """How a batch runs in XLA's loop over all lanes.

    Attributes:
        inputs: Size of the batch: an int, or a symbolic dimension.
        lanes: Inputs in flight; all of them where there is no queue.
        has_queue: Whether lanes that are done take new inputs.
        form: Dispatch form, one of ``lowering.turns.dispatch.FORMS``.
        schedule: ``"earliest"``, ``"most_lanes"``, ``"cost"`` or ``"sweep"``.
        rounds: Turns between two tests of whether any lane has something left to do.
        share: One in so many lanes has to be done before those that are take new inputs.
        one_kernel: Whether XLA compiles the whole run to one kernel.
        reason: Why form and schedule, in words.
        why_so_many: Why as many lanes are in flight where there is a queue, in words.
        undivided: Why the batch stays in one thread, in words, or nothing.
    """

    inputs: Any
    lanes: Any
    has_queue: bool
    form: str
    schedule: str
    rounds: int
    share: int
    one_kernel: bool
    reason: str
    why_so_many: str = ""
    undivided: str = ""

    def explained(self, layout: Layout) -> str:
        """What was chosen, and why, in words."""
        kernels = "a single kernel" if self.one_kernel else "several kernels"
        axis = "last" if layout.lane_axis else "first"
        queue = "taking inputs from a queue" + (", all at once" if self.share == 1 else "")
        queue += f": {self.lanes:,} in flight, {self.why_so_many}"
        takes = queue if self.has_queue else "one for each input"
        return (
            f"dispatch {self.form!r}, schedule {self.schedule!r}: {self.reason}\n"
            f"{kernels}, lanes are the {axis} axis of arrays, {takes}"
            + (f"\none thread: {self.undivided}" if self.undivided else "")
        )

    def groups(self, program: Program) -> Groups:
        """The blocks that run in one step."""
        return small_together(program) if self.form == "chain" and self.schedule == "cost" else alone(program)

    def order(self, layout: Layout, groups: Groups, widths: Widths, costs: LoopCosts) -> Schedule:
        """What finds the next of the groups, given where few lanes take less time than all."""
        program = layout.program
        if layout.lanes == 1:
            return earliest(groups)
        if self.schedule == "most_lanes":
            return most_lanes(groups)
        if self.schedule != "cost" or _is_one_loop(program, groups, layout):
            return earliest(groups)
        blocks = program.graph.blocks
        lanes = layout.lanes if isinstance(layout.lanes, int) else costs.lanes.most
        step = costs.kernel_step_operations if self.one_kernel else costs.step_operations
        taken = [times(layout.calls, group, lanes, step / lanes, widths) for group in groups]
        return least_idle(groups, taken, [any(blocks[i].sync for i in group) for group in groups])


def _is_one_loop(program: Program, groups: Groups, layout: Layout) -> bool:
    """Whether all lanes go through one group again and again until they leave it, and through any other once."""
    if layout.queue:
        return False
    repeated = repeated_blocks(program)
    turning = [group for group in groups if any(program.graph.blocks[i].name in repeated for i in group)]
    return len(turning) == 1
