"""An operation of one lane -> the same operation of all lanes, which are the last axis of its operands and results.

Most rules leave an operation as it is: the axes that its parameters name stay the same when one more axis follows them.
An operand that all lanes share is broadcast where the operation wants operands of one shape; XLA fuses the broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax.numpy as jnp
from jax import lax

from hlobatch._jax import function_of
from hlobatch.analysis.updates import SLICE
from hlobatch.jax_primitives import UPDATES, Batched, batched
from hlobatch.targets.cpu.contractions import accumulator


@dataclass(frozen=True)
class Value:
    """What an operand has become.

    Attributes:
        array: ``[*event, lanes]``, or ``[*event]`` if all lanes share it. Of a random key, its words.
        varies: Whether lanes differ.
    """

    array: Any
    varies: bool

    def over(self, event: Sequence[int], lanes: int) -> Any:
        """``[*event, lanes]``, of a value of that event or of a scalar."""
        shape = (*event, lanes)
        if self.varies and self.array.shape == shape:
            return self.array
        dims = (len(event),) if self.varies and self.array.ndim == 1 else tuple(range(jnp.ndim(self.array)))
        return lax.broadcast_in_dim(self.array, shape, dims)

    def everywhere(self, lanes: int) -> Any:
        """``[*event, lanes]``."""
        return self.array if self.varies else self.over(jnp.shape(self.array), lanes)


Values = Sequence[Value]
Rule = Callable[[Any, Values, int], Sequence[Any] | None]
"""An equation, its operands, of which some differ between lanes, and how many lanes there are -> results, all of which
do; None if the rule does not know this case."""


def _elementwise(equation: Any, values: Values, lanes: int) -> Sequence[Any]:
    event = equation.outvars[0].aval.shape
    return function_of(equation)(*(value.over(event, lanes) for value in values))


def _along_axes(equation: Any, values: Values, lanes: int) -> Sequence[Any]:
    return function_of(equation)(*(value.everywhere(lanes) for value in values))


def _bitcast(equation: Any, values: Values, lanes: int) -> Sequence[Any]:
    (before,), (after,) = equation.invars, equation.outvars
    if before.aval.shape == after.aval.shape:
        return _along_axes(equation, values, lanes)
    found = function_of(equation)(jnp.moveaxis(values[0].array, -1, 0))  # it makes, or takes away, the last axis
    return [jnp.moveaxis(each, 0, -1) for each in found]


def _broadcast(equation: Any, values: Values, lanes: int) -> Sequence[Any]:
    shape, dims = equation.params["shape"], equation.params["broadcast_dimensions"]
    return [lax.broadcast_in_dim(values[0].array, (*shape, lanes), (*dims, len(shape)))]


def _reshape(equation: Any, values: Values, lanes: int) -> Sequence[Any] | None:
    if equation.params["dimensions"] is not None:
        return None
    return [lax.reshape(values[0].array, (*equation.params["new_sizes"], lanes))]


def _transpose(equation: Any, values: Values, _: int) -> Sequence[Any]:
    permutation = equation.params["permutation"]
    return [lax.transpose(values[0].array, (*permutation, len(permutation)))]


def _slice(equation: Any, values: Values, lanes: int) -> Sequence[Any]:
    start, limit, strides = (equation.params[name] for name in ("start_indices", "limit_indices", "strides"))
    return [lax.slice(values[0].array, (*start, 0), (*limit, lanes), strides and (*strides, 1))]


def _pad(equation: Any, values: Values, _: int) -> Sequence[Any] | None:
    array, padding = values
    if padding.varies:
        return None
    return [lax.pad(array.array, padding.array, (*equation.params["padding_config"], (0, 0, 0)))]


def _dynamic_slice(equation: Any, values: Values, lanes: int) -> Sequence[Any]:
    array, *starts = values
    sizes = equation.params["slice_sizes"]
    if not any(start.varies for start in starts):
        starts_here = _with_all_lanes(starts)
        return [lax.dynamic_slice(array.array, starts_here, (*sizes, lanes), allow_negative_indices=False)]
    axes = tuple(range(len(sizes)))
    dims = lax.GatherDimensionNumbers(offset_dims=axes, collapsed_slice_dims=(), start_index_map=axes)
    return [_gathered(array, _stacked(starts, lanes), dims, sizes, mode=lax.GatherScatterMode.CLIP)]


def _gather(equation: Any, values: Values, lanes: int) -> Sequence[Any]:
    array, index = values
    dims, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    how = {name: equation.params[name] for name in ("unique_indices", "mode", "fill_value")}
    if index.varies:
        return [_gathered(array, jnp.swapaxes(index.array, -1, -2), dims, sizes, **how)]
    dims = dims._replace(offset_dims=(*dims.offset_dims, equation.outvars[0].aval.ndim))
    return [lax.gather(array.array, index.array, dims, (*sizes, lanes), **how)]


def _gathered(array: Value, index: Any, dims: Any, sizes: Sequence[int], **how: Any) -> Any:
    """``[*event, lanes]`` from places that differ between lanes, ``[…, lanes, numbers of an index]``."""
    if array.varies:
        dims = dims._replace(
            operand_batching_dims=(*dims.operand_batching_dims, array.array.ndim - 1),
            start_indices_batching_dims=(*dims.start_indices_batching_dims, index.ndim - 2),
        )
        sizes = (*sizes, 1)
    return lax.gather(array.array, index, dims, tuple(sizes), **how)


def _dynamic_update_slice(equation: Any, values: Values, lanes: int) -> Sequence[Any]:
    array, update, *starts = values
    event, window = (atom.aval.shape for atom in equation.invars[:2])
    old, new = array.over(event, lanes), update.over(window, lanes)
    if not any(start.varies for start in starts):
        return [lax.dynamic_update_slice(old, new, _with_all_lanes(starts), allow_negative_indices=False)]
    axes = tuple(range(len(event)))
    dims = lax.ScatterDimensionNumbers(axes, (), axes, (len(event),), (0,))
    index = _stacked(starts, lanes)
    return [lax.scatter(old, index, new, dims, unique_indices=True, mode=lax.GatherScatterMode.CLIP)]


def _scatter(equation: Any, values: Values, lanes: int) -> Sequence[Any] | None:
    if equation.params["update_consts"]:
        return None
    array, index, update = values
    event, _, window = (atom.aval.shape for atom in equation.invars)
    old, new = array.over(event, lanes), update.over(window, lanes)
    dims = equation.params["dimension_numbers"]
    if not index.varies:
        dims = dims._replace(update_window_dims=(*dims.update_window_dims, len(window)))
        return function_of(equation, dimension_numbers=dims)(old, index.array, new)
    places = jnp.swapaxes(index.array, -1, -2)
    dims = dims._replace(
        operand_batching_dims=(*dims.operand_batching_dims, len(event)),
        scatter_indices_batching_dims=(*dims.scatter_indices_batching_dims, places.ndim - 2),
    )
    return function_of(equation, dimension_numbers=dims, indices_are_sorted=False)(old, places, new)


def _with_all_lanes(starts: Values) -> tuple[Any, ...]:
    """Where a slice begins that has all lanes; the numbers are of one dtype, and none counts from the end any more."""
    return (*(start.array for start in starts), jnp.zeros((), starts[0].array.dtype if starts else jnp.int32))


def _stacked(starts: Values, lanes: int) -> Any:
    """``[lanes, axes]``: where in an array each lane's slice begins."""
    return jnp.stack([start.over((), lanes) for start in starts], axis=-1)


