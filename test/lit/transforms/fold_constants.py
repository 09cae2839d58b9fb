"""fold-constants computes what depends on captured arrays alone, and not what depends on inputs."""

# RUN: hlobatch trace %s:f --args "f32[8,300], f32[300]" --print-after split-shared | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "f32[8,300], f32[300]" --print-after fold-constants | filecheck %s --check-prefix=AFTER
import jax.numpy as jnp

import hlobatch as hb

DATA = jnp.ones((400, 300))


@hb.batch(in_axes=(0, None))
def f(x, scale):
    turned = DATA.T
    norms = jnp.sum(turned * turned, axis=0)
    return x @ turned / norms + jnp.sum(DATA * scale)


# Checks of main, made by update_checks.py
# BEFORE-LABEL: def main(%main.x, %main.scale) -> (%main.$result):
# BEFORE-NEXT:   entry:
# BEFORE-NEXT:     %f.turned = prim "DATA.T" ()
# BEFORE-NEXT:     %f.norms = prim "jnp.sum(turned * turned, axis=0)" (%f.turned)
# BEFORE-NEXT:     %f.$shared1 = prim "x @ turned / norms + jnp.sum(DATA * scale)" (%main.scale)
# BEFORE-NEXT:     %main.$result = call @f(%main.x)
# BEFORE-NEXT:     halt
# Checks of main, made by update_checks.py
# AFTER-LABEL: def main(%main.x, %main.scale) -> (%main.$result):
# AFTER-NEXT:   entry:
# AFTER-NEXT:     %f.turned = prim "DATA.T" ()
# AFTER-NEXT:     %f.norms = prim "jnp.sum(turned * turned, axis=0)" ()
# AFTER-NEXT:     %f.$shared1 = prim "x @ turned / norms + jnp.sum(DATA * scale)" (%main.scale)
# AFTER-NEXT:     %main.$result = call @f(%main.x)
# AFTER-NEXT:     halt
