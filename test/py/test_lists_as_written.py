"""Small programs with lists, dicts and exceptions as people write them: each lane against plain Python."""

import heapq
from collections import OrderedDict, deque
from typing import Any

import numpy as np
import pytest

import hlobatch as hb

INPUTS = (0, 1, 2, 3, 5, 4)


# Lists of lists


def rows_of_a_lanes_length(n):
    table = [[i * j for j in range(n)] for i in range(3)]
    table[0].append(7)
    table[1][0] = 5
    first, second = [[j * k for j in range(n)] for k in (1, 2)]
    return table, first + second


def sums_of_rows(n):
    by_key = {i: [j + i for j in range(n)] for i in range(3)}
    return (
        sum(sum(row) for row in [[i + j for j in range(n)] for i in range(2)]),
        max(sum(i * j for j in range(n)) for i in range(3)),
        [i for i in range(5) if any(j * i == 4 for j in range(n))],
        sum(by_key[1]) + len(by_key[2]),
    )


def numbered_from_a_lanes_number(n):
    """Regression: refused but in loops, as code that needs a number known when the program is built."""
    xs = [4, 5, n]
    return (
        sum(i * x for i, x in enumerate(xs, n)),
        [k for k, v in enumerate(range(n), n + 1) if v % 2],
        list(enumerate(xs, start=n))[1][0] + max(enumerate(xs, n))[0],
        sum(i for i, x in enumerate(reversed(xs), n) if x > 4),
    )


def cubes_beside_rows(n):
    """Regression: an array that stands for all items of a list, and that JAX returns as it is, held itself."""
    known = [0] * n
    cubes = [[[i + j + k for k in range(n)] for j in range(2)] for i in range(2)]
    cubes[1][0].append(4)
    return [[x + i for x in known] for i in range(2)], sum(x for square in cubes for row in square for x in row)


# The first item of an empty container


def taken_before_anything_is_put_in(n):
    stack, queue, heap, entries, order = [], deque(), [], {}, OrderedDict()
    found = 0
    try:
        found += stack.pop()
    except IndexError:
        found += 1
    try:
        found += queue.popleft()
    except IndexError:
        found += 10
    try:
        found += heapq.heappop(heap)
    except IndexError:
        found += 100
    try:
        key, value = entries.popitem()
    except KeyError:
        key, value = 7, n
    try:
        order.popitem(last=False)
    except KeyError:
        found += 1000
    for i in range(n):
        stack.append(i)
        queue.append(i)
        heapq.heappush(heap, -i)
        entries[i] = order[i] = i * i
    return found + len(stack) + len(queue) + len(heap), key + value, len(entries), len(order)


def taken_and_nothing_is_put_in(n):
    stack, heap, members = [], [], set()
    try:
        return stack.pop()
    except IndexError:
        pass
    try:
        n += 1
        members.remove(3)
    except KeyError:
        n += 2 + len(members)
    try:
        return heapq.heappop(heap) + n
    except IndexError:
        return n + len(stack)


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop_or(self, default):
        try:
            return self.items.pop()
        except IndexError:
            return default


def taken_by_a_method(n):
    stack = Stack()
    total = stack.pop_or(-4)
    for i in range(n):
        stack.push(i)
    return total + stack.pop_or(-9)


def the_first_key(n):
    cache, hits = {}, 0
    for i in range(n * 4):
        key = (i * i + n) % 5
        if key in cache:
            hits += 1
            cache[key] = cache.pop(key)
        else:
            if len(cache) >= 3:
                del cache[next(iter(cache))]
            cache[key] = i
    none = next(iter(cache), None)
    last = next(reversed(cache), 7)
    return hits, next(iter(cache.values()), -1), next(iter(cache.items()), (-1, -2)), 5 if none is None else none, last


def no_first_item(n):
    items = [3 * i for i in range(n)]
    try:
        return next(iter(items)) + next(iter(range(1, n)))
    except StopIteration:
        return 8


def no_first_item_at_all(n):
    entries = {}
    try:
        first = next(iter(entries))
    except StopIteration:
        first = -1
    return first + n


# Functions that raise wherever they are called


def fail():
    raise ValueError


def not_empty(items):
    if len(items) == 0:
        raise IndexError("nothing")
    return items[0]


class Shape:
    def area(self):
        raise NotImplementedError


def calls_what_always_raises(n):
    shape, items, total = Shape(), [], n
    try:
        total += shape.area() + n
    except NotImplementedError:
        total += 1
    try:
        total += not_empty(items) + n
    except IndexError:
        total += 10
    if n > 2:
        return fail() + 1
    return total


# Exceptions with attributes and arguments


class CodeError(Exception):
    def __init__(self, code):
        self.code = code


class DerivedError(CodeError):
    pass


class FullError(Exception):
    level = 4

    def __init__(self, code, room=3):
        super().__init__(f"no room for {code}")
        self.code, self.room = code, room


class InsufficientError(Exception):
    def __init__(self, balance, amount):
        super().__init__("insufficient funds")
        self.balance, self.amount = balance, amount

    def short(self):
        return self.amount - self.balance

    @property
    def twice(self):
        return 2 * self.short()


class Account:
    def __init__(self, balance):
        self.balance = balance

    def withdraw(self, amount):
        if amount > self.balance:
            raise InsufficientError(self.balance, amount)
        self.balance -= amount


def of_an_account(n):
    account, short = Account(10), 0
    for k in range(n):
        try:
            account.withdraw(k * n)
        except InsufficientError as e:
            short += e.amount - e.balance + e.short() * 10 + e.twice * 100 + len(e.args) * len(str(e))
    return account.balance, short


