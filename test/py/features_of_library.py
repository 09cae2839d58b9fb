"""More features of generated programs: methods of Python's containers, its library, enums, tuples with names, floats.

As in ``features.py``, ``#`` stands for an integer expression and ``@`` for a plain integer.
"""

from __future__ import annotations

from feature_writer import Feature


class Steps(Feature):
    """Slices with steps, read, assigned and deleted, and methods of lists."""

    begins = ("sa = [a, 1, b, 3, 5]", "sa = [x * 2 for x in range(a + 2)]", "sa = [b] * 4")
    values = (
        *("sum(sa[::2])", "sum(sa[::-2])", "len(sa[@::2])", "sum(sa[-2:])", "sum(sa[:-@])", "len(sa[@:@])"),
        *("sum(sa[@:0:-1])", "sa[::-1][0] if sa else 3", "sum(sa[-@:])", "len(sa * 2)", "sum(sa[1:-1])"),
        *(
            "sorted(sa, reverse=True)[0] if sa else 4",
            "sum(sa[a:b])",
            "sa.index(sa[-1]) if sa else 5",
            "len(sa + sa[:1])",
        ),
        "sum(sa[len(sa) // 2 :])",
    )
    conditions = ("sa[::2] == sa[1::2]", "@ in sa[1:]", "sa[:2] == [@, 1]", "sa < [#, 2]", "sa[-1:] == [3]")
    changes = (
        "sa[::2] = [#] * len(sa[::2])",
        "sa[1::2] = [x + 1 for x in sa[1::2]]",
        "del sa[::2]",
        "del sa[@:]",
        "del sa[:1]",
        "if sa:\n    del sa[@ % len(sa)]",
        "sa[@:@] = [#, @]",
        "sa[:0] = [#]",
        "sa[len(sa):] = [@]",
        "sa.extend(x for x in range(@) if x != 1)",
        "sa.insert(@, #)",
        "sa.insert(-1, @)",
        "sa = sa[::-1]",
        "sa.sort(key=lambda x: -x)",
        "sa.sort(key=lambda x: (x % 3, x), reverse=True)",
        "sa = sa[-3:]",
        "if sa:\n    t += sa.pop(@ % len(sa))",
        "if len(sa) > 2:\n    t += sa.pop(-2)",
        "sb = sa.copy()\nsb.append(#)\nt += len(sb) - len(sa)",
        "if sa:\n    sa[-1] += @",
        "if sa:\n    sa[0], sa[-1] = sa[-1], sa[0]",
        "sa.clear()",
        "sb = sa = [#, @]\nt += sb[0]",
    )


class Chosen(Feature):
    """Comprehensions of all kinds, nested ones, with conditions, over containers that grow."""

    begins = ("ca, cb, cc = [a, b, 2], {1: a, 2: b}, {a, 3}", "ca, cb, cc = list(range(a)), {}, set()")
    values = (
        *("len({x % 3 for x in ca})", "sum({x: x * 2 for x in ca}.values())", "sum({x % 2: x for x in ca}.values())"),
        *("len([x for y in (ca, [@]) for x in y if x > 1])", "sum(sum([x * y for x in ca]) for y in range(@))"),
        *("len({k: v for k, v in cb.items() if v > @})", "sum(k * v for k, v in cb.items() if k != @)"),
        *(
            "max([x for x in ca if x != @], default=#)",
            "sum([[x, @][x > 1] for x in ca])",
            "len({(x, x % 2) for x in ca})",
        ),
        *("sum(x for x in ca if x in cc)", "sum(cb.get(x, 4) for x in ca)", "len({v: k for k, v in cb.items()})"),
        *("sum([x if x > @ else -x for x in ca if x])", "sum(len(x) for x in [[y] * y for y in ca])"),
        "[y for x in ca for y in (x, x + 1)][-1] if ca else 6",
    )
    conditions = (
        "{x for x in ca} == cc",
        "any(x in cb for x in ca)",
        "not [x for x in ca if x > @]",
    )
    changes = (
        "ca = [x + # for x in ca if x < 50]",
        "cb = {x: x % 5 for x in ca}",
        "cb = {k: v + @ for k, v in cb.items() if v < 40}",
        "cc = {x % 7 for x in ca if x != @}",
        "cc = {x for x in range(#) if x % 2}",
        "cb[@] = #",
        "cc |= {x for x in ca}",
        "cb = {**cb, @: #}",
        "cb |= {1: @}",
        "ca = [max(x, y) for x, y in zip(ca, ca[1:])] + [@]",
        "ca = [[x, y] for x in range(2) for y in ca[:2]][-1] if ca else [#]",
        "cd = [[x * y for x in range(3)] for y in range(@)]\nt += sum(map(sum, cd))",
    )


