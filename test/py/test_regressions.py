"""What once was wrong, each test named after it."""

import array
import collections
import copy
import dataclasses
import functools
import gc
import importlib
import itertools
import linecache
import os
import random
import re
import threading
import types
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify
from jax.numpy import exp
from zoo import optimizing_little

import hlobatch as hb
from hlobatch.frontend.to_program import to_program
from hlobatch.ir.ops import BranchOp


def ints(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


# The meaning of Python


def change(entries):
    entries["n"] = entries["n"] + 1
    return 0


def test_change_in_place_was_lost() -> None:
    @hb.batch
    def pop(n):
        items = [n, n + 1]
        last = items.pop()
        return last + len(items)

    @hb.batch
    def helper(n):
        entries = {"n": n}
        zero = change(entries)
        return entries["n"] + zero

    @hb.batch
    def alias(n):
        items = [n]
        same = items
        items += [n]
        return n + len(same)

    assert pop(ints(1, 2)).tolist() == [3, 4]
    assert helper(ints(1, 2)).tolist() == [2, 3]
    with pytest.raises(hb.UnsupportedSyntaxError, match="changes 'items' in place, of which 'same' is another name"):
        alias(ints(1, 2))


def test_walrus_in_a_comprehension_was_lost() -> None:
    @hb.batch
    def total(n):
        s = sum([(n := n + k) for k in (1, 2)])
        return s + n

    assert total(ints(1)).tolist() == [2 + 4 + 4]


def test_kept_lambda_did_not_see_a_later_value() -> None:
    @hb.batch
    def late(x):
        k = 1
        add = lambda y: y + k  # noqa: E731
        k = 2
        return add(x)

    assert late(ints(1)).tolist() == [3]


def test_chained_comparison_evaluated_what_it_need_not() -> None:
    @hb.batch
    def count(n):
        if 0 < n < count(n - 1) + 100:
            return n
        return 0

    assert count(ints(3, 0, -2)).tolist() == [3, 0, 0]


class Operations:
    @staticmethod
    @hb.batch
    def exp(x):
        if x > 0:
            return exp(x)
        return x


def test_global_of_the_functions_own_name() -> None:
    assert Operations.exp(np.float32([0, -2])).tolist() == [0, -2]
    np.testing.assert_allclose(Operations.exp(np.float32([1])), [np.e], rtol=1e-6)


def test_loop_variable_wrapped_like_its_start() -> None:
    @hb.batch
    def doubles(start, stop):
        total = jnp.int32(0)
        for i in range(start, stop):
            total = total + i * 2
        return total

    assert doubles(np.uint8([100]), np.uint8([200])).tolist() == [sum(i * 2 for i in range(100, 200))]


def test_negative_zero_was_taken_for_zero() -> None:
    @hb.batch
    def signed(x, zero):
        return jnp.copysign(x, zero)

    @hb.batch
    def both(x):
        return signed(x, 0.0), signed(x, -0.0)

    plus, minus = both(np.float32([1]))
    assert (float(plus[0]), float(minus[0])) == (1, -1)


TURNS = 2


def test_number_of_turns_of_an_earlier_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    @hb.batch
    def step(x):
        for _ in range(TURNS):
            x = x + 1
        return x

    assert step(ints(0)).tolist() == [2]
    monkeypatch.setitem(globals(), "TURNS", 0)
    assert step(np.float32([0])).tolist() == [0]


# Calls and decorators


@hb.batch
def total(v):
    return jnp.sum(v)


@pytest.mark.parametrize("how", ["alias", "helper", "argument"])
def test_call_that_no_name_outside_says_took_an_event_axis_for_the_batch(how: str) -> None:
    def helper(v):
        return total(v)

    @hb.batch
    def alias(v):
        f = total
        return f(v)

    @hb.batch
    def through_helper(v):
        return helper(v)

    @hb.batch(static_argnames="f")
    def given(v, f):
        return f(v)

    call = {"alias": alias, "helper": through_helper, "argument": functools.partial(given, f=total)}[how]
    assert call(np.ones((2, 3), np.float32)).tolist() == [3, 3]


def test_call_that_is_not_seen_took_an_event_axis_for_the_batch() -> None:
    @hb.batch
    def mapped(v):
        return jax.vmap(total)(jnp.stack([v, v])).sum()

    with pytest.raises(hb.UnsupportedSyntaxError, match="'total' is batched, but this call of it cannot be seen"):
        mapped(np.ones((2, 3), np.float32))


def test_decorator_below_was_dropped() -> None:
    def doubled(f):
        @functools.wraps(f)
        def wrapper(y):
            return 2 * f(y)

        return wrapper

    @hb.batch
    @doubled
    def increment(x):
        return x + 1

    assert increment(ints(1, 2)).tolist() == [4, 6]


def test_options_of_an_inner_batch_won() -> None:
    inner = hb.batch(lambda x, y: x + jnp.sum(y))
    outer = hb.batch(inner, in_axes=(0, None))
    assert outer(ints(1, 2), ints(1, 1, 1)).tolist() == [4, 5]


def test_keywords_in_another_order_than_the_parameters() -> None:
    @hb.batch
    def difference(y, x):
        return y - x

    same = ints(5)
    assert difference(x=same, y=same).tolist() == [0]
    assert difference(x=ints(1), y=ints(11)).tolist() == [10]


def test_changed_static_argument_had_an_old_plan() -> None:
    @hb.batch(static_argnames="k")
    def scale(x, k):
        return x * k[0]

    with pytest.raises(hb.BatchTypeError, match="k is static, but a list cannot be hashed"):
        scale(ints(1), [2])
    assert [scale(ints(1), k).dtype.name for k in ((1,), (1.0,))] == ["int32", "float32"]


def test_shared_number_was_not_weak() -> None:
    scale = hb.batch(lambda x, k: x * k, in_axes=(0, None))
    assert scale(np.float16([1]), 2.0).dtype == np.float16
    assert scale(np.float16([1]), np.float32(2)).dtype == np.float32


ZEROS = jnp.zeros(2)


def test_default_array_did_not_fit_itself() -> None:
    @hb.batch
    def count(n, total=ZEROS):
        if n <= 0:
            return total
        return count(n - 1, total + 1)

    assert count(ints(0, 2)).tolist() == [[0, 0], [2, 2]]


# Running


@hb.batch(max_stack_depth=2)
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


def test_compiled_program_took_its_depth_for_a_later_one() -> None:
    f = hb.batch(fibonacci.function, max_stack_depth=2)
    compiled = f.trace(ints(5, 9)).lower().compile()
    for _ in range(2):
        assert compiled(ints(5, 9)).tolist() == [8, 55]


def test_threads_grew_each_others_stacks() -> None:
    f = hb.batch(fibonacci.function, max_stack_depth=2)
    found: dict[int, list[int]] = {}

    def run(n: int) -> None:
        found[n] = f(ints(*range(n))).tolist()

    threads = [threading.Thread(target=run, args=(n,)) for n in (4, 8, 12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    truth = f(ints(*range(12))).tolist()
    assert found == {n: truth[:n] for n in (4, 8, 12)}


def collatz(n):
    def step(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return jax.lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]


@hb.batch
def inner_loop(n, k):
    """While a lane waits in the loop, ``m`` is 0, of which ``collatz`` never ends."""
    m = 0
    while k > 0:
        m = jnp.where(k == 1, n, 0)
        k = k - 1
    return n + collatz(m)


def test_inner_loop_ran_on_junk_in_a_sweep() -> None:
    sweep = hb.batch(inner_loop.function, dispatch="sweep")
    assert sweep(ints(1, 3), ints(3, 2)).tolist() == [1, 10]


def test_inner_loop_ran_on_junk_where_steps_ran_out() -> None:
    for steps in range(2, 8):
        with pytest.raises(hb.StepLimitError):
            hb.batch(inner_loop.function, max_steps=steps)(ints(3, 3), ints(50, 1))


def test_vmap_over_nothing() -> None:
    assert jax.vmap(fibonacci)(np.zeros((0, 3), np.int32)).shape == (0, 3)
    assert jax.jit(jax.vmap(fibonacci))(np.zeros((2, 0), np.int32)).shape == (2, 0)


def test_disable_jit_recursed_forever() -> None:
    with jax.disable_jit():
        assert fibonacci(ints(3, 4)).tolist() == [3, 5]


def test_select_of_a_python_object() -> None:
    @hb.batch
    def tagged(x):
        if x > 0:
            pair = (x + 1, "tag")
        else:
            pair = (x * 2, "tag")
        return pair[0]

    assert tagged(ints(1, -2)).tolist() == [2, -4]


# Artifacts


def test_artifact_took_other_arguments_than_it_was_made_for() -> None:
    @hb.batch(static_argnames="mode")
    def combine(x, y=2, mode="add"):
        return x + y if mode == "add" else x - y

    artifact = hb.export(combine, ints(1, 2))
    assert artifact.call(ints(1, 2)).tolist() == [3, 4]
    for args in ((ints(1), 7), (ints(1), 2, "subtract"), (np.float32([1.5]),), (3,)):
        with pytest.raises(hb.BatchTypeError, match="was exported for"):
            artifact.call(*args)


def test_artifact_of_a_compound_symbolic_size() -> None:
    (b,) = jax.export.symbolic_shape("b")
    artifact = hb.export(fibonacci, jax.ShapeDtypeStruct((2 * b + 1,), np.int32))
    assert artifact.call(ints(0, 1, 2)).tolist() == [1, 1, 2]


def test_symbolic_event_shape_is_refused() -> None:
    b, k = jax.export.symbolic_shape("b, k")
    with pytest.raises(hb.BatchTypeError, match="only the size of the batch may be symbolic"):
        total.trace(jax.ShapeDtypeStruct((b, k), np.float32))


def test_queue_with_64_bit_types() -> None:
    with jax.enable_x64(True):
        assert hb.batch(fibonacci.function, lanes=2)(np.array([3, 4, 5])).tolist() == [3, 5, 8]


def test_axis_as_a_numpy_integer() -> None:
    last = hb.batch(lambda x: jnp.sum(x), in_axes=np.int32(-1))
    assert last(ints([1, 2], [3, 4])).tolist() == [4, 6]


def test_lambda_in_a_lambda_on_one_line_was_not_found() -> None:
    make = lambda: hb.batch(lambda x: x + 1 if x > 0 else x)  # noqa: E731
    assert make()(ints(1, -2)).tolist() == [2, -2]


class Lazy:
    @property
    def f(self):
        raise ValueError("not loaded")


LAZY = Lazy()


def test_error_of_a_property_had_no_place() -> None:
    @hb.batch
    def use(x):
        return LAZY.f(x)

    with pytest.raises(hb.BatchTypeError, match="ValueError: not loaded"):
        use(ints(1))


@hb.batch
def plus_one(n, y):
    if n <= 0:
        return n
    return y + 1


@hb.batch
def assigned_in_a_loop(b):
    y = b
    for _ in range(4 % 3, 3):
        b = 7
    return plus_one(b % 4, y)


def test_number_assigned_once_to_a_parameter_was_lost() -> None:
    assert assigned_in_a_loop(ints(0, 1, 2)).tolist() == [1, 2, 3]


# The lowering


@pytest.mark.parametrize("dispatch", ["case", "chain", "guarded", "sweep"])
def test_small_loop_of_a_reduction_never_ended(dispatch: str) -> None:
    """A block kept out of line hung where XLA compiles a small loop into one function."""

    @hb.batch(dispatch=dispatch)
    def halved(y):
        while jnp.sum(y) > 1.0:
            y = y / 2
        return y

    y = np.arange(35, dtype=np.float32).reshape(5, 7)
    expected = [row / 2.0 ** max(0, int(np.ceil(np.log2(row.sum())))) for row in y]
    np.testing.assert_array_equal(halved(y), np.stack(expected))


@pytest.mark.parametrize("dispatch", ["chain", "guarded"])
def test_a_passed_over_block_did_its_work_in_every_turn(dispatch: str) -> None:
    """XLA moved what a block reads and does not change out of the loop the block stands in."""

    @hb.batch(dispatch=dispatch, optimizations=hb.Optimizations(one_kernel=False))
    def noise_then_count(key, n):
        total = jnp.sum(jax.random.normal(key, (50,)))
        while n > 0:
            n = n - 1
        return total + jnp.sum(jax.random.normal(key, (60,)))

    keys = jax.random.split(jax.random.key(0), 300)
    text = noise_then_count.trace(keys, ints(*range(300))).lower().compile().as_text()
    assert not hoisted(text, "_normal")


def hoisted(text: str, what: str) -> list[str]:
    """Instructions made by ``what`` that stand in the outermost loop's own body."""
    outermost = re.findall(r"while\([^)]*\), condition=\S+, body=(%[\w.-]+)", text.split("ENTRY")[1])
    bodies = [
        body for name in outermost for body in re.findall(rf"^{re.escape(name)} .*?^}}", text, re.MULTILINE | re.DOTALL)
    ]
    assert bodies
    return [line for body in bodies for line in body.splitlines() if what in line and " while(" not in line]


def test_questions_about_the_type_of_a_number_were_answered_for_arrays() -> None:
    @hb.batch
    def f(n):
        count = 0
        for i in range(n):
            if isinstance(i, int) and type(i) is int and not hasattr(i, "shape"):
                count = count + 1
        k = 1
        if n > 2:
            k = 2
        scale = 0.5 if n > 3 else 2.5
        flag = n > 1 and True
        return count, isinstance(k, (int, str)), isinstance(scale, int), type(scale) is float, isinstance(flag, tuple)

    found = f(ints(0, 1, 3, 5))
    assert [x.tolist() for x in found] == [[0, 1, 3, 5], [True] * 4, [False] * 4, [True] * 4, [False] * 4]


def test_flags_are_numbers_beside_numbers() -> None:
    @hb.batch
    def f(n):
        flag = False
        if n > 2:
            flag = True
        n += flag
        return flag * 3 + 1, n, 2 - flag, n > 1 and ~(n > 4)

    tripled, added, taken, middle = f(ints(0, 3, 5))
    assert tripled.tolist() == [1, 4, 4]
    assert added.tolist() == [0, 4, 6]
    assert taken.tolist() == [2, 1, 1]
    assert middle.tolist() == [False, True, False]


def sums_of_flags(a, b):
    """All that Python does on numbers, of bools: written out, compared, chosen and combined."""
    first, second = a > 1, b > 1
    chosen = False
    if a > 2:
        chosen = True
    votes = first + second + (a > 3)
    both = (first & second) + (first | chosen)
    votes_in_place = first
    votes_in_place += second
    whole = first // (b >= -9) + first % (b >= -9) * 3 + (first << second) + (first >> second)
    powers = first**2 + 2**first + first**second + (b >= -9) ** -1
    return votes, both, votes_in_place, whole, powers, first - chosen, -first, +first, first * chosen, first / True


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.uint8])
def test_flags_are_numbers_among_themselves(dtype) -> None:
    """``(a > 1) + (b > 1)`` was a flag, or refused, and is 2 in Python."""
    a, b = (x.ravel() for x in np.meshgrid(np.arange(5), np.arange(3)))
    found = [x.tolist() for x in hb.batch(sums_of_flags)(a.astype(dtype), b.astype(dtype))]
    for m, n, *given in zip(a.tolist(), b.tolist(), *found, strict=True):
        assert given == list(sums_of_flags(m, n))


def test_arrays_of_flags_are_added_as_in_numpy() -> None:
    def f(x, single):
        return (x > 1) + (x > 2), (x > 1) * (x > 2), sum([single, single, True]), sum(x > 1), single + (x > 1)

    x = np.arange(4)
    found = hb.batch(f)(x[None], np.array([True]))
    for given, wanted in zip(found, f(x, True), strict=True):
        assert given[0].tolist() == np.asarray(wanted).tolist()


def test_a_flag_that_becomes_an_array_of_one_is_one() -> None:
    @hb.batch
    def f(n):
        done, k = False, 0
        while ~done:
            k = k + 1
            done = done | (k > n)
        left = ~done
        return k, left

    k, left = f(ints(0, 3, 5))
    assert k.tolist() == [1, 4, 6]
    assert left.tolist() == [False] * 3


def test_constant_powers_of_python_integers_are_floats() -> None:
    @hb.batch
    def f(n):
        total = 0.0
        for i in range(1, n):
            total += i**-2
        return total, 2 ** (n + 1), n**2

    total, power, square = f(ints(1, 2, 4))
    np.testing.assert_allclose(total, [0.0, 1.0, 1.0 + 1 / 4 + 1 / 9], rtol=1e-6)
    assert power.tolist() == [4, 8, 32]
    assert square.tolist() == [1, 4, 16]


def test_a_loop_that_has_no_turn_was_traced() -> None:
    @hb.batch
    def f(values):
        total, last = 0.0, -1
        for i in range(values.shape[0]):
            total, last = total + values[i], i
        else:
            total = total + 1
        return total, last

    total, last = f(np.zeros((3, 0), np.float32))
    assert total.tolist() == [1, 1, 1]
    assert last.tolist() == [-1, -1, -1]
    assert f(np.ones((3, 2), np.float32))[0].tolist() == [3, 3, 3]


def test_texts_and_lambdas_of_what_is_known() -> None:
    @hb.batch
    def f(n):
        k = 3
        table = {f"x{k}": n, "%d" % 4: n + 1, str(k): n + 2}  # noqa: UP031
        k = 4
        pair = jax.vmap(lambda v: v * k)(jnp.stack([n, n]))
        k = n + 5
        return table["x3"] + table["4"] + table["3"], pair[0] + k

    first, second = f(ints(0, 1))
    assert first.tolist() == [3, 6]
    assert second.tolist() == [5, 10]


def test_a_default_that_was_changed_was_seen_by_some_calls_only() -> None:
    shift = [1.0]

    @hb.batch
    def f(a, b=shift):
        return a + b[0]

    x = jnp.zeros(2)
    assert f(x).tolist() == f(x).tolist() == [1, 1]
    shift[0] = 5.0
    assert f(x).tolist() == f.with_stats(x)[0].tolist() == [5, 5]


def test_static_zeros_of_both_signs_were_one() -> None:
    f = hb.batch(lambda x, k: jnp.arctan2(jnp.float32(k), x), static_argnames="k")
    x = -np.ones(1, np.float32)
    assert [round(float(f(x, k)[0]), 2) for k in (np.float32(0.0), np.float32(-0.0))] == [3.14, -3.14]


# Lanes as the last axis, and each lane on its own


@pytest.mark.parametrize("k", [-9, -8, -7, -5, -4, -1, 3, 4])
def test_place_that_lanes_share_was_counted_from_the_end_twice(k: int) -> None:
    def pick(x, turns, k):
        total = x[0] * 0
        while turns > 0:
            total = total + x[k] + jax.lax.dynamic_update_index_in_dim(x, 100.0, k, 0) @ jnp.arange(1.0, 5.0)
            turns = turns - 1
        return total

    x, turns = jnp.arange(256.0).reshape(64, 4), jnp.arange(64) % 3
    with hb.disable_batching():
        wanted = [float(pick(row, int(n), jnp.int32(k))) for row, n in zip(x, turns, strict=True)]
    assert hb.batch(pick, in_axes=(0, 0, None))(x, turns, k).tolist() == wanted


@pytest.mark.parametrize("lanes", [7, 64])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_products_of_short_numbers_were_added_up_in_short_numbers(dtype: jnp.dtype, lanes: int) -> None:
    @hb.batch(in_axes=(0, 0, None))
    def products(x, turns, w):
        total = jnp.float32(0)
        while turns > 0:
            total = total + (w @ x).sum() + (x[None] @ w.T).sum() + jnp.outer(x, x[:8])[:, 0] @ x
            turns = turns - 1
        return total

    x, w = jnp.ones((lanes, 600), dtype), jnp.ones((8, 600), dtype)
    assert products(x, jnp.ones(lanes, jnp.int32), w).tolist() == [sum(16 * [600]) + 600] * lanes


@pytest.mark.parametrize("lanes", [8, 64])
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_all_lanes_drew_the_numbers_of_the_first(impl: str, lanes: int) -> None:
    """With these generators, the loop did not end: a lane that is done holds its key."""

    def draws(key, n):
        number = 0.0
        while number < 0.7:
            key, own = jax.random.split(key)
            number = jax.random.uniform(own)
            n = n + 1
        return n, number

    keys, n = jax.random.split(jax.random.key(0, impl=impl), lanes), jnp.zeros(lanes, jnp.int32)
    counts, numbers = hb.batch(draws)(keys, n)
    with hb.disable_batching():
        wanted = [draws(key, 0) for key in keys]
    assert counts.tolist() == [int(count) for count, _ in wanted]
    assert numbers.tolist() == [float(number) for _, number in wanted]


def test_array_of_64_bits_was_passed_on_where_none_are_allowed() -> None:
    """By the second call, which was like the first and not looked at again."""

    @hb.batch
    def doubled(x):
        while x < 5:
            x = 2 * x + 1
        return x

    with jax.enable_x64(True):
        x = jnp.arange(3.0)
    assert [doubled(x).tolist() for _ in range(3)] == [[7, 7, 5]] * 3


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint32", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_number_that_meets_a_narrower_array_becomes_what_that_is(dtype, wide):
    @hb.batch
    def total(values):
        v = 0.0 if jnp.issubdtype(values.dtype, jnp.floating) else 0
        for i in range(3):
            v = v + values[i]
        return v

    with jax.enable_x64(wide):
        result = total(jnp.ones((2, 3), dtype))
        assert (result.dtype, result.tolist()) == (jnp.dtype(dtype), [3, 3])


def test_keys_without_a_type_that_are_split_again_and_again():
    """XLA fused one split into the next, and computed each once for each use; it did not come to an end."""

    @hb.batch
    def walk(key, radius):
        position = jnp.zeros(2)
        while jnp.linalg.norm(position) < radius:
            key, one = jax.random.split(key)
            position = position + jax.random.uniform(one, (2,), minval=-1, maxval=1)
            if jnp.abs(position).max() > radius * 0.9:
                key, one = jax.random.split(key)
                if jax.random.bernoulli(one, 0.3):
                    position = position * 0.5
        return position

    keys, radius = jax.random.split(jax.random.key(0), 256), jnp.full(256, 3.0)
    got = walk(jax.random.key_data(keys), radius)
    np.testing.assert_allclose(got, walk(keys, radius), rtol=1e-5)
    for i in range(3):
        np.testing.assert_allclose(got[i], walk.function(keys[i], radius[i]), rtol=1e-5)


@hb.batch
def logarithms(x):
    while x > 1:
        x = x / 2
    y = jnp.log(x)
    return y * 2


WAYS = {
    "called": logarithms,
    "with stats": logarithms.with_stats,
    "in jit": jax.jit(logarithms),
    "mapped": lambda x: jax.vmap(logarithms)(x[None]),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_search_for_nans_ends_and_names_lanes_and_the_line(way):
    """It came to no end, and then to an error that named neither."""
    x = jnp.array([3.0, -5.0, 2.0, -1.0])
    WAYS[way](x)
    with jax.debug_nans(True):
        for _ in range(2):
            with pytest.raises(FloatingPointError, match=r"'jnp.log\(x\)' gives NaN in lanes 1, 3") as caught:
                WAYS[way](x)
            assert isinstance(caught.value, hb.LaneError)
            assert caught.value.location.text == "y = jnp.log(x)"
            assert caught.value.lanes == (1, 3)
        assert jnp.isfinite(logarithms(jnp.array([3.0, 2.0]))).all()


def test_the_search_for_infinity_and_in_a_recursion():
    @hb.batch
    def reciprocals(x, n, scale):
        if n == 0:
            return jnp.where(x > 5, jnp.log(x - 9), 1 / x)
        return reciprocals(x, n - 1, scale) + reciprocals(x - 1, n - 1, scale) * scale["k"]

    arguments = np.float32([5, 2, 4]), ints(2, 2, 2), {"k": np.float32([1, 1, 1])}
    with jax.debug_nans(True):
        reciprocals(*arguments)
    with jax.debug_infs(True), pytest.raises(FloatingPointError, match="infinity in lane 1") as caught:
        reciprocals(*arguments)
    assert "jnp.where" in caught.value.location.text
    assert np.isinf(caught.value.outputs[1])


@pytest.mark.parametrize("name", ["float_checks", "nan_checks", "div_checks", "index_checks", "all_checks"])
def test_automatic_checks_found_nothing_in_what_is_batched(name):
    for way in ("called", "in jit", "mapped"):
        checked = checkify.checkify(WAYS[way], errors=getattr(checkify, name))
        with pytest.raises(hb.HloBatchError, match="'logarithms' is batched, and checkify's automatic checks"):
            checked(jnp.array([3.0, -5.0]))


def test_checks_that_users_wrote_are_made_around_what_is_batched():
    def around(x):
        checkify.check(jnp.all(x > 0), "below zero")
        return logarithms(x)

    error, result = checkify.checkify(around)(jnp.array([3.0, -5.0]))
    assert "below zero" in error.get()
    assert result.shape == (2,)


def test_arrays_are_pushed_where_64_bit_types_are_on():
    """The row of a stack had 32 bits and the number of a lane 64."""

    @hb.batch
    def mirrored(x, n):
        if n == 0:
            return x
        return mirrored(x[::-1] + n, n - 1) * x

    x, n = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40, dtype=np.int32) % 6
    with jax.enable_x64(True):
        got = mirrored(x, n)
        with hb.disable_batching():
            wanted = [mirrored.function(jnp.asarray(a), jnp.asarray(b)) for a, b in zip(x, n, strict=True)]
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, np.stack(wanted), rtol=1e-12)


