"""Features of smooth programs: containers, generators, objects and functions of Python's library, that hold floats.

``smooth_programs.py`` draws from them. ``#`` stands for a floating-point expression, ``$`` for an integer.
"""

from __future__ import annotations

import textwrap

from feature_writer import Feature, Lines, Writer, filled


class Held(Feature):
    """A feature of smooth programs that this module defines."""

    conditions: tuple[str, ...] = ("x > y",)


class Heap(Held):
    begins = (
        "hp, hq = [x, y], [(x, 0), (y, 1)]\nheapq.heapify(hp)\nheapq.heapify(hq)",
        "hp, hq = [], [(0.3, n)]",
    )
    values = (
        "(hp[0] if hp else #)",
        "sum(heapq.nsmallest(2, hp))",
        "heapq.heappushpop(hp, #)",
        "(heapq.heappop(hp) if hp else #)",
        "hq[0][0]",
        "sum(e * i for e, i in hq)",
        "sum(heapq.nlargest(2, [x, y, #], key=lambda e: e * e))",
        "sum(e * 0.3 for e in heapq.merge(sorted(hp), [0.1, 0.2]))",
    )
    conditions = ("hp", "len(hq) > $", "hq[0][1] == $")
    changes = (
        "heapq.heappush(hp, #)",
        "heapq.heappush(hq, (#, $))",
        "if len(hq) > 1:\n    e, i = heapq.heappop(hq)\n    t = 0.5 * t + e * i",
        "while len(hp) > 2:\n    t = 0.5 * t + heapq.heappop(hp)",
        "heapq.heapreplace(hq, (#, $))",
    )


class Deque(Held):
    begins = ("dq = deque([x, 0.5])", "dq = deque()", "dq = deque([y], maxlen=3)")
    values = (
        "sum(dq)",
        "(dq[0] if dq else #)",
        "(dq.popleft() if dq else #)",
        "(dq[-1] if len(dq) > 1 else 0.2)",
        "(dq[$ % len(dq)] if dq else y)",
        "sum(e * i for i, e in enumerate(dq))",
    )
    conditions = ("dq", "len(dq) > $", "(dq and dq[0] > #)")
    changes = (
        "dq.append(#)",
        "dq.appendleft(#)",
        "if dq:\n    dq.pop()",
        "if dq:\n    t += dq.popleft()",
        "dq.rotate(1)",
        "dq.rotate($)",
        "dq.extend([#, x])",
        "if dq:\n    dq[-1] = #",
        "for e in dq:\n    t = 0.5 * t + jnp.sin(e)",
    )


class Sorted(Held):
    begins = ("ls = [x, y, 0.3]", "ls = [x * i for i in range(n)]", "ls = sorted([x, y])")
    values = (
        "sorted([x, y, #])[1]",
        "(sorted(ls)[0] if ls else #)",
        "(sorted(ls, key=lambda e: (e - 0.4) ** 2)[0] if ls else #)",
        "max([x, y, #], key=lambda e: -e * e)",
        "min((x, #), (y, 0.3), key=lambda e: e[1])[0]",
        "max(ls, default=#)",
        "bisect.bisect(sorted(ls), #) * y",
        "sum(e * i for i, e in enumerate(sorted(ls, reverse=True)))",
        "sorted([(x, 1), (y, 2), (#, $)])[0][1] * x",
        "sorted({2: x, 1: y, $: #}.items())[0][1]",
        "functools.reduce(lambda a, b: 0.5 * a * b + a, ls, #)",
        "math.fsum(ls)",
        "math.prod(ls)",
        "sum(itertools.accumulate(ls))",
        "sum(a * b for a, b in itertools.pairwise(ls))",
    )
    conditions = ("len(ls) > $", "any(e > # for e in ls)", "sorted(ls) == ls")
    changes = (
        "ls.sort()",
        "ls.sort(key=lambda e: -e)",
        "ls.append(#)",
        "bisect.insort(ls, #)",
        "ls = sorted(ls + [#], key=lambda e: jnp.cos(3 * e))",
        "for i, e in enumerate(sorted(ls)):\n    t = 0.5 * t + e * i",
    )