class Orders(Feature):
    """The order of dicts, and their methods."""

    begins = ("ra = {3: a, 1: b}", "ra = {}", "ra = {a: 1, b: 2, 5: 3}")
    values = (
        *("list(ra)[0] if ra else 3", "[*ra.values()][-1] if ra else 4", "sum(i * k for i, k in enumerate(ra))"),
        *("min(ra, key=ra.get) if ra else 2", "max(ra.items(), key=lambda x: x[1])[0] if ra else 2", "ra.pop(@, #)"),
        *(
            "sorted(ra)[0] if ra else 1",
            "sum(k * v for k, v in sorted(ra.items()))",
            "ra.setdefault(@, #)",
            "ra.get(@, -1)",
        ),
        *("max(ra, default=#)", "sum(k for k, v in ra.items() if v > 1)", "list(ra.items())[-1][1] if ra else 7"),
        *("len(dict(ra))", "sum(dict(zip(ra, range(3))).values())", "next(iter(ra), 8)"),
        "sorted(ra, key=lambda k: (ra[k], k))[0] if ra else 9",
    )
    conditions = ("@ in ra", "ra.get(@) == 2", "list(ra) == [3, 1]", "ra and max(ra) > 2", "# in ra.values()")
    changes = (
        "ra[@] = #",
        "ra[@] = ra.pop(@, 4)",
        "if @ in ra:\n    del ra[@]",
        "ra.pop(3, None)\nra[3] = #",
        "for k in sorted(ra):\n    t = (t * 3 + k * ra[k]) % 1009",
        "for k in list(ra):\n    if ra[k] > 3:\n        del ra[k]",
        "for k in list(ra):\n    if k > @:\n        ra[k - 1] = ra.pop(k)",
        "for i, (k, v) in enumerate(ra.items()):\n    t = (t * 2 + i * k + v) % 1009\n    ra[k] = v + 1",
        "ra.update({@: #, 2: 1})",
        "if ra:\n    rk, rv = ra.popitem()\n    t += rk * rv",
        "ra.clear()",
        "rb = ra.copy()\nrb[@] = 1\nt += len(ra) - len(rb)",
        "ra[@] = ra.get(@, 0) + #",
        "for k, v in reversed(ra.items()):\n    t = (t * 3 + k - v) % 1009",
        "try:\n    t += ra[@]\nexcept KeyError:\n    ra[1] = @",
    )


class Sets(Feature):
    """Operators and methods of sets."""

    begins = ("ea, eb = {a, 1}, {b, 2, 3}", "ea, eb = set(), set(range(a))", "ea, eb = frozenset({a, b}), {1}")
    values = (
        *(
            "len(ea | eb)",
            "sum(ea & eb)",
            "len(ea - {@})",
            "sum(ea ^ eb)",
            "max(ea, default=#)",
            "sorted(eb)[0] if eb else 5",
        ),
        *(
            "sum(sorted(ea | {@}))",
            "len(ea.intersection(eb))",
            "sum(x * 2 for x in sorted(eb))",
        ),
        "len({x % 3 for x in sorted(eb)})",
    )
    conditions = (
        "ea == eb",
        "@ not in ea - eb",
    )
    changes = (
        "ea = ea | {#}",
        "eb.add(@)",
        "eb -= {@}",
        "eb &= {1, 2, @}",
        "eb ^= {@, #}",
        "eb.update([@, #])",
        "eb = ea ^ {@}",
        "ea, eb = set(ea), set(ea) & set(eb)",
        "for x in sorted(eb):\n    t = (t * 3 + x) % 1009",
        "if @ in eb:\n    eb.remove(@ if @ in eb else min(eb))",
        "ec0 = set(eb)\nec0.add(9)\nt += len(ec0) - len(eb)",
        "eb.discard(max(eb, default=0))",
        "eb.difference_update({@})",
    )


class Deques(Feature):
    begins = ("qa = deque([a, b, 1], maxlen=4)", "qa = deque(range(a))", "qa = deque([1, 2], 2)")
    values = (
        *(
            "len(qa)",
            "sum(qa)",
            "qa[0] if qa else 3",
            "qa[-1] if qa else 4",
            "qa.count(@)",
            "list(qa)[-1] if qa else 5",
        ),
        *(
            "max(qa, default=@)",
            "sum(i * x for i, x in enumerate(qa))",
            "qa.popleft() if qa else #",
            "qa.pop() if qa else @",
        ),
        "qa[@ % len(qa)] if qa else 2",
    )
    conditions = ("@ in qa", "qa", "len(qa) == 4", "list(qa) == [1, 2]", "not qa or qa[0] > @")
    changes = (
        *(
            "qa.rotate(-1)",
            "qa.rotate(@)",
            "qa.rotate(2)",
            "qa.extendleft([@, #])",
            "qa.extend(range(@))",
            "qa.appendleft(#)",
        ),
        *("qa.append(#)", "qa.reverse()", "qa.clear()", "if qa:\n    qa[0] = #", "if qa:\n    qa[-1] += @"),
        "if qa:\n    qa[@ % len(qa)], qa[0] = qa[0], #",
        "while qa and qa[0] < @:\n    t = (t * 2 + qa.popleft()) % 1009",
        "for x in qa:\n    t = (t * 3 + x) % 1009",
        "for x in list(qa):\n    if x % 2:\n        qa.append(x + 1)",
        "if @ in qa:\n    qa.remove(@ if @ in qa else qa[0])",
        "qb = qa.copy()\nqb.append(@)\nt += len(qb) + sum(qb)",
        "qa = deque(sorted(qa), maxlen=3)",
    )


