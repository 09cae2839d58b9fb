"""A batched function and all functions it reaches -> ``Program``: the frontend's one entry point.

The main function of the program calls the user's function in tail position, so that a recursive function is one of the
program's functions and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from hlobatch.diagnostics import HloBatchError, Location, Note, UnsupportedSyntaxError
from hlobatch.frontend.asked import Lowered
from hlobatch.frontend.callees import Callee, Callees, changed_default
from hlobatch.frontend.expressions import parameter_names
from hlobatch.frontend.failures import MOST_FAILURES, Failures, LooksAt, Relay
from hlobatch.frontend.guesses import OF_LOWERING, NothingExpected
from hlobatch.frontend.rewriting.references import referring
from hlobatch.frontend.to_cfg import FunctionLowering
from hlobatch.ir.ops import HALT, FunctionCallOp, GotoOp, PrimOp
from hlobatch.ir.program import MAIN, Block, ControlFlowGraph, Function, Program
from hlobatch.prelude import is_of_prelude
from hlobatch.values.columns import Column, none_made
from hlobatch.values.facts import NONE_KNOWN, WHOLE_PROGRAM, Facts, Learned, Site, tell
from hlobatch.values.held_classes import MADE
from hlobatch.values.lane_failures import WHERE_CHECKED, Caught


def to_program(function: Callable[..., Any], type_inference: Callable[..., Any] | None = None) -> Program:
    """The untyped program of a function; ``type_inference`` is its declared result type, as a callable."""
    return program_and_facts(function, type_inference, NONE_KNOWN)[0]


def program_and_facts(
    function: Callable[..., Any],
    type_inference: Callable[..., Any] | None,
    facts: Facts,
    *,
    follow: bool = True,
    checked: bool = False,
    defaults: Collection[str] = (),
    known: Lowered | None = None,
) -> tuple[Program, Facts]:
    """The untyped program of a function, and the facts that it is built with: those given, and those lowering learns.

    Args:
        function: The function.
        type_inference: Its declared result type, as a callable; None if it has none.
        facts: Facts that tracing learned from earlier programs of the function.
        follow: Whether functions without a decorator may become parts of the program.
        checked: Whether operations raise in their lane what Python raises, where JAX gives a value.
        defaults: Parameters for which the call passes no argument, so that they have their defaults.
        known: Functions as they were lowered for earlier programs of the function.

    Raises:
        UnsupportedSyntaxError: A statement or expression without a rule.
        UndefinedVariableError: A name that is not defined.
        BatchTypeError: A call with the wrong arguments.
    """
    known, guessed, classes = known or Lowered(), set[Any](), set[type]()
    if checked and facts.of(Caught, WHOLE_PROGRAM) is None:
        facts = facts.and_also(Learned(WHOLE_PROGRAM, Caught(WHERE_CHECKED, has_try=False)))
    while True:
        callees = Callees(facts, follow, guessed=set(guessed), classes=set(classes))
        with referring(facts):
            main = callees.add(function, type_inference)
        try:
            with referring(facts):
                functions = _lowered(main, callees, known)
        except Learned as learned:
            facts = facts.more(learned)
            continue
        except HloBatchError:
            if not callees.guessed:
                raise
            facts, guessed = facts.without(*OF_LOWERING).and_also(Learned(WHOLE_PROGRAM, NothingExpected())), set()
            continue
        if (callees.guessed, callees.classes) != (guessed, classes):  # earlier functions may depend on later guesses
            guessed, classes = callees.guessed, callees.classes
            continue
        if changed := next((name for name in main.changes if name in defaults), None):
            raise changed_default(main, changed).at(main.source.definition)
        _check_number(callees.failures, main)
        return _with_main(main, functions, facts.of(LooksAt, WHOLE_PROGRAM) or LooksAt()), facts


def _lowered(main: Callee, callees: Callees, known: Lowered) -> tuple[Function, ...]:
    """All functions of a program.

    Raises:
        Learned: It has to be built again.
        HloBatchError: A function cannot be lowered.
    """
    lowered: dict[str, Function | None] = {}
    facts: list[tuple[Site, Any]] = []
    while pending := [c for c in callees.by_key.values() if c.name not in lowered]:
        for callee in pending:
            lowered[callee.name] = None
            try:
                lowered[callee.name] = known.function(callee, callees, FunctionLowering.lowered)
            except Learned as learned:
                facts += learned.facts
            except (HloBatchError, RecursionError) as error:
                tell(facts)
                raise _in_calls(error, callee, main, callees) from None
    tell(facts)
    return tuple(function for function in lowered.values() if function is not None)


def _in_calls(error: HloBatchError | RecursionError, callee: Callee, main: Callee, callees: Callees) -> HloBatchError:
    """The error of lowering a function, with the place of its first call."""
    if isinstance(error, RecursionError):
        return UnsupportedSyntaxError(
            f"an expression of {callee.name!r} is nested too deeply for Python's recursion limit",
            callee.source.definition,
            help="assign parts of it to names, in statements of their own.",
        )
    error = _of_jax(callee, error)
    if callee.called_from is None or callee is main:
        return error
    note = Note("called from here", callee.called_from)
    is_known = note in error.notes or note.location == error.location
    return error if is_known else error.called_from(_in_users_code(callee.called_from, callees))


def _in_users_code(place: Location, callees: Callees) -> Location:
    """The place of the call by which control comes to a place: the place itself, if it is in code of the user's."""
    by_name = {(one.source.file, one.source.function.__qualname__): one for one in callees.by_key.values()}
    seen = set[Location]()
    while is_of_prelude(place.file) and place not in seen:
        seen.add(place)
        callee = by_name.get((place.file, place.function))
        place = (callee and callee.called_from) or place
    return place


