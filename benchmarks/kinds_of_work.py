"""Each kind of work of a lane alone, in each form -> its nanoseconds, for ``benchmarks.calibrate``.

A program does some work of one kind in each turn of a loop. It is timed with a little of that work and with more; the
difference of the times has neither the loop nor the call in it. All lanes make the same number of turns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb
from hlobatch.targets.profile import FORMS, WorkTimes

LANES: Final = 128
ROUNDS: Final = 60
"""Runs of each program, in turn. The shortest counts, since other load on the machine only makes runs longer."""
OPTIONS: Final[Mapping[str, dict[str, Any]]] = {
    "lane": {"dispatch": "kernel"},
    "gang": {"dispatch": "gang"},
    "loop": {"optimizations": hb.Optimizations(kernels=False), "lanes": LANES},
}
"""For each form, the options that request it."""


class Kind(NamedTuple):
    """A kind of work.

    Attributes:
        step: The function that does some work on a state: a number or array, or a tuple of them.
        state: A lane's state before the first turn.
        counts: The amounts of work in a turn, a little and more.
        units: The number of operations, elements or calls in an amount of 1.
        turns: The number of turns.
    """

    step: Callable[[Any, int], Any]
    state: Any
    counts: tuple[int, int] = (1, 5)
    units: int = 1
    turns: int = 200


def numbers(x: Any, count: int) -> Any:
    """Marsaglia's xorshift: each operation needs the one before, so that no vector of one lane's numbers is made."""
    for _ in range(count):
        x = x ^ (x << 13)
        x = x ^ (x >> 17)
        x = x ^ (x << 5)
    return x


def functions(x: Any, count: int) -> Any:
    for _ in range(count):
        x = jnp.exp(-x)
    return x


def elements(x: Any, count: int) -> Any:
    for _ in range(count):
        x = x * 0.5 + 1.0
    return x


def products(x: Any, count: int) -> Any:
    for _ in range(count):
        x = MATRIX @ x
    return x


def reads(state: Any, count: int) -> Any:
    table, i = state
    for _ in range(count):
        i = table[i]
    return table, i


def updates(state: Any, count: int) -> Any:
    table, i = state
    for _ in range(count):
        table = table.at[i].set(i)
        i = (i * 5 + 1) % WIDE
    return table, i


def factorizations(x: Any, count: int) -> Any:
    for _ in range(count):
        x = MANY + 1e-3 * jnp.linalg.cholesky(x)
    return x


WIDE: Final = 64
ROWS: Final = 16
MATRIX: Final = jnp.asarray(np.linalg.qr(np.random.default_rng(0).normal(size=(WIDE, WIDE)))[0], jnp.float32)
MANY: Final = 2 * jnp.eye(ROWS) + 0.01
TABLE: Final = np.roll(np.arange(WIDE, dtype=np.int32), 5)
KINDS: Final = {
    "number": Kind(numbers, np.uint32(1), units=6),
    "function": Kind(functions, np.float32(0.5), (1, 9)),
    "wide": Kind(elements, np.full(WIDE, 0.5, np.float32), (4, 36), 2 * WIDE),
    "product": Kind(products, np.full(WIDE, 0.5, np.float32), (1, 5), WIDE * WIDE),
    "read": Kind(reads, (TABLE, np.int32(3))),
    "update": Kind(updates, (TABLE, np.int32(3))),
    "factorization": Kind(factorizations, np.asarray(MANY), (1, 3), turns=10),
}
"""The kinds that are work on a state, by their names in ``WorkTimes``; ``saved`` is measured by a recursion."""
SAVED: Final = (1, 13)
"""Numbers that a recursion saves around each call …"""
DEPTH: Final = 100
"""… and its depth."""


def looped(kind: Kind, count: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A program that does some work of a kind in each turn, and its arguments."""

    def run(state, turns):  # type: ignore[no-untyped-def]
        while turns > 0:
            state = kind.step(state, count)
            turns = turns - 1
        return state

    state = jax.tree.map(lambda x: jnp.asarray(np.broadcast_to(x, (LANES, *np.shape(x)))), kind.state)
    return run, (state, jnp.full(LANES, kind.turns, jnp.int32))


def recursion(count: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A recursion that saves some numbers around each call, and its arguments."""

    def sums(numbers, depth):  # type: ignore[no-untyped-def]
        if depth <= 0:
            return numbers
        inner = sums(tuple(x + 1.0 for x in numbers), depth - 1)
        return tuple(x + 0.5 * y for x, y in zip(numbers, inner, strict=True))

    numbers = tuple(jnp.full(LANES, float(k)) for k in range(count))
    return sums, (numbers, jnp.full(LANES, DEPTH, jnp.int32))


def nanoseconds(form: str, less: Any, more: Any, units: float) -> float:
    """The time of a unit of work in a form, from programs with arguments that differ by a number of units."""
    runs = {}
    for name, (program, args) in (("less", less), ("more", more)):
        function = hb.batch(program, threads=1, max_stack_depth=2 * DEPTH, **OPTIONS[form])
        for _ in range(6):  # until compiled code calls it
            jax.block_until_ready(function(*args))
        runs[name] = lambda function=function, args=args: jax.block_until_ready(function(*args))
    least = dict.fromkeys(runs, math.inf)
    for _ in range(ROUNDS):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - began)
    return 1e9 * (least["more"] - least["less"]) / (units * LANES)


def times_of(form: str) -> WorkTimes:
    """The times of all kinds of work in a form.

    Raises:
        KernelError: Lanes have no code of their own here.
    """
    found = {}
    for name, kind in KINDS.items():
        programs = [looped(kind, count) for count in kind.counts]
        units = kind.turns * kind.units * (kind.counts[1] - kind.counts[0])
        found[name] = nanoseconds(form, *programs, units)
    moved = 2 * DEPTH * (SAVED[1] - SAVED[0])  # each is pushed, and popped
    found["saved"] = nanoseconds(form, *map(recursion, SAVED), moved)
    return WorkTimes(**found)


def all_times() -> dict[str, WorkTimes]:
    """The times of all kinds of work in each form that there is here."""
    found = {}
    for form in FORMS:
        try:
            found[form] = times_of(form)
        except hb.KernelError:
            continue
    return found
