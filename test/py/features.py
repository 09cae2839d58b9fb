"""Features that generated programs combine: what each needs before, its values, its conditions, its changes.

In a text, ``#`` stands for an integer expression and ``@`` for a plain integer. The imports are in
``feature_pairs.IMPORTS``.
"""

from __future__ import annotations

from feature_writer import Feature, Lines, Writer, filled, indented


class List(Feature):
    begins = ("l = []", "l = [a, 2]", "l = [1, a, b]", "l = [0] * 3")
    values = ("len(l)", "sum(l)", "(l[0] if l else 9)", "(l[-1] if len(l) > 0 else 8)", "l.count(@)", "max([0, *l])")
    conditions = ("@ in l", "len(l) > @", "l == [a, 2]", "l")
    changes = (
        "l.append(#)", "if l:\n    l.pop()", "if len(l) > 1:\n    l[1] = #", "l.insert(0, #)", "l += [#, @]",
        "if @ in l:\n    l.remove(@ if @ in l else l[0])", "l.reverse()", "l = l + [#]", "l.sort()",
    )  # fmt: skip


class Dict(Feature):
    begins = ("d = {}", "d = {1: a}", "d = {a: 1, 7: b}")
    values = (
        *("len(d)", "d.get(@, #)", "(d.get(@) or #)", "sum(d.values())", "sum(d)", "d.pop(@, 2)"),
        "d.setdefault(@, #)",
    )
    conditions = ("@ in d", "len(d) > @", "not d", "d.get(@) is None")
    changes = (
        "g = d.get(@)\nif g is not None:\n    d[@] = g + #",
        "d[@] = #",
        "d[@] = d.get(@, 0) + #",
        "d.pop(@, None)",
        "d.setdefault(@, #)",
        "for k, v in d.items():\n    t = (t * 3 + k + v) % 1009",
    )


class Set(Feature):
    begins = ("s = set()", "s = {1, a}")
    values = ("len(s)", "sum(s)")
    conditions = ("@ in s", "@ not in s")
    changes = ("s.add(#)", "s.discard(@)", "s |= {@, 3}")


class Object(Feature):
    helpers = """
    class Box:
        def __init__(self, x):
            self.x, self.items = x, []

        def add(self, v):
            self.x += v
            if self.x > 9:
                self.x = 0
                return -1
            return self.x

        def keep(self, v):
            self.items.append(v)
            return len(self.items)

        def __eq__(self, other):
            return self.x == other.x
    """
    begins = ("o = Box(a)", "o = Box(1)")
    values = ("o.x", "o.add(@)", "o.keep(#)", "len(o.items)")
    conditions = ("o.x > @", "o == Box(@)")
    changes = ("o.x = #", "o.x += #", "o.add(#)", "o.keep(@)", "o = Box(#)")


class Text(Feature):
    begins = ('c = "red" if a > 1 else "blue"', 'c = "red"')
    values = ('{"red": 1, "blue": 2, "x": 3}[c]', "len(c)", '{"red": 5}.get(c, #)', '("blue", "red").count(c)')
    conditions = ('c == "red"', 'c in ("x", "blue")', 'c != "blue"')
    changes = ('c = "blue"', 'c = "x" if # > 2 else c')


class Nothing(Feature):
    begins = ("n = None", "n = None if a > 1 else b")
    values = ("(-1 if n is None else n)", "(n or 4)", "(n if n is not None else #)")
    conditions = ("n is None", "n is not None and n > 1")
    changes = ("n = #", "n = None", "if n is None:\n    n = @")


class Slots(Feature):
    begins = ("z = [None] * 4", "z = [None, a, None, b]", "z = [b, None if a > 1 else b, 3, None]")
    values = (
        "sum(v for v in z if v is not None)",
        "(z[@ % 4] or 7)",
        "z.count(None)",
        "(-1 if z[@ % 4] is None else #)",
        "sum(1 if v is None else 2 * v for v in z[1:])",
    )
    conditions = ("z[@ % 4] is None", "None in z", "z[2] is not None and z[2] > #")
    changes = (
        "z[@ % 4] = #",
        "z[@ % 4] = None",
        "z[@ % 4], z[0] = z[1], z[@ % 4]",
        "k = @ % 4\nz[k] = # if z[k] is None else z[k] + 1",
        "for v in z:\n    t = (t * 3 + (5 if v is None else v)) % 1009",
    )


class Raising(Feature):
    is_compound = True
    helpers = """
    def check(v):
        if v % 3 == 0:
            raise ValueError(v)
        return v

    def divide(x, y):
        return x // y
    """

    values = ("check(3 * @ + 1)", "divide(#, @ + 1)")
    risky: tuple[str, ...] = (
        "t = check(#)",
        "t += check(@)",
        "t = # // @",
        "t = divide(#, @)",
        "raise KeyError(1)",
        "check(@)",
    )
    caught: tuple[str, ...] = (
        "ValueError",
        "ZeroDivisionError",
        "(ValueError, ZeroDivisionError)",
        "Exception",
        "ArithmeticError",
    )

    def statement(self, w: Writer) -> Lines:
        risky = [filled(w.draw.choice(self.risky), w)]
        others = w.statements(0)
        body = [*risky, *others] if w.draw.random() < 0.5 else [*others, *risky]
        other = ["else:", *indented(w.statements(0))] if w.draw.random() < 0.2 else []
        last = ["finally:", *indented(w.statements(0))] if w.draw.random() < 0.3 else []
        handler = [f"except {w.draw.choice(self.caught)}:", *indented(w.statements(0))]
        return ["try:", *indented(body), *handler, *other, *last]


