"""A value that is one of several Python objects, or None in some lanes -> the results of traced code that uses it.

::

    PRICES[status]       PRICES[it] for each object that ``status`` may be; each lane takes the result for its own

An operation is carried out for each of the objects, once. Where Python raises for one of them, the lanes that have this
object fail, and no others (``lane_failures.py``).
"""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, weakly
from hlobatch.diagnostics import BatchTypeError, HloBatchError
from hlobatch.ir import carrier
from hlobatch.ir.boxed import Boxed, object_of
from hlobatch.ir.choice import Choice, holds, moved, objects_of
from hlobatch.ir.growing import ALTERNATIVES, KINDS
from hlobatch.ir.maybe import Maybe
from hlobatch.ir.patterns import INSIDE, are_alike, opened, remade
from hlobatch.ir.sameness import are_same
from hlobatch.ir.types import number_kind
from hlobatch.values import number_classes
from hlobatch.values.boxes import attributes_of, boxed, is_boxable
from hlobatch.values.carriers import in_words
from hlobatch.values.identity import is_one_of
from hlobatch.values.kinds import Kinds, kind_of_value, made
from hlobatch.values.lane_failures import fails, is_pythons, steady, surely_fails, where
from hlobatch.values.number_tables import NUMBERS, from_table, numbers, together
from hlobatch.values.optional import (
    alternatives,
    another,
    as_optional,
    is_opened,
    is_optional,
    is_present,
    there_alone,
)
from hlobatch.values.texts_made import shown

MOST_ITEMS: Final = 10_000
"""Most items, of all objects together, that are put into one table."""
MOST_COMBINATIONS: Final = 256
"""Most combinations of objects for which an operation on several choices is carried out."""


class OneOf(Choice):
    """One of several Python objects, in traced code; each special method is that of the lane's object."""

    __slots__ = ()

    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        return each(self, truth)

    def __getattr__(self, name: str) -> Any:
        # Code that asks whether an object is a function, an array or the like must not let lanes fail.
        if name.startswith("__") and not all(one is None or hasattr(one, name) for one in self.hb_objects):
            raise AttributeError(name)
        return each(self, lambda value: getattr(value, name))

    def __setattr__(self, name: str, value: Any) -> None:
        raise BatchTypeError(
            f"the attribute {name!r} of an object that differs between lanes is assigned to",
            help="assign to it under an `if` for each object, by its own name.",
        )

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return each(self, lambda value: value(*args, **kwargs))

    def __getitem__(self, key: Any) -> Any:
        return for_each(operator.getitem, self, key)

    def __contains__(self, item: Any) -> bool:
        return bool(_known(for_each(operator.contains, self, item), "what is in an object"))

    def __bool__(self) -> bool:
        return bool(_known(holds(self, bool), "the truth of an object"))

    def __len__(self) -> int:
        return int(_known(each(self, len), "the length of an object"))

    def __iter__(self) -> Iterator[Any]:
        rows = Rows.of(self)
        if not isinstance(length := rows.length(), int):
            error = BatchTypeError(
                "all items of an object that differs between lanes are gone over, and how many there are differs, too",
                help="write a `for` over it.",
            )
            error.goes_over = True
            raise error
        return map(rows.item, range(length))

    def __copy__(self) -> Any:
        return each(self, copy.copy)

    def __deepcopy__(self, _: Any) -> Any:
        return each(self, copy.deepcopy)

    def __repr__(self) -> str:
        return shown(self, " or ".join(map(repr, self.hb_objects)))


jax.tree_util.register_pytree_node(
    OneOf, lambda one: ((one.hb_index,), one.hb_objects), lambda objects, index: OneOf(index[0], objects)
)


def _known(value: Any, what: str) -> Any:
    """A value that has to be the same in every lane, since a Python library needs it."""
    if is_tracer(value):
        raise BatchTypeError(
            f"{what} that differs between lanes is asked for where the answer has to be one for all",
            help="keep the answer in a variable of its own, and hand that on.",
        )
    return value


def _method(operation: str, *, reflected: bool = False) -> Callable[..., Any]:
    function = getattr(operator, operation, divmod)

    def apply(self: Choice, *others: Any) -> Any:
        operands = (*others, self) if reflected else (self, *others)
        return for_each(function, *operands)

    return apply


for _name in (*carrier.COMPARISONS, *carrier.UNARY, *carrier.BINARY):
    _operation = f"{_name}_" if _name in ("and", "or") else _name
    setattr(OneOf, f"__{_name}__", _method(_operation))
    if _name in carrier.BINARY:
        setattr(OneOf, f"__i{_name}__", _method(_operation))
        setattr(OneOf, f"__r{_name}__", _method(_operation, reflected=True))


# Functions of a choice


