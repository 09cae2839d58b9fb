"""Inner functions that change what is around them, called by another name: as in Python, or refused; Python judges."""

import numpy as np
import pytest
from feature_pairs import in_lanes, made, right_or_refused

import hlobatch as hb

NUMBERS = [1, 3, 6]
CHANGES = {
    "a number": ("kept = 1", "nonlocal kept\n        kept += k\n        return kept % 6", "kept"),
    "a list": ("kept = [1]", "kept.append(k)\n        return len(kept) % 6 + kept[-1]", "sum(kept)"),
    "an item": ("kept = [1, 2]", "kept[0] += k\n        return kept[0] % 6 + len(kept)", "sum(kept)"),
    "in a branch": (
        "kept = 1",
        "nonlocal kept\n        if k > 2:\n            kept += k\n        return kept % 6",
        "kept",
    ),
}
"""What an inner function changes: the variable around it, the body of the function, the variable's value at the end."""
CALLS = {
    "its own name": "t = put(n if n > 2 else 4) + put(2) * SEEN",
    "alias": "g = put; t = g(n)",
    "in a dict": "t = {'a': put}['a'](n)",
    "in a list": "t = [put, abs][0](n)",
    "one of two": "t = (put if n > 2 else abs)(n)",
    "partial": "t = functools.partial(put, n)()",
    "lambda that is called": "t = (lambda x: put(x) + 1)(n)",
    "lambda with a name": "h = lambda x: put(x) + 1; t = h(n)",
    "lambda that is given": "t = twice(lambda x: put(x) + 1, n)",
    "argument": "t = twice(put, n)",
    "argument beside its call": "t = product(put, n, put(1))",
    "argument by keyword": "t = twice(x=n, f=put)",
    "argument with a star": "t = twice(*[put, n])",
    "default": "def inner(x, f=put): return f(x)\n    t = inner(n)",
    "key of max": "t = max([n, 2, 3], key=put)",
    "key of sorted": "t = sorted([n, 2, 3], key=put)[0]",
    "map": "t = sum(map(put, [n, 2]))",
    "map that is kept": "m = map(put, [n, 2]); t = SEEN; t += sum(m)",
    "filter": "t = len(list(filter(put, [n, 2, 3])))",
    "reduce": "t = functools.reduce(lambda x, y: x + put(y), [n, 2, 1])",
    "accumulate": "t = sum(itertools.accumulate([n, 2], lambda x, y: x + put(y)))",
    "attribute": "b = Box(abs); b.f = put; t = b.f(n)",
    "attribute that a method calls": "t = Box(put).call(n)",
    "item of a comprehension": "t = sum([f(n) for f in (put, put)])",
    "item of a loop": "t = 0\n    for f in (put, abs): t += f(n)",
    "result": "def get(): return put\n    t = get()(n)",
    "one of a tuple": "f, g = put, abs; t = f(n) + g(n)",
    "beside one that reads": "def peek(): return SEEN\n    t = in_between(peek, put, n)",
    "walrus": "t = (f := put)(n)",
    "generator": "t = next(put(x) for x in [n, 1])",
    "argument that may be left out": "t = {}.setdefault(1, put(n))",
}
HELPERS = """import functools, itertools

def twice(f, x): return f(x) * 2

def product(f, x, y): return f(x) * f(y)

def in_between(f, g, x): return f() + g(x) * 10 + f() * 100

class Box:
    def __init__(self, f): self.f = f
    def call(self, x): return self.f(x) + 1
"""


def program(change, call):
    around, body, seen = CHANGES[change]
    lines = [around, f"def put(k):\n        {body}", CALLS[call].replace("SEEN", seen), f"return t * 100 + {seen}"]
    text = HELPERS + "\ndef main(n):\n    " + "\n    ".join(lines) + "\n"
    return made(text)


def grid():
    for i, call in enumerate(CALLS):
        for j, change in enumerate(CHANGES):
            yield pytest.param(change, call, marks=[] if i % len(CHANGES) == j else pytest.mark.slow)


@pytest.mark.parametrize(("change", "call"), [*grid()])
def test_changes_are_seen_as_in_python(change, call):
    refusal = right_or_refused(program(change, call), NUMBERS)
    assert refusal is None or call != "its own name"


def test_a_call_by_another_name_that_is_traced_is_refused():
    """Regression: the variable kept its value, silently."""
    with pytest.raises(hb.UnsupportedSyntaxError, match="'put' assigns variables around it, and is called by another"):
        hb.batch(program("a number", "argument"))(np.array(NUMBERS, np.int32))


def test_a_variable_around_that_is_one_for_all_lanes_is_given_back():
    """Regression: where the call that assigns it is never made, the program was refused by its own verifier."""

    def word(n):
        if n <= 2:
            return "ab"

    def main(n):
        z = 1

        def bump(k):
            nonlocal z
            if k > 2:
                z = k
            return z

        found = word(n)
        t = bump(7) if len(NUMBERS) == 0 else 0
        t = t * 3 + bump(1)
        return t + z * 10 + len(found[:4])

    with pytest.raises(TypeError):
        main(5)
    assert in_lanes(main, [1, 2, 5]) == [main(1), main(2), TypeError]
