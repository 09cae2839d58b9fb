"""Two posteriors, each with 100 chains of the library's sampler, in under two minutes.

Run with `make demo`. It samples by `hlobatch.mcmc`:

- a logistic regression: the posterior of 100 coefficients given 10,000 data points. The draws are compared with the
  coefficients that made the data, and the sampler's kernel, exported and loaded, gives the same draws.
- eight schools, a small hierarchical model, whose posterior is known from quadrature.

The speed is compared with blackjax, whose chains are in lockstep under `jax.vmap`: each draw lasts as long as the
longest of all trajectories. How much time they lose depends on how much trajectories differ. In the regression nearly
all are equally long at most step sizes, and each gradient is much work, so that there is little to gain, or nothing. In
eight schools they differ, at every step size. So that the comparison does not depend on which step size the warm-up
happens to find, it is made at three, spread evenly over a factor of two: half the step size means one doubling more.

Reference:
    Radul et al., "Automatically batching control-intensive programs for modern accelerators",
    MLSys 2020, section 4.1.
"""

import argparse
import itertools
import sys
import tempfile
import time
import warnings
from functools import partial
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

STEP_FACTORS = (2 ** (-2 / 3), 2 ** (-1 / 3), 1.0)
"""The step sizes that are compared, as multiples of that of the warm-up, which is the largest: steps that are too long
diverge."""

NUM_SHOWN = 8
"""Coefficients in the table."""

ROUNDING = 1e-3
"""Largest difference of draws that rounding explains, since a chain amplifies it from draw to draw."""

LEAST_SHARE_ALIKE = 0.9
"""Share of chains that agree. In the others, rounding turned a comparison: a log density of thousands has an error of
some 1e-4, and a chain compares one with a random number hundreds of times for each draw."""

NORMAL_QUANTILE_95 = 1.6449
"""The posterior of 10,000 data points is close to normal: 90 % of it is within this number of sds."""


def main() -> None:
    options = parse_options()
    regression = targets.logistic_regression(options.data, options.dim, correlation=options.correlation)
    print(f"Logistic regression: {options.data:,} data points, {options.dim} coefficients; {options.chains} chains")
    # Chains start at the mode, plus twice the spread of the posterior.
    mode, precision = find_mode(regression.log_density, options.dim)
    starts = scatter(mode, precision, options.chains, spread=2.0)
    runs = sampled(regression.log_density, starts, options.draws, options)
    show_coefficients(regression, draws_of(runs))
    show_speed(runs, by_blackjax(regression.log_density, runs, options.max_depth))
    show_export(regression, runs[-1], options.max_depth)

    schools = targets.eight_schools()
    print(f"\nEight schools: {len(schools.names)} parameters; {options.chains} chains")
    starts = scatter(schools.mean, np.diag(schools.sd**-2.0), options.chains, spread=2.0)
    runs = sampled(schools.log_density, starts, options.schools_draws, options)
    show_moments(schools, draws_of(runs))
    show_speed(runs, by_blackjax(schools.log_density, runs, options.max_depth))


