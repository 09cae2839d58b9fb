"""Statements whose effect for a lane equals Python's, by subject.

Each is a few lines that give ``r`` a value, from integers ``n`` and ``k`` (which may be negative), floats ``x`` and
``y`` (likewise), a bool ``b``, an array ``v`` of four integers and an array ``w`` of three floats. None gives any of
these names another value.
"""

import textwrap

IN_PLACE = """
a = [n, k, 4]
a.sort()
r = a
---
a = {0: n, 1: k, 2: 5}
a[n % 3] = 7
r = a[2] + a[1]
---
a = v.copy()
a[n % 4] = k
r = a
---
a = v.copy()
a[n % 4] += k
a[-1] *= 2
r = a
---
a = v.copy()
a[1:3] = n
a[::2] -= k
r = a
---
a = v.copy()
a[a > 2] = 0
r = a
---
a = np.zeros(5, int)
a[n % 5] = 1
a[[0, 2]] = k
r = a
---
a = np.zeros((2, 3))
a[n % 2, 1] = x
a[n % 2] += y
a[:, 2] = w[:2]
r = a
---
a = [n, k, 3]
a[n % 3] = -1
r = a
---
a = [n, k, 3]
a[n % 3] += k
a[-1] -= 1
r = a
---
a = [n, k]
a[0], a[1] = a[1], a[0]
r = a
---
a = [n, k, 5, 4]
i, j = n % 4, abs(k) % 4
a[i], a[j] = a[j], a[i]
r = a
---
a = [[n, k], [1, 2]]
a[n % 2][abs(k) % 2] = 9
r = a
---
a = [[0] * 3 for _ in range(2)]
a[n % 2][n % 3] += k
r = a
---
a = [1, 2, 3, 4]
a[1:3] = [n, k]
r = a
---
a = {"p": n, "q": k}
a["p"] += a["q"]
r = a
---
a = v.copy()
for i in range(4):
    a[i] = a[i - 1] + n
r = a
---
a = v.copy()
i = 0
while i < n % 5 and i < 4:
    a[i] += k
    i += 1
r = a
---
a = v.copy()
c = a.copy()
a[0] = n
r = (a, c)
---
a = []
a.append(n)
a.append(k)
a.append(3)
r = a
---
a = [n, k, 3]
last = a.pop()
first = a.pop(0)
a.insert(0, last)
a.extend([first, 1])
a.reverse()
r = a
---
a = [n, k]
a += [1, 2]
r = a
---
a = [n, k, 4]
del a[1]
r = a
---
p = Point(n, x)
p.count += k
p.weight = y
r = (p.count, p.weight)
---
ps = [Plain(n), Plain(k)]
ps[1].add(2)
ps[n % 2].add(5)
r = ps[0].total + ps[1].total
---
p = Plain(n)
p.add(k)
p.add(1)
r = p.total
---
p = Plain(n)
if b:
    p.add(k)
r = p.total
---
a = [0, 0]
bump(a, n % 2)
bump(a, 1)
r = a
---
a = np.zeros(3)
fill(a, x)
r = a
---
p = Point(n, x)
move(p, k)
r = p.count
---
a = v.copy()
a += 1
c = a
c = c * 2
a -= n
r = a, c
---
a = w.copy()
a += x
a[0] *= 2
a -= w
r = a
---
t = (n, [k, 1])
t[1][0] = 5
r = t
---
a = v.copy()
a[n % 4], c = k, 2
r = a * c
---
a = np.arange(6).reshape(2, 3)
a[abs(k) % 2, ::-1] += n
r = a.T
---
a = v.copy()
a[n % 3 : 3] = 0
r = a
---
a = v.copy()
a[: n % 4] += 1
r = a
"""

