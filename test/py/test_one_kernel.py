"""A small run on a CPU is one kernel; which programs can be, and that it changes nothing."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from optimized_hlo import inside_loops
from test_generated import load
from zoo import in_small_kernels, optimizing_little

import hlobatch as hb
from examples import nuts, targets
from hlobatch import _jax
from hlobatch.analysis.one_kernel import fits_one_kernel
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.ops import PrimOp
from hlobatch.jax_primitives import IN_KERNELS
from hlobatch.lowering.arrays.stacks import pop_at_once, push_at_once
from hlobatch.lowering.cpu.contractions import Contraction
from hlobatch.lowering.cpu.outermost import outermost
from hlobatch.lowering.cpu.reductions import Reduction, reduction_of
from hlobatch.lowering.cpu.scatters import Scatter
from hlobatch.lowering.cpu.stack_loops import NEAR, pop_in_loops, push_in_loops
from hlobatch.lowering.cpu.trigonometry import LIMIT, Trigonometric
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.lowering.turns import dispatch
from hlobatch.runtime import primitive
from hlobatch.runtime.division import divide, entry_point
from hlobatch.runtime.plan import Room

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="XLA makes such kernels on a CPU only")

KERNEL = 'inlineable="false",xla_cpu_small_call="true"'
"""How our calls are marked; small loops XLA marks itself."""
THUNKS = hb.Optimizations(one_kernel=False)
INPUTS = 5


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


def shapes(x):
    rows = jnp.stack([x, x + 1, x + 2])
    moved = jnp.concatenate([rows.T.reshape(-1), jnp.flip(x), jnp.tile(x, 2), jnp.pad(x, 2)])
    picked = moved[jnp.argmax(moved)] + jnp.split(moved, [3])[1].sum() + jax.lax.dynamic_slice(moved, (2,), (4,)).sum()
    rows = jax.lax.dynamic_update_slice(rows, picked[None, None], (1, 2)).at[jnp.int32(x[0]) % 3, 2].set(picked)
    rows = rows.at[jnp.array([0, 2])].add(x).at[0].max(x).at[1].min(x).at[2].multiply(2.0).at[1].subtract(0.5 * x)
    return rows.sum(0) + x[jnp.int32(x) % 4] + x[:0].sum()


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


def random_numbers(x):
    key = jax.random.fold_in(jax.random.key(3), jnp.int32(x[0]))
    ours, others = jax.random.split(jax.random.clone(jax.random.wrap_key_data(jax.random.key_data(key))))
    return jax.random.normal(ours, x.shape) + jax.random.uniform(others) + jax.random.randint(key, (), 0, 9)


def contractions(x):
    matrix = jnp.outer(x, x + 1) + jnp.arange(24.0).reshape(4, 6)[:, :4]
    both = jnp.einsum("ij,kj->ki", matrix, matrix)
    return matrix @ x + x @ both + jnp.dot(x, x) + jnp.einsum("bij,bjk->bik", both[None], matrix[None])[0, 1]


BODIES = [arithmetic, integers, complex_numbers, shapes, reductions, control, random_numbers, contractions]


@pytest.fixture(autouse=True)
def state_as_it_is(monkeypatch):
    """Nothing is looked for beside the kernel, where the state would be packed."""
    monkeypatch.setattr("hlobatch.runtime.packing.WORTH_PACKING", -1)


def looped(body, **options):
    """A loop, and a recursion with an array and a scalar on the stack, around ``body``."""

    @hb.batch(**options)
    def down(x, n):
        if n <= 0:
            return x
        below = down(x * 0.5, n - 1)
        return below + x

    @hb.batch(**options)
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


@pytest.mark.parametrize(
    ("body", "options"),
    [*((body, {}) for body in BODIES), (shapes, {"lanes": 2}), (random_numbers, {"threads": 2})],
)
def test_one_kernel_computes_the_same(body, options):
    x, n = examples()
    ours = looped(body, **options)
    assert is_one_kernel(ours, x, n)
    np.testing.assert_allclose(ours(x, n), looped(body, optimizations=THUNKS)(x, n), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("body", [*BODIES, jnp.sort, lambda y: y.at[1].apply(jnp.sin)])
def test_kernels_of_what_works_on_little_compute_the_same(body):
    x, n = examples()
    ours = looped(body, lanes=1)
    with in_small_kernels():
        assert KERNEL in compiled_text(ours, x, n)
        got = ours(x, n)
    np.testing.assert_allclose(got, looped(body, optimizations=THUNKS)(x, n), rtol=2e-5, atol=1e-5)


def test_every_supported_primitive_is_among_the_examples() -> None:
    programs = [looped(body).trace(*examples()).plan.lowered for body in BODIES]
    functions = [op.function for program in programs for op in program.ops if isinstance(op, PrimOp)]
    seen = frozenset().union(*(f.primitives for f in functions if isinstance(f, TracedFunction)))
    assert seen <= IN_KERNELS
    assert IN_KERNELS - seen <= OTHER_NAMES


OTHER_NAMES = frozenset(
    "closed_call copy eq_to jit le_to log2 lt_to one_minus_square remat2 stack threefry2x32 tile unstack".split()
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


def iterated(body, width):
    """The lowered program of a loop in which a lane applies ``body`` to so many numbers as often as it is told."""

    @hb.batch
    def run(x, n):
        while n > 0:
            x = body(x)
            n = n - 1
        return x

    return run.trace(jnp.ones((3, width), jnp.float32), jnp.arange(3)).plan.lowered


def test_a_large_contraction_keeps_many_lanes_from_being_one_kernel():
    weights = jnp.ones((100, 100), jnp.float32) / 100

    program = iterated(lambda x: weights @ x, 100)
    assert fits_one_kernel(program, 33, vector=8)
    assert not fits_one_kernel(program, 34, vector=8)
    assert fits_one_kernel(program, 132, vector=16)
    assert not fits_one_kernel(program, 133, vector=16)


def test_more_multiplications_fit_among_other_operations():
    weights = jnp.ones((100, 100), jnp.float32) / 100

    program = iterated(lambda x: jnp.exp(jnp.sin(jnp.log(jnp.tanh(jnp.exp(weights @ x))))), 100)
    assert fits_one_kernel(program, 132, vector=8)
    assert not fits_one_kernel(program, 133, vector=8)


def test_products_with_many_results_are_left_to_a_library():
    first, second = jnp.ones((500, 10), jnp.float32) / 10, jnp.ones((10, 500), jnp.float32) / 500

    program = iterated(lambda x: second @ jnp.tanh(first @ x), 10)
    assert fits_one_kernel(program, 66, vector=16)
    assert not fits_one_kernel(program, 67, vector=16)


def test_several_contractions_do_not_add_up_to_a_large_one():
    weights = jnp.ones((100, 100), jnp.float32) / 100

    program = iterated(lambda x: weights @ jnp.tanh(weights @ jnp.tanh(weights @ jnp.tanh(weights @ x))), 100)
    assert fits_one_kernel(program, 33, vector=8)
    assert not fits_one_kernel(program, 34, vector=8)


@pytest.mark.parametrize(
    ("lanes", "width", "fits"), [(1, 64, True), (4, 64, True), (4, 128, False), (10, 8, True), (10, 64, False)]
)
def test_products_that_a_library_does_well_leave_one_kernel_where_each_block_runs_once(lanes, width, fits):
    @hb.batch(in_axes=(0, None))
    def layers(x, weights):
        for _ in range(100):
            x = jnp.tanh(x @ weights)
        return x

    program = layers.trace(jnp.ones((3, width)), jnp.ones((width, width))).plan.lowered
    assert fits_one_kernel(program, lanes, vector=16) == fits


def test_an_argument_that_nothing_uses_is_given_back():
    """XLA's emitter ends the process on an argument that is left without a use."""

    @hb.batch
    def run(x, unused, n):
        while n > 0:
            x, n = x + unused * 0, n - 1
        return x

    x, n = examples()
    assert is_one_kernel(run, x, n, n)
    np.testing.assert_allclose(run(x, n, n), x)