LEAST, MOST = -(2**31), 2**31 - 1


@pytest.mark.parametrize("step", [1, 2, 10, MOST, -1, -2, -MOST])
def test_spans_of_ranges_wrapped(step):
    """A range from below zero to above was one of no turns, if it was longer than a number of 32 bits can say."""

    @hb.batch
    def ends(start, stop):
        turns = 0
        last = start
        for i in range(start, stop, step):
            turns = turns + 1
            last = i
            if turns == 3:
                break
        return turns, last

    bounds = [LEAST, LEAST + 1, -2, -1, 0, 1, 7, MOST - 1, MOST]
    start, stop = (np.asarray(x, np.int32).ravel() for x in np.meshgrid(bounds, bounds))
    plain = [range(int(a), int(b), step)[:3] for a, b in zip(start, stop, strict=True)]
    turns, last = ends(start, stop)
    assert turns.tolist() == [len(r) for r in plain]
    assert last.tolist() == [r[-1] if r else int(a) for r, a in zip(plain, start, strict=True)]
    for known in (LEAST, 3, MOST):
        turns, _ = hb.batch(ends.function, static_argnames="stop")(start, stop=known)
        assert turns.tolist() == [len(range(int(a), known, step)[:3]) for a in start]


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def bounds_of(dtype: str) -> list[int]:
    """Numbers of a dtype, those at its ends among them."""
    limits = np.iinfo(dtype)
    some = {limits.min, limits.min + 1, -3, -1, 0, 1, 5, limits.max // 2 + 1, limits.max - 1, limits.max}
    return sorted(value for value in some if limits.min <= value <= limits.max)


def first_turns(start, stop, step):
    """How many turns a range has, up to three, and what it begins with and comes to in them."""
    turns, first, last = 0, 0, 0
    for i in range(start, stop, step):
        if turns == 0:
            first = i
        turns = turns + 1
        last = i
        if turns == 3:
            break
    return turns, first, last


PAIRS = (
    *(("int32", "uint32"), ("uint32", "int32"), ("uint8", "uint32"), ("int64", "uint32"), ("int32", "int64")),
    *(("int64", "uint64"), ("uint64", "int64"), ("uint64", "uint8")),
)


@pytest.mark.parametrize(("of", "to"), PAIRS)
def test_ranges_whose_bounds_are_of_two_dtypes_were_counted_as_jax_subtracts(of, to):
    wide = "64" in of + to
    largest = np.iinfo("int64" if wide else "int32").max
    start, stop = (x.ravel() for x in np.meshgrid(np.array(bounds_of(of), of), np.array(bounds_of(to), to)))
    function = hb.batch(first_turns, static_argnames="step")
    for step in (1, -2, 10**9):
        with jax.enable_x64(wide), optimizing_little():
            if step < 0 and to.startswith("int") and of == ("uint64" if wide else "uint32"):
                with pytest.raises(hb.BatchTypeError, match="no dtype has all that it runs over"):
                    function(start, stop, step)
                continue
            found = [x.tolist() for x in function(start, stop, step)]
        for a, b, turns, *ends in zip(start.tolist(), stop.tolist(), *found, strict=True):
            plain = range(a, b, step)[:3]
            assert turns == len(plain), (a, b)
            if plain and (of.startswith("u") or max(plain) <= largest):  # else it wraps around, as what is counted does
                assert ends == [plain[0], plain[-1]], (a, b)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_ranges_to_and_from_below_zero(dtype):
    """Of a ``uint32`` they had no turn: it was compared with 4294967295."""

    @hb.batch
    def count(n):
        down, total, up, lowest = 0, 0, 0, 0
        for i in range(n, -1, -1):
            down, total = down + 1, total + i
        for i in range(-3, n):
            up, lowest = up + 1, min_of(lowest, i)
        for _ in range(n, -2, 1):
            up = up + 100
        for _ in range(-1, n, -1):
            down = down + 100
        return down, total, up, lowest

    with jax.enable_x64("64" in dtype), optimizing_little():
        found = [x.tolist() for x in count(np.array([0, 5, 9], dtype))]
    assert found == [[1, 6, 10], [0, 15, 45], [3, 8, 12], [-3, -3, -3]]


def min_of(a, b):
    return jnp.minimum(a, b)


def chain_of(count, folder):
    """A function with so many ``elif``s, of its own file."""
    tests = "".join(f"    elif n == {i}:\n        k = {i * i % 97}\n" for i in range(1, count + 1))
    file = folder / "chain.py"
    file.write_text(
        f"def chain(n):\n    if n == 0:\n        k = 0\n{tests}    else:\n        k = -1\n    return k + 1\n"
    )
    found = {}
    exec(compile(file.read_text(), str(file), "exec"), found)
    return found["chain"]


def test_a_chain_of_choices_is_no_nest(tmp_path):
    """500 of them were "an expression nested too deeply": each is one in the other side of the last."""
    program = to_program(chain_of(500, tmp_path))
    (function,) = program.functions
    assert sum(isinstance(block.terminator, BranchOp) for block in function.graph) == 501


@pytest.mark.slow
def test_a_chain_of_choices_is_run(tmp_path):
    numbers = ints(0, 3, 250, 500, 501)
    function = chain_of(500, tmp_path)
    assert hb.batch(function)(numbers).tolist() == [function(n) for n in numbers.tolist()]


def test_reversed_ranges_from_below_zero():
    @hb.batch
    def ends(n):
        first, last, turns = 100, 100, 0
        for i in reversed(range(-3, n)):
            first = i if turns == 0 else first
            last, turns = i, turns + 1
        return first, last, turns

    assert [x.tolist() for x in ends(np.uint32([0, 5]))] == [[-1, 4], [-3, -3], [3, 8]]


def comparisons_of(left, right):
    """All six comparisons of two numbers as numbers, in a condition and as values."""
    less = 1 if left < right else 0
    return less, left < right, left <= right, left > right, left >= right, left == right, left != right


def comparisons_with(x):
    """Of a number with numbers that are written out, on either side and in a chain."""
    in_chain = 1 if -1 < x < 300 else 0
    most = not x > 70_000
    k = 0
    while k <= x and k < 260:
        k += 1
    return x < 300, 300 > x, -1 < x, x >= -200, x == 511, x != -1, x < 2**40, in_chain, most, k


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numbers_wrapped_in_comparisons_with_arrays_that_are_too_narrow(dtype):
    """300 was 44 beside a ``uint8``, and what counts ran past 255 to 0 beside one."""
    x = np.array(bounds_of(dtype), dtype)
    with jax.enable_x64("64" in dtype), optimizing_little():
        found = [y.tolist() for y in hb.batch(comparisons_with)(x)]
    for n, *given in zip(x.tolist(), *found, strict=True):
        assert given == [int(y) for y in comparisons_with(n)], n


@pytest.mark.parametrize(("one", "other"), [*PAIRS, ("int8", "uint32"), ("uint16", "int16"), ("int8", "uint8")])
def test_numbers_wrapped_in_comparisons_of_arrays(one, other):
    left, right = (x.ravel() for x in np.meshgrid(np.array(bounds_of(one), one), np.array(bounds_of(other), other)))
    with jax.enable_x64("64" in one + other), optimizing_little():
        found = [y.tolist() for y in hb.batch(comparisons_of)(left, right)]
        rows = hb.batch(lambda x, y: (x[None] < y, y <= x))(left[None], right[None])
    for a, b, *given in zip(left.tolist(), right.tolist(), *found, strict=True):
        assert given == list(comparisons_of(a, b)), (a, b)
    assert rows[0].shape == (1, 1, len(left))
    assert [y.ravel().tolist() for y in rows] == [found[1], found[4]]


def test_a_count_was_compared_as_what_it_is_compared_with():
    """A Python number that has become an array of 32 bits was a byte beside one."""

    @hb.batch
    def turns(x, y):
        i, k = 0, -3
        while i <= x:
            i += 1
        while k < y:
            k += 1
        return i, k

    found = [x.tolist() for x in turns(np.uint8([0, 7, 255]), np.uint32([0, 1, 2]))]
    assert found == [[1, 8, 256], [0, 1, 2]]


@dataclasses.dataclass(frozen=True)
class Factor:
    k: object


class Held:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return isinstance(other, Held) and self.k == other.k

    def __hash__(self):
        return hash(self.k)


class Remembering(Held):
    """Remembers what it has computed."""

    @functools.cached_property
    def double(self):
        return 2 * self.k


class Named(NamedTuple):
    k: object


def factor_in(holder):
    """The number in an object, however deep."""
    if isinstance(holder, int | float):
        return holder
    return factor_in(next(iter(holder))) if isinstance(holder, tuple | frozenset) else factor_in(holder.k)


HOLDERS = {
    "dataclass": Factor,
    "slots": Held,
    "attributes": Remembering,
    "named tuple": Named,
    "set": lambda k: frozenset([k]),
    "nested": lambda k: Factor((Held(frozenset([Factor(k)])),)),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_equal_objects_that_are_static_shared_a_program(name):
    """``Factor(1)``, ``Factor(1.0)`` and ``Factor(True)`` are equal, and what is computed with them is not."""

    @hb.batch(static_argnames="holder")
    def scaled(x, holder):
        return x * factor_in(holder), factor_in(holder) is True

    for _ in range(2):
        found = [scaled(ints(1, 2), HOLDERS[name](k)) for k in (1, 1.0, True, 1)]
        assert [x.dtype for x, _ in found] == ["int32", "float32", "int32", "int32"]
        assert [is_true[0] for _, is_true in found] == [False, False, True, False]
    assert len(scaled._plans) == 3


def test_an_object_that_has_computed_something_is_the_same():
    @hb.batch(static_argnames="holder")
    def scaled(x, holder):
        return x * holder.double

    for _ in range(3):
        assert scaled(ints(1, 2), Remembering(3)).tolist() == [6, 12]
    assert len(scaled._plans) == 1


def test_equal_objects_beside_arrays_shared_a_program():
    @functools.partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=["k"])
    @dataclasses.dataclass
    class Scaled:
        x: object
        k: object

    @hb.batch
    def product(scaled, entries):
        return scaled.x * scaled.k, sum(entries)

    @hb.batch
    def either(x):
        scaled = Scaled(x, 1)
        if x > 1:
            scaled = Scaled(x, 1.0)
        return scaled.x * scaled.k

    for x in (np.arange(3), jnp.arange(3)):
        for _ in range(2):
            found = [product(Scaled(x, k), {k: x}) for k in (1, 1.0, True)]
            assert [a.dtype for a, _ in found] == ["int32", "float32", "int32"]
            assert [b.dtype for _, b in found] == ["int32", "float32", "int32"]
    with pytest.raises(hb.BatchTypeError, match=r"one has static \(1,\) beside its arrays, the other static \(1.0,\)"):
        either(ints(1, 2))


@pytest.mark.parametrize("dispatch", ["chain", "case", "guarded", "sweep"])
def test_loops_in_which_nothing_happens(dispatch):
    """A block that only asks, and goes to itself, was asked past without end; so was one that leads to another such."""

    @hb.batch
    def waits(x):
        while x < 0:
            x = x
        return x

    @hb.batch
    def called(x):
        if x < 0:
            return called(x)
        return x

    @hb.batch
    def calls(x):
        y = called(abs(x))
        return y if y >= 0 else called(-y)

    @hb.batch
    def in_turns(x, y):
        while x < 0:
            while y < 0:
                x = x
            y = y
        return x + y

    x = ints(3, 0, 7)
    for function, arguments, results in (
        (waits, [x], x),
        (called, [x], x),
        (calls, [-x], x),
        (in_turns, [x, x], 2 * x),
    ):
        run = hb.batch(function.function, dispatch=dispatch, max_steps=50)
        assert run(*arguments).tolist() == results.tolist()
    for function, arguments in ((waits, [-x]), (called, [-x]), (in_turns, [-x, x]), (in_turns, [-x, -x])):
        with pytest.raises(hb.StepLimitError, match="lanes 0, 2"):
            hb.batch(function.function, dispatch=dispatch, max_steps=50)(*arguments)


class Slotted:
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0

    def next(self):
        self.count += 1
        return self.count


class Holder:
    def __init__(self):
        self.items = [1]
        self.inner = Slotted()
        self.numbers = random.Random(0)
        self.memo = {}

    def add(self):
        self.items.append(2)
        return len(self.items)

    def next(self):
        return self.inner.next()

    def draw(self):
        return self.numbers.randrange(100)

    def looked_up(self):
        return self.memo.setdefault(1, 2)


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (lambda: bytearray(b"ab"), lambda made: made.pop()),
        (lambda: array.array("i", [1, 2]), lambda made: made.pop()),
        (lambda: collections.Counter("ab"), lambda made: made.update("a") or made["a"]),
        (lambda: collections.Counter("ab"), lambda made: made.update("c") or made["a"]),
        (lambda: collections.UserList([1]), lambda made: made.append(2) or len(made)),
    ],
    ids=itertools.count(),
)
def test_objects_were_changed_in_place_for_all_lanes(make, step):
    """Containers that are no pytrees, and do not grow by a lane's values."""

    @hb.batch
    def sometimes(n):
        made = make()
        x = n
        if n > 3:
            x = step(made)
        return x

    for _ in range(2):
        with pytest.raises(hb.UnsupportedSyntaxError, match="changes 'made' in place"):
            sometimes(np.arange(6))


