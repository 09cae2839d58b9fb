"""Iterators that a program keeps in variables, objects and containers, and classes with ``__next__``: as in Python."""

import dataclasses
import itertools

import numpy as np
import pytest
from test_lists_as_written import is_alike

import hlobatch as hb

# Classes of the user's


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


class Resets:
    """Each loop begins anew."""

    def __init__(self, n):
        self.n = n
        self.i = 0

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return self.i


class Bag:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return Countdown(self.n)


class Evens:
    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            item = next(self.inner)
            if item % 2 == 0:
                return item


@dataclasses.dataclass
class Fibonacci:
    limit: int
    a: int = 0
    b: int = 1

    def __iter__(self):
        return self

    def __next__(self):
        if self.a > self.limit:
            raise StopIteration
        item = self.a
        self.a, self.b = self.b, self.a + self.b
        return item


class Doubled(Fibonacci):
    def __next__(self):
        return 2 * super().__next__()


class Tokens:
    def __init__(self, tokens):
        self.tokens = tokens
        self.i = 0

    def __iter__(self):
        return self

    def __next__(self):
        try:
            token = self.tokens[self.i]
        except IndexError:
            raise StopIteration from None
        self.i += 1
        return token


class Peek:
    def __init__(self, items):
        self.items = items
        self.held = []

    def peek(self, default=None):
        if not self.held:
            try:
                self.held.append(next(self.items))
            except StopIteration:
                return default
        return self.held[0]

    def __next__(self):
        if self.held:
            return self.held.pop()
        return next(self.items)


class Lexer:
    def __init__(self, items):
        self.items = iter(items)
        self.count = 0

    def get(self):
        self.count += 1
        return next(self.items, 0)


def loops_over_objects(n):
    t = 0
    for x in Countdown(n):
        t = t * 10 + x
    for x in Evens(Countdown(n + 4)):
        t = t * 3 + x
    bag = Bag(n % 4)
    for x in bag:
        for y in bag:
            t += x * y
    return t


def an_object_that_begins_anew(n):
    r, t = Resets(n), 0
    for x in r:
        t += x
        if x > 2:
            break
    for x in r:
        t += 10 * x
    return t, r.i


def functions_that_go_over_objects(n):
    c = Countdown(n + 3)
    first = next(c)
    rest = [x * first for x in c]
    return sum(Countdown(n)), list(Countdown(3)), max(Countdown(n), default=-1), rest, next(c, -7)


def parts_of_lists(n):
    c, other = Countdown(n), Countdown(3)
    x, y, z = other
    return [*c, 9], tuple(c), x + y + z, other.n, any(x == 2 for x in Countdown(n))


def derived_classes(n):
    return [x for x in Fibonacci(n) if x % 2], sum(Doubled(n))


def an_object_that_catches(n):
    tokens, s = Tokens([5, n, 2]), 0
    for x in tokens:
        if x == n:
            s += next(tokens, 50)
        else:
            s += x
    return s, tokens.i


def an_object_with_an_iterator(n):
    p, out = Peek(iter([n, n + 1, 5, 3])), 0
    while p.peek() is not None:
        item = next(p)
        if p.peek(0) > item:
            out += item
        else:
            out -= item
    return out


def an_iterator_made_in_init(n):
    lexer = Lexer([n, 2, n])
    return lexer.get() + 10 * lexer.get() + 100 * lexer.get() + 1000 * lexer.get(), lexer.count


# Python's iterators


def the_first_item_and_the_rest(n):
    xs = [n, n + 1, n + 2]
    it = iter(xs)
    first = next(it)
    t = 0
    for x in it:
        t += x * first
    return t


def items_of_a_growing_list(n):
    xs = [i * 2 for i in range(n)]
    it, t = iter(xs), 0
    while True:
        try:
            x = next(it)
        except StopIteration:
            break
        t += x
    again = iter(xs)
    while (x := next(again, None)) is not None:
        t = t * 2 + x
    return t


def a_loop_that_takes_more(n):
    it, t = iter(range(n)), 0
    for x in it:
        t += x
        t *= next(it, 10)
    return t + 1000 * len(list(it))


