"""A user's class that is derived from a container -> the class that lanes make objects of: an object with a container.

::

    class Stack(list): …                   ``Stack`` derived from ``prelude.bases.List``, with the same methods

Python keeps the items of such an object outside of its attributes, where no lane's values can be. The class in its
place has them in the attribute ``hb_content``, and methods of ``list`` in Python. Objects that were made outside of the
batched function stay Python's.
"""

from __future__ import annotations

import abc
import contextvars
import copy
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

from hlobatch import prelude
from hlobatch.prelude import bases
from hlobatch.prelude.bases import Content
from hlobatch.scoped import having
from hlobatch.values.draws import is_users_class, is_users_file
from hlobatch.values.facts import WHOLE_PROGRAM, Learned


@dataclass(frozen=True, slots=True)
class MakesContents:
    """The fact that a program makes objects of such classes, so that library functions may get containers of them."""


_are_known: contextvars.ContextVar[bool] = contextvars.ContextVar("hlobatch_contents", default=True)


def contents_known(are_known: bool) -> AbstractContextManager[bool]:
    """A context for tracing a program: whether it is known to make such objects, as it is from its second build on."""
    return having(_are_known, are_known)


_BASES: Final[Mapping[type, type[Content]]] = {
    kind.hb_python: kind
    for kind in (
        bases.List, bases.Deque, bases.Set, bases.Dict, bases.Ordered, bases.Defaults, bases.Counts,
        bases.UserList, bases.UserDict,
    )
}  # fmt: skip
"""By class of Python's, the class in its place."""
_OF_THE_CLASS: Final = frozenset({"__dict__", "__weakref__", "__slots__", "__hash__"})
"""Names in the namespace of a class that the class in its place has of its own."""
_MADE: Final[dict[type, tuple[Mapping[str, Any], type]]] = {}
"""The classes in place of users' classes, each with the namespace that it was made of."""


def class_for(kind: Any) -> Any:
    """The class that lanes make objects of in place of a class; any other object unchanged."""
    if not isinstance(kind, type):
        return kind
    own = prelude.class_for(kind)
    return _made(kind) if own is kind and is_derived(kind) else own


def are_made() -> bool:
    """Whether there are such classes."""
    return bool(_MADE)


def new(kind: type) -> Any:
    """A new object of a class, before its ``__init__``."""
    made = class_for(kind)
    return made.__new__(made) if issubclass(made, Content) else object.__new__(made)


def is_method_of_base(function: Any) -> bool:
    """Whether an object is a method of a class of Python's that users' classes are derived from."""
    is_method = isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType))
    return is_method and function.__objclass__ in _BASES


def function_for(function: Any, args: Sequence[Any]) -> Any:
    """The function or class that lanes call in place of another one: ``List.append`` for ``list.append(stack, x)``.

    Raises:
        Learned: It is a class, and the first of its kind that the program makes an object of.
    """
    if function is copy.copy and has_content(args[0]) and not hasattr(type(args[0]), "__copy__"):
        return copied
    if args and has_content(args[0]) and is_method_of_base(function):
        return getattr(_BASES[function.__objclass__], function.__name__, function)
    made = class_for(function)
    if made is not function and issubclass(made, Content) and not _are_known.get():
        raise Learned(WHOLE_PROGRAM, MakesContents())
    return made


def python_class(kind: type) -> type:
    """The class of the user's for which another one stands; any other class unchanged."""
    own: type = vars(kind).get("hb_stands_for", kind)
    return own


def with_bases(classes: Sequence[type]) -> list[type]:
    """Some classes, with those in their place, and what those are derived from."""
    if not any(issubclass(kind, (Content, *_BASES)) for kind in classes):
        return list(classes)
    found = dict.fromkeys(classes)
    for kind in classes:
        own = class_for(kind)
        found.update(dict.fromkeys(base for base in own.__mro__ if issubclass(base, Content)))
    return list(found)


def has_content(value: Any) -> bool:
    """Whether a value is an object with a container in it."""
    return isinstance(value, Content)


def content(value: Any, *special: str) -> Any:
    """The container in an object, if the user's class does not define the special methods by which Python asks for it.

    Args:
        value: Any value; one that is no such object, or has such a method, is returned as it is.
        *special: The names of the methods.
    """
    is_plain = isinstance(value, Content) and not any(_is_users(type(value), name) for name in special)
    return value.hb_content if is_plain else value


