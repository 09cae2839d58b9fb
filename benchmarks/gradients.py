"""The cost of derivatives, relative to the program itself and to JAX in lockstep: `python -m benchmarks.gradients`.

    python -m benchmarks.gradients [--inputs N] [--rounds N] [program …]

Each program and its derivatives run in turn, and ratios are medians of ratios within one round. The lockstep
version, where there is one, is a `jax.lax.scan` with the number of turns of the longest input, under `jax.vmap`, since
`lax.while_loop` has no reverse mode in JAX.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb

LONGEST_TAPE: Final = 2048


@hb.batch(max_tape=LONGEST_TAPE)
def newton(x, c):
    y = jnp.log1p(x)
    e = 1.0
    while jnp.abs(e) > 1e-6:
        t = jnp.exp(y)
        e = (y * t - c * x) / (t * (1.0 + y))
        y = y - e
    return y


@hb.batch(max_tape=LONGEST_TAPE)
def power(x, n):
    if n == 0:
        return jnp.ones_like(x)
    if n % 2 == 0:
        return power(x * x, n // 2)
    return x * power(x, n - 1)


@hb.batch(max_tape=LONGEST_TAPE)
def two_calls(x, n):
    if n <= 1:
        return jnp.sin(x) + n
    a = two_calls(x * 0.9, n - 2)
    b = two_calls(jnp.cos(x), n - 1)
    return a * 0.5 + jnp.tanh(b * x)


@hb.batch(in_axes=(0, 0, 0, None), max_tape=LONGEST_TAPE)
def tree(left, right, leaf, weights):
    return node(0, left, right, leaf, weights).sum()


@hb.batch
def node(i, left, right, leaf, weights):
    if left[i] < 0:
        return leaf[i]
    a = node(left[i], left, right, leaf, weights)
    b = node(right[i], left, right, leaf, weights)
    return jnp.tanh(weights @ jnp.concatenate([a, b]))


@hb.batch(in_axes=(0, None, None, 0), max_tape=LONGEST_TAPE)
def ode(y, inner, outer, end):
    t = 0.0
    h = 0.1
    while t < end:
        h = jnp.minimum(h, end - t)
        k1 = jnp.tanh(outer @ jnp.tanh(inner @ y))
        k2 = jnp.tanh(outer @ jnp.tanh(inner @ (y + h * k1)))
        error = jnp.sqrt(jnp.sum(((k2 - k1) * h * 0.5) ** 2)) / 1e-3
        if error < 1.0:
            y = y + 0.5 * h * (k1 + k2)
            t = t + h
        h = h * jnp.clip(0.9 / jnp.sqrt(error + 1e-6), 0.3, 3.0)
    return y.sum()


# In lockstep


def _scanned(step: Callable[[Any], Any], goes_on: Callable[[Any], Any], safe: Any, start: Any, turns: int) -> Any:
    """A `scan` with the number of turns of the longest input.

    Inputs that are done compute on `safe`, and drop the result.
    """

    def body(state: Any, _: None) -> tuple[Any, None]:
        on = goes_on(state)
        inside = jax.tree.map(lambda a, b: jnp.where(on, a, b), state, safe)
        return jax.tree.map(lambda a, b: jnp.where(on, a, b), step(inside), state), None

    return jax.lax.scan(body, start, None, length=turns)[0]


def newton_in_lockstep(x: Any, c: Any) -> Any:
    def one(x: Any, c: Any) -> Any:
        def step(state: Any) -> Any:
            y, _ = state
            t = jnp.exp(y)
            e = (y * t - c * x) / (t * (1.0 + y))
            return y - e, e

        start = jnp.log1p(x), jnp.ones_like(x)
        return _scanned(step, lambda s: jnp.abs(s[1]) > 1e-6, start, start, 12)[0]

    return jax.vmap(one)(x, c)


def ode_in_lockstep(y: Any, inner: Any, outer: Any, end: Any) -> Any:
    def one(y: Any, end: Any) -> Any:
        def step(state: Any) -> Any:
            y, t, h = state
            h = jnp.minimum(h, end - t)
            k1 = jnp.tanh(outer @ jnp.tanh(inner @ y))
            k2 = jnp.tanh(outer @ jnp.tanh(inner @ (y + h * k1)))
            error = jnp.sqrt(jnp.sum(((k2 - k1) * h * 0.5) ** 2)) / 1e-3
            is_right = error < 1.0
            y, t = jnp.where(is_right, y + 0.5 * h * (k1 + k2), y), jnp.where(is_right, t + h, t)
            return y, t, h * jnp.clip(0.9 / jnp.sqrt(error + 1e-6), 0.3, 3.0)

        start = y, jnp.zeros_like(end), jnp.full_like(end, 0.1)
        return _scanned(step, lambda s: s[1] < end, start, start, 256)[0].sum()

    return jax.vmap(one, (0, 0))(y, end)


# The programs


@dataclass(frozen=True)
class Program:
    """A program to differentiate.

    Attributes:
        function: A batched function with one floating-point result for each input.
        inputs: Makes the arguments of a batch of some size.
        varied: The positions of the differentiated arguments.
        lockstep: The program in lockstep; None if it has no such version.
    """

    function: Any
    inputs: Callable[[int], tuple[Any, ...]]
    varied: tuple[int, ...]
    lockstep: Callable[..., Any] | None = None


_RANDOM: Final = np.random.default_rng(1)


def _numbers(low: float, high: float, count: int) -> Any:
    return jnp.asarray(_RANDOM.uniform(low, high, count), jnp.float32)


def _normal(*shape: int) -> Any:
    return jnp.asarray(_RANDOM.normal(size=shape), jnp.float32)


def _trees(count: int, nodes: int = 31, width: int = 16) -> tuple[Any, ...]:
    """Random binary trees with node 0 as the root, values for their leaves, and weights."""
    children = -np.ones((2, count, nodes), np.int32)
    for i in range(count):
        used, leaves = 1, [0]
        for _ in range(_RANDOM.integers(0, (nodes + 1) // 2)):
            at = leaves.pop(_RANDOM.integers(len(leaves)))
            children[:, i, at] = used, used + 1
            leaves += [used, used + 1]
            used += 2
    return (*map(jnp.asarray, children), _normal(count, nodes, width), 0.3 * _normal(width, 2 * width))


PROGRAMS: Final = {
    "newton": Program(newton, lambda n: (_numbers(0.5, 3, n), _numbers(0.5, 2, n)), (0, 1), newton_in_lockstep),
    "power": Program(power, lambda n: (_numbers(0.5, 1.5, n), jnp.asarray(_RANDOM.integers(0, 30, n))), (0,)),
    "two_calls": Program(two_calls, lambda n: (_numbers(0.5, 1.5, n), jnp.asarray(_RANDOM.integers(0, 12, n))), (0,)),
    "tree": Program(tree, _trees, (2, 3)),
    "ode": Program(
        ode,
        lambda n: (_normal(n, 4), 0.8 * _normal(32, 4), 0.5 * _normal(4, 32), _numbers(0.2, 4, n)),
        (0, 1, 2, 3),
        ode_in_lockstep,
    ),
}


def contenders(program: Program, inputs: int) -> dict[str, Callable[[], Any]]:
    """The runs that are compared, by name; each is in one `jax.jit`, except those named `by itself`."""
    args = program.inputs(inputs)
    point = tuple(args[i] for i in program.varied)

    def of(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*some: Any) -> Any:
            given = list(args)
            for place, value in zip(program.varied, some, strict=True):
                given[place] = value
            return function(*given)

        return run

    def all_of(function: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
        plain, numbers = of(function), tuple(range(len(point)))
        tangents = tuple(map(jnp.ones_like, point))
        return (
            jax.jit(plain),
            jax.jit(lambda *some: jax.jvp(plain, some, tangents)),
            jax.jit(jax.grad(lambda *some: plain(*some).sum(), numbers)),
        )

    both = hb.value_and_grad(program.function, program.varied)
    primal, forward, reverse = all_of(program.function)
    compiled = jax.jit(both)
    found = {
        "by itself": lambda: of(program.function)(*point),
        "value_and_grad, by itself": lambda: both(*args),
        "in jit": lambda: primal(*point),
        "jvp": lambda: forward(*point),
        "value_and_grad": lambda: compiled(*args),
        "grad": lambda: reverse(*point),
    }
    if program.lockstep is not None:
        in_lockstep, _, back = all_of(program.lockstep)
        found |= {"lockstep": lambda: in_lockstep(*point), "grad in lockstep": lambda: back(*point)}
    return found


RATIOS: Final = (
    ("value_and_grad, by itself", "by itself"),
    ("jvp", "in jit"),
    ("value_and_grad", "in jit"),
    ("grad", "in jit"),
    ("grad in lockstep", "lockstep"),
    ("lockstep", "in jit"),
    ("grad in lockstep", "value_and_grad"),
)


def measured(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each run in each round."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for done in range(-1, rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            jax.block_until_ready(run())
            if done >= 0:
                times[name].append(time.perf_counter() - began)
    return times


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="program")
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    for name in options.programs or PROGRAMS:
        times = measured(contenders(PROGRAMS[name], options.inputs), options.rounds)
        shown = ", ".join(f"{run} {1e3 * statistics.median(taken):.3f} ms" for run, taken in times.items())
        print(f"{name}: {shown}")
        for one, other in RATIOS:
            if one in times:
                ratio = statistics.median(a / b for a, b in zip(times[one], times[other], strict=True))
                print(f"    {one} / {other}: {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