class Recursion(Feature):
    helpers = """
    def down(n, m):
        if n <= 0:
            return m % 5
        if m > 3:
            return down(n - 1, m - 2) + 1
        return down(n - 2, m + 1) + down(n - 1, m)
    """
    values = ("down(@ % 4, @)", "down(a, b)")


class Helper(Feature):
    helpers = """
    def fill(items, n):
        while n > 0:
            items.append(n)
            n -= 2
        return len(items)

    def swap(items):
        if len(items) > 1 and items[0] > items[1]:
            items[0], items[1] = items[1], items[0]

    def least(x, y=2):
        return x if x < y else y
    """
    begins = ("h = [b]", "h = [3, a, 1]")
    values = ("len(h)", "sum(h)", "fill(h, @)", "least(#)", "least(@, #)", "h[0]")
    changes = ("fill(h, @)", "swap(h)", "h = h[:]", "h.append(#)", "g = h[:]\nswap(g)\nt += g[0]")


class Comprehension(Feature):
    values = (
        "sum(x * 2 for x in (a, b, 3))", "len([x for x in range(4) if x > @])", "sum([x + 1 for x in (a, @)])",
        "max(x - @ for x in range(1, 4))", "sum(1 for x in range(5) if x % 2 == @)",
    )  # fmt: skip
    conditions = ("any(x == @ for x in (a, 2))", "all(x > @ for x in (a, b))")


class Slice(Feature):
    begins = ("v = [a, b, 3, 4]", "v = [1, 2, 3]")
    values = ("sum(v[1:])", "v[:2][0]", "v[::-1][0]", "len(v[1:3])", "v[-1]", "sum(v[@ % 3:])")
    changes = ("v = v[1:] + [#]", "v[0] = #", "p = v[:]\np[0] = #\nt += v[0]", "v[1], v[0] = v[0], v[1]")


class Enumeration(Feature):
    helpers = """
    class Color(enum.Enum):
        RED = 1
        BLUE = 2
    """
    begins = ("e = Color.RED", "e = Color.RED if b > 1 else Color.BLUE")
    values = ("e.value", "{Color.RED: 4, Color.BLUE: 6}[e]", "(1 if isinstance(e, Color) else 0)")
    conditions = ("e is Color.RED", "e == Color.BLUE")
    changes = ("e = Color.BLUE", "e = Color.RED if @ > 2 else e")


class Closure(Feature):
    begins = (
        "def bump(k):\n    nonlocal z\n    z += k\n    return z",
        "def bump(k):\n    nonlocal z\n    if k > 2:\n        z = k\n    return z",
    )
    values = ("bump(@)", "bump(1)", "z")
    changes = ("z = #", "bump(#)", "t += bump(@)")

    def begin(self, w: Writer) -> Lines:
        return ["z = 1", *w.draw.choice(self.begins).splitlines()]


class Pair(Feature):
    begins = ("p, q = a, b", "p, q = (1, a)")
    values = ("p", "q", "(p, q)[@ % 2]", "max(p, q)")
    conditions = ("(p, q) < (q, @)", "p == q", "(p, q) == (1, 2)")
    changes = ("p, q = q, p + 1", "p, q = #, p", "q += p")


class Array(Feature):
    begins = ("r = np.zeros(3, np.int32)", "r = np.array([4, 2, 6], np.int32)")
    values = ("int(r[@ % 3])", "int(r.sum())", "len(r)", "int(r[0])")
    changes = ("r[@ % 3] = #", "r[1] += #", "r = r + 1", "r[0], r[1] = r[1], r[0]")


class Numbers(Feature):
    values = (
        "abs(a - @)",
        "min(a, #)",
        "divmod(#, 3)[1]",
        "(# ** 2) % 11",
        "(t := (t + @) % 100)",
        "(a > 1) + (b > 1)",
        "round(# / 2)",
    )
    conditions = ("0 <= a < @", "bool(@)", "1 < @ <= 4")
    changes = ("t -= #", "t *= 2\nt %= 1009", "t //= 2", "t = t ^ @")


class Bag(Feature):
    """An object whose methods change its dict and its list, also while they are iterated."""

    helpers = """
    class Bag:
        def __init__(self, x):
            self.counts, self.row, self.seen = {1: x, 2: 5}, [x, 2], 0

        def bump(self, k, v):
            if v > 2:
                self.counts[k] = self.counts.get(k, 0) + v
                self.seen += 1
            return self.seen

        def refill(self, v):
            self.counts = {1: v, 3: 2}
            return v

        def total(self, v):
            found = 0
            for k in self.counts:
                found = found * 3 + k + self.bump(1, v)
            for k, x in self.counts.items():
                found += k * x
            return found % 1009
    """
    begins = ("m = Bag(a)", "m = Bag(3)")
    values = (
        "m.bump(@, #)",
        "m.total(@)",
        "len(m.counts)",
        "m.seen",
        "m.counts.get(@, 7)",
        "sum(m.row)",
        "m.refill(@)",
    )
    conditions = ("@ in m.counts", "m.seen > @", "m.row == [a, 2]")
    changes = (
        "m.counts[@] = #",
        "for k in m.counts:\n    t = (t * 3 + k) % 1009\n    m.bump(2, @)",
        "for k, x in m.counts.items():\n    t = (t * 3 + x) % 1009\n    m.refill(@)",
        "m.row.append(#)",
        "m.counts.pop(@, None)",
        "m = Bag(#)",
    )


