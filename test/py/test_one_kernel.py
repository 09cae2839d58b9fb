"""What becomes one kernel on a CPU, and what does not; that kernel computes the same as several."""

import functools
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_bodies import (
    IN_ONE_KERNEL,
    INPUTS,
    KERNEL,
    THUNKS,
    compiled_text,
    examples,
    fibonacci,
    is_one_kernel,
    looped,
    random_numbers,
    shapes,
)
from runs import as_one_kernel, layout_of, request_of, strategy_of
from shares import by_day
from test_generated import load
from zoo import LOOP, in_small_kernels

import hlobatch as hb
from hlobatch.ir.ops import PrimOp
from hlobatch.jax_primitives import IN_KERNELS
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.targets.cpu.idioms import SeveralKernels

pytestmark = IN_ONE_KERNEL


def arithmetic(x):
    small = jnp.tanh(x) * 0.9
    parts = [jnp.abs(x), jnp.ceil(x), jnp.cos(x), jnp.cosh(small), jnp.exp(small), jnp.exp2(small), jnp.expm1(small)]
    parts += [jnp.floor(x), jnp.isfinite(x), jax.lax.lgamma(2 + small), jnp.log(2 + small), jnp.log1p(small)]
    parts += [jax.nn.sigmoid(x), jnp.maximum(x, 0.5), jnp.minimum(x, 0.5), jnp.nextafter(x, x + 1), (2 + small) ** 1.5]
    parts += [jnp.round(x), jax.lax.rsqrt(2 + small), jnp.sign(x), jnp.sin(x), jnp.sinh(small), jnp.sqrt(2 + small)]
    parts += [
        jnp.tan(small),
        jax.lax.erf(x),
        jax.lax.erfc(x),
        jax.lax.erf_inv(small),
        jax.lax.digamma(2 + small),
        jax.lax.bessel_i0e(x),
        jax.lax.bessel_i1e(x),
        jnp.cbrt(x),
        x**3,
        jnp.fmod(x, 2),
    ]
    parts += [jnp.arctan2(x, 2.0), jnp.arcsin(small), jnp.arccos(small), jnp.arctan(x), jnp.arcsinh(x)]
    parts += [
        jnp.arccosh(2 + small),
        jnp.arctanh(small),
        jax.lax.clamp(-1.0, x, 1.0),
        jax.lax.reduce_precision(x, 8, 7),
    ]
    return sum((part.astype(jnp.float32) for part in parts), jnp.zeros_like(x))


def integers(x):
    i = jnp.where(x >= 0, jnp.int32(7 * x), -jnp.int32(x))
    u = jax.lax.bitcast_convert_type(x, jnp.uint32)
    mixed = (i & 12) | (i ^ 5) | ~i | (i << 2) | (i >> 1) | jax.lax.shift_right_logical(i, 3)
    counts = jax.lax.population_count(u) + jax.lax.clz(u)
    mixed = mixed + jax.lax.reduce(i, jnp.int32(0), jax.lax.bitwise_xor, (0,))
    return (mixed % 1000 + i // 3 + counts.astype(jnp.int32)).astype(jnp.float32)


def complex_numbers(x):
    z = jax.lax.complex(x, 1 - x) * jnp.exp(1j * x)
    return jnp.real(jnp.conj(z) * z) + jnp.imag(z) + jnp.abs(z)


def reductions(x):
    most = jnp.argmax(x) + jnp.argmin(x) + jnp.any(x > 1) + jnp.all(x > 1) + jax.scipy.special.logsumexp(x)
    most = most + jax.lax.reduce_xor(jnp.int32(x * 100), axes=(0,)) / 100
    rest = x.max() + x.min() + jnp.prod(x * 0.1) + jnp.mean(x)
    return (
        jnp.cumsum(x)
        + jnp.cumprod(x * 0.5)
        + jax.lax.cummax(x)
        + jax.lax.cummin(x)
        + jax.lax.cumlogsumexp(x)
        + most
        + rest
    )


def control(x):
    total = jax.lax.fori_loop(0, jnp.int32(jnp.abs(x[0])) + 2, lambda i, t: t + i * x, x)
    _, doubled = jax.lax.scan(lambda c, row: (c + row, c * row), jnp.float32(0), x)
    slope = jax.grad(lambda y: jnp.sum(jnp.square(y) * jax.checkpoint(jnp.sin)(y) + doubled_backwards(y)))(x)
    chosen = jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, total)
    return jax.lax.optimization_barrier(chosen + jax.nn.relu(doubled)) + slope + doubled_backwards(x)


@jax.custom_vjp
def doubled_backwards(x):
    return x * 1.5


doubled_backwards.defvjp(lambda x: (x * 1.5, None), lambda _, g: (2 * g,))


