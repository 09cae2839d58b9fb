"""A walk over Python objects and the objects that they consist of, each once.

::

    walked([f], lambda one: [*around(one).values(), *defaults(one).values()])

The caller passes a function from an object to the parts that are to be visited. The other functions in this module
give such parts: the attributes of an object, the variables that a function closes over, and so on.
"""

from __future__ import annotations

import collections
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

_One = TypeVar("_One")

PLAIN: Final = (str, bytes, int, float, complex, types.NoneType)
"""Classes whose instances consist of no other objects."""
_EMPTY: Final = types.CellType()


def walked(
    start: Iterable[_One],
    parts: Callable[[_One], Iterable[_One]],
    *,
    most: float = math.inf,
    enters: Callable[[_One], bool] = lambda _: True,
    comes_first: Callable[[_One], bool] | None = None,
    object_of: Callable[[_One], Any] = lambda one: one,
) -> Iterator[_One]:
    """Yield objects and the objects that they consist of, each once, breadth first.

    Args:
        start: The objects to begin with.
        parts: The parts of an object to visit; called after the object was yielded.
        most: The number of objects to yield at most.
        enters: Whether to yield an object and visit its parts; asked each time that the object is met.
        comes_first: Parts for which it holds are visited before all others that are pending.
        object_of: The Python object that an element is about, if the elements of the walk are not the objects
            themselves.
    """
    pending, seen = collections.deque(start), dict[int, Any]()
    while pending and len(seen) < most:
        one = pending.popleft()
        item = object_of(one)
        if id(item) in seen or not enters(one):
            continue
        seen[id(item)] = item  # keeps the object alive, so that no other object gets its id
        yield one
        found = list(parts(one))
        if comes_first is not None:
            pending.extendleft(part for part in reversed(found) if comes_first(part))
            found = [part for part in found if not comes_first(part)]
        pending.extend(found)


def attributes(item: Any) -> dict[str, Any]:
    """An object's attributes by name."""
    if "hb_is_held" in vars(type(item)):  # the others are in columns
        return {"hb_number": item.hb_number}
    slots = [name for cls in type(item).__mro__ for name in _slots(cls)]
    own = getattr(item, "__dict__", None)
    if isinstance(item, BaseException):
        slots.append("args")
    return {
        **{name: getattr(item, name) for name in slots if hasattr(item, name)},
        **(own if isinstance(own, dict) else {}),
    }


def _slots(cls: type) -> Iterator[str]:
    slots = vars(cls).get("__slots__", ())
    for name in [slots] if isinstance(slots, str) else slots:
        is_private = name.startswith("__") and not name.endswith("__")
        if name not in ("__dict__", "__weakref__"):
            yield sys.intern(f"_{cls.__name__.lstrip('_')}{name}") if is_private else name


def around(function: types.FunctionType) -> dict[str, Any]:
    """The variables that a function closes over and that have a value, by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if is_filled(cell)}


def is_filled(cell: types.CellType) -> bool:
    """Whether a closure cell has a value."""
    return cell != _EMPTY


def defaults(function: types.FunctionType) -> dict[str, Any]:
    """The defaults of a function's parameters, by name."""
    code, values = function.__code__, function.__defaults__ or ()
    positional = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return {**dict(zip(positional, values, strict=True)), **(function.__kwdefaults__ or {})}


def code_within(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions, lambdas and comprehensions in it."""
    return walked([code], lambda one: (part for part in one.co_consts if isinstance(part, types.CodeType)))
