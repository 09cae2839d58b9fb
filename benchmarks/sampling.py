"""`python -m benchmarks.sampling`: effective draws per second of whole runs, warm-up and compilation included.

Each run is a process of its own, so that each compiles; libraries take turns, so that other load on the machine affects
all of them. A run is made twice in its process: the second one does not compile if the library keeps compiled code. A
first run that takes long has no second one, and one that exceeds a limit of processor time is ended. All
get the same log densities, starts and numbers of draws, and adapt by their own defaults: a diagonal metric, and a step
size for an acceptance of 0.8. Besides wall-clock time, processor time is measured, which is more reliable if other
programs run on the machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from benchmarks import results
from benchmarks.measure import Row


@dataclass(frozen=True)
class Target:
    """A distribution to sample, of an unconstrained vector.

    Attributes:
        log_density: The log density of a position.
        dim: The number of elements of a position.
    """

    log_density: Callable[[Any], Any]
    dim: int


def eight_schools() -> Target:
    """Eight schools, in the non-centered form: mean, logarithm of the scale, eight effects."""
    y = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def log_density(x: Any) -> Any:
        mu, log_tau, eta = x[0], x[1], x[2:]
        tau = jnp.exp(log_tau)
        prior = norm.logpdf(mu, 0, 5) - jnp.log1p((tau / 5) ** 2) + log_tau + norm.logpdf(eta).sum()
        return prior + norm.logpdf(y, mu + tau * eta, sigma).sum()

    return Target(log_density, 10)


def radon() -> Target:
    """400 synthetic measurements in 40 counties with different levels and one slope, like radon in Minnesota."""
    rng = np.random.default_rng(0)
    county, floor = rng.integers(0, 40, 400), rng.integers(0, 2, 400).astype(np.float32)
    levels = rng.normal(1.4, 0.4, 40)
    y = jnp.asarray(levels[county] - 0.7 * floor + rng.normal(0, 0.7, 400), jnp.float32)

    def log_density(x: Any) -> Any:
        mu, log_tau, slope, log_sigma, z = x[0], x[1], x[2], x[3], x[4:]
        tau, sigma = jnp.exp(log_tau), jnp.exp(log_sigma)
        prior = norm.logpdf(mu, 0, 5) + norm.logpdf(slope) + norm.logpdf(z).sum()
        prior += log_tau - jnp.log1p(tau**2) + log_sigma - jnp.log1p(sigma**2)
        return prior + norm.logpdf(y, (mu + tau * z)[county] + slope * floor, sigma).sum()

    return Target(log_density, 44)


def logistic() -> Target:
    """A logistic regression of 1,000 outcomes on 25 regressors, of which neighbors are correlated."""
    rng = np.random.default_rng(1)
    index = np.arange(25)
    root = np.linalg.cholesky(0.8 ** np.abs(index[:, None] - index))
    regressors = rng.normal(size=(1_000, 25)) @ root.T
    outcomes = rng.random(1_000) < 1 / (1 + np.exp(-regressors @ rng.normal(size=25) * 0.5))
    signed = jnp.asarray(np.where(outcomes, 1.0, -1.0)[:, None] * regressors, jnp.float32)

    def log_density(x: Any) -> Any:
        return norm.logpdf(x).sum() + jax.nn.log_sigmoid(signed @ x).sum()

    return Target(log_density, 25)


def gaussian() -> Target:
    """100 independent normals, of standard deviations from 0.3 to 3."""
    variances = jnp.asarray(np.logspace(-1, 1, 100), jnp.float32)
    return Target(lambda x: -0.5 * jnp.sum(x**2 / variances), 100)


def mixture() -> Target:
    """A mixture of two normals with ordered means, for 300 numbers."""
    rng = np.random.default_rng(2)
    y = jnp.asarray(np.where(rng.random(300) < 0.3, rng.normal(-1, 0.7, 300), rng.normal(1.5, 1, 300)), jnp.float32)

    def log_density(x: Any) -> Any:
        low, log_gap, log_sigmas, logit = x[0], x[1], x[2:4], x[4]
        means, sigmas = jnp.stack([low, low + jnp.exp(log_gap)]), jnp.exp(log_sigmas)
        prior = norm.logpdf(means, 0, 5).sum() + log_gap + norm.logpdf(log_sigmas).sum()
        prior += jax.nn.log_sigmoid(logit) + jax.nn.log_sigmoid(-logit)
        first = jax.nn.log_sigmoid(-logit) + norm.logpdf(y, means[0], sigmas[0])
        second = jax.nn.log_sigmoid(logit) + norm.logpdf(y, means[1], sigmas[1])
        return prior + jnp.logaddexp(first, second).sum()

    return Target(log_density, 5)


def volatility() -> Target:
    """Stochastic volatility of 50 days, in the non-centered form: level, persistence, scale, innovations."""
    rng = np.random.default_rng(3)
    h = np.zeros(50)
    for day in range(1, 50):
        h[day] = 0.95 * h[day - 1] + 0.25 * rng.normal()
    y = jnp.asarray(np.exp(0.5 * h - 0.5) * rng.normal(size=50), jnp.float32)

    def log_density(x: Any) -> Any:
        level, persistence, log_scale, innovations = x[0], jnp.tanh(x[1]), x[2], x[3:]
        day = lambda before, new: 2 * (persistence * before + new,)  # noqa: E731
        h = level + jnp.exp(log_scale) * jax.lax.scan(day, jnp.zeros(()), innovations)[1]
        prior = norm.logpdf(level, 0, 5) + norm.logpdf(x[1], 1.5, 0.5) + norm.logpdf(log_scale, -1.5, 0.5)
        return prior + norm.logpdf(innovations).sum() + norm.logpdf(y, 0, jnp.exp(0.5 * h)).sum()

    return Target(log_density, 53)


TARGETS: Final = {
    "eight_schools": eight_schools,
    "radon": radon,
    "logistic": logistic,
    "gaussian": gaussian,
    "mixture": mixture,
    "volatility": volatility,
}

TIMES: Final = ("seconds", "seconds_again", "processor", "processor_again")
"""The times of a run with and without compilation: wall-clock time, and processor time of all cores."""

Sampler = Callable[[int], tuple[Any, Any]]
"""A seed -> draws, `[chains, draws, dim]`, and leapfrog steps, `[chains, draws]`."""


def hlobatch(target: Target, starts: Any, warmup: int, draws: int) -> Sampler:
    """`mcmc.sample` of hlobatch with its defaults."""
    from hlobatch import mcmc

    def run(seed: int) -> tuple[Any, Any]:
        key = jax.random.key(seed)
        found = mcmc.sample(target.log_density, starts, key, num_warmup=warmup, num_samples=draws, progress=False)
        return found.draws, found.stats["n_steps"]

    return run


def numpyro(target: Target, starts: Any, warmup: int, draws: int, method: str = "vectorized") -> Sampler:
    """NUTS of numpyro on the same potential."""
    from numpyro.infer import MCMC, NUTS

    kernel = NUTS(potential_fn=lambda x: -target.log_density(x))
    chains = len(starts)
    sampler = MCMC(
        kernel, num_warmup=warmup, num_samples=draws, num_chains=chains, chain_method=method, progress_bar=False
    )

    def run(seed: int) -> tuple[Any, Any]:
        sampler.run(jax.random.key(seed), init_params=starts, extra_fields=("num_steps",))
        extra = sampler.get_extra_fields(group_by_chain=True)
        return sampler.get_samples(group_by_chain=True), extra["num_steps"]

    return run


def numpyro_parallel(target: Target, starts: Any, warmup: int, draws: int) -> Sampler:
    """NUTS of numpyro with a device for each chain; `main` makes that many devices before JAX starts."""
    return numpyro(target, starts, warmup, draws, "parallel")


def blackjax(target: Target, starts: Any, warmup: int, draws: int) -> Sampler:
    """Window adaptation and NUTS of blackjax, under `vmap`."""
    import blackjax

    def one(key: Any, start: Any) -> Any:
        adapt, sample = jax.random.split(key)
        adaptation = blackjax.window_adaptation(blackjax.nuts, target.log_density)
        (state, parameters), _ = adaptation.run(adapt, start, warmup)
        step = blackjax.nuts(target.log_density, **parameters).step

        def draw(state: Any, key: Any) -> Any:
            state, info = step(key, state)
            return state, (state.position, info.num_integration_steps)

        return jax.lax.scan(draw, state, jax.random.split(sample, draws))[1]

    program = jax.jit(jax.vmap(one))
    return lambda seed: program(jax.random.split(jax.random.key(seed), len(starts)), starts)


def tfp(target: Target, starts: Any, warmup: int, draws: int) -> Sampler:
    """TFP's NUTS with dual averaging of the step size; it adapts no metric for log densities."""
    from tensorflow_probability.substrates import jax as probability

    kernel = probability.mcmc.DualAveragingStepSizeAdaptation(
        probability.mcmc.NoUTurnSampler(jax.vmap(target.log_density), step_size=jnp.full((len(starts), 1), 0.1)),
        num_adaptation_steps=int(0.8 * warmup),
        target_accept_prob=0.8,
    )

    @jax.jit
    def program(key: Any) -> Any:
        found, steps = probability.mcmc.sample_chain(
            draws,
            starts,
            kernel=kernel,
            num_burnin_steps=warmup,
            trace_fn=lambda _, results: results.inner_results.leapfrogs_taken,
            seed=key,
        )
        return found.swapaxes(0, 1), steps.T

    return lambda seed: program(jax.random.PRNGKey(seed))


