"""Python's containers, one for each input -> one growing container whose arrays have the batch axis in front.

::

    [[3, 1], [4]]    ==>    GrowingList(items = i32[2, 64]: [3, 1, 0, …], [4, 0, 0, …];  size = i32[2]: 2, 1)
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.growing import KINDS
from hlobatch.ir.types import TensorType
from hlobatch.values.containers import capacity
from hlobatch.values.leaf_types import KINDS_OF_NUMBERS
from hlobatch.values.rows import kind_of
from hlobatch.values.texts import LaneText


def in_rows(containers: list[Any], room: int | None) -> Any:
    """The containers of a batch as one.

    Args:
        containers: Lists, deques, sets or dicts, all of one class, whose items are numbers, arrays, tuples of these, or
            such containers.
        room: The number of items to have room for; None for twice as many as the longest has, and at least some.

    Raises:
        BatchTypeError: They are of no such class, or of several; their items differ in type; no container has an item,
            so that the type of the items is not known; or there is too little room.
    """
    python = _class_of(containers)
    if python is str:
        return _of_texts(containers, room)
    items = list(chain.from_iterable(one.items() if issubclass(python, dict) else one for one in containers))
    if not items:
        _refuse("no container has an item, so that the type of the items is not known")
    columns = _columns(items)
    sizes = np.array(list(map(len, containers)), np.int32)
    longest = int(sizes.max())
    if room is None:  # a power of two, so that batches of similar lengths share a program
        least = capacity(kind_of(jax.tree.map(lambda column: column[0], columns)), longest, None)
        room = 1 << (least - 1).bit_length()
    if room < longest:
        _refuse(f"there is room for {room} items, and one container has {longest}")
    rows = jax.tree.map(lambda column: _in_place(column, np.arange(room) < sizes[:, None]), columns)
    return _made(containers[0], rows, jnp.asarray(sizes))


def _of_texts(texts: list[str], room: int | None) -> LaneText:
    """The texts of a batch as one."""
    longest = max(map(len, texts))
    if room is None:
        room = 1 << (max(capacity(TensorType(np.dtype(np.int32)), longest, None), 1) - 1).bit_length()
    if room < longest:
        _refuse(f"there is room for {room} letters, and one text has {longest}")
    codes = np.zeros((len(texts), room), np.int32)
    for row, text in zip(codes, texts, strict=True):
        row[: len(text)] = list(map(ord, text))
    return LaneText(jnp.asarray(codes), jnp.asarray(np.array(list(map(len, texts)), np.int32)))


def _class_of(containers: list[Any]) -> Any:
    found = {type(one) for one in containers}
    if len(found) != 1 or not found <= KINDS.keys():
        names = ", ".join(sorted(kind.__name__ for kind in found))
        _refuse(f"the containers are of the classes {names}" if found else "there is no container")
    return found.pop()


def _columns(items: list[Any]) -> Any:
    """The items as one pytree of arrays ``[items, …]``.

    Items that are lists, sets, dicts or deques are one growing container, unless all of them have one structure, as the
    lines of a table do.
    """
    first = items[0]
    structure: Any = jax.tree.structure(first)
    is_opaque = type(first) in KINDS and jax.tree_util.all_leaves([first])  # a set, which is no pytree
    if is_opaque or any(jax.tree.structure(item) != structure for item in items):
        return _columns_of_unequal(items)
    if not structure.num_leaves:
        _refuse(f"the item {first!r} holds no number, so that the type of the items is not known")
    columns = zip(*map(jax.tree.leaves, items), strict=True)
    return jax.tree.unflatten(structure, list(map(_column, columns)))


def _columns_of_unequal(items: list[Any]) -> Any:
    first = items[0]
    for item in items:
        if type(item) is not type(first) or (isinstance(item, tuple) and len(item) != len(first)):
            _refuse(f"the items {first!r} and {item!r} are not of one type")
    if type(first) in KINDS:
        return in_rows(items, None)
    if not isinstance(first, tuple):
        _refuse(f"the items {first!r} and {items[-1]!r} are not of one type")
    structure = jax.tree.structure(first, is_leaf=lambda part: part is not first)
    return jax.tree.unflatten(structure, [_columns(list(parts)) for parts in zip(*items, strict=True)])


def _column(leaves: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """Numbers or arrays of one shape as one array, in a dtype that JAX has."""
    if len({np.shape(leaf) for leaf in leaves}) > 1:
        _refuse("the items are arrays of several shapes")
    column = np.stack([np.asarray(leaf) for leaf in leaves])
    if column.dtype.kind not in KINDS_OF_NUMBERS:
        _refuse(f"an item is {leaves[0]!r}, a {type(leaves[0]).__name__}, and no number")
    converted = column.astype(jax.dtypes.canonicalize_dtype(column.dtype))
    if column.dtype.kind in "iu" and (converted != column).any():
        _refuse(f"an item is {column[converted != column][0]}, which is too large for {converted.dtype}")
    return converted


def _in_place(column: np.ndarray[Any, Any], used: np.ndarray[Any, Any]) -> Any:
    """The items of all inputs, one input after the other, in rows ``[batch, room, …]``."""
    rows = np.zeros((*used.shape, *column.shape[1:]), column.dtype)
    rows[used] = column
    return jnp.asarray(rows)


def _made(like: Any, rows: Any, sizes: Any) -> Any:
    """The growing container with these rows, and what Python's container has beside its items, such as a ``maxlen``."""
    empty = like.copy()
    empty.clear()
    kind: Any = KINDS[type(like)]
    _, (_, *beside) = kind.type_of(empty).tree_flatten()
    keys, values = rows if issubclass(kind.python, dict) else (rows, ())
    arrays = {"items": rows, "keys": keys, "values": values, "size": sizes, "start": None}
    return kind.tree_unflatten((True, *beside), [arrays[name] for name in kind.arrays])


def _refuse(what: str) -> NoReturn:
    raise BatchTypeError(
        f"hb.Ragged is made of containers of unequal lengths, and {what}",
        help="give a list for each input, of numbers, of arrays of one shape, of tuples of these, or of lists.",
    )
