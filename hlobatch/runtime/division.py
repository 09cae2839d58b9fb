"""A batch -> parts of equal size, each a run of its own in a thread of its own.

On a CPU, XLA divides only large kernels among the cores, and a kernel of a small block stays on one core. Inputs do not
depend on each other, so each core can have some of them, and a loop of its own to run them.

Of n threads, the first has inputs 0, n, 2n, …, since neighbours are often about as difficult as each other. All parts
are of one size, so that one executable serves them; where the batch does not divide evenly, the last input is run
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import starmap
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch import config
from hlobatch._jax import (
    default_device,
    is_jit_disabled,
    is_out_of_memory,
    looked_for,
)
from hlobatch.lowering.arrays.rows import IN_BOUNDS
from hlobatch.lowering.state import ending, fates
from hlobatch.lowering.state.inputs import Inputs
from hlobatch.lowering.state.layout import LOG, LOGGED, Layout
from hlobatch.lowering.state.log import Entry, entries
from hlobatch.lowering.state.narrowing import Narrowing
from hlobatch.lowering.to_stablehlo import start_of
from hlobatch.runtime.entry_points import donated_of, entry_of, entry_point, jitted, layout_alone, state_position
from hlobatch.runtime.memory import BYTES_SURELY_THERE, available
from hlobatch.runtime.pace import Pace
from hlobatch.runtime.packing import Packing
from hlobatch.runtime.places import devices_of
from hlobatch.runtime.plan import Executables, Plan, Room
from hlobatch.runtime.tail import Tail, width_for
from hlobatch.runtime.threads import together
from hlobatch.strategy.strategy import Strategy

Arrays = Sequence[Any]


COPIES: Final = 2
"""Times the memory of stacks that it takes to make them larger: the loop works on a copy of those it is given."""


class Start(NamedTuple):
    """What a part starts a stretch from.

    Attributes:
        room: On its stacks.
        state: That it goes on from; None if it begins.
        width: Lanes that go on, if they are few and by themselves.
    """

    room: Room
    state: Arrays | None = None
    width: int | None = None


class Stretch:
    """What parts give back from a stretch.

    A signal may raise ``KeyboardInterrupt`` after any call in Python. What a part gives back is stored here within the
    call that ran the part, so that no signal can come between, and nothing that was computed is lost.

    Attributes:
        outputs: By number.
        errors: Where there was no memory for it, the error that said so.
    """

    def __init__(self) -> None:
        self.outputs: dict[int, Arrays] = {}
        self.errors: dict[int, Exception] = {}


@dataclass(frozen=True, eq=False)
class Division:
    """How a batch is divided.

    Attributes:
        plan: What runs each part.
        size: Inputs in the batch.
        threads: Parts.
        stats: Whether executions are counted.
        devices: Where the operands are, if this machine has several devices.
        executables: What was compiled for it and its like, kept as long as it is.
        keeps_lanes: Whether few lanes are never run by themselves, by a program that may round otherwise.
    """

    plan: Plan
    size: int
    threads: int
    stats: bool
    devices: frozenset[Any]
    executables: Executables
    keeps_lanes: bool = False

    @property
    def part_size(self) -> int:
        """Inputs in a part."""
        return -(-self.size // self.threads)

    @cached_property
    def strategy(self) -> Strategy:
        """How a part runs."""
        return self.plan.strategy(self.part_size, is_alone=not self.is_spread)

    def layout(self, room: Room) -> Layout:
        """The state of a part."""
        if room not in self._layouts:
            self._layouts[room] = layout_alone(self.plan, self.strategy, room, stats=self.stats)
        return self._layouts[room]

    @cached_property
    def _layouts(self) -> dict[Room, Layout]:
        return {}

    @cached_property
    def _tails(self) -> dict[tuple[Room, int], Tail | None]:
        return {}

    @cached_property
    def may_stop(self) -> bool:
        """Whether a part may have to go on, or be stopped, after it has run."""
        return self.layout(Room(self.plan.declared_depth)).may_stop

    @property
    def room(self) -> Room:
        """The room that a run begins with: what was enough before, or declared; the default if that is too much."""
        room = Room(self.plan.depth)
        return room if self.fits(room) else Room(min(room.depth, config.INITIAL_STACK_DEPTH))

    def fits(self, room: Room) -> bool:
        """Whether the stacks of all parts take no more bytes than they may."""
        taken, most = self._bytes_of_frame * (room.depth + 1), self.plan.options.max_stack_bytes
        if most is not None:
            return taken <= most
        return taken <= BYTES_SURELY_THERE or COPIES * taken <= available()

    @cached_property
    def _bytes_of_frame(self) -> int:
        """What a frame takes on the stacks of all parts."""
        return self.threads * self.layout(Room(1)).stack_bytes // 2

    @property
    def pace(self) -> Pace:
        """The pace of a part: how many turns its loop makes in a stretch."""
        return self.plan.pace(self.part_size)

    @property
    def turns(self) -> tuple[Any, ...]:
        """The turns of a stretch as an operand of the module; none if runs of the plan do not go in stretches."""
        return (_number(self.pace.turns),) if self.plan.may_be_endless else ()

    def turns_of(self, width: int | None, part_of_pace: int, most: int | None = None) -> tuple[Any, ...]:
        """The turns that a stretch makes, of all lanes or of few; no more than ``most``, if that is said."""
        if not self.plan.may_be_endless:
            return ()
        if most is not None:
            return (np.int32(min(most, self.pace.turns)),)
        if width:
            return (_number(self.plan.pace(width).turns),)
        return (_number(max(1, self.pace.turns // part_of_pace)),)

    def tail(self, room: Room, at_work: int) -> Tail | None:
        """How the last lanes of a part go on by themselves; None if that is not worth it."""
        wide = self.layout(room)
        width = None if self.stats or self.is_spread or self.keeps_lanes else width_for(wide, at_work)
        if width is None or not (self.plan.may_be_endless and self.plan.options.optimizations.few_lanes):
            return None
        if (room, width) not in self._tails:
            strategy = self.plan.strategy(width, is_alone=True)
            narrow = layout_alone(self.plan, strategy, room)
            tail = Tail(self.plan, strategy, Narrowing(wide, narrow), self.size, self.threads, self._shares)
            self._tails[room, width] = None if narrow.queue else tail
        return self._tails[room, width]

    def has_compiled(self, room: Room, tail: Tail) -> bool:
        """Whether the program for few lanes has been compiled."""
        return self.plan.has_executable(self._key_of_few(room, tail.width))

    def _key_of_few(self, room: Room, width: int) -> Any:
        return (self.threads, self.size, default_device(), self.devices, room, "few", width)

    def _of_few(self, room: Room, width: int, arguments: Arrays) -> Callable[..., Any]:
        """The compiled program that runs few lanes of a part."""

        def make() -> Callable[..., Any]:
            tail = self.tail(room, width)
            assert tail is not None
            narrow = tail.narrowing.narrow
            compiled: Callable[..., Any] = jitted(tail, self.plan, narrow, busy=False).lower(*arguments).compile()
            return compiled

        return self.plan.executable(self._key_of_few(room, width), make)

    def operands(self, inputs: Arrays) -> tuple[Any, ...]:
        """What parts take: captured arrays, the whole batch's inputs, and what threads share, all as it is stored."""
        operands = (*self.plan.captured, *inputs)
        if not self._shares:
            return operands
        return (*operands, *jax.block_until_ready(self._shared_values(*operands)))

    @property
    def _shares(self) -> bool:
        """Whether threads read the same shared values, instead of each computing its own."""
        return self.threads > 1 and self.plan.shares_values

    @property
    def _shared_values(self) -> Callable[..., list[Any]]:
        """The jitted function of captured arrays and inputs to shared values."""
        return self.plan.executable("shared", partial(_shared_values, self.plan))

    def run(
        self,
        operands: Arrays,
        starts: Mapping[int, Start],
        stretch: Stretch,
        executable: Any = None,
        *,
        part_of_pace: int = 1,
        most: int | None = None,
    ) -> None:
        """Run a stretch of parts.

        Args:
            operands: Those of ``operands``.
            starts: What the parts start from, by number.
            stretch: Takes what they give back: results and, if they may have to go on, what stopped them and the state,
                which ``state`` makes of the rest.
            executable: What runs the only part; found here if None.
            part_of_pace: So much shorter it is than it usually is.
            most: Turns that it makes at most; None if nobody says.
        """
        calls = []
        for number, (room, state, width) in starts.items():
            own = operands if self.threads == 1 and not width else (_number(number), *operands)
            arguments = (*own, *(state or ()), *self.turns_of(width, part_of_pace, most))
            if width:
                run = self._of_few(room, width, arguments)
            elif self.threads > 1:
                run = self._executable(room, state is not None, arguments)
            else:
                run = executable or self.entry_point(room, resume=state is not None)
            calls.append(partial(self._start, run, arguments, number, stretch))
        if len(calls) == 1:
            calls[0]()
        else:
            together(calls)

    def _start(self, executable: Callable[..., Any], arguments: Arrays, number: int, stretch: Stretch) -> None:
        """Run a part in any thread, with 64-bit types on or off as for the program: JAX keeps that for each thread."""
        try:
            with self.plan.as_typed():
                stretch.outputs.update(zip([number], starmap(executable, [arguments]), strict=True))  # see Stretch
            self.stop(stretch.outputs[number])
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            stretch.outputs.pop(number, None)
            stretch.errors[number] = error

    def begin(self, room: Room, number: int, operands: Arrays) -> list[Any]:
        """The state of a part before its first turn; ``operands`` are those of ``operands``."""

        def make() -> Callable[..., Any]:
            start = start_of(self.plan.request(self.strategy, self.layout(room)))
            return jax.jit(self.part_of(start))

        key = self._key_of(room, "begin")
        with self.plan.as_typed():
            return list(self.plan.executable(key, make)(np.int32(number), *operands))

    def output(self, room: Room, number: int, operands: Arrays, state: Arrays) -> list[Any]:
        """What a part that stands so gives back, as if it had just run."""
        layout, packing = self.layout(room), Packing.of(self.layout(room))

        def give(*given: Any) -> list[Any]:
            own, state = given[: -len(layout.slots)], given[-len(layout.slots) :]
            count = len(self.plan.captured)
            last = count + len(self.plan.input_shared)
            shared = own[last:] or Inputs(layout).shared(self.plan.captures, own[:count], own[count:last])
            stopped = ending.stopped(layout, state)
            told = packing.pack(stopped, state) if packing.packed else [stopped]
            return [*ending.results(layout, state, shared), *told]

        def make() -> Callable[..., Any]:
            return jax.jit(self.part_of(give))

        with self.plan.as_typed():
            found = self.plan.executable(self._key_of(room, "output"), make)(np.int32(number), *operands, *state)
            return found if packing.packed else [*found, *map(jnp.array, state)]  # a stretch takes these for its own

    def _key_of(self, room: Room, what: str) -> Any:
        return (self.threads, self.size, default_device(), self.devices, room, self.stats, what)

    def stop(self, output: Arrays) -> int:
        """What stopped a part, given what it gave back: a sum of fates, for which the part is waited for."""
        return int(self._read(output[self.plan.result_arrays]).item(0)) if self.may_stop else 0

    @cached_property
    def _read(self) -> Callable[[Any], Any]:
        """A function that reads a number on a device, even if the user has forbidden implicit transfers to the host."""
        return np.asarray if self.plan.programs.policies.target.is_host else jax.device_get

    def state(self, room: Room, output: Arrays) -> list[Any]:
        """The state in which a part stopped, given what it gave back."""
        return Packing.of(self.layout(room)).unpack(output[self.plan.result_arrays :])

    def status(self, room: Room, output: Arrays) -> Any:
        """What became of each input of a part, given what it gave back."""
        layout, state = self.layout(room), self.state(room, output)
        told = fates.told_by(layout)
        slots = {slot: x for slot, x in zip(layout.slots, state, strict=True) if slot in told}
        tell = self.plan.executable(self._key_of(room, "status"), lambda: jax.jit(partial(fates.of_inputs, layout)))
        return np.asarray(tell(slots))  # the other arrays may be gone

    def logged(self, room: Room, number: int, output: Arrays) -> tuple[list[Entry], bool]:
        """What the lanes of a part logged, by the numbers of the whole batch's inputs, and whether a log is full."""
        layout = self.layout(room)
        slots = dict(zip(layout.slots, self.state(room, output), strict=True))
        found = entries(layout.program, slots[LOG], slots[LOGGED], layout.lane_axis)
        inputs = [replace(entry, input=number + self.threads * entry.input) for entry in found]
        is_full = int(np.max(slots[LOGGED])) + layout.most_logged > layout.log_rows
        return [entry for entry in inputs if entry.input < self.size], is_full

    def entry_point(self, room: Room, *, resume: bool = False) -> Callable[..., Any]:
        """The function that runs the whole batch in one thread."""
        return entry_point(self.plan, self.size, room, stats=self.stats, resume=resume, spread=self.is_spread)

    def lower(self, room: Room, inputs: Sequence[jax.ShapeDtypeStruct]) -> Any:
        """The module that runs a part, as ``jax.jit(…).lower`` gives it, for what the whole batch's inputs are like."""
        if self.threads == 1:
            entry: Any = self.entry_point(room)
            return entry.lower(*self.plan.captures.avals, *inputs, *self.turns)
        return self._jitted(room, resume=False).lower(*self._given(inputs))

    def compile(self, room: Room, inputs: Sequence[jax.ShapeDtypeStruct]) -> Callable[..., Any]:
        """What runs a part, given what the whole batch's inputs are like; that is divided."""
        return self._executable(room, False, self._given(inputs))

    def _given(self, inputs: Sequence[jax.ShapeDtypeStruct]) -> list[Any]:
        """What a part of a divided batch is given."""
        operands = [*self.plan.captures.avals, *inputs]
        if self._shares:
            operands += jax.eval_shape(self._shared_values, *operands)
        return [_number(0), *operands, *self.turns]

    def _executable(self, room: Room, resume: bool, arguments: Arrays) -> Callable[..., Any]:
        """Compiled here: a thread that starts it need not know under which settings."""
        key = (self.threads, self.size, default_device(), self.devices, room, self.stats, resume)
        return self.plan.executable(key, lambda: self._compiled(room, resume, arguments))

    def _jitted(self, room: Room, *, resume: bool) -> Any:
        """The jitted function of a part's number and the whole batch."""
        layout = self.layout(room)
        part = partial(self._part, entry_of(self.plan, self.strategy, layout, resume, shared_given=self._shares))
        first = 1 + state_position(self.plan, layout, shared_given=self._shares)
        donated = donated_of(layout, first) if resume else ()
        return jitted(
            part, self.plan, layout, busy=self.threads == self.plan.programs.policies.several.threads, donated=donated
        )

    def _compiled(self, room: Room, resume: bool, arguments: Arrays) -> Callable[..., Any]:
        lowered, joining = self._jitted(room, resume=resume).lower(*arguments), self._join()
        executable: Callable[..., Any] = together([lowered.compile, joining.compile])[0]
        return executable

    def _join(self) -> Any:
        """The code that joins the parts' results, lowered, to be compiled beside the run; JAX keeps it for its call."""
        part = self.plan.result_avals(self.part_size)
        return _joined.lower(self.size, self.plan.summed_results, [part] * self.threads)

    def part_of(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A function of a part's number and the whole batch, of one of a part's operands."""
        return partial(self._part, run) if self.threads > 1 else lambda _, *operands: run(*operands)

    def _part(self, run: Callable[..., Any], part: Any, *operands: Any) -> Any:
        """The run of a part, given its number and the whole batch."""
        rows = jnp.minimum(part + self.threads * np.arange(self.part_size, dtype=np.int32), self.size - 1)
        first = len(self.plan.captured)
        last = first + len(self.plan.input_shared)
        pairs = zip(operands[first:last], self.plan.input_shared, strict=True)
        inputs = [x if shared else jnp.asarray(x).at[rows].get(**IN_BOUNDS) for x, shared in pairs]
        return run(*operands[:first], *inputs, *operands[last:])

    @property
    def is_spread(self) -> bool:
        """Whether JAX divides the batch among several devices."""
        return len(self.devices) > 1

    def join(self, parts: Sequence[Arrays]) -> list[Any]:
        """The whole batch's arrays from those of its parts."""
        return list(parts[0] if self.threads == 1 else _joined(self.size, self.plan.summed_results, parts))


def divide(plan: Plan, inputs: Arrays, *, stats: bool = False, keeps_lanes: bool = False) -> Division:
    """Divide a batch among as many threads as pays, or as the user asked for.

    Args:
        plan: What runs it.
        inputs: Arrays as they are stored, or what they are like and where.
        stats: Whether executions are counted.
        keeps_lanes: Whether few lanes are never run by themselves.
    """
    size = plan.batch_size(inputs)
    threads = plan.programs.policies.several.threads_for(size)
    devices = devices_of(plan, inputs)
    if threads > 1 and (len(devices) > 1 or is_jit_disabled() or any(looked_for())):
        threads = 1  # JAX divides the batch among devices, or `jax.disable_jit` or `jax.debug_nans` is on
    while plan.summed and size % threads:  # an input that is run twice would be in a sum twice
        threads -= 1
    return Division(plan.divided(threads), size, threads, stats, devices, plan.executables, keeps_lanes)


def _shared_values(plan: Plan) -> Callable[..., list[Any]]:
    """The jitted function of captured arrays and inputs to shared values."""
    count, given = len(plan.captured), Inputs(plan.layout_of_one)
    return jax.jit(lambda *operands: given.shared(plan.captures, operands[:count], operands[count:]))


@partial(jax.jit, static_argnums=(0, 1))
def _joined(size: int, summed: tuple[int, ...], parts: Sequence[Arrays]) -> list[Any]:
    def joined(place: int, each: Arrays) -> Any:
        if place in summed:
            return jnp.sum(jnp.stack(each), 0)
        together = jnp.stack(each, axis=1)
        return together.reshape((together.shape[0] * together.shape[1], *together.shape[2:]))[:size]

    return [joined(place, each) for place, each in enumerate(zip(*parts, strict=True))]


@cache
def _number(number: int) -> Any:
    """The number of a part, or of turns, as an array that is on the device already."""
    return jax.device_put(np.int32(number))
