"""Reductions of many numbers, twice at once: XLA makes no trees of them, and the results are the same."""

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from zoo import LOOP

import hlobatch as hb

pytestmark = [
    pytest.mark.skipif(jax.default_backend() != "cpu", reason="reductions are twofold on a CPU only"),
    pytest.mark.usefixtures("optimized_in_full"),
]

TREE = " reduce-window("
"""What XLA makes of a long reduction, and of nothing else here."""
LANES = 40
NUMBERS = 50
THUNKS = replace(LOOP, one_kernel=False)


def exact(x):
    """Reductions in which nothing is rounded, and one in a way of our own."""
    i = (x * 8).astype(jnp.int32)
    wider = jax.lax.reduce(i, jnp.int32(1), lambda a, b: (a ^ b) + (a & b) * 3, (0,))
    parts = [jnp.sum(i), jnp.prod(i | 1), jnp.max(x), jnp.min(x), jnp.any(x > 1), jnp.all(x > -1), wider]
    parts += [jax.lax.reduce_xor(i, (0,)), jnp.argmax(x), jnp.max(jnp.where(x > 1, jnp.nan, x))]
    return sum((part.astype(jnp.float32) for part in parts), jnp.float32(0))


def rounded(x):
    return jnp.sum(x) + jnp.prod(1 + x / 100) + jnp.abs(jnp.sum(x + 1j * x))


def looped(body, *, optimizations=LOOP, **options):
    @hb.batch(optimizations=optimizations, **options)
    def run(x, n):
        while n > 0:
            x = x * 0.5 + body(x) / 1000
            n = n - 1
        return x

    return run


def examples():
    x = np.random.default_rng(0).uniform(-2, 2, (LANES, NUMBERS)).astype(np.float32)
    return x, np.arange(LANES, dtype=np.int32) % 4


@pytest.mark.parametrize("options", [{}, {"optimizations": THUNKS}, {"optimizations": THUNKS, "dispatch": "sweep"}])
@pytest.mark.parametrize("body", [exact, rounded])
def test_twofold_reductions_are_reductions(body, options):
    x, n = examples()
    with hb.disable_batching():
        wanted = [looped(body)(jnp.asarray(row), int(count)) for row, count in zip(x, n, strict=True)]
    ours = looped(body, **options)
    for run in (ours, jax.jit(lambda x, n: ours(x, n))):
        np.testing.assert_allclose(run(x, n), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("options", "stay"), [({}, False), ({"optimizations": THUNKS}, True)])
def test_only_long_sums_of_several_kernels_are_trees(options, stay):
    """Those are for the library's precision; loops of ours keep it in one kernel."""

    def text(body):
        return jax.jit(looped(body, **options)).lower(*examples()).compile().as_text()

    assert TREE not in text(exact)
    assert (TREE in text(lambda x: jnp.sum(x))) == stay


def test_one_kernel_that_is_compiled_by_itself_goes_without_trees_and_reduces_once():
    run = looped(lambda x: jnp.sum((x * 8).astype(jnp.int32)).astype(jnp.float32), threads=1)
    text = run.trace(*examples()).lower().compile().as_text()
    assert TREE not in text
    assert not re.search(r"= \(.*\) reduce\(", text)
