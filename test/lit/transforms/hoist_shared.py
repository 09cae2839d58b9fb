"""hoist-shared computes once, in main, what is the same in every lane, and calls without it."""

# RUN: hlobatch trace %s:f --args "i32[8], f32[100]" --print-after specialize | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8], f32[100]" --print-after hoist-shared | filecheck %s --check-prefix=AFTER
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def look_up(i, data):
    low = data.min()
    scaled = data - low
    return scaled[i]


@hb.batch(in_axes=(0, None))
def f(i, data):
    return look_up(i, data) + jnp.float32(1)


# Checks of main, f, look_up, made by update_checks.py
# BEFORE-LABEL: def main(%main.i, %main.data) -> (%main.$result):
# BEFORE-NEXT:   entry:
# BEFORE-NEXT:     %main.$result = call @f(%main.i, %main.data)
# BEFORE-NEXT:     halt
# BEFORE-LABEL: def f(%f.i, %f.data) -> (%f.$result):
# BEFORE-NEXT:   entry:
# BEFORE-NEXT:     %f.$1 = call @look_up(%f.i, %f.data)
# BEFORE-NEXT:     jump after_look_up
# BEFORE-NEXT:   after_look_up:
# BEFORE-NEXT:     %f.$result = prim "$1 + jnp.float32(1)" (%f.$1)
# BEFORE-NEXT:     halt
# BEFORE-LABEL: def look_up(%look_up.i, %look_up.data) -> (%look_up.$result):
# BEFORE-NEXT:   entry:
# BEFORE-NEXT:     %look_up.low = prim "data.min()" (%look_up.data)
# BEFORE-NEXT:     %look_up.scaled = prim "data - low" (%look_up.data, %look_up.low)
# BEFORE-NEXT:     %look_up.$result = prim "scaled[i]" (%look_up.scaled, %look_up.i)
# BEFORE-NEXT:     halt
# Checks of main, f, look_up, made by update_checks.py
# AFTER-LABEL: def main(%main.i, %main.data) -> (%main.$result):
# AFTER-NEXT:   entry:
# AFTER-NEXT:     %look_up.low = prim "data.min()" (%main.data)
# AFTER-NEXT:     %look_up.scaled = prim "data - low" (%main.data, %look_up.low)
# AFTER-NEXT:     %main.$result = call @f(%main.i)
# AFTER-NEXT:     halt
# AFTER-LABEL: def f(%f.i) -> (%f.$result):
# AFTER-NEXT:   entry:
# AFTER-NEXT:     %f.$1 = call @look_up(%f.i)
# AFTER-NEXT:     jump after_look_up
# AFTER-NEXT:   after_look_up:
# AFTER-NEXT:     %f.$result = prim "$1 + jnp.float32(1)" (%f.$1)
# AFTER-NEXT:     halt
# AFTER-LABEL: def look_up(%look_up.i) -> (%look_up.$result):
# AFTER-NEXT:   entry:
# AFTER-NEXT:     %look_up.$result = prim "scaled[i]" (%look_up.scaled, %look_up.i)
# AFTER-NEXT:     halt