class Heaps(Feature):
    """``heapq`` and ``bisect``."""

    begins = (
        "ha = [b, a, 2]\nheapq.heapify(ha)\nhb0 = [(a, 1), (b, 2)]\nheapq.heapify(hb0)\nhc = [1, 3, 3, 5]",
        "ha, hb0, hc = [], [(b, a)], sorted([a, b, 2])",
    )
    values = (
        *(
            "ha[0] if ha else 9",
            "heapq.heappop(ha) if ha else #",
            "heapq.heappushpop(ha, #)",
            "sum(heapq.nsmallest(2, ha))",
        ),
        *("sum(heapq.nlargest(2, ha))", "hb0[0][1] if hb0 else 3", "heapq.heappop(hb0)[0] if hb0 else 4"),
        *(
            "bisect.bisect(hc, @)",
            "bisect.bisect_left(hc, @)",
            "bisect.bisect_right(hc, #, 1)",
            "sum(heapq.merge(hc, [2, @]))",
        ),
        *("heapq.nsmallest(1, ha, key=lambda x: -x)[0] if ha else 5", "sum(ha)", "len(hb0)"),
        "bisect.bisect_left(hc, @, key=lambda x: x)",
    )
    conditions = ("ha and ha[0] > @", "len(hb0) > @", "hc[bisect.bisect_left(hc, 3) % len(hc)] == 3")
    changes = (
        *("heapq.heappush(ha, #)", "heapq.heappush(hb0, (#, @))", "bisect.insort(hc, #)", "bisect.insort_left(hc, @)"),
        "if ha:\n    t += heapq.heapreplace(ha, #)",
        "while ha and ha[0] < @:\n    t = (t * 2 + heapq.heappop(ha)) % 1009",
        "if hb0:\n    hk, hv = heapq.heappop(hb0)\n    heapq.heappush(hb0, (hk + @, hv))",
        "if hb0:\n    hk, _ = heapq.heappushpop(hb0, (@, #))\n    t += hk",
        "if len(hc) > 2:\n    hc.pop(bisect.bisect_left(hc, hc[1]))",
        "ha = heapq.nsmallest(3, ha + [@])",
    )


class Counts(Feature):
    """Arithmetic of ``Counter``, ``defaultdict`` and ``OrderedDict``."""

    begins = (
        """na, nb = Counter([a, b, 1]), Counter([1, 1, a])
nd = defaultdict(list)
no = OrderedDict([(1, a), (3, b)])""",
        "na, nb = Counter(), Counter([2, 2, b])\nnd = defaultdict(lambda: 3)\nno = OrderedDict()",
    )
    values = (
        *(
            "na.most_common(1)[0][1] if na else 3",
            "na.total()",
            "na[@] * 2",
            "max(na, key=na.get) if na else 4",
        ),
        *("len(nd)", "len(no)", "list(no)[0] if no else 2", "sum(k * v for k, v in no.items())", "sum(na.values())"),
        "na.most_common()[-1][0] if na else 6",
    )
    conditions = ("@ in na", "na[@] > nb[@]", "@ in nd", "@ in no")
    changes = (
        *("na[@] += 1", "na.update([@, #])", "na[@] = 0"),
        *("del na[@]", "na.subtract([@])", "no[@] = #"),
        "if 3 in no:\n    no.move_to_end(3)",
        "if 1 in no:\n    no.move_to_end(1, last=False)",
        "if no:\n    t += no.popitem(last=False)[1]",
        "for k, v in no.items():\n    t = (t * 3 + k + v) % 1009",
        "for k, v in na.items():\n    t = (t * 3 + k * v) % 1009",
        "for k, v in na.most_common(2):\n    t = (t * 3 + v) % 1009",
        "for k in sorted(na):\n    na[k] -= 1",
    )


