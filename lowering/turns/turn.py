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
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.analysis.slow_operations import seconds_of, turns_counted
from hlobatch.lowering.blocks.block import BlockFunction
from hlobatch.lowering.module.scalars import add, both, compare, constant, false, scalar_aval, select
from hlobatch.lowering.module.splice import Spliced, Splicer
from hlobatch.lowering.module.tie import tied
from hlobatch.lowering.module.trim import Trimmed, trimmed
from hlobatch.lowering.module.while_loop import loop
from hlobatch.lowering.state.layout import HEAD, PC, Layout, Slots
from hlobatch.lowering.turns.lanes import Lanes
from hlobatch.lowering.turns.schedule import Schedule
from hlobatch.typing import ArrayLike

NEXT: Final = "next"
"""The slot, beside the state, of the group that runs next, at the end of a turn. It is ``done`` or more only if no lane
has anything left to do, which is when the loop ends. Forms without a schedule keep a number that tells only this."""
LEFT: Final = "left"
"""The slot, beside the state, of the turns that are left in a stretch. The loop counts it down, and so do loops inside
of it that may be endless."""


@dataclass(frozen=True)
class Step:
    """A piece of a turn, which becomes a function of the module: a group of blocks, or the turnover.

    Attributes:
        name: The name of the function.
        code: The function, from slots, inputs and fixed values to slots.
        turns: Whether it is a block that may go on to itself.
    """

    name: str
    code: Trimmed
    turns: bool = False


