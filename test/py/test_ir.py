"""The IR: its data model, its printer and verifier on good and broken programs, and what programs by hand mean."""

import contextlib
import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from by_hand import BOOL, FLOAT, INT, block, graph, prim, program
from hypothesis import given
from hypothesis import strategies as st

import hlobatch as hb
from hlobatch.analysis.allocation import allocate
from hlobatch.diagnostics import Location
from hlobatch.instructions import (
    HALT,
    MAIN,
    Block,
    BranchOp,
    Function,
    FunctionCallOp,
    GotoOp,
    IndirectGotoOp,
    Op,
    PopOp,
    PrimOp,
    Program,
    PushGotoOp,
    PushOp,
    Static,
    TensorType,
    Terminator,
    Type,
    VariableAllocation,
    interpret,
    print_program,
    tensor,
    verify,
)
from hlobatch.interpreters.backends import NumpyBackend
from hlobatch.ir.ops import renaming
from hlobatch.ir.printer import print_op
from hlobatch.ir.verifier import RULES
from hlobatch.transforms.lower_calls import lower_calls
from hlobatch.transforms.simplify_cfg import simplify_graph

# Programs written by hand

COUNTDOWN = program(
    block("start", prim("0", "", "r", lambda: jnp.int32(0)), GotoOp("test")),
    block("test", prim("n > 0", "n", "more", lambda n: n > 0), BranchOp("more", "turn", HALT)),
    block(
        "turn",
        prim("r + n", "r n", "r", lambda r, n: r + n),
        prim("n - 1", "n", "n", lambda n: n - 1),
        GotoOp("test"),
    ),
    var_defs={"n": INT, "r": INT, "more": BOOL},
)
"""1 + 2 + … + n by a loop."""

FACTORIAL = Function(
    "factorial",
    graph(
        block("entry", prim("n <= 1", "n", "base", lambda n: n <= 1), BranchOp("base", "one", "rest")),
        block("one", prim("1", "", "result", lambda: jnp.int32(1)), GotoOp(HALT)),
        block(
            "rest",
            prim("n - 1", "n", "smaller", lambda n: n - 1),
            FunctionCallOp("factorial", ("smaller",), ("below",)),
            GotoOp("product"),
        ),
        block("product", prim("n * below", "n below", "result", lambda n, below: n * below), GotoOp(HALT)),
    ),
    ("n",),
    ("result",),
)
RECURSION = Program(
    graph(block("entry", FunctionCallOp("factorial", ("x",), ("y",)), GotoOp(HALT))),
    (FACTORIAL,),
    {name: BOOL if name == "base" else INT for name in ("x", "y", "n", "base", "result", "smaller", "below")},
    ("x",),
    ("y",),
    {},
)
"""The factorial, by a call of itself: the paper's figure 2."""

STACKS = program(
    block("start", prim("1", "", "r", lambda: jnp.int32(1)), GotoOp("entry")),
    block("entry", prim("n <= 1", "n", "base", lambda n: n <= 1), BranchOp("base", "back", "rest")),
    block("rest", PushOp(("n",)), prim("n - 1", "n", "n", lambda n: n - 1), PushGotoOp("product", "entry", "pc")),
    block("product", PopOp(("n",)), prim("r * n", "r n", "r", lambda r, n: r * n), GotoOp("back")),
    block("back", IndirectGotoOp("pc")),
    var_defs={"n": INT, "r": INT, "base": BOOL, "pc": INT},
)
"""The factorial with explicit stacks: figure 4."""