def contractions(x):
    matrix = jnp.outer(x, x + 1) + jnp.arange(24.0).reshape(4, 6)[:, :4]
    both = jnp.einsum("ij,kj->ki", matrix, matrix)
    return matrix @ x + x @ both + jnp.dot(x, x) + jnp.einsum("bij,bjk->bik", both[None], matrix[None])[0, 1]


BODIES = [arithmetic, integers, complex_numbers, shapes, reductions, control, random_numbers, contractions]


@functools.cache
def in_several(body):
    """What XLA computes of the examples in several kernels."""
    return looped(body, optimizations=THUNKS)(*examples())


@pytest.mark.parametrize(
    ("body", "options"),
    [*((body, {}) for body in BODIES), (shapes, {"lanes": 2}), (random_numbers, {"threads": 2})],
)
def test_one_kernel_computes_the_same(body, options):
    x, n = examples()
    ours = looped(body, **options)
    assert is_one_kernel(ours, x, n)
    np.testing.assert_allclose(ours(x, n), in_several(body), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("body", by_day([*BODIES, jnp.sort, lambda y: y.at[1].apply(jnp.sin)], 4))
def test_kernels_of_what_works_on_little_compute_the_same(body):
    x, n = examples()
    ours = looped(body, lanes=1)
    with in_small_kernels():
        assert KERNEL in compiled_text(ours, x, n)
        got = ours(x, n)
    np.testing.assert_allclose(got, in_several(body), rtol=2e-5, atol=1e-5)


def test_every_supported_primitive_is_among_the_examples() -> None:
    programs = [looped(body).trace(*examples()).plan.programs.lowered for body in BODIES]
    primitives = [op for program in programs for op in program.ops if isinstance(op, PrimOp)]
    seen = frozenset().union(*(op.code.primitives for op in primitives))
    assert seen <= IN_KERNELS
    assert IN_KERNELS - seen <= OTHER_NAMES


OTHER_NAMES = frozenset(
    "call_hi_primitive closed_call copy eq_to jit le_to log2 lt_to one_minus_square remat2 stack threefry2x32 tile"
    " unstack".split()
)
"""What some release of JAX calls a primitive, or makes of one only where it lowers it."""


def test_searching_for_places_in_order():
    """From jax 0.12 on, JAX leaves out what the functions of such a program do not use."""

    def places(x):
        steps = jnp.cumsum(x * x)
        return x * jnp.searchsorted(steps, 1.5) + jnp.searchsorted(steps, x, side="right")

    x, n = examples()
    unlike = looped(places, optimizations=THUNKS)
    np.testing.assert_allclose(looped(places)(x, n), unlike(x, n), rtol=2e-5, atol=1e-5)
    with hb.disable_batching():
        wanted = [looped(places)(row, int(count)) for row, count in zip(x, n, strict=True)]
    np.testing.assert_allclose(unlike(x, n), wanted, rtol=2e-5, atol=1e-5)


def test_a_call_to_a_library_keeps_a_run_from_being_one_kernel():
    x, n = examples()
    applied, transformed = (lambda y: y.at[1].apply(jnp.sin)), (lambda y: jnp.abs(jnp.fft.fft(y)))
    narrow = lambda y: y.astype(jnp.float8_e4m3fn).astype(jnp.float32)  # noqa: E731
    for body in (jnp.sort, applied, transformed, narrow, lambda y: jnp.linalg.cholesky(jnp.eye(4) + y[0] ** 2)[0]):
        ours = looped(body)
        assert not is_one_kernel(ours, x, n)
        np.testing.assert_allclose(ours(x, n), looped(body, optimizations=THUNKS)(x, n), rtol=2e-5)


def test_an_argument_that_nothing_uses_is_given_back():
    """XLA's emitter ends the process on an argument that is left without a use."""

    @hb.batch(optimizations=LOOP)
    def run(x, unused, n):
        while n > 0:
            x, n = x + unused * 0, n - 1
        return x

    x, n = examples()
    assert is_one_kernel(run, x, n, n)
    np.testing.assert_allclose(run(x, n, n), x)


def test_arrays_without_elements_do_not_go_into_one_kernel():
    @hb.batch(optimizations=LOOP)
    def run(x, empty, n):
        while n > 0:
            x, empty, n = x + jnp.sum(empty), empty * 2, n - 1
        return x, empty

    x, n = examples()
    empty = jnp.zeros((INPUTS, 0), jnp.float32)
    assert KERNEL not in compiled_text(run, x, empty, n)
    np.testing.assert_allclose(run(x, empty, n)[0], x)


@pytest.mark.parametrize("body", by_day(BODIES, 3))
def test_inside_a_users_jit_a_run_is_one_kernel_too(body):
    x, n = examples()
    ours = looped(body)
    compiled = jax.jit(lambda x, n: [leaf * 2 for leaf in jax.tree.leaves(ours(x, n))]).lower(x, n).compile()
    assert KERNEL in compiled.as_text()
    wanted = [leaf * 2 for leaf in jax.tree.leaves(in_several(body))]
    for got, other in zip(compiled(x, n), wanted, strict=True):
        np.testing.assert_allclose(got, other, rtol=4e-5, atol=2e-5)


def test_constants_of_a_users_jit_stay_out_of_the_kernel():
    """XLA would put them into it, and its emitter ends the process on the argument that is left without a use."""
    weights = jnp.eye(100, dtype=jnp.float32) / 2

    @hb.batch(in_axes=(0, 0, None))
    def run(x, n, shared):
        while n > 0:
            x = weights @ x + shared
            n = n - 1
        return x

    x, n, shared = jnp.ones((9, 100)), jnp.arange(9), jnp.arange(100.0)
    for call in (lambda: run(x, n, shared), lambda: jax.lax.map(lambda i: run(x, n, shared), jnp.arange(2))[1]):
        compiled = jax.jit(call).lower().compile()
        assert KERNEL in compiled.as_text()
        np.testing.assert_allclose(compiled(), run(x, n, shared), rtol=1e-6)


def test_what_is_exported_is_several_kernels():
    """Another release of XLA may run it."""
    x, n = examples()
    assert "xla_cpu_small_call" not in jax.export.export(jax.jit(looped(shapes)))(x, n).mlir_module()


@pytest.mark.parametrize("schedule", ["earliest", "most_lanes"])
@pytest.mark.parametrize("lanes", [None, 40])
def test_one_block_in_a_turn_is_the_schedule_of_a_case(schedule, lanes):
    x = jnp.arange(90, dtype=jnp.int32) % 11
    how = {"schedule": schedule, "lanes": lanes, "threads": 1}
    chain, case = (hb.batch(fibonacci.function, dispatch=form, **how) for form in ("chain", "case"))
    assert is_one_kernel(chain, x)
    got, stats = chain.with_stats(x)
    wanted, wanted_stats = case.with_stats(x)
    np.testing.assert_array_equal(got, wanted)
    assert stats.blocks == wanted_stats.blocks


def test_what_finds_the_next_block_stands_there_once():
    chain = hb.batch(fibonacci.function, dispatch="chain", schedule="most_lanes")
    plan = chain.trace(jnp.arange(90, dtype=jnp.int32)).plan
    several = layout_of(plan, 90, plan.depth)
    groups = len(strategy_of(plan, 90).groups(plan.programs.machine))
    greatest = f"stablehlo.maximum across dimensions = [0] : (tensor<{groups + 2}xi32>"  # of the lanes at each block

    def choices(layout, **how):
        return str(to_stablehlo(request_of(plan, layout, **how))).count(greatest)

    assert choices(as_one_kernel(plan, several)) == 1
    assert choices(replace(several, idiom=SeveralKernels())) == 1
    assert choices(several) == 1 + groups


def constant(x):
    return jnp.int32(5)


def next_of_collatz(n):
    if n % 2 == 0:
        return n // 2
    return 3 * n + 1


@pytest.mark.parametrize("lanes", [None, 2, 5])
@pytest.mark.parametrize("schedule", ["earliest", "most_lanes", "cost"])
@pytest.mark.parametrize("function", [constant, next_of_collatz, fibonacci.function])
def test_in_several_kernels_what_finds_the_next_block_is_one(function, schedule, lanes):
    """With one group of blocks, XLA sees through much of a choice, and ends the process if nothing is left of it."""
    batched = hb.batch(
        function, dispatch="chain", schedule=schedule, lanes=lanes, optimizations=hb.Optimizations(one_kernel=False)
    )
    x = jnp.arange(11, dtype=jnp.int32)
    with hb.disable_batching():
        expected = [batched(int(i)) for i in x]
    np.testing.assert_array_equal(batched(x), expected)
    np.testing.assert_array_equal(jax.jit(lambda: batched(x))(), expected)


def test_a_block_of_very_many_operations_is_no_kernel(tmp_path: Path) -> None:
    """XLA's emitter goes from the last to the first by recursion, and ended the process at some thousands."""
    lines = "    s = s * 3 + i\n" * 501
    module = load(f"import hlobatch as hb\n\n@hb.batch\ndef f(s):\n    i = s + 1\n{lines}    return s\n", tmp_path)
    s = np.arange(3, dtype=np.int32)
    assert not module.f.trace(s).plan.strategy(3, is_alone=True).one_kernel
    wanted = s
    for _ in range(501):
        wanted = wanted * np.int32(3) + (s + np.int32(1))
    assert module.f(s).tolist() == wanted.tolist()
