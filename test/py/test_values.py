"""The closed set of kinds of values that a variable may hold besides Python's own.

Each implements the whole protocol.
"""

import collections
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.frontend.builtins import truth
from hlobatch.frontend.lane_ranges import LaneRange
from hlobatch.ir.boxed import Boxed, in_python
from hlobatch.ir.growing import KINDS
from hlobatch.ir.maybe import Maybe
from hlobatch.ir.types import Type
from hlobatch.ir.value import Collection, Value, is_value
from hlobatch.values.growing_kinds import growing
from hlobatch.values.growing_tuples import GrowingTuple
from hlobatch.values.identity import mutable_parts
from hlobatch.values.kinds import Kinds
from hlobatch.values.lane_arrays import LaneArray
from hlobatch.values.leaf_types import leaf_type
from hlobatch.values.lifting import lift
from hlobatch.values.numerals import of_integer
from hlobatch.values.one_of import OneOf
from hlobatch.values.texts import LaneText
from hlobatch.values.type_join import DisagreementError, join

OURS = re.compile(r"\b(OneOf|Choice|LaneRange|Maybe|Boxed|Growing\w+|Carrier|Possible|LaneText|LaneArray|\w*Tracer)\b")


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)

    __hash__ = None


ONE, TWO = jnp.int32(1), jnp.int32(2)
COUNTED = collections.Counter({1: 2})
SAMPLES: list[tuple[Value, Any]] = [
    (OneOf(ONE, ("a", "b")), "b"),
    (OneOf(ONE, (3, None)), None),
    (Maybe(jnp.bool_(True), TWO), 2),
    (Maybe(jnp.bool_(False), TWO), None),
    (Maybe(jnp.bool_(True), OneOf(ONE, ("", "b"))), "b"),
    (Boxed(Point, ("x", "y"), (ONE, Maybe(jnp.bool_(False), TWO))), Point(1, None)),
    (Kinds(ONE, (Boxed(Point, ("x", "y"), (ONE, ONE)), TWO), (Point, int)), 2),
    (Kinds(jnp.int32(0), (Boxed(Point, ("x", "y"), (ONE, TWO)), "b"), (Point, "object")), Point(1, 2)),
    (Boxed(dict, ("b", "a"), (ONE, (TWO,))), {"b": 1, "a": (2,)}),
    (Boxed(collections.defaultdict, (int, "b"), (ONE,)), collections.defaultdict(int, b=1)),
    (LaneRange(ONE, jnp.int32(5), 2), range(1, 5, 2)),
    (LaneRange(ONE, ONE, 1), range(0)),
    (of_integer(TWO, 2, "0b"), "0b10"),
    (LaneText.of(""), ""),
    (LaneText.of("ab"), "ab"),
    (growing([1, 2]), [1, 2]),
    (growing([(1, 2.0)]), [(1, 2.0)]),
    (GrowingTuple.of((1, 2)), (1, 2)),
    (LaneArray.of(np.array([5])), np.array([5])),
    (growing(collections.deque([1, 2])), collections.deque([1, 2])),
    (growing({3}), {3}),
    (growing({1: 2}), {1: 2}),
    (growing(collections.defaultdict(int, {1: 2})), collections.defaultdict(int, {1: 2})),
    (growing(COUNTED), COUNTED),
    (growing(collections.OrderedDict({1: 2})), collections.OrderedDict({1: 2})),
]
"""A value of each kind, or several, and what Python has in its place."""


def names_of(samples: Sequence[tuple[Value, Any]]) -> list[str]:
    return [f"{type(value).__name__}-{python!r}"[:40] for value, python in samples]


IDS = names_of(SAMPLES)
IN_PROGRAMS_ALONE = {"Column", "Reference"}
"""Kinds that mean nothing without the program's other variables; ``test_objects_in_columns.py`` asks them."""


COLLECTIONS = [(value, python) for value, python in SAMPLES if isinstance(value, Collection)]


def kinds_of(kind: type) -> Iterator[type]:
    """The kinds that can be made, among those derived from one."""
    for one in kind.__subclasses__():
        if not inspect.isabstract(one) and one.__module__.startswith("hlobatch."):
            yield one
        yield from kinds_of(one)


