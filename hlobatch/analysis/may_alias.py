"""A function -> which parts of its variables may be one object in Python, before each operation (may-alias analysis).

::

    b = a                      {(a, b)}
    row = grid[1]              {(row, grid.1)}
    items.append(row)          {(row, grid.1), (row, items.0)}
    row = [0]                  {(grid.1, items.0)}

A forward dataflow analysis on sets of pairs of live variables: a pair is added with all that follow from it, so that a
variable that is no longer read has no part in later ones. Tracing has noted which parts of an operation's results are
parts of its operands, and which it changes (``identity.py``). The summary of a function says which parts of its
parameters are parts of its results, which become one object with each other, and which the function changes. Callers
use the summaries, so functions are analyzed until no summary changes.

Reference: may-alias sets, as in Muchnick, Advanced Compiler Design and Implementation, chapter 10.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from hlobatch.analysis import liveness
from hlobatch.analysis.call_graph import CallGraph
from hlobatch.analysis.dataflow import Dataflow, Solution, solve
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.analysis.views import identity_with_views
from hlobatch.diagnostics import Location
from hlobatch.ir.boxed import Boxed
from hlobatch.ir.growing import Growing
from hlobatch.ir.ops import HALT, FunctionCallOp, Op, PrimOp
from hlobatch.ir.program import Block, Function, Program
from hlobatch.ir.types import Static, TensorType, Type
from hlobatch.values.identity import OPAQUE, Identity, Node, Path, parts_of_type

Part = tuple[str, Path]
"""A variable and a path into it. The variable ``"given 0"`` is the first argument as the caller has it, and
``"outside NAME"`` an object from outside of the function."""
Pair = tuple[Part, Part]
"""Two parts that may be one object, the lesser first. A part is paired with itself if it stands for several items of a
container, two of which may be one object."""
State = frozenset[Pair]
Traced = Callable[[str, str, int], TracedFunction | None]
"""Gives the traced function of an operation, by function, block and position; None if it has none."""

_GIVEN: Final = "given "
OUTSIDE: Final = "outside "
"""Prefix of the variable in a part that stands outside of the function."""


@dataclass(frozen=True)
class Summary:
    """The effect of a call of a function on objects.

    Attributes:
        results: Pairs of a part of a result and a part of a parameter that may be one object.
        alike: Pairs of parts of results that may be one object; a part that stands for items of a container, two of
            which may be one object, is paired with itself.
        joined: Pairs of parts of parameters that may be one object after the call.
        changed: Parts of parameters that the call changes in place, each with the place of the change.
        parameters: The variables of the parameters.
    """

    results: frozenset[tuple[Node, Node]] = frozenset()
    alike: frozenset[tuple[Node, Node]] = frozenset()
    joined: frozenset[tuple[Node, Node]] = frozenset()
    changed: Mapping[Node, Location] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[object, ...]:
        """The fields that the analysis of a caller depends on."""
        return self.results, self.alike, self.joined, frozenset(self.changed)


def summaries_of(program: Program, types: Mapping[str, Type], traced: Traced) -> dict[str, Summary]:
    """The summary of each function, by name."""
    summaries = {function.name: Summary(parameters=function.vars_in) for function in program.functions}
    callees, pending = CallGraph(program).callees, list(program.functions)
    while pending:
        before = {name: summary.known for name, summary in summaries.items()}
        for function in pending:
            summaries[function.name] = Aliases(function, types, traced, summaries).summary()
        changed = {name for name, summary in summaries.items() if summary.known != before[name]}
        pending = [function for function in program.functions if not changed.isdisjoint(callees[function.name])]
    return summaries


@dataclass(frozen=True)
class Change:
    """An object that an operation changes in place.

    Attributes:
        part: A part of one of the variables that the operation reads.
        place: Where the change stands in the source.
    """

    part: Part
    place: Location


@dataclass(frozen=True)
class _Effects:
    """The effect of one operation on objects.

    Attributes:
        origins: For parts of its results, the parts of its operands that they may be.
        alike: Pairs of parts of its results that may be one object, whichever object that is.
        joined: Pairs of parts of its operands that may be one object after it.
        views: Parts of its results that are views of their origins, and not the same object.
        held: For parts of its results that stand for items of a container: for each item, the parts that it may be.
    """

    origins: dict[Part, set[Part]] = field(default_factory=dict)
    alike: set[Pair] = field(default_factory=set)
    joined: set[Pair] = field(default_factory=set)
    views: set[Part] = field(default_factory=set)
    held: dict[Part, list[set[Part]]] = field(default_factory=dict)


@dataclass(eq=False)
class Aliases:
    """The aliases of one function.

    Attributes:
        function: The function, in which branches that were decided when the program was built are jumps.
        types: The types of the program's variables.
        traced: Gives the traced function of an operation, by function, block and position.
        summaries: The summaries of the functions that it may call.
        made: For each pair that was found, the place where the two became one object.
        surely: Pairs that certainly are one object on some path, or that may have been one before they were moved.
    """

    function: Function
    types: Mapping[str, Type]
    traced: Traced
    summaries: Mapping[str, Summary]
    made: dict[Pair, Location] = field(default_factory=dict)
    surely: set[Pair] = field(default_factory=set)

    def summary(self) -> Summary:
        """The summary of the function."""
        results, joined, changed = set[tuple[Node, Node]](), set[tuple[Node, Node]](), dict[Node, Location]()
        alike = set[tuple[Node, Node]]()
        solution = self.solution()
        for block in self.function.graph:
            if HALT in block.terminator.successors:
                for one, other in _both_ways(solution.after[block.name]):
                    in_results, others = self._in_results(one), self._in_results(other)
                    if one == other:
                        alike.update(zip(in_results, in_results, strict=True))
                    elif one[0] != other[0] or (self._is_object(one) and self._is_object(other)):
                        # Other parts of one variable are often a pair since a third was one of both.
                        alike.update(itertools.product(in_results, others))
                    if (node := _given(other)) is None:
                        continue
                    results.update((result, node) for result in in_results)
                    if (origin := _given(one)) is not None:
                        joined.add((origin, node))
            for _, _, change, state in self.changes(block, solution.before[block.name]):
                for other in (change.part, *partners(state, change.part)):
                    if (node := _given(other)) is not None:
                        changed.setdefault(node, change.place)
        return Summary(frozenset(results), frozenset(alike), frozenset(joined), changed, self.function.vars_in)

    def _in_results(self, part: Part) -> list[Node]:
        """The parts of the function's results that a part of a variable is at its end."""
        return [(i, part[1]) for i, variable in enumerate(self.function.vars_out) if variable == part[0]]

    def _is_object(self, part: Part) -> bool:
        """Whether a part of a variable is an object of a class of the user's."""
        variable, path = part
        if (type_ := self.types.get(variable)) is None:
            return False
        return any(p == path and isinstance(one, Boxed) for p, one in parts_of_type(type_.tensors))

    def solution(self) -> Solution[State]:
        """The pairs at the beginning and at the end of each block."""

        def merge(states: Iterable[State]) -> State:
            return frozenset().union(*states)

        def transfer(block: Block, state: State) -> State:
            for index, op in enumerate(block.instructions):
                state = self._after(block, index, op, state)
            return self._only(state, self._live.after[block.name])

        problem = Dataflow(forward=True, boundary=self._at_entry(), initial=frozenset(), merge=merge, transfer=transfer)
        found, known = solve(self.function.graph, problem), 0
        while known != (known := len(self.surely)):  # what was one object in a turn is one in the next
            found = solve(self.function.graph, problem)
        return found

    def changes(self, block: Block, state: State) -> Iterator[tuple[int, Op, Change, State]]:
        """The changes of a block, each with the position of the operation, the operation, and the pairs before it.

        Args:
            block: The block.
            state: The pairs at its beginning.
        """
        for index, op in enumerate(block.instructions):
            if isinstance(op, PrimOp):
                one = self.traced(self.function.name, block.name, index)
                for i, path in one.identity.changed if one is not None else ():
                    yield index, op, Change((op.vars_in[i], path), op.location), state
            elif isinstance(op, FunctionCallOp) and op.function in self.summaries:
                for part in self._arguments(op, self.summaries[op.function].changed):
                    yield index, op, Change(part, op.location), state
            state = self._after(block, index, op, state)

    def identity(self, block: Block, index: int) -> Identity | None:
        """The objects in the results of a primitive, views included; None for any other operation."""
        if not isinstance(block.instructions[index], PrimOp):
            return None
        one = self.traced(self.function.name, block.name, index)
        return None if one is None else identity_with_views(one)

    def place(self, part: Part, other: Part) -> Location | None:
        """The place where two parts became one object; None if they never did."""
        return self.made.get(pair(part, other))

    def _at_entry(self) -> State:
        pairs = set[Pair]()
        for index, name in enumerate(self.function.vars_in):
            for path in _mutable(self.types.get(name)):
                pairs.add(pair((name, path), (f"{_GIVEN}{index}", path)))
        return frozenset(pairs)

    # Which variables are still read

    @cached_property
    def _live(self) -> Solution[liveness.Names]:
        return liveness.liveness(self.function)

    @cached_property
    def _live_in(self) -> dict[str, list[liveness.Names]]:
        """For each block, the variables that are live after each of its operations."""
        return {block.name: liveness.after_each(block, self._live.after[block.name]) for block in self.function.graph}

    def _only(self, state: Iterable[Pair], live: liveness.Names) -> State:
        """The pairs of parts of live variables, and of what stands outside of the function."""

        def lasts(part: Part) -> bool:
            return part[0] in live or part[0].startswith((_GIVEN, OUTSIDE))

        return frozenset(pair for pair in state if lasts(pair[0]) and lasts(pair[1]))

    # The effects of operations

    def _effects(self, block: Block, index: int, op: Op) -> _Effects:
        if isinstance(op, FunctionCallOp) and op.function in self.summaries:
            return self._of_call(op, self.summaries[op.function])
        identity = self.identity(block, index)
        return self._of_primitive(block, index, op, identity) if identity is not None else _Effects()

    def _of_primitive(self, block: Block, index: int, op: Op, identity: Identity) -> _Effects:
        """The effects of a primitive: those noted while it was traced, with variables in place of positions."""
        variables_in, variables_out = op.uses, op.defs
        effects = _Effects()
        one = self.traced(self.function.name, block.name, index)
        noted = {} if one is None else one.identity.sources  # without views
        for (result, path), nodes in identity.sources.items():
            effects.origins[variables_out[result], path] = {(variables_in[i], p) for i, p in nodes}
            if (result, path) not in noted:
                effects.views.add((variables_out[result], path))
        for (result, path), name in identity.outside.items():
            effects.origins.setdefault((variables_out[result], path), set()).add((f"{OUTSIDE}{name}", ()))
        for (i, p), (j, q) in identity.alike:
            effects.alike.add(pair((variables_out[i], p), (variables_out[j], q)))
        for (result, path), groups in identity.held.items():
            effects.held[variables_out[result], path] = [{(variables_in[i], p) for i, p in nodes} for nodes in groups]
        return effects

    def _of_call(self, op: FunctionCallOp, summary: Summary) -> _Effects:
        """The effects of a call: those in the callee's summary, with arguments in place of parameters."""
        effects = _Effects()
        for (result, path), (i, p) in summary.results:
            effects.origins.setdefault((op.vars_out[result], path), set()).update(self._arguments(op, [(i, p)]))
        effects.alike.update(pair((op.vars_out[i], p), (op.vars_out[j], q)) for (i, p), (j, q) in summary.alike)
        for part, nodes in effects.origins.items():
            if _is_in_growing(self.types.get(part[0]), part[1]):
                effects.held[part] = [{node} for node in nodes]
        for one, other in summary.joined:
            both = itertools.product(self._arguments(op, [one]), self._arguments(op, [other]))
            effects.joined.update(pair(*parts) for parts in both)
        return effects

    def _arguments(self, op: FunctionCallOp, nodes: Iterable[Node]) -> dict[Part, None]:
        """The parts of a call's arguments that parts of the callee's parameters may be.

        A container may be of another kind in the callee, as a dict to which that adds keys of lanes. What is in it has
        other paths then: each part in the parameter's may be any part in the argument's.
        """
        found: dict[Part, None] = {}
        for index, path in nodes:
            variable, parameter = op.vars_in[index], self.summaries[op.function].parameters[index]
            outer = _other_kind(self.types.get(variable), self.types.get(parameter), path)
            paths = [path] if outer is None else _mutable_inside(self.types[variable], outer)
            found.update(((variable, inner), None) for inner in paths)
        return found

    def _after(self, block: Block, index: int, op: Op, state: State) -> State:
        """The pairs after an operation, given those before it."""
        effects = self._effects(block, index, op)
        origins, alike, joined = effects.origins, effects.alike, effects.joined
        if not state and not origins and not alike and not joined:
            return state
        state |= joined
        written = frozenset(op.defs)
        kept = {pair for pair in state if pair[0][0] not in written and pair[1][0] not in written}
        if not origins and not alike and not joined and len(kept) == len(state):
            return state
        new = _new_pairs(effects, state, op.defs)
        self.surely |= alike | _same_objects(origins, effects.views)
        self.surely |= _of_same_objects(origins, new, self.surely & state)
        for found in new | alike | joined:
            self.made.setdefault(found, op.location)
        return self._only(kept | new | alike, self._live_in[block.name][index])


