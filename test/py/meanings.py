"""Expressions whose values for a lane equal Python's, by subject, and the definitions that they use.

Each is written as in Python: ``n`` and ``k`` are integers, of which ``k`` may be negative, ``x`` and ``y`` are floats,
of which ``y`` may be negative, ``b`` is a bool.
"""

NUMBERS = """
min(n, 3)
max(n, 2, k)
min(n, k, 1, 4)
max(x, y)
float(min(x, 2))
max([n, k, 3])
min((x, y, 0.5))
max(n for _ in range(3))
min([n, k], key=abs)
max([n, k, -k], key=lambda v: v * v)
max(n, k, key=lambda v: -v)
min([x], default=3.0)
max([v for v in (n, k, 2) if v > 2], default=-1)
min(v * n for v in range(4) if v != n)
min((n, 1), (2, k))
max([(n % 3, x), (k % 3, y), (1, 0.0)])
max(enumerate([n, k, 3]), key=lambda pair: pair[1])
int(min(b, n))
abs(k)
abs(y)
abs(b)
sum([n, k, 3])
sum((x, y), 0.5)
sum(v * n for v in range(5))
sum([b, n > 2, k > 0])
sum(v for v in range(10) if v % 2 == n % 2)
sum(1 for v in (n, k, 3) if v > 0)
sum([[n], [k]], [])
any([n > 3, k > 0])
any(v == n for v in (1, 3))
any(v > n for v in range(6) if v != k)
all((n > 1, k < 1))
all(v != n for v in range(2, 4))
all(v < n for v in range(6) if v < k)
any([])
len([v for v in range(8) if v < n])
len([n, k])
round(x)
round(y)
round(x * 2.5)
round(n)
round(x, 1)
round(n * 37, -1)
round(n * 25, -1)
round(n, 2)
round(x, n)
round(x * 1234.5, k)
round(y * 0.03125, n)
round(n * 37 + 1250, k)
round(x * 1e30, 12)
round(n * 12345, -12)
round(y, b)
int(x)
int(y)
int(y * 3.7)
int(b)
int(n)
float(n)
float(b)
float(x)
bool(n)
bool(x)
complex(x, y)
complex(n)
abs(complex(x, y))
divmod(n * 7, 3)
divmod(k, 3)
divmod(k, -3)
divmod(y, 2)
pow(n, 2)
pow(x, 3)
pow(2, n)
pow(n, 5, 7)
pow(k, 3, 11)
pow(n + 3, 10 * n + 1, 1000000007)
pow(n + 1, -1, 101)
pow(n, 3, -5)
sorted([n, 3, k])
sorted([n, 3, k, n * k, 7, 5, 2, n - 4])
sorted([n, 3, k], reverse=True)
sorted([x, y, 1.5, 0.5, 2.5, 3.5, 4.5], reverse=True)
sorted([n, k, -k], key=abs)
sorted([n, k, 5, -k, 2, -2, 3], key=abs, reverse=True)
sorted([(n, 1), (k, 2), (1, 3)])
sorted([(n % 2, k), (k % 2, n), (1, 0), (0, 3), (1, n), (0, k), (0, 0)], reverse=True)
sorted(range(5), key=lambda v: abs(v - n))
list(map(abs, [k, y]))
list(map(min, [n, k], [k, 2]))
list(map(int, [x, y]))
[*filter(lambda v: v > 1, [1, 2, 3])]
[*reversed([n, k])]
[u * v for u, v in zip([n, k], (2, 3))]
[i * v for i, v in enumerate([n, k, 4])]
"""

