"""The kernel that an artifact carries beside its module: its parts in the file, and its calls.

::

    lanes.ll      the kernel, in LLVM IR for one kind of processor
    lanes.json    what a caller has to know: the kind of processor, frames of stacks, arrays of results
    lanes.npz     the arrays that it captures, in order

It is compiled when it is loaded. The module beside it runs for other consumers, and on other machines. Before the
kernel runs, it is checked that LLVM's verifier accepts it and that it only calls functions of numbers; but malicious
code may still read and write any memory, so whoever loads it has to trust its author.
"""

from __future__ import annotations

import io
import json
import platform
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import jax
import numpy as np

from hlobatch.artifacts.manifest import Manifest
from hlobatch.diagnostics import ArtifactError
from hlobatch.ir.fate import FATES, Fate
from hlobatch.ir.physical import physical
from hlobatch.kernels import jit
from hlobatch.kernels.grid import RUN
from hlobatch.kernels.interface import Call
from hlobatch.kernels.module import KernelModule
from hlobatch.kernels.types import NoKernelError
from hlobatch.runtime.kernel import Kernel, Run, table
from hlobatch.runtime.kernel_plan import aligned, lane_shape, memory, pointer
from hlobatch.runtime.plan import Plan
from hlobatch.targets.cpu.processor import cores
from hlobatch.typing import Arrays

CODE: Final = "lanes.ll"
NUMBERS: Final = "lanes.json"
ARRAYS: Final = "lanes.npz"
PARTS: Final = frozenset((CODE, NUMBERS, ARRAYS))

