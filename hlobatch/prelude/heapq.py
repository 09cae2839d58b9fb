"""``heapq``: items are at the same positions as in CPython.

An item that is stored at the top first sinks to a leaf, always past the lesser child, and then rises from there, as in
CPython: an item from the end of a heap seldom belongs far from it.
"""

from __future__ import annotations

from typing import Any


def heappush(heap: Any, item: Any) -> None:
    heap.append(item)
    at = len(heap) - 1
    while at > 0:
        above = (at - 1) >> 1
        if not item < heap[above]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = item


def heappop(heap: Any) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    if len(heap) == 0:
        return last
    first = heap[0]
    heap[0] = last
    _sink(heap, 0)
    return first


def heapreplace(heap: Any, item: Any) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


def heappushpop(heap: Any, item: Any) -> Any:
    if len(heap) == 0:
        return item
    first = heap[0]
    if not first < item:
        return item
    heap[0] = item
    _sink(heap, 0)
    return first


def heapify(x: Any) -> None:
    at = len(x) >> 1
    while at > 0:
        at -= 1
        _sink(x, at)


def nsmallest(n: Any, iterable: Any, key: Any = None) -> Any:
    return _first(n, iterable, key, False)


def nlargest(n: Any, iterable: Any, key: Any = None) -> Any:
    return _first(n, iterable, key, True)


def _first(n: Any, iterable: Any, key: Any, reverse: Any) -> Any:
    """The first ``n`` items in order, for small ``n``; equal items keep their order."""
    first: list[Any] = []
    ranks: list[Any] = []
    for item in iterable:
        rank = item if key is None else key(item)
        at = len(first)
        if at < n:
            first.append(item)
            ranks.append(rank)
        elif at == 0 or not (ranks[at - 1] < rank if reverse else rank < ranks[at - 1]):
            continue
        else:
            at -= 1
        while at > 0 and (ranks[at - 1] < rank if reverse else rank < ranks[at - 1]):
            first[at] = first[at - 1]
            ranks[at] = ranks[at - 1]
            at -= 1
        first[at] = item
        ranks[at] = rank
    return first


def merge(*iterables: Any, key: Any = None, reverse: Any = False) -> Any:
    """All items, as a list."""
    merged: list[Any] = []
    for items in iterables:
        merged = _merged(merged, list(items), key, reverse)
    return merged


def _merged(left: Any, right: Any, key: Any, reverse: Any) -> Any:
    """Two sorted lists merged to one; of equal items, those of ``left`` come first."""
    merged: list[Any] = []
    at = 0
    for item in left:
        rank = item if key is None else key(item)
        while at < len(right):
            other = right[at] if key is None else key(right[at])
            if (not rank < other) if reverse else (not other < rank):
                break
            merged.append(right[at])
            at += 1
        merged.append(item)
    while at < len(right):
        merged.append(right[at])
        at += 1
    return merged


def _sink(heap: Any, top: Any) -> None:
    """Move the item at ``top`` to its place among those below it."""
    at, end, item = top, len(heap), heap[top]
    below = 2 * at + 1
    while below < end:
        right = below + 1
        if right < end and not heap[below] < heap[right]:
            below = right
        heap[at] = heap[below]
        at = below
        below = 2 * at + 1
    while at > top:
        above = (at - 1) >> 1
        if not item < heap[above]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = item