BY_HAND = {
    "loop": (COUNTDOWN, lambda n: n * (n + 1) // 2),
    "calls": (RECURSION, lambda n: int(np.prod(np.arange(1, n + 1)))),
    "stacks": (STACKS, lambda n: int(np.prod(np.arange(1, n + 1)))),
}


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("typed", [True, False])
def test_interpret_runs_programs_written_by_hand(name: str, typed: bool) -> None:
    written, truth = BY_HAND[name]
    if not typed:
        written = written.replace(var_defs={})
    assert [int(interpret(written, n)) for n in range(7)] == [truth(n) for n in range(7)]


@pytest.mark.parametrize("name", BY_HAND)
def test_virtual_machine_runs_programs_written_by_hand(name: str) -> None:
    written, truth = BY_HAND[name]
    lowered = lower_calls(allocate(written)) if written.functions else allocate(written)
    (found,) = hb.virtual_machine.execute(verify(lowered), [np.arange(7, dtype=np.int32)], 8, NumpyBackend())
    assert found.tolist() == [truth(n) for n in range(7)]


def test_stackless_runs_programs_written_by_hand() -> None:
    (found,) = hb.stackless.execute(RECURSION, NumpyBackend(), None, np.arange(7, dtype=np.int32))
    assert found.tolist() == [BY_HAND["calls"][1](n) for n in range(7)]


def test_interpret_gives_one_result_bare_and_several_as_a_tuple() -> None:
    both = program(block("b", prim("n", "n", "r", lambda n: n + 1), GotoOp(HALT)), vars_out=("r", "n"))
    assert interpret(both.replace(vars_out=("r",)), 3) == 4
    assert interpret(both, 3) == (4, 3)


def test_interpret_keeps_the_frames_of_calls_apart() -> None:
    """Inner calls overwrite n and smaller; the outer ones still see their own."""
    assert interpret(RECURSION, 5) == 120


def test_interpret_passes_pytrees_and_python_objects() -> None:
    pair = program(
        block("b", prim("pair", "n mode", "r", lambda n, mode: {mode: (n, n + 1)}), GotoOp(HALT)),
        vars_in=("n", "mode"),
    )
    assert interpret(pair, 3, "both") == {"both": (3, 4)}


def test_interpret_refuses_an_operation_without_a_meaning() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Strange(Op):
        pass

    with pytest.raises(TypeError, match="no meaning is given to"):
        interpret(program(Block("b", (Strange(),), GotoOp(HALT))), 1)


# The data model


@pytest.mark.parametrize(
    "value", [COUNTDOWN, COUNTDOWN.graph, COUNTDOWN.graph.blocks[0], FACTORIAL, *COUNTDOWN.ops, *STACKS.ops, INT]
)
def test_values_are_immutable(value: Any) -> None:
    name = dataclasses.fields(value)[0].name
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        setattr(value, name, None)


def test_replace_gives_a_changed_copy() -> None:
    changed = COUNTDOWN.replace(vars_out=("n",))
    assert (changed.vars_out, COUNTDOWN.vars_out) == (("n",), ("r",))
    assert changed.graph is COUNTDOWN.graph
    assert changed != COUNTDOWN
    assert changed.replace(vars_out=("r",)) == COUNTDOWN


def test_equality_ignores_places() -> None:
    here = Location("user.py", 1, 1, 1, 2)
    assert GotoOp("b", location=here) == GotoOp("b")
    assert Block("b", (), GotoOp(HALT), here) == Block("b", (), GotoOp(HALT))
    assert hash(GotoOp("b", location=here)) == hash(GotoOp("b"))


def test_main_function_is_the_program_as_a_function() -> None:
    main = COUNTDOWN.main_function()
    assert (main.name, main.graph, main.vars_in, main.vars_out) == (MAIN, COUNTDOWN.graph, ("n",), ("r",))
    assert [f.name for f in RECURSION.all_functions] == [MAIN, "factorial"]


def test_functions_are_found_by_name() -> None:
    assert RECURSION.function("factorial") is FACTORIAL
    with pytest.raises(KeyError):
        RECURSION.function("main")


def test_with_functions_replaces_main_and_others() -> None:
    main = RECURSION.main_function().replace(vars_out=("x",))
    other = FACTORIAL.replace(vars_in=("m",))
    changed = RECURSION.with_functions({MAIN: main, "factorial": other})
    assert (changed.vars_out, changed.functions) == (("x",), (other,))
    assert RECURSION.with_functions({}) == RECURSION


def test_map_functions_reaches_every_function_main_first() -> None:
    seen = list[str]()

    def without_results(function: Function) -> Function:
        seen.append(function.name)
        return function.replace(vars_out=())

    changed = RECURSION.map_functions(without_results)
    assert seen == [MAIN, "factorial"]
    assert [f.vars_out for f in changed.all_functions] == [(), ()]
    assert changed.vars_out == ()


def test_an_operation_becomes_any_number_of_others() -> None:
    a, b, c = (prim(v, v, v, lambda v: v) for v in "abc")
    before = block("b", a, b, c, GotoOp("b"))
    after = before.expand_instructions(lambda op: {"a": [], "b": [op], "c": [op, b]}[op.uses[0]])
    assert after.ops == (b, c, b, GotoOp("b"))
    assert after.retarget(renaming({"b": "d"})).terminator == GotoOp("d")


def test_a_block_becomes_any_number_of_others() -> None:
    a, b, c = (Block(name, (), GotoOp(HALT)) for name in "abc")
    before = graph(a, b, c)
    assert before.expand_blocks(lambda block: {"a": [], "b": [block], "c": [block, a]}[block.name]) == graph(b, c, a)
    other = b.replace(sync=True)
    assert before.with_blocks(other) == graph(a, other, c)
    op = prim("x", "x", "x", lambda x: x)
    assert before.starting_with([op]) == graph(a.replace(instructions=(op,)), b, c)


def test_map_graphs_reaches_every_function() -> None:
    changed = RECURSION.map_graphs(lambda g: graph(*reversed(g.blocks)))
    assert [b.name for b in changed.functions[0].graph] == ["product", "rest", "one", "entry"]


def test_alloc_is_full_until_something_better_is_proved() -> None:
    assert COUNTDOWN.alloc("n") is VariableAllocation.FULL
    registered = COUNTDOWN.replace(var_alloc={"n": VariableAllocation.REGISTER})
    assert registered.alloc("n") is VariableAllocation.REGISTER


def test_allocations_are_ordered_by_cost() -> None:
    names = [allocation.name for allocation in sorted(VariableAllocation)]
    assert names == ["NULL", "SHARED", "TEMPORARY", "REGISTER", "FULL"]


def test_graph_numbers_its_blocks() -> None:
    g = COUNTDOWN.graph
    assert g.enter_block().name == "start"
    assert g.exit_index() == 3
    assert [g.block_index(name) for name in ("start", "test", "turn", HALT)] == [0, 1, 2, 3]
    assert g.block("turn") is g.blocks[2]
    assert "turn" in g
    assert "elsewhere" not in g
    with pytest.raises(KeyError):
        g.block("elsewhere")


def test_predecessors() -> None:
    assert dict(COUNTDOWN.graph.predecessors) == {
        "start": (),
        "test": ("start", "turn"),
        "turn": ("test",),
        HALT: ("test",),
    }


# Operations

BRANCH, CALL = BranchOp("c", "t", "f"), FunctionCallOp("g", ("a", "b"), ("x",))
QUESTIONS = {
    PrimOp(("a", "b"), ("x", "y"), max): (("a", "b"), ("x", "y"), ()),
    CALL: (("a", "b"), ("x",), ()),
    PushOp(("a", "b")): (("a", "b"), (), ()),
    PopOp(("a", "b")): ((), ("a", "b"), ()),
    BRANCH: (("c",), (), ("t", "f")),
    GotoOp("t"): ((), (), ("t",)),
    PushGotoOp("back", "t", "pc"): (("pc",), ("pc",), ("t",)),
    IndirectGotoOp("pc"): (("pc",), ("pc",), ()),
}


@pytest.mark.parametrize("op", QUESTIONS, ids=lambda op: type(op).__name__)
def test_every_operation_answers_the_same_questions(op: Op) -> None:
    assert (op.uses, op.defs, getattr(op, "successors", ())) == QUESTIONS[op]


def test_targets_of_a_lowered_call_include_where_it_comes_back_to() -> None:
    assert PushGotoOp("back", "t", "pc").targets == ("t", "back")
    assert BRANCH.targets == BRANCH.successors


@pytest.mark.parametrize("op", QUESTIONS, ids=lambda op: type(op).__name__)
def test_rename_maps_what_is_read_and_what_is_written(op: Op) -> None:
    renamed = op.rename(lambda v: f"{v}'", lambda v: f"{v}''")
    lowered = isinstance(op, (PushGotoOp, IndirectGotoOp))
    assert renamed.uses == tuple(f"{v}''" if lowered else f"{v}'" for v in op.uses)
    assert renamed.defs == tuple(f"{v}''" for v in op.defs)
    assert type(renamed) is type(op)


@pytest.mark.parametrize("op", [op for op in QUESTIONS if isinstance(op, Terminator)], ids=lambda op: type(op).__name__)
def test_retarget_maps_every_block_name(op: Terminator) -> None:
    assert op.retarget(str.upper).targets == tuple(map(str.upper, op.targets))


def test_block_renames_all_its_operations() -> None:
    before = block("b", prim("a + 1", "a", "a", lambda a: a + 1), BranchOp("a", "b", HALT))
    after = before.rename(lambda v: f"{v}.in", lambda v: f"{v}.out")
    assert [(op.uses, op.defs) for op in after.ops] == [(("a.in",), ("a.out",)), (("a.in",), ())]


# Types


class Point(NamedTuple):
    x: Any
    y: Any


@functools.partial(jax.tree_util.register_dataclass, data_fields=["left"], meta_fields=[])
@dataclasses.dataclass
class Node:
    left: Any


F32, I32 = TensorType(np.dtype(np.float32)), TensorType(np.dtype(np.int32))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (F32, "f32[]"),
        (TensorType(np.dtype(np.bool_), (2, 3)), "bool[2,3]"),
        (TensorType(np.dtype(np.uint8)), "u8[]"),
        (TensorType(jnp.dtype(jnp.bfloat16)), "bf16[]"),
        (TensorType(np.dtype(np.complex64)), "c64[]"),
        (TensorType(jnp.dtype(jnp.float8_e4m3fn)), "float8_e4m3fn[]"),
        (TensorType(np.dtype(np.int32), (), weak=True), "i32[]*"),
        (TensorType(jax.random.key(0).dtype), "key<fry>[]"),
        (Static("fast"), "static 'fast'"),
        (Static(len), "static len"),
        (None, "None"),
        ((F32,), "(f32[],)"),
        ((F32, [I32, None]), "(f32[], [i32[], None])"),
        ({"a": F32, "b": ()}, "{a: f32[], b: ()}"),
        (Point(F32, Static(3)), "Point(x=f32[], y=static 3)"),
        (Node(I32), "Node(i32[])"),
    ],
)
def test_types_print_as_python_writes_them(pattern: Any, text: str) -> None:
    assert str(Type(pattern)) == text


