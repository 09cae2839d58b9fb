"""Functions without a decorator and functions inside of functions: they mean what they mean in Python."""

import functools
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_functions import ints

import hlobatch as hb

NUMBERS = np.arange(1, 8, dtype=np.int32)


def steps(n):
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def twice(rule, n):
    return rule(rule(n)) if n > 3 else rule(n)


def choose(n, k):
    return 1 if k == 0 or k == n else choose(n - 1, k - 1) + choose(n - 1, k)


class Doubler:
    def __init__(self, limit):
        self.limit = limit

    def until(self, x):
        while x < self.limit:
            x = x * 2
        return x

    def __call__(self, x):
        return self.until(x) + 1

    @hb.batch(static_argnames="self")
    def decorated(self, x):
        return self.until(x) if x > 2 else x


DOUBLER = Doubler(100)
TABLE = [steps, DOUBLER, DOUBLER.until]


def by_name(n):
    return steps(n) + 10 * steps(n + 1)


def by_mutual_recursion(n):
    return even(n)


def as_argument(n):
    return twice(steps, n)


def under_another_name(n):
    collatz = steps
    return collatz(n) + 1


def from_a_list(n):
    return TABLE[0](n) + TABLE[1](n) + TABLE[2](n)


def of_an_object(n):
    return DOUBLER.until(n) + DOUBLER(n)


def decorated_method(n):
    doubler = DOUBLER
    return doubler.decorated(n) + DOUBLER.decorated(n + 1)


def shifted(rule, n):
    if n > 2:
        n = n - 1
    return rule(n)


def largest(v):
    most = v[0]
    for i in range(1, v.shape[0]):
        if v[i] > most:
            most = v[i]
    return most


def sum_down(n, total):
    if n <= 0:
        return 0 if total is None else total
    return sum_down(n - 1, n if total is None else total + n)


def halvings(x):
    return 0 if x < 1 else 1 + halvings(x / 2)


def step(x, mode):
    if mode == "up":
        return x + 1
    while x > 3:
        x = x - 2
    return x


def at_several_functions(n):
    return shifted(steps, n) + shifted(lambda x: 100 * x, n) + shifted(DOUBLER, n)


def at_several_shapes(n):
    return largest(jnp.ones(3, int) * n) + largest(jnp.arange(4) - n)


def at_none_and_a_number(n):
    return sum_down(n, None)


def at_whole_numbers_and_others(n):
    return halvings(n) + halvings(n + 0.5)


def at_several_modes(n):
    return step(n, "up") + step(n, "down") * step(n + 1, "up")


def inside(n):
    def improve(x):
        return (x + n) // 2

    x = 100
    for _ in range(4):
        x = improve(x)
    return x


def inside_and_recursive(n):
    def go(k, product):
        if k == 0:
            return product
        return go(k - 1, product * k)

    return go(n, 1)


def inside_and_mutually_recursive(n):
    def is_even(k):
        return True if k == 0 else is_odd(k - 1)

    def is_odd(k):
        return False if k == 0 else is_even(k - 1)

    return is_even(n)


def inside_and_counting(n):
    count = 0

    def visit(k):
        nonlocal count
        count += 1
        if k <= 1:
            return 0
        return visit(k - 1) + visit(k - 2)

    result = visit(n)
    return 100 * count + result


def inside_and_deeper(n):
    def outer(x):
        def inner(y):
            if y > n:
                return y - n
            return y + x

        return inner(x) + inner(x + 1)

    return outer(n) + outer(2)


def inside_and_passed_on(n):
    limit = n + 1

    def climb(x):
        while x < limit:
            x = x + 3
        return x

    return twice(climb, n) + twice(lambda y: y + limit if y > 2 else y, n)


def inside_with_defaults(n):
    clip = lambda v, high=n + 2: high if v > high else v + 1  # noqa: E731  # a lambda is meant
    a = clip(5)

    def scaled(v, *, by=a):
        return v * by if v > 1 else v

    n = 1
    return a + clip(n) + scaled(a) + scaled(a, by=3)


def inside_and_in_order(n):
    count = 0

    def bump():
        nonlocal count
        count += 1
        return count if count < 3 else count * n

    return count + bump() + count * 10 + bump() * 100 + count + chosen_of(count, bump(), count)


def chosen_of(a, b, c):
    if a > b and a > c:
        return a
    return b * 2 if b > c else c


def inside_and_sees_what_is_assigned_later(n):
    k = 2

    def times(x):
        return x * k

    k = n
    return times(3)


def inside_in_a_comprehension(n):
    def square(x):
        return x * x + n

    return sum([square(i) for i in range(3)])


def followed_in_comprehensions(n):
    some = [steps(n + k) for k in range(3)]
    table = {k: steps(n + k) for k in (1, 2)}
    k = 5
    more = sum(steps(n) * j + i for i, j in zip((1, 2), (3, 4), strict=True) if j > 3)
    return some[0] + 10 * some[2] + 100 * table[2] + k * more + max(steps(n) for _ in range(1))


