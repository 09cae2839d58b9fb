"""The operations of the dialect, under the name by which MLIR's bindings look for them."""

from hlobatch.dialect.ops import CONSTRAINTS

__all__ = ["CONSTRAINTS"]
