"""Bodies of loops that between them have every primitive that XLA emits into one kernel, and what became of them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest
from runs import as_one_kernel, layout_of, request_of
from zoo import LOOP

import hlobatch as hb
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.runtime.division import divide
from hlobatch.runtime.entry_points import entry_point
from hlobatch.runtime.plan import Room

KERNEL = 'inlineable="false",xla_cpu_small_call="true"'
"""How our calls are marked; small loops XLA marks itself."""


IN_ONE_KERNEL = [
    pytest.mark.skipif(jax.default_backend() != "cpu", reason="XLA makes such kernels on a CPU only"),
    pytest.mark.usefixtures("state_as_it_is"),
]
"""Marks of tests of what is in one kernel."""


THUNKS = replace(LOOP, one_kernel=False)


INPUTS = 5


def shapes(x):
    rows = jnp.stack([x, x + 1, x + 2])
    moved = jnp.concatenate([rows.T.reshape(-1), jnp.flip(x), jnp.tile(x, 2), jnp.pad(x, 2)])
    picked = moved[jnp.argmax(moved)] + jnp.split(moved, [3])[1].sum() + jax.lax.dynamic_slice(moved, (2,), (4,)).sum()
    rows = jax.lax.dynamic_update_slice(rows, picked[None, None], (1, 2)).at[jnp.int32(x[0]) % 3, 2].set(picked)
    rows = rows.at[jnp.array([0, 2])].add(x).at[0].max(x).at[1].min(x).at[2].multiply(2.0).at[1].subtract(0.5 * x)
    return rows.sum(0) + x[jnp.int32(x) % 4] + x[:0].sum()


def random_numbers(x):
    key = jax.random.fold_in(jax.random.key(3), jnp.int32(x[0]))
    ours, others = jax.random.split(jax.random.clone(jax.random.wrap_key_data(jax.random.key_data(key))))
    return jax.random.normal(ours, x.shape) + jax.random.uniform(others) + jax.random.randint(key, (), 0, 9)


def looped(body, *, optimizations=LOOP, **options):
    """A loop, and a recursion with an array and a scalar on the stack, around ``body``; in XLA's form."""

    @hb.batch(optimizations=optimizations, **options)
    def down(x, n):
        if n <= 0:
            return x
        below = down(x * 0.5, n - 1)
        return below + x

    @hb.batch(optimizations=optimizations, **options)
    def run(x, n):
        i = 0
        while i < n:
            x = x + 0.1 * jnp.tanh(body(x))
            i = i + 1
        return down(x, n)

    return run


def examples():
    x = jnp.linspace(-2.0, 2.5, INPUTS * 4, dtype=jnp.float32).reshape(INPUTS, 4)
    return x, jnp.arange(INPUTS, dtype=jnp.int32)


def compiled_text(function, *args):
    plan = function.trace(*args).plan
    entry = entry_point(plan, len(args[0]), Room(plan.depth))
    return entry.lower(*plan.captured, *args, *divide(plan, args).turns).compile().as_text()


def is_one_kernel(function, *args):
    """Whether all that is run is a call that XLA compiles to one kernel."""
    entry = compiled_text(function, *args).split("ENTRY")[1]
    return KERNEL in entry and not any(f" {op}(" in entry for op in ("fusion", "while", "conditional"))


@hb.batch
def fibonacci(n):
    return 1 if n <= 1 else fibonacci(n - 2) + fibonacci(n - 1)


@hb.batch
def chosen(x, n):
    """One decision for two arrays: XLA would decide for each."""
    y = x * 2
    while n > 0:
        better = jnp.sin(x[0]) + jnp.abs(y[1]) * x[2] > jnp.maximum(y[0], 0.3)
        x, y = jnp.where(better, y, x), jnp.where(better, x + 1, y * 0.5)
        n -= 1
    return x, y


def module_of(function, x, n, *, one_kernel):
    plan = function.trace(x, n).plan
    layout = layout_of(plan, len(x))
    layout = as_one_kernel(plan, layout) if one_kernel else layout
    return str(to_stablehlo(request_of(plan, layout)))