COMPARISONS = """
n in (1, 3, 5)
n not in (1, 3, 5)
n in [k, 2]
n in {0, 2}
n in {2: 1, 4: 3}
n in range(2, 7, 2)
n * 2 in range(2, 9)
k in range(-3, 3)
k in range(3, -3, -2)
x in range(5)
n in [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]
(n, k) in [(1, 2), (3, 0), (k, n)]
n in {1: 2}.keys()
n in {"a": 1, "b": 3}.values()
"a" in ("a", n)
(n, k) == (2, 0)
(n, k) != (2, 0)
[n, k] == [n, 1]
(n, k) == (n, k, 1)
(n, k) < (3, 0)
(n, k) <= (k, n)
(n % 2, x) > (1, 2.0)
[n, 1] >= [3, k]
(n,) < (n, k)
(n, (k, 1)) < (2, (0, x))
{"a": n} == {"a": 2}
0 < n < 4
k < n <= x
0 <= k < n != 3
n == 3 or k == 2
[n and k, n or k, not n]
n is None
b is not None
"""

CHOICES = """
[v if v > n else -v for v in range(4)]
[(v, 1) if v > n else (n, v) for v in range(3)]
[n and v for v in range(3)]
[n or v for v in range(3)]
[not (v > n) for v in range(3)]
[0 < v < n for v in range(4)]
[1 / v if v else 0.0 for v in range(3)]
(lambda a: a if a > 2 else -a)(n)
(lambda a, c: a and c)(n, k)
{v: v + n for v in range(2)}
[[u * v + n for v in range(2) if v != u] for u in range(3)]
sum(u * v for u in range(4) if u > n % 3 for v in range(3) if v < k)
sum(v if v % 2 else -v for v in range(6) if v < n)
[v + n for v in range(4) if v % 2]
"""

ITEMS = """
PRIMES[n % 6]
PRIMES[-1 - n % 6]
PRIMES[k % 3 - 3]
(1.5, 2.5, 3.5)[n % 3]
[True, False, True][n % 3]
[n, k, 7][n % 3]
[x, y][n % 2]
GRID[n % 2][abs(k) % 3]
GRID[n % 2]
GRID[1][n % 3]
MOVES[n % 5]
MOVES[n % 5][1]
sum(MOVES[n % 5])
CUBE[n % 2][1][abs(k) % 2]
TABLE[n % 4]
MATRIX[n % 2, 1]
MATRIX[n % 2][abs(k) % 2]
range(3, 30, 4)[n % 5]
b"abcdef"[n % 6]
FEW[n % 3 * 5]
SCATTERED[[3, -7, 100, 41, 58][n % 5]]
PAIRS[n % 2, abs(k) % 2]
FEW.get(n, -1)
float(FEW.get(n % 3 * 5, x))
CONTIGUOUS[n % 6]
PRIMES.index(PRIMES[n % 6])
[n, k, n].count(n)
(n, k, 3).index(3)
LARGE[n % 8] ^ 1
[[n, k], [k, n]][n % 2][n % 2]
("hello world"[n] == "l") + ("hello world"[-n - 1] in "aeiou")
ord("hello"[n % 5]) - ord("a")
(["..#", "#..", ".#."][n % 3][k % 3] != "#")
int("31415"[n % 5]) + "31415"[k % 5].isdigit()
{"a": 1, "b": 5}.get("cabac"[n % 5], 0)
"""

