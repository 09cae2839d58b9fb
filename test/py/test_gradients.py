"""Derivatives of batched functions against finite differences in 64 bits, against each other, and against JAX's own."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.gradients import extremes
from hlobatch.runtime import sums
from hlobatch.runtime.execute import results_of

FORMS = ("case", "kernel", "chain", "guarded", "sweep")


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def some_by_day(*columns: Any, most: int | None = None) -> list[Any]:
    """All combinations of the values of some columns: by day each value of each column or ``most``, at night all."""
    most = most or max(map(len, columns))
    by_day = {tuple(column[i % len(column)] for column in columns) for i in range(most)}
    return [
        each if each in by_day else pytest.param(*each, marks=pytest.mark.slow) for each in itertools.product(*columns)
    ]


@hb.batch
def newton(x, c):
    y = jnp.log1p(x)
    e = 1.0
    while jnp.abs(e) > 1e-6:
        t = jnp.exp(y)
        e = (y * t - c * x) / (t * (1.0 + y))
        y = y - e
    return y


@hb.batch
def power(x, n):
    if n == 0:
        return jnp.ones_like(x)
    if n % 2 == 0:
        return power(x * x, n // 2)
    h = power(x, n - 1)
    return x * h


@hb.batch
def two_calls(x, n):
    if n <= 1:
        return jnp.sin(x) + n
    a = two_calls(x * 0.9, n - 2)
    b = two_calls(jnp.cos(x), n - 1)
    return a * 0.5 + jnp.tanh(b * x)


@hb.batch
def even(x, n):
    return x if n == 0 else odd(x * 1.5, n - 1)


@hb.batch
def odd(x, n):
    if n == 0:
        return jnp.sin(x)
    y = even(x + 1.0, n - 1)
    return y * x


@hb.batch(in_axes=(0, 0, 0, None))
def tree(left, right, leaf, weights):
    return node(0, left, right, leaf, weights)


@hb.batch
def node(i, left, right, leaf, weights):
    if left[i] < 0:
        return leaf[i]
    a = node(left[i], left, right, leaf, weights)
    b = node(right[i], left, right, leaf, weights)
    return jnp.tanh(weights @ jnp.concatenate([a, b]))


@hb.batch(in_axes=(0, None, None, 0))
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
    return y


@hb.batch
def table(x, n):
    values = jnp.zeros(6)
    for i in range(n):
        values = values.at[i % 6].add(x * (i + 1))
        if i == 3:
            break
    return values


@hb.batch
def pair(x, y):
    count = 0
    while x < 10:
        x, y = x + y * y, y * 1.1
        count += 1
    return {"x": x, "count": count, "y": y}


@hb.batch
def safe(x):
    return jnp.sqrt(x) if x > 0 else 0.0 * x


@dataclass(frozen=True)
class Case:
    """A program, arguments in 64 bits, and the positions of the differentiated ones."""

    function: Any
    args: tuple[Any, ...]
    varied: tuple[int, ...]

    def of_varied(self, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """The function of its differentiated arguments alone, to its floating-point results in a row."""

        def run(*some: Any) -> Any:
            given = list(self.args)
            for place, value in zip(self.varied, some, strict=True):
                given[place] = value
            found = jax.tree.leaves((function or self.function)(*given))
            return [x for x in found if jnp.issubdtype(x.dtype, np.floating)]

        return run

    @property
    def point(self) -> list[Any]:
        return [jnp.asarray(self.args[i]) for i in self.varied]


def lanes(low: float, high: float, count: int = 7) -> Any:
    return np.linspace(low, high, count)


_TREE = np.tile(np.array([[1, 3, -1, -1, -1], [2, 4, -1, -1, -1]], np.int32)[:, None], (1, 3, 1))
_RANDOM = np.random.default_rng(0)

CASES = {
    "newton": Case(newton, (lanes(0.5, 3), lanes(0.5, 2)), (0, 1)),
    "power": Case(power, (lanes(0.5, 1.5), np.arange(7)), (0,)),
    "two_calls": Case(two_calls, (lanes(0.5, 1.5), np.arange(7)), (0,)),
    "mutual": Case(even, (lanes(0.5, 1.5), np.arange(7)), (0,)),
    "tree": Case(tree, (*_TREE, _RANDOM.normal(size=(3, 5, 4)), 0.3 * _RANDOM.normal(size=(4, 8))), (2, 3)),
    "ode": Case(
        ode,
        (_RANDOM.normal(size=(5, 4)), _RANDOM.normal(size=(8, 4)), 0.5 * _RANDOM.normal(size=(4, 8)), lanes(0.2, 2, 5)),
        (0, 1, 2, 3),
    ),
    "table": Case(table, (lanes(0.5, 1.5), np.arange(7)), (0,)),
    "pair": Case(pair, (lanes(0.5, 3), lanes(0.5, 2)), (0, 1)),
}


def directions(point: Sequence[Any], seed: int = 0) -> list[Any]:
    random = np.random.default_rng(seed)
    return [jnp.asarray(random.normal(size=x.shape)) for x in point]


def dot(one: Sequence[Any], other: Sequence[Any]) -> float:
    return float(sum(jnp.sum(a * b) for a, b in zip(one, other, strict=True)))


@pytest.mark.parametrize(("name", "form"), some_by_day(list(CASES), FORMS, most=5))
def test_both_modes_agree_with_differences_and_with_each_other(name: str, form: str) -> None:
    case = CASES[name]
    function = replace(case.function, options=replace(case.function.options, dispatch=form))
    run, point = case.of_varied(function), case.point
    tangents = directions(point)
    values, derivatives = jax.jvp(run, point, tangents)
    step = 1e-6
    ahead = run(*(x + step * d for x, d in zip(point, tangents, strict=True)))
    behind = run(*(x - step * d for x, d in zip(point, tangents, strict=True)))
    for found, a, b in zip(derivatives, ahead, behind, strict=True):
        np.testing.assert_allclose(found, (a - b) / (2 * step), rtol=1e-6, atol=1e-7)
    _, pull = jax.vjp(run, *point)
    cotangents = directions(values, 1)
    assert dot(pull(cotangents), tangents) == pytest.approx(dot(cotangents, derivatives), rel=1e-12)


@pytest.mark.parametrize(("name", "size"), some_by_day(["power", "tree", "ode"], [0, 1, 2, 17]))
def test_batches_of_any_size(name: str, size: int) -> None:
    case = CASES[name]
    is_shared = [axis is None for axis in case.function.in_axes] if case.function.in_axes else [False] * len(case.args)
    args = [a if s else np.resize(a, (size, *np.shape(a)[1:])) for a, s in zip(case.args, is_shared, strict=True)]
    sized = replace(case, args=tuple(args))
    gradient = jax.grad(lambda *xs: sum(jnp.sum(y) for y in sized.of_varied()(*xs)), tuple(range(len(case.varied))))
    whole = gradient(*sized.point)
    lane_by_lane = [
        gradient_of(case, [a if s else a[i : i + 1] for a, s in zip(args, is_shared, strict=True)]) for i in range(size)
    ]
    for place, found in zip(case.varied, zip(whole, *lane_by_lane, strict=True), strict=True):
        one, *parts = found
        if is_shared[place]:
            np.testing.assert_allclose(one, sum(parts, np.zeros(one.shape)), rtol=1e-12, atol=1e-15)
        elif size:
            np.testing.assert_allclose(one, np.concatenate(parts), rtol=1e-12)


def gradient_of(case: Case, args: Sequence[Any]) -> Any:
    own = replace(case, args=tuple(args))
    return jax.grad(lambda *xs: sum(jnp.sum(y) for y in own.of_varied()(*xs)), tuple(range(len(case.varied))))(
        *own.point
    )


@pytest.mark.parametrize(("name", "traced"), some_by_day(["power", "tree", "ode", "table"], [False, True], most=2))
def test_reverse_mode_of_reverse_mode_is_forward_over_reverse(name: str, traced: bool) -> None:
    case = CASES[name]
    numbers, along = tuple(range(len(case.varied))), directions(case.point)
    gradient = jax.grad(lambda *xs: sum(jnp.sum(y**2) for y in case.of_varied()(*xs)), numbers)
    reverse = jax.grad(lambda *xs: sum(jnp.sum(a * b) for a, b in zip(gradient(*xs), along, strict=True)), numbers)
    want = jax.jvp(gradient, case.point, along)[1]
    for found, expected in zip((jax.jit(reverse) if traced else reverse)(*case.point), want, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@hb.batch(in_axes=(0, 0, None))
def shrinking(x, n, rates):
    while n > 0:
        x, n = jnp.sin(x * rates) * x.sum(), n - 1
    return (x**3).sum()


def shrinking_by_hand(x: Any, rates: Any) -> Any:
    """The same derivative by JAX, of three lanes that take 0, 1 and 2 turns."""

    def one(x: Any, n: int) -> Any:
        for _ in range(n):
            x = jnp.sin(x * rates) * x.sum()
        return (x**3).sum()

    return jnp.stack([one(x[n], n) for n in range(3)])


def second_and_third(f: Callable[..., Any]) -> Callable[..., Any]:
    """Derivatives in reverse mode alone: by and of what lanes share, mapped over, and of the third order."""

    def run(x: Any, rates: Any, weights: Any) -> Any:
        def gradient(x: Any, rates: Any, weights: Any) -> Any:
            return jax.vjp(lambda x, rates: f(x, rates), x, rates)[1](weights)

        def square(x: Any, rates: Any, weights: Any) -> Any:
            return sum(jnp.sum(g**2) for g in gradient(x, rates, weights))

        second = jax.grad(square, (0, 1, 2))(x, rates, weights)
        third = jax.grad(lambda r: jnp.sum(jax.grad(square, 1)(x, r, weights) ** 2))(rates)
        mapped = jax.vmap(lambda s: jax.jacrev(lambda r: gradient(x, s * r, weights)[1])(rates))(jnp.array([1.0, 0.5]))
        behind = jax.grad(lambda s: jnp.sum(jax.vmap(lambda r: square(x, r, s))(jnp.stack([rates, 2 * rates]))))(
            weights
        )
        return second, third, mapped, behind

    return run


@pytest.mark.parametrize("outer", [jax.jit, pytest.param(lambda f: f, marks=pytest.mark.slow)], ids=["jit", "alone"])
def test_derivatives_in_reverse_mode_alone(outer: Callable[[Any], Any]) -> None:
    x, rates, weights = jnp.asarray(_RANDOM.normal(size=(3, 2))), jnp.array([0.7, 1.2]), jnp.array([1.0, 0.3, -2.0])
    n = jnp.arange(3)
    found = outer(second_and_third(lambda x, rates: shrinking(x, n, rates)))(x, rates, weights)
    want = jax.jit(second_and_third(shrinking_by_hand))(x, rates, weights)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_second_derivatives_by_what_a_closure_holds() -> None:
    x, n = jnp.asarray(_RANDOM.normal(size=(3, 2))), jnp.arange(3)

    def square(rates: Any) -> Any:
        own = hb.batch(lambda x, n: shrinking.function(x, n, rates))
        return jnp.sum(jax.grad(lambda x: own(x, n).sum())(x) ** 2)

    def by_hand(rates: Any) -> Any:
        return jnp.sum(jax.grad(lambda x: shrinking_by_hand(x, rates).sum())(x) ** 2)

    rates = jnp.array([0.7, 1.2])
    np.testing.assert_allclose(jax.grad(square)(rates), jax.grad(by_hand)(rates), rtol=1e-9)


TRANSFORMED: dict[str, Callable[[Callable[..., Any], tuple[int, ...]], Callable[..., Any]]] = {
    "jit of grad": lambda f, n: jax.jit(jax.grad(f, n)),
    "grad of jit": lambda f, n: jax.grad(jax.jit(f), n),
    "vmap of grad": lambda f, n: (
        lambda *xs: [g[1] for g in jax.vmap(jax.grad(f, n))(*(jnp.stack([1.01 * x, x]) for x in xs))]
    ),
    "grad of vmap": lambda f, n: jax.grad(lambda *xs: jnp.sum(jax.vmap(f)(*(jnp.stack([x, x]) for x in xs))) / 2, n),
    "scan": lambda f, n: jax.grad(
        lambda *xs: jax.lax.scan(lambda c, _: (c + f(*xs) / 2, None), jnp.zeros(()), None, length=2)[0], n
    ),
    "cond": lambda f, n: jax.grad(lambda *xs: jax.lax.cond(jnp.sum(xs[0]) > -1e9, f, lambda *_: jnp.zeros(()), *xs), n),
    "checkpoint": lambda f, n: jax.grad(jax.checkpoint(f), n),
    "value_and_grad": lambda f, n: lambda *xs: jax.value_and_grad(f, n)(*xs)[1],
}


@pytest.mark.parametrize(("name", "how"), some_by_day(["power", "tree", "ode"], list(TRANSFORMED)))
def test_within_other_transformations(name: str, how: str) -> None:
    case = CASES[name]
    numbers = tuple(range(len(case.varied)))

    def loss(*some: Any) -> Any:
        return sum(jnp.sum(y**2) for y in case.of_varied()(*some))

    want = jax.grad(loss, numbers)(*case.point)
    for found, expected in zip(TRANSFORMED[how](loss, numbers)(*case.point), want, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["power", *(pytest.param(n, marks=pytest.mark.slow) for n in ("tree", "newton", "two_calls"))]
)
def test_second_derivatives(name: str) -> None:
    case, step = CASES[name], 1e-5
    numbers, point = tuple(range(len(case.varied))), case.point
    along = tuple(directions(point))

    def loss(*some: Any) -> Any:
        return sum(jnp.sum(y**2) for y in case.of_varied()(*some))

    def slope(*some: Any) -> Any:
        return jax.jvp(loss, some, along)[1]

    gradient = jax.grad(loss, numbers)
    ahead = gradient(*(x + step * d for x, d in zip(point, along, strict=True)))
    behind = gradient(*(x - step * d for x, d in zip(point, along, strict=True)))
    want = [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]
    for second in (jax.jvp(gradient, tuple(point), along)[1], jax.grad(slope, numbers)(*point)):
        for found, expected in zip(second, want, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    both = jax.jvp(slope, tuple(point), along)[1]
    assert float(both) == pytest.approx(dot(want, along), rel=1e-5)


def test_branch_that_is_not_taken_gives_no_nan() -> None:
    x = jnp.array([4.0, 0.0, -1.0])
    assert jax.grad(lambda x: safe(x).sum())(x).tolist() == [0.25, 0.0, 0.0]


def test_values_and_gradients_in_one_run() -> None:
    case = CASES["ode"]
    norm = hb.batch(lambda y, inner, outer, end: jnp.sum(ode.function(y, inner, outer, end) ** 2), in_axes=ode.in_axes)
    values, gradients = hb.value_and_grad(norm, (0, 1, 3))(*case.args)
    want = jax.grad(lambda *args: norm(*args).sum(), (0, 1, 3))(*map(jnp.asarray, case.args))
    np.testing.assert_allclose(values, norm(*case.args), rtol=1e-12)
    for found, expected in zip(gradients, want, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-14)


def test_value_and_more_of_an_argument_with_integers() -> None:
    @hb.batch
    def scaled(point):
        total = 0.0
        for _ in range(point["times"]):
            total += point["x"]
        return total, point["times"]

    point = {"x": jnp.array([2.0, 3.0]), "times": jnp.array([3, 1])}
    (values, times), gradient = hb.value_and_grad(scaled, has_aux=True)(point)
    assert (values.tolist(), times.tolist(), gradient["x"].tolist()) == ([6.0, 3.0], [3, 1], [3.0, 1.0])
    assert gradient["times"].dtype == jax.dtypes.float0


def test_custom_derivatives_are_honoured() -> None:
    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1, 1),))

    @jax.custom_jvp
    def doubled(x):
        return x

    doubled.defjvp(lambda primals, tangents: (primals[0], 2 * tangents[0]))

    @hb.batch
    def f(x, n):
        while n > 0:
            x = doubled(x)
            n -= 1
        return 10 * clipped(x)

    assert jax.grad(lambda x: f(x, jnp.array([0, 1, 3])).sum())(jnp.ones(3)).tolist() == [1.0, 2.0, 8.0]


AROUND: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda f: f,
    "jit": jax.jit,
    "vmap": lambda f: lambda w: jax.vmap(f)(jnp.stack([w, w]))[1],
}


@pytest.mark.parametrize("how", AROUND)
def test_array_in_a_closure(how: str) -> None:
    ends = jnp.array([2.0, 500.0, 900.0])

    def loss(weights: Any) -> Any:
        @hb.batch
        def steps(end):
            total = 0.0
            while total < end:
                total = total + jnp.sum(weights)
            return total * weights[0]

        return steps(ends).sum()

    weights = jnp.arange(1.0, 21.0)
    turns = sum(float(np.ceil(end / 210)) for end in ends)
    want = turns * np.where(np.arange(20) == 0, 210 + 1.0, 1.0)
    np.testing.assert_allclose(AROUND[how](jax.grad(loss))(weights), want, rtol=1e-12)
    assert float(jax.jvp(loss, (weights,), (weights,))[1]) == pytest.approx(2 * float(loss(weights)))


# Errors


def test_integers_have_no_derivative() -> None:
    with pytest.raises(hb.BatchTypeError, match="n is i64"):
        hb.value_and_grad(power, 1)(jnp.ones(2), jnp.ones(2, int))


def test_code_without_a_derivative_is_named() -> None:
    @hb.batch
    def f(x):
        if x > 1:
            return jax.lax.while_loop(lambda c: c < 9, lambda c: c * x, x)
        return x

    with pytest.raises(hb.DerivativeError, match=r"(?s)`jax\.lax\.while_loop.*` has no derivative.*help: give it one"):
        jax.grad(lambda x: f(x).sum())(jnp.array([2.0, 0.5]))
    assert jax.jvp(f, (jnp.array([2.0, 0.5]),), (jnp.ones(2),))[1].tolist() == [32.0, 1.0]


def test_tape_that_is_full_is_an_error_inside_jit_alone() -> None:
    @hb.batch
    def f(x, n):
        y = x
        for _ in range(n):
            y = jnp.sin(y) + x
        return y

    def loss(f: Any) -> Any:
        return lambda x: f(x, jnp.array([3, 700])).sum()

    x = jnp.array([2.0, 0.5])
    want = jax.grad(loss(f))(x)
    with pytest.raises(jax.errors.JaxRuntimeError, match="raise max_tape"):
        jax.block_until_ready(jax.jit(jax.grad(loss(f)))(x))
    longer = hb.batch(f.function, max_tape=800)
    np.testing.assert_allclose(jax.jit(jax.grad(loss(longer)))(x), want, rtol=1e-12)


@pytest.mark.parametrize("traced", [False, True])
def test_a_large_batch_runs_in_parts_and_sums_what_all_lanes_share(
    traced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES["ode"]

    def gradient(*some: Any) -> Any:
        return jax.grad(lambda *xs: sum(jnp.sum(y**2) for y in case.of_varied()(*xs)), (0, 1, 2, 3))(*some)

    whole = gradient(*case.point)
    monkeypatch.setattr(sums, "MOST_BYTES_OF_ROWS", 2 * 8 * (8 * 4 + 4 * 8))  # two inputs in a part, of five
    for found, want in zip((jax.jit(gradient) if traced else gradient)(*case.point), whole, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-14)


def many_trees(count: int) -> tuple[Any, ...]:
    """The arguments of ``tree``: chains of up to 20 nodes that lean to the left, and weights."""
    random = np.random.default_rng(2)
    nodes = 41
    left, right = -np.ones((2, count, nodes), np.int32)
    for i, depth in enumerate(random.integers(0, 20, count)):
        left[i, 0 : 2 * depth : 2] = np.arange(2, 2 * depth + 2, 2)
        right[i, 0 : 2 * depth : 2] = np.arange(1, 2 * depth, 2)
    return left, right, random.normal(size=(count, nodes, 4)), 0.3 * random.normal(size=(4, 8))


@pytest.mark.parametrize(("threads", "traced"), some_by_day([3, 1], [True, False], most=1))
def test_threads_sum_what_lanes_share_also_where_stacks_grow(threads: int, traced: bool) -> None:
    *trees, weights = many_trees(50)

    def gradient(**options: Any) -> Any:
        f = hb.batch(tree.function, in_axes=tree.in_axes, **options)
        found = jax.grad(lambda leaf, w: (f(*trees[:2], leaf, w) ** 2).sum(), (0, 1))
        return (jax.jit(found) if traced else found)(trees[2], weights)

    want = gradient(dispatch="case", max_stack_depth=64)
    sizes = {"max_stack_depth": 64} if traced else {"max_stack_depth": 2, "max_tape": 2}
    for found, expected in zip(gradient(dispatch="kernel", threads=threads, **sizes), want, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


LOOPS_OF_SEVERAL_KERNELS = [
    ("case", 50, 1, None),
    ("sweep", 51, 2, None),  # an odd batch, which threads cannot divide
    ("chain", 50, 2, 16),
    ("guarded", 200, 1, None),  # blocks for few lanes
]


@pytest.mark.parametrize(("traced", "loop"), some_by_day([False, True], LOOPS_OF_SEVERAL_KERNELS, most=2))
def test_lanes_of_a_loop_sum_what_they_share_in_one_array(
    traced: bool, loop: tuple[str, int, int, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatch, count, threads, lanes = loop
    *trees, weights = many_trees(count)

    def gradient(**options: Any) -> Any:
        f = hb.batch(tree.function, in_axes=tree.in_axes, **options)
        found = jax.grad(lambda leaf, w: (f(*trees[:2], leaf, w) ** 2).sum(), (0, 1))
        return (jax.jit(found) if traced else found)(trees[2], weights)

    plans = list[Any]()
    monkeypatch.setattr(sums, "results_of", lambda plan, *given: (plans.append(plan), results_of(plan, *given))[1])
    depth = {"max_stack_depth": 64} if traced else {"max_stack_depth": 16, "max_tape": 16}  # which grow once
    found = gradient(dispatch=dispatch, threads=threads, lanes=lanes, **depth)
    assert all(bool(plan.summed) == (traced or count % 2 == 0) for plan in plans), plans
    for one, other in zip(found, gradient(dispatch="kernel", max_stack_depth=64), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def test_a_sum_of_lanes_that_have_no_result_is_not_given() -> None:
    @hb.batch
    def deep(n, w):
        return w[0] if n <= 0 else jnp.sin(w @ deep(n - 1, w))

    several = {"dispatch": "sweep"}

    @hb.batch(in_axes=(0, None), max_stack_bytes=1 << 16, **several)
    def top(n, w):
        return deep(n, w).sum()

    n, w = jnp.array([1, 10_000, 2, 3]), jnp.eye(4)
    with pytest.raises(hb.StackOverflowError) as raised:
        hb.value_and_grad(top, 1)(n, w)
    values, gradient = raised.value.outputs
    assert gradient is None
    np.testing.assert_allclose(values[n < 9], top(n[n < 9], w), rtol=1e-12)


@pytest.mark.parametrize("outer", [jax.jit, lambda f: f], ids=["jit", "alone"])
def test_jacobians_and_hessians(outer: Callable[[Any], Any]) -> None:
    @hb.batch(in_axes=(0, None))
    def grown(x, rates):
        while x.sum() < 9:
            x = x * rates + 0.5
        return x

    x, rates = jnp.ones((4, 2)), jnp.array([1.3, 1.1])
    forward, reverse = (outer(jacobian(lambda r: grown(x, r)))(rates) for jacobian in (jax.jacfwd, jax.jacrev))
    np.testing.assert_allclose(forward, reverse, rtol=1e-12)
    hessian = outer(jax.hessian(lambda r: (grown(x, r) ** 2).sum()))(rates)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)
    assert hessian.shape == (2, 2)


@pytest.mark.parametrize("how", ["grad", "jvp", "value_and_grad", "grad in jit"])
def test_what_lanes_print_is_printed_once(how: str, capfd: pytest.CaptureFixture[str]) -> None:
    @hb.batch
    def square(x):
        if x > 1:
            print("large", x)
        return x * x

    x = jnp.array([1.0, 2.0, 3.0])
    run: dict[str, Callable[[Any], Any]] = {
        "grad": jax.grad(lambda x: square(x).sum()),
        "jvp": lambda x: jax.jvp(square, (x,), (jnp.ones(3),))[1],
        "value_and_grad": lambda x: hb.value_and_grad(square)(x)[1],
        "grad in jit": jax.jit(jax.grad(lambda x: square(x).sum())),
    }
    assert run[how](x).tolist() == [2.0, 4.0, 6.0]
    jax.effects_barrier()
    assert capfd.readouterr().out.count("large") == 2


def test_lanes_that_raise_are_said_and_all_else_has_derivatives() -> None:
    @hb.batch
    def checked(x):
        if x < 0:
            raise ValueError("below zero")
        return x**3

    with pytest.raises(hb.LaneError, match=r"lane 2 of 'checked' raised ValueError: below zero"):
        jax.grad(lambda x: checked(x).sum())(jnp.array([1.0, 2.0, -1.0]))
    assert jax.grad(lambda x: checked(x).sum())(jnp.array([1.0, 2.0])).tolist() == [3.0, 12.0]


def greatest_and_least(x, n):
    t = 0.0
    while n > 0:
        t += jnp.max(x * x) + 2 * jnp.min(jnp.abs(x)) + jnp.sum(jnp.max(x.reshape(2, 2), axis=1))
        n -= 1
    return t


@pytest.mark.parametrize("kernels", [True, False])
def test_equal_elements_share_the_derivative_of_their_greatest(kernels: bool) -> None:
    x = np.array([[1, 2, -2, 0.5], [3, 3, 3, 3], [0, 0, 1, -1]], np.float32)
    function = hb.batch(greatest_and_least, optimizations=hb.Optimizations(kernels=kernels))
    _, slopes = hb.value_and_grad(function)(x, np.array([1, 2, 3]))
    wanted = [jax.grad(greatest_and_least)(row, n) for row, n in zip(x, [1, 2, 3], strict=True)]
    np.testing.assert_allclose(slopes, np.stack(wanted))


def test_a_maximum_that_no_element_equals_has_a_derivative() -> None:
    """A compiler may round the elements otherwise where they are compared with it."""
    rounded = functools.partial(extremes._extreme, lambda arrays: [jnp.max(arrays[0]) + 1e-3], jnp.argmax, (0,))
    assert jax.grad(rounded)(jnp.array([1.0, 3.0, 2.0])).tolist() == [0.0, 1.0, 0.0]