def a_parser(n):
    def term(tokens):
        t = next(tokens, -1)
        if t == 99:
            a = term(tokens)
            b = term(tokens)
            return a + b
        if t == 98:
            return term(tokens) * term(tokens)
        return t

    tokens = iter([99, n, 98, 2, 3])
    return term(tokens)


def letters(n):
    text = "12+3" if n < 2 else "7-2+1" if n < 4 else "9"
    it, t, sign, num = iter(text), 0, 1, 0
    for c in it:
        if c == "+":
            t += sign * num
            num, sign = 0, 1
        elif c == "-":
            t += sign * num
            num, sign = 0, -1
        else:
            num = num * 10 + int(c)
    return t + sign * num


def pairs_and_numbers(n):
    it = zip([1, 2, 3, 4], [n, 5, 6, n])
    t = 0
    for a, b in it:
        t += a * b
        if t > 10:
            c, d = next(it, (0, 0))
            t -= c * d
    numbered = enumerate([5, n, 7], 1)
    i, x = next(numbered)
    t = t * 10 + i * x
    for i, x in numbered:
        t += i * x
    else:
        t += 100
    backwards = reversed([1, n, 3, n])
    last = next(backwards)
    for x in backwards:
        t = t * 10 + x
    return t, last


def numbers_without_an_end(n):
    ids, turn, names = itertools.count(10, n), itertools.cycle([0, 1, 2]), {}
    score = [0, 0, 0]
    for i in range(n):
        k = i * i % 3
        if k not in names:
            names[k] = next(ids)
        p = next(turn)
        if p == 1 and i > 2:
            p = next(turn)
        score[p] += i
    return sorted(names.items()), next(ids), score


def functions_of_iterators(n):
    def take(it, k):
        out = []
        for _ in range(k):
            try:
                out.append(next(it))
            except StopIteration:
                break
        return out

    def walk(it, depth):
        x = next(it, None)
        if x is None or depth > n:
            return depth
        return walk(it, depth + x)

    it = iter(range(n))
    return take(it, 2), take(it, 2), take(it, 9), walk(iter([1, 2, 1, 3]), 0)


def a_generator_over_an_iterator(n):
    def pairs(it):
        for x in it:
            y = next(it, 0)
            yield x * 10 + y

    t = 0
    for p in pairs(iter([n, 2, 3, n, 5])):
        t = t * 7 + p
    return t


def iterators_in_containers(n):
    its = [iter([n, 2]), iter([3, n])]
    t = next(its[0]) + 10 * next(its[1]) + 100 * next(its[0])
    named = {"x": iter([n, 2, 5]), "y": iter([7, n])}
    t += next(named["x"]) * 100 + next(named["y"]) * 10
    for x in named["x"]:
        t += x
        if x == 2:
            break
    return t + next(named["x"])


def dicts_and_arrays(n):
    d = {"a": n, "b": 2}
    it, keys, array = iter(d.items()), iter({n: 1, 7: n}), iter(np.arange(4) * n)
    k, v = next(it)
    first = next(array)
    return v, len(k), next(it)[1], next(keys), next(keys), next(keys, 0), first + 10 * next(array) + sum(array)


def comprehensions(n):
    it = iter([n, 2, 3, 4, 5, 6, 7])
    pairs = [next(it) * 10 + next(it) for i in range(3)]
    return pairs, list(it), list(it), sorted(iter([n, 3, 2]))


def in_conditions(n):
    it = iter([n, 2, 3, 4])
    x = next(it) if n > 2 else 0
    y = next(it) if x and n > 1 else 1
    k = 0
    while k < n and next(it, 0) != 3:
        k += 1
    s = ""
    letters = iter("hello" if n > 1 else "ab")
    for c in letters:
        s += c
        next(letters, "")
    return x, y, k, next(it, -1), s


def exceptions(n):
    it = iter([n, 2, 3])
    try:
        for i in range(4):
            last = next(it) + i
    except StopIteration:
        last = -i
    finally:
        n += 1
    return last, n, next(iter([]), n)


