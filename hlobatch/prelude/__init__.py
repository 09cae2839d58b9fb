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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

BUILTINS: Final = f"{__name__}.builtins"
"""The module of what means something to lanes without this package, too."""
_FOLDER: Final = f"{Path(__file__).resolve().parent}{os.sep}"


def is_of_prelude(file: str) -> bool:
    """Whether a file is one of this package."""
    return file.startswith(_FOLDER)


def standing_for(function: Any) -> types.FunctionType | None:
    """The function of this package that lanes run in place of one of Python's library, if there is one."""
    if not isinstance(function, _KINDS):
        return None
    return _functions().get(function)


def methods(kind: Any) -> Mapping[str, types.FunctionType]:
    """By name, what lanes run in place of methods of a class of Python's."""
    pairs = ((module, name.split("."), own) for module, found in _modules().items() for name, own in found.items())
    return {names[1]: own for module, names, own in pairs if names[1:] and _pythons(module, names[0]) is kind}


_KINDS: Final = (types.BuiltinFunctionType, types.FunctionType, types.MethodDescriptorType)


def names() -> Mapping[str, Sequence[str]]:
    """By module of Python's library, the functions of it that this package has."""
    return {module: sorted(found) for module, found in _modules().items()}


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
