"""The manifest of an artifact, written to ``manifest.json`` and read back with every entry checked."""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from hlobatch.diagnostics import ArtifactError
from hlobatch.ir.schema import from_schema, to_schema
from hlobatch.ir.types import TensorType, Type

FORMAT: Final = 3
READABLE: Final = (1, 2, FORMAT)
_P: Final = inspect.Parameter
_KINDS: Final = {
    kind.description: kind
    for kind in (_P.POSITIONAL_ONLY, _P.POSITIONAL_OR_KEYWORD, _P.VAR_POSITIONAL, _P.KEYWORD_ONLY, _P.VAR_KEYWORD)
}
_WIDE: Final = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))
_LARGEST_SIZE: Final = 1 << 62
_MOST_CHARACTERS: Final = 1000
"""Largest number of characters in a name."""


@dataclass(frozen=True)
class Manifest:
    """The description of an artifact.

    Attributes:
        name: The function's name.
        parameters: The names and kinds of its parameters; None for a file of an old format, which does not have them.
        arguments: Their types, as a tuple, without the batch axis.
        shared: For each parameter, whether it has no batch axis.
        axes: For each array in the arguments, its batch axis; None if it has none.
        result: Type of the result.
        depth: Frames per stack; an artifact's stacks do not grow.
        max_steps: Blocks that an input may run, or None.
        batch: The size of the batch; None for any size.
        platforms: The platforms that it was exported for.
        convention: The version of JAX's calling convention for exported functions.
        failures: Statements that raise, by their numbers in the status of inputs.
    """

    name: str
    parameters: inspect.Signature | None
    arguments: Type
    shared: tuple[bool, ...]
    axes: tuple[int | None, ...]
    result: Type
    depth: int
    max_steps: int | None
    batch: int | None
    platforms: tuple[str, ...]
    convention: int
    failures: Mapping[int, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Manifest({self.name}, for {', '.join(self.platforms)})"

    @cached_property
    def has_wide_types(self) -> bool:
        """Whether it has arrays of types that JAX has only if 64-bit types are enabled."""
        return any(map(is_wide, (*self.arguments.tensor_leaves, *self.result.tensor_leaves)))

    def to_json(self) -> bytes:
        """The manifest as JSON.

        Raises:
            ArtifactError: The arguments or the result hold something that JSON cannot describe.
        """
        assert self.parameters is not None
        return json.dumps(
            {
                "format": FORMAT,
                "name": self.name,
                "parameters": {name: p.kind.description for name, p in self.parameters.parameters.items()},
                "inputs": to_schema(self.arguments),
                "shared": self.shared,
                "axes": self.axes,
                "result": to_schema(self.result),
                "depth": self.depth,
                "max_steps": self.max_steps,
                "batch": self.batch,
                "platforms": self.platforms,
                "calling_convention": self.convention,
                "failures": {str(number): text for number, text in self.failures.items()},
            },
            indent=1,
        ).encode()


def is_wide(leaf: TensorType) -> bool:
    """Whether an array is of a type that JAX has only if 64-bit types are enabled."""
    return not leaf.is_key and leaf.dtype in _WIDE


def read_manifest(text: bytes) -> dict[str, Any]:
    """The JSON of a manifest.

    Raises:
        ArtifactError: It is not JSON, or not of a format that can be read.
    """
    try:
        manifest = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"its manifest is no JSON: {str(error)[:200]}") from None
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if type(version) is not int or version not in READABLE:
        raise ArtifactError(
            f"it has format {str(version)[:20]}, this version reads up to {FORMAT}",
            help="export it again with this version.",
        )
    assert isinstance(manifest, dict)
    return manifest


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def from_json(manifest: Mapping[str, Any], classes: Collection[type], **of_module: Any) -> Manifest:
    """The manifest, checked.

    Args:
        manifest: The JSON from ``read_manifest``.
        classes: Classes of namedtuples, which are found by their names.
        **of_module: Entries that files of the old formats have in their module instead: ``batch``, ``platforms``,
            ``convention``.

    Raises:
        ArtifactError: Something is missing, is of the wrong type, or does not fit the rest.
    """
    version = manifest["format"]
    expected = {"format", "name", "inputs", "shared", "result", "depth", "max_steps"}
    expected |= {"axes"} if version > 1 else set()
    new = {"parameters", "batch", "platforms", "calling_convention", "failures"}
    expected |= new if version == FORMAT else set()
    if differing := sorted(manifest.keys() ^ expected):
        raise ArtifactError(f"its manifest lacks, or should not have, {', '.join(differing)[:200]}")
    name = manifest["name"]
    _check("name", name, isinstance(name, str) and 0 < len(name) <= _MOST_CHARACTERS and name.isprintable())
    arguments = from_schema(manifest["inputs"], classes)
    parts = arguments.tensors
    _check("inputs", parts, type(parts) is tuple and bool(parts))
    shared = manifest["shared"]
    _check("shared", shared, _is_list(shared, len(parts)) and all(isinstance(s, bool) for s in shared))
    axes = manifest["axes"] if version > 1 else _first_axes(parts, shared)
    _check_axes(axes, parts, shared)
    _check("depth", manifest["depth"], _is_count(manifest["depth"]))
    _check("max_steps", manifest["max_steps"], manifest["max_steps"] is None or _is_count(manifest["max_steps"]))
    if version == FORMAT:
        of_module = {"batch": manifest["batch"], "platforms": manifest["platforms"]}
        of_module["convention"] = manifest["calling_convention"]
    batch, platforms = of_module["batch"], of_module["platforms"]
    _check("batch", batch, batch is None or _is_count(batch))
    _check("platforms", platforms, isinstance(platforms, (list, tuple)) and 0 < len(platforms) <= _MOST_PLATFORMS)
    _check("platforms", platforms, all(map(_is_platform, platforms)) and len(set(platforms)) == len(platforms))
    _check("calling_convention", of_module["convention"], _is_count(of_module["convention"]))
    return Manifest(
        name,
        _signature(manifest["parameters"], len(parts)) if version == FORMAT else None,
        arguments,
        tuple(shared),
        tuple(axes),
        from_schema(manifest["result"], classes),
        manifest["depth"],
        manifest["max_steps"],
        batch,
        tuple(platforms),
        of_module["convention"],
        _failures(manifest["failures"]) if version == FORMAT else {},
    )