def nutpie(target: Target, starts: Any, warmup: int, draws: int) -> Sampler:
    """NUTS of nutpie, a thread for each core, which calls the density and its gradient from Python, jitted by JAX.

    It chooses the starts itself, from the same distribution as those of the others.
    """
    import nutpie as library  # type: ignore[import-not-found,import-untyped,unused-ignore]

    value_and_grad = jax.jit(jax.value_and_grad(target.log_density))

    def of_position(x: Any) -> tuple[float, Any]:
        value, gradient = value_and_grad(x.astype(np.float32))
        return float(value), np.asarray(gradient, np.float64)

    model = library.compiled_pyfunc.from_pyfunc(
        ndim=target.dim,
        make_logp_fn=lambda: of_position,
        make_expand_fn=lambda *_: lambda x: {"x": x},
        expanded_dtypes=[np.dtype(np.float64)],
        expanded_shapes=[(target.dim,)],
        expanded_names=["x"],
        make_initial_point_fn=lambda seed: np.random.default_rng(seed).uniform(-1.0, 1.0, target.dim),
    )

    def run(seed: int) -> tuple[Any, Any]:
        found = library.sample(
            model, draws=draws, tune=warmup, chains=len(starts), seed=seed, progress_bar=False, save_warmup=False
        )
        return found.posterior["x"].values, found.sample_stats["n_steps"].values

    return run


