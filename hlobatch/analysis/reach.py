"""Objects -> the mutable objects among them and their parts, and those that functions among them reach by name.

::

    COUNT, seen = 0, {}

    def visit(v, found=[]):             reaches the dict ``seen``, by its name; the list ``found``, a default;
        global COUNT                    and the names of its module, of which it binds ``COUNT``
        COUNT += 1
        seen[v] = found.append(v)

A function also reaches all that the functions it names reach. Functions of libraries are not searched.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import gc
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import jax
import numpy as np

from hlobatch.analysis.mutation import Namespace, Part, cell_content, class_attributes, content, named, position
from hlobatch.analysis.own_code import functions_in
from hlobatch.ir.growing import Growing
from hlobatch.ir.walk import PLAIN, around, attributes, code_within, defaults, is_filled, walked
from hlobatch.values.draws import (
    is_used_up,
    is_users_class,
    is_users_file,
    may_be_unsteady,
    owner_of,
)

MOST_PARTS_COMPARED: Final = 1_000
"""Most objects searched for mutable parts of an object, the nearest first."""
MOST_PARTS_READ: Final = 20_000
"""Most objects searched for those that a function may read outside of it, the nearest first."""
_KINDS_PLAIN: Final = frozenset({bool, *PLAIN})
"""Types of values without parts: a container of a million of them is not searched item by item."""
_ATOMS: Final = (*PLAIN, types.ModuleType, types.CodeType, np.generic, jax.Array)
"""Classes of objects without mutable parts."""
Named = tuple[str, Any]
"""The name by which an object was found, and the object."""


@dataclass
class Found:
    """The result of a search, nearest objects first.

    Attributes:
        parts: Snapshots of mutable objects.
        arrays: NumPy arrays.
        functions: The user's functions.
        classes: The user's classes.
        may_be_unsteady: Whether an object was found that may give another value at each call.
    """

    parts: list[Part] = field(default_factory=list)
    arrays: list[np.ndarray[Any, Any]] = field(default_factory=list)
    functions: list[types.FunctionType] = field(default_factory=list)
    classes: list[type] = field(default_factory=list)
    may_be_unsteady: bool = False

    @cached_property
    def ids(self) -> set[int]:
        """The ids of the mutable objects."""
        return {id(part.item) for part in self.parts}

    @property
    def names(self) -> frozenset[str]:
        """All names in the code of the functions."""
        return frozenset().union(*(_names_in(function.__code__) for function in self.functions))


def parts(value: Any) -> list[Part]:
    """Snapshots of an object and its mutable parts.

    Args:
        value: The object. A new entry in it counts as a change, but one in its parts as memory.
    """
    return _search([("", value)], reaches=False, whole=value).parts


def seen_by(values: Iterable[Any]) -> list[Part]:
    """Snapshots of objects and their mutable parts, containers whose length differs between lanes among them.

    A new entry counts as a change in all of them.
    """
    return _search((("", value) for value in values), reaches=False, grows=True).parts


def names_nothing(code: types.FunctionType) -> bool:
    """Whether code names nothing outside of it but the compiler's own functions, as most statements do."""
    is_alone = not _names_in(code.__code__) and not code.__defaults__ and not code.__kwdefaults__
    return is_alone and all(map(_holds_the_compilers, code.__closure__ or ()))


def may_change(value: Any) -> bool:
    """Whether code can change an object in place."""
    return isinstance(value, np.ndarray) or bool(parts(value))


def reached(values: Iterable[Named]) -> Found:
    """The mutable objects that code reaches from some objects, also by names in functions among these.

    Args:
        values: The objects, with their names.
    """
    return _search(values, reaches=True)


def read(values: Iterable[Named]) -> tuple[Found, frozenset[str]]:
    """The objects that code may read from some objects, and the names of the attributes by which it does.

    The search includes the methods of a class that it has names for, and those that Python calls implicitly.

    Args:
        values: The objects, with their names.
    """
    values, names = list(values), frozenset[str]()
    while True:
        found = _search(values, reaches=True, names=names)
        if found.names <= names:
            return found, names
        names |= found.names


