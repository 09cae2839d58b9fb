"""The code of primitives: each kind of it answers the questions that passes ask."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.analysis.cost import primitive_cost
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.dialect.code import Code as ModuleCode
from hlobatch.dialect.code import CodeFunction
from hlobatch.ir.code import (
    BOTH,
    DELETION,
    EITHER,
    MOVE,
    NEITHER_BUT,
    SELECT,
    UNDEFINED,
    UNKNOWN_CODE,
    UNLESS,
    Code,
    Logic,
)
from hlobatch.ir.evaluation import are_alike, called_within, evaluated, inlined, known_at_first
from hlobatch.ir.evaluation import traced as traced_again
from hlobatch.ir.ops import PopOp, PrimOp
from hlobatch.ir.types import Type

FLOAT = hb.instructions.tensor(np.float32)
INT = hb.instructions.tensor(np.int32)


def traced(function: Any, *types: Type) -> TracedFunction:
    """The code of a function of numbers."""
    jaxpr = jax.make_jaxpr(lambda *numbers: list(function(*numbers)))(*(t.tensor_leaves[0].aval for t in types))
    out_types = tuple(hb.instructions.tensor(v.aval.dtype, v.aval.shape) for v in jaxpr.jaxpr.outvars)
    return TracedFunction(types, out_types, jaxpr)


def read(*operations: str, given_back: str = "%0") -> CodeFunction:
    """Code that was read from a module."""
    body = " ".join((*operations, f"return {given_back} : tensor<?xf32>"))
    return CodeFunction.of(
        ModuleCode(f"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {{ {body} }}"), (FLOAT,), (FLOAT,)
    )


TABLE = np.arange(20.0, dtype=np.float32)
CODE: dict[str, Code] = {
    "unknown": UNKNOWN_CODE,
    "deletion": DELETION,
    "undefined": UNDEFINED,
    "move": MOVE,
    "select": SELECT,
    "logic": UNLESS,
    "plus": traced(lambda x: (x + 1,), FLOAT),
    "same": traced(lambda x: (x,), FLOAT),
    "swapped": traced(lambda x, y: (y, x), FLOAT, FLOAT),
    "looked up": traced(lambda i: (jnp.asarray(TABLE)[i],), INT),
    "endless": traced(lambda x: (jax.lax.while_loop(lambda y: y < 9, lambda y: y + 1, x),), FLOAT),
    "printing": traced(lambda x: (jax.debug.print("{}", x), x)[1:], FLOAT),
    "read": read("%0 = stablehlo.negate %x : tensor<?xf32>"),
    "read, a copy": read(given_back="%x"),
}
YES: dict[str, set[str]] = {
    "is_open": {*CODE} - {"unknown", "deletion", "undefined", "read", "read, a copy"},
    "is_total": {*CODE} - {"unknown", "deletion", "undefined", "endless"},
    "is_copy": {"move", "same", "read, a copy"},
    "has_host_do": {"printing"},
    "typed": {*CODE} - {"unknown", "deletion", "undefined", "move", "select", "logic"},
    "rewritable": {"plus", "same", "swapped", "looked up", "endless", "printing"},
    "deletes": {"deletion"},
    "is_undefined": {"undefined"},
    "captured": {"looked up"},
}
"""The questions, and of which code the answer is yes."""


@pytest.mark.parametrize("name", CODE)
@pytest.mark.parametrize("question", YES)
def test_code_answers(name: str, question: str) -> None:
    answer = getattr(CODE[name], question)
    assert (answer is CODE[name] if question in ("typed", "rewritable") else bool(answer)) == (name in YES[question])


def test_what_is_no_code_is_code_of_which_nothing_is_known() -> None:
    assert PrimOp((), ("x",), lambda: (1,)).code is UNKNOWN_CODE
    assert PrimOp(("y",), ("x",), MOVE).code is MOVE
    assert PopOp(("x",)).code is UNKNOWN_CODE


def test_code_names_what_it_uses_and_how_much_that_is() -> None:
    assert "while" in CODE["endless"].primitives
    assert CODE["read"].primitives == {"negate"}
    assert [CODE[name].size for name in ("move", "plus", "same", "unknown")] == [1, 1, 0, 1]
    costs = [primitive_cost(PrimOp(("x",), ("y",), CODE[name])) for name in ("select", "plus", "read", "unknown")]
    assert costs == [0.0, 1.0, 1.0, 0.0]


def test_a_jaxpr_is_for_variables_that_hold_what_it_is_given() -> None:
    plus = CODE["plus"]
    assert plus.jaxpr_for([FLOAT], [FLOAT]) is not None
    assert plus.jaxpr_for([INT], [FLOAT]) is None
    assert MOVE.jaxpr_for([FLOAT], [FLOAT]) is None


@pytest.mark.parametrize(
    ("logic", "holds"),
    [
        (BOTH, [False, False, False, True]),
        (EITHER, [False, True, True, True]),
        (NEITHER_BUT, [False, True, False, False]),
        (UNLESS, [True, True, False, True]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_conditions_are_joined(logic: Logic, holds: list[bool]) -> None:
    first, second = jnp.array([False, False, True, True]), jnp.array([False, True, False, True])
    (joined,) = logic(first, second)
    assert joined.tolist() == holds


def test_one_of_two_values_is_picked_leaf_by_leaf() -> None:
    (picked,) = SELECT(jnp.array(True), {"x": jnp.float32(1), "mode": "a"}, {"x": jnp.float32(2), "mode": "a"})
    assert picked == {"x": 1.0, "mode": "a"}
    assert MOVE(1, 2) == (1, 2)


CALLS = {
    "a choice": lambda x, n: [jnp.where(x > 0, x, n)],
    "calls in calls": lambda x, n: [jnp.clip(jnp.floor_divide(n, 3), 0, 9) + x],
    "a number that becomes a literal": lambda x, n: [jax.jit(lambda a, k: a + k.astype(a.dtype))(x, 2)],
    "the same call twice": lambda x, n: [jnp.mod(n, 4), jnp.mod(n + 1, 4)],
    "what is given back as it is": lambda x, n: [*jax.jit(lambda a, b: (b, a))(x, n)],
    "a derivative of its own": lambda x, n: [jax.nn.relu(x), n],
    "an array outside": lambda x, n: [jax.jit(lambda a: a + jnp.arange(3.0)[n % 2])(x)],
    "what a call captures": lambda x, n: [jax.jit(lambda k: jnp.asarray([1, 2, 3])[k])(n)],
    "a loop": lambda x, n: [jax.lax.fori_loop(0, n, lambda i, y: jnp.where(i > 1, y, -y), x)],
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_inlined_as_tracing_inlines_them(name: str) -> None:
    closed = traced(CALLS[name], FLOAT, INT).jaxpr
    jaxpr: Any = closed.jaxpr

    def run(*arrays: Any) -> list[Any]:
        return evaluated(jaxpr.eqns, known_at_first(closed, arrays), jaxpr.outvars)

    found, expected = inlined(closed), traced_again(run, jaxpr.invars)
    assert are_alike(found, expected)
    assert all(called_within(equation) is None for equation in found.jaxpr.eqns)
    names = [[str(e.source_info.name_stack) for e in one.jaxpr.eqns] for one in (found, expected)]
    assert names[0] == names[1]
