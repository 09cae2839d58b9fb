"""A recursive network over binary trees: each input is a tree of its own shape.

Reference:
    Socher et al., "Recursive deep models for semantic compositionality over a sentiment treebank", EMNLP 2013.
    Looks et al., "Deep learning with dynamic computation graphs", ICLR 2017 (batching it by hand).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

WIDTH = 64
MAX_LEAVES = 64
NODES = 2 * MAX_LEAVES - 1
WORDS = 1_000
ROOFLINE_TIMES = 100


class Tree(NamedTuple):
    """Nodes of one tree, the root first, children after their parents."""

    left: Array  # Int[Array, "nodes"], the left child, or -1 at a leaf
    right: Array  # Int[Array, "nodes"]
    word: Array  # Int[Array, "nodes"], at leaves


class Network(NamedTuple):
    words: Array  # Float[Array, "words width"]
    left: Array  # Float[Array, "width width"]
    right: Array  # Float[Array, "width width"]


def cell(network: Network, left: Array, right: Array) -> Array:
    """The vector of a node from those of its two subtrees."""
    return jnp.tanh(left @ network.left + right @ network.right)


@hb.batch(in_axes=(0, 0, None))
def meaning(tree: Tree, node: Array, network: Network) -> Array:
    """The vector of a subtree: of its word at a leaf, else of its children's vectors."""
    if tree.left[node] < 0:
        return network.words[tree.word[node]]
    left = meaning(tree, tree.left[node], network)
    right = meaning(tree, tree.right[node], network)
    return cell(network, left, right)


def trees(count: int) -> Tree:
    """Random binary trees with 1 to 64 leaves: a node's leaves are divided at random among its children."""
    random = np.random.default_rng(3)
    left, right = np.full((2, count, NODES), -1, np.int32)
    for k in range(count):
        pending = [(0, int(np.exp(random.uniform(0, np.log(MAX_LEAVES + 1)))))]
        free = 1
        while pending:
            node, leaves = pending.pop()
            if leaves > 1:
                left[k, node], right[k, node] = free, free + 1
                first = int(random.integers(1, leaves))
                pending += [(free, first), (free + 1, leaves - first)]
                free += 2
    word = random.integers(0, WORDS, (count, NODES), np.int32)
    return Tree(jnp.asarray(left), jnp.asarray(right), jnp.asarray(word))


def network() -> Network:
    scale = WIDTH**-0.5
    left, right = ready.uniform(4, -scale, scale, 2, WIDTH, WIDTH)
    return Network(ready.uniform(5, -1.0, 1.0, WORDS, WIDTH), left, right)


def inputs(count: int) -> tuple[Tree, Array, Network]:
    return trees(count), jnp.zeros(count, jnp.int32), network()


def cells(tree: Tree) -> Array:
    """The number of inner nodes of each tree."""
    return (tree.left >= 0).sum(axis=-1)


def everything(result: Any) -> Any:
    return result


def batched(size: Size) -> Prepared:
    args = inputs(size.inputs)
    wanted = ready.total(cells(args[0]))
    return ready.batched(meaning, args, work=lambda _: wanted, comparable=everything)


def lockstep(size: Size) -> Prepared:
    """A contender in postorder, with a stack of vectors and one of nodes, each marked when its children are done."""

    def one(tree: Tree, node: Array, network: Network) -> tuple[Array, Array]:
        def visit(state: Any) -> Any:
            nodes, top, vectors, height, visits = state
            node = nodes[top]
            done = node < 0  # the complement marks a node whose children are done
            node = jnp.where(done, ~node, node)
            leaf = tree.left[node] < 0
            joined = cell(network, vectors[height - 2], vectors[height - 1])
            vector = jnp.where(leaf, network.words[tree.word[node]], joined)
            finished = leaf | done
            expanded = nodes.at[top].set(~node).at[top + 1].set(tree.right[node]).at[top + 2].set(tree.left[node])
            nodes = jnp.where(finished, nodes, expanded)
            place = jnp.where(leaf, height, height - 2)
            vectors = jnp.where(finished, vectors.at[place].set(vector), vectors)
            height = jnp.where(finished, place + 1, height)
            return nodes, jnp.where(finished, top - 1, top + 2), vectors, height, visits + 1

        nodes = jnp.zeros(NODES + 2, jnp.int32).at[0].set(node)
        start = (nodes, 0, jnp.zeros((MAX_LEAVES + 1, WIDTH)), 0, 0)
        _, _, vectors, _, visits = jax.lax.while_loop(lambda state: state[1] >= 0, visit, start)
        return vectors[0], visits

    args = inputs(size.inputs)
    wanted = ready.total(cells(args[0]))
    return ready.lockstep(
        one,
        args,
        size,
        in_axes=(0, 0, None),
        work=lambda _: wanted,
        comparable=lambda result: result[0],
        executions=lambda result: float(result[1].max()),
    )


def in_order(size: Size) -> Prepared:
    """A contender that visits all possible nodes in reverse.

    It needs children to have larger indices than their parents.
    """

    def one(tree: Tree, node: Array, network: Network) -> Array:
        def visit(k: Array, vectors: Array) -> Array:
            node = NODES - 1 - k
            joined = cell(network, vectors[tree.left[node]], vectors[tree.right[node]])
            vector = jnp.where(tree.left[node] < 0, network.words[tree.word[node]], joined)
            return vectors.at[node].set(vector)

        return jax.lax.fori_loop(0, NODES, visit, jnp.zeros((NODES, WIDTH)))[node]

    args = inputs(size.inputs)
    wanted = ready.total(cells(args[0]))
    return ready.lockstep(
        one,
        args,
        size,
        in_axes=(0, 0, None),
        work=lambda _: wanted,
        comparable=everything,
        executions=lambda _: float(NODES),
        note="relies on the order of the nodes",
    )


def roofline(size: Size) -> Prepared:
    def kernel(state: tuple[Array, Array, Network]) -> tuple[Array, Array, Network]:
        left, right, network = state
        return right, cell(network, left, right), network

    vectors = ready.uniform(6, -1.0, 1.0, 2, size.lanes, WIDTH)
    return ready.repeated(kernel, (vectors[0], vectors[1], network()), size, times=ROOFLINE_TIMES)


WORKLOAD = Workload(
    name="tree_network",
    title="Recursive tree network",
    unit="cell",
    description=(
        f"The vector of a binary tree with 1 to {MAX_LEAVES} leaves, by recursion; the kernel is a cell of two "
        f"{WIDTH} x {WIDTH} products. Lockstep keeps an explicit stack of nodes and one of vectors; the second "
        "lockstep version runs over all nodes, which have to be sorted so that children come before parents."
    ),
    sizes=(Size(1_000, 1_000), Size(100, 1_000), Size(1_000, 10_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep, "lockstep, nodes sorted": in_order},
    roofline=roofline,
)
