"""Calls a plan's kernel on a whole batch, as ``jax.jit`` calls a compiled function.

Compiled code finds the executable, makes the arrays of results and calls the kernel. It returns to Python with one
number besides, which is not zero if a lane failed, a stack is full, or the call took as long as a signal may wait. Only
then is the kernel called from Python, which runs the remaining inputs into the same results.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from itertools import starmap
from typing import Any, Final

import jax
import numpy as np

from hlobatch.ir.fate import Fate
from hlobatch.kernels.types import NoKernelError
from hlobatch.runtime.kernel import OWN_SECONDS, Frames
from hlobatch.runtime.kernel_call import Record, all_of_call, check_registered
from hlobatch.runtime.kernel_plan import KernelRunner, most_threads, shape_of
from hlobatch.runtime.leaving import in_a_stretch
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.stops import interruption

CALLS_FROM_PYTHON: Final = 3
"""Calls with the same types and stacks, besides the first, before the call is compiled, which takes as long as hundreds
of them. Chosen by judgement (2026-11): if the size differs in each call, nothing is compiled.
"""
Arrays = Sequence[Any]
_NOTHING: Final = np.int32(0).tobytes()


def by_itself(plan: Plan, inputs: Arrays) -> Callable[[Arrays], Arrays]:
    """A function that calls a plan's kernel on batches like this one, and returns its results and the status.

    It raises ``LaneError`` if some inputs have no result, and ``Interrupted`` if the user interrupted it.
    """
    runner, threads = KernelRunner.of(plan, inputs), most_threads(plan)
    kernel, size, captured = runner.kernel, runner.size, _on_device(runner.shape.captured)
    are_there = all(isinstance(x, jax.Array) for x in inputs)  # a flag, so that `run` does not keep the inputs alive
    entries: dict[tuple[int, ...], Callable[..., Any]] = {}
    calls = itertools.count(1)

    def run(inputs: Arrays) -> Arrays:
        if kernel.takes_long(size, threads):
            return runner(inputs)[0]
        entry = entries.get(kernel.frames.depths)
        if entry is None and next(calls) <= CALLS_FROM_PYTHON:
            return runner(inputs)[0]
        entry = entry or made(kernel.frames)
        outputs = list[Arrays]()
        try:
            with in_a_stretch():
                outputs.extend(starmap(entry, ((*captured, *inputs),)))  # as in `division.Stretch`
                is_stopped = memoryview(outputs[0][-1])[:1].tobytes() != _NOTHING  # the shortest way to read a number
        except KeyboardInterrupt:
            raise _interruption(plan, size, outputs) from None
        if is_stopped:
            *results, told = outputs[0]
            runner.go_on(inputs, results, np.array(told)[1:])
        return outputs[0]

    def made(frames: Frames) -> Callable[..., Any]:
        record = Record.of(kernel, threads, patience=OWN_SECONDS, frames=frames)
        entry = jax.jit(all_of_call(plan, record, size))
        return entries.setdefault(frames.depths, entry if are_there else partial(_handing_over, entry))

    return run


def _on_device(captured: Arrays) -> Arrays:
    """Captured arrays, transferred to the device once for all calls."""
    with jax.transfer_guard("allow"):
        return tuple(x if isinstance(x, jax.Array) else jax.device_put(x) for x in captured)


def _handing_over(entry: Callable[..., Any], *operands: Any) -> Any:
    """Call a jitted function with some NumPy arrays, even if the user has forbidden transfers."""
    with jax.transfer_guard("allow"):
        return entry(*operands)


def _interruption(plan: Plan, size: int, outputs: Sequence[Arrays]) -> KeyboardInterrupt:
    """The error for a call that was interrupted before its outputs were read, or returned."""
    if not outputs:
        return interruption(plan, np.full(size, Fate.RUNNING), None)
    *results, told = outputs[0]
    return interruption(plan, np.array(told)[1:], shape_of(plan, size).kept_results(results))


def is_called_so() -> bool:
    """Whether XLA can call kernels on this machine."""
    try:
        check_registered()
    except NoKernelError:
        return False
    return True
