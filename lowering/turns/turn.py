"""The state -> the state after one turn of the loop: a turnover, then blocks run, as ``dispatch.py`` says.

A block that may be passed over stands in a ``stablehlo.while`` that turns once or not at all. Such a loop carries only
the slots that the block writes, which XLA updates in place, so that passing over costs one test. A conditional would be
slower: it gives back results from each of its branches, and XLA copies many of them, even in a branch that does
nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Final

import jax
import jax.numpy as jnp

from hlobatch.lowering.blocks.block import BlockFunction
from hlobatch.lowering.module.scalars import add, both, compare, constant, either, false, scalar_aval, true
from hlobatch.lowering.module.splice import Spliced, Splicer
from hlobatch.lowering.module.tie import tied
from hlobatch.lowering.module.trim import Trimmed, trimmed
from hlobatch.lowering.module.while_loop import loop
from hlobatch.lowering.state.layout import COUNTER, HEAD, Layout, Slots
from hlobatch.lowering.turns.lanes import Lanes
from hlobatch.lowering.turns.schedule import Schedule

NEXT: Final = "next"
"""Carried beside the state: at the end of a turn a counter, or a group, that is none only if nobody is left."""
LEFT: Final = "left"
"""Carried beside it by a loop that goes in stretches, and by those in it that may be endless: turns left to them."""


@dataclass(frozen=True)
class Step:
    """A piece of a turn.

    Attributes:
        name: Of the function of the module that it is.
        code: From slots, inputs and fixed values to slots.
        turns: Whether it is a block that may go on to itself.
    """

    name: str
    code: Trimmed
    turns: bool = False


@dataclass
class Turn(ABC):
    """Builds one turn of the loop; a subclass for each form of dispatch.

    Attributes:
        layout: The state.
        lanes: Entering and leaving.
        splicer: The module.
        groups: The blocks' functions, those together that run in one step.
        fixed: Values that do not change, by name: shared values, captured arrays, and the module's inputs.
        avals: Of the state and of those.
        schedule: Finds the next group, in the forms that run one at a time.
        rounds: Times that all blocks are run in a turn, in the form that runs all of them.
        moves_out_of_loops: Whether XLA moves out of a loop what does not change in it.
        light_ties: Whether blocks are tied to their loops by as little as will do.
    """

    layout: Layout
    lanes: Lanes
    splicer: Splicer
    groups: Sequence[Sequence[BlockFunction]]
    fixed: Slots
    avals: Mapping[str, Any]
    schedule: Schedule
    rounds: int = 1
    moves_out_of_loops: bool = True
    light_ties: bool = True
    _spliced: dict[str, Spliced] = field(init=False, default_factory=dict)

    # What a form says

    left_in_next: ClassVar[int | None] = None
    """What a step that ran leaves in ``NEXT``, where that is all it tells."""

    @property
    def told(self) -> tuple[str, ...]:
        """What a step writes besides the state. A form whose steps write something there can pass them over."""
        return () if self.left_in_next is None else (NEXT,)

    def tell(self, slots: Slots) -> list[Any]:
        """The values of ``told``, after a step."""
        del slots
        return [] if self.left_in_next is None else [jnp.int32(self.left_in_next)]

    @property
    def told_by_turnover(self) -> tuple[str, ...]:
        """What the turnover writes besides: it finds the next group anew, or else the form does after it."""
        return self.chosen

    def tell_of_turnover(self, slots: Slots) -> list[Any]:
        """The values of that."""
        return self.choose_in(slots) if self.told_by_turnover else []

    @cached_property
    def memory(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Slots of what the schedule remembers, in a form that asks it after each step."""
        return {}

    @property
    def chosen(self) -> tuple[str, ...]:
        """The slots of a choice: the next group, and what the schedule remembers."""
        return (NEXT, *self.memory)

    def enter(self, state: dict[str, Any]) -> None:
        """Before the first turn."""
        self.look(state)

    @abstractmethod
    def run_blocks(self, state: dict[str, Any]) -> None:
        """The blocks of a turn."""

    # What the loop is built of

    @cached_property
    def steps(self) -> Mapping[int, Step]:
        """One for each group, by its number; the first one is not among them if inputs have been through it."""
        groups = list(enumerate(self.groups))
        return {index: self._group_step(group) for index, group in groups[self.lanes.beginning is not None :]}

    @cached_property
    def _find(self) -> Callable[[Sequence[Any]], list[Any]]:
        return self.finder([self.layout.slots[COUNTER], *self.memory.values()])

    def finder(self, avals: Sequence[Any]) -> Callable[[Sequence[Any]], list[Any]]:
        """Make ``choose`` part of the module; what calls it there."""
        return partial(self.splicer.call, self.splicer.add(self.choose, avals, "next"))

    @property
    def counted(self) -> list[str]:
        """The slot in which turns are counted down, if they are."""
        return [LEFT] if self.layout.stretches else []

    def entering(self, state: Slots, turns: Sequence[Any] = ()) -> dict[str, Any]:
        """What the loop carries: the state, ``NEXT``, what the schedule remembers, and the turns it may make."""
        carried = {**state, **dict(zip(self.counted, turns, strict=True))}
        if self.memory:
            blank = self.splicer.add(lambda: [jnp.zeros(a.shape, a.dtype) for a in self.memory.values()], [], "memory")
            carried.update(zip(self.memory, self.splicer.call(blank, []), strict=True))
        self.enter(carried)
        return carried

    def condition(self, carried: Slots) -> Any:
        """Whether anyone has something left to do."""
        return self.while_left(compare(carried[NEXT], constant(self.layout.done), "LT"), *self._left(carried))

    def while_left(self, wanted: Any, *left: Any) -> Any:
        """Whether a loop turns that would if turns were not counted, given how many it may yet make, if they are."""
        return both(wanted, compare(left[0], constant(0), "GT")) if left else wanted

    def count_down(self, state: dict[str, Any]) -> None:
        """Take one from the turns that are left."""
        state.update({slot: add(state[slot], constant(-1)) for slot in self.counted})

    def _left(self, carried: Slots) -> list[Any]:
        return [carried[slot] for slot in self.counted]

    def body(self, carried: Slots) -> Slots:
        """What the loop carries after one turn."""
        state = dict(carried)
        if self.layout.queue:
            self.turn_over(state)
        self.run_blocks(state)
        self.count_down(state)
        return state

    # What forms are built of

    def choose(self, counter: Any, *memory: Any) -> list[Any]:
        """The next group and the memory; with no memory, as in the beginning."""
        known = memory or [jnp.zeros(aval.shape, aval.dtype) for aval in self.schedule.memory]
        return list(self.schedule.choose(counter, *known))[: 1 + len(memory)]

    def choose_in(self, slots: Slots) -> list[Any]:
        """The same, of the state within a function of the module."""
        return self.choose(slots[COUNTER], *(slots[slot] for slot in self.memory))

    def look(self, state: dict[str, Any]) -> None:
        """Find the next group anew."""
        found = self._find([state[COUNTER], *(state[slot] for slot in self.memory)])
        state.update(zip(self.chosen, found, strict=True))

    def turn_over(self, state: dict[str, Any]) -> None:
        """Lanes that are done take new inputs, where enough are."""
        self.once_if(self.wants_turnover(state), self.turnover, state)

    def wants_turnover(self, state: Slots) -> Any:
        """Whether enough lanes are done."""
        avals = [self.layout.slots[COUNTER], scalar_aval()]
        wish = self.splicer.add(
            lambda counter, following: [self.lanes.wants_turnover(self.schedule.leaving(counter), following)],
            avals,
            "wants_turnover",
        )
        (wanted,) = self.splicer.call(wish, [state[COUNTER], state[NEXT]])
        return wanted

    def spliced(self, step: Step) -> Spliced:
        """A step as a function of the module, which it becomes when it is first asked for."""
        if step.name not in self._spliced:
            avals = list(self.given(step).values())
            self._spliced[step.name] = self.splicer.add(step.code.run, avals, step.name)
        return self._spliced[step.name]

    def given(self, step: Step) -> dict[str, Any]:
        """The avals of what a step reads."""
        return {slot: self._known[slot] for slot in step.code.reads}

    @cached_property
    def _known(self) -> Mapping[str, Any]:
        """The avals of all that a step may read."""
        return {**self.avals, NEXT: scalar_aval(), **self.memory}

    def run(self, step: Step, state: dict[str, Any]) -> None:
        """Run a step."""
        self._call(self.spliced(step), step, state)

    def _call(self, function: Spliced, step: Step, state: dict[str, Any]) -> None:
        """Run a function that takes and gives back what a step does."""
        operands = [state[slot] if slot in state else self.fixed[slot] for slot in step.code.reads]
        state.update(zip(step.code.writes, self.splicer.call(function, operands), strict=True))

    def once_if(self, condition: Any, step: Step, state: dict[str, Any]) -> None:
        """Run a step once if a scalar holds: a loop that carries whether it has still to run."""
        self._loop(step, state, lambda carried: carried[-1], condition)

    def repeat_while(
        self,
        slot: str,
        wanted: Callable[[Any], Any],
        step: Step,
        state: dict[str, Any],
        *,
        endless: bool = False,
        runs: Sequence[Spliced] = (),
        at_least_once: bool = False,
    ) -> None:
        """Run a step, or functions like it in a row, as long as something holds of a slot that it writes.

        Args:
            slot: The slot.
            wanted: Whether it holds.
            step: What is run.
            state: Everything; what the step writes changes.
            endless: Whether that may be for ever, so that its turns count as those of the loop around it.
            runs: The functions; the step's own if there are none.
            at_least_once: Whether the first turn is not asked for.
        """
        names = [*step.code.writes, *(self.counted if endless else ())]

        def again(carried: Sequence[Any]) -> Any:
            now = dict(zip(names, carried, strict=False))
            holds = self.while_left(wanted(now[slot]), *(now[left] for left in self.counted if endless))
            return either(carried[-1], holds) if at_least_once else holds

        self._loop(step, state, again, *([true()] if at_least_once else []), endless=endless, runs=runs)

    def _loop(
        self,
        step: Step,
        state: dict[str, Any],
        wanted: Callable[[Sequence[Any]], Any],
        *flag: Any,
        endless: bool = False,
        runs: Sequence[Spliced] = (),
    ) -> None:
        """Run a step, or functions like it, in each turn of a loop that carries what the step writes, and a flag."""
        names = [*step.code.writes, *(self.counted if endless else ())]

        def turn(carried: Sequence[Any]) -> list[Any]:
            inner = {**state, **dict(zip(names, carried, strict=False))}
            for function in runs or (self.spliced(step),):
                self._call(function, step, inner)
            if endless:
                self.count_down(inner)
            return [*(inner[slot] for slot in names), *(false() for _ in flag)]

        results = loop([*(state[slot] for slot in names), *flag], wanted, turn)
        state.update(zip(names, results, strict=False))

    # Steps

    def _group_step(self, group: Sequence[BlockFunction]) -> Step:
        """Blocks in a row, and what the form wants to be told after them."""
        reads = tuple(dict.fromkeys(slot for block in group for slot in block.reads))
        writes = tuple(dict.fromkeys(slot for block in group for slot in block.writes))

        def run(*values: Any) -> list[Any]:
            slots = dict(zip((*reads, *self.told), values, strict=True))
            for block in group:
                slots.update(zip(block.writes, block(*(slots[slot] for slot in block.reads)), strict=True))
            return [*(slots[slot] for slot in writes), *self.tell(slots)]

        name = f"block_{'_'.join(str(block.index) for block in group)}.{group[0].block.name}"
        step = self._step(run, (*reads, *self.told), (*writes, *self.told), name, in_loop=bool(self.told))
        return replace(step, turns=any(block.block.goes_on_to_itself for block in group))

    @cached_property
    def turnover(self) -> Step:
        """Lanes that are done hand in their results and take the next inputs."""
        changed, told = self.lanes.turnover_writes, self.told_by_turnover
        reads = (*self.lanes.turnover_reads, *changed, *told)

        def turnover(*values: Any) -> list[Any]:
            slots = dict(zip(reads, values, strict=True))
            slots.update(self.lanes.turnover(slots))
            return [*(slots[slot] for slot in changed), *self.tell_of_turnover(slots)]

        return self._step(turnover, reads, (*changed, *told), "turnover", in_loop=True)

    def _step(
        self,
        run: Callable[..., Any],
        reads: tuple[str, ...],
        writes: tuple[str, ...],
        name: str,
        *,
        in_loop: bool,
    ) -> Step:
        part = trimmed(run, reads, writes, self._known)
        if in_loop and self.moves_out_of_loops:
            outside = {top for v in self.layout.in_place for top in self.layout.tops(v)}
            registers = (
                self.layout.slots.keys() - self.layout.buffers | outside
            )  # a stack is read where another points to
            scalar = next(slot for slot in (NEXT, HEAD) if slot in part.writes)
            unchanged = [slot for slot in part.reads if slot in registers and slot not in part.writes]
            part = tied(part, unchanged, scalar, lightly=self.light_ties)
        return Step(name, part)
