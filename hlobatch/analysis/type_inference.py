"""A program and the types of its inputs -> the type of every variable, and every primitive traced.

An abstract interpretation: types flow along control and through calls from the inputs until nothing changes. Results of
recursive calls start unknown, so the base cases type a recursive function; a branch whose condition is known when the
program is built is followed on one side only. Each primitive is traced again only if the type of an input changed.

Invariant: a variable's type is the join of the types of all values that may reach it.

Reference: Kildall (1973) for the fixed point; Wegman and Zadeck (1991) for following only feasible branches.
"""

from __future__ import annotations

import collections
import contextlib
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax

from hlobatch.analysis import machine_flow
from hlobatch.analysis.call_graph import CallGraph
from hlobatch.analysis.declared_types import check_declared
from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.lane_dependence import that_may_differ
from hlobatch.analysis.traced_function import TracedFunction, is_no_value
from hlobatch.analysis.tracing import operands_before, told_early, trace, zeros
from hlobatch.analysis.type_errors import RESULT, Origin, disagreement, through_calls
from hlobatch.diagnostics import UNKNOWN, BatchTypeError, HloBatchError, Location
from hlobatch.ir.choice import Choice
from hlobatch.ir.failures import FAILURE, holds_exception
from hlobatch.ir.growing import is_growing
from hlobatch.ir.names import is_of_one_kind, unsplit
from hlobatch.ir.ops import BranchOp, FunctionCallOp, Op, PrimOp
from hlobatch.ir.patterns import parts_of
from hlobatch.ir.program import MAIN, Block, Function, Program
from hlobatch.ir.types import Static, TensorType, Type, is_leaf
from hlobatch.values.facts import (
    NONE_KNOWN,
    Copy,
    Facts,
    Grows,
    Learned,
    MayBeNone,
    MayBeSeveral,
    NotYet,
    Site,
    Tried,
    counted_in_vain,
    is_in_counted_loop,
    tell,
)
from hlobatch.values.growing_kinds import grown
from hlobatch.values.leaf_types import widened
from hlobatch.values.lifting import differs_by_lane
from hlobatch.values.type_join import (
    DisagreementError,
    as_number,
    is_pattern,
    join,
    join_of_results,
    makes_kinds,
    with_texts,
)

Place = tuple[str, str]
"""A function's name and the name of one of its blocks."""


MOST_LOOKED_AT: Final = 100
"""The most blocks inferred after a conflict in search of a further conflict. Chosen by judgement (2026-11)."""


@dataclass
class Inference:
    """The result of type inference.

    Attributes:
        types: Type of each variable.
        traced: For each place, the traced function of each of its primitives, by position.
        taken: For places that end in a branch decided when the program is built: whether its condition holds.
        reached: Places that some lane may reach.
        stuck: Places at which control never gets past a call, with that call.
        conflict: The error that ended inference early, or None.
        learned: New facts, each with its site: the program has to be built again with them.
        unexpected: Facts that contradict a guess that the program was built with.
        expected: Facts that confirm a guess that the program was built with.
        look_on: Searches the code behind the conflict for further errors of its kind, as if the conflict were mended.
            Its argument is the decided branches that cannot be the reason for a conflict. Its findings are for messages
            only.
    """

    types: dict[str, Type] = field(default_factory=dict)
    traced: dict[tuple[Place, int], TracedFunction] = field(default_factory=dict)
    taken: dict[Place, bool] = field(default_factory=dict)
    reached: set[Place] = field(default_factory=set)
    stuck: dict[Place, FunctionCallOp] = field(default_factory=dict)
    conflict: HloBatchError | None = None
    learned: list[tuple[Site, Any]] = field(default_factory=list)
    unexpected: list[tuple[Site, Any]] = field(default_factory=list)
    expected: list[tuple[Site, Any]] = field(default_factory=list)
    look_on: Callable[[frozenset[Place]], Sequence[HloBatchError]] = lambda _: ()

    @property
    def is_told(self) -> bool:
        """Whether the program has to be built again."""
        return bool(self.learned or self.unexpected)

    def tell(self) -> None:
        """Raise ``Learned`` if facts were learned.

        With other facts, values may have other types, so that guesses are tested once more in the next round.
        """
        if self.is_told:
            tell([*(self.learned or self.unexpected), *self.expected])