class Slices(Held):
    """A list whose length is an integer of the lane."""

    helpers = """
    def powers(u, k):
        if k > 3:
            return [u]
        return [u ** (i + 1) for i in range(k)]
    """
    begins = ("sl = [x * (i + 1) for i in range(n + 1)]", "sl = [0.5] * n", "sl = powers(y, n)")
    values = (
        "sum(sl[1:])",
        "sum(sl[:$])",
        "(sl[$ % len(sl)] if sl else #)",
        "(sl[-1] if sl else #)",
        "sum(sl[::-1][:2])",
        "sum(e * f for e, f in zip(sl, sl[1:]))",
        "sum([e * e for e in sl if e > #])",
        "sum(powers(#, $))",
        "len([e for e in sl if e > 0.1]) * x",
        "sum(e * i for i, e in enumerate(sl))",
    )
    conditions = ("len(sl) > $", "sl", "any(e > # for e in sl)")
    changes = (
        "sl[:$] = [#]",
        "del sl[1:]",
        "if sl:\n    sl[$ % len(sl)] *= #",
        "if sl:\n    sl[$ % len(sl)] = #",
        "sl = sl[1:] + [#]",
        "sl.extend(powers(#, 2))",
        "sl = [e * # for e in sl]",
        "sl = sl[::-1]",
        "for i in range(len(sl)):\n    sl[i] += 0.1 * i",
        "sl *= 2\nsl = sl[:5]",
        "sl = powers(#, $)",
    )


class Nested(Held):
    begins = (
        "nn = [[x, 0.5], [y]]",
        "nn = [[x * j for j in range(i)] for i in range(n + 1)]",
        "nn = [[] for _ in range(n + 1)]",
    )
    values = ("sum(sum(e) for e in nn)", "sum(nn[0])", "(nn[$ % len(nn)][-1] if nn[$ % len(nn)] else #)", "len(nn) * #")
    conditions = ("nn[0]", "len(nn[-1]) > $")
    changes = (
        "nn[$ % len(nn)].append(#)",
        "nn.append([#] * n)",
        "nn[0] = [#, x]",
        "for e in nn:\n    for f in e:\n        t = 0.7 * t + 0.3 * f",
        "if nn[0]:\n    nn[0][0] = #",
        "if nn[-1]:\n    t += nn[-1].pop()",
    )


class Rows(Held):
    """Containers of arrays."""

    begins = ("rw, rd = [v], {0: v * x}", "rw, rd = [], {}", "rw, rd = [v * i for i in range(n)], {n: v}")
    values = (
        "(rw[-1].sum() if rw else #)",
        "(rw[$ % len(rw)] @ v if rw else y)",
        "sum(jnp.sin(e)[0] for e in rw)",
        "rd.get($, v)[1]",
        "sum(e.sum() for e in rd.values())",
    )
    conditions = ("rw", "$ in rd", "len(rd) > $")
    changes = (
        "rw.append(v * #)",
        "rw.append(jnp.tanh(w @ v))",
        "rd[$] = v * #",
        "rd[$] = rd.get($, v) + jnp.sin(v)",
        "if rw:\n    rw[$ % len(rw)] = w @ rw[-1]",
        "if rw:\n    t += jnp.sin(rw.pop()).sum()",
        "for e in rw:\n    t = 0.5 * t + jnp.dot(e, v)",
    )


class Counts(Held):
    begins = ("dd = defaultdict(float)", "dd = defaultdict(float)\ndd[n] = x\ndd[1] += y")
    values = (
        "sum(dd.values())",
        "dd.get($, #)",
        "dd[$] * x",
        "max(dd.values(), default=#)",
        "sum(k * e for k, e in dd.items())",
        "sum({k: e * # for k, e in dd.items()}.values())",
        "sum(e for e in dd.values() if e > #)",
    )
    conditions = ("$ in dd", "len(dd) > $")
    changes = (
        "dd[$] += #",
        "dd[$] = dd.get($, 0.0) + #",
        "for i in range(n):\n    dd[i % 2] = dd[i % 2] * x + 0.1",
        "dd.pop($, None)",
        "dd.update({$: #, 1: x})",
        "for k in dd:\n    dd[k] *= 0.5",
    )


