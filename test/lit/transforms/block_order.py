"""block-order puts an expensive block behind all others: lanes wait there until none can join them any more."""

# RUN: hlobatch trace %s:f --args "i32[8], f32[8,100]" --schedule cost --print-after allocate-lowered | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8], f32[8,100]" --schedule cost --print-after block-order | filecheck %s --check-prefix=AFTER
# RUN: hlobatch trace %s:f --args "i32[8], f32[8,100]" --stage lowered --schedule earliest | filecheck %s --check-prefix=BEFORE
import jax.numpy as jnp

import hlobatch as hb

MATRIX = jnp.ones((100, 100))


@hb.batch
def f(n, x):
    if n <= 0:
        return x
    x = MATRIX @ jnp.sin(MATRIX @ x)
    x = f(n - 1, x)
    if n % 2 == 0:
        x = f(n - 2, x + n)
    return x


# BEFORE: prim "MATRIX @ jnp.sin(MATRIX @ x)"
# BEFORE: f.after_if.return:
# AFTER: f.entry:
# AFTER: f.after_if.return:
# AFTER: f.after_if:
# AFTER-NEXT: prim "MATRIX @ jnp.sin(MATRIX @ x)"
# AFTER-NOT: {{^  f}}
