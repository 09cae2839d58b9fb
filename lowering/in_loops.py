"""A module -> the same with loops in place of what XLA does not, or not well, emit into a kernel that calls no library.

::

    %c = stablehlo.dot_general %a, %b           %c = call @dot_general(%a, %b)
    %r = stablehlo.reduce %x, %b         ==>    %r = call @reduce(%x, %b)
    %y = stablehlo.scatter %x, %i, %u           %y = call @scatter(%x, %i, %u)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hlobatch._jax import ir
from hlobatch.lowering.contractions import contraction_of
from hlobatch.lowering.outermost import outermost
from hlobatch.lowering.reductions import reduction_of
from hlobatch.lowering.scatters import scatter_of
from hlobatch.lowering.splice import Spliced, Splicer, aval_of
from hlobatch.lowering.trigonometry import trigonometric_of

SCATTER: Final = "stablehlo.scatter"
LOOPS: Final[Mapping[str, Callable[[Any], Callable[..., Any] | None]]] = {
    "stablehlo.dot_general": contraction_of,
    "stablehlo.reduce": reduction_of,
    SCATTER: scatter_of,
    "stablehlo.sine": trigonometric_of,
    "stablehlo.cosine": trigonometric_of,
}
"""What reads an operation and gives a function of its operands, or None if it may stay; alike ones get equal ones."""


def put_in_loops(module: Any, splicer: Splicer, *, with_scatters: bool) -> None:
    """Replace operations by calls of functions that loop; the module, whose sizes are known, is changed.

    Scatters are among them where XLA was not asked to make loops of them itself, which are faster.
    """
    functions: dict[Any, Spliced] = {}
    for operation in list(outermost(module.operation, LOOPS)):
        if operation.name == SCATTER and not with_scatters:
            continue
        run = LOOPS[operation.name](operation)
        if run is None:
            continue
        given = [aval_of(value) for value in operation.operands]
        key = (run, *((aval.shape, aval.dtype) for aval in given))
        if key not in functions:
            functions[key] = splicer.add(
                lambda *a, run=run: [run(*a)], given, operation.name.removeprefix("stablehlo.")
            )
        with ir.InsertionPoint(operation):
            (result,) = splicer.call(functions[key], list(operation.operands))
        operation.results[0].replace_all_uses_with(result)
        operation.erase()
    splicer.finish()
