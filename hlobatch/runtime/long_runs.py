"""Runs that can be paused: the state between two calls is a pytree of arrays, which can be saved to a file.

A run outside of other computations goes in stretches, with the state of XLA's loop between two of them. Here the user
holds that state.

Invariant: a run gives the same bits, however often it is paused, and in whichever process it goes on.
"""

from __future__ import annotations

import copy
import hashlib
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final, Self

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, looked_for, not_looking
from hlobatch.diagnostics import HloBatchError, Interrupted, StateError
from hlobatch.ir.physical import physical
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.runtime import nans
from hlobatch.runtime.arguments import Call
from hlobatch.runtime.callers import caller
from hlobatch.runtime.course import Course, Part
from hlobatch.runtime.division import Division, divide
from hlobatch.runtime.execute import execute
from hlobatch.runtime.plan import Plan, Room
from hlobatch.runtime.primitive import run_p
from hlobatch.runtime.watch import Watch

NamedArrays = dict[str, Any]

_DAMAGED: Final = "save it again, or begin a new run with start(…)."

PROGRAM: Final = "program"
"""Name of the array that identifies the program of a state: a digest, ``u8[32]``."""
INPUT: Final = "input"
"""Prefix of the names of argument arrays; names of the lanes' arrays begin with the number of their part."""
GIVEN_UP: Final = "given up"
"""Suffix of an array that is present, with no further meaning, if a part's stacks cannot grow any more."""


