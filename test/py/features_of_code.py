"""More features of generated programs: order of evaluation, control flow that leaves blocks, functions, classes.

As in ``features.py``, ``#`` stands for an integer expression and ``@`` for a plain integer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from feature_writer import Feature, Lines, Writer, filled, indented


class Ordered(Feature):
    """Parts of expressions that change what other parts read, each evaluated once and in Python's order."""

    begins = (
        """oa = [a, 2, b]
od = 0
def tick(k=1):
    nonlocal od
    od += k
    oa[od % 3] += 1
    return od % 7
def noted(k):
    nonlocal od
    if k > 2:
        od = od * 2 % 50 + 1
    return k""",
    )
    values = (
        *("tick() + tick() * 3", "(tick(), od, tick(@))[1]", "oa[tick() % 3] - tick()", "sum(oa)", "od"),
        *("[tick(), od, noted(@)][@ % 3]", "max(tick(), od, noted(#))", "{tick(): noted(@)}.get(od % 7, 9)"),
        *("(od if noted(@) > 2 else tick())", "(noted(@) and tick() or od)", "od - noted(@) + od"),
        "noted(noted(@) + tick())",
    )
    conditions = (
        *("tick() < noted(@) < 5", "tick() > 3 or noted(@) > 2", "noted(@) == tick() and od > 3", "0 < tick() <= od"),
        "not (noted(@) > 2 and tick() > 1)",
    )
    changes = (
        "oa[tick() % 3] += noted(@)",
        "oa[tick() % 3] = tick(@)",
        "oe, oa[oe % 3] = noted(@), #",
        "oa[od % 3], od = od % 11, #",
        "od = oa[0] = tick()",
        "od += tick()",
        "od -= noted(@) + tick()",
        "od, oa[od % 3] = oa[od % 3], od",
        "t = (t + (od := tick(@)) * od) % 1009",
        "t = (t + any([noted(oi) > @ for oi in range(3)]) + od) % 1009",
        "t = (t + all(noted(oi) < @ for oi in range(3)) + od) % 1009",
        "t = (t + len([noted(oi) for oi in (1, @, 2)]) + od) % 1009",
    )


class Leaving(Feature):
    """``return``, ``break`` and ``continue`` in ``try``, ``finally`` and nested loops."""

    is_compound = True
    helpers = """
    def leaves(x, y):
        for i in range(4):
            try:
                if i == x:
                    continue
                if i == y:
                    return i + 10
                x += 1
            finally:
                x = x * 2 % 7
                if x == 5:
                    break
        else:
            return 40 + x
        return 20 + x

    def replaced(x):
        try:
            if x > 2:
                raise ValueError(x)
            return x
        except ValueError:
            return x + 10
        finally:
            if x == 4:
                return 30

    def searched(x, y):
        k = 0
        while True:
            k += 1
            try:
                if k * k > x + y:
                    break
                if k == 3:
                    raise KeyError(k)
            except KeyError:
                y -= 1
                continue
            else:
                y += k % 2
        for i in range(3):
            for j in range(3):
                if i * j == x:
                    break
            else:
                y += 1
                continue
            break
        else:
            y += 20
        return k * 10 + y % 10
    """
    values = ("leaves(@, @)", "replaced(#)", "searched(@ % 9, @)", "leaves(1, #)")

    def statement(self, w: Writer) -> Lines:
        body, last = w.statements(0), w.statements(0)
        leave = w.draw.choice(("break", "continue", "raise KeyError(k0)"))
        inner = ["try:", *indented(body), *indented([f"if {w.condition()}:", f"    {leave}"])]
        ends = ["finally:", *indented(last)]
        caught = ["except KeyError:", *indented(w.statements(0))]
        form = w.draw.randint(0, 3)
        if form == 0:
            return ["for k0 in range(3):", *indented([*inner, *caught, *ends])]
        if form == 1:
            return [
                "for k0 in (1, a, b):",
                *indented([*inner, *caught, "else:", *indented(last)]),
                "else:",
                "    t += 1",
            ]
        if form == 2:
            whole = ["while k0 > 0:", "    k0 -= 1", *indented([*inner, *ends])]
            return ["k0 = a", "try:", *indented(whole), *caught]
        return ["for k0 in range(2):", *indented(["try:", *indented([*inner, *ends]), *caught])]


