"""if-conversion leaves what is dear, what may not end, and what calls."""

# RUN: hlobatch trace %s:f --args "f32[8,50]" --print-after if-conversion | filecheck %s
import jax
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def g(x):
    while x > 1:
        x = x / 2
    return x


@hb.batch
def f(x):
    if x[0] > 0:
        x = jnp.exp(x) @ jnp.ones((50, 50))
    if x[1] > 0:
        x = jax.lax.while_loop(lambda y: y[0] > 1, lambda y: y / 2, x)
    if x[2] > 0:
        x = x * g(x[0])
    hb.sync()
    return x


# CHECK-LABEL: def f(
# CHECK-COUNT-3: branch
