"""Variables that hold several arrays: how they are split, and that nothing else changes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb

N = jnp.arange(7, dtype=jnp.int32)
X = jnp.linspace(-1.0, 2.0, 7)
ROWS = jnp.arange(28.0, dtype=jnp.float32).reshape(7, 4)


class Walk(NamedTuple):
    place: Any
    seen: Any
    turns: Any


@hb.batch
def swapped(n, x):
    pair = (x, x * 2)
    while n > 0:
        pair = (pair[1], pair[0])
        x = pair[0]
        n -= 1
    return pair[0] * 100 + x


@hb.batch
def rotated(n, x):
    a, b = x, x + 1
    three = {"a": a, "b": b, "c": n}
    while three["c"] > 0:
        a, b = three["b"], three["a"]
        three = {"a": a, "b": b, "c": three["c"] - 1}
    return three


@hb.batch
def walked(n, x):
    walk = Walk(x, jnp.zeros(3), 0)
    while n > 0:
        place = walk.place + n
        if n % 2 == 0:
            walk = walk._replace(place=place)
        else:
            walk = Walk(place, walk.seen.at[n % 3].add(place), walk.turns + 1)
        n -= 1
    return walk


@hb.batch
def inner(n, x):
    if n <= 0:
        return x, (n, "leaf")
    left, (count, _) = inner(n - 1, x)
    right, (more, word) = inner(n - 3, x + left)
    return left + right, (count + more + 1, word)


@hb.batch
def outer(n, x):
    total, (count, _) = inner(n, x)
    return {"total": total, "count": count}


@hb.batch
def even(n, state):
    if n == 0:
        return state
    x, row = state
    return odd(n - 1, (x + 1, row))


@hb.batch
def odd(n, state):
    if n == 0:
        return state
    return even(n - 1, (state[0] * 2, state[1].at[n % 4].add(state[0])))


@hb.batch
def drawn(n, x):
    keys = (jax.random.key(3), jax.random.key(4))
    while n > 0:
        key, again = jax.random.split(keys[0])
        keys = (again, key)
        x = x + jax.random.uniform(keys[1])
        n -= 1
    return x, keys[0]


@hb.batch
def clashing(n, x):
    """Each part is computed from the one that the other is passed on to."""
    pair, other = (x, x + 1), x
    while n > 0:
        pair, other = (other, pair[0] + 1), pair[1]
        n -= 1
    return pair, other


CASES: list[tuple[hb.BatchedFunction, tuple[Any, ...]]] = [
    (swapped, (N, X)),
    (rotated, (N, X)),
    (walked, (N, X)),
    (outer, (N, X)),
    (even, (N, (X, ROWS))),
    (drawn, (N, X)),
    (clashing, (N, X)),
]


def words(result: Any) -> list[Any]:
    """The arrays of a result, keys as their words."""
    leaves = [a if isinstance(a, jax.Array) else jnp.asarray(a) for a in jax.tree.leaves(result)]
    return [jax.random.key_data(a) if jnp.issubdtype(a.dtype, jax.dtypes.prng_key) else a for a in leaves]


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
@pytest.mark.parametrize("lanes", [None, 3])
def test_meaning_stays(function: hb.BatchedFunction, args: tuple[Any, ...], lanes: int | None) -> None:
    with hb.disable_batching():
        rows = [function(*jax.tree.map(lambda a, i=i: a[i], args)) for i in range(len(N))]
    found = hb.batch(function.function, lanes=lanes)(*args)
    assert jax.tree.structure(found) == jax.tree.structure(rows[0])
    for got, *wanted in zip(words(found), *map(words, rows), strict=True):
        np.testing.assert_allclose(got, np.stack(wanted), rtol=1e-6)


def lowered(function: hb.BatchedFunction, *args: Any) -> hb.Program:
    return function.trace(*args).lowered_program


def aggregates(program: hb.Program) -> list[str]:
    return [v for v, type_ in program.var_defs.items() if len(type_.tensor_leaves) > 1]


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_only_the_border_has_aggregates(function: hb.BatchedFunction, args: tuple[Any, ...]) -> None:
    program = lowered(function, *args)
    assert set(aggregates(program)) <= {*program.vars_in, *program.vars_out}


def test_an_array_in_a_tuple_is_updated_where_it_is() -> None:
    """What is returned beside a count is the caller's own array."""

    @hb.batch
    def filled(row, n):
        if n == 0:
            return row, 0
        row, count = filled(row.at[n % 4].add(1.0), n - 1)
        return row.at[0].add(1.0), count + 1

    program = lowered(filled, ROWS, N)
    rows = [v for v, t in program.var_defs.items() if t.tensor_leaves and t.tensor_leaves[0].shape == (4,)]
    assert rows == ["filled.row", "main.$result"]


def test_what_is_never_taken_apart_stays_whole() -> None:
    @hb.batch
    def carried(n, state):
        if n == 0:
            return state
        return carried(n - 1, jax.tree.map(lambda a: a + 1, state))

    assert aggregates(lowered(carried, N, (X, ROWS))) == ["carried.state"]


def test_switched_off_variables_stay_whole() -> None:
    plain = hb.batch(outer.function, optimizations=hb.Optimizations(split_aggregates=False))
    assert "inner.$result" in aggregates(lowered(plain, N, X))
    assert "inner.$result" not in aggregates(lowered(outer, N, X))


def called_once(n):
    return halved(n) + 1


@hb.batch
def halved(n):
    while n > 1:
        n = n // 2
    return n


def called_twice(n):
    return halved(n) + halved(n + 9)


@pytest.mark.parametrize(("function", "counters"), [(called_once, 0), (called_twice, 1)])
def test_one_call_has_one_way_back(function: Callable[..., Any], counters: int) -> None:
    program = lowered(hb.batch(function), N)
    assert len([v for v in program.var_defs if v.endswith("$return")]) == counters
    with hb.disable_batching():
        wanted = [int(function(n)) for n in range(7)]
    assert hb.batch(function)(N).tolist() == wanted