class Groups(Feature):
    """``defaultdict`` of lists, sets and counters, and lists of dicts."""

    begins = (
        "ga, gb, gc = defaultdict(list), defaultdict(set), [{}, {1: a}]",
        "ga, gb, gc = {1: [a]}, {}, [{b: 1}, {2: 2}]",
    )
    values = (
        *(
            "len(ga)",
            "sum(len(v) for v in ga.values())",
            "sum(map(sum, ga.values()))",
            "len(gb)",
            "sum(len(x) for x in gc)",
        ),
        *(
            "gc[@ % 2].get(@, 3)",
            "max((len(v) for v in ga.values()), default=#)",
            "sum(len(ga.get(k, ())) * k for k in range(3))",
        ),
    )
    conditions = ("@ in ga", "1 in gc[@ % 2]", "ga.get(1) == [a]")
    changes = (
        "ga.setdefault(@, []).append(#)",
        "gb.setdefault(@ % 3, set()).add(#)",
        "gc[@ % 2][@] = #",
        "gc[0][1] = gc[0].get(1, 0) + @",
        "for k, v in ga.items():\n    v.append(k)\n    t += len(v)",
        "for v in ga.values():\n    if len(v) > 1:\n        t = (t * 2 + v.pop()) % 1009",
        "for x in gc:\n    x[3] = #\n    t += len(x)",
        "ga[@] = [#, 1]",
        "gc[0], gc[1] = gc[1], gc[0]",
        "gd = ga.get(@, [])\nt += len(gd)",
        "if 1 in ga:\n    ga[1] += [@]",
        "ga.pop(@, None)",
    )


class Named(Feature):
    """NamedTuples, enums with values that are compared and looked up, flags."""

    helpers = """
    class Spot(NamedTuple):
        x: int
        y: int = 3

        def moved(self, by):
            if by > 2:
                return self._replace(x=self.x + by)
            return Spot(self.y, self.x)

        @property
        def area(self):
            return self.x * self.y

    Pair2 = namedtuple("Pair2", "left right", defaults=(4,))

    class Level(enum.IntEnum):
        LOW = 1
        MID = 2
        HIGH = 4

        def up(self):
            if self == Level.HIGH:
                return Level.LOW
            return Level(self * 2)

    class Way(enum.Enum):
        N = (0, 1)
        E = (1, 0)
        S = (0, -1)

        @property
        def dx(self):
            return self.value[0]

        def turned(self):
            return {Way.N: Way.E, Way.E: Way.S}.get(self, Way.N)
    """
    begins = (
        "va, vb, vc, vd = Spot(a, b), Pair2(a), Level.MID, Way.N",
        "va, vb, vc, vd = Spot(b), Pair2(1, b), Level.LOW, Way.S if b > 1 else Way.E",
    )
    values = (
        *(
            "va.x",
            "va[@ % 2]",
            "va.area",
            "va.moved(@).x",
            "sum(va)",
            "va._replace(y=@).area",
            "max(va, Spot(@)).y",
            "len(va)",
        ),
        *("vb.left + vb.right", "sum(Pair2(*(a, @)))", "vb._asdict()['left']", "vc + 1", "vc.value", "vc.up().value"),
        *(
            "vd.dx",
            "vd.value[1] + 2",
            "vd.turned().dx",
            "len(Way)",
            "sum(x.dx for x in Way)",
            "va.index(va.y)",
        ),
        *("[*Way].index(vd)", "sum(Level) - vc", "Spot._make((@, 1)).area", "va.count(@)"),
    )
    conditions = (
        "va == (a, b)",
        "va < Spot(@, 2)",
        "vc > 1",
        "vc is Level.MID",
        "vd is Way.N",
        "vd in (Way.S, Way.E)",
        "vb == va",
        "vc == @",
    )
    changes = (
        *("va = va._replace(x=#)", "va = va.moved(#)", "va = Spot(va.y, @)", "vb = Pair2(#, *va[:1])"),
        *(
            "vd = vd.turned()",
            "x, y = va\nt += x * y",
            "va, vb = Spot(*vb), Pair2(*va)",
            "vc = Level.HIGH",
        ),
        "for w in Way:\n    if w is vd:\n        t += 3\n    t = (t * 2 + w.dx) % 1009",
        "for x in va:\n    t = (t * 3 + x) % 1009",
        "match vd:\n    case Way.N:\n        t += 1\n    case Way.E | Way.S:\n        vd = Way.N",
        """match va:
    case Spot(0, y):
        t += y
    case Spot(x=x) if x > @:
        t += x
    case (x, y):
        t += x - y""",
        "vs = [va, Spot(@)]\nvs[0] = vs[1]\nt += vs[0].x",
    )