def test_arrays_without_elements_do_not_go_into_one_kernel():
    @hb.batch
    def run(x, empty, n):
        while n > 0:
            x, empty, n = x + jnp.sum(empty), empty * 2, n - 1
        return x, empty

    x, n = examples()
    empty = jnp.zeros((INPUTS, 0), jnp.float32)
    assert KERNEL not in compiled_text(run, x, empty, n)
    np.testing.assert_allclose(run(x, empty, n)[0], x)


@pytest.mark.parametrize("body", BODIES)
def test_inside_a_users_jit_a_run_is_one_kernel_too(body):
    x, n = examples()
    ours = looped(body)
    compiled = jax.jit(lambda x, n: [leaf * 2 for leaf in jax.tree.leaves(ours(x, n))]).lower(x, n).compile()
    assert KERNEL in compiled.as_text()
    wanted = [leaf * 2 for leaf in jax.tree.leaves(looped(body, optimizations=THUNKS)(x, n))]
    for got, other in zip(compiled(x, n), wanted, strict=True):
        np.testing.assert_allclose(got, other, rtol=4e-5, atol=2e-5)


def test_inside_a_users_jit_no_product_is_left_to_a_library():
    """XLA wanted a library for the inner products of 64 chains, then had none for a kernel: an internal error."""
    density = targets.correlated_gaussian(targets.ar1_covariance(100, 0.5)).log_density
    sample = nuts.make_nuts(density, step_size=0.25, num_draws=1, max_depth=3)
    keys = jax.random.split(jax.random.key(0), 64)
    chains = jax.vmap(lambda key: nuts.start_chain(density, key, jnp.zeros(100)))(keys)
    with optimizing_little():
        compiled = jax.jit(lambda chains: sample(chains)).lower(chains).compile()
        assert KERNEL in compiled.as_text()
        positions, wanted = compiled(chains)[1], sample(chains)[1]
    np.testing.assert_allclose(positions, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [jnp.int32, jnp.bool_, jnp.float32])
