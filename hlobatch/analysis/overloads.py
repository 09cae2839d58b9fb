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

import hlobatch.prelude.functools as orders
from hlobatch.diagnostics import HloBatchError, Location, is_internal
from hlobatch.ir.boxed import Boxed
from hlobatch.ir.patterns import parts_of
from hlobatch.ir.types import Static, Type
from hlobatch.prelude.in_turn import is_of_iterators
from hlobatch.values.facts import Site
from hlobatch.values.own_containers import reads_missing_key

LEN: Final = "__len__"
BOOL: Final = "__bool__"


@dataclass(frozen=True, slots=True)
class Overloaded:
    """The fact that operations of one kind may call a method of the user's, which has to be followed.

    Attributes:
        error: The error of the code as long as they are not calls of the program.
    """

    error: HloBatchError = field(compare=False)


def of_operations(place: Location, name: str) -> Site:
    """The site of facts about the operations of a function that call a method of this name.

    Args:
        place: A place in the function.
        name: The name of a special method, such as ``__add__``, or of a property.
    """
    return Site((place.file, place.function, name), (), (0, 0, 0, 0))


def of_statement(place: Location, name: str) -> Site:
    """The site of facts about one statement on an item of an object, which calls a method of this name."""
    return of_operations(place, f"{name} {place.line}:{place.column}")


def called_by_itself(error: BaseException, file: str) -> str | None:
    """The outermost method of the user's that Python called implicitly before an error; None if there is none.

    Args:
        error: The error of a statement.
        file: The file of the statement, which may be one of the prelude.
    """
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    users = (one for one in frames if _is_of_program(one.f_code) or one.f_code.co_filename == file)
    next(users, None)  # the statement itself, whose code has the name of the function that it stands in
    for frame in users:
        code = frame.f_code
        if not code.co_argcount:
            continue
        owner, name = type(frame.f_locals.get(code.co_varnames[0])), _method_name(code)
        found = inspect.getattr_static(owner, name, None)
        if isinstance(found, property) or (found is not None and _is_special(name)):
            return name
    return None


def _method_name(code: types.CodeType) -> str:
    """The name that a class has for the method with this code, which ``total_ordering`` may have added."""
    return f"__{code.co_name[1:3]}__" if _is_of_ordering(code) else code.co_name


def _is_of_ordering(code: types.CodeType) -> bool:
    return code.co_filename == orders.__file__ and code.co_name.startswith("_")


def _is_of_program(code: types.CodeType) -> bool:
    """Whether code is the user's, or that of an object that lanes have in place of one of Python's."""
    return any(
        (not is_internal(code.co_filename), reads_missing_key(code), is_of_iterators(code), _is_of_ordering(code))
    )


def need_numbers(error: BaseException, types_: Iterable[Type], named: Iterable[Any]) -> list[str]:
    """``__bool__`` and ``__len__``, if they may have returned a value of a lane where Python wants a number.

    Args:
        error: The error of the code.
        types_: The types of its operands.
        named: Objects that it names, such as classes that it makes objects of.
    """
    if not isinstance(error, TypeError) or isinstance(error, HloBatchError):
        return []
    classes = {kind for type_ in types_ for kind in _classes_in(type_.tensors)}
    classes.update(one for one in named if isinstance(one, type))
    return [name for name in (BOOL, LEN) if any(_has(kind, name) for kind in classes)]


def _has(kind: type, name: str) -> bool:
    """Whether a class has a method of this name that is written in Python."""
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
