"""Checks the module of an artifact against the manifest, and makes the function that runs it.

MLIR's reader trusts the numbers in bytecode, and XLA trusts its input: a malicious file may crash the process here, or
run forever later. What can be checked beforehand is checked: that it has the form of bytecode, that its operations are
StableHLO's and pass its verifier, that it only calls libraries for which JAX exports calls, and that its ``main`` takes
and returns arrays of the right types.
"""

from __future__ import annotations

from typing import Any, Final

import jax
import jax.export
import numpy as np

from hlobatch._jax import (
    as_exported,
    calls_of_libraries,
    exported_by_jax,
    ir,
    names_of_operations,
    read_portable,
    stable_calls,
)
from hlobatch.artifacts.manifest import Manifest
from hlobatch.diagnostics import ArtifactError
from hlobatch.dialect.bytecode import fault, is_bytecode
from hlobatch.ir.physical import physical
from hlobatch.ir.types import TensorType, Type
from hlobatch.lowering.module.splice import type_of

_DIALECTS: Final = ("builtin", "chlo", "func", "sdy", "stablehlo")


def in_old_form(data: bytes) -> tuple[bytes, list[str], int]:
    """The module, platforms and calling convention of a file of format 1 or 2; may raise any exception."""
    return exported_by_jax(data)


def batch_of(module: bytes, arguments: Type, shared: Any) -> int | None:
    """The batch size of a file of an old format, which is only in its module; None for any size."""
    kinds = list(_main(_checked(module)).inputs)
    parts = arguments.tensors
    per_lane = [not s for part, s in zip(parts, shared, strict=False) for _ in Type(part).tensor_leaves]
    kinds = kinds[len(kinds) - len(per_lane) :]  # the argument before them is the platform
    for kind, is_per_lane in zip(kinds, per_lane, strict=False):
        if is_per_lane and isinstance(kind, ir.RankedTensorType) and kind.rank:
            return None if kind.is_dynamic_dim(0) else int(kind.get_dim_size(0))
    raise ArtifactError("its module has no batch")


def exported_of(manifest: Manifest, module: bytes) -> jax.export.Exported:
    """The ``Exported`` that runs a module.

    Raises:
        ArtifactError: The module cannot be run, or its types are not those of the manifest.
    """
    oldest = jax.export.minimum_supported_calling_convention_version
    newest = jax.export.maximum_supported_calling_convention_version
    if not oldest <= manifest.convention <= newest:
        raise ArtifactError(
            f"its module is called by JAX's convention {manifest.convention}, and this JAX knows {oldest} to {newest}",
            help="export it again with this version of JAX.",
        )
    avals, results = _avals(manifest)
    checked = _checked(module)
    with checked.context, ir.Location.unknown(checked.context):
        platform = [type_of(_CODE)] if len(manifest.platforms) > 1 else []
        wanted = ir.FunctionType.get([*platform, *map(type_of, avals)], list(map(type_of, results)))
        found = _main(checked)
        if found != wanted:
            raise ArtifactError(f"its module takes and gives {found}, and not {wanted} as its manifest says")
    how = manifest.name, manifest.platforms, manifest.convention
    exported: jax.export.Exported = as_exported(module, *how, avals, results)
    return exported


_CODE: Final = jax.ShapeDtypeStruct((), np.int32)


def _avals(manifest: Manifest) -> tuple[list[jax.ShapeDtypeStruct], list[jax.ShapeDtypeStruct]]:
    """The arrays that the module takes, and those that it returns."""
    size = jax.export.symbolic_shape("b")[0] if manifest.batch is None else manifest.batch

    def array(leaf: TensorType, *, is_shared: bool = False) -> jax.ShapeDtypeStruct:
        stored = physical(leaf)
        return jax.ShapeDtypeStruct(stored.shape if is_shared else (size, *stored.shape), stored.dtype)

    parts = zip(manifest.arguments.tensors, manifest.shared, strict=True)
    arguments = [array(leaf, is_shared=shared) for part, shared in parts for leaf in Type(part).tensor_leaves]
    results = [*map(array, manifest.result.tensor_leaves), _CODE, jax.ShapeDtypeStruct((size,), np.int32)]
    return arguments, results


def _checked(data: bytes) -> Any:
    """The module, verified, with only the operations and calls that an artifact may have."""
    wrong = fault(data) if is_bytecode(data) else "this is no bytecode"
    if wrong is not None:
        raise ArtifactError(f"its module cannot be read: {wrong}")
    try:
        module = read_portable(data)
    except ValueError as error:
        raise ArtifactError(f"its module cannot be read: {str(error)[:300]}") from None
    for name in names_of_operations(module):
        if name.partition(".")[0] not in _DIALECTS:
            raise ArtifactError(f"its module has an operation {name[:60]!r}, which is none of StableHLO")
    for target in calls_of_libraries(module):
        if target not in stable_calls:
            raise ArtifactError(f"its module calls {target[:60]!r}, which is none of the libraries that are exported")
    return module


def _main(module: Any) -> Any:
    """The type of the function ``main``."""
    for operation in module.body.operations:
        if operation.operation.name == "func.func" and ir.StringAttr(operation.attributes["sym_name"]).value == "main":
            return ir.FunctionType(ir.TypeAttr(operation.attributes["function_type"]).value)
    raise ArtifactError("its module has no function main")
