"""Derivatives of the zoo's programs and of the benchmarks' smooth workloads, in every form and for batches of any size.

``jax.jvp`` is judged by finite differences in 64 bits, ``jax.vjp`` by that and by what JAX gives for plain Python,
which unrolls each example. By day each program runs in one form and in a batch of one size, and all of them occur.
"""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivative_checks import At, both_modes_agree, double_precision, doubled, equals_unrolled, is_differentiable
from shares import by_day
from zoo import LOOP, UNOPTIMIZED, ZOO, ZooProgram

import hlobatch as hb
from benchmarks.workloads import continuation, fixed_count, neural_ode, own_data, quadrature, stiff, tree_network

pytestmark = pytest.mark.usefixtures(double_precision.__name__)

FORMS: dict[str, dict[str, Any]] = {
    "by itself": {},
    "kernel": {"dispatch": "kernel"},
    "loop": {"optimizations": LOOP},
    "queue": {"lanes": 2},
    "queue in a loop": {"lanes": 2, "optimizations": LOOP},
    "threads": {"threads": 2},
    "threads in a loop": {"threads": 2, "optimizations": LOOP},
    "no passes": {"optimizations": UNOPTIMIZED},
    "sweep": {"dispatch": "sweep"},
    "chain": {"dispatch": "chain"},
    "guarded": {"dispatch": "guarded"},
    "short stacks": {"max_stack_depth": 1, "optimizations": LOOP},
}
SIZES = (0, 1, 2, 17)
CELLS = list(itertools.product(FORMS, SIZES))


COUNTING = ("mandelbrot", "escape_time")
"""Programs of floating-point numbers that give back integers alone."""
SMOOTH = [p for p in ZOO if any(map(is_differentiable, jax.tree.leaves(p.rows))) and p.name not in COUNTING]


def cell_of_the_day(number: int) -> tuple[str, int]:
    """Another form and size for each program; all occur."""
    forms = list(FORMS)
    return forms[number % len(forms)], SIZES[(number + number // len(forms) + 1) % len(SIZES)]


def check_zoo(program: ZooProgram, form: str, size: int, *, unrolled: bool) -> None:
    args = doubled(program.inputs(size))
    at = At(program.variant(**FORMS[form]), args)
    with contextlib.redirect_stdout(io.StringIO()):
        pulled = both_modes_agree(at, at.point)
    if unrolled and size and not program.prints:  # Python cannot print what JAX differentiates
        axes = [
            axis
            for axis, arg in zip(program._axes, args, strict=True)
            for x in jax.tree.leaves(arg)
            if is_differentiable(x)
        ]
        equals_unrolled(at, pulled, [tuple(doubled(program.example(row))) for row in range(size)], axes)


@pytest.mark.parametrize("number", by_day(range(len(SMOOTH)), 5), ids=lambda number: SMOOTH[number].name)
def test_programs_of_the_zoo(number: int) -> None:
    form, size = cell_of_the_day(number)
    check_zoo(SMOOTH[number], form, size, unrolled=size <= 2)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "size"), CELLS)
@pytest.mark.parametrize("program", SMOOTH, ids=[p.name for p in SMOOTH])
def test_programs_of_the_zoo_in_every_form(program: ZooProgram, form: str, size: int) -> None:
    check_zoo(program, form, size, unrolled=form == "by itself")


# Workloads of the benchmarks

