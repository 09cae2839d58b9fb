"""One ``PrimOp`` and the types of its operands -> its computation as a jaxpr, and the types of its results.

This is the only place where the user's Python runs. The result is a ``TracedFunction``, which every executor and the
lowering call from then on: each straight-line segment is traced once per type of its inputs.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import traceback
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import (
    HOST_EFFECTS,
    Aval,
    has_host_do,
    is_debug_effect,
    is_of_this_trace,
    is_tracer,
    jaxpr_of,
    keys_of,
    show_tracers,
)
from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.explanations import at_its_place, changes_what_is_read, explained, place_of
from hlobatch.analysis.may_grow import depths_of
from hlobatch.analysis.mutation import Part, changed, refuse_generator
from hlobatch.analysis.objects import gives_values, refuse_kept
from hlobatch.analysis.outside import Constants, ReadOnlyError, depends_on_what_was_added, unchanged
from hlobatch.analysis.overloads import Overloaded, called_by_itself, need_numbers, of_operations, of_statement
from hlobatch.analysis.own_code import as_they_mean
from hlobatch.analysis.reach import Named, names_nothing, parts
from hlobatch.analysis.remembering import refuse_remembering
from hlobatch.analysis.told_early import NO_TYPE_YET, AskedTooEarlyError, may_tell_early
from hlobatch.analysis.traced_function import TracedFunction, is_no_value
from hlobatch.analysis.views import without_further_results
from hlobatch.diagnostics import HloBatchError, UnsupportedSyntaxError
from hlobatch.ir.boxed import boxes_in, leaves_of
from hlobatch.ir.choice import Choice
from hlobatch.ir.code import Code, equation_primitives
from hlobatch.ir.names import is_at_place, is_of_one_kind, unsplit
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.types import Leaf, Static, TensorType, Type, rebuilt
from hlobatch.ir.walk import around, walked
from hlobatch.scoped import having
from hlobatch.values import identity as identities
from hlobatch.values import number_classes, optional
from hlobatch.values.boxes import boxed
from hlobatch.values.draws import GENERATORS, generators_of, is_users_class, names_of
from hlobatch.values.facts import BoundAnew, Changes, Learned, NotYet, Site, Tried, counted_in_vain, of_code, tell
from hlobatch.values.held_classes import held
from hlobatch.values.identity import Identity, OnTheWay, identity_of, noting, on_the_way
from hlobatch.values.kinds import Statement, asking
from hlobatch.values.lane_failures import watched_alone
from hlobatch.values.leaf_types import leaf_type, widened_leaf
from hlobatch.values.own_containers import with_bases
from hlobatch.values.texts_made import text_of_lane

_one_lane: contextvars.ContextVar[bool] = contextvars.ContextVar("hlobatch_one_lane", default=False)


_doubts: contextvars.ContextVar[list[HloBatchError] | None] = contextvars.ContextVar("hlobatch_doubts", default=None)


def doubt(error: HloBatchError) -> None:
    """Note, in code that is being traced, an error that it has if the types that it is traced for are final."""
    if (doubts := _doubts.get()) is not None:
        doubts.append(error)


Known = dict[Hashable, tuple[PrimOp, TracedFunction | Tried]]
_known: contextvars.ContextVar[Known | None] = contextvars.ContextVar("hlobatch_traced", default=None)
_before: contextvars.ContextVar[Known | None] = contextvars.ContextVar("hlobatch_traced_before", default=None)
_assigned: contextvars.ContextVar[set[str] | None] = contextvars.ContextVar("hlobatch_assigned", default=None)
_constants: contextvars.ContextVar[Constants | None] = contextvars.ContextVar("hlobatch_constants", default=None)


@contextlib.contextmanager
def remembered(before: Known | None = None) -> Iterator[Known]:
    """A context in which code that was traced for some types is not traced again for them, in any program.

    Args:
        before: The traces of an earlier build of the program, to which the new ones have to be equal.
    """
    known: Known = {}
    with (
        having(_known, known),
        having(_before, before),
        having(_assigned, set()),
        having(_constants, Constants()),
        number_classes.noting(),
    ):
        yield known


def stays(site: Site, attribute: str) -> None:
    """Check that no code traced so far assigns another object to an attribute.

    Args:
        site: The loop over the value of that attribute.
        attribute: Its name.

    Raises:
        Learned: Some code does.
    """
    if attribute in (_assigned.get() or ()):
        raise Learned(site, BoundAnew())


def is_one_lane() -> bool:
    """Whether the user's code is being traced, for one lane, so that no array has a batch axis."""
    return _one_lane.get()