class Parted(Feature):
    """Statements that stand in a function of their own, which assigns the variables around it."""

    is_compound = True
    values = ("(a + b) % 5",)

    def statement(self, w: Writer) -> Lines:
        name = f"part{w.draw.randint(0, 99)}"
        w.names.append("q9")
        body = w.statements(1)
        w.names.remove("q9")
        early = [f"if {w.condition()}:", "    return q9"] if w.draw.random() < 0.4 else []
        lines = [f"def {name}(q9):", *indented([OUTER, *early, *body, f"return {w.number()}"])]
        use = w.draw.choice(
            (
                f"t = (t * 3 + {name}(@)) % 1009",
                f"t += {name}(@) % 7",
                f"{name}(#)\n{name}(@)",
                f"t = ({name}(@) + t * {name}(2)) % 1009",
                f"for q8 in range(2):\n    t = (t + {name}(q8)) % 1009",
                f"if {name}(@) > 2:\n    t += 1",
            )
        )
        return [*lines, *filled(use, w).splitlines()]


OUTER = "nonlocal OUTER"
"""Stands for the declaration of all variables around a function that it assigns."""


class Returned(Feature):
    """Functions that functions return, keep in lists, and call by other names."""

    helpers = """
    def adder(k):
        def add(x):
            return x + k
        return add

    def chosen(k):
        if k > 2:
            return lambda x: x * 2
        return lambda x: x - k

    def twice(f, x):
        if x > 3:
            return f(x)
        return f(f(x))

    def applied(f, *rest, **more):
        return f(*rest, **more) % 50

    def scaled(by):
        def wrap(f):
            @functools.wraps(f)
            def inner(x, *rest):
                if x > 4:
                    return f(x - 1, *rest) * by
                return f(x, *rest)
            return inner
        return wrap

    @scaled(3)
    def measured(x, y=1):
        return x * 2 + y

    def composed(*fs):
        def inner(x):
            for f in fs:
                x = f(x)
            return x
        return inner

    TABLE = {0: lambda x: x + 1, 1: lambda x: x * 3, 2: abs}
    """
    begins = (
        "rf = lambda x: x + a\nrg = [adder(k) for k in (1, 2, 3)]\nrh = [abs, lambda x: x * 2, lambda x: -x]",
        "rf = adder(2)\nrg = [lambda x: x + 1, abs, chosen(3)]\nrh = rg[::-1]",
        """def rf(x):
    if x > 2:
        return x - a
    return x * 2
rg = [abs, adder(1), lambda x: x * x % 9]
rh = (abs, abs, chosen(1))""",
    )
    values = (
        *("rf(@)", "rg[0](#)", "rg[2](@)", "rh[1](@)", "sum(f(@) for f in rg)", "adder(@)(#)", "chosen(@)(#)"),
        *("twice(rf, @)", "twice(lambda x: x * 2 % 9, @)", "applied(lambda x, y=2: x * y, @)", "measured(@)"),
        *("applied(lambda *x: sum(x), @, #, 1)", "applied(lambda x, *, k: x - k, @, k=@)", "measured(#, @)"),
        *("composed(rf, abs)(#)", "TABLE[@ % 3](#)", "(rf if @ > 2 else rg[1])(@)"),
        "(lambda f, *x: f(*x))(max, @, #)",
    )
    conditions = ("rf(@) > @", "rg[0](1) == @", "twice(rf, 1) < @")
    changes = (
        "rf = adder(3)",
        "for f in rg:\n    t = (t * 2 + f(@)) % 1009",
        "for f, g in zip(rg, rh):\n    t = (t * 2 + f(g(@))) % 1009",
        "rk = @\nrm = lambda x: x + rk\nt += rm(1)\nrk += 2\nt = (t + rm(#)) % 1009",
        "for i in range(2):\n    rn = lambda: i * 2\n    t += rn()",
        "rp = []\nfor i in (1, @):\n    rp.append(adder(i))\nt += sum(f(2) for f in rp)",
    )


