"""Densities to sample from, each with the truth about it.

A target holds the log density of one position, up to a constant, as a function of
`Float[Array, "dim"]`, and values to compare draws with: moments in closed form, moments by
quadrature, or the coefficients that the data were simulated from.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

LogDensity = Callable[[Array], Array]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution.

    Attributes:
        log_density: of one position.
        mean: `Float[ndarray, "dim"]`.
        covariance: `Float[ndarray, "dim dim"]`.
    """

    log_density: LogDensity
    mean: Floats
    covariance: Floats


@dataclass(frozen=True)
class Posterior:
    """A posterior whose moments are known from quadrature.

    Attributes:
        log_density: of one position.
        names: of the coordinates, in order.
        mean: `Float[ndarray, "dim"]`, posterior means.
        sd: `Float[ndarray, "dim"]`, posterior standard deviations.
    """

    log_density: LogDensity
    names: tuple[str, ...]
    mean: Floats
    sd: Floats


@dataclass(frozen=True)
class LogisticRegression:
    """A posterior whose data were simulated.

    Attributes:
        log_density: of one vector of coefficients.
        coefficients: `Float[ndarray, "dim"]`, those behind the data.
        regressors: `Float[ndarray, "num_data dim"]`.
        outcomes: `Bool[ndarray, "num_data"]`.
    """

    log_density: LogDensity
    coefficients: Floats
    regressors: Floats
    outcomes: NDArray[np.bool_]


def ar1_covariance(dim: int, correlation: float) -> Floats:
    """Returns the covariance of a stationary autoregression of unit variance.

    Args:
        dim: number of coordinates.
        correlation: of neighbors, in (-1, 1); the condition number is about
            `((1 + correlation) / (1 - correlation)) ** 2`.
    """
    index = np.arange(dim)
    return correlation ** np.abs(index[:, None] - index).astype(np.float64)


def wishart_covariance(dim: int, degrees: int, seed: int = 0) -> Floats:
    """Returns the inverse of a Wishart-distributed precision of mean 1.

    Args:
        dim: number of coordinates.
        degrees: of freedom, at least `dim`; with `dim` of them the precision is badly conditioned,
            as in Hoffman and Gelman 2014, section 4.1.
        seed: of the precision.
    """
    factor = np.random.default_rng(seed).normal(size=(degrees, dim))
    return np.linalg.inv(factor.T @ factor / degrees)


def correlated_gaussian(covariance: Floats) -> Gaussian:
    """Returns the normal distribution of mean 0 (Radul et al. 2020, section 4.2, with 100 of them).

    Example:
        >>> target = correlated_gaussian(ar1_covariance(dim=3, correlation=0.5))
        >>> jax.grad(target.log_density)(jnp.array([3.0, 0.0, 0.0])).round(3)
        Array([-4.,  2., -0.], dtype=float32)
    """
    precision = jnp.asarray(np.linalg.inv(covariance), jnp.float32)

    # Differentiated as it stands, the quadratic form multiplies by the precision and by its
    # transpose. They are the same matrix, so the value and the gradient can share one product.
    @jax.custom_jvp
    def log_density(position: Array) -> Array:
        return -0.5 * position @ (position @ precision)

    @log_density.defjvp
    def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        (position,), (tangent,) = primals, tangents
        gradient = -(position @ precision)
        return 0.5 * position @ gradient, tangent @ gradient

    return Gaussian(log_density, np.zeros(len(covariance)), covariance)


EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
"""Estimated effect of coaching in each of eight schools, in points (Rubin 1981, table 1)."""

EFFECT_SD = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
"""Standard error of each `EFFECT`, in points."""

PRIOR_SCALE = 5.0
"""Scale of the priors of eight schools, in points."""


def eight_schools() -> Posterior:
    """Returns the eight schools, with effects that are not centered at their mean.

    With `mu ~ Normal(0, 5)`, `tau ~ HalfCauchy(0, 5)` and `eta[j] ~ Normal(0, 1)`, the data are
    `EFFECT[j] ~ Normal(mu + tau * eta[j], EFFECT_SD[j])`. The coordinates are `mu`, `log tau` and
    the eight `eta`; the density contains the Jacobian of the logarithm. The same model is
    `eight_schools_noncentered` in posteriordb.

    Example:
        >>> target = eight_schools()
        >>> for name, mean, sd in zip(target.names[:3], target.mean, target.sd):
        ...     print(f"{name:7} {mean:.6f} {sd:.6f}")
        mu      4.396821 3.317704
        log_tau 0.802139 1.171226
        eta[0]  0.316660 0.988475

    Reference:
        Rubin, "Estimation in parallel randomized experiments", Journal of Educational
        Statistics 6, 1981.
    """
    effect, effect_sd = jnp.asarray(EFFECT, jnp.float32), jnp.asarray(EFFECT_SD, jnp.float32)

    def log_density(position: Array) -> Array:
        mu, log_tau, eta = position[0], position[1], position[2:]
        tau = jnp.exp(log_tau)
        log_prior = -0.5 * (mu / PRIOR_SCALE) ** 2 - 0.5 * eta @ eta
        log_prior += log_tau - jnp.log1p((tau / PRIOR_SCALE) ** 2)
        residual = (effect - mu - tau * eta) / effect_sd
        return log_prior - 0.5 * residual @ residual

    names = ("mu", "log_tau", *(f"eta[{school}]" for school in range(len(EFFECT))))
    return Posterior(log_density, names, *eight_schools_moments())


