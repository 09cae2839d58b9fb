"""Describes the arrays that an artifact's modules take and return, each as in ``n: i32[batch]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from hlobatch.artifacts.manifest import Manifest
from hlobatch.ir.boxed import unboxed
from hlobatch.ir.physical import physical
from hlobatch.ir.types import TensorType, Type


def operands(manifest: Manifest) -> tuple[str, ...]:
    """The arrays that the module for JAX takes; the bare module first takes the batch size, if that may vary."""
    parts = manifest.arguments.tensors
    names = [f"arg{i}" for i in range(len(parts))] if manifest.parameters is None else [*manifest.parameters.parameters]
    described = zip(names, parts, manifest.shared, strict=True)
    return tuple(text for name, part, shared in described for text in _arrays(name, part, manifest, shared))


def results(manifest: Manifest) -> tuple[str, ...]:
    """The arrays that both modules return."""
    batch = _batch(manifest)
    return (*_arrays("result", manifest.result.tensors, manifest, False), "stopped: i32[]", f"status: i32[{batch}]")


def _arrays(name: str, part: Any, manifest: Manifest, shared: bool) -> list[str]:
    """The arrays of one parameter, or of the result, named by their paths."""
    type_ = Type(part)
    numbered = unboxed(type_.rebuild(list(map(_Number, range(len(type_.tensor_leaves))))))
    paths = {leaf: path for path, leaf in jax.tree_util.tree_leaves_with_path(numbered) if isinstance(leaf, _Number)}
    sizes = [] if shared else [_batch(manifest)]
    return [
        f"{name}{jax.tree_util.keystr(paths[_Number(i)])}: {_array(physical(leaf), sizes)}"
        for i, leaf in enumerate(type_.tensor_leaves)
    ]


@dataclass(frozen=True)
class _Number:
    """Stands for an array of a pytree, to find its path."""

    number: int


def _array(stored: TensorType, sizes: list[str]) -> str:
    element = str(TensorType(stored.dtype, ())).removesuffix("[]")
    return f"{element}[{','.join([*sizes, *map(str, stored.shape)])}]"


def _batch(manifest: Manifest) -> str:
    return "batch" if manifest.batch is None else str(manifest.batch)