def _search(
    values: Iterable[Named],
    *,
    reaches: bool,
    whole: Any = None,
    names: frozenset[str] | None = None,
    grows: bool = False,
) -> Found:
    """Search objects for mutable ones.

    Args:
        values: The objects to begin with, with their names.
        reaches: Whether functions are searched.
        whole: An object for which growth counts as a change.
        names: The names of methods and attributes to follow; None for all.
        grows: Whether growing containers are searched, too, and each new entry is a change.
    """
    found = Found()

    def enters(named: Named) -> bool:
        _, item = named
        found.may_be_unsteady |= may_be_unsteady(item)
        if _is_batched(item):
            return names is not None
        if isinstance(item, Growing):
            return grows
        return not _does_not_change(item) and (reaches or not isinstance(item, types.FunctionType))

    def parts_of(named: Named) -> Iterator[Named]:
        name, item = named
        yield from ((name, part) for part in _consists_of(item, names))
        yield from ((inner or name, part) for inner, part in (_reaches(item, names) if reaches else ()))

    most = MOST_PARTS_COMPARED if names is None else MOST_PARTS_READ
    for name, item in walked(
        values, parts_of, most=most, enters=enters, comes_first=_is_code, object_of=lambda named: named[1]
    ):
        if isinstance(item, np.ndarray):
            found.arrays.append(item)
        if isinstance(item, types.FunctionType) and _is_users(item):
            found.functions.append(item)
        if isinstance(item, type):
            found.classes.append(item)
        for read in _readers(item):
            may_grow = reaches or read is attributes or (isinstance(item, (dict, type)) and item is not whole)
            may_grow = may_grow and not grows
            found.parts.append(Part(item, read, read(item), may_grow, name))
    return found


def _is_code(named: Named) -> bool:
    """Whether an object is code or belongs to a function; such objects are searched first, and without a limit."""
    return isinstance(named[1], (types.FunctionType, types.MethodType, types.CellType, type))


def _is_batched(item: Any) -> bool:
    return hasattr(type(item), "__hlobatch_function__")


def is_read_by_name(item: Any) -> bool:
    """Whether attributes of an object are read by name only: its class is the user's, and no library knows it."""
    kind = type(item)
    return is_users_class(kind) and not dataclasses.is_dataclass(kind) and jax.tree_util.all_leaves([item])


def _does_not_change(item: Any) -> bool:
    """Whether an object has no mutable parts, or none that the code naming it can change."""
    if isinstance(item, type):
        return not is_users_class(item)
    if isinstance(item, Namespace):
        return False
    return isinstance(item, _ATOMS) or _is_the_compilers(type(item))


def _is_the_compilers(kind: Any) -> bool:
    """Whether a class or a function is one of the compiler's own."""
    module = kind.__module__ or ""  # the module of a function may be None
    return module.startswith("hlobatch.") and not module.startswith("hlobatch.mcmc")


def _holds_the_compilers(cell: types.CellType) -> bool:
    """Whether a variable holds a function or an object of the compiler's, which compiled code is given."""
    held = cell.cell_contents if is_filled(cell) else None
    is_function = isinstance(held, types.FunctionType) and not held.__closure__
    return _is_the_compilers(held if is_function else type(held))


def _readers(item: Any) -> Iterator[Callable[[Any], Any]]:
    """Functions that give the mutable contents of an object itself, its parts aside."""
    match item:
        case Namespace():
            yield named
        case types.CellType():
            yield cell_content
        case type():
            yield class_attributes
        case types.FunctionType():
            yield from [attributes] if _is_users(item) else ()
        case _ if owner_of(item) is not item or isinstance(item, np.ndarray) or _is_batched(item):
            return
        case _ if is_used_up(item):
            yield position
        case _:
            if not isinstance(item, tuple) and content(item) is not None:
                yield content
            if attributes(item) or is_users_class(type(item)):
                yield attributes


