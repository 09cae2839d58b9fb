"""The nearest neighbor in a k-d tree: recursion that skips subtrees that cannot have a nearer point.

Reference:
    Friedman, Bentley and Finkel, "An algorithm for finding best matches in logarithmic expected time", ACM
    Transactions on Mathematical Software 3, 1977.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

LEVELS = 12
POINTS = 2**LEVELS - 1
DIMENSIONS = 3


@hb.batch(in_axes=(0, 0, 0, 0, 0, 0, None))
def nearest(
    query: Array, node: Array, axis: Array, best: Array, closest: Array, visits: Array, points: Array
) -> tuple[Array, Array, Array]:
    """The nearest point found so far, its squared distance, and the number of points visited.

    Args:
        query: `Float[Array, "dimensions"]`.
        node: The root of a subtree; its children are at `2 * node + 1` and `2 * node + 2`.
        axis: The axis that divides the subtree.
        best: The nearest point before.
        closest: Its squared distance.
        visits: The number of points visited before.
        points: `Float[Array, "points dimensions"]`, the tree.
    """
    if node >= POINTS:
        return best, closest, visits
    point = points[node]
    distance = jnp.sum((query - point) ** 2)
    if distance < closest:
        best, closest = node, distance
    beyond = query[axis] - point[axis]
    near = 2 * node + 1 + (beyond >= 0)
    far = 2 * node + 2 - (beyond >= 0)
    next_axis = (axis + 1) % DIMENSIONS
    best, closest, visits = nearest(query, near, next_axis, best, closest, visits + 1, points)
    if beyond * beyond < closest:
        best, closest, visits = nearest(query, far, next_axis, best, closest, visits, points)
    return best, closest, visits


def tree() -> Array:
    """Random points in the order of a complete tree, each level divided at the medians of one axis."""
    random = np.random.default_rng(60).normal(size=(POINTS, DIMENSIONS)).astype(np.float32)
    placed = np.zeros_like(random)
    pending = [(0, 0, random)]
    while pending:
        node, axis, points = pending.pop()
        points = points[np.argsort(points[:, axis])]
        middle = len(points) // 2
        placed[node] = points[middle]
        if len(points) > 1:
            axis = (axis + 1) % DIMENSIONS
            pending += [(2 * node + 1, axis, points[:middle]), (2 * node + 2, axis, points[middle + 1 :])]
    return jnp.asarray(placed)


def queries(count: int) -> Array:
    """Queries within the cloud of points, and some far outside, for which few subtrees can be skipped."""
    random = np.random.default_rng(61)
    scale = np.exp(random.uniform(-1.0, 0.8, (count, 1)))
    return jnp.asarray(scale * random.normal(size=(count, DIMENSIONS)), jnp.float32)


def inputs(count: int) -> tuple[Array, ...]:
    zeros = jnp.zeros(count, jnp.int32)
    return queries(count), zeros, zeros, zeros - 1, jnp.full(count, jnp.inf), zeros, tree()


def work(result: Any) -> float:
    return ready.total(result[2])


def distance_of(result: Any) -> Any:
    return result[1]


def batched(size: Size, **options: Any) -> Prepared:
    return ready.batched(nearest, inputs(size.inputs), work=work, comparable=distance_of, **options)


def lockstep(size: Size) -> Prepared:
    """A contender with an explicit stack of subtrees and their distances.

    The farther child lies below the nearer one.
    """

    def one(query: Array, points: Array) -> tuple[Array, Array, Array, Array]:
        def visit(state: Any) -> Any:
            nodes, bounds, top, best, closest, visits, rounds = state
            node = nodes[top]
            skip = (node >= POINTS) | (bounds[top] >= closest)
            point = points[jnp.minimum(node, POINTS - 1)]
            distance = jnp.sum((query - point) ** 2)
            better = ~skip & (distance < closest)
            axis = (31 - jax.lax.clz(node + 1)) % DIMENSIONS
            beyond = query[axis] - point[axis]
            near, far = 2 * node + 1 + (beyond >= 0), 2 * node + 2 - (beyond >= 0)
            nodes = jnp.where(skip, nodes, nodes.at[top].set(far).at[top + 1].set(near))
            bounds = jnp.where(skip, bounds, bounds.at[top].set(beyond**2).at[top + 1].set(-1.0))
            best, closest = jnp.where(better, node, best), jnp.where(better, distance, closest)
            return nodes, bounds, jnp.where(skip, top - 1, top + 1), best, closest, visits + ~skip, rounds + 1

        nodes, bounds = jnp.zeros(LEVELS + 2, jnp.int32), jnp.full(LEVELS + 2, -1.0)
        first = (nodes, bounds, 0, -1, jnp.float32(jnp.inf), 0, 0)
        _, _, _, best, closest, visits, rounds = jax.lax.while_loop(lambda state: state[2] >= 0, visit, first)
        return best, closest, visits, rounds

    args = (queries(size.inputs), tree())
    return ready.lockstep(
        one,
        args,
        size,
        in_axes=(0, None),
        work=work,
        comparable=distance_of,
        executions=lambda result: float(result[3].max()),
    )


def serial(size: Size) -> Prepared:
    import numba

    @numba.njit
    def one(query: Any, node: int, axis: int, best: int, closest: float, visits: int, points: Any) -> Any:
        if node >= POINTS:
            return best, closest, visits
        point = points[node]
        distance = np.float32(0.0)
        for k in range(DIMENSIONS):
            distance += (query[k] - point[k]) ** 2
        if distance < closest:
            best, closest = node, distance
        beyond = query[axis] - point[axis]
        near, far = 2 * node + 1, 2 * node + 2
        if beyond >= 0:
            near, far = far, near
        axis = (axis + 1) % DIMENSIONS
        best, closest, visits = one(query, near, axis, best, closest, visits + 1, points)
        if beyond * beyond < closest:
            best, closest, visits = one(query, far, axis, best, closest, visits, points)
        return best, closest, visits

    @numba.njit
    def all_inputs(queries: Any, points: Any) -> Any:
        best, visits = np.empty((2, len(queries)), np.int32)
        closest = np.empty(len(queries), np.float32)
        for k in range(len(queries)):
            best[k], closest[k], visits[k] = one(queries[k], 0, 0, -1, np.float32(np.inf), 0, points)
        return best, closest, visits

    args = (queries(size.inputs), tree())
    return ready.serial(all_inputs, args, work=work, comparable=distance_of)


WORKLOAD = Workload(
    name="kd_tree",
    title="Nearest neighbor in a k-d tree",
    unit="point",
    description=(
        f"{POINTS:,} points in {DIMENSIONS} dimensions, searched recursively; subtrees that cannot hold a nearer "
        "point are skipped. The unit is a visited point. A distance is little work: most of it is control flow."
    ),
    sizes=(Size(1_000, 1_000), Size(1_000, 10_000)),
    contenders={
        "hlobatch": batched,
        "hlobatch, without kernels": partial(batched, **ready.without("kernels")),
        "lockstep vmap": lockstep,
        "numba, serial": serial,
    },
    roofline=None,
)
