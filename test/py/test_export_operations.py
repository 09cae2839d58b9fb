"""Every kind of operation is exported, for a batch of one size and of any, and the file gives the function's values.

StableHLO has some of these only as CHLO, and for some XLA calls a library; what is written down for other consumers is
of StableHLO alone.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import jax.scipy.special as jsp
import numpy as np
import pytest
from jax import lax, random

import hlobatch as hb
from hlobatch._jax import make_context, stablehlo

SIZE = 5


def elementwise(x):
    """Elementwise functions, of a number between 0 and 1."""
    return {
        "acosh": jnp.arccosh(x + 1),
        "asin": jnp.arcsin(x),
        "asinh": jnp.arcsinh(x),
        "atanh": jnp.arctanh(x),
        "bessel_i0e": lax.bessel_i0e(x),
        "bessel_i1e": lax.bessel_i1e(x),
        "betainc": jsp.betainc(x, x + 1, x),
        "bitcast": lax.bitcast_convert_type(x, jnp.int32),
        "cbrt": jnp.cbrt(x),
        "cosh": jnp.cosh(x),
        "digamma": jsp.digamma(x),
        "erf": jsp.erf(x),
        "erf_inv": jsp.erfinv(x),
        "erfc": jsp.erfc(x),
        "expi": jsp.expi(x),
        "expm1": jnp.expm1(x),
        "igamma": jsp.gammainc(x, x),
        "igammac": jsp.gammaincc(x, x),
        "lgamma": jsp.gammaln(x),
        "log1p": jnp.log1p(x),
        "log_ndtr": jsp.log_ndtr(x),
        "ndtri": jsp.ndtri(x),
        "nextafter": jnp.nextafter(x, 1.0),
        "polygamma": jsp.polygamma(1, x),
        "population_count": lax.population_count(lax.bitcast_convert_type(x, jnp.int32)),
        "reduce_precision": lax.reduce_precision(x, 5, 5),
        "sinc": jnp.sinc(x),
        "sinh": jnp.sinh(x),
        "spence": jsp.spence(x),
        "tan": jnp.tan(x),
        "zeta": jsp.zeta(x + 1.5, 1.0),
    }


def draws(key):
    return {
        "bernoulli": random.bernoulli(key),
        "beta": random.beta(key, 2.0, 3.0),
        "categorical": random.categorical(key, jnp.zeros(3)),
        "cauchy": random.cauchy(key),
        "exponential": random.exponential(key),
        "gamma": random.gamma(key, 2.0),
        "gumbel": random.gumbel(key),
        "laplace": random.laplace(key),
        "multivariate_normal": random.multivariate_normal(key, jnp.zeros(2), jnp.eye(2)),
        "normal": random.normal(key),
        "permutation": random.permutation(key, 4),
        "poisson": random.poisson(key, 2.0),
        "truncated_normal": random.truncated_normal(key, -1.0, 1.0),
        "uniform": random.uniform(key),
    }


def of_vectors(v):
    return {
        "approx_max_k": lax.approx_max_k(v, 2),
        "argmax": jnp.argmax(v),
        "argsort": jnp.argsort(v),
        "convolve": jnp.convolve(v, jnp.ones(3)),
        "cumlogsumexp": lax.cumlogsumexp(v),
        "cumsum": jnp.cumsum(v),
        "fft": jnp.fft.fft(v),
        "irfft": jnp.fft.irfft(v),
        "median": jnp.median(v),
        "reduce_window": lax.reduce_window(v, 0.0, lax.add, (2,), (1,), "SAME"),
        "rfft": jnp.fft.rfft(v),
        "searchsorted": jnp.searchsorted(jnp.arange(3.0), v),
        "segment_sum": jax.ops.segment_sum(v, jnp.array([0, 1, 0, 1]), 2),
        "sort": jnp.sort(v),
        "top_k": lax.top_k(v, 2),
    }


def of_matrices(a):
    """Functions of symmetric positive definite matrices."""
    v = a[0]
    return {
        "cholesky": jnp.linalg.cholesky(a),
        "cho_solve": jsl.cho_solve(jsl.cho_factor(a), v),
        "det": jnp.linalg.det(a),
        "eigh": jnp.linalg.eigh(a)[0],
        "eigvals": jnp.sort(jnp.linalg.eigvals(a).real),
        "expm": jsl.expm(a),
        "hessenberg": jsl.hessenberg(a),
        "inv": jnp.linalg.inv(a),
        "lstsq": jnp.linalg.lstsq(a, v)[0],
        "lu": jsl.lu(a)[2],
        "pinv": jnp.linalg.pinv(a),
        "qr": jnp.linalg.qr(a)[1],
        "schur": jnp.sort(jnp.diagonal(jsl.schur(a)[0])),
        "slogdet": jnp.linalg.slogdet(a)[1],
        "solve": jnp.linalg.solve(a, v),
        "svd": jnp.linalg.svd(a, compute_uv=False),
        "triangular_solve": jsl.solve_triangular(a, v),
        "tridiagonal_solve": lax.linalg.tridiagonal_solve(v, v + 9, v, v[:, None]),
    }


def arguments(kind: Callable[..., Any]) -> Any:
    chance = np.random.default_rng(0)
    x = jnp.asarray(chance.uniform(0.2, 0.8, (SIZE, 4, 4)), jnp.float32)
    given = {
        elementwise: x[:, 0, 0],
        draws: random.split(random.key(0), SIZE),
        of_vectors: x[:, 0],
        of_matrices: x @ jnp.swapaxes(x, 1, 2) + jnp.eye(4),
    }
    return given[kind]


@pytest.mark.parametrize("size", [SIZE, 0], ids=["of one size", "of any size"])
@pytest.mark.parametrize("kind", [elementwise, draws, of_vectors, of_matrices])
def test_every_kind_of_operation_is_exported(kind: Callable[..., Any], size: int, tmp_path: Path) -> None:
    x = arguments(kind)
    wanted = jax.jit(jax.vmap(kind))(x)
    artifact = hb.load(hb.export(hb.batch(kind), x[:size]).save(tmp_path / "f.hlob"))
    found = artifact.call(x)
    for name in wanted:
        for one, other in zip(*map(jax.tree.leaves, (found[name], wanted[name])), strict=True):
            np.testing.assert_allclose(one, other, rtol=3e-5, atol=3e-5, err_msg=name)
    module = stablehlo.deserialize_portable_artifact(make_context(), artifact.stablehlo)
    dialects = set(re.findall(r'^ *(?:%\S+ = )?"?([a-z]+)\.', str(module), re.MULTILINE))
    assert dialects == {"stablehlo", "func"}