def _dot_general(equation: Any, values: Values, _: int) -> Sequence[Any]:
    (left, right), (summed, shared) = values, equation.params["dimension_numbers"]
    dtype, precision = equation.params["preferred_element_type"], equation.params["precision"]
    if left.varies and right.varies:
        return [_sum_of_products(left.array, right.array, summed, shared, equation.outvars[0].aval.dtype)]
    if right.varies:
        return [lax.dot_general(left.array, right.array, (summed, shared), precision, dtype)]
    turned = (summed[::-1], shared[::-1])
    precision = precision[::-1] if isinstance(precision, tuple) else precision
    result = lax.dot_general(right.array, left.array, turned, precision, dtype)
    first = len(shared[0])
    columns = right.array.ndim - first - len(summed[1])  # those of the right operand alone, which stand first now
    order = [*range(first), *range(first + columns, result.ndim - 1), *range(first, first + columns), result.ndim - 1]
    return [lax.transpose(result, order)]


def _sum_of_products(left: Any, right: Any, summed: Any, shared: Any, dtype: Any) -> Any:
    """A contraction of two arrays that both differ between lanes."""
    rows = [d for d in range(left.ndim - 1) if d not in (*summed[0], *shared[0])]
    columns = [d for d in range(right.ndim - 1) if d not in (*summed[1], *shared[1])]
    before, wide = len(summed[0]) + len(shared[0]), accumulator(dtype)
    a = lax.transpose(left.astype(wide), (*summed[0], *shared[0], *rows, left.ndim - 1))
    b = lax.transpose(right.astype(wide), (*summed[1], *shared[1], *columns, right.ndim - 1))
    a = lax.expand_dims(a, [before + len(rows) + i for i in range(len(columns))])
    b = lax.expand_dims(b, [before + i for i in range(len(rows))])
    return jnp.sum(a * b, axis=tuple(range(len(summed[0])))).astype(dtype)


RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(batched(Batched.EACH), _elementwise),
    **dict.fromkeys(batched(Batched.AXES), _along_axes),
    **dict.fromkeys(UPDATES - {SLICE}, _scatter),
    "bitcast_convert_type": _bitcast,
    "broadcast_in_dim": _broadcast,
    "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice,
    SLICE: _dynamic_update_slice,
    "gather": _gather,
    "pad": _pad,
    "reshape": _reshape,
    "slice": _slice,
    "transpose": _transpose,
}
"""By name of the primitive. What has no rule, ``jax.vmap`` does."""