LIBRARIES: Final[dict[str, Callable[..., Sampler]]] = {
    "hlobatch": hlobatch,
    "numpyro": numpyro,
    "numpyro_parallel": numpyro_parallel,
    "blackjax": blackjax,
    "tfp": tfp,
    "nutpie": nutpie,
}


def measured(  # what a run is
    library: str, name: str, chains: int, warmup: int, draws: int, seed: int, once_above: float = math.inf
) -> Row:
    """Two runs in this process: the seconds with and without compilation, and the quality of the draws.

    There is no second run if the first one took more than `once_above` seconds of processor time.
    """
    import arviz

    target = TARGETS[name]()
    starts = jax.random.uniform(jax.random.key(100 + seed), (chains, target.dim), minval=-1.0, maxval=1.0)
    sampler = LIBRARIES[library](target, starts, warmup, draws)
    load = os.getloadavg()[0]
    seconds, processor, found = [], [], None
    for repetition in range(2):
        if processor and processor[0] > once_above:
            break
        began, began_to_work = time.perf_counter(), time.process_time()
        found = jax.block_until_ready(sampler(10 * seed + repetition))
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - began_to_work)
    assert found is not None
    positions, steps = np.asarray(found[0], np.float64), np.asarray(found[1])
    ess = arviz.ess(arviz.convert_to_dataset({"x": positions}), method="bulk")["x"].values
    rhat = arviz.rhat(arviz.convert_to_dataset({"x": positions}))["x"].values
    return {
        "library": library,
        "target": name,
        "chains": chains,
        "seed": seed,
        "warmup": warmup,
        "draws": draws,
        "seconds": seconds[0],
        "processor": processor[0],
        **({"seconds_again": seconds[1], "processor_again": processor[1]} if len(seconds) > 1 else {}),
        "ess": float(ess.min()),
        "rhat": float(rhat.max()),
        "steps": float(steps.mean()),
        "load": load,
        "environment": results.environment(),
    }


