"""Calls, allocation, types, tracing, sharing and cost: each on a program small enough to see the answer."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from by_hand import BOOL, INT, block, graph, names, program, step
from counted_calls import counted_calls
from hypothesis import given
from hypothesis import strategies as st

import hlobatch as hb
from hlobatch.analysis import allocation, cost
from hlobatch.analysis.block_groups import alone, small_together
from hlobatch.analysis.call_graph import CallGraph, call_sites
from hlobatch.analysis.sharing import shared_roots
from hlobatch.analysis.stack_groups import stack_groups
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.analysis.tracing import trace
from hlobatch.instructions import (
    HALT,
    BranchOp,
    Function,
    FunctionCallOp,
    GotoOp,
    IndirectGotoOp,
    PopOp,
    PrimOp,
    Program,
    PushGotoOp,
    PushOp,
    Static,
    TensorType,
    Type,
    VariableAllocation,
    tensor,
)
from hlobatch.values.leaf_types import is_scalar, leaf_type, widened, widened_leaf
from hlobatch.values.type_join import DisagreementError, adopts, join

Names = frozenset[str]

# Calls


def calling(name: str, *callees: str, tail: str = "") -> Function:
    """A function that calls others and uses their results, and one in tail position."""
    blocks = [
        block(f"b{i}", FunctionCallOp(callee, (), (f"{name}.x{i}",)), GotoOp(f"b{i + 1}"))
        for i, callee in enumerate(callees)
    ]
    last = [FunctionCallOp(tail, (), (f"{name}.r",))] if tail else [step(f"-> {name}.r")]
    return Function(name, graph(*blocks, block(f"b{len(callees)}", *last, GotoOp(HALT))), (), (f"{name}.r",))


CALLS = program(
    block("entry", FunctionCallOp("even", (), ("r",)), GotoOp(HALT)),
    functions=(
        calling("even", "leaf", tail="odd"),
        calling("odd", tail="even"),
        calling("leaf"),
        calling("fib", "fib", "fib", "leaf"),
        calling("outer", "fib"),
    ),
)


def test_call_sites_come_in_program_order() -> None:
    found = [(site.function.name, site.op.function, site.is_tail) for site in call_sites(CALLS)]
    assert found == [
        ("main", "even", True),
        ("even", "leaf", False),
        ("even", "odd", True),
        ("odd", "even", True),
        ("fib", "fib", False),
        ("fib", "fib", False),
        ("fib", "leaf", False),
        ("outer", "fib", False),
    ]


def test_call_graph() -> None:
    calls = CallGraph(CALLS)
    assert calls.callees["even"] == names("leaf odd")
    assert calls.callees["leaf"] == names("")
    assert calls.reachable["main"] == names("even odd leaf")
    assert calls.reachable["even"] == names("even odd leaf")
    assert calls.reachable["outer"] == names("fib leaf")
    assert [f.name for f in CALLS.functions if calls.is_recursive(f.name)] == ["even", "odd", "fib"]
    assert [calls.group(f.name) for f in CALLS.functions] == ["even", "even", "leaf", "fib", "outer"]
    with pytest.raises(KeyError):
        calls.group("nobody")


def test_a_call_whose_result_is_used_is_no_tail_call() -> None:
    not_tail = Function("f", graph(block("b", FunctionCallOp("g", (), ("x",)), GotoOp(HALT))), (), ("r",))
    (site,) = call_sites(program(functions=(not_tail,)))
    assert not site.is_tail


def test_recursive_calls_are_those_that_may_come_back() -> None:
    calls = CallGraph(CALLS)
    found = [(s.function.name, s.op.function) for s in calls.sites if allocation.is_recursive_call(calls, s)]
    assert found == [("fib", "fib"), ("fib", "fib")]


# Allocation

Alloc = VariableAllocation


def allocated(found: Program) -> dict[str, str]:
    return {name: a.name.lower() for name, a in allocation.allocate(found).var_alloc.items()}


LOOP = graph(
    block("start", step("-> total"), GotoOp("test")),
    block("test", step("n -> c"), BranchOp("c", "turn", "done")),
    block("turn", step("total n -> total"), step("n -> n"), GotoOp("test")),
    block("done", step("total -> r"), GotoOp(HALT)),
)


def test_allocation_of_a_loop() -> None:
    typed = program(*LOOP, var_defs={"n": INT, "total": INT, "c": BOOL, "r": INT, "unread": INT, "nothing": Type(None)})
    assert allocated(typed) == {
        "n": "register",
        "total": "register",
        "c": "temporary",
        "r": "register",
        "unread": "null",
        "nothing": "null",
    }


def test_a_temporary_may_live_in_several_blocks_one_after_the_other() -> None:
    typed = program(
        block("one", step("n -> t"), step("t -> n"), GotoOp("two")),
        block("two", step("n -> t"), step("t -> r"), GotoOp(HALT)),
        var_defs=dict.fromkeys(("n", "t", "r"), INT),
    )
    assert allocated(typed)["t"] == "temporary"


def test_what_is_read_before_it_is_written_in_its_block_is_no_temporary() -> None:
    typed = program(
        block("start", GotoOp("turn")),
        block("turn", step("t n -> r"), step("r -> t"), BranchOp("t", "turn", HALT)),
        var_defs=dict.fromkeys(("n", "t", "r"), INT),
    )
    assert allocated(typed)["t"] == "register"


def test_saved_across_calls_is_what_is_live_after_them() -> None:
    fib = Function(
        "fib",
        graph(
            block("entry", step("m -> kept"), FunctionCallOp("fib", ("m",), ("one",)), GotoOp("middle")),
            block("middle", FunctionCallOp("fib", ("one",), ("two",)), GotoOp("end")),
            block("end", step("kept two -> f"), GotoOp(HALT)),
        ),
        ("m",),
        ("f",),
    )
    typed = program(
        block("entry", FunctionCallOp("fib", ("n",), ("r",)), GotoOp(HALT)),
        functions=(fib,),
        var_defs=dict.fromkeys(("n", "r", "m", "kept", "one", "two", "f"), INT),
    )
    assert allocation.saved_across(typed) == {
        ("main", "entry"): names(""),
        ("fib", "entry"): names("kept"),
        ("fib", "middle"): names("kept"),
    }
    assert [name for name, word in allocated(typed).items() if word == "full"] == ["kept"]


def test_shared_inputs_and_what_the_entry_computes_from_them() -> None:
    typed = program(
        block("entry", step("data -> mean"), step("mean n -> x"), step("mean -> again"), step("-> again"), GotoOp("e")),
        block("e", step("data -> late"), step("x mean again late -> r"), GotoOp(HALT)),
        vars_in=("n", "data"),
        var_defs=dict.fromkeys(("n", "data", "mean", "x", "again", "late", "r"), INT),
        var_alloc={"data": Alloc.SHARED},
    )
    words = allocated(typed)
    assert [name for name in words if words[name] == "shared"] == ["data", "mean"]


def test_pushed_variables_and_return_addresses_are_full() -> None:
    lowered = program(
        block("a", PushOp(("n",)), PushGotoOp("b", "b", "pc")),
        block("b", PopOp(("n",)), step("n -> r"), IndirectGotoOp("pc")),
        var_defs=dict.fromkeys(("n", "r", "pc"), INT),
    )
    assert allocated(lowered) == {"n": "full", "r": "register", "pc": "full"}


def test_an_address_known_to_need_no_stack_keeps_its_register() -> None:
    lowered = program(
        block("a", PushGotoOp("b", "b", "pc")),
        block("b", step("n -> r"), IndirectGotoOp("pc")),
        var_defs=dict.fromkeys(("n", "r", "pc"), INT),
        var_alloc={"pc": Alloc.REGISTER},
    )
    assert allocated(lowered)["pc"] == "register"


# Joining types

F32, F64, I32 = (TensorType(np.dtype(kind)) for kind in ("float32", "float64", "int32"))
WEAK_INT, WEAK_FLOAT = TensorType(np.dtype("int32"), (), weak=True), TensorType(np.dtype("float32"), (), weak=True)
WEAK_BOOL = TensorType(np.dtype(bool), weak=True)
KEY = TensorType(jax.random.key(0).dtype)
TRUE = TensorType(np.dtype(bool))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (F32, F32, F32),
        (Static(3), Static(3), Static(3)),
        (Static("a"), Static("a"), Static("a")),
        (Static(3), Static(4), WEAK_INT),
        (Static(3), Static(2.5), WEAK_FLOAT),
        (Static(3), F32, F32),
        (Static(3), WEAK_INT, WEAK_INT),
        (Static(2.5), F32, F32),
        (Static(True), TRUE, TRUE),
        (Static(True), Static(False), WEAK_BOOL),
        (WEAK_BOOL, TRUE, TRUE),
        (WEAK_INT, F32, F32),
        (WEAK_INT, I32, I32),
        (WEAK_INT, WEAK_FLOAT, WEAK_FLOAT),
        ((F32, Static(1)), (F32, Static(2)), (F32, WEAK_INT)),
        ({"a": Static(1)}, {"a": I32}, {"a": I32}),
    ],
)
def test_types_that_join(left: Any, right: Any, result: Any) -> None:
    assert join(Type(left), Type(right)) == Type(result)
    assert join(Type(right), Type(left)) == Type(result)


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        (F32, I32, "one is f32[], the other i32[]"),
        (F32, F64, "one is f32[], the other f64[]"),
        (F32, TensorType(F32.dtype, (3,)), "one has shape [], the other [3]"),
        (Static(2.5), I32, "one is f32[]*, the other i32[]"),
        (Static(True), I32, "one is bool[]*, the other i32[]"),
        (Static("a"), Static("b"), "one is static 'a', the other static 'b'"),
        (Static("a"), F32, "one is static 'a', the other f32[]"),
        (KEY, F32, "one is key<fry>[], the other f32[]"),
        (None, F32, "one is None, the other f32[]"),
        ((F32,), [F32], "one is (f32[],), the other [f32[]]"),
    ],
)
def test_types_that_disagree(left: Any, right: Any, reason: str) -> None:
    with pytest.raises(DisagreementError) as caught:
        join(Type(left), Type(right))
    assert str(caught.value) == reason


LEAVES = st.sampled_from(
    [F32, F64, I32, WEAK_INT, WEAK_FLOAT, TRUE, KEY, TensorType(F32.dtype, (2,)), *map(Static, [0, 1, 2.5, True, "a"])]
)
TYPES = st.one_of(LEAVES, st.tuples(LEAVES, LEAVES)).map(Type)


def joined(*types: Type) -> Type | None:
    """The join of types, or None where there is none."""
    result = types[0]
    for type_ in types[1:]:
        try:
            result = join(result, type_)
        except DisagreementError:
            return None
    return result


@given(TYPES, TYPES)
def test_joining_is_commutative_and_gives_an_upper_bound(left: Type, right: Type) -> None:
    found = joined(left, right)
    assert found == joined(right, left)
    assert found is None or (joined(found, left), joined(found, right)) == (found, found)
    assert joined(left, left) == left


@given(TYPES, TYPES, TYPES)
def test_joining_is_associative(one: Type, two: Type, three: Type) -> None:
    """Three values that reach a variable in any order give it the same type, or none."""
    found = {str(joined(*order)) for order in itertools.permutations([one, two, three])}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("weak", "strong", "yes"),
    [
        (WEAK_INT, F32, True),
        (WEAK_INT, I32, True),
        (WEAK_INT, TensorType(np.uint8), True),
        (WEAK_INT, TensorType(np.bool_), False),
        (WEAK_FLOAT, I32, False),
        (WEAK_FLOAT, TensorType(np.float16), True),
        (TensorType(np.float64, (), weak=True), F32, True),
        (KEY, F32, False),
    ],
)
def test_python_numbers_adopt_what_they_meet_as_in_jax(weak: TensorType, strong: TensorType, yes: bool) -> None:
    assert adopts(weak, strong) is yes


# Tracing


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (3, Static(3)),
        ("a", Static("a")),
        (jnp.float32(3), F32),
        (np.float32(3), F32),
        (np.zeros(2, np.float32), TensorType(F32.dtype, (2,))),
        (jnp.asarray(3), WEAK_INT),
        (jax.random.key(0), KEY),
    ],
)
def test_leaf_type(value: Any, type_: Any) -> None:
    assert leaf_type(value) == type_


@pytest.mark.parametrize("value", [True, 3, 2.5, 1j])
def test_python_numbers_are_widened_to_what_jax_makes_of_them(value: Any) -> None:
    wide = widened_leaf(Static(value))
    assert is_scalar(Static(value))
    assert wide.dtype == jnp.asarray(value).dtype
    assert wide.weak


def test_other_objects_stay_as_they_are() -> None:
    type_ = Type((Static("a"), F32, Static(None)))
    assert widened(type_) is type_
    assert widened(Type((Static("a"), Static(3)))) == Type((Static("a"), WEAK_INT))
    assert not is_scalar(Static(np.float64(3)))


def traced(function: Any, *types: Any, keep: bool = True) -> TracedFunction:
    op = PrimOp(tuple(f"v{i}" for i in range(len(types))), ("r",), lambda *values: (function(*values),), "text")
    return trace(op, [Type(t) for t in types], [keep])


def test_traced_code_is_what_it_was_on_tensors() -> None:
    found = traced(lambda x, mode: {mode: (x + 1, "kept")}, F32, Static("fast"))
    assert found.out_types == (Type({"fast": (F32, Static("kept"))}),)
    assert found(jnp.float32(2), "fast") == ({"fast": (3.0, "kept")},)
    assert found.flat(jnp.float32(2)) == [3.0]


def test_python_numbers_stay_only_where_they_are_kept() -> None:
    assert traced(lambda: 3).out_types == (Type(Static(3)),)
    widened_code = traced(lambda: 3, keep=False)
    assert widened_code.out_types == (Type(WEAK_INT),)
    assert widened_code() == (3,)


def test_primitives_are_found_at_any_depth() -> None:
    found = traced(lambda x: jax.jit(lambda y: jax.lax.fori_loop(0, 3, lambda _, z: jnp.sin(z), y))(x), F32)
    assert "sin" in found.primitives


def test_the_users_python_runs_once_for_each_type() -> None:
    def seen(x: Any) -> Any:
        return x

    @hb.batch
    def f(n):
        if n <= 1:
            return seen(n)
        return f(n - 1)

    with counted_calls(seen) as runs:
        for batch in (2, 3):
            f(jnp.arange(batch))
        assert runs["seen"] == 1
        f(jnp.arange(2.0))
        assert runs["seen"] == 2


# Types and sharing of whole functions


def types_of(function: hb.BatchedFunction, *avals: Any) -> dict[str, str]:
    """The types inferred for a function's variables, under the user's names."""
    found = function.trace(*avals).plan.specialized
    return {name.removeprefix(f"{function.function.__name__}."): str(t) for name, t in found.var_defs.items()}


INTS, FLOATS = jax.ShapeDtypeStruct((5,), np.int32), jax.ShapeDtypeStruct((5,), np.float32)


def test_results_of_a_recursion_come_from_its_base_case() -> None:
    @hb.batch
    def f(n):
        if n > 0:
            return f(n - 1) + f(n - 2)
        return jnp.ones(3)

    assert types_of(f, INTS)["$result"] == "f32[3]"


def test_numbers_adopt_the_type_of_an_array_on_another_path() -> None:
    @hb.batch
    def f(x):
        total, count = 0, 0
        while x > 1:
            total, count, x = total + x, count + 1, x / 2
        return total + count

    found = types_of(f, FLOATS)
    assert found["total"] == "f32[]"
    assert found["count"].startswith("i32[]")


def test_parameters_of_a_recursion_adopt_the_type_of_inner_arguments() -> None:
    @hb.batch
    def inner(n, total):
        if n == 0:
            return total
        return inner(n - 1, total + 0.5)

    @hb.batch
    def f(n):
        return inner(n, 0)

    assert types_of(f, INTS)["inner.total"].startswith("f32[]")


def test_branches_on_python_objects_are_followed_on_one_side() -> None:
    @hb.batch(static_argnames="deep")
    def f(x, deep):
        if deep > 2:
            return x[0]
        return x

    assert types_of(f, INTS, 1)["$result"] == "i32[]"
    with pytest.raises(hb.BatchTypeError):
        f.trace(INTS, 3)


def test_shared_roots() -> None:
    @hb.batch
    def look_up(i, data, again):
        low = data.min()
        first = jax.lax.while_loop(lambda v: v > 1, lambda v: v / 2, low)
        if i < 0:
            return low + first
        return look_up(i - 1, data, again + data)[()] + again.sum()

    @hb.batch(in_axes=(0, None))
    def f(i, data):
        return look_up(i, data, data)

    plan = f.trace(INTS, jax.ShapeDtypeStruct((7,), np.float32)).plan
    marked = plan.specialized.replace(var_alloc={"main.data": VariableAllocation.SHARED})
    roots = shared_roots(marked)
    assert roots["f.data"] == roots["look_up.data"] == "main.data"
    assert roots["look_up.low"] == "look_up.low"
    assert not {"f.i", "look_up.again", "look_up.first"} & set(roots)


# Cost


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x + 1, 100),
        (lambda x: jnp.exp(x), 1000),
        (lambda x: jnp.dot(x, x), 200),
        (lambda x: jnp.ones((50, 100)) @ x, 2 * 50 * 100 + 50 * 100),
        (lambda x: jax.lax.scan(lambda c, _: (c * c, None), x, None, length=7)[0], 700),
        (lambda x: x, 0),
    ],
    ids=["elementwise", "transcendental", "dot", "matrix", "scan", "nothing"],
)
def test_primitive_cost(function: Any, expected: float) -> None:
    op = PrimOp(("v0",), ("r",), traced(function, TensorType(F32.dtype, (100,))))
    assert cost.primitive_cost(op) == pytest.approx(expected, rel=0.1, abs=1)


def test_a_block_costs_its_primitives_and_one_more() -> None:
    op = PrimOp(("v0",), ("r",), traced(lambda x: x + 1, TensorType(F32.dtype, (100,))))
    twice, nothing = block("b", op, op, FunctionCallOp("f", (), ()), GotoOp(HALT)), block("b", GotoOp(HALT))
    assert cost.block_cost(program(twice), twice) == 201
    assert cost.block_cost(program(nothing), nothing) == 1
    assert cost.primitive_cost(step("a -> b")) == 0


def test_what_is_computed_once_for_all_lanes_costs_a_lane_nothing() -> None:
    row = TensorType(F32.dtype, (100,))
    once = PrimOp(("v0",), ("s",), traced(lambda x: x + 1, row))
    each = PrimOp(("s",), ("r",), traced(lambda x: x + 1, row))
    entry = block("entry", once, each, GotoOp(HALT))
    shared = program(entry, var_alloc={"v0": Alloc.SHARED, "s": Alloc.SHARED, "r": Alloc.REGISTER})
    assert cost.block_cost(shared, entry) == 101
    assert cost.primitives_time(shared, entry) == 100


def test_an_inner_while_costs_more_than_one_turn() -> None:
    loop = traced(lambda x: jax.lax.while_loop(lambda v: v[0] > 1, lambda v: v / 2, x), TensorType(F32.dtype, (100,)))
    assert cost.primitive_cost(PrimOp(("v0",), ("r",), loop)) > 200


# Stack groups


def saved(*variables: str) -> dict[str, Any]:
    return {
        "var_defs": dict.fromkeys(variables, INT),
        "var_alloc": dict.fromkeys(variables, VariableAllocation.FULL),
    }


def test_what_is_saved_together_has_one_pointer() -> None:
    found = stack_groups(
        program(
            block("entry", PushOp(("a", "b", "c")), step("-> a b c"), GotoOp("end")),
            block("end", PopOp(("b", "a")), PopOp(("c",)), GotoOp(HALT)),
            **saved("a", "b", "c"),
        )
    )
    assert found == {"a": "a", "b": "a", "c": "c"}


def test_return_addresses_move_with_nothing_else_saved_at_some_calls_only() -> None:
    found = stack_groups(
        program(
            block("first", PushOp(("a",)), PushGotoOp("second", "next", "$return")),
            block("next", PopOp(("a",)), PushGotoOp("second", "last", "$return")),
            block("second", IndirectGotoOp("$return")),
            block("last", GotoOp(HALT)),
            **saved("$return", "a"),
        )
    )
    assert found == {"$return": "$return", "a": "a"}


def test_a_variable_pushed_twice_by_one_operation_has_a_pointer_of_its_own() -> None:
    found = stack_groups(
        program(
            block("entry", PushOp(("a", "b", "a")), PopOp(("a", "b", "a")), GotoOp(HALT)),
            **saved("a", "b"),
        )
    )
    assert found == {"a": "a", "b": "b"}


# Groups of blocks


def grouped(*blocks: Any, **changes: Any) -> list[list[str]]:
    """The names of the blocks in each group."""
    found = program(*blocks, **{"var_defs": dict.fromkeys(("n", "c", "$return"), INT)} | changes)
    return [[found.graph.blocks[i].name for i in group] for group in small_together(found)]


def test_small_blocks_that_lead_to_each_other_are_one_step() -> None:
    assert grouped(
        block("body", step("n -> c"), BranchOp("c", "play", "next")),
        block("play", PushOp(("n",)), GotoOp("next")),
        block("next", step("n -> n c"), BranchOp("c", "body", "done")),
        block("apart", step("n -> n"), GotoOp("play")),
        block("done", PopOp(("n",)), GotoOp(HALT)),
        var_alloc={"n": VariableAllocation.FULL},
    ) == [["body", "next"], ["play"], ["apart"], ["done"]]


def test_a_call_is_small_where_its_return_address_needs_no_stack() -> None:
    blocks = (
        block("entry", step("n -> n"), PushGotoOp("after", "callee", "$return")),
        block("after", GotoOp(HALT)),
        block("callee", step("n -> n"), IndirectGotoOp("$return")),
    )
    assert grouped(*blocks, var_alloc={"$return": VariableAllocation.REGISTER}) == [["entry", "callee"], ["after"]]
    assert grouped(*blocks, var_alloc={"$return": VariableAllocation.FULL}) == [["entry"], ["after"], ["callee"]]


def test_a_block_that_waits_or_changes_many_elements_runs_alone() -> None:
    wide = {"n": tensor(np.float32, (100,))}
    assert grouped(block("a", step("n -> n"), GotoOp("b")), block("b", GotoOp(HALT)), var_defs=wide) == [["a"], ["b"]]
    assert grouped(block("a", GotoOp("b")), block("b", GotoOp(HALT)).replace(sync=True)) == [["a"], ["b"]]


def test_no_group_is_lost() -> None:
    blocks = [block(str(i), GotoOp(str(i + 1) if i < 5 else HALT)) for i in (3, 1, 5, 2, 4, 0)]
    assert small_together(program(*blocks)) == ((0, 1, 2, 3, 4, 5),)
    assert alone(program(*blocks)) == ((0,), (1,), (2,), (3,), (4,), (5,))