class Enclosed(Feature):
    """Functions in functions, to any depth, with ``nonlocal`` variables, recursion and changing containers."""

    helpers = """
    def counted(n):
        total = 0
        seen = []

        def visit(k):
            nonlocal total
            if k <= 0:
                return 0
            total += k
            seen.append(k)

            def inner(j):
                nonlocal total
                if j % 2:
                    total += 1
                    return visit(j - 1)
                return visit(j - 2) + 1

            return inner(k)

        found = visit(n)
        return (total * 7 + found + len(seen)) % 100

    def paths(n, k):
        found, path = [], []

        def go(i):
            if len(path) == k:
                found.append(sum(path))
                return
            for j in range(i, n):
                path.append(j)
                go(j + 1)
                path.pop()

        go(0)
        return len(found) * 10 + (max(found) if found else 0)
    """
    begins = (
        """ec, el = 0, [a]
def bumped(k):
    nonlocal ec
    def more(j):
        nonlocal ec
        ec += j
        el.append(ec)
        return ec % 5
    if k > 1:
        return more(k) + more(1)
    return more(2)""",
        """ec, el = a, [b, 1]
def bumped(k, m=2):
    nonlocal ec, el
    while k > 0:
        k -= m
        ec += 1
        if ec > 9:
            el = [ec]
            ec = 0
            return -1
    return ec""",
    )
    values = (
        "bumped(@)",
        "counted(@ % 6)",
        "paths(@ % 5, 2)",
        "ec",
        "sum(el) % 50",
        "len(el)",
        "bumped(@) - bumped(1)",
    )
    conditions = ("bumped(@) > 2", "ec > @", "el[-1] == ec")
    changes = ("ec = #", "bumped(#)", "el.append(@)", "t += ec * bumped(@)", "el = el[-2:]", "el[0] += bumped(2)")


class Yielding(Feature):
    """Generators: ``yield from``, early ends, endless ones, in classes, and what they read when they continue."""

    helpers = """
    def ups(x, y):
        while x < y:
            yield x
            x += 2
        if y > 4:
            return
        yield -y

    def both(x, y):
        yield x
        yield from ups(x, y)
        yield from (k * 2 for k in range(x))
        yield y

    def endless(x):
        k = x
        while True:
            yield k
            k = (k * 3 + 1) % 17

    def kept_odd(items):
        for x in items:
            if x % 2 == 0:
                continue
            yield x
            if x > 7:
                break

    class Steps:
        def __init__(self, x):
            self.x, self.items = x, [x, 2]

        def __iter__(self):
            for k in self.items:
                yield k
            if self.x > 2:
                yield self.x
            self.x += 1

        def down(self):
            while self.x > 0:
                yield self.x
                self.x -= 1
    """
    begins = ("ys, yl = Steps(a), [a, b, 3]", "ys, yl = Steps(3), [x for x in both(1, b)]")
    values = (
        *("sum(ups(@, 6))", "len(list(both(@, b)))", "sum(ys.down())", "max(both(@, @))", "ys.x"),
        *("sum(itertools.islice(endless(@), 3))", "sum(itertools.takewhile(lambda x: x < 11, endless(@)))"),
        *("sum(kept_odd(yl))", "sorted(both(a, @))[0]", "next(ups(@, 9), 5)"),
        "sum(i * x for i, x in enumerate(ups(1, #)))",
        "next((x for x in yl if x > @), -1)",
    )
    conditions = (
        "any(x > @ for x in ups(a, 7))",
        "@ in list(ups(0, b))",
    )
    changes = (
        "for x in both(@, b):\n    if x == 3:\n        continue\n    t = (t * 3 + x) % 1009",
        "for x in endless(@):\n    t = (t * 2 + x) % 1009\n    if x > 9 or t > 900:\n        break",
        """for i, x in enumerate(ups(@, 8), 2):
    t = (t + i * x) % 1009
    if x > #:
        break
else:
    t += 1""",
        "for x in ys:\n    t += x\n    ys.x += 1",
        "for x in both(1, #):\n    for y in ups(x, 5):\n        t = (t * 2 + y) % 1009",
        "yl = list(ups(@, 7))",
        "yl = [x + y for x in ups(0, @) for y in ups(x, 3)]",
        "yl.append(#)",
        "for x in ys.down():\n    t += x\n    if x == @:\n        break",
    )