show_tracers(lambda maker: text_of_lane(maker) if is_one_lane() else None)


def trace(op: PrimOp, in_types: Sequence[Type], keep_scalars: Sequence[bool]) -> TracedFunction:
    """The result of ``traced``; within ``remembered``, equal code is traced once."""
    known, what = _known.get(), _recognized(op.function)
    if known is None or what is None:
        return traced(op, in_types, keep_scalars)
    key = (what, tuple(in_types), tuple(keep_scalars), op.location, held(), number_classes.kept())
    if key not in known:
        found = _found(op, in_types, keep_scalars)
        _, before = (_before.get() or {}).get(key, (op, found))
        if not isinstance(found, Tried) and not isinstance(before, Tried) and not found.is_like(before):
            raise depends_on_what_was_added().at(op.location)
        known[key] = op, found  # the operation is kept, since the key holds ids of its objects
    if isinstance(given := known[key][1], Tried):
        raise Tried(*given.fact, is_expected=given.is_expected)
    return given


def _found(op: PrimOp, in_types: Sequence[Type], keep_scalars: Sequence[bool]) -> TracedFunction | Tried:
    """The result of ``traced``, or ``Tried`` as a value, so that it can be kept."""
    try:
        return traced(op, in_types, keep_scalars)
    except Tried as told:
        return told.with_traceback(None)


def _recognized(function: Any) -> Hashable | None:
    """A key that is equal for equal code; None if the code has none."""
    if not isinstance(function, types.FunctionType):
        known: Hashable = function
        return known if isinstance(function, Code) or is_dataclass(function) else None
    held = around(function).values()
    return function.__code__, tuple(value if isinstance(value, Site) else id(value) for value in held)


def traced(op: PrimOp, in_types: Sequence[Type], keep_scalars: Sequence[bool]) -> TracedFunction:
    """Trace straight-line code on one lane.

    Args:
        op: The operation; its ``function`` runs here.
        in_types: Types of ``op.vars_in``.
        keep_scalars: For each of ``op.vars_out``, whether Python numbers stay Python numbers.

    Raises:
        BatchTypeError: The code does not accept these types.
        UnsupportedSyntaxError: It branches in Python on a value that differs between lanes, or calls back to the host.
        Learned: The blocks around it have to be built in another way, and its results have no type.
        Tried: It has no results, and was traced only to see whether it can be.
    """
    found, may_be_unsteady = _traced(op, in_types, keep_scalars)
    draws_later = any(
        isinstance(leaf, Static) and isinstance(leaf.value, GENERATORS) for t in found.out_types for leaf in t.leaves
    )
    if may_be_unsteady and not draws_later and not _traced(op, in_types, keep_scalars)[0].is_like(found):
        raise UnsupportedSyntaxError(
            "this code gives another value each time it runs, and runs as the program is built, once for all lanes and "
            "turns",
            op.location,
            help="use jax.random, with a key for each lane, or give a generator of random numbers a seed.",
        )
    return found