def _check_number(failures: Failures, main: Callee) -> None:
    """Refuse a program with too many places that raise for a failure number that also encodes a library call."""
    if len(failures.all) >= MOST_FAILURES and any(isinstance(one, Relay) for one in failures.all):
        raise UnsupportedSyntaxError(
            f"this function makes a program of {len(failures.all)} places that may raise",
            main.source.definition,
            help="write loops in place of recursions and comprehensions whose turns are written out.",
        )


def _of_jax(callee: Callee, error: HloBatchError) -> HloBatchError:
    """An error; where it is about a function of JAX's own, without a location in JAX's code."""
    function = callee.source.function
    if not function.__globals__.get("__name__", "").startswith("jax."):
        return error
    return UnsupportedSyntaxError(
        f"{function.__name__!r} is a function of JAX, which has no branches to batch",
        help="call it inside a function of yours, or batch it with jax.vmap.",
    )


def _empty(columns: Sequence[str], location: Location) -> Iterator[PrimOp]:
    """Operations that make the columns of objects that refer to each other, before any is made."""
    for column in columns:
        function = _none_made if column.endswith(MADE) else _no_rows
        yield PrimOp((), (column,), function, f"{column} = …", location=location)


def _none_made() -> tuple[Any]:
    return (none_made(),)


def _no_rows() -> tuple[Any]:
    return (Column(),)


def _with_main(callee: Callee, functions: tuple[Function, ...], looks_at: LooksAt) -> Program:
    location = callee.source.definition
    parameters = tuple(f"{MAIN}.{name}" for name in parameter_names(callee.source))
    failure = ("$failure", "$details") if callee.raises else ()
    # Callers of a batched function do not see these results.
    changed = tuple(f"$changed_{name}" for name in callee.given_back)
    caught = tuple(f"$caught{number}" for number in range(len(looks_at.raised) if callee.raises else 0))
    given_back = tuple(f"{MAIN}.{name}" for name in ("$result", *changed, *failure, *caught))
    result = tuple(f"{MAIN}.{name}" for name in ("$result", *failure))
    columns = tuple(f"{MAIN}.{name}" for name in callee.columns)
    call = FunctionCallOp(callee.name, (*columns, *parameters), given_back, location=location)
    entry = Block("entry", (*_empty(columns, location), call), GotoOp(HALT, location=location), location)
    return Program(ControlFlowGraph((entry,)), functions, {}, parameters, result, {}, location)