def contents(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, with the container in place of an object, where the callee asks for its items.

    Args:
        function: The callee.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
    """
    if not are_made() or not _asks_for_items(function):
        return tuple(args), dict(kwargs)
    asked = ("__len__",) if function is len else ("__bool__", "__len__") if function is bool else ("__iter__",)
    return (
        tuple(content(value, *asked) for value in args),
        {name: content(value, *asked) for name, value in kwargs.items()},
    )


def _asks_for_items(function: Any) -> bool:
    """Whether a callee, which is not of the user's, goes over containers, and needs nothing else of an object."""
    plain = getattr(function, "__func__", function)
    if isinstance(plain, types.FunctionType):
        if plain.__code__.co_filename == bases.__file__:
            return isinstance(function, types.MethodType)
        return not is_users_file(plain.__code__.co_filename) and plain not in _OF_OBJECTS
    if isinstance(function, (types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType)):
        return function not in _OF_OBJECTS
    return isinstance(function, type) and function not in _OF_OBJECTS and not is_users_class(function)


def copied(value: Content) -> Content:
    """``copy.copy`` of an object with a container, which copies the container, too."""
    new = copy.copy(value)
    new.hb_content = copy.copy(value.hb_content)
    return new


_OF_OBJECTS: Final[tuple[Any, ...]] = (
    *(isinstance, issubclass, type, hasattr, getattr, setattr, delattr, id, callable, vars, dir, super),
    *(print, str, repr, format, copy.copy, copy.deepcopy, functools.partial, copied),
)
"""Functions that look at the object, or at its class."""


def is_of_missing_keys(function: types.FunctionType) -> bool:
    """Whether a function reads an item of a dict by the ``__missing__`` of the user's class."""
    return function is bases.MissingKeys.__getitem__


def reads_missing_key(code: types.CodeType) -> bool:
    """Whether code is that of such a function."""
    return code.co_filename == bases.__file__ and code.co_qualname == bases.MissingKeys.__getitem__.__qualname__


def _is_users(kind: type, name: str) -> bool:
    """Whether a method of a class is the user's own."""
    owner = next((base for base in kind.__mro__ if name in vars(base)), object)
    return owner is not object and owner.__module__ != bases.__name__


def is_derived(kind: type) -> bool:
    """Whether a class is a user's that is derived from one container, and whose objects are made as usual."""
    bases_ = [base for base in kind.__mro__ if base in _BASES]
    if not bases_ or bases_[0] is kind or type(kind) not in (type, abc.ABCMeta):
        return False
    beside = [base for base in kind.__mro__ if not issubclass(bases_[0], base) and base is not typing.Generic]
    return all(is_users_class(base) and "__new__" not in vars(base) for base in beside)


def _made(kind: type) -> type:
    """The class in place of a user's, made anew if the user's has changed."""
    namespace = dict(vars(kind))
    known, made = _MADE.get(kind, ({}, kind))
    if known != namespace:  # compares by identity first
        made = _derived(kind, namespace)
        _MADE[kind] = namespace, made
    return made


def _derived(kind: type, namespace: Mapping[str, Any]) -> type:
    cell = types.CellType()
    own = {name: _of_the_class(value, cell) for name, value in namespace.items() if name not in _OF_THE_CLASS}
    derived = [_BASES.get(base, class_for(base)) for base in kind.__bases__]
    if "__missing__" in own and "__getitem__" not in own:
        own["__getitem__"] = bases.MissingKeys.__getitem__
    made = type(kind)(kind.__name__, tuple(derived), {**own, "hb_stands_for": kind})
    cell.cell_contents = made
    return made


def _of_the_class(value: Any, cell: types.CellType) -> Any:
    """A member of a class as one of the class in its place, which ``super()`` finds in ``cell``."""
    match value:
        case types.FunctionType() if "__class__" in value.__code__.co_freevars:
            return _function(value, cell)
        case property():
            get, set_, delete = (_of_the_class(part, cell) for part in (value.fget, value.fset, value.fdel))
            return property(get, set_, delete, value.__doc__)
        case classmethod() | staticmethod():
            return type(value)(_of_the_class(value.__func__, cell))
    return value


def _function(function: types.FunctionType, cell: types.CellType) -> types.FunctionType:
    names, code = function.__code__.co_freevars, function.__code__
    cells = zip(names, function.__closure__ or (), strict=True)
    closure = tuple(cell if name == "__class__" else own for name, own in cells)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    made.__module__, made.__doc__ = function.__module__, function.__doc__
    return made
