"""Tables: arguments that lanes only look up are not copied, and each lane reads its own input's row."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array, lax
from runs import layout_of
from shares import forms

import hlobatch as hb

SIZE = 23
INPUTS = np.random.default_rng(0).integers(-9, 9, (SIZE, 3, 5)).astype(np.int32)
WANTED = np.arange(SIZE, dtype=np.int32) % 7

LOOKUPS: dict[str, Callable[..., Any]] = {
    "a number": lambda t, i: t[i % 3, i % 5],
    "from the end": lambda t, i: t[-1 - i % 3, -i],
    "past the end": lambda t, i: t[i, i],
    "past the end, or a number": lambda t, i: t.at[i, i].get(mode="fill", fill_value=77),
    "past the end, clipped": lambda t, i: t.at[i, 2 * i].get(mode="clip"),
    "in bounds": lambda t, i: t.at[i % 3, i % 5].get(mode="promise_in_bounds"),
    "a row": lambda t, i: t[i % 3].sum(),
    "a column": lambda t, i: t[:, i % 5].max(),
    "several": lambda t, i: t[jnp.stack([i, i + 1]) % 3, jnp.stack([i, 2 * i]) % 5].sum(),
    "several rows": lambda t, i: t[jnp.array([0, 2, 0]), i % 5].sum(),
    "a window": lambda t, i: lax.dynamic_slice(t, (i, i), (2, 3)).sum(),
    "by bytes": lambda t, i: t[i.astype(jnp.int8) % 3, i.astype(jnp.uint8) % 5],
    "by what is there": lambda t, i: t[t[i % 3, 0] % 3, i % 5],
    "inside a call": lambda t, i: jax.jit(lambda t, i: t[i % 3, i % 5])(t, i),
    "twice": lambda t, i: t[i % 3, 1] * t[1, i % 5],
}
OTHERS: dict[str, Callable[..., Any]] = {
    "all of it": lambda t, i: t.sum() + i,
    "a number and all of it": lambda t, i: t[i % 3, 0] + t.max(),
    "to look up in something else": lambda t, i: jnp.arange(20)[t][i % 3, 0],
}


def summed(look_up: Callable[..., Any], **options: Any) -> hb.BatchedFunction:
    """A sum of values looked up in a table, the first before the loop, up to a limit."""

    @hb.batch(**options)
    def total(table, wanted):
        found, i = look_up(table, wanted), 0 * wanted
        while i < wanted:
            if found % 2 == 0:
                found = found + look_up(table, i)
            else:
                found = found - 1
            i += 1
        return found

    return total


def by_hand(look_up: Callable[..., Any], table: np.ndarray, wanted: int) -> int:
    look_up = jax.jit(look_up)
    found, i = int(look_up(table, jnp.int32(wanted))), 0
    while i < wanted:
        found = found + int(look_up(table, jnp.int32(i))) if found % 2 == 0 else found - 1
        i += 1
    return found


def tables_of(batched: hb.BatchedFunction, *args: Any) -> set[str]:
    return {name.rpartition(".")[2] for name in batched.trace(*args).plan.states.tables}


@pytest.mark.parametrize("kind", LOOKUPS)
def test_each_lane_finds_its_own(kind: str) -> None:
    look_up = LOOKUPS[kind]
    truth = [by_hand(look_up, table, wanted) for table, wanted in zip(INPUTS, WANTED, strict=True)]
    assert tables_of(summed(look_up), INPUTS, WANTED) == {"table"}
    for options in ({}, {"lanes": 5}, {"optimizations": hb.Optimizations(kernels=False)}):
        assert summed(look_up, **options)(INPUTS, WANTED).tolist() == truth, options


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_read_as_a_whole_is_kept(kind: str) -> None:
    look_up = OTHERS[kind]
    truth = [by_hand(look_up, table, wanted) for table, wanted in zip(INPUTS, WANTED, strict=True)]
    assert tables_of(summed(look_up), INPUTS, WANTED) == set()
    assert summed(look_up, lanes=5)(INPUTS, WANTED).tolist() == truth


@pytest.mark.parametrize("lanes", [None, 4])
@pytest.mark.parametrize("dispatch", forms("every_form"))
def test_every_form(dispatch: str, lanes: int | None) -> None:
    look_up = LOOKUPS["a number"]
    options = {"dispatch": dispatch, "lanes": lanes}
    for size in (0, 1, 17):
        truth = [by_hand(look_up, INPUTS[i], WANTED[i]) for i in range(size)]
        assert summed(look_up, **options)(INPUTS[:size], WANTED[:size]).tolist() == truth


def test_many_lanes() -> None:
    """More than fill vectors, and a queue of them."""
    look_up, tables, wanted = LOOKUPS["a row"], np.tile(INPUTS, (30, 1, 1)), np.tile(WANTED, 30)
    truth = [by_hand(look_up, table, count) for table, count in zip(INPUTS, WANTED, strict=True)] * 30
    for options in ({}, {"threads": 2}, {"lanes": 64}, {"lanes": 690}, {"max_steps": 100}):
        assert summed(look_up, **options)(tables, wanted).tolist() == truth, options
    result, _ = summed(look_up).with_stats(tables, wanted)
    assert result.tolist() == truth


def test_inside_jit_vmap_and_what_is_exported() -> None:
    look_up = LOOKUPS["from the end"]
    truth = [by_hand(look_up, table, wanted) for table, wanted in zip(INPUTS, WANTED, strict=True)]
    total = summed(look_up)
    assert jax.jit(total)(INPUTS, WANTED).tolist() == truth
    pairs = INPUTS[:22].reshape(11, 2, 3, 5), WANTED[:22].reshape(11, 2)
    assert jax.vmap(total)(*pairs).ravel().tolist() == truth[:22]
    assert jax.vmap(total, in_axes=(None, 0))(INPUTS[:3], WANTED.reshape(1, -1)[:, :3])[0].tolist() == truth[:3]
    (b,) = jax.export.symbolic_shape("b")
    avals = jax.ShapeDtypeStruct((b, 3, 5), np.int32), jax.ShapeDtypeStruct((b,), np.int32)
    artifact = hb.export(total, *avals)
    assert artifact.call(INPUTS, WANTED).tolist() == truth


@pytest.mark.parametrize("max_stack_depth", [2, 32])
@pytest.mark.parametrize("lanes", [None, 3])
def test_recursion_over_a_table(lanes: int | None, max_stack_depth: int) -> None:
    """Trees in arrays, walked while stacks grow."""

    @hb.batch(lanes=lanes, max_stack_depth=max_stack_depth)
    def weight(tree, node):
        if node >= 15:
            return 0
        return tree[node] + weight(tree, 2 * node + 1) + weight(tree, 2 * node + 2)

    trees = np.random.default_rng(1).integers(0, 99, (9, 15)).astype(np.int32)
    assert tables_of(weight, trees, np.zeros(9, np.int32)) == {"tree"}
    assert weight(trees, np.zeros(9, np.int32)).tolist() == trees.sum(1).tolist()


def test_a_loop_inside_a_statement_reads_no_row_of_a_lane_that_is_not_there() -> None:
    """What a lane that only passes by would find there might keep the others from ending."""

    @hb.batch
    def halvings(table, i):
        count = 0
        while i < 3:
            count += lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] // 2, s[1] + 1), (table[i], 0))[1]
            i += 1
        return count

    tables = np.full((8, 4), 8, np.int32)
    assert halvings(tables, np.arange(8, dtype=np.int32)).tolist() == [12, 8, 4, 0, 0, 0, 0, 0]


def search(table: Array, x: Array) -> Array:
    low, high = 0, table.shape[0]
    while low < high:
        middle = (low + high) // 2
        if table[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def test_a_table_is_not_turned_around() -> None:
    tables = np.sort(np.random.default_rng(0).standard_normal((200, 1000)).astype(np.float32))
    args = tables, tables[:, 77]
    batched = hb.batch(search)
    assert batched(*args).tolist() == [77] * 200
    plan = batched.trace(*args).plan
    assert not any(1000 in aval.shape for aval in layout_of(plan, 200, plan.depth).slots.values())
    kept = hb.batch(search, optimizations=hb.Optimizations(tables=False))
    assert kept(*args).tolist() == [77] * 200
    plan = kept.trace(*args).plan
    assert any(1000 in aval.shape for aval in layout_of(plan, 200, plan.depth).slots.values())


def test_what_is_long_to_hand_over_is_not_divided() -> None:
    tables = np.zeros((4, 1000), np.float32)
    choice = hb.batch(search).trace(tables, tables[:, 7]).plan.programs.policies.policy
    assert choice.threads_for(10**6) == 1
    assert choice.undivided == "`table` takes longer to hand over than what a turn computes"
    assert hb.batch(search, threads=2).trace(tables, tables[:, 7]).plan.programs.policies.policy.threads_for(10**6) == 2
    assert hb.batch(search).trace(tables[:, :8], tables[:, 7]).plan.programs.policies.policy.threads_for(10**6) == 2
