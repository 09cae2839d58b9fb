"""``hb.batch``: a single-example Python function as a function of a batch."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, Self, TypedDict, TypeVar, Unpack, overload

import jax
import numpy as np

from hlobatch._jax import is_at_once, is_tracer, is_tracing, looked_for, tracing_context
from hlobatch.analysis.surroundings import UNCHANGING
from hlobatch.analysis.tracing import is_one_lane
from hlobatch.console import Progress
from hlobatch.diagnostics import (
    BatchTypeError,
    HloBatchError,
    MemoryLimitError,
    UnsupportedSyntaxError,
    hiding_internal_frames,
    shown,
)
from hlobatch.frontend.asked import Lowered
from hlobatch.frontend.by_reference.plans import with_containers
from hlobatch.frontend.callees import BATCH_MARK, SYNC_MARK
from hlobatch.frontend.files import lines_of
from hlobatch.frontend.held_objects import candidates
from hlobatch.frontend.source import plain_function, read_source
from hlobatch.frontend.to_program import program_and_facts
from hlobatch.gradients.inner import with_inner_gradients
from hlobatch.ir.program import Program
from hlobatch.ir.types import Static
from hlobatch.runtime import long_runs
from hlobatch.runtime.arguments import Binder, Call
from hlobatch.runtime.callers import caller, is_in_function_with_derivative
from hlobatch.runtime.execute import Outcome, execute, trace
from hlobatch.runtime.foreign_options import refused
from hlobatch.runtime.garbage import seldom_collected
from hlobatch.runtime.kept import Kept, Made
from hlobatch.runtime.kinds_of_calls import UNKNOWN
from hlobatch.runtime.long_runs import RunState
from hlobatch.runtime.pickling import reduced, restore
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.room import MORE_ROOM, fits, holds_containers, is_outgrown
from hlobatch.runtime.stats import RunStats
from hlobatch.runtime.watch import going_on
from hlobatch.stages import Traced
from hlobatch.strategy.options import Options, is_int
from hlobatch.transforms.attempts import Lessons
from hlobatch.transforms.learning import learned_program
from hlobatch.transforms.optimizations import ALL, Optimizations
from hlobatch.typing import Axes, Function, PyTree
from hlobatch.values.facts import Facts

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
_disabled: contextvars.ContextVar[bool] = contextvars.ContextVar("hlobatch_disabled", default=False)


@contextlib.contextmanager
def disable_batching() -> Iterator[None]:
    """A context in which batched functions run as plain Python, on one example.

    Examples:
        >>> import hlobatch as hb
        >>> @hb.batch
        ... def double(x):
        ...     return x + x
        >>> with hb.disable_batching():
        ...     double(3)
        6
    """
    token = _disabled.set(True)
    try:
        yield
    finally:
        _disabled.reset(token)


def is_batching_disabled() -> bool:
    """Whether batched functions run as plain Python."""
    return _disabled.get()


def truthy(value: Any) -> Any:
    """Return a condition unchanged, for programs written for TFP's ``auto_batching``.

    Args:
        value: A scalar, as conditions are in batched code; or, in a dry run, an array of one element.

    Returns:
        The scalar, unchanged; the array's element as a Python bool.
    """
    if is_tracer(value) or np.ndim(value) == 0:
        return value
    return bool(np.asarray(value).reshape(()))


def sync() -> None:
    """Mark a point at which it is worth waiting for other lanes.

    Lanes gather here before the code that follows runs, under any schedule that chooses among blocks. Results are the
    same with it and without.

    Examples:
        >>> import hlobatch as hb, jax.numpy as jnp
        >>> @hb.batch
        ... def roots(x, n):
        ...     while n > 0:
        ...         hb.sync()
        ...         x = jnp.sqrt(x)
        ...         n -= 1
        ...     return x
        >>> roots(jnp.array([16.0, 81.0]), jnp.array([2, 1])).tolist()
        [2.0, 9.0]
    """


setattr(sync, SYNC_MARK, True)


@dataclass(eq=False)
class BatchedFunction(Generic[P, R]):
    """A function whose arguments and results have a batch axis; made by ``hb.batch``, which documents the options.

    Attributes:
        function: The function of one example.
        in_axes: The batch axis of each argument, as for ``jax.vmap``; None shares an argument between all lanes.
        static: Names of the parameters that are Python objects, known when the program is built.
        type_inference: A callable that returns the result's type, to be checked against the inferred type; or None.
        options: Options for how the function runs.
        follow: Whether functions without a decorator that branch on values that differ between lanes become parts of
            the program.
        checked: Whether operations raise in their lane what Python raises, where JAX gives a value.
    """

    function: Callable[P, R]
    in_axes: Axes = 0
    static: frozenset[str] = frozenset()
    type_inference: Function | None = None
    options: Options = field(default_factory=Options)
    follow: bool = True
    checked: bool = False
    _kept: Kept = field(default_factory=Kept, repr=False)
    _kept_with: dict[Any, Kept] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.function, updated=())
        if isinstance(self.function, types.FunctionType):
            lines_of(self.function)  # read the source now: the file may change before the first call

    def __repr__(self) -> str:
        return f"<hlobatch.BatchedFunction {getattr(self.function, '__qualname__', self.function)}>"

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: BatchedFunction[Concatenate[S, Q], R], instance: S, owner: type | None = None
    ) -> BoundFunction[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The function as a method of an object, which becomes its first argument."""
        return self if instance is None else BoundFunction(self, instance)

    def __deepcopy__(self, memo: Any) -> Self:
        """The function itself: like Python's own functions, it does not change."""
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """The name to import the function by, as for Python's own functions; else its parts."""
        return reduced(self, {name: getattr(self, name) for name in _PARTS})

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        restore(self, state)

    @property
    def __hlobatch_function__(self) -> Callable[..., Any]:
        return self.function

    @property
    def __hlobatch_type_inference__(self) -> Callable[..., Any] | None:
        return self.type_inference

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function on a batch.

        Args:
            *args: The arguments, each a pytree of arrays ``[batch, *event]``, or with the batch axis that ``in_axes``
                names. All have one batch size.
            **kwargs: Arguments by keyword.

        Returns:
            The function's result for each example: a pytree of arrays ``[batch, *event]``, and a ``Ragged`` for each
            list, set or dict whose length differs between examples.

        Raises:
            BatchTypeError: The arguments do not fit together, or do not fit the code.
            UndefinedVariableError: A variable may be read before it has a value.
            UnsupportedSyntaxError: The code has a construct that is not supported.
            KernelError: ``dispatch="kernel"`` was asked for, and the program has no kernel.
            LaneError: Some inputs raised an exception; the results of all others are in the error.
            StepLimitError: Some inputs used up ``max_steps``; the results of all others are in the error.
            StackOverflowError: Some inputs need more stack than there can be; the results of all others are in the
                error.
            TimeLimitError: ``timeout`` was reached; the results so far are in the error.
            Interrupted: The user pressed Ctrl-C; the results so far are in the error.
        """
        error: HloBatchError
        try:  # a decorator would make a prepared call a fifth slower
            made = self._kept.latest
            if is_at_once() and not _disabled.get() and made.is_current():
                result = made.shortcuts.of_latest(args, kwargs)
                if result is UNKNOWN:
                    result = made.shortcuts.of_types(args, kwargs)
                if result is not UNKNOWN:
                    return result  # type: ignore[no-any-return]  # R, by the function's annotation
            return self._call(args, kwargs)  # type: ignore[no-any-return]
        except HloBatchError as wrong:
            if not is_outgrown(wrong):
                raise shown(wrong)  # noqa: B904  # it is the same error, with the cause it has
            error = wrong
        except (RuntimeError, ValueError, FloatingPointError):
            self._explain(args, kwargs)
            raise
        plan, outcome = self._with_more_room(args, kwargs, error)
        return plan.result(outcome.results)  # type: ignore[no-any-return]

    @hiding_internal_frames
    def _with_more_room(
        self, args: Any, kwargs: Any, error: HloBatchError, *, stats: bool = False
    ) -> tuple[Plan, Outcome]:
        """Run a call again whose containers were full, with more capacity, where the user has set none.

        This also works while a derivative is taken if values are concrete, as in ``jax.grad`` outside of ``jax.jit``.

        Raises:
            CapacityError: There is no memory for more.
        """
        call, plan = self._planned(args, kwargs)
        if plan.has_effects:  # a second run would repeat the effects
            raise error
        key, times, made = self._key(call), 1, self._made(call)
        while True:
            times = max(made.rooms.get(key, 1), times) * MORE_ROOM
            plan = self._plan(call, times)
            if not fits(plan, call.size):
                raise error
            try:
                if is_tracing():
                    outcome = Outcome(trace(plan, call.physical()))
                else:
                    with going_on():
                        outcome = execute(plan, call.physical(), stats=stats)
            except MemoryLimitError:
                raise error from None
            except HloBatchError as wrong:
                if not is_outgrown(wrong):
                    raise
                error = wrong
            else:
                made.rooms[key] = times
                made.shortcuts.forget()
                return plan, outcome

    @hiding_internal_frames
    def _explain(self, args: Any, kwargs: Any) -> None:
        """Raise an error of hlobatch for a prepared call that failed, in which less is checked than in a first call."""
        if is_tracing() or _disabled.get():
            return
        call, plan = self._planned(args, kwargs)
        if any(looked_for()):
            execute(plan, call.physical())

    def _call(self, args: Any, kwargs: Any) -> PyTree:
        """Call the function: as plain Python, as part of a JAX trace, by a shortcut, or on a batch."""
        if _disabled.get():
            return self.function(*args, **kwargs)
        if is_tracing():
            call, plan = self._planned(args, kwargs)
            return plan.result(trace(plan, call.physical()))
        shortcuts = self._kept.find([self.function]).shortcuts
        result = shortcuts.looked_up(args, kwargs)
        if result is not UNKNOWN:
            return result
        call = self._bind(args, kwargs)
        plan = self._plan_with_room(call)
        results = execute(plan, call.physical()).results
        shortcuts.remember(args, kwargs, call, plan, self._binder)
        return plan.result(results)

    @hiding_internal_frames
    def with_stats(self, *args: P.args, **kwargs: P.kwargs) -> tuple[R, RunStats]:
        """Run the function on a batch, and count executions of blocks.

        Args:
            *args: As for a call.
            **kwargs: As for a call.

        Returns:
            The result, and the number of executions of each block and of the lanes that it served.

        Raises:
            HloBatchError: It is called inside a JAX transformation; also any error of a call.
        """
        if is_tracing():
            raise HloBatchError("with_stats cannot be traced", caller(), help="call it outside jax.jit.")
        call = self._bind(args, kwargs)
        plan = self._plan_with_room(call)
        try:
            outcome = execute(plan, call.physical(), stats=True)
        except HloBatchError as wrong:
            if not is_outgrown(wrong):
                raise
            plan, outcome = self._with_more_room(args, kwargs, wrong, stats=True)
        assert outcome.stats is not None
        return plan.result(outcome.results), outcome.stats

    @hiding_internal_frames
    def trace(self, *args: PyTree, **kwargs: PyTree) -> Traced:
        """Build the program for arguments of given types, without running it.

        Args:
            *args: As for a call: arrays or ``jax.ShapeDtypeStruct`` with the batch axis, and static arguments.
            **kwargs: As for a call.

        Returns:
            The program, which can be printed and lowered.

        Raises:
            HloBatchError: Any error of a call that is about the code or the types.
        """
        call, plan = self._planned(args, kwargs, abstract=True)
        return Traced(plan, call, self._bind)

    @hiding_internal_frames
    def start(self, *args: P.args, **kwargs: P.kwargs) -> RunState:
        """Begin a run that can be paused, saved to a file, and resumed: its state before the first turn.

        Such a run uses XLA's loop over all lanes, even where a call would not, and gives the same bits however often it
        is paused.

        Args:
            *args: As for a call.
            **kwargs: As for a call.

        Returns:
            The state, a pytree of arrays. Inside ``jax.jit`` it is traced.

        Raises:
            HloBatchError: Any error of a call that is about the code or the types.
        """
        call, plan = self._planned(args, kwargs)
        return long_runs.start(plan, call)

    @hiding_internal_frames
    def advance(self, state: RunState, steps: int) -> RunState:
        """Resume a run, and pause it again.

        Args:
            state: A state of a run of this function. It is not changed, and can be resumed again.
            steps: Largest number of turns of the loop; a turn runs a block, or all blocks, for the lanes that wait
                there. A run that cannot be endless goes to its end. Inside ``jax.jit`` this may be traced, and stacks
                do not grow.

        Returns:
            The new state. ``state.done`` is the number of inputs that have ended, ``state.is_done`` whether all have.

        Raises:
            StateError: The state is of another function, or values that the function reads from outside have changed
                since.
            ValueError: ``steps`` is negative, or not an int.
            Interrupted: The user pressed Ctrl-C; the state so far is in ``state`` of the exception.
        """
        if not (is_tracer(steps) or (is_int(steps) and steps >= 0)):
            raise ValueError(f"steps is an int that is not negative, not {steps!r}")
        self._check_own(state)
        return long_runs.advance(state, steps)

    @hiding_internal_frames
    def finish(self, state: RunState) -> R:
        """Resume a run, and go on to its end.

        Args:
            state: A state of a run of this function. It is not changed.

        Returns:
            The result, as of a call.

        Raises:
            StateError: The state is of another function, or values that the function reads from outside have changed
                since.
            HloBatchError: Any other error of a call, such as ``LaneError`` with the results of all other inputs.
            Interrupted: The user pressed Ctrl-C; the state so far is in ``state`` of the exception.
        """
        self._check_own(state)
        return state.kind.plan.result(long_runs.finish(state))  # type: ignore[no-any-return]

    def _check_own(self, state: RunState) -> None:
        """Check that a state is of a run of this function, and that values read from outside are unchanged."""
        if not isinstance(state, RunState):
            raise TypeError(f"a state is what start(…) of {self._binder.name!r} gives, not {state!r}")
        plans = self._made(state.kind.call).plans.values()
        if not any(state.kind.plan is plan for plan in plans):
            raise state.kind.foreign()

    @property
    def signature(self) -> inspect.Signature:
        """The signature of the function."""
        return self._binder.signature

    def _bind(self, args: Any, kwargs: Any, *, abstract: bool = False) -> Call:
        return self._binder.bind(args, kwargs, abstract=abstract)

    @cached_property
    def _binder(self) -> Binder:
        try:
            source = read_source(plain_function(self.function))
        except HloBatchError as error:
            raise error.at(caller()) from None
        names = list(source.signature.parameters)
        unknown = sorted(self.static - set(names))
        if unknown:
            raise BatchTypeError(
                f"static_argnames names {unknown[0]!r}, which is no parameter of {source.node.name}()",
                source.definition,
                help=f"its parameters are {source.signature}.",
            )
        return Binder(source.node.name, source.signature, self.in_axes, self.static, source.definition, caller)

    def _planned(self, args: Any, kwargs: Any, *, abstract: bool = False) -> tuple[Call, Plan]:
        if is_one_lane():
            raise _unseen_call(self)
        call = self._bind(args, kwargs, abstract=abstract)
        return call, self._plan_with_room(call)

    def _plan_with_room(self, call: Call) -> Plan:
        """The plan with the capacity of containers that calls of this kind have needed so far."""
        made = self._made(call)
        return self._plan(call, made.rooms.get(self._key(call), 1) if made.rooms else 1)

    def _made(self, call: Call) -> Made:
        """Everything that was made for the function while values read from outside were as they are now."""
        return self._found(call)[0]

    def _found(self, call: Call) -> tuple[Made, list[Any]]:
        """The result of ``_made``, and the roots of the values that are read: the function and static objects."""
        given = [leaf.value for _, type_ in call.types for leaf in type_.leaves if isinstance(leaf, Static)]
        objects = [value for value in given if not isinstance(value, UNCHANGING)]
        kept = self._kept_with.setdefault(call.key, Kept()) if objects else self._kept
        values = [self.function, *objects]
        return kept.find(values), values

    def _program(self, defaults: Collection[str], known: Lowered, facts: Facts) -> tuple[Program, Facts]:
        """The untyped program and its facts, made anew each time, as its names may refer to something else."""
        try:
            return program_and_facts(
                self.function,
                self.type_inference,
                facts,
                follow=self.follow,
                checked=self.checked,
                defaults=defaults,
                known=known,
            )
        except HloBatchError as error:
            raise error.at(caller()) from None

    def _key(self, call: Call) -> Any:
        """The key of calls that run the same program, except for the capacity of containers."""
        return (*call.key, tracing_context())

    def _plan(self, call: Call, room: int = 1) -> Plan:
        """The plan for a call, made once for equal types, statics, shared inputs and JAX settings.

        Args:
            call: The call.
            room: Factor on the initial capacity of containers; more than 1 once they were full.
        """
        kind = self._key(call)
        key = (*kind, room) if room > 1 else kind
        made, values = self._found(call)
        if key not in made.plans:
            with seldom_collected(), jax.check_tracer_leaks(False):  # which hlobatch finds itself
                plan, lessons = self._new_plan(call, room, made.lessons.get(kind) or Lessons())
                are_traced = plan.captures_tracers
            if are_traced:
                return plan
            made.add(key, plan, values)
            if holds_containers(plan):
                made.lessons[kind] = lessons
        return made.plans[key]

    def _new_plan(self, call: Call, room: int, lessons: Lessons) -> tuple[Plan, Lessons]:
        """The plan for a call, with the programs that each plan needs, and what making them has taught."""
        types = {f"main.{name}": type_ for name, type_ in call.types}
        writes_out = self.options.optimizations.write_out_loops
        program = functools.partial(self._program, call.defaults, lessons.lowered)
        specialized, lessons = learned_program(
            program,
            types,
            lessons,
            writes_out=writes_out,
            room=room,
            can_be_held=functools.partial(candidates, self.function) if self.follow else lambda: None,
            by_reference=functools.partial(with_containers, self.function) if self.follow else lambda _: None,
        )
        how = {"checkpoint_loops": self.options.checkpoint_loops}
        specialized = with_inner_gradients(specialized, self.options.optimizations, **how)
        shared = frozenset(f"main.{name}" for name in call.shared)
        return Plan(self._binder.name, specialized, shared, self.options), lessons


_PARTS: Final = ("function", "in_axes", "static", "type_inference", "options", "follow", "checked")
"""The fields that a batched function is made from, and pickled as."""


@dataclass(frozen=True, eq=False)
class BoundFunction(Generic[Q, R]):
    """A batched function as a method of an object, which is the first argument of each call.

    Attributes:
        __func__: The function.
        __self__: The object.
    """

    __func__: BatchedFunction[..., R]
    __self__: Any

    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> R:
        """Run the function on a batch, as ``BatchedFunction.__call__`` does."""
        return self.__func__(self.__self__, *args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return BoundFunction, (self.__func__, self.__self__)

    def with_stats(self, *args: Q.args, **kwargs: Q.kwargs) -> tuple[R, RunStats]:
        """Run the function on a batch, and count what ran, as ``BatchedFunction.with_stats`` does."""
        return self.__func__.with_stats(self.__self__, *args, **kwargs)

    def start(self, *args: Q.args, **kwargs: Q.kwargs) -> RunState:
        """Begin a run that can be paused, as ``BatchedFunction.start`` does."""
        return self.__func__.start(self.__self__, *args, **kwargs)

    def trace(self, *args: PyTree, **kwargs: PyTree) -> Traced:
        """Build the program, as ``BatchedFunction.trace`` does.

        The compiled function takes its arguments like this method, without the object.
        """
        traced = self.__func__.trace(self.__self__, *args, **kwargs)
        return replace(traced, bind=lambda args, kwargs: traced.bind((self.__self__, *args), kwargs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundFunction) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    @property
    def _parts(self) -> tuple[int, int]:
        return id(self.__func__), id(self.__self__)


class Decorator(Protocol):
    """The type of ``hb.batch`` with options: a decorator."""

    def __call__(self, fun: Callable[P, R], /) -> BatchedFunction[P, R]:
        """The batched function."""


def _unseen_call(called: BatchedFunction[..., Any]) -> UnsupportedSyntaxError:
    """The error for a call in straight-line code: there an array's first axis is no batch, but belongs to the lane."""
    if is_in_function_with_derivative():
        return UnsupportedSyntaxError(
            f"{called.function.__name__!r} is batched, and a function with a derivative of its own (jax.custom_jvp or "
            "jax.custom_vjp) calls it in a lane, where JAX traces such functions by itself",
            help="leave out that derivative: it is taken through the loops and calls of batched functions; or write "
            "the loop with jax.lax.while_loop and no @hb.batch, and it may have a derivative of its own.",
        )
    return UnsupportedSyntaxError(
        f"{called.function.__name__!r} is batched, but this call of it cannot be seen when the program is built",
        help="call it with no jax.jit or jax.vmap around it, in code of yours, which is followed; where it is not, "
        "decorate the function that calls it with @hb.batch.",
    )


