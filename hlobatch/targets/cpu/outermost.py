"""Operations of a module by their names, at any depth, but not inside each other."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any


def outermost(operation: Any, names: Container[str]) -> Iterator[Any]:
    """Those inside an operation that have one of some names; what is inside of them is left out."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name in names:
                    yield inner.operation
                else:
                    yield from outermost(inner.operation, names)