MATH = """
math.sqrt(x)
root(x + 1)
math.floor(y)
math.ceil(y)
math.trunc(y)
math.floor(n)
math.sin(x) * math.pi
math.cos(n)
math.tan(x)
math.asin(x / 10)
math.acos(y / 10)
math.atan(y)
math.atan2(y, x)
math.sinh(y)
math.cosh(y)
math.tanh(y)
math.asinh(y)
math.acosh(x + 1)
math.atanh(y / 10)
math.exp(y)
math.exp2(y)
math.expm1(y)
math.log(x)
math.log(x, 3)
math.log(x + 1, n + 2)
math.log2(x)
math.log10(x)
math.log1p(x)
math.pow(x, y)
math.cbrt(y)
math.hypot(x, y)
math.hypot(x, y, n)
math.dist((x, y), (n, k))
math.fabs(k)
math.copysign(n, y)
math.degrees(y)
math.radians(y)
math.fmod(y, 2)
math.fmod(y, -1.5)
math.remainder(y, 2)
math.remainder(x, 1.5)
math.modf(y)
math.frexp(x)
math.ldexp(x, k)
math.fsum([x, y, n, 0.1])
math.fsum(v * x for v in range(5))
math.prod([n, k, 3])
math.prod(v + n for v in range(3))
math.isclose(x, 1.0)
math.isclose(x, x + 0.001, rel_tol=0.01)
math.isfinite(x)
math.isinf(x * math.inf)
math.isnan(x)
math.erf(y)
math.erfc(y)
math.gamma(x)
math.gamma(y + 0.4)
math.lgamma(x)
math.isqrt(n * 37)
math.isqrt(2147483647 - n)
math.gcd(n, 12)
math.gcd(n * 6, k * 4, 10)
math.lcm(n, 4)
math.lcm(n + 1, 4, 6)
math.comb(n + 5, n)
math.comb(30 + n % 4, 16)
math.comb(n, 5)
math.perm(n + 2, 2)
math.perm(n)
math.perm(n, abs(k))
math.factorial(n)
math.nextafter(x, 10.0) > x
math.ulp(x) > 0
"""

NUMPY = """
np.sqrt(x)
np.sin(y) + np.cos(y)
np.exp([x, y])
np.minimum(n, k)
np.maximum(x, [1.0, 2.0, 3.0])
np.abs(k)
np.floor(y)
np.sum([n, k, 3])
np.sum([x, y])
np.mean(np.array([x, y, 1.0]))
np.prod(np.array([n, k]))
np.array([n, k, 2]) * 2
np.array([[x, y], [y, x]]) @ np.array([1.0, 2.0])
np.dot([x, y, 1.0], [1.0, 2.0, 3.0])
np.linalg.norm(np.array([x, y]))
np.linalg.solve(np.array([[x, 0.0], [y, 1.0]]), np.array([1.0, 2.0]))
np.argmax([n, k, 3])
np.argmin(np.array([x, y]))
np.where(y > 0, x, y)
np.clip(k, 0, 2)
np.stack([np.ones(2) * x, np.zeros(2)])
np.concatenate([np.array([x]), np.array([y, 1.0])])
np.cumsum(np.array([n, k, 1]))
np.sort(np.array([x, y, 1.0]))
np.argsort(np.array([n, k, 1]))
np.outer([x, y], [1.0, 2.0])
np.cross(np.array([x, y, 1.0]), np.array([1.0, 0.0, 2.0]))
np.any(np.array([n, k]) > 2)
np.all([n > 0, k > 0])
np.array_equal(np.array([n, 1]), np.array([2, 1]))
np.allclose([x], [2.5])
np.isfinite(x)
np.sign(y)
np.hypot(x, y)
np.arctan2(y, x)
np.full(3, x)
np.linspace(0.0, x, 4)
np.searchsorted(TABLE, x)
np.searchsorted([1, 3, 5], n)
np.interp(x, [0.0, 5.0], [1.0, 2.0])
np.float32(n)
np.int32(y)
np.float64(x) * 2
np.bool_(n)
np.add.reduce(np.array([n, k]))
np.maximum.accumulate(np.array([n, k, 3]))
np.round(x, 1)
np.diff(np.array([n, k, 1]))
np.zeros(3) + x
np.eye(2) * n
TABLE.dot(np.array([n, k, 1, 2]))
TABLE.take(n % 4)
np.sum(x * np.arange(4))
np.trapezoid([x, y, 1.0])
np.cumsum(np.minimum(np.array([n, 3, 5, 7, 9]), 20).astype(np.int8) + np.int8(30))
np.histogram(np.array([x, y, 1.0]), bins=3, range=(0.0, 3.0))[0]
np.convolve(np.array([n, k, 1]), np.array([1, 2]))
"""

