"""A module and names of operations -> the operations of these names, but none that is inside another of them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any


def outermost(operation: Any, names: Container[str]) -> Iterator[Any]:
    """The operations inside of one operation that have one of the names; the regions of those are not searched."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name in names:
                    yield inner.operation
                else:
                    yield from outermost(inner.operation, names)
