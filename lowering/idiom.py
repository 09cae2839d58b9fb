"""An idiom: how code is written for one compiler, such as the lane axis, pushes and pops; here, the portable one.

The lowering is written without knowledge of the compiler that StableHLO is given to. Where a compiler is better served
by another form of the same code, the lowering calls a method of the run's ``Idiom``, a field of its ``Layout``.
``PORTABLE`` serves any machine; a target (``targets/``) chooses it or a subclass of its own for each run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp

from hlobatch._jax import ClosedJaxpr
from hlobatch.lowering.arrays.stacks import pop_at_once, push_at_once
from hlobatch.lowering.module.passes import ModulePass
from hlobatch.lowering.module.splice import Avals, Splicer

Arrays = Sequence[Any]
Slots = dict[str, Any]
Function = Callable[..., Sequence[Any]]


class Called(NamedTuple):
    """A function of the module.

    Attributes:
        call: Emits a call of it at the current insertion point.
        results: The number of its results.
    """

    call: Callable[[Sequence[Any]], list[Any]]
    results: int


class Ahead(NamedTuple):
    """A function that runs once, before the loop, and computes the last operands of ``main`` from those before them.

    Attributes:
        made: The function of the module.
        place: Position of the first operand that it computes.
    """

    made: Called
    place: int


@dataclass(frozen=True)
class Idiom:
    """How a run is built. The defaults serve any machine, and batches of symbolic size.

    Attributes:
        lane_axis: The position of the lane axis in arrays: 0 if it is the first one, -1 if it is the last.
        by_bits: Whether a masked update blends bits instead of selecting; see ``arrays/masks.py``.
        is_one_kernel: Whether the run is one kernel, in which a loop costs next to nothing.
        finds_next_once: Whether tests are so cheap that a turn finds the next block once, and passes over others
            by tests.
        holds_stacks: Whether each block of a sweep stands behind a barrier, so that stacks are read before they are
            written.
        moves_code_out: Whether the compiler does loop-invariant code motion; see ``module/tie.py``.
        draws_in_loops: Whether random numbers are drawn in loops, as JAX does it on a CPU.
    """

    lane_axis: int = 0
    by_bits: bool = False
    is_one_kernel: bool = False
    finds_next_once: bool = False
    holds_stacks: bool = False
    moves_code_out: bool = True
    draws_in_loops: bool = False

    def width(self, lanes: Any) -> Any:
        """The size of the axis of lanes in arrays; it may be more than the number of lanes."""
        return lanes

    def over_lanes(
        self, function: Function, code: ClosedJaxpr | None, varies: Sequence[bool], lanes: Any, arrays: Arrays
    ) -> list[Any]:
        """The results of a function of one lane's arrays, on arrays of all lanes.

        Args:
            function: The function.
            code: Its jaxpr, if it has been traced.
            varies: For each array, whether lanes differ in it.
            lanes: The number of lanes.
            arrays: The arrays.
        """
        del code
        if any(varies):
            return list(jax.vmap(function, tuple(0 if differs else None for differs in varies))(*arrays))
        return [jnp.broadcast_to(r, (lanes, *jnp.shape(r))) for r in function(*arrays)]

    def push(self, stacks: Arrays, row: Any, tops: Arrays, mask: Any) -> list[Any]:
        """The stacks, with the tops of the lanes of a mask stored in each lane's row, ``i32[lanes]``."""
        return push_at_once(stacks, row, tops, mask)

    def pop(self, stacks: Arrays, row: Any, tops: Arrays, mask: Any) -> list[Any]:
        """The tops, with the values stored in each lane's row in the lanes of a mask."""
        return pop_at_once(stacks, row, tops, mask)

    def several_turns(self, run: Function, given: Slots, writes: Sequence[str], counter: str) -> Function | None:
        """A few turns of a block that goes on to itself, as one function (unroll-and-jam), or None if there is none."""
        del run, given, writes, counter
        return None

    def outlined(self, splicer: Splicer, function: Function, avals: Avals, name: str) -> Called:
        """A function of the module for small code that runs often; an idiom may have it compiled to one kernel."""
        return called(splicer, function, avals, name)

    def ahead(self, splicer: Splicer, function: Function, avals: Avals, name: str) -> Called:
        """A function that runs once, before the loop."""
        return called(splicer, function, avals, name)

    def passes(self, module: Any, splicer: Splicer, ahead: Ahead | None) -> dict[str, ModulePass]:
        """Passes that rewrite the module once it has been built, by name, in order."""
        del module, splicer, ahead
        return {}


PORTABLE: Final = Idiom()
"""The idiom that serves any machine."""


def called(splicer: Splicer, function: Function, avals: Avals, name: str) -> Called:
    """A function, added to the module."""
    added = splicer.add(function, avals, name)
    return Called(partial(splicer.call, added), len(added.results))
