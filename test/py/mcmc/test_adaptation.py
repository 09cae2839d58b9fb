"""Warm-up: windows as in Stan, moments of draws in pieces, and step sizes that reach the target acceptance."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlobatch import mcmc
from hlobatch.mcmc.metric import balanced, factor, no_moments, with_draws
from hlobatch.mcmc.step_size import adapted, begun, settled
from hlobatch.mcmc.windows import windows

# Runs are short.
pytestmark = pytest.mark.filterwarnings("ignore::hlobatch.mcmc.SamplingWarning")


@pytest.mark.parametrize(
    ("warmup", "ends"),
    [(1000, [100, 150, 250, 450, 950]), (500, [100, 150, 250, 450]), (150, [100]), (149, [135]), (20, [18]), (19, [])],
)
def test_windows(warmup: int, ends: list[int]) -> None:
    assert [window.end for window in windows(warmup)] == ends


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("pool", [True, False])
def test_moments_in_pieces(dense: bool, pool: bool) -> None:
    draws = np.random.default_rng(0).normal(size=(3, 40, 2)).astype(np.float32) * [1.0, 5.0] + [100.0, 0.0]
    counts = np.random.default_rng(1).random((3, 40)) < 0.7

    @jax.jit
    def in_pieces(draws: jax.Array, counts: jax.Array) -> jax.Array:
        moments = no_moments(3, 2, dense=dense, pool=pool, dtype=jnp.float32)
        for piece in (slice(0, 0), slice(0, 10), slice(10, 11), slice(11, 40)):
            moments = with_draws(moments, draws[:, piece], counts[:, piece])
        return factor(moments)

    found = in_pieces(jnp.asarray(draws, jnp.float32), jnp.asarray(counts))
    groups = [draws[counts]] if pool else [draws[c][counts[c]] for c in range(3)]
    for number, group in enumerate(groups):
        n = len(group)
        expected = n / (n + 5) * np.cov(group.T) + 1e-3 * 5 / (n + 5) * np.eye(2)
        scale = np.asarray(found if pool else found[number])
        got = scale @ scale.T if dense else scale**2
        np.testing.assert_allclose(got, expected if dense else np.diag(expected), rtol=2e-3)


@pytest.mark.parametrize("wanted", [0.6, 0.8, 0.95])
def test_dual_averaging(wanted: float) -> None:
    """Dual averaging for draws that are accepted with probability `exp(-step)`."""

    def one(step: object, _: None) -> tuple[object, None]:
        return adapted(step, jnp.exp(-jnp.exp(step.log_step)), jnp.float32(wanted)), None  # type: ignore[attr-defined,arg-type]

    step, _ = jax.lax.scan(one, begun(jnp.float32(0.0)), length=500)
    assert abs(float(jnp.exp(-jnp.exp(settled(step, pool=False).log_step))) - wanted) < 0.02


def test_no_draws_keep_the_first_step() -> None:
    assert float(settled(begun(jnp.float32(-1.5)), pool=False).log_step) == -1.5


@pytest.mark.parametrize(
    ("draws", "spread", "alike"), [(50, 0.1, True), (50, 0.4, False), (10, 0.25, True), (0, 0.5, True)]
)
def test_step_sizes_are_shared_if_they_are_alike(draws: int, spread: float, alike: bool) -> None:
    log_steps = jnp.linspace(-1.0, 1.0, 9) * spread / np.linspace(-1.0, 1.0, 9).std() - 3.0
    steps = jax.vmap(begun)(log_steps)._replace(draws=jnp.full(9, draws))
    found = settled(steps._replace(log_average=log_steps), pool=True).log_step
    np.testing.assert_allclose(found, jnp.full(9, -3.0) if alike else log_steps, rtol=1e-6)


@pytest.mark.slow
def test_a_funnel_has_few_divergences_where_chains_learn_together() -> None:
    """Neal's funnel: in its neck a step has to be a hundredth of what it may be elsewhere."""

    def funnel(p: dict[str, jax.Array]) -> jax.Array:
        width = jnp.exp(p["v"] / 2)
        return -0.5 * (p["v"] / 3.0) ** 2 - 0.5 * jnp.sum((p["x"] / width) ** 2) - 9 * jnp.log(width)

    found = mcmc.sample(
        funnel, {"v": 0.0, "x": jnp.zeros(9)}, jax.random.key(1), chains=64, num_warmup=300, num_samples=300, pool=True
    )
    assert found.stats["diverging"].mean() < 0.02
    assert np.unique(found.step_size).size == 64


def test_the_metric_of_a_normal_balances_variances_and_precisions() -> None:
    """Of draws as many as settle it, and of the gradients there."""
    covariance = np.array([[1.0, 1.8], [1.8, 4.0]])
    precision = np.linalg.inv(covariance)
    draws = np.random.default_rng(0).multivariate_normal([3.0, -5.0], covariance, (4, 20_000))
    both = np.concatenate([draws, -(draws - [3.0, -5.0]) @ precision], axis=-1)
    for pool in (True, False):
        moments = no_moments(4, 4, dense=False, pool=pool, dtype=jnp.float32)
        found = balanced(with_draws(moments, jnp.asarray(both, jnp.float32), jnp.ones((4, 20_000), bool)))
        expected = (np.diag(covariance) / np.diag(precision)) ** 0.25
        np.testing.assert_allclose(found, expected if pool else [expected] * 4, rtol=0.02)


@pytest.mark.parametrize(
    ("pool", "gradients"),
    [(True, True), *(pytest.param(pool, False, marks=pytest.mark.slow) for pool in (True, False))],
)
def test_it_learns_scales(pool: bool, gradients: bool) -> None:
    """Scales of a hundredth to a hundred take no more steps than if they were all 1."""
    scales = jnp.array([0.01, 1.0, 100.0])
    result = mcmc.sample(
        lambda x: -0.5 * jnp.sum((x / scales) ** 2),
        jnp.zeros(3),
        jax.random.key(3),
        chains=16,
        pool=pool,
        gradients=gradients,
        num_warmup=300,
        num_samples=100,
    )
    assert result.draws.shape == (16, 100, 3)
    np.testing.assert_allclose(result.draws.std(axis=(0, 1)), scales, rtol=0.2)
    assert result.stats["n_steps"].mean() < 8
    assert result.state.scale.shape == ((3,) if pool else (16, 3))
    assert np.unique(result.step_size).size == (1 if pool else 16)
