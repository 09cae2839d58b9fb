"""The No-U-Turn Sampler: a log density and one chain's state -> one more draw, as recursive Python that is batched.

This is Hoffman and Gelman's algorithm as it is run today: a draw is taken from the whole trajectory by weight,
uniformly within a doubling and biased to the new half between doublings, and a trajectory ends where it turns back by
the generalized criterion, which is tested for every subtree.

    transition                 one draw: doublings, forwards or backwards in time
      build_tree               a subtree of 2**depth leaves, recursively
        leaf                   a leapfrog step: the only gradient in the program
        join                   have two halves turned back, together or across their seam?

What keeps the batched program cheap, without changing what is computed:

- `build_tree` does not descend to its first leaf, it begins there: a leaf, then one more leaf, then a subtree of two,
  of four, each joined with all before it. It makes the same tree with half the calls.
- One `Walk` is threaded through it: the moving end of the trajectory, and accumulated values. A variable that goes into
  every call and comes out of it needs no stack. The stacks hold the momenta of the half that waits, and the position in
  the loop.
- A trajectory has the end where the walk is, and the other end. To change direction, these are swapped and the step is
  negated.
- Momenta and coins of known shape are passed in, drawn for many draws at a time; only a leaf draws its own coin.

Reference:
    Hoffman and Gelman, "The No-U-Turn Sampler", JMLR 15, 2014, algorithm 3.
    Betancourt, "A conceptual introduction to Hamiltonian Monte Carlo", 2017, appendix A.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

import hlobatch as hb
from hlobatch.mcmc.metric import whitened, widened
from hlobatch.typing import PyTree

Tree = TypeVar("Tree")
FlatLogDensity = Callable[[Array, PyTree], Array]
"""A log density of one position, `Float[Array, "dim"]`, and the data: a scalar, up to a constant."""

DIVERGENCE_THRESHOLD: Final = 1000.0
"""Energy error, in nats, beyond which the integrator has left the level set (Stan's choice)."""


class Point(NamedTuple):
    """A position with its log density.

    Attributes:
        position: `Float[Array, "dim"]`.
        log_density: `Float[Array, ""]`.
        gradient: `Float[Array, "dim"]`, of the log density.
        energy: `Float[Array, ""]`, the Hamiltonian of the phase in which the trajectory visited the position.
    """

    position: Array
    log_density: Array
    gradient: Array
    energy: Array


class Tally(NamedTuple):
    """Statistics of a trajectory.

    Attributes:
        leapfrogs: `Int[Array, ""]`, the number of integrator steps, hence of gradients.
        acceptance: `Float[Array, ""]`, the sum of the leaves' Metropolis probabilities.
        diverged: `Bool[Array, ""]`.
    """

    leapfrogs: Array
    acceptance: Array
    diverged: Array


class Noise(NamedTuple):
    """The random numbers of one draw.

    Attributes:
        momentum: `Float[Array, "dim"]`, standard normal.
        coins: `Float[Array, "max_depth 2"]`, uniform, for the direction of each doubling, and for its sample to be
            taken.
        key: The typed key of the leaves' coins.
    """

    momentum: Array
    coins: Array
    key: Array


class Phase(NamedTuple):
    """One end of a trajectory; momentum and gradient in coordinates in which the momentum is standard normal."""

    position: Array
    momentum: Array
    gradient: Array


class Subtree(NamedTuple):
    """The values of a subtree that the criterion needs, besides the end of the walk."""

    first_momentum: Array
    momentum_sum: Array


class Walk(NamedTuple):
    """The state of a depth-first walk over the leaves of a doubling."""

    end: Phase
    step: Array  # negative when going back in time
    start_energy: Array
    sample: Point  # one of the leaves of this doubling, drawn by weight
    log_weight: Array  # the log weight of all leaves of this doubling
    subtree: Subtree  # the one finished last
    stopped: Array  # whether the walk diverged or turned
    tally: Tally


class Trajectory(NamedTuple):
    """The trajectory so far, without its sample and the end of the walk."""

    other: Phase  # the end where the walk is not
    momentum_sum: Array
    log_weight: Array  # the initial state has weight 1
    turning: Array


Transition = Callable[[Point, Noise, Array, Array, PyTree], tuple[Point, Tally, Array]]


def make_transition(log_density: FlatLogDensity, max_depth: int, *, followed: bool = False) -> Transition:
    """Returns `transition(point, noise, step_size, scale, data) -> (point, tally, depth)`, for one chain.

    Args:
        log_density: A function of a position and the data.
        max_depth: The most doublings, hence at most `2**max_depth - 1` leaves.
        followed: Whether lanes have to run the density, since JAX cannot trace it.
    """
    density = hb.batch(log_density) if followed else log_density
    step_on = hb.batch(leaf) if followed else leaf

    @hb.batch
    def build_tree(walk: Walk, depth: Any, key: Array, scale: Array, data: PyTree) -> Walk:
        walk = step_on(density, walk, key, scale, data)
        for level in range(depth):
            if walk.stopped:
                break
            near, seam = walk.subtree, walk.end.momentum
            walk = build_tree(walk, level, key, scale, data)
            walk = join(near, seam, walk)
        return walk

    @hb.batch
    def transition(point: Point, noise: Noise, step_size: Array, scale: Array, data: PyTree) -> Any:
        point, walk, trajectory = set_out(point, noise.momentum, step_size, scale)
        depth = jnp.int32(0)
        while depth < max_depth:
            walk, trajectory = choose_end(walk, trajectory, noise.coins[depth, 0])
            seam = walk.end.momentum
            walk = build_tree(walk, depth, noise.key, scale, data)
            coin = noise.coins[depth, 1]
            depth += 1
            if walk.stopped:
                break
            point, trajectory = grow(point, trajectory, seam, walk, coin)
            if trajectory.turning:
                break
        return point, walk.tally, depth

    return transition


def leaf(log_density: FlatLogDensity, walk: Walk, key: Array, scale: Array, data: PyTree) -> Walk:
    """Returns the walk one leapfrog step further on."""
    half = 0.5 * walk.step
    momentum = walk.end.momentum + half * walk.end.gradient
    position = walk.end.position + walk.step * widened(scale, momentum)
    value, gradient = jax.value_and_grad(log_density)(position, data)
    slope = whitened(scale, gradient)
    momentum = momentum + half * slope
    energy = 0.5 * dot(momentum, momentum) - value
    log_ratio = walk.start_energy - energy
    log_ratio = jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio)
    diverged = log_ratio < -DIVERGENCE_THRESHOLD
    log_weight = jnp.logaddexp(walk.log_weight, log_ratio)
    coin = jax.random.uniform(jax.random.fold_in(key, walk.tally.leapfrogs), dtype=value.dtype)
    taken = jnp.log(coin) < log_ratio - log_weight
    tally = Tally(
        walk.tally.leapfrogs + 1,
        walk.tally.acceptance + jnp.exp(jnp.minimum(log_ratio, 0.0)),
        walk.tally.diverged | diverged,
    )
    return walk._replace(
        end=Phase(position, momentum, slope),
        sample=select(taken, Point(position, value, gradient, energy), walk.sample),
        log_weight=log_weight,
        subtree=Subtree(momentum, momentum),
        stopped=diverged,
        tally=tally,
    )