class Tools(Feature):
    """More of ``itertools``, ``functools`` and ``operator``."""

    begins = ("ia = [x for x in (a, b, 3, 1) if x < 9]", "ia = [x % 3 for x in range(a + 2)]")
    values = (
        *(
            "sum(itertools.accumulate(ia, initial=@))",
            "max(itertools.accumulate(ia, max), default=2)",
            "sum(len(list(g)) * k for k, g in itertools.groupby(ia))",
        ),
        *("sum(itertools.takewhile(lambda x: x != @, ia))", "sum(itertools.dropwhile(lambda x: x < @, ia))"),
        *("sum(x * y for x, y in itertools.zip_longest(ia, [1, @], fillvalue=2))",),
        *("sum(x * y for x, y in itertools.product((1, @), repeat=2))",),
        *("sum(itertools.starmap(lambda x, y: x - y, zip(ia, range(9))))", "sum(itertools.compress(ia, [1, 0, @]))"),
        *(
            "sum(itertools.filterfalse(lambda x: x > @, ia))",
            "sum(itertools.islice(ia, 1, 3))",
            "sum(itertools.islice(itertools.count(@), 3))",
        ),
        *(
            "sum(x * i for i, x in zip(itertools.count(1), ia))",
            "functools.reduce(operator.mul, [x % 3 + 1 for x in ia], 1) % 97",
        ),
        *(
            "sum(map(operator.add, ia, ia[::-1]))",
            "sum(map(lambda x, y: x * y, ia, range(@)))",
            "sum(itertools.repeat(@, 3))",
        ),
        "sum(sorted(ia, key=operator.neg)[:1])",
        *("sum(zip(*[(a, 1), (b, @)]).__next__())", "sum(sum(p) for p in itertools.combinations(ia, 2))"),
        "sum(x for x, _ in itertools.groupby(sorted(ia)))",
    )
    conditions = (
        "any(map(operator.eq, ia, ia[1:]))",
        "all(x <= y for x, y in itertools.pairwise(ia))",
        "list(map(abs, ia)) == ia",
    )
    changes = (
        "ia = list(itertools.accumulate(ia[:4], lambda x, y: (x * 2 + y) % 50))",
        "ia = list(map(lambda x: x % 4 + #, ia))[:5]",
        "ia = list(filter(lambda x: x != @, ia)) or [#]",
        "for x, y in itertools.product(ia[:2], (1, @)):\n    t = (t * 2 + x * y) % 1009",
        "for k, g in itertools.groupby(ia, key=lambda x: x > @):\n    t = (t * 3 + sum(g) + k) % 1009",
        "for x, y in itertools.zip_longest(ia, ia[1:], fillvalue=@):\n    t = (t * 3 + x - y) % 1009",
        "for x in itertools.chain(ia, (@, 2)):\n    t = (t * 2 + x) % 1009\n    if x == #:\n        break",
        "for x, y in itertools.combinations(ia, 2):\n    if x > y:\n        t += 1",
        "for x in map(lambda v: v * 2, ia):\n    t += x",
        "ia.append(#)",
    )


class Ties(Feature):
    """Equal keys: which of the items ``min``, ``max`` and ``sorted`` take, and in which order."""

    begins = (
        "ta = [(a, 1), (b, 2), (a, 3)]",
        "ta = [(x % 2, x) for x in range(a + 1)]",
        "ta = [(1, b), (1, a), (0, 3)]",
    )
    values = (
        *("max(ta, key=lambda p: p[0])[1]", "min(ta, key=lambda p: p[0])[1]", "sorted(ta, key=lambda p: p[0])[0][1]"),
        *("sorted(ta, key=lambda p: -p[0])[-1][1]", "sorted(ta, key=lambda p: p[0], reverse=True)[0][1]", "max(ta)[1]"),
        *("min(ta)[1]", "sorted(ta)[-1][0]", "sum(i * p[1] for i, p in enumerate(sorted(ta, key=lambda p: p[0] > 1)))"),
        *(
            "max(range(5), key=lambda i: (i - @) ** 2)",
            "min((@, 1), (2, @), key=lambda p: p[0])[1]",
            "max(#, @, key=lambda x: x % 2)",
        ),
        *(
            "min(range(len(ta)), key=lambda i: ta[i][0])",
            "max(enumerate(ta), key=lambda x: x[1][0])[0]",
            "sorted(p[::-1] for p in ta)[0][0]",
        ),
    )
    conditions = ("sorted(ta) == ta", "max(ta) == (a, 3)", "(1, @) in ta")
    changes = (
        "ta.sort()",
        "ta.sort(key=lambda p: p[0])",
        "ta.sort(key=lambda p: p[1] % 2, reverse=True)",
        "ta.append((#, @))",
        "ta = sorted(ta, key=lambda p: (p[0], -p[1]))",
        "ta = ta[::-1]",
        "for x, y in ta:\n    t = (t * 3 + x * 2 + y) % 1009",
        "ta[0] = (@, #)",
        "x, y = max(ta, key=lambda p: p[1])\nt += x * y",
    )


