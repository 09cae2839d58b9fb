"""Constants, arithmetic and comparisons of scalars, as StableHLO operations at MLIR's insertion point."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from hlobatch._jax import ir, stablehlo


def scalar_aval() -> jax.ShapeDtypeStruct:
    """An ``i32`` scalar."""
    return jax.ShapeDtypeStruct((), np.int32)


def constant(value: int) -> Any:
    """An ``i32`` constant."""
    kind = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
    attribute = ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(kind.element_type, value))
    return stablehlo.ConstantOp(attribute).result


def false() -> Any:
    """The boolean false."""
    return _truth(False)


def both(left: Any, right: Any) -> Any:
    """Whether two booleans are true."""
    return stablehlo.AndOp(left, right).result


def add(left: Any, right: Any) -> Any:
    """A sum."""
    return stablehlo.AddOp(left, right).result


def select(condition: Any, chosen: Any, other: Any) -> Any:
    """One of two scalars."""
    return stablehlo.SelectOp(condition, chosen, other).result


def compare(left: Any, right: Any, direction: str) -> Any:
    """A comparison of ``i32`` scalars; ``direction`` is one of StableHLO's, such as ``"LT"``."""
    return stablehlo.CompareOp(
        left,
        right,
        stablehlo.ComparisonDirectionAttr.get(direction),
        compare_type=stablehlo.ComparisonTypeAttr.get("SIGNED"),
    ).result


def _truth(value: bool) -> Any:
    kind = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    return stablehlo.ConstantOp(ir.DenseElementsAttr.get_splat(kind, ir.BoolAttr.get(value))).result
