"""Factorizations as code of a lane and of a gang: their values and derivatives, and where they are chosen."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from own_code import checking, needs_llvm
from zoo import LOOP

import hlobatch as hb
from hlobatch.targets.lanes import LaneCosts

pytestmark = needs_llvm

FORMS = ("kernel", "gang")
SIZES = (1, 2, 3, 8, 17)
LANES = 5


def matrices(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(LANES, *shape))
    return (x + 1j * rng.normal(size=x.shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def positive(n: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    x = matrices((n, n), dtype)
    return (x @ x.conj().swapaxes(1, 2) + n * np.eye(n)).astype(dtype)


def turned(function: Any) -> Any:
    """A program with a loop, in each turn of which a function of a matrix is computed."""

    def run(a, turns):
        result = jax.tree.map(jnp.zeros_like, function(a))
        while turns > 0:
            result = function(a)
            turns = turns - 1
        return result

    return run


def in_lanes(function: Any, a: Any, dispatch: str) -> Any:
    return hb.batch(turned(function), dispatch=dispatch)(a, np.arange(len(a), dtype=np.int32) % 2 + 1)


def check(function: Any, a: np.ndarray[Any, Any], dispatch: str, steps: float = 1e3) -> None:
    """Assert that lanes give the values of plain JAX, integers exactly."""
    got, wanted = in_lanes(function, a, dispatch), jax.vmap(function)(a)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype
        if one.dtype.kind in "iu":
            np.testing.assert_array_equal(one, other)
        else:
            tolerance = steps * np.finfo(one.dtype).eps
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.abs(other).max(initial=1))


# Values


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dispatch", FORMS)
def test_systems(n: int, dispatch: str) -> None:
    """A Cholesky factor, that of LU with its pivots, and what is made of them, all in one program."""

    def everything(a):
        b = a + jnp.triu(a)[::-1] / 3
        return jnp.linalg.cholesky(a), jax.lax.linalg.lu(b), jnp.linalg.solve(b, a[0])

    a = positive(n)
    b = a + np.triu(a)[:, ::-1] / 3
    factor, (both, pivots, order), solved = jax.tree.map(np.asarray, in_lanes(everything, a, dispatch))
    lower, upper = np.tril(both, -1) + np.eye(n), np.triu(both)
    np.testing.assert_allclose(factor, np.linalg.cholesky(a), atol=1e-5 * n)
    np.testing.assert_allclose(lower @ upper, np.take_along_axis(b, order[..., None], axis=1), atol=1e-5 * n)
    np.testing.assert_allclose(np.einsum("lij,lj->li", b, solved), a[:, 0], atol=1e-4 * n)
    assert abs(lower).max() <= 1
    assert (order.dtype, pivots.dtype) == (np.int32, np.int32)
    assert np.asarray(jax.lax.linalg.lu_pivots_to_permutation(pivots, n)).tolist() == order.tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.complex64, np.complex128])
def test_other_numbers(dtype: Any) -> None:
    with jax.enable_x64(True):
        both = lambda a: (jnp.linalg.cholesky(a), jax.lax.linalg.lu(a - 3 * a.T))  # noqa: E731
        check(both, positive(5, dtype), "kernel")


@pytest.mark.parametrize("dispatch", FORMS)
def test_lu_of_other_shapes(dispatch: str) -> None:
    wide, tall = matrices((3, 5), np.float32), lambda a: jax.lax.linalg.lu(a.T)
    check(lambda a: (jax.lax.linalg.lu(a), tall(a), jax.lax.linalg.lu(a[:0, :0])), wide, dispatch)


@pytest.mark.parametrize("is_complex", [True, False])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("left_side", [True, False])
def test_triangular_systems(left_side: bool, count: int, is_complex: bool) -> None:
    """All ways to ask for one, against a general solver."""
    ways = list(itertools.product((False, True), repeat=4 if is_complex else 3))
    b = np.sin(np.arange(4.0 * count)).reshape(4, count)

    def solve(a):
        right = jnp.asarray(b, a.dtype)
        names = ("lower", "transpose_a", "unit_diagonal", "conjugate_a")
        options = [dict(zip(names, way, strict=False)) for way in ways]
        return [
            jax.lax.linalg.triangular_solve(a, right if left_side else right.T, left_side=left_side, **o)
            for o in options
        ]

    a = positive(4, np.complex64 if is_complex else np.float32) / 8
    found = in_lanes(solve, a, "kernel" if is_complex else "gang")
    for (lower, is_transposed, has_ones, *conjugates), x in zip(ways, found, strict=True):
        own = np.tril(a) if lower else np.triu(a)
        own = np.where(np.eye(4, dtype=bool) & has_ones, 1, own)
        own = own.conj() if any(conjugates) else own
        own = own.swapaxes(1, 2) if is_transposed else own
        rebuilt = own @ x if left_side else (np.asarray(x) @ own).swapaxes(1, 2)
        np.testing.assert_allclose(rebuilt, np.broadcast_to(b, rebuilt.shape), atol=1e-5)


@pytest.mark.parametrize("dispatch", FORMS)
def test_batches_of_matrices_in_a_lane(dispatch: str) -> None:
    def several(a):
        stack = jnp.stack([a, a.T * 2, a + 1])
        q, r = jnp.linalg.qr(stack)
        return jnp.linalg.cholesky(a @ a.T + jnp.eye(4) * jnp.abs(stack)), jnp.linalg.inv(stack), q @ r

    check(several, matrices((4, 4), np.float32), dispatch, steps=1e4)


@pytest.mark.parametrize("dispatch", FORMS)
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5)])
def test_qr(shape: tuple[int, int], dispatch: str) -> None:
    """LAPACK's own signs; a column that has zeros already is left as it is."""

    def factors(a):
        raw = jnp.linalg.qr(a, mode="raw")
        return jnp.linalg.qr(a), jnp.linalg.qr(a.at[1:, 0].set(0), mode="complete"), raw

    check(factors, matrices(shape, np.float32), dispatch)


