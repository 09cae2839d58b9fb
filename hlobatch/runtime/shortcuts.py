"""Finds the prepared run of an earlier call with arguments of the same types, so that checks are skipped.

Checking a call takes some fifty microseconds, and a call like an earlier one needs no check. Two calls are alike if
their arguments are the same pytree of arrays of the same types, under the same JAX settings; Python objects other than
numbers are not compared.

JAX's compiled dispatch compares the types of its arguments anyway, so a call that it runs is given to it at once, and
only if it finds other types is a prepared run looked for here. A few microseconds count: if the next call comes later,
the thread that ran the last one has gone to sleep, and takes fifteen more to wake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

import jax
import numpy as np

from hlobatch._jax import abstract, is_key, tracing_context, words_of
from hlobatch.ir.types import metadata_of
from hlobatch.runtime.arguments import NUMBERS, Binder, Call, number_array
from hlobatch.runtime.execute import prepared
from hlobatch.runtime.kinds_of_calls import UNKNOWN, Kind, OtherTypesError, Prepared, unknown
from hlobatch.runtime.places import has_several_devices
from hlobatch.runtime.plan import Plan
from hlobatch.typing import Arrays
from hlobatch.values.type_join import MisfitError

_AROUND: Final = 3
"""Nodes of the pytree of a call's arguments besides array leaves: the pair, the positional tuple, the keyword dict."""
SMALL: Final = 1 << 31
"""Numbers below this are in the range of each of JAX's types, which saves the microseconds of a closer look."""
Args = Sequence[Any]
Kwargs = Mapping[str, Any]


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
        return self.latest(args, kwargs) if _are_compared_by_jax(args, kwargs) else UNKNOWN

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
        key, leaves = _described(args, kwargs)
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
        key, leaves = _described(args, kwargs)
        are_compared = not (binder.static and any(type(leaf) in NUMBERS for leaf in leaves))  # a static number is not
        if key is None or call.size == 0 or not call.is_fixed or not are_compared:
            return
        treedef, metadata, described, context = key
        kind = Kind(_binding(binder, call), is_told_by_types=not metadata and not call.may_have_numbers)
        if len(kwargs) > 1 or not _are_passed_on(leaves, call):  # the order of keywords may not be that of parameters
            found = prepared(plan, call.physical(), kind)
            self.runs[key] = Known(found, lambda args, kwargs, _: kind.stored(args, kwargs))
            return
        found = prepared(plan, leaves, kind)
        self.runs[key] = Known(found, lambda _args, _kwargs, leaves: leaves)
        if treedef == jax.tree.structure((tuple(leaves), {})):
            self.of_arrays[described] = context, found  # never found if more than abstract values is in the key

    def forget(self) -> None:
        """Forget all shortcuts, because calls are to be run differently from now on."""
        self.runs.clear()
        self.of_arrays.clear()
        self.latest = unknown


def _binding(binder: Binder, first: Call) -> Callable[[Args, Kwargs], Arrays]:
    """A function that finds the arrays in the arguments of calls like the first one, and raises an error in others."""
    key, size = first.key, first.size

    def stored(args: Args, kwargs: Kwargs) -> Arrays:
        call = binder.bind(args, kwargs)
        if call.key != key or call.size != size:
            raise OtherTypesError
        return call.physical()

    return stored


def _are_compared_by_jax(args: Args, kwargs: Kwargs) -> bool:
    """Whether JAX's compiled dispatch tells all arguments from others.

    It takes a masked array, or one of another byte order, for any other, and gives its bytes to the program.
    """
    for leaf in jax.tree.leaves((args, kwargs) if kwargs else args):
        if isinstance(leaf, np.ndarray) and (type(leaf) is not np.ndarray or not leaf.dtype.isnative):
            return False
    return True


def _described(args: Args, kwargs: Kwargs) -> tuple[Any, list[Any]]:
    """The key of a call, None if it can have no shortcut, and its leaves, typed keys as their words."""
    leaves, treedef = jax.tree.flatten((args, kwargs))
    kind = _array_type()
    described: list[Any] = []
    for i, leaf in enumerate(leaves):
        if type(leaf) is kind:
            described.append(abstract(leaf))
        elif type(leaf) is np.ndarray:
            described.append((leaf.shape, leaf.dtype))
        elif isinstance(leaf, jax.Array) and is_key(leaf):
            described.append((leaf.shape, leaf.dtype))
            leaves[i] = words_of(leaf)
        elif type(leaf) in NUMBERS and _fits(leaf):
            described.append(type(leaf))
        else:
            return None, leaves
    if has_several_devices():
        described += [leaf.sharding for leaf in leaves if isinstance(leaf, jax.Array)]
    return (treedef, _metadata(treedef, leaves), tuple(described), tracing_context()), leaves


def _fits(number: complex) -> bool:
    """Whether a number is in the range of JAX's numbers."""
    if abs(number) < SMALL:
        return True
    try:
        number_array(number)
    except MisfitError:
        return False
    return True


def _are_passed_on(leaves: Arrays, call: Call) -> bool:
    """Whether the arrays of a call are its leaves, and are stored unchanged."""
    if len(leaves) != len(call.arrays):
        return False
    passed_on = (a is b or (is_key(a) and words_of(a) is b) for a, b in zip(call.arrays, leaves, strict=True))
    return all(passed_on) and all(map(_is_stored_so, leaves))


def _metadata(treedef: Any, leaves: Arrays) -> tuple[Any, ...]:
    """The static data of the nodes of a call's pytree, such as dataclass fields; empty for positional arrays alone."""
    return () if treedef.num_nodes == len(leaves) + _AROUND else metadata_of(treedef)


def _is_stored_so(leaf: Any) -> bool:
    """Whether an array needs no conversion; one with 64-bit elements may be from a time when these were enabled."""
    return not isinstance(leaf, jax.Array) or leaf.dtype == jax.dtypes.canonicalize_dtype(leaf.dtype)


@cache
def _array_type() -> type:
    """The class of concrete JAX arrays; tracers and typed keys are ``jax.Array``, but of other classes."""
    return type(jax.device_put(np.zeros(())))  # jnp.zeros would be compiled first, for ten milliseconds