class BatchOptions(TypedDict, total=False):
    """The options of ``hb.batch``, which documents them."""

    in_axes: Axes
    static_argnames: str | Collection[str]
    type_inference: Function | None
    follow: bool
    checked: bool
    max_stack_depth: int
    max_steps: int | None
    lanes: int | None
    threads: int | None
    schedule: str
    dispatch: str
    optimizations: Optimizations
    max_tape: int
    checkpoint_loops: bool
    timeout: float | None
    progress: bool | Callable[[Progress], object]


@overload
def batch(fun: Callable[P, R], /, **options: Unpack[BatchOptions]) -> BatchedFunction[P, R]: ...
@overload
def batch(**options: Unpack[BatchOptions]) -> Decorator: ...


def batch(  # noqa: PLR0913  # users expect one flat list of keywords
    fun: Function | None = None,
    /,
    *,
    in_axes: Axes = 0,
    static_argnames: str | Collection[str] = (),
    type_inference: Function | None = None,
    follow: bool = True,
    checked: bool = False,
    max_stack_depth: int = 32,
    max_stack_bytes: int | None = None,
    max_steps: int | None = None,
    lanes: int | None = None,
    threads: int | None = None,
    schedule: str = "auto",
    dispatch: str = "auto",
    optimizations: Optimizations = ALL,
    max_tape: int = 256,
    checkpoint_loops: bool = False,
    timeout: float | None = None,
    progress: bool | Callable[[Progress], object] = False,
    **others: Any,
) -> Any:
    """Turn a function of one example into a function of a batch. A decorator, with or without options.

    The function is ordinary Python: branches, loops, early returns, recursion. Its arguments and its result are pytrees
    of arrays. The batched function takes and returns them with a batch axis, which the code itself never sees: an array
    is ``[*event]`` in the code and ``[batch, *event]`` outside.

    Args:
        fun: The function.
        in_axes: The batch axis of all arguments, or of each, as for ``jax.vmap``. None shares an argument between all
            lanes without copying it.
        static_argnames: Names of parameters that are Python objects, known when the program is built.
        type_inference: A callable from the types of the arguments to the ``Type`` of the result. Types are inferred
            without it; its result is checked.
        follow: Whether functions of yours that have no decorator, and branch on values that differ between lanes,
            become parts of the program. Other functions are traced by JAX, and so are all functions of libraries.
        checked: Whether operators, items and functions of ``math`` raise in their lane what Python raises there
            (``ZeroDivisionError``, ``IndexError``, ``ValueError``, ``OverflowError``), and integers with a sign that
            need more bits than they have an ``hb.IntegerOverflowError``. If not, integers wrap around, and a lane goes
            on with the value that JAX gives, unless the program catches such an exception.
        max_stack_depth: Initial depth of each stack, in frames. A stack that is full grows while the function runs, up
            to 65,536 frames or this depth, whichever is more; inside ``jax.jit`` it does not.
        max_stack_bytes: Memory that all stacks together may grow to, in bytes; None for as much as there is.
        max_steps: Number of blocks that one input may run before it is stopped; None for no limit. Kernels count other
            blocks than the loop over all lanes.
        lanes: Number of inputs in flight at once; all others wait in a queue. None for as many as keep the machine
            busy.
        threads: Number of parts of the batch that run side by side, each in a thread, when the function is called
            outside of other JAX transformations, or runs as a kernel. None for one per core on a CPU, if that pays,
            else one.
        schedule: Which block runs next: ``"auto"``, ``"earliest"``, ``"most_lanes"``, ``"cost"`` or ``"sweep"``.
        dispatch: How the loop over all lanes gets to a block: ``"auto"``, ``"case"``, ``"chain"``, ``"guarded"`` or
            ``"sweep"``. Or machine code of lanes in place of that loop, on a CPU: ``"kernel"`` for one lane at a time,
            ``"gang"`` for some dozens at once in vector registers.
        optimizations: Passes to switch off, for measurement.
        max_tape: Initial frames of each tape of a reverse-mode derivative; one or two for each block that an input
            runs. A tape grows as stacks do; inside ``jax.jit`` it does not.
        checkpoint_loops: Whether a reverse-mode derivative goes back through loops in stretches, each of which it
            computes again, so that the tape of ``n`` turns is little longer than ``sqrt(2 n)``. It is for loops of very
            many turns, whose turns are then computed twice.
        timeout: Seconds that a call may take, when it is outside of other JAX transformations; checked every few tenths
            of a second. None for no limit.
        progress: Whether such a call reports its progress, in a line on standard error or in a notebook's output; or a
            function that is called with an ``hb.Progress`` instead.
        **others: Options of ``jax.jit`` and ``jax.vmap``, which are refused with advice.

    Returns:
        The batched function. It may be called, traced, lowered and compiled, and used inside ``jax.jit``, ``jax.vmap``,
        ``jax.lax.scan``, ``jax.shard_map`` and ``jax.export``.

    Raises:
        BatchTypeError: An option is unknown, or one of JAX's; the message says what to write instead.
        TypeError: ``fun`` is not a function.
        ValueError: An option has a value that it may not have.

    Examples:
        >>> import hlobatch as hb, jax.numpy as jnp
        >>> @hb.batch
        ... def fibonacci(n):
        ...     if n <= 1:
        ...         return 1
        ...     return fibonacci(n - 2) + fibonacci(n - 1)
        >>> fibonacci(jnp.array([6, 7, 8, 9])).tolist()
        [13, 21, 34, 55]

    Reference:
        Radul, Patton, Maclaurin, Hoffman and Saurous, "Automatically batching control-intensive programs for modern
        accelerators", MLSys 2020.
    """
    if others:
        raise refused(others, fun, BatchOptions.__annotations__, caller())
    _check_axes(in_axes)
    names = frozenset([static_argnames] if isinstance(static_argnames, str) else static_argnames)
    options = Options(
        max_stack_depth,
        max_steps,
        lanes,
        threads,
        schedule,
        dispatch,
        optimizations,
        max_stack_bytes,
        max_tape,
        checkpoint_loops,
        timeout,
        progress,
    )

    def decorate(function: Function) -> BatchedFunction[..., Any]:
        if not callable(function):
            raise TypeError(f"hb.batch makes a batched function of a function, not of {function!r}")
        return BatchedFunction(function, in_axes, names, type_inference, options, follow, checked)

    return decorate if fun is None else decorate(fun)


setattr(batch, BATCH_MARK, True)


def _check_axes(in_axes: Axes) -> None:
    if not all(map(is_int, jax.tree.leaves(in_axes))):
        raise ValueError(f"in_axes is an int, None, or a pytree of them, not {in_axes!r}")
