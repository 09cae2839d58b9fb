"""Whether a run failed because a container was full, and whether there is memory to run it with more room."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from hlobatch.diagnostics import CapacityError, LaneError
from hlobatch.ir.physical import physical
from hlobatch.runtime import memory
from hlobatch.runtime.plan import Plan

MORE_ROOM: Final = 4
"""Factor on the capacity of containers in the next run."""


def is_outgrown(error: Exception) -> bool:
    """Whether lanes failed because a container was full whose capacity the user has not set."""
    return isinstance(error, LaneError) and any(
        isinstance(one, CapacityError) and one.may_grow for one in error.errors.values()
    )


def holds_containers(plan: Plan) -> bool:
    """Whether lanes hold containers, which may be outgrown."""
    return any(type_.grows for type_ in plan.specialized.var_defs.values())


def fits(plan: Plan, size: int) -> bool:
    """Whether the containers of a batch fit in memory.

    They are in memory twice: in the state of the lanes, and as a copy that XLA makes when a run begins.
    """
    types = (type_ for type_ in plan.specialized.var_defs.values() if type_.grows)
    leaves = [physical(leaf) for type_ in types for leaf in type_.tensor_leaves]
    taken: int = sum(math.prod(leaf.shape) * np.dtype(leaf.dtype).itemsize for leaf in leaves) * size
    return bool(2 * taken <= max(memory.available(), memory.BYTES_SURELY_THERE))
