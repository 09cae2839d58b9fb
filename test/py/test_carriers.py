"""Carriers, objects that stand for values that differ between lanes: Python's operations on them are right, or refused.

A variable that is one of several Python objects, None in some lanes, or a range with a lane's bounds, is held by such
an object. The table tries every operation, function and pattern of Python on each kind of value.
"""

import copy
import dataclasses
import enum
import importlib.util
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from shares import share
from zoo import optimizing_little

import hlobatch as hb

LANES = [0, 1, 3]
AMONG = """
import copy, dataclasses, enum, operator
import numpy as np

class Color(enum.Enum):
    RED = 1
    BLUE = 2

class Op(enum.IntEnum):
    ADD = 1
    MUL = 2

class Unit:
    def __init__(self, k): self.k = k

class Other:
    def __init__(self, k): self.k = k
    def __len__(self): return self.k
    def __iter__(self): return iter(range(self.k))

@dataclasses.dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int

class Holder:
    def __init__(self, v): self.v = v

def double(q): return q * 2
def square(q): return q * q

def followed(q, n):
    while n > 5: n -= 1
    return 1 if q == A else 0

def given_back(q, n):
    if n > 5: return q
    return q
"""
SEVERAL = "A if n < 1 else B"
KINDS = {
    "text": (SEVERAL, '"ab"', '"xyz"', "str"),
    "enum": (SEVERAL, "Color.RED", "Color.BLUE", "Color"),
    "intenum": (SEVERAL, "Op.ADD", "Op.MUL", "Op"),
    "function": (SEVERAL, "double", "square", "type(double)"),
    "class": (SEVERAL, "Unit", "Other", "type"),
    "range": (SEVERAL, "range(3)", "range(5)", "range"),
    "bytes": (SEVERAL, 'b"ab"', 'b"xyz"', "bytes"),
    "object": (SEVERAL, "Unit(1)", "Unit(2)", "Unit"),
    "objects": (SEVERAL, "Unit(1)", "Other(2)", "Unit"),
    "dataclass": (SEVERAL, "Point(1, 2)", "Point(1, 3)", "Point"),
    "made": ("Point(1, n) if n < 1 else Point(n, 2)", "Point(1, 0)", "Point(3, 2)", "Point"),
    "tuple": (SEVERAL, '("a", 1)', '("b", 2)', "tuple"),
    "none_number": ("None if n < 1 else n", "None", "3", "int"),
    "none_text": (SEVERAL, "None", '"bc"', "str"),
    "none_object": (SEVERAL, "None", "Unit(2)", "Unit"),
    "none_item": ("(None, 1) if n < 1 else (n, 2)", "(None, 1)", "(3, 2)", "tuple"),
    "lane_range": ("range(n)", "range(0)", "range(3)", "range"),
    "lane_array": ("np.array([1, 2, 2])[:n]", "np.array([1])", "np.array([2, 3])", "np.ndarray"),
}
"""By name: the value in a lane, two values that it may be, and a class."""
OPERATIONS = {
    "in_list": "return 1 if v in [A, 9] else 0",
    "in_lane_tuple": "return 1 if v in (A, n) else 0",
    "in_dict": "return 1 if v in {A: 1} else 0",
    "in_set": "return 1 if v in {A} else 0",
    "get": "return {A: 5, B: 6}.get(v, 9)",
    "get_missing": "return {A: 5}.get(v, 9)",
    "get_lane": "return {A: n + 5, B: n}.get(v, 9)",
    "item": "return {A: 5, B: 6}[v]",
    "item_guarded": "return {A: 5}[v] if v in {A: 5} else -1",
    "item_missing": "return {A: 5}[v]",
    "count": "return [A, B, A].count(v)",
    "count2": "return [v, A].count(A)",
    "index": "return (A, B).index(v)",
    "index2": "return [v, A].index(A)",
    "eq": "return 1 if v == A else 0",
    "ne": "return 1 if v != A else 0",
    "eq_value": "r = v == A\n    return r",
    "eq_tuple": "return 1 if (v, 1) == (A, 1) else 0",
    "eq_list": "return 1 if [v] == [A] else 0",
    "eq_number": "return 1 if v == n else 0",
    "eq_self": "w = v\n    return 1 if v == w else 0",
    "is": "return 1 if v is A else 0",
    "is_none": "return 1 if v is None else 0",
    "isinstance": "return 1 if isinstance(v, KIND) else 0",
    "isinstance2": "return 1 if isinstance(v, (int, str)) else 0",
    "type_is": "return 1 if type(v) is KIND else 0",
    "type_name": "return len(type(v).__name__)",
    "class_of": "return 1 if v.__class__ is KIND else 0",
    "callable": "return 1 if callable(v) else 0",
    "hasattr": "return 1 if hasattr(v, 'k') else 0",
    "getattr": "return getattr(v, 'k', 7)",
    "attribute": "return v.k",
    "iter": "return 1 if next(iter(v)) == 'a' else 0",
    "list": "return len(list(v))",
    "tuple": "return len(tuple(v))",
    "set": "return len(set(v))",
    "sum": "return sum(v)",
    "sorted": "return 1 if sorted(v)[0] == 'a' else 0",
    "max": "return 1 if max(v) == 2 else 0",
    "min": "return 1 if min(v) == 'a' else 0",
    "max_of": "return 1 if max(v, A) == A else 0",
    "any": "return 1 if any(v) else 0",
    "all": "return 1 if all(v) else 0",
    "len": "return len(v)",
    "ord": "return ord(v)",
    "hash": "return 1 if hash(v) == hash(A) else 0",
    "bool": "return 1 if v else 0",
    "bool_of": "return bool(v)",
    "not": "return not v",
    "str": "return 1 if str(v) == str(A) else 0",
    "repr": "return len(repr(v))",
    "format": "return len(format(v))",
    "fstring": "return len(f'{v}')",
    "percent": "return len('%s' % v)",
    "add": "return 1 if v + v == A + A else 0",
    "add_number": "return v + 1",
    "radd": "return 1 + v",
    "mul": "return 1 if v * 2 == A * 2 else 0",
    "mul_lane": "return v * n",
    "lt": "return 1 if v < B else 0",
    "neg": "return -v",
    "int": "return int(v)",
    "float": "return float(v)",
    "abs": "return abs(v)",
    "unpack": "a, b = v\n    return 1 if a == 'a' else 0",
    "star": "a, *b = v\n    return len(b)",
    "for": "c = 0\n    for q in v:\n        c += 1\n    return c",
    "for_items": "c = 0\n    for q in v:\n        if q == 'a' or q == 1: c += 1\n    return c",
    "enumerate": "c = 0\n    for i, q in enumerate(v):\n        c += i\n    return c",
    "zip": "c = 0\n    for i, q in zip(range(2), v):\n        c += i + 1\n    return c",
    "reversed": "c = 0\n    for q in reversed(v):\n        c = 2 * c + (q == 'a') + (q == 1)\n    return c",
    "comprehension": "return len([q for q in v])",
    "generator": "return sum(q == 'a' or q == 1 for q in v)",
    "call_star": "return max(*v)",
    "contains": "return 1 if 'a' in v else 0",
    "contains_number": "return 1 if 2 in v else 0",
    "contains_lane": "return 1 if n in v else 0",
    "first": "return 1 if v[0] == 'a' else 0",
    "slice": "return len(v[:1])",
    "by_lane": "return 1 if v[n % 2] == 'a' else 0",
    "call": "return v(3)",
    "match_value": (
        "match v:\n"
        "        case 'ab': return 1\n"
        "        case 3: return 2\n"
        "        case None: return 3\n"
        "        case _: return 4"
    ),
    "match_class": (
        "match v:\n"
        "        case str(): return 1\n"
        "        case int(): return 2\n"
        "        case Unit(k=1): return 3\n"
        "        case Point(x=1, y=q): return 4 + q\n"
        "        case _: return 5"
    ),
    "match_sequence": (
        "match v:\n        case [a, b]: return 1\n        case [a, b, *c]: return 2\n        case _: return 3"
    ),
    "key": "return {v: 1}[A] if A in {v: 1} else 0",
    "key_len": "return len({v: 1, A: 2})",
    "key_get": "return {v: 1, 'z': 2}.get(A, 0)",
    "store": "d = {A: 1, B: 2}\n    d[v] = 7\n    return d[A]",
    "store_new": "d = {}\n    d[v] = 7\n    return len(d)",
    "set_item": "return len({v, A})",
    "set_add": "s = {A}\n    s.add(v)\n    return len(s)",
    "setdefault": "d = {A: 1}\n    d.setdefault(v, 2)\n    return len(d)",
    "pop_key": "d = {A: 1, B: 2}\n    return d.pop(v)",
    "argument": "return followed(v, n)",
    "returned": "return 1 if given_back(v, n) == A else 0",
    "in_a_list": "w = [v, B]\n    return 1 if w[0] == A else 0",
    "list_by_lane": "w = [A, B]\n    return 1 if w[n % 2] == A else 0",
    "appended": "w = []\n    w.append(v)\n    return 1 if w[0] == A else 0",
    "appended_in_lanes": "w = []\n    if n > 0: w.append(v)\n    return 1 if A in w else 0",
    "in_a_dict": "w = {'k': v}\n    return 1 if w['k'] == A else 0",
    "in_an_object": "w = Holder(v)\n    return 1 if w.v == A else 0",
    "copied": "return 1 if copy.copy(v) == copy.copy(A) else 0",
    "deep": "return 1 if copy.deepcopy(v) == A else 0",
    "lambda": "return (lambda q: 1 if q == A else 0)(v)",
    "chosen": "return [1 if q == A else 0 for q in [v, A]][0]",
    "map": "return sum(map(lambda q: 1 if q == A else 0, [v, A]))",
    "loop": "w = A\n    for i in range(n): w = v\n    return 1 if w == A else 0",
    "set_attribute": "v.k = 5\n    return 1",
    "operator": "return 1 if operator.eq(v, A) else 0",
    "sum_of": "return sum([v, 1])",
    "sorted_of": "return 1 if sorted([v, A])[0] == A else 0",
    "join": "return len(''.join([v, 'a']))",
    "startswith": "return 1 if 'abc'.startswith(v) else 0",
    "method": "return v.upper() == 'AB'",
    "while": "c = 0\n    while v == A and c < 3: c += 1\n    return c",
    "ifexp": "return (v if n > 5 else A) == A",
    "or": "return 1 if (v or A) == A else 0",
}
"""By name: what is asked of ``v``."""
NUMBERS = {("intenum", name) for name in ("type_is", "type_name", "class_of")}
"""A member of an ``IntEnum`` of which lanes have several is a number, whose type is ``int``."""
EAGER = {("lane_array", "index")}
"""All items of a known list are compared with a value, and two arrays of another length have no truth value."""
OURS = re.compile(r"\b(OneOf|Choice|LaneRange|Maybe|Boxed|Growing\w+|Carrier|Possible|LaneArray|\w*Tracer)\b")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, types.ModuleType]:
    """By the kind of value, a module with a function for each operation."""
    folder = tmp_path_factory.mktemp("kinds")
    return {kind: module(folder / f"kind_{kind}.py", *of) for kind, of in KINDS.items()}


