"""Python's library in ordinary Python: a library function -> the function of this package that lanes run in its place.

::

    heapq.heappush(heap, item)      ==>      %heap = call @heappush(%heap, %item)       of ``prelude/heapq.py``

A method of Python's is in a class of the same name here: ``list.sort`` is in ``prelude/builtins.py``.

This package has a module for each module of Python's library that CPython has written in C, or that does what lanes
cannot do. It is written as a user would write it, compiled like users' code, once for each type of its arguments, and
also runs under CPython. A function stands for the library function of the same name in the module of the same name; no
table lists it.

Code of this package is trusted: its indices are in range, and not negative unless they are literals, so lanes do not
check them. Those in ``bases.py`` are the user's, and are checked. Errors in this package are reported at the line that
calls it.
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
MEANT_AS_A_WHOLE: Final = frozenset(f"{__name__}.{name}" for name in ("builtins", "functools", "itertools", "operator"))
"""The modules whose functions, without this package, go over items of a lane's number, or tell that a loop has to."""
MEANT_ANYWAY: Final = MEANT_AS_A_WHOLE | {f"{__name__}.math"}
"""The modules whose functions have a meaning for lanes without this package, too: on items of a shared number."""
_FOLDER: Final = f"{Path(__file__).resolve().parent}{os.sep}"


def is_of_prelude(file: str) -> bool:
    """Whether a file is in this package."""
    return file.startswith(_FOLDER)


def is_trusted(file: str) -> bool:
    """Whether a file is in this package, and its indices are not those that the user's code gives it."""
    return is_of_prelude(file) and file != f"{_FOLDER}bases.py"


def standing_for(function: Any) -> types.FunctionType | None:
    """The function, registered or of this package, that lanes run in place of a library function; else None."""
    if not isinstance(function, _KINDS):
        return None
    own = _REGISTERED.get(function) or _functions().get(function)
    return own if isinstance(own, types.FunctionType) else None


def class_for(kind: Any) -> Any:
    """The class that is registered in place of a library class; any other object unchanged."""
    own = _REGISTERED.get(kind) if isinstance(kind, type) else None
    return own if isinstance(own, type) else kind


def is_registered(kind: type) -> bool:
    """Whether a class is registered in place of a library class."""
    return any(own is kind for own in _REGISTERED.values())


def stands_for(function: Callable[..., Any]) -> Callable[[F], F]:
    """Have lanes run a function, or make objects of a class, in place of those of a library that they cannot run.

    A call with values that differ between lanes runs the decorated function; a call with values that are known when the
    program is built runs the library's own. The function is compiled like any function of yours: it may branch, loop,
    raise, and change its arguments. Plain Python calls the library's.

    A class can be replaced by a class of yours with the same methods, whose attributes are numbers, lists and the like.
    Batched code makes its objects from your class, whatever their arguments are; objects made outside stay the
    library's.

    Args:
        function: The library's function or class, such as one that is written in C.

    Returns:
        A decorator, which returns the decorated function unchanged.

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
    """The functions that lanes run in place of methods of a Python class, by name."""
    pairs = ((module, name.split("."), own) for module, found in _modules().items() for name, own in found.items())
    return {names[1]: own for module, names, own in pairs if names[1:] and _pythons(module, names[0]) is kind}


_REGISTERED: Final[dict[Any, Any]] = {}
"""The functions and classes that users have registered."""
_KINDS: Final = (types.BuiltinFunctionType, types.FunctionType, types.MethodDescriptorType, type)


def names() -> Mapping[str, Sequence[str]]:
    """The names of the functions in this package that users call, by module of Python's library."""
    return {module: sorted(n for n in found if n[0] != "_") for module, found in _modules().items() if found}


@functools.cache
def _functions() -> Mapping[Any, types.FunctionType]:
    return {_pythons(module, name): own for module, found in _modules().items() for name, own in found.items()}


@functools.cache
def _modules() -> Mapping[str, Mapping[str, types.FunctionType]]:
    """By module of this package, its functions that stand for Python's functions of the same name."""
    names = {module.name for module in pkgutil.iter_modules(__path__)} - {"bases", "in_turn"}
    return {name: _standing(name) for name in sorted(names)}


def _standing(module: str) -> Mapping[str, types.FunctionType]:
    """The functions of a module that stand for Python's of the same name, or for methods such as ``list.sort``.

    An attribute of a function counts, too, such as ``chain.from_iterable``.
    """
    ours = importlib.import_module(f"{__name__}.{module}")
    owners = {f"{n}.": own for n, own in vars(ours).items() if isinstance(own, (type, types.FunctionType))}
    found = {f"{of}{name}": own for of, owner in {"": ours, **owners}.items() for name, own in vars(owner).items()}
    functions = {name: own for name, own in found.items() if isinstance(own, types.FunctionType)}
    return {n: f for n, f in functions.items() if is_of_prelude(f.__code__.co_filename) and _pythons(module, n)}


def _pythons(module: str, name: str) -> Any:
    """The object with this name in Python's own module; None if there is none."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
