"""Classes of the user's that are derived from containers mean in lanes what they mean in Python.

Each method and operator that a class inherits is asked of an object in lanes, with plain Python as the judge.
"""

import copy
import heapq
import linecache
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shares import by_day

import hlobatch as hb

N = [0, 1, 2, 3, 5]


def check(function: Callable[[Any], Any]) -> None:
    """Fail unless a function gives what plain Python gives, or raises where Python raises, for each example."""
    expected = [outcome(function, n) for n in N]
    try:
        found = hb.batch(function)(np.array(N, np.int32))
        errors: dict[int, Exception] = {}
    except hb.LaneError as error:
        found, errors = error.outputs, error.errors
    for lane, value in enumerate(expected):
        if isinstance(value, Exception):
            assert type(errors[lane]) is type(value), (lane, value)
        else:
            assert lane not in errors, (lane, errors[lane])
            assert [int(part[lane]) for part in as_tuple(found)] == list(as_tuple(value)), lane


def outcome(function: Callable[[Any], Any], n: int) -> Any:
    try:
        return function(n)
    except (LookupError, ValueError) as error:
        return error


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


class Numbers(list):
    def __init__(self, items=()):
        super().__init__(items)
        self.asked = 0

    def ask(self):
        self.asked += 1
        return self.asked


class Line(deque):
    pass


class Members(set):
    pass


class Table(dict):
    pass


class Kept(OrderedDict):
    pass


class Sizes(defaultdict):
    pass


class Votes(Counter):
    pass


class Wrapped(UserList):
    pass


class Entries(UserDict):
    pass


def filled(kind: Any, n: Any) -> Any:
    """An object with a number of items that depends on the lane."""
    made = kind(int) if kind is Sizes else kind()
    for i in range(n):
        if kind in (Numbers, Line, Wrapped):
            made.append(i * 7 % 5)
        elif kind is Members:
            made.add(i * 7 % 5)
        else:
            made[i * 7 % 5] = i
    return made


OF_ALL = ("len(x)", "3 in x", "sum(x)", "max(x, default=-1)", "sorted(x)[0]", "1 if x else 0", "x.clear() or len(x)")
OF_SEQUENCES = (
    *("x[0]", "x[-1]", "x.append(4) or x[-1]", "x.extend([1, 2]) or sum(x)", "x.insert(1, 9) or x[1]"),
    *("x.remove(3) or len(x)", "x.reverse() or x[0]", "x.index(2)", "x.count(2)", "x.pop()", "sum(x.copy())"),
    *("[v * 2 for v in x][0]", "list(x)[0]", "sum(i * v for i, v in enumerate(x))", "list(reversed(x))[0]"),
)
OF_LISTS = (
    *(
        "x.sort() or x[0]",
        "x.pop(0)",
        "sum(x[1:])",
        "sum(x + [4])",
        "len(x * 2)",
        "x == [0, 2]",
        "[0] == x",
        "x != [0]",
    ),
    *("isinstance(x, list)", "isinstance(x, type(x))", "sum(a * b for a, b in zip(x, x[1:]))"),
)
OF_DICTS = (
    *("x[1]", "x.get(1, 8)", "x.setdefault(1, 8) + len(x)", "x.pop(1)", "x.pop(1, 4)", "x.update({1: 9}) or x[1]"),
    *("sum(x.values())", "sum(k * v for k, v in x.items())", "sum(x.keys())", "len(x.copy())"),
)
QUESTIONS = {
    Numbers: (*OF_ALL, *OF_SEQUENCES, *OF_LISTS, "x.ask() + x.ask() + len(x)"),
    Wrapped: (*OF_ALL, *OF_SEQUENCES[:11], "len(x.data)"),
    Line: (*OF_ALL, *OF_SEQUENCES[:10], "x.popleft()", "x.appendleft(6) or x[0]", "x.rotate(1) or x[0]"),
    Members: (
        *(asked for asked in OF_ALL if asked != "sorted(x)[0]"),
        *("x.add(8) or len(x)", "x.discard(3) or len(x)", "x.remove(3) or len(x)", "len(x & {3, 1})", "len(x | {9})"),
        *("len(x - {3})", "len(x ^ {3, 9})", "x.issubset({0, 2})", "len(x.union({9}))"),
        *("x.isdisjoint({3})", "x.update({8, 9}) or len(x)", "x == {0}"),
    ),
    Table: (*OF_ALL, *OF_DICTS),
    Entries: (*OF_ALL, *OF_DICTS, "len(x.data)"),
    Kept: (*OF_ALL, *OF_DICTS, "x.move_to_end(0) or list(x)[-1]", "x.popitem()[0]", "x.popitem(last=False)[0]"),
    Sizes: (*OF_ALL, *OF_DICTS[1:], "x[9] + len(x)"),
    Votes: (*OF_ALL, "x[9] + len(x)", "x.total()", "x.most_common(1)[0][0]", "x.update([1, 1]) or x[1]"),
}