@pytest.mark.parametrize(
    ("make", "step", "value"),
    [
        (set, lambda made: made.add(1) or len(made), 1),
        (lambda: {1}, lambda made: made.update([2]) or len(made), 2),
        (lambda: collections.deque([1, 2]), lambda made: made.popleft(), 1),
    ],
    ids=itertools.count(),
)
def test_sets_and_queues_change_for_each_lane(make, step, value):
    """They were changed once for all lanes, and then refused."""

    @hb.batch
    def sometimes(n):
        made = make()
        x = n
        if n > 3:
            x = step(made)
        return x + 10 * len(made)

    empty = len(make())
    changed = make()
    step(changed)
    assert sometimes(np.arange(6)).tolist() == [
        n + 10 * empty if n <= 3 else value + 10 * len(changed) for n in range(6)
    ]


def test_objects_that_change_are_values():
    @hb.batch
    def sometimes(n):
        made = Slotted()
        x = n
        if n > 3:
            x = made.next() * 10 + made.next()
        return x

    assert sometimes(np.arange(6)).tolist() == [0, 1, 2, 3, 12, 12]


@pytest.mark.parametrize(
    ("make", "step"),
    [(Holder, Holder.add), (Holder, Holder.draw), (lambda: Holder().next, lambda made: made())],
    ids=itertools.count(),
)
def test_objects_with_generators_were_changed(make, step):
    @hb.batch
    def sometimes(n):
        made = make()
        x = n
        if n > 3:
            x = step(made)
        return x

    for _ in range(2):
        with pytest.raises(hb.UnsupportedSyntaxError, match=r"draws as the program is built|changes 'made' in place"):
            sometimes(np.arange(6))


