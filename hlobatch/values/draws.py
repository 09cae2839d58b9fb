"""A Python function -> the random generators that it names; an error if it names an iterator, a clock or the like.

Code is traced once, so a draw from a generator would happen once, when the program is built, for all lanes and turns.
The global generators of NumPy and Python hide in the functions of a module: ``np.random.rand`` is a method of one. So
this module searches all names that code uses: its own globals, attributes of modules, variables of the function around
it, and the same in functions of the user's that it names. Python calls some methods without their names, such as
``__add__`` and the function of a property: all of these are searched in the user's classes.
"""

from __future__ import annotations

import builtins
import datetime as dt
import functools
import os
import random
import secrets
import sys
import sysconfig
import time
import types
import uuid
from collections.abc import Collection, Iterator
from typing import Any, Final

import numpy as np

from hlobatch.diagnostics import UnsupportedSyntaxError, is_internal
from hlobatch.ir.walk import around, code_within, walked

GENERATORS: Final = (random.Random, np.random.Generator, np.random.RandomState)
_CHANCE: Final = (
    *(
        os.urandom,
        *([os.getrandom] if hasattr(os, "getrandom") else []),
        uuid.uuid1,
        uuid.uuid4,
        random.SystemRandom,
        secrets.SystemRandom,
    ),
    *(secrets.token_bytes, secrets.token_hex, secrets.token_urlsafe, secrets.randbelow, secrets.choice),
    secrets.randbits,
)
_CLOCKS: Final = (
    *(time.time, time.time_ns, time.monotonic, time.monotonic_ns, time.perf_counter, time.perf_counter_ns),
    *(time.process_time, time.process_time_ns, time.thread_time, time.thread_time_ns, builtins.input),
    *(vars(dt.datetime)["now"], vars(dt.datetime)["utcnow"], vars(dt.date)["today"]),
)
_INSTEAD_OF: Final = {
    **{id(value): "use jax.random, with a key for each lane." for value in _CHANCE},
    **{id(value): "call it before, and pass what it gives to the batched function." for value in _CLOCKS},
}
"""For functions with another result at each call, by their ids: the help of the error."""
_MAKERS: Final = (
    *(*GENERATORS, np.random.default_rng, np.random.SeedSequence),
    *(np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64),
)
"""Functions that make random generators or seeds: without a given seed, the result differs at each call."""
_UNSTEADY: Final = frozenset({*_INSTEAD_OF, *map(id, _MAKERS)})
_MAKE: Final = ("__new__", "__init__", "__post_init__")
_LIBRARIES: Final = ("site-packages", "dist-packages", sysconfig.get_path("stdlib"), "<frozen")


def generators_of(function: types.FunctionType, classes: Collection[type] = ()) -> list[Any]:
    """The random generators that a function uses by name, itself or in functions of the user's that it calls.

    Functions compiled by ``jax.jit`` draw once in plain Python, too, and are not searched.

    Args:
        function: The function.
        classes: The user's classes of the objects that it is given.

    Raises:
        UnsupportedSyntaxError: It names an iterator, or a source of values that differ at each call.
    """
    found: dict[int, Any] = {}

    def named(function: types.FunctionType) -> Iterator[types.FunctionType]:
        """The functions that a function may call; collects generators among the values that it names."""
        for value in _named_by(function, classes):
            refuse_source(value)
            owner = owner_of(value)
            if isinstance(owner, GENERATORS):
                found[id(owner)] = owner
            yield from _functions_of(value)

    list(walked([function], named, enters=lambda one: is_users_file(one.__code__.co_filename)))
    return list(found.values())


def names_of(function: types.FunctionType) -> set[str]:
    """Names of globals, and of attributes, in a function's code."""
    return {name for code in code_within(function.__code__) for name in code.co_names}


def _texts_of(function: types.FunctionType) -> set[str]:
    """The texts in a function's code."""
    return {one for code in code_within(function.__code__) for one in code.co_consts if isinstance(one, str)}


def owner_of(value: Any) -> Any:
    """The object that a bound method belongs to, through partial functions; any other object itself."""
    while isinstance(value, functools.partial):
        value = value.func
    return value.__self__ if hasattr(type(value), "__self__") else value


def is_used_up(value: Any) -> bool:
    """Whether an object is an iterator or a file, whose position Python code cannot see."""
    kind = type(value)
    return hasattr(kind, "__iter__") and isinstance(
        getattr(kind, "__next__", None), (types.WrapperDescriptorType, types.MethodDescriptorType)
    )


