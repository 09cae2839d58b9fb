"""Errors for options of ``jax.jit`` and ``jax.vmap`` that ``hb.batch`` does not have, with advice."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from hlobatch.diagnostics import BatchTypeError, Location

_AROUND: Final = "give it to a `jax.jit` around the batched function."
_ALONE: Final = "a lane runs by itself: combine the results of the batched function, as with jnp.sum."
_INSTEAD: Final[Mapping[str, str]] = {
    "static_argnums": "name the parameters, as in `static_argnames={names}`.",
    "out_axes": "results have the batch as their axis 0: move it, as in `jnp.moveaxis(result, 0, 1)`.",
    "axis_size": "the batch is as large as that of the arguments: pass one that has a batch axis, as `jnp.arange(n)`.",
    "axis_name": _ALONE,
    "spmd_axis_name": _ALONE,
    **dict.fromkeys(("donate_argnums", "donate_argnames", "device", "backend", "keep_unused", "inline"), _AROUND),
    **dict.fromkeys(("in_shardings", "out_shardings"), _AROUND),
}


def refused(
    others: Mapping[str, Any], function: Callable[..., Any] | None, own: Collection[str], place: Location
) -> BatchTypeError:
    """The error for options that do not exist.

    Args:
        others: The unknown options, at least one.
        function: The function, if it is passed together with them.
        own: Names of the options that exist.
        place: The place of the call in the user's code.
    """
    name, value = next(iter(others.items()))
    if name in _INSTEAD:
        return BatchTypeError(
            f"hb.batch has no {name}", place, help=_INSTEAD[name].format(names=_names(function, value))
        )
    close = difflib.get_close_matches(name, own, 1, cutoff=0.75)
    instead = f"is {close[0]} meant?" if close else f"its options are {', '.join(own)}."
    return BatchTypeError(f"hb.batch has no option {name!r}", place, help=instead)


def _names(function: Callable[..., Any] | None, numbers: Any) -> str:
    """The names of the parameters at some positions, as code."""
    code = getattr(function, "__code__", None)
    chosen = [numbers] if isinstance(numbers, int) else list(numbers)
    if code is None or not all(isinstance(i, int) and -code.co_argcount <= i < code.co_argcount for i in chosen):
        return "('mode',)"
    names = [code.co_varnames[: code.co_argcount][i] for i in chosen]
    return repr(names[0] if len(names) == 1 else tuple(names))
