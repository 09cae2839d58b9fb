"""Calls a plan's kernel within a larger JAX computation, inside ``jit``, ``vmap``, ``scan`` or ``shard_map``.

XLA calls the kernel itself, as a foreign function, without Python. In such a call, stacks have as many frames as the
user declared (``max_stack_depth``), and cannot grow.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.ir.fate import FATES, Fate
from hlobatch.kernels import ffi, ffi_handler, ffi_structs, jit
from hlobatch.kernels.types import NoKernelError
from hlobatch.runtime.kernel import CHUNKS, Frames, Kernel
from hlobatch.runtime.kernel_plan import shape_of
from hlobatch.runtime.plan import Plan
from hlobatch.typing import ArrayLike

TARGET: Final = "hlobatch_kernel"
"""The handler's name, under which XLA finds it."""


def stops() -> memoryview:
    """The number of calls so far in which some input had no result, in one word that any thread may change."""
    return _directory.stops.data


def check_registered() -> None:
    """Register the handler with XLA, once.

    Raises:
        NoKernelError: XLA's interface for foreign functions is not one that the handler knows.
    """
    with _one_by_one:
        _register()


_one_by_one: Final = threading.RLock()
"""Held by a thread that registers the handler, or a kernel's record."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_one_by_one.acquire, after_in_parent=_one_by_one.release, after_in_child=_one_by_one.release
    )


@cache
def _register() -> None:
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    version = ffi_structs.version(header.read_text()) if header.is_file() else None
    if version is None:
        raise NoKernelError("XLA calls foreign functions in a way that is not known")
    code = jit.loaded(ffi_handler.handler(_directory, version))
    address = code.get_function_address(ffi_handler.HANDLER)
    _kept.append(code)
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(ctypes.c_void_p(address)), platform="cpu")


_directory: Final = ffi.Directory()
_kept: Final[list[Any]] = [_directory]
"""Objects that XLA uses as long as the process lives, longer than Python's modules do: they are never freed."""
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))


@dataclass(frozen=True, eq=False)
class Record:
    """A kernel's entry in the handler's directory, which the handler finds by the key in a call.

    It is kept as long as the process lives: XLA may run compiled code after JAX has forgotten it.

    Attributes:
        fields: The fields of ``ffi.Record``.
        kernel: The kernel.
        entries: The table of frames.
        key: The key in calls: the same in all processes, and different for other code, threads or stack depths.
    """

    fields: np.ndarray[Any, Any]
    kernel: Kernel
    entries: np.ndarray[Any, Any]
    key: int

    @classmethod
    def of(cls, kernel: Kernel, threads: int, *, patience: float = 0, frames: Frames | None = None) -> Record:
        """The record of a kernel, which is made once.

        Args:
            kernel: The kernel.
            threads: Largest number of threads that run lanes.
            patience: Seconds after which a call leaves the remaining inputs unfinished; 0 for never.
            frames: The frames on the stacks; None for the declared ones.
        """
        frames = frames or kernel.declared_frames
        key = threads, patience, frames.depths
        with _one_by_one:
            if key not in kernel.records:
                kernel.records[key] = made = cls._made(kernel, threads, patience, frames)
                _kept.append(made)
                _directory.add(made.key, made.fields.ctypes.data)
        found = kernel.records[key]
        assert isinstance(found, Record)
        return found

    @classmethod
    def _made(cls, kernel: Kernel, threads: int, patience: float, frames: Frames) -> Record:
        entries, stacks = frames.entries
        fields = np.zeros(ffi.Record.FIELDS, np.int64)
        fields[ffi.Record.RUN] = kernel.code.address
        fields[ffi.Record.FRAMES] = entries.ctypes.data
        fields[ffi.Record.MEMORY] = kernel.module.local_bytes + stacks
        fields[ffi.Record.LOCAL] = kernel.module.local_bytes
        fields[ffi.Record.THREADS] = threads
        fields[ffi.Record.CHUNKS] = CHUNKS
        fields[ffi.Record.FIRST] = int(kernel.module.fits_any_stack)
        fields[ffi.Record.PATIENCE] = int(1e9 * patience)
        parts = (kernel.module.text, fields[ffi.Record.MEMORY :].tolist(), entries.tolist())
        digest = hashlib.sha256(repr(parts).encode()).digest()
        return cls(fields, kernel, entries, int.from_bytes(digest[:8], "little") >> 1 | 1)


def calling(plan: Plan, record: Record, size: int) -> Callable[..., list[Any]]:
    """A function of captured arrays and inputs to ``[results…, stopped, status]``, for JAX to trace.

    Args:
        plan: The plan to run; arrays are passed in the order in which the loop over all lanes captures them.
        record: The record of its kernel.
        size: Number of inputs in the batch.
    """
    call, shape = all_of_call(plan, record, size), shape_of(plan, size)

    def run(*operands: ArrayLike) -> list[Any]:
        count = len(plan.captures.arrays)
        known = {id(a): x for a, x in zip(plan.captures.arrays, operands[:count], strict=True)}
        *results, told = call(*shape.captures.operands(known), *operands[count:])
        stopped, said = told[0], told[1:]
        fates = said & np.int32(FATES)
        status = jnp.where(fates == np.int32(Fate.PARKED), np.int32(Fate.PARKED), said)
        return [*shape.kept_results(results), stopped, status]

    return run


def all_of_call(plan: Plan, record: Record, size: int) -> Callable[..., list[Any]]:
    """A function of a kernel's captured arrays and inputs to all of its outputs, for JAX to trace.

    These are all results, failure numbers included, and ``i32[1 + inputs]``: what stopped any input, and each status.

    Args:
        plan: The plan to run.
        record: The record of its kernel.
        size: Number of inputs in the batch.
    """
    shape = shape_of(plan, size)
    sums = shape.summed_results if record.kernel.module.sums else ()
    rows = dict.fromkeys(sums, int(record.fields[ffi.Record.THREADS]))
    types = [jax.ShapeDtypeStruct((rows.get(k, size), *t.shape), t.dtype) for k, t in enumerate(shape.result_types)]
    told = jax.ShapeDtypeStruct((1 + size,), np.int32)

    def run(*operands: ArrayLike) -> list[Any]:
        given = (*operands, *shape.shared_function(*operands))
        aliases = {len(given) + i: k for i, k in enumerate(sums)}  # each thread adds to a row of zeros
        kernel = jax.ffi.ffi_call(TARGET, [*types, told], input_output_aliases=aliases)
        zeros = (jnp.zeros(types[k].shape, types[k].dtype) for k in sums)
        return list(kernel(*given, *zeros, kernel=np.int64(record.key)))

    return run
