"""A module -> the same, whose reductions over many numbers XLA's CPU backend does not rewrite to trees of windows.

::

    %r = stablehlo.reduce(%x init: %b)              %t:2 = stablehlo.reduce(%x init: %b), (%x init: %b)
           applies stablehlo.add            ==>            reducer(…) { … stablehlo.return %sum, %same_sum }
                                                    %r = stablehlo.maximum %t#0, %t#1

On a CPU, for the precision of sums, XLA rewrites a reduction of more than 32 numbers along an axis to one of windows of
32, which is slow code with a test of bounds for each number. Most reductions of a run ask something of all lanes, such
as the least program counter, and round nothing. XLA does not rewrite a reduction of two arrays. So a reduction is made
one that reduces its array twice, with both results used; LLVM sees that they are equal, and computes one. A run that is
one kernel and is compiled by itself leaves out XLA's rewrite (``Compilation`` in ``_jax.py``), and needs none of this.
A run that is part of another computation is compiled with the options of that one.

Source: XLA's pass ``tree_reduction_rewriter``, which takes no reduction of several arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import jax.numpy as jnp

from hlobatch._jax import ir, stablehlo
from hlobatch.lowering.module.splice import aval_of
from hlobatch.targets.cpu.combinations import combination_of
from hlobatch.targets.cpu.outermost import outermost

MOST_NUMBERS_WITHOUT_TREE: Final = 32
"""More numbers than these along an axis, and XLA makes a tree."""
_REDUCE: Final = "stablehlo.reduce"
_EXACT: Final = ("maximum", "minimum")


def reduce_twofold(module: Any, *, sums_stay: bool) -> None:
    """Let each reduction of many numbers reduce its array twice; the module, whose sizes are known, is changed.

    With ``sums_stay``, reductions whose result depends on the order of the numbers, such as sums of floats, stay.
    """
    for operation in list(outermost(module.operation, (_REDUCE,))):
        axes = list(ir.DenseI64ArrayAttr(operation.attributes["dimensions"]))
        if _pays(operation, axes, sums_stay):
            with operation.location, ir.InsertionPoint(operation):
                both = stablehlo.maximum(*_twice(operation, axes))
            operation.results[0].replace_all_uses_with(both)
            operation.erase()


def _pays(operation: Any, axes: Sequence[int], sums_stay: bool) -> bool:
    if len(operation.results) > 1:
        return False
    array = aval_of(operation.operands[0])
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        return False  # which have no maximum
    depends = jnp.issubdtype(array.dtype, jnp.inexact) and combination_of(operation) not in _EXACT
    return math.prod(array.shape[axis] for axis in axes) > MOST_NUMBERS_WITHOUT_TREE and not (depends and sums_stay)


def _twice(operation: Any, axes: Sequence[int]) -> Sequence[Any]:
    """The results of a reduction that reduces the same array as another, twice."""
    array, begin = operation.operands
    result = operation.results[0].type
    element = ir.RankedTensorType.get([], array.type.element_type)
    twice = stablehlo.ReduceOp([result, result], [array, array], [begin, begin], ir.DenseI64ArrayAttr.get(axes))
    old, new = operation.regions[0].blocks[0], twice.regions[0].blocks.append(*[element] * 4)
    with ir.InsertionPoint(new):
        stablehlo.ReturnOp([_copied(old, new.arguments[which::2]) for which in range(2)])
    return list(twice.results)


def _copied(block: Any, arguments: Sequence[Any]) -> Any:
    """What a block returns of other arguments; its operations are copied to the current insertion point."""
    values = dict(zip(block.arguments, arguments, strict=True))
    *operations, leave = block.operations
    for operation in operations:
        copy = operation.operation.clone()
        for i, value in enumerate(operation.operands):
            copy.operands[i] = values.get(value, value)
        values |= zip(operation.results, copy.results, strict=True)
    return values[leave.operands[0]]