class Protocol(Feature):
    """An object with special methods for items, length, truth and attributes, which compute with booleans."""

    helpers = """
    class Votes:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def __iter__(self):
            return iter([(self.x > 1) + (self.y > 1), self.x])

        def __getitem__(self, k):
            return (self.x > k) + (self.y > k)

        def __len__(self):
            return 2

        def __contains__(self, v):
            return (self.x == v) + (self.y == v) > 0

        def __bool__(self):
            return self.x + self.y > 3

        def __lt__(self, other):
            if self.x == other.x:
                return self.y < other.y
            return self.x < other.x

        def __add__(self, other):
            return Votes(self.x + other.x, (self.y > 1) + (other.y > 1))

        def __call__(self, v):
            return (self.x > v) + (self.y > v)

        @property
        def sure(self):
            return (self.x > 1) + (self.y > 1)

        @functools.cached_property
        def kept(self):
            return (self.x > 2) + (self.y > 0)
    """
    begins = ("u = Votes(a, b)", "u = Votes(1, a)")
    values = (
        "sum(u)", "u[@]", "u[1]", "len(u)", "u.sure", "u.kept", "max(u[0], u[2])", "list(u)[0]", "u(@)",
        "sum(x + 1 for x in u)", "(u + Votes(@, 2)).y",
    )  # fmt: skip
    conditions = ("@ in u", "u", "u < Votes(@, b)", "not u")
    changes = (
        "u = Votes(@, #)",
        "for x in u:\n    t = (t * 3 + x) % 1009",
        "u = u + Votes(1, @)",
        "x, y = u\nt = (t + x * y) % 1009",
    )


class Record(Feature):
    """Objects of a dataclass, which computes a field once the others are set."""

    helpers = """
    @dataclasses.dataclass
    class Card:
        rank: int
        suit: int = 2
        worth: int = dataclasses.field(init=False, default=0)

        def __post_init__(self):
            self.worth = (self.rank > 1) + (self.suit > 1)

    @dataclasses.dataclass(frozen=True, order=True)
    class Point:
        x: int
        y: int = 1
    """
    begins = ("k, w = Card(a), Point(a, b)", "k, w = Card(b, a), Point(1)")
    values = ("k.worth", "k.rank + k.suit", "w.x", "dataclasses.replace(k, rank=@).worth")
    conditions = ("k == Card(@, 2)", "w < Point(@, b)", "w == Point(a, @)")
    changes = ("k.rank = #", "k = Card(#, @)", "w = dataclasses.replace(w, x=@)", "w = Point(#, w.x)")


class Patterns(Feature):
    values = ("matched(a, @)", "matched(#, b)")
    helpers = """
    def matched(x, y):
        match (x, y):
            case (0, _):
                return 1
            case (1 | 2, v) if v > 1:
                return v
            case (u, 3):
                return u + 5
        return 9
    """
    changes = (
        "match @:\n    case 0 | 3:\n        t += 1\n    case x if x > a:\n        t += x\n    case _:\n        t += 7",
    )


class Generated(Feature):
    helpers = """
    def steps(x):
        yield (x > 1) + (x > 2)
        yield x
        for i in range(3):
            yield x * i
    """
    values = ("sum(steps(@))", "next(steps(#))", "sum(x % 4 for x in steps(@))", "list(steps(@))[1]", "max(steps(@))")
    changes = ("for x in steps(@):\n    t = (t * 3 + x) % 1009", "x, y, *_ = steps(#)\nt = (t + x * y) % 1009")


class Nested(Feature):
    """Containers in containers."""

    begins = ("f = [[1, a], [b, 2]]", "f = [[a, b] for _ in range(2)]")
    values = ("sum(map(sum, f))", "f[@ % 2][1]", "f[0][@ % 2]", "len(f[1])", "sum(x * y for x, y in f)", "max(f)[0]")
    conditions = ("[@, 2] in f", "f[0] == [1, @]", "f[0] < f[1]")
    changes = (
        "f[@ % 2][0] = #",
        "f[0], f[1] = f[1], f[0]",
        "f[1][1] += @",
        "f = [row[::-1] for row in f]",
        "f[0] = [@, #]",
    )


class Queue(Feature):
    begins = ("y = deque([a, 1])", "y = deque()", "y = deque([b], maxlen=3)")
    values = ("len(y)", "sum(y)", "(y[0] if y else 6)", "(y.popleft() if y else #)", "(y[-1] if len(y) > 1 else 2)")
    conditions = ("@ in y", "y", "len(y) > @")
    changes = ("y.append(#)", "y.appendleft(@)", "if y:\n    y.pop()", "if y:\n    t += y.popleft()", "y.rotate(1)")


class Counting(Feature):
    begins = ("j = Counter([a, b, 1])", "j = defaultdict(int)")
    values = ("j[@]", "len(j)", "sum(j.values())", "j.get(@, 3)", "max(j.values(), default=0)")
    conditions = ("@ in j", "j[@] > 1")
    changes = ("j[@] += 1", "j[@] += #", "for k, x in j.items():\n    t = (t * 3 + k * x) % 1009", "j.pop(@, None)")


