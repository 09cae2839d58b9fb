"""Python's binary operators on traced values; numbers of one dtype go to JAX's operations at once.

::

    n + 1      of an int32:     lax.add(n, np.int32(1)), in place of jnp.add, which looks for a common dtype and shape

The equations are those that ``n + 1`` gives, in a third of the time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from jax import lax

from hlobatch._jax import is_tracer

_DIRECT: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "add": lax.add,
    "sub": lax.sub,
    "mul": lax.mul,
    "lt": lax.lt,
    "le": lax.le,
    "gt": lax.gt,
    "ge": lax.ge,
    "eq": lax.eq,
    "ne": lax.ne,
}
_IN_PLACE: Final = {f"i{name}": function for name, function in _DIRECT.items()}
_LITERALS: Final = range(128)
"""The non-negative integers that fit into every integer dtype."""


def operated(operation: str, left: Any, right: Any) -> Any:
    """The result of a binary operation, given its name in ``operator`` without underscores."""
    direct = _DIRECT.get(operation) or _IN_PLACE.get(operation)
    if direct is not None and is_tracer(left):
        other = _alike(left, right)
        if other is not None:
            return direct(left, other)
    function = getattr(operator, operation, None) or getattr(operator, f"{operation}_")
    return function(left, right)


def _alike(number: Any, other: Any) -> Any | None:
    """The other operand, with the dtype and shape of a traced one; None if JAX has to find a common type."""
    aval = number.aval
    kind = getattr(aval.dtype, "kind", "")
    if kind not in "iuf":
        return None
    if is_tracer(other):
        return other if other.aval == aval else None
    if type(other) is float:
        fits = kind == "f" and aval.dtype.itemsize >= 4
    else:
        fits = type(other) is int and other in _LITERALS
    return np.asarray(other, aval.dtype) if fits and not aval.weak_type and not aval.shape else None
