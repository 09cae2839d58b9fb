"""Samples at which block each lane of a batch is, by a run in XLA's loop that is paused every few turns.

The number of samples is limited, whatever the length of a run: when there are too many, every other one is dropped, and
the interval between samples is doubled.
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
from hlobatch.typing import Arrays

MOST_SAMPLES: Final = 400
"""Largest number of samples that are kept of a run."""
MOST_LANES: Final = 200
"""Largest number of lanes that are sampled; of more lanes, evenly spaced ones."""
IDLE: Final = -1
"""The block of a lane that has no work left."""


@dataclass(frozen=True)
class Sample:
    """The blocks of lanes after some turn.

    Attributes:
        turn: Number of turns so far.
        blocks: The block that each lane waits at, ``i32[lanes]``; ``IDLE`` for a lane that has no work left.
        busy: Share of all lanes that have work left.
        depth: Frames on the fullest stack of a lane, maximum and average over lanes; zeros if there are no stacks.
    """

    turn: int
    blocks: np.ndarray[Any, Any]
    busy: float
    depth: tuple[int, float]


@dataclass(frozen=True)
class Raster:
    """The samples and the statistics of a run in XLA's loop.

    Attributes:
        division: The batch, divided into parts.
        stats: Statistics of the run.
        lanes: The numbers of the sampled lanes.
        samples: The samples, in order.
        done: Inputs that have ended; fewer than all if the time limit was reached.
        seconds: Time of the run, with sampling.
    """

    division: Division
    stats: RunStats
    lanes: np.ndarray[Any, Any]
    samples: Sequence[Sample]
    done: int
    seconds: float

    @property
    def turns(self) -> int:
        """Number of turns of the loop."""
        return self.samples[-1].turn if self.samples else 0

    @property
    def is_whole(self) -> bool:
        """Whether all inputs have ended."""
        return self.done == self.division.size

    @property
    def width(self) -> int:
        """Lanes in each execution of a block."""
        return self.stats.lanes // self.stats.threads


def raster_of(plan: Plan, inputs: Arrays, seconds: float) -> Raster:
    """Run a batch and sample where its lanes are.

    Args:
        plan: The plan to run.
        inputs: Arrays as they are stored.
        seconds: Time limit, after which the remaining inputs are not run.
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
    """A run that is paused every few turns, and its samples."""

    def __init__(self, course: Course) -> None:
        self.course, self.every, self.turn = course, 1, 0
        width = sum(layout.lanes for layout, _ in self.states)
        self.lanes = np.unique(np.linspace(0, width - 1, min(width, MOST_LANES)).astype(int))
        self.samples: list[Sample] = [self._sample()]

    @property
    def states(self) -> list[tuple[Layout, dict[str, Any]]]:
        """The layout and the state of each part."""
        division, found = self.course.division, []
        for part in self.course.parts_by_number:
            layout = division.layout(part.room)
            found.append((layout, dict(zip(layout.slots, division.state(part.room, part.output), strict=True))))
        return found

    def look(self) -> bool:
        """Run some turns and take a sample; False if there was nothing left to run."""
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
