"""``hb.value_and_grad``: the results of a batch and their gradients, in one run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.api import BatchedFunction, BoundFunction, is_batching_disabled
from hlobatch.diagnostics import BatchTypeError, Interrupted, LaneError, hiding_internal_frames
from hlobatch.frontend.differentiated import GRADIENT_MARK
from hlobatch.gradients.arrays import is_differentiable
from hlobatch.ir.types import TensorType, Type
from hlobatch.runtime.arguments import Call
from hlobatch.runtime.callers import caller
from hlobatch.runtime.derivatives import cotangents_of
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.room import is_outgrown
from hlobatch.typing import Function, PyTree
from hlobatch.values.ragged import is_ragged
from hlobatch.values.user_values import user_value, without_own_kinds


def value_and_grad(fun: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """A function of a batch that returns, for each example, the result of a batched function and its gradient.

    ``jax.value_and_grad`` of a sum over the batch gives the same gradients, and runs the function twice: once for the
    value, once more, with a tape, for the gradient. This runs it once.

    Args:
        fun: A batched function whose result is one floating-point number per example, or, with ``has_aux``, a pair of
            such a number and anything else.
        argnums: The position of the argument to differentiate by, or a sequence of positions.
        has_aux: Whether the function returns a pair.

    Returns:
        A function of the arguments of ``fun`` that returns a pair of its result, ``[batch]``, and the gradients. Each
        gradient is like the argument, with the argument's batch axis; that of a shared argument is the sum over the
        batch. Arrays of integers and booleans have ``float0`` zeros, as in JAX; an ``hb.Ragged`` keeps its lengths.

    Raises:
        BatchTypeError: ``fun`` is not batched, its result is not a number, or an argument has no derivatives.
        DerivativeError: In a call: something in the function has no derivative.
        LaneError: In a call: some inputs raised an exception. ``outputs`` is a pair like the result: the results of all
            other inputs, and the gradients, in which inputs that raised count as zero; None for the gradients if those
            of large shared arguments are summed in parts.

    Examples:
        >>> import hlobatch as hb, jax.numpy as jnp
        >>> @hb.batch
        ... def power(x, n):
        ...     return x * power(x, n - 1) if n > 0 else 1.0
        >>> values, gradients = hb.value_and_grad(power)(jnp.array([2.0, 3.0]), jnp.array([3, 2]))
        >>> values.tolist(), gradients.tolist()
        ([8.0, 9.0], [12.0, 6.0])
    """
    batched = fun.__func__ if isinstance(fun, BoundFunction) else fun
    if not isinstance(batched, BatchedFunction):
        raise BatchTypeError(f"{fun!r} is not batched", caller(), help="decorate it with @hb.batch.")
    first = (fun.__self__,) if isinstance(fun, BoundFunction) else ()
    several = not isinstance(argnums, int)
    numbers = tuple(argnums) if isinstance(argnums, Sequence) else (argnums,)

    @functools.wraps(fun)
    @hiding_internal_frames
    def run(*args: PyTree, **kwargs: PyTree) -> Any:
        if is_batching_disabled():
            places = tuple(i if i < 0 else len(first) + i for i in numbers)
            plain = jax.value_and_grad(
                batched.function, places if several else places[0], has_aux=has_aux, allow_int=True
            )
            return plain(*first, *args, **kwargs)
        try:
            return of_plan(args, kwargs)
        except LaneError as error:
            if not is_outgrown(error):
                raise
            batched._with_more_room((*first, *args), kwargs, error)
        return of_plan(args, kwargs)

    def of_plan(args: Any, kwargs: Any) -> Any:
        call, plan = batched._planned((*first, *args), kwargs)
        wanted = [_name(call, i if i < 0 else len(first) + i) for i in numbers]

        def gradients(bars: dict[int, Any]) -> Any:
            found = tuple(_gradient(call, name, bars) for name in wanted)
            return found if several else found[0]

        try:
            values, bars = cotangents_of(plan, plan.captured, call.physical(), _places(call, wanted), _ones(plan, call))
        except (LaneError, Interrupted) as error:
            if error.outputs is not None:
                result, bars = error.outputs
                error.outputs = result, None if bars is None else gradients(bars)
            raise
        return user_value(values, plan.out_type), gradients(bars)

    def _ones(plan: Plan, call: Call) -> dict[int, Any]:
        type_ = plan.out_type
        number = _number(_first_of_pair(type_) if has_aux else type_)
        if number is None:
            raise BatchTypeError(
                f"the result of {plan.name!r} is {type_}, and a gradient is of one floating-point number per example",
                plan.specialized.location,
                help="give back one number, or a pair of it and more with has_aux=True; else use jax.vjp.",
            )
        return {0: jnp.ones((call.size,), number.dtype)}

    setattr(run, GRADIENT_MARK, (fun, argnums if not several else numbers, has_aux))
    return run


def _first_of_pair(type_: Type) -> Type | None:
    """The type of the first of two values; None if the type is not a pair."""
    pair = type_.tensors
    return Type(pair[0]) if isinstance(pair, tuple) and len(pair) == 2 else None


def _number(type_: Type | None) -> TensorType | None:
    """The single real number that a type consists of; None if it is not one."""
    leaf = type_.leaves[0] if type_ is not None and len(type_.leaves) == 1 else None
    is_number = isinstance(leaf, TensorType) and not leaf.shape and jnp.issubdtype(leaf.dtype, np.floating)
    return leaf if isinstance(leaf, TensorType) and is_number else None


def _name(call: Call, number: int) -> str:
    """The parameter at a position.

    Raises:
        BatchTypeError: There is no such parameter.
    """
    names = [name for name, _ in call.types]
    if not -len(names) <= number < len(names):
        raise BatchTypeError(
            f"argnums names argument {number}, and there are {len(names)}",
            caller(),
            help=f"the arguments are {', '.join(names)}, counted from 0.",
        )
    return names[number]


def _places(call: Call, names: Sequence[str]) -> tuple[int, ...]:
    """The positions of the differentiable arrays of some parameters.

    Raises:
        BatchTypeError: One of the parameters has no such array.
    """
    found, place = [], 0
    for name, type_ in call.types:
        own = [place + i for i, leaf in enumerate(type_.tensor_leaves) if is_differentiable(leaf)]
        if name in names and not own:
            raise BatchTypeError(
                f"{name} is {type_}, which has no derivatives",
                caller(),
                help="pass floating-point numbers, or leave it out of argnums.",
            )
        found += own if name in names else []
        place += len(type_.tensor_leaves)
    return tuple(found)


def _gradient(call: Call, name: str, bars: dict[int, Any]) -> Any:
    """The gradient of an argument, with its structure, from the cotangents of its arrays."""
    place = 0
    for other, type_ in call.types:
        count = len(type_.tensor_leaves)
        if other == name:
            is_shared = name in call.shared
            arrays = [_like(call, i, bars.get(i), is_summed=is_shared) for i in range(place, place + count)]
            found = without_own_kinds(type_.rebuild(arrays), type_)
            if not type_.grows:
                return found
            own = without_own_kinds(type_.rebuild(call.arrays[place : place + count]), type_)
            return jax.tree.map(_readable, found, own, is_leaf=is_ragged)
        place += count
    raise AssertionError(name)


def _readable(bar: Any, own: Any) -> Any:
    """The gradient of an ``hb.Ragged`` with its lengths and keys in place of zeros; other gradients unchanged."""
    if not is_ragged(bar):
        return bar
    pairs = zip(jax.tree.leaves(bar), jax.tree.leaves(own), strict=True)
    arrays = [given if array.dtype == jax.dtypes.float0 else array for array, given in pairs]
    return jax.tree.unflatten(jax.tree.structure(bar), arrays)


def _like(call: Call, place: int, bar: Any, *, is_summed: bool) -> Any:
    """The gradient of an array as the user passed it; for a shared array in a batched parameter it is summed here."""
    array, axis = call.arrays[place], call.axes[place]
    if bar is None:
        is_float = is_differentiable(array)
        bar = jnp.zeros(array.shape, array.dtype) if is_float else np.zeros(array.shape, jax.dtypes.float0)
    if axis is None:
        return bar if is_summed else bar[0] if bar.dtype == jax.dtypes.float0 else jnp.sum(bar, 0)
    return jnp.moveaxis(bar, 0, axis) if axis else bar
