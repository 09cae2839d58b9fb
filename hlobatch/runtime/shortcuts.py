"""Finds the prepared run of an earlier call with arguments of the same types, so that checks are skipped.

Checking a call takes some fifty microseconds, and a call like an earlier one needs no check. Two calls are alike if
their arguments are the same pytree of arrays of the same types, under the same JAX settings. A call has a shortcut only
if its arrays are passed on as they are (typed keys as their words): the batch axis is the first, and there are no
Python objects, and no two keywords, whose order may differ from that of the parameters.

Calls with only positional arrays, the most common ones, have a still shorter path. A few microseconds count: if the
next call comes later, the thread that ran the last one has gone to sleep, and takes fifteen more to wake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import abstract, is_key, tracing_context, words_of
from hlobatch.ir.types import metadata_of
from hlobatch.runtime.arguments import Call
from hlobatch.runtime.execute import prepared
from hlobatch.runtime.kernel_by_itself import UNKNOWN, Prepared
from hlobatch.runtime.places import has_several_devices
from hlobatch.runtime.plan import Plan
from hlobatch.typing import Arrays

_AROUND: Final = 3
"""Nodes of the pytree of a call's arguments besides array leaves: the pair, the positional tuple, the keyword dict."""
Run = Callable[[Sequence[Any]], Any]


@dataclass
class Shortcuts:
    """The shortcuts of one function: prepared runs of earlier calls, except calls that JAX was tracing.

    Attributes:
        runs: The prepared run for each key.
        of_arrays: By the abstract values of positional arrays, the JAX settings and the prepared run.
        run_if_alike: Of the latest of these runs, the function that finds out by itself whether a call is alike.
    """

    runs: dict[Any, Run] = field(default_factory=dict)
    of_arrays: dict[Any, tuple[Any, Prepared]] = field(default_factory=dict)
    run_if_alike: Run | None = None

    def called(self, args: Arrays) -> Any:
        """The user's result of a call without keywords while nothing is traced; ``UNKNOWN`` if it has no shortcut."""
        if self.run_if_alike is not None:
            result = self.run_if_alike(args)
            if result is not UNKNOWN:
                return result
        try:
            context, found = self.of_arrays[tuple(map(abstract, args))]
        except (AttributeError, KeyError):  # not an array, or of a type without a shortcut
            return UNKNOWN
        if context != tracing_context():
            return UNKNOWN
        self.run_if_alike = found.run_if_alike
        return found.run(args)

    def look_up(self, args: Arrays, kwargs: Mapping[str, Any]) -> tuple[Any, list[Any], Run | None]:
        """A call's key (None if it can have no shortcut), its arrays as stored, and its prepared run, or None."""
        leaves, treedef = jax.tree.flatten((args, kwargs))
        if len(kwargs) > 1:
            return None, leaves, None
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
            else:
                return None, leaves, None
        if has_several_devices():
            described += [leaf.sharding for leaf in leaves if isinstance(leaf, jax.Array)]
        key = (treedef, _metadata(treedef, leaves), tuple(described), tracing_context())
        return key, leaves, self.runs.get(key)

    def remember(self, key: Any, leaves: Arrays, call: Call, plan: Plan) -> None:
        """Keep a prepared run for a call that was made, if the call's arrays were passed on unchanged."""
        if key is None or call.size == 0 or not call.is_fixed or len(leaves) != len(call.arrays):
            return
        passed_on = (a is b or (is_key(a) and words_of(a) is b) for a, b in zip(call.arrays, leaves, strict=True))
        if all(passed_on) and all(map(_is_stored_so, leaves)):
            found = prepared(plan, leaves)
            self.runs[key] = found.run
            treedef, _, described, context = key
            if treedef == jax.tree.structure((tuple(leaves), {})):
                self.of_arrays[described] = context, found  # never found if more than abstract values is in the key

    def forget(self) -> None:
        """Forget all shortcuts, because calls are to be run differently from now on."""
        self.runs.clear()
        self.of_arrays.clear()
        self.run_if_alike = None


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
