"""Small functions and values that several tests use."""

import jax.numpy as jnp
import numpy as np

import hlobatch as hb


def ints(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


@hb.batch
def total(v):
    return jnp.sum(v)


@hb.batch(max_stack_depth=2)
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)
