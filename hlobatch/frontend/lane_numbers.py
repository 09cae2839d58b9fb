"""Python's numbers that differ between lanes: conversion of arrays to them, common types, and selection.

In JAX they are weak arrays without axes, which adopt the dtype of their partners. A Python function returns such a
number, whatever the dtype of its argument.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, weakly
from hlobatch.analysis.objects import gives_values
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.builtins import is_array, truth
from hlobatch.ir.boxed import leaves_of, unboxed, with_boxes
from hlobatch.ir.growing import Growing
from hlobatch.ir.types import Static
from hlobatch.values import number_tables
from hlobatch.values.held_classes import is_held
from hlobatch.values.identity import is_one_of
from hlobatch.values.lane_failures import fails, is_wanted
from hlobatch.values.number_tables import together
from hlobatch.values.one_of import chosen, of_classes
from hlobatch.values.optional import any_optional, as_optional, optional
from hlobatch.values.texts import is_lane_text
from hlobatch.values.whole_numbers import default, is_small

NUMBERS: Final = (*number_tables.NUMBERS, np.generic)


def as_float(value: Any) -> Any:
    """``float(value)``."""
    return weakly(_number(value, "float"), default(float))


def as_bool(value: Any) -> Any:
    """``bool(value)``."""
    known = truth(value)
    return known if type(known) is bool else weakly(known, jnp.bool_)


def as_int(value: Any) -> Any:
    """``int(value)``, which truncates a float; an unsigned integer of as many bits keeps its dtype."""
    value = _number(value, "int")
    if jnp.issubdtype(value.dtype, jnp.floating):
        _check_whole(value)
    dtype = default(int)
    unsigned = jnp.issubdtype(value.dtype, jnp.unsignedinteger)
    return value if unsigned and value.dtype.itemsize >= dtype.itemsize else weakly(value, dtype)


def _check_whole(value: Any) -> None:
    """Note the lanes in which Python cannot convert a float to an integer."""
    if is_wanted(ValueError):
        fails(ValueError, "cannot convert float NaN to integer", jnp.isnan(value))
    if is_wanted(OverflowError):
        fails(OverflowError, "cannot convert float infinity to integer", jnp.isinf(value))


def as_complex(real: Any, imaginary: Any = None) -> Any:
    """``complex(real, imaginary)``."""
    value = jnp.asarray(_scalar(real, "complex"))
    if imaginary is not None:
        value = value + jnp.asarray(_scalar(imaginary, "complex")) * 1j
    return weakly(value, default(complex))


def differs(value: Any) -> bool:
    """Whether any leaf of a pytree differs between lanes."""
    return any(map(is_of_lane, parts(value)))


def is_of_lane(leaf: Any) -> bool:
    """Whether a leaf of a pytree differs between lanes: an array, or a reference to an object."""
    return is_tracer(leaf) or is_held(leaf)


def parts(value: Any) -> Iterator[Any]:
    """The leaves of a pytree, with views of dicts opened; an iterator is a leaf."""
    for leaf in leaves_of(value, gives_values):
        if isinstance(leaf, (KeysView, ValuesView, ItemsView)):
            yield from parts(tuple(leaf))
        else:
            yield leaf


def as_index(value: Any, what: str) -> Any:
    """A number that has to be an integer or a bool."""
    dtype = jnp.result_type(_scalar(value, what))
    if dtype == jnp.bool_:
        return as_int(value)
    if not jnp.issubdtype(dtype, jnp.integer):
        raise BatchTypeError(
            f"{what} takes integers, and this is a {dtype}",
            help="convert it, as in `int(x)`, which rounds towards zero.",
        )
    return value


def as_number(value: Any) -> Any:
    """A number as Python computes with it: a bool as an integer, an integer of few bits as a Python integer."""
    if not is_array(value) or value.shape != () or not (value.dtype == jnp.bool_ or is_small(value.dtype)):
        return value
    number, known = as_int(value), optional(value)
    return number if known is None else as_optional(known.is_there, number)


def is_number(value: Any) -> bool:
    """Whether a value is a number, which may differ between lanes."""
    return isinstance(value, NUMBERS) or (is_array(value) and value.shape == ())


def select(test: Any, then: Any, otherwise: Any) -> Any:
    """``then if test else otherwise``, where both sides have been computed.

    Raises:
        BatchTypeError: They are of kinds that no one variable can hold.
    """
    if type(test) is bool:
        return then if test else otherwise
    leaves: list[Any]
    treedef: Any
    leaves, treedef = jax.tree.flatten(with_boxes(then))
    others, other_treedef = jax.tree.flatten(with_boxes(otherwise))
    are_numbers = all(is_array(leaf) or isinstance(leaf, NUMBERS) for leaf in (*leaves, *others))
    is_simple = treedef == other_treedef and leaves and are_numbers and not any_optional((then, otherwise))
    if not is_simple or any(is_lane_text(part) for part in leaves_of((then, otherwise), is_lane_text)):
        return chosen([otherwise, then], jnp.asarray(test, jnp.int32))
    selected = [_selected(test, a, b) for a, b in zip(leaves, others, strict=True)]
    result = unboxed(jax.tree.unflatten(treedef, selected))
    is_one_of(result, [then, otherwise])
    return result


def _selected(test: Any, then: Any, otherwise: Any) -> Any:
    if Static(then) == Static(otherwise):
        return then
    shapes = [jnp.shape(side) for side in (then, otherwise)]
    if shapes[0] != shapes[1]:
        raise BatchTypeError(
            f"a choice between arrays of shapes {list(shapes[0])} and {list(shapes[1])} depends on the lane",
            help="make the shapes equal, as with jnp.broadcast_to or by padding.",
        )
    if (apart := of_classes((otherwise, then), jnp.asarray(test, jnp.int32))) is not None:
        return apart
    return jnp.where(test, *together((then, otherwise)))


def _scalar(value: Any, what: str) -> Any:
    if isinstance(value, Growing):
        raise BatchTypeError(
            f"`{what}` takes a number, and this is a {value.python.__name__} whose length differs between lanes",
            help="take one item of it, as in `x[0]`.",
        )
    if np.shape(value) != ():
        raise BatchTypeError(
            f"`{what}` takes a number, and this has shape {list(np.shape(value))}",
            help="take one element of it, as in `x[0]`, or use the function of jax.numpy, which works on arrays.",
        )
    return value


def _number(value: Any, what: str) -> Any:
    value = jnp.asarray(_scalar(value, what))
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        raise BatchTypeError(f"`{what}` of a complex number", help="take its `.real`, its `.imag` or its `abs`.")
    return value