def parse_options() -> argparse.Namespace:
    """Returns the sizes of the demo."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=100)
    parser.add_argument("--warmup", type=int, default=60, help="draws of each chain to adapt by")
    parser.add_argument("--draws", type=int, default=20, help="of each chain, for each of three step sizes")
    parser.add_argument("--schools-draws", type=int, default=1_000, help="the same, for eight schools")
    parser.add_argument("--data", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--correlation", type=float, default=0.82, help="of neighboring regressors")
    parser.add_argument("--max-depth", type=int, default=8)
    return parser.parse_args()


def sampled(
    log_density: targets.LogDensity, starts: Array, draws: int, options: argparse.Namespace
) -> list[mcmc.Result]:
    """Returns this number of draws of all chains after a warm-up, for each step size."""
    run = partial(mcmc.sample, log_density, starts, jax.random.key(1), max_depth=options.max_depth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mcmc.SamplingWarning)  # of so few draws, one of them may be unreliable
        warm = run(num_warmup=options.warmup, num_samples=0, progress=show_progress)
        print(f"compiling and {options.warmup} draws of warm-up: {warm.seconds:.1f} s")
        return [run(num_samples=draws, state=with_step(warm.state, factor)) for factor in STEP_FACTORS]


def with_step(state: mcmc.State, factor: float) -> mcmc.State:
    """Returns the state of chains with another step size."""
    step = state.chains.step
    return state._replace(chains=state.chains._replace(step=step._replace(log_step=step.log_step + np.log(factor))))


def draws_of(runs: list[mcmc.Result]) -> Floats:
    """Returns the draws of all runs, `Float[ndarray, "chains draws dim"]`."""
    return np.concatenate([np.asarray(run.draws, np.float64) for run in runs], axis=1)


def show_progress(progress: mcmc.Progress) -> None:
    """Draws the bar over itself in a terminal, and only the full bar elsewhere."""
    is_done = progress.done == progress.total
    if is_done or sys.stdout.isatty():
        print(f"\r{progress}", end="\n" if is_done else "", flush=True)


def show_coefficients(target: targets.LogisticRegression, draws: Floats) -> None:
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


def show_moments(target: targets.Posterior, draws: Floats) -> None:
    """Prints means and standard deviations, next to those by quadrature."""
    print("Posterior against quadrature")
    print("  parameter      mean   exact        sd   exact     R-hat       ESS")
    mean, sd = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
    rhat, ess = diagnostics.split_rhat(draws), diagnostics.effective_sample_size(draws)
    for i, name in enumerate(target.names[:3]):
        print(
            f"  {name:9} {mean[i]:9.3f} {target.mean[i]:7.3f} {sd[i]:9.3f} {target.sd[i]:7.3f} "
            f"{rhat[i]:9.3f} {ess[i]:9,.0f}"
        )
    print()


def by_blackjax(log_density: targets.LogDensity, runs: list[mcmc.Result], max_depth: int) -> list[lockstep.LockstepRun]:
    """Returns runs of blackjax with the same step sizes, metric and number of draws; none without blackjax."""
    state = runs[-1].state
    print("the same with blackjax, its chains in lockstep ...", end=" ", flush=True)
    try:
        found = lockstep.sample(
            log_density,
            state.chains.point.position,
            step_sizes=[float(run.step_size[0]) for run in runs],
            max_depth=max_depth,
            num_draws=runs[0].stats["n_steps"].shape[1],
            variances=state.scale**2,
        )
    except ImportError:
        print("is not installed\n")
        return []
    print(f"{sum(run.seconds for run in found):.1f} s\n")
    return found


def show_speed(ours: list[mcmc.Result], theirs: list[lockstep.LockstepRun]) -> None:
    """Prints the speed of the samplers, counting only gradients that some chain needed."""
    print("Gradients per second, without compilation")
    print("  step size  acceptance   hlobatch   blackjax (lanes in use)   hlobatch is … times as fast")
    gradients = [int(run.stats["n_steps"].sum()) for run in ours]
    chains = len(ours[0].stats["n_steps"])
    for run, count, other in itertools.zip_longest(ours, gradients, theirs):
        mine, acceptance = count / run.seconds, run.stats["acceptance_rate"].mean()
        line = f"  {run.step_size[0]:9.3f} {acceptance:11.2f} {mine:10,.0f}"
        if other is not None:
            speed, share = other.gradients / other.seconds, other.gradients / (other.executions * chains)
            line += f" {speed:10,.0f} {share:15.0%} {mine / speed:29.2f}"
        print(line)
    if theirs:
        mine = sum(gradients) / sum(run.seconds for run in ours)
        other_speed = sum(run.gradients for run in theirs) / sum(run.seconds for run in theirs)
        print(f"  all of them: {mine / other_speed:.2f} times the speed of blackjax")
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
