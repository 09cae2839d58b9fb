"""``heapq`` on lists whose length differs between lanes -> items in the places where CPython has them.

::

    heappush      the new item moves up from the end, past items that it is less than
    heappop       the last item takes the place of the first: the lesser child moves up, down to a leaf, and from there
                  the item moves up again, past items that it is less than

An item passes at most as many places as a heap of the list's capacity has levels. These levels are written out in the
code, and all that has moved is written at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch.analysis import rows
from hlobatch.analysis.growing_lists import GrowingList
from hlobatch.analysis.identity import places_of
from hlobatch.analysis.lane_failures import fails
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.meaning import Meaning, entries
from hlobatch.frontend.sequences import less

_EMPTY: Final = "index out of range"


def _push(heap: Any, item: Any, /) -> None:
    heap = _growing(heap)
    heap.append(item)
    last = heap.size - 1
    places, moves = [last], last > 0
    movers = list[Any]()
    while len(places) <= _levels(heap):
        parent = jnp.maximum(places[-1] - 1, 0) >> 1
        above = heap.at(parent)
        moves &= _less(item, above, heap)
        movers.append((moves, above))
        moves &= parent > 0
        places.append(parent)
    _settle(heap, places, movers, item)


def _pop(heap: Any, /) -> Any:
    heap = _growing(heap)
    heap.need(_EMPTY)
    fails(IndexError, _EMPTY, heap.size == 0)
    last = heap.pop_last()
    return _replaced(heap, last)


def _replace(heap: Any, item: Any, /) -> Any:
    heap = _growing(heap)
    heap.need(_EMPTY)
    fails(IndexError, _EMPTY, heap.size == 0)
    item = heap.widen_for(item)
    return _replaced(heap, item)


def _push_and_pop(heap: Any, item: Any, /) -> Any:
    """What is least of a heap and an item."""
    heap = _growing(heap)
    if heap.items is None:
        return item
    item = heap.widen_for(item)
    first = heap.at(jnp.int32(0))
    goes_in = (heap.size > 0) & _less(first, item, heap)
    before = heap.items, heap.size
    _replaced(heap, item)
    heap.items = jax.tree.map(lambda new, old: jnp.where(goes_in, new, old), heap.items, before[0])
    return jax.tree.map(lambda one, other: jnp.where(goes_in, one, other), first, item)


def _heapify(heap: Any, /) -> None:
    heap = _growing(heap)
    if heap.items is None:
        return

    def step(turn: Any, items: Any) -> Any:
        part = GrowingList(items, heap.size, None, heap.bound)
        at = heap.size // 2 - 1 - turn
        root = jnp.maximum(at, 0)
        _sift(part, root, part.at(root))
        return jax.tree.map(lambda new, old: jnp.where(at >= 0, new, old), part.items, items)

    heap.straighten()
    heap.items = jax.lax.fori_loop(0, heap.capacity // 2, step, heap.items)


def _refused(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise BatchTypeError(
            f"`heapq.{name}` of values that differ between lanes",
            help="sort them, as in `sorted(items)[:3]`, or pop what is least from a heap.",
        )

    return refuse


def _growing(heap: Any) -> GrowingList:
    if isinstance(heap, GrowingList):
        heap.straighten()
        return heap
    error = BatchTypeError(
        f"a heap is a list, and this is a {type(heap).__name__!r}", help="make it one: `heap = list(items)`."
    )
    error.about = places_of(heap) or type(heap)
    raise error


def _levels(heap: GrowingList) -> int:
    """How many places there are at most between an item and the first."""
    return heap.capacity.bit_length()


def _less(one: Any, other: Any, heap: GrowingList) -> Any:
    if any(leaf.ndim > 1 for leaf in jax.tree.leaves(heap.items)):
        raise BatchTypeError(
            "arrays are compared in a heap, which have no order", help="put a number before each: `(cost, number)`."
        )
    return less(one, other)


def _replaced(heap: GrowingList, item: Any) -> Any:
    """The first item, in whose place another one is put, if there is one."""
    first = heap.at(jnp.int32(0))
    taken = jax.tree.map(lambda one, other: jnp.where(heap.size > 0, one, other), first, item)
    _sift(heap, jnp.int32(0), item)
    return taken


def _sift(heap: GrowingList, root: Any, item: Any) -> None:
    """Let the item at a place be another one, and put that where it belongs below."""
    places, below = [root], list[Any]()
    goes_on = heap.size > 0
    for _ in range(_levels(heap)):
        child = 2 * places[-1] + 1
        goes_on &= child < heap.size
        left, right = (heap.at(jnp.minimum(place, heap.capacity - 1)) for place in (child, child + 1))
        takes_right = (child + 1 < heap.size) & jnp.logical_not(_less(left, right, heap))
        places.append(jnp.where(goes_on, child + takes_right, places[-1]))
        below.append((goes_on, jax.tree.map(lambda a, b, c=takes_right: jnp.where(c, b, a), left, right)))
    # from the leaf upwards: the item passes those that it is less than
    passes, rises = jnp.bool_(True), list[Any]()
    for is_there, value in reversed(below):
        rises.append(is_there & passes & _less(item, value, heap))
        passes = jnp.where(is_there, rises[-1], passes)
    rises.reverse()
    targets, values = list[Any](), list[Any]()
    stands = jnp.bool_(False)
    for level, place in enumerate(places):
        is_there = heap.size > 0 if level == 0 else below[level - 1][0]
        next_is_there, value = below[level] if level < len(below) else (jnp.bool_(False), item)
        # what is below moves up, unless the item passes it on its way up
        moves_up = next_is_there & jnp.logical_not(rises[level] if level < len(below) else True)
        settles = is_there & jnp.logical_not(moves_up) & jnp.logical_not(stands)
        stands |= settles
        values.append(jax.tree.map(lambda a, b, c=moves_up: jnp.where(c, a, b), value, item))
        targets.append(jnp.where(moves_up | settles, place, heap.capacity))
    _write(heap, targets, values)


def _settle(heap: GrowingList, places: Sequence[Any], movers: Sequence[tuple[Any, Any]], item: Any) -> None:
    """Write what moves down on the way of an item that moves up, and the item."""
    targets, values = list[Any](), list[Any]()
    before: Any = jnp.bool_(True)
    for level, place in enumerate(places):
        moves, above = movers[level] if level < len(movers) else (jnp.bool_(False), item)
        values.append(jax.tree.map(lambda a, b, c=moves: jnp.where(c, a, b), above, item))
        targets.append(jnp.where(before, place, heap.capacity))
        before = moves
    _write(heap, targets, values)


def _write(heap: GrowingList, targets: Sequence[Any], values: Sequence[Any]) -> None:
    together = jax.tree.map(lambda *leaves: jnp.stack(list(map(jnp.asarray, leaves))), *values)
    heap.items = rows.put(heap.items, jnp.stack(targets), together)


MEANINGS: Final[dict[Any, Meaning]] = {
    **entries(
        {
            heapq.heappush: _push,
            heapq.heappop: _pop,
            heapq.heapreplace: _replace,
            heapq.heappushpop: _push_and_pop,
            heapq.heapify: _heapify,
            **{function: _refused(function.__name__) for function in (heapq.nlargest, heapq.nsmallest, heapq.merge)},
        }
    )
}
CHANGES: Final = frozenset((heapq.heappush, heapq.heappop, heapq.heapreplace, heapq.heappushpop, heapq.heapify))
"""Functions that change what they are given, and that may be called for that alone."""