class Record(Held):
    helpers = """
    class Pair(NamedTuple):
        first: float
        second: float
        count: int = 0

        def swapped(self):
            return Pair(self.second, self.first, self.count + 1)

        def norm(self):
            if self.count > 1:
                return self.first
            return self.first * self.first + self.second

    @dataclasses.dataclass
    class State:
        at: float
        seen: list = dataclasses.field(default_factory=list)
        turns: int = 0

        def step(self, u):
            self.turns += 1
            if u > 0.2:
                self.seen.append(u)
                self.at = 0.5 * self.at + u
            return self.at

        def rest(self):
            while self.seen:
                self.at += 0.1 * self.seen.pop()
            return self.at

        def __add__(self, other):
            return State(self.at + other.at, self.seen + other.seen, self.turns)
    """
    begins = ("rc, st = Pair(x, y), State(x)", "rc, st = Pair(0.5, x, n), State(0.1, [x, y])")
    values = (
        "rc.first * rc.count",
        "rc.norm()",
        "rc[1]",
        "rc.swapped().norm()",
        "st.step(#)",
        "st.rest()",
        "st.at",
        "(st + State(#)).at",
        "len(st.seen) * x",
        "sum(st.seen)",
    )
    conditions = ("rc.first > #", "rc.count > $", "st.turns > $", "st.seen")
    changes = (
        "rc = rc._replace(first=#)",
        "rc = rc.swapped()",
        "rc = Pair(#, rc.first, $)",
        "st.step(#)",
        "st.at *= 0.5",
        "st = State(#, [x])",
        "st = dataclasses.replace(st, at=#)",
        "for _ in range(n):\n    st.step(0.5 * st.at + 0.1)",
    )


class Crowd(Held):
    """A list of objects."""

    helpers = """
    class Ball:
        def __init__(self, at, speed):
            self.at, self.speed = at, speed

        def move(self, u):
            self.at = self.at + u * self.speed
            if self.at > 1.0:
                self.speed = -0.5 * self.speed
            return self.at

    def moved(balls, u):
        for ball in balls:
            ball.move(u)
        return sum(ball.at for ball in balls)
    """
    begins = ("bs = [Ball(x, y), Ball(0.2, 0.3)]", "bs = [Ball(x * i, 0.5) for i in range(n + 1)]")
    values = (
        "moved(bs, #)",
        "bs[$ % len(bs)].at",
        "max(bs, key=lambda b: b.at).speed",
        "sum(b.at * b.speed for b in bs)",
        "sorted(bs, key=lambda b: b.speed)[0].at",
    )
    conditions = ("bs[0].at > #", "len(bs) > $")
    changes = (
        "moved(bs, #)",
        "bs[$ % len(bs)].move(#)",
        "bs.append(Ball(#, x))",
        "bs[0].at = #",
        "for b in bs:\n    t = 0.5 * t + b.at",
    )


class Kinds(Held):
    """Objects of several classes, which are known when the program is built; an enum and ``match``."""

    helpers = """
    class Mode(enum.Enum):
        SOFT = 1
        HARD = 2

    class Shape:
        def __init__(self, u):
            self.u = u

        def area(self):
            return self.u

    class Disc(Shape):
        def area(self):
            return 3 * self.u * self.u if self.u > 0.1 else super().area()

    class Bar(Shape):
        rate = 0.5

        def area(self):
            return self.rate * super().area()

    def judged(mode, u, k):
        match mode:
            case Mode.SOFT:
                return jnp.tanh(u)
            case Mode.HARD if k > 1:
                return u * u
        return u * k

    def matched(u, k):
        match (u, k):
            case (a, 0):
                return a * a
            case (a, 1 | 2) if a > 0.3:
                return jnp.sin(a)
            case (a, b):
                return a * b
    """
    begins = ("md = Mode.SOFT", "md = Mode.HARD if n > 2 else Mode.SOFT")
    values = (
        "judged(md, #, $)",
        "matched(#, $)",
        "md.value * #",
        "sum(s.area() for s in (Disc(#), Bar(x), Shape(y)))",
        "{Mode.SOFT: x, Mode.HARD: #}[md]",
        "(jnp.sin, jnp.cos)[$ % 2](#)",
    )
    conditions = ("md is Mode.SOFT", "md == Mode.HARD")
    changes = (
        "md = Mode.HARD",
        "md = Mode.SOFT if # > 0.2 else md",
        "match $:\n    case 0 | 3:\n        t += 0.1\n    case k0 if k0 > n:\n        t += k0 * x",
    )


