"""``itertools``, for arguments whose length differs between lanes: lists of all items, where CPython has iterators."""

from __future__ import annotations

from typing import Any


def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    sums: Any = []
    if initial is not None:
        sums.append(initial)
    for item in iterable:
        if len(sums) == 0:
            sums.append(item)
        elif func is None:
            sums.append(sums[-1] + item)
        else:
            sums.append(func(sums[-1], item))
    return sums


def chain(*iterables: Any) -> Any:
    items: Any = []
    for iterable in iterables:
        items.extend(iterable)
    return items


def _from_iterable(iterable: Any, /) -> Any:
    items: Any = []
    for one in iterable:
        items.extend(one)
    return items


chain.from_iterable = _from_iterable  # type: ignore[attr-defined]


def combinations(iterable: Any, r: Any) -> Any:
    if r < 0:
        raise ValueError("r must be non-negative")
    pool, rows = list(iterable), _nothing()
    for _ in range(r):
        rows = [(*row, at) for row in rows for at in range(row[-1] + 1 if row else 0, len(pool))]
    return [tuple(pool[at] for at in row) for row in rows]


def compress(data: Any, selectors: Any) -> Any:
    return [item for item, is_chosen in zip(data, selectors) if is_chosen]  # noqa: B905  # as Python has it


def dropwhile(predicate: Any, iterable: Any, /) -> Any:
    kept: Any = []
    drops = True
    for item in iterable:
        if drops and predicate(item):
            continue
        drops = False
        kept.append(item)
    return kept


def filterfalse(function: Any, iterable: Any, /) -> Any:
    kept: Any = []
    for item in iterable:
        if not (item if function is None else function(item)):
            kept.append(item)
    return kept


def groupby(iterable: Any, key: Any = None) -> Any:
    groups: Any = []
    for item in iterable:
        own = item if key is None else key(item)
        if len(groups) > 0 and groups[-1][0] == own:
            groups[-1][1].append(item)
        else:
            groups.append((own, [item]))
    return groups


def islice(iterable: Any, /, *bounds: Any) -> Any:
    start, stop, step = (None, *bounds, None) if len(bounds) == 1 else (*bounds, None)[:3]
    for bound in (start, stop, step):
        if bound is not None and bound < 0:
            raise ValueError("bounds for islice() must be None or at least 0")
    return list(iterable)[start:stop:step]


def pairwise(iterable: Any, /) -> Any:
    items = list(iterable)
    return [(items[at], items[at + 1]) for at in range(len(items) - 1)]


def permutations(iterable: Any, r: Any = None) -> Any:
    pool, rows = list(iterable), _nothing()
    for _ in range(len(pool) if r is None else r):
        rows = [(*row, at) for row in rows for at in range(len(pool)) if at not in row]
    return [tuple(pool[at] for at in row) for row in rows]


def product(*iterables: Any, repeat: Any = 1) -> Any:
    rows = _nothing()
    for pool in [list(iterable) for iterable in iterables] * repeat:
        rows = [(*row, item) for row in rows for item in pool]
    return rows


def starmap(function: Any, iterable: Any, /) -> Any:
    made: Any = []
    for items in iterable:
        made.append(function(*items))
    return made


def takewhile(predicate: Any, iterable: Any, /) -> Any:
    kept: Any = []
    for item in iterable:
        if not predicate(item):
            break
        kept.append(item)
    return kept


def zip_longest(*iterables: Any, fillvalue: Any = None) -> Any:
    pools, most = [list(iterable) for iterable in iterables], 0
    for pool in pools:
        most = max(most, len(pool))
    return list(zip(*[pool + [fillvalue] * (most - len(pool)) for pool in pools]))  # noqa: B905  # as long as each other


def _nothing() -> Any:
    """A list of the one way to choose nothing."""
    return [()]
