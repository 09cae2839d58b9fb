"""Divides a batch into parts of equal size, each of which is run in a thread of its own.

On a CPU, XLA divides only large kernels among the cores, and a kernel of a small block stays on one core. Inputs do not
depend on each other, so each core can run some of them in a loop of its own.

Of n threads, the first has inputs 0, n, 2n, …, since neighboring inputs often take about as long as each other. All
parts are of one size, so that one executable serves them; if the batch does not divide evenly, the last input is run
more than once.
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
    in_no_mesh,
    is_jit_disabled,
    is_out_of_memory,
    looked_for,
)
from hlobatch.ir.fate import Fate
from hlobatch.lowering.arrays.rows import IN_BOUNDS
from hlobatch.lowering.state import ending, fates
from hlobatch.lowering.state.inputs import Inputs
from hlobatch.lowering.state.layout import LOG, LOGGED, Layout
from hlobatch.lowering.state.log import Entry, entries
from hlobatch.lowering.state.narrowing import Narrowing
from hlobatch.lowering.to_stablehlo import start_of
from hlobatch.runtime.entry_points import donated_of, entry_of, entry_point, layout_alone, state_position
from hlobatch.runtime.memory import BYTES_SURELY_THERE, available
from hlobatch.runtime.pace import Pace
from hlobatch.runtime.places import devices_of
from hlobatch.runtime.plan import Executables, Plan, Room
from hlobatch.runtime.tail import Tail, width_for
from hlobatch.runtime.threads import together
from hlobatch.strategy.strategy import Strategy
from hlobatch.typing import ArrayLike, Arrays

COPIES: Final = 2
"""Factor on the bytes of larger stacks for the memory they need: the loop works on a copy of the arrays it is given."""


class Start(NamedTuple):
    """The state that a part begins a stretch with.

    Attributes:
        room: The depth of its stacks.
        state: The state to go on from; None at the beginning.
        width: The number of lanes to run, if only few have work left; None for all.
    """

    room: Room
    state: Arrays | None = None
    width: int | None = None


class Stretch:
    """The outputs of parts after a stretch.

    A signal may raise ``KeyboardInterrupt`` after any call in Python. A part's output is stored here within the call
    that ran the part, so that no signal can come between, and no work is lost.

    Attributes:
        outputs: The output of each part, by its number.
        errors: Out-of-memory errors, by the number of the part.
    """

    def __init__(self) -> None:
        self.outputs: dict[int, Arrays] = {}
        self.errors: dict[int, Exception] = {}


@dataclass(frozen=True, eq=False)
class Division:
    """A batch divided into parts.

    Attributes:
        plan: The plan of a part.
        size: Number of inputs in the batch.
        threads: Number of parts.
        stats: Whether executions of blocks are counted.
        devices: The devices that hold the operands, if this machine has several; else empty.
        executables: The plan's executables, which this keeps alive.
        keeps_lanes: Whether few lanes are never run by a program of their own, which may round differently.
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
        """Number of inputs in a part."""
        return -(-self.size // self.threads)

    @cached_property
    def strategy(self) -> Strategy:
        """How a part runs."""
        return self.plan.strategy(self.part_size)

    def layout(self, room: Room) -> Layout:
        """The layout of a part's state."""
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
        """Whether a part may stop before its inputs are finished, to be resumed or given up."""
        return self.layout(Room(self.plan.declared_depth)).may_stop

    @property
    def room(self) -> Room:
        """The initial depth of stacks: what was enough before, or declared; the default if that does not fit."""
        room = Room(self.plan.depth)
        return room if self.fits(room) else Room(min(room.depth, config.INITIAL_STACK_DEPTH))

    def fits(self, room: Room) -> bool:
        """Whether the stacks of all parts fit in the memory that they may take."""
        taken, most = self._bytes_of_frame * (room.depth + 1), self.plan.options.max_stack_bytes
        if most is not None:
            return taken <= most
        return taken <= BYTES_SURELY_THERE or COPIES * taken <= available()

    @cached_property
    def _bytes_of_frame(self) -> int:
        """Bytes of a frame on the stacks of all parts."""
        return self.threads * self.layout(Room(1)).stack_bytes // 2

    @property
    def pace(self) -> Pace:
        """The pace of a part: how many turns its loop makes in a stretch."""
        return self.plan.pace(self.part_size)

    @property
    def turns(self) -> tuple[Any, ...]:
        """The turns of a stretch as an operand of the module; empty if runs of the plan do not go in stretches."""
        return (_number(self.pace.turns),) if self.plan.may_be_endless else ()

    def turns_of(self, width: int | None, part_of_pace: int, most: int | None = None) -> tuple[Any, ...]:
        """The turns of a stretch, of all lanes or of ``width``, as an operand; ``most`` at most, if given."""
        if not self.plan.may_be_endless:
            return ()
        if most is not None:
            return (np.int32(min(most, self.pace.turns)),)
        if width:
            return (_number(self.plan.pace(width).turns),)
        return (_number(max(1, self.pace.turns // part_of_pace)),)

    def tail(self, room: Room, at_work: int) -> Tail | None:
        """The program for the last lanes of a part; None if it is not worth compiling."""
        wide = self.layout(room)
        width = None if self.stats or self.is_spread or self.keeps_lanes else width_for(wide, at_work)
        if width is None or not (self.plan.may_be_endless and self.plan.options.optimizations.few_lanes):
            return None
        if (room, width) not in self._tails:
            strategy = self.plan.strategy(width)
            narrow = layout_alone(self.plan, strategy, room)
            tail = Tail(self.plan, strategy, Narrowing(wide, narrow), self.size, self.threads, self._shares)
            self._tails[room, width] = None if narrow.queue else tail
        return self._tails[room, width]

    def has_compiled(self, room: Room, tail: Tail) -> bool:
        """Whether the program for the last lanes has been compiled."""
        return self.plan.has_executable(self._key_of_few(room, tail.width))

    def _key_of_few(self, room: Room, width: int) -> Any:
        return (self.threads, self.size, default_device(), self.devices, room, "few", width)

    def _of_few(self, room: Room, width: int, arguments: Arrays) -> Callable[..., Any]:
        """The compiled program that runs few lanes of a part."""

        def make() -> Callable[..., Any]:
            tail = self.tail(room, width)
            assert tail is not None
            compiled: Callable[..., Any] = jax.jit(tail).lower(*arguments).compile()
            return compiled

        return self.plan.executable(self._key_of_few(room, width), make)

    def operands(self, inputs: Arrays) -> tuple[Any, ...]:
        """The operands of all parts: captured arrays, the whole batch's inputs, and shared values if any."""
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
        """The jitted function that computes the shared values from captured arrays and inputs."""
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
            operands: The operands of all parts, from ``operands``.
            starts: The starts of the parts to run, by number.
            stretch: Receives the outputs: results and, if a part may stop, the reason and the state, packed for
                ``state``.
            executable: The function that runs the only part; None to find it here.
            part_of_pace: Divisor of the usual number of turns.
            most: Largest number of turns; None for no other limit than the pace.
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
        """Run a part in this thread, with 64-bit types on or off as for the program (JAX has that per thread)."""
        try:
            with self.plan.as_typed():
                # As in ``Stretch``.
                stretch.outputs.update(zip([number], starmap(executable, [arguments]), strict=True))
            self.stop(stretch.outputs[number])
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            stretch.outputs.pop(number, None)
            stretch.errors[number] = error

    def begin(self, room: Room, number: int, operands: Arrays) -> list[Any]:
        """The state of a part before its first turn; ``operands`` are from the method ``operands``."""

        def make() -> Callable[..., Any]:
            start = start_of(self.plan.request(self.strategy, self.layout(room)))
            return jax.jit(self.part_of(start))

        key = self._key_of(room, "begin")
        with self.plan.as_typed():
            return list(self.plan.executable(key, make)(np.int32(number), *operands))

    def output(self, room: Room, number: int, operands: Arrays, state: Arrays) -> list[Any]:
        """The results of a part in a given state, in the form in which a stretch returns them."""
        layout = self.layout(room)

        def give(*given: Any) -> list[Any]:
            own, state = given[: -len(layout.slots)], given[-len(layout.slots) :]
            count = len(self.plan.captured)
            last = count + len(self.plan.input_shared)
            shared = own[last:] or Inputs(layout).shared(self.plan.captures, own[:count], own[count:last])
            return [*ending.results(layout, state, shared), ending.stopped(layout, state)]

        def make() -> Callable[..., Any]:
            return jax.jit(self.part_of(give))

        with self.plan.as_typed(), in_no_mesh():
            found = self.plan.executable(self._key_of(room, "output"), make)(np.int32(number), *operands, *state)
            return [*found, *map(jnp.array, state)]  # copies, since a stretch reuses the memory of its arguments

    def _key_of(self, room: Room, what: str) -> Any:
        return (self.threads, self.size, default_device(), self.devices, room, self.stats, what)

    def stop(self, output: Arrays) -> int:
        """Why a part stopped, as a sum of fates, given its output; waits for the part. 0 if all inputs are finished."""
        return int(self._read(output[self.plan.result_arrays]).item(0)) if self.may_stop else 0

    @cached_property
    def _read(self) -> Callable[[Any], Any]:
        """A function that reads a number from a device, even if the user has forbidden implicit transfers."""
        return np.asarray if self.plan.programs.policies.target.is_host else jax.device_get

    def state(self, room: Room, output: Arrays) -> list[Any]:
        """The state in which a part stopped, given what it gave back."""
        return list(output[self.plan.result_arrays + 1 :])

    def status(self, room: Room, output: Arrays) -> Any:
        """The status of each input of a part, given its output."""
        layout, state = self.layout(room), self.state(room, output)
        if not (layout.may_stop or layout.stats):  # it gives back no state, and only ends with all results
            return np.full(layout.inputs, Fate.FINISHED)
        told = fates.told_by(layout)
        slots = {slot: x for slot, x in zip(layout.slots, state, strict=True) if slot in told}
        tell = self.plan.executable(self._key_of(room, "status"), lambda: jax.jit(partial(fates.of_inputs, layout)))
        with in_no_mesh():
            return np.asarray(tell(slots))  # no other slots are read: their arrays may have been donated

    def logged(self, room: Room, number: int, output: Arrays) -> tuple[list[Entry], bool]:
        """The log entries of a part's lanes, with numbers of inputs in the whole batch, and whether a log is full."""
        layout = self.layout(room)
        slots = dict(zip(layout.slots, self.state(room, output), strict=True))
        found = entries(layout.program, slots[LOG], slots[LOGGED])
        inputs = [replace(entry, input=number + self.threads * entry.input) for entry in found]
        is_full = int(np.max(slots[LOGGED])) + layout.most_logged > layout.log_rows
        return [entry for entry in inputs if entry.input < self.size], is_full

    def entry_point(self, room: Room, *, resume: bool = False) -> Callable[..., Any]:
        """The function that runs the whole batch as one part."""
        return entry_point(self.plan, self.size, room, stats=self.stats, resume=resume, spread=self.is_spread)

    def lower(self, room: Room, inputs: Sequence[jax.ShapeDtypeStruct]) -> Any:
        """The module that runs a part, as from ``jax.jit(…).lower``, for inputs of the whole batch given as avals."""
        if self.threads == 1:
            entry: Any = self.entry_point(room)
            return entry.lower(*self.plan.captures.avals, *inputs, *self.turns)
        return self._jitted(room, resume=False).lower(*self._given(inputs))

    def compile(self, room: Room, inputs: Sequence[jax.ShapeDtypeStruct]) -> Callable[..., Any]:
        """The function that runs a part of a divided batch, for inputs of the whole batch given as avals."""
        return self._executable(room, False, self._given(inputs))

    def _given(self, inputs: Sequence[jax.ShapeDtypeStruct]) -> list[Any]:
        """Avals of the arguments of a part of a divided batch."""
        operands = [*self.plan.captures.avals, *inputs]
        if self._shares:
            operands += jax.eval_shape(self._shared_values, *operands)
        return [_number(0), *operands, *self.turns]

    def _executable(self, room: Room, resume: bool, arguments: Arrays) -> Callable[..., Any]:
        """The compiled function; compiled here, as other threads do not have this thread's JAX settings."""
        key = (self.threads, self.size, default_device(), self.devices, room, self.stats, resume)
        return self.plan.executable(key, lambda: self._compiled(room, resume, arguments))

    def _jitted(self, room: Room, *, resume: bool) -> Any:
        """The jitted function that runs a part, given its number and the whole batch."""
        layout = self.layout(room)
        part = partial(self._part, entry_of(self.plan, self.strategy, layout, resume, shared_given=self._shares))
        first = 1 + state_position(self.plan, layout, shared_given=self._shares)
        return jax.jit(part, donate_argnums=donated_of(layout, first) if resume else ())

    def _compiled(self, room: Room, resume: bool, arguments: Arrays) -> Callable[..., Any]:
        lowered, joining = self._jitted(room, resume=resume).lower(*arguments), self._join()
        executable: Callable[..., Any] = together([lowered.compile, joining.compile])[0]
        return executable

    def _join(self) -> Any:
        """The lowered code that joins the parts' results, to be compiled beside the run; JAX keeps it for the call."""
        part = self.plan.result_avals(self.part_size)
        return _joined.lower(self.size, self.plan.summed_results, [part] * self.threads)

    def part_of(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A function of a part's number and the whole batch, made from one of a single part's operands."""
        return partial(self._part, run) if self.threads > 1 else lambda _, *operands: run(*operands)

    def _part(self, run: Callable[..., Any], part: Any, *operands: ArrayLike) -> Any:
        """Run a part, given its number and the whole batch."""
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
        """The arrays of the whole batch, from those of its parts."""
        return list(parts[0] if self.threads == 1 else _joined(self.size, self.plan.summed_results, parts))


def divide(plan: Plan, inputs: Arrays, *, stats: bool = False, keeps_lanes: bool = False) -> Division:
    """Divide a batch among as many threads as pays, or as the user asked for.

    Args:
        plan: The plan to run.
        inputs: Arrays as they are stored, or descriptions with shape, dtype and sharding.
        stats: Whether executions are counted.
        keeps_lanes: Whether few lanes are never run by a program of their own.
    """
    size = plan.batch_size(inputs)
    threads = plan.programs.policies.policy.threads_for(size)
    devices = devices_of(plan, inputs)
    if threads > 1 and (len(devices) > 1 or is_jit_disabled() or any(looked_for())):
        threads = 1  # JAX divides the batch among devices, or `jax.disable_jit` or `jax.debug_nans` is on
    while plan.summed and size % threads:  # an input that is run twice would be summed twice
        threads -= 1
    return Division(plan.divided(threads), size, threads, stats, devices, plan.executables, keeps_lanes)


def _shared_values(plan: Plan) -> Callable[..., list[Any]]:
    """The jitted function that computes the shared values from captured arrays and inputs."""
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
    """An array with the number, already on the device."""
    return jax.device_put(np.int32(number))
