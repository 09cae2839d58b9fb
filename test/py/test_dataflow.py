"""Dataflow, liveness and definedness: on graphs small enough to see the answer, and on any against brute force."""

import itertools
from collections.abc import Iterable, Iterator

import pytest
from by_hand import block, graph, names, program, step
from hypothesis import assume, given
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
from hlobatch.transforms import simplify_cfg
from hlobatch.transforms import split_live_ranges as split
from hlobatch.transforms.graph_in_change import GraphInChange
from hlobatch.transforms.simplify_cfg import simplify_graph
from hlobatch.transforms.split_live_ranges import split_live_ranges

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
    """The points that control may reach after one operation; none after HALT."""
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


# Graphs of which blocks are replaced one by one


def pruned(nodes: ControlFlowGraph) -> ControlFlowGraph:
    """A graph without blocks that nothing leads to, and without what only such lead to."""
    while gone := {b.name for b in nodes.blocks[1:] if not nodes.predecessors[b.name]}:
        nodes = ControlFlowGraph(tuple(b for b in nodes if b.name not in gone))
    return nodes


@given(functions(), st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=3))
def test_what_is_replaced_is_simplified_as_the_whole_graph_would_be(
    function: Function, replaced: list[tuple[int, bool]]
) -> None:
    whole = simplify_graph(function.graph)
    changing = GraphInChange(whole)
    for index, side in replaced:
        b = whole.blocks[index % len(whole.blocks)]
        if not isinstance(b.terminator, BranchOp):
            continue
        end = b.terminator.true_block if side else b.terminator.false_block
        b = b.replace(terminator=GotoOp(end), instructions=(*b.instructions, PrimOp((), ("c",), lambda: ())))
        after = whole.with_blocks(b)
        assume(pruned(after) == simplify_cfg.reachable(after))
        whole = simplify_graph(after)
        changing.replace(b)
        assert changing.graph == whole
        assert {name: {*sources} for name, sources in changing.sources.items() if name in whole} == {
            name: {*sources} for name, sources in whole.predecessors.items() if name in whole
        }


def diamonds(count: int) -> Function:
    """Branches in a row, each around one operation, whose results are read by the next."""
    blocks = []
    for i in range(count):
        then, after = f"then{i}", f"top{i + 1}" if i + 1 < count else "end"
        blocks += [
            block(f"top{i}", step(f"x -> c{i}"), BranchOp(f"c{i}", then, after)),
            block(then, step("x -> x"), GotoOp(after)),
        ]
    return Function("f", graph(*blocks, block("end", step("x -> r"), GotoOp(HALT))), ("x",), ("r",))


@given(functions())
def test_a_read_sees_one_name_whichever_definition_was_the_last(function: Function) -> None:
    """Run at random, a function with a name for each live range reads what was written as before."""
    assume(reachable(function) == {b.name for b in function.graph})
    (renamed,) = split_live_ranges(
        program().replace(graph=function.graph, vars_in=function.vars_in, vars_out=function.vars_out)
    ).all_functions
    for turns in itertools.product((True, False), repeat=6):
        assert [*reads(function, turns)] == [*reads(renamed, turns)]


def reads(function: Function, turns: Iterable[bool]) -> Iterator[tuple[Point, int, object]]:
    """Which definition each read sees on one way through a function; none where it sees what was never written."""
    values: dict[str, object] = {name: index for index, name in enumerate(function.vars_in)}
    place, directions = "b0", iter(turns)
    for _ in range(8):
        b = function.graph.block(place)
        for index, op in enumerate(b.ops):
            yield from (((place, index), i, values.get(name)) for i, name in enumerate(op.uses))
            values |= {name: (place, index, i) for i, name in enumerate(op.defs)}
        place = b.terminator.successors[-1 if next(directions, False) else 0]
        if place == HALT:
            yield from (((HALT, 0), i, values.get(name)) for i, name in enumerate(function.vars_out))
            return


def test_live_ranges_are_found_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read of a variable that any of the branches before may have written looks at what they have in common."""
    looked_at = []
    find = split._Webs.find
    monkeypatch.setattr(split._Webs, "find", lambda self, d: (looked_at.append(d), find(self, d))[1])

    def visits(count: int) -> int:
        looked_at.clear()
        split_live_ranges(program(*diamonds(count).graph.blocks))
        return len(looked_at)

    assert visits(80) < 2.2 * visits(40)
