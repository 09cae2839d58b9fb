"""A log density, starting points, and a key -> draws: `sample`, which runs the compiled programs call by call."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

import hlobatch as hb
from hlobatch.mcmc.ahead import compile_ahead
from hlobatch.mcmc.chains import STATISTICS, Chain
from hlobatch.mcmc.checkpoint import Checkpoint, to_go_on_from
from hlobatch.mcmc.checks import MOST_DOUBLINGS, checked_count, checked_data, checked_key, checked_number, checked_state
from hlobatch.mcmc.density import LogDensity
from hlobatch.mcmc.errors import ArgumentError, SamplingWarning
from hlobatch.mcmc.nuts import Point
from hlobatch.mcmc.programs import Programs, Shape, is_followed_for, programs_for, what_to_keep
from hlobatch.mcmc.progress import Report, reporter
from hlobatch.mcmc.result import Result, State
from hlobatch.mcmc.run import Run
from hlobatch.mcmc.start import Given, parameters_of, started
from hlobatch.mcmc.step_size import StepSize
from hlobatch.mcmc.store import Store
from hlobatch.typing import PyTree

POOLED_FROM: Final = 8
"""The number of chains from which all learn together, unless `pool` is given. Chosen by judgement (2026-11), not
measured."""

MOST_BYTES_OF_NOISE: Final = 2**26
"""Most bytes of the noise of one call."""

MOST_ROWS: Final = 64
"""Most draws of each chain in one call."""


@hb.at_the_call
def sample(  # noqa: PLR0913  # the settings of the sampler
    log_density: LogDensity,
    init: PyTree,
    key: Array,
    *,
    data: tuple[PyTree, ...] = (),
    num_warmup: int = 1_000,
    num_samples: int = 1_000,
    chains: int | None = None,
    thin: int = 1,
    progress: bool | Report | None = None,
    constraints: PyTree = None,
    postprocess: Callable[[PyTree], PyTree] | None = None,
    jitter: float = 1.0,
    pool: bool | None = None,
    dense: bool = False,
    gradients: bool = False,
    target_acceptance: float = 0.8,
    max_depth: int = 10,
    data_per_chain: bool = False,
    folder: str | Path | None = None,
    state: State | None = None,
    batch_options: Mapping[str, Any] | None = None,
) -> Result:
    """Draw from a log density by the No-U-Turn Sampler.

    It compiles once for a log density, the shapes of parameters and data, and the options; a second call with the same
    function compiles nothing. For one key, a chain draws the same values in any number of lanes and threads and, unless
    `pool`, among any other chains, except for the rounding of another compilation.

    Args:
        log_density: The log density of one chain, up to a constant: `log_density(parameters, *data)`, a scalar. It may
            loop until it converges, or call itself, and is differentiated. Arrays that it closes over are shared by all
            chains.
        init: The parameters, a pytree of real arrays `[chains, ...]`. With `chains`, the parameters of one chain,
            around which all start, or a function from a key to the parameters of one chain.
        key: A typed key, `jax.random.key(0)`.
        data: Arguments of `log_density` after the parameters, shared by all chains.
        num_warmup: Number of draws of each chain that adapt step size and metric, and are not kept.
        num_samples: Number of draws of each chain that are kept.
        chains: Number of chains, if `init` does not determine it.
        thin: Every how many draws one is kept.
        progress: Whether to write a bar to standard error, or a function that is called with a `Progress`. None for a
            bar in a terminal and in a notebook.
        constraints: Bijectors for parameters that may not be any number, as in `{"tau": mcmc.positive}`: a pytree like
            that of the parameters, in which an unconstrained parameter is None, or missing in a dict.
        postprocess: From the parameters of one draw to what is kept of it, a pytree of arrays; None keeps the
            parameters.
        jitter: Distance from `init`, up and down in each unconstrained coordinate, within which chains start.
        pool: Whether all chains learn one metric together, and share one step size after the warm-up, the median, if
            theirs are about the same; else each learns its own. None pools from 8 chains on.
        dense: Whether the metric has correlations, `dim**2` numbers; else it has standard deviations alone.
        gradients: Whether standard deviations of the metric are learned from the gradients at the draws, too, as nutpie
            does it.
        target_acceptance: The mean acceptance rate that the step size is adapted to, between 0 and 1. A higher one
            makes fewer divergences.
        max_depth: Number of doublings of a trajectory, at most.
        data_per_chain: Whether arrays of `data` are `[chains, ...]`, so that each chain samples another posterior.
        folder: A folder to which draws and statistics, as `.npy` files that are mapped into memory, and the state are
            written during the run. If it has draws of an earlier run, and `state` is that run's last
            (`mcmc.saved_state(folder)`), `num_samples` draws are added to them; without it, they are an error. None
            keeps draws in memory.
        state: The `state` of a result of the same density, from which the run continues: its chains, their keys, what
            they have learned, and the rest of the warm-up, if that was not finished. Only the shapes of `init` matter
            then.
        batch_options: Options of `hb.batch`, such as `lanes` and `threads`.

    Returns:
        Draws, and statistics of each. After Ctrl-C, the draws that are finished, with `interrupted` set. If they are
        unreliable, one `SamplingWarning` at the end says why.

    Raises:
        InitialValueError: Some chain starts where the density or its gradient is not finite.
        ArgumentError: An argument is invalid, or does not fit the others; the message says what to write.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> from hlobatch import mcmc
        >>> def log_density(p):
        ...     return -0.5 * (p["x"] / 3.0) ** 2 - p["rate"]
        >>> result = mcmc.sample(
        ...     log_density, {"x": 0.0, "rate": 1.0}, jax.random.key(0), chains=4,
        ...     constraints={"rate": mcmc.positive}, num_warmup=200, num_samples=100,
        ... )
        >>> result.draws["x"].shape, bool((result.draws["rate"] > 0).all())
        ((4, 100), True)
    """
    began = time.perf_counter()
    key = checked_key(key)
    num_warmup = checked_count("num_warmup", num_warmup, 0)
    num_samples = checked_count("num_samples", num_samples, 0)
    thin = checked_count("thin", thin, 1)
    max_depth = checked_count("max_depth", max_depth, 1, MOST_DOUBLINGS)
    target_acceptance = checked_number("target_acceptance", target_acceptance, 0.0, 1.0)
    jitter = checked_number("jitter", jitter, 0.0, math.inf)
    parameters, count = parameters_of(init, constraints, chains)
    pool = (count >= POOLED_FROM and not data_per_chain) if pool is None else pool
    _check_what_is_learned(pool=pool, data_per_chain=data_per_chain, dense=dense, gradients=gradients)
    if state is not None:
        state = checked_state(state, parameters, count, pool=pool, dense=dense, gradients=gradients)
    into = None if folder is None else Path(folder)
    before = to_go_on_from(into, state, thin)
    data = checked_data(data, count, per_chain=data_per_chain)
    options = tuple((batch_options or {}).items())
    leaves, structure = jax.tree.flatten(data)
    types = structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    followed = is_followed_for(log_density, parameters, types, not data_per_chain)
    shape = Shape(parameters, dense, gradients, pool, not data_per_chain, max_depth, followed, options)
    programs = programs_for(log_density, shape)
    rows = rows_for(count, parameters.dim, max_depth)
    keep, like = what_to_keep(postprocess, parameters)
    if state is None:
        compile_ahead(programs, keep, key, data, chains=count, rows=rows, warmup=num_warmup)
        given = Given(init, parameters, count, one_for_all=chains is not None, jitter=jitter)
        state = first_state(programs, given, key, data, num_warmup, rows, shape.width)
    first, num_samples = kept_from(state, before, num_samples)
    run = Run(
        programs=programs,
        keep=keep,
        data=data,
        rows=rows,
        thin=thin,
        max_depth=max_depth,
        one_target=not data_per_chain,
        pool=pool,
        target_acceptance=target_acceptance,
        report=reporter(progress),
        began=began,
        first=first,
        num_samples=num_samples,
        store=Store(like, count, num_samples, into, is_begun=before is not None),
        state=state,
    )
    try:
        run.warm_up()
        run.draw()
        result = run.result(interrupted=False)
    except KeyboardInterrupt:
        result = run.result(interrupted=True)
    if complaints := "\n".join(result.diagnosis.complaints()):
        # The warning names the line of the user's call, not that of `at_the_call`.
        warnings.warn(complaints, SamplingWarning, stacklevel=3)
    return result


def _check_what_is_learned(*, pool: bool, data_per_chain: bool, dense: bool, gradients: bool) -> None:
    """Raises an error if options exclude each other."""
    if pool and data_per_chain:
        raise ArgumentError(
            "chains with data of their own have different posteriors: they cannot pool what they learn."
        )
    if dense and gradients:
        raise ArgumentError("a dense metric is learned from draws alone.", help="leave out dense or gradients.")


def kept_from(state: State, before: Checkpoint | None, num_samples: int) -> tuple[NDArray[np.int64], int]:
    """Returns the number of each chain's first draw to keep, and the number of draws to keep from that on.

    If a run goes on in its folder, chains that are ahead of others make fewer draws.
    """
    if before is None:
        return np.maximum(np.asarray(state.chains.made, np.int64), int(state.warmup)), num_samples
    return before.first, max(int(before.counts.min()) + num_samples, int(before.counts.max()))


def first_state(
    programs: Programs, given: Given, key: Array, data: PyTree, warmup: int, rows: int, width: int
) -> State:
    """Returns the state of chains that have made no draws."""
    count = given.chains
    keys = programs.keys(key, count, rows)
    _, scale = programs.nothing_learned(count)

    def momenta(keys: Array, number: int) -> Array:
        return programs.momenta(keys, np.full(count, number, np.int32), rows)

    def begin(keys: Array, point: Point, tried: Array) -> tuple[Point, StepSize]:
        return programs.begin(point, tried, momenta(keys, -1), scale, data)

    point, step = started(given, keys, momenta, begin)
    no_window = np.zeros((count, 0, width), point.position.dtype)
    made, of_warmup = jax.device_put((np.zeros(count, np.int32), np.int32(warmup)))
    return State(Chain(keys, made, point, step), scale, no_window, of_warmup)


def rows_for(chains: int, dim: int, max_depth: int) -> int:
    """Returns the most draws of each chain in a call, as far as memory goes.

    It does not depend on the length of the run, so that another run does not have to compile.
    """
    fit = MOST_BYTES_OF_NOISE // (4 * chains * (dim + 2 * max_depth + len(STATISTICS)))
    return max(1, min(fit, MOST_ROWS))
