"""A value that is an object of one class in some lanes and of another in others: a tag, and a value of each kind.

::

    shape = Circle(x) if x > 0 else Square(x)     %shape = Kinds(tag: i32[], Circle(r: f32[]), Square(side: f32[]))

Code never works on such a value as a whole. Where it asks it for anything, tracing learns which variable it is in, and
the frontend lowers the statement once for each kind, in each of which the variable holds an object of that kind
alone (``frontend/by_kind.py``).
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_key, is_tracer
from hlobatch.diagnostics import UNKNOWN, BatchTypeError, HloBatchError, Location
from hlobatch.ir.boxed import Boxed
from hlobatch.ir.carrier import ASKED, Carrier
from hlobatch.ir.choice import Choice, objects_of
from hlobatch.ir.reference import Nothing
from hlobatch.ir.types import Static, TensorType, is_leaf, number_kind
from hlobatch.ir.value import Collection
from hlobatch.scoped import having
from hlobatch.values import number_classes
from hlobatch.values.boxes import attributes_of, is_boxable
from hlobatch.values.facts import Learned, of_code
from hlobatch.values.number_tables import NUMBERS, class_of

Step = tuple[str, Any]
"""A step to a part of a value: ``("[]", key)`` or ``(".", name)``."""
Way = tuple[Step, ...]
"""The steps from a variable to a part of it."""
Span = tuple[int, int, int, int]
"""Line and column of the beginning and of the end of an expression, as in a ``Location``."""
HELP: Final = (
    "give the object a name in a statement before, as in `shape = shapes[i]`, and use it in a statement of its own; "
    "for the items of a list, write a `for` loop."
)


class Kinds(Carrier):
    """A value of one of several kinds. Attributes without ``hb_`` are those of the objects.

    Attributes:
        hb_tag: The index of the lane's kind.
        hb_parts: For each kind, its value; of any content in lanes of another kind.
        hb_kinds: The kinds of its parts.
    """

    __slots__ = ("hb_kinds", "hb_parts", "hb_tag")
    hb_tag: Any
    hb_parts: tuple[Any, ...]
    hb_kinds: tuple[Any, ...]
    hb_differs = True

    def __init__(self, tag: Any, parts: Sequence[Any], kinds: tuple[Any, ...]) -> None:
        object.__setattr__(self, "hb_tag", tag)
        object.__setattr__(self, "hb_parts", tuple(parts))
        object.__setattr__(self, "hb_kinds", kinds)

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        return known(self.hb_parts[int(self.hb_tag)])

    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        del truth
        asked(self)

    def hb_text(self, text: Callable[[Any], str]) -> str:
        return " or ".join(map(text, self.hb_parts))

    @classmethod
    def hb_join(cls, left: Any, right: Any, join: Callable[[Any, Any], Any], held: Callable[[Any], Any]) -> Any:
        sides = (left, right)
        is_one = not any(isinstance(side, cls) for side in sides)
        if is_one and (kind_of(left) == kind_of(right) or not any(map(_is_object, sides))):
            return NotImplemented
        return cls.hb_of_several(left, right, join, held)

    @classmethod
    def hb_of_several(cls, left: Any, right: Any, join: Callable[[Any, Any], Any], held: Callable[[Any], Any]) -> Any:
        """The join of two types of several kinds, as ``hb_join``, also if none is an object of the user's."""
        sides, found = (left, right), dict[Any, Any]()
        is_whole = any(isinstance(side, cls) for side in sides)  # else two that have no other join
        for part in (part for side in sides for part in (side.hb_parts if isinstance(side, cls) else (side,))):
            if (kind := kind_of(part)) is None:
                return NotImplemented
            known = held_as(kind, found) if is_whole else kind
            if known != kind and number_classes.stay_apart():
                known = kind
            joined = join(found[known], part) if known in found else part
            if known not in found or isinstance(joined, cls):  # numbers of two dtypes that do not adopt each other's
                found[kind] = part
            else:
                found = _with_joined(found, known, joined)
        if len(found) == 1:  # of numbers whose classes do not count
            return next(iter(found.values()))
        held(list(found.values()))
        return cls(TensorType(np.dtype(np.int32)), tuple(found.values()), tuple(found))

    def hb_hold(self, value: Any, hold: Callable[[Any, Any], Any]) -> Any:
        own = self.hb_kinds
        given = value.hb_parts if isinstance(value, Kinds) else (value,)
        places = [own.index(_held_as_value(part, own)) for part in given]
        parts = [jax.tree.map(lambda leaf: leaf.blank, part, is_leaf=is_leaf) for part in self.hb_parts]
        for index, (place, part) in enumerate(zip(places, given, strict=True)):
            new = hold(self.hb_parts[place], part)  # where it is a number, another one may be in its place
            parts[place] = jnp.where(value.hb_tag == index, new, parts[place]) if place in places[:index] else new
        tag = (
            jnp.asarray(np.array(places, np.int32))[value.hb_tag] if isinstance(value, Kinds) else jnp.int32(places[0])
        )
        return Kinds(tag, parts, own)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("hb_") or (name.startswith("__") and name.endswith("__") and name != "__dict__"):
            raise AttributeError(name)
        asked(self)

    def __setattr__(self, name: str, value: Any) -> None:
        asked(self)

    def __delattr__(self, name: str) -> None:
        asked(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Kinds, (self.hb_tag, self.hb_parts, self.hb_kinds)


def _asks(self: Kinds, *_: Any, **__: Any) -> Any:
    asked(self)


for _name in (*ASKED, "call", "hash"):
    setattr(Kinds, f"__{_name}__", _asks)
jax.tree_util.register_pytree_node(
    Kinds,
    lambda one: ((one.hb_tag, *one.hb_parts), one.hb_kinds),  # two may have equal leaves, and other kinds
    lambda kinds, parts: Kinds(parts[0], parts[1:], kinds),
)


def _is_object(part: Any) -> bool:
    """Whether a part of a type is an object of a class of the user's."""
    if isinstance(part, Boxed):
        return not issubclass(part.cls, dict)
    return isinstance(part, tuple) and hasattr(part, "_fields")


def kind_of(part: Any) -> Any:
    """The kind of a part of a type, by which alternatives are told apart; None if it can be none."""
    if isinstance(part, Boxed):
        return part.cls
    if isinstance(part, TensorType):
        return "array" if part.shape or part.is_key else class_of(part.dtype)
    if isinstance(part, Static) and (kind := number_kind(part.value)) is not None:
        return kind
    if isinstance(part, (Static, Choice)):
        return _kind_of_objects(objects_of(part.value if isinstance(part, Static) else part))
    if isinstance(part, tuple):
        return type(part) if hasattr(part, "_fields") else (tuple, len(part))
    if isinstance(part, (list, dict)):
        return type(part)
    return part.python if isinstance(part, Collection) else None


def _kind_of_objects(objects: Sequence[Any]) -> Any:
    """The kind of objects that are the same for all lanes."""
    # an object from outside of the function would become one of the program's
    return None if any(is_boxable(one) or isinstance(one, (list, dict, set)) for one in objects) else "object"


def held_as(kind: Any, kinds: Mapping[Any, Any] | Sequence[Any]) -> Any:
    """The one of some kinds as which a part of a kind is held: of a number, another kind of number if it is none.

    Integers and floats are one unless their classes count (``number_classes.py``). So they are one beside a text or a
    flag, too, and the join of an integer, a float and a flag does not depend on their order.
    """
    others = _ONE_KIND.intersection(kinds) if kind in _ONE_KIND and kind not in kinds else ()
    return next(iter(others), kind)


def _held_as_value(part: Any, kinds: Sequence[Any]) -> Any:
    """The one of some kinds as which a part of a value is held: a known text or tuple may be one of any length."""
    kind, known = held_as(kind_of_value(part), kinds), objects_of(part)
    return kind if kind in kinds or not isinstance(known[0], (str, tuple)) else type(known[0])


def _with_joined(found: Mapping[Any, Any], known: Any, joined: Any) -> dict[Any, Any]:
    """Parts of a type by their kinds, with a wider part in the place of another one.

    The order stays, so that the join of a type with a part of it is the type.
    """
    return {
        kind_of(joined) if kind == known else kind: joined if kind == known else part for kind, part in found.items()
    }


_ONE_KIND: Final = frozenset(NUMBERS) - {bool}


def kind_of_value(part: Any) -> Any:
    """The kind of a part of a value, or of a type, as ``kind_of``."""
    if isinstance(part, (Boxed, TensorType, Static, Choice, Collection, tuple)):
        return kind_of(part)
    if is_boxable(part) or isinstance(part, (list, dict)):
        return type(part)
    if isinstance(part, (jax.Array, np.ndarray, np.generic)):
        return "array" if np.ndim(part) or is_key(part) else class_of(part.dtype)
    number = next((own for own in NUMBERS if isinstance(part, own)), None)  # of JAX's own classes, too
    return _kind_of_objects([part]) if number is None else number


# What code asks


@dataclass(frozen=True, slots=True)
class OfKinds:
    """The fact that a statement asks an object whose class differs between lanes for something.

    Attributes:
        variables: The variables, each with the way to the part of it that is the object, and its kinds.
        places: The expressions whose values hold such an object, and are in no variable of the user's.
        spans: The expressions that ask an object that is in no variable at all.
        error: The error of a statement that cannot be lowered for each kind.
    """

    variables: tuple[tuple[str, Way, tuple[Any, ...]], ...]
    places: tuple[Location, ...]
    spans: tuple[Span, ...]
    error: HloBatchError = field(compare=False)

    def joined(self, known: OfKinds) -> OfKinds:
        """This fact joined with the one known before."""
        kinds = {(name, way): own for name, way, own in known.variables}
        for name, way, own in self.variables:
            kinds[name, way] = tuple(dict.fromkeys((*kinds.get((name, way), ()), *own)))
        return OfKinds(
            tuple((name, way, own) for (name, way), own in kinds.items()),
            tuple(dict.fromkeys((*known.places, *self.places))),
            tuple(dict.fromkeys((*known.spans, *self.spans))),
            self.error,
        )


@dataclass
class Statement:
    """A statement that is being traced.

    Attributes:
        place: Its place.
        names: The user's names of its operands; empty for those that have none.
        read_at: The places at which it reads the operands.
        operands: The values of the operands.
        has_kinds: Whether it has met a value of several kinds.
    """

    place: Location
    names: Sequence[str]
    read_at: Sequence[Location]
    operands: Sequence[Any] = ()
    has_kinds: bool = False

    def receive(self, operands: Sequence[Any]) -> None:
        """Take the values of the operands."""
        self.operands, self.has_kinds = operands, _any_of_kinds(list(operands), ())


_here: contextvars.ContextVar[Statement | None] = contextvars.ContextVar("hlobatch_kinds", default=None)


def asking(statement: Statement) -> AbstractContextManager[Statement]:
    """A context for tracing a statement, which is given its operands in it."""
    return having(_here, statement)


def asked(value: Kinds) -> NoReturn:
    """Learn that the statement that is being traced has to be lowered for each kind of a value.

    Raises:
        Learned: Always, while a statement is traced.
    """
    here = _here.get()
    error = BatchTypeError(
        f"this asks for something of what is {named(value)}, which depends on the lane",
        UNKNOWN if here is None else here.place,
        help=HELP,
    )
    if here is None:
        raise error
    operands = zip(here.names, here.read_at, here.operands, strict=True)
    ways = [(name, at, way) for name, at, operand in operands if (way := _way_to(operand, value)) is not None]
    variables = tuple((name, way, value.hb_kinds) for name, _, way in ways if name)
    places = () if variables else tuple(at for _, at, _ in ways)
    spans = () if ways else tuple(_spans(here.place))
    raise Learned(of_code(here.place), OfKinds(variables, places, spans, error))


def named(value: Kinds) -> str:
    """The kinds of a value, in the words of a message."""
    return " or ".join(map(_named, value.hb_parts))


def _named(part: Any) -> str:
    if isinstance(part, Nothing):
        return "None"
    return "a number" if is_tracer(part) else f"a {getattr(part, 'python', type(part)).__name__}"


def _way_to(value: Any, part: Kinds, way: Way = ()) -> Way | None:
    """The steps from a value to a part of it; None if it has no such part."""
    if value is part:
        return way
    ways = (_way_to(child, part, (*way, step)) for step, child in _inside(value))
    return next((found for found in ways if found is not None), None)


def _inside(value: Any) -> Iterator[tuple[Step, Any]]:
    """The parts of a value that is a container or an object of the user's, each with the step that leads to it."""
    if is_boxable(value):
        return (((".", name), child) for name, child in attributes_of(value).items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (((".", name), child) for name, child in zip(value._fields, value, strict=True))
    if isinstance(value, (list, tuple)):
        return ((("[]", index), child) for index, child in enumerate(value))
    return ((("[]", key), child) for key, child in value.items()) if isinstance(value, dict) else iter(())


def _spans(place: Location) -> Iterator[Span]:
    """The expression of a statement that is being evaluated."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == place.file and frame.f_lasti >= 0:
            line, end_line, begin, end = list(frame.f_code.co_positions())[frame.f_lasti // 2]
            if None not in (line, end_line, begin, end) and place.line <= line <= place.end_line:  # type: ignore[operator]
                yield line, begin, end_line, end  # type: ignore[misc]
                return
        frame = frame.f_back  # type: ignore[assignment]


def any_of_kinds(values: Any) -> bool:
    """Whether a part of a pytree, or of attributes of objects in it, is of several kinds."""
    here = _here.get()
    return here is not None and here.has_kinds and _any_of_kinds(values, ())


def made(value: Kinds) -> Kinds:
    """The value, noted to be met by the statement that is being traced."""
    if (here := _here.get()) is not None:
        here.has_kinds = True
    return value


def _any_of_kinds(value: Any, around: tuple[int, ...]) -> bool:
    if isinstance(value, Kinds):
        return True
    if isinstance(value, (jax.Array, np.ndarray, str, int, float)) or id(value) in around:
        return False
    return any(_any_of_kinds(part, (*around, id(value))) for _, part in _inside(value))
