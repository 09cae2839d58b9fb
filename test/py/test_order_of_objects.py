"""Objects whose class says which comes first: ``max``, ``sorted``, ``heapq`` and comparisons, as in Python."""

import numpy as np
import pytest
from feature_pairs import made, right_or_refused

import hlobatch as hb

NUMBERS = [1, 3, 5]
CLASSES = """import dataclasses, functools, heapq

class Plain:
    def __init__(self, k): self.k = k
    def __eq__(self, other): return self.k == other.k
    def __lt__(self, other): return self.k < other.k
    def __gt__(self, other): return self.k > other.k

class Both(Plain):
    def __lt__(self, other):
        if self.k % 2 == other.k % 2: return self.k < other.k
        return self.k % 2 < other.k % 2
    def __gt__(self, other): return other < self

class Less:
    def __init__(self, k): self.k = k
    def __lt__(self, other):
        if self.k % 2 == other.k % 2: return self.k < other.k
        return self.k % 2 < other.k % 2

class Short:
    def __init__(self, k): self.k = k
    __lt__ = lambda self, other: self.rank < other.rank
    rank = property(lambda self: self.k * 3 % 5)

@functools.total_ordering
class Total:
    def __init__(self, k): self.k = k
    def __eq__(self, other): return self.k == other.k
    def __lt__(self, other): return self.k < other.k

@functools.total_ordering
class Other:
    def __init__(self, k): self.k = k
    def __eq__(self, other):
        if not isinstance(other, Other): return NotImplemented
        return self.k == other.k
    def __ge__(self, other):
        if not isinstance(other, Other): return NotImplemented
        if self.k % 2 == 0: return other.k % 2 == 0 or other.k < 4
        return self.k >= other.k

@dataclasses.dataclass(order=True)
class Data:
    k: int
    name: int = dataclasses.field(compare=False, default=3)
"""
KINDS = ("Plain", "Both", "Less", "Short", "Total", "Other", "Data")
QUESTIONS = {
    "largest": "max([C(2), C(n), C(4)]).k",
    "least of arguments": "min(C(2), C(n), C(n + 1)).k",
    "sorted by itself": "sorted([C(2), C(n), C(4)])[1].k",
    "sorted": "[v.k for v in sorted([C(2), C(n), C(4)])][1]",
    "sorted downwards": "[v.k for v in sorted([C(2), C(n), C(n + 2)], reverse=True)][1]",
    "largest of a lane's": "max([C(i * 3 % 5) for i in range(n + 2)]).k",
    "least of a lane's": "min([C(i * 3 % 5) for i in range(n + 2)], default=None).k",
    "sorted of a lane's": "sorted([C(i * 3 % 5) for i in range(n + 2)])[1].k",
    "comparisons": "(C(n) < C(3)) + 2 * (C(n) > C(3)) + 4 * (C(n) == C(3)) + 8 * (C(n) != C(3))",
}
STATEMENTS = {
    "a sort": "vs = [C(2), C(n), C(4)]\n    vs.sort()",
    "a sort of a lane's": "vs = [C(i * 3 % 5) for i in range(n + 2)]\n    vs.sort(reverse=True)",
    "a heap": "vs = []\n    for k in (4, n, 2): heapq.heappush(vs, C(k))\n    heapq.heappop(vs)",
    "a heap of known length": "vs = [C(4), C(n), C(2)]\n    heapq.heapify(vs)",
    "the largest so far": "vs = [C(2)]\n    for i in range(n):\n        if C(i * n % 4) > vs[0]: vs[0] = C(i * n % 4)",
}
REFUSED = {(kind, question) for kind in ("Both", "Other") for question in ("sorted", "sorted downwards")}
"""Methods that branch are not followed inside a comprehension."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question(kind, question):
    expression = QUESTIONS[question].replace("C(", f"{kind}(")
    error = right_or_refused(made(f"{CLASSES}\ndef main(n):\n    return {expression}\n"), NUMBERS)
    assert (error is not None) == ((kind, question) in REFUSED), error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement(kind, statement):
    body = STATEMENTS[statement].replace("C(", f"{kind}(")
    error = right_or_refused(made(f"{CLASSES}\ndef main(n):\n    {body}\n    return vs[0].k * 10 + len(vs)\n"), NUMBERS)
    assert (error is not None) == ((kind, statement) in REFUSED), error


@pytest.mark.parametrize("kind", ["Total", "Other"])
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_an_order_made_total(kind, operator):
    text = (
        f"{CLASSES}\ndef main(n):\n    return ({kind}(n) {operator} {kind}(3)) + 2 * ({kind}(3) {operator} {kind}(n))\n"
    )
    assert right_or_refused(made(text), NUMBERS) is None


COUNTING = """import heapq

class Counting:
    def __init__(self, k): self.k, self.asked = k, 0
    def __lt__(self, other):
        BODY
        return self.k < other.k
    def __gt__(self, other):
        BODY
        return self.k > other.k

class Helped(Counting):
    def __lt__(self, other): return self.less(other)
    def less(self, other):
        BODY
        return self.k < other.k

class Measured(Counting):
    def __lt__(self, other): return self.rank < other.rank
    @property
    def rank(self):
        other = self
        BODY
        return self.k

def main(n):
    vs = [C(4), C(n), C(3), C(1)]
    USE
    return vs[0].k * 10 + sum([v.asked for v in vs])
"""


@pytest.mark.parametrize("use", ["vs = sorted(vs)", "vs.sort()", "heapq.heapify(vs)", "vs.sort(reverse=True)"])
@pytest.mark.parametrize("body", ["self.asked += 1", "other.asked = self.asked + 1", "print(self.k)"])
@pytest.mark.parametrize("kind", ["Counting", "Helped", "Measured"])
def test_a_method_that_does_more_than_to_read_is_refused(use, body, kind):
    text = COUNTING.replace("BODY", body).replace("USE", use).replace("C(", f"{kind}(")
    with pytest.raises(hb.UnsupportedSyntaxError, match="may do more than to read"):
        hb.batch(made(text))(np.array(NUMBERS, np.int32))


@pytest.mark.parametrize("use", ["vs[0] = max(vs)", "vs[0] = min(vs)"])
def test_the_largest_is_asked_for_as_often_as_in_python(use):
    right_or_refused(
        made(COUNTING.replace("BODY", "self.asked += 1").replace("USE", use).replace("C(", "Counting(")), NUMBERS
    )
