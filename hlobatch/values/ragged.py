"""``Ragged``: a result or an argument that is a list, set, dict, deque or text of another length for each input.

::

    def primes(n): …; return found      hb.batch(primes)(jnp.array([5, 8, 3]))  ==>  Ragged([2, 3], [2, 3, 5, 7], [2])

Inside the program, such a container is arrays with room for more items, and a length. The caller has these arrays with
the batch in front, in an object that makes Python's containers of them when it is asked for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial, reduce
from itertools import islice
from textwrap import shorten
from typing import Any, Final, Self, overload

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_key, is_tracer
from hlobatch.console import ONE_LINE
from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.boxed import Boxed, in_python, unboxed
from hlobatch.ir.growing import Growing, is_growing
from hlobatch.ir.types import TensorType, Type
from hlobatch.values import rows
from hlobatch.values.in_rows import in_rows
from hlobatch.values.type_join import DisagreementError, join

_MOST_SHOWN: Final = 4
"""Containers of which a ``repr`` shows the items."""


@jax.tree_util.register_pytree_node_class
class Ragged:
    """A list, set, dict, deque or text for each input of a batch, each of its own length.

    ``ragged[k]`` is the container of input ``k``, as Python returns it: its numbers are Python's, its arrays NumPy's.
    ``len(ragged)`` is the size of the batch; loops and ``tolist`` give one container after the other. A slice, a mask
    or an array of places selects a ``Ragged`` of some of them. ``lengths`` and
    ``padded`` give arrays, also under ``jax.jit``. A ``Ragged`` is a pytree of arrays with the batch axis in front.
    """

    def __init__(self, arrays: Any, structure: Any) -> None:
        """Made by hlobatch; not meant to be called.

        Args:
            arrays: The arrays of a growing container, with the batch axis in front.
            structure: How they make up the container: a ``jax.tree_util.PyTreeDef``.
        """
        self._arrays, self._structure = tuple(arrays), structure

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The arrays, and how they make up the container."""
        return self._arrays, self._structure

    @classmethod
    def tree_unflatten(cls, structure: Any, arrays: Any) -> Self:
        """The inverse of ``tree_flatten``."""
        return cls(arrays, structure)

    @classmethod
    def of(cls, containers: Iterable[Any], *, room: int | None = None) -> Self:
        """An argument that has a list, set, dict, deque or text for each input.

        Args:
            containers: The containers, one for each input, all of one class. Their items are numbers, arrays, tuples
                of these, or such containers, all of one type.
            room: The most items that a container may have while the function runs; if it is left out, twice as many as
                the longest has now, and at least some.

        Raises:
            BatchTypeError: The containers or their items differ in their types, or are of no such class.
        """
        return cls(*jax.tree.flatten(in_rows(list(containers), room)))

    @property
    def room(self) -> int:
        """The number of items for which the arrays have room, equal for all inputs."""
        return int(jax.tree.leaves(self._container.contents())[0].shape[self._container.size.ndim])

    @property
    def lengths(self) -> jax.Array:
        """The number of items for each input, ``i32[batch]``; 0 for an input that failed, and has no result."""
        return _lengths(self._container.size)

    def padded(self, fill: complex = 0) -> Any:
        """The items as arrays ``[batch, room, *item]``: those of an input in order, and then ``fill``.

        Args:
            fill: The number that stands after the last item. It is converted to the dtype of the items by ``astype``.

        Returns:
            A pytree of arrays, as an item is one; for a dict, the pair of its keys and its values. The room is that
            of the container in the program, equal for all inputs, and may be more than the longest container takes.

        Raises:
            BatchTypeError: Items are containers of unequal lengths themselves.
        """

        def of_lane(container: Growing) -> Any:
            used = container.in_use()
            return jax.tree.map(lambda part: _filled(part, used, fill), container.contents())

        container = self._container
        if any(is_growing(part) for part in jax.tree.leaves(container.contents(), is_leaf=is_growing)):
            raise BatchTypeError(
                "the items are containers of unequal lengths themselves, which make no array",
                help="take Python's containers: `ragged.tolist()`.",
            )
        for _ in range(container.size.ndim):
            of_lane = jax.vmap(of_lane)
        return unboxed(of_lane(container))

    def tolist(self) -> list[Any]:
        """The container of each input, in a list.

        Raises:
            BatchTypeError: The arrays have no values yet, under ``jax.jit`` and the like.
        """
        return list(self)

    def __len__(self) -> int:
        return int(self._container.size.shape[0])

    @overload
    def __getitem__(self, lane: int) -> Any: ...
    @overload
    def __getitem__(self, lane: slice | Sequence[int] | np.ndarray[Any, Any]) -> Self: ...
    def __getitem__(self, lane: Any) -> Any:
        if is_tracer(lane):
            raise BatchTypeError(
                "a container is taken from an hb.Ragged at an index that differs between lanes",
                help="pass the hb.Ragged as an argument, to take that of the lane; or take any from `ragged.padded()`.",
            )
        if not isinstance(lane, slice) and np.ndim(lane):  # NumPy, unlike JAX, refuses places that are not there
            lane = np.arange(len(self))[np.asarray(lane, None if np.size(lane) else np.int32)]
        if isinstance(lane, (slice, np.ndarray)) or self._container.size.ndim > 1:
            return jax.tree.map(lambda array: array[lane], self)
        if not -len(self) <= lane < len(self):
            raise IndexError(f"the batch has {len(self)} inputs, and none with the number {lane}")
        own = [array[lane] for array in self._values]
        return in_python(jax.tree.unflatten(self._structure, own), _number)

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise BatchTypeError(
            "an array is made of containers of unequal lengths",
            help="take `ragged.padded()`, with `ragged.lengths`; or one container, as in `ragged[0]`.",
        )

    def __repr__(self) -> str:
        shape = getattr(self._container.size, "shape", ())  # JAX also puts objects that are no arrays into pytrees
        what = f"{' × '.join(map(str, shape))} {self._container.python.__name__}s".strip()
        if not self._has_values or len(shape) != 1 or not len(self):
            return f"Ragged({what})"
        shown = [*map(repr, islice(self, _MOST_SHOWN)), *["…"] * (len(self) > _MOST_SHOWN)]
        return f"Ragged({what}: {shorten(', '.join(shown), ONE_LINE, placeholder=' …')})"

    @property
    def _container(self) -> Any:
        """The growing container, its arrays with the batch axis in front."""
        return self._whole.hb_content if isinstance(self._whole, Boxed) else self._whole

    @property
    def _whole(self) -> Any:
        """The container, or the object that has it in it."""
        return jax.tree.unflatten(self._structure, self._arrays)

    @property
    def _has_values(self) -> bool:
        return all(isinstance(x, (np.ndarray, jax.Array)) and not is_tracer(x) for x in self._arrays)

    @cached_property
    def _values(self) -> list[Any]:
        """The arrays on the host."""
        if not self._has_values:
            raise BatchTypeError(
                "Python's containers are made of arrays without values, inside a function that JAX is tracing",
                help="use `ragged.padded()` and `ragged.lengths`, or return the result from the traced function.",
            )
        return [array if is_key(array) else np.asarray(array) for array in self._arrays]