@pytest.mark.parametrize("dispatch", FORMS)
@pytest.mark.parametrize("n", SIZES)
def test_eigenvectors(n: int, dispatch: str) -> None:
    a = matrices((n, n), np.float32)
    a += a.swapaxes(1, 2)
    values, vectors = in_lanes(jnp.linalg.eigh, a, dispatch)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=1e-6 * n)
    rebuilt = np.asarray(vectors) * np.asarray(values)[:, None] @ np.asarray(vectors).swapaxes(1, 2)
    np.testing.assert_allclose(rebuilt, a, atol=4e-6 * n)
    np.testing.assert_allclose(np.asarray(vectors).swapaxes(1, 2) @ vectors, [np.eye(n)] * LANES, atol=1e-6 * n)


@pytest.mark.parametrize("dispatch", FORMS)
def test_eigenvalues_that_are_the_same_or_zero(dispatch: str) -> None:
    with jax.enable_x64(True):
        u = matrices((4, 1), np.float64)
        for a in (u @ u.swapaxes(1, 2), np.zeros((LANES, 4, 4)), np.full((LANES, 3, 3), 1e-200), np.ones((3, 2, 2))):
            values, _ = in_lanes(jnp.linalg.eigh, a, dispatch)
            np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=1e-14 * abs(a).max(), rtol=1e-12)


# What cannot be factored


@pytest.mark.parametrize("dispatch", FORMS)
def test_what_cannot_be_factored(dispatch: str) -> None:
    """Lanes beside those with NaN have numbers; a matrix without an inverse has a determinant, which is zero."""

    def results(a):
        determinant = jnp.linalg.det(a)
        return jnp.linalg.cholesky(a), jnp.linalg.eigh(a)[0], jnp.linalg.inv(a), determinant, jnp.linalg.qr(a)[1]

    a = positive(3)
    a[0], a[1], a[2] = -np.eye(3), np.ones((3, 3)), 0
    a[3, 1, 1] = np.nan
    factor, eigenvalues, inverse, determinant, right = map(np.asarray, in_lanes(results, a, dispatch))
    assert np.isnan(factor[0][np.tril_indices(3)]).all()
    assert np.isnan(factor[2:4][:, *np.tril_indices(3)]).all()
    assert (factor[:, 0, 2] == 0).all()
    assert np.isnan(eigenvalues[3]).all()
    assert np.isnan(right[3]).any()
    assert np.isfinite(np.r_[eigenvalues[[0, 1, 2, 4]].ravel(), factor[4].ravel(), inverse[4].ravel()]).all()
    assert determinant[[0, 1, 2]].tolist() == [-1, 0, 0]
    assert not np.isfinite(inverse[1:4]).all(axis=(1, 2)).any()


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda a: jnp.linalg.eigh(a + 0j)[0], "`eigh` of complex64"),
        (lambda a: jnp.linalg.qr(a + 0j)[1], "`qr` of complex64 has no code"),
        (lambda a: jnp.linalg.svd(a)[1], "`svd` has no code"),
    ],
)
def test_what_has_no_code(function: Any, said: str) -> None:
    with pytest.raises(hb.KernelError, match=said):
        in_lanes(function, positive(2), "kernel")
    check(function, positive(2), "auto")