class Matched(Feature):
    """Patterns: sequences of any length, mappings, classes by position, guards that fail after names are bound."""

    helpers = """
    @dataclasses.dataclass
    class Dot:
        x: int
        y: int = 0

    class Blob:
        __match_args__ = ("size", "kind")

        def __init__(self, size, kind):
            self.size, self.kind = size, kind

    def sorted_out(s):
        match s:
            case Dot(0, y) | Dot(y, 0):
                return y + 1
            case Dot(x, y) if x == y:
                return x * 2
            case Dot(x=x):
                return x + 20
            case Blob(size, 1) if size > 2:
                return size
            case Blob(kind=k):
                return k + 40
            case [x, *rest] if x > 1:
                return len(rest) + 50
            case [_, y]:
                return y + 60
            case []:
                return 70
            case {"a": x, **others}:
                return x + len(others)
            case int(x) if x > 3:
                return x
            case None:
                return 80
            case _:
                return 90
    """
    begins = ("ma, mb = Dot(a, b), Blob(a, 1)", "ma, mb = Dot(b), Blob(2, b)")
    values = (
        *("sorted_out(ma)", "sorted_out(mb)", "sorted_out([@, #])", "sorted_out((@,))", "sorted_out({'a': @, 'b': 1})"),
        *("sorted_out(@)", "sorted_out(Dot(@, @))", "sorted_out([])", "sorted_out((@, 1, 2))", "ma.x"),
        "sorted_out(None if @ > 2 else 5)",
    )
    conditions = ("sorted_out(ma) > @", "ma == Dot(@, b)")
    changes = (
        "ma.x = #",
        "mb.kind = @ % 3",
        "ma = Dot(@, #)",
        """match (@, #):
    case (0, y) | (y, 0):
        t += y
    case (x, y) if (mx := x - y) > 0:
        t += mx
    case (x, _):
        t = (t + x * 2) % 1009""",
        """match [a, @, b]:
    case [x, 0, *rest]:
        t += x + len(rest)
    case [x] if x > @:
        t += 7
    case _:
        t += 1""",
        "mx = #\nmatch @:\n    case mx if mx > 3:\n        t += 1\n    case 1 | 2 as my:\n        t += my\nt += mx",
        """for q in (1, (a, 2), [b], @):
    match q:
        case (x, y):
            t += x * y
        case [x]:
            t += x
        case x:
            t = (t * 2 + x) % 1009""",
    )


class Parameters(Feature):
    """Defaults, keywords, stars, and the order in which arguments are evaluated."""

    helpers = """
    def spread(x, /, y=2, *rest, k=3, **more):
        t = x * 3 + y
        for v in rest:
            t = t * 2 + v
        if k > 3:
            t += more.get("extra", 5)
        return (t + k + len(more)) % 100

    def forwarded(*items, **named):
        if len(items) > 1 and items[0] > 2:
            return spread(*items[1:], **named)
        return spread(*items, k=1)

    def tripled(x, y=None, z=()):
        if y is None:
            y = x * 2
        return x + y * 3 + sum(z)

    def collected(x, into=None):
        into = [] if into is None else into
        into.append(x)
        return len(into) + into[0]
    """
    begins = ("pd, pl = {'k': a, 'extra': b}, (a, b, 3)", "pd, pl = {'y': 1}, (b, 2)")
    values = (
        *("spread(@)", "spread(@, #)", "spread(*pl)", "spread(@, **pd)", "spread(*pl[:1], **pd, more=@)"),
        *("spread(k=@, y=#, *(a,))", "forwarded(@, 1)", "forwarded(@, #, k=5)", "forwarded(*pl, extra=1)"),
        *("tripled(@)", "tripled(@, z=(1, #))", "tripled(z=pl, x=@)", "collected(@)", "tripled(@, None)"),
        *("tripled(y=(py := @), x=py + 1)", "spread(*[1, @], 4, *pl)"),
    )
    conditions = ("spread(@) > @", "tripled(@) == tripled(a, b)")
    changes = ("pl = (#, *pl[1:])",)


