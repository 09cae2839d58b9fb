"""A seed -> a program that gives arguments, and is called, in the ways that Python has.

Functions, methods, classes and objects with parameters of all sorts are called by position, by name and with stars,
kept in variables, and given to functions of the library.

    python test/py/call_programs.py 17              one program: its text, and its outcome
    python test/py/call_programs.py 0 1000          some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import random
import re
import sys
from typing import Final

from feature_pairs import IMPORTS, main, raises
from feature_writer import Lines, indented

HELPERS: Final = """
def plain(x, y):
    return x * 3 + y

def defaults(x, y=2, z=5):
    if x > 2:
        return x - y
    return x * y + z

def keywords(x, *, y, z=1):
    return x + y * 2 + z

def positions(x, y=4, /, z=3):
    return x * 5 + y - z

def many(*xs):
    t = len(xs)
    for x in xs:
        t = t * 3 + x
    return t

def named(**ks):
    t = len(ks)
    for k, v in ks.items():
        t = t * 2 + v + len(k)
    return t

def mixed(x, *xs, y=1, **ks):
    return x + sum(xs) * 2 + y * 3 + len(ks) * 5 + ks.get("z", 0)

def passed(f, *xs, **ks):
    return f(*xs, **ks)

def counted(n):
    if n <= 0:
        return 0
    return 1 + counted(n - 2)

def is_even(n):
    return True if n == 0 else is_odd(n - 1)

def is_odd(n):
    return False if n == 0 else is_even(n - 1)

def doubled(f):
    def inner(*xs, **ks):
        return f(*xs, **ks) * 2
    return inner

def plus(k):
    def decorate(f):
        @functools.wraps(f)
        def inner(*xs, **ks):
            return f(*xs, **ks) + k
        return inner
    return decorate

@doubled
def twice(x, y=1):
    return x + y

@plus(3)
def more(x, y=1):
    return x - y

@functools.lru_cache(maxsize=None)
def cached(n):
    return n if n < 2 else cached(n - 1) + cached(n - 2)

class Base:
    rate = 2
    made = 0

    def __init__(self, x=1, *, y=2):
        self.x, self.y = x, y

    def value(self, k=1):
        return self.x * k + self.y

    @property
    def size(self):
        return self.x + 1 if self.x > 1 else 7

    @staticmethod
    def half(x, k=2):
        return x // k

    @classmethod
    def of(cls, x):
        return cls(x + 1)

    @classmethod
    def scaled(cls, x):
        return x * cls.rate

    def __call__(self, k=2, *ks):
        return self.x * k + len(ks)

class Mixin:
    def value(self, k=3):
        return super().value(k) + 10

class Child(Mixin, Base):
    rate = 3

    def __init__(self, x, z=4):
        super().__init__(x, y=z)
        self.z = z

    def half(self, x=6):
        return super().half(x) + self.z

class Slots:
    __slots__ = ("x", "y")

    def __init__(self, x, y=3):
        self.x, self.y = x, y

    def total(self, *xs):
        return self.x + self.y + sum(xs)

@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    x: int
    y: int = 3

    def moved(self, k):
        return dataclasses.replace(self, x=self.x + k)

@dataclasses.dataclass(kw_only=True)
class Named:
    x: int
    ys: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.x += len(self.ys)

class Pair(NamedTuple):
    x: int
    y: int = 5

    def total(self, k=0):
        return self.x + self.y * 2 + k
