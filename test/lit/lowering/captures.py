"""An array from the closure is an operand of the module, once, however many blocks use it; a small one is a constant."""

# RUN: hlobatch lower %s:f --args "f32[8,100]" --dispatch chain --dialect portable | filecheck %s
import jax.numpy as jnp

import hlobatch as hb

MATRIX = jnp.ones((100, 100))
OFFSET = jnp.arange(3.0)


@hb.batch
def f(x):
    if (MATRIX @ x).sum() > 0.0:
        return MATRIX @ x + OFFSET.sum()
    return (MATRIX.T @ x) @ MATRIX


# CHECK: func.func public @main(%arg0: tensor<100x100xf32>, %arg1: tensor<8x100xf32>)
# CHECK-NOT: stablehlo.constant dense<1.000000e+00> : tensor<100x100xf32>
