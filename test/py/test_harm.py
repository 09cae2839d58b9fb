"""What is listed as harmless is so in Python, and what is not listed is taken to be dangerous: nothing is forgotten."""

import ast
import builtins
import collections
import copy
import itertools
import operator

import jax
import numpy as np
import pytest

from hlobatch.frontend import harm
from hlobatch.frontend.harm import ANY, EXPRESSIONS, FUNCTIONS, METHODS, OPERATORS, of_function, of_method, of_operation
from hlobatch.frontend.scopes import MISSING

DANGEROUS_FUNCTIONS = frozenset(
    {"__build_class__", "__import__", "__loader__", "aiter", "anext", "breakpoint", "classmethod", "compile"}
    | {"delattr", "eval", "exec", "globals", "input", "locals", "memoryview", "next", "open", "property"}
    | {"setattr", "staticmethod"}
)
SHELL = {"copyright", "credits", "exit", "help", "license", "quit"}
"""What Python adds to its functions at a terminal."""
DANGEROUS_METHODS = {
    list: {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"},
    dict: {"clear", "pop", "popitem", "setdefault", "update"},
    collections.OrderedDict: {"clear", "move_to_end", "pop", "popitem", "setdefault", "update"},
    collections.defaultdict: {"clear", "pop", "popitem", "setdefault", "update", "default_factory"},
    collections.Counter: {"clear", "fromkeys", "pop", "popitem", "setdefault", "subtract", "update"},
    collections.deque: {"append", "appendleft", "clear", "extend", "extendleft", "insert", "pop", "popleft", "remove"}
    | {"reverse", "rotate", "maxlen"},
    set: {"add", "clear", "difference_update", "discard", "intersection_update", "pop", "remove"}
    | {"symmetric_difference_update", "update"},
    range: {"start", "step", "stop"},
    int: {"denominator", "from_bytes", "imag", "numerator", "real"},
    float: {"from_number", "fromhex", "imag", "real"},
}
ARRAYS_CHANGE = {"byteswap", "fill", "partition", "put", "resize", "setfield", "setflags", "sort"}
"""Methods of arrays that change them, of those that are not listed."""
DANGEROUS_NODES = {ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom}
OF_THEIR_OWN = {ast.BinOp, ast.Call, ast.Compare, ast.Subscript, ast.UnaryOp}

POOL = (
    *(0, 1, -1, 2, 1.5, 7, "", "ab", "7", (), (1, 2), [2, 1], [], {1: 2}, {1, 3}, None),
    *([3.0, 4.0], [(1, 2)], [[1, 2], [3, 4]], int, len, max, operator.add),
)
RECEIVERS = {
    list: [[], [1], [2, 1, 2]],
    tuple: [(), (1, 2, 1)],
    range: [range(0), range(5)],
    dict: [{}, {1: 2, 3: 4}],
    collections.OrderedDict: [collections.OrderedDict({1: 2})],
    collections.defaultdict: [collections.defaultdict(int), collections.defaultdict(list, {1: [2]})],
    collections.Counter: [collections.Counter(), collections.Counter("aba"), collections.Counter([1, 2, 1])],
    collections.deque: [collections.deque(), collections.deque([1, 2, 1])],
    set: [set(), {1, 2}],
    frozenset: [frozenset(), frozenset({1, 2})],
    str: ["", "ab", "a b", "7"],
    int: [0, 1, -7],
    float: [0.0, 1.5, float("inf")],
    np.ndarray: [np.arange(6).reshape(2, 3), np.arange(3.0), np.array(5)],
}


def calls(function, receivers=((),)):
    """The outcomes of calls of a function with what the pool has: the exception, or None, if an argument is changed."""
    for first in receivers:
        for given in [(), *itertools.product(POOL, repeat=1), *itertools.product(POOL, repeat=2), (3.0, 2.0, 1.0)]:
            values = copy.deepcopy((*first, *given))
            before = copy.deepcopy(values)
            try:
                function(*values)
            except Exception as error:  # noqa: BLE001  # whatever it raises
                yield error
            else:
                yield None
            assert repr(values) == repr(before)


def check(function, listed, receivers=((),), known=()):
    """Check that a function changes nothing that it is given, and raises for no value if it is listed so."""
    outcomes = [*calls(function, receivers)]
    assert None in outcomes, "no call went well"
    if not listed.raises:  # operands of the wrong types, and wrong shapes, are told when the program is built
        assert [error for error in outcomes if not (error is None or isinstance(error, (TypeError, *known)))] == []


@pytest.mark.parametrize("name", [n for n in dir(builtins) if callable(getattr(builtins, n)) and n not in SHELL])
def test_a_function_of_pythons_is_harmless_or_taken_to_be_dangerous(name):
    function = getattr(builtins, name)
    assert (of_function(function) is ANY) == (name in DANGEROUS_FUNCTIONS)


ITSELF = (object, super, slice, dir, vars, type, hasattr, getattr)
"""Functions that ask an object for what it has, which is not of the kinds in the pool."""


@pytest.mark.parametrize(
    "function",
    [f for f, _ in FUNCTIONS if not (isinstance(f, type) and issubclass(f, BaseException))],
    ids=lambda f: f"{f.__module__}.{f.__qualname__}",
)
def test_a_listed_function_changes_nothing_and_raises_only_if_it_says_so(function):
    if any(function is one for one in ITSELF):
        assert not of_function(function).changes
        return
    is_dict = isinstance(function, type) and issubclass(function, dict)
    check(function, of_function(function), known=(ValueError,) if is_dict else ())  # items that are no pairs


@pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)
def test_a_method_is_harmless_or_taken_to_be_dangerous(kind):
    names = {name for name in dir(kind) if not name.startswith("_")}
    dangerous = {name for name in names if of_method(kind, name) is ANY}
    if kind is np.ndarray:
        assert dangerous >= ARRAYS_CHANGE
    else:
        assert dangerous <= DANGEROUS_METHODS.get(kind, set())
        assert dangerous >= {n for n in DANGEROUS_METHODS.get(kind, set()) if callable(getattr(kind, n, None))}
    for name in names - dangerous:
        known = (ValueError, np.exceptions.AxisError) if kind is np.ndarray else ()
        check(getattr(kind, name), of_method(kind, name), [(one,) for one in RECEIVERS[kind]], known)


@pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)
def test_the_methods_behind_operators_are_dangerous_by_name(kind):
    assert harm.READERS.isdisjoint(name for name in dir(kind) if name.startswith("_"))


def test_a_name_is_harmless_only_if_it_is_so_for_each_kind_that_has_it():
    assert "count" in harm.READERS
    assert harm.READERS.isdisjoint({"sort", "pop", "put", "update", "subtract"})
    for name in harm.READERS:
        assert all(of_method(kind, name) is not ANY for kind in METHODS)


def test_each_node_is_listed_or_taken_to_be_dangerous():
    nodes = set(ast.expr.__subclasses__()) - {ast.Subscript}
    deprecated = {node for node in nodes if node.__module__ != "ast" or issubclass(node, ast.Constant)} - {ast.Constant}
    assert nodes - EXPRESSIONS.keys() - OF_THEIR_OWN - deprecated == DANGEROUS_NODES


def test_each_operator_is_listed():
    kinds = (ast.operator, ast.unaryop, ast.cmpop)
    assert {op for kind in kinds for op in kind.__subclasses__()} == OPERATORS.keys()


PAIRS = [*itertools.product([0, 1, -1, 2, -7, 1.5, 0.0], [0, 1, -1, 2, 70, 1.5, -0.5])]
SYMBOLS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
}


@pytest.mark.parametrize("op", SYMBOLS, ids=lambda op: op.__name__)
def test_an_operator_raises_for_numbers_only_if_it_says_so(op):
    outcomes = set()
    for x, y in PAIRS:
        try:
            eval(f"x {SYMBOLS[op]} y", {"x": x, "y": y})
        except (ArithmeticError, ValueError):
            outcomes.add("raises")
        except TypeError:
            pass
    assert ("raises" in outcomes) == OPERATORS[op].raises


@pytest.mark.parametrize(
    ("text", "raises", "changes"),
    [
        *[("x + 1", False, False), ("x // 2", False, False), ("x // y", True, False), ("x ** 2", False, False)],
        *[("x ** y", True, False), ("x << 1", False, False), ("x << y", True, False), ("xs[1]", True, False)],
        *[("xs[1:]", False, False), ("xs[::y]", True, False), ("xs.pop()", True, True), ("f(x)", True, True)],
        *[
            ("xs.index(1)", True, False),
            ("len(xs)", False, False),
            ("print(x)", False, False),
            ("(x := 1)", True, True),
        ],
        *[("xs.look(1)", True, True), ("np.sum(xs)", False, False), ("np.add(xs, 1, out=xs)", True, True)],
        *[("np.put(xs, 1, 2)", True, True), ("operator.setitem(xs, 1, 2)", True, True), ("1 < x <= 3", False, False)],
        *[("operator.truediv(x, y)", True, False), ("chr(x)", True, False), ("counter.subtract(x)", True, True)],
        *[("dict.fromkeys(xs)", False, False), ("str.upper(x)", False, False), ("list.append(xs, x)", True, True)],
        *[("range(x)", False, False), ("range(x, y, z)", True, False), ("max(x, y)", False, False)],
        *[("max(xs)", True, False), ("max(xs, default=0)", False, False), ("max(*xs, *ys)", True, False)],
        *[("'{}'.format(x)", False, False), ("text.format(x)", True, False), ("text.split(',')", False, False)],
        *[("text.split(x)", True, False), ("sum(d[k] for k in xs)", True, False), ("[d[k] for k in xs]", True, False)],
        *[("map(lambda k: xs.append(k), xs)", True, True), ("lambda k: d[k]", False, False)],
    ],
)
def test_what_an_operation_does(text, raises, changes):
    known = {"np": np, "operator": operator, **vars(builtins)}

    def static_value(node):
        if isinstance(node, ast.Name):
            return known.get(node.id, MISSING)
        value = static_value(node.value) if isinstance(node, ast.Attribute) else MISSING
        return MISSING if value is MISSING else getattr(value, node.attr)

    found = of_operation(ast.parse(text, mode="eval").body, static_value)
    assert (found.raises, found.changes) == (raises, changes)


def test_numpys_functions_that_change_an_argument_are_dangerous():
    assert of_function(np.sum) is not ANY
    assert of_function(jax.numpy.put) is not ANY
    for name in ("put", "copyto", "fill_diagonal", "place", "putmask", "put_along_axis"):
        assert of_function(getattr(np, name)) is ANY
    assert of_function(np.random.rand) is ANY
