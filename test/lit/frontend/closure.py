"""What a function takes from around it is no variable of the program; a batched function is found under any name."""

# RUN: hlobatch trace %s:scaled --stage frontend | filecheck %s
import jax.numpy as jnp

import hlobatch as hb

OFFSET = jnp.arange(3)


def make(scale):
    @hb.batch
    def step(x):
        return x * scale + OFFSET.sum()

    other = step

    @hb.batch
    def twice(x):
        return other(step(x))

    return twice


scaled = make(3)


# Checks of twice, step, made by update_checks.py
# CHECK-LABEL: def twice(%twice.x) -> (%twice.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %twice.$1 = call @step(%twice.x)
# CHECK-NEXT:     jump after_step
# CHECK-NEXT:   after_step:
# CHECK-NEXT:     %twice.$result = call @step(%twice.$1)
# CHECK-NEXT:     jump after_step.2
# CHECK-NEXT:   after_step.2:
# CHECK-NEXT:     halt
# CHECK-LABEL: def step(%step.x) -> (%step.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %step.$result = prim "x * scale + OFFSET.sum()" (%step.x)
# CHECK-NEXT:     halt
