"""NumPy's functions -> the functions of ``jax.numpy`` of the same name, on values that differ between lanes.

If all arguments are known, NumPy itself runs. Functions that work in place, and ``out=``, are refused where they are a
part of an expression; a call that is a statement is an assignment (``in_place_calls.py``).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend import lane_array_functions
from hlobatch.frontend.meaning import Function, Meaning
from hlobatch.typing import DType
from hlobatch.values.identity import is_now

_ROOMS: Final[tuple[tuple[str, ModuleType, ModuleType], ...]] = (
    ("np", np, jnp),
    ("np.linalg", np.linalg, jnp.linalg),
    ("np.fft", np.fft, jnp.fft),
)
_NAMESAKES: Final = {"asanyarray": jnp.asarray, "ascontiguousarray": jnp.asarray, "fix": jnp.trunc}
"""Functions with another name in JAX."""
_IN_PLACE: Final = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
_READ_ONLY: Final = ("np.diag", "np.diagonal")
"""Functions that return a view, which code of JAX does not show."""
_SEQUENCES_OF_ARRAYS: Final = ("Sequence", "sequence", "tuple", "list")
"""Words in the annotation of a parameter that takes several arrays, and not only one."""


def canonical(dtype: DType) -> Any:
    """A dtype of NumPy's as JAX's, without JAX's warning about fewer bits; any other object unchanged."""
    is_dtype = isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, np.generic))
    return jax.dtypes.canonicalize_dtype(dtype) if is_dtype and np.dtype(dtype).kind in "biufc" else dtype


def _counterpart(name: str, known: Any, function: Function) -> Function:
    """The function of ``jax.numpy``, which accepts arguments as NumPy does: sequences as arrays, and any dtype."""
    is_elementwise = isinstance(known, np.ufunc)

    def meaning(*args: Any, **kwargs: Any) -> Any:
        _check(name, is_elementwise, kwargs)
        if lane_array_functions.is_meant(known, args, kwargs):
            return lane_array_functions.call(known, function, *args, **kwargs)
        arrays = _array_parameters(function)
        positional = [is_elementwise or is_array for is_array in arrays.values()]
        given = [_array(v) if i < len(positional) and positional[i] else canonical(v) for i, v in enumerate(args)]
        named = {key: _array(v) if arrays.get(key) else canonical(v) for key, v in kwargs.items() if key != "out"}
        found = function(*given, **named)
        if name in _READ_ONLY and given and np.ndim(given[0]) > 1:
            is_now(found, given[0])  # NumPy returns a view
        return found

    return meaning


