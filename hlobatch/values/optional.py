"""Code on variables that are None in some lanes -> its results, computed on plain values, without flags.

::

    best = None                                %best = Maybe(is_there: bool[], value: f32[])
    while x > 0:
        if best is None or x > best:     ==>   branch on ``not is_there``; then on ``x > value``
            best = x                           %best = Maybe(True, x)

A variable holds such a value as a flag and the value (``Maybe``). While a statement is traced, its code is given the
value alone, which is zeros in lanes where the variable is None, and ``is_none`` answers with the flag. A result gets
the flag again if it is the very object that the code was given: the result of an operation is another object, and is
None in no lane. So the identity of objects decides, as it does in Python.

Code that computes with such a value without a test for None fails in the lanes where it is None
(``lane_failures.py``). ``lifting.py`` converts values to the form in which such a variable holds them.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import jax
import jax.numpy as jnp

from hlobatch.ir.boxed import Boxed, leaves_of, mapped, object_of, unboxed
from hlobatch.ir.choice import Choice
from hlobatch.ir.code import Code
from hlobatch.ir.growing import Growing
from hlobatch.ir.maybe import Maybe
from hlobatch.scoped import having
from hlobatch.values.boxes import attributes_of, boxed, is_boxable
from hlobatch.values.facts import Learned, MayBeNone
from hlobatch.values.held_classes import is_held, is_there
from hlobatch.values.kinds import Kinds
from hlobatch.values.kinds import asked as asked_by_kind

_given: contextvars.ContextVar[dict[int, Maybe]] = contextvars.ContextVar("hlobatch_optional")
"""By id, the objects that the code being traced was given in place of a ``Maybe``."""


_opened: contextvars.ContextVar[dict[int, Any]] = contextvars.ContextVar("hlobatch_opened", default={})  # noqa: B039
"""By id, the objects that the code being traced was given in place of a box."""


# Tests of traced code: `is None`, `==`


def optional(value: Any) -> Maybe | None:
    """The flag and the value of an object that is None in some lanes; None for any other object."""
    known = _given.get({}).get(id(value))
    return known if known is not None and known.value is value else None


def is_optional(part: Any) -> bool:
    """Whether an object stands for a value that is None in some lanes."""
    return optional(part) is not None


def alternatives(value: Any) -> Choice | Maybe | None:
    """The value, if lanes have one of several objects or None; None for any other value.

    Raises:
        Learned: It is an object of one of several kinds, for each of which the statement has to be lowered.
    """
    if isinstance(value, Kinds):
        asked_by_kind(value)
    return value if isinstance(value, Choice) else optional(value)


def is_several(value: Any) -> bool:
    """Whether a value is one of several objects, or None in some lanes."""
    return alternatives(value) is not None


def is_none(value: Any) -> Any:
    """``value is None``: a Python bool, or a boolean array where that differs between lanes."""
    known = alternatives(value)
    if known is None:
        return jnp.logical_not(is_there(value)) if is_held(value) else value is None
    return known.hb_is_none


def is_present(value: Any) -> Any:
    """``value is not None``, unless it is a choice: a Python bool, or a boolean array where that differs by lane."""
    known = optional(value)
    return value is not None if known is None else known.is_there


def asked(value: Any, variable: str, around: Any = ()) -> Any:
    """The value of a variable, or of an item in it, in a test for None on which a branch depends.

    Args:
        value: The value of the variable or the item.
        variable: The name of the variable.
        around: The value of the variable, if ``value`` is an item of it.

    Raises:
        Learned: The value is that of a variable, or of an item of a tuple, and is None in some lanes. The test then
            needs a branch of its own, behind which the variable holds the value alone.
    """
    if not isinstance(around, tuple):
        return value
    if (known := alternatives(value)) is not None and known.hb_is_none is not False:
        fact = MayBeNone(variable)
        raise Learned(fact.site, fact)
    return value


def as_optional(is_there: Any, value: Any) -> Any:
    """The value, noted to stand for one that is None in some lanes.

    Args:
        is_there: Whether it is not None.
        value: The value; a new object.
    """
    _given.get({})[id(value)] = Maybe(is_there, value)
    return value


def another(value: Any, is_there: Any) -> Any:
    """A copy of a value with new arrays, about which nothing has been noted."""

    def as_another(leaf: Any) -> Any:
        return jnp.where(is_there, leaf, leaf) if isinstance(leaf, jax.Array) else leaf

    return unboxed(jax.tree.map(as_another, boxed(value, ())))


def in_any_case(value: Any) -> Any:
    """A value for use where it is not None: a copy if it stands for one that is None in some lanes."""
    known = optional(value)
    return value if known is None else another(value, known.is_there)


@contextlib.contextmanager
def there_alone(value: Any) -> Iterator[None]:
    """A context for code that runs only for the lanes in which a value is not None."""
    known = optional(value)
    if known is not None:
        del _given.get()[id(value)]
    try:
        yield
    finally:
        if known is not None:
            _given.get()[id(value)] = known


def is_any_optional() -> bool:
    """Whether the code being traced was given a value that is None in some lanes."""
    return bool(_given.get({}))


def any_optional(values: Any) -> bool:
    """Whether a part of a pytree, or of attributes of objects in it, is None in some lanes."""
    return is_any_optional() and _any_optional(values, ())


def _any_optional(values: Any, around: tuple[int, ...]) -> bool:
    parts = list(leaves_of(values, is_optional))
    objects = [part for part in parts if is_boxable(part) and id(part) not in around]
    return any(map(is_optional, parts)) or any(
        _any_optional([*attributes_of(part).values()], (*around, id(part))) for part in objects
    )


def is_opened(value: Any) -> bool:
    """Whether an object came out of a box, so that it is the program's own, and its code may change it."""
    return _opened.get({}).get(id(value)) is value


