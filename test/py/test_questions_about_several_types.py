"""What Python answers, or raises, where a variable has values of several types: a table by the kind of question."""

import dataclasses
import enum
from collections import deque
from typing import NamedTuple

import numpy as np
import pytest
from feature_pairs import in_lanes, in_python, right_or_refused

import hlobatch as hb

NUMBERS = [0, 1, 2, 3, 4, 5]


class Pair(NamedTuple):
    p: int
    q: float = 0.5


class AlsoNone:
    """Equal to None, which a class may say of itself."""

    def __init__(self, p):
        self.p = p

    def __eq__(self, other):
        return other is None or other.p == self.p

    __hash__ = None


class NoneIfLarge:
    def __init__(self, p):
        self.p = p

    def __eq__(self, other):
        if other is None:
            return self.p > 2
        return self.p == other.p

    __hash__ = None


@dataclasses.dataclass
class Item:
    p: int


# Integers, floats and flags in one variable


def flag_number_float(n):
    x, z = 3, n > 1
    if n == 0:
        x, z = z, x
    if not x:
        x = 1.5
    return isinstance(x, int) + 2 * isinstance(x, float) + 4 * isinstance(x, bool)


def flag_float_number(n):
    x = n > 3 if n % 2 else 1.5
    f = lambda v: v or 3  # noqa: E731
    y = f(x)
    return 1 if y else 2


def known_text_or_float(n):
    x = "ba"[n % 2]
    for i in range(n):
        x = str(n) if i else n / 2
    return len(x) if isinstance(x, str) else int(x * 8)


def empty_tuple_or_object(n):
    if n == 0:
        x = None
    elif n < 3:
        x = ()
    else:
        x = Item(n)
    if x is None:
        x = 3
    return (x == 3) + 2 * (x == ()) + 4 * isinstance(x, Item)


def number_float_text(n):
    x = (n + 1, n / 2, "ab")[n % 3]
    if n == 4:
        x = 1.5
    return (x == 1) + 2 * (x == "ab") + 4 * (x == 1.5) + 8 * (x == 4)


def text_number_flag(n):
    x = "ab" if n == 0 else n if n < 3 else 0.5
    y = (x, "cd", True)[n % 3]
    if n == 5:
        y = x
    return (y == "ab") + 2 * (y == "cd") + 4 * (y == 0.5) + 8 * (y is True)


def parts_of_a_flag(n):
    x = n > 1
    return (
        (type(x.real) is int)
        + 2 * isinstance(x.real, bool)
        + 4 * (type(x.imag) is int)
        + 8 * (type(x.numerator) is int)
        + 16 * (type(x.conjugate()) is int)
    )


def identity_of_flags(n):
    x, y = n > 1, n < 4
    return (x is y) + 2 * (x is not y) + 4 * (x is True)


def flag_among_floats(n):
    x = (True, n / 2, 1.0)[n % 3]
    return (x is True) + 2 * (x is not True) + 4 * (x == 1)


def pattern_among_floats(n):
    x = (True, n / 2, False)[n % 3]
    match x:
        case True:
            return 1
        case False:
            return 2
        case _:
            return 3


def text_or_flag(n):
    if n > 2:
        return "ab"
    return n > 1


def results_as_conditions(n):
    found = 1 if text_or_flag(n) else 2
    if text_or_flag(n - 1):
        found += 4
    if text_or_flag(n - 2) and n < 5:
        found += 8
    while not text_or_flag(n):
        n += 1
        found += 16
    kept = text_or_flag(n - 3) or 3
    return found + (32 if kept else 64)


# None, or no container, where items are asked for


def none_between_texts_and_pairs(n):
    if n == 0:
        x = "ab"[n % 2]
    elif n == 1:
        x = None
    else:
        x = Pair(1, 2.5)
    if x is None:
        x = 3
    return 7 if isinstance(x, int) else 30


def stars_in_a_list(n):
    x = (None, (1, 2))[n % 2]
    try:
        return len([*x, 2])
    except TypeError:
        return 9


def stars_in_a_tuple(n):
    x = {0: None, 1: []}[n % 2]
    try:
        return len((*x, 2))
    except TypeError:
        return 9


def stars_in_a_set(n):
    x = (None, (1, 2))[n % 2]
    try:
        return len({*x, 2})
    except TypeError:
        return 9


def stars_in_a_call(n):
    x = (None, (5, 2))[n % 2]
    try:
        return max(*x, 1)
    except TypeError:
        return 9


def stars_of_no_mapping(n):
    x = []
    if n > 1:
        x = {1: n}
    try:
        return len({**x})
    except TypeError:
        return 9


def stars_of_none(n):
    x = {1: n} if n > 1 else None
    return len({**x}) + n


def first_item(n):
    x = None
    for i in range(n):
        x = str(n) if i else "a"
    try:
        return ord(next(iter(x)))
    except TypeError:
        return 9


