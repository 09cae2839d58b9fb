"""How one turn of the loop picks and runs blocks.

| Form        | One turn                                                                              |
|-------------|---------------------------------------------------------------------------------------|
| ``case``    | a ``stablehlo.case`` on the block that the schedule wants (paper figure 5)            |
| ``chain``   | for each block in order: run it while it is the one that the schedule wants           |
| ``guarded`` | for each block in order: run it if anyone waits there                                 |
| ``sweep``   | every block in order, masked, no test at all                                          |

``schedule.py`` has the schedules of the first two. In the other two, a block that goes on to itself is run on while
most lanes are there. In ``chain``, what runs is a group of small blocks (``analysis/block_groups.py``), or one block.

A block that may be passed over stands in a ``stablehlo.while`` that turns once or not at all, carries only what the
block writes and captures the rest: XLA updates a loop's state in place, and passing over costs one test. A conditional
must give back its results from every branch, and XLA copies many of them, in the branch that does nothing too.

``chain`` finds the next block anew after each one, so a turn runs as many blocks as follow each other in order. In one
kernel, where a test takes a nanosecond, it finds it once in a turn, which runs one: what finds it stands there once and
not after every block, and takes less long to compile. The schedule, block by block, is exactly that of ``case``.

Reference: paper section 3.1, algorithm 2 and figure 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ir, stablehlo
from hlobatch.lowering.blocks import BlockFunction, Slots
from hlobatch.lowering.lanes import Lanes
from hlobatch.lowering.layout import COUNTER, HEAD, Layout
from hlobatch.lowering.loop import loop
from hlobatch.lowering.schedule import Schedule
from hlobatch.lowering.splice import Spliced, Splicer
from hlobatch.lowering.tie import tied
from hlobatch.lowering.trim import trimmed

EARLIEST: Final = ("case", "chain")
SWEEPS: Final = ("guarded", "sweep")
FORMS: Final = (*EARLIEST, *SWEEPS)

NEXT: Final = "next"
"""Carried beside the state: the group that the schedule wants; in ``guarded``, whether a block ran."""
TURNS: Final = 4
"""Turns of a block that goes on to itself, in a sweep, between two tests of whether most lanes are still there."""
SOMEONE: Final = 0
"""What a guarded block that ran leaves in ``NEXT``; where none did, ``done`` stays there."""
NOBODY: Final = -1
"""What the block that was next leaves in ``NEXT``, where the next one is found once in a turn."""


@dataclass(frozen=True)
class Step:
    """A piece of a turn as functions of the module.

    Attributes:
        reads: Slots, inputs and fixed values it takes.
        writes: Slots it changes.
        run: ``reads -> writes``.
        turns: Whether it is a block that may go on to itself.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    run: Spliced
    turns: bool = False


