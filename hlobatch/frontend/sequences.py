"""Comparison of sequences and membership, if items differ between lanes -> Python's result.

::

    (a, b) < (c, d)        a < c, or a == c and b < d
    n in (2, 3, 5)         whether n is equal to any of them

Two sequences compare as their first items that are unequal. The position of these differs between lanes, so all items
are compared.
"""

from __future__ import annotations

import dataclasses
import enum
import operator
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend import comparisons
from hlobatch.frontend.builtins import is_array, truth
from hlobatch.frontend.endless import finite
from hlobatch.frontend.files import is_users, lines_of
from hlobatch.frontend.lane_numbers import as_bool, differs
from hlobatch.frontend.lane_ranges import in_range
from hlobatch.frontend.own_methods import check_asked_in_part, own_method
from hlobatch.frontend.python_numbers import as_python, type_of
from hlobatch.frontend.traced_functions import as_meant
from hlobatch.ir.carrier import Carrier
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing
from hlobatch.ir.value import Collection
from hlobatch.values import whole_numbers
from hlobatch.values.boxes import attributes_of, is_boxable
from hlobatch.values.held_classes import is_held, is_one_object, is_told_by_identity
from hlobatch.values.identity import is_another, mutable_parts
from hlobatch.values.kinds import Kinds, kind_of_value
from hlobatch.values.lane_arrays import LaneArray, elementwise
from hlobatch.values.lane_failures import is_there, needed
from hlobatch.values.number_tables import NUMBERS, is_integer, table_of
from hlobatch.values.one_of import for_each
from hlobatch.values.optional import is_none, is_opened, is_optional, is_several
from hlobatch.values.own_containers import content
from hlobatch.values.tables import check_hashable
from hlobatch.values.texts import LaneText, as_texts

MOST_NUMBERS_ONE_BY_ONE: Final = 8
"""Most numbers that are compared or added one by one; more are joined to an array first. Chosen by judgement (2026-11),
not measured."""


def compare(operation: str, left: Any, right: Any) -> Any:
    """A comparison, named as in ``operator``, or ``in`` or ``not_in``."""
    if operation in ("in", "not_in"):
        return _as_asked(operation, contains(right, left))
    if operation in ("is_", "is_not"):
        return _as_asked(operation, _is(left, right))
    if operation in ("lt", "le", "gt", "ge"):
        is_there(left, "an order of")
        is_there(right, "an order of")
    left, right = as_texts((left, right))
    if any(map(is_several, (left, right))):
        return for_each(partial(compare, operation), left, right)
    if isinstance(left, LaneArray) or isinstance(right, LaneArray):
        return elementwise(partial(comparisons.compare, operation), left, right)
    left, right = (content(side, f"__{operation}__", "__eq__") for side in (left, right))
    if isinstance(left, Collection) or isinstance(right, Collection):
        return _of_collections(operation, left, right)
    for kind in (tuple, list):
        if isinstance(left, kind) and isinstance(right, kind) and differs((left, right)):
            return _of_sequences(operation, left, right)
    if isinstance(left, dict) and isinstance(right, dict) and operation in ("eq", "ne") and differs((left, right)):
        has_same_keys = left.keys() == right.keys()
        return _as_asked(operation, has_same_keys and both(same(left[key], right[key]) for key in left))
    if operation in ("eq", "ne") and (_is_no_number(left, right) or _is_no_number(right, left)):
        return operation == "ne"
    if operation in ("eq", "ne") and _are_told_apart(left, right):
        return _as_asked(operation, _is(left, right))
    if (names := _compared(operation, left, right)) is not None:
        sides = [tuple(getattr(side, name) for name in names) for side in (left, right)]
        return compare(operation, *sides)
    return comparisons.compare(operation, left, right)


def compare_with_none(operation: str, value: Any) -> Any:
    """``value == None`` or ``value != None``, which a method of the user's may answer."""
    if isinstance(value, Choice):
        return for_each(partial(compare_with_none, operation), value)
    holds = is_none(value)  # first, since it asks for the kind of a value of several
    if any((method := own_method(value, name)) and lines_of(method) for name in ("__eq__", "__ne__")):
        return compare(operation, value, None)
    return _as_asked(operation, holds)


def _as_asked(operation: str, holds: Any) -> Any:
    """A truth value, or its negation if that is what a comparison asks for."""
    return negated(holds) if operation in ("ne", "is_not", "not_in") else holds


