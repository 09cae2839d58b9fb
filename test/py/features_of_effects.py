"""A feature of generated programs: expressions with effects, in every place of a statement where Python evaluates one.

As in ``features.py``, ``#`` stands for an integer expression and ``@`` for a plain integer. ``~`` stands for an
expression with an effect: it changes a list, a dict or an object, or raises. So a program differs from Python's as soon
as one of them is evaluated too early, too late, twice, or for items or operands that Python does not reach.
"""

from __future__ import annotations

from feature_writer import Feature, Lines, Writer, filled, indented

EFFECTS = (
    *("fq.pop()", "fq.pop(0)", "put(@)", "put(#)", "may(@)", "may(#)", "fc.bump()", "fc.bump(@)", "drawn()"),
    *("fd.pop(@, 1)", "fd.setdefault(@, fc.n)", "fd[@]", "fq[@]", "kept(@)", "(fn := fn % 50 + 2)", "fc.next.bump()"),
    *("10 // (@ - 1)", "fc.least(fq)", "moved(fq, fr)", "fc(@)", "fc.twice"),
)
"""Expressions with effects, each of which is a small integer."""
SOMETIMES = (
    *("~ if @ > 2 else ~", "@ > 2 and ~", "@ > 1 or ~", "~ + ~", "~ - ~ * 2", "(~, ~)[@ % 2]", "[~, 1, ~][1]", "-~"),
    *("max(~, ~)", "~ if ~ > @ else 1", "(~ or ~) and ~", "abs(~)", "int(~ < ~)", "divmod(~ + 9, 4)[1]", "~ % 5 + ~"),
    *("add(y=~, x=~)", "add(*[~, ~])", "add(~, **{'y': ~})", "add(~)", "sum([~, ~])", "len({~, ~})", "int(0 < ~ <= ~)"),
    *("fd.get(~, ~)", "fr[~ % 2]", "fr[~ % 2:][0]", "{1: ~, 2: ~}.get(@, 3)", "(lambda x, y=~: x + y)(~)", "min(~, @)"),
    *("int(not ~)", "len(f'{~}{~}')", "fc.add(~).n", "fc.add(~).add(~).n", "getattr(fc, 'n') + ~", "int(~ in fq)"),
    *(
        "int(~ in (~, ~))",
        "pow(~, 2, 7)",
        "round(~ / 2)",
        "fq[-1] + ~",
        "fc.n + ~ + fc.n",
        "fn + ~ - fn",
        "len(fq) * 2 + ~",
    ),
)
"""Expressions that evaluate some of their parts, in an order."""
OVER_ITEMS = (
    *("sum(x + ~ for x in fr)", "sum([x * 2 + ~ for x in fr if x > @])", "len([x for x in fr if ~ > x])"),
    *("int(any(x == ~ for x in fr))", "int(all(x > @ or ~ for x in fr))", "next((x for x in fr if ~ > 1), ~)"),
    *("max(fr, key=lambda x: x * ~)", "min((x - ~ for x in fr), default=~)", "sorted(fr, key=lambda x: -x)[~ % 2]"),
    *(
        "sum(map(lambda x: x + ~, fr))",
        "len(list(filter(lambda x: x > ~, fr)))",
        "sum(x * y + ~ for x, y in zip(fr, fr))",
    ),
    *("sum(i * ~ for i, _ in enumerate(fr, ~))", "len({x % 3: ~ for x in fr})", "len({~ for _ in range(2)})"),
    *("functools.reduce(lambda x, y: (x + y * ~) % 50, fr, ~)", "sum(x for x in [~, ~, 2] if x != ~)"),
    *("sum(sum(~ for _ in range(k)) for k in range(3))", "sum(~ for _ in fq[:2])", "[~ for _ in range(3)][@ % 3]"),
    *("sum(x for x in [drawn(), ~] if any(y == x for y in fr))", "len([1 for x in fr for y in range(x % 3) if ~ > y])"),
    *("list(reversed([~, ~]))[0]", "sum(fr[::~ % 2 + 1])", "dict(zip(fr, [~, ~, ~])).get(@, 4)"),
)
"""Expressions that evaluate a part for each item of something."""
CHANGES = (
    *(
        "fr[~ % 2] += ~",
        "fr[~ % 2] = ~",
        "fd[~] = ~",
        "fd[@] = fd.get(@, 0) + ~",
        "fc.n = ~",
        "fc.n += ~",
        "fc.next.n -= ~",
    ),
    *(
        "fn += ~",
        "fn = fr[0] = ~",
        "fn, fr[fn % 2] = ~, ~",
        "fr[0], fr[1] = fr[1], ~",
        "fr[0:2] = [~, ~]",
        "fr[~ % 2:] = [~, 2]",
    ),
    *(
        "fq.append(~)",
        "fq.extend(~ for _ in range(2))",
        "fq += [~, ~]",
        "fq.insert(~, @)",
        "fq[len(fq):] = [~]",
        "del fq[~ % 2]",
    ),
    *(
        "fq = fq + [~]",
        "fr = [~, x := @, ~][:2] + [x]",
        "fr.sort(key=lambda x: (x * 7 + @) % 5)",
        "fr[1] *= ~",
        "fq = [~ for _ in range(3)]",
    ),
    *("fd.update({~: ~})", "fd[~] = fd.pop(@, ~)", "for fr[0] in range(~ % 3):\n    t += fr[0]", "fc.next = Tally(~)"),
    *(
        "assert ~ > @, ~",
        "if ~ > @ and ~ > 1:\n    t += ~\nelif ~:\n    t += 2",
        "while ~ % 4 > @ and len(fq) < 9:\n    t += ~",
    ),
    *(
        "for x in [~, ~]:\n    t += x * ~\n    if ~ > 3:\n        break\nelse:\n    t += ~",
        "for x in (fq.pop(0) for _ in range(@)):\n    t += x\n    if x > @:\n        break",
    ),
    *(
        "def fu(x=~):\n    return x + fn\nt += fu(~) + fu()",
        "fs = lambda: ~\nt += fs() + fs()",
    ),
    *(
        "for x in fr:\n    if x == @:\n        continue\n    fr[0] = ~",
        "for x in list(fq):\n    if x > 1:\n        fq.remove(x)\n        t += ~",
    ),
    *(
        "x, *y = ~, ~, ~\nt += x + len(y) + y[-1]",
        "(x, y), z = (~, ~), ~\nt += x + y * 2 + z",
        "match ~ % 3:\n    case 0:\n        t += ~\n    case x if x > ~:\n        t += x\n    case _:\n        t += 3",
    ),
)
"""Statements with such expressions in all their places."""
END = "(sum(fq) + sum(fr) * 2 + sum(fd.values()) * 3 + len(fd) + fn + fc.n + len(fc.log) + fc.next.n) % 97"
"""A value that shows all effects."""
EXCEPTIONS = ("ValueError", "(IndexError, KeyError)", "ZeroDivisionError", "(ValueError, LookupError)", "Exception")


