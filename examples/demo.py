"""Bayesian logistic regression with 100 chains of a recursive sampler, in under two minutes.

Run with `make demo`. It samples the posterior of 100 coefficients given 10,000 data points by the
No-U-Turn Sampler of `examples/nuts.py`, compares the draws with the coefficients that made the data
and the speed with blackjax, and shows that the exported program gives the same draws.

Neighboring regressors are correlated, by an amount at which some trajectories double once more than
others. That is what chains in lockstep lose time on. With independent regressors
(`--correlation 0`) all trajectories are equally long and there is nothing to win.

Reference:
    Radul et al., "Automatically batching control-intensive programs for modern accelerators",
    MLSys 2020, section 4.1.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

import hlobatch as hb
from examples import diagnostics, lockstep, nuts, targets
from examples.normal_approximation import find_mode, scatter, step_size_for

Floats = NDArray[np.float64]

NUM_SHOWN = 8
"""Coefficients in the table."""

ROUNDING = 1e-3
"""Difference of draws that the order of sums explains: a chain multiplies it from draw to draw."""

NORMAL_QUANTILE_95 = 1.6449
"""A posterior of 10,000 data points is close to normal: 90 % of it are within so many sds."""


@dataclass(frozen=True)
class Problem:
    """What both samplers are given.

    Attributes:
        target: the posterior.
        starts: `Float[Array, "chains dim"]`, overdispersed around the mode.
        step_size: of the leapfrog.
        max_depth: doublings of a trajectory, at most.
    """

    target: targets.LogisticRegression
    starts: Array
    step_size: float
    max_depth: int


@dataclass(frozen=True)
class Run:
    """What a sampler did in its timed part.

    Attributes:
        draws: `Float[ndarray, "chains draws dim"]`.
        gradients: that some chain needed, over all chains.
        executions: of the batched gradient, each of which computes one for every chain.
        seconds: of wall time, without compilation and warm-up.
    """

    draws: Floats
    gradients: int
    executions: float
    seconds: float

    @property
    def utilization(self) -> float:
        """Share of the computed gradients that some chain needed."""
        return self.gradients / (self.executions * len(self.draws))


def main() -> None:
    options = parse_options()
    target = targets.logistic_regression(options.data, options.dim, correlation=options.correlation)
    print(f"Logistic regression: {options.data:,} data points, {options.dim} coefficients")
    problem = prepare(target, options.chains, options.max_depth)
    print(f"No-U-Turn Sampler: {options.chains} chains, step size {problem.step_size:.4f}\n")

    sampler = nuts.make_nuts(
        target.log_density,
        step_size=problem.step_size,
        num_draws=options.draws,
        max_depth=options.max_depth,
    )
    chains = jax.vmap(nuts.start_chain, (None, 0, 0))(
        target.log_density, jax.random.split(jax.random.key(1), options.chains), problem.starts
    )
    started = time.perf_counter()
    print("compiling, and a first chunk for the chains to settle ...", end=" ", flush=True)
    (chains, _), _ = jax.block_until_ready(sampler.with_stats(chains))
    print(f"{time.perf_counter() - started:.1f} s")
    run, last_chains, last_draws = sample_in_chunks(sampler, chains, options.chunks)

    show_posterior(target, run.draws)
    show_speed(run, run_blackjax(problem, chains.point.position, run.draws.shape[1]))
    show_export(sampler, last_chains, last_draws)


def parse_options() -> argparse.Namespace:
    """Returns the sizes of the demo; a chunk is what runs between two updates of the bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=100)
    parser.add_argument("--draws", type=int, default=20, help="of each chain in each chunk")
    parser.add_argument("--chunks", type=int, default=3)
    parser.add_argument("--data", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--correlation", type=float, default=0.87, help="of neighboring regressors")
    parser.add_argument("--max-depth", type=int, default=8)
    return parser.parse_args()


def prepare(target: targets.LogisticRegression, num_chains: int, max_depth: int) -> Problem:
    """Returns starting points and a step size from the normal approximation of the posterior.

    A chain starts at the mode, plus twice the spread of the posterior.
    """
    mode, precision = find_mode(target.log_density, len(target.coefficients))
    starts = scatter(mode, precision, num_chains, spread=2.0)
    return Problem(target, starts, step_size_for(precision), max_depth)


def sample_in_chunks(
    sampler: Any,
    chains: nuts.Chain,
    num_chunks: int,
) -> tuple[Run, nuts.Chain, Array]:
    """Returns the timed run, the chains before its last chunk, and the draws of that chunk."""
    draws: list[Array] = []
    executions, before, first = 0.0, chains, gradients_of(chains)
    started = time.perf_counter()
    for chunk in range(num_chunks):
        seconds = time.perf_counter() - started
        show_progress(chunk, num_chunks, seconds, gradients_of(chains) - first)
        before = chains
        (chains, chunk_draws), stats = sampler.with_stats(before)
        draws.append(jax.block_until_ready(chunk_draws))
        gradients = gradients_of(chains) - gradients_of(before)
        executions += gradients / (utilization_of(stats) * len(chunk_draws))
    seconds = time.perf_counter() - started
    show_progress(num_chunks, num_chunks, seconds, gradients_of(chains) - first)
    tally = jax.tree.map(lambda now: np.asarray(now, np.float64).sum(), chains.tally)
    acceptance = tally.acceptance / tally.leapfrogs
    print(f"acceptance {acceptance:.2f}, divergent trajectories {tally.divergences:.0f}\n")
    everything = np.concatenate(draws, axis=1).astype(np.float64)
    return Run(everything, gradients_of(chains) - first, executions, seconds), before, draws[-1]


def gradients_of(chains: nuts.Chain) -> int:
    """Returns the gradients that all chains together have needed since they started."""
    return int(np.asarray(chains.tally.leapfrogs, np.int64).sum())


def utilization_of(stats: hb.RunStats) -> float:
    """Returns the share of lanes that were active where the gradient was computed."""
    return float(stats.utilization)


def show_progress(done: int, total: int, seconds: float, gradients: int) -> None:
    """Draws the bar over itself in a terminal, and only the full bar elsewhere."""
    if done < total and not sys.stdout.isatty():
        return
    width = 40
    filled = width * done // total
    bar = "█" * filled + "░" * (width - filled)
    rate = f"{gradients / seconds:,.0f} gradients/s" if gradients else ""
    line = f"sampling {bar} {100 * done // total:3d} %  {seconds:5.1f} s  {rate:24}"
    print(f"\r{line}", end="\n" if done == total else "", flush=True)


def show_posterior(target: targets.LogisticRegression, draws: Floats) -> None:
    """Prints what the draws say about the coefficients, next to the truth."""
    mean, sd = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
    error = mean - target.coefficients
    rhat, ess = diagnostics.split_rhat(draws), diagnostics.effective_sample_size(draws)
    print("Posterior against the coefficients that made the data")
    print("  coefficient     truth      mean        sd  error/sd     R-hat       ESS")
    for i in range(min(NUM_SHOWN, len(mean))):
        print(
            f"  {i:11d} {target.coefficients[i]:9.3f} {mean[i]:9.3f} {sd[i]:9.3f} "
            f"{error[i] / sd[i]:9.2f} {rhat[i]:9.3f} {ess[i]:9,.0f}"
        )
    covered = np.abs(error) < NORMAL_QUANTILE_95 * sd
    print(f"  over all {len(mean)} coefficients:")
    rms_error, rms_sd = root_mean_square(error), root_mean_square(sd)
    print(f"    root mean square of errors {rms_error:.4f}, of posterior sds {rms_sd:.4f}")
    print(f"    truth inside the 90 % interval: {covered.mean():.0%}")
    print(f"    largest R-hat {rhat.max():.3f}")
    print(
        f"    ESS of {draws.shape[0] * draws.shape[1]:,} draws: "
        f"smallest {ess.min():,.0f}, median {np.median(ess):,.0f}\n"
    )


def root_mean_square(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


def run_blackjax(problem: Problem, starts: Array, num_draws: int) -> Run | None:
    """Returns the same sampling by blackjax, or None where it is not installed."""
    print("the same with blackjax, its chains in lockstep ...", end=" ", flush=True)
    try:
        draws, gradients, executions, seconds = lockstep.sample(
            problem.target.log_density,
            starts,
            step_size=problem.step_size,
            max_depth=problem.max_depth,
            num_draws=num_draws,
        )
    except ImportError:
        print("is not installed\n")
        return None
    print(f"{seconds:.1f} s\n")
    return Run(np.asarray(draws, np.float64), gradients, executions, seconds)


def show_speed(ours: Run, theirs: Run | None) -> None:
    """Prints the speed of the samplers, counting only gradients that some chain needed."""
    print("Speed, without compilation")
    print("                 gradients   seconds  gradients/s  lanes in use")
    for name, run in (("hlobatch", ours), ("blackjax", theirs)):
        if run is not None:
            print(
                f"  {name:11s} {run.gradients:12,d} {run.seconds:9.1f} "
                f"{run.gradients / run.seconds:12,.0f} {run.utilization:13.0%}"
            )
    if theirs is not None:
        ratio = (ours.gradients / ours.seconds) / (theirs.gradients / theirs.seconds)
        print(f"  {ratio:.2f} times the speed of blackjax")
    print()


def show_export(sampler: Any, chains: nuts.Chain, draws: Array) -> None:
    """Saves and loads the compiled program, runs it on `chains`, and compares with `draws`."""
    avals = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), chains)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nuts.hlobatch"
        hb.export(sampler, avals).save(path)
        size = path.stat().st_size / 2**20
        started = time.perf_counter()
        _, loaded_draws = jax.block_until_ready(hb.load(path).call(chains))
        seconds = time.perf_counter() - started
    difference = float(np.abs(draws - loaded_draws).max())
    print(f"Exported ({size:.1f} MiB), loaded, and run again in {seconds:.1f} s:", end=" ")
    if difference == 0.0:
        print("the same draws, bit for bit")
    elif difference < ROUNDING:
        print(f"the same draws within {difference:.0e}, the rounding of sums in another order")
    else:
        print(f"DIFFERENT draws, by up to {difference:.1e}")
    if difference >= ROUNDING:
        sys.exit(1)


if __name__ == "__main__":
    main()