def median(rows: Sequence[Row], value: Callable[[Row], float | None]) -> float | None:
    """The median of a value over all repetitions that have it."""
    found = [number for number in map(value, rows) if number is not None]
    return float(np.median(found)) if found else None


def effective(row: Row, per: str) -> float | None:
    """Effective draws per second, in the time that `per` names; None if there was no such run."""
    return float(row["ess"] / row[per]) if per in row else None


COLUMNS: Final = (
    *("Posterior", "chains", "library", "effective draws", "steps a draw", "draws"),
    *("seconds", "again", "of processors", "again", "effective draws per second", "again"),
    *("hlobatch has, per second", "again", "per second of processors", "again"),
)
"""Of the table of details."""


def table(rows: Sequence[Row]) -> list[str]:
    """A table in Markdown, for each run and library.

    It has medians over repetitions, and hlobatch's effective draws per second relative to each library's.
    """
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    for (target, chains), libraries in _by_run(rows).items():
        for library, own in libraries.items():
            times = [_shown(median(own, methodcaller("get", name)), ".1f") for name in TIMES]
            rates = [_shown(median(own, partial(effective, per=name)), ",.0f") for name in TIMES[:2]]
            ratios = [f"{ratio:.2f} times" if ratio else "" for ratio in _ratios(libraries, library)]
            drawn = [_shown(median(own, methodcaller("get", "ess")), ",.0f")]
            drawn += [_shown(median(own, methodcaller("get", "steps")), ".1f"), f"{own[0]['draws']:,}"]
            cells = [target, f"{chains:,}", library, *drawn, *times, *rates, *ratios]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def summary(rows: Sequence[Row]) -> list[str]:
    """A table in Markdown: effective draws per second of processor time, with compilation and without."""
    libraries = [library for library in LIBRARIES if any(row["library"] == library for row in rows)]
    lines = ["| Posterior | chains | draws | " + " | ".join(libraries) + " |"]
    lines.append("|---|---|---|" + "---|" * len(libraries))
    for (target, chains), measured_ones in _by_run(rows).items():
        cells = [_rates(measured_ones[library]) if library in measured_ones else "" for library in libraries]
        draws = f"{next(iter(measured_ones.values()))[0]['draws']:,}"
        lines.append(f"| {' | '.join([target, f'{chains:,}', draws, *cells])} |")
    return lines


def _rates(rows: Sequence[Row]) -> str:
    """Effective draws per second of processor time, in two significant digits, with compilation and without.

    The second figure is missing if there was no second run, and both are if no run ended.
    """
    rates = [median(rows, partial(effective, per=name)) for name in TIMES[2:]]
    if rates[0] is None:
        return f"over {rows[0]['limit'] / 60:.0f} min"
    return "; ".join(f"{float(f'{rate:.2g}'):,.0f}" for rate in rates if rate is not None)


