"""The devices that hold the arrays of a run, on a machine with several."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax

from hlobatch._jax import is_key, words_of
from hlobatch.runtime.plan import Plan
from hlobatch.typing import Arrays


@cache
def has_several_devices() -> bool:
    """Whether JAX has several devices on this machine."""
    return jax.device_count() > 1


def placed_like(aval: jax.ShapeDtypeStruct, array: Any) -> jax.ShapeDtypeStruct:
    """The aval with the sharding of an array, if the user has placed it."""
    if isinstance(array, jax.Array) and is_key(array):
        array = words_of(array)
    place = getattr(array, "sharding", None) if getattr(array, "committed", True) else None
    return aval if place is None else jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=place)


def devices_of(plan: Plan, inputs: Arrays) -> frozenset[Any]:
    """The devices of the captured arrays and the inputs; empty if this machine has one device."""
    if not has_several_devices():
        return frozenset()
    places = (getattr(x, "sharding", None) for x in (*plan.captured, *inputs))
    return frozenset().union(*(place.device_set for place in places if place is not None))