LOOPS = """
r = 0
for i in range(n):
    r += i * k
---
r = 0
for i in range(2, n, 2):
    r += i
else:
    r -= 1
---
r = 0
for i in range(n, 0, -1):
    if i % 3 == 0:
        break
    r += i
else:
    r = -r
---
r = 0
for a in v:
    r += a
---
r = 0.0
for i, a in enumerate(w):
    r += i * a
---
r = 0
for i, a in enumerate(v, 1):
    if a > n:
        continue
    r += i
---
r = 0
for a, c in zip(v, (1, 2, 3, 4)):
    r += a * c
---
r = 0
for a in (1, n, k):
    r = r * 2 + a
---
r = 0
for a in [n, k, 3, 5][::-1]:
    r = r * 2 + a
---
r = 0
for a in reversed(v):
    r = r * 3 + a
---
r = 0
for i in reversed(range(n)):
    r = r * 2 + i
---
r = 0
for a, (c, d) in ((1, (n, 2)), (3, (4, k))):
    r += a * c - d
---
r = 0
for key, a in {"p": n, "q": k}.items():
    r += a * len(key)
---
r = 0
for key in {1: n, 2: k}:
    r += key
---
r = 0
for a in {"p": n, "q": k}.values():
    r = r * 2 + a
---
r = 0
for c in "abca":
    if c == "a":
        r += n
    else:
        r -= 1
---
r = 0
for name in ("low", "high"):
    r += {"low": n, "high": k}[name]
---
i = n
r = 0
while i > 0:
    i //= 2
    r += 1
---
r = 0
while True:
    r += 1
    if r >= n:
        break
---
r = 0
while r < n:
    r += 2
    if r == 4:
        continue
    r -= 1
else:
    r += 10
---
error = float("inf")
r = x + 1
while error > 1e-3:
    new = 0.5 * (r + (x + 1) / r)
    error = abs(new - r)
    r = new
---
low, high = 0, 100
while high - low > 1:
    middle = (low + high) // 2
    if middle * middle <= n * 10:
        low = middle
    else:
        high = middle
r = low
---
r = 0
for i in range(3):
    for j in range(i, n):
        if (i + j) % 2:
            break
        r += j
---
r = 0
for i in range(4):
    a = i * n
r = a + i
---
r = -1
for i in range(n):
    r = i
---
r = None
for a in v:
    if a > n:
        r = a
        break
r = -1 if r is None else r
---
r = sum(a * a for a in v if a > 0)
---
r = [a + n for a in (1, 2, 3)]
---
r = {key: a + n for key, a in (("p", 1), ("q", k))}
---
r = any(a > n for a in v) and all(a < 100 for a in v)
---
r = max(abs(a) for a in v) - min(a for a in w)
---
r = [[i * j + n for j in range(2)] for i in range(3)]
---
r = 0
for row in [[1, n], [k, 2]]:
    for a in row:
        r = r * 2 + a
---
r = 0
for f in (abs, float, lambda a: a + 1):
    r += f(k)
---
r = 0
it = 0
while it < 3 and r < n:
    it += 1
    r += it
---
r = 0
for i in range(len(v)):
    r += v[i] * i
---
count = 0
for i in range(10):
    if i * i > n:
        break
    count += 1
r = (count, i)
---
r = 0
for a in v[1:]:
    r -= a
---
r = 0
for a, c in zip(v, v[1:]):
    r += a < c
---
r = 0
for i in range(-2, 3):
    if i in (n, k):
        r += i * i
"""

