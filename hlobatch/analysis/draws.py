"""The generators of random numbers that code may draw from: those it names, and those of what it calls.

To draw changes a generator once, when the program is built, for all lanes and turns. NumPy's and Python's own are
global, and hide in the functions of a module: ``np.random.rand`` is a method of one.
"""

from __future__ import annotations

import dis
import random
import types
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

GENERATORS: Final = (random.Random, np.random.Generator, np.random.RandomState)
_METHODS: Final = frozenset(name for kind in GENERATORS for name in dir(kind) if not name.startswith("_"))
_IN_PACKAGES: Final = ("site-packages", "dist-packages")


def generators_of(function: types.FunctionType) -> list[Any]:
    """The generators whose methods a function names, or a function of the user's that it names, at any depth.

    What is compiled by ``jax.jit`` draws once in plain Python, too, and is not looked into.
    """
    found: dict[int, Any] = {}
    pending, seen = [function], set[types.FunctionType]()
    while pending:
        function = pending.pop()
        if function in seen or any(part in function.__code__.co_filename for part in _IN_PACKAGES):
            continue
        seen.add(function)
        for code in code_within(function.__code__):
            known = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
            pending += [value for value in known if isinstance(value, types.FunctionType)]
            if not _METHODS.isdisjoint(code.co_names):
                found |= {id(generator): generator for generator in _drawn_from(code, function.__globals__)}
    return list(found.values())


def names_of(function: types.FunctionType) -> set[str]:
    """Names of globals, and of attributes, in a function's code."""
    return {name for code in code_within(function.__code__) for name in code.co_names}


def code_within(code: types.CodeType) -> Iterator[types.CodeType]:
    """Some code and that of the functions, lambdas and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_within(constant)


def _drawn_from(code: types.CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """The generators that have a method that is loaded by a dotted name; no other attributes are looked at."""
    value: Any = None
    for instruction in dis.get_instructions(code):
        match instruction.opname:
            case "LOAD_GLOBAL" | "LOAD_NAME":
                value = names.get(instruction.argval)
            case "LOAD_ATTR" | "LOAD_METHOD" if isinstance(value, (types.ModuleType, *GENERATORS)):
                value = getattr(value, instruction.argval, None)
            case _:
                value = None
        if isinstance(getattr(value, "__self__", None), GENERATORS):
            yield value.__self__
