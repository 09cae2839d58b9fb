"""A log density -> a file that draws from it: `export`, a whole run of one chain, its warm-up included, as a function.

Each chain is a lane and learns by itself: in a file, no host can act between two windows of a warm-up. A chain makes
the same draws as in `sample` with `pool=False`, given the same key and start, except for the rounding of another
compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

import hlobatch as hb
from hlobatch.mcmc.beginning import make_begin_in_lane
from hlobatch.mcmc.chains import OPTIMIZATIONS, STATISTICS, noise_of_draw, statistics_of
from hlobatch.mcmc.checks import MOST_DOUBLINGS, checked_count, checked_data, checked_number
from hlobatch.mcmc.density import LogDensity
from hlobatch.mcmc.metric import Moments, factor, identity, no_moments, with_draws
from hlobatch.mcmc.nuts import FlatLogDensity, Noise, Point, make_transition
from hlobatch.mcmc.parameters import Parameters, describe
from hlobatch.mcmc.programs import is_followed_for
from hlobatch.mcmc.step_size import StepSize, adapted
from hlobatch.mcmc.windows import windows
from hlobatch.typing import PyTree


@hb.at_the_call
def export(  # noqa: PLR0913  # the settings of the sampler
    log_density: LogDensity,
    init: PyTree,
    *,
    data: tuple[PyTree, ...] = (),
    num_warmup: int = 1_000,
    num_samples: int = 1_000,
    constraints: PyTree = None,
    postprocess: Callable[[PyTree], PyTree] | None = None,
    dense: bool = False,
    target_acceptance: float = 0.8,
    max_depth: int = 10,
    **options: Any,
) -> hb.Artifact:
    """Export a sampler to a file that draws for any number of chains, with hlobatch or without it.

    `artifact.call(keys, starts, number, data)` returns `(draws, stats)`. It takes keys `[chains]`, initial parameters,
    a pytree of `[chains, ...]`, a number of draws, up to `num_samples`, and data, if `log_density` has any. Draws and
    statistics, all of them floats, are `[chains, num_samples, ...]`, NaN from `number` on. Each chain learns its own
    metric and step size.

    Args:
        log_density: As `sample` takes it. Arrays that it closes over become part of the file.
        init: The parameters of one chain; only their shapes and dtypes are used.
        data: Arguments of `log_density` after the parameters; only their shapes and dtypes are used.
        num_warmup: Number of draws of each chain that adapt step size and metric, and are not returned.
        num_samples: The most draws of each chain that `number` can ask for.
        constraints: As `sample` takes them, like all that follow.
        postprocess: From the parameters of one draw to what is returned of it; None returns the parameters.
        dense: Whether the metric has correlations.
        target_acceptance: The mean acceptance rate that the step size is adapted to.
        max_depth: Number of doublings of a trajectory, at most.
        **options: Options of `hb.export`, such as `platforms` and `kernels`.

    Returns:
        The artifact. Its `call` raises a `LaneError` for chains whose start has no finite density.

    Raises:
        ArgumentError: An argument is invalid.
        ArtifactError: The density contains something that cannot be exported.
    """
    num_warmup = checked_count("num_warmup", num_warmup, 0)
    num_samples = checked_count("num_samples", num_samples, 1)
    max_depth = checked_count("max_depth", max_depth, 1, MOST_DOUBLINGS)
    target_acceptance = checked_number("target_acceptance", target_acceptance, 0.0, 1.0)
    parameters, data = describe(init, constraints), checked_data(data, 1, per_chain=False)
    leaves, structure = jax.tree.flatten(data)
    types = structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    followed = is_followed_for(log_density, parameters, types, True)
    whole = Whole(parameters, postprocess, followed, num_warmup, num_samples, dense, target_acceptance, max_depth)
    run = make_run(parameters.log_density(log_density), whole)
    keys = jax.ShapeDtypeStruct((0,), jax.eval_shape(jax.random.key, 0).dtype)
    starts = jax.tree.map(lambda leaf: np.zeros((0, *np.shape(leaf)), jnp.result_type(leaf)), init)
    number = jax.ShapeDtypeStruct((), np.int32)
    return hb.export(run, keys, starts, number, *([data] if data else []), **options)


@dataclass(frozen=True)
class Whole:
    """The settings of a whole run, besides the density.

    Attributes:
        parameters: The parameters of one chain.
        postprocess: From the parameters of a draw to what is returned of it; None returns the parameters.
        followed: Whether lanes have to run the density.
        num_warmup: The number of draws of the warm-up.
        num_samples: The most draws after it.
        dense: Whether the metric has correlations.
        target_acceptance: The acceptance rate to which the step size is adapted.
        max_depth: The most doublings of a trajectory.
    """

    parameters: Parameters
    postprocess: Callable[[PyTree], PyTree] | None
    followed: bool
    num_warmup: int
    num_samples: int
    dense: bool
    target_acceptance: float
    max_depth: int

    def noise(self, key: Array, number: Any) -> Noise:
        """The noise of a draw."""
        return noise_of_draw(key, number, self.parameters.dim, self.parameters.dtype, self.max_depth)

    def nothing(self) -> tuple[Point, Array, Array, Moments, Array]:
        """Initial values: a point of unknown density, rows of draws and of statistics, moments, and a metric."""
        dim, dtype, rows = self.parameters.dim, self.parameters.dtype, self.num_samples
        nan = jnp.asarray(jnp.nan, dtype)
        moments = no_moments(1, dim, dense=self.dense, pool=True, dtype=dtype)
        scale = jnp.asarray(identity(dim, dense=self.dense, dtype=dtype))
        point = Point(jnp.full(dim, nan), nan, jnp.full(dim, nan), nan)
        return point, jnp.full((rows, dim), nan), jnp.full((rows, len(STATISTICS)), nan), moments, scale

    def given(self, positions: Array, statistics: Array) -> tuple[Any, dict[str, Array]]:
        """The draws and statistics as the sampler returns them."""

        def of_one(position: Array) -> Any:
            tree, _ = self.parameters.at(position)
            return tree if self.postprocess is None else self.postprocess(tree)

        return jax.vmap(of_one)(positions), {name: statistics[:, i] for i, name in enumerate(STATISTICS)}


def make_run(log_density: FlatLogDensity, whole: Whole) -> hb.BatchedFunction[..., Any]:
    """Returns `sampler(key, start, number, data) -> (draws, stats)`, batched over chains."""
    transition = make_transition(log_density, whole.max_depth, followed=whole.followed)
    begin = make_begin_in_lane(log_density, followed=whole.followed)
    num_warmup, num_samples = whole.num_warmup, whole.num_samples
    is_learned_from, ends_window = _schedule(num_warmup)

    @hb.batch(in_axes=(0, 0, None, None), optimizations=OPTIMIZATIONS, max_stack_depth=whole.max_depth + 2)
    def sampler(key: Array, start: PyTree, number: Array, data: PyTree = ()) -> Any:
        if number > num_samples:
            raise ValueError("more draws than the sampler was exported for")
        point, positions, statistics, moments, scale = whole.nothing()
        tried, momentum = whole.parameters.position(start), whole.noise(key, jnp.int32(-1)).momentum
        point, step = begin(point, tried, momentum, scale, data)
        if not (jnp.isfinite(point.log_density) & jnp.isfinite(point.gradient).all()):
            raise ValueError("a chain starts where the density or its gradient is not finite")
        made = 0
        while made < num_warmup + number:
            step_size = jnp.exp(step.log_step)
            point, tally, depth = transition(point, whole.noise(key, made), step_size, scale, data)
            if made < num_warmup:
                step = adapted(step, tally.acceptance / tally.leapfrogs, jnp.asarray(whole.target_acceptance))
                if is_learned_from[made]:
                    moments = with_draws(moments, point.position[None], jnp.ones(1, bool))
                if ends_window[made]:
                    scale, moments = factor(moments), whole.nothing()[3]
                    point, step = begin(point, point.position, whole.noise(key, -2 - made).momentum, scale, data)
                if made == num_warmup - 1:
                    step = averaged(step)
            else:
                positions = positions.at[made - num_warmup].set(point.position)
                statistics = statistics.at[made - num_warmup].set(statistics_of(point, tally, depth, step_size))
            made += 1
        return whole.given(positions, statistics)

    return sampler


def averaged(step: StepSize) -> StepSize:
    """Returns the step size that a chain keeps after its warm-up: the average, if there is one."""
    return step._replace(log_step=jnp.where(step.draws > 0, step.log_average, step.log_step))


def _schedule(num_warmup: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each draw of a warm-up: whether the metric is learned from it, and whether it is the last of a window."""
    numbers = np.arange(max(num_warmup, 1))
    found = windows(num_warmup)
    is_learned_from = np.zeros(len(numbers), bool)
    for window in found:
        is_learned_from[window.start : window.end] = True
    return is_learned_from, np.isin(numbers, [window.end - 1 for window in found])
