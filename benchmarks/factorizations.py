"""Factorizations in lanes and gangs against LAPACK in XLA's loop and `vmap`: `python -m benchmarks.factorizations`.

    python -m benchmarks.factorizations [--threads N] [--sizes 4,8,…] [--lanes 1,10,…] [factorization …]

Each lane goes through some turns of a loop, in each of which a matrix is factored. Runs are interleaved, and what is
printed is the median, in microseconds of the processor for each matrix, and of the clock in parentheses.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb
from benchmarks.kernels import timed

ROUNDS: Final = 5
TURNS: Final = 8
"""Most turns of a lane; others make half as many, so that lanes end at different times."""
LEAST_WORK: Final = 2_000_000
"""Elements of all matrices of a run, at least: less is repeated, so that it takes long enough to be timed."""


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
    """The same as plain JAX has it: a loop that all lanes run until the last is done."""

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
    """For each form, the microseconds that a matrix takes: of the processor, and of the clock."""
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


def numbers(text: str) -> list[int]:
    return [int(x) for x in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--sizes", type=numbers, default=[4, 8, 16, 32, 64])
    parser.add_argument("--lanes", type=numbers, default=[1, 10, 100, 1_000])
    parser.add_argument("factorizations", nargs="*", default=list(FACTORIZATIONS))
    options = parser.parse_args()
    for name in options.factorizations:
        for n in options.sizes:
            for lanes in options.lanes:
                found = measured(FACTORIZATIONS[name], n, lanes, options.threads)
                columns = "  ".join(f"{form} {cpu:.2f} ({wall:.2f})" for form, (cpu, wall) in found.items())
                print(f"{name} {n} x {n}, {lanes} lanes: {columns}", flush=True)


if __name__ == "__main__":
    main()
