"""A module -> the same, in which what XLA would compute anew at each of its uses is computed once (materialized).

::

    %m = … : tensor<50xi1>                          %m = …
    %a = broadcast_in_dim %m : tensor<50x10xi1>     %h = call @held(%m) {inlineable = "false"}
    %b = broadcast_in_dim %m : tensor<50x10xi1>     %a = broadcast_in_dim %h
                                              ==>   %b = broadcast_in_dim %h

To *hold* a value is to pass it through a call of an identity function that XLA must not inline: XLA does not fuse
across such a call, so that the value is an array in memory. Two kinds of values are held:

* One that has a number for each lane and is broadcast to larger arrays. XLA fuses it into the loop over each of those.
  In NUTS, the decision whether a leaf is drawn was taken anew for each of a leaf's seven arrays, one lane at a time; in
  a loop of its own LLVM takes it for eight lanes at a time.
* The result of a function of the C library, such as the sine of a 64-bit number. XLA takes it to be cheap, and fuses it
  into each use: one that was read by nested selects was computed four or eight times.

In a run of several kernels, a held value would cost the start of another kernel, so only runs in one kernel have any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from hlobatch._jax import func, ir
from hlobatch.jax_primitives import Trait, having, operations
from hlobatch.lowering.module.functions import new_function
from hlobatch.lowering.module.splice import CALL, aval_of, callee
from hlobatch.targets.cpu.one_kernel import NOT_INLINED, mark

_BROADCAST: Final = "stablehlo.broadcast_in_dim"
_BARRIER: Final = "stablehlo.optimization_barrier"
_GATHER: Final = "stablehlo.gather"
_LEFT: Final = frozenset({"stablehlo.constant", "stablehlo.iota", _BROADCAST})
"""Operations whose results are as cheap to make again."""
_OF_THE_C_LIBRARY: Final = operations(having(Trait.LIBM))
"""Operations for which LLVM calls the C library, once for each number."""
_APPROXIMATED: Final = frozenset({"stablehlo.cosine", "stablehlo.sine"})
"""Operations of the C library that ``trigonometry.py`` has replaced by loops, for numbers of 32 bits."""


def hold(module: Any) -> None:
    """Hold every value of a module that is worth it, by a call of an identity function; the module is changed.

    Results of an optimization barrier are held together: what is behind a barrier is to be computed once, too.
    """
    functions = ir.SymbolTable(module.operation)
    held: dict[Any, Any] = {}

    def hold_all(operation: Any, values: Sequence[Any]) -> None:
        kinds = tuple(value.type for value in values)
        if kinds not in held:
            held[kinds] = _identity(module, f"held_{len(held)}", kinds)
        _hold(operation, values, held[kinds])

    for operation in list(_operations(module.operation)):
        if operation.name == _BARRIER:
            hold_all(operation, list(operation.results))
            continue
        for result in operation.results:
            if _is_dear(operation) or _broadcasts(result, functions) > 1 or _places_rows(result):
                hold_all(operation, [result])


def _operations(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _operations(inner.operation)
                if inner.operation.name not in _LEFT:
                    yield inner.operation


def _is_dear(operation: Any) -> bool:
    """Whether the C library computes an operation, for one number at a time.

    Sines of 32 bits are no such operation: ``trigonometry.py`` has put polynomials in place of most of them. Those that
    are left are few, or in the branch for large arguments, which is hardly ever taken.
    """
    if operation.name not in _OF_THE_C_LIBRARY:
        return False
    return operation.name not in _APPROXIMATED or aval_of(operation.results[0]).dtype != np.float32


def _broadcasts(value: Any, functions: Any) -> int:
    """How many operations broadcast a value of some elements to more, those in functions it is passed to among them."""
    rank, count = ir.ShapedType(value.type).rank, 0
    for use in value.uses if rank else ():
        if use.owner.name == _BROADCAST:
            count += ir.ShapedType(use.owner.results[0].type).rank > rank
        elif use.owner.name == CALL:
            called = functions[callee(use.owner)]
            count += _broadcasts(called.regions[0].blocks[0].arguments[use.operand_number], functions)
    return count


def _places_rows(value: Any) -> bool:
    """Whether a value is the indices of a gather of slices of several elements, each of which would compute it anew."""
    owners = (use.owner for use in value.uses if use.owner.name == _GATHER and use.operand_number == 1)
    return any(math.prod(ir.DenseI64ArrayAttr(owner.attributes["slice_sizes"])) > 1 for owner in owners)


def _identity(module: Any, name: str, kinds: Sequence[Any]) -> Any:
    """A function that gives back its arguments; the symbol."""
    with ir.InsertionPoint.at_block_begin(module.body):
        _, body = new_function(name, kinds, kinds)
    with ir.InsertionPoint(body):
        func.ReturnOp(list(body.arguments))
    return ir.FlatSymbolRefAttr.get(name)


def _hold(operation: Any, values: Sequence[Any], function: Any) -> None:
    with ir.InsertionPoint.after(operation):
        call = func.CallOp([value.type for value in values], function, list(values))
    mark(call, NOT_INLINED)
    for value, result in zip(values, call.results, strict=True):
        value.replace_all_uses_except(result, [call.operation])
