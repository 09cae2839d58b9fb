"""The jitted function of a run, for a plan, a batch size and a stack depth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from hlobatch.lowering.state import fates
from hlobatch.lowering.state.layout import Layout
from hlobatch.runtime.plan import Plan, Room
from hlobatch.runtime.primitive import run_p
from hlobatch.strategy.strategy import Strategy
from hlobatch.typing import ArrayLike


def entry_point(
    plan: Plan, size: Any, room: Room, *, stats: bool = False, resume: bool = False, spread: bool = False
) -> Callable[..., Any]:
    """The jitted function that runs a whole batch, whose size may be symbolic."""

    def make() -> Any:
        strategy = plan.strategy(size)
        layout = layout_alone(plan, strategy, room, stats=stats)
        donated = donated_of(layout, state_position(plan, layout)) if resume else ()
        return jax.jit(entry_of(plan, strategy, layout, resume), donate_argnums=donated)

    return plan.executable((size, room, stats, resume, spread), make)


def layout_alone(plan: Plan, strategy: Strategy, room: Room, *, stats: bool = False) -> Layout:
    """The layout of a run outside of other computations."""
    how = {"stats": stats, "grows": room.grows, "stretches": plan.may_be_endless}
    return plan.layout_here(strategy, room.depth, **how)


def entry_of(
    plan: Plan, strategy: Strategy, layout: Layout, resume: bool, *, shared_given: bool = False
) -> Callable[..., list[Any]]:
    """The function of a run: of captured arrays, inputs, shared values if given, and the state if it resumes one.

    It gives back the results and, of a run that may have to go on, what stopped it and the state.
    """
    keep_state = layout.may_stop or layout.stats
    how = {"room": Room(layout.depth, layout.grows), "stats": layout.stats, "strategy": strategy}
    run = partial(run_p.bind, plan=plan, shared_given=shared_given, resume=resume, keep_state=keep_state, **how)
    count = plan.result_arrays

    def entry(*operands: ArrayLike) -> list[Any]:
        outputs = run(*operands)
        return list(outputs if keep_state else outputs[:count])

    return entry


def state_position(plan: Plan, layout: Layout, *, shared_given: bool = False) -> int:
    """The position of the first state array among the operands of a run that resumes one."""
    return len(plan.captured) + len(plan.input_shared) + (len(layout.shared_slots) if shared_given else 0)


def donated_of(layout: Layout, first: int) -> tuple[int, ...]:
    """Positions of the operands to donate: state arrays, which a run then changes in place instead of copying.

    Not donated are the arrays that say what became of the inputs, which are read if the run is interrupted.

    Args:
        layout: The layout of the state.
        first: The position of its first array.
    """
    told = fates.told_by(layout)
    return tuple(first + i for i, slot in enumerate(layout.slots) if slot not in told)