class Generated(Held):
    helpers = """
    def halves(u, k):
        while k > 0:
            yield u
            u = 0.5 * u
            k -= 1

    def endless(u):
        while True:
            yield u
            u = jnp.cos(u)

    def chosen(items, u):
        for e in items:
            if e > u:
                yield e * e
        yield u

    class Steps:
        def __init__(self, u, k):
            self.u, self.k = u, k

        def __iter__(self):
            for i in range(self.k):
                yield self.u * i
    """
    values = (
        "sum(halves(#, $))",
        "sum(e * e for e in halves(#, n))",
        "max(halves(#, 3))",
        "sum(chosen([x, y, #], 0.2))",
        "sum(Steps(#, $))",
        "next(halves(#, 1))",
        "sum(itertools.islice(endless(#), n))",
        "sum(itertools.takewhile(lambda e: e > 0.2, halves(#, n)))",
        "len(list(chosen([x, y], #))) * x",
        "sorted(halves(#, 3))[1]",
    )
    changes = (
        "for e in halves(#, $):\n    t = 0.5 * t + jnp.sin(e)",
        "for e in endless(x):\n    t = 0.5 * t + e\n    if e > 0.7:\n        break",
        "for i, e in enumerate(chosen([x, #], 0.1)):\n    t += e * i",
        "for e, f in zip(halves(x, 3), (y, #)):\n    t = 0.7 * t + e * f",
    )


class Carried(Held):
    """Recursion that carries and changes containers."""

    helpers = """
    def paths(items, i, left):
        if i >= len(items):
            return left * left
        took = paths(items, i + 1, left - items[i])
        if left < 0.2:
            return took
        return 0.5 * took + paths(items, i + 1, left)

    def gather(found, u, k):
        if k <= 0:
            return
        found.append(u)
        if u > 0.3:
            gather(found, u * 0.6, k - 1)
        gather(found, u - 0.4, k - 2)

    def tree(u, k):
        if k < 1:
            return [u]
        return tree(u * 0.5, k - 1) + [u] + tree(u * u, k - 2)

    def climb(seen, k, u):
        if k in seen:
            return seen[k]
        if k < 2:
            return u * (k + 1)
        seen[k] = climb(seen, k - 1, u) * u + climb(seen, k - 2, u)
        return seen[k]

    def folded(items):
        if len(items) < 2:
            return items[0]
        middle = len(items) // 2
        return folded(items[:middle]) * jnp.cos(folded(items[middle:]))

    def gathered(u, k):
        found = []
        gather(found, u, k)
        return sum(e * i for i, e in enumerate(found))
    """
    values = (
        "paths([x, y, #], 0, 1.0)",
        "gathered(#, $)",
        "sum(tree(#, $ % 4))",
        "climb({}, $, #)",
        "folded([x, y, #, 0.5])",
        "folded([x] * (n + 1))",
        "max(tree(x, 2))",
    )
    changes = ("for e in tree(#, 2):\n    t = 0.5 * t + e",)


class Memo(Held):
    """Functions with a cache."""

    helpers = """
    @functools.lru_cache(maxsize=None)
    def chain(k, u):
        if k < 2:
            return u
        return 0.5 * chain(k - 1, u) + u * chain(k - 2, u)
    """
    begins = (
        """
        @functools.cache
        def memo(k):
            return x if k < 2 else 0.5 * memo(k - 1) + y * memo(k - 2)
        """,
        """
        mf = x
        @functools.cache
        def memo(k):
            if k < 1:
                return jnp.sin(mf)
            return memo(k - 1) * mf + 0.1
        """,
    )
    values = (
        "memo($)",
        "memo(n)",
        "memo(n) + memo(n + 1)",
        "chain($, float(x))",
        "chain(n, float(y))",
        "sum(memo(i) for i in range(n))",
    )

    def begin(self, w: Writer) -> Lines:
        return filled(textwrap.dedent(w.draw.choice(self.begins)).strip(), w).splitlines()


class Managed(Held):
    helpers = """
    class Scale:
        def __init__(self, u):
            self.u, self.left = u, 0

        def __enter__(self):
            self.u = self.u * 0.5
            return self

        def __exit__(self, *error):
            self.left += 1

    class Quiet:
        def __init__(self, log):
            self.log = log

        def __enter__(self):
            return self

        def __exit__(self, kind, value, trace):
            return True

    def tried(u, k):
        with contextlib.suppress(ValueError):
            if u > 0.5:
                raise ValueError("large")
            return u * u
        return u * k
    """
    values = ("tried(#, $)", "tried(x, n)")
    changes = (
        "with Scale(#) as sc:\n    t += sc.u\nt = t * sc.left",
        "with contextlib.suppress(ValueError):\n    t += #\n    if t > 0.4:\n        raise ValueError\n    t = t * x",
        "lg = Quiet([x])\nwith lg:\n    lg.log.append(#)\n    if y > 0:\n        raise KeyError\nt += sum(lg.log)",
    )