def may_be_unsteady(value: Any) -> bool:
    """Whether calls of an object give, or may give, different values."""
    return id(value) in _UNSTEADY or (isinstance(value, type) and issubclass(value, GENERATORS))


def refuse_source(value: Any) -> None:
    """Refuse a value that is used up, or whose results differ at each call: tracing would use it once for all lanes.

    Raises:
        UnsupportedSyntaxError: It is such a value.
    """
    owner = owner_of(value)
    if id(value) in _INSTEAD_OF or isinstance(owner, random.SystemRandom):
        name = getattr(value, "__qualname__", type(value).__name__)
        raise UnsupportedSyntaxError(
            f"{name!r} gives another value each time, and is called as the program is built, once for all lanes and "
            "turns",
            help=_INSTEAD_OF.get(id(value), _INSTEAD_OF[id(random.SystemRandom)]),
        )
    if is_used_up(owner):
        raise UnsupportedSyntaxError(
            f"an iterator outside of the function, a {type(owner).__name__}, is used up as the program is built, once "
            "for all lanes and turns",
            help="make an array of what it gives, outside, as in `jnp.asarray(list(values))`, and index it.",
        )


def is_users_file(file: str) -> bool:
    return not is_internal(file) and not any(part in file for part in _LIBRARIES)


def is_users_class(kind: type) -> bool:
    """Whether a class is one of the user's own."""
    module = sys.modules.get(kind.__module__)
    if module is None:  # a script that was run and not imported
        return True
    file = getattr(module, "__file__", None)
    if hasattr(kind, "__hlobatch_function__") or (file is None and module.__spec__ is not None):
        return False
    # Code that a library runs, such as an example in a docstring, is in the library's own main module.
    return file is None or is_users_file(file) or (module.__name__ == "__main__" and _is_of_users_code(kind))


def _is_of_users_code(kind: type) -> bool:
    """Whether methods of a class are in a user's file, or it has none but those that a library makes of a text.

    Nor do those of this package count, which has classes derived from the user's.
    """
    methods = (one.__code__.co_filename for one in vars(kind).values() if isinstance(one, types.FunctionType))
    files = [file for file in methods if file != "<string>" and not is_internal(file)]
    return not files or any(map(is_users_file, files))


def _named_by(function: types.FunctionType, classes: Collection[type]) -> Iterator[Any]:
    """The values of a function's names: globals, closure variables, and members of modules and classes among these.

    Args:
        function: The function.
        classes: The user's classes of the objects that it is given, whose members it may name.
    """
    names = names_of(function)
    attributes = names | _texts_of(function)  # the compiler reads some attributes by ``member(item, "name")``

    def in_it(owner: Any) -> Iterator[Any]:
        if isinstance(owner, type):
            yield from _members(owner, attributes)
        elif isinstance(owner, types.ModuleType):
            inside = vars(owner)
            yield from (inside[name] for name in names if name in inside)
        elif is_users_class(type(owner)):
            yield from _members_of_object(type(owner), attributes)

    found = [function.__globals__[name] for name in names if name in function.__globals__]
    found += [getattr(builtins, name) for name in names if name == "input" and name not in function.__globals__]
    given = (member for kind in classes for member in _members_of_object(kind, attributes))
    return walked([*found, *around(function).values(), *given], in_it)


def _members(kind: type, names: set[str]) -> Iterator[Any]:
    """The members of a class that are named; in a class of the user's, also the methods that Python calls by itself."""
    for base in kind.__mro__:
        is_users = is_users_class(base)
        for name, value in vars(base).items():
            if name in names or (is_users and name.startswith("__") and isinstance(value, types.FunctionType)):
                yield value


def _members_of_object(kind: type, names: set[str]) -> list[Any]:
    """The members of a class, as in ``_members``, that may be called on an object that is made already."""
    return [one for one in _members(kind, names) if getattr(one, "__name__", "") not in _MAKE or one.__name__ in names]


def _functions_of(value: Any) -> Iterator[types.FunctionType]:
    """The functions that run where a value is called or, if it is a property, read."""
    match value:
        case property():
            found = [value.fget, value.fset, value.fdel]
        case functools.cached_property():
            found = [value.func]
        case _:
            found = [getattr(value, "__func__", value)]
    return (one for one in found if isinstance(one, types.FunctionType))