class Fractions(Feature):
    """Floats that 32 bits hold exactly, infinities, NaNs, and their conversion to integers."""

    helpers = """
    def rated(x, y):
        if y == 0:
            return math.inf if x > 0 else -math.inf if x < 0 else math.nan
        return x / 2 + y * 0.25

    def placed(x):
        if x != x:
            return 40
        if math.isinf(x):
            return 41 if x > 0 else 42
        return int(x * 4) % 40
    """
    begins = ("fa, fb = a * 0.5, float('inf')", "fa, fb = -1.5, b / 4", "fa, fb = float(a), float('-inf')")
    values = (
        *(
            "placed(fa)",
            "placed(fb)",
            "placed(rated(@, @ % 3))",
            "placed(max(fa, fb))",
            "placed(min(fb, @ / 2))",
            "int(fa) % 9",
        ),
        *(
            "math.floor(fa) % 9",
            "math.ceil(fa - @) % 9",
            "round(fa) % 9",
            "placed(fa // 2)",
            "placed(fa % 3)",
            "placed(-fa // 1)",
        ),
        *("placed(abs(fa - @))", "placed(sum([fa, 0.25, @]))", "placed(fb - fb)", "placed(fa * 0.0)", "int(-fa) % 7"),
        *(
            "placed(sorted([fa, fb, 1.0])[1])",
            "placed((fa + 1) ** 2)",
            "int(math.copysign(3, fa)) % 7",
            "placed(divmod(fa, 2)[1])",
        ),
        *(
            "placed(-fa % 1.5)",
            "round(# + 0.5) % 9",
            "math.trunc(-fa - 0.5) % 9",
            "placed(float(@ > 2))",
            "placed(True + fa)",
        ),
        "(7 if fa.is_integer() else 8)",
    )
    conditions = (
        "fa < fb",
        "fb == math.inf",
        "fa != fa",
        "fa == @ / 2",
        "math.isfinite(fb)",
        "fa",
        "0.5 <= fa < fb",
        "fa in (1.5, 2.5)",
        "not fa < @",
    )
    changes = (
        *("fa += @ * 0.5", "fa = -fa", "fa, fb = fb, fa", "fa = rated(#, @ % 2) / 4", "fa = max(min(fa, 20.0), -20.0)"),
        *(
            "fb = float(@)",
            "fa = fa if math.isfinite(fa) else 0.5",
            "fa = # / 4",
            "fa = fa * 0.5 if abs(fa) < 1e6 else 1.0",
            "fb -= fa",
        ),
        "if fb > 5:\n    fb = float('nan') if @ > 2 else 2.5",
        "fl = [fa, 0.5, # / 2]\nfl.sort()\nt += placed(fl[1])",
        "while abs(fa) > 1 and math.isfinite(fa):\n    fa = fa / 4\n    t += 1",
        "best = float('inf')\nfor x in (fa, @ / 2, 1.5):\n    if x < best:\n        best = x\nt += placed(best)",
    )


class Algorithms(Feature):
    """Functions that recurse on containers, search, and fill tables, as people write them."""

    helpers = """
    def quick(items):
        if len(items) <= 1:
            return items
        first, *rest = items
        return quick([x for x in rest if x < first]) + [first] + quick([x for x in rest if x >= first])

    def found_at(items, x):
        low, high = 0, len(items)
        while low < high:
            middle = (low + high) // 2
            if items[middle] < x:
                low = middle + 1
            else:
                high = middle
        return low

    def spread_from(grid, y, x):
        if not (0 <= y < 3 and 0 <= x < 3) or grid[y][x]:
            return 0
        grid[y][x] = 1
        return 1 + sum(spread_from(grid, y + dy, x + dx) for dy, dx in ((0, 1), (1, 0), (-1, 0)))

    def root_of(parents, x):
        while parents[x] != x:
            parents[x] = parents[parents[x]]
            x = parents[x]
        return x

    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        if n == 0:
            return False
        return even(n - 1)

    def nearest(graph, start, goal):
        seen, queue = {start}, deque([(start, 0)])
        while queue:
            u, d = queue.popleft()
            if u == goal:
                return d
            for v in graph[u]:
                if v not in seen:
                    seen.add(v)
                    queue.append((v, d + 1))
        return -1
    """
    begins = (
        """la, lb = [b, 1, a, 3], [[0, a % 2, 0], [0, 0, 1], [b % 2, 0, 0]]
lc, lg = [0, 0, 1, 3], [[1, 2], [3], [], [0]]""",
        "la, lb = [a, b], [[0] * 3 for _ in range(3)]\nlc, lg = [0, 1, 1, 2], [[a % 4], [2, 3], [0], []]",
    )
    values = (
        *(
            "quick(la)[0]",
            "found_at(quick(la), @)",
            "sum(i * x for i, x in enumerate(quick(la)))",
            "spread_from(lb, @ % 3, 0)",
        ),
        *(
            "root_of(lc, @ % 4)",
            "int(even(@))",
            "nearest(lg, @ % 4, @ % 4) + 1",
        ),
        *("sum(map(sum, lb))", "sum(lc)"),
    )
    conditions = ("odd(@)", "quick(la) == la", "root_of(lc, 3) == root_of(lc, @ % 4)", "nearest(lg, 0, 3) > @")
    changes = (
        *(
            "la.append(#)",
            "la = quick(la)",
            "lc[root_of(lc, @ % 4)] = root_of(lc, 0)",
            "lg[@ % 4].append(@ % 4)",
            "lb[@ % 3][1] = 0",
        ),
        """for i in range(3):
    for j in range(i):
        if la[i % len(la)] < la[j % len(la)]:
            la[i % len(la)], la[j % len(la)] = la[j % len(la)], la[i % len(la)]""",
        """best = 0
for i in range(len(la)):
    for j in range(i + 1, len(la) + 1):
        best = max(best, sum(la[i:j]) % 7)
t += best""",
    )