FLOW = """
if n > k:
    r = n
elif n == k:
    r = 0
else:
    r = -k
---
r = n if b else k
---
if b:
    r = x
else:
    r = 0.0
---
if n:
    r = 1
else:
    r = 2
---
if not x - 1 or k:
    r = 1
else:
    r = 2
---
r = 0
if n > 1 and 10 // n > 3 or b:
    r = 1
---
if (m := n * 2) > 5:
    r = m
else:
    r = -m
---
r = [m := n + 1, m * 2, m]
---
match n % 4:
    case 0:
        r = k
    case 1 | 2:
        r = n
    case _:
        r = -1
---
match (n % 2, k):
    case (0, a) if a > 0:
        r = a
    case (1, _):
        r = n
    case _:
        r = 100
---
match n:
    case int():
        r = 1
    case _:
        r = 2
---
match x:
    case float():
        r = n
    case _:
        r = 2
---
match b:
    case bool():
        r = n
    case _:
        r = -1
---
match x:
    case int():
        r = 1
    case float() as a:
        r = a
---
match Point(n, x):
    case Point(count=0, weight=a):
        r = a
    case Point(count=a):
        r = float(a)
---
match [n, k, 3]:
    case [0, *rest]:
        r = rest[1]
    case [a, c, *_]:
        r = a - c
---
match {"p": n, "q": k}:
    case {"p": 0}:
        r = -5
    case {"q": a}:
        r = a
---
match Colour(n % 3):
    case Colour.RED:
        r = 1
    case Colour.GREEN:
        r = 20
    case _:
        r = 3
---
c = Colour.RED if b else Colour.BLUE
r = 1 if c is Colour.RED else c.value
---
c = Colour(n % 3)
r = c == Colour.GREEN
---
c = "yes" if b else "no"
r = 1 if c == "yes" else len(c)
---
found = None
if n > 2:
    found = k
r = 0 if found is None else found
---
found = None
if b:
    found = (n, k)
if found is not None:
    r = found[0] + found[1]
else:
    r = -1
---
found = n if b else None
r = found or 7
---
found = n if b else None
r = 1 if found else 0
---
found = n if b else None
r = found == 3
---
a = n
del a
a = k
r = a
---
r, s = divmod(n * 7, 3)
r += s
---
a, *c = (n, k, 3)
r = (a, c)
---
(a, c), d = (n, k), x
r = a + c * d
---
a = c = n + 1
a += 1
r = (a, c)
---
r: int = n
r += 1
---
r = n
r **= 2
r %= 7
r -= k
r *= 3
r //= 2
r <<= 1
r ^= 5
r |= 8
r &= 31
r >>= 1
---
r = x
r /= 2
r **= 2
r %= 3
r //= 0.5
---
r = b
r &= n > 2
r |= k > 0
r ^= True
---
r = -n + +k - ~n
---
r = n < 3 < k or not b
---
r = (b + b, b * n, b - True, -b, b / 2, True + (n > 2))
---
r = ((n > 1) + (k > 0) + b) * 2
---
r = [not b, n and k, n or k]
---
if 1 > 2:
    r = undefined_name
else:
    r = n
---
r = f"{len(v)}" == "4" and n > 1
---
r = n is None or v is None
---
s = slice(1, 3)
r = v[s] + n
---
r = v[1:3].sum() + w[-1] + v[n % 4]
---
r = (v.shape[0], len(w), v.ndim)
---
pass
r = n
---
import math as m

r = m.sqrt(n)
---
from math import floor, ceil

r = floor(y) + ceil(x)
"""