def _new_pairs(effects: _Effects, state: State, written: Sequence[str]) -> set[Pair]:
    """The pairs that an operation adds: those with a part of its results.

    Args:
        effects: The effects of the operation.
        state: The pairs before it.
        written: The variables that it writes.
    """
    origins, others_of = effects.origins, _partners_of_all(state)
    reached = {part: nodes.union(*(others_of.get(node, ()) for node in nodes)) for part, nodes in origins.items()}
    new = {pair(part, other) for part, others in reached.items() for other in others if other[0] not in written}
    new |= {(part, part) for part, nodes in origins.items() if any((node, node) in state for node in nodes)}
    new |= {(part, part) for part, items in effects.held.items() if _may_repeat(items, others_of)}
    return new | _pairs_with_one(reached)


def _same_objects(origins: Mapping[Part, set[Part]], views: Iterable[Part]) -> set[Pair]:
    """Pairs of parts that certainly are one object: each has one and the same possible origin, and is no view of it."""
    by_object: dict[Part, list[Part]] = {}
    for part, nodes in origins.items():
        if len(nodes) == 1 and part not in views:
            by_object.setdefault(next(iter(nodes)), []).append(part)
    return _pairs_of_each(by_object)


def _of_same_objects(origins: Mapping[Part, set[Part]], pairs: Iterable[Pair], same: set[Pair]) -> set[Pair]:
    """Those pairs of parts whose origins may be two parts that were one object before.

    Two parts with a possible origin in common are no such pair for that: where items are exchanged, each may come from
    each place.
    """
    if not same:
        return set()
    return {
        (one, other)
        for one, other in pairs
        if one != other
        and any(pair(*two) in same for two in itertools.product(origins.get(one, ()), origins.get(other, ())))
    }