def followed_in_comprehensions_inside(n):
    def both():
        return [steps(a) for a in (n, n + 3)]

    def sums():
        found = [steps(n + i) + steps(j) for i in range(2) for j in (1, n)]
        return found

    first, second = both()
    _, *middle, last = sums()
    return first + 10 * second + 100 * sum(middle) + last


def that_is_given_back(n):
    def adder(k):
        def add(x):
            return x + k if x > 2 else x - k

        return add

    return adder(n)(5) + adder(2)(n)


def most(*values, scale=1, **more):
    found = values[0]
    for i in range(1, len(values)):
        if jnp.stack(values)[i] > found:
            found = jnp.stack(values)[i]
    if "add" in more:
        found = found + more["add"]
    return found * scale


def clip(low, high, x):
    if x < low:
        return low
    return high + 0 if x > high else x


TWO_TO_FOUR = functools.partial(clip, 2, 4)


def with_stars(n):
    pair = n, 2 * n
    return most(n, 3, 5 - n) + most(n, add=2) + most(*pair, scale=3) + most(*pair, 4, add=n)


def with_partial(n):
    low = functools.partial(clip, 2)
    both = functools.partial(clip, n, high=n + 2)
    return low(4, n) + both(x=5) + TWO_TO_FOUR(n) + functools.partial(DOUBLER.until)(n)


def with_partial_of_inner(n):
    k = n + 1

    def line(x, y=k, *, z=n):
        return x * k + y - z if x > 1 else y - k

    def power(x, acc):
        return acc if x < 2 else power(x - 1, acc * x + n)

    two, above = functools.partial(line, 2), functools.partial(line, z=n)
    least, best = min([3, 1, 2], key=two), max([1, n, 2], key=functools.partial(power, acc=1))
    sums = list(map(above, [1, 2]))
    return two(3) + above(1) * 10 + above(x=5) * 100 + functools.partial(two, 7)() + sums[1] + least * best


def inner_defaults_by_another_name(n):
    def line(x, y=n + 1, *, z=n):
        return x * 10 + y + z if x > n else y - z

    n += 5
    other, one, both, named = line, [1], [n, 2], {"z": 5}
    starred = line(*one) + line(*both) * 3 + line(*one, **named) * 5 + line(*[], x=3)
    return starred + other(1) * 7 + max([1, 2, 3], key=other)


def counted(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) + 1

    return wrapper


@counted
def decorated_otherwise(n):
    return n if n > 3 else -n


def in_a_condition(n):
    while steps(n) > 2 and n > 1:
        n -= 1
    return n


def tree_recursion(n):
    return choose(n, 2) if n > 2 else 0


def parity(numbers):
    return functools.reduce(operator.xor, numbers)


def reduced_inside(n):
    return parity(list(range(n)))


def least_of_calls(n):  # which is None until it is known that the calls return
    def multiple_of_3(k):
        while k % 3:
            k += 1
        return k

    least = min(multiple_of_3(k) for k in range(n, n + 3))
    return least if least < 6 else -1


FOLLOWED = [
    by_name,
    by_mutual_recursion,
    as_argument,
    under_another_name,
    from_a_list,
    of_an_object,
    decorated_method,
    in_a_condition,
    tree_recursion,
    at_several_functions,
    at_several_shapes,
    at_none_and_a_number,
    at_whole_numbers_and_others,
    at_several_modes,
    inside,
    inside_and_recursive,
    inside_and_mutually_recursive,
    inside_and_counting,
    inside_and_deeper,
    inside_and_passed_on,
    inside_with_defaults,
    inside_and_in_order,
    inside_and_sees_what_is_assigned_later,
    with_stars,
    with_partial,
    with_partial_of_inner,
    inner_defaults_by_another_name,
    decorated_otherwise,
    inside_in_a_comprehension,
    followed_in_comprehensions,
    followed_in_comprehensions_inside,
    that_is_given_back,
    reduced_inside,
    least_of_calls,
]


@pytest.mark.parametrize("function", FOLLOWED, ids=lambda f: f.__name__)
def test_it_is_as_if_they_were_decorated(function):
    with hb.disable_batching():
        expected = [function(int(n)) for n in NUMBERS]
    assert hb.batch(function)(NUMBERS).tolist() == expected


def test_a_partial_function_does_not_hide_what_it_changes_or_uses():
    def changes(n):
        seen = []

        def count(x, y):
            seen.append(x + y)
            return len(seen)

        counted = functools.partial(count, 2)
        return counted(3) + counted(n), len(seen)

    def uses(n):
        k = n + 1
        functions = [functools.partial(lambda a, b: a * k + b, i) for i in range(3)]
        return [f(2) for f in functions]

    with pytest.raises(hb.UnsupportedSyntaxError, match="in place, of which 'seen' is another name"):
        hb.batch(changes)(NUMBERS)
    with pytest.raises(hb.UnsupportedSyntaxError, match="uses a value of the program"):
        hb.batch(uses)(NUMBERS)