class Effects(Feature):
    """Expressions with effects, in every place where Python evaluates an expression."""

    is_compound = True
    helpers = """
    class Tally:
        def __init__(self, n):
            self.n, self.next, self.log = n, None, []

        def bump(self, by=1):
            self.n = (self.n * 2 + by) % 23
            self.log.append(by)
            return self.n % 5

        def least(self, items):
            items.append(self.n % 4)
            self.n += 1
            return min(items)

        def add(self, k):
            if k > 2:
                self.n += k
            return self

        @property
        def twice(self):
            self.n += 1
            if self.n > 20:
                self.n = 3
            return self.n * 2

        def __call__(self, k):
            self.log.append(k)
            return len(self.log) % 4

    def add(x, y=2):
        return (x * 3 + y) % 11

    def moved(xs, ys):
        if xs:
            ys[0] = xs.pop()
        return ys[0]
    """
    begins = (
        """fq, fr, fd, fn = [a, 2, b, 1], [1, b, 3], {1: a, 3: 2}, 1
fc = Tally(a)
fc.next = Tally(2)
def put(k):
    fq.append(k)
    return len(fq) % 6
def may(k):
    if k > 3:
        raise ValueError(k)
    fr[1] += 1
    return k
def drawn():
    nonlocal fn
    fn = fn * 3 % 17 + 1
    return fn % 6
def kept(k):
    fd[k] = fd.get(k, 0) + 1
    return fd[k]""",
    )
    conditions = ("~ > @", "@ > 2 or ~", "~ < ~ < 4", "len(fq) > ~")

    def _effects(self, text: str, w: Writer) -> str:
        """A text with expressions with effects, of which most change one thing at most."""
        w.within += 1
        parts = [f"{w.draw.choice(EFFECTS)}" if letter == "~" else letter for letter in text]
        w.within -= 1
        return filled("".join(f"({part})" if part.startswith("10") else part for part in parts), w)

    def value(self, w: Writer) -> str:
        kind = w.draw.random()
        text = w.draw.choice(SOMETIMES if kind < 0.45 else OVER_ITEMS if kind < 0.75 else ("~", END))
        return f"({self._effects(text, w)})"

    def condition(self, w: Writer) -> str:
        return self._effects(w.draw.choice(self.conditions), w)

    def statement(self, w: Writer) -> Lines:
        kind = w.draw.random()
        if kind < 0.35:
            inside = [line for _ in range(w.draw.randint(1, 2)) for line in self.statement(w)]
            lines = ["try:", *indented(inside), f"except {w.draw.choice(EXCEPTIONS)}:", "    t += 5"]
            lines += ["else:", "    t += 2"] if w.draw.random() < 0.2 else []
            return [*lines, *(["finally:", f"    {w.seen(END)}"] if w.draw.random() < 0.2 else [])]
        if kind < 0.8:
            return self._effects(w.draw.choice(CHANGES), w).splitlines()
        return [w.seen(self.value(w))]