# In programs


def newton(x, scale):
    """Newton's method for two equations, with an early return where it has converged."""
    for turn in range(20):
        value = jnp.array([x[0] ** 2 + x[1] ** 2 - scale, x[0] - x[1] ** 3])
        if jnp.abs(value).max() < 1e-5:
            return x, turn
        slopes = jnp.array([[2 * x[0], 2 * x[1]], [1.0, -3 * x[1] ** 2]])
        x = x - jnp.linalg.solve(slopes, value)
    return x, -1


def updated(a, turns):
    """A factor of a matrix that grows in each turn, of which every other is large."""
    total = 0.0
    while turns > 0:
        factor = jnp.linalg.cholesky(a)
        if turns % 2 == 0:
            a = a + jnp.outer(factor[:, 0], factor[:, 0])
        total = total + jnp.log(jnp.diagonal(factor)).sum()
        turns = turns - 1
    return total, a


def only_sum(a, turns):
    return updated(a, turns)[0]


@pytest.mark.parametrize("dispatch", FORMS)
def test_control_flow_around_them(dispatch: str) -> None:
    scale = np.linspace(1, 9, LANES, dtype=np.float32)
    starts = np.tile(np.float32([2, 1]), (LANES, 1))
    with checking():
        (x, turns), sums = (
            hb.batch(newton, dispatch=dispatch)(starts, scale),
            hb.batch(updated, dispatch=dispatch)(positive(4), np.arange(LANES, dtype=np.int32)),
        )
    plain = [newton(jnp.asarray(start), s) for start, s in zip(starts, scale, strict=True)]
    assert turns.tolist() == [turn for _, turn in plain]
    np.testing.assert_allclose(x, [p for p, _ in plain], rtol=1e-5)
    wanted = [updated(jnp.asarray(a), n) for n, a in enumerate(positive(4))]
    for got, each in zip(sums, zip(*wanted, strict=True), strict=True):
        np.testing.assert_allclose(got, np.stack(each), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dispatch", FORMS)
def test_memory_is_kept_to(dispatch: str) -> None:
    def all_of_them(a):
        return jax.lax.linalg.lu(a), jnp.linalg.qr(a)[0], jnp.linalg.eigh(a)[0]

    with checking():
        check(all_of_them, positive(3), dispatch)


# Derivatives


def log_density(a: Any) -> Any:
    factor = jnp.linalg.cholesky(a)
    x = jsl.cho_solve((factor, True), a[0])
    return x @ a[0] + jnp.log(jnp.diagonal(factor)).sum() + jnp.linalg.slogdet(a)[1] + jnp.linalg.solve(a, a[1])[0]


@pytest.mark.parametrize("dispatch", FORMS)
def test_gradients_inside(dispatch: str) -> None:
    """JAX's rules for derivatives make products and triangular systems."""
    check(jax.grad(log_density), positive(5), dispatch, steps=1e4)
    check(jax.grad(lambda a: jnp.sin(jnp.linalg.qr(a)[0]).sum() + jnp.linalg.eigh(a)[0][0]), positive(3), dispatch, 1e4)


def test_gradients_of_a_program() -> None:
    a, turns = positive(3), np.arange(LANES, dtype=np.int32)
    options = {"dispatch": "kernel"}, {"optimizations": LOOP}
    gradients = [hb.value_and_grad(hb.batch(only_sum, **each))(a, turns)[1] for each in options]
    np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-5)


# What is chosen


def test_lanes_run_by_themselves_instead_of_calling_lapack() -> None:
    def form(function: Any, n: int, size: int) -> str:
        programs = hb.batch(turned(function)).trace(positive(n), np.ones(LANES, np.int32)).plan.programs
        verdict = LaneCosts().judge(programs.of_a_lane).of_batch(size)
        return "gang" if verdict.is_gang else "lane" if verdict.by_themselves else "loop"

    assert [form(log_density, 8, size) for size in (1, 5, 1_000)] == ["lane", "lane", "gang"]
    assert [form(log_density, n, 10) for n in (8, 16)] == ["gang", "lane"]
    assert [form(log_density, 50, size) for size in (1, 1_000)] == ["lane", "lane"]
    assert form(log_density, 200, 10) == "loop"
    assert form(lambda a: jnp.linalg.eigh(a)[0], 32, 10) == "loop"