class Shadowed(Feature):
    """Names of Python's functions that hold something else."""

    helpers = """
    def clipped(min, max, x):
        return min if x < min else max if x > max else x

    def held(list, sum=0):
        for len in list:
            sum += len
        return sum

    def len2(x):
        return len(x) + 2
    """
    begins = ("sum0 = sum\nrange0 = range(a)", "sum0 = lambda x: max(x, default=0)\nrange0 = [b, 1]")
    values = (
        *("clipped(1, 4, #)", "held([@, #])", "sum0(range0)", "len2(range0)", "sum0([@, 1])", "held(range0, @)"),
        "(lambda abs: abs + 1)(@)",
    )
    conditions = ("sum0(range0) > @",)
    changes = (
        "def id(x):\n    if x > 2:\n        return 7\n    return x\nt += id(@)",
        "abs = lambda x: x * 2\nt += abs(@)",
        "for int in range(3):\n    t += int",
        "t += [str for str in (a, @)][1]",
        "range0 = [#, @]",
    )


class Arithmetic(Feature):
    """Objects with operators: reflected, in place, of comparison, also of a derived class."""

    helpers = """
    @functools.total_ordering
    class Money:
        def __init__(self, x, y=1):
            self.x, self.y = x, y

        def __add__(self, other):
            if isinstance(other, Money):
                return Money(self.x + other.x, self.y)
            return Money(self.x + other, self.y + 1)

        def __radd__(self, other):
            return self + other

        def __sub__(self, other):
            return Money(self.x - other.x)

        def __mul__(self, k):
            if k > 3:
                return Money(self.x, self.y * 2)
            return Money(self.x * k)

        __rmul__ = __mul__

        def __iadd__(self, other):
            self.x += other
            self.y += 1
            return self

        def __neg__(self):
            return type(self)(-self.x, self.y)

        def __eq__(self, other):
            return self.x == other.x

        def __lt__(self, other):
            return (self.x, self.y) < (other.x, other.y)

        def __hash__(self):
            return 1

        def __mod__(self, k):
            return self.x % k

        def __int__(self):
            return self.x

        def __abs__(self):
            return Money(abs(self.x))

        def __pow__(self, k):
            return self.x ** 2 % k

        def __getattr__(self, name):
            if name == "half":
                return self.x // 2
            raise AttributeError(name)

    class Tip(Money):
        def __add__(self, other):
            return Tip(super().__add__(other).x + 1)

        def __rsub__(self, other):
            return other - self.x
    """
    begins = ("nm, nt = Money(a), Tip(b)", "nm, nt = Money(b, a), Tip(2)")
    values = (
        *(
            "(nm + @).x",
            "(@ + nm).y",
            "(nm * @).x",
            "(@ * nm).y",
            "(-nt).x",
            "(nm - Money(@)).x",
            "nt - nm * 2",
            "nm % 3",
        ),
        *(
            "(nt + nm).x",
            "(@ - nt)",
            "sum([nm, nt], nm).x",
            "max(nm, nt).y",
            "abs(nm - Money(@)).x",
            "sorted([nm, nt])[0].x",
        ),
        *("nm ** 7", "(nm + nt + @).y", "nm.half", "min((nm, nt, Money(@)), key=lambda q: q.x).x"),
    )
    conditions = ("nm < nt", "nm == nt", "nm >= Money(@)", "nm != Money(#)", "nt <= nm < Money(@)")
    changes = (
        "nm += @",
        "nm = nm + #",
        "nt = nt + 1",
        "nm = -nm",
        "nm, nt = nt + 0, Tip(nm.x)",
        "nm = nm * @",
        "for q in (nm, nt):\n    t = (t * 2 + q.x) % 1009",
    )