@functools.cache
def _array_parameters(function: Function) -> dict[str, bool]:
    """For each parameter, in order, whether its annotation says that it is one array."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {parameter.name: _is_array(str(parameter.annotation)) for parameter in parameters}


def _is_array(annotation: str) -> bool:
    is_any = "ArrayLike" in annotation or "ndarray" in annotation
    return is_any and not any(word in annotation for word in _SEQUENCES_OF_ARRAYS)


def _accumulating(function: Function) -> Function:
    """``cumsum`` and the like, which give sums of small integers the dtype that a sum has, as NumPy does."""

    @functools.wraps(function)
    def meaning(*args: Any, **kwargs: Any) -> Any:
        is_open = kwargs.get("dtype") is None and len(args) < 3  # the third argument is the dtype
        dtype = jnp.asarray(args[0]).dtype if args and is_open else None
        if dtype is not None and jnp.issubdtype(dtype, jnp.integer):
            kwargs["dtype"] = jax.eval_shape(jnp.sum, jax.ShapeDtypeStruct((1,), dtype)).dtype
        return function(*args, **kwargs)

    return meaning


def _of_whole_numbers(function: Function) -> Function:
    """``convolve`` and ``correlate``, which give integers for integers, as NumPy does."""

    @functools.wraps(function)
    def meaning(a: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = jnp.result_type(a, v)
        return function(a, v, *args, **({"preferred_element_type": dtype} if dtype.kind in "iu" else {}), **kwargs)

    return meaning


@functools.wraps(jnp.histogram)
def _histogram(a: Any, *args: Any, **kwargs: Any) -> Any:
    """``histogram``, whose counts are integers, as in NumPy."""
    named = dict(zip(("bins", "range", "density", "weights"), args, strict=False)) | kwargs
    counts, edges = jnp.histogram(a, **named)
    is_count = not named.get("density") and named.get("weights") is None
    return (counts.astype(canonical(np.int64)) if is_count else counts), edges


_AS_NUMPY: Final = {
    "convolve": _of_whole_numbers(jnp.convolve),
    "correlate": _of_whole_numbers(jnp.correlate),
    "histogram": _histogram,
    **{
        name: _accumulating(getattr(jnp, name))
        for name in ("cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "nancumprod", "nancumsum")
    },
}
"""Functions that give numbers of another kind in JAX."""


def _array(value: Any) -> Any:
    return jnp.asarray(value) if isinstance(value, (list, tuple, range)) else value


def _check(name: str, is_elementwise: bool, kwargs: dict[str, Any]) -> None:
    if kwargs.get("out") is not None:
        raise UnsupportedSyntaxError(
            f"`{name}` with `out=` writes into an array", help=f"assign what it gives: `x = {name}(…)`."
        )
    if name == "np.nan_to_num" and not kwargs.get("copy", True):
        raise UnsupportedSyntaxError(
            f"`{name}` with `copy=False` writes into its argument", help="assign what it gives."
        )
    if is_elementwise and "where" in kwargs:
        raise UnsupportedSyntaxError(
            f"`{name}` with `where=` leaves elements without a value",
            help=f"choose between two values: `np.where(condition, {name}(…), x)`.",
        )


def _missing(name: str) -> Function:
    def refuse(*_: Any, **__: Any) -> Any:
        raise UnsupportedSyntaxError(
            f"`{name}` is not in jax.numpy, and so does not work on what differs between lanes",
            help="compute it with functions that are, or in a loop.",
        )

    return refuse


def _in_place(name: str) -> Function:
    def refuse(*_: Any, **__: Any) -> Any:
        raise UnsupportedSyntaxError(
            f"`{name}` changes an array in place", help="make another: `x = x.at[…].set(…)`, or `x[…] = …`."
        )

    return refuse


def _conversion(dtype: DType) -> Function:
    """A call of a dtype."""

    def convert(value: Any = 0, /) -> Any:
        return jnp.asarray(value).astype(canonical(dtype))

    return convert


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in sorted(vars(module)):
        value = vars(module)[name]
        if not name.startswith("_") and callable(value) and not isinstance(value, type):
            yield name, value


def _table() -> dict[Any, Meaning]:
    found: dict[Any, Meaning] = {}
    for room, module, counterparts in _ROOMS:
        for name, function in _public(module):
            known = _AS_NUMPY.get(name) if room == "np" else None
            known = known or vars(counterparts).get(name, _NAMESAKES.get(name))
            if name in _IN_PLACE:
                meaning = _in_place(f"{room}.{name}")
            elif callable(known):
                meaning = _counterpart(f"{room}.{name}", function, known)
            else:
                meaning = _missing(f"{room}.{name}")
            found.setdefault(function, Meaning(meaning, converts=True))
    kinds = {kind for kind in np.sctypeDict.values() if np.dtype(kind).kind in "biufc"}
    return found | {kind: Meaning(_conversion(kind), converts=True) for kind in kinds}


# Methods


def _of_ufunc(method: str) -> Function:
    def meaning(ufunc: np.ufunc, *args: Any, **kwargs: Any) -> Any:
        name = f"np.{ufunc.__name__}.{method}"
        _check(name, is_elementwise=False, kwargs=kwargs)
        known = getattr(jnp, ufunc.__name__, None)
        if method == "at":
            return _in_place(name)()
        if not hasattr(known, method):
            return _missing(name)()
        return getattr(known, method)(*map(_array, args), **{key: v for key, v in kwargs.items() if key != "out"})

    return meaning


def _of_array(method: str) -> Function:
    """A method of a NumPy array, for arguments that differ between lanes."""

    def meaning(array: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        known = jnp.asarray(array)
        if not hasattr(known, method):
            return _missing(f"numpy.ndarray.{method}")()
        return getattr(known, method)(*args, **kwargs)

    return meaning


MEANINGS: Final = _table()
METHODS: Final[dict[tuple[type, str], Function]] = {
    **{(np.ufunc, name): _of_ufunc(name) for name in ("accumulate", "at", "outer", "reduce", "reduceat")},
    **{(np.ndarray, name): _of_array(name) for name in dir(np.ndarray) if not name.startswith("_")},
}
