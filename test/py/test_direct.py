"""Shortcuts for library functions give the same results as the functions."""

import ast
import functools
import inspect
import itertools
import operator

import jax
import numpy as np
import pytest

from hlobatch._jax import jaxpr_of
from hlobatch.frontend import loops, nodes
from hlobatch.ir.evaluation import are_alike
from hlobatch.values.direct_operations import operated

NAMES = ("add", "lt", "imul", "truediv")
CONSTANTS = (127, 128, -1, 300, 0.1, 1e30, True, 1j, np.int32(1))
TYPES = ("bool", "int8", "uint32", "float16", "float32")


def traced(function, arrays, known=()):
    try:
        return jaxpr_of(lambda *given: [function(*given, *known)], arrays)
    except (TypeError, OverflowError) as error:
        return str(error)


def are_same(one, other):
    return one == other if isinstance(one, str) else str(one) == str(other) and are_alike(one, other)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("dtype", TYPES)
def test_operations_on_traced_numbers_are_those_of_jax(dtype):
    """Also with a number of another type or shape beside one, and with Python's, some of which do not fit."""
    kinds = [((), dtype, False), ((), dtype, True), ((3,), dtype, False), ((), "int32", False)]
    arrays = [jax.ShapeDtypeStruct(shape, np.dtype(kind), weak_type=weak) for shape, kind, weak in kinds]
    pairs = [(pair, ()) for pair in itertools.product(arrays[:3], arrays)]
    for name, (given, known) in itertools.product(NAMES, [*pairs, *itertools.product(zip(arrays), zip(CONSTANTS))]):
        directly = traced(functools.partial(operated, name.strip("_")), given, known)
        assert are_same(directly, traced(getattr(operator, name), given, known)), (name, given, known)


def test_syntax_nodes_are_gone_over_as_ast_does_it():
    tree = ast.parse(inspect.getsource(loops))
    no_nodes = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    expected = [node for node in ast.walk(tree) if not isinstance(node, no_nodes)]
    assert all(a is b for a, b in zip(nodes.walk(tree), expected, strict=True))
    for node in expected:
        given = [part for part in ast.iter_child_nodes(node) if not isinstance(part, no_nodes)]
        assert nodes.children(node) == given


def test_syntax_nodes_are_located_as_ast_does_it():
    old, new, other = ast.parse("first + second", mode="eval").body, ast.Name("x"), ast.Name("x")
    for place in (old, ast.Load()):
        assert ast.dump(nodes.located(new, place), include_attributes=True) == ast.dump(
            ast.copy_location(other, place), include_attributes=True
        )
