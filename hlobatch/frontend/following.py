"""A call in code that is being traced -> its value, or the fact that the program has to carry it out itself.

::

    def steps(n): …  while n > 1: …          an undecorated function of the user's, which branches on a lane's value
    prim "steps(n) + 1" (%n)            ==>  %$1 = call @steps(%n); prim "$1 + 1" (%$1)

A function of the user's is called first as JAX would trace it. Only if that fails is it followed: its blocks become
blocks of the program, as if it were decorated. A batched function that only tracing finds, since it stands in a
variable or is a method of an object, is followed at once. Libraries are traced.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from hlobatch.analysis.mutation import Part, changed, has_changed, refuse_generator
from hlobatch.analysis.objects import holds_iterator, reaches_value
from hlobatch.analysis.outside import may_be_of_an_array
from hlobatch.analysis.reach import parts, seen_by
from hlobatch.analysis.told_early import check_types
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.calls import call, dispatched
from hlobatch.frontend.checkpoints import from_jax
from hlobatch.frontend.differentiated import differentiated, differentiating, is_differentiated
from hlobatch.frontend.effects import prints
from hlobatch.frontend.endless import finite
from hlobatch.frontend.files import is_users
from hlobatch.frontend.held_objects import initializer
from hlobatch.frontend.in_turn.lazy import LAZY
from hlobatch.frontend.lane_numbers import differs
from hlobatch.frontend.library import changes_around, check_grows, refusal_to_change, standing_in
from hlobatch.frontend.nested import Closure, Partial, Template, closure_in
from hlobatch.frontend.starred import is_spread, received, refusal
from hlobatch.frontend.traced_functions import as_meant
from hlobatch.ir.value import Collection
from hlobatch.ir.walk import around
from hlobatch.prelude import is_of_prelude, standing_for
from hlobatch.prelude.bases import Content
from hlobatch.prelude.builtins import sorted_by_ranks
from hlobatch.prelude.jax import slopes
from hlobatch.values import own_containers
from hlobatch.values.facts import Learned, Site
from hlobatch.values.held_classes import is_holding
from hlobatch.values.identity import changes_chosen
from hlobatch.values.kinds import Kinds, any_of_kinds, asked
from hlobatch.values.lane_failures import count_of_failures, in_trial, is_of_raise, is_of_tracing
from hlobatch.values.optional import any_optional
from hlobatch.values.own_containers import class_for


@dataclass(frozen=True, slots=True)
class Calls:
    """The fact that a call is one of a function of the user's.

    Attributes:
        function: The function, plain or batched, without the object that it is bound to.
        receiver: How the first argument follows from the called object: ``"__self__"`` for a bound method, ``"itself"``
            for a callable object, ``"values"`` for the closure variables of an inner function, ``"differentiated"`` for
            the derivative of a function, ``"made"`` for the new object of a class, ``"filled"`` for that of a
            dataclass, ``"bound"`` if only tracing knows (``functools.partial``), ``""`` if there is no such argument.
        contents: The positions of arguments that are objects derived from containers, of which it gets the containers.
    """

    function: Any
    receiver: str = ""
    contents: tuple[int, ...] = ()
    is_told_early: ClassVar[bool] = True


def called(function: Any) -> Calls | None:
    """The function of the user's that a call of an object means; None if it means none.

    Args:
        function: The object that is called.
    """
    if isinstance(function, type):
        own = standing_for(function)
        return _made_by(class_for(function)) if own is None else Calls(own)
    if isinstance(function, functools.partial):
        inner = called(function.func)
        return None if inner is None else Calls(inner.function, "bound")
    if isinstance(function, Closure):
        return Calls(function.template, "values")
    if is_differentiated(function):
        return Calls(slopes, "differentiated")
    if is_batched(function):
        receiver = getattr(function, "__self__", None)
        return Calls(function) if receiver is None else Calls(function.__func__, "__self__")
    if isinstance(function, types.MethodType):
        inner = called(function.__func__)
        return inner and Calls(inner.function, "__self__")
    if (own := standing_for(function)) is not None:
        return Calls(own)
    if (checkpointed := from_jax(function)) is not None:
        return Calls(checkpointed) if called(checkpointed.function) is not None else None
    if isinstance(function, types.FunctionType):
        return Calls(function) if is_users(function) or is_of_prelude(function.__code__.co_filename) else None
    own = getattr(type(function), "__call__", None)  # noqa: B004  # that of the class, as a function
    if isinstance(own, types.FunctionType) and is_users(own):
        return Calls(own, "itself")
    return None


MAKE: Final = frozenset({"made", "filled"})
"""Receivers, as in ``Calls``, of calls that make objects."""


def _made_by(kind: type) -> Calls | None:
    """The method that makes objects of a class of the user's; None for any class whose objects are not made as usual.

    It is ``__init__``, or ``__post_init__`` of a dataclass, whose ``__init__`` has no source.
    """
    new, called_by = getattr(kind, "__new__", None), type(kind).__call__
    own, receiver = getattr(kind, "__init__", None), "made"
    if "__init__" in vars(kind) and getattr(vars(kind).get("__dataclass_params__"), "init", False):
        own, receiver = getattr(kind, "__post_init__", None), "filled"
    is_usual = new in (object.__new__, Content.__new__) and called_by is type.__call__
    is_written = isinstance(own, types.FunctionType) and (is_users(own) or is_of_prelude(own.__code__.co_filename))
    return Calls(own, receiver) if is_usual and is_written else None


def filled(kind: type, /, *args: Any, **kwargs: Any) -> Any:
    """A new object of a dataclass, before its ``__post_init__``."""
    without = type(kind.__name__, (kind,), {"__slots__": (), "__post_init__": lambda _: None})
    made = without(*args, **kwargs)
    object.__setattr__(made, "__class__", kind)
    return made


def is_generator(function: Any) -> bool:
    """Whether a function of the user's, or the template of one, is a generator."""
    return inspect.isgeneratorfunction(function.source.function if isinstance(function, Template) else function)