def test_a_type_takes_values_apart_and_puts_them_together() -> None:
    type_ = Type((F32, {"mode": Static("fast"), "n": I32}))
    assert type_.flatten((1.5, {"mode": "fast", "n": 3})) == [1.5, 3]
    assert type_.rebuild([1.5, 3]) == (1.5, {"mode": "fast", "n": 3})
    assert type_.tensor_leaves == (F32, I32)
    assert not type_.is_static
    assert Type(Static(3)).is_static
    assert Type(None).is_static


def test_types_are_values() -> None:
    assert Type((F32, I32)) == Type((F32, I32))
    assert Type((F32, I32)) != Type([F32, I32])
    assert len({tensor(np.float32), tensor("float32"), Type(F32)}) == 1
    assert Type(F32).tensors == F32
    assert Type.of_leaves((F32, I32), Type((F32, F32)).treedef) == Type((F32, I32))


def test_leaves_of_a_type_are_types() -> None:
    with pytest.raises(TypeError, match="a leaf of a Type is a TensorType or a Static, not 3"):
        Type((F32, 3))


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("a", "a", True),
        (1, 1.0, False),
        (1, True, False),
        ([1], [1], True),
        (len, len, True),
        (np.zeros(2), np.zeros(2), False),
        (float("nan"), float("nan"), True),
        (0.0, -0.0, False),
        ((1, "a"), (1, "a"), True),
        ((1,), (1.0,), False),
    ],
)
def test_statics_are_equal_where_python_objects_are_the_same(left: Any, right: Any, equal: bool) -> None:
    assert (Static(left) == Static(right)) is equal
    assert Static(left) == Static(left)
    assert not equal or isinstance(left, list) or hash(Static(left)) == hash(Static(right))