def test_a_function_that_is_given_is_called():
    given = hb.batch(twice, static_argnames="rule")
    for rule in (steps, DOUBLER, hb.batch(steps)):
        with hb.disable_batching():
            expected = [twice(rule, int(n)) for n in NUMBERS]
        assert given(rule, NUMBERS).tolist() == expected


def test_what_does_not_branch_is_traced_as_it_was():
    def scale(n):
        return jnp.sin(n) * 2

    @hb.batch
    def f(n):
        return scale(n) + 1

    program = f.trace(NUMBERS).program
    assert [function.name for function in program.functions] == ["f"]


def test_a_batched_function_takes_any_number_of_arguments():
    def f(*numbers, **named):
        return numbers[0] + (numbers[1] if numbers[0] > 2 else named["other"])

    got = hb.batch(f)(NUMBERS, 2 * NUMBERS, other=-NUMBERS)
    assert got.tolist() == [f(int(n), 2 * int(n), other=-int(n)) for n in NUMBERS]


def test_calls_of_the_same_types_share_a_copy():
    def f(n):
        return step(n, "up") + step(n, "down") + step(n + 1, "up") + step(n + 2, "down")

    names = [function.name for function in hb.batch(f).trace(NUMBERS).program.functions]
    assert names == ["f", "step", "step_2"]


def test_the_switch():
    with pytest.raises(hb.UnsupportedSyntaxError, match="depends on a value that differs between lanes"):
        hb.batch(by_name, follow=False)(NUMBERS)
    assert hb.batch(under_another_name, follow=True)(NUMBERS).shape == NUMBERS.shape


def test_an_error_in_what_is_followed_stands_there():
    def helper(n):
        if n > 1:
            return jnp.dot(jnp.ones(3), jnp.ones(2) * n)
        return 0.0

    @hb.batch
    def f(n):
        return helper(n)

    with pytest.raises(hb.BatchTypeError, match="dot_general requires") as caught:
        f(NUMBERS)
    assert caught.value.location.function.endswith("helper")
    assert [note.message for note in caught.value.notes] == ["called from here"]


def test_libraries_are_traced():
    @hb.batch
    def f(n):
        return jax.tree.map(lambda x: x + 1, (n, n))[0] + functools.reduce(jnp.add, [n, n, n])

    assert f(NUMBERS).tolist() == (4 * NUMBERS + 1).tolist()


def scaled(x, mode):
    if mode == "double":
        return x * 2
    return x


def padded(x, is_long):
    if is_long:
        return [x, x + 1, x + 2]
    return [x]


def with_a_context(x, mode):
    with jax.named_scope("scaled"):
        if mode == "double":
            x = x * 2
    return x


def loss(x, kind):
    if kind == "square":
        return x * x
    return jnp.abs(x)


def of_known_modes(n):
    return scaled(n, "double") + scaled(n, "same") + sum(padded(n, True)) + sum(padded(n, False))


def of_what_blocks_cannot_have(n):
    return with_a_context(n, "double") + with_a_context(n, "same")


def differentiated(n):
    return n * int(jax.grad(lambda z: loss(z, "square"))(3.0))


@pytest.mark.parametrize("function", [of_known_modes, of_what_blocks_cannot_have, differentiated])
def test_what_branches_on_what_is_known_is_traced(function):
    """A function that branches is expected to be one of the program, which turns out not to be so."""
    batched = hb.batch(function)
    assert [one.name for one in batched.trace(ints(1, 2)).program.functions] == [function.__name__]
    assert batched(ints(1, 2, 5)).tolist() == [function(n) for n in (1, 2, 5)]


def of_a_mode_and_of_lanes(n):
    return scaled(n, "double") + (steps(n) if n > 0 else 0) + sum(padded(n, n > 2))


def test_what_is_traced_and_what_is_followed_may_stand_together():
    batched = hb.batch(of_a_mode_and_of_lanes)
    assert batched(ints(1, 2, 5, 0)).tolist() == [of_a_mode_and_of_lanes(n) for n in (1, 2, 5, 0)]
    assert [one.name for one in batched.trace(ints(1, 2)).program.functions][:1] == ["of_a_mode_and_of_lanes"]
    assert "scaled" not in [one.name for one in batched.trace(ints(1, 2)).program.functions]


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def sum(self, x, is_doubled=False):
        if is_doubled:
            return 2 * self.factor * x
        return self.factor * x


def of_a_method_that_is_traced(n):
    scale = Scale(n)
    return scale.sum(3) + scale.sum(4, True) + (n * jnp.ones(3, jnp.int32)).sum()


def inside_and_traced(n):
    def scaled_inside(x, mode):
        if mode == "double":
            return x * n
        return x

    return scaled_inside(3, "double") + scaled_inside(4, "same")


@pytest.mark.parametrize("function", [of_a_method_that_is_traced, inside_and_traced])
def test_methods_and_functions_inside_that_branch_on_what_is_known_are_traced(function):
    batched = hb.batch(function)
    assert [one.name for one in batched.trace(ints(1, 2)).program.functions] == [function.__name__]
    assert batched(ints(1, 2, 5)).tolist() == [function(n) for n in (1, 2, 5)]
