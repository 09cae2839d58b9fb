"""Lambdas and comprehensions run while the code is traced: they stay inside their primitive."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import jax
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def f(x, k):
    s = sum([x * i for i in range(3) if i != 1])
    return jax.vmap(lambda r: r + k * s)(jnp.arange(4))


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x, %f.k) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.s = prim "sum([x * i for i in range(3) if i != 1])" (%f.x)
# CHECK-NEXT:     %f.$result = prim "jax.vmap(lambda r: r + k * s)(jnp.arange(4))" (%f.k, %f.s)
# CHECK-NEXT:     halt