def test_an_aval_describes_one_lane() -> None:
    aval = TensorType(np.dtype(np.int32), (3,), weak=True).aval
    assert (aval.shape, aval.dtype, aval.weak_type) == ((3,), np.int32, True)


# The printer


def test_print_program_with_calls() -> None:
    text = print_program(allocate(RECURSION))
    assert "var full      %n: i32[]\n" in text
    assert "var temporary %base: bool[]\n" in text
    assert (
        """
def factorial(%n) -> (%result):
  entry:
    %base = prim "n <= 1" (%n)
    branch %base, one, rest
  one:
    %result = prim "1" ()
    halt
  rest:
    %smaller = prim "n - 1" (%n)
    %below = call @factorial(%smaller)
    jump product
  product:
    %result = prim "n * below" (%n, %below)
    halt
"""
        in text
    )
    assert str(RECURSION) == print_program(RECURSION)


def test_print_program_with_stacks() -> None:
    assert """
  rest:
    push %n
    %n = prim "n - 1" (%n)
    push_jump entry, return to product by %pc
  product:
    pop %n
    %r = prim "r * n" (%r, %n)
    jump back
  back:
    return by %pc
""" in str(STACKS)


def test_print_marks_sync() -> None:
    assert "  b:  // sync\n" in str(program(Block("b", (), GotoOp(HALT), sync=True)))