_LARGEST: Final = 1 << 40
_MOST_RESULTS: Final = 10_000
_OF_NUMBERS: Final = frozenset(
    stem + suffix
    for stem in (
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc"),
        *("exp", "exp2", "expm1", "fabs", "floor", "fmod", "hypot", "ldexp", "lgamma", "log", "log10", "log1p", "log2"),
        *("nextafter", "pow", "remainder", "rint", "round", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc"),
    )
    for suffix in ("", "f")
)
"""Functions of the C library that a kernel in an artifact may call, besides LLVM's own."""
_DECLARED: Final = re.compile(r'^\s*declare\b[^@\n]*@("[^"\n]*"|[\w.$-]+)', re.MULTILINE)
_ENTRY: Final = re.compile(rf"^define i32 @{RUN}\(ptr[^,\n]*, ptr[^,\n]*\)", re.MULTILINE)
_FLUSHING: Final = re.compile(r'asm sideeffect "m(rs \$0, fpcr", "=r"\(\)|sr fpcr, \$0", "r"\(i64 %mode\.[01]\))')


@dataclass(frozen=True, eq=False)
class LaneCode:
    """A kernel in an artifact.

    Attributes:
        module: The code, and what is needed to call it.
        machine: The kind of processor that it is for, as in ``platform.machine``.
        depths: Initial frames of each stack, and of a tape.
        results: The arrays that it writes, without the axis of inputs.
        captured: The arrays that it captures.
    """

    module: KernelModule
    machine: str
    depths: tuple[int, int]
    results: tuple[jax.ShapeDtypeStruct, ...]
    captured: tuple[np.ndarray[Any, Any], ...]

    @property
    def runs_here(self) -> bool:
        """Whether it can be compiled for this machine, and JAX's arrays are in its memory."""
        if self.machine != platform.machine() or jax.default_backend() != "cpu":
            return False
        try:
            jit.check_there()
        except NoKernelError:
            return False
        return True

    @cached_property
    def _kernel(self) -> Kernel:
        try:
            return Kernel(self.module, jit.compiled(self.module.text), *self.depths, None)
        except NoKernelError as reason:
            raise ArtifactError(f"its code of lanes cannot be compiled here: {reason}") from None

    def run(self, inputs: Arrays, size: int) -> tuple[list[np.ndarray[Any, Any]], Run]:
        """All result arrays for a batch, and the record of the run."""
        given = [memory(x) for x in (*self.captured, *inputs)]
        results = [aligned((size, *kind.shape), kind.dtype) for kind in self.results]
        pointers = table([pointer(array) for array in (*given, *results)])
        status = np.full(size, Fate.UNSTARTED, np.int32)
        kernel = self._kernel
        return results, kernel.run(pointers, (given, results), status, kernel.threads_for(size, cores()))

    def parts(self) -> dict[str, bytes]:
        """The parts of a file that hold it."""
        module, arrays = self.module, io.BytesIO()
        np.savez(arrays, *(_as_bytes(array) for array in self.captured))
        numbers = {
            "machine": self.machine,
            "fields": fields(),
            "frame_bytes": module.frame_bytes,
            "stack_of": module.stack_of,
            "tapes": sorted(module.tapes),
            "near": module.near,
            "local_bytes": module.local_bytes,
            "stack_bytes": module.stack_bytes,
            "depths": self.depths,
            "results": [[kind.dtype.name, kind.shape] for kind in self.results],
            "captured": [[array.dtype.name, array.shape] for array in self.captured],
        }
        return {CODE: module.text.encode(), NUMBERS: json.dumps(numbers).encode(), ARRAYS: arrays.getvalue()}


def lane_code_of(plan: Plan) -> LaneCode:
    """A plan's kernel, for this kind of processor.

    Raises:
        ArtifactError: It has none, or none that a file can hold.
    """
    shape = lane_shape(plan)
    if shape.computed:
        raise ArtifactError(
            f"{plan.name!r} computes values that all lanes share before it runs them, and kernels=True carries what "
            "lanes run alone",
            plan.specialized.location,
            help="compute them outside, and give them as arguments; or leave kernels out.",
        )
    try:
        module = shape.module()
    except NoKernelError as reason:
        raise ArtifactError(
            f"{plan.name!r} has no code of lanes: {reason}", plan.specialized.location, help="leave kernels out."
        ) from None
    kinds = tuple(jax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in shape.result_types)
    captured = tuple(np.asarray(array) for array in shape.captured)
    return LaneCode(module, platform.machine(), (plan.declared_depth, plan.tape_depth), kinds, captured)


def lane_code_from(parts: Mapping[str, bytes], manifest: Manifest) -> LaneCode:
    """The kernel in a file, checked as far as possible.

    Raises:
        ArtifactError: It cannot be run, or its types are not those of the manifest.
    """
    numbers = _numbers(parts[NUMBERS])
    text = parts[CODE].decode("utf-8", errors="replace")
    check_calls(text)
    results = tuple(_kind(each) for each in numbers["results"])
    wanted = [(kind.shape, kind.dtype) for kind in map(physical, manifest.result.tensor_leaves)]
    if [(kind.shape, kind.dtype) for kind in results][: len(wanted)] != wanted:
        raise ArtifactError("its code of lanes gives other arrays than its manifest says")
    pieces, stacks = numbers["frame_bytes"], numbers["stack_of"]
    if len(pieces) != len(stacks) or set(stacks) != set(range(len(numbers["near"]))):
        raise ArtifactError("the stacks of its code of lanes do not fit together")
    module = KernelModule(
        text,
        tuple(pieces),
        tuple(stacks),
        frozenset(numbers["tapes"]),
        tuple(numbers["near"]),
        numbers["local_bytes"],
        numbers["stack_bytes"],
        0,
    )
    captured = _captured(parts[ARRAYS], numbers["captured"])
    depth, tape_depth = numbers["depths"]
    return LaneCode(module, numbers["machine"], (depth, tape_depth), results, captured)


def check_calls(text: str) -> None:
    """Check that code is an LLVM module that only calls functions of numbers.

    Raises:
        ArtifactError: It is not.
    """
    if "asm" in re.findall(r"[A-Za-z_]+", _FLUSHING.sub("", re.sub(r'(?m)^\s*;.*$|!"[^"\n]*"|: "[^"\n]*"', "", text))):
        raise ArtifactError("its code of lanes has instructions of a processor in it")
    for name in _DECLARED.findall(text):
        if not (name.startswith("llvm.") or name in _OF_NUMBERS):
            raise ArtifactError(f"its code of lanes calls {name[:60]!r}, which is no function of numbers")
    if not _ENTRY.search(text):
        raise ArtifactError("its code of lanes has nothing that is called")
    try:
        jit.check(text)
    except NoKernelError as reason:
        raise ArtifactError(f"its code of lanes cannot be compiled: {reason}") from None


def fields() -> dict[str, int]:
    """The calling convention of kernels: the position of each field of a call."""
    return {name: place for name, place in vars(Call).items() if isinstance(place, int)}


def fates_of(run: Run) -> np.ndarray[Any, Any]:
    """The status of the inputs of a run, as an artifact's module returns it."""
    return np.where(run.status & FATES == Fate.PARKED, np.int32(Fate.PARKED), run.status)


def _numbers(text: bytes) -> dict[str, Any]:
    """The content of ``lanes.json``, checked."""
    try:
        numbers = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{NUMBERS} is no JSON: {str(error)[:200]}") from None
    lists = {"frame_bytes", "stack_of", "tapes", "near", "depths"}
    scalars, kinds = {"local_bytes", "stack_bytes"}, {"results", "captured"}
    if not isinstance(numbers, dict) or numbers.keys() != lists | scalars | kinds | {"machine", "fields"}:
        raise ArtifactError(f"{NUMBERS} lacks something, or has more than it should")
    if numbers["fields"] != fields():
        raise ArtifactError(
            "its code of lanes is called in the way of another version of hlobatch",
            help="export it again with this version, or load it without kernels.",
        )
    found = [*(numbers[name] for name in scalars)]
    for name in lists:
        found += numbers[name] if isinstance(numbers[name], list) else [None]
    right = all(type(each) is int and 0 <= each < _LARGEST for each in found) and len(numbers["depths"]) == 2
    right = right and isinstance(numbers["machine"], str) and min(numbers["depths"]) > 0
    right = right and all(isinstance(numbers[k], list) and len(numbers[k]) <= _MOST_RESULTS for k in kinds)
    if not right:
        raise ArtifactError(f"{NUMBERS} says what cannot be")
    return numbers


def _kind(given: Any) -> jax.ShapeDtypeStruct:
    """The shape and dtype of an array, as given in ``lanes.json``."""
    try:
        name, shape = given
        dtype = np.dtype(getattr(jax.numpy, name) if name.startswith(("bfloat", "float8", "int4")) else name)
        if all(type(n) is int and 0 <= n < _LARGEST for n in shape) and dtype.kind in "biufcV":
            return jax.ShapeDtypeStruct(tuple(shape), dtype)
    except (TypeError, ValueError, AttributeError):
        pass
    raise ArtifactError(f"{NUMBERS} says {str(given)[:60]} of an array, which cannot be")


def _as_bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def _captured(content: bytes, kinds: Sequence[Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """The arrays in ``lanes.npz``: bytes, viewed with the given shapes and dtypes."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        if sum(entry.file_size for entry in file.infolist()) > 2 * len(content) + _MOST_RESULTS:
            # `np.savez` does not compress, so arrays are no larger than the file.
            raise ArtifactError(f"{ARRAYS} would be larger than it can be")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        found = [arrays[name] for name in arrays.files]
    known = list(map(_kind, kinds))
    if len(found) != len(known):
        raise ArtifactError(f"{ARRAYS} has {len(found)} arrays, and not {len(known)}")
    result = []
    for array, kind in zip(found, known, strict=True):
        if array.dtype != np.uint8 or array.nbytes != int(np.prod(kind.shape, dtype=np.int64)) * kind.dtype.itemsize:
            raise ArtifactError(f"{ARRAYS} has an array of another size than is said")
        result.append(array.view(kind.dtype).reshape(kind.shape))
    return tuple(result)
