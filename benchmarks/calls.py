"""The cost of a call relative to the fastest form, by itself and in a `jax.jit`: `python -m benchmarks.calls`.

    python -m benchmarks.calls [--seconds S] [--lanes 1,10,100,1000] [workload …]

A row is a workload with a number of lanes. The form that hlobatch chooses, by itself and in a `jax.jit`, is timed in
turn with each form that can be requested; both times are printed as ratios to the smallest of the row. Two small
functions are also timed in turn with `jax.jit(jax.vmap(…))` of the same function written in JAX; the difference is
printed in microseconds.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb
from benchmarks.kernels import CASES

LANES: Final = (1, 10, 100, 1000)
CHOSEN: Final = "chosen"
IN_JIT: Final = "chosen, in jit"
VMAP: Final = "vmap"
FORMS: Final[Mapping[str, dict[str, Any]]] = {
    "kernel": {"dispatch": "kernel"},
    "gang": {"dispatch": "gang"},
    "loop": {"optimizations": hb.Optimizations(kernels=False)},
}
"""The options that request each form, by its name."""


def collatz_length(n: Any) -> Any:
    """The number of Collatz steps from a number to one."""
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count = count + 1
    return count


def collatz_length_in_jax(n: Any) -> Any:
    def step(state: Any) -> Any:
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return jax.lax.while_loop(lambda state: state[0] > 1, step, (n, 0))[1]


def newtons_root(a: Any) -> Any:
    """A square root by Newton's method."""
    x = a
    while jnp.abs(x * x - a) > 1e-4 * a:
        x = 0.5 * (x + a / x)
    return x


def newtons_root_in_jax(a: Any) -> Any:
    return jax.lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-4 * a, lambda x: 0.5 * (x + a / x), a)


SMALL: Final[Mapping[str, tuple[Any, Any, Callable[[int], Any]]]] = {
    "collatz_length": (collatz_length, collatz_length_in_jax, lambda n: np.arange(1, n + 1, dtype=np.int32)),
    "newtons_root": (newtons_root, newtons_root_in_jax, lambda n: np.arange(1, n + 1, dtype=np.float32)),
}
"""For each small function: the function, its version in JAX, and a function that makes inputs."""


def contenders(name: str, lanes: int) -> tuple[dict[str, Callable[..., Any]], tuple[Any, ...]]:
    """The calls that are timed for a workload, by name, and their arguments."""
    if name in SMALL:
        function, in_jax, inputs = SMALL[name]
        batched, args, others = hb.batch(function), (jnp.asarray(inputs(lanes)),), {VMAP: jax.jit(jax.vmap(in_jax))}
    else:
        function_name, inputs_name, _ = CASES[name]
        module = importlib.import_module(f"benchmarks.workloads.{name}")
        batched, args, others = getattr(module, function_name), getattr(module, inputs_name)(lanes), {}

    def of(**how: Any) -> hb.BatchedFunction:
        static = tuple(batched.static)
        return hb.batch(batched.function, in_axes=batched.in_axes, static_argnames=static, **how)

    return {CHOSEN: of(), IN_JIT: jax.jit(of()), **{form: of(**how) for form, how in FORMS.items()}, **others}, args


def least(runs: dict[str, Callable[..., Any]], args: Sequence[Any], seconds: float) -> dict[str, float]:
    """The smallest time of each call in microseconds, timed in turn.

    Each timed call follows one of its own form that is not timed, since what ran before it decides what the caches hold
    and which threads are awake. Forms without code for the program are left out.
    """
    times: dict[str, list[float]] = {}
    for name, run in runs.items():
        try:
            _ = [jax.block_until_ready(run(*args)) for _ in range(3)]
            times[name] = []
        except hb.KernelError:
            continue
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[CHOSEN]) < 3:
        for name, taken in times.items():
            jax.block_until_ready(runs[name](*args))
            began = time.perf_counter()
            jax.block_until_ready(runs[name](*args))
            taken.append(1e6 * (time.perf_counter() - began))
    return {name: min(taken) for name, taken in times.items()}


def row(name: str, lanes: int, seconds: float) -> str:
    """A row of the table: the figures of a workload with a number of lanes."""
    runs, args = contenders(name, lanes)
    taken = least(runs, args, seconds)
    best = min(time for contender, time in taken.items() if contender != VMAP)
    above = " / ".join(f"{taken[form] - taken[VMAP]:+.0f}" for form in (CHOSEN, IN_JIT)) if VMAP in taken else ""
    ratios = f"{taken[CHOSEN] / best:6.2f} {taken[IN_JIT] / best:6.2f}"
    times = " ".join(f"{form} {taken[form]:,.0f}" for form in taken)
    return f"{name:15s} {lanes:5,d} {ratios}  {above:>12s}  {times}"


def main() -> None:
    """Print a row for each workload and number of lanes."""
    parser = argparse.ArgumentParser("python -m benchmarks.calls", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("workloads", nargs="*", help="their names; by default all")
    parser.add_argument("--lanes", default=",".join(map(str, LANES)), help="numbers of lanes")
    parser.add_argument("--seconds", type=float, default=3.0, help="of timed calls for each row")
    options = parser.parse_args()
    print(f"{'':15s} {'lanes':>5s} {'itself':>6s} {'in jit':>6s}  {'µs over vmap':>12s}  microseconds of each")
    for name in options.workloads or [*SMALL, *CASES]:
        for lanes in map(int, options.lanes.split(",")):
            print(row(name, lanes, options.seconds), flush=True)


if __name__ == "__main__":
    main()