def _pairs_with_one(reached: Mapping[Part, set[Part]]) -> set[Pair]:
    """The pairs of parts that may be one and the same object, given the objects that each may be."""
    by_object: dict[Part, list[Part]] = {}
    for part, nodes in reached.items():
        for node in nodes:
            by_object.setdefault(node, []).append(part)
    return _pairs_of_each(by_object)


def _pairs_of_each(by_object: Mapping[Part, Sequence[Part]]) -> set[Pair]:
    return {pair(*two) for parts in by_object.values() for two in itertools.combinations(parts, 2)}


def _may_repeat(items: Sequence[set[Part]], others_of: Mapping[Part, set[Part]]) -> bool:
    """Whether two items of a container may be one object, given the parts that each item may be."""
    reached = [nodes.union(*(others_of.get(node, ()) for node in nodes)) for nodes in items]
    return any(not one.isdisjoint(other) for one, other in itertools.combinations(reached, 2))


def _is_in_growing(type_: Type | None, path: Path) -> bool:
    """Whether a path leads into the items of a container whose length differs between lanes."""
    if type_ is None:
        return False
    around = (
        part for outer, part in parts_of_type(type_.tensors) if len(outer) < len(path) and path[: len(outer)] == outer
    )
    return any(isinstance(part, Growing) for part in around)


