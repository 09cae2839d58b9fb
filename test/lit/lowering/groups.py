"""Small blocks that lead to each other run in one step where the cost decides; the expensive one runs alone."""

# RUN: hlobatch lower %s:f --args "f32[8]" --dialect portable | filecheck %s
# RUN: hlobatch lower %s:f --args "f32[8]" --dispatch chain --dialect portable | filecheck %s --check-prefix=PAPER
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def f(x):
    turns = 0
    while turns < 10:
        turns += 1
        if x > 1:
            x = x / 2
            continue
        x = x + 1 + jnp.sum(jnp.sin(x * jnp.arange(100.0)))
    return x


# CHECK: func.func private @block_0_1_2.main.entry(
# CHECK: func.func private @block_3.f.after_if(
# PAPER: func.func private @block_0.main.entry(
# PAPER: func.func private @block_3.f.after_if(