class OfTexts(Feature):
    """Texts that are made of a lane's numbers."""

    begins = ("u = str(a * 37 + b)", 'u = ""', 'u = "ab" * a', 'u = f"{a}:{b}"')
    values = (
        "len(u)",
        'int("0" + str(#))',
        "ord((u + 'x')[@ % len(u + 'x')])",
        "sum(ord(x) for x in u)",
        "u.count(str(@))",
        "len(set(u))",
        "u.find('1')",
        "len(u.split('1'))",
        "len(bin(#)) + int(hex(abs(#)), 16)",
    )
    conditions = ("u == u[::-1]", "str(@) in u", "u < str(#)", "u")
    changes = (
        "u += str(#)",
        "u = u[::-1][:6]",
        "u = ''.join(sorted(u))",
        "u = u[@ % 3:]",
        "for x in u:\n    t = (t * 3 + ord(x)) % 1009",
        "u1 = [str(x) for x in range(@ % 4)]\nu = '-'.join(u1)",
        "u = u.replace('1', 'xy')[:8]",
    )


class LongTuple(Feature):
    """Tuples that get longer, as values and as keys."""

    helpers = """
    def grown(p, k):
        return p if k <= 0 or len(p) > 5 else grown(p + (k,), k - 2)
    """
    begins = (
        "lt = ()\nls = {()}\nlk = lt",
        "lt = tuple(range(a))\nls = {lt}\nlk = lt",
        "lt = (b,) * a\nls = set()\nlk = (1, 2)",
    )
    values = (
        *("len(lt)", "sum(lt)", "(lt[-1] if lt else #)", "len(ls)", "lt.count(@)", "len(lk) + sum(lk)"),
        *("sum(grown((@,), #))", "sum(lt[@ % 3 :])", "len((*lt, #, *lk))", "max(lt, default=#)", "len(lt + lk)"),
        "sum(x * i for i, x in enumerate(lt))",
    )
    conditions = ("lt", "@ in lt", "lt in ls", "lt == lk", "lt < lk", "tuple([@]) in ls", "lk <= lt[:2]", "len(lt) > @")
    changes = (
        "if len(lt) < 6:\n    lt = lt + (#,)",
        "if len(lt) < 6:\n    lt += (@, #)",
        "lk = lt",
        "ls.add(lt)",
        "lt = lt[1:]",
        "lt = tuple(x % 3 for x in lt)",
        "ls.add(tuple(sorted((@, #))))",
        "ls.discard(lk)",
        "for x in lt:\n    t = (t * 3 + x) % 1009",
        "lt = lk if # > 2 else lt[::-1]",
        "lt = grown((), # % 5)",
        "*lh, lx = (*lt, @)\nt = (t * 3 + len(lh) + lx) % 1009",
    )


class GrowingWord(Feature):
    """Known texts that get longer in a recursion and in loops."""

    helpers = """
    def spelled(w, k):
        if k <= 0:
            return w
        return spelled(w + "a", k - 1) if k % 2 else spelled("b" + w, k - 2)

    def all_spelled(w, k, found):
        if k == 0:
            found.append(w)
            return
        for c in "01":
            if not w.endswith("1") or c == "0":
                all_spelled(w + c, k - 1, found)
    """
    begins = ('gw = ""', 'gw = "ab"', 'gw = spelled("", a)')
    values = (
        *("len(gw)", "len(spelled('', # % 5))", "spelled('x', @).count('a')", "gw.find('ba')", "len(set(gw))"),
        "sum(ord(x) for x in gw[:4])",
    )
    conditions = ("gw == 'ab'", "'aa' in gw", "gw < 'ab'", "gw", "spelled('', 2) == gw")
    changes = (
        "if len(gw) < 8:\n    gw += 'ab'",
        "gw = spelled('', @ % 5)",
        "gf = []\nall_spelled('', @ % 4, gf)\nt = (t * 3 + len(gf) + len(gf[-1])) % 1009",
        "gw = gw[1:]",
        "gw = 'c'",
    )


class OwnContainer(Feature):
    """Functions that make a memo, or a list of results, where none is given."""

    helpers = """
    def memoized(k, memo=None):
        if memo is None:
            memo = {}
        if k in memo:
            return memo[k]
        memo[k] = k if k < 2 else (memoized(k - 1, memo) + memoized(k - 2, memo)) % 97
        return memo[k]

    def gathered(k, out=None):
        if out is None:
            out = []
        if 0 < k < 9:
            out.append(k)
            gathered(k - 2, out)
        return out
    """
    begins = ("om = {}\noo = []", "om = {a: 7}\noo = [b]")
    values = (
        *("memoized(# % 6)", "memoized(@ % 6, om)", "len(om)", "len(oo)", "sum(gathered(#))", "len(gathered(@))"),
        *("om.get(@, 5)", "sum(oo)"),
    )
    conditions = ("@ in om", "len(oo) > @", "gathered(@)", "oo")
    changes = (
        "gathered(@, oo)",
        "om[@] = #",
        "memoized(@ % 5, om)",
        "oo = gathered(#)",
        "om = {}",
        "oo.append(memoized(@ % 4))",
        "t += len(gathered(@, oo))",
    )