def _consists_of(item: Any, names: frozenset[str] | None) -> Iterator[Any]:
    """The parts of an object."""
    match item:
        case Namespace() | np.ndarray():
            return
        case _ if _is_batched(item):
            yield item.__hlobatch_function__
        case types.CellType():
            yield from cell_content(item).values()
        case type():
            yield from filter(is_users_class, item.__mro__[1:])
            yield from class_attributes(item).values()
            yield from (value for value in vars(item).values() if is_users_class(type(value)))  # descriptors
        case types.FunctionType():
            yield from vars(item).values() if _is_users(item) else ()
        case functools.partial():
            yield from (item.func, *item.args, item.keywords)
        case _ if (owner := owner_of(item)) is not item:
            yield owner
        case _ if is_used_up(item):
            yield from filter(is_used_up, _held_by(item))
        case _:
            yield from [type(item)] if is_users_class(type(item)) else ()
            held = content(item)
            values = held.values() if isinstance(held, dict) else held if isinstance(held, tuple) else ()
            yield from () if _KINDS_PLAIN.issuperset(map(type, values)) else values
            by_name = names if names is not None and is_read_by_name(item) else None
            yield from (value for name, value in attributes(item).items() if by_name is None or name in by_name)


def _reaches(item: Any, names: frozenset[str] | None) -> Iterator[Named]:
    """The objects that code reaches through an object without being its parts, with their names."""
    match item:
        case types.FunctionType() if _is_users(item):
            yield from _named_by(item, _names_in(item.__code__) if names is None else _globals_in(item.__code__))
        case types.FunctionType():  # library code may call functions passed to it
            yield from (("", value) for value in around(item).values() if callable(value))
        case types.MethodType():
            yield "", item.__func__
        case type():
            called = [value for name, value in vars(item).items() if names is None or _may_call(item, name, names)]
            yield from ((item.__name__, function) for value in called for function in functions_in(value))
            kinds = (type(item), *map(type, vars(item).values()))  # also the classes of descriptors
            yield from ((kind.__name__, kind) for kind in kinds if is_users_class(kind))


def _may_call(kind: type, method: str, names: frozenset[str]) -> bool:
    """Whether code with some names may call a method: by name, implicitly, or by making an object of the class."""
    if method in ("__init__", "__new__", "__post_init__"):
        return kind.__name__ in names
    return method in names or method.startswith("__")


def _is_users(function: types.FunctionType) -> bool:
    return is_users_file(function.__code__.co_filename)


def _named_by(function: types.FunctionType, names: frozenset[str]) -> Iterator[Named]:
    """The values of a function's names, the namespace in which it may bind them, and the defaults of its parameters."""
    yield "", Namespace(function.__globals__, names)
    for name in sorted(names):
        value = function.__globals__.get(name, sys.modules.get(name))
        if isinstance(value, types.ModuleType):
            yield from _in_module(value, _names_in(function.__code__))
        else:
            yield name, value
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    yield from ((name, cell) for name, cell in cells if not _holds_the_compilers(cell))
    yield from defaults(function).items()


def _in_module(
    module: types.ModuleType, names: frozenset[str], around: tuple[types.ModuleType, ...] = ()
) -> Iterator[Named]:
    """The values of names in a module and its submodules; of a library's, only values that may be unsteady."""
    file = getattr(module, "__file__", None) or ("<frozen" if module.__spec__ else "<made by code>")
    bound, is_users = vars(module), is_users_file(file)
    if is_users:
        yield module.__name__, Namespace(bound, names)
    for name in sorted(names.intersection(bound)):
        value = bound[name]
        if isinstance(value, types.ModuleType):
            yield from _in_module(value, names, (*around, module)) if value not in around else ()
        elif is_users or may_be_unsteady(value):
            yield name, value


@functools.lru_cache(maxsize=10_000)
def _names_in(code: types.CodeType) -> frozenset[str]:
    """Names of globals, attributes and modules in some code and its inner functions."""
    return frozenset(name for part in code_within(code) for name in part.co_names)


@functools.lru_cache(maxsize=10_000)
def _globals_in(code: types.CodeType) -> frozenset[str]:
    """Names of globals and modules in some code and its inner functions."""
    instructions = (i for part in code_within(code) for i in dis.get_instructions(part))
    return frozenset(i.argval for i in instructions if i.opname in _NAMING)


_NAMING: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"})


def _held_by(iterator: Any) -> Iterator[Any]:
    """The iterators that an iterator wraps, as ``zip`` does, among the objects it refers to."""
    for item in gc.get_referents(iterator):
        yield from item if isinstance(item, tuple) else (item,)