def infer_types(program: Program, in_types: Mapping[str, Type], facts: Facts = NONE_KNOWN) -> Inference:
    """The types of all variables of a program.

    Args:
        program: Calls not lowered, variables renamed by live range.
        in_types: Types of ``program.vars_in``.
        facts: Facts about its variables, by their names before live ranges were split: variables that may be None in
            some lanes, and variables whose containers grow.

    Returns:
        The types. Where two values that reach a variable have types that do not fit together, or code does not accept
        its inputs, inference ends early with the error in ``conflict``.

    Raises:
        Learned: Facts were learned, with which the program has to be built again. Inference has gone on with all code
            that does not depend on them.
    """
    return _Inferrer(program, in_types, facts).run()


class _ConflictError(Exception):
    """Raised where inference ends early.

    Attributes:
        error: The error.
        place: The block in which it was found.
    """

    def __init__(self, error: HloBatchError, place: Place) -> None:
        super().__init__(error, place)
        self.error, self.place = error, place


class _Inferrer:
    """Infers the types of one program: visits blocks whose inputs have changed, the first in program order first.

    Attributes:
        found: The result so far.
        origins: For each variable, the locations that assign it, with the types assigned.
        work: Places to visit, since a type that they depend on has changed.
        later: For variables that are one of more objects than before, the places to visit once all that assign to the
            variable have been visited.
        last: For each variable, the number in ``order`` of the last place that assigns to it.
        waiting: Places that take an item out of a container of which no item's type is known, or that fail with a
            variable that is None so far, and what is to be done if no value ever reaches them.
        made_anew: Variables computed from code that changes in the next round: they may have no type in this one.
        traceable: Functions whose calls turned out to be traceable, though the program was built on the guess that not.
        nothing: Variables for an exception that no reached code raises.
        looks_on: Whether inference goes on after a conflict.
        told: Operations that told facts and have no types in this round, with the types of their operands.
        told_early: Operations with operands in ``made_anew`` that were asked for facts.
        called_from: For each function, the caller by which control first reached it, and the place of the call.
        optional: Variables that may be None in some lanes.
        several: Variables that may hold values of any kinds.
        growing: For variables with growing containers, the nesting depths of these, the innermost first.
        results: Variables that hold the program's results.
    """

    def __init__(self, program: Program, in_types: Mapping[str, Type], facts: Facts) -> None:
        self.program = program
        self.optional = {fact.variable for fact in facts.all_of(MayBeNone)}
        self.several = {fact.variable for fact in facts.all_of(MayBeSeveral)}
        self.growing: dict[str, list[int]] = {}
        for fact in sorted(facts.all_of(Grows), key=lambda fact: -fact.depth):  # inner ones first
            self.growing.setdefault(fact.variable, []).append(fact.depth)
        self.waiting: dict[Place, NotYet] = {}
        self.made_anew: set[str] = set()
        self.told: dict[tuple[Place, int], list[Type]] = {}
        self.told_early: set[tuple[Place, int]] = set()
        self.traceable: set[str] = set()
        self.nothing: set[str] = set()
        self.looks_on = False
        self.functions = {f.name: f for f in program.all_functions}
        self.calls = CallGraph(program)
        self.found = Inference(types=dict(in_types))
        self.origins: dict[str, list[Origin]] = collections.defaultdict(list)
        self.readers = _readers(program)
        self.definitions = collections.Counter(v for op in program.ops for v in op.defs if not op.code.is_undefined)
        self.definitions.update(v for f in program.all_functions for v in f.vars_in)
        self.results = _results(program)
        self.order = {
            (f.name, b.name): i for i, (f, b) in enumerate((f, b) for f in program.all_functions for b in f.graph)
        }
        self.work: dict[Place, None] = {}
        self.later: dict[str, dict[Place, None]] = {}
        self.last = {name: number for place, number in self.order.items() for name in self._defined_in(place)}
        self.called_from: dict[str, tuple[str, Location]] = {}

    def run(self) -> Inference:
        """Infer all types, or those before the first conflict."""
        try:
            self._solve()
            self._complete()
        except _ConflictError as conflict:
            if self.found.learned or not self._changes_types(conflict):
                self.found.tell()
            self.found.conflict = self._through_calls(conflict)
            self.found.look_on = functools.partial(self._look_on, conflict)
            return self.found
        for function in self.program.functions:
            check_declared(function, self.found.types)
        return self.found

    def _through_calls(self, conflict: _ConflictError) -> HloBatchError:
        """The error of a conflict, with notes on the calls through which control reaches it."""
        error = through_calls(conflict.error, conflict.place[0], self.called_from)
        error.__cause__ = conflict.error.__cause__
        return error

    def _changes_types(self, conflict: _ConflictError) -> bool:
        """Whether new types of variables may mend the error, and no function in ``traceable`` has a part in it."""
        error, function = conflict.error, conflict.place[0]
        is_apart = not any(function == one or function in self.calls.reachable[one] for one in self.traceable)
        return (
            is_apart
            and bool(error.may_grow or error.none_or_value or error.of_several)
            and not is_in_counted_loop(error)
        )

    def _look_on(self, conflict: _ConflictError, harmless: frozenset[Place]) -> Sequence[HloBatchError]:
        """Further errors behind a conflict, found as if variables may be None and containers grow where that helps.

        Args:
            conflict: The conflict.
            harmless: Decided branches that take the side they were made to take. If other branches are decided, further
                errors may be due to the decision: those of containers that grow count, and others end the search.
        """
        found = list[HloBatchError]()
        self.looks_on = True
        with counted_in_vain(), contextlib.suppress(Learned):
            while self._mend(conflict.error):
                is_sure = harmless.issuperset(self.found.taken)
                self.work[conflict.place] = None
                another = self._another_conflict()
                if another is None or not (is_sure or another.error.is_of_growth):
                    break
                conflict = another
                found.append(self._through_calls(another))
        return found

    def _another_conflict(self) -> _ConflictError | None:
        """The next conflict within a few blocks; None if there is none."""
        for _ in range(MOST_LOOKED_AT):
            if self.work or self.later or self._passes_calls_made_anew():
                try:
                    self._next()
                except _ConflictError as conflict:
                    return conflict
        return None

    def _mend(self, error: HloBatchError) -> bool:
        """Let the variables of an error be None in some lanes, or grow; return whether any of them was new."""
        if error.none_or_value not in ("", RESULT, *self.optional):
            self.optional.add(error.none_or_value)
            return True
        if error.of_several not in ("", *self.several):
            self.several.add(error.of_several)
            return True
        more = [(name, depth) for name, depth in error.may_grow if depth not in self.growing.get(name, ())]
        for name, depth in more:
            self.growing[name] = sorted([*self.growing.get(name, ()), depth], reverse=True)
        names = {name for name, _ in more}
        for name in [name for name in self.found.types if unsplit(name) in names]:
            self._regrow(name)
        return bool(more)

    def _regrow(self, name: str) -> None:
        """Give a variable, and the values assigned to it, the type with growing containers."""
        depths = self.growing[unsplit(name)]
        self.origins[name] = [(place, _grown(type_, depths, place)) for place, type_ in self.origins[name]]
        self.found.types[name] = _grown(self.found.types[name], depths, UNKNOWN)
        self.work.update(dict.fromkeys(p for p in self.readers[name] if p in self.found.reached))

    def _solve(self) -> None:
        """Visit blocks until no type changes."""
        self._reach(MAIN, self.program.graph.enter_block().name)
        while self.work or self.later or self._goes_on():
            self._next()
        self.found.tell()
        if self.waiting:
            self.found.learned += [one.fact for one in self.waiting.values() if one.fact is not None]
            self.found.tell()
            place = min(self.waiting, key=self.order.__getitem__)
            raise _ConflictError(self.waiting[place].error, place)

    def _goes_on(self) -> bool:
        """Whether blocks are to be visited though no type has changed: behind what has no type in this round."""
        return self._passes_calls_made_anew() if self.found.is_told else self._unassigned_are_none()

    def _passes_calls_made_anew(self) -> bool:
        """Go on behind calls whose results have no type in this round; return whether there was one."""
        for place, op in self.found.stuck.items():
            results = zip(op.vars_out, self.functions[op.function].vars_out, strict=True)
            without_type = {one: theirs for one, theirs in results if theirs not in self.found.types}
            if self.made_anew.issuperset(without_type.values()) and not self.made_anew.issuperset(without_type):
                self.made_anew.update(without_type)
                self.work[place] = None
        return bool(self.work)

    def _next(self) -> None:
        """Visit the first place whose inputs have changed."""
        place = self._first()
        try:
            self._block(place)
        except HloBatchError as error:
            if not self.later:
                raise _ConflictError(error, place) from None
            self.work[place] = None  # once variables have all their objects, the error may be gone
            self._visit_now(self.later)

    def _first(self) -> Place:
        """The first place whose inputs have changed, which counts as visited."""
        first = min(map(self.order.__getitem__, self.work), default=len(self.order))
        self._visit_now([name for name in self.later if self.last.get(name, -1) < first])  # parameters are not put off
        place = min(self.work, key=self.order.__getitem__)
        del self.work[place]
        left = {name: dict.fromkeys(p for p in places if p != place) for name, places in self.later.items()}
        self.later = {name: places for name, places in left.items() if places}
        return place

    def _visit_now(self, names: Collection[str]) -> None:
        """Put off no longer what reads some variables."""
        for name in [*names]:
            self.work.update(self.later.pop(name))

    def _complete(self) -> None:
        """Trace code whose type depends on variables inferred only now; raise the first doubt, if any."""
        self._widen_failure_codes()
        while self._passes_a_type():
            pass
        for place, index, op in [*self._with_constants()]:
            in_types = self.found.traced[place, index].in_types
            self.found.traced[place, index] = trace(op, in_types, [False] * len(op.defs))
        for place, index, op in self._undefined():
            types = tuple(self.found.types[name] for name in op.vars_out)
            known = None if self._moves_nothing(op) else self.found.traced.get((place, index))
            self.found.traced[place, index] = zeros(types, known)
        for (place, _), traced in self.found.traced.items():
            if traced.doubts:
                raise _ConflictError(traced.doubts[0], place)

    def _widen_failure_codes(self) -> None:
        """Make failure codes integers of a lane if the program's own is known at build time, since it is a result."""
        given_back = [name for name in self.program.vars_out if user_name(name) == FAILURE]
        if not any(name in self.found.types and _decided(self.found.types[name]) for name in given_back):
            return
        for name, type_ in self.found.types.items():
            if user_name(name) == FAILURE and type_.is_static:
                self.found.types[name] = widened(type_)

    def _with_constants(self) -> Iterator[tuple[Place, int, PrimOp]]:
        """The operations that give a known number to a variable that holds numbers of lanes.

        Such a variable is a failure code to which others assign another number, or what an operation gave in an earlier
        visit, when an operand had another type.
        """
        for (place, index), traced in self.found.traced.items():
            op = self.functions[place[0]].graph.block(place[1]).instructions[index]
            pairs = zip(op.defs, traced.out_types, strict=True)
            if isinstance(op, PrimOp) and any(
                _is_known_number(type_) and isinstance(self.found.types[name].tensors, TensorType)
                for name, type_ in pairs
            ):
                yield place, index, op

    def _undefined(self) -> Iterator[tuple[Place, int, PrimOp]]:
        """The reached operations whose result is never read, since the function or statement has failed."""
        for place in self.found.reached:
            for index, op in enumerate(self.functions[place[0]].graph.block(place[1]).instructions):
                traced = self.found.traced.get((place, index))
                if not isinstance(op, PrimOp):
                    continue
                if op.code.is_undefined or (traced is not None and traced.gives_nothing) or self._moves_nothing(op):
                    yield place, index, op

    def _unassigned_are_none(self) -> bool:
        """Give the type of None to a variable that no reached code assigns; return whether there was one."""
        ops = [*(op for _, _, op in self._undefined()), *self._calls_without_exception()]
        missing = [(v, op) for op in ops for v in op.defs if v not in self.found.types]
        for name, op in missing:
            if name not in self.found.types and (isinstance(op, PrimOp) or holds_exception(user_name(name))):
                self._flow(name, Type(None), op.location)
                if holds_exception(user_name(name)):
                    self.nothing.add(name)
        return bool(self.work)

    def _calls_without_exception(self) -> Iterator[FunctionCallOp]:
        """The reached calls of functions that raise none of the exceptions that they have a variable for."""
        for function, block in self.found.reached:
            for op in self.functions[function].graph.block(block).instructions:
                if isinstance(op, FunctionCallOp):
                    results = zip(op.vars_out, self.functions[op.function].vars_out, strict=True)
                    if any(one not in self.found.types and theirs in self.nothing for one, theirs in results):
                        yield op

    def _passes_a_type(self) -> bool:
        """Give a result of a call that holds no exception the type of its other side; return whether there was one."""
        for function, block in self.found.reached:
            calls = (
                op for op in self.functions[function].graph.block(block).instructions if isinstance(op, FunctionCallOp)
            )
            pairs = (
                pair for op in calls for pair in zip(op.vars_out, self.functions[op.function].vars_out, strict=True)
            )
            for one, other in (sides for pair in pairs for sides in (pair, pair[::-1])):
                types = self.found.types
                is_known = one in types and other in types and types[other] != Type(None)
                if one in self.nothing and is_known and types[one] == Type(None):
                    types[one] = types[other]
                    return True
        return False

    def _moves_nothing(self, op: PrimOp) -> bool:
        """Whether an operation moves an exception from one variable to another, and there is none as far as is known.

        The type of another exception may flow to the same variable.
        """
        if not all(holds_exception(user_name(name)) for name in (*op.vars_in, *op.vars_out)) or not op.vars_in:
            return False
        return any(name not in self.found.types or name in self.nothing for name in op.vars_in)

    def _reach(self, function: str, block: str) -> None:
        place = (function, block)
        if place in self.order and place not in self.found.reached:
            self.found.reached.add(place)
            self.work[place] = None

    def _block(self, place: Place) -> None:
        """Infer the types of a block's results, up to the first operation with an operand that has no type yet."""
        function = self.functions[place[0]]
        block = function.graph.block(place[1])
        self.found.stuck.pop(place, None)
        self.waiting.pop(place, None)
        for index, op in enumerate(block.instructions):
            if isinstance(op, PrimOp) and self._moves_nothing(op):
                continue
            if missing := [name for name in op.uses if name not in self.found.types]:
                if not self.made_anew.issuperset(missing):
                    return  # the block is visited again once they have types
                self._tell_early(place, index, op)
                continue
            if isinstance(op, FunctionCallOp):
                if not self._call(function, op) and not self.made_anew.issuperset(op.vars_out):
                    self.found.stuck[place] = op
                    return
            elif isinstance(op, PrimOp) and not self._primitive_or_facts(place, index, op):
                return
        self._leave(place, block)

    def _primitive_or_facts(self, place: Place, index: int, op: PrimOp) -> bool:
        """Infer the types of a primitive's results, or note the facts that it tells; return whether there is either."""
        in_types = [self.found.types[name] for name in op.vars_in]
        if self.told.get((place, index)) == in_types:
            self._make_anew(op)
            return True
        try:
            self._primitive(place, index, op)
        except NotYet as nothing:
            self.waiting[place] = nothing
            return False
        except Tried as told:
            (self.found.expected if told.is_expected else self.found.unexpected).append(told.fact)
            if not told.is_expected:
                self.traceable.update(_tried_callees(self.functions[place[0]], op.location))
        except Learned as learned:
            self.found.learned += learned.facts
            self.told[place, index] = in_types
            self._make_anew(op)
        except HloBatchError as error:
            if not (grows := self._grows_unseen(op, error)):
                worded = self._worded(error, op)
                worded.__cause__ = error.__cause__
                if Type(None) not in in_types or not (self.found.stuck or self.waiting):
                    raise worded from worded.__cause__
                self.waiting[place] = NotYet(worded)  # a call that has no type yet may give the variable a value
                return False
            self.found.learned += [(fact.site, fact) for fact in grows]
            self._make_anew(op)
        return True

    def _grows_unseen(self, op: PrimOp, error: HloBatchError) -> Sequence[Grows]:
        """The facts that would mend an error, if all of them are about containers that grow already.

        They grow since an argument does, which the lowering of the callee does not know.
        """
        grows = [Grows(*name) for name in dict.fromkeys(error.may_grow)]
        types = {unsplit(name): self.found.types[name].tensors for name in op.vars_in}
        is_unseen = (
            fact.depth not in self.growing.get(fact.variable, ()) and _grows_at(types.get(fact.variable), fact.depth)
            for fact in grows
        )
        return grows if all(is_unseen) else ()

    def _make_anew(self, op: PrimOp) -> None:
        """Go on behind an operation that has no types in this round; containers that grow keep the types they have."""
        for name, before in zip(op.vars_out, operands_before(op), strict=True):
            if before is not None and _holds_growing(known := self.found.types[op.vars_in[before]]):
                self._flow(name, known, op.location)
            else:
                self.made_anew.add(name)

    def _tell_early(self, place: Place, index: int, op: Op) -> None:
        """Ask an operation with an operand that has no type in this round for facts about its other operands."""
        if isinstance(op, PrimOp) and (place, index) not in self.told_early:
            self.told_early.add((place, index))
            self.found.learned += told_early(op, [self.found.types.get(name) for name in op.vars_in])
        self.made_anew.update(op.defs)

    def _worded(self, error: HloBatchError, op: PrimOp) -> HloBatchError:
        """The error, worded for values that change between turns if no operand can differ between lanes."""
        differ = [name for name in op.uses if not self.found.types[name].is_static]
        return error if that_may_differ(self.program).intersection(differ) or not differ else error.between_turns()

    def _leave(self, place: Place, block: Block) -> None:
        """Reach the successors of a block; of a branch with a known condition, only the one that it takes."""
        terminator = block.terminator
        if isinstance(terminator, BranchOp):
            if terminator.cond_var not in self.found.types:
                return
            holds = _decided(self.found.types[terminator.cond_var])
            if holds is not None:
                self.found.taken[place] = holds
                self._reach(place[0], terminator.true_block if holds else terminator.false_block)
                return
            self.found.taken.pop(place, None)
        for successor in terminator.successors:
            self._reach(place[0], successor)

    def _primitive(self, place: Place, index: int, op: PrimOp) -> None:
        """Trace a primitive if the type of an operand has changed, and join the types of its results into variables."""
        if op.code.deletes or op.code.is_undefined or (self.looks_on and not op.defs):
            return
        in_types = tuple(self.found.types[name] for name in op.vars_in)
        before = self.found.traced.get((place, index))
        if before is None or before.in_types != in_types:
            once = (self.definitions[name] == 1 or user_name(name) == FAILURE for name in op.vars_out)
            keep = [is_one and name not in self.results for is_one, name in zip(once, op.vars_out, strict=True)]
            before = trace(op, in_types, keep)
            self.found.traced[place, index] = before
            self.found.learned += before.learned
        gives = zip(op.vars_out, before.out_types, before.written_types, strict=True)
        for name, type_, written in gives:
            if is_no_value(type_):
                continue
            self._flow(name, written, op.location, widen=written != type_)

    def _call(self, caller: Function, op: FunctionCallOp) -> bool:
        """Pass arguments in and results out; return whether the callee is known to return.

        If the arguments' types do not fit those of other calls, it learns that the call needs a copy of the callee.
        """
        callee = self.functions[op.function]
        self.called_from.setdefault(callee.name, (caller.name, op.location))
        adopt = caller.name != MAIN and self.calls.is_recursive(callee.name)
        for parameter, argument in zip(callee.vars_in, op.vars_in, strict=True):
            type_, old = self.found.types[argument], self.found.types.get(parameter)
            optional: bool | None = self._is_optional(argument) or any(
                differs_by_lane(t) for t in (type_, old) if t is not None
            )
            if old is not None and old != type_ and makes_kinds(old, type_):
                optional = None  # each kind has a copy of the function
            try:
                if optional is None and old is not None and old.grows:  # the join of containers would hold both
                    raise BatchTypeError(
                        f"two calls of a function are given items of several types: one is {type_}, the other {old}",
                        op.location,
                        help="make the items of one type, or write a function for each.",
                    )
                self._flow(parameter, type_, op.location, widen=adopt and type_ != old, optional=optional)
            except BatchTypeError as error:
                if op.site is None or self._needs_ever_more_copies(caller.name, callee.name, parameter, type_, error):
                    raise
                types = tuple(widened(self.found.types[name]).strong for name in op.vars_in)
                copy = Copy(types, through_calls(error, caller.name, self.called_from))
                self.found.learned.append((op.site, copy))
                self.made_anew.update(op.vars_out)
                return False
        self._reach(callee.name, callee.graph.enter_block().name)
        known = {result for result in callee.vars_out if result in self.found.types}
        missing = [one for one, theirs in zip(op.vars_out, callee.vars_out, strict=True) if theirs not in known]
        if not self.made_anew.issuperset(missing) and not any(user_name(result) == FAILURE for result in known):
            return False
        for name, result in zip(op.vars_out, callee.vars_out, strict=True):
            if (
                result in known and result not in self.nothing
            ):  # a callee that may raise can have a known failure code before its result
                self._flow(name, self.found.types[result], op.location)
        return True

    def _needs_ever_more_copies(
        self, caller: str, callee: str, parameter: str, argument: Type, error: BatchTypeError
    ) -> bool:
        """Whether copies of a recursion's functions for an argument with more items, or a longer text, would never end.

        They end only where the number of items, or the text, decides a branch. If a branch on a lane's value ends a
        recursion that makes a text longer, the text is taken for a lane's, too.
        """
        if caller not in self.calls.reachable[callee]:
            return False
        known, circle = self.found.types[parameter], self._in_circle_with(caller)
        has_longer_text = _letters_in(argument) > _letters_in(known)
        has_more = has_longer_text or (bool(error.may_grow) and len(argument.leaves) > len(known.leaves))
        if not has_more or circle.isdisjoint(name for name, _ in self.found.taken):
            return has_more
        return has_longer_text and any(self._ends_by_lane(self.functions[name], circle) for name in circle)

    def _in_circle_with(self, function: str) -> frozenset[str]:
        """The functions that a recursive function calls, directly or not, and that call it."""
        reachable = self.calls.reachable
        return frozenset(name for name in reachable[function] if function in reachable[name])

    def _ends_by_lane(self, function: Function, circle: Collection[str]) -> bool:
        """Whether a branch on a lane's value, as far as types are known, leads away from all calls of a circle."""
        after = {block.name: block.terminator.targets for block in function.graph}
        recurs = {
            block.name
            for block in function.graph
            if any(isinstance(op, FunctionCallOp) and op.function in circle for op in block.instructions)
        }
        return any(
            recurs.isdisjoint(machine_flow.reachable(after, [side]))
            for block in function.graph
            if isinstance(branch := block.terminator, BranchOp) and branch.cond_var in self.found.types
            for side in (branch.true_block, branch.false_block)
            if (place := (function.name, block.name)) in self.found.reached and place not in self.found.taken
        )

    def _flow(
        self, name: str, type_: Type, location: Location, *, widen: bool = False, optional: bool | None = False
    ) -> None:
        """Join a type into a variable; if its type changed, the blocks that read it have to be visited again.

        Args:
            name: The variable.
            type_: The type.
            location: Where the variable is given a value of the type.
            widen: Whether Python numbers become arrays.
            optional: Whether None and a value have a join; None if not even for a variable that may be None.
        """
        if self.growing:
            type_ = _grown(type_, self.growing.get(unsplit(name), ()), location)
        if name in self.results:  # results are arrays
            type_ = with_texts(Type(jax.tree.map(as_number, type_.tensors, is_leaf=is_pattern)))
        old, joined = self.found.types.get(name), widened(type_) if widen or name in self.results else type_
        optional = optional is not None and (optional or self._is_optional(name))
        try:
            new = joined if old is None else self._joined(name, old, joined, optional)
            for other in [type_, *(other for _, other in self.origins[name] if new != old)]:
                # compare each number by itself, since their join is no longer a known value
                self._join(name, other, new, optional)
        except DisagreementError as reason:
            origins = self.origins[name]
            raise disagreement(name, (location, type_), origins, reason, is_result=name in self.results) from None
        self.origins[name].append((location, type_))
        if new != old:
            self.found.types[name] = new
            places = dict.fromkeys(p for p in self.readers[name] if p in self.found.reached)
            is_one_of_more = old is not None and isinstance(old.tensors, Choice) and isinstance(new.tensors, Choice)
            if places:
                (self.later.setdefault(name, {}) if is_one_of_more else self.work).update(places)

    def _defined_in(self, place: Place) -> Iterator[str]:
        """The variables to which a block assigns."""
        for op in self.functions[place[0]].graph.block(place[1]).instructions:
            yield from op.defs

    def _is_optional(self, name: str) -> bool:
        """Whether None and a value have a join in a variable, or objects of several classes.

        What is left of a variable with such objects, for one statement, may be one of several objects, too.
        """
        return unsplit(name) in self.optional or is_of_one_kind(user_name(name))

    def _join(self, name: str, left: Type, right: Type, optional: bool) -> Type:
        """The join of two types of a variable."""
        if name in self.results:
            return join_of_results(left, right)
        several = unsplit(name) in self.several or (bool(self.several) and is_of_one_kind(user_name(name)))
        return join(left, right, optional=optional, several=several)

    def _joined(self, name: str, old: Type, new: Type, optional: bool) -> Type:
        """The join of two types; failing that, the join of all origins, as where a large integer now meets a float."""
        try:
            return self._join(name, old, new, optional)
        except DisagreementError as reason:
            with contextlib.suppress(DisagreementError):
                pairs = functools.partial(self._join, name, optional=optional)
                return functools.reduce(pairs, [*(origin for _, origin in self.origins[name]), new])
            raise reason from None


