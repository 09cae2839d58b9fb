"""The functions of blocks -> one turn of the loop, in one of four dispatch forms: how it picks and runs blocks.

| Form        | One turn                                                                              |
|-------------|---------------------------------------------------------------------------------------|
| ``case``    | a ``stablehlo.case`` on the block that the schedule wants (paper figure 5)            |
| ``chain``   | for each block in order: run it while it is the one that the schedule wants           |
| ``guarded`` | for each block in order: run it if anyone waits there                                 |
| ``sweep``   | every block in order, masked, no test at all                                          |

``case`` and ``chain`` ask a schedule (``schedule.py``). In ``guarded`` and ``sweep``, a block that goes on to itself is
run again while most lanes wait at it. In ``chain``, a group of several small blocks may stand for a block
(``analysis/block_groups.py``).

Reference: paper section 3.1, algorithm 2 and figure 5.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch._jax import ir, stablehlo
from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.module.scalars import add, compare, constant, scalar_aval
from hlobatch.lowering.module.splice import Spliced
from hlobatch.lowering.module.while_loop import loop
from hlobatch.lowering.state.layout import PC, Layout, Slots
from hlobatch.lowering.turns.turn import NEXT, Step, Turn

TURNS_BETWEEN_TESTS: Final = 4
"""Turns of a block that goes on to itself, in a sweep, between two tests of whether most lanes are still there."""
MAJORITY: Final = (2, 3)
"""A block that goes on to itself is run again if more than this share, two thirds, of the lanes that have something
left to do wait at it."""
LOOPS_BETWEEN_TESTS: Final = 2
"""Times that several turns are made at once between two tests. A loop over lanes writes to other arrays than it reads,
so one alone would have XLA copy them back; the second one writes to the arrays that the first one has read. With one
lane, there is next to nothing to copy."""
SOMEONE: Final = 0
"""The number that a guarded block that ran leaves in ``NEXT``, which is ``done`` if none ran."""
NOBODY: Final = -1
"""The number that a block that ran leaves in ``NEXT``, in a form that finds the next block once in a turn."""


class Case(Turn):
    """A ``stablehlo.case`` on the next block (the paper's figure 5): each branch gives back the whole state."""

    def run_blocks(self, state: dict[str, Any]) -> None:
        names = list(self.layout.slots)
        for index in self.steps:
            self.count_visit(index, state, _is(index, state[NEXT]))
        operation = stablehlo.CaseOp([state[s].type for s in names], state[NEXT], len(self.groups) + 1)
        for index, region in enumerate(operation.regions):
            with ir.InsertionPoint(region.blocks.append()):
                inner = dict(state)
                if index in self.steps:
                    self.run(self.steps[index], inner)
                stablehlo.return_([inner[s] for s in names])
        state.update(zip(names, operation.results, strict=True))
        self.look(state)


class OneAtATime(Turn):
    """Forms in which a turn goes through the blocks in order, and runs each as long as it is the next one."""

    @cached_property
    def memory(self) -> dict[str, jax.ShapeDtypeStruct]:
        return {f"{NEXT}.{i}": aval for i, aval in enumerate(self.schedule.memory)}

    def run_blocks(self, state: dict[str, Any]) -> None:
        for index, step in self.steps.items():
            if self.left_in_next is None:
                turns = 1 + self.turns_counted[index]
                self.repeat_while(NEXT, partial(_is, index), step, state, endless=True, turns=turns)
            else:
                self.count_visit(index, state, _is(index, state[NEXT]))
                self.repeat_while(NEXT, partial(_is, index), step, state)


class Chain(OneAtATime):
    """A chain in which each step finds the next one, so that a turn runs all blocks that follow each other in order."""

    @property
    def told(self) -> tuple[str, ...]:
        return self.chosen

    def tell(self, slots: Slots) -> list[Any]:
        return self.choose_in(slots)


class ChainOfOne(OneAtATime):
    """A chain in which a turn finds the next block once, and runs that block, or the turnover.

    This is for one CPU, where the tests that pass over all other blocks cost little: a nanosecond each in a run that is
    one kernel. The code that finds the next block is then in the module once, and not after every block, which takes
    less time to compile. Blocks run in the same order as by ``case``.
    """

    left_in_next = NOBODY

    @property
    def told_by_turnover(self) -> tuple[str, ...]:
        return self.told

    def tell_of_turnover(self, slots: Slots) -> list[Any]:
        return self.tell(slots)

    def enter(self, state: dict[str, Any]) -> None:
        state[NEXT] = constant(NOBODY)

    def choose(self, counter: Any, *memory: Any) -> list[Any]:
        following, *remembered = super().choose(counter, *memory)
        if not self.layout.queue:
            return [following, *remembered]
        wanted = self.lanes.wants_turnover(self.schedule.leaving(counter), following)
        kept = [where(wanted, old, new) for old, new in zip(memory, remembered, strict=True)]
        return [where(wanted, self.layout.leave, following), *kept]

    def finder(self, avals: Sequence[Any]) -> Callable[[Sequence[Any]], list[Any]]:
        return self.layout.idiom.outlined(self.splicer, self.choose, avals, "next").call

    def body(self, carried: Slots) -> Slots:
        state = dict(carried)
        self.look(state)
        return super().body(state)

    def turn_over(self, state: dict[str, Any]) -> None:
        self.repeat_while(NEXT, partial(_is, self.layout.leave), self.turnover, state)


class EachInOrder(Turn):
    """Forms in which a turn goes through all blocks in order, and needs no schedule."""

    @property
    def told_by_turnover(self) -> tuple[str, ...]:
        return ()

    @abstractmethod
    def visit(self, index: int, step: Step, state: dict[str, Any]) -> None:
        """Run a block, or pass it over."""

    @cached_property
    def _majority(self) -> Spliced:
        return self.splicer.add(self._is_majority, [self.layout.slots[PC], scalar_aval()], "majority")

    def once(self, state: Slots) -> Slots:
        """The state after a run of a program in which no lane goes back to a block: there is no loop."""
        state = {**state, NEXT: constant(self.layout.done)}
        self.run(self.steps[0], state)  # where every lane begins
        self.visit_all(state, after=1)
        return state

    def visit_all(self, state: dict[str, Any], after: int = 0) -> None:
        """Run or pass over every block in order, without the first ``after``; repeat those that go on to themselves."""
        for index, step in list(self.steps.items())[after:]:
            if not step.turns:
                self.visit(index, step, state)
            elif several := self._several_turns(step):  # no visit before it, which would be the same code once more
                times = LOOPS_BETWEEN_TESTS if self.layout.lanes > 1 else 1
                self._while_majority(index, step, state, [several] * times, at_least_once=True)
            else:
                self.visit(index, step, state)
                self._while_majority(index, step, state, [self.spliced(step)] * TURNS_BETWEEN_TESTS)

    def _while_majority(
        self,
        index: int,
        step: Step,
        state: dict[str, Any],
        runs: Sequence[Spliced],
        *,
        at_least_once: bool = False,
    ) -> None:
        """Run a block that goes on to itself while most of the lanes that have something left to do wait at it."""

        def wanted(counter: Any) -> Any:
            return self.splicer.call(self._majority, [counter, constant(index)])[0]

        turns = 1 + len(runs) * self.turns_counted[index]
        self.repeat_while(PC, wanted, step, state, endless=True, runs=runs, turns=turns, at_least_once=at_least_once)

    def _several_turns(self, step: Step) -> Spliced | None:
        """The step as one loop over lanes that make several turns each (unroll-and-jam); None if it cannot be one."""
        if self.told:
            return None
        given = self.given(step)
        several = self.layout.idiom.several_turns(step.code.run, given, step.code.writes, PC)
        if several is None:
            return None
        return self.splicer.add(several, list(given.values()), f"{step.name}.turns")

    def _is_majority(self, counter: Any, index: Any) -> list[Any]:
        here = jnp.sum(counter == index, dtype=jnp.int32)
        part, whole = MAJORITY
        are_most = whole * here > part * jnp.sum(counter < self.layout.blocks, dtype=jnp.int32)
        if not self.layout.queue:
            return [are_most]
        return [are_most & ~self.lanes.are_enough(self.schedule.leaving(counter))]


class Guarded(EachInOrder):
    """A turn runs each block at which a lane waits; ``NEXT`` says whether any block ran.

    If the turnover runs the entry block itself (``beginning.py``), it sets ``NEXT``, too: all lanes that took an input
    may be done with it already, so that no other block runs, and the loop must go on even so.
    """

    left_in_next = SOMEONE

    @property
    def told_by_turnover(self) -> tuple[str, ...]:
        return self.told if self.lanes.beginning else ()

    def tell_of_turnover(self, slots: Slots) -> list[Any]:
        return self.tell(slots) if self.told_by_turnover else []

    @cached_property
    def _anyone(self) -> Spliced:
        avals = [self.layout.slots[PC], scalar_aval()]
        return self.splicer.add(lambda counter, index: [jnp.any(counter == index)], avals, "anyone")

    def turn_over(self, state: dict[str, Any]) -> None:
        self.look(state)
        wanted = self.wants_turnover(state)
        state[NEXT] = constant(self.layout.done)
        self.once_if(wanted, self.turnover, state)

    def run_blocks(self, state: dict[str, Any]) -> None:
        if not self.layout.queue:
            state[NEXT] = constant(self.layout.done)
        self.visit_all(state)

    def visit(self, index: int, step: Step, state: dict[str, Any]) -> None:
        (here,) = self.splicer.call(self._anyone, [state[PC], constant(index)])
        self.count_visit(index, state, here)
        self.once_if(here, step, state)


class Sweep(EachInOrder):
    """A turn runs every block, masked, as many times as there are ``rounds``."""

    def visit(self, index: int, step: Step, state: dict[str, Any]) -> None:
        self.count_visit(index, state)
        self.run(step, state)

    def run_blocks(self, state: dict[str, Any]) -> None:
        if self.rounds == 1:
            self.visit_all(state)
        else:
            self._repeatedly(state)
        self.look(state)

    def _repeatedly(self, state: dict[str, Any]) -> None:
        """Run all blocks ``rounds`` times, in a counted loop, whose test reads nothing of the lanes."""
        names = [*self.layout.slots, *self.counted]

        def turn(carried: Sequence[Any]) -> list[Any]:
            count, *values = carried
            inner = dict(zip(names, values, strict=True))
            self.visit_all(inner)
            return [add(count, constant(1)), *(inner[name] for name in names)]

        _, *values = loop(
            [constant(0), *(state[name] for name in names)],
            lambda carried: compare(carried[0], constant(self.rounds), "LT"),
            turn,
        )
        state.update(zip(names, values, strict=True))


class SweepInSteps(Sweep):
    """A sweep in which an optimization barrier follows each block, for programs with stacks on accelerators.

    The compiler of an accelerator fuses the blocks of a turn, and computes a pop at each use of the popped value. A
    stack is then read after it was written, and so has to be copied in each turn: 11 MB for 10,000 lanes of 10 queens.
    """

    def visit(self, index: int, step: Step, state: dict[str, Any]) -> None:
        super().visit(index, step, state)
        slots = list(self.layout.slots)
        held = stablehlo.OptimizationBarrierOp([state[slot] for slot in slots]).results
        state.update(zip(slots, held, strict=True))


def _is(index: int, following: Any) -> Any:
    return compare(following, constant(index), "EQ")


CASE: Final = "case"
_FORMS: Final[Mapping[str, type[Turn]]] = {CASE: Case, "chain": Chain, "guarded": Guarded, "sweep": Sweep}
FORMS: Final = tuple(_FORMS)
SWEEPS: Final = ("guarded", "sweep")


def turn_of(form: str, layout: Layout) -> type[Turn]:
    """The class that builds a turn in one of ``FORMS``.

    A chain of one lane is the plain ``Chain``: to find the next block, it only reads the lane's program counter.
    """
    if form == "chain" and layout.idiom.finds_next_once and layout.lanes > 1:
        return ChainOfOne
    if form == "sweep" and layout.buffers and layout.idiom.holds_stacks:
        return SweepInSteps
    return _FORMS[form]
