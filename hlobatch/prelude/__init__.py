"""Python's library in ordinary Python: a function of it -> the one of this package that lanes run in its place.

::

    heapq.heappush(heap, item)      ==>      %heap = call @heappush(%heap, %item)       of ``prelude/heapq.py``

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
    if not isinstance(function, types.BuiltinFunctionType | types.FunctionType):
        return None
    return _functions().get(function)


def names() -> Mapping[str, Sequence[str]]:
    """By module of Python's library, the functions of it that this package has."""
    return {module: sorted(found) for module, found in _modules().items()}


@functools.cache
def _functions() -> Mapping[Any, types.FunctionType]:
    modules = {name: importlib.import_module(name) for name in _modules()}
    return {getattr(modules[m], name): own for m, found in _modules().items() for name, own in found.items()}


@functools.cache
def _modules() -> Mapping[str, Mapping[str, types.FunctionType]]:
    """By module of this package, what stands for a function of Python's of the same name."""
    return {name: _standing(name) for name in sorted(module.name for module in pkgutil.iter_modules(__path__))}


def _standing(module: str) -> Mapping[str, types.FunctionType]:
    pythons, ours = importlib.import_module(module), vars(importlib.import_module(f"{__name__}.{module}"))
    own = {name: value for name, value in ours.items() if isinstance(value, types.FunctionType)}
    return {n: value for n, value in own.items() if is_of_prelude(value.__code__.co_filename) and hasattr(pythons, n)}