def test_a_set_was_joined_to_in_place():
    @hb.batch
    def aliased(n):
        seen = {1}
        same = seen
        seen |= {2}
        return len(same) + n

    with pytest.raises(hb.UnsupportedSyntaxError, match="changes 'seen' in place"):
        aliased(np.arange(6))


def test_what_an_object_remembers_is_no_change_of_it():
    memo = Holder()

    @hb.batch(static_argnames="memo")
    def looked_up(n, memo):
        return n + memo.looked_up() if n > 3 else n - memo.looked_up()

    assert looked_up(np.arange(3, 6), memo).tolist() == [1, 6, 7]
    assert memo.memo == {1: 2}


@pytest.mark.parametrize("dispatch", ["case", "chain", "guarded", "sweep"])
@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_inputs_that_are_done_where_they_begin_ended_the_run(dispatch, lanes):
    """All lanes in flight were done with the inputs that they had just taken, and no block had run."""

    @hb.batch(dispatch=dispatch, lanes=lanes)
    def loop(n):
        s = 7
        while n > 1:
            n = n - 1
            s += 2
        return s

    @hb.batch(dispatch=dispatch, lanes=lanes)
    def recursion(n):
        if n <= 1:
            return n
        return recursion(n - 1) + recursion(n - 2)

    n = np.array([5, 0, 1, 0, 0, 0, 0, 0, 0, 6, 0, 0, 1, *[0] * 20, 4], np.int32)
    assert loop(n).tolist() == [7 + 2 * max(x - 1, 0) for x in n]
    assert recursion(n).tolist() == [{4: 3, 5: 5, 6: 8}.get(int(x), x) for x in n]