def _tried_callees(function: Function, place: Location) -> Iterator[str]:
    """The functions called at the location of an operation that tries a call; tests may stand between the two."""
    ops = (op for block in function.graph for op in block.instructions)
    return (op.function for op in ops if isinstance(op, FunctionCallOp) and op.location == place)


def _holds_growing(type_: Type) -> bool:
    """Whether a type has growing containers."""
    return any(map(is_growing, jax.tree.leaves(type_.tensors, is_leaf=lambda part: is_growing(part) or is_leaf(part))))


def _letters_in(type_: Type) -> int:
    """The number of letters of the known texts of a type."""
    return sum(len(leaf.value) for leaf in type_.leaves if isinstance(leaf, Static) and isinstance(leaf.value, str))


def _grows_at(pattern: Any, depth: int) -> bool:
    """Whether a pattern has growing containers at a nesting depth."""
    return is_growing(pattern) if depth == 0 else any(_grows_at(part, depth - 1) for part in parts_of(pattern))


def _grown(type_: Type, depths: Collection[int], location: Location) -> Type:
    """A type with growing containers at the given nesting depths."""
    try:
        return Type(functools.reduce(grown, depths, type_.tensors)) if depths else type_
    except BatchTypeError as error:
        raise error.at(location) from None


def _results(program: Program) -> frozenset[str]:
    """Variables that hold the program's results, which are arrays even where they are Python numbers in the code."""
    called = [site.op.function for site in CallGraph(program).sites if site.function.name == MAIN]
    given_back = (program.function(name).vars_out[:1] for name in called)  # the result, without the failure code
    return frozenset(program.vars_out[:1]).union(*given_back)


def _readers(program: Program) -> dict[str, list[Place]]:
    """For each variable, the places that depend on its type; a call depends on the results of its callee."""
    readers: dict[str, list[Place]] = collections.defaultdict(list)
    for function in program.all_functions:
        for block in function.graph:
            place = (function.name, block.name)
            names = [name for op in block.ops for name in op.uses]
            for op in block.instructions:
                if isinstance(op, FunctionCallOp):
                    names += program.function(op.function).vars_out
            for name in dict.fromkeys(names):
                readers[name].append(place)
    return readers


def _decided(condition: Type) -> bool | None:
    """The value of a condition that is known when the program is built, else None."""
    leaf = condition.leaves[0] if condition.leaves else None
    return bool(leaf.value) if isinstance(leaf, Static) else None


def _is_known_number(type_: Type) -> bool:
    """Whether a type is that of a number of Python's that is known when the program is built."""
    return isinstance(type_.tensors, Static) and type(type_.tensors.value) in (bool, int, float)


def places(program: Program) -> Iterator[tuple[Place, Block]]:
    """Every block of a program with its place."""
    for function in program.all_functions:
        for block in function.graph:
            yield (function.name, block.name), block
