"""Python's own functions, such as ``int``, ``sum`` and ``sorted`` -> their meaning on values that differ between lanes.

Each accepts what Python's accepts, and returns a Python number if Python does: a weak array, as in ``lane_numbers.py``.
"""

from __future__ import annotations

import builtins
import collections
import enum
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, weakly
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend import growing_items, number_theory, texts
from hlobatch.frontend.builtins import is_array, truth
from hlobatch.frontend.lane_numbers import (
    as_bool,
    as_complex,
    as_float,
    as_index,
    as_int,
    as_number,
    differs,
    is_number,
    select,
)
from hlobatch.frontend.lane_ranges import LaneRange
from hlobatch.frontend.meaning import entries
from hlobatch.frontend.overflow import check_overflow
from hlobatch.frontend.own_methods import by_methods
from hlobatch.frontend.possible_items import Possible, certain, items_of
from hlobatch.frontend.python_numbers import operate, power
from hlobatch.frontend.rounding import rounded_float, rounded_integer
from hlobatch.frontend.sequences import MOST_NUMBERS_ONE_BY_ONE, both, either, greater, less, negated
from hlobatch.frontend.sorting import sorted_by
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing
from hlobatch.ir.value import Collection
from hlobatch.values.boxes import is_boxable
from hlobatch.values.growing_tables import GrowingDict
from hlobatch.values.lane_arrays import LaneArray, elementwise
from hlobatch.values.lane_failures import fails, is_there, where
from hlobatch.values.number_tables import is_integer, together
from hlobatch.values.one_of import each
from hlobatch.values.optional import in_any_case

_NONE: Final = object()


# Numbers


def _complex(real: Any = 0, imag: Any = None) -> Any:
    return as_complex(real, imag)


def absolute(value: Any, /) -> Any:
    result = by_methods("abs", value)
    if result is not NotImplemented:
        return result
    if isinstance(value, LaneArray):
        return elementwise(absolute, value)
    size = abs(as_number(value))
    check_overflow("abs", size, value)
    return size


def _round(number: Any, ndigits: Any = None) -> Any:
    """``round``: halves go to the even neighbor; without digits the result is an integer."""
    if not is_array(number) and not is_number(number):
        return round(number, ndigits)  # raises; JAX would take a tuple as an array
    number = as_number(number)
    if ndigits is None:
        return number if is_integer(number) else as_int(jnp.round(number))
    digits = as_index(ndigits, "round")
    return (rounded_integer if is_integer(number) else rounded_float)(jnp.asarray(number), digits)


def _divmod(x: Any, y: Any, /) -> Any:
    x, y = as_number(x), as_number(y)
    return operate("floordiv", x, y), operate("mod", x, y)


def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is None:
        return power(as_number(base), as_number(exp), False)
    return number_theory.power_modulo(*(as_index(value, "pow") for value in (base, exp, mod)))


# Items


def _any(iterable: Any, /) -> Any:
    iterable = _listed(iterable)
    if isinstance(iterable, Growing):
        return growing_items.any_of(iterable)
    if is_array(iterable) and iterable.ndim == 1:
        return as_bool(jnp.any(iterable))
    return as_bool(either(both(truth(part) for part in (item.is_there, item.value)) for item in items_of(iterable)))


def _all(iterable: Any, /) -> Any:
    iterable = _listed(iterable)
    if isinstance(iterable, Growing):
        return growing_items.all_of(iterable)
    if is_array(iterable) and iterable.ndim == 1:
        return as_bool(jnp.all(iterable))
    return as_bool(both(either((negated(item.is_there), truth(item.value))) for item in items_of(iterable)))


def _listed(iterable: Any) -> Any:
    """An iterable; a range whose length differs between lanes becomes a list."""
    return iterable.in_order() if isinstance(iterable, LaneRange) else iterable


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    if isinstance(iterable, LaneRange):
        return start + iterable.total()
    if isinstance(iterable, Growing):
        return growing_items.total(iterable, start)
    items = _computed_with(items_of(iterable), "a sum of")
    values = [item.value for item in items]
    if len(items) > MOST_NUMBERS_ONE_BY_ONE and certain(items) and all(is_array(v) for v in values):
        return growing_items.total_of_array(jnp.stack(together(values)), start)
    if is_array(iterable):
        return growing_items.total_of_array(jnp.asarray(iterable), start)
    return functools.reduce(_added, items, start)