def _mutable(type_: Type | None) -> Iterator[Path]:
    """The paths of the parts of a type that can change in place."""
    if type_ is None:
        return
    for path, part in parts_of_type(type_.tensors):
        is_container = not isinstance(part, (TensorType, Static, tuple, type(None)))
        is_pythons_own = isinstance(part, Static) and isinstance(part.value, OPAQUE)
        if is_container or is_pythons_own or (isinstance(part, TensorType) and part.shape):
            yield path


def _mutable_inside(type_: Type, outer: Path) -> list[Path]:
    """The paths of the parts of a container in a type that can change in place."""
    return [path for path in _mutable(type_) if len(path) > len(outer) and path[: len(outer)] == outer]


def _other_kind(given: Type | None, taken: Type | None, path: Path) -> Path | None:
    """The path of the outermost container around a part that is of another kind in another type; None if none is."""
    if given is None or taken is None or given.has_pattern_of(taken):
        return None
    kinds = [{p: type(part) for p, part in parts_of_type(one.tensors)} for one in (given, taken)]
    around = (path[:length] for length in range(len(path)))
    return next((outer for outer in around if kinds[0].get(outer) is not kinds[1].get(outer)), None)


def pair(one: Part, other: Part) -> Pair:
    """The pair of two parts, the lesser first."""
    return (one, other) if one <= other else (other, one)


def _partners_of_all(state: State) -> Mapping[Part, set[Part]]:
    """The partners of each part that has some."""
    found: dict[Part, set[Part]] = {}
    for one, other in _both_ways(state):
        if one != other:
            found.setdefault(one, set()).add(other)
    return found


def _both_ways(state: State) -> Iterator[Pair]:
    for one, other in state:
        yield one, other
        yield other, one


def partners(state: State, part: Part) -> set[Part]:
    """The other parts that may be the same object as a part."""
    return {other for one, other in _both_ways(state) if one == part and other != part}


def _given(part: Part) -> Node | None:
    """The index of the parameter and the path that a part of ``"given N"`` stands for; None for any other part."""
    return (int(part[0].removeprefix(_GIVEN)), part[1]) if part[0].startswith(_GIVEN) else None
