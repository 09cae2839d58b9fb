"""A batched function as a file that runs without the code it came from.

An artifact is a zip file::

    manifest.json        format version, the function's name, its inputs and results as schemas
    module.jax           the function as ``jax.export`` serializes it: what ``Artifact.call`` runs
    module.stablehlo     the bare portable StableHLO artifact, for other consumers, where there is one

The exported function takes and gives flat arrays, then a code that says whether every lane was finished, and what
became of each. ``call`` checks them, so a loaded program is never silently wrong either.

Format versions: 2 says along which axes the batch is; in 1 (first) it is the first of each array that has one.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracing, serialize_portable
from hlobatch.artifacts.replacing import write_whole
from hlobatch.diagnostics import ArtifactError, BatchTypeError, HloBatchError, StepLimitError
from hlobatch.ir.physical import from_physical, physical, to_physical
from hlobatch.ir.schema import Schema, from_schema, to_schema
from hlobatch.ir.types import Leaf, Static, TensorType, Type
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.primitive import run_within
from hlobatch.runtime.stops import stop_of
from hlobatch.stages import Traced

FORMAT: Final = 2
_READABLE: Final = (1, FORMAT)
_MANIFEST, _MODULE, _STABLEHLO = "manifest.json", "module.jax", "module.stablehlo"


@dataclass(frozen=True)
class Artifact:
    """An exported batched function.

    Attributes:
        name: The function's name.
        exported: What runs.
        stablehlo: The bare portable artifact, as bytes: operands ``[sizes…, inputs…]``, results
            ``[results…, stopped, status]``. None where some operation has no form in StableHLO.
        inputs: Schema of the arguments, a tuple.
        shared: For each argument, whether it has no batch axis.
        axes: For each array in the arguments, which axis the batch is, or None if it has none.
        result: Schema of the result.
        depth: Frames per stack; an artifact's stacks do not grow.
        max_steps: Blocks an input may run, or None.
    """

    name: str
    exported: jax.export.Exported
    stablehlo: bytes | None
    inputs: Schema
    shared: tuple[bool, ...]
    axes: tuple[int | None, ...]
    result: Schema
    depth: int
    max_steps: int | None = None

    @property
    def argument_types(self) -> Type:
        """The arguments, a tuple, without the batch axis."""
        return from_schema(self.inputs)

    @property
    def result_type(self) -> Type:
        """The result, without the batch axis."""
        return from_schema(self.result)

    def call(self, *args: Any) -> Any:
        """Run on arguments of the exported types, the batch along the same axes.

        Raises:
            BatchTypeError: The arguments do not fit what was exported.
            HloBatchError: It is called inside a JAX transformation.
            StackOverflowError: A lane needed more stack frames than were exported.
            StepLimitError: Some inputs used up their steps.
        """
        if is_tracing():
            raise HloBatchError(
                f"{self.name}, an artifact, is called inside a JAX transformation",
                help="call it outside, or `.exported.call`, which gives what stopped the run besides the results.",
            )
        arrays, size = self._arrays(self.argument_types, args)
        result = self.result_type
        if size == 0:
            leaves = [physical(t) for t in result.tensor_leaves]
            return _rebuild([jnp.zeros((0, *t.shape), t.dtype) for t in leaves], result)
        try:
            *results, stopped, status = self.exported.call(*arrays)
        except ValueError as error:
            raise BatchTypeError(f"these arguments do not fit what was exported: {error}") from None
        if int(stopped):
            self._stop(np.asarray(status), _rebuild(results, result))
        return _rebuild(results, result)

    def _arrays(self, types: Type, args: Sequence[Any]) -> tuple[list[Any], int]:
        """The arguments' arrays, checked, batch axis first, and the size of the batch.

        Python objects at the end, such as defaults, may be left out.
        """
        missing = [Type(part) for part in types.tensors[len(args) :]]
        args = (*args, *(part.rebuild([]) for part in missing if part.is_static))
        try:
            leaves = types.treedef.flatten_up_to(args)
        except ValueError as error:
            raise BatchTypeError(
                f"{self.name} was exported for arguments {types}: {error}", help="pass the same pytrees of arrays."
            ) from None
        for leaf, wanted in zip(leaves, types.leaves, strict=True):
            self._check_leaf(leaf, wanted)
        given = [leaf for leaf, wanted in zip(leaves, types.leaves, strict=True) if isinstance(wanted, TensorType)]
        arrays = list(map(self._batch_first, given, types.tensor_leaves, self.axes))
        sizes = {array.shape[0] for array, axis in zip(arrays, self.axes, strict=True) if axis is not None}
        if len(sizes) > 1:
            raise BatchTypeError(f"{self.name} is called with batches of sizes {', '.join(map(str, sorted(sizes)))}")
        (size,) = sizes
        shared = self._shared_leaves(types)
        expected = next(a.shape[0] for a, s in zip(self.exported.in_avals, shared, strict=True) if not s)
        if isinstance(expected, int) and expected != size:
            raise BatchTypeError(
                f"{self.name} was exported for a batch of size {expected}, but this one has size {size}",
                help="what is exported for a batch of size 0, or a symbolic one, runs on any.",
            )
        arrays = [
            jnp.broadcast_to(array, (size, *array.shape)) if axis is None and not is_shared else array
            for array, axis, is_shared in zip(arrays, self.axes, shared, strict=True)
        ]
        return arrays, size

    def _batch_first(self, leaf: Any, wanted: TensorType, axis: int | None) -> Any:
        """An array as it is stored, the axis of its batch, if it has one, in front."""
        shape = list(np.shape(leaf))
        size = [shape.pop(axis)] if axis is not None and -len(shape) <= axis < len(shape) else []
        if tuple(shape) != wanted.shape or len(size) != (axis is not None):
            raise BatchTypeError(
                f"{self.name} was exported for {wanted} per lane, but an argument has shape {list(np.shape(leaf))}",
                help="it has no batch axis." if axis is None else f"axis {axis} is the batch.",
            )
        return to_physical(jnp.moveaxis(leaf, axis, 0) if axis else leaf, wanted)

    def _check_leaf(self, leaf: Any, wanted: Leaf) -> None:
        """Refuse another Python object than was exported, and an array that would have to be converted."""
        if isinstance(wanted, Static):
            if Static(leaf) != wanted:
                raise BatchTypeError(
                    f"{self.name} was exported for {wanted}, but {leaf!r} is passed", help="export it for that as well."
                )
            return
        is_number = type(leaf) in (bool, int, float, complex)
        if not (is_number or isinstance(leaf, (jax.Array, np.ndarray, np.generic))):
            raise BatchTypeError(
                f"{self.name} was exported for {wanted}, but an argument is {leaf!r}", help="pass an array."
            )
        dtype = jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf), allow_extended_dtype=True)
        if dtype != wanted.dtype and not (is_number and jnp.result_type(leaf, wanted.dtype) == wanted.dtype):
            raise BatchTypeError(
                f"{self.name} was exported for {wanted}, but an argument is {dtype}", help="convert it with .astype(…)."
            )

    def _shared_leaves(self, types: Type) -> list[bool]:
        arguments = types.tensors
        return [s for part, s in zip(arguments, self.shared, strict=True) for _ in Type(part).tensor_leaves]

    def _stop(self, status: Any, outputs: Any) -> None:
        stop = stop_of(status)
        if stop.error is StepLimitError:
            advice = "export it with a larger max_steps."
        else:
            advice = "export it with a larger max_stack_depth: the stacks of an artifact do not grow."
        message = stop.message(self.name, self.max_steps, self.depth)
        raise stop.error(message, lanes=stop.lanes, outputs=outputs, unfinished=stop.unfinished, help=advice)

    def as_text(self) -> str:
        """The StableHLO module of what runs."""
        return str(self.exported.mlir_module())

    def save(self, path: str | Path) -> Path:
        """Write the artifact to a file; returns its path.

        A file that is there is replaced once all is written, and stays as it is where that fails.
        """
        manifest = {
            "format": FORMAT,
            "name": self.name,
            "inputs": self.inputs,
            "shared": self.shared,
            "axes": self.axes,
            "result": self.result,
            "depth": self.depth,
            "max_steps": self.max_steps,
        }
        path, content = Path(path), io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(_MANIFEST, json.dumps(manifest, indent=1))
            file.writestr(_MODULE, bytes(self.exported.serialize()))
            if self.stablehlo is not None:
                file.writestr(_STABLEHLO, self.stablehlo)
        write_whole(path, content.getvalue())
        return path


def load(path: str | Path) -> Artifact:
    """Read an artifact that ``Artifact.save`` wrote.

    Raises:
        ArtifactError: The file is something else, is damaged, or has a format that this version does not know.
    """
    try:
        with zipfile.ZipFile(path) as file:
            manifest = json.loads(file.read(_MANIFEST))
            module = file.read(_MODULE)
            stablehlo = file.read(_STABLEHLO) if _STABLEHLO in file.namelist() else None
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ArtifactError(f"{path} is not an artifact of hlobatch: {error}") from None
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if version not in _READABLE:
        raise ArtifactError(
            f"{path} has format {version}, this version reads {FORMAT}", help="export it again with this version."
        )
    try:
        exported = jax.export.deserialize(bytearray(module))
    except Exception as error:
        raise ArtifactError(f"{path} holds a module that this JAX cannot read: {error}") from error
    try:
        return Artifact(
            manifest["name"],
            exported,
            stablehlo,
            manifest["inputs"],
            tuple(manifest["shared"]),
            tuple(manifest["axes"]) if version == FORMAT else _first_axes(manifest),
            manifest["result"],
            manifest["depth"],
            manifest["max_steps"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"{path} does not describe its function: {error!r}") from error


def _first_axes(manifest: Any) -> tuple[int | None, ...]:
    """The axes of a file of format 1."""
    parts = from_schema(manifest["inputs"]).tensors
    pairs = zip(parts, manifest["shared"], strict=True)
    return tuple(None if shared else 0 for part, shared in pairs for _ in Type(part).tensor_leaves)


def export(
    f: Any,
    *avals: Any,
    platforms: Sequence[str] | None = None,
    target_version: str | None = None,
) -> Artifact:
    """Export a batched function for arguments of given types.

    Args:
        f: A batched function; one for a batch of size 0 takes batches of any size.
        *avals: Arrays or ``jax.ShapeDtypeStruct``, also with a symbolic batch size from ``jax.export.symbolic_shape``.
        platforms: What to export for, as ``jax.export.export``; the default device if None.
        target_version: StableHLO version of the bare artifact; by default the oldest that consumers of the last months
            need (12 weeks back).

    Raises:
        ArtifactError: The arguments or the result hold something that cannot be described in a file, or there is no
            form for the program in the version that was asked for.
        TypeError: The function is not batched.
    """
    if not hasattr(type(f), "__hlobatch_function__"):
        raise TypeError(f"what is exported is a function decorated with @hb.batch, and no more around it, not {f!r}")
    traced: Traced = f.trace(*avals)
    plan, call = traced.plan, traced.call
    any_size = jax.export.symbolic_shape("b")[0]
    given = any_size if isinstance(call.size, int) and call.size == 0 else call.size
    depth = plan.declared_depth
    inputs = plan.layout(given, depth).input_avals
    flat = jax.jit(lambda *arrays: run_within(plan, arrays))
    exported = jax.export.export(flat, platforms=platforms)(*inputs)
    layout = plan.layout(given if isinstance(given, int) else any_size, depth)
    request = plan.request(layout, keep_state=False, embed_captures=True)
    arguments = Type(tuple(t.tensors for _, t in call.types))
    return Artifact(
        plan.name,
        exported,
        _portable(plan, to_stablehlo(request), target_version),
        to_schema(arguments),
        tuple(name in call.shared for name, _ in call.types),
        call.axes,
        to_schema(plan.out_type),
        depth,
        plan.options.max_steps,
    )


def _portable(plan: Plan, module: Any, target_version: str | None) -> bytes | None:
    """The bare artifact; None where there is none, unless a version was asked for."""
    try:
        return serialize_portable(module, target_version)
    except ValueError as error:
        if target_version is None:
            return None
        raise ArtifactError(
            f"{plan.name!r} has no form in StableHLO {target_version}: {error}",
            plan.specialized.location,
            help="leave target_version out, or name a later one.",
        ) from None


def _rebuild(arrays: Sequence[Any], type_: Type) -> Any:
    return type_.rebuild([from_physical(a, t) for a, t in zip(arrays, type_.tensor_leaves, strict=True)])