def _computed_with(items: Sequence[Possible], what: str) -> list[Possible]:
    """Items for a computation; a lane fails in which one of them is None."""
    for item in items:
        with where(item.is_there):
            is_there(item.value, what)
    return [Possible(in_any_case(item.value), item.is_there) for item in items]


def _added(total: Any, item: Possible) -> Any:
    new = operate("add", as_number(total), as_number(item.value))
    return new if item.is_there is True else select(item.is_there, new, as_number(total))


def _dict(*pairs: Any, **named: Any) -> Any:
    if len(pairs) == 1 and isinstance(pairs[0], GrowingDict) and not named:
        return pairs[0].as_dict()
    if len(pairs) != 1 or isinstance(pairs[0], Mapping):
        return dict(*pairs, **named)
    new = growing_items.as_dict(pairs[0])
    if named:
        new.update(named)
    return new


def _length(sized: Any, /) -> Any:
    if isinstance(sized, Choice):
        return each(sized, len)
    if isinstance(sized, Collection):
        return sized.length()
    if isinstance(sized, (list, tuple)) and any(isinstance(item, Possible) for item in sized):
        return functools.reduce(lambda n, item: n + as_int(item.is_there), items_of(sized), 0)
    return len(sized)


# The least and the greatest


def _extreme(name: str, *args: Any, key: Any = None, default: Any = _NONE) -> Any:
    """``min`` or ``max``: the first item that no other one surpasses."""
    if len(args) == 1 and isinstance(args[0], LaneRange) and key is None:
        return args[0].extreme(name, *(() if default is _NONE else (default,)))
    args = tuple(map(_listed, args)) if len(args) == 1 else args
    if len(args) == 1 and isinstance(args[0], Growing):
        return growing_items.extreme(name, args[0], key, *(() if default is _NONE else (default,)))
    if len(args) == 1 and is_array(args[0]) and args[0].ndim == 1 and key is None and args[0].shape[0] > 0:
        return _extreme_of_array(name, jnp.asarray(args[0]))
    items = items_of(args[0]) if len(args) == 1 else [Possible(value) for value in args]
    if not items:
        return getattr(builtins, name)([], **({} if default is _NONE else {"default": default}))
    items = items if key is not None else _computed_with(items, f"`{name}` of")
    values = [item.value for item in items]
    if len(items) > MOST_NUMBERS_ONE_BY_ONE and key is None and certain(items) and all(map(_is_real, values)):
        return _extreme_of_array(name, jnp.stack([jnp.asarray(v) for v in together(values)]))
    best = items[0]
    rank = best.value if key is None else key(best.value)
    for item in items[1:]:
        own = item.value if key is None else key(item.value)
        if certain([best, item]) and key is None and _are_integers(best.value, own):  # no select is needed
            rank = jnp.minimum(*together([rank, own])) if name == "min" else jnp.maximum(*together([rank, own]))
            best = Possible(rank)
            continue
        better = less(own, rank) if name == "min" else greater(own, rank)
        better = both([item.is_there, either([negated(best.is_there), better])])
        best = Possible(select(better, item.value, best.value), either([best.is_there, item.is_there]))
        rank = best.value if key is None else select(better, own, rank)
    if best.is_there is True:
        return best.value
    if default is _NONE:
        fails(ValueError, f"{name}() arg is an empty sequence", jnp.logical_not(best.is_there))
        return best.value
    return select(best.is_there, best.value, default)


def _is_real(value: Any) -> bool:
    return is_number(value) and not jnp.issubdtype(jnp.result_type(value), jnp.complexfloating)


def _are_integers(*values: Any) -> bool:
    """Whether all values are integer arrays, of which equal ones are interchangeable; a bool and an integer are not."""
    return all(
        is_number(value) and jnp.issubdtype(jnp.result_type(value), jnp.integer) and is_array(value) for value in values
    )


