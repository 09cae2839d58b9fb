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
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch._jax import ir, stablehlo
from hlobatch.lowering.module.scalars import add, compare, constant, scalar_aval
from hlobatch.lowering.module.splice import Spliced
from hlobatch.lowering.module.while_loop import loop
from hlobatch.lowering.state.layout import PC, Layout, Slots
from hlobatch.lowering.turns.turn import NEXT, Step, Turn
from hlobatch.typing import ArrayLike

TURNS_BETWEEN_TESTS: Final = 4
"""Turns of a block that goes on to itself, in a sweep, between two tests of whether most lanes are still there."""
MAJORITY: Final = (2, 3)
"""A block that goes on to itself is run again if more than this share, two thirds, of the lanes that have something
left to do wait at it."""
SOMEONE: Final = 0
"""The number that a guarded block that ran leaves in ``NEXT``, which is ``done`` if none ran."""


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


class Chain(Turn):
    """A chain, in which a turn goes through the blocks in order, and runs each as long as it is the next one.

    Each step finds the next one, so that a turn runs all blocks that follow each other in order.
    """

    @cached_property
    def memory(self) -> dict[str, jax.ShapeDtypeStruct]:
        return {f"{NEXT}.{i}": aval for i, aval in enumerate(self.schedule.memory)}

    @property
    def told(self) -> tuple[str, ...]:
        return self.chosen

    def tell(self, slots: Slots) -> list[Any]:
        return self.choose_in(slots)

    def run_blocks(self, state: dict[str, Any]) -> None:
        for index, step in self.steps.items():
            turns = 1 + self.turns_counted[index]
            self.repeat_while(NEXT, partial(_is, index), step, state, endless=True, turns=turns)


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
            else:
                self.visit(index, step, state)
                self._while_majority(index, step, state)

    def _while_majority(self, index: int, step: Step, state: dict[str, Any]) -> None:
        """Run a block that goes on to itself while most of the lanes that have something left to do wait at it."""

        def wanted(counter: ArrayLike) -> Any:
            return self.splicer.call(self._majority, [counter, constant(index)])[0]

        turns = 1 + TURNS_BETWEEN_TESTS * self.turns_counted[index]
        self.repeat_while(PC, wanted, step, state, endless=True, times=TURNS_BETWEEN_TESTS, turns=turns)

    def _is_majority(self, counter: ArrayLike, index: Any) -> list[Any]:
        here = jnp.sum(counter == index, dtype=jnp.int32)
        part, whole = MAJORITY
        are_most = whole * here > part * jnp.sum(counter < self.layout.blocks, dtype=jnp.int32)
        if not self.layout.queue:
            return [are_most]
        return [are_most & ~self.lanes.are_enough(self.schedule.leaving(counter))]


class Guarded(EachInOrder):
    """A turn runs each block at which a lane waits; ``NEXT`` says whether any block ran."""

    @property
    def told(self) -> tuple[str, ...]:
        return (NEXT,)

    def tell(self, slots: Slots) -> list[Any]:
        del slots
        return [jnp.int32(SOMEONE)]

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
    """The class that builds a turn in one of ``FORMS``."""
    if form == "sweep" and layout.buffers and layout.holds_stacks:
        return SweepInSteps
    return _FORMS[form]
