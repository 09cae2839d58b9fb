"""A Python function to be kept in a variable -> an error if it holds a mutable object that the program made.

::

    def counter():                  c = counter()      a list, a dict or an object that `hit` holds, or a variable
        box = {"n": 0}              while …:           around it, is one of Python's: it would be changed once, as
        def hit(): …                    n = c()        the program is built
        return hit

A function may hold objects that were made before the program was built, since they do not change.
"""

from __future__ import annotations

import collections
import dis
import enum
import functools
import types
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import jax

from hlobatch._jax import is_tracer
from hlobatch.analysis.objects import ATOMS, MOST_OBJECTS_SEARCHED
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.walk import around, attributes, defaults, walked
from hlobatch.values.draws import is_users_class, is_users_file


def refuse_remembering(function: Any, outside: Iterable[Any], own: Collection[types.CodeType]) -> None:
    """Refuse to keep a function that holds a mutable object of the program from call to call.

    A statement is traced once, and its result is the function made then. That function would not see what later
    statements do to an object that it holds, or to a closure variable; its own changes would be made once, as the
    program is built.

    Args:
        function: The function to be kept, a bound method or a partial of one.
        outside: Objects that the program did not make: those its code names, or is given.
        own: The code of functions written in the statement itself; their closure variables are checked elsewhere.

    Raises:
        UnsupportedSyntaxError: It holds a list, a dict, a set or an object that the program made, or assigns to a
            closure variable.
    """
    if name := next(_assigned_around(function), ""):
        raise UnsupportedSyntaxError(
            f"a function kept in a variable assigns to {name!r} around it, which is done as the program is built",
            help="write the function inside of the batched one, or keep the value in a variable and pass it.",
        )
    held = [part for part in _remembered(function, own) if _is_mutable(part)]
    if not held:
        return
    known = {id(part) for value in outside for part in _remembered(value, frozenset(), with_globals=True)}
    made = next((part for part in held if id(part) not in known), None)
    if made is not None:
        raise UnsupportedSyntaxError(
            f"a function kept in a variable holds an object that the program made, a {type(made).__name__}, and would "
            "not see it change",
            help="call the function or the method where it is made, or pass it the object as an argument.",
        )


def _assigned_around(function: Any) -> Iterator[str]:
    """The ``nonlocal`` variables that a function assigns to."""
    function = getattr(function, "__func__", function)
    is_function = isinstance(function, types.FunctionType) and is_users_file(function.__code__.co_filename)
    if is_function and function.__closure__:
        assigned = {i.argval for i in dis.get_instructions(function) if i.opname in ("STORE_DEREF", "DELETE_DEREF")}
        yield from assigned.intersection(function.__code__.co_freevars)


def _remembered(value: Any, own: Collection[types.CodeType], *, with_globals: bool = False) -> Iterator[Any]:
    """The objects that a function holds, and their parts, the nearest first."""

    def parts(item: Any) -> Iterator[Any]:
        match item:
            case types.FunctionType():
                # Library code changes only containers of its own.
                is_library = not is_users_file(item.__code__.co_filename)
                held = around(item).values() if item.__code__ not in own else ()
                yield from filter(callable, held) if is_library else held
                yield from defaults(item).values()
                yield from item.__globals__.values() if with_globals else ()
            case types.MethodType():
                yield from (item.__self__, item.__func__)
            case types.BuiltinMethodType():
                yield item.__self__
            case functools.partial():
                yield from (item.func, *item.args, *item.keywords.values())
            case types.ModuleType() if with_globals and is_users_file(getattr(item, "__file__", None) or ""):
                yield from vars(item).values()
            case dict():
                yield from item.values()
            case list() | tuple() | set() | frozenset() | collections.deque():
                yield from item
            case _ if with_globals and _is_mutable(item):
                yield from attributes(item).values()

    return walked([value], parts, most=MOST_OBJECTS_SEARCHED, enters=lambda item: not is_tracer(item))


def _is_mutable(item: Any) -> bool:
    """Whether an object is a mutable container, or an object of the user's with attributes that is not frozen."""
    if isinstance(item, (list, dict, set, collections.deque)):
        return True
    if isinstance(item, (*ATOMS, enum.Enum, tuple, jax.Array)) or callable(item):
        return False
    is_frozen = getattr(getattr(type(item), "__dataclass_params__", None), "frozen", False)
    return not is_frozen and is_users_class(type(item)) and bool(attributes(item))
