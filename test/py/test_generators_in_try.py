"""Loops over generators that yield inside of ``try`` and ``with`` mean what they mean in Python, or are refused."""

import itertools

import numpy as np
import pytest
from feature_pairs import in_lanes, in_python

import hlobatch as hb

NUMBERS = range(6)


class Gate:
    def __init__(self, k):
        self.k = k

    def __enter__(self):
        self.k += 1

    def __exit__(self, *error):
        self.k *= 2


def quotients(items, by):
    for x in items:
        try:
            yield x // by
        except ZeroDivisionError:
            yield -1
        else:
            by -= 1


def checked(x):
    if x == 1:
        raise KeyError(x)
    if x > 3:
        raise ValueError(x)
    return x


def results(log, items):
    for x in items:
        try:
            yield checked(x)
            log[0] += 1
        except KeyError as e:
            yield 10 + e.args[0]
        except (ValueError, IndexError):
            log[0] += 100
        finally:
            log[0] += 1000


def closed(log, n):
    try:
        try:
            for i in range(n):
                yield i * 1
            yield 50
        except KeyError:
            log[0] += 5
        finally:
            log[0] = log[0] * 3 + 1
    finally:
        log[0] = log[0] * 2 + 7


def gated(log, n):
    gate = Gate(n)
    with gate:
        yield n
        log[0] += 3
        yield gate.k
    yield gate.k


def inner(log, n):
    try:
        yield from closed(log, n)
    finally:
        log[0] += 4


def to_the_end(a):
    log = [0]
    r = 0
    for x in quotients([7, a, 9], 2 - a % 3):
        r = r * 7 + x
    for x in results(log, [a, 1, 3]):
        r = (r * 7 + x) % 1009
    return r * 3 + log[0] + sum(closed(log, a)) + len([x + 1 for x in gated(log, a)])


def is_left(a):
    log = [1]
    r = 0
    for x in closed(log, 3):
        if x == a:
            break
        if x == a + 1:
            continue
        r = r * 7 + x
    else:
        r += 100
    for x in gated(log, a):
        if x > 3:
            break
        r += x
    for x in gated(log, a):
        if x > 4:
            return log[0] * 100 + x
    return (r * 1000 + log[0]) * 10 + next(inner(log, a), 3)


def raises_inside(a):
    """The generator's handlers do not catch what the loop's body raises; each ``finally`` is carried out before."""
    log = [1]
    r = 0
    try:
        for x in inner(log, 4):
            r += checked(a + x)
    except KeyError:
        r = r * 10 + log[0]
    except ValueError as e:
        r = r * 10 + log[0] + e.args[0]
    for x in results(log, [2, a]):
        try:
            r += checked(x)
        except ValueError:
            log[0] += 3
    return r * 1000 + log[0]


def is_left_from_a_handler(a):
    log = [0]
    try:
        checked(a)
    except (KeyError, ValueError):
        for x in results(log, [1, 2]):
            if x == 2:
                raise
            log[0] += x
    return log[0]


def endless(log, n):
    try:
        while True:
            yield n
            n += 1
    finally:
        log.append(n)


def is_begun_while_traced(a):
    """Python ends the generator that an attempt to trace has begun; its ``finally`` must not disturb anything."""
    log = []
    r = sum(itertools.islice(endless(log, a), 3))
    for x in itertools.takewhile(lambda x: x < 4, endless(log, a)):
        r += x
    return r * 100 + sum(log) + len(log)


def catches_all(n):
    if n > 2:
        n += 1
    try:
        yield n
    except:  # noqa: E722  # that is the point
        pass


def yields_at_the_end(n):
    if n > 2:
        n += 1
    try:
        yield n
    finally:
        yield n + 1


def returns_at_the_end(n):
    while n > 0:
        try:
            yield n
        finally:
            n -= 1
            if n == 1:
                return  # noqa: B012  # that is the point


RUN = (to_the_end, is_left, raises_inside, is_left_from_a_handler, is_begun_while_traced)


@pytest.mark.parametrize("program", RUN, ids=lambda program: program.__name__)
def test_it_runs(program):
    assert in_lanes(program, NUMBERS) == in_python(program, NUMBERS)


@pytest.mark.parametrize(
    ("generator", "why"),
    [
        (catches_all, "catches what Python raises at a `yield` when a loop is left"),
        (yields_at_the_end, "has a `yield` inside of `finally`"),
        (returns_at_the_end, "leaves a `finally`, or raises in it"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_it_is_refused(generator, why):
    def program(a):
        total = 0
        for x in generator(a):
            total += x
            if x > 3:
                break
        return total

    with pytest.raises(hb.UnsupportedSyntaxError, match=why):
        hb.batch(program)(np.array(NUMBERS, np.int32))
