"""A way to make items, a way to use them and an effect -> a program that shows when each item is made.

Python makes the items of a list at once, and those of an iterator one by one, as they are used. That shows where making
an item has an effect, where what uses the items changes what they are made of, where it stops early, and where an item
raises. The programs return all that code can see of it. Python judges, as for other generated programs.

    python test/py/items_in_turn.py 17              one program: its text, and its outcome
    python test/py/items_in_turn.py 0 1000          some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import itertools
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from feature_pairs import main, outcome

HELPERS: Final = """
def folded(t, items):
    for x in items:
        t = (t * 7 + x) % 10007
    return t

def all_of(*items):
    return list(items)

def collected(items):
    return [x for x in items]

def drawn(items, s):
    for x in items:
        yield s.made(x)

class Taken:
    def __init__(self, items, s):
        self.items, self.s, self.at = items, s, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= len(self.items):
            raise StopIteration
        self.at += 1
        return self.s.made(self.items[self.at - 1])
"""

PRODUCERS: Final[Mapping[str, str]] = {
    "list": "[made(x) for x in xs]",
    "range": "range(a, a + 4)",
    "generator expression": "(made(x) for x in xs)",
    "filtered": "(made(x) for x in xs if x != 3)",
    "generator": "drawn(xs, s)",
    "map": "map(made, xs)",
    "map of a lambda": "map(lambda x: made(x) + k, xs)",
    "filter": "filter(made, xs)",
    "zip": "zip(xs, map(made, xs))",
    "enumerate": "enumerate(map(made, xs))",
    "reversed": "reversed(xs)",
    "items": "d.items()",
    "values": "d.values()",
    "iter": "iter(xs)",
    "iter of map": "iter(map(made, xs))",
    "class": "Taken(xs, s)",
}
"""Expressions that make items of the list ``xs``, or of the dict ``d``, by the function ``made``."""
STATE: Final = """
class State:
    def __init__(self):
        self.k, self.seen = 1, []

    def made(self, x):
