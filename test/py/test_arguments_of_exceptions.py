"""Arguments of exceptions that raise or have effects are evaluated before the exception is raised: Python judges."""

import math

import numpy as np
import pytest
from feature_pairs import made, right_or_refused

import hlobatch as hb

NUMBERS = [0, 1, 2, 3, 7]
LIMITS = {1: 2, 3: 5, 7: 40}
WORDS = ["none", "one", "two"]


class RefusedError(Exception):
    def __init__(self, why, *, by=0):
        super().__init__(why, by)
        self.why, self.by = why, by


class Account:
    def __init__(self, amount):
        self.amount, self.tries = amount, [amount]

    def noted(self):
        self.tries.append(self.amount)
        return len(self.tries)

    @property
    def worth(self):
        if self.amount > 5:
            raise KeyError("much")
        return self.amount * 2


def a_key(n):
    assert n > 5, LIMITS[n]
    return n


def a_key_where_it_is_caught(n):
    try:
        assert n > 5, LIMITS[n]
    except KeyError:
        return 100
    except AssertionError:
        return 200
    return n


def an_item_in_a_text(n):
    try:
        raise ValueError(f"bad {[4, 5][n]:>4}")
    except IndexError:
        return 7
    except ValueError:
        return 8


def a_word(n):
    try:
        if n < 7:
            raise ValueError("it is " + WORDS[n])
    except LookupError:
        return -1
    return n


def a_quotient(n):
    try:
        if n < 5:
            raise ValueError(f"{12 / (n - 1):.2f}", n % 5)
    except ZeroDivisionError:
        return -1
    return n


def formatted(n):
    text = "%d of %s"
    try:
        if n < 5:
            raise ValueError(text % (n, LIMITS[n + 1]))
    except KeyError:
        return -1
    return n


def a_root(n):
    try:
        raise KeyError("root", math.sqrt(2 - n))
    except KeyError:
        return 1
    except ValueError:
        return 2


def taken(n):
    items = [1, 2, n]
    try:
        assert n > 5, items.pop()
    except AssertionError:
        return len(items) * 10
    return len(items)


def taken_after_it_is_read(n):
    items = [5, 2, n]
    if n < 5:
        raise ValueError(len(items), items.pop(), items[-1], items)
    return len(items)


def counted(n):
    count, box = 0, {}
    for i in range(n):
        try:
            if i % 2:
                raise KeyError(box.setdefault(i, count), i)
            count += 1
        except KeyError as error:
            count += error.args[0] * 10
    return count * 10 + len(box)


def of_an_object(n):
    account = Account(n)
    try:
        raise ValueError(account.noted())
    except ValueError as error:
        return error.args[0] * 100 + len(account.tries)


def a_property(n):
    account = Account(n)
    try:
        raise ValueError(account.worth)
    except KeyError:
        return -1
    except ValueError as error:
        return error.args[0]


def an_exception_of_ones_own(n):
    try:
        raise RefusedError(LIMITS[n], by=[n, 2].index(2))
    except KeyError:
        return -1
    except ValueError:
        return -2
    except RefusedError as error:
        return error.why * 10 + error.by


def a_walrus(n):
    k = 1
    try:
        raise ValueError(k := k + n, k)
    except ValueError as error:
        return error.args[1] * 10 + k


def the_smallest_of_none(n):
    few = [x for x in (4, 9) if x < n]
    try:
        raise KeyError(min(few))
    except ValueError:
        return -1
    except KeyError as error:
        return error.args[0]


def in_turns(n):
    """The first exception is the message's in one turn, and the assertion's in another."""
    total = 0
    for k in range(4):
        try:
            assert k != n, LIMITS[k]
            total += k
        except AssertionError:
            total += 10
        except KeyError:
            total += 100
    return total


PROGRAMS = [
    f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and not isinstance(f, type)
]


def outcome(function, number):
    """Python's value, or the text of its exception; of those whose text is not a program's own, the class."""
    try:
        return function(number)
    except (AssertionError, KeyError) as error:
        return type(error).__name__
    except Exception as error:  # noqa: BLE001  # whatever else it raises
        return repr(error)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_they_are_evaluated_before_it_is_raised(function):
    expected = [outcome(function, number) for number in NUMBERS]
    try:
        got = hb.batch(function)(np.array(NUMBERS, np.int32)).tolist()
    except hb.LaneError as error:
        got = [None] * len(NUMBERS) if error.outputs is None else np.asarray(error.outputs).tolist()
        for lane, raised in error.errors.items():
            is_own = not isinstance(raised, AssertionError | KeyError)
            got[lane] = repr(raised) if is_own else type(raised).__name__
    assert got == expected


def test_a_function_that_does_not_raise_for_what_it_is_given():
    """Regression: the program gave no failures, its functions did not either, and calls in a `try` took them."""

    def program(n):
        total, seen = 0, [1, n]

        def put(k):
            if k > 3:
                raise ValueError(k)
            seen[1] += 1
            return k

        try:
            total += put(0)
        except ZeroDivisionError:
            total += 5
        return total + seen[1]

    assert hb.batch(program)(np.array(NUMBERS, np.int32)).tolist() == [program(n) for n in NUMBERS]


def test_an_inner_function_that_is_traced_changes_what_is_around_it():
    """Regression: the host called it, and the lane's list stayed as it was."""

    def program(n):
        seen = [n, 1]

        def put(k):
            seen.append(k)
            return len(seen)

        try:
            assert seen[0] > 2, put(n)
            raise KeyError(put(2), seen[-1])
        except AssertionError:
            return len(seen)
        except KeyError as error:
            return error.args[0] * 100 + error.args[1] * 10 + len(seen)

    assert hb.batch(program)(np.array(NUMBERS, np.int32)).tolist() == [program(n) for n in NUMBERS]


class Counting:
    def __init__(self, n):
        self.seen = [n]

    def noted(self, k):
        self.seen.append(k)
        return len(self.seen)

    def __call__(self, k):
        self.seen.append(k)
        return len(self.seen) % 4


@pytest.mark.parametrize(
    "statement",
    [
        "raise KeyError(c(n))",
        "raise KeyError(c.noted(n))",
        "raise KeyError(1, {2: c.noted(n)}[2])",
        "assert n > 9, c(n)",
        "assert c.noted(n) > 9, c(n) + c.noted(2)",
        "if n > 2: raise KeyError('x', c(n))",
    ],
)
def test_an_object_that_is_called_may_change(statement):
    """Regression: the host called it, and the lane's object stayed as it was."""
    text = f"""
def main(n):
    c = Counting(n)
    try:
        {statement}
    except Exception:
        return 100 + len(c.seen)
    return len(c.seen)
"""
    assert right_or_refused(made(text, Counting=Counting), NUMBERS) is None
