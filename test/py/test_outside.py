"""Changes of state outside of the batched function, and random draws there, are refused, and the state is as before."""

import array
import collections
import copy
import dataclasses
import functools
import itertools
import linecache
import random
import re
import sys
import time
import types
from typing import Any, ClassVar

import numpy as np
import pytest

import hlobatch as hb

NUMBERS = np.array([5, 2, 7], np.int32)


class Model:
    count = 0
    shared: ClassVar[list[Any]] = []

    def __init__(self):
        self.n = 0
        self.seen = []

    def hit(self):
        self.n += 1
        return self.n

    @classmethod
    def hit_all(cls):
        cls.count += 1
        return cls.count

    def __call__(self, v):
        self.seen.append(v)
        return len(self.seen)

    @property
    def looked(self):
        self.n += 1
        return self.n


SEEN: list[Any] = []
ROWS = [[0], [1]]
KNOWN: dict[str, Any] = {}
COUNTS: collections.Counter[str] = collections.Counter("a")
QUEUE = collections.deque([1])
BYTES = bytearray(2)
NUMBERS_OUTSIDE = array.array("i", [0])
TABLE = np.zeros(3, np.int32)
MODEL = Model()
SPACE = types.SimpleNamespace(n=0)
MEMO: dict[int, int] = {}
TOTAL = 0


def by_default(v, seen=[]):  # noqa: B006
    seen.append(v)
    return len(seen)


def by_keyword(v, *, seen={}):  # noqa: B006
    seen[1] = v
    return len(seen)


def to_list(v):
    SEEN.append(v)
    return len(SEEN)


def known_to_list(v):
    SEEN.append(3)
    return v + len(SEEN)


def to_dict(v):
    KNOWN["n"] = KNOWN.get("n", 0) + 1
    return v


def to_counter(v):
    COUNTS["a"] += 1
    return v


def to_deque(v):
    QUEUE.rotate(1)
    QUEUE.append(2)
    return v


def to_bytes(v):
    BYTES[0] += 1
    NUMBERS_OUTSIDE[0] += 1
    return v


def to_item_of_array(v):
    TABLE[0] += 1
    return v + int(TABLE[0])


def to_array(v):
    np.add(TABLE, 1, out=TABLE)
    return v


def to_global(v):
    global TOTAL
    TOTAL += 1
    return v + TOTAL


def to_module(v):
    sys.modules[__name__].TOTAL += 1
    return v


def to_attribute(v):
    MODEL.n = v
    return v


def to_new_attribute(v):
    SPACE.last = v
    return v


def by_method(v):
    return v + MODEL.hit()


def by_class_method(v):
    return v + Model.hit_all()


def by_class(v):
    Model.shared.append(v)
    return v


def by_call(v):
    return MODEL(v)


def by_property(v):
    return v + MODEL.looked


def inside(v):
    return sum(map(lambda w: to_list(w), [v, v]))  # noqa: C417


def to_row(v):
    ROWS[0].append(v)
    return len(ROWS[0])


def around():
    n, held = 0, [0]

    def to_variable(v):
        nonlocal n
        n += 1
        return v + n

    def to_held(v):
        held[0] += 1
        return v + held[0]

    return to_variable, to_held


TO_VARIABLE, TO_HELD = around()
BY_PARTIAL = functools.partial(by_default)


def decorated_by(function):
    calls = [0]

    @functools.wraps(function)
    def counted(v):
        calls[0] += 1
        return function(v) * calls[0]

    return counted


@decorated_by
def decorated(v):
    return v


def first_time(v):
    is_first = 3 not in MEMO
    MEMO[3] = 1
    return v + is_first


CHANGING = [
    *(by_default, by_keyword, to_list, known_to_list, to_dict, to_counter, to_deque, to_bytes, to_item_of_array),
    *(to_array, to_global, to_module, to_attribute, to_new_attribute, by_method, by_class_method, by_class, by_call),
    *(by_property, inside, to_row, TO_VARIABLE, TO_HELD, BY_PARTIAL, decorated, first_time),
]


