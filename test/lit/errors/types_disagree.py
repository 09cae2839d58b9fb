"""Types that disagree between two paths: both sides get a span."""

# RUN: not hlobatch trace %s:f --args "i32[8]" 2>&1 | filecheck %s
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def f(x):
    if x > 0:
        y = jnp.zeros(3)
    else:
        y = jnp.zeros((3, 2))
    return y


# CHECK: {{.*}}types_disagree.py:[[# @LINE - 4]]:9: error: the values of 'y' have types that disagree between two paths
# CHECK-NEXT: |         y = jnp.zeros((3, 2))
# CHECK-NEXT: |         ^^^^^^^^^^^^^^^^^^^^^
# CHECK: {{.*}}types_disagree.py:[[# @LINE - 9]]:9: note: here it is f32[3]
# CHECK-NEXT: |         y = jnp.zeros(3)
# CHECK-NEXT: |         ^^^^^^^^^^^^^^^^
# CHECK: help: here it is f32[3,2]
