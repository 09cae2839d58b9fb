"""Code of one lane that reads a table -> code that reads the array of all inputs' tables, in the row of its input.

::

    %x = dynamic_slice %table, %i     : f32[1]      ==>      %x = dynamic_slice %tables, %row, %i     : f32[1, 1]

A table is an argument that no lane assigns, and of which only some elements are read at a time, as in a binary search
(``analysis/constants.py`` finds them). It is not part of the state: the operand of the module, ``[inputs, *event]``, is
read in place. As part of the state it would be copied to each lane that takes an input, and transposed where lanes are
the last axis, which takes longer than a search that looks at fourteen of ten thousand numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import jax.numpy as jnp
from jax import lax

from hlobatch._jax import ClosedJaxpr, Equation, Jaxpr, Literal, function_of
from hlobatch.ir.evaluation import as_it_is, evaluated, inlined, known_at_first


def looking_up(closed: ClosedJaxpr, tables: Collection[int]) -> Callable[..., list[Any]]:
    """The code of one lane as a function that is given arrays of all inputs in place of some arguments.

    Args:
        closed: The code; the only operations on these arguments are slices and gathers.
        tables: Positions of its arguments ``[*event]`` that are arrays ``[inputs, *event]`` instead.

    Returns:
        A function from the arguments of the code, followed by the row of the lane's input, to the code's results.
    """
    code = inlined(closed)
    jaxpr: Jaxpr = code.jaxpr
    variables = {jaxpr.invars[i] for i in tables}

    def run(*arguments: Any) -> list[Any]:
        *arrays, row = arguments

        def read(equation: Equation, values: Sequence[Any]) -> Sequence[Any]:
            first = equation.invars[0] if equation.invars else None
            if first is None or isinstance(first, Literal) or first not in variables:
                return as_it_is(equation, values)
            return [_READ[equation.primitive.name](equation, row, *values)]

        return evaluated(jaxpr.eqns, known_at_first(code, arrays), jaxpr.outvars, read)

    return run


def _dynamic_slice(equation: Equation, row: Any, table: Any, *starts: Any) -> Any:
    places = _wide(starts)
    sizes = (1, *equation.params["slice_sizes"])
    found = lax.dynamic_slice(table, (row.astype(places[0].dtype), *places), sizes, allow_negative_indices=False)
    return lax.squeeze(found, (0,))


def _gather(equation: Equation, row: Any, table: Any, index: Any) -> Any:
    (index,) = _wide([index])
    rows = jnp.broadcast_to(row.astype(index.dtype), (*index.shape[:-1], 1))
    dims, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    dims = dims._replace(
        collapsed_slice_dims=(0, *(d + 1 for d in dims.collapsed_slice_dims)),
        start_index_map=(0, *(d + 1 for d in dims.start_index_map)),
        operand_batching_dims=tuple(d + 1 for d in dims.operand_batching_dims),
    )
    gather = function_of(equation, dimension_numbers=dims, slice_sizes=(1, *sizes), indices_are_sorted=False)
    return gather(table, lax.concatenate([rows, index], index.ndim - 1))[0]


def _wide(indices: Sequence[Any]) -> list[Any]:
    """The indices, converted to a type that can hold the index of a row, too."""
    arrays = map(jnp.asarray, indices)
    return [lax.convert_element_type(i, jnp.int32) if i.dtype.itemsize < _ROW else i for i in arrays]


_ROW: Final = 4
"""Bytes of the index of a row."""
_READ: Final = {"dynamic_slice": _dynamic_slice, "gather": _gather}