class CountingLess(Feature):
    """Methods of a ``Counter`` alone."""

    begins = ("j0 = Counter([a, b, 1])", "j0 = Counter(x % 3 for x in range(b))")
    values = ("j0[@]", "len(list(j0.elements()))", "sum(j0.elements())", "j0.total()")
    conditions = ("@ in j0", "j0[@] < 0")
    changes = (
        *("j0.subtract([@, #])", "j0.subtract({@: #})", "j0.subtract(range(@))", "j0.update([@])"),
        "for x in j0.elements():\n    t = (t * 3 + x) % 1009",
    )


class Always(Feature):
    """Calls of functions that always raise one exception or another."""

    helpers = """
    def gives_up(x):
        if x > 2:
            raise ValueError(x)
        raise ZeroDivisionError
    """
    values = ("(gives_up(@) if # > 9 else 4)",)
    changes = (
        "try:\n    t = gives_up(@) + 1\nexcept ValueError:\n    t += 2\nexcept ZeroDivisionError:\n    t += #",
        "try:\n    gives_up(@)\n    t = None\nexcept Exception:\n    t = (t + @) % 1009",
        "if # == 8:\n    gives_up(@)",
    )


class Functions(Feature):
    """Functions as arguments of others."""

    values = (
        "functools.reduce(lambda x, y: x * 2 + y, [a, @, 2])",
        "sum(map(lambda x: x + @, (a, b)))",
        "sorted([a, b, @], key=lambda x: -x)[0]",
        "max((a, @), (b, 2), key=lambda x: x[1])[0]",
        "sum(x for x in filter(lambda x: x > 1, (1, 2, 3)))",
        "(lambda x, y=2: x * y)(@)",
        "min([a, b], key=lambda x: (x - @) ** 2)",
        "functools.partial(pow, 2)(@ % 5)",
    )


class Unpacking(Feature):
    begins = ("g = [a, b, 4, 1]",)
    values = ("sum([*g[:2], @])", "max(*g)", "[*g, #][-1]", "len((*g, @))", "{**{1: a}, 2: @}[1]")
    changes = (
        "x, *y0 = g\nt = (t + x + sum(y0)) % 1009",
        "*y1, x = g\nt = (t + x * len(y1)) % 1009",
        "(x, y2), z0 = (a, @), #\nt = (t + x + y2 * z0) % 1009",
        "for i0, (x, y3) in enumerate(zip(g, g[1:])):\n    t = (t * 3 + i0 + x * y3) % 1009",
        "g[@ % 4], g[0] = g[1], #",
    )


class Otherwise(Feature):
    """Loops with an ``else``."""

    values = ("a",)
    changes = (
        "for x in range(@):\n    if x == #:\n        break\nelse:\n    t += 5",
        "x = @\nwhile x < 4:\n    x += 1\n    if x == b:\n        break\nelse:\n    t = (t * 3 + x) % 1009",
        "for x in (a, 2, @):\n    if x > 3:\n        continue\n    t += x\nelse:\n    t += #",
    )


class Lengths(Feature):
    """Lists whose length is a lane's number."""

    helpers = """
    def raised(items, n):
        for i in range(len(items)):
            items[i] += n
        return len(items)

    def upto(n):
        if n > 4:
            return [n]
        return [x * 2 for x in range(n)]
    """
    begins = (
        "i = [0] * a",
        "i = [x * x for x in range(b)]",
        "i = list(range(a + 1))",
        "i = [1, 2] * b if a > 1 else [b]",
    )
    values = (
        "len(i)", "sum(i)", "(i[-1] if i else 7)", "sum(i[@:])", "len(i[: @])", "sum(i[::-1][:2])", "len([@] * b)",
        "raised(i, @)", "sum(upto(@))", "sum(upto(@) + upto(b))", "sum(x * y for x, y in enumerate(i))",
        "max(i, default=#)", "len(range(a, @, 2))", "sum(x for x in range(0, 5, b + 1))", "sum(sorted(i)[:2])",
        "len([x for x in i if x > @])", "sum(x * y for x, y in zip(i, i[1:]))", "i.count(@)",
    )  # fmt: skip
    conditions = ("@ in i", "len(i) > @", "i == [0] * a", "i", "any(x > @ for x in i)", "i[:1] == [@]")
    changes = (
        "i = [#] * b",
        "i.append(#)",
        "i = i[1:] + [@]",
        "i *= 2\ni = i[: 5]",
        "if i:\n    i[@ % len(i)] = #",
        "i[1:2] = [#, @]",
        "i[@:] = [#] * b",
        "del i[@:]",
        "raised(i, @)",
        "for x in i:\n    t = (t * 3 + x) % 1009",
        "for x in range(0, 7, b + 1):\n    t = (t * 3 + x) % 1009",
        "i = upto(@)",
        "i[::2] = [@] * len(i[::2])",
    )