def test_only_sums_that_round_are_kept_from_a_library(dtype):
    """The counts of 128 lanes at 16 blocks were summed one by one: the interpreter took twice the time."""
    combine = jax.lax.bitwise_or if dtype == jnp.bool_ else jax.lax.add
    lowered = jax.jit(lambda x: jax.lax.reduce(x, dtype(0), combine, (1,))).lower(jnp.zeros((16, 128), dtype))
    (reduction,) = outermost(lowered.compiler_ir("stablehlo").operation, {"stablehlo.reduce"})
    assert (reduction_of(reduction) is None) == (dtype != jnp.float32)


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.int32, jnp.uint32])
def test_integers_are_reduced_in_a_kernel_inside_a_users_jit(dtype):
    @hb.batch
    def run(x, n):
        while n > 0:
            whole = (x * 10).astype(dtype)
            x = x * 0.5 + 1e-3 * (whole.sum() + whole.max() + (whole > 3).any()).astype(jnp.float32)
            n = n - 1
        return x

    x, n = jnp.linspace(0.0, 5.0, 32 * 600).reshape(32, 600), jnp.arange(32) % 3
    with optimizing_little():
        compiled = jax.jit(lambda *args: run(*args)).lower(x, n).compile()
        assert KERNEL in compiled.as_text()
        np.testing.assert_allclose(compiled(x, n), hb.batch(run.function, optimizations=THUNKS)(x, n), rtol=1e-5)


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


@pytest.mark.parametrize(
    ("left", "right", "dims"),
    [
        ((3, 40), (40, 5), (((1,), (0,)), ((), ()))),
        ((30, 40), (40, 5), (((1,), (0,)), ((), ()))),
        ((40, 3), (20, 40), (((0,), (1,)), ((), ()))),
        ((2, 9, 4), (2, 4, 7), (((2,), (1,)), ((0,), (0,)))),
        ((4, 2, 3, 5), (5, 2, 6, 4), (((0, 3), (3, 0)), ((1,), (1,)))),
        ((17,), (17,), (((0,), (0,)), ((), ()))),
        ((600,), (600,), (((0,), (0,)), ((), ()))),
        ((64, 100), (64, 100), (((1,), (1,)), ((0,), (0,)))),
        ((5, 2, 3), (3, 5, 2), (((0, 2), (1, 0)), ((1,), (2,)))),
        ((3, 2), (4, 5), (((), ()), ((), ()))),
    ],
)
def test_a_contraction_is_a_loop_of_outer_products(left, right, dims):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(left).astype(np.float32), rng.standard_normal(right).astype(np.float32)
    np.testing.assert_allclose(
        Contraction(*dims, jnp.float32)(a, b), jax.lax.dot_general(a, b, dims), rtol=1e-4, atol=1e-5
    )


