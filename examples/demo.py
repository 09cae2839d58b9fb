"""Bayesian logistic regression with 100 chains of the library's sampler, in under two minutes.

Run with `make demo`. It samples the posterior of 100 coefficients given 10,000 data points by
`hlobatch.mcmc`, compares the draws with the coefficients that made the data and the speed with
blackjax, and shows that its kernel, exported and loaded, gives the same draws.

Neighboring regressors are correlated, by an amount at which, with the step size and the metric that
the warm-up learns, some trajectories double once more than the others. Chains in lockstep lose
time on this, since each draw lasts as long as the longest of its trajectories. If nearly all
trajectories are equally long, as with `--correlation 0.8` or `0.87`, there is nothing to gain, and
blackjax is a tenth faster.

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

import jax
import jax.export
import numpy as np
from jax import Array
from numpy.typing import NDArray

from examples import diagnostics, lockstep, targets
from examples.normal_approximation import find_mode, scatter
from hlobatch import mcmc

Floats = NDArray[np.float64]

NUM_SHOWN = 8
"""Coefficients in the table."""

ROUNDING = 1e-3
"""Largest difference of draws that rounding explains, since a chain amplifies it from draw to draw."""

LEAST_SHARE_ALIKE = 0.9
"""Share of chains that agree. In the others, rounding turned a comparison: a log density of thousands has an error of
some 1e-4, and a chain compares one with a random number hundreds of times for each draw."""

NORMAL_QUANTILE_95 = 1.6449
"""The posterior of 10,000 data points is close to normal: 90 % of it is within this number of sds."""


@dataclass(frozen=True)
class Run:
    """The result and cost of a sampler's timed part.

    Attributes:
        draws: `Float[ndarray, "chains draws dim"]`.
        gradients: The number of gradients that some chain needed, over all chains.
        executions: The number of executions of the batched gradient, each for all chains; None if not counted.
        seconds: Seconds of wall time, without compilation and warm-up.
    """

    draws: Floats
    gradients: int
    executions: float | None
    seconds: float

    @property
    def utilization(self) -> str:
        """Share of the computed gradients that some chain needed."""
        if self.executions is None:
            return "not counted"
        return f"{self.gradients / (self.executions * len(self.draws)):.0%}"


def main() -> None:
    options = parse_options()
    target = targets.logistic_regression(options.data, options.dim, correlation=options.correlation)
    print(f"Logistic regression: {options.data:,} data points, {options.dim} coefficients")
    # Chains start at the mode, plus twice the spread of the posterior.
    mode, precision = find_mode(target.log_density, options.dim)
    starts = scatter(mode, precision, options.chains, spread=2.0)
    print(f"No-U-Turn Sampler: {options.chains} chains\n")

    settings = {"progress": show_progress, "max_depth": options.max_depth}
    warm = mcmc.sample(
        target.log_density, starts, jax.random.key(1), num_warmup=options.warmup, num_samples=0, **settings
    )
    print(f"compiling and {options.warmup} draws of warm-up: {warm.seconds:.1f} s")
    result = mcmc.sample(
        target.log_density, starts, jax.random.key(1), num_samples=options.draws, state=warm.state, **settings
    )
    step_size = float(result.step_size[0])
    divergences = int(result.stats["diverging"].sum())
    print(
        f"step size {step_size:.3f}, acceptance {result.stats['acceptance_rate'].mean():.2f}, "
        f"divergent trajectories {divergences}\n"
    )
    draws = np.asarray(result.draws, np.float64)
    run = Run(draws, int(result.stats["n_steps"].sum()), None, result.seconds)

    show_posterior(target, run.draws)
    show_speed(run, run_blackjax(target, warm, options.max_depth, options.draws))
    show_export(target, result, options.max_depth)


def parse_options() -> argparse.Namespace:
    """Returns the sizes of the demo."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=100)
    parser.add_argument("--warmup", type=int, default=60, help="draws of each chain to adapt by")
    parser.add_argument("--draws", type=int, default=60, help="of each chain")
    parser.add_argument("--data", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--correlation", type=float, default=0.82, help="of neighboring regressors")
    parser.add_argument("--max-depth", type=int, default=8)
    return parser.parse_args()


def show_progress(progress: mcmc.Progress) -> None:
    """Draws the bar over itself in a terminal, and only the full bar elsewhere."""
    is_done = progress.done == progress.total
    if is_done or sys.stdout.isatty():
        print(f"\r{progress}", end="\n" if is_done else "", flush=True)


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


def run_blackjax(target: targets.LogisticRegression, warm: mcmc.Result, max_depth: int, num_draws: int) -> Run | None:
    """Returns as many draws by blackjax from where the warm-up ended, or None without blackjax."""
    print("the same with blackjax, its chains in lockstep ...", end=" ", flush=True)
    try:
        draws, gradients, executions, seconds = lockstep.sample(
            target.log_density,
            warm.state.chains.point.position,
            step_size=float(warm.step_size[0]),
            max_depth=max_depth,
            num_draws=num_draws,
            variances=warm.state.scale**2,
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
                f"{run.gradients / run.seconds:12,.0f} {run.utilization:>13s}"
            )
    if theirs is not None:
        ratio = (ours.gradients / ours.seconds) / (theirs.gradients / theirs.seconds)
        print(f"  {ratio:.2f} times the speed of blackjax")
    print()


def show_export(target: targets.LogisticRegression, result: mcmc.Result, max_depth: int) -> None:
    """Saves and loads a draw of all chains as one program, runs it, and compares."""
    variances: Array = result.state.scale**2
    kernel = mcmc.nuts(target.log_density, result.step_size[0], variances, max_num_doublings=max_depth)
    states = jax.vmap(kernel.init)(result.state.chains.point.position)
    keys = jax.random.split(jax.random.PRNGKey(2), len(states.position))
    program = jax.jit(lambda keys, position: jax.vmap(kernel.step)(keys, jax.vmap(kernel.init)(position))[0].position)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nuts.jax"
        path.write_bytes(jax.export.export(program)(keys, states.position).serialize())
        size = path.stat().st_size / 2**20
        started = time.perf_counter()
        loaded = jax.export.deserialize(bytearray(path.read_bytes()))
        again = jax.block_until_ready(loaded.call(keys, states.position))
        seconds = time.perf_counter() - started
    differences = np.abs(np.asarray(program(keys, states.position) - again)).max(axis=1)  # of each chain
    alike = differences < ROUNDING
    print(f"Its kernel, exported ({size:.1f} MiB), loaded, and run in {seconds:.1f} s:", end=" ")
    if alike.mean() < LEAST_SHARE_ALIKE:
        print(f"DIFFERENT draws in {np.sum(~alike)} of {len(alike)} chains, by up to {differences.max():.1e}")
        sys.exit(1)
    within = "bit for bit" if not differences.any() else f"within {differences[alike].max():.0e}"
    print(f"the same draws, {within}" + (", the rounding of sums in another order" if differences.any() else ""))
    if not alike.all():
        print(
            f"  but for {np.sum(~alike)} of {len(alike)} chains, in which rounding turned a comparison of the sampler"
        )


if __name__ == "__main__":
    main()