def told_early(op: PrimOp, in_types: Sequence[Type | None]) -> list[tuple[Site, Any]]:
    """The facts told by code some of whose operands have no type in this round.

    The code runs without effect: changes that it makes outside of it are undone.
    """
    if not may_tell_early(op.function):
        return []
    given = [NO_TYPE_YET if type_ is None else type_ for type_ in in_types]
    try:
        with counted_in_vain():
            _traced(op, given, [True] * len(op.vars_out), is_in_vain=True)
    except Learned as learned:
        return [known for known in learned.facts if getattr(known[1], "is_told_early", False)]
    # `AskedTooEarlyError` may also come from the text of an error.
    except (HloBatchError, NotYet, Tried, AskedTooEarlyError):
        return []
    raise AssertionError


def _traced(
    op: PrimOp,
    in_types: Sequence[Type],
    keep_scalars: Sequence[bool],
    *,
    arrays_are_copied: bool = False,
    is_in_vain: bool = False,
) -> tuple[TracedFunction, bool]:
    """The trace, and whether another trace of the same code may differ from it.

    Arrays outside of the code are read-only, or, with ``arrays_are_copied``, copied before and compared afterwards.
    """
    out_types: list[Type] = []
    seen: list[tuple[Identity, bool, OnTheWay]] = []
    arrays: list[Any] = []
    here = _statement(op)

    def on_tensors(*tensors: Any) -> list[Any]:
        values = rebuilt(tensors, in_types)
        states = [_parts_of(t) for t in in_types]
        code, outside = _watched(op, in_types, learned), _outside(op, in_types, values)
        with unchanged(outside, arrays_are_copied=arrays_are_copied) as found, as_they_mean(with_bases(found.classes)):
            with asking(here):
                given_back, results, with_flags = optional.run(code, values, functools.partial(_see, here))
            if is_in_vain:
                raise AskedTooEarlyError
            learned.extend(_changes(op, in_types, states))
        _refuse_kept(filter(gives_values, leaves_of(results, gives_values)))
        arrays[:] = found.arrays
        seen.append(
            (
                identity_of(notes, given_back, _named(op.function)),
                found.may_be_unsteady,
                on_the_way(notes, given_back, lambda array: is_tracer(array) and is_of_this_trace(array)),
            )
        )
        results = [boxed(result, found.ids, with_flags) for result in results]
        kept = _kept(results)
        _refuse_remembering(kept, op.function, in_types)
        flat, out_types[:] = _flattened(results, keep_scalars)
        return [*flat, *seen[-1][2].arrays]

    avals = [leaf.aval for type_ in in_types for leaf in type_.tensor_leaves]
    doubts: list[HloBatchError] = []
    learned: list[tuple[Site, Any]] = []
    try:
        with having(_one_lane, True), having(_doubts, doubts), noting() as notes:
            jaxpr = (_constants.get() or Constants()).copied(_jaxpr(on_tensors, avals), arrays)
    except ReadOnlyError:
        return _traced(op, in_types, keep_scalars, arrays_are_copied=True, is_in_vain=is_in_vain)
    except Exception as error:  # noqa: BLE001  # replaced by an error with a place
        wrong = _told(error, op, in_types, learned)
        raise wrong from wrong.__cause__
    function = TracedFunction(
        tuple(in_types),
        tuple(out_types),
        jaxpr,
        doubts=tuple(error.at(op.location) for error in doubts),
        learned=tuple(learned),
        identity=seen[-1][0],
    )
    _check_effects(op, function)
    return _without(seen[-1][2], function, op), seen[-1][1]


def _without(further: OnTheWay, function: TracedFunction, op: PrimOp) -> TracedFunction:
    """A traced function without the arrays that it gives beside its results.

    Raises:
        UnsupportedSyntaxError: It changes an array in place that is read as it was later.
    """
    if not further.arrays:
        return function
    jaxpr, identity, change = without_further_results(function.jaxpr, further, function.identity, function.in_types)
    if change is not None:
        raise changes_what_is_read(change, op)
    return replace(function, jaxpr=jaxpr, identity=identity)


def _watched(op: PrimOp, in_types: Sequence[Type], learned: list[tuple[Site, Any]]) -> Callable[..., Any]:
    """The code of an operation, which notes its failures; ``learned`` is as in ``watched_alone``."""
    return watched_alone(
        op.function,
        op.location,
        operands_before(op),
        learned,
        is_known=not any(type_.tensor_leaves for type_ in in_types),
        is_of_one_kind=any(is_of_one_kind(user_name(name)) for name in op.vars_in),
    )


