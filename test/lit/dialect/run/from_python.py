"""What `trace --mlir` writes runs without the Python it came from."""

# RUN: hlobatch trace %s:f --args "f32[3], f32[3,2]" --mlir > %t.mlir
# RUN: %python -c "import numpy as np; np.savez('%t.npz', x=np.ones(3), y=np.arange(6.0).reshape(3, 2))"
# RUN: hlobatch run %t.mlir --inputs %t.npz | filecheck %s
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def f(x, y):
    while jnp.sum(y) < 20:
        y = y * 2 + x
    return {"y": y, "n": (x, 3)}


# CHECK: {"n": {{\[\[}}1.0, 1.0, 1.0], [3, 3, 3]], "y": {{\[\[}}7.0, 15.0], [11.0, 15.0], [9.0, 11.0]]}
