"""Checks the results of a run under ``jax.debug_nans``, and names the lanes with NaN and the statement at fault.

When a jitted function returns a NaN, ``jax.debug_nans`` runs the function again, operation by operation, to find the
operation. To JAX, a batched function is a single operation, so this module looks inside: it runs one of the lanes
again, in the definitional interpreter.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_key, looked_for, not_looking
from hlobatch.diagnostics import LaneError, as_also, name_lanes
from hlobatch.interpreters.definitional import interpret
from hlobatch.ir.ops import LogOp, Op, PrimOp
from hlobatch.ir.physical import rebuild
from hlobatch.ir.program import Program
from hlobatch.ir.types import grouped
from hlobatch.runtime.plan import Plan
from hlobatch.typing import Arrays

MOST_STATEMENTS_RUN_AGAIN: Final = 100_000
"""Largest number of statements to run again: some ten seconds of them."""


def check(plan: Plan, inputs: Arrays, results: Arrays) -> None:
    """Check results for NaN or infinity, as JAX is set to do.

    Args:
        plan: The plan of the run.
        inputs: The input arrays.
        results: The results.

    Raises:
        LaneError: A result has one; the error is a ``FloatingPointError``, too.
    """
    nans, infs = looked_for()
    is_bad = partial(_has_some, nans=nans, infs=infs)
    with not_looking():
        rows = [np.asarray(is_bad(array)) for array in results]
        bad = [row.reshape(len(row), -1).any(axis=1) for row in rows]
        lanes = np.flatnonzero(np.any(bad, axis=0)) if bad else np.zeros(0)
        if not lanes.size:
            return
        found = _first(plan, inputs, int(lanes[0]), is_bad)
    what = " or ".join([name for name, is_meant in (("NaN", nans), ("infinity", infs)) if is_meant])
    where = f"{found.text!r} gives" if found else f"results of {plan.name!r} have"
    raise as_also(LaneError, FloatingPointError)(
        f"{where} {what} in {name_lanes(lanes)}",
        found.location if found else plan.specialized.location,
        lanes=lanes,
        outputs=plan.result(results),
        help="look at one such example in plain Python: `with hb.disable_batching():`.",
    )


def _has_some(array: Any, *, nans: bool, infs: bool) -> Any:
    """For each element of an array, whether it is NaN or infinite, as far as that is looked for."""
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        return np.zeros(array.shape, bool)
    return (jnp.isnan(array) & nans) | (jnp.isinf(array) & infs)


class _FoundError(Exception):
    """Ends the search for the operation that gives a NaN or infinity.

    Attributes:
        op: The operation; None if the limit on statements is reached.
    """

    def __init__(self, op: PrimOp | None) -> None:
        self.op = op


def _first(plan: Plan, inputs: Arrays, lane: int, is_bad: Callable[[Any], Any]) -> PrimOp | None:
    """The first operation of a lane that gives a NaN or infinity; None if it is not found within the limit."""
    own = [array if is_shared else array[lane] for array, is_shared in zip(inputs, plan.input_shared, strict=True)]
    values = list(map(rebuild, grouped(own, plan.in_types), plan.in_types))
    try:
        interpret(_watched(plan.specialized, is_bad), *values)
    except _FoundError as found:
        return found.op
    except Exception:  # noqa: BLE001  # what the user's own code raises, and Python's limit on recursion
        return None
    return None


def _watched(program: Program, is_bad: Callable[[Any], Any]) -> Program:
    """The program with operations that check their results, without effects."""
    count = itertools.count(1)

    def watched(op: Op) -> Iterator[Op]:
        if not isinstance(op, LogOp):
            yield op.replace(function=_Watched(op, is_bad, count)) if isinstance(op, PrimOp) else op

    return program.map_graphs(lambda graph: graph.map_blocks(lambda block: block.expand_instructions(watched)))


@dataclass(frozen=True)
class _Watched:
    """The function of an operation, which checks its results."""

    op: PrimOp
    is_bad: Callable[[Any], Any]
    count: Iterator[int]

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        results = self.op.function(*values)
        if any(np.any(self.is_bad(jnp.asarray(leaf))) for leaf in jax.tree.leaves(results) if _is_number(leaf)):
            raise _FoundError(self.op)
        if next(self.count) > MOST_STATEMENTS_RUN_AGAIN:
            raise _FoundError(None)
        return results


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (float, complex, np.ndarray, np.generic)) or (
        isinstance(leaf, jax.Array) and not is_key(leaf)
    )