def _failures(given: Any) -> dict[int, str]:
    _check("failures", given, isinstance(given, dict))
    for number, text in given.items():
        _check("failures", number, number.isascii() and number.isdigit() and 0 < len(number) <= len(str(1 << 23)))
        _check("failures", text, isinstance(text, str) and 0 < len(text) <= _MOST_CHARACTERS and text.isprintable())
    return {int(number): text for number, text in given.items()}


_MOST_PLATFORMS: Final = 8


def _check(what: str, value: Any, is_right: bool) -> None:
    if not is_right:
        raise ArtifactError(f"its manifest says {str(value)[:60]} for {what!r}, which cannot be")


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 < value < _LARGEST_SIZE


def _is_platform(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier() and len(value) <= _MOST_CHARACTERS


def _check_axes(axes: Any, parts: tuple[Any, ...], shared: list[bool]) -> None:
    """Check that each array has a valid axis, none if the argument is shared, and that some array has one."""
    leaves = [(leaf, s) for part, s in zip(parts, shared, strict=True) for leaf in Type(part).tensor_leaves]
    _check("axes", axes, _is_list(axes, len(leaves)) and any(axis is not None for axis in axes))
    for axis, (leaf, is_shared) in zip(axes, leaves, strict=True):
        _check("axes", axes, axis is None or (type(axis) is int and _has_axis(leaf, axis) and not is_shared))


def _has_axis(leaf: TensorType, axis: int) -> bool:
    return -len(leaf.shape) - 1 <= axis <= len(leaf.shape)


def _first_axes(parts: tuple[Any, ...], shared: list[bool]) -> list[int | None]:
    """The axes of a file of format 1, in which the batch axis is always the first."""
    pairs = zip(parts, shared, strict=True)
    return [None if is_shared else 0 for part, is_shared in pairs for _ in Type(part).tensor_leaves]


def _signature(parameters: Any, count: int) -> inspect.Signature:
    _check("parameters", parameters, isinstance(parameters, dict) and len(parameters) == count)
    kinds = [_KINDS.get(kind) if isinstance(kind, str) else None for kind in parameters.values()]
    _check("parameters", parameters, None not in kinds)
    try:
        return inspect.Signature(
            [_P(name, kind) for name, kind in zip(parameters, kinds, strict=True) if kind is not None]
        )
    except ValueError as error:
        raise ArtifactError(f"its manifest names parameters that there cannot be: {error}") from None