FAILING = """
a = {0: n, 1: k, 3: 2}
a[n] += 1
r = a[1]
---
try:
    if n > 2:
        raise ValueError("big")
    r = n
except ValueError:
    r = -1
---
try:
    r = 10 // n
except ZeroDivisionError:
    r = -1
---
try:
    r = v[n]
except IndexError:
    r = -1
---
try:
    r = [1, 2, 3][n]
except IndexError as error:
    r = k
else:
    r += 1
finally:
    r += 100
---
r = 0
try:
    check(n)
    r = 1
except (ValueError, KeyError):
    r = 2
finally:
    r += 10
---
r = 0
for i in range(4):
    try:
        if i == n:
            continue
        if i == k:
            break
        r += i
    finally:
        r += 100
---
try:
    try:
        check(n)
        r = 0
    finally:
        s = k
except ValueError:
    r = s
---
try:
    try:
        check(n)
        r = 0
    except ValueError as error:
        raise KeyError("other") from error
except KeyError:
    r = 5
---
try:
    assert n < 3, "not so many"
    r = n
except AssertionError:
    r = -n
---
r = 0
for a in (1, 2, 3):
    try:
        check(n + a)
        r += 1
    except Exception:
        r -= 1
---
if 1 > 2:
    raise ValueError("never")
r = n
---
assert len(v) == 4
r = n
---
try:
    r = 7 % k
except ZeroDivisionError:
    r = -1
---
try:
    r = x / n
except ZeroDivisionError:
    r = -1.0
---
try:
    r = {0: 1, 2: 5}[n]
except KeyError:
    r = k
---
try:
    r = math.sqrt(k)
except ValueError:
    r = -1.0
---
try:
    r = math.log(n)
except ValueError:
    r = -1.0
---
try:
    r = Colour(n).value
except ValueError:
    r = -1
---
try:
    r = divmod(7, n)[0]
except ZeroDivisionError:
    r = -1
---
try:
    r = [4, 5].index(n)
except ValueError:
    r = -1
---
a = None if b else n
try:
    r = a + 1
except TypeError:
    r = -1
---
a = [n, 2]
try:
    a[0] = 3
    a[1] //= n
except ZeroDivisionError:
    a[0] += 1
r = a
---
r = 5
try:
    r = v[n]
except IndexError:
    r -= 1
---
r = 0
for i in range(6):
    try:
        r += [4, 5, 6][i - n]
    except (IndexError, ValueError):
        break
---
try:
    r = [10 // a for a in (n, k)]
except ZeroDivisionError:
    r = [-1, 0]
---
try:
    r = sum(10 // a if a else 1 for a in (n, k))
except ZeroDivisionError:
    r = -1
---
try:
    a = [1, 2, 3]
    a[n] = 9
    r = a
except IndexError:
    r = [0, 0, 0]
---
def inner(a):
    return 10 // a
try:
    r = inner(n) + inner(k)
except ArithmeticError:
    r = -1
---
try:
    r = {(0, 1): 3, (1, 2): 4, (3, 1): 5}[n, abs(k)]
except LookupError:
    r = -1
---
r = 3
try:
    r //= n
    r = 7 // k
except Exception:
    r += 1
---
try:
    r = math.exp(n * 1000) > 0
except OverflowError:
    r = False
---
r = {0: 1, 2: 5, 3: 7, 7: 2}[n]
---
r = next(a for a in (0, 5, 3) if a > n)
---
r = max(a for a in (0, 5, 3) if a > n)
---
r = min([a for a in (0, 5, 3) if a > n], default=k)
---
r = Heading(n)
---
r = 0 if k == 0 else n // k
---
a = None if b else n
r = 2 * a
---
a = None
for c in v:
    if c > n:
        a = c
r = abs(a)
---
a = None
for c in v:
    if c > n:
        a = c
r = a > 3
---
a = n if b else None
c = [1, 2, 3] * 4
c[a] += 1
r = c
---
a = n if b else None
r = (lambda a: 0 if a is None else a + 1)(a)
---
a = None if b else n
r = np.sqrt(a + 1)
---
a = None if b else x
c = w.copy()
c[1] = a
r = c
---
r = [3, 7, 2].index(n)
---
r = Colour(n).value + 1
"""