_RANDOM = np.random.default_rng(7)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workloads are smaller than where they are measured, and turn as they do there."""
    for name, value in {
        "neural_ode.EXAMPLES": 3,
        "continuation.WIDTH": 3,
        "continuation.STAGES": 3,
        "stiff.OUTPUTS": 6,
    }.items():
        monkeypatch.setattr(f"benchmarks.workloads.{name}", value)


def _normal(*shape: int, scale: float = 1.0) -> Any:
    return jnp.asarray(scale * _RANDOM.normal(size=shape))


def _tree_network(count: int) -> tuple[Any, ...]:
    trees = tree_network.trees(count)
    network = tree_network.Network(*(_normal(*shape, scale=0.5) for shape in ((9, 4), (4, 4), (4, 4))))
    return trees._replace(word=trees.word % 9), jnp.zeros(count, int), network


def _neural_ode(count: int) -> tuple[Any, ...]:
    network = neural_ode.Network(_normal(4, 6, scale=0.5), _normal(6, 4, scale=0.5))
    speeds = jnp.asarray(_RANDOM.uniform(0.5, 4, (count, neural_ode.EXAMPLES)))
    return _normal(count, 4), speeds, _normal(count, 4, scale=0.5), network


def _quadrature(count: int) -> tuple[Any, ...]:
    def one(problem: Any) -> Any:
        values = jnp.stack([quadrature.integrand(problem, x) for x in (0.0, 1.0, 2.0)])
        return values, quadrature.simpson(values, jnp.float64(2.0))

    problem = quadrature.Problem(*(jnp.asarray(_RANDOM.uniform(*b, count)) for b in ((1, 6), (0, 2), (0.2, 1))))
    values, whole = jax.vmap(one)(problem)
    return problem, jnp.zeros(count), jnp.full(count, 2.0), values, whole, jnp.full(count, 1e-4), jnp.full(count, 6)


def _systems(count: int) -> tuple[Any, ...]:
    noise = _normal(count, 5, 5)
    return noise @ noise.transpose(0, 2, 1) / 5 + jnp.eye(5), _normal(count, 5)


def _stiff(count: int) -> tuple[Any, ...]:
    noise = _normal(3, 3, scale=0.4)
    return _normal(count, 3), jnp.asarray(_RANDOM.uniform(0, 1, count)), 0.5 * jnp.eye(3) + noise @ noise.T


def _log_density(position: Any, spread: Any, regressors: Any, labels: Any) -> Any:
    """The log density of a logistic regression: a function of its parameters, a hyperparameter and data."""
    logits = labels * (regressors @ position)
    return -jnp.sum(jnp.logaddexp(0.0, -logits)) - jnp.sum((position / spread) ** 2) / 2 - 3 * jnp.log(spread)


@hb.batch(in_axes=(0, 0, 0, 0, None, None))
def _trajectory(position, momentum, spread, count, regressors, labels):
    """Leapfrog steps on a log density, of a different number in each lane, and the energy after them."""
    value, slope = jax.value_and_grad(_log_density)(position, spread, regressors, labels)
    while count > 0:
        momentum = momentum + 0.1 * slope
        position = position + 0.2 * momentum
        value, slope = jax.value_and_grad(_log_density)(position, spread, regressors, labels)
        momentum = momentum + 0.1 * slope
        count -= 1
    return position, jnp.sum(momentum**2) / 2 - value


def _chains(count: int) -> tuple[Any, ...]:
    signs = jnp.asarray(_RANDOM.choice([-1.0, 1.0], 5))
    spread = jnp.asarray(_RANDOM.uniform(0.5, 2.0, count))
    return _normal(count, 3), _normal(count, 3), spread, jnp.arange(count) % 4 + 1, _normal(5, 3), signs


WORKLOADS: dict[str, tuple[hb.BatchedFunction, Callable[[int], tuple[Any, ...]]]] = {
    "tree_network": (tree_network.meaning, _tree_network),
    "neural_ode": (neural_ode.train, _neural_ode),
    "continuation": (continuation.follow, lambda n: doubled(continuation.inputs(n))),
    "quadrature": (quadrature.refine, _quadrature),
    "own_matrix": (own_data.solve, _systems),
    "stiff": (stiff.solve, _stiff),
    "fixed_count": (fixed_count.layers, lambda n: (_normal(n, 3), _normal(3, 3, scale=0.6))),
    "trajectory": (_trajectory, _chains),
}


def check_workload(name: str, form: str, size: int) -> None:
    function, inputs = WORKLOADS[name]
    at = At(hb.batch(function.function, in_axes=function.in_axes, **FORMS[form]), inputs(size))
    both_modes_agree(at, at.point, step=1e-7)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("number", by_day(range(len(WORKLOADS)), 2), ids=lambda number: list(WORKLOADS)[number])
def test_workloads(number: int) -> None:
    form, _ = cell_of_the_day(number)
    check_workload(list(WORKLOADS)[number], form, 3)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("form", "size"), [(form, size) for form, size in CELLS if size])
@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_in_every_form(name: str, form: str, size: int) -> None:
    check_workload(name, form, size)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_unrolled_by_jax(name: str) -> None:
    function, inputs = WORKLOADS[name]
    at = At(function, args := inputs(2))
    in_axes = function.in_axes or (0,) * len(args)
    axes = [a for a, arg in zip(in_axes, args, strict=True) for x in jax.tree.leaves(arg) if is_differentiable(x)]
    examples = [
        tuple(
            arg if axis is None else jax.tree.map(lambda x, row=row: x[row], arg)
            for axis, arg in zip(in_axes, args, strict=True)
        )
        for row in range(2)
    ]
    equals_unrolled(at, both_modes_agree(at, at.point, step=1e-7), examples, axes)