MEMBERS = """
n.bit_length()
k.bit_count()
(n * 100).bit_length()
x.is_integer()
bin(n).count("1")
np.array([n, k]).tolist()
np.array([[x, y], [y, x]]).tolist()
np.array([x]).item()
np.array([x, y]).item(1)
np.array([x, y]).sum().item()
np.array([n, k]).astype(np.float64) / 2
np.array([x, y]).astype(float).sum()
(np.array([x, y]) * 2).astype(int).tolist()
n.numerator
Heading(n % 4)
TURNS[Heading(n % 4)]
Heading.EAST + n
b is True
b is not False
(n > 3) is False
next(v for v in (9, 7, 5, 3, 1, -9) if v < n)
next((v * n for v in (1, 3, 5) if v > n), -1)
next(i for i, v in enumerate([k, n, 9, 2]) if v > 2)
np.array([n, k, 7])[[0, 2]]
"""

LIBRARY = """
operator.add(n, k)
operator.lt((n, k), (k, n))
operator.contains([1, 2, 3], n)
operator.getitem(PRIMES, n % 6)
operator.not_(n > 2)
operator.truth(n)
operator.pow(n, 2)
operator.is_(n > 2, True)
operator.itemgetter(1)([n, k])
functools.reduce(max, [n, k, 3])
functools.reduce(lambda a, v: a * 2 + v, [n, k, 3], 0)
functools.partial(max, n)(k)
functools.reduce(operator.mul, [n, k, 2])
list(itertools.accumulate([n, k, 3]))
list(itertools.accumulate([n, k, 3], max))
[u * v for u, v in itertools.product([n, k], (1, 2))]
sum(u * v for u, v in itertools.combinations([n, k, 2], 2))
[*itertools.chain([n], (k, 1))]
[v - u for u, v in itertools.pairwise([n, k, 4])]
list(itertools.starmap(min, [(n, k), (k, 2)]))
list(itertools.islice([n, k, 3], 2))
[max(p) for p in itertools.permutations([n, k])]
[u + v for u, v in itertools.zip_longest([n, k], [1], fillvalue=0)]
cmath.sqrt(k)
cmath.exp(complex(x, y))
cmath.phase(complex(y, x))
cmath.polar(complex(x, y))
cmath.rect(x, y)
abs(cmath.log(complex(x, y)))
"""

SUBJECTS = {
    "numbers": NUMBERS,
    "comparisons": COMPARISONS,
    "choices": CHOICES,
    "items": ITEMS,
    "math": MATH,
    "numpy": NUMPY,
    "library": LIBRARY,
    "members": MEMBERS,
}
"""Expressions, one on a line, by subject."""

PRELUDE = """
import cmath
import enum
import functools
import itertools
import math
import operator
from math import sqrt as root

import jax.numpy as jnp
import numpy as np

PRIMES = [2, 3, 5, 7, 11, 13]
GRID = [[1, 2, 3], [4, 5, 6]]
CUBE = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0), (2, 2)]
TABLE = np.array([0.5, 1.5, 2.5, 3.5], np.float32)
MATRIX = np.array([[1, 2], [3, 4]], np.int32)
FEW = {0: 10, 5: 50, 10: -7}
SCATTERED = {v: v * v for v in (3, -7, 100, 41, 58, 1000)}
PAIRS = {(0, 0): 1, (0, 1): 2, (1, 0): 3, (1, 1): 4}
CONTIGUOUS = {v: 2 * v for v in range(6)}
Heading = enum.IntEnum("Heading", ["NORTH", "EAST", "SOUTH", "WEST"], start=0)
TURNS = {Heading.NORTH: (0, 1), Heading.EAST: (1, 0), Heading.SOUTH: (0, -1), Heading.WEST: (-1, 0)}
LARGE = [0x80000000 + v for v in range(8)]
"""
"""Definitions that the expressions use besides their variables."""

POSITIONS = {
    "returned": "{}",
    "in a condition": "(1 if {} else 0)",
    "in a comprehension": "[{} for _ in (0,)]",
    "in a lambda": "(lambda n, k, x, y, b: {})(n, k, x, y, b)",
    "in a helper": "helper{}(n, k, x, y, b)",
}
"""Positions of an expression in a function."""