@dataclass(frozen=True)
class Kind:
    """The properties that all states of a run have in common, and that are not arrays.

    Attributes:
        plan: The plan to run.
        call: The call that began the run, without its arrays.
        threads: Number of parts of the batch.
    """

    plan: Plan
    call: Call
    threads: int

    @property
    def size(self) -> int:
        """Number of inputs in the batch."""
        return int(self.call.size)

    @property
    def is_left(self) -> bool:
        """Whether the run can be paused; a run without a loop is done by ``finish`` as a whole."""
        return bool(self.size) and self.plan.may_be_endless

    @cached_property
    def input_avals(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the arguments as they are stored."""
        leaves = [physical(t) for type_ in self.plan.in_types for t in type_.tensor_leaves]
        batches = (() if shared else (self.size,) for shared in self.plan.input_shared)
        return [jax.ShapeDtypeStruct((*b, *t.shape), t.dtype) for b, t in zip(batches, leaves, strict=True)]

    def foreign(self) -> StateError:
        """The error for a state that does not belong to this run."""
        return StateError(
            f"the state is none of this run of {self.plan.name!r}: it is of another function or other arguments, or "
            "the function has changed since, or it was divided among another number of threads, or hlobatch or JAX has "
            "another version",
            caller(),
            help="begin a new run with start(…); threads= says how a batch is divided.",
        )


@jax.tree_util.register_pytree_with_keys_class
class RunState:
    """The state of a run that was begun with ``f.start``: a pytree whose leaves are arrays, and nothing else.

    Attributes:
        kind: The properties that all states of the run have in common.
        arrays: By name, all arrays that are needed to go on, here or in another process: the arguments, the state
            of the lanes, the results so far, and a digest of the program.

    Examples:
        >>> import hlobatch as hb, jax.numpy as jnp, numpy as np, io
        >>> @hb.batch
        ... def halvings(n):
        ...     count = 0
        ...     while n > 1:
        ...         n, count = n // 2, count + 1
        ...     return count
        >>> n = jnp.array([1, 9, 1000])
        >>> state = halvings.advance(halvings.start(n), 2)
        >>> file = io.BytesIO()
        >>> np.savez(file, **state.arrays)
        >>> _ = file.seek(0)
        >>> state = halvings.start(n).with_arrays(np.load(file))  # in any process
        >>> halvings.finish(state).tolist()
        [0, 3, 9]
    """

    def __init__(self, kind: Kind, arrays: NamedArrays) -> None:
        self.kind = kind
        self.arrays = arrays

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], Any]:
        """The arrays with their names, and the static data."""
        names = tuple(sorted(self.arrays))
        return [(jax.tree_util.DictKey(name), self.arrays[name]) for name in names], (self.kind, names)

    @classmethod
    def tree_unflatten(cls, static: tuple[Kind, tuple[str, ...]], leaves: Sequence[Any]) -> Self:
        """The state with the given static data and arrays."""
        kind, names = static
        return cls(kind, dict(zip(names, leaves, strict=True)))

    def __repr__(self) -> str:
        name = f"hlobatch.RunState of {self.kind.plan.name!r}"
        if any(not hasattr(array, "__array__") or is_tracer(array) for array in self.arrays.values()):
            return f"<{name}>"
        return f"<{name}: {self.done:,} of {self.size:,} inputs done>"

    def __copy__(self) -> RunState:
        return RunState(self.kind, dict(self.arrays))

    def __deepcopy__(self, memo: Any) -> RunState:
        return RunState(self.kind, copy.deepcopy(self.arrays, memo))

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            "the program of a RunState cannot be pickled: keep its arrays, as with np.savez(file, **state.arrays), and "
            "go on from f.start(…).with_arrays(np.load(file))"
        )

    @property
    def size(self) -> int:
        """Number of inputs in the batch."""
        return self.kind.size

    @property
    def done(self) -> int:
        """Number of inputs that have ended, with a result or without; all inputs of a program without loops."""
        return standing(self).done if self.kind.is_left else self.size

    @property
    def is_done(self) -> bool:
        """Whether only ``finish`` is left to do: each input has ended, or waits for memory that cannot be had."""
        return not self.kind.is_left or standing(self).is_over

    def with_arrays(self, arrays: Mapping[str, Any]) -> RunState:
        """The state with other arrays: those of another state of the same run, such as ``np.load`` gives.

        Args:
            arrays: By name, as in the other state's ``arrays``.

        Raises:
            StateError: They are of another program, or of another version of hlobatch or JAX, or are damaged.
        """
        try:
            given = {name: arrays[name] for name in arrays}
        except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise StateError(f"the file of a state is damaged: {error}", caller(), help=_DAMAGED) from error
        if not all(hasattr(array, "shape") and hasattr(array, "dtype") for array in given.values()):
            raise self.kind.foreign()
        avals = _Layouts(self.kind, given).avals
        found = {name: _as_it_was(array, avals.get(name)) for name, array in given.items()}
        state = RunState(self.kind, found)
        check(state)
        _check_places(state)
        return state


def start(plan: Plan, call: Call) -> RunState:
    """The state of a run before its first turn."""
    with plan.as_typed(), not_looking():
        inputs = [jnp.asarray(x) for x in call.physical()]
    threads = divide(plan, inputs).threads if call.size else 1
    kind = Kind(plan, replace(call, arrays=(), axes=()), threads)
    arrays = {PROGRAM: digest_of(kind), **{f"{INPUT}:{i}": x for i, x in enumerate(inputs)}}
    layouts, room = _Layouts(kind, arrays), Room(plan.declared_depth)
    operands = layouts.division.operands(inputs) if kind.is_left else ()
    for number in layouts.parts:
        arrays |= layouts.named(number, room, layouts.division.begin(room, number, operands))
    return RunState(kind, arrays)


def advance(state: RunState, turns: Any) -> RunState:
    """The state after at most ``turns`` more turns of the loop."""
    check(state)
    if not state.kind.is_left:
        return state
    if any(map(is_tracer, [*state.arrays.values(), turns])):
        return _within(state, turns)
    course = standing(state)
    try:
        course.go_on(int(turns))
    except Interrupted as error:
        error.state = _left(state, course)
        raise
    return _left(state, course)


def finish(state: RunState) -> list[Any]:
    """The results of a run, as they are stored; the run goes on to its end first.

    Raises:
        LaneError: Some inputs have no result.
        HloBatchError: It is part of a computation that JAX is tracing.
    """
    check(state)
    kind = state.kind
    if any(map(is_tracer, state.arrays.values())):
        raise HloBatchError("finish cannot be traced", caller(), help="call it outside jax.jit.")
    if not kind.is_left:
        return execute(kind.plan, _Layouts(kind, state.arrays).inputs).results
    with not_looking():
        course = standing(state)
        course.watch = Watch.of(kind.plan, kind.size)
        try:
            with course.emission:
                course.finish()
        except Interrupted as error:
            error.state = _left(state, course)
            raise
    if any(looked_for()):
        nans.check(kind.plan, _Layouts(kind, state.arrays).inputs, course.results)
    return course.results


def check(state: RunState) -> None:
    """Check that a state belongs to its run.

    Raises:
        StateError: It does not.
    """
    kind, arrays = state.kind, state.arrays
    avals = _Layouts(kind, arrays).avals
    kinds = {name: (tuple(array.shape), array.dtype) for name, array in arrays.items()}
    if kinds != {name: (aval.shape, aval.dtype) for name, aval in avals.items()}:
        raise kind.foreign()
    if not is_tracer(arrays[PROGRAM]) and bytes(np.asarray(arrays[PROGRAM])) != digest_of(kind).tobytes():
        raise kind.foreign()


def _check_places(state: RunState) -> None:
    """Check that a state's places of blocks, frames and inputs exist: a run would read memory at others, or not end.

    Raises:
        StateError: Some do not.
    """
    layouts = _Layouts(state.kind, state.arrays)
    for number in layouts.parts:
        for slot, (least, most) in layouts.division.layout(layouts.room(number)).places.items():
            array = state.arrays[f"{number}:{slot}"]
            if not is_tracer(array) and np.size(array) and not least <= np.min(array) <= np.max(array) <= most:
                raise StateError(
                    f"the state is damaged: its array {slot!r} of part {number} has numbers that are not from {least} "
                    f"to {most}",
                    caller(),
                    help=_DAMAGED,
                )


def standing(state: RunState) -> Course:
    """The course of a run, in the given state."""
    layouts = _Layouts(state.kind, state.arrays)
    division = layouts.division
    operands, parts = division.operands(layouts.inputs), {}
    for number in layouts.parts:
        room, slots = layouts.room(number), layouts.slots(number)
        output = division.output(room, number, operands, slots)
        parts[number] = Part(room, output, division.stop(output))
    return Course(division, operands, parts)


def digest_of(kind: Kind) -> np.ndarray[Any, Any]:
    """A digest of a run's program, ``u8[32]``: of its module and of the arrays that it captures."""

    def made() -> Any:
        found = hashlib.sha256(f"{jax.__version__} {kind.size} {kind.threads}".encode())
        if kind.size:
            plan = kind.plan.divided(kind.threads)
            strategy = plan.strategy(-(-kind.size // kind.threads))
            layout = plan.layout_here(strategy, plan.declared_depth, stretches=plan.may_be_endless)
            found.update(str(to_stablehlo(plan.request(strategy, layout, resume=True))).encode())
        for array in () if kind.plan.captures.are_traced else kind.plan.captured:
            found.update(np.ascontiguousarray(array).tobytes())
        return np.frombuffer(found.digest(), np.uint8)

    digest: Any = kind.plan.executable(("digest", kind.size, kind.threads), made)
    return np.asarray(digest)


def _within(state: RunState, turns: Any) -> RunState:
    """The state after more turns, as part of a computation that JAX is tracing, where stacks cannot grow."""
    layouts = _Layouts(state.kind, state.arrays)
    division, arrays = layouts.division, _given(state)
    for number in layouts.parts:
        room = layouts.room(number)
        how: Any = {"room": room, "resume": True, "keep_state": True, "shared_given": False, "stats": False}
        run = division.part_of(partial(run_p.bind, plan=division.plan, strategy=division.strategy, **how))
        given = (*division.plan.captured, *layouts.inputs, *layouts.slots(number), jnp.asarray(turns, jnp.int32))
        outputs = run(jnp.int32(number), *given)
        arrays |= layouts.named(number, room, outputs[state.kind.plan.result_arrays + 1 :])
    return RunState(state.kind, arrays)


def _given(state: RunState) -> NamedArrays:
    """The arrays that are the same in all states of a run."""
    return {name: array for name, array in state.arrays.items() if name == PROGRAM or name.startswith(INPUT)}


def _left(state: RunState, course: Course) -> RunState:
    """The state of a paused run."""
    layouts, arrays = _Layouts(state.kind, state.arrays), _given(state)
    for number, part in course.parts.items():
        arrays |= layouts.named(number, part.room, course.division.state(part.room, part.output))
    return RunState(state.kind, arrays)


def _as_it_was(array: Any, aval: jax.ShapeDtypeStruct | None) -> Any:
    """An array with its dtype restored, if a file has it as bytes because NumPy does not know the dtype."""
    if aval is None or np.dtype(array.dtype).kind != "V" or np.dtype(array.dtype).itemsize != aval.dtype.itemsize:
        return array
    return np.asarray(array).view(aval.dtype)


@dataclass(frozen=True)
class _Layouts:
    """Maps the arrays of a state, by name, to parts and slots.

    Attributes:
        kind: The kind of the state.
        arrays: Its arrays; they may be of another run, or lack some.
    """

    kind: Kind
    arrays: NamedArrays

    @property
    def parts(self) -> range:
        return range(self.kind.threads if self.kind.is_left else 0)

    @property
    def inputs(self) -> list[Any]:
        """The arguments as they are stored."""
        return [self.arrays[f"{INPUT}:{i}"] for i in range(len(self.kind.input_avals))]

    @cached_property
    def division(self) -> Division:
        """The division of the batch."""
        found = divide(self.kind.plan, self.kind.input_avals, keeps_lanes=True)
        return found if found.threads == self.kind.threads else replace(found, threads=self.kind.threads)

    def room(self, number: int) -> Room:
        """The stack depth of a part."""
        layout, grows = self.division.layout(Room(1)), f"{number}:{GIVEN_UP}" not in self.arrays
        for v in layout.stacked:
            array = self.arrays.get(f"{number}:{[*layout.frames(v), ''][0]}")
            if array is not None:
                return Room(max(1, (array.shape[0] - 1) // layout.depth_of(layout.calls.pointers[v])), grows)
        return Room(self.kind.plan.declared_depth, grows)

    def slots(self, number: int) -> list[Any]:
        """The state of a part, in the order of its layout."""
        return [self.arrays[f"{number}:{slot}"] for slot in self.division.layout(self.room(number)).slots]

    def named(self, number: int, room: Room, slots: Sequence[Any]) -> NamedArrays:
        """The state of a part, by name."""
        layout = self.division.layout(room)
        named = {f"{number}:{slot}": array for slot, array in zip(layout.slots, slots, strict=True)}
        return named if room.grows else {**named, f"{number}:{GIVEN_UP}": np.zeros(1, np.int32)}

    @cached_property
    def avals(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the arrays of a state with these stack depths."""
        found = {PROGRAM: jax.ShapeDtypeStruct((32,), np.dtype(np.uint8))}
        found |= {f"{INPUT}:{i}": aval for i, aval in enumerate(self.kind.input_avals)}
        for number in self.parts:
            room = self.room(number)
            found |= self.named(number, room, list(self.division.layout(room).slots.values()))
        return found
