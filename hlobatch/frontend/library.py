"""Functions of Python's library with a stand-in in ``prelude/`` -> the stand-in, for calls that the program makes.

::

    heapq.heappush(heap, x)      nothing differs between lanes: Python's own function is called while code is traced
                             else: the program calls ``prelude.heapq.heappush``, which changes ``heap``
"""

from __future__ import annotations

import ast
import functools
import itertools
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import jax

from hlobatch import prelude
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.frontend.changes import changed_by_methods, changed_parameters
from hlobatch.frontend.lane_numbers import parts
from hlobatch.frontend.nested import Closure
from hlobatch.frontend.order_of_objects import check_order, has_order
from hlobatch.frontend.scopes import positional
from hlobatch.frontend.source import read_source
from hlobatch.ir.boxed import Boxed
from hlobatch.ir.growing import KINDS, Growing
from hlobatch.ir.value import Collection
from hlobatch.prelude import builtins as of_prelude
from hlobatch.prelude import is_of_prelude, standing_for
from hlobatch.values.boxes import is_boxable
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.identity import places_of
from hlobatch.values.texts import is_lane_text


def standing_in(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> types.FunctionType | None:
    """The stand-in in the prelude for the callee of a call; None if Python's own function can be called."""
    own = standing_for(function)
    if own is None:
        return _method_standing_in(function, args, kwargs)
    if (by_methods := _by_methods(own, args, kwargs)) is not None:
        return by_methods
    if not is_built_in(own):
        return own if differs(args, kwargs) else None
    if own.__name__ == "sorted":
        return own if _is_of_a_list(args) else None
    if own.__name__ in ("min", "max"):
        return None  # items of any number have ranks; only a key may have to be called by the program
    if own.__name__ == "sum":
        return own if args and isinstance(args[0], GrowingList) and not _are_numbers(args[0]) else None
    if function is itertools.groupby and any(isinstance(part, jax.Array) for part in parts(args[:1])):
        return own  # how many groups there are depends on the items
    return own if any(isinstance(value, Collection) for value in _gone_over(function, args)) else None


_EXTREMES: Final[Mapping[Any, Any]] = {
    of_prelude.max: of_prelude.max_by_methods,
    of_prelude.min: of_prelude.min_by_methods,
}
"""Functions that ask for the order of each item once, as Python's do, each with the one that asks objects."""
_SORTS: Final = (of_prelude.sorted, of_prelude.list.sort)
_IN_ORDER: Final = tuple(f"{prelude.__name__}.{name}" for name in ("heapq", "bisect"))


def _by_methods(own: types.FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> types.FunctionType | None:
    """A function that puts objects in order by their methods, in place of one of the prelude; None if it does not.

    Raises:
        UnsupportedSyntaxError: As in ``check_order``.
    """
    sorts = own in _SORTS or own.__module__ in _IN_ORDER
    if (own not in _EXTREMES and not sorts) or kwargs.get("key") is not None:
        return None
    classes = list(filter(has_order, _classes(args)))
    if sorts:
        for cls in classes:
            check_order(cls)
    return _EXTREMES.get(own, own) if classes and is_built_in(own) else None


def _classes(args: Sequence[Any]) -> Iterator[type]:
    """The classes of what a function puts in order: of its arguments, or of the items of its only one."""
    for items in (args, *args):
        if isinstance(items, Growing) and isinstance(kind := getattr(items, "items", None), Boxed):
            yield kind.cls
        elif isinstance(items, (list, tuple)):
            yield from (type(item) for item in items if is_boxable(item))


def _method_standing_in(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> types.FunctionType | None:
    """The prelude's method for a container that grows, or has to; None if there is none."""
    if isinstance(function, types.MethodType) and isinstance(function.__self__, Growing):
        method = function.__func__
        is_own = isinstance(method, types.FunctionType) and is_of_prelude(method.__code__.co_filename)
        return method if is_own else None  # type: ignore[return-value]
    if not isinstance(function, types.BuiltinMethodType):
        return None
    own = standing_for(getattr(type(function.__self__), function.__name__, None))
    if own is of_prelude.list.sort and _by_methods(own, (function.__self__,), kwargs) is not None:
        return own
    if own is None or not differs(args, kwargs):
        return None
    return own if changed_in(own) and not is_built_in(own) else None


def is_built_in(function: Any) -> bool:
    """Whether a function has a meaning without its stand-in, which only serves where lengths differ by lane."""
    own = standing_for(function) or function
    return isinstance(own, types.FunctionType) and own.__module__ in prelude.MEANT_ANYWAY


def is_meant_as_a_whole(function: Any) -> bool:
    """Whether a function has a meaning for containers whose length differs between lanes without its stand-in."""
    own = standing_for(function)
    return own is not None and own.__module__ in prelude.MEANT_AS_A_WHOLE


def _gone_over(function: Any, args: Sequence[Any]) -> Sequence[Any]:
    """What a function goes over: its arguments, or the items of the only one."""
    is_of_items = function == itertools.chain.from_iterable and args and isinstance(args[0], (list, tuple))
    return (*args, *args[0]) if is_of_items else args


def _is_of_a_list(args: Sequence[Any]) -> bool:
    """Whether the first argument, and no other, is a text or a growing list, of numbers, texts or tuples of them."""
    first, *others = args or (None,)
    parts = jax.tree.leaves(first.items, is_leaf=is_lane_text) if isinstance(first, GrowingList) else []
    is_list = isinstance(first, GrowingList) and all(is_lane_text(part) or part.ndim == 1 for part in parts)
    return (is_list or is_lane_text(first)) and not any(isinstance(value, Growing) for value in others)


def _are_numbers(items: GrowingList) -> bool:
    """Whether the items of a list, if it has any, are numbers or arrays."""
    return items.items is None or isinstance(items.items, jax.Array)


def differs(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether Python's own function cannot be called: an argument may differ between lanes.

    A function or an object of the user's among the arguments counts, too, since its results or attributes may.
    """
    values = (*args, *kwargs.values())
    is_other = any(isinstance(value, (Growing, Closure, types.FunctionType)) for value in values)
    return is_other or any(isinstance(part, jax.Array) or is_boxable(part) for part in parts(values))


def changed_by(function: Any) -> Sequence[str]:
    """The parameters that a library function changes in place, if it has a stand-in in the prelude."""
    own = standing_for(function)
    return () if own is None else changed_in(own)


@functools.cache
def changed_in(function: types.FunctionType) -> Sequence[str]:
    """The parameters that a function of the prelude changes in place, itself or through its callees."""
    node = read_source(function).node
    found = {*changed_parameters(node), *changed_by_methods(node.body)}
    for part in ast.walk(node):
        match part:
            case ast.Call(ast.Name(name), given) if name in function.__globals__:
                found.update(_changed_by_call(function.__globals__[name], given))
    return tuple(name for name in _parameters(function) if name in found)


def _changed_by_call(called: Any, given: Sequence[ast.expr]) -> Iterator[str]:
    """The variables that a call of a function of the prelude changes in place."""
    if isinstance(called, types.FunctionType):
        pairs = zip(_parameters(called), given, strict=False)
        changed = changed_in(called)
        yield from (value.id for name, value in pairs if isinstance(value, ast.Name) and name in changed)


def _parameters(function: types.FunctionType) -> Sequence[str]:
    """The positional parameters of a function of the prelude."""
    return positional(read_source(function).node)


def check_grows(called: Any, own: types.FunctionType, args: Sequence[Any]) -> None:
    """Check that arguments that a function of the prelude changes in place are growing containers.

    Args:
        called: The object that is called, which may be a method.
        own: The function of the prelude.
        args: Its positional arguments.

    Raises:
        BatchTypeError: One is not, and has to become one.
    """
    if not is_of_prelude(own.__code__.co_filename):
        return  # a registered function is checked like any of the user's
    for name, value in _given(called, own, args):
        if name in changed_in(own) and not isinstance(value, Growing):
            raise _has_to_grow(name, value)


def refusal_to_change(called: Any, own: types.FunctionType, args: Sequence[Any]) -> BatchTypeError:
    """The error for a method of a container of a known length that the prelude has to change in place.

    Args:
        called: The method.
        own: The prelude's method, which changes its object.
        args: Its positional arguments.
    """
    name, value = next(iter(_given(called, own, args)))
    return _has_to_grow(name, value)


def _given(called: Any, own: types.FunctionType, args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The parameters of a function of the prelude, each with its argument."""
    is_method = isinstance(called, (types.MethodType, types.BuiltinMethodType)) and standing_for(called) is None
    return zip(_parameters(own), (called.__self__, *args) if is_method else args, strict=False)


def _has_to_grow(name: str, value: Any) -> BatchTypeError:
    error = BatchTypeError(
        f"a {name} is a list, and this is a {type(value).__name__!r}",
        help=f"make it one: `{name} = list(items)`.",
    )
    if type(value) in KINDS:
        error.about = places_of(value) or type(value)
    return error


def changes_around(name: str, changed: str, called_by: str) -> UnsupportedSyntaxError:
    """The error for an inner function that changes a variable around it, and that a library function calls."""
    return UnsupportedSyntaxError(
        f"{name!r} changes {changed!r} around it, and is called by {called_by!r}",
        help="call it by its own name, in a `for` that does what the library's function does.",
    )


def traced(function: Any) -> UnsupportedSyntaxError:
    """The error for a call of a library function in code that JAX traces as a whole."""
    return UnsupportedSyntaxError(
        f"`{function.__qualname__}` of values that differ between lanes is called where it cannot be followed",
        help="call it in a statement of its own.",
    )
