"""The bytes of a file -> what an artifact says of itself, what runs it, and its bare module."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

import jax.export

from hlobatch.artifacts.archive import SUMS, unpack
from hlobatch.artifacts.manifest import FORMAT, Manifest, from_json, read_manifest
from hlobatch.artifacts.program import batch_of, exported_of, in_old_form
from hlobatch.diagnostics import ArtifactError
from hlobatch.ir.schema import from_schema

MANIFEST: Final = "manifest.json"
MODULE: Final = "module.mlirbc"
OLD_MODULE: Final = "module.jax"
STABLEHLO: Final = "module.stablehlo"


class Contents(NamedTuple):
    """What a file holds.

    Attributes:
        manifest: What it says of itself.
        exported: What runs.
        stablehlo: The bare module.
    """

    manifest: Manifest
    exported: jax.export.Exported
    stablehlo: bytes | None


def read(content: bytes, classes: Collection[type] = ()) -> Contents:
    """What a file holds, of which everything is checked.

    Args:
        content: The file.
        classes: Classes of namedtuples that are looked for by their names.

    Raises:
        ArtifactError: It holds no artifact.
    """
    try:
        return _read(content, classes)
    except ArtifactError:
        raise
    except Exception as error:  # what is not expected is damage too, to whoever reads the file
        raise ArtifactError(f"it is damaged: {error!r}"[:300]) from error


def _read(content: bytes, classes: Collection[type]) -> Contents:
    parts = unpack(content)
    if MANIFEST not in parts:
        raise ArtifactError(f"it has no {MANIFEST}")
    manifest = read_manifest(parts[MANIFEST])
    is_new = manifest["format"] == FORMAT
    needed = {MANIFEST, *((MODULE, SUMS) if is_new else (OLD_MODULE,))}
    if parts.keys() - {STABLEHLO} != needed:
        raise ArtifactError(f"it has the parts {', '.join(sorted(parts))}, and not {', '.join(sorted(needed))}")
    if is_new:
        module, checked = parts[MODULE], from_json(manifest, classes)
    else:
        module, platforms, convention = in_old_form(parts[OLD_MODULE])
        batch = batch_of(module, from_schema(manifest.get("inputs")), manifest.get("shared"))
        checked = from_json(manifest, classes, batch=batch, platforms=platforms, convention=convention)
    return Contents(checked, exported_of(checked, module), parts.get(STABLEHLO))