def join(near: Subtree, seam: Array, walk: Walk) -> Walk:
    """Returns the walk at the end of a tree: the half `near`, whose last momentum is `seam`, and the half just made."""
    subtree, turning = joined(near, seam, walk)
    return walk._replace(subtree=subtree, stopped=walk.stopped | turning)


def joined(near: Subtree, seam: Array, walk: Walk) -> tuple[Subtree, Array]:
    """Returns two halves as one subtree, and whether it turns back.

    A trajectory may turn back in neither half, and yet end where it began. So the criterion is also tested on each half
    with the nearest leaf of the other, as in Stan. The test has to be the same for a tree and for a trajectory, which
    might be a tree of one that began elsewhere; else the target would not be invariant.
    """
    far = walk.subtree
    momentum_sum = near.momentum_sum + far.momentum_sum
    turning = (
        is_turning(near.first_momentum, walk.end.momentum, momentum_sum)
        | is_turning(near.first_momentum, far.first_momentum, near.momentum_sum + far.first_momentum)
        | is_turning(seam, walk.end.momentum, far.momentum_sum + seam)
    )
    return Subtree(near.first_momentum, momentum_sum), turning


def set_out(point: Point, momentum: Array, step_size: Array, scale: Array) -> tuple[Point, Walk, Trajectory]:
    """Returns the point with its new energy, a walk that has not begun, and the trajectory of one state."""
    start = Phase(point.position, momentum, whitened(scale, point.gradient))
    zero, false = jnp.zeros_like(point.log_density), jnp.bool_(False)
    energy = 0.5 * dot(momentum, momentum) - point.log_density
    point = point._replace(energy=energy)
    tally = Tally(jnp.int32(0), zero, false)
    walk = Walk(start, zero + step_size, energy, point, zero, Subtree(momentum, momentum), false, tally)
    return point, walk, Trajectory(start, momentum, zero, turning=false)


def choose_end(walk: Walk, trajectory: Trajectory, coin: Array) -> tuple[Walk, Trajectory]:
    """Returns both, with the walk at either end with equal probability, and the weight of no leaves."""
    swap = coin < 0.5
    end, other = select(swap, (trajectory.other, walk.end), (walk.end, trajectory.other))
    step = jnp.where(swap, -walk.step, walk.step)
    log_weight = jnp.full_like(walk.log_weight, -jnp.inf)
    return walk._replace(end=end, step=step, log_weight=log_weight), trajectory._replace(other=other)


def grow(point: Point, trajectory: Trajectory, seam: Array, walk: Walk, coin: Array) -> tuple[Point, Trajectory]:
    """Returns the sampled point and the trajectory, with the doubling just walked added; it began next to `seam`.

    Its sample is taken with probability `min(1, new / old weight)` (Betancourt, appendix A.3.2).
    """
    taken = jnp.log(coin) < walk.log_weight - trajectory.log_weight
    log_weight = jnp.logaddexp(trajectory.log_weight, walk.log_weight)
    before = Subtree(trajectory.other.momentum, trajectory.momentum_sum)
    after, turning = joined(before, seam, walk)
    trajectory = Trajectory(trajectory.other, after.momentum_sum, log_weight, turning)
    return select(taken, walk.sample, point), trajectory


def is_turning(momentum: Array, other_momentum: Array, momentum_sum: Array) -> Array:
    """Returns whether an end of a trajectory moves towards the other (Betancourt, appendix A.4.2).

    Without half of each end's momentum, the sum is the trapezoidal estimate of their distance.
    """
    distance = momentum_sum - 0.5 * (momentum + other_momentum)
    return (dot(momentum, distance) <= 0.0) | (dot(other_momentum, distance) <= 0.0)


def dot(a: Array, b: Array) -> Array:
    """Returns the inner product, as a sum that XLA fuses with its neighbors; of `a @ b` it would make a call."""
    return jnp.sum(a * b)


def select(condition: Array, yes: Tree, no: Tree) -> Tree:
    """Returns one tree or the other, leaf by leaf."""
    chosen: Tree = jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
    return chosen