def items_left_out(n):
    def skip(it, k):
        for _ in range(k):
            next(it)

    it, t = iter(range(10)), 0
    next(it)
    for x in it:
        t += x
        if x == n:
            next(it)
    letters = iter([5, 6, 7, 8])
    skip(letters, n % 4)
    n > 2 and next(letters, 0)
    c = Countdown(n)
    for _ in range(n // 2):
        next(c)
    return t, next(letters, -1), next(c, -7)


def a_factor_that_changes(n):
    k = 2
    z = (v * k for v in range(n))
    k = n
    return sum(z)


def odd_ones_doubled(x):
    if x % 2:
        return x * 2
    return x


def several_uses(n):
    """Of what computes its items by functions, which may branch."""
    xs, k = [n, 3, 1, 4, 1, n + 2], 2
    first = (odd_ones_doubled(x) + k for x in xs if x != 4)
    second = map(odd_ones_doubled, xs)
    third = filter(lambda x: x > 1, xs)
    found = [next(first), next(second, 7)]
    for x in first:
        if x > 5:
            break
        found.append(x)
    found += list(first) + list(first)
    found.append(sum(second) + sum(second))
    found.extend(third)
    return found, list(third)


def raises_at(x, n):
    if x == n:
        raise ValueError(x)
    return x


def ends_where_it_raises(n):
    items, found = (raises_at(x, n) for x in range(4)), []
    try:
        for x in items:
            found.append(x + len(found))
    except ValueError:
        found.append(-1)
    found.extend(items)
    return found


def asked_for_an_item(n):
    xs = [3, 1, n, 2, 7]
    it = iter(xs)
    pairs = iter(range(n + 3))
    found = 2 in it, 7 not in it, next(it, -1)
    total = sum(a * b for a, b in zip(pairs, pairs))
    for a, b in zip(it, it):
        total += a - b
    return found, total, any(Countdown(n)), 3 in [*Countdown(n)]


PROGRAMS = [
    *(loops_over_objects, an_object_that_begins_anew, functions_that_go_over_objects, parts_of_lists, derived_classes),
    *(an_object_that_catches, an_object_with_an_iterator, an_iterator_made_in_init, the_first_item_and_the_rest),
    *(items_of_a_growing_list, a_loop_that_takes_more, a_parser, letters, pairs_and_numbers, numbers_without_an_end),
    *(functions_of_iterators, a_generator_over_an_iterator, iterators_in_containers, dicts_and_arrays, comprehensions),
    *(in_conditions, exceptions, items_left_out),
    *(a_factor_that_changes, ends_where_it_raises, asked_for_an_item),
    pytest.param(several_uses, marks=pytest.mark.slow),  # a second for each use
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_each_lane_is_as_in_python(program):
    is_alike(program, 7)


# Iterators compute their items as they are used


def a_list_that_changes(n):
    xs = list(range(n))
    z = zip(xs, xs[:])
    xs.append(5)
    return sum([a * b for a, b in z])


def items_of_map(n):
    xs = list(range(n))
    z = map(abs, xs)
    xs.append(5)
    return sum(z)


def an_item_that_changes(n):
    xs = [n, 2, 3]
    z = reversed(xs)
    xs[0] = 9
    return list(z)[-1]


def in_a_loop(n):
    xs = list(range(n))
    z = filter(lambda v: v > 1, xs)
    t = 0
    for i in range(2):
        t += sum(z) + i
        xs[0] = 8
    return t


CHANGING = [a_list_that_changes, items_of_map, an_item_that_changes, in_a_loop]


@pytest.mark.parametrize("program", CHANGING, ids=lambda program: program.__name__)
def test_a_change_before_an_iterator_is_used_is_refused(program):
    with pytest.raises(hb.UnsupportedSyntaxError, match="this changes"):
        hb.batch(program)(np.array([3, 4]))


def test_a_change_behind_it_is_not_and_no_read_is_one():
    def f(n):
        xs = list(range(n))
        z = map(abs, xs)
        k = len(xs) + xs.count(2) + xs.copy().pop() if xs else 0
        t = sum(z) + k
        xs.append(t)
        return xs

    is_alike(f, 7)


def test_a_generator_of_the_library_beside_a_kept_iterator():
    """Regression: the call that collects its items was taken for one of the library's function."""

    def f(n):
        kept = [n, n, 2]
        for _ in range(n):
            kept = list(itertools.dropwhile(lambda v: v < 2, kept))
        rests = [v % 3 for v in range(n)]
        return len(kept) + sum(v * i for i, v in zip(itertools.count(1), rests))

    is_alike(f, 5)
