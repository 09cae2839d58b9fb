"""``itertools.takewhile`` and the like, of items of a known number -> those items that a lane keeps.

::

    takewhile(lambda x: x < n, [3, 1, 4])     ==>     3 if 3 < n, 1 if also 1 < n, 4 if also 4 < n

A test that is known when the program is built leaves out an item, or keeps it, in all lanes. If a test differs between
lanes, so does the length of the list that takes the place of Python's iterator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from hlobatch._jax import is_tracer
from hlobatch.frontend.builtins import truth
from hlobatch.frontend.endless import finite
from hlobatch.frontend.growing_items import those_there
from hlobatch.frontend.meaning import Meaning, entries
from hlobatch.frontend.possible_items import Possible, certain
from hlobatch.frontend.sequences import both, negated

Test = Callable[[Any], Any]


def _take_while(predicate: Test, iterable: Iterable[Any], /) -> Any:
    return _kept(_taken(predicate, iterable))


def _drop_while(predicate: Test, iterable: Iterable[Any], /) -> Any:
    return _kept(_left(predicate, iterable))


def _filter_false(predicate: Test | None, iterable: Iterable[Any], /) -> Any:
    return _kept((x, negated(truth(x if predicate is None else predicate(x)))) for x in finite(iterable, is_tracer))


def _taken(predicate: Test, iterable: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Items, each with whether a lane takes it, up to one that no lane takes."""
    takes: Any = True
    tested = ((item, truth(predicate(item))) for item in _one_by_one(iterable))
    for item, test in finite(tested, lambda pair: is_tracer(pair[1])):
        takes = both([takes, test])
        if takes is False:
            return
        yield item, takes


def _one_by_one(iterable: Iterable[Any]) -> Iterator[Any]:
    yield from iterable


def _left(predicate: Test, iterable: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Items, each with whether a lane has ended to drop them."""
    drops: Any = True
    for item in finite(iterable):
        if drops is not False:
            drops = both([drops, truth(predicate(item))])
        yield item, negated(drops)


def _kept(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """The items that are there; a list of known length if that is so in all lanes."""
    found = [Possible(item, there) for item, there in pairs if there is not False]
    return [item.value for item in found] if certain(found) else those_there(found)


MEANINGS: Final[dict[Any, Meaning]] = entries(
    {itertools.takewhile: _take_while, itertools.dropwhile: _drop_while, itertools.filterfalse: _filter_false}
)
