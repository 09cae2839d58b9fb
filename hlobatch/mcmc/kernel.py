"""A log density, a step size and a metric -> a kernel with `init` and `step`, like blackjax's.

It can take the place of `blackjax.nuts`: under `jax.jit`, `jax.vmap` over chains and `jax.lax.scan` over draws, and as
the algorithm of `blackjax.window_adaptation`. Chains under `jax.vmap` are lanes. In a scan they wait for each other
after each draw, unlike those of `mcmc.sample`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

import hlobatch as hb
from hlobatch.mcmc.chains import noise_of_draw
from hlobatch.mcmc.density import LogDensity, is_followed
from hlobatch.mcmc.errors import ArgumentError
from hlobatch.mcmc.nuts import Point, Transition, make_transition
from hlobatch.mcmc.parameters import Parameters, describe
from hlobatch.typing import ArrayLike, PyTree


class KernelState(NamedTuple):
    """The state of a chain, with blackjax's names.

    Attributes:
        position: Pytree.
        logdensity: `Float[Array, ""]`.
        logdensity_grad: Pytree.
    """

    position: PyTree
    logdensity: Array
    logdensity_grad: PyTree


class KernelInfo(NamedTuple):
    """Statistics of a step, with blackjax's names.

    Attributes:
        is_divergent: `Bool[Array, ""]`.
        energy: `Float[Array, ""]`, the Hamiltonian at the draw in its trajectory, in nats.
        num_trajectory_expansions: `Int[Array, ""]`, doublings.
        num_integration_steps: `Int[Array, ""]`.
        acceptance_rate: `Float[Array, ""]`, the mean Metropolis probability along the trajectory.
    """

    is_divergent: Array
    energy: Array
    num_trajectory_expansions: Array
    num_integration_steps: Array
    acceptance_rate: Array


class Kernel(NamedTuple):
    """A Markov kernel.

    Attributes:
        init: `position -> state`.
        step: `(key, state) -> (state, info)`.
    """

    init: Callable[[PyTree], KernelState]
    step: Callable[[Array, KernelState], tuple[KernelState, KernelInfo]]


class Nuts:
    """The No-U-Turn Sampler as a kernel, with blackjax's names: `nuts(log_density, step_size, inverse_mass_matrix)`.

    It can take the place of `blackjax.nuts`. Chains under `jax.vmap` are lanes, of which none waits for the trajectory
    of another within a draw. The step size and the metric are not adapted: `mcmc.sample` does that.

    Args:
        logdensity_fn: The log density of one chain: a pytree of real arrays -> a scalar, up to a constant.
        step_size: The step size of the integrator, a scalar.
        inverse_mass_matrix: Variances, `Float[Array, "dim"]`, or covariances, `Float[Array, "dim dim"]`, of the
            elements of the position, leaf by leaf; or one variance for all.
        max_num_doublings: The most doublings of a trajectory.

    Returns:
        `init`, from a position to a state, and `step`, from a key and a state to the next state and statistics.

    Raises:
        ArgumentError: In a step: the metric does not fit the position.

    Examples:
        >>> import jax, jax.numpy as jnp
        >>> from hlobatch import mcmc
        >>> kernel = mcmc.nuts(lambda x: -0.5 * jnp.sum(x**2), 0.5, jnp.ones(2))
        >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
        >>> state.position.shape, bool(info.is_divergent)
        ((2,), False)
    """

    def __call__(
        self,
        logdensity_fn: LogDensity,
        step_size: ArrayLike,
        inverse_mass_matrix: ArrayLike,
        *,
        max_num_doublings: int = 10,
    ) -> Kernel:
        """The kernel of a log density; the class describes the arguments."""
        kernel = self.build_kernel()

        def step(key: Array, state: KernelState) -> tuple[KernelState, KernelInfo]:
            return kernel(key, state, logdensity_fn, step_size, inverse_mass_matrix, max_num_doublings)

        def init(position: PyTree) -> KernelState:
            value_and_gradient = _value_and_gradient(logdensity_fn, describe(position))
            value, gradient = value_and_gradient(position)
            return KernelState(position, value, gradient)

        return Kernel(_OfOneChain(init), _OfOneChain(step))

    def init(self, position: PyTree, logdensity_fn: LogDensity) -> KernelState:
        """The state of a chain at a position."""
        value, gradient = _value_and_gradient(logdensity_fn, describe(position))(position)
        return KernelState(position, value, gradient)

    def build_kernel(self, *_: Any, **__: Any) -> Callable[..., tuple[KernelState, KernelInfo]]:
        """The kernel as a function that also takes the log density; the integrator is always the leapfrog."""
        return _step


class _OfOneChain:
    """A function of one chain; in a batched function its blocks become a part of the program, as if it were batched.

    Attributes:
        function: The function.
    """

    __hlobatch_type_inference__ = None

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__hlobatch_function__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.__hlobatch_function__(*args, **kwargs)


class _BatchOfOne(_OfOneChain):
    """A batched function as a function of one chain, which under `jax.vmap` runs all chains as lanes.

    Attributes:
        batched: The batched function.
    """

    def __init__(self, batched: Callable[..., Any]) -> None:
        super().__init__(batched.__hlobatch_function__)  # type: ignore[attr-defined]  # every batched function has it
        self.batched = batched

    def __call__(self, *args: Any) -> Any:
        """Call the function on a batch of one chain."""
        results = self.batched(*jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], args))
        return jax.tree.map(lambda leaf: leaf[0], results)


@_OfOneChain
def _step(
    rng_key: Array,
    state: KernelState,
    logdensity_fn: LogDensity,
    step_size: ArrayLike,
    inverse_mass_matrix: ArrayLike,
    max_num_doublings: int = 10,
) -> tuple[KernelState, KernelInfo]:
    """Make one draw."""
    parameters = describe(state.position)
    key = rng_key if jnp.issubdtype(rng_key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(rng_key)
    metric = jnp.asarray(inverse_mass_matrix, parameters.dtype)
    if metric.shape not in ((), (parameters.dim,), (parameters.dim, parameters.dim)):
        raise ArgumentError(
            f"inverse_mass_matrix has shape {metric.shape}, and a position has {parameters.dim} elements.",
            help="give their variances, or the matrix of their covariances.",
        )
    scale = jnp.sqrt(metric) if metric.ndim < 2 else jnp.linalg.cholesky(metric)
    if scale.ndim == 0:
        scale = jnp.broadcast_to(scale, parameters.dim)
    position, value = parameters.position(state.position), jnp.asarray(state.logdensity, parameters.dtype)
    point = Point(position, value, parameters.position(state.logdensity_grad), -value)
    noise = noise_of_draw(key, jnp.int32(0), parameters.dim, parameters.dtype, max_num_doublings)
    transition = _transition(logdensity_fn, parameters, max_num_doublings)
    point, tally, depth = transition(point, noise, jnp.asarray(step_size, parameters.dtype), scale, ())
    (new, _), (gradient, _) = parameters.at(point.position), parameters.at(point.gradient)
    acceptance = tally.acceptance / tally.leapfrogs
    info = KernelInfo(tally.diverged, point.energy, depth, tally.leapfrogs, acceptance)
    return KernelState(new, point.log_density, gradient), info


@functools.lru_cache(maxsize=16)
def _transition(logdensity_fn: LogDensity, parameters: Parameters, max_depth: int) -> Transition:
    """The transition for a log density, cached so that it is traced once."""
    density = parameters.log_density(logdensity_fn)
    return _BatchOfOne(make_transition(density, max_depth, followed=_is_followed(logdensity_fn, parameters)))


@functools.lru_cache(maxsize=16)
def _is_followed(logdensity_fn: LogDensity, parameters: Parameters) -> bool:
    """Whether lanes have to run a log density."""
    position = jax.ShapeDtypeStruct((parameters.dim,), parameters.dtype)
    return is_followed(parameters.log_density(logdensity_fn), position, ())


@functools.lru_cache(maxsize=16)
def _value_and_gradient(logdensity_fn: LogDensity, parameters: Parameters) -> Callable[[PyTree], tuple[Array, PyTree]]:
    """The log density of one chain with its gradient, cached so that it is traced once."""
    if not _is_followed(logdensity_fn, parameters):
        return jax.value_and_grad(logdensity_fn)

    @hb.batch
    def density(position: PyTree) -> Array:
        value: Array = logdensity_fn(position)
        return value

    @hb.batch
    def value_and_gradient(position: PyTree) -> tuple[Array, PyTree]:
        return jax.value_and_grad(density)(position)

    return _BatchOfOne(value_and_gradient)


nuts: Final = Nuts()