@dataclass
class Turn(ABC):
    """Builds one turn of the loop; a subclass for each form of dispatch.

    Attributes:
        layout: The layout of the state.
        lanes: How inputs enter lanes and results leave them.
        splicer: Adds functions to the module.
        groups: The functions of the blocks; the blocks of a group run in one step.
        fixed: By name, the values that no turn changes: shared values, captured arrays, and the module's inputs.
        avals: Shapes and dtypes of the state and of the fixed values.
        schedule: Finds the next group, in the forms that run one group at a time.
        rounds: Times that all blocks are run in a turn of a ``sweep``.
        light_ties: Whether blocks are tied to their loops by as few selects as will do.
    """

    layout: Layout
    lanes: Lanes
    splicer: Splicer
    groups: Sequence[Sequence[BlockFunction]]
    fixed: Slots
    avals: Mapping[str, Any]
    schedule: Schedule
    rounds: int = 1
    light_ties: bool = True
    _spliced: dict[str, Spliced] = field(init=False, default_factory=dict)

    # Hooks of a form

    @property
    def told(self) -> tuple[str, ...]:
        """Slots that a step writes besides the state. If it writes any, it can stand in a loop that tests them."""
        return ()

    def tell(self, slots: Slots) -> list[Any]:
        """The values of ``told``, after a step."""
        del slots
        return []

    @property
    def told_by_turnover(self) -> tuple[str, ...]:
        """Slots that the turnover writes besides the state: the next group, unless the form finds it afterwards."""
        return self.chosen

    def tell_of_turnover(self, slots: Slots) -> list[Any]:
        """The values of ``told_by_turnover``, after the turnover."""
        return self.choose_in(slots) if self.told_by_turnover else []

    @cached_property
    def memory(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Slots of the schedule's memory, in a form that asks it after each step."""
        return {}

    @property
    def chosen(self) -> tuple[str, ...]:
        """The slots of a choice: the next group, and the schedule's memory."""
        return (NEXT, *self.memory)

    def enter(self, state: dict[str, Any]) -> None:
        """Set ``NEXT`` and the schedule's memory before the first turn."""
        self.look(state)

    @abstractmethod
    def run_blocks(self, state: dict[str, Any]) -> None:
        """Run the blocks of a turn."""

    # Parts of the loop

    @cached_property
    def steps(self) -> Mapping[int, Step]:
        """The step of each group, by its number."""
        return {index: self._group_step(group) for index, group in enumerate(self.groups)}

    @cached_property
    def _find(self) -> Callable[[Sequence[Any]], list[Any]]:
        avals = [self.layout.slots[PC], *self.memory.values()]
        return partial(self.splicer.call, self.splicer.add(self.choose, avals, "next"))

    @property
    def counted(self) -> list[str]:
        """The slot in which turns are counted down, if they are."""
        return [LEFT] if self.layout.stretches else []

    def entering(self, state: Slots, turns: Sequence[Any] = ()) -> dict[str, Any]:
        """The values that the loop carries: the state, ``NEXT``, the schedule's memory, and the turns it may make."""
        carried = {**state, **dict(zip(self.counted, turns, strict=True))}
        if self.memory:
            blank = self.splicer.add(lambda: [jnp.zeros(a.shape, a.dtype) for a in self.memory.values()], [], "memory")
            carried.update(zip(self.memory, self.splicer.call(blank, []), strict=True))
        self.enter(carried)
        return carried

    def condition(self, carried: Slots) -> Any:
        """Whether the loop makes another turn: a lane has something left to do, and counted turns are left."""
        return self.while_left(compare(carried[NEXT], constant(self.layout.done), "LT"), *self._left(carried))

    def while_left(self, wanted: Any, *left: Any) -> Any:
        """Whether a loop makes another turn: if it is ``wanted``, and if turns are left, where they are counted."""
        return both(wanted, compare(left[0], constant(0), "GT")) if left else wanted

    def count_down(self, state: dict[str, Any], turns: int = 1) -> None:
        """Subtract some turns from those that are left, if they are counted."""
        state.update({slot: add(state[slot], constant(-turns)) for slot in self.counted})

    def count_visit(self, index: int, state: dict[str, Any], is_run: Any = None) -> None:
        """Subtract the turns that a visit of a group counts, if ``is_run``, a scalar, says that there is one."""
        if turns := self.turns_counted[index]:
            less = constant(-turns) if is_run is None else select(is_run, constant(-turns), constant(0))
            state[LEFT] = add(state[LEFT], less)

    @cached_property
    def turns_counted(self) -> Mapping[int, int]:
        """For each group, as how many turns a visit counts besides the one that it is made in."""
        if not self.counted:
            return dict.fromkeys(range(len(self.groups)), 0)
        program, lanes = self.layout.program, self.layout.lanes
        seconds = (sum(seconds_of(program, block.block) for block in group) for group in self.groups)
        return {index: turns_counted(lanes * each) for index, each in enumerate(seconds)}

    def _left(self, carried: Slots) -> list[Any]:
        return [carried[slot] for slot in self.counted]

    def body(self, carried: Slots) -> Slots:
        """The values that the loop carries after one turn."""
        state = dict(carried)
        if self.layout.queue:
            self.turn_over(state)
        self.run_blocks(state)
        self.count_down(state)
        return state

    # Parts of forms

    def choose(self, counter: ArrayLike, *memory: Any) -> list[Any]:
        """The next group and the schedule's new memory; given no memory, the group of a first choice alone."""
        known = memory or [jnp.zeros(aval.shape, aval.dtype) for aval in self.schedule.memory]
        return list(self.schedule.choose(counter, *known))[: 1 + len(memory)]

    def choose_in(self, slots: Slots) -> list[Any]:
        """The next group and the schedule's memory, computed from slots in a function of the module."""
        return self.choose(slots[PC], *(slots[slot] for slot in self.memory))

    def look(self, state: dict[str, Any]) -> None:
        """Find the next group again, and set the slots of the choice."""
        found = self._find([state[PC], *(state[slot] for slot in self.memory)])
        state.update(zip(self.chosen, found, strict=True))

    def turn_over(self, state: dict[str, Any]) -> None:
        """Run the turnover if enough lanes are done."""
        self.once_if(self.wants_turnover(state), self.turnover, state)

    def wants_turnover(self, state: Slots) -> Any:
        """Whether it is time for a turnover, a boolean scalar of the module."""
        avals = [self.layout.slots[PC], scalar_aval()]
        wish = self.splicer.add(
            lambda counter, following: [self.lanes.wants_turnover(self.schedule.leaving(counter), following)],
            avals,
            "wants_turnover",
        )
        (wanted,) = self.splicer.call(wish, [state[PC], state[NEXT]])
        return wanted

    def spliced(self, step: Step) -> Spliced:
        """The function of the module that a step is; it is added when it is first asked for."""
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
        """Emit a call of a step."""
        self._call(self.spliced(step), step, state)

    def _call(self, function: Spliced, step: Step, state: dict[str, Any]) -> None:
        """Emit a call of a function that takes and gives back the slots that a step does."""
        operands = [state[slot] if slot in state else self.fixed[slot] for slot in step.code.reads]
        state.update(zip(step.code.writes, self.splicer.call(function, operands), strict=True))

    def once_if(self, condition: Any, step: Step, state: dict[str, Any]) -> None:
        """Run a step once if a scalar holds, by a loop that carries a flag: whether the step has still to run."""
        self._loop(step, state, lambda carried: carried[-1], condition)

    def repeat_while(
        self,
        slot: str,
        wanted: Callable[[Any], Any],
        step: Step,
        state: dict[str, Any],
        *,
        endless: bool = False,
        times: int = 1,
        turns: int = 1,
    ) -> None:
        """Run a step, some times in a row, as long as a condition on a slot that it writes holds.

        Args:
            slot: The slot.
            wanted: The condition, from the value of the slot to a boolean scalar.
            step: The step.
            state: All slots; those that the step writes are changed.
            endless: Whether the condition may hold for ever, so that turns are counted down as in the loop around it.
            times: How often it runs between two tests.
            turns: As how many turns one of the loop counts.
        """
        names = [*step.code.writes, *(self.counted if endless else ())]

        def again(carried: Sequence[Any]) -> Any:
            now = dict(zip(names, carried, strict=False))
            return self.while_left(wanted(now[slot]), *(now[left] for left in self.counted if endless))

        self._loop(step, state, again, endless=endless, times=times, turns=turns)

    def _loop(
        self,
        step: Step,
        state: dict[str, Any],
        wanted: Callable[[Sequence[Any]], Any],
        *flag: Any,
        endless: bool = False,
        times: int = 1,
        turns: int = 1,
    ) -> None:
        """Run a step, some times in a row, in each turn of a loop that carries what the step writes, and a flag."""
        names = [*step.code.writes, *(self.counted if endless else ())]

        def turn(carried: Sequence[Any]) -> list[Any]:
            inner = {**state, **dict(zip(names, carried, strict=False))}
            for _ in range(times):
                self.run(step, inner)
            if endless:
                self.count_down(inner, turns)
            return [*(inner[slot] for slot in names), *(false() for _ in flag)]

        results = loop([*(state[slot] for slot in names), *flag], wanted, turn)
        state.update(zip(names, results, strict=False))

    # Steps

    def _group_step(self, group: Sequence[BlockFunction]) -> Step:
        """The step that runs the blocks of a group one after the other, and then computes ``told``."""
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
        if in_loop:
            outside = {top for v in self.layout.in_place for top in self.layout.tops(v)}
            # Buffers are left out: a stack is read at a pointer that the loop changes, so nothing moves out.
            registers = self.layout.slots.keys() - self.layout.buffers | outside
            scalar = next(slot for slot in (NEXT, HEAD) if slot in part.writes)
            unchanged = [slot for slot in part.reads if slot in registers and slot not in part.writes]
            part = tied(part, unchanged, scalar, lightly=self.light_ties)
        return Step(name, part)
