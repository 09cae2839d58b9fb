"""Items of a list of known length -> the items in the order of ``sorted``: equal items keep their order.

A few items are exchanged with their neighbors until all are in order; more are joined to an array and sorted by JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.frontend.lane_numbers import is_number, select
from hlobatch.frontend.order_of_objects import check_order
from hlobatch.frontend.sequences import less
from hlobatch.values.boxes import is_boxable
from hlobatch.values.identity import is_one_of
from hlobatch.values.number_tables import together

_MOST_ITEMS_EXCHANGED: Final = 6
"""Most items that are sorted by exchange of neighbors; more are sorted by `jnp.lexsort`. Chosen by judgement (2026-11),
not measured."""


def sorted_by(values: Sequence[Any], keys: Sequence[Any], reverse: bool) -> list[Any]:
    """Values sorted by their keys, which may be the values themselves.

    Raises:
        UnsupportedSyntaxError: Keys are objects whose order is told by code that may do more than to read.
    """
    for cls in {type(key) for key in keys if is_boxable(key)}:
        check_order(cls)
    parts = [k if isinstance(k, tuple) else (k,) for k in keys]
    is_flat = len({len(part) for part in parts}) == 1 and all(is_number(number) for part in parts for number in part)
    if len(values) <= _MOST_ITEMS_EXCHANGED or not is_flat:
        return _exchanged(list(values), list(keys), reverse)
    columns = [jnp.stack(list(map(jnp.asarray, together(column)))) for column in zip(*parts, strict=True)]
    places = _order(columns, reverse)
    leaves = zip(*map(jax.tree.leaves, values), strict=True)
    columns = [jnp.stack([jnp.asarray(leaf) for leaf in together(column)]) for column in leaves]
    ordered = [column[places] for column in columns]
    treedef = jax.tree.structure(values[0])
    items = [jax.tree.unflatten(treedef, [column[i] for column in ordered]) for i in range(len(values))]
    for item in items:
        is_one_of(item, values)
    return items


def _order(columns: Sequence[Any], reverse: bool) -> Any:
    """The positions of items in sorted order; the first column matters most."""
    if not reverse:
        return jnp.lexsort(columns[::-1])
    last = columns[0].shape[0] - 1
    return last - jnp.lexsort([column[::-1] for column in columns[::-1]])[::-1]


def _exchanged(values: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    """The values, sorted by exchange of neighbors that are in the wrong order."""
    for last in range(len(values) - 1, 0, -1):
        for i in range(last):
            wrong = less(keys[i], keys[i + 1]) if reverse else less(keys[i + 1], keys[i])
            if wrong is False:
                continue
            pair = [(values[i], keys[i]), (values[i + 1], keys[i + 1])]
            if values[i] is keys[i] and values[i + 1] is keys[i + 1]:
                first, second = (select(wrong, pair[b][0], pair[a][0]) for a, b in ((0, 1), (1, 0)))
                pair = [(first, first), (second, second)]
            else:
                pair = [select(wrong, pair[1], pair[0]), select(wrong, pair[0], pair[1])]
            (values[i], keys[i]), (values[i + 1], keys[i + 1]) = pair
    return values