def _is_no_number(value: Any, number: Any) -> bool:
    """Whether a value is a Python object that equals no number, beside a number that differs between lanes."""
    return isinstance(value, _NO_NUMBERS) and is_tracer(number) and not np.ndim(number)


_NO_NUMBERS: Final = (str, bytes, tuple, list, dict, set, frozenset, range, type, types.NoneType, types.FunctionType)


def _are_told_apart(left: Any, right: Any) -> bool:
    """Whether two objects are equal only if identical, and the program has made one, so that this is not known."""
    if is_told_by_identity(left) or is_told_by_identity(right):
        return not any(isinstance(side, Kinds) for side in (left, right))
    is_by_identity = (
        is_boxable(left) and type(left) is type(right) and getattr(type(left), "__eq__", None) is object.__eq__
    )
    return is_by_identity and any(is_opened(side) or is_another(side) for side in (left, right))


def _compared(operation: str, left: Any, right: Any) -> list[str] | None:
    """The fields that the generated comparison of a dataclass compares; None if the user wrote the comparison."""
    cls = type(left)
    if cls is not type(right) or not dataclasses.is_dataclass(cls):
        return None
    method = getattr(cls, "__eq__" if operation == "ne" else f"__{operation}__", None)
    owner = next((base for base in cls.__mro__ if method is vars(base).get(getattr(method, "__name__", ""))), None)
    params: Any = getattr(owner, "__dataclass_params__", None)
    if owner is None or not isinstance(method, types.FunctionType) or params is None or lines_of(method):
        return None
    return [field.name for field in dataclasses.fields(owner) if field.compare]


def _is(left: Any, right: Any) -> Any:
    """``left is right``; a bool, or an integer for a member of an ``IntEnum``, counts as Python's single object."""
    for value, known in ((left, right), (right, left)):
        if is_several(value):
            return for_each(partial(_is, known), value)
        if _is_flag(known) and _is_flag(value) and is_array(value):
            return equal(value, known)
        if _is_flag(known) and as_python(value) is not value:  # asks for the class of a number
            return False
        if isinstance(known, enum.IntEnum) and is_array(value) and is_integer(value):
            return equal(value, int(known))
    if is_held(left) or is_held(right):
        return is_one_object(left, right)
    root, _ = next(mutable_parts(left), (None, None))
    is_made_anew = root == () or isinstance(left, (LaneText, Carrier)) or (isinstance(left, tuple) and len(left) > 0)
    is_unknown = (type(left) is type(right) and is_made_anew) or _are_numbers_of_one_class(left, right)
    if left is not right and is_unknown:
        has_axes = is_array(left) and np.ndim(left) > 0
        kind = "array" if has_axes else getattr(left, "python", type_of(left)).__name__
        raise UnsupportedSyntaxError(
            f"whether two names stand for one {kind} is not known",
            help="give each a number of its own, as in `node.id`, and compare these.",
        )
    return left is right


def _is_flag(value: Any) -> bool:
    """Whether a value is a bool, known or of a lane."""
    return type(value) is bool or (is_array(value) and value.dtype == jnp.bool_ and not np.ndim(value))


def _are_numbers_of_one_class(left: Any, right: Any) -> bool:
    """Whether two values are numbers of one class of Python's, one of which differs between lanes."""
    numbers = [kind_of_value(side) for side in (left, right)]
    return numbers[0] in NUMBERS and numbers[0] == numbers[1] and (is_tracer(left) or is_tracer(right))


def equal(left: Any, right: Any) -> Any:
    """Whether two values are equal: a Python bool, or one that differs between lanes."""
    known = whole_numbers.decided("eq", left, right)
    return truth(compare("eq", left, right)) if known is None else known


def less(left: Any, right: Any) -> Any:
    """Whether one value is less than another: a Python bool, or one that differs between lanes."""
    return _ordered("lt", left, right)


def greater(left: Any, right: Any) -> Any:
    """Whether one value is greater than another; for an object, its class says what that is."""
    return _ordered("gt", left, right)


def _ordered(operation: str, left: Any, right: Any) -> Any:
    known = whole_numbers.decided(operation, left, right)
    return truth(compare(operation, left, right)) if known is None else known


def _of_collections(operation: str, left: Any, right: Any) -> Any:
    one, other = (left, right) if isinstance(left, Collection) else (right, left)
    if operation not in ("eq", "ne"):
        return one.ordered(operation if one is left else _MIRRORED[operation], other)
    return _as_asked(operation, one.equals(other))