class Ragged(Feature):
    """Lists, sets and dicts, whose lengths differ between lanes, in lists and dicts."""

    helpers = """
    class Leaf:
        def __init__(self, x):
            self.x, self.y = x, 2 * x
    """
    begins = (
        "q0 = [[] for _ in range(a + 1)]\nq1 = defaultdict(list)\nq2 = [Leaf(a)]",
        "q0 = [[x] * x for x in range(b + 2)]\nq1 = {}\nq2 = [Leaf(x) for x in range(b + 1)]",
        "q0 = [[1], [2, a]]\nq1 = {a: [1], 7: []}\nq2 = [Leaf(1), Leaf(2)]",
    )
    values = (
        "len(q0)", "sum(len(x) for x in q0)", "len(q0[@ % len(q0)])", "sum(sum(x) for x in q0)", "len(q1)",
        "len(q1.get(@, [1, 2]))", "sum(len(x) for x in q1.values())", "q2[@ % len(q2)].x", "max(x.y for x in q2)",
        "(q0[0].pop() if q0[0] else #)", "max(q2, key=lambda x: -x.x).y",
    )  # fmt: skip
    conditions = ("q0[0]", "len(q0[-1]) > @", "@ in q1", "@ in q0[0]", "q2[0].x > @")
    changes = (
        "q0[@ % len(q0)].append(#)",
        "q0.append([#] * b)",
        "q0.append([@])",
        "q0[0] += [@, #]",
        "q0[0] = [#]",
        "q1.setdefault(@, []).append(#)",
        "q1[@] = [#]",
        "for x in q0:\n    t = (t * 3 + len(x)) % 1009",
        "for x, y in q1.items():\n    t = (t * 3 + x + len(y)) % 1009",
        "q2.append(Leaf(#))",
        "q2[@ % len(q2)].x += @",
        "for x in q2:\n    t = (t * 3 + x.y) % 1009",
        "q2[0] = Leaf(@)",
    )


class Inherited(Feature):
    """Methods of a class and of its base class, which call each other, and class attributes."""

    helpers = """
    class Base:
        rate, made = 2, 3

        def __init__(self, n):
            self.n = n

        def worth(self):
            return self.n * self.rate + self.bonus()

        def bonus(self):
            if self.n > 2:
                return self.made
            return 0

    class Heir(Base):
        rate = 3

        def __init__(self, n, more=1):
            super().__init__(n)
            self.more = more

        def bonus(self):
            if self.more > 2:
                return super().bonus() + self.more
            return 1 if self.n > 4 else super().bonus()

        @property
        def left(self):
            return self.n - self.more

        @left.setter
        def left(self, v):
            self.n = v + self.more

        @classmethod
        def like(cls, other):
            return cls(other.n, 2)

        @staticmethod
        def clamped(v):
            return max(0, min(v, 7))
    """
    begins = ("v0, v1 = Base(a), Heir(b, a)", "v0, v1 = Base(2), Heir(a)")
    values = (
        *("v0.worth()", "v1.worth()", "v1.left", "Heir.like(v0).worth()", "v1.clamped(#)", "v1.rate + v0.rate"),
        "sum(x.worth() for x in (v0, v1))",
    )
    conditions = ("isinstance(v1, Base)", "v1.left > @", "v0.worth() < v1.worth()")
    changes = ("v1.left = #", "v1.left += @", "v0.n, v1.n = v1.n, #", "v1.more -= 1", "v1 = Heir.like(v1)")


class Integers(Feature):
    """Quotients and remainders of negative numbers, shifts and bits."""

    values = (
        *("(-@ // 3) % 50", "-@ % 4", "(@ - #) // 2 % 50", "(@ - 5) % (@ + 1)", "(@ << 2) & 29", "(@ - 6) >> 1 & 15"),
        *("divmod(@ - 9, 4)[0] + 9", "pow(@ + 1, @, 7)", "~@ & 31", "(@ | 6) ^ @", "(-7 // (@ + 1)) % 20"),
        *("int(-@ / 2) + 9", "round(@ * 1.5)", "(@ + 2).bit_length()", "(@ > 1) * 3 - (@ > 2)", "True + (@ == @)"),
        "bin(@).count('1')",
    )  # fmt: skip
    conditions = ("@ & 1", "@ % 2 == (b & 1)", "(@ > 1) == (@ > 2)", "-@ // 2 < -1")
    changes = ("t ^= @ << 1", "t >>= 1", "t |= @", "t -= @ // -2\nt %= 1009", "t &= 255", "t = -t % 97")


class Lettered(Feature):
    """Constant texts and bytes, of which lanes take characters."""

    begins = ('c0 = b"abcab"', "c0 = bytes([3, 1, 2, 200])")
    values = (
        *("c0[@ % 4]", "len(c0)", "c0.count(c0[@ % 3])", "sum(c0[1:3])", "max(c0)", "c0[-1]"),
        *("'abcd'.index('c')", "sum(ord(x) - 97 for x in 'bead')", "len('a,b'.split(','))", "int('12') + @"),
    )
    conditions = ("c0[0] == 97", "'b' in 'abc'", "c0[@ % 4] > 98", "@ in c0")
    changes = ("for x in c0:\n    t = (t * 3 + x) % 1009", "for x in 'ab':\n    t += 1 if x == 'a' else #")