def _shown(number: float | None, form: str) -> str:
    """A number in a table, or nothing."""
    return "" if number is None else format(number, form)


def _by_run(rows: Sequence[Row]) -> dict[tuple[str, int], dict[str, list[Row]]]:
    """The rows of each library, by posterior and number of chains."""
    groups: dict[tuple[str, int], dict[str, list[Row]]] = {}
    for row in rows:
        groups.setdefault((row["target"], row["chains"]), {}).setdefault(row["library"], []).append(row)
    return groups


def _ratios(libraries: Mapping[str, Sequence[Row]], library: str) -> list[float | None]:
    """Effective draws per second of hlobatch, divided by a library's, by each of ``TIMES``; None if one is missing."""
    if library == "hlobatch" or not {"hlobatch", library} <= libraries.keys():
        return [None] * len(TIMES)
    rates = [
        [median(libraries[name], partial(effective, per=time)) for time in TIMES] for name in ("hlobatch", library)
    ]
    return [mine / theirs if mine and theirs else None for mine, theirs in zip(*rates, strict=True)]


def merge(old: Sequence[Row], new: Row) -> list[Row]:
    """Rows with a new one, which replaces a row of the same measurement, in the order of the posteriors."""

    def identity(row: Row) -> tuple[Any, ...]:
        return list(TARGETS).index(row["target"]), row["chains"], list(LIBRARIES).index(row["library"]), row["seed"]

    return sorted([*(row for row in old if identity(row) != identity(new)), new], key=identity)


def main() -> int:
    """Runs what the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=TARGETS)
    parser.add_argument("--chains", nargs="+", type=int, default=[4, 64, 1_024])
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--warmup", type=int, default=400)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=1_800, help="of one process, in seconds")
    parser.add_argument(
        "--once-above", type=float, default=math.inf, help="seconds of processor time after which there is one run"
    )
    parser.add_argument(
        "--limit", type=int, default=resource.RLIM_INFINITY, help="of the processor time of one process, in seconds"
    )
    parser.add_argument("--json", type=Path, help="where rows are kept, and added to")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(**json.loads(options.one))))
        return 0
    rows = results.load(options.json) if options.json else []
    for target in options.targets:
        for chains in options.chains:
            for seed in range(options.repetitions):
                for library in options.libraries:
                    if library == "numpyro_parallel" and chains > 4:
                        continue  # it runs chains one after the other if there are more of them than devices
                    row = in_a_process(library, target, chains, seed, options)
                    if row is not None:
                        rows = merge(rows, row)
                    if options.json:
                        results.save(options.json, rows)
    print("\n".join(table(rows)))
    return 0


def in_a_process(library: str, target: str, chains: int, seed: int, options: Any) -> Row | None:
    """One measurement in a new process; None if the library fails or exceeds the time limit."""
    request = {
        "library": library,
        "name": target,
        "chains": chains,
        "warmup": options.warmup,
        "draws": options.draws,
        "seed": seed,
        "once_above": options.once_above,
    }
    environment = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={chains}"} if "parallel" in library else {}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.sampling", "--one", json.dumps(request)]
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=options.timeout,
            env={**os.environ, **environment},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (options.limit, options.limit)),
        )
    except subprocess.TimeoutExpired:
        print(f"{library} {target} {chains}: not in {options.timeout:.0f} s", file=sys.stderr)
        return None
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        print(f"{library} {target} {chains}: not in {options.limit} s of processor time", file=sys.stderr)
        measure = {key: value for key, value in request.items() if key not in ("name", "once_above")}
        where = {"load": os.getloadavg()[0], "environment": results.environment()}
        return {**measure, "target": target, "limit": options.limit, **where}
    if done.returncode:
        print(f"{library} {target} {chains}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    row: Row = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