def everything() -> str:
    """All that these functions may change, as text."""
    functions = [f for f in CHANGING if isinstance(f, types.FunctionType)]
    cells = [c.cell_contents for f in functions for c in f.__closure__ or () if not callable(c.cell_contents)]
    defaults = [(f.__defaults__, f.__kwdefaults__) for f in functions]
    values = (SEEN, ROWS, KNOWN, COUNTS, QUEUE, BYTES, NUMBERS_OUTSIDE, TABLE, SPACE, MEMO, TOTAL)
    return repr((values, vars(MODEL), Model.count, Model.shared, cells, defaults))


@pytest.mark.parametrize("branches", [False, True])
@pytest.mark.parametrize("helper", CHANGING, ids=lambda helper: getattr(helper, "__name__", "partial"))
def test_what_a_helper_changes_outside_is_refused_and_as_it_was(helper, branches):
    def straight(v):
        return helper(v) + helper(v + 1)

    def branching(v):
        return helper(v) if v > 3 else helper(v + 1)

    before = everything()
    with pytest.raises(hb.UnsupportedSyntaxError, match=r"once for all lanes and turns|which all of its calls share"):
        hb.batch(branching if branches else straight)(NUMBERS)
    assert everything() == before


def default_of_the_batched(v, seen=[]):  # noqa: B006
    if v > 3:
        seen.append(v)
    return len(seen)


def array_by_default(v, table=np.zeros(2, np.int32)):  # noqa: B008
    if v > 3:
        table[0] += 1
    return table[0]


def object_by_default(v, model=MODEL):
    if v > 3:
        model.n += 1
    return model.n


def view(v):
    head = TABLE[:2]
    if v > 3:
        head[0] = 1
    return TABLE[0]


def row(v):
    one = np.zeros((9, 2), np.int32) if v is None else MATRIX[v]
    one[0] = 7
    return MATRIX[v][0]


MATRIX = np.zeros((9, 2), np.int32)


def branching_variable():
    n = 0

    def changes(v):
        nonlocal n
        if v > 3:
            n += 1
        return v + n

    return changes


@pytest.mark.parametrize(
    "function",
    [default_of_the_batched, array_by_default, object_by_default, view, row, branching_variable()],
    ids=lambda function: function.__name__,
)
def test_what_the_function_itself_changes_outside_is_refused(function):
    def calls(v):
        return function(v) + 1

    for one in (function, calls):
        with pytest.raises(
            hb.UnsupportedSyntaxError, match=r"once for all lanes and turns|which all of its calls share"
        ):
            hb.batch(one)(NUMBERS)


def test_a_default_that_is_not_used_may_be_changed():
    """The caller's own list is given instead."""

    def calls(v):
        return default_of_the_batched(v, [1])

    assert hb.batch(calls)(NUMBERS).tolist() == [2, 1, 2]


def test_what_is_remembered_may_be_added():
    """The first lane computes it in Python, and all others find it."""
    memo: dict[int, int] = {}
    table: list[int] = []
    computed = []

    def remembered(n):
        if n not in memo:
            memo[n] = 2 * n
        if not table:
            table.extend(range(3))
        return memo[n] + table[2]

    def adding(v):
        return v * remembered(3)

    assert hb.batch(adding)(NUMBERS).tolist() == [8 * n for n in (5, 2, 7)]
    assert (memo, table, computed) == ({3: 6}, [0, 1, 2], [])


def test_what_asks_whether_it_was_called_before_is_refused():
    """In Python, all calls but the first one would go the other way; the object is as it was."""
    known: dict[str, bool] = {}

    def first(n):
        if "called" in known:
            return 2 * n
        known["called"] = True
        return n

    with pytest.raises(hb.UnsupportedSyntaxError, match="this code changes 'known' in place"):
        hb.batch(lambda v: first(v))(NUMBERS)


def test_an_array_may_be_given_to_what_wants_to_write_to_one():
    """Code that asks for an array that it could write to, and does not, is none that changes it."""
    table = np.arange(3.0)

    def asking(array):
        if not array.flags.writeable:
            raise ValueError("buffer source array is read-only")
        return float(array.sum())

    def summed(v):
        return v + asking(table)

    assert hb.batch(summed)(NUMBERS).tolist() == [8.0, 5.0, 10.0]
    assert table.flags.writeable


class Draws:
    def __init__(self):
        self.rng = np.random.default_rng()


