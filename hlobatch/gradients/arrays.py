"""Single arrays of variables, which is what derivatives are taken of, and primitives as functions of arrays.

A variable may hold a pytree of several arrays, while a derivative belongs to one array. So each tangent, each cotangent
and each array on a tape is in a variable of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ClosedJaxpr, Jaxpr
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.gradients.own_rules import NO_RULES, Rules
from hlobatch.ir.evaluation import needed_for
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.types import TensorType, Type, rebuilt
from hlobatch.typing import ArrayLike, Arrays

Types = Mapping[str, Type]


class Array(NamedTuple):
    """One of the arrays that a variable holds.

    Attributes:
        variable: The variable.
        place: Its index in the type's ``tensor_leaves``.
    """

    variable: str
    place: int


def arrays_of(variable: str, types: Types) -> list[Array]:
    """All arrays of a variable."""
    return [Array(variable, place) for place in range(len(types[variable].tensor_leaves))]


def tensor_of(array: Array, types: Types) -> TensorType:
    """The type of an array."""
    return types[array.variable].tensor_leaves[array.place]


def is_differentiable(tensor: Any) -> bool:
    """Whether arrays of a type have derivatives: floats and complex numbers do; integers, booleans and keys do not."""
    return bool(jnp.issubdtype(tensor.dtype, np.inexact))


def own_type(tensor: TensorType) -> Type:
    """The type of a variable that holds just an array of this type."""
    return Type(TensorType(tensor.dtype, tensor.shape))


def on_arrays(op: PrimOp, types: Types, rules: Rules = NO_RULES) -> Callable[..., list[Any]]:
    """A primitive as a function of the arrays of its ``vars_in``, in order, to those of its ``vars_out``.

    Args:
        op: The primitive.
        types: Types of all variables.
        rules: The rules of derivatives in place of JAX's.
    """
    in_types = [types[v] for v in op.vars_in]
    out_types = [types[v] for v in op.vars_out]
    function = _differentiable(op.function, rules)

    def run(*arrays: ArrayLike) -> list[Any]:
        results = function(*rebuilt(arrays, in_types))
        return [
            _stored(value, tensor)
            for result, type_ in zip(results, out_types, strict=True)
            for value, tensor in zip(type_.flatten(result), type_.tensor_leaves, strict=True)
        ]

    return run


def _differentiable(function: Callable[..., Any], rules: Rules) -> Callable[..., Any]:
    """A primitive's code with derivatives by these rules."""
    if not isinstance(function, TracedFunction) or not rules.concern(function.jaxpr):
        return function
    run = rules.applied(function.jaxpr)
    in_types, out_types = function.in_types, function.out_types

    def of_values(*values: Any) -> list[Any]:
        tensors = [t for type_, value in zip(in_types, values, strict=True) for t in type_.flatten(value)]
        return rebuilt(run(*tensors), out_types)

    return of_values


def _stored(value: Any, tensor: TensorType) -> Any:
    """A value as an array of the variable that it is assigned to; a Python number adopts the dtype."""
    if tensor.is_key:
        return value
    value = jnp.asarray(value)
    return value if value.dtype == tensor.dtype else value.astype(tensor.dtype)


def with_values(values: Arrays, places: Sequence[int], others: Sequence[Any]) -> list[Any]:
    """Values, with others at some positions."""
    found = list(values)
    for place, other in zip(places, others, strict=True):
        found[place] = other
    return found


def primitive(  # each argument is a part of the operation
    run: Callable[..., Sequence[Any]],
    reads: Sequence[str],
    writes: Sequence[str],
    types: Types,
    text: str,
    like: Any,
) -> PrimOp:
    """The operation that runs a function of arrays.

    Args:
        run: Maps all arrays of the variables that are read to those of the variables that are written.
        reads: The variables that it reads.
        writes: The variables that it writes.
        types: Types of all variables.
        text: Its text for the printer.
        like: An operation or a block whose location it gets.
    """
    in_types = tuple(types[v] for v in reads)
    out_types = tuple(types[v] for v in writes)
    jaxpr = without_dead_code(jax.make_jaxpr(lambda *arrays: list(run(*arrays)))(*avals(in_types)))
    return PrimOp(tuple(reads), tuple(writes), TracedFunction(in_types, out_types, jaxpr), text, location=like.location)


def without_dead_code(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A jaxpr without equations on which no result depends; unchanged if it has effects."""
    jaxpr: Jaxpr = closed.jaxpr
    return (
        closed
        if jaxpr.effects
        else ClosedJaxpr(jaxpr.replace(eqns=needed_for(jaxpr.outvars, jaxpr.eqns)), closed.consts)
    )


def avals(types: Iterable[Type]) -> list[jax.ShapeDtypeStruct]:
    """The arrays of some types as ``jax.ShapeDtypeStruct``."""
    return [tensor.aval for type_ in types for tensor in type_.tensor_leaves]


def zeros(writes: Sequence[str], types: Types, like: Any) -> PrimOp:
    """The operation that writes zeros to variables of one array each."""
    tensors = [types[v].tensor_leaves[0] for v in writes]
    return primitive(lambda: [jnp.zeros(t.shape, t.dtype) for t in tensors], (), writes, types, "zero", like)