def each(several: Choice | Maybe, function: Callable[[Any], Any]) -> Any:
    """The result of a function for the lane's object; the function runs for each of the objects."""

    def of(one: Any) -> Any:
        with there_alone(one):
            return function(one)

    ways = [(lanes, partial(of, one)) for lanes, one in several.hb_alternatives]
    return _result_of_lane(ways, several.hb_index)


def for_each(function: Callable[..., Any], *operands: Any) -> Any:
    """The result of a function, some of whose operands are choices, or are None in some lanes.

    Raises:
        BatchTypeError: The operands may be one of more combinations of objects than a program can have.
    """
    combinations = math.prod(len(one.hb_objects) for one in operands if isinstance(one, Choice))
    if combinations > MOST_COMBINATIONS and sum(isinstance(one, Choice) for one in operands) > 1:
        raise BatchTypeError(
            f"this is done with objects that differ between lanes, in any of {combinations} combinations",
            help="compute with numbers that stand for the objects, such as their indices or the codes of letters.",
        )
    for place, operand in enumerate(operands):
        before, after = operands[:place], operands[place + 1 :]

        def one(value: Any, before: Any = before, after: Any = after) -> Any:
            return for_each(function, *before, value, *after)

        if (several := alternatives(operand)) is not None:
            return each(several, one)
    return _of_none(function, operands) if any(one is None for one in operands) else function(*operands)


