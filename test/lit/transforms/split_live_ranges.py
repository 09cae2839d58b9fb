"""split-live-ranges gives every independent use of a name a name of its own; where a read may see both, they share one."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after split-live-ranges | filecheck %s
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def f(x):
    y = jnp.ones(3) * x
    y = y.sum()
    if y > 2:
        x = 3
    z = x + 1
    x = z * y
    return x


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.y = prim "jnp.ones(3) * x" (%f.x)
# CHECK-NEXT:     %f.y:2 = prim "y.sum()" (%f.y)
# CHECK-NEXT:     %f.$if1 = prim "y > 2" (%f.y:2)
# CHECK-NEXT:     branch %f.$if1, then, after_if
# CHECK-NEXT:   then:
# CHECK-NEXT:     %f.x = prim "3" ()
# CHECK-NEXT:     jump after_if
# CHECK-NEXT:   after_if:
# CHECK-NEXT:     %f.z = prim "x + 1" (%f.x)
# CHECK-NEXT:     %f.x:2 = prim "z * y" (%f.z, %f.y:2)
# CHECK-NEXT:     %f.$result = prim "x" (%f.x:2)
# CHECK-NEXT:     halt