class Caught(Held):
    """Exceptions that operations raise, caught, with values that depend on the inputs."""

    helpers = """
    def quotient(u, k):
        try:
            return float(u) / k
        except ZeroDivisionError:
            return u * 3

    def rooted(u):
        try:
            return math.sqrt(u)
        except ValueError:
            return -u
    """
    begins = ("cd, cl = {0: x, 2: y}, [x, y]", "cd, cl = {n: x}, [0.5]")
    values = ("quotient(#, $)", "rooted(#)")
    changes = (
        "try:\n    t += cd[$]\nexcept KeyError:\n    t *= #",
        "try:\n    t += cl[$]\nexcept IndexError:\n    t = 0.5 * t + #",
        "try:\n    t += cl.pop()\nexcept IndexError:\n    cl.append(#)",
        "try:\n    t = 0.5 * t + float(x) / $\nexcept ZeroDivisionError:\n    t = #\nfinally:\n    t += 0.1",
        "try:\n    t = math.log(#)\nexcept ValueError:\n    t = 0.3 * x",
        "try:\n    e, f = cl\n    t += e * f\nexcept ValueError:\n    t -= #",
        "cd[$] = #",
        "cl.append(#)",
        "for i in range(n):\n    try:\n        t = 0.5 * t + cl[i]\n    except IndexError:\n        break",
    )


class Inner(Held):
    """Inner functions that share variables and containers."""

    begins = (
        """
        io, il = 0.5, []
        def note(u):
            nonlocal io
            io = 0.5 * io + u
            il.append(io)
            return len(il) * x
        """,
        """
        io, il = x, [y]
        def note(u):
            nonlocal io
            if u > 0.2:
                io, u = u, io
            il[0] = u
            return io * u
        """,
        """
        io, il = x, [y]
        def note(u, k=2):
            nonlocal io
            if k <= 0:
                return io
            io = io * u
            return note(u * 0.5, k - 1)
        """,
    )
    values = (
        "note(#)",
        "io",
        "sum(il)",
        "(lambda u: u * io)(#)",
        "sum(map(lambda e: e * y, il))",
    )
    conditions = ("io > #", "il")
    changes = ("note(#)", "t += note(#)", "il.append(#)", "io *= 0.5", "for _ in range(n):\n    note(0.4)")

    def begin(self, w: Writer) -> Lines:
        return filled(textwrap.dedent(w.draw.choice(self.begins)).strip(), w).splitlines()


class Again(Held):
    """A function whose values in between are computed again."""

    helpers = """
    @hb.checkpoint
    def stretch(u, k):
        while k > 0:
            u, k = u + 0.1 * jnp.sin(u), k - 1
        return u

    @hb.checkpoint
    def grown(u, k):
        items = [u]
        for i in range(k):
            items.append(items[-1] * 0.5 + i * u)
        return sum(items)
    """
    values = ("stretch(#, $)", "grown(#, $)", "stretch(x, n)", "jax.grad(lambda z: stretch(z, 2))(#)")
    changes = ("for i in range(n):\n    t = stretch(t, i)", "t = grown(t, n) * 0.5")


class Maths(Held):
    values = (
        "math.sin(#)",
        "math.hypot(#, 0.5)",
        "math.exp(-abs(#))",
        "math.dist((x, y), (#, 0.2))",
        "math.atan2(#, 1.5)",
        "math.copysign(#, y)",
        "math.fmod(#, 0.7)",
        "(#) % 0.7",
        "(#) // 0.7 * x",
        "divmod(#, 0.6)[1]",
        "round(#) * y",
        "math.floor(3 * x) * y",
        "int(3 * x) * y",
        "math.tanh(#)",
        "math.log1p((#) ** 2)",
        "math.cbrt(1.5 + x)",
        "math.erf(#)",
        "math.gamma(1.5 + abs(x))",
        "math.pow(0.5 + x, y)",
        "abs(complex(#, 0.5))",
        "np.linalg.norm(v)",
        "np.sqrt(1 + v @ v) * #",
        "np.clip(#, -0.4, 0.5)",
        "math.sqrt(x) * y",
        "math.modf(#)[0]",
        "math.ldexp(#, $)",
        "math.radians(#)",
        "pow(0.5 + x, 2)",
    )
