"""An error while code is traced -> the special method (``__len__``, ``__bool__``, …) that Python called implicitly.

Properties, operators, ``len`` and conditions call methods of the user's classes. A method that branches on a lane's
value cannot be traced. The frontend then builds the code again, with the operation as an explicit call of the method
(``frontend/special_methods.py``).
"""

from __future__ import annotations

import inspect
import traceback
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from hlobatch.analysis.facts import Site
from hlobatch.diagnostics import HloBatchError, Location, is_internal
from hlobatch.ir.boxed import Boxed
from hlobatch.ir.patterns import parts_of
from hlobatch.ir.types import Static, Type

LEN: Final = "__len__"
BOOL: Final = "__bool__"


@dataclass(frozen=True, slots=True)
class Overloaded:
    """The fact that operations of one kind may call a method of the user's, which has to be followed.

    Attributes:
        error: What is wrong with the code as long as they do not.
    """

    error: HloBatchError = field(compare=False)


def of_operations(place: Location, name: str) -> Site:
    """The site of what is known about the operations in a function that call the method of a name.

    Args:
        place: A place in the function.
        name: ``__add__``, or a property's.
    """
    return Site((place.file, place.function, name), (), (0, 0, 0, 0))


def called_by_itself(error: BaseException) -> str | None:
    """The first method of the user's that Python called by itself on the way to an error."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if is_internal(code.co_filename) or not code.co_argcount:
            continue
        owner = type(frame.f_locals.get(code.co_varnames[0]))
        found = inspect.getattr_static(owner, code.co_name, None)
        if isinstance(found, property) or (found is not None and _is_special(code.co_name)):
            return code.co_name
    return None


def need_numbers(error: BaseException, types_: Iterable[Type], named: Iterable[Any]) -> list[str]:
    """``__bool__`` and ``__len__``, as far as Python may have wanted a number of them, and got a lane's.

    Args:
        error: What came of the code.
        types_: Of what it reads.
        named: What it names, such as classes of objects that it makes.
    """
    if not isinstance(error, TypeError) or isinstance(error, HloBatchError):
        return []
    classes = {kind for type_ in types_ for kind in _classes_in(type_.tensors)}
    classes.update(one for one in named if isinstance(one, type))
    return [name for name in (BOOL, LEN) if any(_has(kind, name) for kind in classes)]


def _has(kind: type, name: str) -> bool:
    """Whether a class has a method of the user's."""
    return isinstance(getattr(kind, name, None), types.FunctionType)


def _classes_in(pattern: Any) -> Iterator[type]:
    """The classes of the objects in a pattern."""
    if isinstance(pattern, Static):
        yield type(pattern.value)
    elif isinstance(pattern, Boxed):
        yield pattern.cls
    for part in parts_of(pattern):
        yield from _classes_in(part)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in ("__init__", "__call__", "__post_init__")
