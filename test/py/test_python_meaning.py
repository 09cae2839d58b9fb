"""What a statement means in Python it means in each lane; each test is named after what once was wrong."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from feature_pairs import right_or_refused
from jax.numpy import exp
from small_functions import ints

import hlobatch as hb


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
    assert alias(ints(1, 2)).tolist() == [3, 4]


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


class Kept:
    def __init__(self, items):
        self.items = items

    def grown(self, n):
        while n > 0:
            self.items.append(n)
            n -= 1


def filled(rows, n):
    if n > 0:
        rows[0].append(n)
        filled(rows, n - 1)


def in_a_list_in_a_loop(n):
    items = []
    rows = [items]
    while n > 0:
        rows[0].append(n)
        n -= 1
    return len(items)


def in_a_dict_in_a_loop(n):
    items = []
    entries = {"k": items}
    for i in range(n):
        entries["k"].append(i)
    return len(items)


def in_a_tuple_in_a_loop(n):
    items = []
    pair = (items, 1)
    for i in range(n):
        pair[0].append(i)
    return len(items)


def in_a_recursion(n):
    items = []
    rows = [items]
    filled(rows, n)
    return len(items)


def in_an_object(n):
    items = []
    kept = Kept(items)
    kept.grown(n)
    return len(items)


def of_a_set(n):
    members = set()
    rows = [members]
    for i in range(n):
        rows[0].add(i)
    return len(members)


def in_a_default(n):
    items = []

    def push(v, into=items):
        into.append(v)

    for i in range(n):
        push(i)
    return len(items)


@pytest.mark.parametrize(
    "program",
    [
        in_a_list_in_a_loop,
        in_a_dict_in_a_loop,
        in_a_tuple_in_a_loop,
        in_a_recursion,
        in_an_object,
        of_a_set,
        in_a_default,
    ],
)
def test_two_names_of_one_list_that_grows(program) -> None:
    refusal = right_or_refused(program, (0, 3))
    assert refusal is None or re.search(r"in place, of which .(items|members). is another name", str(refusal))


def test_a_list_in_a_tuple_grows() -> None:
    @hb.batch
    def f(n):
        pair = ([], [1])
        for i in range(n):
            pair[0].append(i)
        return len(pair[0])

    assert f(ints(0, 3)).tolist() == [0, 3]


@pytest.mark.parametrize("dispatch", ["kernel", "sweep"])
def test_an_integer_divided_by_zero_is_what_the_documentation_says(dispatch) -> None:
    def f(n, k):
        return n // k, n % k, divmod(n, k)

    numbers = np.array([7, -7, 0, 2**31 - 1, -(2**31)], np.int32)
    quotient, rest, both = hb.batch(f, dispatch=dispatch)(numbers, np.zeros(5, np.int32))
    assert quotient.tolist() == both[0].tolist() == [-2, -2, -1, -2, -2]
    assert rest.tolist() == both[1].tolist() == [0] * 5
    quotient, rest, _ = hb.batch(f, dispatch=dispatch)(np.uint8([7, 0]), np.uint8([0, 0]))
    assert (quotient.tolist(), rest.tolist()) == ([255, 255], [0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_round_gives_python_s_number(dtype):
    """Halves as decimal numbers are almost never halves as floats, and Python rounds the float: 2.675 to 2.67."""
    rng = np.random.default_rng(0)
    halves = (2 * rng.integers(-(10**6), 10**6, 300) + 1) * 0.5 * 10.0 ** rng.integers(-8, 9, 300)
    x = np.concatenate([halves, rng.normal(size=300) * 10.0 ** rng.integers(-9, 25, 300), [2.675, 0.5, 1.5, 0.0, 1e30]])
    x, digits = x.astype(dtype), rng.integers(-14, 16, 605).astype(np.int32)
    with jax.enable_x64(dtype is np.float64):
        found = hb.batch(lambda x, digits: (round(x, digits), round(x, 2), round(x, -2), round(x, 15)))(x, digits)
    for values, places in zip(found, (digits, [2] * 605, [-2] * 605, [15] * 605), strict=True):
        expected = [round(float(number), int(n)) for number, n in zip(x, places, strict=True)]
        np.testing.assert_array_max_ulp(np.asarray(values), np.array(expected, dtype), 1)


def test_round_of_integers():
    rng = np.random.default_rng(1)
    numbers = (rng.integers(-(2**31), 2**31, 300) // rng.integers(1, 10**6, 300)).astype(np.int32)
    digits = rng.integers(-12, 4, 300).astype(np.int32)
    found = hb.batch(lambda n, digits: (round(n, digits), round(n, -12), round(n, -1)))(numbers, digits)
    for values, places in zip(found, (digits, [-12] * 300, [-1] * 300), strict=True):
        assert values.tolist() == [round(int(n), int(k)) for n, k in zip(numbers, places, strict=True)]