@hb.batch
def fibonacci(n):
    return 1 if n <= 1 else fibonacci(n - 2) + fibonacci(n - 1)


@pytest.mark.parametrize(
    ("lanes", "vector", "one_kernel", "axis", "width"),
    [
        (31, 8, True, 0, 31),
        (32, 8, True, -1, 56),
        (56, 8, True, -1, 56),
        (57, 8, True, -1, 64),
        (57, 8, False, 0, 57),
        (32, 16, True, -1, 64),
        (65, 16, True, -1, 80),
    ],
)
def test_many_lanes_are_the_last_axis_in_whole_vectors(lanes, vector, one_kernel, axis, width):
    plan = fibonacci.trace(jnp.arange(lanes)).plan
    layout = replace(plan.layout(lanes, 8), one_kernel=one_kernel, vector=vector)
    assert (layout.lane_axis, layout.width) == (axis, width)
    assert layout.array((2, 3), np.float32, 9).shape == ((9, 2, 3, width) if axis else (9, width, 2, 3))


@pytest.mark.parametrize("lanes", [None, 40])
def test_many_lanes_grow_their_stacks_and_run_out_of_steps(lanes):
    n = np.arange(90, dtype=np.int32) % 12
    truth = [1, 1]
    for _ in range(10):
        truth.append(truth[-1] + truth[-2])
    how = {"lanes": lanes, "threads": 1}
    found, stats = hb.batch(fibonacci.function, max_stack_depth=7, **how).with_stats(n)
    assert found.tolist() == [truth[i] for i in n]
    assert stats.resumptions == 1
    with pytest.raises(hb.StepLimitError) as caught:
        hb.batch(fibonacci.function, max_steps=150, **how)(n)
    assert {int(n[i]) for i in caught.value.lanes} == {9, 10, 11}
    outputs = np.asarray(caught.value.outputs)
    started = np.flatnonzero(outputs)
    assert len(started) > 40
    assert all(outputs[i] == truth[n[i]] for i in started if i not in caught.value.lanes)


