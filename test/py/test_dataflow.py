"""Dataflow, liveness and definedness: on graphs small enough to see the answer, and on any against brute force."""

from collections.abc import Iterable, Iterator

import pytest
from by_hand import block, graph, names, program, step
from hypothesis import given
from hypothesis import strategies as st

import hlobatch as hb
from hlobatch.analysis import machine_flow
from hlobatch.analysis.dataflow import Dataflow, solve
from hlobatch.analysis.definedness import (
    check_definedness,
    definitely_assigned,
    undefined_reads,
    user_name,
)
from hlobatch.analysis.liveness import liveness
from hlobatch.analysis.machine_flow import components, onward
from hlobatch.analysis.machine_liveness import live_out
from hlobatch.instructions import (
    HALT,
    Block,
    BranchOp,
    ControlFlowGraph,
    Function,
    GotoOp,
    IndirectGotoOp,
    PopOp,
    PrimOp,
    PushGotoOp,
    PushOp,
)

Names = frozenset[str]

Names = frozenset[str]

DIAMOND = Function(
    "diamond",
    graph(
        block("top", step("n -> c"), BranchOp("c", "left", "right")),
        block("left", step("n -> x"), step("n -> y"), GotoOp("bottom")),
        block("right", step("n -> y"), GotoOp("bottom")),
        block("bottom", step("y -> r"), GotoOp(HALT)),
    ),
    ("n",),
    ("r",),
)
LOOP = Function(
    "loop",
    graph(
        block("start", step("-> total"), GotoOp("test")),
        block("test", step("n -> c"), BranchOp("c", "turn", "done")),
        block("turn", step("total n -> total"), step("n -> n"), GotoOp("test")),
        block("done", step("total -> r"), GotoOp(HALT)),
    ),
    ("n",),
    ("r",),
)

# Random control flow, for brute force

VARIABLES = ("a", "b", "c")
SOME = st.lists(st.sampled_from(VARIABLES), max_size=2, unique=True).map(tuple)


@st.composite
def functions(draw: st.DrawFn) -> Function:
    """A function of up to five blocks with any control flow between them."""
    count = draw(st.integers(1, 5))
    targets = st.sampled_from([f"b{i}" for i in range(count)] + [HALT])
    blocks = []
    for index in range(count):
        ops = [PrimOp(*pair, lambda: ()) for pair in draw(st.lists(st.tuples(SOME, SOME), max_size=3))]
        end = draw(st.one_of(st.builds(GotoOp, targets), st.builds(BranchOp, st.just("a"), targets, targets)))
        blocks.append(Block(f"b{index}", tuple(ops), end))
    return Function("f", ControlFlowGraph(tuple(blocks)), draw(SOME), draw(SOME))


Point = tuple[str, int]
"""A block and a position in it, before that operation."""


def successors(function: Function, point: Point) -> Iterator[Point]:
    """Where control may be after one operation; past the end of HALT there is nothing."""
    ops = function.graph.block(point[0]).ops
    if point[1] + 1 < len(ops):
        yield point[0], point[1] + 1
    else:
        yield from ((name, 0) for name in ops[-1].successors if name != HALT)


def leaves(function: Function, point: Point) -> bool:
    ops = function.graph.block(point[0]).ops
    return point[1] + 1 == len(ops) and HALT in ops[-1].successors


def reads_first(function: Function, start: str, name: str) -> bool:
    """Whether some path from a block's entry reads a variable before it writes it."""
    seen: set[Point] = set()
    pending = [(start, 0)]
    while pending:
        point = pending.pop()
        if point in seen:
            continue
        seen.add(point)
        op = function.graph.block(point[0]).ops[point[1]]
        if name in op.uses:
            return True
        if name in op.defs:
            continue
        if leaves(function, point) and name in function.vars_out:
            return True
        pending += successors(function, point)
    return False


def arrives_without(function: Function, name: str) -> set[str]:
    """Blocks that some path from the entry reaches without a write of a variable."""
    found: set[str] = set()
    seen: set[Point] = set()
    pending = [] if name in function.vars_in else [("b0", 0)]
    while pending:
        point = pending.pop()
        if point in seen:
            continue
        seen.add(point)
        if point[1] == 0:
            found.add(point[0])
        if name not in function.graph.block(point[0]).ops[point[1]].defs:
            pending += successors(function, point)
    return found


def reachable(function: Function) -> set[str]:
    return arrives_without(function.__class__(function.name, function.graph, (), ()), "no such variable")


# Dataflow


def union(sets: Iterable[Names]) -> Names:
    return frozenset().union(*sets)


PASSED = Dataflow(
    forward=True,
    boundary=frozenset(),
    initial=frozenset(),
    merge=union,
    transfer=lambda b, before: before | {b.name},
)


def test_forward_dataflow() -> None:
    solution = solve(DIAMOND.graph, PASSED)
    assert solution.before["top"] == names("")
    assert solution.before["bottom"] == names("top left right")
    assert solution.after["bottom"] == names("top left right bottom")


def test_forward_dataflow_goes_round_loops() -> None:
    solution = solve(LOOP.graph, PASSED)
    assert solution.before["test"] == names("start test turn")
    assert solution.after["done"] == names("start test turn done")


