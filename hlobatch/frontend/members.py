"""``value.name`` of a number or array that differs between lanes -> the attribute, as Python or NumPy define it.

::

    n.bit_count()         the number of one bits of |n|
    row.tolist()          the elements as Python's numbers, in lists

JAX's arrays lack some methods of Python's numbers and NumPy's arrays, and have others only for known values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import is_tracer, weakly
from hlobatch.diagnostics import BatchTypeError, UnsupportedSyntaxError
from hlobatch.frontend.lane_numbers import as_bool, as_index, as_int, as_number
from hlobatch.frontend.numpy_functions import canonical
from hlobatch.frontend.python_numbers import type_of
from hlobatch.ir.growing import Growing
from hlobatch.typing import DType
from hlobatch.values.identity import is_now
from hlobatch.values.lane_arrays import LaneArray
from hlobatch.values.lane_failures import needed
from hlobatch.values.number_tables import is_integer


def member(value: Any, name: str) -> Any:
    """The attribute ``name`` of a value."""
    if name == "__class__":
        return type_of(value)
    owner(value, name)
    if isinstance(value, Growing) and not hasattr(value.python, name):
        raise AttributeError(f"{value.python.__name__!r} object has no attribute {name!r}")
    if name == "size":
        return value.elements() if isinstance(value, LaneArray) else value.size
    if not is_tracer(value) or name not in NAMES:
        return getattr(value, name)
    return _PROPERTIES[name](value) if name in _PROPERTIES else functools.partial(METHODS[name], value)


def owner(value: Any, name: str) -> Any:
    """A value whose attribute is asked for; lanes fail in which it is None."""
    needed(value, AttributeError, f"'NoneType' object has no attribute {name!r}")
    return value


def _size(value: Any) -> Any:
    """The absolute value of an integer, as an unsigned one."""
    value = abs(jnp.asarray(as_int(as_index(value, "a method of integers"))))
    return value.astype(f"uint{8 * value.dtype.itemsize}")


def bit_count(value: Any) -> Any:
    """The number of one bits in the absolute value."""
    return as_int(lax.population_count(_size(value)).astype(jnp.int32))


def _bit_length(value: Any) -> Any:
    size = _size(value)
    return as_int(8 * size.dtype.itemsize - lax.clz(size).astype(jnp.int32))


def _is_integer(value: Any) -> Any:
    return True if is_integer(value) else as_bool(jnp.isfinite(value) & (jnp.floor(value) == value))


def _tolist(value: Any) -> Any:
    """The elements as Python numbers, in nested lists."""
    if value.ndim == 0:
        return _item(value)
    return [_tolist(value[i]) for i in range(value.shape[0])]


def _item(value: Any, *index: int) -> Any:
    if index:
        value = value[index if len(index) > 1 else jnp.unravel_index(index[0], value.shape)]
    if value.size != 1:
        raise BatchTypeError(
            f"`item` of an array of shape {list(value.shape)}", help="say which: `x.item(0)`, or index it: `x[0]`."
        )
    value = value.reshape(())
    return as_int(value) if is_integer(value) and value.dtype != jnp.bool_ else weakly(value, value.dtype)


def _astype(value: Any, dtype: DType, *_: Any, **__: Any) -> Any:
    return value.astype(canonical(dtype))


def _diagonal(value: Any, *args: Any, **kwargs: Any) -> Any:
    found = value.diagonal(*args, **kwargs)
    is_now(found, value)  # NumPy returns a view
    return found


def _fill(*_: Any) -> Any:
    raise UnsupportedSyntaxError(
        "`fill` changes an array in place, where it is no variable's", help="make another: `np.full_like(x, value)`."
    )


def _no_text(*_: Any, **__: Any) -> Any:
    raise BatchTypeError(
        "this code makes a text, or bytes, of a value that differs between lanes",
        help="compare and compute with the number itself.",
    )


METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "as_integer_ratio": _no_text,
    "astype": _astype,
    "bit_count": bit_count,
    "bit_length": _bit_length,
    "conjugate": lambda value: as_number(value).conjugate(),
    "diagonal": _diagonal,
    "fill": _fill,
    "hex": _no_text,
    "is_integer": _is_integer,
    "item": _item,
    "to_bytes": _no_text,
    "tolist": _tolist,
}
"""Methods by their names."""


def _of_number(value: Any, name: str) -> Any:
    """An attribute that JAX's arrays have, too, and that is a number of a flag."""
    return getattr(as_number(value), name)


def _of_fraction(value: Any, name: str) -> Any:
    """The numerator or the denominator of an integer; floats have none."""
    if not is_integer(value) or np.ndim(value):
        raise AttributeError(f"{type_of(value).__name__!r} object has no attribute {name!r}")
    return as_number(value) if name == "numerator" else 1


_PROPERTIES: Final[Mapping[str, Callable[[Any], Any]]] = {
    **{name: functools.partial(_of_fraction, name=name) for name in ("numerator", "denominator")},
    **{name: functools.partial(_of_number, name=name) for name in ("real", "imag")},
}
NAMES: Final = frozenset({*METHODS, *_PROPERTIES, "__class__", "size"})
