"""A call like an earlier one -> its result, without the checks of a first call.

Checking a call takes some fifty microseconds, and a call like an earlier one needs no check. Such a call finds the run
that was prepared for the earlier one in one of three ways, the fastest first:

1. ``of_latest``: JAX's compiled dispatch is given the arguments of a call at once. It compares their types anyway, and
   runs those that are like the arguments of the latest call.
2. ``of_types``: positional arrays are looked up by their abstract values, which JAX keeps.
3. ``looked_up``: all other arguments are looked up by a key (``call_keys.py``).

A call that none of them finds is checked, run and remembered. A few microseconds count: if the next call comes later,
the thread that ran the last one has gone to sleep, and takes fifteen more to wake.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax

from hlobatch._jax import abstract, is_key, tracing_context, words_of
from hlobatch.runtime.arguments import Binder, Call
from hlobatch.runtime.call_keys import are_compared_by_jax, key_of
from hlobatch.runtime.execute import prepared
from hlobatch.runtime.kinds_of_calls import UNKNOWN, Args, Kind, Kwargs, OtherTypesError, Prepared, unknown
from hlobatch.runtime.plan import Plan
from hlobatch.typing import Arrays
from hlobatch.values.number_tables import NUMBERS


class Known(NamedTuple):
    """A prepared run, and the function that finds the arrays that it takes.

    Attributes:
        prepared: The prepared run.
        stored: A function of a call's arguments and its leaves (typed keys as their words) that returns its arrays as
            they are stored.
    """

    prepared: Prepared
    stored: Callable[[Args, Kwargs, Arrays], Arrays]


@dataclass
class Shortcuts:
    """The shortcuts of one function: prepared runs of earlier calls, except calls that JAX was tracing.

    Attributes:
        runs: The prepared run for each key.
        of_arrays: By the abstract values of positional arrays, the JAX settings and the prepared run.
        latest: Of the latest of these runs, the function that finds out by itself whether a call is alike.
    """

    runs: dict[Any, Known] = field(default_factory=dict)
    of_arrays: dict[Any, tuple[Any, Prepared]] = field(default_factory=dict)
    latest: Callable[..., Any] = unknown

    def of_latest(self, args: Args, kwargs: Kwargs) -> Any:
        """The user's result of a call by the run of the latest call; ``UNKNOWN`` if it may be of another kind."""
        return self.latest(args, kwargs) if are_compared_by_jax(args, kwargs) else UNKNOWN

    def of_types(self, args: Args, kwargs: Kwargs) -> Any:
        """The user's result of a call by the types of positional arrays; ``UNKNOWN`` if it has other arguments."""
        if kwargs:
            return UNKNOWN
        try:
            context, found = self.of_arrays[tuple(map(abstract, args))]
        except (AttributeError, KeyError):  # not an array, or of a type without a shortcut
            return UNKNOWN
        if context != tracing_context():
            return UNKNOWN
        self.latest = found.call
        return found.of_arrays(args)

    def looked_up(self, args: Args, kwargs: Kwargs) -> Any:
        """The user's result of a call; ``UNKNOWN`` if it has no shortcut."""
        key, leaves = key_of(args, kwargs)
        if key not in self.runs:
            return UNKNOWN
        found, stored = self.runs[key]
        self.latest = found.call
        result = found.call(args, kwargs, are_alike=True)
        return found.run(stored(args, kwargs, leaves)) if result is UNKNOWN else result

    def remember(self, args: Args, kwargs: Kwargs, call: Call, plan: Plan, binder: Binder) -> None:
        """Keep a prepared run for calls like one that was made.

        Args:
            args: Its positional arguments.
            kwargs: Its keyword arguments.
            call: The call.
            plan: The plan that it was run by.
            binder: What checks calls of the function.
        """
        key, leaves = key_of(args, kwargs)
        if key is None or not _is_told_by_key(call, leaves, binder):
            return
        kind = Kind(_binding(binder, call), is_told_by_types=not key.metadata and not call.may_have_numbers)
        if len(kwargs) > 1 or not _are_passed_on(leaves, call):  # keywords may be in another order than parameters
            found = prepared(plan, call.physical(), kind)
            self.runs[key] = Known(found, lambda args, kwargs, _: kind.stored(args, kwargs))
            return
        found = prepared(plan, leaves, kind)
        self.runs[key] = Known(found, lambda _args, _kwargs, leaves: leaves)
        if key.treedef == jax.tree.structure((tuple(leaves), {})):  # if the types are no abstract values, it is unused
            self.of_arrays[key.types] = key.context, found

    def forget(self) -> None:
        """Forget all shortcuts, because calls are to be run differently from now on."""
        self.runs.clear()
        self.of_arrays.clear()
        self.latest = unknown


def _is_told_by_key(call: Call, leaves: Arrays, binder: Binder) -> bool:
    """Whether all calls with the key of a call are like it. The key has the type of a static number, not its value."""
    has_static_numbers = bool(binder.static) and any(type(leaf) in NUMBERS for leaf in leaves)
    return call.size > 0 and call.is_fixed and not has_static_numbers


def _binding(binder: Binder, first: Call) -> Callable[[Args, Kwargs], Arrays]:
    """A function that finds the arrays in the arguments of calls like the first one, and raises an error in others."""
    key, size = first.key, first.size

    def stored(args: Args, kwargs: Kwargs) -> Arrays:
        call = binder.bind(args, kwargs)
        if call.key != key or call.size != size:
            raise OtherTypesError
        return call.physical()

    return stored


def _are_passed_on(leaves: Arrays, call: Call) -> bool:
    """Whether the arrays of a call are its leaves, and are stored unchanged."""
    if len(leaves) != len(call.arrays):
        return False
    passed_on = (a is b or (is_key(a) and words_of(a) is b) for a, b in zip(call.arrays, leaves, strict=True))
    return all(passed_on) and all(map(_is_stored_so, leaves))


def _is_stored_so(leaf: Any) -> bool:
    """Whether an array needs no conversion; one with 64-bit elements may be from a time when these were enabled."""
    return not isinstance(leaf, jax.Array) or leaf.dtype == jax.dtypes.canonicalize_dtype(leaf.dtype)
