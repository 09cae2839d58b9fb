"""A traced program -> an error at a change in place that is visible through another name in Python, but not here.

::

    b = a
    a[0] = 1        in Python b has changed, too; here it has not
    return b

Variables hold values here, and not references: a change in place gives one variable a new value. A forward dataflow
analysis computes which variables may hold the same object, or a part of it. A change in place is refused if another
such variable is still read afterwards. A function is summed up by which parameters are parts of its results, and which
ones it changes.

Reference: may-alias sets, as in Muchnick, Advanced Compiler Design and Implementation, chapter 10.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hlobatch.analysis import liveness
from hlobatch.analysis.dataflow import Dataflow, Solution, solve
from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.identity import OPAQUE, Identity, Node, Path, parts_of_type
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.analysis.updates import Origins
from hlobatch.analysis.views import overwritten_views, views
from hlobatch.diagnostics import Location, Note, UnsupportedSyntaxError
from hlobatch.ir.growing import Growing
from hlobatch.ir.ops import HALT, FunctionCallOp, Op, PrimOp
from hlobatch.ir.program import MAIN, Block, Function, Program
from hlobatch.ir.types import Static, TensorType, Type

Part = tuple[str, Path]
"""A variable, and where in it. ``"given 0"`` is a parameter as it was given; ``"outside NAME"`` is no variable."""
Pair = tuple[Part, Part]
State = frozenset[Pair]
Traced = Callable[[str, str, int], TracedFunction | None]
"""What was traced at a function, a block and a position in it."""

_GIVEN, _OUTSIDE = "given ", "outside "


@dataclass(frozen=True)
class Summary:
    """What a call of a function does to objects.

    Attributes:
        results: Parts of results and the parts of parameters that they may be.
        repeated: Parts of results that stand for items of a container, of which two may be one object.
        joined: Parts of parameters that may be one object afterwards.
        changed: Parts of parameters that it changes, with the place that does.
    """

    results: frozenset[tuple[Node, Node]] = frozenset()
    repeated: frozenset[Node] = frozenset()
    joined: frozenset[tuple[Node, Node]] = frozenset()
    changed: Mapping[Node, Location] = field(default_factory=dict)

    @property
    def known(self) -> tuple[object, ...]:
        """What callers depend on."""
        return self.results, self.repeated, self.joined, frozenset(self.changed)


HELD_BACK: Final = "held"
"""How temporaries begin that hold what a variable becomes once it is known that nothing failed."""


def check_aliases(program: Program, types: Mapping[str, Type], traced: Traced) -> None:
    """Refuse what would be seen through another name.

    Args:
        program: With calls; branches decided when the program is built are jumps.
        types: Of its variables.
        traced: What was traced.

    Raises:
        UnsupportedSyntaxError: A value is changed in place, and another variable that may hold it is read later.
    """
    found = list(_all_traced(program, traced))
    if not any(one.identity.changed for one in found):
        return
    summaries = {function.name: Summary() for function in program.functions}
    while True:
        before = {name: summary.known for name, summary in summaries.items()}
        for function in program.functions:
            summaries[function.name] = _Aliases(function, program, types, traced, summaries).summary()
        if before == {name: summary.known for name, summary in summaries.items()}:
            break
    for function in program.functions:
        _Aliases(function, program, types, traced, summaries).check()


def _all_traced(program: Program, traced: Traced) -> Iterator[TracedFunction]:
    for function in program.all_functions:
        for block in function.graph:
            for index in range(len(block.instructions)):
                if (one := traced(function.name, block.name, index)) is not None:
                    yield one


@dataclass(frozen=True)
class _Change:
    """An object that an operation changes: a part of one of the variables it reads."""

    part: Part
    place: Location


@dataclass(eq=False)
class _Aliases:
    """The aliases of one function."""

    function: Function
    program: Program
    types: Mapping[str, Type]
    traced: Traced
    summaries: Mapping[str, Summary]
    made: dict[Pair, Location] = field(default_factory=dict)
    surely: set[Pair] = field(default_factory=set)

    def summary(self) -> Summary:
        """What a call of the function does."""
        results, joined, changed = set[tuple[Node, Node]](), set[tuple[Node, Node]](), dict[Node, Location]()
        repeated = set[Node]()
        solution = self._solution()
        for block in self.function.graph:
            if HALT in block.terminator.successors:
                for one, other in _both_ways(solution.after[block.name]):
                    if one == other:
                        repeated |= {(i, one[1]) for i, v in enumerate(self.function.vars_out) if v == one[0]}
                    node = _given(other)
                    if node is None:
                        continue
                    results |= {((i, one[1]), node) for i, v in enumerate(self.function.vars_out) if v == one[0]}
                    origin = _given(one)
                    if origin is not None:
                        joined.add((origin, node))
            for _, _, change, state in self._changes(block, solution.before[block.name]):
                for other in (change.part, *_partners(state, change.part)):
                    node = _given(other)
                    if node is not None:
                        changed.setdefault(node, change.place)
        return Summary(frozenset(results), frozenset(repeated), frozenset(joined), changed)

    def check(self) -> None:
        """Refuse changes that are not seen."""
        solution, live = self._solution(), liveness.liveness(self.function)
        for block in self.function.graph:
            after = list(_live_after(block, live.after[block.name]))
            for index, op, change, state in self._changes(block, solution.before[block.name]):
                live_after = after[index] - self._put_back(block, index, op)
                self._check(op, change, state, live_after, self._survivors(block, index, op))
                if isinstance(op, PrimOp):
                    self._check_views(block, index, op)

    def _solution(self) -> Solution[State]:
        def merge(states: Iterable[State]) -> State:
            return frozenset().union(*states)

        def transfer(block: Block, state: State) -> State:
            for index, op in enumerate(block.instructions):
                state = self._after(block, index, op, state)
            return state

        problem = Dataflow(forward=True, boundary=self._at_entry(), initial=frozenset(), merge=merge, transfer=transfer)
        return solve(self.function.graph, problem)

    def _at_entry(self) -> State:
        pairs = set[Pair]()
        for index, name in enumerate(self.function.vars_in):
            for path in _mutable(self.types.get(name)):
                pairs.add(_pair((name, path), (f"{_GIVEN}{index}", path)))
        return frozenset(pairs)

    def _identity(self, block: Block, index: int, op: Op) -> Identity | None:
        """What an operation makes of objects, of primitives views included."""
        if isinstance(op, PrimOp):
            one = self.traced(self.function.name, block.name, index)
            return None if one is None else _with_views(one)
        return None

    def _noted(self, block: Block, index: int) -> Mapping[Node, Sequence[Node]]:
        """The parts of what a primitive gives that are objects that it was given, without views."""
        one = self.traced(self.function.name, block.name, index)
        return {} if one is None else one.identity.sources

    def _after(self, block: Block, index: int, op: Op, state: State) -> State:
        """The pairs after an operation."""
        origins, alike, joined = dict[Part, set[Part]](), set[Pair](), set[Pair]()
        views, held = set[Part](), dict[Part, list[set[Part]]]()
        match op:
            case PrimOp():
                identity = self._identity(block, index, op)
                if identity is not None:
                    for (result, path), nodes in identity.sources.items():
                        origins[op.vars_out[result], path] = {(op.vars_in[i], p) for i, p in nodes}
                        if (result, path) not in self._noted(block, index):
                            views.add((op.vars_out[result], path))
                    for (result, path), name in identity.outside.items():
                        origins.setdefault((op.vars_out[result], path), set()).add((f"{_OUTSIDE}{name}", ()))
                    alike = {_pair((op.vars_out[i], p), (op.vars_out[j], q)) for (i, p), (j, q) in identity.alike}
                    for (result, path), groups in identity.held.items():
                        items = [{(op.vars_in[i], p) for i, p in nodes} for nodes in groups]
                        held[op.vars_out[result], path] = items
            case FunctionCallOp() if op.function in self.summaries:
                summary = self.summaries[op.function]
                for (result, path), (i, p) in summary.results:
                    origins.setdefault((op.vars_out[result], path), set()).add((op.vars_in[i], p))
                alike = {((op.vars_out[i], p), (op.vars_out[i], p)) for i, p in summary.repeated}
                in_containers = (part for part in origins if _is_in_growing(self.types.get(part[0]), part[1]))
                held = {part: [{node} for node in origins[part]] for part in in_containers}
                joined = {_pair((op.vars_in[i], p), (op.vars_in[j], q)) for (i, p), (j, q) in summary.joined}
        if not origins and not alike and not joined and not any(_mentions(pair, op.defs) for pair in state):
            return state
        state |= joined
        reached = {part: nodes.union(*(_partners(state, node) for node in nodes)) for part, nodes in origins.items()}
        kept = {pair for pair in state if not _mentions(pair, op.defs)}
        new = {_pair(part, other) for part, others in reached.items() for other in others if other[0] not in op.defs}
        parts = list(reached.items())
        new |= {(part, part) for part, nodes in origins.items() if any((node, node) in state for node in nodes)}
        new |= {(part, part) for part, items in held.items() if _may_repeat(items, state)}
        for k, (part, others) in enumerate(parts):
            new |= {_pair(part, other) for other, theirs in parts[:k] if not others.isdisjoint(theirs)}
        self.surely |= alike | _same_objects(origins, views)
        for pair in new | alike | joined:
            self.made.setdefault(pair, op.location)
        return frozenset(kept | new | alike)

    def _changes(self, block: Block, state: State) -> Iterator[tuple[int, Op, _Change, State]]:
        """The changes of a block, each with the pairs there are before."""
        for index, op in enumerate(block.instructions):
            if isinstance(op, PrimOp):
                one = self.traced(self.function.name, block.name, index)
                for i, path in one.identity.changed if one is not None else ():
                    yield index, op, _Change((op.vars_in[i], path), op.location), state
            elif isinstance(op, FunctionCallOp) and op.function in self.summaries:
                for i, path in self.summaries[op.function].changed:
                    yield index, op, _Change((op.vars_in[i], path), op.location), state
            state = self._after(block, index, op, state)

    def _check(self, op: Op, change: _Change, state: State, live: frozenset[str], survivors: set[Part]) -> None:
        root = change.part[0]
        if self.function.name == MAIN:
            return
        if isinstance(op, FunctionCallOp) and root in live and root not in op.defs:
            raise UnsupportedSyntaxError(
                f"{op.function!r} changes {_name(root)} in place, and the caller still reads it as it was",
                change.place,
                notes=[Note("here", next(iter(self.summaries[op.function].changed.values())))],
                help="let the function work on a copy and return that, or give the parameter no other value in it.",
            )
        is_held_back = any(user_name(name).startswith(f"${HELD_BACK}") for name in op.defs)
        if root in live and root not in op.defs and not is_held_back:
            raise UnsupportedSyntaxError(
                f"this code changes {_name(root)} in place, which is still read as it was",
                change.place,
                help="let the function that does work on a copy, or return it, and assign that: `v = changed(v)`.",
            )
        if (change.part, change.part) in state:
            place = self._made(change.part, change.part)
            raise UnsupportedSyntaxError(
                f"this changes an item of {_name(root)} in place, which may be another item, too",
                change.place,
                notes=[Note("one object became two items here", place)] if place else [],
                help="put a copy into it, as in `items.append(row.copy())`, or assign to the item as a whole.",
            )
        for other in sorted(_partners(state, change.part)):
            variable = other[0]
            notes = [Note("it became one here", place)] if (place := self._made(change.part, other)) else []
            if variable.startswith(_OUTSIDE):
                outside = variable.removeprefix(_OUTSIDE)
                copied = f"copy.deepcopy({outside})" if other[1] else f"{outside}.copy()"
                raise UnsupportedSyntaxError(
                    f"this changes {outside!r} in place, which stands outside of the function, once for all lanes and "
                    "turns",
                    change.place,
                    notes=notes,
                    help=f"work on a copy, as in `own = {copied}`, and return what it is to be.",
                )
            is_argument = isinstance(op, FunctionCallOp) and variable in op.vars_in and variable not in op.defs
            is_one = variable == root and _pair(change.part, other) in self.surely  # which the lane chooses among
            if (variable in live and variable not in op.defs) or other in survivors or is_argument or is_one:
                what = f"{_name(variable)} is another name, or a part"
                instead = (
                    "change it by the name or the item that is read later, or make one of them of a copy, as with "
                    "`.copy()`."
                )
                if variable == root:
                    what = "another part is the same object"
                    instead = "let each part be one of its own, as in `[[0] * 2 for _ in range(3)]`, or a copy."
                raise UnsupportedSyntaxError(
                    f"this changes {_name(root)} in place, of which {what}",
                    change.place,
                    notes=notes,
                    help=instead,
                )

    def _put_back(self, block: Block, index: int, op: Op) -> set[str]:
        """The variables of which a part was given to a call, and is at once put back as the call made it."""
        if not isinstance(op, FunctionCallOp):
            return set()
        following = list(block.instructions[index + 1 :])
        while len(block.successors) == 1 and block.successors[0] != HALT and not following:
            block = self.function.graph.block(block.successors[0])
            following = list(block.instructions)
        taken = {variable for variable in op.defs if user_name(variable).startswith("$")}
        found = set[str]()
        for other in following:
            if not taken.isdisjoint(other.uses):
                names = set(map(user_name, other.defs))
                found |= {v for v in other.uses if user_name(v) in names}
        return found

    def _survivors(self, block: Block, index: int, op: Op) -> set[Part]:
        """Parts of what an operation is given that its results hold as they were."""
        identity = self._identity(block, index, op)
        if identity is None or not isinstance(op, PrimOp):
            return set()
        kept = {node for nodes in identity.sources.values() for node in nodes if node not in identity.changed}
        return {(op.vars_in[i], path) for i, path in kept}

    def _made(self, part: Part, other: Part) -> Location | None:
        return self.made.get(_pair(part, other))

    def _check_views(self, block: Block, index: int, op: PrimOp) -> None:
        """Refuse statements that write a view of an array to the array after they have changed it."""
        one = self.traced(self.function.name, block.name, index)
        assert one is not None
        code = Origins(one.inlined)
        for result in code.jaxpr.outvars:
            origin, updates = code.origin(result)
            if len(updates) > 1 and overwritten_views(one.inlined, updates, origin):
                raise UnsupportedSyntaxError(
                    "this assigns rows of an array that it has changed before they are read: they are views in NumPy",
                    op.location,
                    help="make copies of them, as in `a[i], a[j] = a[j].copy(), a[i].copy()`.",
                )


def _with_views(one: TracedFunction) -> Identity:
    """The identity of a primitive, in which views are parts of what they are views of."""
    found = views(one.inlined)
    if not found:
        return one.identity
    given, made = _tensor_nodes(one.in_types), _tensor_nodes(one.out_types)
    sources = dict(one.identity.sources)
    for result, argument in found.items():
        node = made[result]
        if node not in sources and node not in one.identity.fresh:
            sources[node] = (given[argument],)
    return replace(one.identity, sources=sources)


def _same_objects(origins: Mapping[Part, set[Part]], views: Iterable[Part]) -> set[Pair]:
    """Parts that hold one object for sure, given what each may be: that can be one thing only, and no view of it."""
    by_object: dict[Part, list[Part]] = {}
    for part, nodes in origins.items():
        if len(nodes) == 1 and part not in views:
            by_object.setdefault(next(iter(nodes)), []).append(part)
    return {_pair(*two) for parts in by_object.values() for two in itertools.combinations(parts, 2)}


def _may_repeat(items: Sequence[set[Part]], state: State) -> bool:
    """Whether two of what stands in a container may be one object, given what each may be."""
    reached = [nodes.union(*(_partners(state, node) for node in nodes)) for nodes in items]
    return any(not one.isdisjoint(other) for one, other in itertools.combinations(reached, 2))


def _is_in_growing(type_: Type | None, path: Path) -> bool:
    """Whether a part of a value is one of all items of a container whose length differs between lanes."""
    if type_ is None:
        return False
    around = (
        part for outer, part in parts_of_type(type_.tensors) if len(outer) < len(path) and path[: len(outer)] == outer
    )
    return any(isinstance(part, Growing) for part in around)


def _tensor_nodes(types: Iterable[Type]) -> list[Node]:
    """Where each tensor of some values is."""
    return [
        (index, path)
        for index, type_ in enumerate(types)
        for path, leaf in parts_of_type(type_.tensors)
        if isinstance(leaf, TensorType)
    ]


def _mutable(type_: Type | None) -> Iterator[Path]:
    """The parts of a value of some type that can change."""
    if type_ is None:
        return
    for path, part in parts_of_type(type_.tensors):
        is_container = not isinstance(part, (TensorType, Static, tuple, type(None)))
        is_pythons_own = isinstance(part, Static) and isinstance(part.value, OPAQUE)
        if is_container or is_pythons_own or (isinstance(part, TensorType) and part.shape):
            yield path


def _live_after(block: Block, live: frozenset[str]) -> list[frozenset[str]]:
    """What is live after each operation of a block but the last, given what is at its end."""
    found = []
    for op in reversed(block.ops):
        found.append(live)
        live = liveness.before(op, live)
    return found[::-1]


def _pair(one: Part, other: Part) -> Pair:
    return (one, other) if one <= other else (other, one)


def _both_ways(state: State) -> Iterator[Pair]:
    for one, other in state:
        yield one, other
        yield other, one


def _partners(state: State, part: Part) -> set[Part]:
    """What may be the same object as a part."""
    return {other for one, other in _both_ways(state) if one == part and other != part}


def _mentions(pair: Pair, variables: tuple[str, ...]) -> bool:
    return pair[0][0] in variables or pair[1][0] in variables


def _given(part: Part) -> Node | None:
    """The part of a parameter that is meant, if one is."""
    return (int(part[0].removeprefix(_GIVEN)), part[1]) if part[0].startswith(_GIVEN) else None


def _name(variable: str) -> str:
    short = user_name(variable)
    return "a value" if short.startswith("$") else repr(short)
