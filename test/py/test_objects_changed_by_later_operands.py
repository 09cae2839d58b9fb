"""An operand that is an object, or holds one, which an operand to its right changes: Python sees the changed object."""

import re

import pytest
from feature_pairs import made, right_or_refused

NUMBERS = [1, 3, 5]
OBJECTS = {
    "a variable": "xs",
    "an item": "rows[0]",
    "an item of a lane": "rows[n % 2]",
    "a value of a dict": "d[1]",
    "what get gives": "d.get(1, [0])",
    "an attribute": "o.log",
    "an item of a tuple": "(xs, ys)[0]",
    "one of two": "xs if n > 2 else ys",
    "the first that is true": "xs or ys",
    "a copy": "rows[0] + xs",
    "a list in a list": "sum([xs, rows[0]], [])",
    "a lambda": "call(lambda: xs)",
    "a row of an array": "m[0]",
    "a view of an array": "m[0][1:]",
    "what is read of it": "[rows[0][0], xs[-1]]",
}
CHANGES = {
    "a function": "put(n)",
    "a function that branches": "maybe(n)",
    "a method": "o.put(n)",
    "methods of lists": "(xs.pop(), rows[0].pop(), d[1].append(4), 2)[3]",
    "a function that adds keys": "kept(n)",
    "a function that changes an array": "filled(n)",
}
PLACES = {
    "arguments": "x = total(O, C)",
    "arguments by name": "x = total(k=C, items=O)",
    "a tuple": "u = (O, C); x = total(*u)",
    "a list of objects": "x = total((lambda u: u[0])([O, [C]]), 2)",
    "an operator": "x = total([*O, C], 1)",
    "items beside": "x = sum(v * w for v, w in zip(O, [C, C, 3]))",
    "a loop": "for v, w in zip(O, [C, C, 3]): x = x * 3 + v * w",
    "numbered items": "for v, w in enumerate(O, C): x = x * 3 + v * w",
    "a function given": "x = (lambda f, k: total(f(), k))(lambda: O, C)",
}
TEXT = """import numpy as np

class Log:
    def __init__(self, n): self.log = [n]
    def put(self, k):
        self.log.append(k)
        return len(self.log)

def total(items, k):
    t = k
    for v in items: t = t * 3 + v
    return int(t) % 1000 + k

def call(f): return f()

def main(n):
    xs, ys, rows, d, o, x = [n, 2], [7], [[n, 1], [3]], {1: [n]}, Log(n), 0
    m = np.zeros((2, 3), int) + n
    def put(k):
        xs.append(k)
        rows[0].append(k)
        d[1].append(k)
        return len(xs)
    def maybe(k):
        if k > 2: xs.append(k)
        rows[k % 2].append(k)
        return len(xs)
    def kept(k):
        d.setdefault(k, []).append(k)
        return len(d)
    def filled(k):
        m[0, 1] = k + 1
        m[1] += 2
        return k % 4
    PLACE
    return x * 100 + total(xs, 1) + total(rows[0], 2) + len(d[1]) + len(o.log) * 10 + int(m.sum())
"""


def grid():
    for i, place in enumerate(PLACES):
        for j, value in enumerate(OBJECTS):
            for k, change in enumerate(CHANGES):
                is_quick = i == j % len(PLACES) and k == (i + j) % len(CHANGES)
                yield pytest.param(place, value, change, marks=[] if is_quick else pytest.mark.slow)


@pytest.mark.parametrize(("place", "value", "change"), [*grid()])
def test_it_is_seen(place, value, change):
    operands = {"O": f"({OBJECTS[value]})", "C": CHANGES[change]}
    statement = re.sub(r"\b[OC]\b", lambda found: operands[found[0]], PLACES[place])
    right_or_refused(made(TEXT.replace("PLACE", statement)), NUMBERS)


@pytest.mark.parametrize("value", ["xs", "call(lambda: xs)", "d.get(1, [0])", "xs if n > 2 else ys", "ys and xs"])
def test_a_star_takes_the_items_before_later_operands(value):
    """Whatever expression gives the container: its items are taken where the star stands."""
    change = "(xs.append(n), d[1].append(4), 8)[2]"
    statement = f"x = total([*({value}), {change}, *xs], len(d[1]))"
    error = right_or_refused(made(TEXT.replace("PLACE", statement)), NUMBERS)
    assert (error is not None) == (" and " in value)


DEFAULTS = """
    t, xs, d, k = 0, [n, 2], {1: n}, n
    def put(v):
        xs.append(v)
        return len(xs)
    def two(f, v): return f(v) * 10 + f(v + 1)
"""


@pytest.mark.parametrize(
    "body",
    [
        "t = two(lambda v: v + len(xs), put(7))",
        "t = two(lambda v, w=xs[0], u=len(xs): v + w + u, put(7))",
        "t = two(put, put(7))",
        "t = (lambda v, w=(k := k % 50 + 2): v + w)(k) * 10 + k",
        "t = (lambda v, w=(k := k % 50 + 2): v + w)(put(k)) * 10 + k",
        "try: t = (lambda v, w=d[n]: v + w)(put(3))\n    except KeyError: t = 50",
    ],
)
def test_a_lambda_is_evaluated_with_its_defaults_alone(body):
    main = made(f"def main(n):{DEFAULTS}    {body}\n    return t * 100 + sum(xs)\n")
    assert right_or_refused(main, NUMBERS) is None


@pytest.mark.parametrize(
    "body",
    [
        "while put(max(ys, key=lambda v: v * xs.pop(0))) > 0: t += xs[n]",
        "t += put(xs.pop()) + put(xs.pop()) * put(xs.pop())",
        "t += go(n)",
        "t += two(go, n)",
        "t += max([n, 1, 0], key=go)",
        "t += (lambda v: xs.pop() + v)(ys[n])",
    ],
)
def test_a_function_that_changes_and_raises_changes_as_much_as_in_python(body):
    text = """def main(n):
    t, xs, ys = 0, [n, 2], [1, n, 3]
    def put(v):
        xs.append(v)
        return len(xs)
    def go(v):
        xs.append(v)
        return 10 // (v - 3) + xs[v]
    def two(f, v): return f(v) * 2 + f(v + 1)
    try:
        BODY
    except (IndexError, ZeroDivisionError):
        t += 50
    return t * 100 + sum(xs) + len(xs) * 7
"""
    right_or_refused(made(text.replace("BODY", body)), NUMBERS)