ASKED = [(kind, asked) for kind, questions in QUESTIONS.items() for asked in questions]


@pytest.mark.parametrize(("kind", "asked"), by_day(ASKED, 36), ids=str)
def test_each_method_means_what_it_means_in_python(kind: type, asked: str) -> None:
    check(asking(kind, asked))


def asking(kind: type, asked: str) -> Callable[[Any], Any]:
    name = f"<asked {kind.__name__} {asked}>"
    text = f"def function(n):\n    x = filled({kind.__name__}, n)\n    r = {asked}\n    return r, len(x)\n"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space = dict(globals())
    exec(compile(text, name, "exec"), space)
    return space["function"]  # type: ignore[no-any-return]


class Stack(list):
    def push(self, x):
        self.append(x)
        return self

    def top(self):
        return self[-1] if self else -1


def in_object(n):
    class_holder = Machine()
    for i in range(n):
        class_holder.stack.push(i * i)
        if i % 3 == 2:
            class_holder.stack.pop()
    return class_holder.stack.top() * 100 + len(class_holder.stack)


class Machine:
    def __init__(self):
        self.stack = Stack()


def isinst(n):
    s = Stack([n])
    t = 0
    if isinstance(s, list):
        t += 1
    if isinstance(s, Stack):
        t += 2
    if isinstance(s, dict):
        t += 4
    if type(s) is Stack:
        t += 8
    if type(s) is list:
        t += 16
    if isinstance([n], Stack):
        t += 32
    if s.__class__ is Stack:
        t += 64
    if issubclass(type(s), list):
        t += 128
    return t


def ops(n):
    s = Stack([n, 2])
    t = s + [5]  # noqa: RUF005
    u = s[:1]
    t.append(7)
    a = 1 if s == [n, 2] else 0
    b = 1 if [n, 2] == s else 0
    c = 1 if s != Stack([n, 3]) else 0
    d = 1 if s < [n, 3] else 0
    s += [9]
    return sum(t) + len(u) * 100 + a * 1000 + b * 2000 + c * 4000 + d * 8000 + len(s) * 10000 + max(s) + sorted(s)[0]  # noqa: FURB192


def growing_ops(n):
    s = Stack()
    for i in range(n):
        s.append((i * 7) % 5)
    t = s + [5]  # noqa: RUF005
    u = s[1:]
    w = list(reversed(s))
    x = [v * 2 for v in s]
    y = sum(v for v in s if v > 1)
    z = 1 if 3 in s else 0
    for i, v in enumerate(s):
        y += i * v
    for a, b in zip(s, s[1:], strict=False):  # noqa: RUF007
        y += a * b
    s[0:0] = [4]
    s.sort()
    del s[0]
    s.extend(t)
    return (
        len(t)
        + sum(u)
        + sum(w)
        + sum(x) * 2
        + y
        + z * 1000
        + sum(s) * 3
        + s.index(5)
        + s.count(3)
        + any(s)
        + all(s)
        + min(s)
    )


class History(list):
    limit = 3

    def record(self, x):
        self.append(x)
        if len(self) > self.limit:
            self.pop(0)


def class_attr(n):
    h = History()
    for i in range(n):
        h.record(i * 2)
    return sum(h) * 10 + len(h)


class Logged(dict):
    def __init__(self, *args):
        super().__init__(*args)
        self.reads = 0

    def __getitem__(self, k):
        self.reads += 1
        return super().__getitem__(k)


def logged(n):
    d = Logged()
    for i in range(n + 1):
        d[i % 3] = i
    t = d[0] + d[n % 3]
    return t * 10 + d.reads


class Inverse(dict):
    def __setitem__(self, k, v):
        dict.__setitem__(self, k, v)
        dict.__setitem__(self, -v, k)


def inverse(n):
    d = Inverse()
    for i in range(1, n + 1):
        d[i] = i * 2
    return sum(k * v for k, v in d.items()) + len(d)


class Node:
    def __init__(self, v):
        self.v = v


class Path(list):
    def length(self):
        return sum(abs(a.v - b.v) for a, b in zip(self, self[1:], strict=False))  # noqa: RUF007


def of_objects(n):
    p = Path()
    for i in range(n):
        p.append(Node((i * i) % 7))
    t = 0
    for q in p:
        t += q.v
    return t


class Matrix(list):
    @classmethod
    def zeros(cls, n):
        return cls([[0] * n for _ in range(n)])

    def trace(self):
        return sum(self[i][i] for i in range(len(self)))

    def __mul__(self, other):
        n = len(self)
        return Matrix([[sum(self[i][k] * other[k][j] for k in range(n)) for j in range(n)] for i in range(n)])


def matrix(n):
    m = Matrix([[1, 1], [1, 0]])
    r = Matrix([[1, 0], [0, 1]])
    for _ in range(n):
        r = r * m
    z = Matrix.zeros(3)
    z[n % 3][n % 3] = 5
    return r[0][1] + r.trace() * 100 + z.trace() * 10000