def type_of(value: Any) -> Type:
    return Type(jax.tree.map(leaf_type, value))


def test_there_is_a_sample_of_each_kind_that_can_be_made() -> None:
    sampled = {kind for value, _ in SAMPLES for kind in type(value).__mro__}
    assert {kind.__name__ for kind in set(kinds_of(Value)) - sampled} == IN_PROGRAMS_ALONE
    assert set(KINDS.values()) <= sampled


def test_a_kind_that_leaves_out_what_is_asked_cannot_be_made() -> None:
    class Careless(Value):
        def hb_truth(self, truth: Any) -> Any:
            return True

    with pytest.raises(TypeError, match="hb_known"):
        Careless()


@pytest.mark.parametrize(("value", "python"), SAMPLES, ids=IDS)
def test_python_has_something_in_its_place(value: Value, python: Any) -> None:
    found = in_python(value)
    assert type(found) is type(python) or isinstance(found, jax.Array)
    assert found == python
    assert not any(map(is_value, jax.tree.leaves(in_python([value]), is_leaf=is_value)))


@pytest.mark.parametrize(("value", "python"), SAMPLES, ids=IDS)
def test_it_is_true_where_pythons_is(value: Value, python: Any) -> None:
    if not isinstance(value, Kinds):
        assert bool(truth(value)) is bool(python)
        return
    with pytest.raises(hb.HloBatchError):
        truth(value)


@pytest.mark.parametrize(("value", "python"), SAMPLES, ids=IDS)
def test_its_type_is_printed_in_the_users_words(value: Value, python: Any) -> None:
    del python
    assert not OURS.search(str(type_of(value)))
    assert not OURS.search(str(type_of([value])))


@pytest.mark.parametrize(("value", "python"), SAMPLES, ids=IDS)
def test_a_variable_of_its_type_holds_it_and_what_python_has_in_its_place(value: Value, python: Any) -> None:
    held = type_of(value)
    again = lift(value, held)
    assert jax.tree.structure(again) == jax.tree.structure(value)
    for one, other in zip(jax.tree.leaves(again), jax.tree.leaves(value), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    if not isinstance(value, (Boxed, Kinds, LaneRange)):  # which JAX takes for leaves, or which are made where they are
        assert in_python(lift(python, held)) == python


@pytest.mark.parametrize(("value", "python"), SAMPLES, ids=IDS)
def test_its_type_beside_none_holds_both_or_is_refused(value: Value, python: Any) -> None:
    try:
        above = join(type_of(value), Type(None), optional=True)
    except DisagreementError:
        assert isinstance(value, (Collection, Kinds))  # these may be refused
        return
    assert in_python(lift(None, above)) is None
    assert in_python(lift(value, above)) == python


@pytest.mark.parametrize(("value", "python"), SAMPLES, ids=IDS)
def test_what_may_be_none_can_change_where_its_value_can(value: Value, python: Any) -> None:
    del python
    inside = list(mutable_parts(value))
    assert [path for path, _ in mutable_parts(Maybe(jnp.bool_(True), value))] == [path for path, _ in inside]
    assert not any(isinstance(part, (OneOf, Maybe)) for _, part in inside)


@pytest.mark.parametrize(("value", "python"), COLLECTIONS, ids=names_of(COLLECTIONS))
def test_a_collection_has_the_items_that_pythons_has(value: Collection, python: Any) -> None:
    items = list(python)
    assert value.length() == len(items)
    assert all(bool(value.contains(item)) for item in items)
    other = "z" if isinstance(python, str) else (7, 7.0) if items and type(items[0]) is tuple else 7
    assert not value.contains(other)
    if isinstance(python, dict):
        assert all(value.item(key) == python[key] for key in python)
        assert value.equals(python)
        return
    assert value.equals(python)
    assert not value.equals({*items, 7} if isinstance(python, set) else range(9))
    if items and not isinstance(python, set):
        assert in_python((value.turn(0), value.item(-1))) == (items[0], items[-1])
