"""The Takeuchi function in McCarthy's form: three calls inside a fourth, and arguments that outlive all of them.

Reference:
    Gabriel, "Performance and Evaluation of Lisp Systems", MIT Press 1985, section 3.1.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb

LARGEST = 10


@hb.batch
def takeuchi(x: Array, y: Array, z: Array) -> Array:
    if y < x:
        return takeuchi(takeuchi(x - 1, y, z), takeuchi(y - 1, z, x), takeuchi(z - 1, x, y))
    return z


def triples(count: int) -> tuple[Array, Array, Array]:
    """Three arrays `Int[Array, "count"]` of random numbers from 0 to `LARGEST`."""
    keys = jax.random.split(jax.random.key(0), 3)
    x, y, z = (jax.random.randint(key, (count,), 0, LARGEST + 1, jnp.int32) for key in keys)
    return x, y, z


def calls(count: int) -> float:
    """The total number of calls for `triples(count)`."""
    return float(sum(_calls(*map(int, each)) for each in zip(*map(np.asarray, triples(count)), strict=True)))


@cache
def _value(x: int, y: int, z: int) -> int:
    return _value(_value(x - 1, y, z), _value(y - 1, z, x), _value(z - 1, x, y)) if y < x else z


@cache
def _calls(x: int, y: int, z: int) -> int:
    if y >= x:
        return 1
    inner = (x - 1, y, z), (y - 1, z, x), (z - 1, x, y)
    return 1 + sum(_calls(*each) for each in inner) + _calls(*(_value(*each) for each in inner))