def _extreme_of_array(name: str, array: Any) -> Any:
    """``min`` or ``max`` of an array. As in Python, a NaN in front is the result, and a later one is ignored."""
    reduce = jnp.min if name == "min" else jnp.max
    if not jnp.issubdtype(array.dtype, jnp.floating):
        result = reduce(array)
    else:
        worst = jnp.inf if name == "min" else -jnp.inf
        result = jnp.where(jnp.isnan(array[0]), array[0], reduce(jnp.where(jnp.isnan(array), worst, array)))
    return weakly(result, result.dtype) if array.weak_type else result


# Sequences


def _sorted(iterable: Any, /, *, key: Any = None, reverse: bool = False) -> Any:
    if is_tracer(reverse):
        raise BatchTypeError(
            "whether `sorted` goes down differs between lanes", help="sort up, and index from the other end."
        )
    iterable = _listed(iterable)
    if isinstance(iterable, Growing):
        return growing_items.sorted_list(iterable, key, reverse)
    items = items_of(iterable)
    if not certain(items):
        return growing_items.sorted_list(growing_items.those_there(items), key, reverse)
    values = [item.value for item in items]
    keys = values if key is None else list(map(key, values))
    for one in keys:
        is_there(one, "an order of")
    if differs(keys) or any(map(is_boxable, keys)):
        return sorted_by(values, keys, reverse)
    return [values[i] for i in sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)]


def _enumerated(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``, from a number that may differ between lanes."""
    if not is_tracer(start):
        return enumerate(iterable, start)
    first = as_number(as_index(start, "enumerate"))
    return ((first + i, item) for i, item in enumerate(iterable))


def _range(*bounds: Any) -> Any:
    start, stop, step = {1: (0, *bounds, 1), 2: (*bounds, 1), 3: bounds}[len(bounds)]
    return LaneRange(*(as_number(as_index(bound, "range")) for bound in (start, stop, step)))


def _filter(function: Any, iterable: Any, /) -> Any:
    """``filter``: a list whose length differs between lanes if what is kept does."""
    values = list(iterable)
    tests = [truth(value if function is None else function(value)) for value in values]
    kept = [Possible(value, test) for value, test in zip(values, tests, strict=True) if test is not False]
    return [item.value for item in kept] if certain(kept) else growing_items.those_there(kept)


def _hashed(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise BatchTypeError(
            f"`{name}` looks at the value of what differs between lanes",
            help="keep what differs in arrays: a flag for each possible member is a set.",
        )

    return refuse


def integer_member(kind: type[enum.Enum], value: Any) -> Any:
    """The member of an ``IntEnum`` with a value, as an integer."""
    value = as_int(as_index(value, kind.__name__))
    known = np.array([member.value for member in kind])
    fails(ValueError, f"not a valid {kind.__name__}", jnp.logical_not(jnp.isin(value, known)))
    return value


_HASHED: Final = (frozenset, hash)
MEANINGS: Final = {
    **entries({int: texts.as_integer, float: as_float, bool: as_bool, complex: _complex, len: _length}, converts=True),
    **entries({abs: absolute, round: _round, divmod: _divmod, pow: _pow, range: _range}, converts=True),
    **entries(
        {list: growing_items.as_list, tuple: growing_items.as_tuple, collections.deque: growing_items.as_deque},
        uses_items=True,
    ),
    **entries(
        {
            dict: _dict,
            dict.fromkeys: growing_items.from_keys,
            set: growing_items.as_set,
            collections.OrderedDict: growing_items.as_ordered,
            collections.defaultdict: growing_items.as_defaults,
            collections.Counter: growing_items.as_counter,
        },
        uses_items=True,
    ),
    **entries(
        {
            any: _any,
            all: _all,
            sum: _sum,
            sorted: _sorted,
            filter: _filter,
            enumerate: _enumerated,
            reversed: growing_items.from_the_end,
        },
        uses_items=True,
    ),
    **entries(
        {min: functools.partial(_extreme, "min"), max: functools.partial(_extreme, "max")},
        uses_items=True,
    ),
    **entries(texts.MEANINGS, converts=True),
    **entries({function: _hashed(function.__name__) for function in _HASHED}, converts=True, uses_items=True),
}
REFUSED: Final = _HASHED
"""Functions whose meaning is an error with help."""
CALLERS: Final = frozenset((min, max, sorted, map, filter))
"""Functions that call a function among their arguments, which is then wrapped to have its meaning."""