def module(file: Path, value: str, a: str, b: str, cls: str) -> types.ModuleType:
    functions = (f"def {name}_(n):\n    v = {value}\n    {code}\n" for name, code in OPERATIONS.items())
    file.write_text("\n".join([AMONG, f"A, B, KIND = {a}, {b}, {cls}", *functions]))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def in_python(function: Callable[[int], Any]) -> tuple[dict[int, Any], dict[int, str]]:
    """By their numbers, what lanes give, and the class of what they raise."""
    given, raised = dict[int, Any](), dict[int, str]()
    for lane, n in enumerate(LANES):
        try:
            given[lane] = function(n)
        except Exception as error:  # noqa: BLE001  # each lane's own
            raised[lane] = type(error).__name__
    return given, raised


def check(function: Callable[[int], Any]) -> None:
    """Assert that each lane's value or exception is Python's, or that the program is refused in the user's words."""
    given, raised = in_python(function)
    found, errors, refused = outcome(function)
    assert not OURS.search(refused), refused
    if not refused:
        assert errors == raised
        assert {lane: in_lane(found, lane) for lane in given} == {lane: listed(value) for lane, value in given.items()}


def in_lane(found: Any, lane: int) -> Any:
    """The value of a lane; an array as a list."""
    return listed(found[lane]) if isinstance(found, hb.Ragged) else np.asarray(found)[lane].tolist()


def listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def outcome(function: Callable[[int], Any]) -> tuple[Any, dict[int, str], str]:
    """The values of lanes, the classes of exceptions by lane, and the text of a refusal."""
    try:
        with optimizing_little():
            return hb.batch(function)(np.array(LANES, np.int32)), {}, ""
    except hb.LaneError as error:
        return error.outputs, {lane: type(one).__name__ for lane, one in error.errors.items()}, ""
    except hb.HloBatchError as error:
        return None, {}, error.message + error.help


@pytest.mark.parametrize("kind", KINDS)
def test_some_entries_of_the_table_are_right_or_refused(kind: str, modules: dict[str, types.ModuleType]) -> None:
    for name in share(kind, list(OPERATIONS), 6):
        if (kind, name) not in NUMBERS | EAGER:
            check(getattr(modules[kind], f"{name}_"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_each_entry_of_the_table_is_right_or_refused(
    kind: str, name: str, modules: dict[str, types.ModuleType]
) -> None:
    if (kind, name) not in NUMBERS | EAGER:
        check(getattr(modules[kind], f"{name}_"))


# Programs, each of which was wrong or refused


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Sphere:
    def __init__(self, r):
        self.r = r

    def hit(self, x):
        return x - self.r if x > self.r else -1.0


class Plane:
    def __init__(self, y):
        self.y = y
        self.index = 7  # by which ours must not be seen

    def hit(self, x):
        return self.y - x


class Above:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return self.x > 1

    def __contains__(self, k):
        return k == self.x


class Branching(Above):
    def __bool__(self):
        if self.x > 1:
            return True
        return self.x < -1


@dataclasses.dataclass(order=True)
class Dated:
    day: int
    name: int = dataclasses.field(compare=False)


TABLE = {"small": 10, "large": 20}
SCENE = [Sphere(1.0), Plane(2.0)]
PAIR = [Plane(1.0), Plane(2.0)]
BY_KEY = {0: max, 1: min}
NEXT = {"a": "b", "b": None}


def a_state_of_a_loop(n):
    status = "running"
    while status == "running":
        status = "converged" if n > 2 else "diverged" if n < 1 else "running"
        n += 1
    return {"converged": 0, "diverged": 1}[status]


def a_key_that_is_asked_for_before(n):
    t = "up" if n > 0 else "down"
    d = {"up": 1}
    return d[t] if t in d else -1


def counts_by_text(n):
    d = {"a": 0, "b": 0}
    for i in range(n):
        d["a" if i % 2 else "b"] += 1
    return d["a"] * 10 + d["b"]


def a_dict_with_a_text_of_the_lane(n):
    t = "up" if n > 1 else "down"
    return "up" in {t: 1}


def a_dict_of_members(n):
    c = Color.RED if n < 1 else Color.BLUE
    return {Color.RED: 5}.get(c, n)


def none_by_a_text(n):
    t = "a" if n > 0 else "b"
    return 1 if NEXT[t] is None else 0


def a_number_or_none_of_a_dict(n):
    found = {1: 10, 3: 30}.get(n)
    return -1 if found is None else found


def a_key_that_is_none(n):
    s = None if n < 1 else n
    return {None: 5, 1: 6}.get(s, 9)


def an_item_that_is_none(n):
    s = (None, 1.0) if n < 1 else (n * 1.0, 2.0)
    return -1.0 if s[0] is None else s[0]


def items_of_ranges(n):
    r = range(3) if n < 1 else range(5)
    total = sum(r)
    for i in r:
        total += i * i
    return total + len(r) + sum(2 * i for i in r) + (4 in r)


def items_of_texts(n):
    w = "abca" if n < 1 else "xyz"
    return len(list(w)) * 10 + sum(c == "a" for c in w) + (sorted(w)[1] == "y")


def bytes_of_the_lane(n):
    b = b"ab" if n < 1 else b"xyz"
    return sum(v * 2 for v in b) + max(b) + b[-1]


def an_object_of_several_classes(n):
    return SCENE[n % 2].hit(3.0)


def an_attribute_that_is_called_as_ours(n):
    s = PAIR[0] if n < 1 else PAIR[1]
    return s.index


def a_function_of_a_dict(n):
    return BY_KEY.get(n, max)(n, 2)


def dataclasses_compared(n):
    a, b = Dated(n, 1), Dated(2, n)
    return (a == b, a < b, a != b, Dated(1, 0) in [a, b])


def truth_of_an_object(n):
    return bool(Above(n)), (1 if Above(n) else 0), not Above(n), bool(Branching(n))


def what_is_in_an_object(n):
    return 3 in Above(n), 3 not in Above(n)


def copies_of_what_is_none(n):
    s = None if n < 1 else n
    t = copy.deepcopy((s, 1))
    return 1 if t[0] is None else 0


def a_range_of_the_lane(n):
    r = range(2, n + 5, 3)
    begin, end = r[0], r[-1]
    return len(r), begin, end, (1 if r else 0), r[::-1][0], sum(r), max(r), min(r), r.index(end), r.count(5), (4 in r)


def a_range_in_a_variable(n):
    r = range(n)
    total = 0
    for i in r:
        total += i
    return (
        total,
        len(r),
        len(list(r)),
        sum(i * i for i in r),
        (r == range(3)),
        any(r),
        all(r),
        sorted(r, reverse=True) == [2, 1, 0],
    )


def a_list_of_a_range(n):
    w = [2 * i for i in range(n)]
    return len(w) + sum(w)


def questions_about_types(n):
    c = Color.RED if n < 1 else Color.BLUE
    s = None if n < 1 else "b"
    return isinstance(c, Color), type(c) is Color, callable(c), isinstance(s, str), (1 if hasattr(s, "upper") else 0)


FUNCTIONS = [
    a_state_of_a_loop,
    a_key_that_is_asked_for_before,
    counts_by_text,
    a_dict_with_a_text_of_the_lane,
    a_dict_of_members,
    none_by_a_text,
    a_number_or_none_of_a_dict,
    a_key_that_is_none,
    an_item_that_is_none,
    items_of_ranges,
    items_of_texts,
    bytes_of_the_lane,
    an_object_of_several_classes,
    an_attribute_that_is_called_as_ours,
    a_function_of_a_dict,
    dataclasses_compared,
    truth_of_an_object,
    what_is_in_an_object,
    copies_of_what_is_none,
    a_range_of_the_lane,
    a_range_in_a_variable,
    a_list_of_a_range,
    questions_about_types,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_it_is_what_python_gives(function: Callable[[int], Any]) -> None:
    with optimizing_little():
        found = hb.batch(function)(np.array(LANES, np.int32))
    wanted = [function(n) for n in LANES]
    columns = zip(*wanted, strict=True) if isinstance(wanted[0], tuple) else [wanted]
    for array, column in zip(found if isinstance(found, tuple) else [found], columns, strict=True):
        assert np.asarray(array).tolist() == list(column)


def test_an_array_of_a_lane_is_one_of_numpy_and_of_jax() -> None:
    @hb.batch
    def kinds(x):
        return (
            isinstance(x, np.ndarray),
            isinstance(x, jnp.ndarray),
            isinstance(x, (list, np.ndarray)),
            isinstance(x, list),
            type(x) is np.ndarray,
            isinstance(x[0], np.ndarray),
        )

    found = kinds(np.ones((2, 3), np.float32))
    assert [bool(answer[0]) for answer in found] == [True, True, True, False, True, False]


def test_the_text_of_an_object_of_the_lane_is_refused() -> None:
    def length(n):
        return len(str(Dated(n, 1)))

    with pytest.raises(hb.BatchTypeError, match="makes a text of a value that differs between lanes"):
        hb.batch(length)(np.array(LANES, np.int32))


def test_two_names_of_one_object_are_equal() -> None:
    def same(n):
        made = Plane(n)
        other = made
        return (1 if made == other else 0) + (2 if made == Plane(n) else 0)

    assert hb.batch(same)(np.array(LANES, np.int32)).tolist() == [same(n) for n in LANES]


def test_a_range_of_the_lane_is_looked_for_nowhere() -> None:
    def as_a_key(n):
        return 1 if range(5, 5) in {range(n): 1} else 0  # all empty ranges are equal

    def in_a_list(n):
        ranges = []
        if n > 0:
            ranges.append(range(1, n))
        return 1 if range(5, 5) in ranges else 0

    for function in (as_a_key, in_a_list):
        with pytest.raises(hb.BatchTypeError, match="a range of another length in each lane"):
            hb.batch(function)(np.array(LANES, np.int32))


def test_whether_a_number_is_a_member_is_not_guessed() -> None:
    class Op(enum.IntEnum):
        ADD = 1
        MUL = 2

    def is_member(n):
        o = Op.ADD if n < 1 else Op.MUL
        return 1 if isinstance(o, Op) else 0

    with pytest.raises(hb.BatchTypeError, match="whether a number is a member of an `IntEnum` is not known"):
        hb.batch(is_member)(np.array(LANES, np.int32))


class Table:
    """Has the name of one of hlobatch's own classes."""

    def __init__(self, size):
        self.size = size


def test_messages_keep_the_name_of_a_users_class_that_is_also_one_of_ours():
    @hb.batch
    def missing(n):
        table = Table(n)
        return table.rows if n > 1 else table.size

    with pytest.raises(hb.BatchTypeError, match="'Table' object has no attribute 'rows'"):
        missing(jnp.arange(3))