def loop_over_a_class(n):
    x = ("a", int, None)[n % 3]
    count = 0
    try:
        for _ in x:
            count += 1
    except TypeError:
        return 9
    return count


def slice_of_a_number(n):
    x = n / 2 if n > 2 else True if n else "abc"
    try:
        return len(x[:2])
    except TypeError:
        return 8
    except IndexError:
        return 9


def deletion_of_an_item(n):
    x = n if n > 1 else (1, 2)
    try:
        del x[0]
    except TypeError:
        return 8
    except AttributeError:
        return 9
    return 1


def join_of_numbers(n):
    x = [1] * n
    try:
        return len("".join(x))
    except TypeError:
        return 9


def attribute_or_default(n):
    x = Item(n) if n % 2 else None
    return getattr(x, "p", 7)


def attribute_by_its_name(n):
    x = Item(n) if n % 2 else None
    try:
        return getattr(x, "p")  # noqa: B009
    except AttributeError:
        return 9


# None beside a class's own `__eq__`


def equal_to_none(n):
    x = AlsoNone(n) if n > 1 else None
    return (x != None) + 2 * (x == None) + 4 * (None == x) + 8 * (None != x)  # noqa: E711


def branch_on_none(n):
    x, found = NoneIfLarge(n), 0
    if x != None:  # noqa: E711
        found = 2
    while x == None:  # noqa: E711
        x.p -= 1
        found += 1
    return found


def none_in_items(n):
    x = AlsoNone(n)
    return [x].count(None) + 2 * (None in [x, x]) + 4 * ((x, 1) == (None, 1))


def generated_method(n):
    x = Item(n) if n > 1 else None
    return (x != None) + 2 * (x == None)  # noqa: E711


def rounded_pair(n):
    x = Pair(1, 2.5) or n
    try:
        return 1 if round(x) else 2
    except TypeError:
        return 3


def spread_list_or_function(n):
    x, t = [n, 4], 0
    if n == n:
        t = max(*x)
        for _, x in zip([abs], (abs,), strict=True):
            t += x(-2)
    try:
        return t + len((*x, n))
    except TypeError:
        return t


# A NaN is equal to itself as an item alone


def nan_as_an_item(n):
    x = float("nan") if n > 1 else n / 2
    return ((x, 1) == (x, 1)) + 2 * ([x] == [x]) + 4 * (x == x) + 8 * (x in (x, 1)) + 16 * [x].count(x)


def nan_is_found(n):
    x, y = n * float("nan"), n * float("nan")
    return [1, x].index(x) + 2 * ((x, 1) == (y, 1)) + 4 * ({1: x} == {1: x})


FUNCTIONS = (
    flag_number_float,
    flag_float_number,
    known_text_or_float,
    empty_tuple_or_object,
    number_float_text,
    text_number_flag,
    parts_of_a_flag,
    identity_of_flags,
    flag_among_floats,
    pattern_among_floats,
    results_as_conditions,
    none_between_texts_and_pairs,
    stars_in_a_list,
    stars_in_a_tuple,
    stars_in_a_set,
    stars_in_a_call,
    stars_of_no_mapping,
    stars_of_none,
    first_item,
    loop_over_a_class,
    slice_of_a_number,
    deletion_of_an_item,
    join_of_numbers,
    attribute_or_default,
    attribute_by_its_name,
    equal_to_none,
    branch_on_none,
    none_in_items,
    generated_method,
    spread_list_or_function,
    nan_as_an_item,
    nan_is_found,
)


def test_a_tuple_is_not_rounded():
    """Regression: JAX took it as an array, so ``round`` of a known one gave its rounded items."""
    assert right_or_refused(rounded_pair, NUMBERS) is not None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_answer_is_pythons(function):
    assert in_lanes(function, NUMBERS) == in_python(function, NUMBERS)


OPERANDS = {
    "tuple": "(1,)",
    "text": "'a'",
    "range": "range(2)",
    "set": "{1}",
    "dict": "{1: 2}",
    "number": "n",
    "deque": "deque([1])",
    "array": "np.ones(2)",
    "tuple of the lane": "tuple([2] * n)",
    "dict of the lane": "{k: 1 for k in x}",
}


@pytest.mark.parametrize("other", OPERANDS.values(), ids=OPERANDS)
@pytest.mark.parametrize("form", ["x + OTHER", "OTHER + x"])
def test_a_list_is_joined_with_a_list_alone(form, other, tmp_path):
    """``x + (1,)`` of a list of the lane's length was a longer list, where Python raises a ``TypeError``."""
    path = tmp_path / "program.py"
    path.write_text(f"def main(n):\n    x = [1] * n\n    return len({form.replace('OTHER', other)})\n")
    space = {"np": np, "deque": deque}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(hb.BatchTypeError, match=r"`\+` joins|can only concatenate"):
        hb.batch(space["main"])(np.arange(3, dtype=np.int32))


