"""split-shared takes what is the same in every lane out of primitives, to the entry of main, each once."""

# RUN: hlobatch trace %s:f --args "f32[8,20], f32[30,20]" --print-after hoist-shared | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "f32[8,20], f32[30,20]" --print-after split-shared | filecheck %s --check-prefix=AFTER
# RUN: hlobatch trace %s:look_up --args "i32[8], f32[50000000]" | filecheck %s --check-prefix=SMALL
# RUN: hlobatch trace %s:look_up --args "i32[8], f32[100000000]" | filecheck %s --check-prefix=HUGE
# RUN: hlobatch trace %s:scale --args "f32[8,20], f32[30,20]" --disable hoist-shared | filecheck %s --check-prefix=LOCAL
# RUN: hlobatch trace %s:wave --args "f32[8]" | filecheck %s --check-prefix=GRID
# RUN: hlobatch trace %s:drift --args "f32[8,20], f32[30,20]" | filecheck %s --check-prefix=LOOP
import jax
import jax.numpy as jnp

import hlobatch as hb


@jax.jit
def residual(x, data):
    noise = jax.random.normal(jax.random.key(0), (20, 5))
    return jnp.sum(x @ data.T) / data.size + jnp.sum(x @ noise)


@hb.batch(in_axes=(0, None))
def f(x, data):
    while residual(x, data) > 1:
        x = x - 0.1 * data.mean(axis=0)
        x = x + jnp.sum(data[3] - x) + jnp.zeros(20)
    return x @ data.T


@hb.batch(in_axes=(0, None))
def look_up(i, data):
    return jnp.exp(data)[i]


# SMALL: %look_up.$shared1 = prim "jnp.exp(data)[i]" (%main.data)
# HUGE-NOT: $shared


@hb.batch
def wave(x):
    return jnp.sum(x * jnp.sin(jnp.linspace(0.0, 1.0, 64)))


# What depends on nothing at all.
# GRID: %wave.$shared1 = prim "jnp.sum(x * jnp.sin(jnp.linspace(0.0, 1.0, 64)))" ()


@hb.batch(in_axes=(0, None))
def drift(x, data):
    while x[0] > 1:
        x = x - jax.lax.scan(lambda last, row: (0.9 * last + row, None), jnp.zeros(20), data)[0]
    return x / jax.lax.scan(lambda total, new: (0.9 * total + new, None), jnp.zeros(20), data)[0]


# Loops inside of two statements that do the same.
# LOOP: %drift.$shared1 = prim {{.*}} (%main.data)
# LOOP-NOT: $shared2


@hb.batch(in_axes=(0, None))
def scale(x, data):
    doubled = 2 * data
    return x @ doubled.T


# What a function computes for itself is not known in main, where nothing has moved it there.
# LOCAL-LABEL: def main
# LOCAL: entry:
# LOCAL-NEXT: call @scale
# LOCAL-NOT: $shared

# Checks of main, f, made by update_checks.py
# BEFORE-LABEL: def main(%main.x, %main.data) -> (%main.$result):
# BEFORE-NEXT:   entry:
# BEFORE-NEXT:     %main.$result = call @f(%main.x)
# BEFORE-NEXT:     halt
# BEFORE-LABEL: def f(%f.x) -> (%f.$result):
# BEFORE-NEXT:   while:
# BEFORE-NEXT:     %f.$if1 = prim "residual(x, data) > 1" (%f.x, %main.data)
# BEFORE-NEXT:     branch %f.$if1, body, after_while
# BEFORE-NEXT:   body:
# BEFORE-NEXT:     %f.x:2 = prim "x - 0.1 * data.mean(axis=0)" (%f.x, %main.data)
# BEFORE-NEXT:     %f.x = prim "x + jnp.sum(data[3] - x) + jnp.zeros(20)" (%f.x:2, %main.data)
# BEFORE-NEXT:     jump while
# BEFORE-NEXT:   after_while:
# BEFORE-NEXT:     %f.$result = prim "x @ data.T" (%f.x, %main.data)
# BEFORE-NEXT:     halt
# Checks of main, f, made by update_checks.py
# AFTER-LABEL: def main(%main.x, %main.data) -> (%main.$result):
# AFTER-NEXT:   entry:
# AFTER-NEXT:     %f.$shared1 = prim "residual(x, data) > 1" (%main.data)
# AFTER-NEXT:     %f.$shared2 = prim "residual(x, data) > 1" ()
# AFTER-NEXT:     %f.$shared3 = prim "x - 0.1 * data.mean(axis=0)" (%main.data)
# AFTER-NEXT:     %main.$result = call @f(%main.x)
# AFTER-NEXT:     halt
# AFTER-LABEL: def f(%f.x) -> (%f.$result):
# AFTER-NEXT:   while:
# AFTER-NEXT:     %f.$if1 = prim "residual(x, data) > 1" (%f.x, %main.data, %f.$shared1, %f.$shared2)
# AFTER-NEXT:     branch %f.$if1, body, after_while
# AFTER-NEXT:   body:
# AFTER-NEXT:     %f.x:2 = prim "x - 0.1 * data.mean(axis=0)" (%f.x, %main.data, %f.$shared3)
# AFTER-NEXT:     %f.x = prim "x + jnp.sum(data[3] - x) + jnp.zeros(20)" (%f.x:2, %main.data)
# AFTER-NEXT:     jump while
# AFTER-NEXT:   after_while:
# AFTER-NEXT:     %f.$result = prim "x @ data.T" (%f.x, %main.data, %f.$shared1)
# AFTER-NEXT:     halt