@pytest.mark.parametrize(
    ("op", "text"),
    [
        (PrimOp(("a",), ("b",), abs), '%b = prim "abs" (%a)'),
        (PrimOp((), (), functools.partial(abs)), 'prim "?" ()'),
        (PrimOp((), ("x",), abs, "a +\n    b"), '%x = prim "a + b" ()'),
        (FunctionCallOp("f", (), ()), "call @f()"),
        (Op(), "Op()"),
        (Terminator(), "Terminator()"),
    ],
)
def test_print_op_is_one_line(op: Op, text: str) -> None:
    assert print_op(op) == text


# The verifier

END = block("end", prim("n", "n", "r", lambda n: n), GotoOp(HALT))
IDENTITY = Function("same", graph(block("entry", prim("a", "a", "b", lambda a: a), GotoOp(HALT))), ("a",), ("b",))
TYPED = {"n": INT, "r": INT}
Alloc = VariableAllocation


def calling(*ops: Op, functions: tuple[Function, ...] = (IDENTITY,)) -> Program:
    return program(block("entry", *ops, GotoOp(HALT)), functions=functions)


def allocated(ops: tuple[Op, ...], allocation: dict[str, Alloc], **types: Type) -> Program:
    types = {**TYPED, **types}
    return program(
        block("entry", *ops),
        END,
        var_defs=types,
        var_alloc=dict.fromkeys(types, Alloc.REGISTER) | allocation,
    )