def made(seed=None):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng().normal(),
        lambda: np.random.default_rng(seed=None).normal(),
        lambda: np.random.RandomState().rand(),
        lambda: np.random.Generator(np.random.PCG64()).normal(),
        lambda: random.Random().random(),
        lambda: made().normal(),
        lambda: Draws().rng.normal(),
    ],
    ids=itertools.count(),
)
def test_a_generator_without_a_seed_is_refused(draw):
    def drawing(x):
        return x + draw()

    with pytest.raises(hb.UnsupportedSyntaxError, match="another value each time"):
        hb.batch(drawing)(NUMBERS)


@pytest.mark.parametrize("make", [random.Random, np.random.default_rng, np.random.RandomState])
def test_what_is_drawn_turn_by_turn_is_refused(make):
    def drawing(x):
        rng = make(0)
        while x < 5:
            x = x + rng.random() if hasattr(rng, "random") else x + rng.rand()
        return x

    with pytest.raises(hb.UnsupportedSyntaxError, match="draws as the program is built"):
        hb.batch(drawing)(NUMBERS * 1.0)


class Chance:
    def __init__(self):
        self.sides = [1, 2, 3]

    def __add__(self, other):
        return random.choice(self.sides) + other

    def __call__(self):
        return random.random()

    def __getitem__(self, index):
        return random.random()

    def __iter__(self):
        return iter([random.random()])

    def __bool__(self):
        return random.random() > 0.5

    def __len__(self):
        return random.randint(1, 3)

    @property
    def price(self):
        return random.random()

    @functools.cached_property
    def tax(self):
        return random.random()

    @staticmethod
    def rolled():
        return random.random()

    def roll(self):
        return random.choice(self.sides)


class Twice(Chance):
    def roll(self):
        return super().roll() + super().roll()

    def both(self):
        return self.roll()


class Started:
    def __init__(self):
        self.x = random.random()


@dataclasses.dataclass
class Noisy:
    x: float

    def __post_init__(self):
        self.x += time.time()


_DRAWS = """
Chance() + x
x + Chance()()
x + Chance()[1]
sum(one for one in Chance()) + x
x if Chance() else -x
len(Chance()) + x
Chance().price + x
Chance().tax + x
Chance.rolled() + x
Chance().roll() + x
Twice().both() + x
Started().x + x
Noisy(x).x
sum(one.roll() for one in [Chance(), Chance()]) + x
"""


@pytest.mark.parametrize("turns", [False, True], ids=["once", "in turns"])
def test_what_python_calls_by_itself_may_draw_too(turns):
    """Methods such as ``__add__``, properties, and inherited methods, of objects made here or before the loop."""
    for expression in _DRAWS.strip().splitlines():
        body = f"return {expression}"
        if turns:
            made = re.search(r"(Chance|Twice)\(\)|$", expression)[0]
            value = expression.replace(made, "it") if made else expression
            body = f"it = {made or None}\n    while x < 9:\n        x = abs({value}) + 1\n    return x"
        text, name = f"def f(x):\n    {body}\n", f"<{expression} {turns}>"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        space = dict(globals())
        exec(compile(text, name, "exec"), space)
        with pytest.raises(hb.UnsupportedSyntaxError, match=r"draws as the program is built|another value each time"):
            hb.batch(space["f"])(NUMBERS * 1.0)


class Stamped:
    def __init__(self):
        self.made, self.rate = time.time(), 2.0


STAMPED = Stamped()


def test_what_a_constructor_reads_matters_only_where_it_is_called():
    assert hb.batch(lambda x: x * STAMPED.rate)(NUMBERS).tolist() == [10.0, 4.0, 14.0]


@pytest.mark.parametrize(
    "draw",
    [lambda: random.Random(3).random(), lambda: made(3).normal(size=2).sum(), lambda: np.random.RandomState(3).rand()],
    ids=itertools.count(),
)
def test_a_generator_with_a_seed_gives_every_lane_the_same_in_python(draw):
    def drawing(x):
        return x + draw()

    expected = [drawing(x) for x in copy.copy(NUMBERS)]
    np.testing.assert_allclose(hb.batch(drawing)(NUMBERS), expected, rtol=1e-6)
