"""An operand that raises comes before the effects of those to its right, wherever they stand: Python judges."""

import re

import pytest
from feature_pairs import in_lanes, in_python, made

import hlobatch as hb

NUMBERS = [0, 1, 3, 6]
RAISES = {"a key": "d[m]", "a key that is never there": "d[2]", "a quotient": "10 // (m - 1)", "an index": "ys[m]"}
EFFECTS = {
    "a function that branches": "put(n)",
    "a method": "b.bump(n)",
    "a function that is traced": "plain(n)",
    "a function that raises": "bad(n)",
    "a method of a list": "xs.pop()",
}
PLACES = (
    *("x = R + E", "x = (R, E)", "x = [E, R, E]", "x, *y = R, E, 3", "x = max(R, E)", "x = {R: E}", "x = abs(E) + R"),
    *("x = R if E > 9 else R + E", "x = put(R) + E", "x = put(k=R)", "xs[0] = R + E", "xs[E - 2] = R", "x = f'{R}{E}'"),
    *("x = R < E", "x = R < E < E", "x = not R or E", "x = (R, *[E])", "x = min([R] + [E for i in range(n)])"),
    *("return R + E", "if R + E > 3: x = 3", "for i in range(R, E): x += i", "while R < E - 9: x += 1", "assert R > E"),
    *("x = w = R + E", "x += R + E", "del xs[R: E]", "x = xs[R:E]", "x = {**d, R: E}", "x = sorted([R, E], key=put)"),
    *("raise LookupError(R, E)", "x = (lambda u, v: u)(R, E)", "x = sum(u + E for u in [R, E])", "x = d.get(R, E)"),
    *(
        "x = d.setdefault(R, E)",
        "d[R] = E",
        "d[E] = R",
        "b.n = R + E",
        "b.n += R + E",
        "xs += [R, E]",
        "x = E + xs.pop()",
    ),
    *(
        "x = add(R, E)",
        "x = add(v=R, u=E)",
        "x = Box(R).bump(E)",
        "x, b.n = R, E",
        "xs.insert(R, E)",
        "x = [R, E][E % 2]",
    ),
    *("x = -R + E", "x = R ** 2 - E", "x = (R and E) + E", "x = len([R, E, R]) + R"),
)
TEXT = """class Box:
    def __init__(self, n): self.n = n
    def bump(self, k):
        if k > 0: self.n += k
        return self.n

def add(u, v):
    if u > v: return u * 2 + v
    return u + v

def main(n):
    m, d, xs, ys, b, x, y, w = n + 0, {1: 2, 3: 0}, [n, 1], [1, 2], Box(n), 0, [0], 0
    def put(k):
        if k > 0: xs.append(k)
        return len(xs)
    def plain(k):
        xs.append(k)
        return len(xs)
    def bad(k):
        if k % 3 == 0: raise ValueError(k)
        return k
    try:
        PLACE
    except (LookupError, ZeroDivisionError): w = 50
    except ValueError: w = 60
    except AssertionError: w = 70
    return w * 10000 + len(xs) * 1000 + sum(xs) * 10 + b.n + len(d) * 7
"""


def program(place, raises, effect):
    parts = {"R": RAISES[raises], "E": EFFECTS[effect]}
    statement = re.sub(r"\b[RE]\b", lambda found: parts[found[0]], place)
    text = TEXT.replace("PLACE", statement)
    return made(text)


def grid():
    for i, place in enumerate(PLACES):
        for j, raises in enumerate(RAISES):
            for k, effect in enumerate(EFFECTS):
                is_quick = i % len(EFFECTS) == k and i % len(RAISES) == j
                yield pytest.param(place, raises, effect, marks=[] if is_quick else pytest.mark.slow)


@pytest.mark.parametrize(("place", "raises", "effect"), [*grid()])
def test_it_comes_first(place, raises, effect):
    main = program(place, raises, effect)
    refusal, got = None, []
    try:
        got = in_lanes(main, NUMBERS, max_steps=10_000)
    except (hb.UnsupportedSyntaxError, hb.BatchTypeError) as error:
        refusal = error
    if refusal is None:
        assert got == in_python(main, NUMBERS)
    else:
        assert refusal.location.file == main.__code__.co_filename


OTHERS = {
    "a character": "len(chr(m - 1))",
    "a shift": "1 << (m - 1)",
    "a range": "len(range(0, 5, m - 1))",
    "a slice": "len(ys[::m - 1])",
    "an operator as a function": "operator.truediv(6, m - 1)",
    "an item by a function": "operator.getitem(d, m)",
    "a root": "math.isqrt(m - 1)",
    "a property": "b.half",
    "an addition of a class": "(b + m)",
    "a negation of a class": "-b",
    "the length of an object": "len(b)",
    "the size of an object": "abs(b)",
    "an item of an object": "b[m]",
    "an object that is made": "Deep(m).n",
    "a function": "look(d, m)",
    "a comprehension": "len([d[v] for v in (m, 1)])",
    "items of a generator expression": "sum(d[v] for v in (m, 1))",
    "a function that is given": "sum(map(lambda v: d[v], [m, 1]))",
    "a format": "len(f'{d[m]:>3}')",
}
"""Expressions that raise in ways that nothing but the closed list of harmless ones tells."""
SOURCE = """import math, operator

class Box:
    def __init__(self, n): self.n, self.d = n, {1: n}
    @property
    def half(self): return 10 // (self.n - 1)
    def __getitem__(self, k): return self.d[k]
    def __add__(self, k): return self.d[k]
    def __neg__(self): return 10 // (self.n - 1)
    def __abs__(self): return 10 // (self.n - 1)
    def __len__(self): return 10 // (self.n - 1) % 7

class Deep:
    def __init__(self, n): self.n = 10 // (n - 1)

def look(d, k): return d[k]

def main(n):
    m, d, xs, ys, b, x, w = n + 0, {1: 2, 3: 0}, [n, 1], [1, 2], Box(n), 0, 0
    def put(k):
        if k >= 0: xs.append(k)
        return len(xs)
    def bad(k):
        if k % 3 == 0: raise AssertionError(k)
        return k
    try:
        PLACE
    except (LookupError, ZeroDivisionError): w = 50
    except (ValueError, OverflowError): w = 60
    except AssertionError: w = 70
    return w * 10000 + len(xs) * 1000 + sum(xs) * 10
"""


@pytest.mark.parametrize(
    ("number", "place"),
    [
        pytest.param(i, place, marks=[] if i % 3 == j else pytest.mark.slow)
        for i in range(len(OTHERS))
        for j, place in enumerate(("x = (R, put(n))", "x = (R, bad(n))", "raise AssertionError(R)"))
    ],
)
def test_whatever_may_raise_comes_first(number, place):
    main = made(SOURCE.replace("PLACE", re.sub(r"\bR\b", [*OTHERS.values()][number], place)))
    assert in_lanes(main, NUMBERS, max_steps=10_000) == in_python(main, NUMBERS)
