"""The peer of the demo: the No-U-Turn Sampler of blackjax, with its chains in lockstep by `vmap`.

Same target, step size, mass, depth and number of draws as the demo's own sampler. Under `jax.vmap`
each doubling of each draw lasts as long as the chain with most leaves takes.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from examples.targets import LogDensity


class LockstepRun(NamedTuple):
    """The cost of a run of blackjax.

    Attributes:
        gradients: The number of gradients that some chain needed, over all chains.
        executions: The least number of executions of the batched gradient.
        seconds: Seconds of wall time, without compilation.
    """

    gradients: int
    executions: int
    seconds: float


def sample(
    log_density: LogDensity,
    starts: Array,
    *,
    step_sizes: Sequence[float],
    max_depth: int,
    num_draws: int,
    variances: Array | None = None,
) -> list[LockstepRun]:
    """Returns a run of all chains for each step size; they are one compiled program.

    Args:
        log_density: of one position.
        starts: `Float[Array, "chains dim"]`.
        step_sizes: of the leapfrog.
        max_depth: doublings of a trajectory, at most.
        num_draws: of each chain.
        variances: the diagonal of the inverse mass matrix, `Float[Array, "dim"]`; 1 if None.

    Raises:
        ImportError: blackjax is not installed.
    """
    import blackjax  # noqa: PLC0415  (optional: only this function needs it)

    mass = jnp.ones(starts.shape[1]) if variances is None else variances

    def chain(key: Array, position: Array, step_size: Array) -> Array:
        algorithm = blackjax.nuts(log_density, step_size, mass, max_num_doublings=max_depth)

        def draw(state: Any, key: Array) -> tuple[Any, tuple[Array, Array]]:
            state, info = algorithm.step(key, state)
            return state, (state.position, info.num_integration_steps)

        _, (_, leaves) = jax.lax.scan(draw, algorithm.init(position), jax.random.split(key, num_draws))
        return leaves

    keys = jax.random.split(jax.random.key(3), len(starts))
    compiled = jax.jit(jax.vmap(chain, (0, 0, None))).lower(keys, starts, 0.0).compile()
    runs = []
    for step_size in step_sizes:
        started = time.perf_counter()
        leaves = np.asarray(compiled(keys, starts, step_size))
        seconds = time.perf_counter() - started
        runs.append(LockstepRun(int(leaves.sum()), count_executions(leaves), seconds))
    return runs


def count_executions(leaves: NDArray[np.integer]) -> int:
    """Returns the least number of executions of the batched gradient by chains in lockstep.

    A chain walks all `2**k` leaves of its doubling `k`, except in the last one, where it may stop
    early; every chain waits for the one that walks most. Chains that are done walk on, with their
    results dropped, and can be the longest; this is not counted, since `leaves` do not show it.

    Args:
        leaves: `Int[ndarray, "chains draws"]`, the leaves of each trajectory. A doubling walks at
            least one, so `n` leaves come from `n.bit_length()` doublings.

    Example:
        >>> count_executions(np.array([[3], [5]]))  # 1 + 2, and 1 + 2 + 2
        5
    """
    executions = 0
    for k in range(int(leaves.max()).bit_length()):
        walked = np.clip(leaves - (2**k - 1), 0, 2**k)
        executions += int(walked.max(axis=0).sum())
    return executions
