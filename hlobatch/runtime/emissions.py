"""The logs of lanes (``print``, callbacks) -> the user's code that they name, run on the host, in inputs' order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax

from hlobatch.ir.effects import Emission
from hlobatch.lowering.state.log import Entry, entries
from hlobatch.runtime.plan import Plan


def emit(plan: Plan, found: Sequence[Entry], emission: Emission) -> None:
    """Have the host do what lanes logged, those of one input in order.

    Args:
        plan: What ran.
        found: What they logged, each with the number of its input.
        emission: What they have begun to print.
    """
    for entry in sorted(found, key=lambda entry: entry.input):
        if entry.number is None:
            emission.write(entry.input, f"… ({entry.words} more like these were lost: {_LOST})\n")
            continue
        effect = plan.specialized.effects[entry.number]
        emission.perform(effect, entry.input, entry.words[: effect.size])


_LOST: Final = "inside jax.jit a lane has room for so many; called by itself, the function loses none"


def emit_within(plan: Plan, log: Sequence[Any]) -> None:
    """Have the host do what lanes logged as part of a computation that JAX is tracing, once that is run.

    Args:
        plan: What runs.
        log: The logs, and how many entries each has.
    """

    def report(log: Any, logged: Any) -> None:
        with Emission() as emission:
            emit(plan, entries(plan.specialized, log, logged), emission)

    jax.debug.callback(report, *log)