COPY = prim("n", "n", "t", lambda n: n)
VIOLATIONS = {
    "program_c1": program(END, END),
    "program_c2": program(),
    "program_c3": program(block("entry", GotoOp("nowhere")), END),
    "program_c4": calling(GotoOp("end"), functions=(IDENTITY, IDENTITY)).replace(graph=graph(END)),
    "program_c5": program(END, var_defs={"n": INT}),
    "program_c6": program(END, functions=(IDENTITY, IDENTITY.replace(name="other"))),
    "call_c1": calling(FunctionCallOp("nobody", (), ())),
    "call_c2": calling(FunctionCallOp("same", ("n", "n"), ("r",))),
    "call_c3": calling(FunctionCallOp("same", ("n",), ())),
    "branch_c1": program(block("entry", BranchOp("n", "end", "end")), END, var_defs=TYPED),
    "push_jump_c1": program(block("entry", PushGotoOp("nowhere", "end", "pc")), END),
    "push_jump_c2": program(block("entry", PushGotoOp("end", "end", "pc")), END, functions=(IDENTITY,)),
    "push_jump_c3": program(block("entry", PushGotoOp("end", "end", "n")), END, var_defs={"n": FLOAT, "r": FLOAT}),
    "push_c1": allocated((PushOp(("n",)), GotoOp("end")), {"n": Alloc.REGISTER}),
    "failure_c1": program(
        block("entry", FunctionCallOp("same", ("n",), ("$failure",)), GotoOp("again")),
        block("again", FunctionCallOp("same", ("n",), ("$failure",)), GotoOp("end")),
        END,
        functions=(IDENTITY,),
    ),
    "prim_c1": program(block("entry", prim("n", "n", "r r", lambda n: n), GotoOp("end")), END),
    "alloc_c1": allocated((prim("t", "t", "r", lambda t: t), GotoOp("end")), {"t": Alloc.TEMPORARY}, t=INT),
    "alloc_c2": allocated((prim("t", "t", "r", lambda t: t), GotoOp("end")), {"t": Alloc.NULL}, t=INT),
    "alloc_c3": allocated((COPY, GotoOp("end")), {"t": Alloc.SHARED}, t=INT),
    "alloc_c4": allocated((prim("1", "", "t u", lambda: 1), GotoOp("end")), {"t": Alloc.SHARED}, t=INT, u=INT),
}
"""For each rule a program that breaks it and no rule before it."""


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_checked(rule: str) -> None:
    with pytest.raises(hb.VerificationError) as caught:
        verify(VIOLATIONS[rule])
    assert caught.value.rule == rule
    assert str(caught.value).startswith(f"error: [{rule}] ")


def test_every_rule_has_a_program_that_breaks_it() -> None:
    assert {*VIOLATIONS} == {*RULES}
    assert len(RULES) == len({*RULES})


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("program_c1", program(Block(HALT, (), GotoOp(HALT)))),
        ("program_c2", program(END, functions=(IDENTITY.replace(graph=graph()),))),
        ("program_c3", program(block("entry", BranchOp("n", "end", "nowhere")), END)),
        ("program_c4", program(END, functions=(IDENTITY.replace(name=MAIN),))),
        ("branch_c1", program(block("e", BranchOp("n", HALT, HALT)), var_defs={"n": tensor(np.bool_, (2,))})),
        ("push_c1", allocated((PopOp(("n",)), GotoOp("end")), {"n": Alloc.SHARED})),
    ],
)
def test_rules_have_more_than_one_side(rule: str, broken: Program) -> None:
    with pytest.raises(hb.VerificationError) as caught:
        verify(broken)
    assert caught.value.rule == rule


def test_the_faulty_operation_is_marked_in_its_block() -> None:
    with pytest.raises(hb.VerificationError) as caught:
        verify(VIOLATIONS["call_c2"])
    assert "same takes 1 arguments, 2 are given" in str(caught.value)
    assert "in main:\n  entry:\n    %r = call @same(%n, %n)    <-- here\n    halt" in str(caught.value)


def test_the_place_of_a_fault_is_the_users() -> None:
    here = Location("user.py", 7, 5, 7, 9)
    broken = calling(FunctionCallOp("nobody", (), (), location=here))
    with pytest.raises(hb.VerificationError, match=r"^user.py:7:5: error: \[call_c1\] there is no function 'nobody'"):
        verify(broken)