def test_backward_dataflow() -> None:
    to_come = Dataflow(
        forward=False,
        boundary=names("halt"),
        initial=frozenset(),
        merge=union,
        transfer=lambda b, after: after | {b.name},
    )
    solution = solve(LOOP.graph, to_come)
    assert solution.after["done"] == names("halt")
    assert solution.before["done"] == names("halt done")
    assert solution.before["start"] == names("halt start test turn done")


@given(functions(), st.booleans())
def test_a_solution_is_a_fixed_point(function: Function, forward: bool) -> None:
    problem = Dataflow(forward, names("edge"), frozenset(), union, lambda b, near: near | {b.name})
    solution = solve(function.graph, problem)
    near, far = (solution.before, solution.after) if forward else (solution.after, solution.before)
    for b in function.graph:
        following = [name for name in b.terminator.successors if name != HALT]
        sources = function.graph.predecessors[b.name] if forward else following
        edge = b.name == "b0" if forward else HALT in b.terminator.successors
        values = [far[name] for name in sources] + [names("edge")] * edge
        assert near[b.name] == union(values)
        assert far[b.name] == near[b.name] | {b.name}


# Liveness


def test_liveness_of_a_diamond() -> None:
    live = liveness(DIAMOND)
    assert live.before["top"] == names("n")
    assert live.after["top"] == names("n")
    assert live.after["left"] == names("y")
    assert live.after["bottom"] == names("r")


def test_liveness_of_a_loop() -> None:
    live = liveness(LOOP)
    assert live.before["start"] == names("n")
    assert live.before["test"] == names("n total")
    assert live.after["turn"] == names("n total")
    assert live.before["done"] == names("total")


def test_a_push_reads_and_a_pop_writes() -> None:
    saved = Function(
        "f",
        graph(
            block("save", PushOp(("x",)), step("-> x"), GotoOp("restore")),
            block("restore", step("x -> y"), PopOp(("x",)), GotoOp(HALT)),
        ),
        ("x",),
        ("x", "y"),
    )
    live = liveness(saved)
    assert live.before["save"] == names("x")
    assert live.before["restore"] == names("x")


@given(functions())
def test_live_means_that_some_path_reads_it_first(function: Function) -> None:
    live = liveness(function).before
    for b in function.graph:
        assert live[b.name] == {v for v in VARIABLES if reads_first(function, b.name, v)}


def test_machine_liveness_follows_returns() -> None:
    """A return goes to every place the address may name, and out of the program."""
    lowered = program(
        block("first", PushGotoOp("one", "callee", "pc")),
        block("one", step("r -> x"), PushGotoOp("two", "callee", "pc")),
        block("two", step("x r -> r"), GotoOp(HALT)),
        block("callee", step("n -> r"), IndirectGotoOp("pc")),
    )
    assert onward(lowered)["callee"] == (HALT, "one", "two")
    assert onward(lowered)["first"] == ("callee",)
    assert live_out(lowered)["callee"] >= names("r x n")
    assert live_out(lowered)["two"] == names("r")


# Definedness


def test_definitely_assigned() -> None:
    assigned = definitely_assigned(DIAMOND)
    assert assigned["top"] == names("n")
    assert assigned["left"] == names("n c")
    assert assigned["bottom"] == names("n c y")


def test_undefined_reads_come_in_program_order() -> None:
    careless = Function(
        "f",
        graph(
            block("top", step("n -> c"), BranchOp("c", "left", "bottom")),
            block("left", step("x -> y"), GotoOp("bottom")),
            block("bottom", step("y -> r"), GotoOp(HALT)),
        ),
        ("n",),
        ("r",),
    )
    assert [name for name, _ in undefined_reads(careless)] == ["x", "y"]
    assert list(undefined_reads(LOOP)) == []


def test_check_definedness_looks_at_every_function() -> None:
    careless = Function("f", graph(block("b", step("x -> r"), GotoOp(HALT))), (), ("r",))
    good = program(block("b", step("n -> r"), GotoOp(HALT)))
    assert check_definedness(good) is good
    with pytest.raises(hb.UndefinedVariableError, match="'x' may be read before it has a value"):
        check_definedness(good.replace(functions=(careless,)))


@given(functions())
def test_assigned_means_that_no_path_arrives_without(function: Function) -> None:
    assigned = definitely_assigned(function)
    everything = {*function.vars_in, *(v for b in function.graph for op in b.ops for v in op.defs)}
    for name in reachable(function):
        missing = {v for v in everything if name in arrives_without(function, v)}
        assert assigned[name] == everything - missing


@pytest.mark.parametrize(
    ("variable", "name"), [("fib.n", "n"), ("fib.n:2", "n"), ("fib.$result", "$result"), ("n", "n")]
)
def test_user_name(variable: str, name: str) -> None:
    assert user_name(variable) == name


@given(st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=9))
def test_components(edges: list[list[int]]) -> None:
    after = {str(k): [str(n) if n < len(edges) else HALT for n in others] for k, others in enumerate(edges)}
    leads_to = {name: machine_flow.reachable(after, others) for name, others in after.items()}
    for name, found in components(after).items():
        assert found == {name} | {other for other in leads_to[name] if name in leads_to[other]}


def test_components_of_a_long_line() -> None:
    """Where each call of a function of its own would be one too many."""
    after = {str(k): [str(k + 1)] for k in range(20_000)} | {"20000": ["10000", HALT]}
    found = components(after)
    assert len(found["9999"]) == 1
    assert len(found["20000"]) == 10_001