def _statement(op: PrimOp) -> Statement:
    """The statement of an operation."""
    read_at = op.read_at if len(op.read_at) == len(op.vars_in) else [op.location] * len(op.vars_in)
    return Statement(op.location, [_of_user(name) for name in op.vars_in], read_at)


def _of_user(variable: str) -> str:
    """The name of a variable that stands in the user's code, or of the value at a place in it; empty if neither."""
    name = user_name(variable)
    return "" if name.startswith("$") and not is_at_place(name) else name


def _see(here: Statement, operands: list[Any]) -> None:
    """Note the operands of a statement before it is traced."""
    here.receive(operands)
    identities.see(operands)


def _jaxpr(function: Callable[..., list[Any]], avals: Sequence[Aval]) -> Any:
    """The jaxpr of some code. Facts that it raises bypass JAX, which reads the files of all frames of an error."""
    told: list[Exception] = []

    def run(*tensors: Any) -> list[Any]:
        try:
            return function(*tensors)
        except (Learned, NotYet, Tried) as one:
            _end_generators(one)
            told.append(one)
            return []

    jaxpr = jaxpr_of(run, avals)
    if told:
        raise told.pop()  # popped, since its traceback holds ``told``
    return jaxpr


def _end_generators(error: BaseException | None) -> None:
    """Let go of what the code that told a fact has begun: a user's generator then carries out its ``finally``.

    Python would do that when the error is gone, after the trace, where the values of the trace mean nothing.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def _told(
    error: Exception, op: PrimOp, in_types: Sequence[Type], learned: list[tuple[Site, Any]]
) -> HloBatchError | NotYet | Tried:
    """The error, with its place, or the fact that some code told by raising.

    Raises:
        Learned: Facts were learned.
    """
    if isinstance(error, Tried):
        return error
    learned += error.facts if isinstance(error, Learned) else ()
    tell(learned)
    if isinstance(error, NotYet):
        return NotYet(error.error.at(place_of(error, op)), error.fact)
    return _wrong(error, op, in_types)


def _wrong(error: Exception, op: PrimOp, in_types: Sequence[Type]) -> HloBatchError:
    """The error of some code, with its place.

    Raises:
        Learned: It failed in a method that Python calls implicitly, which may be followed.
    """
    if isinstance(error, HloBatchError):
        wrong = at_its_place(error, op, in_types)
    else:
        wrong = explained(error, op, in_types)
        wrong.__cause__ = error
    if isinstance(error, HloBatchError) and error.overloaded:
        sites = of_statement(op.location, error.overloaded), of_operations(op.location, error.overloaded)
        tell([(site, Overloaded(wrong)) for site in sites])
    name = called_by_itself(error, op.location.file)
    names = [name] if name else need_numbers(error, in_types, _named(op.function).values())
    tell([(of_operations(op.location, one), Overloaded(wrong)) for one in names])
    return wrong


def operands_before(op: PrimOp) -> list[int | None]:
    """For each variable that an operation assigns, the number of the operand that is the variable's earlier value."""
    operands = {unsplit(name): number for number, name in enumerate(op.vars_in)}
    return [operands.get(unsplit(name)) for name in op.vars_out]


