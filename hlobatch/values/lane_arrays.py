"""``LaneArray``: the stand-in for an array of NumPy's whose length differs between lanes, while code is traced.

::

    x[i:j]                  LaneArray(items=f32[8], size=j - i): the elements of x from i on, and what is behind them
    x[x > 0]                LaneArray(items=f32[8], size=the number of positive ones)
    2 * x[i:j] + 1          the same computed of all rows, with the same size
    x[i:j].max()            the greatest of the rows in use; a ValueError in lanes in which there is none

Only the first axis has a length of the lane's. There is room for as many rows as the array has from which they come.
An array of this kind is only read: its elements cannot be assigned.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Self

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.ir.types import Static, TensorType, Type
from hlobatch.typing import DType
from hlobatch.values import rows
from hlobatch.values.containers import SIZE, capacity
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.identity import fresh, is_now
from hlobatch.values.lane_failures import fails
from hlobatch.values.leaf_types import leaf_type, widened_leaf
from hlobatch.values.rings import Ring
from hlobatch.values.whole_numbers import number

_ONLY_READ: Final = (
    "write into the array itself, as in `x[i + k] = v` or `x[i:j] = v`, or into a list: `y = list(x[i:j])`."
)


@jax.tree_util.register_pytree_with_keys_class
class LaneArray(Ring):
    """An array whose first axis has another length in each lane."""

    python: ClassVar[Any] = np.ndarray
    is_alternative: ClassVar[bool] = True

    @property
    def hb_inside(self) -> Any:
        return self.items  # of which it is a view, or a copy

    def hb_text(self, text: Callable[[Any], str]) -> str:
        del text
        return "an array of another length in each lane"

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        return np.asarray(known(self.items))[: int(self.size)]

    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        text = "The truth value of an array that has not one element is ambiguous. Use a.any() or a.all()"
        fails(ValueError, text, self.elements() != 1)
        return truth(self.items[(0,) * self.items.ndim])

    @property
    def name(self) -> str:
        return "array"

    # How one is made

    @classmethod
    def of(cls, values: Any, bound: int | None = None) -> Self:
        """An array of known length, as one whose length may differ."""
        del bound
        if isinstance(values, cls):
            return values
        array = jnp.asarray(values)
        return cls(array, jnp.int32(array.shape[0]))

    @classmethod
    def part(cls, array: Any, key: slice) -> Self:
        """``array[key]``, of an array of known length."""
        new = cls.of(array)._rows(key)
        is_now(new.items, array)  # NumPy returns a view
        return new

    @classmethod
    def of_those(cls, array: Any, mask: Any) -> Self:
        """``array[mask]``: a copy of the elements for which a mask holds, which has the first axes of the array."""
        array, mask = jnp.asarray(array), jnp.asarray(mask)
        if mask.shape != array.shape[: mask.ndim]:
            raise IndexError(f"a mask of shape {mask.shape} for an array of shape {array.shape}")
        flat = mask.reshape(-1)
        rows_ = array.reshape(-1, *array.shape[mask.ndim :])[rows.those_first(flat)]
        return cls(fresh(rows_), jnp.sum(flat, dtype=jnp.int32))

    # An array as a type

    @classmethod
    def type_of(cls, values: Any, bound: int | None = None) -> Self:
        del bound
        held = values.value if isinstance(values, Static) else values
        kind = held if isinstance(held, TensorType) else widened_leaf(leaf_type(held))
        if not isinstance(kind, TensorType) or not kind.shape:
            raise BatchTypeError(f"one is an array whose length differs between lanes, the other {Type(values)}")
        return cls(kind, SIZE)

    def together(self, other: Any) -> Self:
        if not isinstance(other, LaneArray):
            other = type(self).type_of(other)
        one, two = self.items, other.items
        if (one.dtype, one.shape[1:]) != (two.dtype, two.shape[1:]):
            raise BatchTypeError(f"one is an array of rows {self.kind}, the other one of rows {other.kind}")
        return type(self)(rows.rows_kind(self.kind, max(self.capacity, other.capacity)), SIZE)

    def with_items(self, other: Callable[[Any], Any]) -> Self:
        del other
        return self

    def hold(self, value: Any) -> Self:
        own = type(self).of(value)
        return type(self)(own.with_rows(self.capacity), own.size)

    def with_capacity(self, bound: int | None) -> Self:
        del bound
        return self

    # Questions about the array

    def in_order(self) -> GrowingList:
        return GrowingList(self.items, self.size)

    def item(self, key: Any) -> Any:
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is ... or first is None or any(part is ... or part is None for part in rest):
            raise UnsupportedSyntaxError(
                "`...` or `None` is in a key of an array whose length differs between lanes",
                help="write the key without it, or go over the array by a `for`.",
            )
        if isinstance(first, slice):
            part = self._rows(first)
            if not rest:
                return part
            inner = part.items[(slice(None), *rest)]
            is_now(inner, self.items)
            return type(self)(inner, part.size)
        if isinstance(first, LaneArray) or np.ndim(first):
            return self._at(first, rest)
        row = self.items[self.index_of(first, "index is out of bounds for axis 0")]
        is_now(row, self.items)
        return row[tuple(rest)] if rest else row

    def _rows(self, key: slice) -> Self:
        """``array[first:last:step]``, a view."""
        first, step, count = self.span(key)
        if key.start is None and key.step is None:
            return type(self)(self.items, count)
        places = jnp.clip(first + step * jnp.arange(self.capacity), 0, self.capacity - 1)
        new = self.items[places]
        is_now(new, self.items)
        return type(self)(new, count)

    def _at(self, key: Any, rest: Sequence[Any]) -> Any:
        """``array[mask]`` or ``array[indices]``, a copy."""
        if rest:
            raise UnsupportedSyntaxError(
                "an array of indices or a mask stands beside other indices, in a key of an array whose length differs "
                "between lanes",
                help="take the rows first, as in `y = x[m]`, and the columns of that by `y[:, k]`.",
            )
        if key.items.dtype == bool if isinstance(key, LaneArray) else key.dtype == bool:
            mask = LaneArray.of(key)
            fails(IndexError, "boolean index did not match indexed array along axis 0", mask.size != self.size)
            found = mask.with_rows(self.capacity)[: self.capacity] & mask.in_use_of(self.capacity)
            return LaneArray.of_those(self.items, found)
        places = jnp.asarray(key.items if isinstance(key, LaneArray) else key)
        used = key.in_use() if isinstance(key, LaneArray) else jnp.ones((), bool)
        used = used.reshape(used.shape + (1,) * (places.ndim - used.ndim))
        at = jnp.where(places < 0, places + self.size, places)
        fails(IndexError, "index is out of bounds for axis 0", jnp.any(used & ((at < 0) | (at >= self.size))))
        found = fresh(self.items[jnp.clip(at, 0, self.capacity - 1)])
        return LaneArray(found, key.size) if isinstance(key, LaneArray) else found

    def in_use_of(self, room: int) -> Any:
        """A mask of as many rows as there is room for: those in use."""
        return jnp.arange(room) < self.size

    def with_rows(self, room: int) -> Any:
        """The rows, with rows of 0 behind them up to at least some number."""
        more = room - self.items.shape[0]
        return self.items if more <= 0 else jnp.pad(self.items, [(0, more)] + [(0, 0)] * (self.items.ndim - 1))

    def turn(self, number: Any) -> Any:
        row = self.items[number]
        is_now(row, self.items)
        return row

    def contains(self, item: Any) -> Any:
        return jnp.any(self.masked() & (self.items == item))

    def equals(self, other: Any) -> Any:
        """Whether it has the length and the elements of another array, as ``np.array_equal`` tells."""
        other = LaneArray.of(other)
        if other.items.shape[1:] != self.items.shape[1:]:
            return False
        room = max(self.capacity, other.capacity)
        beyond = ~self.in_use_of(room).reshape(-1, *[1] * (self.items.ndim - 1))
        return (self.size == other.size) & jnp.all((self.with_rows(room) == other.with_rows(room)) | beyond)

    def with_item(self, key: Any, value: Any, *, is_other: bool) -> Self:
        raise UnsupportedSyntaxError(
            "an element of an array whose length differs between lanes is assigned", help=_ONLY_READ
        )

    def copy(self) -> Self:
        items = jnp.copy(self.items) if isinstance(self.items, jax.Array) else self.items
        return type(self)(items, self.size)

    def masked(self) -> Any:
        """A mask of the elements in use, which can be broadcast to the rows."""
        return self.in_use().reshape(-1, *[1] * (self.items.ndim - 1))

    def elements(self) -> Any:
        """The number of elements."""
        return number(self.size * int(np.prod(self.items.shape[1:])))

    @property
    def shape(self) -> tuple[Any, ...]:
        """The length of each axis."""
        return (self.length(), *self.items.shape[1:])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self.items.ndim)

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.items.dtype

    # Methods of arrays, which reduce all elements or compute one for each

    def reduced(self, name: str, axis: Any = None, **more: Any) -> Any:
        """The result of a function of ``jax.numpy`` that reduces an array, for the elements in use.

        Args:
            name: The function.
            axis: The axis; None for all of them.
            **more: Its other arguments.
        """
        if axis is not None and axis not in (0, -self.ndim):
            return type(self)(getattr(jnp, name)(self.items, axis=axis, **more), self.size)
        if name in ("max", "min") and "initial" not in more:
            text = f"zero-size array to reduction operation {name}imum which has no identity"
            fails(ValueError, text, self.size == 0)
            more["initial"] = worst(self.dtype, name)
        return getattr(jnp, name)(self.items, axis=axis, where=self.masked(), **more)

    sum = functools.partialmethod(reduced, "sum")
    prod = functools.partialmethod(reduced, "prod")
    max = functools.partialmethod(reduced, "max")
    min = functools.partialmethod(reduced, "min")
    mean = functools.partialmethod(reduced, "mean")
    std = functools.partialmethod(reduced, "std")
    var = functools.partialmethod(reduced, "var")
    any = functools.partialmethod(reduced, "any")
    all = functools.partialmethod(reduced, "all")

    def argmax(self, axis: Any = None) -> Any:
        return self._place("argmax", "max", axis)

    def argmin(self, axis: Any = None) -> Any:
        return self._place("argmin", "min", axis)

    def _place(self, name: str, extreme: str, axis: Any) -> Any:
        if axis is not None and axis not in (0, -self.ndim):
            return type(self)(getattr(jnp, name)(self.items, axis=axis), self.size)
        fails(ValueError, f"attempt to get {name} of an empty sequence", self.size == 0)
        return getattr(jnp, name)(jnp.where(self.masked(), self.items, worst(self.dtype, extreme)), axis=axis)

    def by_rows(self, function: Callable[[Any], Any]) -> Self:
        """What a function of an array gives for the rows, of which each element depends on the rows up to its own."""
        return type(self)(function(self.items), self.size)

    def astype(self, dtype: DType, *_: Any, **__: Any) -> Self:
        return self.by_rows(lambda items: items.astype(jax.dtypes.canonicalize_dtype(dtype)))

    def cumsum(self, axis: Any = None, dtype: Any = None) -> Self:
        return self._so_far("cumsum", axis, dtype)

    def cumprod(self, axis: Any = None, dtype: Any = None) -> Self:
        return self._so_far("cumprod", axis, dtype)

    def _so_far(self, name: str, axis: Any, dtype: Any) -> Self:
        self.need_one_axis(name, axis)
        if dtype is None and jnp.issubdtype(self.dtype, jnp.integer):
            dtype = jax.eval_shape(jnp.sum, jax.ShapeDtypeStruct((1,), self.dtype)).dtype
        return self.by_rows(lambda items: getattr(jnp, name)(items, axis=0, dtype=dtype))

    def need_one_axis(self, name: str, axis: Any = None) -> None:
        """Refuse a function that is defined here for arrays with one axis only, or along the first."""
        if self.ndim > 1 and axis not in (0, -self.ndim):
            raise UnsupportedSyntaxError(
                f"`{name}` of an array of {self.ndim} axes whose length differs between lanes",
                help="go over its rows by a `for`.",
            )

    def sorted(self) -> Self:
        """A copy of the array in order."""
        self.need_one_axis("sort")
        new = self.in_order().copy()
        new.arrange()
        return type(self)(new.items, new.size)

    def argsort(self, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Self:
        del axis, kind, stable
        self.need_one_axis("argsort")
        return type(self)(jnp.lexsort((self.items, ~self.in_use())).astype(jnp.int32), self.size)

    def sort(self, *_: Any, **__: Any) -> None:
        raise UnsupportedSyntaxError(
            "`sort` changes an array whose length differs between lanes in place", help="take `np.sort(y)`."
        )

    def median(self) -> Any:
        """The number in the middle, or the mean of the two there."""
        self.need_one_axis("median")
        order = self.sorted().items.astype(jnp.result_type(self.dtype, jnp.float32))
        low, high = (jnp.maximum((self.size - one) // 2, 0) for one in (1, 0))
        middle = (order[low] + order[jnp.minimum(high, self.capacity - 1)]) / 2
        is_nan = (self.size == 0) | jnp.any(self.in_use() & jnp.isnan(order))
        return jnp.where(is_nan, jnp.nan, middle)

    def tolist(self) -> GrowingList:
        self.need_one_axis("tolist")
        return self.in_order().copy()

    def flatten(self) -> Self:
        return type(self)(self.items.reshape(-1), self.elements())

    ravel = flatten


def elementwise(function: Callable[..., Any], *operands: Any) -> LaneArray:
    """What a function of single elements gives for those of some operands, at least one of which is a ``LaneArray``.

    Lanes fail in which the lengths do not fit to each other.
    """
    operands = tuple(jnp.asarray(one) if isinstance(one, (list, tuple, np.ndarray)) else one for one in operands)
    ndim = max(np.ndim(one) if not isinstance(one, LaneArray) else one.ndim for one in operands)
    wide = [isinstance(one, LaneArray) or np.ndim(one) == ndim for one in operands]
    arrays = {id(one): LaneArray.of(one) for one, is_wide in zip(operands, wide, strict=True) if is_wide}
    if any(array.ndim < ndim for array in arrays.values()):
        raise UnsupportedSyntaxError(
            "an array whose length differs between lanes is computed with one that has more axes",
            help="go over the rows of that by a `for`.",
        )
    room = max(array.capacity for array in arrays.values())
    size: Any = functools.reduce(_common, [array.size for array in arrays.values()])
    given = [_broadcast(arrays[id(one)], room, len(arrays)) if id(one) in arrays else one for one in operands]
    found = function(*given)
    row = next(iter(arrays.values())).items.shape[1:]
    return LaneArray(found if np.ndim(found) == ndim else jnp.broadcast_to(found, (room, *row)), size)


def _common(one: Any, other: Any) -> Any:
    text = "operands could not be broadcast together with shapes of different lengths"
    fails(ValueError, text, (one != other) & (one != 1) & (other != 1))
    return jnp.where(one == 1, other, one)


def _broadcast(array: LaneArray, room: int, others: int) -> Any:
    """The rows of an array, of which a single one takes the place of all."""
    items = array.with_rows(room)
    return items if others == 1 else jnp.where(array.size == 1, items[:1], items)


def concatenated(parts: Sequence[Any]) -> LaneArray:
    """``np.concatenate`` of arrays, at least one of which is a ``LaneArray``, along the first axis."""
    arrays = [LaneArray.of(part) for part in parts]
    items = jnp.concatenate([array.items for array in arrays])
    flags = jnp.concatenate([array.in_use() for array in arrays])
    # Not more than this, so that a recursion whose result is made of two of its results has a type.
    room = max(capacity(rows.row_kind(items), 1, None), *(array.capacity for array in arrays))
    new = LaneArray(items[rows.those_first(flags)[:room]], jnp.sum(flags, dtype=jnp.int32))
    new.check_room(new.size > room)
    return new


def distinct(array: Any) -> LaneArray:
    """``np.unique`` of an array: its elements in order, each once."""
    own = LaneArray.of(array if isinstance(array, LaneArray) else jnp.ravel(jnp.asarray(array))).sorted()
    is_first = own.in_use() & jnp.append(True, own.items[1:] != own.items[:-1])
    return LaneArray.of_those(own.items, is_first)


def nonzero(array: Any) -> tuple[LaneArray, ...]:
    """``np.nonzero``: for each axis, the indices of the elements that are not 0."""
    used = array.masked() & (array.items != 0) if isinstance(array, LaneArray) else jnp.asarray(array) != 0
    places = jnp.unravel_index(jnp.arange(used.size, dtype=jnp.int32), used.shape)
    return tuple(LaneArray.of_those(one, used.reshape(-1)) for one in places)


def worst(dtype: DType, name: str) -> Any:
    """The number that no other one is less than, for ``max``, or greater than, for ``min``."""
    if dtype == jnp.bool_:
        return name == "min"
    if jnp.issubdtype(dtype, jnp.floating):
        return jnp.asarray(jnp.inf if name == "min" else -jnp.inf, dtype)
    limits = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return jnp.asarray(limits.max if name == "min" else limits.min, dtype)