VIEWS = {
    "variable": "k = d.keys()\n    d[2] = n\n    return len(k)",
    "list": "k = [d.keys()]\n    d[2] = n\n    return len(k[0])",
    "tuple": "k = d.items(), 1\n    d[1] = 7\n    return sum(v for _, v in k[0])",
    "function": "def size(k):\n        d[2] = n\n        return len(k)\n    return size(d.keys())",
}


@pytest.mark.parametrize("body", VIEWS.values(), ids=VIEWS)
def test_a_view_of_a_dict_that_changes_is_refused(body, tmp_path):
    """A view that was kept showed the keys that the dict had when the view was made."""
    path = tmp_path / "program.py"
    path.write_text(f"def main(n):\n    d = {{1: 2}}\n    {body}\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(hb.UnsupportedSyntaxError, match="another name, or a part"):
        hb.batch(space["main"])(np.arange(3, dtype=np.int32))


def test_a_view_of_a_dict_that_does_not_change_is_kept():
    def main(n):
        d = {1: 2, 3: 4}
        k = d.items()
        return n + sum(key * value for key, value in k)

    assert in_lanes(main, NUMBERS) == in_python(main, NUMBERS)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def beside_none(n):
    return Level.LOW if n > 1 else None


def one_of_two(n):
    return Level.LOW if n > 1 else Level.HIGH


def beside_a_flag(n):
    return True if n > 1 else Level.LOW


def beside_a_text(n):
    return Level.LOW if n > 1 else "ab"


def from_a_list(n):
    return [Level.LOW, Level.HIGH][n % 2]


def from_a_loop(n):
    level = Level.LOW
    for _ in range(n):
        level = Level.HIGH
    return level


def is_an_int(x):
    return type(x) is int


def text_of(x):
    return len(f"{x!r}")


@pytest.mark.parametrize("question", [is_an_int, text_of])
@pytest.mark.parametrize("level", [beside_none, one_of_two, beside_a_flag, beside_a_text, from_a_list, from_a_loop])
def test_what_tells_a_member_of_an_enum_from_an_integer_is_refused(level, question):
    """A member of an ``IntEnum`` that a lane has is an integer: ``type(x) is int`` was true."""
    with pytest.raises(hb.BatchTypeError, match="whether a number is a member of an `IntEnum` is not known"):
        hb.batch(lambda n: question(level(n)))(np.arange(6, dtype=np.int32))


def test_members_of_an_enum_are_integers():
    def main(n):
        level, same = one_of_two(n), Level.LOW
        return isinstance(level, int) + level * 2 + len(str(level)) + len(repr(same)) + (type(same) is Level)

    assert in_lanes(main, NUMBERS) == in_python(main, NUMBERS)


class Point:
    def __init__(self, p):
        self.p = p

    def __eq__(self, other):
        return isinstance(other, Point) and self.p == other.p

    def __hash__(self):
        return 5


KEYS = {
    "in a display": "return {x: 1}[x]",
    "in a tuple": "return {(x, 1): 1}.get((None, 1), 4)",
    "in a set": "return len({x, None})",
    "in a set of a list": "return len(set([x, None]))",
    "in a dict of pairs": "return len(dict([(x, 1), (None, 2)]))",
    "in a comprehension": "return len({k: 1 for k in (x, None)})",
    "of an assignment": "d = {}\n    d[x] = 1\n    return len(d) + d.get(None, 5)",
    "of an augmented assignment": "d = {None: 2}\n    d[x] += 1\n    return d[None]",
    "of a method": "s = set()\n    s.add(x)\n    return len(s) + (None in s)",
    "beside keys of lanes": "d = {n: 1}\n    d[x] = 2\n    return len(d)",
}


@pytest.mark.parametrize("value", ["Point(n)", "n"])
@pytest.mark.parametrize("body", KEYS.values(), ids=KEYS)
def test_a_key_that_is_none_in_some_lanes_is_refused(body, value, tmp_path):
    """An object that is None in some lanes was a key that no None equals, or raised a ``TypeError``."""
    path = tmp_path / "program.py"
    path.write_text(f"def main(n):\n    x = {value} if n % 2 else None\n    {body}\n")
    space = {"Point": Point}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(hb.BatchTypeError, match=r"is put into a container whose length|is an object of 'Point'"):
        hb.batch(space["main"])(np.arange(3, dtype=np.int32))


def test_a_key_that_is_none_in_some_lanes_is_found():
    def main(n):
        x = n if n % 2 == 1 else None
        y = Point(n) if n % 2 == 1 else None
        return {None: 2, 1: 3, 3: 4, 5: 6}[x] + {None: 1}.get(y, 3) * 10

    assert in_lanes(main, NUMBERS) == in_python(main, NUMBERS)
