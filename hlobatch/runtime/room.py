"""The error of a run -> whether a container (list, dict) was full, and whether memory is left to run with more room."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from hlobatch.diagnostics import CapacityError, LaneError
from hlobatch.ir.physical import physical
from hlobatch.runtime import memory
from hlobatch.runtime.plan import Plan

MORE_ROOM: Final = 4
"""How many times as much containers have room for in the next run."""


def is_outgrown(error: Exception) -> bool:
    """Whether lanes failed because a container was full whose capacity the user had not set."""
    return isinstance(error, LaneError) and any(
        isinstance(one, CapacityError) and one.may_grow for one in error.errors.values()
    )


def fits_with(times: int, plan: Plan, size: int) -> bool:
    """Whether there is memory for containers of so many times as many items as in a plan, in each lane of a batch.

    They are held twice: where a lane changes them, and as what XLA copies when a run begins.
    """
    types = (type_ for type_ in plan.specialized.var_defs.values() if type_.grows)
    leaves = [physical(leaf) for type_ in types for leaf in type_.tensor_leaves]
    taken: int = sum(math.prod(leaf.shape) * np.dtype(leaf.dtype).itemsize for leaf in leaves) * size * times
    return bool(2 * taken <= max(memory.available(), memory.BYTES_SURELY_THERE))