class EarlyEnd(Feature):
    """Iterators of ``itertools`` whose end a lane decides."""

    begins = ("ei = [3, 1, 4, a, b]", "ei = [a, a, b]")
    values = (
        *("sum(itertools.takewhile(lambda x: x < @, ei))", "len(list(itertools.dropwhile(lambda x: x != @, ei)))"),
        *("next(i for i in itertools.count() if i * 3 > #)", "sum(itertools.filterfalse(lambda x: x > @, [1, 2, 5]))"),
        *("len([k for k, g in itertools.groupby([a, b, 1, @])])", "len(list(itertools.takewhile(bool, ei)))"),
    )
    conditions = ("any(i * i > # for i in itertools.count())", "list(itertools.takewhile(lambda x: x > @, ei))")
    changes = (
        "for ej in itertools.count(@):\n    if ej * 2 > #:\n        break\n    t = (t * 3 + ej) % 1009",
        "for ej in itertools.takewhile(lambda x: x < @, itertools.count(1)):\n    t = (t + ej) % 1009",
        "for ej, eg in itertools.groupby([1, a, b, @]):\n    t = (t * 3 + ej * len(list(eg))) % 1009",
        "ei = list(itertools.dropwhile(lambda x: x < @, ei))",
        "for ej in itertools.dropwhile(lambda x: x == @, ei):\n    t = (t * 3 + ej) % 1009",
    )


class AndOr(Feature):
    """``test and x or y`` as a value."""

    begins = ("ao = a > 1 and b or 3",)
    values = (
        *("(a > @ and # or 4)", "(not # and 3 or b)", "(b != @ and a < 3 and # or # or 2)", "(# or a > 2 and @ or 5)"),
        *("[x > @ and x or 9 for x in (a, b)][0]", "max(a > @ and b or 2, 1)"),
    )
    conditions = ("a > @ and # or b", "(@ > 1 and # or 0) > 2")
    changes = ("ao = # > ao and @ or ao + 1", "ao += a > @ and # or -1", "t += ao > @ and ao or b")


class SetAlgebra(Feature):
    """Unions, comparisons and the like of sets and dicts of the lanes."""

    begins = ("sa = set(range(a))\nsb = {1, b}\nsd = {b: a}", "sa = {a}\nsb = sa | {b}\nsd = {}")
    values = (
        *("len(sa | sb)", "len(sa & sb)", "sum(sorted(sa - sb))", "len(sa ^ {@})", "len(sa.union(sb, [#, @]))"),
        *(
            "len(sa.intersection([1, 2, #]))",
            "sum(sorted(sa.difference(sb)))",
            "len(sd | {@: #})",
            "sum((sd | sd).values())",
        ),
    )
    conditions = (
        *("sa <= sb", "sa < sb", "sb >= sa", "sa.issubset(sb)", "sa.isdisjoint({@})", "sa == sb", "sa.issuperset([@])"),
        *("sd == {@: #}", "{1, 3} <= sa", "sa & sb", "not sb - sa"),
    )
    changes = (
        "sa |= {@, #}", "sa &= sb | {@}", "sa -= {@}", "sb ^= {@}", "sa.update([#, @])", "sb.difference_update(sa)",
        "sb = sa", "sb = sa.copy()", "sa = sa | sb", "sd |= {@: #}", "sd = sd | {@: 2}",
        "sb.update(x % 4 for x in range(@))",
    )  # fmt: skip


class CounterAlgebra(Feature):
    """Sums and comparisons of Counters of the lanes."""

    begins = ("ca = Counter([a, b])\ncb = Counter([1])", "ca = Counter()\ncb = Counter({b: 2, 3: a - 1})")
    values = (
        *("sum((ca + cb).values())", "len(ca - cb)", "sum((ca & cb).values())", "len(ca | cb)", "ca[@]", "len(+cb)"),
        *("sum(k * v for k, v in (ca + cb).items())", "ca.total()", "cb.most_common(1)[0][1] if cb else 7"),
    )
    conditions = ("ca == cb", "ca <= cb", "cb > ca", "ca - cb", "@ in ca", "not (cb - ca)")
    changes = (
        *(
            "ca += Counter([@, #])",
            "ca -= cb",
            "cb |= ca",
            "ca &= cb",
            "ca[@] += 1",
            "cb.update([#, @])",
            "ca = ca + cb",
        ),
        *("cb = Counter([@])", "cb.subtract([@])", "ca.update(cb)"),
    )
