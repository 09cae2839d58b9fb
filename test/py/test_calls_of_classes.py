"""Classes whose objects are made by code that branches, called in the ways that Python has: a table of both."""

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import pytest
from feature_pairs import in_lanes, in_python, made
from shares import by_day

import hlobatch as hb

NUMBERS = [1, 5, 20]


class Base:
    def __init__(self, x, y=2):
        self.x, self.y = x, y
        while self.x > 10:
            self.x -= 3


class Derived(Base):
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.x += 1


class Plain(Base):
    pass


@dataclass
class Data:
    x: int
    y: int = 2

    def __post_init__(self):
        while self.x > 10:
            self.x -= 3


class Made:
    """An object that makes others when it is called."""

    def __call__(self, x, y=2):
        while x > 10:
            x -= 3
        return Base(x, y)


CLASSES = ("Base", "Derived", "Plain", "Data", "maker")
FORMS = (
    *("CLASS(n, 3)", "CLASS(n, y=3)", "CLASS(*[n, 3])", "CLASS(*args)", "CLASS(*(n,), **{'y': n})"),
    *("CLASS(**dict(x=n, y=4))", "(lambda *rest: CLASS(n, *rest))(5)", "list(map(CLASS, [n, 4]))[0]"),
    *("(lambda kind: kind(*[n, 3]))(CLASS)", "[CLASS(*pair) for pair in [(n, 1), (3, n)]][1]"),
)


def calling(form: str, kind: str) -> Any:
    """A function of one number that calls a class."""
    call = form.replace("CLASS", kind)
    text = f"def main(n):\n    args, maker = (n, 7), Made()\n    made = {call}\n    return made.x * 10 + made.y\n"
    return made(text, **{one.__name__: one for one in (Base, Derived, Plain, Data, Made, functools)})


@pytest.mark.parametrize("case", by_day([*itertools.product(FORMS, CLASSES)], 20), ids=" of ".join)
def test_the_object_is_the_one_that_python_makes(case: tuple[str, str]) -> None:
    """Regression: building a call with stars of such a class never ended."""
    main = calling(*case)
    assert in_lanes(main, NUMBERS) == in_python(main, NUMBERS)


@pytest.mark.parametrize("kind", ["Base", "Data"])
@pytest.mark.parametrize("form", ["functools.partial(CLASS, n)(5)", "functools.partial(CLASS, y=n)(*[n])"])
def test_a_partial_of_a_class_is_refused(form: str, kind: str) -> None:
    """Regression: building it never ended."""
    with pytest.raises(hb.UnsupportedSyntaxError, match=r"a `functools\.partial` of"):
        in_lanes(calling(form, kind), NUMBERS)


class Link:
    def __init__(self, x, after=None):
        self.x, self.after = x, after


def linked(n):
    head = None
    for i in range(n):
        rest = {"after": head}
        head = Link(*[i], **rest)
    total = 0
    while head is not None:
        total, head = total * 3 % 1009 + head.x, head.after
    return total


def test_objects_in_columns_are_made_with_stars():
    assert in_lanes(linked, NUMBERS) == in_python(linked, NUMBERS)
