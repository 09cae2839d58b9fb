"""What a ``for`` goes over, as code that is being traced sees it -> the number of its items, and the item of each turn.

::

    for x in xs:       ==>       items = __hb_items(xs); turns = __hb_turns(__hb_length(items))
        …                        in turn t:  x = __hb_item_of(items, t)

``loops.py`` puts these functions into programs. If the items are of several types, an item cannot be had by a turn that
is not known: the turns have to be written out, and tracing says so by a fact.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, weakly
from hlobatch.analysis.facts import (
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
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.endless import finite
from hlobatch.frontend.items import gathered
from hlobatch.frontend.ranges import range_item
from hlobatch.ir.growing import Growing

_SEQUENCES: Final = (list, tuple, str, bytes, range)


_COUNT: Final = re.compile(r"count\((-?\d+)(?:, (-?\d+))?\)")


def items(value: Any) -> Any:
    """Something that has items by their number, of anything that can be gone over."""
    if is_array(value) or isinstance(value, (*_SEQUENCES, Growing)):
        return value
    if not isinstance(value, Iterable):
        raise BatchTypeError(
            f"a `for` goes over {type(value).__name__!r}, which has no items",
            help="write `range(n)` to go over numbers.",
        )
    if type(value) is itertools.count:
        return _counting(value)
    return list(finite(value))


def _counting(count: Any) -> range:
    """The whole numbers that ``itertools.count`` gives, as far as integers of the lanes go."""
    whole = _COUNT.fullmatch(repr(count))  # which is how it says where it is
    start, step = (int(whole[1]), int(whole[2] or 1)) if whole else (0, 0)
    if not step:
        raise BatchTypeError(
            f"a `for` goes over {count!r}, which does not count whole numbers",
            help="write a `while` loop, and add the step to a variable in each turn.",
        )
    most = int(np.iinfo(jax.dtypes.canonicalize_dtype("int64")).max)  # of the numbers, and of how many there are
    return range(start, most + min(start, 0) if step > 0 else max(start, 0) - most, step)


def length(value: Any) -> Any:
    """How many items there are."""
    if is_array(value) and value.ndim == 0:
        raise BatchTypeError("a `for` goes over a single number", help="write `range(n)` to go over numbers.")
    sequence = items(value)
    return sequence.length() if isinstance(sequence, Growing) else len(sequence)


def item_of(value: Any, turn: Any, site: LoopSite | None) -> Any:
    """The item of a turn.

    Args:
        value: What is gone over.
        turn: Which turn it is.
        site: The loop, if its turns can be written out.

    Raises:
        Learned: It is better to write them out: items are known, or arrays that would have to be put together first.
    """
    sequence = items(value)
    if isinstance(sequence, Growing):
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
    """The number of turns of a loop, which is noted where it is known.

    Args:
        count: How many there are.
        site: The loop.
        expected: How many are written out, if they are.
        gathers: Whether each turn adds an item to a list, which has another type then: known turns are written out.

    Raises:
        Learned: There are others than those: the number was known only on the first way to the loop that was followed.
            Or they are to be written out.
    """
    known = count if type(count) is int else None
    count_turns(site, known)
    if gathers and expected is None and known is not None and known * site.size <= MOST_STATEMENTS_WRITTEN_OUT:
        raise Learned(site, Turns(known))
    if expected is not None and known != expected:
        raise Learned(site, Turns(None))
    return count


def fewest(strict: Any, *counts: Any) -> Any:
    """How many items ``zip`` gives."""
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
    """The turn as counted from the other end; a Python number, as turns are, where the count may be an unsigned one."""
    left = count - 1 - turn
    return weakly(left, jax.dtypes.canonicalize_dtype("int64")) if is_tracer(count) else left