@dataclass
class Turn:
    """Builds one turn of the loop.

    Attributes:
        form: One of ``FORMS``.
        rounds: Times that all blocks are dispatched in a turn.
        layout: The state.
        lanes: Entering and leaving.
        splicer: The module.
        groups: The blocks' functions, those together that run in one step.
        fixed: Values that do not change, by name: shared values, captured arrays, and the module's inputs.
        schedule: Finds the next block, in the forms that run one at a time.
    """

    form: str
    rounds: int
    layout: Layout
    lanes: Lanes
    splicer: Splicer
    groups: Sequence[Sequence[BlockFunction]]
    fixed: Slots
    schedule: Schedule

    def splice(self, avals: Mapping[str, Any]) -> None:
        """Make every function of the turn part of the module."""
        counter = self.layout.slots[COUNTER]
        avals = {**avals, NEXT: scalar_aval()}
        self.memory = self._memory()
        avals |= self.memory
        self.next = self.splicer.add(self._choose, [counter, *self.memory.values()], "next")
        self.steps = [self._group_step(group, avals) for group in self.groups]
        if self.form == "guarded":
            self.anyone = self.splicer.add(lambda pc, i: [jnp.any(pc == i)], [counter, scalar_aval()], "anyone")
        if self.form in SWEEPS:
            self.majority = self.splicer.add(self._is_majority, [counter, scalar_aval()], "majority")
        if self._finds_once:
            self.first = self.splicer.add(lambda pc: [jnp.min(pc)], [counter], "first")
        if self.layout.queue:
            self._splice_turnover(avals)

    @property
    def _finds_once(self) -> bool:
        """Whether the next group is found once in a turn, after its turnover, and not by each step.

        For one lane, finding it is looking at its counter.
        """
        return self.form == "chain" and self.layout.one_kernel and self.layout.lanes > 1

    def _memory(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Slots of what the schedule remembers, in the form that asks it after each step."""
        avals = self.schedule.memory if self.form == "chain" else ()
        return {f"{NEXT}.{i}": aval for i, aval in enumerate(avals)}

    def _choose(self, counter: Any, *memory: Any) -> list[Any]:
        """The next group and the memory; with no memory, as in the beginning."""
        known = memory or [jnp.zeros(aval.shape, aval.dtype) for aval in self.schedule.memory]
        return list(self.schedule.choose(counter, *known))[: 1 + len(memory)]

    def _group_step(self, group: Sequence[BlockFunction], avals: Mapping[str, Any]) -> Step:
        """Blocks in a row; where they may be passed over, they also tell, in ``NEXT``, what their having run means."""
        passed_over = self.form in ("chain", "guarded")
        finds_next = self.form == "chain" and not self._finds_once
        after = (NEXT, *self.memory) if finds_next else (NEXT,) if passed_over else ()
        reads = tuple(dict.fromkeys(slot for block in group for slot in block.reads))
        writes = tuple(dict.fromkeys(slot for block in group for slot in block.writes))

        def run(*values: Any) -> list[Any]:
            slots = dict(zip((*reads, *after), values, strict=True))
            for block in group:
                slots.update(zip(block.writes, block(*(slots[slot] for slot in block.reads)), strict=True))
            results = [slots[slot] for slot in writes]
            if finds_next:
                return results + self._choose(slots[COUNTER], *(slots[slot] for slot in self.memory))
            return [*results, *(jnp.int32(NOBODY if self._finds_once else SOMEONE) for _ in after)]

        name = f"block_{'_'.join(str(block.index) for block in group)}.{group[0].block.name}"
        step = self._step(run, (*reads, *after), (*writes, *after), avals, name, passed_over=passed_over)
        return replace(step, turns=any(block.block.name in block.block.terminator.successors for block in group))

    def _step(
        self,
        run: Callable[..., Any],
        reads: tuple[str, ...],
        writes: tuple[str, ...],
        avals: Mapping[str, Any],
        name: str,
        *,
        passed_over: bool,
    ) -> Step:
        part = trimmed(run, reads, writes, avals)
        if passed_over:
            registers = self.layout.slots.keys() - self.layout.buffers  # a stack is read where something else points to
            scalar = next(slot for slot in (NEXT, HEAD) if slot in part.writes)
            part = tied(part, [slot for slot in part.reads if slot in registers and slot not in part.writes], scalar)
        return Step(part.reads, part.writes, self.splicer.add(part.run, [avals[slot] for slot in part.reads], name))

    def _splice_turnover(self, avals: Mapping[str, Any]) -> None:
        lanes = self.lanes
        inputs = [input_slot(i) for i in range(len(self.layout.input_avals))]
        results, changed = lanes.turnover_results, lanes.turnover_reads
        # the others ask after it, or after their round
        after = (NEXT, *self.memory) if self.form in EARLIEST and not self._finds_once else ()

        def turnover(*values: Any) -> list[Any]:
            slots = dict(zip(reads, values, strict=True))
            given, finished, before = ([slots[name] for name in names] for names in (inputs, results, changed))
            slots.update(zip(changed, lanes.turnover(given, finished, before), strict=True))
            following = self._choose(slots[COUNTER], *(slots[slot] for slot in self.memory)) if after else []
            return [*(slots[slot] for slot in changed), *following]

        reads = (*inputs, *results, *changed, *after)
        self.turnover = self._step(turnover, reads, (*changed, *after), avals, "turnover", passed_over=True)
        self.wants_turnover = self.splicer.add(
            lambda pc, following: [lanes.wants_turnover(pc, following)],
            [self.layout.slots[COUNTER], scalar_aval()],
            "wants_turnover",
        )

    def entering(self, state: Slots) -> Slots:
        """What the loop carries: the state, ``NEXT`` and what the schedule remembers."""
        blank = self.splicer.add(lambda: [jnp.zeros(a.shape, a.dtype) for a in self.memory.values()], [], "memory")
        carried = {**state, **dict(zip(self.memory, self.splicer.call(blank, []), strict=True))}
        if self._finds_once:
            return {**carried, NEXT: constant(NOBODY)}
        self._look(carried)
        return carried

    def condition(self, carried: Slots) -> Any:
        """Whether anyone has something left to do."""
        return compare(self._first(carried), constant(self.layout.done), "LT")

    def _first(self, carried: Slots) -> Any:
        """A counter that is at or past ``leave``, or ``done``, if and only if all counters are."""
        return self.splicer.call(self.first, [carried[COUNTER]])[0] if self._finds_once else carried[NEXT]

    def body(self, carried: Slots) -> Slots:
        """What the loop carries after one turn."""
        state = dict(carried)
        if self.layout.queue:
            if self.form == "guarded":
                self._look(state)
            (wanted,) = self.splicer.call(self.wants_turnover, [state[COUNTER], self._first(state)])
            self._once_if(wanted, self.turnover, state)
        if self.form == "guarded":
            state[NEXT] = constant(self.layout.done)
        if self._finds_once:
            self._look(state)
        if self.rounds == 1:
            self._round(state)
        else:
            self._repeated(state)
        if self.form in ("case", "sweep"):
            self._look(state)
        return state

    def _repeated(self, state: Slots) -> None:
        """Several rounds, in a loop whose test is a count."""
        names = list(self.layout.slots)

        def turn(carried: Sequence[Any]) -> list[Any]:
            count, *values = carried
            inner = dict(zip(names, values, strict=True))
            self._round(inner)
            return [stablehlo.add(count, constant(1)), *(inner[name] for name in names)]

        _, *values = loop(
            [constant(0), *(state[name] for name in names)],
            lambda carried: compare(carried[0], constant(self.rounds), "LT"),
            turn,
        )
        state.update(zip(names, values, strict=True))

    def _round(self, state: Slots) -> None:
        """Dispatch every block once."""
        if self.form == "case":
            self._case(state)
        for index, step in enumerate(self.steps if self.form != "case" else ()):
            if self.form == "chain":
                self._while_next(index, step, state)
                continue
            if self.form == "sweep":
                self._run(step, state)
            else:
                (here,) = self.splicer.call(self.anyone, [state[COUNTER], constant(index)])
                self._once_if(here, step, state)
            if step.turns:
                self._while_majority(index, step, state)

    def _look(self, state: Slots) -> None:
        """Find the next group anew."""
        found = self.splicer.call(self.next, [state[COUNTER], *(state[slot] for slot in self.memory)])
        state.update(zip((NEXT, *self.memory), found, strict=True))

    def _operands(self, step: Step, state: Slots) -> list[Any]:
        return [state[slot] if slot in state else self.fixed[slot] for slot in step.reads]

    def _run(self, step: Step, state: Slots) -> None:
        results = self.splicer.call(step.run, self._operands(step, state))
        state.update(zip(step.writes, results, strict=True))

    def _while_next(self, index: int, step: Step, state: Slots) -> None:
        """Run a block as long as it is the next one."""
        position = step.writes.index(NEXT)
        self._loop(step, state, lambda carried: compare(carried[position], constant(index), "EQ"))

    def _while_majority(self, index: int, step: Step, state: Slots) -> None:
        """Run a block that goes on to itself as long as most lanes that have something left to do stand there."""
        position = step.writes.index(COUNTER)

        def wanted(carried: Sequence[Any]) -> Any:
            return self.splicer.call(self.majority, [carried[position], constant(index)])[0]

        self._loop(step, state, wanted, times=TURNS)

    def _is_majority(self, counter: Any, index: Any) -> list[Any]:
        here = jnp.sum(counter == index, dtype=jnp.int32)
        return [2 * here > jnp.sum(counter < self.layout.done, dtype=jnp.int32)]

    def _once_if(self, condition: Any, step: Step, state: Slots) -> None:
        """Run a step once if a scalar holds: a loop that carries whether it has still to run."""
        self._loop(step, state, lambda carried: carried[-1], condition)

    def _loop(
        self, step: Step, state: Slots, wanted: Callable[[Sequence[Any]], Any], *flag: Any, times: int = 1
    ) -> None:
        """Run a step ``times`` times in each turn of a loop that carries what the step writes, and a flag."""
        count = len(step.writes)

        def turn(carried: Sequence[Any]) -> list[Any]:
            inner = {**state, **dict(zip(step.writes, carried[:count], strict=True))}
            for _ in range(times):
                self._run(step, inner)
            return [*(inner[slot] for slot in step.writes), *(false() for _ in flag)]

        results = loop([*(state[slot] for slot in step.writes), *flag], wanted, turn)
        state.update(zip(step.writes, results[:count], strict=True))

    def _case(self, state: Slots) -> None:
        """The paper's figure 5: every branch takes the whole state and gives it back."""
        names = list(self.layout.slots)
        operation = stablehlo.CaseOp([state[s].type for s in names], state[NEXT], len(self.steps) + 1)
        for index, region in enumerate(operation.regions):
            with ir.InsertionPoint(region.blocks.append()):
                inner = dict(state)
                if index < len(self.steps):
                    self._run(self.steps[index], inner)
                stablehlo.return_([inner[s] for s in names])
        state.update(zip(names, operation.results, strict=True))


def input_slot(position: int) -> str:
    """The name under which an input of the module is passed to the turnover."""
    return f"input#{position}"


def scalar_aval() -> jax.ShapeDtypeStruct:
    """An ``i32`` scalar."""
    return jax.ShapeDtypeStruct((), np.int32)


def constant(value: int) -> Any:
    """An ``i32`` constant at the current insertion point."""
    kind = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
    attribute = ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(kind.element_type, value))
    return stablehlo.ConstantOp(attribute).result


def compare(left: Any, right: Any, direction: str) -> Any:
    """A comparison of ``i32`` scalars."""
    return stablehlo.CompareOp(
        left,
        right,
        stablehlo.ComparisonDirectionAttr.get(direction),
        compare_type=stablehlo.ComparisonTypeAttr.get("SIGNED"),
    ).result


def false() -> Any:
    """The boolean scalar false at the current insertion point."""
    kind = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    return stablehlo.ConstantOp(ir.DenseElementsAttr.get_splat(kind, ir.BoolAttr.get(False))).result
