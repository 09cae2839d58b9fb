"""Carries out the effects that lanes have logged (``print``, callbacks) on the host, in the order of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax

from hlobatch.ir.effects import Emission
from hlobatch.lowering.state.log import Entry, entries
from hlobatch.runtime.plan import Plan


def emit(plan: Plan, found: Sequence[Entry], emission: Emission) -> None:
    """Carry out the logged effects, by input, and for one input in order.

    Args:
        plan: The plan of the run.
        found: The log entries, each with the number of its input.
        emission: Carries out an effect.
    """
    for entry in sorted(found, key=lambda entry: entry.input):
        if entry.number is None:
            emission.write(entry.input, f"… ({entry.words} more like these were lost: {_LOST})\n")
            continue
        effect = plan.specialized.effects[entry.number]
        emission.perform(effect, entry.input, entry.words[: effect.size])


_LOST: Final = "inside jax.jit a lane has room for so many; called by itself, the function loses none"


def emit_within(plan: Plan, log: Sequence[Any]) -> None:
    """Carry out logged effects in a computation that JAX is tracing, whenever it is run.

    Args:
        plan: The plan of the run.
        log: The logs, and the number of entries in each.
    """

    def report(log: Any, logged: Any) -> None:
        with Emission() as emission:
            emit(plan, entries(plan.specialized, log, logged), emission)

    jax.debug.callback(report, *log)