class Matrix(Feature):
    """An array with two axes: rows, columns, masks, views, changes in place."""

    begins = ("r0 = np.zeros((2, 3), np.int32)", "r0 = np.array([[1, a, 2], [b, 0, 4]], np.int32)")
    values = (
        *("int(r0[@ % 2, @ % 3])", "int(r0.sum())", "int(r0[@ % 2].max())", "int(r0[:, 1].sum())"),
        "int((r0 > @).sum())",
        *("int(r0.T[@ % 3, 0])", "int(r0.reshape(-1)[@ % 6])", "int(r0[:, ::-1][0, 0])"),
        "int(np.where(r0 > 1, r0, #).sum())",
        *("len(r0)", "int(np.dot(r0[1], r0[0]))", "int(r0.argmax())", "int(sum(x[0] for x in r0))"),
    )  # fmt: skip
    conditions = ("r0[0, 0] == @", "(r0[1] > @).any()", "r0[0].sum() < r0[1].sum()")
    changes = (
        *("r0[@ % 2, @ % 3] = #", "r0[1] += #", "r0[:, 0] = @", "r0[@ % 2] = r0[0] + 1", "r0[r0 > @] = #"),
        *("r0 = r0 * 2 % 11", "r0[0], r0[1] = r0[1].copy(), r0[0].copy()", "r0 %= 7", "r0 = r0[::-1]", "r0 -= r0[0]"),
        "for x in r0:\n    t = (t * 3 + int(x.sum())) % 1009",
        "for k in range(3):\n    r0[0, k] += r0[1, 2 - k]",
    )


class Keyed(Feature):
    """Dicts and sets of tuples, dicts of dicts and of lists."""

    begins = (
        "d0 = {}\nd1 = {1: {}, 2: {a: b}}\nd2 = {(0, a)}",
        "d0 = {(a, b): 1, (1, 1): 2}\nd1 = {1: {1: a}, 2: {}}\nd2 = set()",
    )
    values = (
        *("d0.get((@, @), #)", "len(d0)", "sum(x + y for x, y in d0)", "sum(d0.values())", "len(d1[@ % 2 + 1])"),
        *("d1[2].get(@, #)", "len(d2)", "sum(len(x) for x in d1.values())", "d0.pop((@, 1), 3)"),
    )
    conditions = ("(@, @) in d0", "(@, a) in d2", "@ in d1[1]", "(0, 1) not in d2")
    changes = (
        "d0[@, @] = #",
        "d0[@, b] = d0.get((@, b), 0) + 1",
        "d2.add((@, @))",
        "d2.discard((0, @))",
        "d1[1][@] = #",
        "d1[@ % 2 + 1][@] = #",
        "for (x, y), v in d0.items():\n    t = (t * 3 + x + y * v) % 1009",
        "d1[2].pop(@, None)",
    )


class Raised(Feature):
    """The user's exceptions, chained ones, in loops that go on, and in functions that end in a ``finally``."""

    helpers = """
    class Wrong(Exception):
        pass

    class Worse(Wrong):
        def __init__(self, x, code=2):
            super().__init__(x)
            self.code = code

    def looked_up(items, k):
        try:
            return items[k]
        except KeyError:
            return -k
        finally:
            items[9] = k

    def strict(x):
        if x > 3:
            raise Worse(x)
        if x == 2:
            raise Wrong("two")
        return x + 1

    def softly(x):
        try:
            if x > 4:
                raise Worse(x, 3)
            y = strict(x)
        except Worse:
            return 50
        except Wrong as error:
            if x == b"":
                raise ValueError from error
            return 60
        else:
            y += 1
        return y
    """
    begins = ("x0 = {1: 4, 2: a}",)
    values = ("softly(@)", "softly(#)", "looked_up(x0, @)", "len(x0)")
    changes = (
        """for x in range(5):
    try:
        if x == @:
            continue
        t += strict(x)
    except Wrong:
        t += 7
        if @ > 3:
            break
    else:
        t += 1
    finally:
        t = t * 2 % 1009""",
        """try:
    try:
        t += strict(@)
    except Worse as error:
        raise ValueError from error
except ValueError:
    t += 11
except Wrong:
    t += 12""",
        "try:\n    assert @ != 2, 'two'\n    t += 1\nexcept AssertionError:\n    t += #",
    )


class Assigned(Feature):
    """Names that are bound in expressions, deleted, unpacked, and functions with stars and defaults."""

    helpers = """
    def mixed(x, *rest, k=2, **more):
        for i, y in enumerate(rest):
            x += y * (i + k)
        if more.get("neg"):
            return -x % 100
        return x % 100
    """
    values = (
        *("mixed(@, #)", "mixed(@, 2, @, k=@)", "mixed(*(a, @))", "mixed(@, neg=True)", "mixed(1, **{'k': @})"),
        "(y0 := @) + y0 * 2",
    )
    conditions = ("(z1 := @) > 2 and z1 < 5",)
    changes = (
        "if (n0 := #) > 2:\n    t += n0",
        "n1 = @\nwhile (n1 := n1 - 1) > 0:\n    t = (t * 2 + n1) % 1009",
        "n2 = [#, @, 3]\ndel n2[@ % 2]\nt += n2[0] * len(n2)",
        "n3 = n4 = @\nn3 += 1\nt += n3 * n4",
        "(n5, n6), *n7 = (a, @), 4, 5\nt = (t + n5 * n6 + sum(n7)) % 1009",
    )