"""
BY_METHODS: Final = frozenset({"generator", "class"})
"""Those that get an object ``s`` with a method ``made``; for others it is also a function inside the program."""
OF_TWO: Final = frozenset({"zip", "enumerate", "items"})
"""Those whose items are pairs."""
NO_ITERATORS: Final = frozenset({"list", "range", "items", "values"})
"""Those that give no iterator: they can be gone over again."""

CONSUMERS: Final[Mapping[str, str]] = {
    "loop": "for y in ITEMS:\n    r = (r * 3 + VALUE) % 1009\n    BODY",
    "loop with a break": "for y in ITEMS:\n    r = (r * 3 + VALUE) % 1009\n    BODY\n    if r > 9:\n        break",
    "comprehension": "us = [used(VALUE) for y in ITEMS]",
    "filtered comprehension": "us = [used(VALUE) for y in ITEMS if VALUE != 2]",
    "dict comprehension": "us = list({VALUE: used(VALUE) for y in ITEMS}.values())",
    "sum": "r = sum(ITEMS)",
    "sum of": "r = sum(used(VALUE) for y in ITEMS)",
    "any": "r = any(used(VALUE) > 5 for y in ITEMS)",
    "all": "r = all(used(VALUE) < 5 for y in ITEMS)",
    "max": "y = max(ITEMS)\nr = VALUE",
    "any of the items": "r = any(ITEMS)",
    "all of the items": "r = all(ITEMS)",
    "max by a key": "y = max(ITEMS, key=lambda y: used(VALUE))\nr = VALUE",
    "list": "us = [VALUE for y in list(ITEMS)]",
    "tuple": "us = [VALUE for y in tuple(ITEMS)]",
    "set": "us = sorted(VALUE for y in set(ITEMS))",
    "extend": "ys = []\nys.extend(ITEMS)\nus = [VALUE for y in ys]",
    "extended by itself": "us.extend(VALUE + len(us) for y in ITEMS)",
    "join": "r = len(''.join('ab'[VALUE % 2] * (VALUE % 3) for y in ITEMS))",
    "unpacked": "y, *ys = ITEMS\nr = VALUE + len(ys)",
    "unpacked in four": "y, p, q, s = ITEMS\nr = VALUE",
    "in": "r = 3 in ITEMS",
    "in of": "r = 3 in (used(VALUE) for y in ITEMS)",
    "next": "y = next(iter(ITEMS))\nr = VALUE",
    "next or": "y = next((y for y in ITEMS if VALUE > 2), DEFAULT)\nr = VALUE",
    "zip": "for y, z in zip(ITEMS, [1, 2]):\n    r = (r * 3 + VALUE + z) % 1009\n    BODY",
    "zip behind": "for z, y in zip([1, 2], ITEMS):\n    r = (r * 3 + VALUE + z) % 1009\n    BODY",
    "enumerate": "for i, y in enumerate(ITEMS):\n    r = (r * 3 + VALUE + i) % 1009\n    BODY",
    "sorted": "us = [VALUE for y in sorted(ITEMS)]",
    "star": "us = [VALUE for y in all_of(*ITEMS)]",
    "star in a list": "us = [VALUE for y in [0, *ITEMS][1:]]",
    "function": "us = [VALUE for y in collected(ITEMS)]",
}
"""Statements that use the items, and leave what they find in the number ``r`` or the list ``us``."""
WITHOUT_PAIRS: Final = frozenset({"sum", "in"})
WITH_BODY: Final = frozenset(name for name, text in CONSUMERS.items() if "BODY" in text or "used" in text)

MADE: Final[Mapping[str, str]] = {
    "nothing": "return x + k",
    "notes": "seen.append(x)\nreturn x + k",
    "adds": "nonlocal k\nk += 1\nreturn x + k",
    "branches": "nonlocal k\nif x > 2:\n    k += 1\nreturn x + k",
    "raises": "seen.append(x)\nif x == b:\n    raise ValueError(x)\nreturn x + k",
}
"""Bodies of the function that makes an item of ``x``."""
USED: Final[Mapping[str, str]] = {
    "nothing": "pass",
    "a variable": "k = k + 1",
    "an item": "xs[2] = k + 4",
    "one more": "if len(xs) < 6:\n    xs.append(k)",
    "a key": "d[1] = k + 5",
}
"""What the code that uses an item changes."""
LATER: Final[Mapping[str, str]] = {"at once": "", "nothing": "pass", **{k: v for k, v in USED.items() if v != "pass"}}
"""What is changed between making the iterator and using it; if nothing at all stands between them, it has no name."""
AGAIN: Final[Mapping[str, str]] = {
    "no": "",
    "again": "rest = [VALUE for y in ITEMS]\nus = us + rest",
    "next": "y = next(ITEMS, DEFAULT)\nr = r * 11 + VALUE",
}
"""How the rest of an iterator is used after that."""


@dataclass(frozen=True)
class Case:
    """A case of the table, by the names in it.

    Attributes:
        by_methods: Whether items are made by a method of an object, and not by a function inside the program.
    """

    producer: str
    consumer: str
    by_methods: bool
    made: str = "nothing"
    used: str = "nothing"
    later: str = "at once"
    again: str = "no"

    @property
    def makes_sense(self) -> bool:
        """Whether Python has a meaning for it that differs from that of a simpler case."""
        text = PRODUCERS[self.producer]
        return not (
            (self.producer in OF_TWO and self.consumer in WITHOUT_PAIRS)
            or (self.made != "nothing" and "made" not in text and self.producer not in BY_METHODS)
            or (self.by_methods and self.made == "nothing" and self.producer not in BY_METHODS)
            or (not self.by_methods and self.producer in BY_METHODS)
            or (self.used != "nothing" and self.consumer not in WITH_BODY)
            or (self.again != "no" and self.later == "at once")
            or (self.again == "next" and self.producer in NO_ITERATORS)
        )

    @property
    def text(self) -> str:
        """The program."""
        value, default = ("y[0] * 3 + y[1]", "(0, 7)") if self.producer in OF_TWO else ("y", "7")
        change, later = USED[self.used], LATER[self.later]
        items, is_kept = PRODUCERS[self.producer], self.later != "at once"
        use = CONSUMERS[self.consumer].replace("    BODY", textwrap.indent(change, "    "))
        use = use.replace("ITEMS", "it" if is_kept else items)
        if self.made == "raises":
            use = "\n".join(["try:", *_indented(use), "except ValueError:", "    r = r * 5 + 1"])
        made = f"def made(x):\n{textwrap.indent(MADE[self.made], '    ')}"
        used = f"def used(y):\n    nonlocal k\n{textwrap.indent(change, '    ')}\n    return y"
        begin = "xs = [b, 3, 1, a]\nd = {0: a, 1: b, 2: 3}\nk, r, us, seen = 1, 0, [], []"
        parts = [
            begin,
            made,
            used,
            f"it = {items}" if is_kept else "",
            later,
            use,
            AGAIN[self.again].replace("ITEMS", "it"),
        ]
        parts += ["t = folded(int(r) % 1009 + k * 13, us)", "t = folded(t, xs)", "t = folded(t, seen)"]
        body = "\n".join([*parts, "return folded(t, list(d.values()))"])
        body = body.replace("VALUE", value).replace("DEFAULT", default)
        return (
            self._with_object(body)
            if self.by_methods
            else f"{HELPERS}\ndef main(a, b):\n{textwrap.indent(body, '    ')}\n"
        )

    def _with_object(self, body: str) -> str:
        """The program whose function ``made`` is a method of an object, which also holds what that changes."""
        made = textwrap.indent(
            re.sub(r"\b(k|seen)\b", r"self.\1", MADE[self.made].replace("nonlocal k\n", "")), "    " * 2
        )
        state = STATE + made + "\n"
        body = body.replace(f"def made(x):\n{textwrap.indent(MADE[self.made], '    ')}\n", "s = State()\n")
        body = re.sub(r"\bmade\b", "s.made", re.sub(r"\b(k|seen)\b", r"s.\1", body.replace("    nonlocal k\n", "")))
        body = body.replace("s.k, r, us, s.seen = 1, 0, [], []", "r, us = 0, []")
        return f"{HELPERS}\n{state}\ndef main(a, b):\n{textwrap.indent(body, '    ')}\n"


def _indented(text: str) -> list[str]:
    return textwrap.indent(text, "    ").splitlines()


def _cases() -> Iterator[Case]:
    """All cases with at most two effects: of making, of using, of a later change, of a further use."""
    for whole in itertools.product(PRODUCERS, CONSUMERS, (False, True), MADE):
        yield Case(*whole)
        for used in list(USED)[1:]:
            yield Case(*whole, used)
        for later in list(LATER)[1:]:
            yield Case(*whole, later=later)
            yield Case(*whole, "a variable", later)
        for again in list(AGAIN)[1:]:
            yield Case(*whole, later="nothing", again=again)


CASES: Final = tuple(case for case in _cases() if case.makes_sense)
STEP: Final = 7919
"""A prime by which successive numbers of programs are far apart in the table."""


def program(seed: int) -> str:
    """The text of a program; the same for each seed."""
    return CASES[seed * STEP % len(CASES)].text


if __name__ == "__main__":
    main(sys.argv[1:], program, outcome)