def zeros(types: Sequence[Type], known: TracedFunction | None) -> TracedFunction:
    """Code that returns zeros of some types, for variables that are never read.

    Args:
        types: The types of the variables.
        known: Code that gives some of them no value, and whose other results are returned; None if there is none.
    """
    kept = [not is_no_value(type_) for type_ in known.out_types] if known is not None else [False] * len(types)
    own = known.out_types if known is not None else types
    out_types = tuple(mine if keep else type_ for keep, mine, type_ in zip(kept, own, types, strict=True))

    def on_tensors(*tensors: Any) -> list[Any]:
        given = iter(known.flat(*tensors) if known is not None else ())
        pairs = ((keep, leaf) for keep, type_ in zip(kept, out_types, strict=True) for leaf in type_.tensor_leaves)
        return [next(given) if keep else zero(leaf) for keep, leaf in pairs]

    if known is None:
        return TracedFunction((), out_types, jaxpr_of(on_tensors, ()))
    avals = [leaf.aval for type_ in known.in_types for leaf in type_.tensor_leaves]
    return replace(known, out_types=out_types, jaxpr=jaxpr_of(on_tensors, avals))


def zero(leaf: TensorType) -> Any:
    """An array of zeros, or of keys whose words are zeros."""
    if leaf.is_key:
        words = jax.eval_shape(jax.random.key_data, leaf.aval)
        return keys_of(jnp.zeros(words.shape, words.dtype), leaf)
    return jnp.zeros(leaf.shape, leaf.dtype)


def _refuse_kept(leaves: Iterable[Any]) -> None:
    for leaf in leaves:
        refuse_kept(leaf)


def _refuse_remembering(kept: Iterable[Any], code: Any, in_types: Sequence[Type]) -> None:
    given = [leaf.value for type_ in in_types for leaf in type_.leaves if isinstance(leaf, Static)]
    functions = [leaf for leaf in kept if callable(leaf) and not any(leaf is value for value in given)]
    if functions and isinstance(code, types.FunctionType):
        outside = [*given, *_named(code).values()]
        own = frozenset(c for c in code.__code__.co_consts if isinstance(c, types.CodeType))
        for function in functions:
            refuse_remembering(function, outside, own)


def _flattened(results: Sequence[Any], keep_scalars: Sequence[bool]) -> tuple[list[Any], list[Type]]:
    """The tensors in some results, and the types of the results."""
    flat: list[Any] = []
    types_: list[Type] = []
    for result, keep in zip(results, keep_scalars, strict=True):
        leaves, treedef = jax.tree.flatten(result)
        kinds = [leaf_type(leaf) for leaf in leaves]
        kinds = kinds if keep else [_weak(widened_leaf(kind), kind) for kind in kinds]
        flat += [_stored(leaf, kind) for leaf, kind in zip(leaves, kinds, strict=True) if isinstance(kind, TensorType)]
        types_.append(Type.of_leaves(tuple(kinds), treedef))
    return flat, types_


def _weak(tensor: Leaf, kind: Leaf) -> Leaf:
    """The tensor type of a leaf; weak if it is a Python number, so that ``written_types`` recognizes it."""
    return replace(tensor, weak=True) if isinstance(kind, Static) and isinstance(tensor, TensorType) else tensor


def _stored(leaf: Any, kind: TensorType) -> Any:
    """A tensor of a result; an unsigned Python integer is given its dtype, since JAX would take it for a signed one."""
    return np.asarray(leaf, kind.dtype) if isinstance(leaf, int) and kind.dtype.kind == "u" else leaf


def _check_effects(op: PrimOp, traced: TracedFunction) -> None:
    """Refuse code with effects other than ``print`` and callbacks of its own lane."""
    effects = [effect for effect in traced.jaxpr.effects if not is_debug_effect(effect)]
    if any(type(effect).__name__ == "NamedAxisEffect" for effect in effects):
        raise UnsupportedSyntaxError(
            f"{op.text!r} asks for what other lanes or devices have",
            op.location,
            help="a lane runs by itself: combine the results of the batched function, as with jax.lax.psum.",
        )
    if not effects and not any("debug" in name or "callback" in name for name in traced.primitives):
        return
    inner = [equation for equation in traced.inlined.jaxpr.eqns if not has_host_do(equation)]
    names = sorted(frozenset().union(*map(equation_primitives, inner)))
    if any(name in names for name in HOST_EFFECTS):
        raise UnsupportedSyntaxError(
            f"{op.text!r} prints, or calls back to Python, inside a loop or a function that is handed to JAX",
            op.location,
            help="write the loop with `for` or `while`, and the choice with `if`: there each lane prints by itself.",
        )
    callbacks = [name for name in names if "callback" in name]
    if effects or callbacks:
        raise UnsupportedSyntaxError(
            f"{op.text!r} calls back to Python while it runs ({', '.join([*map(str, effects), *callbacks])})",
            op.location,
            help="return what you want to see, or print it: a batched program takes nothing from the host.",
        )


