"""Statistics of a run: the number of executions of each block, and of active lanes."""

from __future__ import annotations

from dataclasses import dataclass

from hlobatch.console import folded
from hlobatch.diagnostics import Location


@dataclass(frozen=True)
class BlockStats:
    """Counts for one block.

    Attributes:
        name: The block's name in the lowered program.
        location: Where it starts in the user's source.
        executions: How often the machine ran it.
        active: Lane executions that were of use: the number of lanes at the block, summed over executions.
        cost: Estimated floating point operations per lane and execution.
    """

    name: str
    location: Location
    executions: int
    active: int
    cost: float


@dataclass(frozen=True)
class RunStats:
    """Counts for one run.

    Attributes:
        blocks: One entry per block, in the order of the schedule.
        inputs: Size of the batch.
        lanes: Inputs in flight at once, all threads together.
        depth: Frames per stack at the end of the run; 0 if the program has no stack.
        resumptions: How often the run stopped to grow its stacks.
        threads: Parts of the batch that ran side by side. Counts are of all of them; where a batch does not divide
            evenly, its last input counts more than once.
        choice: Dispatch, schedule and layout, and the reasons for them, in words.
    """

    blocks: tuple[BlockStats, ...]
    inputs: int
    lanes: int
    depth: int
    resumptions: int
    threads: int = 1
    choice: str = ""

    def __repr__(self) -> str:
        return f"RunStats({str(self).splitlines()[0]})"

    def _repr_html_(self) -> str:
        return folded(repr(self), str(self))

    @property
    def _lanes(self) -> int:
        """Lanes in each execution of a block."""
        return self.lanes // self.threads

    @property
    def steps(self) -> int:
        """Number of block executions."""
        return sum(block.executions for block in self.blocks)

    @property
    def utilization(self) -> float:
        """Share of the work that was of use to some lane, blocks weighted by their cost."""
        done = sum(block.cost * block.executions for block in self.blocks) * self._lanes
        used = sum(block.cost * block.active for block in self.blocks)
        return used / done if done else 1.0

    def utilization_of(self, name: str) -> float:
        """Share of lanes at a block, over its executions."""
        block = self.block(name)
        return block.active / (block.executions * self._lanes) if block.executions else 1.0

    def block(self, name: str) -> BlockStats:
        """The counts of a block.

        Raises:
            KeyError: There is no such block.
        """
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(name)

    def __str__(self) -> str:
        lanes = f"{self.lanes} lanes" + (f" in {self.threads} threads" if self.threads > 1 else "")
        lines = [
            f"{self.steps} steps on {lanes} for {self.inputs} inputs, utilization {self.utilization:.1%}",
            *self.choice.splitlines(),
            f"{'block':32s} {'line':>5s} {'executions':>11s} {'lanes used':>11s} {'cost':>10s}",
        ]
        for block in self.blocks:
            used = self.utilization_of(block.name)
            line = block.location.line
            lines.append(f"{block.name:32s} {line:5d} {block.executions:11d} {used:11.1%} {block.cost:10.0f}")
        return "\n".join(lines)
