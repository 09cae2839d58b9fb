"""A value that is None in some lanes is used as if it were there: these lanes raise Python's exception."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlobatch as hb

INPUTS = np.array([0, 1, 4])


class Point:
    def __init__(self, x):
        self.x = x
        self.next = None

    def moved(self, k):
        return self.x + k

    def capped(self):
        if self.x > 2:
            return 2
        return self.x


MADE = {
    "an array": "np.array([1, 2, 2])",
    "a tuple": "(n, 2, 2)",
    "a text": "str(n) * 3",
    "a part": "np.arange(1, 4)[:n]",
}
ASKED = {
    "an item": "return r[0]",
    "the last item": "return r[-1]",
    "a slice": "return len(r[:2])",
    "membership": "return ONE in r",
    "a loop": "k = 0\n    for q in r:\n        k += 1\n    return k",
    "a comprehension": "return len([q for q in r])",
    "the length": "return len(r)",
    "the star": "a, *b = r\n    return len(b)",
    "an enumeration": "k = 0\n    for i, q in enumerate(r):\n        k += i\n    return k",
}


def asked_of_objects(n):
    p = None
    if n > 0:
        p = Point(n)
    return p.x


def a_method_of_objects(n):
    p = None
    if n > 0:
        p = Point(n)
    return p.moved(2)


def a_method_that_branches(n):
    p = None
    if n > 0:
        p = Point(n)
    return p.capped()


def an_attribute_assigned(n):
    p = None
    if n > 0:
        p = Point(n)
    p.x = 4
    return p.x


def an_attribute_of_an_attribute(n):
    p = Point(n)
    if n > 0:
        p.next = Point(7)
    return p.next.x


def an_attribute_of_an_array(n):
    v = None
    if n > 0:
        v = np.array([1, 2, 2])
    return v.sum() + v.shape[0]


def two_names_unpacked(n):
    v = None
    if n > 0:
        v = (n, 2)
    a, b = v
    return a + b


def caught(n):
    p = None
    if n > 0:
        p = Point(n)
    try:
        return p.x
    except AttributeError:
        return -1


def asked_before(n):
    p = None
    if n > 0:
        p = Point(n)
    if p is not None and p.x > 1:
        return p.moved(1)
    return 0 if p is None else p.x


ONE = Point(1)


def a_key_of_a_dict(n):
    key = None if n < 1 else Point(n)
    entries = {None: 5, ONE: 6}
    try:
        return entries[key] + entries.get(key, 9) * 10
    except KeyError:
        return entries.get(key, 9)


def in_python(function: Any) -> list[Any]:
    found = []
    for n in INPUTS.tolist():
        try:
            found.append(int(function(n)))
        except (TypeError, AttributeError) as error:
            found.append(type(error))
    return found


def in_lanes(function: Any) -> list[Any]:
    try:
        found, errors = hb.batch(function)(INPUTS), {}
    except hb.LaneError as error:
        found, errors = error.outputs, error.errors
    return [type(errors[lane]) if lane in errors else int(found[lane]) for lane in range(len(INPUTS))]


@pytest.mark.parametrize(
    "function",
    [
        asked_of_objects,
        a_method_of_objects,
        a_method_that_branches,
        an_attribute_assigned,
        an_attribute_of_an_attribute,
        an_attribute_of_an_array,
        two_names_unpacked,
        caught,
        asked_before,
        a_key_of_a_dict,
    ],
    ids=lambda function: function.__name__,
)
def test_a_lane_with_none_raises_as_python_does(function: Any) -> None:
    assert in_lanes(function) == in_python(function)


@pytest.mark.parametrize("made", MADE)
def test_each_use_of_a_container_that_is_none_raises(made: str, tmp_path: Path) -> None:
    file = tmp_path / "uses.py"
    one = "'1'" if made == "a text" else "1"
    uses = (
        f"def use{k}(n):\n    r = None\n    if n > 0: r = {MADE[made]}\n    {text.replace('ONE', one)}\n"
        for k, text in enumerate(ASKED.values())
    )
    file.write_text("\n".join(["import numpy as np", *uses]))
    space = runpy.run_path(str(file))
    for k, name in enumerate(ASKED):
        assert in_lanes(space[f"use{k}"]) == in_python(space[f"use{k}"]), name