_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""By comparison, the one that holds if its sides change places."""


def _of_sequences(operation: str, left: Sequence[Any], right: Sequence[Any]) -> Any:
    if operation in ("eq", "ne"):
        return _as_asked(operation, len(left) == len(right) and both(map(same, left, right)))
    result: Any = getattr(operator, operation)(len(left), len(right))
    for a, b in reversed(list(zip(left, right, strict=False))):
        decides = negated(same(a, b))
        if decides is True:
            result = truth(compare(operation, a, b))
        elif decides is not False:
            result = jnp.where(decides, truth(compare(operation, a, b)), result)
    return as_bool(result)


def both(values: Iterable[Any]) -> Any:
    """Whether all values are true; the rest is not evaluated once one is known to be false."""
    return _folded(values, True, jnp.logical_and)


def either(values: Iterable[Any]) -> Any:
    """Whether any value is true; the rest is not evaluated once one is known to be true."""
    return _folded(values, False, jnp.logical_or)


def _folded(values: Iterable[Any], neutral: bool, join: Callable[[Any, Any], Any]) -> Any:
    result: Any = neutral
    for value in values:
        if value is not neutral and type(value) is bool:
            return value
        result = value if result is neutral else result if value is neutral else join(result, value)
    return result


def negated(value: Any) -> Any:
    """``not value`` of a truth value."""
    return not value if type(value) is bool else jnp.logical_not(value)


def contains(container: Any, item: Any) -> Any:
    """``item in container``."""
    check_asked_in_part(container, "__contains__")
    if isinstance(container, Iterator):
        container = list(finite(container, differs))
    container, item = as_texts((container, item))
    if isinstance(container, Choice) or (isinstance(item, Choice) and not isinstance(container, Growing)):
        return for_each(contains, container, item)
    needed(container, TypeError, "argument of type 'NoneType' is not iterable")
    if is_optional(item) and not isinstance(container, (tuple, list)):
        return for_each(contains, container, item)
    container = content(container, "__contains__")
    if isinstance(container, str) and isinstance(item, LaneText):
        container = LaneText.of(container)
    if isinstance(container, Collection):
        return container.contains(item)
    if isinstance(own := getattr(type(container), "__contains__", None), types.FunctionType) and is_users(own):
        return as_bool(as_meant(own, (container, item))(container, item))
    if isinstance(container, (str, bytes)) or not _differs((container, item)):
        return item in container
    if isinstance(container, range):
        return in_range(item, container.start, container.stop, container.step)
    if is_array(container) and not np.ndim(container):
        raise TypeError(f"argument of type {type_of(container).__name__!r} is not iterable")
    if is_array(container):
        return as_bool(jnp.any(comparisons.compare("eq", jnp.asarray(container), item)))
    if hasattr(type(container), "__contains__") and not isinstance(container, _CONTAINERS):
        return item in container
    return _is_one_of(item, container)


def _is_one_of(item: Any, container: Any) -> Any:
    """Whether a value is one of the items of a Python container; one of them differs between lanes."""
    if isinstance(container, (Mapping, AbstractSet)):
        check_hashable(item)
    items = list(container)
    if (alike := alike_numbers(items, item)) is not None:
        return as_bool(jnp.any(alike))
    return as_bool(either(same(item, other) for other in items))


_CONTAINERS: Final[tuple[type, ...]] = (tuple, list, AbstractSet, Mapping, ValuesView)


def _differs(value: tuple[Any, Any]) -> bool:
    """Whether a container or an item differs between lanes, objects in it included."""
    known = [tuple(part) if isinstance(part, ValuesView) else part for part in value]
    objects = [part for _, part in mutable_parts(known) if is_boxable(part)]
    return differs(value) or any(differs([*attributes_of(part).values()]) for part in objects)


def alike_numbers(items: Sequence[Any], value: Any) -> Any | None:
    """A mask of the known numbers that equal a value, if there are many; None for other items or values."""
    if len(items) <= MOST_NUMBERS_ONE_BY_ONE or not is_array(value) or np.ndim(value) or (t := table_of(items)) is None:
        return None
    return comparisons.compare("eq", jnp.asarray(t), value)


def same(item: Any, other: Any) -> Any:
    """Whether an item is identical or equal to another; an object that is no number equals none."""
    if item is other:
        return True
    if other is None or item is None:
        return compare_with_none("eq", item if other is None else other)
    return equal(item, other)