class Derived(Feature):
    """Several base classes, properties and class attributes that a subclass overrides, classes as values."""

    helpers = """
    class Named:
        weight = 2

        def __init__(self, x):
            self.x = x

        @property
        def heavy(self):
            if self.x > 3:
                return self.x * self.weight
            return self.weight

        def about(self):
            return self.heavy + self.extra()

        def extra(self):
            return 1

    class Counts:
        def count(self, k):
            self.n = getattr(self, "n", 0) + k
            return self.n

        def extra(self):
            return 5 + super().extra()

    class Whole(Counts, Named):
        weight = 3

        def __init__(self, x, y=1):
            super().__init__(x)
            self.n, self.y = 0, y

        @property
        def heavy(self):
            return self.x * self.weight + self.y

        @heavy.setter
        def heavy(self, v):
            self.x = v // self.weight

        @classmethod
        def of(cls, *items):
            return cls(sum(items))

        def grown(self, k):
            other = Whole(self.x + k, self.y)
            if other.heavy > 9:
                return self
            return other

    class Light(Whole):
        weight = 1

        def extra(self):
            if self.y > 2:
                return -1
            return super().extra() * 2

    KINDS = {"whole": Whole, "light": Light}
    """
    begins = ("hw, hl = Whole(a), Light(b, a)", "hw, hl = Light.of(a, 1), Whole(2, b)")
    values = (
        *("hw.about()", "hl.about()", "hw.heavy", "hl.extra()", "hw.count(@)", "hl.weight", "Light.of(@, #).about()"),
        *("KINDS['light'](@).heavy", "KINDS['whole' if @ > 2 else 'light'](@).x", "Whole.of(*(a, @)).y"),
        *("hw.grown(@).x", "type(hl).weight", "sum(k(@).weight for k in (Whole, Light))", "getattr(hw, 'x')"),
        "super(Whole, hl).extra()",
    )
    conditions = ("isinstance(hw, Light)", "hw.heavy > @", "hasattr(hw, 'n')", "issubclass(type(hl), Counts)")
    changes = (
        *("hw.heavy = #", "hl.heavy += @", "hl.y = #", "hw.x -= 1", "hl.count(#)", "hw.x, hl.x = hl.x, hw.x"),
        "for q in (hw, hl):\n    t = (t * 2 + q.about()) % 1009",
    )


class Stopping(Feature):
    """Iterators of the user's own, and exceptions that are handled, raised again, or replaced."""

    helpers = """
    class Countdown:
        def __init__(self, x):
            self.x = x

        def __iter__(self):
            return self

        def __next__(self):
            if self.x <= 0:
                raise StopIteration
            self.x -= 1
            return self.x

    class Failed(ValueError):
        def __init__(self, code, more=0):
            super().__init__(code)
            self.code, self.more = code, more

        @property
        def total(self):
            return self.code + self.more

    def risky(x):
        if x == 1:
            raise Failed(x, 5)
        if x == 3:
            raise KeyError(x)
        if x > 4:
            raise IndexError
        return x * 2

    def retried(x, tries=3):
        last = 0
        for k in range(tries):
            try:
                return risky(x - k) + k
            except Failed as error:
                last = error.total
            except KeyError:
                last = 20
        return last

    def translated(x):
        try:
            try:
                return risky(x)
            except LookupError as error:
                if x > 5:
                    raise
                raise Failed(7) from error
        except Failed as error:
            if error.code == 1:
                raise
            return error.total + 30
        finally:
            x = 0

    def looked(items, k):
        try:
            return items[k]
        except IndexError:
            return -1
        except KeyError:
            return -2
    """
    begins = ("sl = [a, 2]\nsd = {1: b, a: 3}",)
    values = (
        *("retried(@)", "looked(sl, @)", "looked(sd, @)", "(translated(@) if @ != 1 else 3)", "retried(#, 1 + @)"),
    )
    conditions = ("retried(@) > 5",)
    changes = (
        "for x in Countdown(#):\n    t = (t * 2 + x) % 1009\n    if x == 1:\n        break",
        """try:
    t += translated(@)
except Failed as error:
    t += error.total
except IndexError:
    t += 3""",
        """try:
    t += risky(@)
except (KeyError, IndexError):
    t += #
except ValueError as e:
    t += e.code""",
        "try:\n    sl[@] += risky(#)\nexcept Failed:\n    t += 2\nexcept LookupError:\n    t += 5",
        """try:
    try:
        t += risky(@)
    finally:
        t = (t * 2 + @) % 1009
except Exception:
    t += 1""",
        "try:\n    t += sl.index(@)\nexcept ValueError:\n    sl.append(@)",
        "try:\n    sx = sd[@]\nexcept KeyError:\n    sx = 7\nelse:\n    sx += 1\nt += sx",
        "try:\n    t, sl[0] = risky(@), risky(#)\nexcept Exception:\n    t += sl[0]",
    )