def of_several_classes(n):
    log = 0
    for i in range(n + 2):
        try:
            if i == 0:
                raise DerivedError(n)
            if i == 1:
                raise FullError(0)
            if i == 2:
                raise FullError(n, room=n * 2)
            if i == 3:
                raise ValueError(i, n)
            log += [1, 2, 3].index(n)
        except CodeError as e:
            log += e.code
        except FullError as e:
            log += 10 * e.room + e.level
        except ValueError:
            log += 1000
        finally:
            log += 7
        try:
            if i % 2:
                raise CodeError(i)
            raise FullError(i)
        except (CodeError, FullError) as e:
            log += e.code * (10 if isinstance(e, FullError) else 3)
    return log


def of_a_recursion(n):
    def down(k):
        if k <= 0:
            raise CodeError(k)
        try:
            return down(k - 1)
        except CodeError as e:
            if e.code + k == 2:
                return 50 + e.code
            raise CodeError(e.code + 1) from e

    try:
        return down(n)
    except CodeError as e:
        return -e.code


def of_arguments(n):
    error = ValueError("made before", 3 * n)
    found = 0
    try:
        if n > 1:
            raise error
    except ValueError as e:
        found = e.args[1] if e.args[0] == "made before" else -1
    try:
        try:
            if n > 2:
                raise CodeError(code=[n, n + 1])
        except CodeError as e:
            first, second = e.code
            if first == 3:
                raise
            found += 10 * second
    except CodeError as e:
        found += 1000 * sum(e.code)
    return found


class BankError(Exception):
    pass


class NoMoneyError(BankError):
    def __init__(self, need):
        super().__init__(f"{need} are missing")
        self.need = need


class Bank:
    def __init__(self, n):
        self.balances, self.frozen, self.log = {i: 10 * i for i in range(n)}, set(), []

    def transfer(self, payer, payee, amount):
        if payer in self.frozen:
            raise BankError("frozen")
        if self.balances[payer] < amount:
            raise NoMoneyError(amount - self.balances[payer])
        self.balances[payer] -= amount
        self.balances[payee] += amount
        self.log.append(amount)


def of_a_bank(n):
    """Regression: a set in an attribute may be changed by what is known. A function that raises no such exception."""
    bank, bad = Bank(n + 2), 0
    bank.frozen.add(2)
    for k in range(8):
        try:
            bank.transfer(k % (n + 2), (k * 3 + 1) % (n + 2), k * 4)
        except NoMoneyError as e:
            bad += e.need
        except BankError:
            bad += 1000
    return bad, sum(bank.balances.values()), bank.log


def read_outside_of_a_handler(n):
    last = None
    for i in range(n):
        try:
            raise CodeError(i)
        except CodeError as e:
            last = e
    return -1 if last is None else last.code


class Cache:
    """The least recently used keys are the first of a dict."""

    def __init__(self, room):
        self.room, self.kept = room, {}

    def get(self, key):
        if key not in self.kept:
            return -1
        value = self.kept.pop(key)
        self.kept[key] = value
        return value

    def put(self, key, value):
        if key in self.kept:
            self.kept.pop(key)
        elif len(self.kept) >= self.room:
            self.kept.pop(next(iter(self.kept)))
        self.kept[key] = value


def the_least_recently_used(n):
    cache, total = Cache(3), 0
    for i in range(n + 3):
        cache.put(i * 5 % 7, i)
        total += cache.get(i * 3 % 5)
    try:
        first = next(iter(cache.kept))
    except StopIteration:
        first = -1
    return total, first, list(cache.kept)


PROGRAMS = [
    the_least_recently_used,
    rows_of_a_lanes_length,
    sums_of_rows,
    numbered_from_a_lanes_number,
    pytest.param(cubes_beside_rows, marks=pytest.mark.slow),
    taken_before_anything_is_put_in,
    taken_and_nothing_is_put_in,
    taken_by_a_method,
    the_first_key,
    no_first_item,
    no_first_item_at_all,
    calls_what_always_raises,
    of_an_account,
    of_several_classes,
    of_a_recursion,
    of_arguments,
    of_a_bank,
    read_outside_of_a_handler,
]


def outcome(function: Any, n: int) -> Any:
    """The result, or the class and the text of the exception."""
    try:
        return function(n)
    except (ValueError, LookupError, NotImplementedError, StopIteration) as error:
        return type(error), str(error)


def plain(value: Any, lane: int) -> Any:
    """A lane's part of a result, in Python's numbers and containers."""
    if isinstance(value, (tuple, list)):
        return type(value)(plain(part, lane) for part in value)
    if isinstance(value, dict):
        return {key: plain(part, lane) for key, part in value.items()}
    return value[lane] if isinstance(value, hb.Ragged) else value[lane].item()


def is_alike(function: Any, batch: int) -> None:
    inputs = [INPUTS[i % len(INPUTS)] for i in range(batch)]
    raised: dict[int, Any] = {}
    try:
        found = hb.batch(function, dispatch="kernel")(np.array(inputs, np.int32))
    except hb.LaneError as error:
        found, raised = error.outputs, error.errors
    for lane, n in enumerate(inputs):
        error = raised.get(lane)
        kind = next((c for c in type(error).__mro__ if c.__module__ != "hlobatch.diagnostics"), None)
        assert (plain(found, lane) if error is None else (kind, str(error))) == outcome(function, n)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_each_lane_is_as_in_python(function: Any) -> None:
    is_alike(function, 17)
