"""The iterable of a ``for`` in code that is being traced -> the number of its items, and the item of each turn.

::

    for x in xs:       ==>       items = __hb_items(xs); turns = __hb_turns(__hb_length(items))
        …                        in turn t:  x = __hb_item_of(items, t)

``loops.py`` puts these functions into programs. If the items are of several types, there is no item for a turn whose
number is not known: the turns have to be written out, and tracing learns this as a fact.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError, HloBatchError, UnsupportedSyntaxError
from hlobatch.frontend.builtins import is_array, truth
from hlobatch.frontend.dict_order import in_known_order
from hlobatch.frontend.endless import finite
from hlobatch.frontend.items import gathered
from hlobatch.frontend.lane_ranges import as_range
from hlobatch.frontend.own_methods import own_method
from hlobatch.frontend.ranges import range_goes_on, range_item
from hlobatch.frontend.sequences import both, equal
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing
from hlobatch.ir.value import Collection
from hlobatch.values.facts import (
    MOST_STATEMENTS_WRITTEN_OUT,
    MOST_STATEMENTS_WRITTEN_OUT_FOR_TEXTS,
    Learned,
    LoopSite,
    Turns,
    count_turns,
    keep_as_loop,
    pays_written_out,
    turns_of,
)
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.identity import places_of
from hlobatch.values.lane_failures import fails, needed, where
from hlobatch.values.number_tables import from_table, table_of
from hlobatch.values.one_of import Rows
from hlobatch.values.own_containers import content
from hlobatch.values.tables import Table
from hlobatch.values.texts import LaneText
from hlobatch.values.whole_numbers import default, number

MOST_STATEMENTS_OF_A_LIST_THAT_GROWS: Final = 128
"""Most statements, over all turns, of a loop written out in which a list grows by as much in all lanes; a list that
grows more becomes a growing one. Chosen by judgement (2026-11), not measured."""
_SEQUENCES: Final = (list, tuple, str, bytes, range)


_BY_KEY: Final = (dict, set, Table)
_COUNT: Final = re.compile(r"count\((-?\d+)(?:, (-?\d+))?\)")


def items(value: Any) -> Any:
    """The iterable as an object with items by number."""
    value = content(value, "__iter__")
    in_known_order(value)
    if isinstance(value, Table) and issubclass(value.python, dict):
        return value.in_order()
    if is_array(value) or isinstance(value, (*_SEQUENCES, Collection)):
        return value
    if isinstance(value, Choice):
        known = as_range(value)
        return value if known is None else known
    if not isinstance(value, Iterable) and own_method(value, "__getitem__") is None:
        raise BatchTypeError(
            f"a `for` goes over {type(value).__name__!r}, which has no items",
            help="write `range(n)` to go over numbers.",
        )
    if type(value) is itertools.count:
        return _counting(value)
    return list(finite(iter(value)))


def held(value: Any, is_view: bool) -> Any:
    """The iterable as a loop keeps it: a long sequence of known numbers of one type becomes one array.

    Args:
        value: The iterable.
        is_view: Whether it may be a view of a dict, of which each turn reads what the dict holds then (``live``).
    """
    found = items(value)
    if is_view and isinstance(found, GrowingList):
        return found.copy()
    if not is_long(found) or (table := table_of(found)) is None:
        return found
    return from_table(jnp.asarray(table), table)


def is_long(value: Any) -> bool:
    """Whether a list or a tuple is so long that a loop over it is never written out."""
    return type(value) in (list, tuple) and len(value) > MOST_STATEMENTS_WRITTEN_OUT


def _counting(count: Any) -> range:
    """The integers of an ``itertools.count``, up to the largest integer of the lanes."""
    try:
        whole = _COUNT.fullmatch(repr(count))  # only the text of a count shows where it stands
    except BatchTypeError:  # the text of a number that differs between lanes is refused
        whole = None
    start, step = (int(whole[1]), int(whole[2] or 1)) if whole else (0, 0)
    if not step:
        raise BatchTypeError(
            "a `for` goes over an itertools.count that does not count by whole numbers that are known when the program "
            "is built",
            help="write a `while` loop, and add the step to a variable in each turn.",
        )
    most = int(np.iinfo(default(int)).max)  # of the numbers, and of the range's length
    return range(start, most + min(start, 0) if step > 0 else max(start, 0) - most, step)


def length(value: Any) -> Any:
    """The number of items."""
    needed(value, TypeError, "'NoneType' object is not iterable")
    if is_array(value) and value.ndim == 0:
        raise BatchTypeError("a `for` goes over a single number", help="write `range(n)` to go over numbers.")
    sequence = items(value)
    if isinstance(sequence, Choice):
        return Rows.of(sequence).length()
    return sequence.length() if isinstance(sequence, Collection) else len(sequence)


def item_of(value: Any, turn: Any, site: LoopSite | None, *kept: Any) -> Any:
    """The item of a turn.

    Args:
        value: The iterable.
        turn: The number of the turn.
        site: The loop, if its turns can be written out.
        kept: What the items were made of; not read, but not to be changed by the loop.

    Raises:
        Learned: The turns are to be written out: items are Python objects, or arrays that would have to be joined
            first.
    """
    del kept
    sequence = items(value)
    if isinstance(sequence, Choice):
        return Rows.of(sequence).item(turn)
    if isinstance(sequence, Collection):
        return sequence.turn(turn)
    if not is_tracer(turn) or is_array(sequence):
        return sequence[turn]
    if isinstance(sequence, range):
        return range_item(turn, sequence.start, sequence.step, sequence.stop)
    if site is not None and (count := turns_of(site)) is not None:
        leaves = jax.tree.leaves(sequence, is_leaf=lambda part: part is None)
        differ = [leaf for leaf in leaves if is_tracer(leaf)]
        objects = {type(leaf) for leaf in leaves if not is_array(leaf)}.difference((bool, int, float, complex))
        is_needed = bool(objects) or any(leaf.ndim for leaf in differ)
        most = MOST_STATEMENTS_WRITTEN_OUT_FOR_TEXTS if objects == {str} else MOST_STATEMENTS_WRITTEN_OUT
        if is_needed and count * site.size > most:
            keep_as_loop(site)
            is_needed = False
        if is_needed or (not differ and pays_written_out(site, count)):
            raise Learned(site, Turns(count))
    return gathered(sequence, turn)


def turns(count: Any, site: LoopSite, expected: int | None, gathers: bool) -> Any:
    """The trip count of a loop; if it is known, it is recorded.

    Args:
        count: The trip count.
        site: The loop.
        expected: The number of turns that are written out; None if the loop is not written out.
        gathers: Whether each turn adds an item to a list, which then has another type: known turns are written out.

    Raises:
        Learned: The count is not the expected one, since it was known only on the first path to the loop. Or the turns
            are to be written out.
    """
    known = count if type(count) is int else None
    count_turns(site, known)
    if gathers and expected is None and known is not None and known * site.size <= MOST_STATEMENTS_WRITTEN_OUT:
        raise Learned(site, Turns(known))
    if expected is not None and known != expected:
        raise Learned(site, Turns(None))
    return count


def fewest(strict: Any, *counts: Any) -> Any:
    """The number of items of a ``zip``."""
    known = [count for count in counts if type(count) is int]
    if strict and len(known) < len(counts):
        raise BatchTypeError(
            "`zip` is to check lengths that differ between lanes",
            help="leave out `strict=True`, and compare them before.",
        )
    if strict and len(set(known)) > 1:
        raise ValueError(f"zip() has arguments of lengths {', '.join(map(str, known))}")
    if len(known) == len(counts):
        return min(known)
    least = counts[0]
    for count in counts[1:]:
        least = jnp.minimum(least, count)
    return least


def from_end(count: Any, turn: Any) -> Any:
    """The number of a turn counted from the end, as a Python number, since the count may be an unsigned one."""
    left = count - 1 - turn
    return number(left) if is_tracer(count) else left


def live(first: Any, value: Any, view: str) -> Any:
    """The items of a view of a dict as they are now; if the value is no dict, ``first``.

    Args:
        first: The items that the method returned before the loop.
        value: A value that may be a dict.
        view: The name of the method.
    """
    return items(getattr(value, view)()) if isinstance(value, _BY_KEY) else first


def keyed(value: Any) -> Any:
    """The value if it is a dict or a set, else None."""
    return value if isinstance(value, _BY_KEY) else None


def key_at(value: Any, turn: Any) -> Any:
    """The key of a dict at a turn; None if the value is no dict."""
    return item_of(value, turn, None) if isinstance(value, (dict, Table)) else None


def check_same_key(value: Any, turn: Any, count: Any, key: Any) -> None:
    """Raise, or note lanes that fail, if a dict has another key at this turn: a key up to it was removed.

    Args:
        value: A value that may be a dict.
        turn: The number of the turn.
        count: The number of keys before the first turn.
        key: The result of ``key_at`` at the beginning of the turn.
    """
    now = length(value) if isinstance(value, (dict, Table)) else 0
    if type(now) is int and (now == 0 or now != count):
        return  # this is no dict, or another check covers its size
    is_same = equal(key_at(value, turn), key)
    if is_same is False:
        raise UnsupportedSyntaxError(
            "a dict loses a key that a loop over it came by, and gets another: Python raises a RuntimeError, or goes "
            "on in some order",
            help="go over a copy, as in `for k in list(d)`.",
        )
    others = jnp.logical_and(jnp.asarray(now == count), jnp.logical_not(is_same))
    fails(RuntimeError, "dictionary keys changed during iteration", others)


def goes_on(turn: Any, *bounds: tuple[Any, Any, bool]) -> Any:
    """Whether there is a further turn, where the iterable may have changed.

    Args:
        turn: The number of the turn.
        *bounds: For each iterable of the loop: the number of items at first, the iterable as it is now, or None if the
            number cannot change, and whether it is iterated over from the end.
    """
    result: Any = True
    for bound in bounds:
        with where(result):
            here = truth(_has_item(turn, *bound))
        result = here if result is True else result if here is True else jnp.logical_and(result, here)
        if result is False:
            return False
    return result


def _has_item(turn: Any, count: Any, value: Any, is_backwards: bool) -> Any:
    if isinstance(value, LaneText) or not isinstance(value, (list, Growing, deque, *_BY_KEY)):
        return range_goes_on(turn, count)
    now = length(value)
    python = value.python if isinstance(value, Growing) else type(value)
    if not issubclass(python, list):
        _check_size(python, now, count)
        return range_goes_on(turn, count)
    if not is_backwards:
        return range_goes_on(turn, count if type(now) is int and is_tracer(turn) else now)
    there = from_end(count, turn) < now
    return both([range_goes_on(turn, count), there])


def _check_size(python: type, now: Any, count: Any) -> None:
    """Raise, or note lanes that fail, if a dict, set or deque has changed its size during iteration."""
    is_dict = issubclass(python, dict)
    what = "dictionary changed size" if is_dict else "deque mutated" if python is deque else "Set changed size"
    if type(now) is int and type(count) is int:
        if now != count:
            raise UnsupportedSyntaxError(
                f"a {python.__name__} changes its size while it is gone over: Python raises a RuntimeError, {what} "
                "during iteration",
                help="go over a copy, as in `for k in list(d)`.",
            )
        return
    fails(RuntimeError, f"{what} during iteration", jnp.asarray(now != count))


def written_turn(turn: int, site: LoopSite, is_last: bool, *bounds: tuple[Any, Any, bool]) -> None:
    """Check that a turn that is written out takes place, where the iterable may have changed.

    Args:
        turn: The number of the turn.
        site: The loop.
        is_last: Whether this is the turn after the last that is written out.
        *bounds: As in ``goes_on``.

    Raises:
        Learned: There are more or fewer turns than are written out.
        UnsupportedSyntaxError: There are too many turns to write out.
    """
    there = goes_on(turn, *bounds)
    if type(there) is not bool:
        raise Learned(site, Turns(None))
    if there and is_last:
        more = 2 * turn + 1
        if more * site.size <= MOST_STATEMENTS_OF_A_LIST_THAT_GROWS:
            raise Learned(site, Turns(more, changes=True))
        error = UnsupportedSyntaxError(
            f"a list grows while it is gone over, for more than {turn} turns",
            help="write a `while` loop that counts its turns: `while i < len(items):`.",
        )
        error.about = tuple(node for _, value, _ in bounds for node in places_of(value))
        raise error
    if not there and not is_last:
        raise Learned(site, Turns(turn, changes=True))


def numbered(value: Any, error: HloBatchError) -> Any:
    """The container, if its items can be indexed in the order of iteration, since a name stands for one (``by_place``).

    Raises:
        HloBatchError: They cannot; it is the given error.
    """
    has_keys = issubclass(getattr(value, "python", list), (dict, set))
    if type(value) in (list, tuple, deque) or is_array(value) or (isinstance(value, Growing) and not has_keys):
        return value
    raise error
