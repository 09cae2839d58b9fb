"""A neural ODE, trained with optax on a recording of a firing nerve cell: it forecasts the cell's voltage.

The recording comes with matplotlib. A state is the voltage now and a little earlier; in this plane a firing cell moves
along a closed curve. The solver adapts its steps, many in a spike and few between spikes, so that each lane makes its
own number of turns, through which its gradient goes back. Lanes share the weights. Every fourth spike is held out for
testing.

    python examples/train_ode.py --steps 60 --plot cell.png
"""

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from matplotlib.cbook import get_sample_data
from matplotlib.figure import Figure

import hlobatch as hb

FIRST, LAST = 2_400, 7_000
"""The samples between which the cell fires regularly; there are 2,000 samples a second."""
UNIT = 10
"""Samples in a unit of time, 5 ms."""
EARLIER = 4
"""Samples between the two voltages of a state."""
WIDTH = 24
TOLERANCE = 1e-2
MOST_TURNS = 200


def slope(state, weights):
    """The derivative of a state."""
    inner = jnp.tanh(weights["in"] @ state + weights["at"])
    return 2.0 * weights["out"] @ jnp.tanh(weights["between"] @ inner + weights["then"])


@hb.batch(in_axes=(0, 0, None))
def later(state, duration, weights):
    """The state after some time, by Heun's method with adaptive steps."""
    time, step, turns = 0.0, 0.2, 0
    while time < duration and turns < MOST_TURNS:
        turns += 1
        step = jnp.minimum(step, duration - time)
        here = slope(state, weights)
        there = slope(state + step * here, weights)
        error = jnp.max(jnp.abs(there - here)) * step / 2 / TOLERANCE
        if error < 1.0:
            time = time + step
            state = state + step / 2 * (here + there)
        step = step * jnp.clip(0.9 / jnp.sqrt(error + 1e-6), 0.3, 3.0)
    return state


@hb.batch(in_axes=(0, 0, 0, None))
def loss(state, duration, target, weights):
    """The squared error of one forecast."""
    return jnp.sum((later(state, duration, weights) - target) ** 2)


def voltages() -> Any:
    """The recording, scaled to mean 0 and standard deviation 1."""
    recorded = np.fromfile(get_sample_data("membrane.dat", asfileobj=False), np.float32)[FIRST:LAST]
    return (recorded - recorded.mean()) / recorded.std()


def states(recorded: Any, at: Any) -> Any:
    """The states at some indices of samples."""
    return np.stack([recorded[at], recorded[at - EARLIER]], -1)


def forecasts(recorded: Any, count: int) -> tuple[Any, Any]:
    """Forecasts for training and for testing: a state, a duration, and the state after it."""
    random = np.random.default_rng(0)
    rises = np.flatnonzero((recorded[1:] > 1.5) & (recorded[:-1] <= 1.5))
    length = random.integers(2, 25, 4 * count)
    anywhere = random.integers(EARLIER, len(recorded) - 30, 2 * count)
    near = random.choice(rises[1:-1], 2 * count) + random.integers(-25, 15, 2 * count)
    start = random.permutation(np.concatenate([anywhere, near]))
    spike = np.searchsorted(rises, start)
    is_asked = (spike % 4 == 3) & (np.searchsorted(rises, start + length) - spike < 2)
    found = states(recorded, start), (length / UNIT).astype(np.float32), states(recorded, start + length)
    learned = tuple(x[spike % 4 != 3][:count] for x in found)
    return learned, tuple(x[is_asked][: count // 3] for x in found)


def beginning(seed: int) -> dict[str, jax.Array]:
    shapes = {"in": (WIDTH, 2), "at": (WIDTH,), "between": (WIDTH, WIDTH), "then": (WIDTH,), "out": (2, WIDTH)}
    keys = jax.random.split(jax.random.key(seed), len(shapes))
    return {
        name: jax.random.normal(key, s) / np.sqrt(s[-1]) for key, (name, s) in zip(keys, shapes.items(), strict=True)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300, help="steps of Adam")
    parser.add_argument("--forecasts", type=int, default=400, help="forecasts to learn from")
    parser.add_argument("--plot", type=Path, help="a PNG with the losses, and what the cell is thought to do")
    options = parser.parse_args()

    recorded = voltages()
    learned, held = forecasts(recorded, options.forecasts)
    print(f"{len(learned[0])} forecasts to learn from, {len(held[0])} to be asked about, of 1 to 12 ms")
    weights = beginning(0)
    rate = optax.cosine_decay_schedule(0.02, options.steps + 1)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))
    state, losses, count = optimizer.init(weights), [], len(learned[0])
    gradient = hb.value_and_grad(loss, 3)
    for step in range(options.steps + 1):
        values, slopes = gradient(*learned, weights)
        losses.append((float(values.mean()), float(loss(*held, weights).mean())))
        if step % max(1, options.steps // 6) == 0:
            print(f"step {step:3}: loss {losses[-1][0]:.3f}, of spikes that it has not seen {losses[-1][1]:.3f}")
        updates, state = optimizer.update(jax.tree.map(lambda x: x / count, slopes), state)
        weights = optax.apply_updates(weights, updates)
    nothing = float(((held[0] - held[2]) ** 2).sum(-1).mean())
    print(f"a forecast that nothing changes is off by {nothing:.3f}, and this one by {losses[-1][1]:.3f}")
    if options.plot:
        plot(np.array(losses), recorded, weights, options.plot)


def plot(losses: Any, recorded: Any, weights: Any, path: Path) -> None:
    figure = Figure(figsize=(11, 4))
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    left.semilogy(losses, label=["learned from", "not seen"])
    left.set(xlabel="step", ylabel="squared error", title="A neural ODE learns how a nerve cell fires")
    left.legend()
    begin, length = 900, 300
    at = np.arange(begin, begin + length)
    right.plot((at - begin) / 2, recorded[at], label="the cell", color="0.6")
    for number, start in enumerate(range(begin, begin + length, 60)):
        ahead = np.arange(61)
        here = np.broadcast_to(states(recorded, np.array(start)), (len(ahead), 2))
        found = later(here, (ahead / UNIT).astype(np.float32), weights)
        right.plot((start - begin + ahead) / 2, found[:, 0], "C3", label="forecasts" if number == 0 else None)
    right.set(xlabel="ms", ylabel="voltage, standardized", title="Forecasts of 30 ms, each from where the cell was")
    right.legend(loc="upper right")
    figure.savefig(path, dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    main()
