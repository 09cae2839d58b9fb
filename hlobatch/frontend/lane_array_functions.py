"""NumPy's functions on arrays whose length differs between lanes -> their results.

::

    np.mean(x[:n])          the mean of the rows in use
    np.sqrt(x[i:j])         the roots of all rows, with the same length
    np.unique(x)            the elements of x in order, each once: another number in each lane
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.values.lane_arrays import LaneArray, concatenated, distinct, elementwise, nonzero


def is_meant(numpy: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether an argument of a call has another length in each lane, or its result does."""
    if numpy is np.where and len(args) == 1 and not kwargs:
        return True
    parts = [part for one in args for part in (one if isinstance(one, (list, tuple)) else (one,))]
    is_differing = any(isinstance(part, LaneArray) for part in (*parts, *kwargs.values()))
    return is_differing or (numpy in _COUNTING and len(args) == 1 and not kwargs and is_tracer(args[0]))


def call(numpy: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The value of a call of a function of NumPy's.

    Args:
        numpy: The function.
        function: That of ``jax.numpy``.
        *args: Its positional arguments.
        **kwargs: Its other arguments.
    """
    known = _FUNCTIONS.get(numpy)
    if known is not None:
        return known(*args, **kwargs)
    if (isinstance(numpy, np.ufunc) or numpy in _ELEMENTWISE) and not kwargs:
        return elementwise(function, *args)
    raise UnsupportedSyntaxError(
        f"`np.{numpy.__name__}` is given an array whose length differs between lanes",
        help="go over the array by a `for`. Such arrays may be given to `np.sum`, `np.max`, `np.mean`, `np.argmax`, "
        "`np.sort`, `np.cumsum`, `np.diff`, `np.dot`, `np.concatenate`, `np.unique`, `np.where`, to functions like "
        "these and to those of single elements.",
    )


def _reducing(name: str) -> Callable[..., Any]:
    def reduce(array: Any, axis: Any = None, **more: Any) -> Any:
        return getattr(LaneArray.of(array), name)(axis=axis, **more)

    return reduce


def _dot(one: Any, other: Any) -> Any:
    for side in (one, other):
        LaneArray.of(side).need_one_axis("dot")
    return elementwise(operator.mul, one, other).sum()


def _norm(array: Any) -> Any:
    return jnp.sqrt(elementwise(lambda one: abs(one * 1.0) ** 2, array).sum())


def _append(array: Any, values: Any) -> LaneArray:
    return concatenated([array, jnp.atleast_1d(values) if not isinstance(values, LaneArray) else values])


def _differences(array: LaneArray) -> LaneArray:
    array.need_one_axis("diff")
    return elementwise(operator.sub, array[1:], array[:-1])


def _argwhere(array: Any) -> LaneArray:
    places = nonzero(array)
    return LaneArray(jnp.stack([one.items for one in places], axis=1), places[0].size)


def _where(condition: Any, *values: Any) -> Any:
    return elementwise(jnp.where, condition, *values) if values else nonzero(condition)


def _flat_nonzero(array: Any) -> LaneArray:
    return nonzero(array if isinstance(array, LaneArray) else jnp.ravel(jnp.asarray(array)))[0]


def _number_of_nonzero(array: Any) -> Any:
    return elementwise(lambda one: one != 0, array).sum()


def _copied(array: Any, dtype: Any = None) -> LaneArray:
    return LaneArray.of(array).copy() if dtype is None else LaneArray.of(array).astype(dtype)


_REDUCING: Final = ("sum", "prod", "max", "min", "mean", "std", "var", "any", "all", "argmax", "argmin")
_FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {
    **{getattr(np, name): _reducing(name) for name in (*_REDUCING, "cumsum", "cumprod")},
    np.amax: _reducing("max"),
    np.amin: _reducing("min"),
    np.average: _reducing("mean"),
    np.ptp: lambda array: array.max() - array.min(),
    np.median: lambda array: array.median(),
    np.sort: lambda array: array.sorted(),
    np.argsort: lambda array, **_: array.argsort(),
    np.diff: _differences,
    np.dot: _dot,
    np.inner: _dot,
    np.vdot: _dot,
    np.linalg.norm: _norm,
    np.flip: lambda array: array[::-1],
    np.concatenate: lambda parts, axis=0: concatenated(parts),  # noqa: ARG005  # an array of one axis has no other
    np.hstack: concatenated,
    np.append: _append,
    np.array: _copied,
    np.copy: _copied,
    np.asarray: lambda array, dtype=None: array if dtype is None else array.astype(dtype),
    np.array_equal: lambda one, other: LaneArray.of(one).equals(other),
    np.count_nonzero: _number_of_nonzero,
    np.where: _where,
    np.nonzero: nonzero,
    np.flatnonzero: _flat_nonzero,
    np.argwhere: _argwhere,
    np.unique: distinct,
    np.size: lambda array: array.elements(),
    np.ndim: lambda array: array.ndim,
    np.shape: lambda array: array.shape,
}
_COUNTING: Final = (np.nonzero, np.flatnonzero, np.argwhere, np.unique)
"""Functions whose result has a length of the lane's, whatever their argument."""
_ELEMENTWISE: Final = (np.clip, np.round, np.around, np.real, np.imag, np.nan_to_num, np.where, np.fix)
