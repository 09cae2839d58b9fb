"""Ties of blocks to their loops: they are minimal, XLA hoists nothing past them, and no large array is tied."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import hlobatch as hb
from hlobatch.lowering.module.tie import slots_to_tie, tied
from hlobatch.lowering.module.trim import trimmed

AVALS = {
    "matrix": jax.ShapeDtypeStruct((4, 6, 6), np.float32),
    "vector": jax.ShapeDtypeStruct((4, 6), np.float32),
    "number": jax.ShapeDtypeStruct((4,), np.float32),
    "state": jax.ShapeDtypeStruct((4, 6), np.float32),
    "shared": jax.ShapeDtypeStruct((6,), np.float32),
}
LANES = ("matrix", "vector", "number")
"""What the loop does not change, and lanes differ in; it changes the state."""


def times(matrix: Any, vector: Any) -> Any:
    return jnp.einsum("lij,lj->li", matrix, vector)


def in_a_loop(turn: Callable[[Any], Any], state: Any) -> Any:
    return lax.fori_loop(0, 3, lambda _, s: turn(s), state)


def until(turn: Callable[[Any], Any], state: Any) -> Any:
    return lax.while_loop(lambda s: s.sum() < 9, turn, state)


CASES: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "a product with what changes": (lambda m, v, n, s, k: times(m, s), []),
    "a product of what does not": (lambda m, v, n, s, k: s + times(m, v), ["vector"]),
    "the matrix alone": (lambda m, v, n, s, k: s + m.sum(1), ["matrix"]),
    "with what lanes share": (lambda m, v, n, s, k: s + k * v, ["vector"]),
    "with numbers": (lambda m, v, n, s, k: s * (v + 1), ["vector"]),
    "all that does not change": (lambda m, v, n, s, k: s + times(m, v) * n[:, None], ["vector"]),
    "only put in another shape": (lambda m, v, n, s, k: s * n[:, None] + v.reshape(4, 6), []),
    "and then computed with": (lambda m, v, n, s, k: s * (n[:, None] + v), ["number"]),
    "one tie is enough": (lambda m, v, n, s, k: s + jnp.sin(n)[:, None] + jnp.cos(n)[:, None] * v, ["number"]),
    "inside a call": (lambda m, v, n, s, k: jax.jit(lambda v, s: s + jnp.exp(v))(v, s), ["vector"]),
    "a product in a loop": (lambda m, v, n, s, k: in_a_loop(lambda s: times(m, s), s), []),
    "what a loop has in every turn": (lambda m, v, n, s, k: in_a_loop(lambda s: s + times(m, v), s), ["vector"]),
    "a loop over what does not change": (lambda m, v, n, s, k: s + in_a_loop(lambda v: times(m, v), v), ["vector"]),
    "a product while": (lambda m, v, n, s, k: until(lambda s: times(m, s) + 9, s), []),
    "what a while has in every turn": (lambda m, v, n, s, k: until(lambda s: s + times(m, v) + 9, s), ["vector"]),
    "a branch": (lambda m, v, n, s, k: lax.cond(s.sum() > 0, lambda: times(m, s), lambda: s + jnp.exp(v)), ["vector"]),
    "nothing": (lambda m, v, n, s, k: s + 1, []),
}


@pytest.mark.parametrize("case", CASES)
def test_what_has_to_be_tied(case: str) -> None:
    function, wanted = CASES[case]
    part = trimmed(lambda *arrays: [function(*arrays)], list(AVALS), ["state"], AVALS)
    assert slots_to_tie(part, LANES) == wanted


def test_what_is_tied_computes_the_same() -> None:
    function, _ = CASES["all that does not change"]
    part = trimmed(lambda *arrays: [function(*arrays)], list(AVALS), ["state"], AVALS)
    both = {**AVALS, "next": jax.ShapeDtypeStruct((), np.int32)}
    values = {name: jnp.asarray(np.random.default_rng(0).random(aval.shape), aval.dtype) for name, aval in both.items()}
    for lightly in (True, False):
        held = tied(part, LANES, "next", lightly=lightly)
        found = held.run(*(values[slot] for slot in held.reads))
        np.testing.assert_array_equal(found[0], part.run(*(values[slot] for slot in part.reads))[0])


def conjugate_gradient(matrix, b):
    x, residual, direction, square = jnp.zeros_like(b), b, b, b @ b
    while square > 1e-6:
        image = matrix @ direction
        step = square / (direction @ image)
        x, residual = x + step * direction, residual - step * image
        direction, square = residual + (residual @ residual) / square * direction, residual @ residual
    return x


@pytest.mark.parametrize("lanes", [None, 4])
def test_a_matrix_of_each_lane_is_not_chosen_in_each_turn(lanes: int | None) -> None:
    noise = np.random.default_rng(0).standard_normal((12, 40, 40)).astype(np.float32)
    matrices = noise @ noise.transpose(0, 2, 1) / 40 + np.eye(40, dtype=np.float32)
    options = {"dispatch": "chain", "lanes": lanes}
    light, heavy = (
        hb.batch(conjugate_gradient, **options, optimizations=hb.Optimizations(light_ties=each))
        for each in (True, False)
    )
    args = matrices, noise[:, 0]
    for batched in (light, heavy):
        np.testing.assert_allclose(batched(*args), np.linalg.solve(matrices, noise[:, 0, :, None])[..., 0], atol=1e-3)
    texts = [each.trace(*args).lower().as_text() for each in (light, heavy)]
    bodies = [re.search(r"private @block_1\..*?\n  }", text, re.DOTALL)[0] for text in texts]
    assert [f"tensor<{lanes or 12}x40x40xi1>" in body for body in bodies] == [False, True]
