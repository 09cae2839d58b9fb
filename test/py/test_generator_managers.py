"""``with`` on what functions by ``contextlib.contextmanager`` give means what it means in Python, or is refused."""

import contextlib

import numpy as np
import pytest

import hlobatch as hb

LIMIT = 3
NUMBERS = range(6)


class MissingError(ValueError):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


@contextlib.contextmanager
def kept(log, k, by=2):
    """Notes a number before and after, however it is left."""
    log.append(k)
    try:
        yield k + 1
    finally:
        log.append(k * by)


@contextlib.contextmanager
def noted(log, k):
    k += LIMIT
    log.append(k)
    yield
    log.append(k + 100)


@contextlib.contextmanager
def committed(log, *, code=5):
    try:
        yield log
        log.append(50)
    except KeyError:
        log.append(60)
        raise
    except MissingError as e:
        log.append(e.code + code)


@contextlib.contextmanager
def both(log, k):
    with kept(log, k) as x, kept(log, 1):
        yield x


@contextlib.contextmanager
def rebound(x):
    x += 1
    try:
        yield x
    finally:
        x = 0


@contextlib.contextmanager
def checked(k):
    yield
    if k > 100:
        raise MissingError(k)


@contextlib.contextmanager
def made(log, k):
    items = [k]
    try:
        yield items
    finally:
        log.extend(items)


@contextlib.contextmanager
def nested(log, k):
    if k > 0:
        with nested(log, k - 1):
            yield
    else:
        yield


@contextlib.contextmanager
def limited(k):
    yield k + LIMIT


@contextlib.contextmanager
def turns(k):
    for i in range(k):
        yield i * 2


def folded(items):
    r = 0
    for x in items:
        r = (r * 31 + x) % 1009
    return r


def ends(a):
    log = []
    with kept(log, a) as x:
        log.append(x)
    with noted(log, a), kept(log, 7) as a:
        log.append(a)
    with both(log, a) as x:
        if x > 2:
            return folded(log) + x
    return folded(log)


def raises(a):
    log = []
    try:
        with kept(log, by=a, k=a * 2) as x:
            if a > 2:
                raise MissingError(a)
            log.append(x)
            if a == 1:
                return folded(log)
    except MissingError as e:
        log.append(e.code)
    return folded(log)


def leaves_loops(a):
    log = []
    for i in range(4):
        with kept(log, i):
            if i == a:
                break
            if a + i == 5:
                continue
            log.append(i)
    else:
        log.append(9)
    return folded(log)


def is_caught_by_the_generator(a):
    log = []
    try:
        for i in range(2):
            with committed(log) as same:
                if a + i == 2:
                    raise MissingError(a)
                if a == 3:
                    raise KeyError(a)
                if a == 4:
                    raise ValueError(a)
                same.append(i)
    except KeyError:
        log.append(77)
    except ValueError:
        log.append(78)
    return folded(log)


def stands_in_an_inner_function(a):
    log = []

    def inner(x):
        with kept(log, x) as y:
            if y > 2:
                return y
        return folded(log)

    return inner(a) + inner(2) + folded(log)


class Account:
    def __init__(self):
        self.log = []

    def pay(self, k):
        with kept(self.log, k) as x, noted(self.log, x):
            self.log.append(9)
        return folded(self.log)


def stands_in_a_method(a):
    account = Account()
    return account.pay(a) + account.pay(2)


def assigns_what_it_is_given(a):
    x = k = a
    with rebound(x) as y:
        x += y * 10
    with rebound(x) as x:
        x *= 3
    try:
        with checked(k):
            k += 1000
        with checked(k % 1000 + 97):
            k += 5
    except MissingError as e:
        return e.code + x
    return k + x


def changes_what_it_is_given(a):
    log = []
    for i in range(2):
        with made(log, i) as items:
            items.append(a)
            if a == i:
                items.append(7)
    try:
        with made(log, a) as others, committed(log) as same:
            others.append(1)
            same.append(2)
            if a > 3:
                raise MissingError(a)
    finally:
        log.append(3)
    return folded(log)


def is_left_before_more(a):
    log = []
    with committed(log, code=a):
        if a == 2:
            return 5
    return folded(log)


def is_of_one_that_uses_itself(a):
    log = []
    with nested(log, 3):
        log.append(a)
    return folded(log)


def gives_a_name_another_meaning(a):
    LIMIT = a  # noqa: N806
    with limited(a) as x:
        return x + LIMIT


def is_of_one_that_may_not_yield(a):
    with turns(1) as x:
        return x + a


RUN = (
    ends,
    raises,
    leaves_loops,
    is_caught_by_the_generator,
    stands_in_an_inner_function,
    stands_in_a_method,
    assigns_what_it_is_given,
    changes_what_it_is_given,
)
REFUSED = (
    is_left_before_more,
    is_of_one_that_uses_itself,
    gives_a_name_another_meaning,
    is_of_one_that_may_not_yield,
)


@pytest.mark.parametrize("program", RUN, ids=lambda program: program.__name__)
def test_it_runs(program):
    assert hb.batch(program)(np.array(NUMBERS, np.int32)).tolist() == [program(n) for n in NUMBERS]


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_it_is_refused(program):
    with pytest.raises(hb.UnsupportedSyntaxError, match="`with` of this object is not supported"):
        hb.batch(program)(np.array(NUMBERS, np.int32))
