"""A ``range`` whose bounds differ between lanes -> its length, items, parts and sum, by arithmetic.

::

    len(range(n))              n, or 0 where that is less
    range(2, n, 3)[i]          2 + 3 * i; an IndexError in lanes where there is no such item
    range(n + 1)[::-1]         range(n, -1, -1)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from hlobatch._jax import is_tracer, weakly
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.comparisons import compare
from hlobatch.frontend.lane_numbers import as_bool, as_index, as_int, as_number, is_number, select
from hlobatch.frontend.overflow import exact
from hlobatch.frontend.ranges import range_count, range_item, steps_to
from hlobatch.ir.carrier import Carrier
from hlobatch.ir.choice import Choice
from hlobatch.ir.value import Collection
from hlobatch.values.growing_lists import GrowingList
from hlobatch.values.lane_failures import fails
from hlobatch.values.number_tables import is_integer
from hlobatch.values.one_of import each
from hlobatch.values.whole_numbers import number


@partial(jax.tree_util.register_dataclass, data_fields=["start", "stop", "step"], meta_fields=[])
@dataclass(frozen=True, eq=False, repr=False)
class LaneRange(Carrier, Collection):
    """A ``range`` whose bounds differ between lanes.

    Attributes:
        start: The first item, if there is one.
        stop: The bound before which it ends.
        step: The difference of successive items.
    """

    python: ClassVar[Any] = range
    start: Any
    stop: Any
    step: Any

    def length(self) -> Any:
        """The number of items, as a Python number."""
        turns = range_count(self.start, self.stop, self.step)
        return number(turns) if is_tracer(turns) else turns

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        return range(*map(int, map(known, (self.start, self.stop, self.step))))

    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        del truth
        return self.length() != 0

    def item(self, index: Any) -> Any:
        """The item at an index, or the range that a slice selects."""
        if isinstance(index, slice):
            return self._slice(index)
        length, index = self.length(), as_number(as_index(index, "the index of a range"))
        fails(IndexError, "range object index out of range", (index < -length) | (index >= length))
        return self.turn(jnp.where(index < 0, index + length, index))

    def __getitem__(self, index: Any) -> Any:
        return self.item(index)

    def turn(self, number: Any) -> Any:
        """The item at an index that is known to be in range."""
        return range_item(number, self.start, self.step, self.stop)

    def _slice(self, key: slice) -> LaneRange:
        step = 1 if key.step is None else key.step
        if is_tracer(step):
            fails(ValueError, "slice step cannot be zero", step == 0)
        elif step == 0:
            raise ValueError("slice step cannot be zero")
        length, forwards = self.length(), step > 0
        least, most = _either(forwards, 0, -1), _either(forwards, length, length - 1)
        first, last = _either(forwards, least, most), _either(forwards, most, least)
        begin = first if key.start is None else _bound(key.start, length, least, most)
        end = last if key.stop is None else _bound(key.stop, length, least, most)
        return LaneRange(self.turn(begin), self.turn(end), self.step * step)

    def contains(self, item: Any) -> Any:
        """``item in self``."""
        return in_range(item, self.start, self.stop, self.step)

    def index(self, item: Any) -> Any:
        """The index of an item."""
        fails(ValueError, "the value is not in range", jnp.logical_not(self.contains(item)))
        return as_int((as_number(item) - self.start) // self.step)

    def count(self, item: Any) -> Any:
        """The number of times that it contains a value."""
        return as_int(self.contains(item))

    def equals(self, other: Any) -> Any:
        """Whether another range has the same items."""
        if not isinstance(other, (range, LaneRange)):
            return False
        other = LaneRange(other.start, other.stop, other.step)
        length, its = self.length(), other.length()
        alike = compare("eq", self.start, other.start) & ((length == 1) | (self.step == other.step))
        return as_bool((length == its) & ((length == 0) | alike))

    def total(self) -> Any:
        """The sum of all items."""
        length = self.length()
        is_even = length % 2 == 0
        halves = jnp.where(is_even, length // 2, length), jnp.where(is_even, length - 1, (length - 1) // 2)
        steps = exact("mul", exact("mul", *halves), self.step)
        return exact("add", exact("mul", length, self.start), steps)

    def extreme(self, name: str, *otherwise: Any) -> Any:
        """``min`` or ``max``."""
        length = self.length()
        if not otherwise:
            fails(ValueError, f"{name}() iterable argument is empty", length == 0)
        forwards = self.step > 0 if name == "min" else self.step < 0
        best = self.turn(_either(forwards, 0, length - 1))
        return select(as_bool(length != 0), best, otherwise[0]) if otherwise else best

    def in_order(self) -> GrowingList:
        """Its items as a list."""
        new = GrowingList.of([self.turn(0)])
        order, size = jnp.arange(new.capacity), jnp.asarray(self.length(), jnp.int32)
        new.check_room(size > new.capacity)
        items = jnp.asarray(self.turn(order), new.items.dtype)
        return GrowingList(weakly(items, items.dtype) if new.items.weak_type else items, size)

    def __iter__(self) -> Iterator[Any]:
        error = BatchTypeError(
            "a comprehension, or a function that goes over all items, has a range whose length differs between lanes",
            help="how many items are kept has to be known: write a `for` loop with this range, or go over it where it "
            "stands, as in `sum(x[i] for i in range(n))`; any, all, min, max, len and next go over one as well.",
        )
        error.goes_over = True
        raise error

    def __reversed__(self) -> LaneRange:
        return self._slice(slice(None, None, -1))

    def __copy__(self) -> LaneRange:
        return self

    def __deepcopy__(self, _: Any) -> LaneRange:
        return self


def as_range(choice: Choice) -> Any:
    """A choice among ranges, as a range whose bounds differ between lanes; None for a choice among other objects."""
    if not all(isinstance(one, range) for one in choice.hb_objects):
        return None
    return LaneRange(*(each(choice, operator.attrgetter(name)) for name in ("start", "stop", "step")))


def in_range(item: Any, start: Any, stop: Any, step: Any) -> Any:
    """Whether a value is an item of a range."""
    if not is_number(item) or jnp.issubdtype(jnp.result_type(item), jnp.complexfloating):
        return False
    up, down = (
        jnp.logical_and(compare(before, start, item), compare(behind, item, stop))
        for before, behind in (("le", "lt"), ("ge", "gt"))
    )
    inside = _either(step > 0, up, down)
    if not is_integer(item) or not (is_array(item) or is_array(start)):
        return as_bool(inside & (item % 1 == 0) & ((item - start) % abs(step) == 0))
    is_single = not is_array(step) and abs(step) == 1
    return as_bool(inside if is_single else inside & steps_to(item, start, step))


def _either(test: Any, one: Any, other: Any) -> Any:
    """``one if test else other``, of numbers."""
    return jnp.where(test, one, other) if is_array(test) else one if test else other


def _bound(value: Any, length: Any, least: Any, most: Any) -> Any:
    """A bound of a slice as in Python: counted from the end if it is negative, and clipped."""
    value = as_number(value)
    place = jnp.where(value < 0, value + length, value) if is_array(value) else value + (length if value < 0 else 0)
    return jnp.clip(place, least, most)