@pytest.mark.parametrize(("axis", "by_bits"), [(0, False), (-1, False), (-1, True)])
@pytest.mark.parametrize("event", [(), (3,), (2, 3)])
@pytest.mark.parametrize(("depth", "apart"), [(20, 15), (NEAR + 30, 3), (NEAR + 30, NEAR // 2), (NEAR + 30, NEAR + 20)])
def test_stacks_in_loops_are_stacks(axis, by_bits, event, depth, apart):
    rng = np.random.default_rng(1)
    lanes = 9
    stack = jnp.asarray(rng.standard_normal((depth, lanes, *event)), jnp.float32)
    top = jnp.asarray(rng.standard_normal((lanes, *event)), jnp.float32)
    stacks, tops = [stack, jnp.zeros((depth, lanes), int)], [top, jnp.arange(lanes)]
    turned = [jnp.moveaxis(x, 1, axis) if axis else x for x in stacks]
    tops_turned = [jnp.moveaxis(x, 0, axis) for x in tops]
    pointer = jnp.asarray([0, apart, *rng.integers(0, apart, lanes - 2)], jnp.int32)
    for mask in (rng.random(lanes) < 0.5, np.zeros(lanes, bool), np.ones(lanes, bool)):
        wanted = push_at_once(stacks, pointer, tops, mask)
        got = push_in_loops(turned, pointer, tops_turned, mask, axis, by_bits)
        for one, other in zip(wanted, got, strict=True):
            other = jnp.moveaxis(other, axis, 1) if axis else other
            np.testing.assert_array_equal(one[:-1], other[:-1])  # the last row is spare
        wanted = pop_at_once(stacks, pointer, tops, mask)
        got = pop_in_loops(turned, pointer, tops_turned, mask, axis, by_bits)
        for one, other in zip(wanted, got, strict=True):
            np.testing.assert_array_equal(one, jnp.moveaxis(other, axis, 0))


@pytest.mark.parametrize(
    ("axis", "depth", "event", "loops"), [(-1, 33, 3, 1), (-1, 33, 4, 4), (-1, 80, 1, 6), (0, 33, 3, 3)]
)
def test_a_few_numbers_of_a_lane_are_pushed_with_the_others(axis, depth, event, loops):
    """Where they are few, through rows; the others through rows, or to where lanes are found, and through those."""
    lanes = 64
    shapes = [(depth, lanes), (depth, lanes, event)] if axis == 0 else [(depth, lanes), (depth, event, lanes)]
    stacks = [jnp.zeros(shape) for shape in shapes]
    tops = [stack[0] for stack in stacks]
    pointer, mask = jnp.zeros(lanes, jnp.int32), jnp.ones(lanes, bool)
    for run in (push_in_loops, pop_in_loops):
        text = jax.jit(lambda *a, run=run: run(*a, axis, False)).lower(stacks, pointer, tops, mask).as_text()
        assert text.count("stablehlo.while") == loops


@pytest.mark.parametrize("body", [shapes, random_numbers])
def test_scatters_become_loops_where_xla_makes_none_of_them(body, monkeypatch):
    monkeypatch.setattr(primitive, "makes_small_fusions", lambda: False)
    x, n = examples()
    ours = looped(body)
    assert is_one_kernel(ours, x, n)
    np.testing.assert_allclose(ours(x, n), looped(body, optimizations=THUNKS)(x, n), rtol=2e-5, atol=1e-5)


def test_a_wide_index_past_the_end_is_not_one_within():
    with jax.enable_x64(True):
        scatter = Scatter((), (0,), (), (), (0,), 1, "return")
        indices = jnp.array([[1], [2**32]], jnp.int64)
        np.testing.assert_array_equal(scatter(jnp.zeros(3), indices, jnp.array([5.0, 7.0])), [0, 5, 0])


@pytest.mark.parametrize(("is_sine", "exact"), [(True, np.sin), (False, np.cos)])
def test_sines_and_cosines_are_exact_to_three_units(is_sine, exact):
    x = np.linspace(-LIMIT, LIMIT, 1_000_001, dtype=np.float32)[1:-1]
    x = np.concatenate([x, np.float32(np.pi / 2) * np.arange(-650, 650, dtype=np.float32), [-0.0]]).astype(np.float32)
    wanted = exact(x.astype(np.float64))
    error = np.abs(jax.jit(Trigonometric(is_sine))(x) - wanted)
    assert np.max(error / np.spacing(np.abs(wanted).astype(np.float32))) <= 3


@pytest.mark.parametrize("odd", [np.inf, np.nan, 1e9, -LIMIT])
def test_the_library_has_what_is_too_large(odd):
    """And nothing else: a lane's result does not depend on whether another has such a number."""
    x = jnp.asarray([0.5, odd, 3.0], jnp.float32)
    for ours, library in ((Trigonometric(True), jnp.sin), (Trigonometric(False), jnp.cos)):
        np.testing.assert_array_equal(ours(x)[1], library(x)[1])
        np.testing.assert_array_equal(ours(x)[::2], ours(x[::2]))


def test_sine_has_the_sign_of_zero():
    zeros = jnp.asarray([-0.0, 0.0], jnp.float32)
    np.testing.assert_array_equal(np.signbit(Trigonometric(True)(zeros)), [True, False])


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
    several = plan.layout(90, plan.depth)
    groups = len(plan.choice.groups(plan.machine))
    greatest = f"stablehlo.maximum across dimensions = [0] : (tensor<{groups + 2}xi32>"  # of the lanes at each block

    def choices(layout, **how):
        return str(to_stablehlo(plan.request(layout, **how))).count(greatest)

    assert choices(replace(several, one_kernel=True), on_one_cpu=True) == 1
    assert choices(several, on_one_cpu=True) == 1
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


@hb.batch
def sums_of_waves(x, n):
    total = 0.0
    while n > 0:
        total += jnp.mean(jnp.cos(x * jnp.arange(40.0)) + jnp.sin(x) * jnp.max(jnp.arange(40.0) * x))
        x, n = x * 1.1, n - 1
    return total


def test_long_reductions_and_waves_of_many_lanes():
    x, n = jnp.linspace(-1, 1, 50), jnp.arange(50) % 7
    assert is_one_kernel(sums_of_waves, x, n)
    text = module_of(sums_of_waves, x, n, one_kernel=True)
    assert "call @reduce" in text
    assert "call @cosine" in text
    plain = hb.batch(sums_of_waves.function, optimizations=THUNKS)
    np.testing.assert_allclose(sums_of_waves(x, n), plain(x, n), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("count", "polynomials"), [(40, False), (2_000, True)])
def test_few_sines_of_a_grid_that_all_lanes_share_are_the_librarys(count, polynomials):
    """They are computed once in a run; polynomials for them would take longer to compile than many runs."""

    @hb.batch
    def waves(x, n):
        total = 0.0
        while n > 0:
            total += jnp.mean(jnp.sin(jnp.linspace(0.0, 3.0, count)) * jnp.cos(x))
            n = n - 1
        return total

    x, n = jnp.linspace(-1, 1, 50), jnp.arange(50) % 7
    text = module_of(waves, x, n, one_kernel=True)
    assert ("call @sine" in text) == polynomials
    assert "call @cosine" in text
    plain = hb.batch(waves.function, optimizations=THUNKS)
    np.testing.assert_allclose(waves(x, n), plain(x, n), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "combine"), [("add", np.add), ("multiply", np.multiply), ("maximum", np.maximum), ("minimum", np.minimum)]
)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((19, 3), (0,)),
        ((4, 5, 2), (0, 1)),
        ((2, 17, 3), (1,)),
        ((16, 2), (0,)),
        ((20,), (0,)),
        ((3, 32), (1,)),
        ((2, 777), (1,)),
        ((7, 3, 41), (0, 2)),
        ((5, 6, 2, 9), (0, 1, 3)),
    ],
)
def test_reductions_in_loops_are_reductions(kind, combine, shape, axes):
    x = np.random.default_rng(3).uniform(0.99, 1.02, shape).astype(np.float32)
    got = Reduction(axes, kind)(jnp.asarray(x), jnp.float32(0.5))
    wanted = combine.reduce(x.astype(np.float64), axes, initial=0.5)  # XLA begins each 32 numbers with the 0.5 again
    np.testing.assert_allclose(got, wanted, rtol=2e-6)