@pytest.mark.parametrize("name", BY_HAND)
def test_good_programs_pass_unchanged(name: str) -> None:
    written, _ = BY_HAND[name]
    assert verify(written) is written
    allocated_program = allocate(written)
    assert verify(allocated_program) is allocated_program


# Programs that make no sense

NAMES = st.sampled_from(["a", "b", "c", HALT, MAIN, "f", "entry", ""])
SEVERAL = st.lists(NAMES, max_size=3).map(tuple)
INSTRUCTIONS = st.one_of(
    st.builds(PrimOp, SEVERAL, SEVERAL, st.sampled_from([abs, len, lambda: ()]), st.text(max_size=5)),
    st.builds(FunctionCallOp, NAMES, SEVERAL, SEVERAL),
    st.builds(PushOp, SEVERAL),
    st.builds(PopOp, SEVERAL),
)
TERMINATORS = st.one_of(
    st.builds(GotoOp, NAMES),
    st.builds(BranchOp, NAMES, NAMES, NAMES),
    st.builds(PushGotoOp, NAMES, NAMES, NAMES),
    st.builds(IndirectGotoOp, NAMES),
)
GRAPHS = st.lists(st.builds(Block, NAMES, st.lists(INSTRUCTIONS, max_size=3).map(tuple), TERMINATORS), max_size=3).map(
    lambda blocks: graph(*blocks)
)
TYPES = st.sampled_from([INT, BOOL, FLOAT, Type(None), Type(Static("x")), Type((F32, Static(1)))])
PROGRAMS = st.builds(
    Program,
    GRAPHS,
    st.lists(st.builds(Function, NAMES, GRAPHS, SEVERAL, SEVERAL), max_size=2).map(tuple),
    st.dictionaries(NAMES, TYPES, max_size=5),
    SEVERAL,
    SEVERAL,
    st.dictionaries(NAMES, st.sampled_from(VariableAllocation), max_size=5),
)


@given(PROGRAMS)
def test_the_printer_prints_anything(nonsense: Program) -> None:
    lines = print_program(nonsense).splitlines()
    ops = sum(len(b.ops) for f in nonsense.all_functions for b in f.graph)
    assert len(lines) >= ops + len(nonsense.all_functions)


@given(PROGRAMS)
def test_the_verifier_accepts_or_refuses_anything(nonsense: Program) -> None:
    with contextlib.suppress(hb.VerificationError):
        assert verify(nonsense) is nonsense


def test_only_the_entry_lets_whoever_it_calls_halt_for_it() -> None:
    """Elsewhere a call may be under way that would be returned from instead."""
    call, leave, end = PushGotoOp("end", "f", "r"), IndirectGotoOp("r"), block("end", GotoOp(HALT))
    outermost = graph(block("entry", call), block("f", leave), end)
    assert simplify_graph(outermost, stacked=("r",)).blocks == (block("f", leave),)
    assert simplify_graph(outermost) == outermost, "what is in a register is not forgotten"
    ask, more = prim("n > 0", "n", "c", lambda n: n > 0), prim("n + 1", "n", "n", lambda n: n + 1)
    within = graph(block("entry", PushGotoOp("more", "f", "r")), block("f", ask, call), block("more", more, leave), end)
    assert simplify_graph(within, stacked=("r",)) == within


@pytest.mark.parametrize("name", BY_HAND)
def test_what_is_not_changed_is_given_back_as_it_is(name: str) -> None:
    written, _ = BY_HAND[name]
    as_it_is = renaming({})
    renamed = written.map_graphs(lambda g: g.map_blocks(lambda b: b.rename(as_it_is, as_it_is).retarget(as_it_is)))
    assert renamed is written
    assert written.map_graphs(lambda g: g.map_blocks(lambda b: b.expand_instructions(lambda op: [op]))) is written
