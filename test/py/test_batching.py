"""Functions of one lane, over lanes as the last axis: the same as `jax.vmap`, whatever differs between lanes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shares
from jax import lax

from hlobatch._jax import subjaxprs
from hlobatch.targets.cpu.batching import over_lanes
from hlobatch.targets.cpu.batching_rules import RULES

LANES = 5

X, Y = ((3, 4), float), ((4,), float)
ONE, N = ((), int), ((3,), int)


@jax.custom_jvp
def doubled(x: Any) -> Any:
    return 2 * x


doubled.defjvps(lambda t, _, __: 2 * t)


@jax.custom_vjp
def tripled(x: Any) -> Any:
    return 3 * x


tripled.defvjp(lambda x: (3 * x, None), lambda _, g: (3 * g,))


def draw(key: Any, *, shape: tuple[int, ...] = (2, 3)) -> Any:
    return jax.random.normal(jax.random.wrap_key_data(key), shape)


def draw_from_one_of_many(key: Any, i: Any) -> Any:
    keys = jax.random.split(jax.random.wrap_key_data(key), (2, 3))
    chosen = jnp.where(i > 1, keys[0, i % 3], keys[1, 2])
    return jax.random.uniform(jax.random.fold_in(chosen, i)), jax.random.key_data(keys[:, 0])


def search(x: Any, i: Any) -> Any:
    """A loop as long as a lane wants, that also carries what is the same in all."""

    def turn(carry: Any) -> Any:
        n, y, z, _ = carry
        return n + 1, y + z, 2 * z, n

    return lax.while_loop(lambda carry: carry[0] < i, turn, (jnp.int32(0), x, jnp.ones(4), jnp.int32(7)))


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x, y: jnp.sin(x) * y + lax.clamp(0.0, x, 1.0), (X, Y)),
    "select": (lambda x, y, i: jnp.where(i > 1, x, y), (X, Y, ONE)),
    "select_by_element": (lambda x, n: lax.select_n((n > 1)[:, None] & (x > 0), x, 2 * x), (X, N)),
    "integers": (lambda i, n: (n << 2) ^ (i | 5) | lax.population_count(n), (ONE, N)),
    "bits": (lambda x: lax.bitcast_convert_type(x, jnp.uint32), (X,)),
    "bits_of_another_width": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), (X,)),
    "bits_of_several": (lambda x: lax.bitcast_convert_type(x.astype(jnp.uint8), jnp.uint32), (X,)),
    "view": (lambda x: (x[0].astype(jnp.uint8).view(jnp.uint16), x.view(jnp.int16)), (X,)),
    "same_place_before_the_start": (lambda x: (x[lax.reduce_max(jnp.array([-5, -4]), axes=(0,))], x[-3]), (X,)),
    "less_a_part": (lambda x, y: x.at[1].subtract(y), (X, Y)),
    "softmax": (lambda x: jax.nn.softmax(x, axis=1), (X,)),
    "place_in_order": (lambda y: jnp.searchsorted(jnp.cumsum(y * y), y), (Y,)),
    "broadcast": (lambda y, i: (jnp.broadcast_to(y, (2, 4)), jnp.full((2, 3), i)), (Y, ONE)),
    "reshape": (lambda x: (x.reshape(2, 6), x.ravel()), (X,)),
    "reshape_in_another_order": (lambda x: lax.reshape(x, (12,), dimensions=(1, 0)), (X,)),
    "transpose": (lambda x: x.T, (X,)),
    "slices": (lambda x, y: (x[1:, ::2], y[-1], x[:, 1], y[::-1]), (X, Y)),
    "concatenate": (lambda x, y: jnp.concatenate([x, y[None], jnp.ones((1, 4))]), (X, Y)),
    "stack": (lambda i: jnp.stack([i, 2 * i, jnp.int32(3)]), (ONE,)),
    "pad": (lambda x: lax.pad(x, 0.5, [(1, 2, 1), (0, -1, 0)]), (X,)),
    "pad_with_what_differs": (lambda x, y: lax.pad(x, y[0], [(1, 0, 0), (0, 0, 0)]), (X, Y)),
    "split": (lambda y: jnp.split(y, 2), (Y,)),
    "sums": (lambda x: (x.sum(), x.sum(0), x.sum(1), x.max(), x.min(0), x.prod()), (X,)),
    "logic": (lambda n: ((n > 1).any(), (n > 1).all(), lax.reduce_xor(n, axes=(0,))), (N,)),
    "argmax": (lambda x: (jnp.argmax(x), jnp.argmin(x, 1)), (X,)),
    "cumulative": (lambda x: (jnp.cumsum(x, 0), lax.cummax(x, axis=1, reverse=True), jnp.cumsum(x)), (X,)),
    "reduction_of_another_kind": (lambda x: lax.reduce(x, 0.0, lambda a, b: a + 2 * b, (0,)), (X,)),
    "sort": (lambda x, y: (jnp.sort(x, axis=0), lax.sort((y, -y), dimension=0)), (X, Y)),
    "index": (lambda x, i: (x[i], x[:, i], x[-1, i]), (X, ONE)),
    "many_indices": (lambda x, n: (x[n], x[n, n], x[:, n]), (X, N)),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 3)), (X, ONE)),
    "dynamic_slice_of_bytes": (lambda y, i: lax.dynamic_slice(jnp.tile(y, 80), (i.astype(jnp.int8),), (2,)), (Y, ONE)),
    "dynamic_update_slice": (lambda x, y, i: lax.dynamic_update_slice(x, y[None, :2], (i, i)), (X, Y, ONE)),
    "set": (lambda x, y, i: x.at[i].set(y), (X, Y, ONE)),
    "set_number": (lambda x, i: x.at[i, 1].set(7.0), (X, ONE)),
    "add_at_many": (lambda x, y, n: x.at[n % 2].add(y), (X, Y, N)),
    "multiply_and_compare_at": (lambda x, y, i: (x.at[i].mul(y), x.at[:, i].max(0.1), x.at[i].min(y)), (X, Y, ONE)),
    "apply_at": (lambda x, i: x.at[i].apply(lambda v: v * v + 1), (X, ONE)),
    "matrix_and_vector": (lambda x, y: (x @ y, y @ x.T), (X, Y)),
    "matrices": (lambda x, z: (x @ z, jnp.einsum("ij,jk->ki", x, z), z.T @ x.T), (X, ((4, 2), float))),
    "outer": (lambda x, y: jnp.einsum("ij,k->kij", x, y), (X, Y)),
    "batched": (lambda a, b: jnp.einsum("bij,bjk->bik", a, b), (((2, 3, 4), float), ((2, 4, 5), float))),
    "half_precision": (lambda x, y: jnp.dot(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16)), (X, Y)),
    "integer_product": (lambda n: jnp.dot(n.astype(jnp.int8), n.astype(jnp.int8)), (N,)),
    "calls": (lambda x: jax.jit(lambda y: doubled(y) + tripled(y))(x) + jax.checkpoint(jnp.sin)(x), (X,)),
    "derivative": (lambda x: jax.grad(lambda y: jnp.logaddexp(y[0], y[1]).sum())(x), (X,)),
    "constant": (lambda y: (jnp.arange(3), y), (Y,)),
    "cond": (lambda x, i: lax.cond(i > 1, lambda: (x, 1.0), lambda: (jnp.ones((3, 4)), 2.0)), (X, ONE)),
    "switch": (lambda y, i: lax.switch(i, [lambda: y, lambda: 2 * y, lambda: y[::-1]]), (Y, ONE)),
    "while": (search, (Y, ONE)),
    "fori": (lambda y, i: lax.fori_loop(0, i, lambda j, z: z + y * j, y), (Y, ONE)),
    "scan": (lambda x, y: lax.scan(lambda c, row: ((c[0] + row, c[1] + 1), (row * 2, c[1])), (y, 0), x), (X, Y)),
    "scan_of_constants": (lambda y: lax.scan(lambda c, j: (c * j, y), jnp.float32(1), jnp.arange(3.0)), (Y,)),
    "scan_backwards": (lambda x: lax.scan(lambda c, row: (row.sum() + c, c), 0.0, x, reverse=True), (X,)),
    "scan_of_nothing": (lambda y: lax.scan(lambda c, _: (c, c), y, jnp.zeros((0, 2))), (Y,)),
    "draw": (draw, (((2,), np.uint32),)),
    "draw_bits": (lambda k: jax.random.bits(jax.random.wrap_key_data(k), (3,), "uint8"), (((2,), np.uint32),)),
    "draw_from_one_of_many": (draw_from_one_of_many, (((2,), np.uint32), ONE)),
    "seed": (lambda i: jax.random.uniform(jax.random.key(i), (3,)), (ONE,)),
    "legacy_keys": (lambda k: jax.random.split(k)[1], (((2,), np.uint32),)),
    "special_functions": (
        lambda x, y: (lax.igamma(x**2 + 1, y**2 + 1), lax.zeta(x**2 + 2, y**2 + 1), lax.bessel_i0e(y)),
        (Y, Y),
    ),
    "no_rule": (lambda x: jnp.linalg.qr(x)[1], (X,)),
    "loop_over_keys": (
        lambda k: lax.fori_loop(0, 3, lambda j, key: jax.random.fold_in(key, j), jax.random.wrap_key_data(k)),
        (((2,), np.uint32),),
    ),
}


def as_words(tree: Any) -> Any:
    """The tree with typed keys as their words."""
    is_key = lambda x: jnp.issubdtype(jnp.asarray(x).dtype, jax.dtypes.prng_key)  # noqa: E731
    return [jax.random.key_data(x) if is_key(x) else x for x in jax.tree.leaves(tree)]


def examples(shape: tuple[int, ...], dtype: Any, varies: bool) -> Any:
    rng = np.random.default_rng(len(shape))
    shape = (LANES, *shape) if varies else shape
    if dtype is float:
        return jnp.asarray(rng.normal(size=shape), jnp.float32)
    return jnp.asarray(rng.integers(0, 4, size=shape), np.int32 if dtype is int else dtype)


@pytest.mark.parametrize("name", CASES)
def test_as_vmap_has_it(name: str) -> None:
    function, given = CASES[name]
    for varies in itertools.product([True, False], repeat=len(given)):
        if not any(varies) or (1 < sum(varies) < len(varies) and not shares.by_night):
            continue
        arrays = [examples(*one, differs) for one, differs in zip(given, varies, strict=True)]
        axes = tuple(0 if differs else None for differs in varies)
        wanted = jax.jit(jax.vmap(lambda *a: as_words(function(*a)), axes))(*arrays)
        turned = [jnp.moveaxis(x, 0, -1) if differs else x for x, differs in zip(arrays, varies, strict=True)]
        got = jax.jit(over_lanes(lambda *a: as_words(function(*a)), varies, LANES))(*turned)
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(
                np.moveaxis(np.asarray(one, other.dtype), -1, 0).astype(float),
                np.asarray(other).astype(float),
                rtol=1e-5,
                atol=1e-6,
                err_msg=f"{varies}",
            )


def test_no_transposition_is_left() -> None:
    """What NUTS computes has the lanes last all the way."""

    def leapfrog(x: Any, y: Any) -> Any:
        gradient = jax.grad(lambda q: -0.5 * q @ (jnp.eye(4) * 2.0) @ q)
        half = y + 0.1 * gradient(x)
        moved = x + 0.3 * half
        return moved, jnp.where(half @ moved > 0, half, -half), jnp.exp(-0.5 * half @ half)

    text = str(jax.make_jaxpr(over_lanes(leapfrog, [True, True], LANES))(*[jnp.ones((4, LANES))] * 2))
    assert "moveaxis" not in text
    assert text.count("transpose[permutation=(1, 0)]") == 0


def test_every_rule_is_tried() -> None:
    tried: set[str] = set()

    def collect(jaxpr: Any) -> None:
        tried.update(equation.primitive.name for equation in jaxpr.eqns)
        for inner in subjaxprs(jaxpr):
            collect(inner)

    for function, given in CASES.values():
        collect(jax.make_jaxpr(function)(*(examples(*one, False) for one in given)).jaxpr)
    special = {name for name in RULES if RULES[name].__name__ not in ("_elementwise", "_along_axes")}
    assert special <= tried, special - tried
