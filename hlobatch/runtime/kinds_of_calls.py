"""Calls of one kind: their arguments are given to JAX's compiled dispatch as they are, which compares their types.

The arguments are checked while JAX traces a call, once for each kind. A call of another kind is traced anew, and found
to be of another kind there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import jax

from hlobatch._jax import tracing_context
from hlobatch.typing import Arrays

CALLS_FROM_PYTHON: Final = 3
"""Calls with the same types and stacks, besides the first, before the call is compiled, which takes as long as hundreds
of them. Chosen by judgement (2026-11): if the size differs in each call, nothing is compiled.
"""
MOST_MISTAKEN: Final = 2
"""Calls with other types that a run finds out by itself. Each takes a millisecond, for JAX begins to trace."""
UNKNOWN: Final = object()
"""What a prepared call returns if its arguments are of another kind than those it is prepared for."""
Args = Sequence[Any]
"""The positional arguments of a call."""
Kwargs = Mapping[str, Any]
"""The keyword arguments of a call."""
_NO_KEYWORDS: Final[Kwargs] = {}


def unknown(args: Args, kwargs: Kwargs, *, are_alike: bool = False) -> Any:
    """The function that returns ``UNKNOWN`` for every call."""
    del args, kwargs, are_alike
    return UNKNOWN


class OtherTypesError(Exception):
    """Raised while JAX traces a call with other types, or other settings, than it was prepared for."""


class Prepared(NamedTuple):
    """Functions that return the user's result of calls of one kind.

    Attributes:
        run: A function of arrays as they are stored.
        call: A function of a call's arguments, which JAX's compiled dispatch takes as they are. It returns ``UNKNOWN``
            as long as nothing is compiled. If it is not told by ``are_alike`` that the arguments are of its own kind,
            it relies on JAX, which compares the types of each call anyway, and returns ``UNKNOWN`` for others.
    """

    run: Callable[[Arrays], Any]
    call: Callable[..., Any] = unknown

    def of_arrays(self, arrays: Arrays) -> Any:
        """The result of a call, of the kind this is prepared for, whose arguments are its arrays as they are stored."""
        result = self.call(arrays, _NO_KEYWORDS, are_alike=True)
        return self.run(arrays) if result is UNKNOWN else result


class Kind(NamedTuple):
    """Calls of one kind: their program, size and types are the same.

    Attributes:
        stored: A function of a call's arguments, concrete or traced, that returns their arrays as they are stored. It
            raises an error for calls of another kind.
        is_told_by_types: Whether a call whose arguments have the same types, as JAX compares them, is of this kind.
    """

    stored: Callable[[Args, Kwargs], Arrays]
    is_told_by_types: bool = False

    def jitted(self, run: Callable[..., Any], captured: Arrays, types: Sequence[Any]) -> Callable[..., Any]:
        """A jitted function of a call's arguments, under JAX's settings as they are now.

        Args:
            run: A function of captured arrays and arrays as they are stored.
            captured: The captured arrays.
            types: The types of the latter, from ``types_of``.
        """
        context, count = tracing_context(), len(captured)

        def traced(*operands: Any, **kwargs: Any) -> Any:
            arrays = self.stored(operands[count:], kwargs)
            if types_of(arrays) != types or tracing_context() != context:
                raise OtherTypesError
            return run(*operands[:count], *arrays)

        return partial(jax.jit(traced), *_on_device(captured)) if captured else jax.jit(traced)


ARRAYS: Final = Kind(lambda args, _: args)
"""Calls with arrays as they are stored."""


def types_of(arrays: Arrays) -> list[Any]:
    """The shapes and dtypes of arrays, as JAX takes them."""
    return [(x.shape, x.dtype) for x in map(jax.typeof, arrays)]


def _on_device(captured: Arrays) -> Arrays:
    """Captured arrays, transferred to the device once for all calls."""
    with jax.transfer_guard("allow"):
        return tuple(x if isinstance(x, jax.Array) else jax.device_put(x) for x in captured)
