"""Programs of two or three features each, drawn by a seed, give what Python gives, or are refused in plain words."""

import pytest
from feature_pairs import check, outcome

BY_DAY = range(1, 7)  # the program of seed 0 goes over thousands of items, and takes half a minute
BY_NIGHT = 20_000
EACH = 50
"""Programs of a test by night: few enough for a share of the slow tests that ends soon."""

WERE_WRONG = {
    "a call of one of several functions, some of which are not written in Python": """
TABLE = {0: lambda x: x + 1, 1: lambda x: x * 3, 2: abs}

def main(a, b):
    f = [max, lambda x, y: x - y][b % 2]
    return TABLE[a % 3](a) + f(a, b)
""",
    "a generator in a loop over another one of the same name or at the same place": """
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
    yield y

def main(a, b):
    t = sum([x * 3 + y for x in ups(0, b) for y in ups(x, 3)])
    for x in both(0, a):
        for y in both(x, 3):
            t = (t * 3 + x + y) % 1009
    return t
""",
    "an operator of a class that is derived from that of the left operand": """
class Money:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Money(self.x + (other.x if isinstance(other, Money) else other))

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return Money(self.x - other.x)

    def __iadd__(self, other):
        self.x += other.x * 2
        return self

    def __lt__(self, other):
        return self.x < other.x

    def __mul__(self, other):
        return NotImplemented

    def __rmul__(self, other):
        return Money(self.x * other)

class Tip(Money):
    def __add__(self, other):
        return Tip(super().__add__(other).x + 1)

    def __rsub__(self, other):
        return Money(50)

    def __gt__(self, other):
        return self.x > other.x + 2

def main(a, b):
    t = (Money(a) + Tip(b)).x + 10 * (Tip(a) + Money(b)).x + 100 * (Money(a) - Tip(b)).x + (b * Money(a)).x
    m = Money(a)
    m += Tip(b)
    return t * 2 + (Money(a) < Tip(b)) + m.x
""",
    "a function that is tried again in a loop where it raises": """
class Failed(ValueError):
    def __init__(self, code):
        super().__init__(code)
        self.code = code

def risky(x):
    if x == 1:
        raise Failed(x)
    if x == 3:
        raise KeyError(x)
    if x > 4:
        raise IndexError
    return x * 2

def main(a, b):
    for k in range(3):
        try:
            return risky(a - k) + k
        except Failed as error:
            last = error.code
        except KeyError:
            last = 20
    return last
""",
}
"""What was found in such programs, smaller."""


@pytest.mark.parametrize("what", WERE_WRONG)
def test_what_was_wrong(what):
    assert outcome(WERE_WRONG[what]).kind == "ran"


def test_programs_of_several_features():
    check(BY_DAY)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, EACH))
def test_many_programs_of_several_features(first):
    check(range(first, min(first + EACH, BY_NIGHT)))
