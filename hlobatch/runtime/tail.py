"""Runs the last lanes of a part alone, when few have work left.

One input may need a thousand times the turns of all others. When no input is left in the queue, a turn takes as long
for the few lanes that are left as it did for all. So these go on in a program for few lanes (one or eight), on a
compacted state (``lowering/state/narrowing.py``). Compiling such a program takes as long as many turns with few lanes,
so it is compiled once enough time has been spent on such turns, in this run and in earlier ones. If a plan's last run
had such a tail, the first stretches of its next run are short, and each is twice as long as the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import jax.numpy as jnp

from hlobatch.lowering.arrays.rows import IN_BOUNDS
from hlobatch.lowering.state import ending
from hlobatch.lowering.state.inputs import Inputs
from hlobatch.lowering.state.layout import LOGGED, Layout
from hlobatch.lowering.state.narrowing import Narrowing
from hlobatch.runtime.plan import Plan, Room
from hlobatch.runtime.primitive import run_p
from hlobatch.strategy.strategy import Strategy
from hlobatch.typing import ArrayLike

WIDTHS: Final = (1, 8)
"""Numbers of lanes of the programs for the last lanes."""
LEAST_LANES_FOR_EACH: Final = 4
"""Factor by which a run must have more lanes than such a program for it to be used."""
SHORT_STRETCHES: Final = 8
"""Number of stretches at the start of a run that may have a tail, each half as long as the next one."""
WORTH_SECONDS: Final = 0.3
"""Seconds of turns with few lanes after which it is worth compiling a program for them."""


def width_for(layout: Layout, at_work: int) -> int | None:
    """The width of the program for ``at_work`` lanes; None if no program is much narrower than the run."""
    return next((width for width in WIDTHS if at_work <= width and width * LEAST_LANES_FOR_EACH <= layout.lanes), None)


@dataclass(frozen=True, eq=False)
class Tail:
    """Runs stretches of a part's few lanes with work left.

    Attributes:
        plan: The plan to run.
        strategy: The strategy of a run of so few lanes.
        narrowing: Converts the state of the part to that of the few lanes and back.
        size: Number of inputs in the batch.
        threads: Number of parts of the batch.
        shared_given: Whether shared values are operands.
    """

    plan: Plan
    strategy: Strategy
    narrowing: Narrowing
    size: int
    threads: int
    shared_given: bool

    @property
    def width(self) -> int:
        """Number of lanes that go on."""
        return int(self.narrowing.narrow.lanes)

    def __call__(self, part: Any, *operands: ArrayLike) -> list[Any]:
        """The output of a part of the batch, given its number, the whole batch, the state and the number of turns."""
        plan, wide, narrow = self.plan, self.narrowing.wide, self.narrowing.narrow
        supply = iter(operands)
        captured = list(islice(supply, len(plan.captured)))
        inputs = list(islice(supply, len(plan.input_shared)))
        given = list(islice(supply, len(wide.shared_slots) if self.shared_given else 0))
        slots = dict(zip(wide.slots, islice(supply, len(wide.slots)), strict=True))
        if wide.logs:
            slots[LOGGED] = jnp.zeros_like(slots[LOGGED])  # the host has read it
        turns = list(supply)

        lanes = self.narrowing.lanes(slots)
        rows = jnp.minimum(part + self.threads * self.narrowing.inputs(slots, lanes), self.size - 1)
        pairs = zip(inputs, plan.input_shared, strict=True)
        own = [x if shared else jnp.asarray(x).at[rows].get(**IN_BOUNDS) for x, shared in pairs]
        few = self.narrowing.narrowed(slots, lanes)
        operands = (*captured, *own, *given, *(few[slot] for slot in narrow.slots), *turns)
        how = {"room": Room(narrow.depth, narrow.grows), "stats": False, "strategy": self.strategy}
        flags = {"shared_given": self.shared_given, "resume": True, "keep_state": True}
        found = run_p.bind(*operands, plan=plan, **flags, **how)[plan.result_arrays + 1 :]
        slots = self.narrowing.widened(slots, dict(zip(narrow.slots, found, strict=True)), lanes)

        shared = given or Inputs(wide).shared(plan.captures, captured, inputs)
        state = [slots[slot] for slot in wide.slots]
        return [*ending.results(wide, state, shared), ending.stopped(wide, state), *state]
