"""The arrays of variables one by one, which is how derivatives are taken; and code on single arrays.

A variable may hold a pytree of several arrays. A derivative belongs to one of them, so tangents, cotangents and what a
tape holds are in variables of their own with one array each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ClosedJaxpr
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.gradients.extremes import has_extremes, with_extremes
from hlobatch.ir.evaluation import needed_for
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.types import TensorType, Type, rebuilt

Types = Mapping[str, Type]


class Array(NamedTuple):
    """One of the arrays that a variable holds.

    Attributes:
        variable: The variable.
        place: Which of its arrays, in the order of the type's ``tensor_leaves``.
    """

    variable: str
    place: int


def arrays_of(variable: str, types: Types) -> list[Array]:
    """All arrays of a variable."""
    return [Array(variable, place) for place in range(len(types[variable].tensor_leaves))]


def tensor_of(array: Array, types: Types) -> TensorType:
    """What an array is."""
    return types[array.variable].tensor_leaves[array.place]


def is_differentiable(tensor: Any) -> bool:
    """Whether an array has derivatives: floating-point and complex ones do; integers, booleans and keys do not."""
    return bool(jnp.issubdtype(tensor.dtype, np.inexact))


def own_type(tensor: TensorType) -> Type:
    """The type of a variable that holds such an array by itself."""
    return Type(TensorType(tensor.dtype, tensor.shape))


def on_arrays(op: PrimOp, types: Types) -> Callable[..., list[Any]]:
    """A primitive as a function of the arrays of its ``vars_in``, in order, to those of its ``vars_out``."""
    in_types = [types[v] for v in op.vars_in]
    out_types = [types[v] for v in op.vars_out]
    function = _differentiable(op.function)

    def run(*arrays: Any) -> list[Any]:
        results = function(*rebuilt(arrays, in_types))
        return [
            _stored(value, tensor)
            for result, type_ in zip(results, out_types, strict=True)
            for value, tensor in zip(type_.flatten(result), type_.tensor_leaves, strict=True)
        ]

    return run


def _differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive's code, in which the greatest and the least of floats have derivatives that are never NaN."""
    if not isinstance(function, TracedFunction) or not has_extremes(function.jaxpr):
        return function
    run, in_types, out_types = with_extremes(function.jaxpr), function.in_types, function.out_types

    def of_values(*values: Any) -> list[Any]:
        tensors = [t for type_, value in zip(in_types, values, strict=True) for t in type_.flatten(value)]
        return rebuilt(run(*tensors), out_types)

    return of_values


def _stored(value: Any, tensor: TensorType) -> Any:
    """A value as an array of the variable that it goes to; a Python number adopts the dtype."""
    if tensor.is_key:
        return value
    value = jnp.asarray(value)
    return value if value.dtype == tensor.dtype else value.astype(tensor.dtype)


def with_values(values: Sequence[Any], places: Sequence[int], others: Sequence[Any]) -> list[Any]:
    """Values, with others in some of their places: those that a derivative is taken by."""
    found = list(values)
    for place, other in zip(places, others, strict=True):
        found[place] = other
    return found


def primitive(  # an operation is what it reads, what it writes, and where it comes from
    run: Callable[..., Sequence[Any]],
    reads: Sequence[str],
    writes: Sequence[str],
    types: Types,
    text: str,
    like: Any,
) -> PrimOp:
    """The operation that runs a function of arrays.

    Args:
        run: From all arrays of the variables that are read to all of those that are written.
        reads: Those variables.
        writes: And those.
        types: Of all.
        text: What it is called in print.
        like: An operation or a block at whose location it is.
    """
    in_types = tuple(types[v] for v in reads)
    out_types = tuple(types[v] for v in writes)
    jaxpr = without_dead_code(jax.make_jaxpr(lambda *arrays: list(run(*arrays)))(*avals(in_types)))
    return PrimOp(tuple(reads), tuple(writes), TracedFunction(in_types, out_types, jaxpr), text, location=like.location)


def without_dead_code(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Code without what its results do not depend on, if it has no effects."""
    jaxpr: Any = closed.jaxpr
    return (
        closed
        if jaxpr.effects
        else ClosedJaxpr(jaxpr.replace(eqns=needed_for(jaxpr.outvars, jaxpr.eqns)), closed.consts)
    )


def avals(types: Iterable[Type]) -> list[jax.ShapeDtypeStruct]:
    """The arrays of some types, as JAX describes them."""
    return [tensor.aval for type_ in types for tensor in type_.tensor_leaves]


def zeros(writes: Sequence[str], types: Types, like: Any) -> PrimOp:
    """The operation that writes zeros to variables of one array each."""
    tensors = [types[v].tensor_leaves[0] for v in writes]
    return primitive(lambda: [jnp.zeros(t.shape, t.dtype) for t in tensors], (), writes, types, "zero", like)
