"""How one turn of the loop picks and runs blocks.

| Form       | Schedule | One turn                                                                           |
|------------|----------|------------------------------------------------------------------------------------|
| ``case``   | earliest | a ``stablehlo.case`` on the smallest program counter (paper figure 5)              |
| ``chain``  | earliest | for each block in order: run it if it is the earliest anyone waits at              |
| ``guarded``| sweep    | for each block in order: run it if anyone waits there                              |
| ``sweep``  | sweep    | every block in order, masked, no conditional at all                                |

A conditional of ``chain`` and ``guarded`` gives back only what its block writes and captures the rest, so XLA updates the
stacks in place; a ``case`` carries the whole state through every branch, and XLA copies it.

``chain`` finds the next block anew after each one, so a turn runs as many blocks as follow each other in order. The
schedule, block by block, is exactly that of ``case``.

Reference: paper section 3.1, algorithm 2 and figure 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ir, stablehlo
from hlobatch.lowering.blocks import BlockFunction, Slots
from hlobatch.lowering.lanes import Lanes
from hlobatch.lowering.layout import COUNTER, Layout
from hlobatch.lowering.splice import Spliced, Splicer

EARLIEST: Final = ("case", "chain")
SWEEPS: Final = ("guarded", "sweep")
FORMS: Final = (*EARLIEST, *SWEEPS)

NEXT: Final = "next"
"""Beside the state: the earliest program counter anyone waits at."""


@dataclass
class Turn:
    """Builds one turn of the loop.

    Attributes:
        form: One of ``FORMS``.
        layout: The state.
        lanes: Entering and leaving.
        splicer: The module.
        blocks: The blocks' functions.
        fixed: Values that do not change: shared values, captured arrays.
        inputs: The module's inputs, for the queue.
    """

    form: str
    layout: Layout
    lanes: Lanes
    splicer: Splicer
    blocks: Sequence[BlockFunction]
    fixed: Slots
    inputs: Sequence[Any]

    def splice(self, avals: dict[str, Any]) -> None:
        """Make every function of the turn part of the module."""
        counter = self.layout.slots[COUNTER]
        add = self.splicer.add
        self.earliest = add(lambda pc: [jnp.min(pc)], [counter], "earliest")
        self.code = [add(b, [avals[s] for s in b.reads], _symbol(b)) for b in self.blocks]
        if self.form == "guarded":
            self.anyone = add(lambda pc, i: [jnp.any(pc == i)], [counter, _scalar()], "anyone")
        if self.layout.queue:
            self._splice_turnover(counter)

    def _splice_turnover(self, counter: Any) -> None:
        lanes, slots = self.lanes, self.layout.slots
        inputs, results = len(self.layout.input_avals), len(lanes.turnover_results)

        def turnover(*values: Any) -> list[Any]:
            return lanes.turnover(values[:inputs], values[inputs : inputs + results], values[inputs + results :])

        avals = [*self.layout.input_avals, *(slots[s] for s in (*lanes.turnover_results, *lanes.turnover_reads))]
        self.turnover = self.splicer.add(turnover, avals, "turnover")
        self.wants_turnover = self.splicer.add(
            lambda pc, n: [lanes.wants_turnover(pc, n)], [counter, _scalar()], "wants_turnover"
        )

    def condition(self, state: Slots) -> Any:
        """Whether anyone has something left to do."""
        (earliest,) = self.splicer.call(self.earliest, [state[COUNTER]])
        return compare(earliest, constant(self.layout.done), "LT")

    def body(self, state: Slots) -> Slots:
        """The state after one turn."""
        state = dict(state)
        (following,) = self.splicer.call(self.earliest, [state[COUNTER]])
        if self.layout.queue:
            self._turn_over(state, following)
            (following,) = self.splicer.call(self.earliest, [state[COUNTER]])
        if self.form == "case":
            self._case(state, following)
            return state
        for block, code in zip(self.blocks, self.code, strict=True):
            if self.form == "sweep":
                self._run(block, code, state)
            elif self.form == "guarded":
                (here,) = self.splicer.call(self.anyone, [state[COUNTER], constant(block.index)])
                self._if(here, list(block.writes), state, lambda s, b=block, c=code: self._run(b, c, s))
            else:
                following = self._link(block, code, state, following)
        return state

    def _turn_over(self, state: Slots, following: Any) -> None:
        (wanted,) = self.splicer.call(self.wants_turnover, [state[COUNTER], following])

        def run(slots: Slots) -> None:
            results = [slots[s] for s in self.lanes.turnover_results]
            values = [slots[s] for s in self.lanes.turnover_reads]
            new = self.splicer.call(self.turnover, [*self.inputs, *results, *values])
            slots.update(zip(self.lanes.turnover_reads, new, strict=True))

        self._if(wanted, self.lanes.turnover_reads, state, run)

    def _link(self, block: BlockFunction, code: Spliced, state: Slots, following: Any) -> Any:
        """One link of the chain; gives back the earliest program counter after it."""

        def run(slots: Slots) -> None:
            self._run(block, code, slots)
            (slots[NEXT],) = self.splicer.call(self.earliest, [slots[COUNTER]])

        state[NEXT] = following
        here = compare(following, constant(block.index), "EQ")
        self._if(here, [*block.writes, NEXT], state, run)
        return state.pop(NEXT)

    def _run(self, block: BlockFunction, code: Spliced, slots: Slots) -> None:
        values = self.splicer.call(code, [(slots | self.fixed)[s] for s in block.reads])
        slots.update(zip(block.writes, values, strict=True))

    def _if(self, condition: Any, changed: Sequence[str], state: Slots, run: Callable[[Slots], None]) -> None:
        """Run code that changes some slots only where a scalar holds; the others are captured, not carried."""
        operation = stablehlo.IfOp([state[s].type for s in changed], condition)
        with ir.InsertionPoint(operation.true_branch.blocks.append()):
            inner = dict(state)
            run(inner)
            stablehlo.return_([inner[s] for s in changed])
        with ir.InsertionPoint(operation.false_branch.blocks.append()):
            stablehlo.return_([state[s] for s in changed])
        state.update(zip(changed, operation.results, strict=True))

    def _case(self, state: Slots, following: Any) -> None:
        """The paper's figure 5: every branch takes the whole state and gives it back."""
        names = list(state)
        operation = stablehlo.CaseOp([state[s].type for s in names], following, len(self.blocks) + 1)
        for index in range(len(self.blocks) + 1):
            with ir.InsertionPoint(operation.regions[index].blocks.append()):
                inner = dict(state)
                if index < len(self.blocks):
                    self._run(self.blocks[index], self.code[index], inner)
                stablehlo.return_([inner[s] for s in names])
        state.update(zip(names, operation.results, strict=True))


def _symbol(block: BlockFunction) -> str:
    return f"block_{block.index}.{block.block.name}"


def _scalar() -> Any:
    import jax

    return jax.ShapeDtypeStruct((), np.int32)


def constant(value: int) -> Any:
    """An ``i32`` constant at the current insertion point."""
    kind = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
    attribute = ir.DenseElementsAttr.get(np.asarray(value, np.int32), type=kind.element_type, shape=[])
    return stablehlo.ConstantOp(attribute).result


def compare(left: Any, right: Any, direction: str) -> Any:
    """A comparison of ``i32`` scalars."""
    return stablehlo.CompareOp(
        left,
        right,
        stablehlo.ComparisonDirectionAttr.get(direction),
        compare_type=stablehlo.ComparisonTypeAttr.get("SIGNED"),
    ).result