class Bound(Feature):
    """Variables after their loop or branch, deleted ones, and chains of conditions with values."""

    values = (
        *("(@ or # or 5)", "(@ and #)", "(0 if not @ else # if @ > 2 else 6)", "(1 < @ < 4) + 2"),
        *("(a, b)[a < b]", "[#, @][@ > 2]", "(@ == 2) + (# != 3)", "(a == b == @) * 3", "int(@ in (1, a, #))"),
        "(@ if a else # if b else 8)",
    )
    conditions = (
        "@ < # < @",
        "a < @ != b",
        "@ in (a, b) and not @ in (1, 2)",
        "(@ or b) and (a or @)",
        "(a, @) >= (b, 2)",
    )
    changes = (
        "for bv in range(3):\n    if bv == @:\n        break\nt += bv",
        "bw = @\nif bw > 2:\n    bx = bw\nelse:\n    bx = -1\n    bw = #\nt += bx * bw",
        "for bv in (1, 2, 3):\n    bv += @\n    t += bv\nt += bv",
        "by = bz = #\nby += 1\ndel by\nby = bz\nt += by",
        """bn = 0
while True:
    bn += 1
    if bn > min(@, 9):
        break
    if bn == 2:
        continue
    t += bn""",
        "bn = a\nwhile bn < 6 and bn != @:\n    bn += 2\nelse:\n    t += bn",
        """bf, bj = False, 0
for bi in range(3):
    for bj in range(bi, 3):
        if bi + bj == @:
            bf = True
            break
    if bf:
        break
t += bi * 10 + bj""",
        "if (bp := @) > 1 and (bq := bp + #) > 3:\n    t += bq",
        "t += sum(br for bi in (1, @, #) if (br := bi * 2) > 3)",
        "bs = [br for bi in range(3) if (br := bi + @) % 2]\nt += len(bs) * 10 + br",
        "if any((bt := bi * @) > 4 for bi in range(1, 4)):\n    t += bt",
        "if (bu := {1: 5, 2: 0}.get(@)) is not None and bu > 1:\n    t += bu",
    )


def with_outer_names(text: str) -> str:
    """A program in which functions declare the variables around them that they assign, where ``OUTER`` stands."""
    if OUTER not in text:
        return text
    tree = ast.parse(text)
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            _declare(statement, frozenset())
    return ast.unparse(tree)


def _declare(function: ast.FunctionDef, around: frozenset[str]) -> None:
    """Replace ``OUTER`` in a function and those inside it, given the local names of the functions around it."""
    parts = [part for statement in function.body for part in _own_parts(statement)]
    parameters = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    stored = {name for part in parts for name in _stored(part)} - parameters
    for part in parts:
        if isinstance(part, ast.FunctionDef):
            _declare(part, around | stored | parameters)
    if ast.unparse(function.body[0]) == OUTER:
        names = sorted(stored & around)
        function.body[0] = ast.Nonlocal(names) if names else ast.Pass()


def _own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """A node and its descendants, except those inside of functions and comprehensions, but for ``:=`` in these."""
    yield node
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        yield from (part.target for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
    elif not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _own_parts(child)


def _stored(node: ast.AST) -> Iterator[str]:
    """The names that a node itself binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
