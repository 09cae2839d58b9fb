"""The No-U-Turn Sampler, written for one chain and batched by hlobatch.

`make_nuts` takes the log density of one position, and returns `sample`, a batched function from
chains to chains and draws. The code is for one chain: no batch axis, no masks, a `build_tree` that
calls itself.

    sample                     one chain: its draws, and the doublings of each
      build_tree               a subtree of 2**depth leaves, recursively
        leaf                   the leapfrog: the only gradient in the program
        join                   the U-turn check over two halves

This is the algorithm of blackjax and numpyro: multinomial, with uniform progressive sampling inside
a doubling and biased between doublings, and the generalized U-turn criterion at both ends of every
subtree. Stan also checks across the seam of two halves; that would stack one more vector.

Four choices keep the batched program cheap. None changes what is computed.

- `build_tree` does not descend to its first leaf, it begins there: a leaf, then one more leaf, then
  a subtree of two, of four, each joined with all before it. It is the same tree with half the calls.
- `build_tree` threads one `Walk`: the moving end of the trajectory, and all that only accumulates
  (the sampled leaf, its weight, the counters). What goes into every call and comes out of it needs
  no stack. Only `near` and the state of the loop are saved.
- A trajectory has two ends, and the walk is at one of them. To change direction, the ends are
  swapped and the step is negated, so no subtree has to return its edges.
- Random numbers of a shape known in advance are drawn on entry, where all chains are together.
  Only the leaf, where chains keep meeting, draws its own.

Reference:
    Hoffman and Gelman, "The No-U-Turn Sampler", JMLR 15, 2014, algorithm 3.
    Betancourt, "A conceptual introduction to Hamiltonian Monte Carlo", 2017, appendix A.
    Radul et al., "Automatically batching control-intensive programs for modern accelerators",
    MLSys 2020, section 4.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

import hlobatch as hb

Tree = TypeVar("Tree")
LogDensity = Callable[[Array], Array]

DIVERGENCE_THRESHOLD = 1000.0
"""Energy error, in nats, beyond which the integrator has left the level set (Stan's choice)."""


class Point(NamedTuple):
    """A position, with the target's log density and gradient there."""

    position: Array  # Float[Array, "dim"]
    log_density: Array  # Float[Array, ""]
    gradient: Array  # Float[Array, "dim"], of the log density


class Phase(NamedTuple):
    """One end of a trajectory. Momenta are in units in which they are standard normal."""

    position: Array  # Float[Array, "dim"]
    momentum: Array  # Float[Array, "dim"]
    gradient: Array  # Float[Array, "dim"], of the log density at `position`


class Subtree(NamedTuple):
    """The part of a subtree that the U-turn check needs, besides the end of the walk."""

    first_momentum: Array  # Float[Array, "dim"], of the leaf visited first
    momentum_sum: Array  # Float[Array, "dim"], over all leaves


class Tally(NamedTuple):
    """Counts of a chain since it started."""

    leapfrogs: Array  # Int[Array, ""], leapfrog steps, hence gradients
    acceptance: Array  # Float[Array, ""], over `leapfrogs`: the mean Metropolis probability
    divergences: Array  # Int[Array, ""], trajectories that ended in a divergence


class Chain(NamedTuple):
    """The state of a chain between two draws."""

    key: Array  # Key[Array, ""], typed
    point: Point  # the last draw
    tally: Tally


class Walk(NamedTuple):
    """The state of a depth-first walk over the leaves of a doubling."""

    end: Phase  # the moving end of the trajectory
    step: Array  # Float[Array, ""], negative when going back in time
    energy: Array  # Float[Array, ""], at the start of the trajectory
    key: Array  # Key[Array, ""], of the leaves; used with `tally.leapfrogs`, never rewritten
    sample: Point  # one of the leaves of this doubling, drawn by weight
    log_weight: Array  # Float[Array, ""], of the leaves of this doubling together
    subtree: Subtree  # the one finished last
    stopped: Array  # Bool[Array, ""], the walk diverged or turned
    tally: Tally  # of the chain, up to here


class Trajectory(NamedTuple):
    """The doublings so far, besides their sampled point and the end of the walk."""

    other: Phase  # the end that the walk is not at
    momentum_sum: Array  # Float[Array, "dim"], over all states
    log_weight: Array  # Float[Array, ""], of all states, where the initial one has weight 1
    turning: Array  # Bool[Array, ""], the ends have begun to approach each other


def start_chain(log_density: LogDensity, key: Array, position: Array) -> Chain:
    """Returns a chain at `position`, `Float[Array, "dim"]`; use `jax.vmap` to start many."""
    value, gradient = jax.value_and_grad(log_density)(position)
    tally = Tally(jnp.int32(0), jnp.zeros_like(value), jnp.int32(0))
    return Chain(key, Point(position, value, gradient), tally)


def make_nuts(
    log_density: LogDensity,
    *,
    step_size: float,
    num_draws: int,
    max_depth: int = 10,
    leapfrogs_per_leaf: int = 1,
    inverse_mass: float | Array = 1.0,
    gather: bool = False,
) -> Callable[[Chain], tuple[Chain, Array]]:
    """Returns a batched sampler for one target. To go on, call it on the chains it returned.

    The loop over draws is inside the batched function, so a chain that finishes a trajectory starts
    the next one whatever the others do (Radul et al., section 4.2 and figure 7).

    Args:
        log_density: maps one position, `Float[Array, "dim"]`, to a scalar. Arrays it closes over
            are shared by all chains.
        step_size: of the leapfrog.
        num_draws: draws of each chain in each call.
        max_depth: doublings at most, hence `2**max_depth - 1` leaves.
        leapfrogs_per_leaf: steps from leaf to leaf, 4 in Radul et al., section 4.1.
        inverse_mass: diagonal of the inverse mass matrix, `Float[Array, "dim"]` or a scalar.
        gather: whether a leaf waits until every chain is at one. This needs the fewest batched
            gradients, and pays if one takes longer than everything else together.

    Returns:
        `sample(chains) -> (chains, draws)`: every leaf of `chains` has a leading axis `lanes`, and
        `draws` is `Float[Array, "lanes num_draws dim"]`.

    Example:
        >>> def normal(x):
        ...     return -0.5 * x @ x
        >>> keys = jax.random.split(jax.random.key(0), 4)
        >>> chains = jax.vmap(start_chain, (None, 0, 0))(normal, keys, jnp.ones((4, 3)))
        >>> chains, draws = make_nuts(normal, step_size=0.5, num_draws=10)(chains)
        >>> draws.shape
        (4, 10, 3)
    """
    leaf = make_leaf(log_density, leapfrogs_per_leaf, inverse_mass)

    @hb.batch
    def build_tree(walk: Walk, depth: int) -> Walk:
        if gather:
            hb.sync()
        walk = leaf(walk)
        for level in range(depth):
            if walk.stopped:
                break
            near = walk.subtree
            walk = build_tree(walk, level)
            walk = join(near, walk)
        return walk

    @hb.batch
    def sample(chain: Chain) -> tuple[Chain, Array]:
        key, leaf_key, momenta, coins = draw_noise(chain, num_draws, max_depth)
        point, tally = chain.point, chain.tally
        draws = jnp.zeros_like(momenta)
        for draw in range(num_draws):
            walk, trajectory = set_out(point, momenta[draw], step_size, leaf_key, tally)
            for depth in range(max_depth):
                walk, trajectory = choose_end(walk, trajectory, coins[draw, depth, 0])
                walk = build_tree(walk, depth)
                if walk.stopped:
                    break
                point, trajectory = grow(point, trajectory, walk, coins[draw, depth, 1])
                if trajectory.turning:
                    break
            tally = walk.tally
            draws = draws.at[draw].set(point.position)
        return Chain(key, point, tally), draws

    return sample


def make_leaf(
    log_density: LogDensity,
    leapfrogs_per_leaf: int,
    inverse_mass: float | Array,
) -> Callable[[Walk], Walk]:
    """Returns the step to the next leaf: the only place that evaluates the gradient."""
    scale = jnp.sqrt(inverse_mass)

    def leaf(walk: Walk) -> Walk:
        position, momentum, gradient = walk.end
        step = scale * walk.step
        for _ in range(leapfrogs_per_leaf):
            momentum = momentum + 0.5 * step * gradient
            position = position + step * momentum
            value, gradient = jax.value_and_grad(log_density)(position)
            momentum = momentum + 0.5 * step * gradient
        log_ratio = walk.energy - (0.5 * dot(momentum, momentum) - value)
        log_ratio = jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio)
        diverged = log_ratio < -DIVERGENCE_THRESHOLD
        log_weight = jnp.logaddexp(walk.log_weight, log_ratio)
        coin = jax.random.uniform(jax.random.fold_in(walk.key, walk.tally.leapfrogs))
        taken = jnp.log(coin) < log_ratio - log_weight
        return walk._replace(
            end=Phase(position, momentum, gradient),
            sample=select(taken, Point(position, value, gradient), walk.sample),
            log_weight=log_weight,
            subtree=Subtree(momentum, momentum),
            stopped=diverged,
            tally=count(walk.tally, leapfrogs_per_leaf, log_ratio, diverged),
        )

    return leaf


