"""Random numbers in lanes' own code: those of JAX in every form, also where blocks are computed as they are read."""

from contextlib import nullcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import warps
from on_threads import CROWDED, FEW_AT_HAND, IN_A_LOOP, IN_TURN, MEETING, WARPS, WARPS_WITH_LITTLE, on_threads
from own_code import checking, needs_llvm

import hlobatch as hb

pytestmark = needs_llvm

FORMS = {
    "lane": None,
    "gang": None,
    "thread": IN_A_LOOP,
    "few at hand": FEW_AT_HAND,
    "in turn": IN_TURN,
    "meeting": MEETING,
    "crowded": CROWDED,
    "warp": WARPS,
    "warp with little": WARPS_WITH_LITTLE,
}
ARRAYS = (((), "uint8"), ((3,), "uint16"), ((1, 33), "uint8"), ((0,), "uint32"))


def drawn(key, n):
    """Bits of all widths and shapes; halves of blocks that are read together, apart, again, and at known places."""
    bits = jnp.uint32(0)
    while n > 0:
        key, one = jax.random.split(key)
        for shape, dtype in ARRAYS:
            x = jax.random.bits(jax.random.fold_in(one, bits), shape, dtype).astype(jnp.uint32)
            bits = bits * 31 + jnp.sum(x) + jnp.max(x, initial=0)
        x = jax.random.bits(one, (6, 7))
        bits = bits * 31 + x[2, 3] + x[n % 6, 2] + jnp.sum(x[::-1] ^ x) + jnp.sum(x[1:3, ::2])
        keys = jax.random.split(one, (3, 2))
        bits = bits * 31 + jnp.sum(jax.random.key_data(keys)) + jax.random.bits(keys[n % 3, 1])
        n = n - 1
    return bits, jax.random.key_data(key)


def broadcast(key, n):
    """Floats between bounds that are numbers, arrays of one element, rows and columns."""
    total = jnp.zeros((4, 9))
    while n > 0:
        key, one = jax.random.split(key)
        low = jax.random.normal(one, (1, 1))
        row, column = jax.random.uniform(one, (1, 9), minval=low), jax.random.normal(key, (4, 1))
        total = jnp.maximum(total * low, row + column) + jax.random.uniform(one, (4, 9), minval=column, maxval=row)
        total = total * jnp.exp(low)
        n = n - 1
    return total


KEYS, TURNS = jax.random.split(jax.random.key(3), 5), np.asarray([2, 0, 3, 1, 2], np.int32)


@pytest.fixture(scope="module")
def wanted():
    return {f: hb.batch(f, optimizations=hb.Optimizations(kernels=False))(KEYS, TURNS) for f in (drawn, broadcast)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", [drawn, broadcast])
def test_each_form_draws_the_numbers_of_jax(function, form: str, wanted) -> None:
    processor = FORMS[form]
    if processor is not None and processor.threads_that_meet > 1 and not warps.IS_HERE:
        pytest.skip("the threads of a warp have stacks of their own on x86-64")
    with nullcontext() if processor is None else on_threads(processor), checking():
        found = hb.batch(function, dispatch="gang" if form == "gang" else "kernel")(KEYS, TURNS)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5), found, wanted[function])
