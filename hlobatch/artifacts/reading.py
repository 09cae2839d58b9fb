"""Reads an artifact from the bytes of a file, and checks it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

import jax.export

from hlobatch.artifacts.archive import SUMS, unpack
from hlobatch.artifacts.lane_code import CODE, PARTS, LaneCode, lane_code_from
from hlobatch.artifacts.manifest import FORMAT, Manifest, from_json, read_manifest
from hlobatch.artifacts.program import batch_of, exported_of, in_old_form
from hlobatch.diagnostics import ArtifactError
from hlobatch.ir.schema import from_schema

MANIFEST: Final = "manifest.json"
MODULE: Final = "module.mlirbc"
OLD_MODULE: Final = "module.jax"
STABLEHLO: Final = "module.stablehlo"


class Contents(NamedTuple):
    """The content of a file.

    Attributes:
        manifest: The manifest.
        exported: The module that runs.
        stablehlo: The bare module, if the file has one.
        lanes: The kernel, if the file has one and it was asked for.
    """

    manifest: Manifest
    exported: jax.export.Exported
    stablehlo: bytes | None
    lanes: LaneCode | None = None


def read(content: bytes, classes: Collection[type] = (), *, kernels: bool = False) -> Contents:
    """The content of a file, checked.

    Args:
        content: The bytes of the file.
        classes: Classes of namedtuples, which are found by their names.
        kernels: Whether to read the kernel as well.

    Raises:
        ArtifactError: The file holds no artifact, or no kernel if that is to be read.
    """
    try:
        return _read(content, classes, kernels=kernels)
    except ArtifactError:
        raise
    except Exception as error:  # any other error means that the file is damaged
        raise ArtifactError(f"it is damaged: {error!r}"[:300]) from error


def _read(content: bytes, classes: Collection[type], *, kernels: bool) -> Contents:
    parts = unpack(content)
    if MANIFEST not in parts:
        raise ArtifactError(f"it has no {MANIFEST}")
    manifest = read_manifest(parts[MANIFEST])
    is_new = manifest["format"] == FORMAT
    needed = {MANIFEST, *((MODULE, SUMS) if is_new else (OLD_MODULE,))}
    needed |= PARTS if is_new and PARTS & parts.keys() else set()
    if parts.keys() - {STABLEHLO} != needed:
        raise ArtifactError(f"it has the parts {', '.join(sorted(parts))}, and not {', '.join(sorted(needed))}")
    if is_new:
        module, checked = parts[MODULE], from_json(manifest, classes)
    else:
        module, platforms, convention = in_old_form(parts[OLD_MODULE])
        batch = batch_of(module, from_schema(manifest.get("inputs")), manifest.get("shared"))
        checked = from_json(manifest, classes, batch=batch, platforms=platforms, convention=convention)
    if kernels and CODE not in parts:
        raise ArtifactError("it has no code of lanes", help="export it with kernels=True.")
    lanes = lane_code_from(parts, checked) if kernels else None
    return Contents(checked, exported_of(checked, module), parts.get(STABLEHLO), lanes)
