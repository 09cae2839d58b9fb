"""The type of a recursive function comes from its base case; results of calls are unknown until then."""

# RUN: hlobatch trace %s:f --args "i32[8]" | filecheck %s
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def f(n):
    if n > 0:
        return f(n - 1) + f(n - 2) * 2.0
    return jnp.ones(3)


# CHECK-DAG: var {{.*}} %f.$result: f32[3]
# CHECK-DAG: var {{.*}} %f.$2: f32[3]
# CHECK-DAG: var {{.*}} %f.n: i32[]
