"""Integers of every dtype, beside numbers that the dtype cannot hold: Python's value, or an error."""

import heapq
import math
import operator
from collections import Counter, defaultdict

import jax
import numpy as np
import pytest
from zoo import optimizing_little

import hlobatch as hb

SMALL = ("uint8", "int8", "uint16", "int16")
LARGE = ("uint32", "int32", "uint64", "int64")


def numbers_of(dtype):
    """Numbers of a dtype: its ends, what 300 and -1 wrap around to, and what the code below has keys for."""
    limits = np.iinfo(dtype)
    some = {limits.min, limits.max, 300 % (limits.max + 1), 0, 1, 3, 5}
    return sorted(n for n in some if limits.min <= n <= limits.max)


def checked(function, dtype, numbers):
    """Compare what a batched function gives with what it gives for Python's integers."""
    with jax.enable_x64("64" in dtype), optimizing_little():
        found = [np.asarray(column).tolist() for column in hb.batch(function)(np.array(numbers, dtype))]
    for n, *given in zip(numbers, *found, strict=True):
        assert given == list(function(n)), n


def membership(x):
    return (
        x in range(300),
        x in range(-5, 300, 3),
        x in range(400, -5, -7),
        x in (300, 5),
        x in {300: 1, 3: 2},
        300 in (x, 4),
        300 in [x] * 12,
        x in [*range(300, 310), 3],
        (x, 1) in [(300, 1), (3, 1)],
        [x] == [300],
        (x, 1) < (300, 0),
        [300, x].index(x),
        [300, x].count(300),
        operator.countOf([x, 300], 300),
    )


def extremes(x):
    ordered = sorted([x, 300, 2])
    many = sorted([300, x, 7, 8, 9, 10, 11, 12])
    return (
        max(x, 300) >= 300,
        min(x, 300) == x or x > 300,
        max([(x, 1), (300, 0)])[0] == max(x, 300),
        ordered[2] >= 300,
        ordered[0] == 2 or ordered[0] == x,
        many[7] >= 300,
        min([300, x], key=lambda v: v % 7) == x if x % 7 < 300 % 7 else True,
    )


def items(x):
    total, most = 0, 0
    for v in (x, 300):
        total = total + v // 2
        if v > most:
            most = v
    row = [x, 300, 5, 7]
    return total, most == max(x, 300), row[x % 4], {0: 300, 1: x}[x % 2], {300: 1, 5: 7}.get(x, 300)


def keys(x):
    d = {}
    d[x] = 1
    d.setdefault(300, 2)
    c = Counter()
    c[x] += 300
    s = {x, 3}
    s.discard(301)
    first = defaultdict(int)
    first[x] += 1
    return 301 in d, d.get(301, 7), d[x], d[300], len(d), c[301], c[x], 301 in s, len(s | {301}), first[301], len(first)


def growing(x):
    xs = [x]
    if x > 3:
        xs.append(x)
    has = 301 in xs
    xs.append(300)
    some = max(xs) >= 300 and xs.index(300) > -1
    return has, xs.count(301), some, xs == [300], xs[-1], max(xs[:0], default=300)


def heap(x):
    h = [x, 5]
    if x > 3:
        heapq.heappush(h, 300)
    least = heapq.heappushpop(h, 301)
    return least == min(x, 5), heapq.heappop(h) <= 301, heapq.heapreplace(h, 1) <= 301


def quotients(x):
    one = max(x, 1)
    k = len([x, x]) * 150
    return x // 300, x % 300, 300 // one, 300 % one, divmod(x, 300)[1], k // one, k % one, x >> 260, 300 >> one % 8


def bits(x):
    text = bin(x)
    return 1 - 2 * text.count("1"), x.bit_count() - 5, x.bit_length() - 99, math.gcd(x, 300) + 300


def sums(x):
    xs = [x]
    if x > 3:
        xs.append(x)
    return (
        sum([x, x, x]),
        sum([x, 300]),
        sum([x] * 12),
        sum(xs),
        math.prod([x, 3]),
        abs(x),
        abs(-x),
        pow(x, 2),
        divmod(x, 7)[0],
        round(x, -2),
        sum(v for v in (x, 300)),
    )


def below_zero(x):
    d = {x: 1}
    return -1 in d, d.get(-1, 7), max(x, -1) == x or x < 0, -1 in [x, 3], x in (-1, 2), x > -1, d.pop(-1, 5)


def descending(x):
    return -x, sorted([x, 2, 9], key=lambda v: -v)[1], max([x, 2], key=lambda v: -v) == min(x, 2)


QUICK = (membership, extremes, items, quotients, bits, below_zero)
CASES = [(f, d) for f in QUICK for d in (*SMALL, *LARGE)]
CASES += [(f, d) for f in (keys, growing, heap) for d in ("uint8", "int16", "uint32")]  # which take longer


def is_by_day(function, dtype):
    """By day each function runs on half of the dtypes, and the next function on the other half."""
    return function not in QUICK or (QUICK.index(function) + [*SMALL, *LARGE].index(dtype)) % 2 == 0


@pytest.mark.parametrize(
    ("function", "dtype"),
    [pytest.param(f, d, id=f"{f.__name__}-{d}", marks=() if is_by_day(f, d) else pytest.mark.slow) for f, d in CASES],
)
def test_numbers_are_pythons(function, dtype):
    """300 was 44 beside a ``uint8``, and -1 was 255: in tuples, lists, dicts, sets, ranges, and as an operand."""
    checked(function, dtype, numbers_of(dtype))


@pytest.mark.parametrize("dtype", SMALL)
def test_functions_of_pythons_give_its_numbers(dtype):
    """Sums, powers and absolute values of bytes wrapped around at 256, and ``-x`` was above zero."""
    numbers = [n for n in numbers_of(dtype) if abs(n) < 2**15]
    checked(sums, dtype, numbers)
    if dtype.startswith("u"):
        checked(descending, dtype, numbers)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(lambda x: max([x, 5, 6, 7, 8, 9, 10, 11, -1]), id="max"),
        pytest.param(lambda x: x // -1, id="quotient"),
        pytest.param(lambda x: {x: x}.get(3, -1), id="get"),
        pytest.param(lambda x: sorted([x, 5, 6, 7, 8, 9, 10, 11, -1])[1], id="sorted"),
    ],
)
def test_what_no_dtype_holds_is_refused(code):
    with pytest.raises(hb.BatchTypeError, match="no dtype holds both") as refused:
        hb.batch(code)(np.array([3], np.uint32))
    assert "test_small_integers.py" in str(refused.value)


def test_a_number_from_a_tuple_is_not_stored_where_it_does_not_fit():
    """The 300 came back as 44."""

    @hb.batch
    def last(x):
        kept = x
        for v in (x, 300):
            if v > x:
                kept = v
        return kept

    with pytest.raises(hb.BatchTypeError, match="types that disagree"):
        last(np.array([3], np.uint8))
