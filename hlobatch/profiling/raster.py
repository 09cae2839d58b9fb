"""A batch -> where each of its lanes was, turn by turn, by a run in XLA's loop that is left every few turns.

There are few samples, whatever the length of a run: where they become too many, every other one is forgotten, and from
then on they are twice as far from each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

from hlobatch.ir.fate import Fate
from hlobatch.lowering.state.layout import PC, Layout
from hlobatch.runtime.course import Course, Part
from hlobatch.runtime.division import Division, divide
from hlobatch.runtime.execute import outcome
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.stats import RunStats

MOST_SAMPLES: Final = 400
"""Samples that are kept of a run, at most."""
MOST_LANES: Final = 200
"""Lanes whose places are kept: of more, some that are as far from each other."""
IDLE: Final = -1
"""The block of a lane that has nothing to do."""


@dataclass(frozen=True)
class Sample:
    """Where lanes were after some turn.

    Attributes:
        turn: How many turns there had been.
        blocks: The block that each lane waits at, ``i32[lanes]``; ``IDLE`` for one that has nothing left to do.
        busy: Share of all lanes that have something left to do.
        depth: Frames on the fullest stack of a lane, at most and on average; zeros if there are no stacks.
    """

    turn: int
    blocks: np.ndarray[Any, Any]
    busy: float
    depth: tuple[int, float]


@dataclass(frozen=True)
class Raster:
    """Where the lanes of a run in XLA's loop were, and what the run did.

    Attributes:
        division: How the batch was divided.
        stats: What the run did.
        lanes: The numbers of the lanes whose places were kept.
        samples: In order.
        done: Inputs that came to their end; fewer than all if the time for looking was over.
        seconds: That it took, with looking.
    """

    division: Division
    stats: RunStats
    lanes: np.ndarray[Any, Any]
    samples: Sequence[Sample]
    done: int
    seconds: float

    @property
    def turns(self) -> int:
        """Turns of the loop."""
        return self.samples[-1].turn if self.samples else 0

    @property
    def is_whole(self) -> bool:
        """Whether all inputs came to their end."""
        return self.done == self.division.size

    @property
    def width(self) -> int:
        """Lanes that each execution of a block is for."""
        return self.stats.lanes // self.stats.threads


def raster_of(plan: Plan, inputs: Sequence[Any], seconds: float) -> Raster:
    """Run a batch and look where its lanes are.

    Args:
        plan: What runs.
        inputs: Arrays as they are stored.
        seconds: After which nobody looks any more, and what was not run is left.
    """
    division, began = divide(plan, inputs, stats=True, keeps_lanes=True), perf_counter()
    course = Course(division, division.operands(inputs))
    room = division.room
    for number in range(division.threads):
        state = division.begin(room, number, course.operands)
        output = division.output(room, number, course.operands, state)
        course.parts[number] = Part(room, output, division.stop(output) or Fate.RUNNING)
    looks = _Looks(course)
    while perf_counter() - began < seconds and looks.look():
        pass
    stats = outcome(course).stats
    assert stats is not None
    return Raster(division, stats, looks.lanes, looks.samples, course.done, perf_counter() - began)


class _Looks:
    """A run that is left every few turns, and what was seen."""

    def __init__(self, course: Course) -> None:
        self.course, self.every, self.turn = course, 1, 0
        width = sum(layout.lanes for layout, _ in self.states)
        self.lanes = np.unique(np.linspace(0, width - 1, min(width, MOST_LANES)).astype(int))
        self.samples: list[Sample] = [self._sample()]

    @property
    def states(self) -> list[tuple[Layout, dict[str, Any]]]:
        """The layout and the state of each part."""
        division, found = self.course.division, []
        for part in self.course.in_order:
            layout = division.layout(part.room)
            found.append((layout, dict(zip(layout.slots, division.state(part.room, part.output), strict=True))))
        return found

    def look(self) -> bool:
        """Run some turns and see where lanes are; whether there was anything left to run."""
        if self.course.is_over:
            return False
        self.course.go_on(self.every)
        self.turn += self.every
        self.samples.append(self._sample())
        if len(self.samples) > MOST_SAMPLES:
            self.samples, self.every = self.samples[::2], 2 * self.every
        return True

    def _sample(self) -> Sample:
        counters, deepest = [], []
        for layout, slots in self.states:
            counter = np.asarray(slots[PC])[: layout.lanes]
            is_parked = counter >= layout.parked
            counters.append(
                np.where(is_parked, counter - layout.parked, np.where(counter >= layout.leave, IDLE, counter))
            )
            pointers = [np.asarray(slots[slot])[: layout.lanes] for slot in layout.pointers]
            deepest.append(np.max(pointers, axis=0) if pointers else np.zeros(layout.lanes, int))
        blocks, depths = np.concatenate(counters), np.concatenate(deepest)
        busy = blocks != IDLE
        depth = (int(depths[busy].max()), float(depths[busy].mean())) if busy.any() else (0, 0.0)
        return Sample(self.turn, blocks[self.lanes].astype(np.int32), float(busy.mean()), depth)
