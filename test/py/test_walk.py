"""Traversals: over objects and their parts, and over types."""

import functools
import types

import numpy as np
import pytest

from hlobatch.ir.maybe import Maybe
from hlobatch.ir.patterns import INSIDE, are_alike, parts_of, remade
from hlobatch.ir.types import Static, TensorType
from hlobatch.ir.walk import around, attributes, code_within, defaults, walked


class Private:
    __slots__ = ("__dict__", "__hidden", "open")

    def __init__(self):
        self.open, self.other = 1, 2
        self.__hidden = 3


class Derived(Private):
    __slots__ = "unset"  # noqa: PLC0205  # Python allows a text


def inner_lists(one):
    return [part for part in one if isinstance(part, list)]


def test_each_object_is_given_once_and_the_nearest_first() -> None:
    far, near, both = [["far"]], ["near"], ["both"]
    whole = [far, near, both, both]
    far.append(whole)  # which is around it
    found = list(walked([whole], inner_lists))
    assert [id(one) for one in found] == list(map(id, [whole, far, near, both, far[0]]))


def test_a_walk_ends_where_its_visitor_has_seen_enough() -> None:
    row = functools.reduce(lambda inner, _: [inner], range(20), ["last"])
    assert len(list(walked([row], inner_lists, most=5))) == 5
    assert len(list(walked([row], inner_lists))) == 21
    assert len(list(walked([row], inner_lists, enters=lambda one: one[0] != ["last"]))) == 19


def test_what_comes_first_is_given_before_all_that_waits_in_its_order() -> None:
    first, second = (["x"],), (["y"],)
    start = [[0], first, second]
    found = walked([start], lambda one: one if isinstance(one, (list, tuple)) else (), comes_first=lambda o: o in start)
    assert list(found)[:4] == [start, [0], first, second]


def test_objects_are_walked_over_by_what_stands_for_them() -> None:
    shared = ["x"]
    named = walked([("a", shared), ("b", shared)], lambda _: (), object_of=lambda pair: pair[1])
    assert list(named) == [("a", shared)]


def test_attributes_are_those_of_slots_of_all_bases_and_of_the_dict() -> None:
    assert attributes(Derived()) == {"_Private__hidden": 3, "open": 1, "other": 2}
    assert attributes(3) == {}


def test_variables_around_a_function_are_known_once_they_have_a_value() -> None:
    def function(a, b=1, *, c=2):
        return a + b + c + known + later

    known = 3
    assert around(function) == {"known": 3}
    assert defaults(function) == {"b": 1, "c": 2}
    later = 4
    assert around(function) == {"known": 3, "later": 4}


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_code_is_given_with_all_that_is_in_it(depth: int) -> None:
    text = functools.reduce(lambda inner, _: f"(lambda: {inner})", range(depth), "1")
    assert len(list(code_within(compile(text, "", "eval")))) == depth + 1
    assert all(isinstance(code, types.CodeType) for code in code_within(compile(text, "", "eval")))


NUMBER, FLAG = TensorType(np.dtype(np.int32)), TensorType(np.dtype(bool))


def test_a_pattern_has_the_parts_that_stand_one_level_down() -> None:
    inner = Maybe(FLAG, [NUMBER])
    assert parts_of({"b": inner, "a": None}) == [None, inner]
    assert parts_of(inner) == [FLAG, [NUMBER]]
    assert [parts_of(leaf) for leaf in (NUMBER, Static("text"), None, 3, ())] == [[]] * 5


def test_a_visitor_makes_another_pattern_of_one_and_sees_what_stands_in_the_same_place() -> None:
    def visit(part, name):
        return f"{name} was {part}" if isinstance(part, (TensorType, Maybe)) else INSIDE

    found = remade(visit, [NUMBER, {"k": Maybe(FLAG, NUMBER)}, None], ["n", {"k": [0]}, None])
    assert found[0] == "n was i32[]"
    assert found[1]["k"].startswith("[0] was Maybe")
    assert found[2] is None
    with pytest.raises(ValueError, match="Expected list"):
        remade(visit, [NUMBER], (NUMBER,))


@pytest.mark.parametrize(
    ("other", "expected"),
    [([3, 4], True), ([[3], None], True), ([3], False), ((3, 4), False), (NUMBER, False), ({1: 2, "a": 3}, False)],
)
def test_pytrees_are_alike_if_they_are_made_of_their_parts_in_one_way(other: object, *, expected: bool) -> None:
    assert are_alike([NUMBER, NUMBER], other) is expected
