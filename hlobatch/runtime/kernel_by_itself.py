"""Calls a plan's kernel on a whole batch, as ``jax.jit`` calls a compiled function.

Compiled code finds the executable, makes the arrays of results and calls the kernel. A number in memory, which is one
higher afterwards, tells if a lane failed, a stack was full, or the call took as long as a signal may wait. Only then is
the batch run by Python, from its beginning; what is lost is at most the time that a signal may wait.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from hlobatch.ir.fate import Fate
from hlobatch.kernels.types import NoKernelError
from hlobatch.runtime.kernel import OWN_SECONDS, Frames
from hlobatch.runtime.kernel_call import Record, all_of_call, check_registered, stops
from hlobatch.runtime.kernel_plan import KernelRunner
from hlobatch.runtime.kinds_of_calls import CALLS_FROM_PYTHON, MOST_MISTAKEN, UNKNOWN, Kind, Prepared, types_of
from hlobatch.runtime.leaving import in_a_stretch, is_in_another_thread
from hlobatch.runtime.places import has_several_devices
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.stops import interruption
from hlobatch.typing import ArrayLike, Arrays


def by_itself(plan: Plan, inputs: Arrays, user_value: Callable[[Arrays], Any], kind: Kind) -> Prepared:
    """Functions that call a plan's kernel on batches like this one.

    They raise ``LaneError`` if some inputs have no result, and ``Interrupted`` if the user interrupted them.

    Args:
        plan: The plan.
        inputs: Arrays as they are stored.
        user_value: The function from results as they are stored to the user's result.
        kind: The kind of the calls.
    """
    runner = KernelRunner.of(plan, inputs)
    kernel, size, stopped = runner.kernel, runner.size, stops()
    types = types_of(inputs)
    compiled: dict[tuple[int, ...], Callable[..., Any]] = {}
    calls, mistaken = itertools.count(1), itertools.count(1)
    entry: Callable[..., Arrays] | None = None
    is_asked = kind.is_told_by_types and not has_several_devices()

    def call(args: Sequence[Any], kwargs: Mapping[str, Any], *, are_alike: bool = False) -> Any:
        nonlocal is_asked
        known = entry  # another thread may change `entry`
        if known is None or not (is_asked or are_alike):
            return UNKNOWN
        before = stopped[0]
        try:
            if is_in_another_thread():
                results = _in_a_stretch(known, *args, **kwargs)
            elif are_alike:
                results = _handing_over(known, *args, **kwargs)
            else:
                results = known(*args, **kwargs)
                results[0].block_until_ready()
        except KeyboardInterrupt:
            raise interruption(plan, np.full(size, Fate.RUNNING), None) from None
        except Exception:  # noqa: BLE001  # JAX's, as of an operand that is no array, or `OtherTypesError`
            is_asked = next(mistaken) < MOST_MISTAKEN
            return UNKNOWN
        return user_value(results) if stopped[0] == before else from_python(kind.stored(args, kwargs))

    def from_python(inputs: Arrays) -> Any:
        nonlocal entry
        entry = None  # if a lane fails, compiled code would compute in vain what Python computes in the next call, too
        results, _ = runner(inputs)
        if results and next(calls) >= CALLS_FROM_PYTHON and not kernel.takes_long(size, runner.threads):
            if kernel.frames.depths not in compiled:
                compiled[kernel.frames.depths] = _entry(runner, kernel.frames, types, kind)
            entry = compiled[kernel.frames.depths]
        return user_value(results)

    return Prepared(from_python, call)


def _entry(runner: KernelRunner, frames: Frames, types: Sequence[Any], kind: Kind) -> Callable[..., Arrays]:
    """A jitted function of a call's arguments, under JAX's settings as they are now."""
    record = Record.of(runner.kernel, runner.threads, patience=OWN_SECONDS, frames=frames)
    call = all_of_call(runner.plan, record, runner.size)

    def run(*operands: Any) -> Arrays:
        return runner.shape.kept_results(call(*operands)[:-1])

    return kind.jitted(run, runner.shape.captured, types)


def _in_a_stretch(entry: Callable[..., Arrays], *operands: ArrayLike, **kwargs: Any) -> Arrays:
    with in_a_stretch():
        return _handing_over(entry, *operands, **kwargs)


def _handing_over(entry: Callable[..., Arrays], *operands: ArrayLike, **kwargs: Any) -> Arrays:
    """Call a jitted function with arguments some of which may be NumPy's, even if the user has forbidden transfers."""
    with jax.transfer_guard("allow"):
        results = entry(*operands, **kwargs)
    results[0].block_until_ready()
    return results


def is_called_so() -> bool:
    """Whether XLA can call kernels on this machine."""
    try:
        check_registered()
    except NoKernelError:
        return False
    return True