def eight_schools_moments(num_nodes: int = 1001) -> tuple[Floats, Floats]:
    """Returns posterior means and standard deviations of `eight_schools`, by quadrature.

    Given `tau` all is normal: `mu` after `eta` is integrated out, and `eta[j]` given `mu`. What is
    left is one integral over `u = log tau`, whose integrand decays exponentially at both sides, so
    that the plain sum over equidistant nodes converges faster than any power of their distance.

    Args:
        num_nodes: of the sum. 201 nodes and 20,001 agree to 9 digits.
    """
    tau = np.exp(np.linspace(-30.0, 15.0, num_nodes))[:, None]
    precision = 1.0 / (EFFECT_SD**2 + tau**2)  # of EFFECT[j] given mu and tau
    mu_var = 1.0 / (PRIOR_SCALE**-2 + precision.sum(axis=1))
    mu_mean = mu_var * (precision @ EFFECT)
    log_marginal = 0.5 * (np.log(precision).sum(axis=1) + np.log(mu_var) + mu_mean**2 / mu_var)
    log_marginal -= 0.5 * (precision @ EFFECT**2)
    log_tau = np.log(tau[:, 0])
    log_weight = log_marginal + log_tau - np.log1p((tau[:, 0] / PRIOR_SCALE) ** 2)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()

    gain = tau * precision  # of eta[j] by EFFECT[j] - mu
    eta_mean = gain * (EFFECT - mu_mean[:, None])
    eta_var = EFFECT_SD**2 * precision + gain**2 * mu_var[:, None]
    means = np.column_stack([mu_mean, log_tau, eta_mean])
    variances = np.column_stack([mu_var, np.zeros(num_nodes), eta_var])
    mean = weight @ means
    return mean, np.sqrt(weight @ (variances + (means - mean) ** 2))


def logistic_regression(
    num_data: int = 10_000,
    dim: int = 100,
    *,
    correlation: float = 0.0,
    signal: float = 2.0,
    seed: int = 0,
) -> LogisticRegression:
    """Returns a Bayesian logistic regression on simulated data (Radul et al. 2020, section 4.1).

    Regressors are normal of unit variance, coefficients have independent standard normal priors. A
    gradient costs two products with the matrix of regressors.

    Args:
        num_data: data points.
        dim: regressors.
        correlation: of neighboring regressors. The more, the longer the trajectories, and the more
            their lengths differ between chains.
        signal: standard deviation of the logits if regressors were independent.
        seed: of the data.
    """
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(ar1_covariance(dim, correlation))
    regressors = rng.normal(size=(num_data, dim)) @ root.T
    coefficients = signal / np.sqrt(dim) * rng.normal(size=dim)
    outcomes = rng.random(num_data) < 1.0 / (1.0 + np.exp(-regressors @ coefficients))
    # The sign of an outcome moves into its row: what is left is the log_sigmoid of one product. The
    # position stands on the left, so that a batch of positions leads the batch of logits too.
    signed = jnp.asarray(np.where(outcomes[:, None], regressors, -regressors), jnp.float32)

    def log_density(position: Array) -> Array:
        return jnp.sum(log_sigmoid(position @ signed.T)) - 0.5 * position @ position

    return LogisticRegression(log_density, coefficients, regressors, outcomes)


@jax.custom_jvp
def log_sigmoid(logit: Array) -> Array:
    """Returns `log(1 / (1 + exp(-logit)))` without overflow, with a derivative of one exponential.

    The derivative of `jax.nn.log_sigmoid` takes two more exponentials, which for 100 chains of
    `logistic_regression` is a quarter of the time of a gradient.
    """
    return jnp.minimum(logit, 0.0) - jnp.log1p(jnp.exp(-jnp.abs(logit)))


@log_sigmoid.defjvp
def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (logit,), (tangent,) = primals, tangents
    return log_sigmoid(logit), tangent * jax.nn.sigmoid(-logit)