def written(path, constant):
    """A module with a function that adds a constant, written anew."""
    body = f"    while x < 0:\n        x = -x\n    return x + {constant}\n"
    path.write_text(f"import hlobatch as hb\n\n@hb.batch\ndef f(x):\n{body}")
    when = path.stat().st_mtime + constant  # Python knows a file by its second
    os.utime(path, (when, when))


def test_a_module_that_was_imported_again_ran_as_it_was(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "imported_again.py"
    written(path, 1)
    module = importlib.import_module("imported_again")
    old = module.f
    assert old(ints(0, -2)).tolist() == [1, 3]
    written(path, 100)
    linecache.checkcache()
    assert old(np.array([0, -2], np.int8)).tolist() == [1, 3]
    with pytest.raises(hb.UnsupportedSyntaxError, match="cannot be read"):
        hb.batch(types.FunctionType(old.function.__code__.replace(co_name="g"), vars(module)))(ints(1))
    module = importlib.reload(module)
    assert module.f(ints(0, -2)).tolist() == [100, 102]
    assert old(ints(0, -2)).tolist() == [1, 3]
    assert copy.deepcopy(old) is old


def test_captured_arrays_were_kept_for_ever():
    """By JAX's caches, through the plan that an equation has and what had been compiled of it."""

    def run(number, inside_jit):
        held = jnp.full((311, 7), float(number))

        @hb.batch
        def total(n):
            s = 0.0
            while n > 0:
                s = s + held[n, 0]
                n = n - 1
            return s

        assert (jax.jit(total) if inside_jit else total)(jnp.arange(3)).tolist() == [0, number, 2 * number]

    for number in range(3):
        for inside_jit in (False, True):
            run(number, inside_jit)
    gc.collect()
    assert not [array for array in jax.live_arrays() if array.shape == (311, 7)]


def test_long_expressions_ended_in_a_recursion_error(tmp_path):
    path = tmp_path / "long_expression.py"
    path.write_text("def f(n):\n    return " + "+".join(["n"] * 2500) + "\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(hb.UnsupportedSyntaxError, match="'f' is nested too deeply"):
        hb.batch(space["f"])(ints(1))