def _filled(rows: Any, used: Any, fill: complex) -> Any:
    """Rows ``[room, *item]`` with ``fill`` in those that are not in use."""
    mask = used.reshape(used.shape + (1,) * (rows.ndim - 1))
    return rows if is_key(rows) else jnp.where(mask, rows, jnp.asarray(fill).astype(rows.dtype))


def _number(part: Any) -> Any:
    """A Python number for an array without axes of numbers that Python has; anything else unchanged."""
    is_number = isinstance(part, (np.generic, np.ndarray)) and part.ndim == 0 and part.dtype.kind in "biufc"
    return part.item() if is_number else part


def joined(parts: Sequence[Ragged]) -> Ragged:
    """The containers of several ``Ragged``, one after the other, with the room of the largest.

    Raises:
        BatchTypeError: Their items are of different types.
    """
    if len({(part._structure, *(array.shape[1:] for array in part._arrays)) for part in parts}) > 1:
        wholes = [part._whole for part in parts]
        own = [Type(jax.tree.map(lambda x: TensorType(x.dtype, x.shape[1:]), whole)) for whole in wholes]
        try:
            held = partial(rows.held, kind=reduce(join, own).tensors)
        except DisagreementError as error:
            raise BatchTypeError(
                f"batches of containers of unequal lengths are joined, and their items differ in type: {error}",
                help="make the items of all of them of one type.",
            ) from None
        parts = [Ragged(*jax.tree.flatten(jax.vmap(held)(whole))) for whole in wholes]
    everything: Ragged = jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *parts)
    return everything


def with_containers(value: Any, *, are_bounded: bool = True) -> Any:
    """A pytree of arguments, with a growing container in place of each ``Ragged``.

    Args:
        value: The pytree.
        are_bounded: Whether the containers have the capacity of the arrays as a bound, as if the user had given it: an
            argument does not get more room if the function runs again.
    """
    opened = partial(_opened, are_bounded=are_bounded)
    return jax.tree.map(lambda part: opened(part) if is_ragged(part) else part, value, is_leaf=is_ragged)


def _lengths(sizes: Any) -> jax.Array:
    """Numbers of items: 0 for a lane that failed, whose size is negative."""
    with jax.transfer_guard("allow"):  # the number 0, even if the user has forbidden transfers
        return jnp.maximum(sizes, 0)


def is_ragged(part: Any) -> bool:
    """Whether an object is a ``Ragged``."""
    return isinstance(part, Ragged)


def _opened(part: Ragged, are_bounded: bool) -> Any:
    container = part._container.copy()
    is_text = container.python is str  # which does not change, so that others made of it have rooms of their own
    container.bound = (container.bound or part.room) if are_bounded and not is_text else None
    is_abstract = isinstance(container.size, jax.ShapeDtypeStruct)
    container.size = container.size if is_abstract else _lengths(container.size)
    return part._whole.hb_with_content(container) if isinstance(part._whole, Boxed) else container
