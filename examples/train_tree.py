"""A recursive network over trees, trained with optax: is an expression from numerical code, or from code on texts?

The trees are the expressions in some modules of the installed Python library, each of its own shape. Lanes share the
weights; each training step takes their gradient through the recursion, in one run. Every fifth tree is held out for
testing.

    python examples/train_tree.py --steps 30 --plot losses.png
"""

import argparse
import ast
import importlib.util
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib.figure import Figure

import hlobatch as hb

NUMBERS = ("statistics", "fractions", "random", "colorsys")
TEXTS = ("argparse", "textwrap", "configparser", "shlex")
KINDS = 64
"""The number of kinds of syntax nodes that the network distinguishes."""
WIDTH = 16
MOST_NODES = 63


@hb.batch(in_axes=(0, 0, 0, 0, None))
def meaning(kind, first, second, node, weights):
    """The vector of a node, computed from its kind and the vectors of its first child and its next sibling."""
    below = next_to = jnp.zeros(WIDTH)
    if first[node] >= 0:
        below = meaning(kind, first, second, first[node], weights)
    if second[node] >= 0:
        next_to = meaning(kind, first, second, second[node], weights)
    both = weights["below"] @ below + weights["next"] @ next_to
    return jnp.tanh(weights["kinds"][kind[node]] + both)


@hb.batch(in_axes=(0, 0, 0, 0, None))
def loss(kind, first, second, label, weights):
    """The cross entropy of one tree's classification."""
    score = weights["score"] @ meaning(kind, first, second, 0, weights)
    return jnp.logaddexp(0.0, jnp.where(label == 1, -score, score))


def rows(tree: ast.expr) -> list[tuple[int, int, int]]:
    """A tree's nodes: the kind, the first child, and the next sibling of each."""
    found: list[list[int]] = []

    def visit(node: ast.AST) -> int:
        place, last = len(found), -1
        found.append([sum(map(ord, type(node).__name__)) % KINDS, -1, -1])
        for child in ast.iter_child_nodes(node):
            own = visit(child)
            found[place if last < 0 else last][1 if last < 0 else 2] = own
            last = own
        return place

    visit(tree)
    return [tuple(row) for row in found]  # type: ignore[misc]


def trees(modules: tuple[str, ...], count: int) -> list[Any]:
    """Expressions of some size, none of which contains another."""
    found = []
    for name in modules:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        for statement in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
            if isinstance(statement, (ast.Assign, ast.Return, ast.Expr)) and statement.value is not None:
                nodes = rows(statement.value)
                if 5 <= len(nodes) <= MOST_NODES:
                    found.append(np.array(nodes + [(0, -1, -1)] * (MOST_NODES - len(nodes)), np.int32))
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))[:count]]


def beginning(seed: int) -> dict[str, jax.Array]:
    shapes = {"kinds": (KINDS, WIDTH), "below": (WIDTH, WIDTH), "next": (WIDTH, WIDTH), "score": (WIDTH,)}
    keys = jax.random.split(jax.random.key(seed), len(shapes))
    return {name: 0.3 * jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items(), strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30, help="steps of Adam")
    parser.add_argument("--trees", type=int, default=300, help="trees of each kind, at most")
    parser.add_argument("--plot", type=Path, help="a PNG with the losses")
    options = parser.parse_args()

    kinds = [trees(modules, options.trees) for modules in (NUMBERS, TEXTS)]
    nodes, label = np.stack([t for kind in kinds for t in kind]), np.repeat([0, 1], [len(kind) for kind in kinds])
    asked = np.arange(len(nodes)) % 5 == 0
    learned, held = [(*np.moveaxis(nodes[which], 2, 0), label[which]) for which in (~asked, asked)]
    print(f"{len(learned[0])} trees to learn from, {len(held[0])} to be asked about, of 5 to {MOST_NODES} nodes")

    weights, optimizer = beginning(0), optax.adam(0.02)
    state, losses, count = optimizer.init(weights), [], len(learned[0])
    gradient = hb.value_and_grad(loss, 4)
    for step in range(options.steps + 1):
        values, slope = gradient(*learned, weights)
        losses.append((float(values.mean()), float(loss(*held, weights).mean())))
        if step % max(1, options.steps // 6) == 0:
            print(f"step {step:3}: loss {losses[-1][0]:.3f}, of trees that it has not seen {losses[-1][1]:.3f}")
        updates, state = optimizer.update(jax.tree.map(lambda x: x / count, slope), state)
        weights = optax.apply_updates(weights, updates)
    right = float((loss(*held, weights) < jnp.log(2.0)).mean())
    print(f"{right:.0%} of {len(held[0])} trees that it has not seen are told right")
    if options.plot:
        plot(np.array(losses), options.plot)


def plot(losses: Any, path: Path) -> None:
    figure = Figure(figsize=(6, 4))
    axes = figure.subplots()
    axes.plot(losses, label=["learned from", "not seen"])
    axes.set(xlabel="step", ylabel="cross entropy", title="A recursive network learns to tell expressions apart")
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    main()