def count(tally: Tally, leapfrogs: int, log_ratio: Array, diverged: Array) -> Tally:
    """Returns the tally after a leaf whose weight is `exp(log_ratio)`."""
    acceptance = tally.acceptance + leapfrogs * jnp.exp(jnp.minimum(log_ratio, 0.0))
    return Tally(tally.leapfrogs + leapfrogs, acceptance, tally.divergences + diverged)


def join(near: Subtree, walk: Walk) -> Walk:
    """Returns the walk at the end of a tree: its half `near`, then the half just finished."""
    momentum_sum = near.momentum_sum + walk.subtree.momentum_sum
    turning = is_turning(near.first_momentum, walk.end.momentum, momentum_sum)
    subtree = Subtree(near.first_momentum, momentum_sum)
    return walk._replace(subtree=subtree, stopped=walk.stopped | turning)


def draw_noise(chain: Chain, num_draws: int, max_depth: int) -> tuple[Array, Array, Array, Array]:
    """Returns the key of the next call, the key of the leaves, and the noise of `num_draws` draws.

    The noise is momenta, `Float[Array, "num_draws dim"]`, normal, and coins for the end and the
    sample of each doubling, `Float[Array, "num_draws max_depth 2"]`, uniform.
    """
    key, leaf_key, momentum_key, coin_key = jax.random.split(chain.key, 4)
    position = chain.point.position
    momenta = jax.random.normal(momentum_key, (num_draws, *position.shape), position.dtype)
    coins = jax.random.uniform(coin_key, (num_draws, max_depth, 2), position.dtype)
    return key, leaf_key, momenta, coins