FUNCTIONS = """
def inner(a):
    return a + k
r = inner(n) * inner(1)
---
def inner(a):
    if a > 2:
        return a
    return -a
r = inner(n)
---
total = 0
def add(a):
    nonlocal total
    total += a
add(n)
add(k)
r = total
---
def inner(a, c=n):
    return a * c
r = inner(k) + inner(2, 3) + inner(c=1, a=5)
---
def factorial(a):
    return 1 if a <= 1 else a * factorial(a - 1)
r = factorial(n)
---
def even(a):
    return True if a == 0 else odd(a - 1)
def odd(a):
    return False if a == 0 else even(a - 1)
r = even(n)
---
square = lambda a: a * a
r = square(n) + square(x)
---
fib = lambda a: a if a < 2 else fib(a - 1) + fib(a - 2)
r = fib(n)
---
def apply(f, *arguments):
    return f(*arguments)
r = apply(lambda a: a + k, n) + apply(max, n, k, 2) + apply(abs, k)
---
def keywords(**given):
    return given["a"] - given["c"]
r = keywords(a=n, c=k)
---
def several(*a, **c):
    return sum(a) + sum(c.values())
r = several(n, k, 1, p=2, q=n)
---
add = functools.partial(pow, 2)
r = add(n)
---
def power(a, c):
    while c > 0:
        a *= 2
        c -= 1
    return a
twice = functools.partial(power, c=2)
r = twice(n) + power(k, n)
---
def make(a):
    def inner(c):
        return a * c
    return inner
r = make(n)(k) + make(2)(3)
---
f = {"up": step_up, "down": step_down}["up"]
r = f(n)
---
r = step_up(n) + step_up(x)
---
r = either(None, n) + either(k, n)
---
r = 0
for f in [step_up, step_down]:
    r = r * 3 + f(n)
---
r = [step_up(a) for a in (n, k)]
---
r = sum(step_up(a) for a in v)
---
r = any(step_up(a) > 3 for a in (n, k))
---
r = sorted([n, k, 2], key=lambda a: -a)
---
r = step_up(step_down(n)) if step_up(k) > 1 else step_down(step_up(k))
---
r = 0
while step_up(r) < n:
    r += 1
---
r = step_up(n) > 2 and step_down(k) > -3
---
r = {"p": step_up(n)}["p"], (step_down(k),)
---
a = v.copy()
a[step_up(n) % 4] = step_down(k)
r = a
---
p = Point(step_up(n), x)
r = p.scaled(step_down(k))
---
r = Plain(n).doubled
---
r = Plain(n) + Plain(k)
r = r.total
---
r = Plain(n) == Plain(3)
---
r = Plain(n)(k)
---
r = Plain.of(n, k).total
---
r = len(Stack([n, k])) + Stack([n, k])[1]
---
r = Point(n, x)
r = (r.count, r.weight)
---
r = Pair(n, k)
r = r.first - r.second + r[0] + sum(r)
---
r = Pair(n, k)._replace(second=5)
---
r = gcd(n * 6, 4)
---
r = depth(n, k)
---
counter = Plain(0)
for a in v:
    counter.add(a)
r = counter.total
---
def inner(a):
    a[0] = n
    return a
c = [1, 2]
d = inner(c)
r = (c, d)
---
r = Point(n, x) == Point(2, 2.5)
---
r = max(v.tolist(), key=step_down)
---
r = list(map(step_up, [n, k]))
"""

REFUSED = """
f = step_up if b else step_down
r = f(n)
"""
"""Statements that are refused in every position. The list only shrinks."""

STATEMENTS = {"in place": IN_PLACE, "loops": LOOPS, "flow": FLOW, "failing": FAILING, "functions": FUNCTIONS}
"""Statements by subject, with a line of dashes between them."""

PRELUDE = """
from dataclasses import dataclass
from typing import NamedTuple
LEAST = 3

class Colour(enum.Enum):
    RED = 0
    GREEN = 1
    BLUE = 2

@dataclass
class Point:
    count: int
    weight: float
    def scaled(self, a):
        return self.weight * a + self.count

class Plain:
    def __init__(self, total):
        self.total = total
    def add(self, a):
        self.total += a
    @property
    def doubled(self):
        return self.total * 2
    def __add__(self, other):
        return Plain(self.total + other.total)
    def __eq__(self, other):
        return self.total == other.total
    def __call__(self, a):
        return self.total - a if a > 0 else a
    @classmethod
    def of(cls, *a):
        return cls(sum(a))

class Stack:
    def __init__(self, items):
        self.items = items
    def __len__(self):
        return len(self.items)
    def __getitem__(self, i):
        return self.items[i]

class Pair(NamedTuple):
    first: int
    second: int

def bump(a, i):
    a[i] += 1

def fill(a, x):
    for i in range(len(a)):
        a[i] = x * i

def move(p, k):
    if k > 0:
        p.count += k

def check(n):
    if n > 2:
        raise ValueError("big")

def step_up(a):
    return a + 1 if a > 1 else a + 2

def step_down(a):
    if a > 0:
        return a - 1
    return a - 3

def either(a, n):
    return n if a is None else a

def same(value):
    return value

def gcd(a, c):
    while c:
        a, c = c, a % c
    return a

def depth(a, c):
    if a <= 0:
        return c
    return depth(a - 1, c + 1) + 1
"""
"""Definitions that the statements use besides their variables and ``meanings.PRELUDE``."""