class Iterated(Feature):
    """Functions of ``itertools`` and ``functools``, and sorting by keys."""

    begins = ("g0 = [a, b, 3]", "g0 = [x + a for x in range(b)]")
    values = (
        *("sum(x * y for x, y in itertools.combinations(g0, 2))", "sum(itertools.chain(g0, [@]))"),
        *("max(itertools.accumulate(g0), default=0)", "len(list(itertools.product(g0, (1, 2))))"),
        *("sorted(g0, reverse=True)[0] if g0 else 5", "sum(map(max, zip(g0, g0[::-1])))", "g0.count(@)"),
        *("operator.countOf(g0, @)", "operator.indexOf([*g0, 3], 3)"),
        *("functools.reduce(lambda x, y: (x * 3 + y) % 97, g0, @)", "sum(sorted(g0, key=lambda x: (-x, 1))[:2])"),
        *("sum(x - y for x, y in zip(g0[1:], g0))", "sum(i * x for i, x in enumerate(reversed(g0)))"),
    )  # fmt: skip
    conditions = (
        "any(x == y for x, y in itertools.pairwise(g0))",
        "all(g0)",
        "sorted(g0) == g0",
        "operator.countOf(g0, #) > 0",
    )
    changes = (
        "g0 = sorted(g0, key=lambda x: (x - @) ** 2)",
        "g0.append(#)",
        "for x, y in zip(g0, range(@)):\n    t = (t * 3 + x - y) % 1009",
        "for i, x in enumerate(g0, @):\n    t = (t + i * x) % 1009",
        "for x in reversed(g0):\n    t = (t * 2 + x) % 1009",
        "g0 = [max(x, y) for x, y in zip(g0, g0[::-1])]",
    )


class Parts(Feature):
    """Names for items and attributes that are then changed in place."""

    helpers = """
    class Ball:
        def __init__(self, x):
            self.x, self.n = x, 0

        def move(self, by):
            if by > 2:
                self.x += by
            self.n += 1
            return self.x

    class Court:
        def __init__(self, x):
            self.balls, self.k, self.last = [Ball(x), Ball(2)], 0, Ball(1)

        def step(self, by):
            for ball in self.balls:
                ball.move(by)
                if ball.x > 7:
                    ball.x = 0
            return self.balls[0].x

        def play(self, by):
            one, other = self.balls[self.k], self.balls[1 - self.k]
            one.x += by
            if by > 3:
                self.last = Ball(by)
            other.n += one.x
            self.k = 1 - self.k
            return other.n
    """
    begins = (
        "p0 = [Ball(a), Ball(b), Ball(1)]\np1 = [[a, 1], [2, b]]\np2 = Court(b)",
        "p0 = [Ball(x) for x in range(a + 1)]\np1 = [[x, a] for x in range(b + 2)]\np2 = Court(1)",
    )
    values = (
        *("sum(x.x for x in p0)", "p0[0].n", "sum(map(sum, p1))", "len(p1[0])"),
        *("p2.step(@)", "p2.play(@)", "p2.balls[1].x", "p2.last.x", "p1[@ % 2][0]"),
    )
    conditions = ("p0[0].x > @", "p1[0][0] == @", "p2.k == 1")
    changes = (
        "for v in p0:\n    v.x += #",
        "for v in p0:\n    if v.x > @:\n        v.move(@)\n    t = (t * 3 + v.x) % 1009",
        "for i, v in enumerate(p0):\n    v.x = (v.x * 2 + i) % 50",
        "for v in p1:\n    v[0] = #",
        "for v in p1:\n    for i in range(2):\n        v[i] += @",
        "p3 = p0[@ % len(p0)]\np3.x += #\nt += p3.x",
        "p4 = p1[@ % 2]\np4[1] = #\nif @ > 2:\n    p4[0] += 1\nt += p1[0][1]",
        "p4 = p1[0]\np4.append(@)\nt += len(p1[0])",
        "p5 = p2.last\np5.x += @\nif # > 4:\n    p2.last = Ball(3)\nt += p2.last.x",
        "p5 = p2.balls[@ % 2]\np5.move(#)\np2.step(@)\nt += p5.x",
        "p3 = p0[0]\np0[0] = Ball(@)\np3.x += 1\nt += p0[0].x",
        "p3 = p0[0]\nif @ > 2:\n    p0.append(Ball(#))\np3.x += 1",
        "for v, w in zip(p0, p1):\n    v.x, w[0] = w[0], v.x",
        "for v in p0:\n    v.x += 1\n    if v.x > #:\n        break\nelse:\n    t += 1",
        "p6 = [v for v in p0 if v.x > @]\nfor v in p6:\n    t += v.x",
    )


class OwnItems(Feature):
    helpers = """
    class Cells:
        def __init__(self, x):
            self.cells, self.changes = [x, 0, 2], 0

        def __getitem__(self, k):
            return self.cells[k]

        def __setitem__(self, k, v):
            if k > 2:
                raise IndexError("no cell")
            self.cells[k] = v
            self.changes += 1

        def __delitem__(self, k):
            if self.cells[k]:
                self.cells[k] = 0

        def __len__(self):
            return len(self.cells) if self.cells[0] else 1
    """
    begins = ("y = Cells(a)", "y = Cells(b)\ny[1] = a")
    values = ("y[@ % 3]", "y.changes", "len(y)", "sum(y.cells)")
    conditions = ("y[1] > @", "y", "y[@ % 3] == y[0]")
    changes = ("y[@ % 3] = #", "y[1] += #", "del y[@ % 3]", "try:\n    y[@] = #\nexcept IndexError:\n    t += 1")