def set_out(
    point: Point,
    momentum: Array,
    step_size: float,
    leaf_key: Array,
    tally: Tally,
) -> tuple[Walk, Trajectory]:
    """Returns the walk that has not begun and the trajectory of one state."""
    start = Phase(point.position, momentum, point.gradient)
    zero, false = jnp.zeros_like(point.log_density), jnp.bool_(False)
    energy = 0.5 * dot(momentum, momentum) - point.log_density
    subtree = Subtree(momentum, momentum)
    walk = Walk(start, zero + step_size, energy, leaf_key, point, zero, subtree, false, tally)
    return walk, Trajectory(start, momentum, zero, turning=false)


def choose_end(walk: Walk, trajectory: Trajectory, coin: Array) -> tuple[Walk, Trajectory]:
    """Returns the walk at either end with equal probability, before its first leaf, and the trajectory."""
    swap = coin < 0.5
    end, other = select(swap, (trajectory.other, walk.end), (walk.end, trajectory.other))
    step = jnp.where(swap, -walk.step, walk.step)
    log_weight = jnp.full_like(walk.log_weight, -jnp.inf)
    walk = walk._replace(end=end, step=step, log_weight=log_weight)
    return walk, trajectory._replace(other=other)


def grow(point: Point, trajectory: Trajectory, walk: Walk, coin: Array) -> tuple[Point, Trajectory]:
    """Returns the sampled point and the trajectory, with the doubling just walked.

    Its sample is taken with probability `min(1, new / old weight)` (Betancourt, appendix A.3.2).
    """
    taken = jnp.log(coin) < walk.log_weight - trajectory.log_weight
    log_weight = jnp.logaddexp(trajectory.log_weight, walk.log_weight)
    momentum_sum = trajectory.momentum_sum + walk.subtree.momentum_sum
    turning = is_turning(trajectory.other.momentum, walk.end.momentum, momentum_sum)
    trajectory = Trajectory(trajectory.other, momentum_sum, log_weight, turning)
    return select(taken, walk.sample, point), trajectory


def is_turning(momentum: Array, other_momentum: Array, momentum_sum: Array) -> Array:
    """Returns whether either end of a trajectory moves towards the other (appendix A.4.2).

    Without half of each end's momentum, the sum is the trapezoidal estimate of their distance.
    """
    distance = momentum_sum - 0.5 * (momentum + other_momentum)
    return (dot(momentum, distance) <= 0.0) | (dot(other_momentum, distance) <= 0.0)


def dot(a: Array, b: Array) -> Array:
    """Returns the inner product. XLA fuses a sum with its neighbors, and makes a call of `a @ b`."""
    return jnp.sum(a * b)


def select(condition: Array, yes: Tree, no: Tree) -> Tree:
    """Returns the one tree or the other, leaf by leaf."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