def is_batched(function: Any) -> bool:
    """Whether an object is a batched function, or a method that is one."""
    return not isinstance(function, type) and hasattr(function, "__hlobatch_function__")


def is_followed_at_once(function: Any) -> bool:
    """Whether a function is a part of the program even if it could be traced."""
    return is_batched(function) and not getattr(function, "is_tried", False)


def follow(site: Site, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The value of a call, traced as JAX would trace it.

    Args:
        site: The place of the call.
        function: The object that is called.
        *args: Its arguments.
        **kwargs: Its keyword arguments.

    Raises:
        Learned: The function has to be a part of the program.
        Exception: The function has failed for another reason than that its arguments differ between lanes.
    """
    if (made := differentiating(function, args, kwargs)) is not None:
        return made
    function = differentiated(dispatched(function, args))
    if (init := initializer(function)) is not None:
        raise Learned(site, Calls(init, "made"))
    target = called(function)
    if is_spread(args):
        raise refusal() if target is None else Learned(site, target)
    if function is functools.partial:
        return Partial(*args, **kwargs)  # the arguments may differ between lanes
    inside, named = own_containers.contents(function, args, kwargs)
    if (own := standing_in(function, inside, named)) is not None:
        check_grows(function, own, inside)
        assert target is not None
        others = tuple(i for i, (value, given) in enumerate(zip(inside, args, strict=True)) if value is not given)
        raise Learned(site, _in_turn(function, args) or replace(target, function=own, contents=others))
    if standing_for(function) is not None:
        otherwise = _in_turn(function, args) or (Calls(sorted_by_ranks) if function is sorted else target)
        return _calling(function, args, kwargs, lambda: Learned(site, otherwise))
    if target is None and isinstance(function, types.BuiltinMethodType):
        own = standing_for(getattr(type(function.__self__), function.__name__, None))
        if own is not None:
            return _calling(function, args, kwargs, lambda: refusal_to_change(function, own, args))
    if target is None or (isinstance(function, functools.partial) and standing_for(function.func) is not None):
        return call(function, *args, **kwargs)
    if target.receiver in MAKE:
        return _made(site, target, function, args, kwargs)
    inner = closure_in(function)
    if (
        is_followed_at_once(target.function)
        or is_holding()
        or any_optional((args, kwargs))
        or any_of_kinds((_held_by(function), args, kwargs))
        or prints(target.function if inner is None else inner.template.source.function)
        or (inner is not None and inner.template.is_followed)
    ):
        raise _followed(site, target, function)
    if is_generator(target.function):
        return drawn(site, target, function, args, kwargs)
    with in_trial():
        return _traced_call(site, target, function, args, kwargs)


def _calling(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], otherwise: Callable[[], Exception]) -> Any:
    """The value of a call of a library function, which may call functions among its arguments, such as a sort key.

    Args:
        function: The library function.
        args: Its arguments.
        kwargs: Its keyword arguments.
        otherwise: The exception to raise if the program has to call one of these functions, and so cannot leave the
            call to the library.
    """
    given = _of_users((*args, *kwargs.values()))
    if any(inner.template.is_followed for inner in map(closure_in, given) if inner is not None):
        if _in_turn(function, args) is None:
            _check_keep(function, given)
        raise otherwise()
    if not given:
        return _with_lambdas(function, args, kwargs)
    known = seen_by((*args, *kwargs.values(), *map(_held_by, given)))
    with in_trial(), _undone(known, otherwise):
        result = call(function, *args, **kwargs)
        if isinstance(result, Iterator) and not any(isinstance(value, Iterator) for value in args):
            collections.deque(result, maxlen=0)  # calls the function for each item
            if has_changed(known):  # the program has to make each item as it is used
                raise otherwise()
            result = call(function, *args, **kwargs)
        elif _calls_for_all_items(function, args) and has_changed(known):
            raise otherwise()
    return result


def _with_lambdas(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of a call of a library function with lambdas of the traced code among its arguments.

    Raises:
        UnsupportedSyntaxError: A lambda is called for all items at once, and changes an object.
    """
    given = [value for value in (*args, *kwargs.values()) if isinstance(value, types.FunctionType)]
    if not given or not _calls_for_all_items(function, args):
        return call(function, *args, **kwargs)
    known = seen_by(map(_held_by, given))
    result = call(function, *args, **kwargs)
    if has_changed(known):
        raise UnsupportedSyntaxError(
            f"a function that `{function.__name__}` calls for all items at once changes an object around it",
            help="go over the items in a `for` loop, and change the object there.",
        )
    return result


def _calls_for_all_items(function: Any, args: Sequence[Any]) -> bool:
    """Whether a library function calls functions for all items at once, where lanes have a list of them."""
    return _in_turn(function, args) is not None or any(isinstance(value, Collection) for value in args)


@contextlib.contextmanager
def _undone(known: Sequence[Part], otherwise: Callable[[], Exception]) -> Iterator[None]:
    """A context in which code that fails since values differ between lanes changes nothing, and raises another error.

    Args:
        known: Snapshots of the objects that the code may change.
        otherwise: The exception to raise.
    """
    try:
        yield
    except Learned:
        raise
    except Exception as error:
        if not _is_of_lanes(error):
            raise
        has_changed(known)  # undoes the changes
        raise otherwise() from error


def _in_turn(function: Any, args: Sequence[Any]) -> Calls | None:
    """The generator that calls a function of the user's as the items of ``map`` and the like are used; else None."""
    own = LAZY.get(function) if isinstance(function, Hashable) else None
    if own is None or len(args) != len(inspect.signature(own).parameters) or not _of_users(args):
        return None
    return Calls(own)


def _check_keep(function: Any, given: Sequence[Any]) -> None:
    """Refuse inner functions that change variables around them, for a library function that would call them."""
    for inner in map(closure_in, given):
        if inner is not None and inner.template.changed:
            template = inner.template
            raise changes_around(template.source.node.name, template.changed[0], function.__name__)


def _of_users(values: Iterable[Any]) -> list[Any]:
    """The functions of the user's among values."""
    return [value for value in values if isinstance(value, Closure) or called(value) is not None]


def _parts(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Part]:
    """Snapshots of arguments that may change."""
    return [part for value in (*args, *kwargs.values()) for part in parts(value)]


def _held(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Part]:
    """Snapshots of what may change among the values that inner functions among arguments have beside theirs."""
    closures = filter(None, map(closure_in, (*args, *kwargs.values())))
    return [part for one in closures for part in parts(list(one.values))]


def _held_by(function: Any) -> Any:
    """The values that a function has beside its arguments."""
    if isinstance(function, functools.partial):
        return function.args, function.keywords, _held_by(function.func)
    if isinstance(function, types.FunctionType):
        return tuple(around(function).values())
    return function.values if isinstance(function, Closure) else getattr(function, "__self__", None)


def check_method(site: Site, expected: Calls, name: str | None, value: Any) -> None:
    """Check that a call means a function for the object whose method it calls.

    Args:
        site: The place of the call.
        expected: The function.
        name: The name of the method; None if the object itself is called.
        value: The object.

    Raises:
        Learned: It means another function, or one for each of several kinds of objects.
    """
    if isinstance(value, Kinds):
        asked(value)
    target = called(value if name is None else getattr(value, name, None))
    if target is not None and target != expected:
        raise Learned(site, target)


def _made(site: Site, target: Calls, kind: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A new object of a class of the user's.

    Raises:
        Learned: Its ``__init__`` has to be a part of the program.
    """
    known = [*_parts(args, kwargs), *_held(args, kwargs)]
    with in_trial():
        try:
            made = call(kind, *args, **kwargs)
            if not holds_iterator(made):
                return made
            has_changed(known)  # undoes the changes
            raise Learned(site, target)
        except Learned:
            raise
        except Exception as error:
            if not _is_of_lanes(error) or any_optional((args, kwargs)):
                raise  # once the turns are unrolled, each of the linked objects has a type of its own
            has_changed(known)  # undoes the changes
            raise Learned(site, target) from error


def _is_of_lanes(error: Exception) -> bool:
    """Whether lanes raise an exception of a function's, or JAX does since values differ between lanes."""
    return is_of_tracing(error) or (is_of_raise(error) and not may_be_of_an_array(error))


def drawn(site: Site, fact: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """The items of a generator of the user's, which runs to its end here.

    Raises:
        Learned: A loop has to take turns with it: a lane's value decides how it goes on, it has no end, or fails, or
            changes an argument.
    """
    known = seen_by((*args, *kwargs.values(), _held_by(function)))
    with in_trial():
        try:
            items = list(finite(as_meant(function, (args, kwargs))(*args, **kwargs), differs))
        except Learned:
            raise
        except Exception as error:
            has_changed(known)  # undoes the changes
            raise Learned(site, fact) from error
        if has_changed(known):
            raise Learned(site, fact)
    return (item for item in items)


def _traced_call(site: Site, target: Calls, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of a traced call of a function of the user's.

    Raises:
        Learned: It has to be a part of the program.
        UnsupportedSyntaxError: It cannot be one.
    """
    check_types((args, kwargs))
    known, held = _parts(args, kwargs), _held([function, *args], kwargs)
    failures = count_of_failures()
    with _undone([*known, *held], lambda: _followed(site, target, function)):
        result = as_meant(function, (args, kwargs))(*args, **kwargs)
    if others := changed(known):
        for part in others:
            refuse_generator(part.item)
        raise _followed(site, target, function)  # the function that called this one has to see the change
    if changes_chosen():
        raise _followed(site, target, function)  # the chosen item has to change, too
    if count_of_failures() > failures and (isinstance(function, types.MethodType) or changed(held)):
        raise _followed(site, target, function)  # an object may be half changed when it fails
    if isinstance(result, _LAZY_OF_PYTHON):
        known = seen_by((*args, *kwargs.values(), _held_by(function)))
        with _undone(known, lambda: _followed(site, target, function)):
            collections.deque(finite(result), maxlen=0)  # makes each item
            if has_changed(known):
                raise _followed(site, target, function)  # each item is to be made as it is used
            result = as_meant(function, (args, kwargs))(*args, **kwargs)
    return result


_LAZY_OF_PYTHON: Final = (map, filter, zip, enumerate, types.GeneratorType)
"""Iterators that make their items as they are used, by code of the user's."""


def _followed(site: Site, target: Calls, function: Any) -> Learned | UnsupportedSyntaxError:
    """The fact that a call is one of a function of the user's, or the error for one that cannot be called by a program.

    Such a function is one that Python made while code was traced, with values of the program around it.
    """
    if not isinstance(function, types.FunctionType) or not reaches_value(function):
        return Learned(site, target)
    return UnsupportedSyntaxError(
        f"{function.__name__!r} is made as the program is built, uses values of the program, and branches on them, or "
        "changes what it is given",
        help="define it inside the batched function, or pass the values to it.",
    )


_IN_C: Final = (types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodWrapperType)
"""Callable objects without a signature, whose own ``__call__`` is one of them, too."""


def bound(signature: inspect.Signature, function: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The arguments of a call by parameter, in order, where the syntax alone does not tell which is which.

    Args:
        signature: The signature of the plain Python function.
        function: The object that is called: that function, a method or partial of it, or a callable object.
        *args: The arguments of the call.
        **kwargs: Its keyword arguments.

    Raises:
        TypeError: They do not fit.
    """
    while not isinstance(function, types.FunctionType) or is_differentiated(function):
        if isinstance(function, functools.partial):
            args, kwargs, function = (*function.args, *args), {**function.keywords, **kwargs}, function.func
            if isinstance(function, type):
                raise UnsupportedSyntaxError(
                    f"a `functools.partial` of {function.__name__!r}, whose objects are made by code that branches",
                    help=f"write a function instead: `lambda *args: {function.__name__}(x, *args)`.",
                )
        elif isinstance(function, (Closure, type)) or standing_for(function) is not None:
            break  # a class has the new object as the first argument
        elif isinstance(function, _IN_C):
            raise TypeError(f"{function!r} is no function of Python's")
        elif is_batched(function):
            receiver = getattr(function, "__self__", None)
            args = args if receiver is None else (receiver, *args)
            break
        elif isinstance(function, types.MethodType):
            args, function = (function.__self__, *args), function.__func__
        elif is_differentiated(function):
            args = (differentiated(function), *args)
            break
        else:
            args, function = (function, *args), type(function).__call__
    arguments = signature.bind(*args, **kwargs)
    arguments.apply_defaults()
    if isinstance(function, Closure):
        arguments.arguments.update({name: function.default(value) for name, value in arguments.arguments.items()})
    return received(signature, arguments.arguments)


def see(site: Site, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The value of a call where nothing is followed: only batched functions are parts of the program.

    Raises:
        Learned: The function is batched.
    """
    target = called(function)
    if target is not None and is_followed_at_once(target.function):
        raise Learned(site, target)
    return call(function, *args, **kwargs)