_RETURNED = """
def f(n, k, x, y, b, v, w):
    {statements}
    return r
"""
_IN_A_HELPER = """
def h(n, k, x, y, b, v, w):
    {statements}
    return r
"""
POSITIONS = {
    "in the function": _RETURNED,
    "in a helper": f"""{_IN_A_HELPER}
def f(n, k, x, y, b, v, w):
    return h(n, k, x, y, b, v, w)
""",
    "in a helper that branches": """
def h(n, k, x, y, b, v, w):
    if n > 50:
        n = 50
    {statements}
    return r

def f(n, k, x, y, b, v, w):
    return h(n, k, x, y, b, v, w)
""",
    "in a batched function": f"""
@hb.batch{_IN_A_HELPER}
def f(n, k, x, y, b, v, w):
    return h(n, k, x, y, b, v, w)
""",
    "called in a comprehension": f"""{_IN_A_HELPER}
def f(n, k, x, y, b, v, w):
    return [h(n, k, x, y, b, v, w) for _ in range(2)][1]
""",
    "called as an argument": f"""{_IN_A_HELPER}
def f(n, k, x, y, b, v, w):
    return same(h(n, k, x, y, b, v, w))
""",
    "on a branch": """
def f(n, k, x, y, b, v, w):
    while True:
        if k > 0:
            k -= 10
            n += 1
        else:
            {statements}
            break
    return r
""",
    "in a while": """
def f(n, k, x, y, b, v, w):
    turns = 0
    while True:
        {statements}
        n += 1
        turns += 1
        if turns > n % 2:
            break
    return r
""",
    "in a for": """
def f(n, k, x, y, b, v, w):
    for turn in range(2):
        {statements}
        n += 1
    return r
""",
    "in a function inside": """
def f(n, k, x, y, b, v, w):
    def inner():
        {statements}
        return r

    return inner()
""",
    "in a function inside that takes some": """
def f(n, k, x, y, b, v, w):
    def inner(n, k):
        {statements}
        return r

    return inner(n, k)
""",
    "in a method": """
class Holder:
    def __init__(self, n):
        self.n = n

    def run(self, k, x, y, b, v, w):
        n = self.n
        {statements}
        return r

def f(n, k, x, y, b, v, w):
    return Holder(n).run(k, x, y, b, v, w)
""",
    "in a try": """
def f(n, k, x, y, b, v, w):
    try:
        {statements}
    finally:
        n = 0
    return r
""",
}
"""Positions of statements in a function."""

PLACES = {
    "as a default": "def f(n, k, x, y, b, v, w):\n    def inner(r={}):\n        return r\n\n    return inner()\n",
    "as an argument": "def f(n, k, x, y, b, v, w):\n    return same({})\n",
    "as a named argument": "def f(n, k, x, y, b, v, w):\n    return same(value={})\n",
    "in an if": "def f(n, k, x, y, b, v, w):\n    if {}:\n        return 1\n    return 0\n",
    "in a while": "def f(n, k, x, y, b, v, w):\n    r = 0\n    while ({}) and r < 2:\n        r += 1\n    return r\n",
    "in a condition of a comprehension": "def f(n, k, x, y, b, v, w):\n    return sum(j for j in range(1, 4) if {})\n",
    "as the default of a lambda": "def f(n, k, x, y, b, v, w):\n    return (lambda r={}: r)()\n",
    "as an item": "def f(n, k, x, y, b, v, w):\n    r = [0, {}]\n    return r\n",
    "in a named expression": "def f(n, k, x, y, b, v, w):\n    if (r := {}) is None:\n        return r\n    return r\n",
    "in a match": "def f(n, k, x, y, b, v, w):\n    match {}:\n        case r:\n            return r\n",
    **{
        name: POSITIONS[name].replace("{statements}", "r = {}")
        for name in ("in a helper", "in a function inside", "in a method", "in a for", "in a try")
    },
}
"""Positions of an expression, besides those in ``meanings.POSITIONS``."""


def statements_of(subject: str) -> list[str]:
    """The statements of a subject."""
    return parted(STATEMENTS[subject])


def parted(text: str) -> list[str]:
    """The statements in a text, which lines of dashes separate."""
    return text.strip("\n").split("\n---\n")


def placed(statements: str, position: str) -> str:
    """The text of a module with a function ``f`` that runs the statements on its arguments."""
    before, _, after = position.partition("{statements}")
    indentation = before.rpartition("\n")[2]
    return before + textwrap.indent(statements, indentation).lstrip() + after
