"""Python's library in ordinary Python: a function of it -> the one of this package that lanes run in its place.

::

    heapq.heappush(heap, item)      ==>      %heap = call @heappush(%heap, %item)       of ``prelude/heapq.py``

A method of Python's stands in a class of the same name: ``list.sort`` of ``prelude/builtins.py``.

A module of Python's library that CPython has written in C, or with what lanes do not have, stands here under its own
name, as a user would write it. It is compiled as users' code is, once for each type of its arguments, and runs under
CPython as it stands. A function stands for the one of the same name in the module of the same name; nothing else has
to know of it.

Code of this package is trusted: an index in it is that of an item that is there, and is not negative unless it is
written out, so that lanes do not ask. What it raises, and what is refused in it, is said of the line that calls it.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

F = TypeVar("F", bound=Callable[..., Any])  # a class can be called, too
MEANT_ANYWAY: Final = frozenset(f"{__name__}.{name}" for name in ("builtins", "functools", "itertools"))
"""The modules of what means something to lanes without this package, too: of items whose number all lanes share."""
_FOLDER: Final = f"{Path(__file__).resolve().parent}{os.sep}"


def is_of_prelude(file: str) -> bool:
    """Whether a file is one of this package."""
    return file.startswith(_FOLDER)


def standing_for(function: Any) -> types.FunctionType | None:
    """The function, of this package or registered, that lanes run in place of one of a library, if there is one."""
    if not isinstance(function, _KINDS):
        return None
    own = _REGISTERED.get(function) or _functions().get(function)
    return own if isinstance(own, types.FunctionType) else None


def class_for(kind: Any) -> Any:
    """The class that is registered in place of one of a library; any other object as it is."""
    own = _REGISTERED.get(kind) if isinstance(kind, type) else None
    return own if isinstance(own, type) else kind


def is_registered(kind: type) -> bool:
    """Whether a class is registered in place of one of a library."""
    return any(own is kind for own in _REGISTERED.values())


def stands_for(function: Callable[..., Any]) -> Callable[[F], F]:
    """Have lanes run a function, or make objects of a class, in place of those of a library that they cannot run.

    What is called with values that differ between lanes is the function that is decorated; with values that are known
    when the program is built, it is the library's own. It is compiled as any function of yours is: it may branch, loop,
    raise, and change what it is given. Plain Python calls the library's.

    In place of a class stands a class of yours with the same methods, whose attributes are numbers, lists and the like.
    Batched code makes its objects of that, whatever they are made of; what stands outside stays the library's.

    Args:
        function: The library's function or class, such as one that is written in C.

    Returns:
        What leaves the function that is decorated as it is.

    Raises:
        TypeError: It is no function.

    Examples:
        >>> import hlobatch as hb, jax.numpy as jnp, statistics
        >>> @hb.stands_for(statistics.median_low)
        ... def median_low(data):
        ...     return sorted(data)[(len(data) - 1) // 2]
        >>> @hb.batch
        ... def middle(n):
        ...     return statistics.median_low([x * 7 % 10 for x in range(8) if x < n])
        >>> middle(jnp.array([1, 3, 5])).tolist()
        [0, 4, 4]
    """
    if not isinstance(function, _KINDS):
        raise TypeError(f"{function!r} is no function, and no class, of a library")

    def register(own: F) -> F:
        _REGISTERED[function] = own
        return own

    return register


def methods(kind: Any) -> Mapping[str, types.FunctionType]:
    """By name, what lanes run in place of methods of a class of Python's."""
    pairs = ((module, name.split("."), own) for module, found in _modules().items() for name, own in found.items())
    return {names[1]: own for module, names, own in pairs if names[1:] and _pythons(module, names[0]) is kind}


_REGISTERED: Final[dict[Any, Any]] = {}
"""What users have registered."""
_KINDS: Final = (types.BuiltinFunctionType, types.FunctionType, types.MethodDescriptorType, type)


def names() -> Mapping[str, Sequence[str]]:
    """By module of Python's library, the functions of it that this package has."""
    return {module: sorted(found) for module, found in _modules().items() if found}


@functools.cache
def _functions() -> Mapping[Any, types.FunctionType]:
    return {_pythons(module, name): own for module, found in _modules().items() for name, own in found.items()}


@functools.cache
def _modules() -> Mapping[str, Mapping[str, types.FunctionType]]:
    """By module of this package, what stands for a function of Python's of the same name."""
    return {name: _standing(name) for name in sorted(module.name for module in pkgutil.iter_modules(__path__))}


def _standing(module: str) -> Mapping[str, types.FunctionType]:
    """What stands for a function or a method of Python's of the same name, such as ``list.sort``."""
    ours = importlib.import_module(f"{__name__}.{module}")
    classes = {f"{name}.": kind for name, kind in vars(ours).items() if isinstance(kind, type)}
    found = {f"{of}{name}": own for of, kind in {"": ours, **classes}.items() for name, own in vars(kind).items()}
    functions = {name: own for name, own in found.items() if isinstance(own, types.FunctionType)}
    return {n: f for n, f in functions.items() if is_of_prelude(f.__code__.co_filename) and _pythons(module, n)}


def _pythons(module: str, name: str) -> Any:
    """What a name stands for in Python's own module, if anything."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