class With(Feature):
    helpers = """
    class Ledger:
        def __init__(self, most):
            self.most, self.total, self.opened = most, 0, 0

        def __enter__(self):
            self.opened += 1
            return self

        def __exit__(self, *error):
            self.total = self.total * 2 + 1

        def pay(self, v):
            if v > self.most:
                raise ValueError("too much")
            self.total += v
    """
    begins = ("u = Ledger(a)", "u = Ledger(3)")
    values = ("u.total % 97", "u.opened")
    conditions = ("u.total > @",)
    changes = (
        "try:\n    with u:\n        u.pay(@)\n        t += 1\nexcept ValueError:\n    t += 2",
        "with Ledger(a) as u1:\n    u1.most += @\n    t += u1.opened\nt += u1.total",
        "with contextlib.suppress(KeyError, ValueError):\n    u.pay(@)\n    t += {1: #}[@]",
        "with contextlib.nullcontext(#) as u2:\n    t += u2",
    )


class Neighbors(Feature):
    begins = ("e = {0: [1, 2], 1: [a], 2: [], 3: [0, b, 2]}", "e = [[a], [1, 2, b], [], [0]]")
    values = (
        "len(e[@ % 4])",
        "sum(e[@ % 4])",
        "sum(x * 2 for x in e[@ % 4])",
        "math.prod([x % 9 for x in e[@ % 4]][:5])",
    )
    conditions = ("@ in e[@ % 4]", "e[@ % 4]")
    changes = (
        "for x in e[@ % 4]:\n    t = (t * 3 + x) % 1009",
        "e[@ % 4].append(#)",
        "e1 = e[@ % 4]\nt += len(e1) + (e1[0] if e1 else #)",
    )


class OfMath(Feature):
    begins = ("h = [a, 1, 2]", "h = [i + 1 for i in range(b)]")
    values = (
        *(
            "math.prod([x % 9 for x in h][:5])",
            "math.gcd(*h)",
            "math.prod(range(1, @ % 9))",
            "math.lcm(*[i + 1 for i in range(b)])",
        ),
        "math.prod((x % 9 for x in h[:4] if x > @), start=# % 9)",
        "int(math.fsum(h))",
    )
    conditions = ("math.prod([x % 9 for x in h[:4]]) > @",)
    changes = ("h.append(#)", "if len(h) > 4:\n    h.pop()", "h = [*h, @][-4:]")


class OwnContainers(Feature):
    helpers = """
    class Stack(list):
        def __init__(self, items=()):
            super().__init__(items)
            self.pushed = 0

        def push(self, x):
            self.append(x)
            self.pushed += 1
            return len(self)

        def append(self, x):
            super().append(x)
            if len(self) > 5:
                self.pop(0)

        def top(self):
            return self[-1] if self else -1

    class Tally(dict):
        def __missing__(self, key):
            self[key] = key + 1
            return self[key]

        def seen(self, key):
            self[key] = self.get(key, 0) + 1
            return self[key]

    class Bounded(deque):
        limit = 3

        def put(self, x):
            if len(self) >= self.limit:
                self.popleft()
            self.append(x)
            return sum(self)
    """
    begins = (
        "stk, tal, bnd = Stack(), Tally(), Bounded()",
        "stk, tal, bnd = Stack([a, 2]), Tally({1: a}), Bounded([b])",
    )
    values = (
        *(
            "stk.top()",
            "stk.push(@)",
            "len(stk)",
            "sum(stk)",
            "stk.pushed",
            "(stk[0] if stk else 9)",
            "stk.count(@)",
            "len(stk[1:])",
        ),
        *(
            "tal[@]",
            "tal.seen(@)",
            "len(tal)",
            "sum(tal.values())",
            "tal.get(@, #)",
            "sum(tal)",
            "tal.setdefault(@, #)",
        ),
        *("bnd.put(#)", "len(bnd)", "sum(bnd)", "max([0, *bnd])", "sum([x * 2 for x in stk])", "isinstance(stk, list)"),
    )
    conditions = (
        "@ in stk",
        "stk",
        "len(bnd) > @",
        "@ in tal",
        "stk == [a, 2]",
        "stk.top() > @",
        "not tal",
        "isinstance(tal, Stack)",
    )
    changes = (
        *(
            "stk.push(#)",
            "stk.append(#)",
            "if stk:\n    stk.pop()",
            "stk[:] = [#, @]",
            "if stk:\n    stk[0] += #",
            "stk = Stack([#])",
        ),
        *("tal[@] = #", "tal[@] += #", "tal.pop(@, None)", "tal.seen(#)", "tal.update({@: 3})", "tal = Tally()"),
        *(
            "bnd.put(#)",
            "bnd.append(@)",
            "if bnd:\n    bnd.popleft()",
            "stk.extend(bnd)",
            "stk.sort()",
            "stk += [#]",
            "bnd.clear()",
        ),
        "for v in stk:\n    t = (t * 3 + v) % 1009",
        "for v in tal:\n    t = (t * 3 + v + tal[v]) % 1009",
        "try:\n    t += stk.pop() + bnd.popleft()\nexcept IndexError:\n    t += 1",
    )