def _of_none(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """The result of a function with an operand that is None; an exception of Python's is that of the lane."""
    try:
        return function(*operands)
    except (TypeError, AttributeError) as error:
        if isinstance(error, HloBatchError):
            raise
        raise type(error)(in_words(str(error))) from None


def _as_text(argument: Any) -> Any:
    """An argument of an exception as a number or a text, which is the same whenever the code is traced."""
    known = steady(argument)
    return known if type(known) in (str, int, float) else repr(known)


def _result_of_lane(ways: Sequence[tuple[Any, Callable[[], Any]]], index: Any) -> Any:
    """The result of the lane's function among several, all of which run; where one raises, its lanes fail."""
    given, raised = dict[int, Any](), dict[int, Exception]()
    for place, (lanes, function) in enumerate(ways):
        with where(lanes):
            try:
                given[place] = function()
            except Exception as raised_here:
                if not is_pythons(raised_here):
                    raise
                raised[place] = raised_here
    if not given:
        *others, (_, error) = raised.items()
        for place, other in others if len(set(map(repr, raised.values()))) > 1 else ():
            _fails_as(other, ways[place][0])
        surely_fails(type(error), *error.args)
        raise error
    for place, one in raised.items():
        _fails_as(one, ways[place][0])
    instead = next(iter(given.values()))
    return chosen([given.get(place, instead) for place in range(len(ways))], index)


def _fails_as(error: Exception, lanes: Any) -> None:
    """Note that lanes raise an exception."""
    text: Any
    text, *more = [_as_text(arg) for arg in error.args or ("",)]
    fails(type(error), text, lanes, *more)


# A choice among values


def chosen(values: Sequence[Any], index: Any) -> Any:
    """The value at an index that differs between lanes: a number, array, object, a pytree of them, or None.

    Raises:
        BatchTypeError: The values are of kinds that no one variable can hold.
    """
    first = values[0]
    if all(value is first or are_same(value, first) for value in values):
        return first
    if any(value is None or is_optional(value) for value in values) and not _are_objects(values):
        return _or_none(values, index)
    result = _chosen(values, index)
    is_one_of(result, values)
    return result


def _are_objects(values: Sequence[Any]) -> bool:
    """Whether the values are Python objects to choose among; known numbers, also beside None, are not."""
    return all(map(_is_object, values)) and not all(type(value) in NUMBERS for value in values if value is not None)


def _or_none(values: Sequence[Any], index: Any) -> Any:
    """The value at an index, where some values are None, or None in some lanes."""
    is_there = _chosen(list(map(is_present, values)), index)
    present = [value for value in values if value is not None]
    value = _chosen([present[0] if value is None else value for value in values], index)
    result = value if isinstance(value, Choice) else another(value, is_there)
    is_one_of(result, present)
    return maybe(is_there, result)


def maybe(is_there: Any, value: Any) -> Any:
    """A newly made value, such as an item taken from a row, that is None in lanes where ``is_there`` does not hold."""
    if _is_object(value) and kind_of_value(value) == "object":
        return choice_of([None, value], jnp.asarray(is_there, jnp.int32))
    return as_optional(is_there, value)


def _chosen(values: Sequence[Any], index: Any) -> Any:
    text: Any = KINDS[str]
    if any(type(value) is text for value in values) and all(
        type(one) in (str, text) for value in values for one in objects_of(value)
    ):
        return text.one_of(values, index)
    if (numbers_apart := of_classes(values, index)) is not None:
        return numbers_apart
    if any(type(value) in NUMBERS for value in values) and all(number_kind(value) is not None for value in values):
        table = numbers(values)
        return from_table(jnp.asarray(table)[index], table)
    if all(isinstance(value, (jax.Array, np.ndarray, np.generic, *NUMBERS)) for value in values):
        return _of_arrays(values, index)
    if not all(map(_is_object, values)):
        flat = [_opened(value) for value in values]
        if all(kind == flat[0][0] for kind, _, _ in flat) and not any(map(_is_leaf, values)):
            columns = zip(*(parts for _, parts, _ in flat), strict=True)
            return flat[0][2]([chosen(column, index) for column in columns])
        ring: Any = KINDS[list]
        if all(type(value) in (list, ring) for value in values):
            return ring.one_of(values, index)
        ring = ALTERNATIVES[tuple]
        if all(type(value) is ring or (type(value) is tuple and ring.can_hold(value)) for value in values):
            return ring.one_of(values, index)
        if (found := _of_kinds(values, index)) is not None:
            return found
    return choice_of(values, index)


_NUMERIC: Final = frozenset({*NUMBERS, "array"})
"""The kinds of numbers and arrays."""


def of_classes(values: Sequence[Any], index: Any) -> Kinds | None:
    """The value at an index, where values are numbers of several of Python's classes that are kept apart; else None."""
    if not all(isinstance(value, (jax.Array, np.ndarray, np.generic, *NUMBERS)) for value in values):
        return None
    kinds = {*map(kind_of_value, values)}
    if len(kinds) < 2 or "array" in kinds or not number_classes.stay_apart():
        return None
    return _of_kinds(values, index)


def _of_kinds(values: Sequence[Any], index: Any) -> Kinds | None:
    """The value at an index, where values are objects of several kinds; None if they are no such."""
    given = [value.hb_parts if isinstance(value, Kinds) else (value,) for value in values]
    found = dict[Any, dict[int, Any]]()
    for place, own in enumerate(given):
        for part in own:
            found.setdefault(kind_of_value(part), {})[place] = part
    if None in found or len(found) < 2 or (_NUMERIC.issuperset(found) and "array" in found):
        return None
    kinds = list(found)
    tables = [jnp.asarray(np.array([kinds.index(kind_of_value(part)) for part in own], np.int32)) for own in given]
    tags = [table[value.hb_tag if isinstance(value, Kinds) else 0] for table, value in zip(tables, values, strict=True)]
    parts = [[own.get(place, next(iter(own.values()))) for place in range(len(values))] for own in found.values()]
    return made(Kinds(jnp.stack(tags)[index], [chosen(own, index) for own in parts], tuple(kinds)))


def _is_leaf(value: Any) -> bool:
    return not is_boxable(value) and type(value) is not dict and jax.tree_util.all_leaves([value])


def _opened(value: Any) -> tuple[Any, list[Any], Callable[[list[Any]], Any]]:
    """The structure of a value, its children, and a function that makes such a value of other children."""
    if is_boxable(value):
        names = tuple(attributes := attributes_of(value))
        cls = type(value)
        return (
            (cls, names),
            list(attributes.values()),
            lambda parts: object_of(Boxed(cls, names, tuple(parts)), lambda part: part),
        )
    if type(value) is dict:
        return (dict, tuple(value)), list(value.values()), lambda parts: dict(zip(value, parts, strict=True))
    parts, structure = opened(value)
    return structure, parts, lambda parts: jax.tree.unflatten(structure, parts)


def _of_arrays(values: Sequence[Any], index: Any) -> Any:
    shapes = {jnp.shape(value) for value in values}
    if len(shapes) > 1:
        raise BatchTypeError(
            f"a lane has one of several arrays, of shapes {' and '.join(map(str, map(list, shapes)))}",
            help="make the shapes equal, as with jnp.broadcast_to or by padding.",
        )
    arrays = jnp.stack(list(map(jnp.asarray, together(values))))[index]
    is_weak = all(type(value) in NUMBERS or getattr(value, "weak_type", False) for value in values)
    return weakly(arrays, arrays.dtype) if is_weak else arrays


def _is_object(value: Any) -> bool:
    """Whether a value is an immutable object that is the same in every lane, or a choice among such."""
    if value is None or isinstance(value, Choice):
        return True
    if isinstance(value, (jax.Array, np.ndarray, np.generic)) or is_opened(value):
        return False
    if is_boxable(value):
        return not any(map(is_tracer, jax.tree.leaves(boxed(value, ()))))
    return jax.tree_util.all_leaves([value])


def choice_of(values: Sequence[Any], index: Any) -> Choice:
    """A choice among objects; equal objects become one, and choices are flattened.

    Raises:
        BatchTypeError: A value has parts that differ between lanes in another way.
    """
    objects: list[Any] = []
    for value in values:
        if not _is_object(value):
            raise BatchTypeError(
                "a lane has one of several values that are of different kinds, and hold what differs between lanes",
                help="let all be numbers, or arrays of one shape, or tuples of as many of them.",
            )
        for one in objects_of(value):
            if not any(are_same(one, other) for other in objects):
                objects.append(one)
    whole = OneOf(None, tuple(objects))
    places = [moved(value, whole) for value in values]
    if any(isinstance(place, jax.Array) for place in places):
        return OneOf(jnp.stack(list(map(jnp.asarray, places)))[index], whole.hb_objects)
    return OneOf(jnp.asarray(np.asarray(places, np.int32))[index], whole.hb_objects)


# Choices in rows of containers


def held(item: Any, kind: Any, *, is_sought: bool = False) -> Any:
    """An item with objects and choices converted to choices among the objects that ``kind`` has in their place.

    Args:
        item: The item.
        kind: The type of an item of the rows.
        is_sought: Whether the item is searched for; an object that ``kind`` does not list then gets the index -1.
    """
    return remade(partial(_held, is_sought), kind, item)


def _held(is_sought: bool, kind: Any, item: Any) -> Any:
    """A part of an item, for the corresponding part of a type."""
    if isinstance(kind, Choice):
        ones = objects_of(item)
        if not all(map(_is_object, ones)):
            return item
        places = [next((i for i, one in enumerate(kind.hb_objects) if one == it), -1) for it in ones]
        if -1 in places and not is_sought:
            return item
        table = jnp.asarray(np.array(places, np.int32))
        return OneOf(table[item.hb_index if isinstance(item, Choice) else 0], kind.hb_objects)
    is_choice = lambda part: isinstance(part, Choice)  # noqa: E731
    if not any(map(is_choice, jax.tree.leaves(kind, is_leaf=is_choice))):
        return item
    return INSIDE if are_alike(kind, item) else item


def ranked(rows: Any) -> Any:
    """Rows with each choice replaced by the rank of its object in their order."""

    def rank(part: Any) -> Any:
        if not isinstance(part, Choice):
            return part
        ranks = [sum(other < one for other in part.hb_objects) for one in part.hb_objects]
        return jnp.asarray(np.array(ranks, np.int32))[part.hb_index]

    return jax.tree.map(rank, rows, is_leaf=lambda part: isinstance(part, Choice))


# The items of a choice


class Rows:
    """The items of the lane's object among several.

    Attributes:
        index: The index of the lane's object.
        items: For each object, its items.
    """

    def __init__(self, index: Any, items: Sequence[Sequence[Any]]) -> None:
        self.index, self.items = index, items

    @classmethod
    def of(cls, choice: Choice) -> Rows:
        """The items of the objects of a choice; the lanes fail whose object has none.

        Raises:
            BatchTypeError: There are too many, or they have no end.
            TypeError: None of the objects has items.
        """
        items = list[list[Any]]()
        has_items = any(hasattr(one, "__iter__") for one in choice.hb_objects)
        for lanes, one in choice.hb_alternatives:
            if has_items and not hasattr(one, "__iter__"):
                fails(TypeError, f"{type(one).__name__!r} object is not iterable", lanes)
            known = one if hasattr(one, "__iter__") or not has_items else ()
            items.append([value for value, _ in zip(known, range(MOST_ITEMS + 1), strict=False)])
        if sum(map(len, items)) > MOST_ITEMS:
            raise BatchTypeError(
                f"one of several objects is gone over that have more than {MOST_ITEMS} items together, or no end",
                help="write a loop for each of them, under an `if`.",
            )
        return cls(choice.hb_index, items)

    def length(self) -> Any:
        """The number of items of the lane's object."""
        return chosen([len(items) for items in self.items], self.index)

    @property
    def most(self) -> int:
        """The number of items of the longest object."""
        return max(map(len, self.items))

    def item(self, place: Any) -> Any:
        """The item of the lane's object at a place; an arbitrary one if it has none there."""
        flat = [item for items in self.items for item in items]
        lengths = np.array([len(items) for items in self.items], np.int32)
        begin = jnp.asarray(np.cumsum(lengths, dtype=np.int32) - lengths)[self.index]
        last = jnp.maximum(jnp.asarray(lengths)[self.index] - 1, 0)
        return chosen(flat, jnp.minimum(begin + jnp.minimum(place, last), len(flat) - 1))

    def is_there(self, place: int) -> Any:
        """Whether the lane's object has an item at a place."""
        return chosen([place < len(items) for items in self.items], self.index)
