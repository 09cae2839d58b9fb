"""The No-U-Turn Sampler of ``examples/nuts.py``: does it sample what it should, in every way of running it?

Moments are tested with chains as independent replicates: each chain gives one estimate of a moment, and the mean of the
estimates over chains, divided by its standard error, is compared with Student's t. False-alarm rate: the threshold is
the two-sided quantile at ``ALARM_RATE`` over the number of moments tested (Bonferroni), so that a correct sampler fails
a test with probability at most ``ALARM_RATE`` over the choice of seed. Seeds are fixed.
"""

from functools import cache
from statistics import NormalDist

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counted_calls import counted_calls

import hlobatch as hb
from examples import nuts, targets
from hlobatch.virtual_machine import XlaBackend

ALARM_RATE = 1e-6


def threshold(moments: int) -> float:
    """Quantile for ``moments`` simultaneous tests; with 256 replicates Student's t is within 3 % of normal."""
    return 1.03 * NormalDist().inv_cdf(1 - ALARM_RATE / moments / 2)


def deviations(estimates: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Standard errors between the mean of ``estimates[chains, ...]`` and the truth."""
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    return np.abs(estimates.mean(axis=0) - truth) / error


def start(log_density: targets.LogDensity, positions: jax.Array, seed: int = 0) -> nuts.Chain:
    keys = jax.random.split(jax.random.key(seed), len(positions))
    return jax.vmap(nuts.start_chain, (None, 0, 0))(log_density, keys, positions)


@cache
def gaussian() -> targets.Gaussian:
    return targets.correlated_gaussian(targets.wishart_covariance(10, degrees=20, seed=3))


@pytest.mark.parametrize(
    ("dispatch", "lanes"),
    [("auto", None), *(pytest.param(*slow, marks=pytest.mark.slow) for slow in (("sweep", None), ("auto", 64)))],
)
def test_gaussian_moments(dispatch: str, lanes: int | None) -> None:
    """Means and covariance of a correlated Gaussian; chains start from the target itself."""
    target, chains = gaussian(), 256
    exact = np.random.default_rng(1).multivariate_normal(target.mean, target.covariance, size=chains)
    sample = nuts.make_nuts(target.log_density, step_size=0.25, num_draws=60, max_depth=6)
    batched = hb.batch(sample.__hlobatch_function__, dispatch=dispatch, lanes=lanes)
    _, draws = batched(start(target.log_density, jnp.asarray(exact, jnp.float32)))
    draws = np.asarray(draws, np.float64) - target.mean
    upper = np.triu_indices(draws.shape[-1])
    products = np.einsum("cni,cnj->cij", draws, draws)[:, *upper] / draws.shape[1]
    limit = threshold(10 + len(upper[0]))
    assert deviations(draws.mean(axis=1), np.zeros(10)).max() < limit
    assert deviations(products, target.covariance[upper]).max() < limit


@pytest.mark.slow
def test_eight_schools_moments() -> None:
    """Means and variances of the non-centred eight-schools posterior, against quadrature; 100 draws are discarded."""
    target, chains = targets.eight_schools(), 256
    noise = np.random.default_rng(2).normal(size=(chains, len(target.mean)))
    positions = jnp.asarray(target.mean + target.sd * noise, jnp.float32)
    sample = nuts.make_nuts(target.log_density, step_size=0.35, num_draws=100, max_depth=6)
    settled, _ = sample(start(target.log_density, positions))
    _, draws = sample(settled)
    centred = np.asarray(draws, np.float64) - target.mean
    limit = threshold(2 * len(target.mean))
    assert deviations(centred.mean(axis=1), np.zeros(len(target.mean))).max() < limit
    assert deviations((centred**2).mean(axis=1), target.sd**2).max() < limit


@cache
def few_draws() -> tuple[hb.BatchedFunction, nuts.Chain]:
    target = gaussian()
    positions = jax.random.normal(jax.random.key(5), (5, 10))
    sample = nuts.make_nuts(target.log_density, step_size=0.25, num_draws=3, max_depth=5)
    return sample, start(target.log_density, positions)


@pytest.mark.slow
def test_same_draws_stackless_and_compiled() -> None:
    """The same keys give the same first draws, whichever of the paper's algorithms runs them."""
    sample, chains = few_draws()
    _, compiled = sample(chains)
    traced = sample.trace(chains)
    ((_, stackless),) = hb.stackless.execute(traced.program, XlaBackend(), None, chains)
    ((_, virtual),) = hb.virtual_machine.execute(traced.lowered_program, [chains], 8, XlaBackend())
    np.testing.assert_allclose(stackless, compiled, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(virtual, compiled, rtol=2e-3, atol=2e-3)


def test_draws_do_not_depend_on_batch_mates() -> None:
    """A chain by itself draws what it draws among others, and so does each chain if the others change."""
    sample, chains = few_draws()
    _, together = sample(chains)
    alone = [sample(jax.tree.map(lambda x, i=i: x[i : i + 1], chains))[1][0] for i in range(5)]
    np.testing.assert_allclose(np.stack(alone), together, rtol=2e-3, atol=2e-3)
    reversed_chains = jax.tree.map(lambda x: x[::-1], chains)
    np.testing.assert_allclose(sample(reversed_chains)[1][::-1], together, rtol=2e-3, atol=2e-3)


@pytest.mark.slow
def test_single_example_python_draws_the_same() -> None:
    """The plain Python that was batched, on one chain, is the reference."""
    sample, chains = few_draws()
    _, together = sample(chains)
    with hb.disable_batching():
        _, draws = sample(jax.tree.map(lambda x: x[0], chains))
    np.testing.assert_allclose(draws, together[0], rtol=2e-3, atol=2e-3)


def test_little_lives_across_the_recursion() -> None:
    """``build_tree`` keeps on stacks where its loop stands and ends, and two momenta of half a subtree."""
    sample, chains = few_draws()
    program = sample.trace(chains).lowered_program
    full = {name for name, kind in program.var_alloc.items() if kind is hb.VariableAllocation.FULL}
    momenta = {"build_tree.near:first_momentum", "build_tree.near:momentum_sum"}
    assert full == {"build_tree.depth", "build_tree.$turns5", "build_tree.$return", *momenta}


def test_each_segment_is_traced_once() -> None:
    """The user's Python runs once per straight-line segment: here, once per helper that a segment calls."""
    helpers = (nuts.set_out, nuts.choose_end, nuts.grow, nuts.join, nuts.draw_noise, nuts.count)
    target = gaussian()
    sample = nuts.make_nuts(target.log_density, step_size=0.25, num_draws=2, max_depth=4)
    chains = start(target.log_density, jnp.ones((3, 10)))
    with counted_calls(*helpers) as calls:
        sample.trace(chains).lower().as_text()
        sample(chains)
    assert calls == {helper.__name__: 1 for helper in helpers}
