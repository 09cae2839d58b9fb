"""Loops over generators of the user's give what they give in Python, where values of lanes decide how they go on."""

import itertools

import jax.numpy as jnp
import pytest

import hlobatch as hb
from hlobatch.frontend import endless


def upto(n):
    i = 0
    while i < n:
        yield i
        i += 1


def fibonacci():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


def evens(n):
    for i in upto(n):
        if i % 2:
            continue
        yield i
    yield from upto(n // 2)


def digits(n, base=10):
    while n:
        n, digit = divmod(n, base)
        yield digit


def drained(stack):
    while stack:
        yield stack.pop()


class Bag:
    def __init__(self, items):
        self.items, self.seen = items, 0

    def __iter__(self):
        i = 0
        while i < len(self.items):
            yield self.items[i]
            i += 1

    def above(self, k):
        for item in self.items:
            self.seen += 1
            if item > k:
                yield item


def endless_ones_are_left(n):
    total = 0
    for x in fibonacci():
        if x > n:
            break
        total += x
    for i in upto(100):
        for x in fibonacci():
            if x > i:
                break
            if x * i > n:
                return total * 10 + x
    return -1


def else_is_for_the_end(n):
    total = 0
    for x in evens(n):
        total = total * 2 + x
        if total > 9:
            break
    else:
        total += 1000
    return total


def they_take_turns_with_their_loops(n):
    bag, stack, total = Bag([1, 2]), [n, 3], 0
    for x in bag:
        total += x
        if x < n:
            bag.items.append(x + 2)
    for x in drained(stack):
        total = total * 10 + x
        if x > 1:
            stack.append(x // 2)
    return total, len(bag.items), len(stack)


def methods_change_their_objects(n):
    bag, total = Bag([5, 1, 4, 2]), 0
    for x in bag.above(n):
        total += x * bag.seen
        if total > 9:
            return total, bag.seen
    return -total, bag.seen


def inner_ones_see_variables(n):
    calls, total = 0, 0

    def halves(k):
        nonlocal calls
        while k:
            calls += 1
            yield k % 3 + n
            k //= 2

    for x in halves(n):
        total += x * calls
    for x in halves(3):
        total -= x
    return total, calls


def comprehensions_and_functions_go_over_them(n):
    items = [x * x for x in evens(n)]
    items.extend(upto(n))
    kept = {d for x in upto(n) for d in digits(x, 2)}
    largest = sorted(digits(n * 7717 + 5), reverse=True)
    return sum(items), len(kept), max(digits(n + 30)), any(x == 3 for x in fibonacci() if x > n // 4), largest[0]


def lazy_functions_stay_lazy(n):
    total = 0
    for i, x in enumerate(itertools.takewhile(lambda x: x < n, fibonacci()), 1):
        total += i * x
    return total, sum(itertools.islice(fibonacci(), n)), max(map(abs, upto(n + 1)))


@pytest.mark.parametrize(
    "function",
    [
        endless_ones_are_left,
        else_is_for_the_end,
        they_take_turns_with_their_loops,
        methods_change_their_objects,
        inner_ones_see_variables,
        comprehensions_and_functions_go_over_them,
        lazy_functions_stay_lazy,
    ],
    ids=lambda function: function.__name__,
)
def test_loops_over_generators(function):
    """The results are Python's."""
    numbers = [0, 1, 3, 6]
    found = hb.batch(function)(jnp.array(numbers))
    wanted = [function(n) for n in numbers]
    if isinstance(found, tuple):
        assert list(zip(*(column.tolist() for column in found), strict=True)) == wanted
    else:
        assert found.tolist() == wanted


def from_a_lane(n):
    while True:
        yield n
        n = (n * 3 + 1) % 17


def test_few_items_are_traced_of_a_generator_without_an_end(monkeypatch):
    """Each traced item is code of its own; a program goes over them in turns before they are many."""
    taken = []

    def counted(items, is_traced):
        for item in as_it_is(items, is_traced):
            taken.append(item)
            yield item

    as_it_is = endless.finite
    monkeypatch.setattr("hlobatch.frontend.following.finite", counted)

    def beyond(n):
        return sum(itertools.takewhile(lambda x: x < 11, from_a_lane(n)))

    numbers = [0, 1, 2, 6]
    assert hb.batch(beyond)(jnp.array(numbers)).tolist() == [beyond(n) for n in numbers]
    assert 0 < len(taken) < 1000
