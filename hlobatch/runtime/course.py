"""Runs the parts of a batch in stretches until each is at its end.

A stretch is some tenths of a second, after which the host looks at each part. A part then goes on from the state that
its loop was left in: as it is, with larger stacks, or, if stacks cannot grow, without the inputs that need them to.

Invariant: work done before a stop is never repeated, and however a run ends, results that were finished are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch import config
from hlobatch._jax import is_out_of_memory
from hlobatch.diagnostics import Interrupted, LaneError
from hlobatch.ir.effects import Emission
from hlobatch.ir.fate import FATES, Fate
from hlobatch.lowering.state import fates
from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.state.log import Entry
from hlobatch.lowering.state.narrowing import lanes_left
from hlobatch.runtime.division import Division, Start, Stretch
from hlobatch.runtime.emissions import emit
from hlobatch.runtime.interrupts import noting
from hlobatch.runtime.leaving import in_a_stretch
from hlobatch.runtime.pace import MOST_TURNS
from hlobatch.runtime.plan import Room
from hlobatch.runtime.stops import interruption, out_of_time, stop_error
from hlobatch.runtime.tail import SHORT_STRETCHES, WORTH_SECONDS
from hlobatch.runtime.watch import Watch


class Part(NamedTuple):
    """The state of a part after its last stretch.

    Attributes:
        room: The depth of its stacks.
        output: Its output.
        stop: Why it stopped, a sum of fates; 0 if all of its inputs are finished.
        had_full_log: Whether a lane may be waiting for the host to read its log.
    """

    room: Room
    output: Sequence[Any]
    stop: int
    had_full_log: bool = False


@dataclass
class Course:
    """A run of a batch, in stretches, part by part.

    Attributes:
        division: The batch, divided into parts.
        operands: The operands of all parts.
        parts: The parts after their last stretch, by number.
        resumptions: Number of times that stacks have grown.
        is_full: Whether there is no memory for larger stacks.
        given_up: Numbers of the parts that cannot go on, even without the inputs that need larger stacks.
        stretches: Number of stretches so far.
        is_at_end: Whether a part has few lanes with work left, and the program for few lanes is not compiled yet.
        has_ended_so: Whether a part has run its last lanes by the program for few lanes.
        of_few: For each part whose last stretch ran few lanes, the number of lanes and the stretch's seconds.
        emission: Carries out the effects of lanes.
        watch: Reports progress and checks the time limit; None if nobody asked for either.
        most_turns: Largest number of turns of the next stretch, if a caller limits it; else None.
    """

    division: Division
    operands: Sequence[Any]
    parts: dict[int, Part] = field(default_factory=dict)
    resumptions: int = 0
    is_full: bool = False
    given_up: set[int] = field(default_factory=set)
    stretches: int = 0
    is_at_end: bool = False
    has_ended_so: bool = False
    of_few: dict[int, tuple[int, float]] = field(default_factory=dict)
    emission: Emission = field(default_factory=Emission)
    watch: Watch | None = None
    most_turns: int | None = None

    def run(self, room: Room, executable: Any = None) -> None:
        """Run the batch to its end.

        Args:
            room: The depth of stacks at first.
            executable: The function that runs the first stretch of a run in one part; None for the division's.

        Raises:
            StackOverflowError: The stacks grew as far as they can, and some input still needs more.
            StepLimitError: Some inputs used up their steps.
            Interrupted: The user interrupted it.
            TimeLimitError: Its time limit was reached.
        """
        with self.emission, noting() as look:
            try:
                self._advance(dict.fromkeys(range(self.division.threads), Start(room)), executable)
                look()
            except KeyboardInterrupt:
                raise self.interrupted() from None
            self.finish()

    def finish(self) -> None:
        """Run stretches until every part is at its end; raises the errors of ``run``."""
        try:
            with noting() as look:
                while starts := self._starts():
                    self._look()
                    self._advance(starts)
                    look()
        except KeyboardInterrupt:
            raise self.interrupted() from None
        if self.watch:
            self.watch.end(self.done)
        if self.stretches > SHORT_STRETCHES and not self.has_ended_so:
            self.division.plan.ends.are_expected = False
        if any(part.stop for part in self.parts.values()):
            raise self._stopped()
        if self.resumptions:  # not after an error: one endless recursion would give all later runs the deepest stacks
            plan = self.division.plan
            plan.grown[:] = [max(plan.depth, *(part.room.depth for part in self.parts.values()))]

    def go_on(self, turns: int) -> None:
        """Run every part for ``turns`` turns of its loop at most, or to its end; raises the errors of ``run``."""
        with self.emission:
            try:
                while turns > 0 and (starts := self._starts()):
                    self.most_turns = min(turns, self.division.pace.turns)
                    turns -= self.most_turns
                    self._advance(starts)
            except KeyboardInterrupt:
                raise self.interrupted() from None
        if self.given_up:
            raise self._stopped()

    @property
    def is_over(self) -> bool:
        """Whether no part can go on."""
        return all(self._room(part) is None for part in self.parts.values())

    @property
    def parts_by_number(self) -> list[Part]:
        """The parts in the order of their numbers."""
        return [part for _, part in sorted(self.parts.items())]

    @property
    def results(self) -> list[Any]:
        """The whole batch's results, as they are stored."""
        return self.division.join([part.output[: self.division.plan.result_arrays] for part in self.parts_by_number])

    # The stretches

    def _advance(self, starts: Mapping[int, Start], executable: Any = None) -> None:
        """Run one stretch of some parts, in which each comes to its end, is stopped, or uses up its turns."""
        division, stretch, began = self.division, Stretch(), perf_counter()
        try:
            with in_a_stretch():
                pace = self._part_of_pace
                division.run(self.operands, starts, stretch, executable, part_of_pace=pace, most=self.most_turns)
        finally:  # outputs are kept even if another part raised
            for number, output in stretch.outputs.items():
                room = starts[number].room
                self.parts[number] = Part(room, output, division.stop(output))
            if division.plan.has_effects:
                self._have_host_do(stretch.outputs)
        self.note(perf_counter() - began, starts)
        for number, error in stretch.errors.items():
            self._without_memory(number, starts[number], error)

    def _have_host_do(self, outputs: Mapping[int, Any]) -> None:
        """Carry out the effects that lanes of parts have logged, in the order of the inputs."""
        found: list[Entry] = []
        for number, output in outputs.items():
            part = self.parts[number]
            logged, is_full = self.division.logged(part.room, number, output)
            self.parts[number] = part._replace(had_full_log=is_full)
            found += logged
        emit(self.division.plan, found, self.emission)

    def note(self, seconds: float, starts: Mapping[int, Start]) -> None:
        """Adjust the pace to the seconds of a stretch, if some part used up its turns."""
        is_short, self.stretches = self._part_of_pace > 1, self.stretches + 1
        self.of_few = {number: (start.width, seconds) for number, start in starts.items() if start.width}
        if self.is_at_end:
            self.division.plan.ends.seconds += seconds
        if is_short or self.of_few or (self.most_turns or MOST_TURNS) < self.division.pace.turns:
            return
        if any(number in self.parts and self.parts[number].stop & Fate.RUNNING for number in starts):
            kind = frozenset((start.room, start.state is None) for start in starts.values())
            self.division.pace.note(seconds, kind)

    @property
    def _part_of_pace(self) -> int:
        """Divisor of the turns of the next stretch: more than 1 for the first stretches, if a tail is expected."""
        return 1 << max(0, SHORT_STRETCHES - self.stretches) if self.division.plan.ends.are_expected else 1

    def _without_memory(self, number: int, start: Start, error: Exception) -> None:
        """Note that there was no memory for a part to go on, with larger stacks or even with those it had."""
        before = self.parts.get(number)
        if before is None or before.stop & Fate.RUNNING:
            raise error
        self.is_full = True
        if not start.room.grows:
            self.given_up.add(number)

    def _starts(self) -> dict[int, Start]:
        """The starts of the parts that are not at their end."""
        with jax.transfer_guard("allow"):  # zeros, and state that the host holds, are transferred
            starts = {number: self._start(number, part) for number, part in self.parts.items()}
        found = {number: start for number, start in starts.items() if start is not None}
        self.resumptions += any(start.room.depth > self.parts[i].room.depth for i, start in found.items())
        return found

    def _start(self, number: int, part: Part) -> Start | None:
        """The start of a part's next stretch; None if the part is at its end."""
        while number not in self.given_up and (room := self._room(part)) is not None:
            try:
                state = self._state(part, room)
                return Start(room, state, self._width(number, room, state))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                self._without_memory(number, Start(room), error)
        return None

    def _room(self, part: Part) -> Room | None:
        """The depth of stacks that a part goes on with; None if it is at its end."""
        room, division = part.room, self.division
        if part.stop & Fate.RUNNING or (part.stop & Fate.PARKED and part.had_full_log):
            return room
        if not (part.stop & Fate.PARKED and room.grows):
            return None
        limit = max(config.STACK_DEPTH_LIMIT, division.plan.declared_depth)
        if room.depth < limit:
            larger = Room(min(2 * room.depth, limit))
            self.is_full = self.is_full or not division.fits(larger)
            if not self.is_full:
                return larger
        waiting = division.status(room, part.output) == Fate.UNSTARTED
        return Room(room.depth, grows=False) if waiting.any() else None

    def _state(self, part: Part, room: Room) -> list[Any]:
        """The state that a part goes on from: unchanged, with larger stacks, or without the inputs that need them."""
        layout, state = self.division.layout(part.room), self.division.state(part.room, part.output)
        if room.depth > part.room.depth:
            return grown_state(layout, state, room.depth)
        if room == part.room:
            return state
        slots = dict(zip(layout.slots, state, strict=True))
        return list(fates.given_up(self.division.layout(room), slots).values())

    def _width(self, number: int, room: Room, state: Sequence[Any]) -> int | None:
        """The number of lanes if a part's next stretch runs only few; None if all."""
        part, division, ends = self.parts[number], self.division, self.division.plan.ends
        if room != part.room or not part.stop & Fate.RUNNING or part.had_full_log:
            return None
        layout = division.layout(room)
        at_work = lanes_left(layout, dict(zip(layout.slots, state, strict=True)))
        if at_work and number in self.of_few:  # lanes are left, so the last stretch ran all its turns
            width, seconds = self.of_few[number]
            division.plan.pace(width).note(seconds, (room, width))
        tail = division.tail(room, at_work) if at_work else None
        if tail is None:
            return None
        if not division.has_compiled(room, tail) and ends.seconds < WORTH_SECONDS:
            self.is_at_end = True
            return None
        self.has_ended_so = ends.are_expected = True
        return tail.width

    def _look(self) -> None:
        """Report progress, and raise if the time limit is reached."""
        if self.watch and self.watch.look(lambda: self.done):
            raise out_of_time(self.division.plan, *self._end())

    @property
    def done(self) -> int:
        """Number of inputs that have ended."""
        division = self.division
        if len(self.parts) < division.threads:
            return 0
        of_parts = np.stack([self._are_done(part) for part in self.parts_by_number], 1)
        return int(of_parts.reshape(-1)[: division.size].sum())

    def _are_done(self, part: Part) -> np.ndarray[Any, Any]:
        """For each input of a part, whether it has ended, with a result or without."""
        fate = self.division.status(part.room, part.output) & FATES
        waits = (fate == Fate.PARKED) & part.room.grows
        are_done: np.ndarray[Any, Any] = ~np.isin(fate, (Fate.RUNNING, Fate.UNSTARTED)) & ~waits
        return are_done

    # The end of the run

    def _stopped(self) -> LaneError:
        status, results = self._end()
        depth = max(part.room.depth for part in self.parts.values())
        return stop_error(self.division.plan, status, depth=depth, results=results, is_full=self.is_full)

    def interrupted(self) -> Interrupted:
        """The error for a run that the user interrupted, with the results that were finished in earlier stretches."""
        division = self.division
        if len(self.parts) < division.threads:
            return interruption(division.plan, np.full(division.size, Fate.RUNNING), None)
        return interruption(division.plan, *self._end())

    def _end(self) -> tuple[Any, list[Any]]:
        """The status of each input, and the results of the whole batch as they are stored."""
        division = self.division
        ends = [
            (*p.output[: division.plan.result_arrays], division.status(p.room, p.output)) for p in self.parts_by_number
        ]
        *results, status = division.join(ends)
        return status, results


def grown_state(layout: Layout, state: Sequence[Any], depth: int) -> list[Any]:
    """The state with ``depth`` frames per stack, in new arrays; the frames in use keep their places."""
    deeper = replace(layout, depth=depth).slots
    grown = []
    for slot, array in zip(layout.slots, state, strict=True):
        pads = [(0, deeper[slot].shape[0] - array.shape[0]), *[(0, 0)] * (array.ndim - 1)] if array.ndim else []
        grown.append(jnp.pad(array, pads) if slot in layout.stacks else jnp.array(array))
    return grown
