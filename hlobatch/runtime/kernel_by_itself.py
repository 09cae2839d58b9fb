"""Calls a plan's kernel on a whole batch, as ``jax.jit`` calls a compiled function.

Compiled code finds the executable, makes the arrays of results and calls the kernel. A number in memory, which is one
higher afterwards, tells if a lane failed, a stack was full, or the call took as long as a signal may wait. Only then is
the batch run by Python, from its beginning; what is lost is at most the time that a signal may wait.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import jax
import numpy as np

from hlobatch._jax import tracing_context
from hlobatch.ir.fate import Fate
from hlobatch.kernels.types import NoKernelError
from hlobatch.runtime.kernel import OWN_SECONDS, Frames
from hlobatch.runtime.kernel_call import Record, all_of_call, check_registered, stops
from hlobatch.runtime.kernel_plan import KernelRunner
from hlobatch.runtime.leaving import in_a_stretch, is_in_a_daemon
from hlobatch.runtime.places import has_several_devices
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.stops import interruption
from hlobatch.typing import Arrays

CALLS_FROM_PYTHON: Final = 3
"""Calls with the same types and stacks, besides the first, before the call is compiled, which takes as long as hundreds
of them. Chosen by judgement (2026-11): if the size differs in each call, nothing is compiled.
"""
MOST_MISTAKEN: Final = 2
"""Calls with other types that a run finds out by itself. Each takes a millisecond, for JAX begins to trace."""
Run = Callable[[Arrays], Any]
UNKNOWN: Final = object()
"""What a run of a call of unknown types returns if the types are others than its own, or it does not know yet."""


class _OtherTypesError(Exception):
    """Raised while JAX traces a call with other types, or other settings, than a run was prepared for."""


class Prepared(NamedTuple):
    """Functions of the arrays of a batch that return the user's result.

    Attributes:
        run: The function for arrays of known types.
        run_if_alike: One for arrays of any types, or other objects, under any settings; it may return ``UNKNOWN``. It
            relies on JAX, which compares the types of each call anyway. None if there is none.
    """

    run: Run
    run_if_alike: Run | None = None


def by_itself(plan: Plan, inputs: Arrays, user_value: Callable[[Arrays], Any]) -> Prepared:
    """Functions that call a plan's kernel on batches like this one.

    They raise ``LaneError`` if some inputs have no result, and ``Interrupted`` if the user interrupted them.

    Args:
        plan: The plan.
        inputs: Arrays as they are stored.
        user_value: The function from results as they are stored to the user's result.
    """
    runner = KernelRunner.of(plan, inputs)
    kernel, size, captured, stopped = runner.kernel, runner.size, _on_device(runner.shape.captured), stops()
    are_there = all(isinstance(x, jax.Array) for x in inputs)  # a flag, so that `run` does not keep the inputs alive
    types = _types((*captured, *inputs))
    compiled: dict[tuple[int, ...], Callable[..., Any]] = {}
    calls, mistaken = itertools.count(1), itertools.count(1)
    entry: Callable[..., Arrays] | None = None
    is_asked = True

    def run(inputs: Arrays) -> Any:
        result = run_if_alike(inputs, are_alike=True)
        return from_python(inputs) if result is UNKNOWN else result

    def run_if_alike(inputs: Arrays, *, are_alike: bool = False) -> Any:
        nonlocal is_asked
        known = entry  # which another thread may change
        if known is None or not (is_asked or are_alike):
            return UNKNOWN
        before = stopped[0]
        try:
            if is_in_a_daemon():
                results = _in_a_stretch(known, *captured, *inputs)
            else:
                results = known(*captured, *inputs)
                results[0].block_until_ready()
        except KeyboardInterrupt:
            raise interruption(plan, np.full(size, Fate.RUNNING), None) from None
        except Exception:  # noqa: BLE001  # JAX's, as of an operand that is no array, or `_OtherTypesError`
            is_asked = next(mistaken) < MOST_MISTAKEN
            return UNKNOWN
        return user_value(results) if stopped[0] == before else from_python(inputs)

    def from_python(inputs: Arrays) -> Any:
        nonlocal entry
        entry = None  # if a lane fails, compiled code would compute in vain what Python computes in the next call, too
        results, _ = runner(inputs)
        if results and next(calls) >= CALLS_FROM_PYTHON and not kernel.takes_long(size, runner.threads):
            if kernel.frames.depths not in compiled:
                made = _entry(runner, kernel.frames, types)
                compiled[kernel.frames.depths] = made if are_there else partial(_handing_over, made)
            entry = compiled[kernel.frames.depths]
        return user_value(results)

    is_told_by_types = are_there and not has_several_devices() and all(x.ndim for x in inputs)  # no Python number
    return Prepared(run, run_if_alike if is_told_by_types else None)


def _entry(runner: KernelRunner, frames: Frames, types: Sequence[Any]) -> Callable[..., Arrays]:
    """A jitted function of captured arrays and inputs of some types, under JAX's settings as they are now."""
    record = Record.of(runner.kernel, runner.threads, patience=OWN_SECONDS, frames=frames)
    call, context = all_of_call(runner.plan, record, runner.size), tracing_context()

    def traced(*operands: Any) -> Arrays:
        if _types(operands) != types or tracing_context() != context:
            raise _OtherTypesError
        return runner.shape.kept_results(call(*operands)[:-1])

    return jax.jit(traced)


def _types(arrays: Arrays) -> list[Any]:
    return [(x.shape, x.dtype, x.weak_type) for x in map(jax.typeof, arrays)]


def _in_a_stretch(entry: Callable[..., Arrays], *operands: Any) -> Arrays:
    with in_a_stretch():
        results = entry(*operands)
        results[0].block_until_ready()
        return results


def _on_device(captured: Arrays) -> Arrays:
    """Captured arrays, transferred to the device once for all calls."""
    with jax.transfer_guard("allow"):
        return tuple(x if isinstance(x, jax.Array) else jax.device_put(x) for x in captured)


def _handing_over(entry: Callable[..., Any], *operands: Any) -> Any:
    """Call a jitted function with some NumPy arrays, even if the user has forbidden transfers."""
    with jax.transfer_guard("allow"):
        return entry(*operands)


def is_called_so() -> bool:
    """Whether XLA can call kernels on this machine."""
    try:
        check_registered()
    except NoKernelError:
        return False
    return True