def _kept(results: Any) -> list[Any]:
    """The Python objects among results, including all objects of each choice.

    Raises:
        UnsupportedSyntaxError: One may not be kept in a variable.
    """
    leaves = jax.tree.leaves(results, is_leaf=lambda part: isinstance(part, Choice))
    several = [one for leaf in leaves if isinstance(leaf, Choice) for one in leaf.hb_objects]
    kept = [leaf for leaf in leaves if not isinstance(leaf, Choice) and isinstance(leaf_type(leaf), Static)] + several
    _refuse_kept(kept)
    return kept


def _named(function: Any) -> dict[str, Any]:
    """The objects outside of some code that it refers to by name."""
    if not isinstance(function, types.FunctionType):
        return {}
    return around(function) | {n: function.__globals__[n] for n in names_of(function) if n in function.__globals__}


def _parts_of(type_: Type) -> list[Part]:
    """Snapshots of the mutable objects in a variable."""
    objects = [leaf.value for leaf in type_.leaves if isinstance(leaf, Static)]
    for value in objects:
        refuse_generator(value)
    return [part for value in objects for part in parts(value)]


_NEW_VALUE: Final = "build a new value, as in `items = [*items, x]` or `entries = {**entries, 'key': x}`."
_OF_OWN_CLASS: Final = "a class of yours is no list or dict here: let it have one, in an attribute of its own."


def _changes(op: PrimOp, in_types: Sequence[Type], states: Sequence[Sequence[Part]]) -> Iterator[tuple[Site, Changes]]:
    """The fact that code changed a list, dict or object in variables that the statement does not assign, if it did.

    Raises:
        UnsupportedSyntaxError: It changed an object in place that is the same in every lane.
    """
    if (assigned := _assigned.get()) is not None:
        assigned |= identities.attributes_assigned()
    bound = set(map(user_name, op.vars_out))
    others = set[str]()
    others_at = identities.changed_arguments()
    for index, (name, known) in enumerate(zip(op.vars_in, states, strict=True)):
        short = user_name(name)
        if index in others_at and short not in bound:
            others.add(short)
        if found := changed(known):
            kinds = [type(part.item) for part in found if isinstance(part.item, (list, dict, set))]
            error = UnsupportedSyntaxError(
                f"this code changes {'a value' if short.startswith('$') else repr(short)} in place",
                help=_OF_OWN_CLASS if any(map(is_users_class, kinds)) else _NEW_VALUE,
            )
            depths = depths_of(in_types[index].tensors, [part.item for part in found]) or {0}
            error.may_grow = tuple((unsplit(name), depth) for depth in sorted(depths))
            raise error
    if others:
        yield of_code(op.location), Changes(frozenset(others))


def _outside(op: PrimOp, in_types: Sequence[Type], values: Sequence[Any]) -> list[Named]:
    """The objects that code reaches and that are the same in all lanes, with their names."""
    if not isinstance(op.function, types.FunctionType):
        return []
    found = {box.cls for box in walked(boxes_in(values), lambda box: boxes_in(box.values))}
    named = [] if names_nothing(op.function) and not found else [op.function]
    drawn = [(type(one).__name__, one) for function in named for one in generators_of(function, found)]
    pairs = zip(op.vars_in, in_types, strict=True)
    given = [(user_name(v), leaf.value) for v, t in pairs for leaf in t.leaves if isinstance(leaf, Static)]
    classes = [(kind.__name__, kind) for kind in found]
    return [*(("", function) for function in named), *given, *drawn, *classes]