"""
BEGIN: Final = {
    "pair": "pair = (a, b)",
    "items": "items = [b, a, 1]",
    "table": "table = {'y': a, 'z': 2}",
    "base": "base = Base(a)",
    "child": "child = Child(b)",
    "frozen": "frozen = Frozen(a, b)",
    "slots": "slots = Slots(a)",
    "point": "point = Pair(b)",
    "part": "part = functools.partial(defaults, y=b)",
    "parts": "parts = functools.partial(many, a, 2)",
    "choice": "choice = plain if a > 1 else positions",
    "fs": "fs = [plain, positions, defaults]",
    "fd": "fd = {0: plain, 1: defaults}",
    "inner": "def inner(x, y=b, *zs):\n    return x * 2 + y + len(zs)",
    "steps": "def steps(n, k=1):\n    return k if n <= 0 else steps(n - 1, k=k * 2 % 7)",
}
"""By name, what a program defines that uses the name."""
CALLS: Final = (
    "plain(a, b)",
    "plain(y=a, x=b)",
    "plain(a, y=b)",
    "plain(*pair)",
    "plain(*[a, 2])",
    "plain(a, *[b])",
    "plain(**{'x': a, 'y': 3})",
    "plain(a, **{'y': b})",
    "defaults(a)",
    "defaults(b, z=a)",
    "defaults(*pair)",
    "defaults(*items)",
    "defaults(a, **table)",
    "keywords(a, y=b)",
    "keywords(a, **table)",
    "positions(a)",
    "positions(a, b, z=1)",
    "positions(*items)",
    "many()",
    "many(*items)",
    "many(a, *pair, 3, *items)",
    "many(*range(b))",
    "many(*(x + 1 for x in items))",
    "many(*[x for x in items if x > 1])",
    "many(*{1: a, 2: b})",
    "named(**table)",
    "named(p=a, **table)",
    "named()",
    "mixed(a)",
    "mixed(a, b, 2, y=3, z=a)",
    "mixed(*items, **table)",
    "mixed(1, *pair, **{'z': b})",
    "passed(plain, a, y=b)",
    "passed(many, *items)",
    "passed(passed, many, a, b)",
    "passed(lambda x, k=a: x * k, b)",
    "passed(child.value, k=2)",
    "passed(Base.value, base, 3)",
    "passed(Pair, a, y=2).total()",
    "counted(a)",
    "is_even(a) + 2 * is_odd(b)",
    "twice(a)",
    "twice(y=a, x=b)",
    "more(a, y=2)",
    "cached(a)",
    "len(more.__name__)",
    "base.value()",
    "base.value(k=b)",
    "Base.value(base, 2)",
    "Base.value(self=base, k=a)",
    "child.value()",
    "child.value(b)",
    "Base.value(child)",
    "child.half()",
    "child.half(a)",
    "Base.half(a)",
    "base.half(a, k=3)",
    "Base.of(a).value()",
    "Child.of(a).z",
    "child.of(b).value(2)",
    "Base.scaled(a) + Child.scaled(b)",
    "child.scaled(2)",
    "base.size + child.size",
    "base()",
    "base(a)",
    "base(3, *items)",
    "child(k=b)",
    "base.rate + child.rate * 2",
    "type(child).rate",
    "Child(a, z=b).value()",
    "Child(z=a, x=b).y",
    "Base(y=a).value()",
    "Base(*[a], **{'y': b}).value()",
    "slots.total()",
    "slots.total(*items)",
    "Slots(*pair).y",
    "frozen.moved(2).x",
    "frozen.moved(k=b).y",
    "(Frozen(a) < Frozen(b)) + (Frozen(a, 1) == Frozen(b, 1)) * 2",
    "Named(x=a).x",
    "Named(ys=[a, b], x=2).x",
    "point.total()",
    "point.total(k=a)",
    "Pair(*pair).total()",
    "Pair(**{'x': a}).y",
    "point._replace(x=a).total(1)",
    "part(a)",
    "part(a, z=3)",
    "part(a, y=2)",
    "parts()",
    "parts(b, *pair)",
    "functools.partial(plain, a)(b)",
    "functools.partial(part, a)()",
    "functools.partial(base.value, k=a)()",
    "choice(a, b)",
    "choice(*pair)",
    "(plain if b else many)(a, b)",
    "fs[a % 3](a, b)",
    "fs[b % 2](*pair)",
    "fd[a % 2](b, 1)",
    "fd.get(b, many)(a, 2)",
    "[base.value, child.value][a % 2](2)",
    "{'p': base, 'q': child}['pq'[b % 2]].value(a)",
    "(base if a > 1 else child).value(b)",
    "inner(a)",
    "inner(a, 1, *items)",
    "inner(y=a, x=2)",
    "inner(*pair)",
    "steps(a)",
    "steps(b, k=a)",
    "(lambda x, y=a, *zs: x + y * len(zs))(b, 2, *items)",
    "(lambda **ks: sum(ks.values()))(p=a, q=b)",
    "(lambda *, k: k + a)(k=b)",
    "sorted(items, key=lambda x: (x % 2, x))[0]",
    "sorted(items, key=functools.partial(plain, 2), reverse=True)[0]",
    "max(items, key=base)",
    "min(items, key=lambda x, k=a: abs(x - k))",
    "sum(map(plain, items, pair))",
    "sum(map(base.value, items))",
    "functools.reduce(plain, items, a)",
    "len(list(filter(is_even, items)))",
    "getattr(base, 'value')(2)",
    "getattr(child, 'xy'[a % 2])",
    "operator.methodcaller('value', 2)(base)",
    "operator.attrgetter('x')(child)",
    "plain(a)",
    "plain(a, b, 1)",
    "plain(a, z=1)",
    "plain(a, x=b)",
    "keywords(a, b)",
    "positions(x=a)",
    "Base(a, b)",
    "Frozen()",
    "base.value(1, 2)",
    "named(a)",
    "many(k=a)",
    "plain(*items)",
    "plain(a, **{'x': b})",
    "fs[a % 3](a)",
    "inner()",
    "Named(a)",
)
GUARDS: Final = ("except TypeError:\n    t += 5", "except Exception:\n    t += 6")


def _text(body: Lines) -> str:
    used = {name for line in body for name in re.findall(r"\w+", line)}
    begin = [line for name, text in BEGIN.items() if name in used for line in text.splitlines()]
    lines = ["t = 0", *begin, *body, "return t"]
    return "\n".join([*IMPORTS, HELPERS, "def main(a, b):", *indented(lines), ""])


def program(seed: int) -> str:
    """The text of a program; the same for each seed."""
    draw = random.Random(seed)
    body: Lines = []
    for _ in range(draw.randint(1, 3)):
        call, way = draw.choice(CALLS), draw.random()
        lines = [f"t = (t * 3 + {call}) % 1009"]
        if way < 0.15:
            lines = ["for i in range(2):", f"    t = (t * 3 + {call} + i) % 1009"]
        elif way < 0.3:
            lines = ["if a > 1:", *indented(lines), "else:", f"    t += {draw.choice(CALLS)}"]
        elif way < 0.4:
            lines = [f"t = (t + {call} * 2 + {draw.choice(CALLS)}) % 1009"]
        elif way < 0.5:
            lines = [f"r = [{call} for i in range(2)]", "t = (t * 3 + sum(r)) % 1009"]
        elif way < 0.6:
            lines = [f"t = (t * 3 + ({call} if b > 1 else {draw.choice(CALLS)})) % 1009"]
        if raises(_text([*body, *lines])):  # a `try` without an exception is refused
            lines = ["try:", *indented(lines), *draw.choice(GUARDS).splitlines()]
        body += lines
    return _text(body)


if __name__ == "__main__":
    main(sys.argv[1:], program)
