"""Factorizations in lanes and gangs against LAPACK in XLA's loop and `vmap`: `python -m benchmarks.factorizations`.

    python -m benchmarks.factorizations [--threads N] [--sizes 4,8,…] [--lanes 1,10,…] [factorization …]
    taskset -c 0 python -m benchmarks.factorizations --sampler

Each lane runs some turns of a loop, in each of which a matrix is factored. Runs are interleaved. The median of
processor time is printed, in microseconds for each matrix, with that of wall-clock time in parentheses. With 32 rows
or more, calls of LAPACK inside of loops may deadlock on several cores, in plain JAX, too; ``taskset -c 0`` restricts
the process to one. ``--sampler`` draws the three parameters of a Gaussian process of 50 points with 4 and 64
chains, and prints the seconds of processor time of a first call and of a later one, and the moments of the draws.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb
from benchmarks.kernels import timed
from hlobatch import mcmc

ROUNDS: Final = 5
TURNS: Final = 8
"""Turns of every second lane; the others make half as many, so that lanes end at different times."""
LEAST_WORK: Final = 2_000_000
"""A measure of the work of a timed run; smaller runs are repeated, so that they take long enough to be timed."""


def gaussian_process(a: Any) -> Any:
    """The log density of a Gaussian process without its constant: a Cholesky factor and two solves."""
    lower = jnp.linalg.cholesky(a)
    x = jax.scipy.linalg.cho_solve((lower, True), a[0])
    return -0.5 * x @ a[0] - jnp.log(jnp.diagonal(lower)).sum()


FACTORIZATIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "gaussian_process": gaussian_process,
    "gradient": lambda a: jax.grad(gaussian_process)(a).sum(),
    "cholesky": lambda a: jnp.linalg.cholesky(a)[-1, 0],
    "solve": lambda a: jnp.linalg.solve(a, a[0])[0],
    "inverse": lambda a: jnp.linalg.inv(a)[0, 0],
    "qr": lambda a: jnp.linalg.qr(a)[1][0, 0],
    "eigh": lambda a: jnp.linalg.eigh(a)[0][0],
}


def repeated(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(a, turns):  # type: ignore[no-untyped-def]
        total = 0.0
        while turns > 0:
            total = total + function(a + total * 1e-6)
            turns = turns - 1
        return total

    return run


def in_lockstep(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """The repeated function in plain JAX: a loop that all lanes run until the last one is done."""

    def run(a: Any, turns: Any) -> Any:
        def body(state: Any) -> Any:
            total, left = state
            return total + function(a + total * 1e-6), left - 1

        return jax.lax.while_loop(lambda state: state[1] > 0, body, (jnp.float32(0), turns))[0]

    return jax.jit(jax.vmap(run))


def positive_definite(lanes: int, n: int) -> Any:
    x = np.random.default_rng(0).normal(size=(lanes, n, n)).astype(np.float32)
    return jax.device_put(x @ x.swapaxes(1, 2) / n + np.eye(n, dtype=np.float32))


def measured(function: Callable[[Any], Any], n: int, lanes: int, threads: int | None) -> dict[str, tuple[float, float]]:
    """For each form, the microseconds per matrix: of processor time and of wall-clock time."""
    a = positive_definite(lanes, n)
    turns = np.where(np.arange(lanes) % 2, TURNS // 2, TURNS).astype(np.int32)
    matrices = int(turns.sum())
    repeats = max(1, LEAST_WORK // (matrices * n * n * 10))
    program, unaided = repeated(function), hb.Optimizations(kernels=False)
    forms = {
        "lane": hb.batch(program, dispatch="kernel", threads=threads),
        "gang": hb.batch(program, dispatch="gang", threads=threads),
        "loop": hb.batch(program, optimizations=unaided, threads=threads),
        "lockstep": in_lockstep(function),
        "chosen": hb.batch(program, threads=threads),
    }
    runs = {}
    for name, form in forms.items():
        try:
            jax.block_until_ready(form(a, turns))
            runs[name] = form
        except hb.KernelError:
            pass
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, form in runs.items():
            found[name].append(timed(lambda form=form: [form(a, turns) for _ in range(repeats)]))  # type: ignore[misc]
    per_matrix = 1e6 / (repeats * matrices)
    return {
        name: (statistics.median(t[1] for t in times) * per_matrix, statistics.median(t[0] for t in times) * per_matrix)
        for name, times in found.items()
    }


def process(points: int) -> Callable[[Any], Any]:
    """The log density of a Gaussian process with its data.

    It is a function of the logarithms of length scale, amplitude and noise.
    """
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, points))
    distances = (x[:, None] - x) ** 2
    y = np.linalg.cholesky(np.exp(-0.5 * distances / 1.2**2) + 0.09 * np.eye(points)) @ rng.normal(size=points)
    squares, seen, ones = jnp.asarray(distances), jnp.asarray(y), jnp.eye(points)

    def log_density(p: Any) -> Any:
        scale, amplitude, noise = jnp.exp(p)
        covariance = amplitude**2 * jnp.exp(-0.5 * squares / scale**2) + (noise**2 + 1e-4) * ones
        lower = jnp.linalg.cholesky(covariance)
        z = jax.scipy.linalg.solve_triangular(lower, seen, lower=True)
        return -0.5 * z @ z - jnp.log(jnp.diagonal(lower)).sum() - 0.5 * p @ p

    return log_density


def sampled(chains: int, form: str) -> str:
    """The time in which a kernel or XLA's loop samples the Gaussian process, and the moments of the draws."""
    kept = hb.Optimizations(few_lanes=False, kernels=form == "kernel")
    options = {"optimizations": kept, **({"dispatch": "kernel"} if form == "kernel" else {})}
    log_density, seconds, draws = process(50), [], []
    for seed in range(3):
        took: list[Any] = []

        def run(seed: int = seed, took: list[Any] = took) -> Any:
            key, lengths = jax.random.key(seed), {"num_warmup": 200, "num_samples": 200}
            took.append(
                mcmc.sample(log_density, jnp.zeros(3), key, chains=chains, pool=False, batch_options=options, **lengths)
            )
            return took[0].draws

        seconds.append(timed(run)[1])
        draws.append(np.asarray(took[0].draws).reshape(-1, 3))
    all_ = np.concatenate(draws)
    found = ", ".join(f"{m:.3f} ± {s:.3f}" for m, s in zip(all_.mean(0), all_.std(0), strict=True))
    return f"{chains} chains, {form}: first {seconds[0]:.2f} s, then {min(seconds[1:]):.2f} s; {found}"


def numbers(text: str) -> list[int]:
    return [int(x) for x in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--sizes", type=numbers, default=[4, 8, 16, 32, 64])
    parser.add_argument("--lanes", type=numbers, default=[1, 10, 100, 1_000])
    parser.add_argument("factorizations", nargs="*", default=list(FACTORIZATIONS))
    parser.add_argument("--sampler", action="store_true")
    options = parser.parse_args()
    if options.sampler:
        for chains, form in itertools.product((4, 64), ("kernel", "loop")):
            print(sampled(chains, form), flush=True)
        return
    for name in options.factorizations:
        for n in options.sizes:
            for lanes in options.lanes:
                found = measured(FACTORIZATIONS[name], n, lanes, options.threads)
                columns = "  ".join(f"{form} {cpu:.2f} ({wall:.2f})" for form, (cpu, wall) in found.items())
                print(f"{name} {n} x {n}, {lanes} lanes: {columns}", flush=True)


if __name__ == "__main__":
    main()