def with_flags(values: Any) -> Any:
    """A pytree with a ``Maybe`` in place of each object that stands for one."""
    return mapped(lambda part: optional(part) or part, values, is_optional)


@final
@dataclass(frozen=True)
class NotNone(Code):
    """The code that copies a variable on the side of a test where it is not None.

    Attributes:
        part: The index of the item, of a variable that is a tuple, that is not None; None if it is the variable.
    """

    part: int | None

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        (value,) = values
        if self.part is None:
            return (_not_none(value),)
        items = list(value)
        items[self.part] = _not_none(items[self.part])
        return (type(value)(*items) if hasattr(value, "_fields") else tuple(items),)


def _not_none(value: Any) -> Any:
    known = alternatives(value)
    return value if known is None else known.hb_without_none


# Running code


def run(
    function: Callable[..., Any], values: Sequence[Any], see: Callable[[list[Any]], None]
) -> tuple[list[Any], list[Any], Callable[[Any], Any]]:
    """Run the code of a primitive on the values of its variables.

    Args:
        function: The code.
        values: The values of its operands: pytrees with ``Maybe`` and ``Boxed`` in them.
        see: Called with the arguments of the code before it runs.

    Returns:
        The results as the code returns them; the results with ``Maybe`` in them again; and the function that converts
        the former to the latter, for attributes of objects in the results.
    """
    arguments = _Arguments()
    given = list(map(arguments.opened, values))
    see(given)
    with having(_given, arguments.known), having(_opened, arguments.objects):
        results = list(function(*given))
    return results, list(map(arguments.closed, results)), arguments.closed


@dataclass
class _Arguments:
    """The arguments of code. They are known by their ids, so each is made once and kept.

    Attributes:
        known: By id, the objects that stand for a ``Maybe``.
        objects: By id, the objects that came out of a box.
    """

    known: dict[int, Maybe] = field(default_factory=dict)
    objects: dict[int, Any] = field(default_factory=dict)

    def opened(self, value: Any) -> Any:
        """A variable's value as code sees it: without flags, and with objects in place of boxes.

        The items of a growing container stay in rows, and in boxes, until code takes one of them out.
        """
        return jax.tree.map(self._opened_part, value, is_leaf=lambda part: isinstance(part, (Maybe, Boxed, Growing)))

    def _opened_part(self, part: Any) -> Any:
        if isinstance(part, Boxed):
            new = object_of(part, self.opened)
            self.objects[id(new)] = new
            return new
        if not isinstance(part, Maybe):
            return part
        inner = self.opened(part.value)
        self.known[id(inner)] = Maybe(part.is_there, inner)
        return inner

    def closed(self, value: Any) -> Any:
        """A result of the code in the form in which a variable holds it."""
        return mapped(self._closed_part, value, self._is_known) if self.known else value

    def _is_known(self, part: Any) -> bool:
        return isinstance(part, Maybe) or id(part) in self.known

    def _closed_part(self, part: Any) -> Any:
        return part.value if isinstance(part, Maybe) else self.known.get(id(part), part)