@pytest.mark.parametrize("count", [3, 16, 21])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_a_sum_of_negative_zeros_is_one(count, dtype):
    zeros = -np.zeros((count, 2), dtype)
    total = np.asarray(Reduction((0,), "add")(jnp.asarray(zeros), jnp.asarray(zeros[0, 0])))
    assert np.signbit(total.real).all()
    assert np.signbit(total.imag).all() or dtype == np.float32


def test_long_sums_keep_their_precision():
    x = np.random.default_rng(4).uniform(0, 1, (100_000, 2)).astype(np.float32)
    wanted = x.astype(np.float64).sum(0)
    for array, axis in ((x, 0), (x.T, 1)):
        np.testing.assert_allclose(Reduction((axis,), "add")(jnp.asarray(array), jnp.float32(0)), wanted, rtol=5e-6)


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
    layout = replace(plan.layout(len(x), plan.depth), one_kernel=one_kernel)
    return str(to_stablehlo(plan.request(layout)))


def test_what_is_broadcast_more_than_once_is_computed_once():
    x, n = jnp.arange(48.0).reshape(16, 3) / 7, jnp.arange(16)
    assert is_one_kernel(chosen, x, n)
    text = module_of(chosen, x, n, one_kernel=True)
    assert text.count("call @held") == 1
    assert text.count("func.func private @held") == 1
    for got, wanted in zip(chosen(x, n), hb.batch(chosen.function, optimizations=THUNKS)(x, n), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_a_place_that_a_row_is_gathered_from_is_computed_once():
    """XLA computed it again for each number of the row."""

    @hb.batch(in_axes=(0, 0, None))
    def looked_up(places, n, table):
        total = jnp.zeros(5)
        while n > 0:
            total = jnp.tanh(total + table[places[n] % 7])
            n -= 1
        return total

    random = np.random.default_rng(0)
    places, n = jnp.asarray(random.integers(0, 90, (40, 9)), jnp.int32), jnp.arange(40) % 9
    table = jnp.asarray(random.standard_normal((7, 5)), jnp.float32)
    plan = looked_up.trace(places, n, table).plan
    text = str(to_stablehlo(plan.request(replace(plan.layout(40, plan.depth), one_kernel=True))))
    assert text.count("call @held") == 1
    wanted = hb.batch(looked_up.function, in_axes=(0, 0, None), optimizations=THUNKS)(places, n, table)
    np.testing.assert_allclose(looked_up(places, n, table), wanted, rtol=1e-6)


def test_lanes_are_in_front_of_long_rows_that_are_pushed():
    def sums(width):
        @hb.batch
        def total(x, n):
            if n <= 0:
                return x
            return total(x + 1, n - 1) * 0.5 + total(x * 0.5, n - 2) * x

        return total, jnp.arange(40.0 * width).reshape(40, width) / 1000, jnp.arange(40) % 7

    for width, axis in ((63, -1), (64, 0)):
        function, x, n = sums(width)
        plan = function.trace(x, n).plan
        assert plan.on_one_cpu(40, plan.depth).lane_axis == axis
        wanted = hb.batch(function.function, optimizations=THUNKS)(x, n)
        np.testing.assert_allclose(function(x, n), wanted, rtol=1e-5)


def test_what_is_dear_is_computed_once():
    """For numbers of 64 bits, XLA computed a sine again for each of the selects that follow from it."""

    @hb.batch
    def bisection(low, high, c):
        at_low, middle, i = jnp.sin(low) - c, low, 0
        while i < 50:
            middle = (low + high) / 2
            value = jnp.sin(middle) - c
            if abs(value) < 1e-9:
                return middle
            if value * at_low < 0:
                high = middle
            else:
                low, at_low = middle, value
            i += 1
        return middle

    with jax.enable_x64(True):
        c = jnp.linspace(-0.9, 0.9, 40)
        args = jnp.full(40, -1.5), jnp.full(40, 1.5), c
        assert is_one_kernel(bisection, *args)
        turns = 1 + dispatch.TURNS  # the loop is one block, which turns several times between two tests
        assert compiled_text(bisection, *args).count(" sine(") == 2 + turns  # two before it
        np.testing.assert_allclose(jnp.sin(bisection(*args)), c, atol=2e-9)


def test_nothing_is_held_in_several_kernels():
    x, n = jnp.arange(48.0).reshape(16, 3) / 7, jnp.arange(16)
    assert "@held" not in module_of(chosen, x, n, one_kernel=False)


def once_if(wanted, x):
    """A loop in which something is computed that does not change."""
    turns = jax.lax.while_loop(lambda s: s[0], lambda s: (s[1][0] > 0, jnp.tanh(x) * s[1]), (wanted, x))
    return turns[1]


@pytest.mark.parametrize("one_kernel", [False, True])
def test_loops_of_one_kernel_keep_what_does_not_change_in_them(one_kernel):
    options = _jax.compiler_options("cpu", _jax.Compilation(one_kernel=one_kernel))
    arguments = jnp.bool_(False), jnp.arange(1e4)
    text = jax.jit(once_if, compiler_options=options).lower(*arguments).compile().as_text()
    assert any("tanh" in instruction.line for instruction in inside_loops(text)) == one_kernel


@pytest.mark.parametrize("left_alone", [False, True])
def test_blocks_are_tied_to_loops_unless_those_are_left_alone(left_alone, monkeypatch):
    monkeypatch.setattr(primitive, "leaves_passes_out", lambda: left_alone)
    tied = []
    monkeypatch.setattr("hlobatch.lowering.turns.turn.tied", lambda part, *_, **__: tied.append(part) or part)
    function = looped(lambda x: jnp.tanh(x), dispatch="chain")
    assert is_one_kernel(function, *examples())
    assert bool(tied) != left_alone
    jax.jit(function).lower(*examples())
    assert tied, "in a user's own jax.jit, XLA does as it always does"


def test_a_block_of_very_many_operations_is_no_kernel(tmp_path: Path) -> None:
    """XLA's emitter goes from the last to the first by recursion, and ended the process at some thousands."""
    lines = "    s = s * 3 + i\n" * 501
    module = load(f"import hlobatch as hb\n\n@hb.batch\ndef f(s):\n    i = s + 1\n{lines}    return s\n", tmp_path)
    s = np.arange(3, dtype=np.int32)
    assert not module.f.trace(s).plan.fits_one_kernel(3)
    wanted = s
    for _ in range(501):
        wanted = wanted * np.int32(3) + (s + np.int32(1))
    assert module.f(s).tolist() == wanted.tolist()