class MinHeap(list):
    def push(self, item):
        heapq.heappush(self, item)

    def pop(self):
        return heapq.heappop(self)


def dijkstra(n):
    adj = [[(1, 4), (2, 1)], [(3, 1)], [(1, 2), (3, 5)], []]
    dist = [99] * 4
    dist[n % 4] = 0
    heap = MinHeap()
    heap.push((0, n % 4))
    while heap:
        d, u = heap.pop()
        if d > dist[u]:
            continue
        for v, w in adj[u]:
            if d + w < dist[v]:
                dist[v] = d + w
                heap.push((dist[v], v))
    return sum(dist)


class Bank(defaultdict):
    def __init__(self):
        super().__init__(int)
        self.failed = 0

    def withdraw(self, who, amount):
        if self[who] < amount:
            self.failed += 1
            return False
        self[who] -= amount
        return True


def bank(n):
    b = Bank()
    for i in range(n):
        b[i % 3] += i
    b.withdraw(0, 4)
    b.withdraw(1, 2)
    b.withdraw(2, 100)
    return b[0] + 10 * b[1] + 100 * b[2] + 10000 * b.failed


def returned(n):
    s = Stack()
    for i in range(n):
        s.push(i)
    return len(s)


def with_helper(n):
    s = Stack([1])
    fill(s, n)
    return drain(s)


def fill(s, n):
    for i in range(n):
        s.push(i)


def drain(s):
    t = 0
    while s:
        t = t * 2 + s.pop()
    return t


def recursive(n):
    s = Stack()
    walk(n, s)
    return sum(s) + len(s) * 1000


def walk(n, s):
    if n > 0:
        walk(n // 2, s)
        s.append(n)
        walk(n - 2, s)


class Poly(UserList):
    def __call__(self, x):
        r = 0
        for c in reversed(self.data):
            r = r * x + c
        return r

    def degree(self):
        return len(self) - 1


def poly(n):
    p = Poly()
    for i in range(n):
        p.append(i + 1)
    return p(2) + p.degree()


class CaseDict(UserDict):
    def __setitem__(self, k, v):
        self.data[abs(k)] = v

    def __contains__(self, k):
        return abs(k) in self.data


def casedict(n):
    d = CaseDict()
    for i in range(-n, n):
        d[i] = i
    return len(d) + (100 if -3 in d else 0) + sum(d.values())


def trycatch(n):
    s = Stack()
    for i in range(n % 3):
        s.push(i)
    try:
        a = s.pop() + s.pop()
    except IndexError:
        a = -5
    return a * 10 + len(s)


def copies(n):
    s = Stack([1, 2])
    t = Stack(s)
    t.push(n)
    u = s.copy()
    u.append(5)
    w = copy.copy(s)
    w.push(8)
    return len(s) + 10 * len(t) + 100 * len(u) + 1000 * sum(w)


class Frozen(set):
    def toggle(self, x):
        if x in self:
            self.remove(x)
        else:
            self.add(x)


def toggles(n):
    s = Frozen()
    for i in range(n):
        s.toggle((i * i) % 6)
    t = Frozen({1, 3})
    return len(s) + 10 * len(s & t) + 100 * len(s | {9}) + sum(sorted(s))


def closures(n):
    s = Stack()

    def visit(k):
        if k > 0:
            s.append(k)
            visit(k - 2)

    visit(n)
    return sum(s)


class Base(list):
    def twice(self):
        return sum(self) * 2


class Derived(Base):
    def __init__(self, a):
        super().__init__([a, a + 1])
        self.a = a

    def twice(self):
        return super().twice() + self.a


def two_levels(n):
    d = Derived(n)
    for i in range(n):
        d.append(i)
    return d.twice()


def lists_of(n):
    stacks = [Stack() for _ in range(3)]
    for i in range(n):
        stacks[i % 3].push(i)
    return sum(s.top() * 10**k for k, s in enumerate(stacks))


def match_it(n):
    s = Stack([n, 1])
    match s:
        case [a, b]:
            return a * 10 + b
    return -1


def unpack(n):
    s = Stack([n, 1, 3])
    a, *rest = s
    x, y, z = s
    return a + len(rest) * 10 + x + y + z + max(*s)


PROGRAMS = [
    in_object,
    isinst,
    ops,
    growing_ops,
    class_attr,
    logged,
    inverse,
    of_objects,
    matrix,
    dijkstra,
    bank,
    returned,
    with_helper,
    recursive,
    poly,
    casedict,
    trycatch,
    copies,
    toggles,
    closures,
    two_levels,
    lists_of,
    match_it,
    unpack,
]


@pytest.mark.parametrize("function", by_day(PROGRAMS, 12), ids=lambda function: function.__name__)
def test_programs_with_such_classes(function: Callable[[Any], Any]) -> None:
    check(function)
