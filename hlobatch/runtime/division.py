"""A batch -> parts of equal size, each a run of its own in a thread of its own.

On a CPU, XLA divides large kernels among the cores; those of small blocks stay on one. Inputs do not depend on each
other, so each core can have some of them, and a loop of its own to run them.

Of n threads, the first has inputs 0, n, 2n, …: inputs often come in the order of their difficulty. All parts are of one
size, so that one executable serves them; where the batch does not divide evenly, the last input is run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import (
    Compilation,
    compiler_options,
    default_device,
    is_jit_disabled,
    is_key,
    looks_for_nans,
    words_of,
)
from hlobatch.lowering import ending
from hlobatch.lowering.inputs import Inputs
from hlobatch.lowering.layout import Layout
from hlobatch.lowering.rows import IN_BOUNDS
from hlobatch.runtime.packing import Packing
from hlobatch.runtime.plan import Executables, Plan, Room
from hlobatch.runtime.primitive import run_p
from hlobatch.runtime.threads import together

Arrays = Sequence[Any]


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
    """

    plan: Plan
    size: int
    threads: int
    stats: bool
    devices: frozenset[Any]
    executables: Executables

    @property
    def part_size(self) -> int:
        """Inputs in a part."""
        return -(-self.size // self.threads)

    def layout(self, room: Room) -> Layout:
        """The state of a part."""
        return _layout(self.plan, self.part_size, room, self.stats, self.is_spread)

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

    def run(self, operands: Arrays, room: Room, states: Mapping[int, Arrays] | None = None) -> list[Arrays]:
        """Run parts, all from the start, or those that have a state from there.

        Args:
            operands: Those of ``operands``.
            room: On their stacks.
            states: By part.

        Returns:
            For each part that ran its results and, if it may have to go on, what stopped it and its state, which
            ``state`` makes of the rest.
        """
        resume = states is not None
        starts = dict.fromkeys(range(self.threads), ()) if states is None else states
        if self.threads == 1:
            return [self.entry_point(room, resume=resume)(*operands, *starts[0])]
        arguments = [(_number(part), *operands, *state) for part, state in starts.items()]
        executable = self._executable(room, resume, arguments[0])
        return together([partial(self._start, executable, each) for each in arguments])

    def _start(self, executable: Callable[..., Any], arguments: Arrays) -> Arrays:
        """Start a part, in any thread: whether 64 bits are allowed JAX keeps for each."""
        with self.plan.as_typed():
            output: Arrays = executable(*arguments)
        return output

    def state(self, room: Room, output: Arrays) -> list[Any]:
        """The state in which a part stopped, given what it gave back."""
        return Packing.of(self.layout(room)).unpack(output[self.plan.result_arrays + 1 :])

    def status(self, room: Room, output: Arrays) -> Any:
        """What became of each input of a part, given what it gave back."""
        return ending.status(self.layout(room), self.state(room, output))

    def entry_point(self, room: Room, *, resume: bool = False) -> Callable[..., Any]:
        """What runs the whole batch in one thread."""
        return entry_point(self.plan, self.size, room, stats=self.stats, resume=resume, spread=self.is_spread)

    def lower(self, room: Room, inputs: Sequence[jax.ShapeDtypeStruct]) -> Any:
        """The module that runs a part, as ``jax.jit(…).lower`` gives it, for what the whole batch's inputs are like."""
        if self.threads == 1:
            return self.entry_point(room).lower(*self.plan.captures.avals, *inputs)  # type: ignore[attr-defined]
        return self._jitted(room, resume=False).lower(*self._given(inputs))

    def compile(self, room: Room, inputs: Sequence[jax.ShapeDtypeStruct]) -> Callable[..., Any]:
        """What runs a part, given what the whole batch's inputs are like; that is divided."""
        return self._executable(room, False, self._given(inputs))

    def _given(self, inputs: Sequence[jax.ShapeDtypeStruct]) -> list[Any]:
        """What a part of a divided batch is given."""
        operands = [*self.plan.captures.avals, *inputs]
        if self._shares:
            operands += jax.eval_shape(self._shared_values, *operands)
        return [_number(0), *operands]

    def _executable(self, room: Room, resume: bool, arguments: Arrays) -> Callable[..., Any]:
        """Compiled here: a thread that starts it need not know under which settings."""
        key = (self.threads, self.size, default_device(), self.devices, room, self.stats, resume)
        return self.plan.executable(key, lambda: self._compiled(room, resume, arguments))

    def _jitted(self, room: Room, *, resume: bool) -> Any:
        """The jitted function of a part's number and the whole batch."""
        layout = self.layout(room)
        part = partial(self._part, _entry(self.plan, layout, resume, shared_given=self._shares))
        return _jitted(part, self.plan, layout, busy=self.threads == self.plan.choice.threads)

    def _compiled(self, room: Room, resume: bool, arguments: Arrays) -> Callable[..., Any]:
        lowered, joining = self._jitted(room, resume=resume).lower(*arguments), self._join()
        executable: Callable[..., Any] = together([lowered.compile, joining.compile])[0]
        return executable

    def _join(self) -> Any:
        """What is needed at the end, to compile it beside the rest: JAX keeps it for when it is called."""
        part = self.plan.result_avals(self.part_size)
        return _joined.lower(self.size, [part] * self.threads)

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
        return list(parts[0] if self.threads == 1 else _joined(self.size, parts))


def divide(plan: Plan, inputs: Arrays, *, stats: bool = False) -> Division:
    """Divide a batch among as many threads as pays, or as the user asked for.

    Args:
        plan: What runs it.
        inputs: Arrays as they are stored, or what they are like and where.
        stats: Whether executions are counted.
    """
    size = plan.batch_size(inputs)
    threads = plan.choice.threads_for(size)
    devices = _devices([*plan.captured, *inputs]) if has_several_devices() else frozenset()
    if threads > 1 and (len(devices) > 1 or is_jit_disabled() or looks_for_nans()):
        threads = 1  # JAX divides it among the devices; or nothing is to be compiled, or to run without JAX
    return Division(plan.divided(threads), size, threads, stats, devices, plan.executables)


def entry_point(
    plan: Plan, size: Any, room: Room, *, stats: bool = False, resume: bool = False, spread: bool = False
) -> Callable[..., Any]:
    """The jitted function of a whole batch of a size that may be symbolic."""

    def make() -> Any:
        layout = _layout(plan, size, room, stats, spread)
        return _jitted(_entry(plan, layout, resume), plan, layout, busy=False)

    return plan.executable((size, room, stats, resume, spread), make)


def _shared_values(plan: Plan) -> Callable[..., list[Any]]:
    """The jitted function of captured arrays and inputs to shared values."""
    count, given = len(plan.captured), Inputs(plan.layout(1, plan.depth))
    return jax.jit(lambda *operands: given.shared(plan.captures, operands[:count], operands[count:]))


def _layout(plan: Plan, size: Any, room: Room, stats: bool, spread: bool) -> Layout:
    alone = jax.default_backend() == "cpu" and not spread
    make = plan.on_one_cpu if alone else plan.layout
    return make(size, room.depth, stats, grows=room.grows)


def _entry(plan: Plan, layout: Layout, resume: bool, *, shared_given: bool = False) -> Callable[..., list[Any]]:
    keep_state = layout.may_stop or layout.stats
    how = {"room": Room(layout.depth, layout.grows), "stats": layout.stats, "one_kernel": layout.one_kernel}
    run = partial(run_p.bind, plan=plan, shared_given=shared_given, resume=resume, keep_state=keep_state, **how)
    count, packing = plan.result_arrays, Packing.of(layout)

    def entry(*operands: Any) -> list[Any]:
        outputs = run(*operands)
        if not keep_state:
            return list(outputs[:count])
        return [*outputs[: count + 1], *packing.pack(outputs[count + 1 :])]

    return entry


def _jitted(function: Callable[..., Any], plan: Plan, layout: Layout, *, busy: bool) -> Any:
    """The function, compiled as the run in it wants to be; ``busy`` says that every core has a run."""
    whole = busy or plan.is_small(layout)
    little_unrolled = not layout.one_kernel or bool(layout.lane_axis)
    how = Compilation(whole, layout.one_kernel, little_unrolled)
    return jax.jit(function, compiler_options=compiler_options(jax.default_backend(), how))


@partial(jax.jit, static_argnums=0)
def _joined(size: int, parts: Sequence[Arrays]) -> list[Any]:
    leaves = [jnp.stack(each, axis=1) for each in zip(*parts, strict=True)]
    return [x.reshape((-1, *x.shape[2:]))[:size] for x in leaves]


@cache
def _number(part: int) -> Any:
    """The number of a part as an array that is on the device already."""
    return jax.device_put(np.int32(part))


@cache
def has_several_devices() -> bool:
    """Whether arrays can be in different places."""
    return jax.device_count() > 1


def placed_like(aval: jax.ShapeDtypeStruct, array: Any) -> jax.ShapeDtypeStruct:
    """What an array as it is stored is like, and where it is to be: where one was put on purpose."""
    if isinstance(array, jax.Array) and is_key(array):
        array = words_of(array)
    place = getattr(array, "sharding", None) if getattr(array, "committed", True) else None
    return aval if place is None else jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=place)


def _devices(operands: Arrays) -> frozenset[Any]:
    """Where the arrays are, or will be, that are somewhere."""
    places = (getattr(x, "sharding", None) for x in operands)
    return frozenset().union(*(place.device_set for place in places if place is not None))
