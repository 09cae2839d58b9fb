"""What has no code there says so, and where."""

# RUN: not hlobatch lower %s:f --args "f32[8,3,3]" --dialect llvm 2>&1 | filecheck %s
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def f(x):
    while x.sum() > 10:
        x = jnp.linalg.svd(x, full_matrices=False)[0]
    return x


# CHECK: error: 'f' has no kernel: `{{[a-z_]+}}` has no code
# CHECK: help: leave dispatch at 'auto'
