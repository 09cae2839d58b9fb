"""Inner functions without branches that change a container, called inside of what Python goes over: Python judges."""

import pytest
from feature_pairs import made, right_or_refused

NUMBERS = [1, 3, 6]
CHANGES = {
    "a list": ("[1]", "k.append(x)\n        return len(k) + x", "len(k) * 10 + k[-1]"),
    "an item": ("[1, n]", "k[0] += x\n        return k[0] % 7", "k[0] * 10 + k[1]"),
    "a dict": ("{1: 2}", "k[x] = len(k)\n        return len(k)", "sum(k.values()) * 10 + len(k)"),
    "a set": ("{n}", "k.add(x)\n        return len(k)", "sum(sorted(k)) * 10 + len(k)"),
    "an object": ("Box(n)", "k.n = k.n * 2 % 31 + x\n        return k.n % 5", "k.n"),
    "a deque": ("deque([n])", "k.appendleft(x)\n        return len(k) - k[0]", "len(k) * 10 + k[0]"),
}
"""What the function changes: the object, the function's body, and a value that shows the changes."""
USES = (
    *(
        "sum(x - may(3) for x in fr)",
        "min(x - may(3) for x in fr)",
        "max([x * may(x) for x in fr])",
        "sum([may(x) for x in fr])",
    ),
    *(
        "any(may(x) > 3 for x in fr)",
        "all([may(x) > 3 for x in fr])",
        "len([1 for x in fr if may(x) > 2])",
        "len({may(x) for x in fr})",
    ),
    *(
        "len({x: may(x) for x in fr})",
        "next((x for x in fr if may(x) > 99), may(4))",
    ),
    *("functools.reduce(lambda a, b: a + b * may(1), fr)", "functools.reduce(lambda a, b: a + b * may(1), fr, may(2))"),
    *(
        "max(fr, key=lambda b: b * may(1) % 5)",
        "sorted(fr, key=lambda b: b * may(1) % 5)[0]",
        "sum(map(lambda b: b * may(1), fr))",
    ),
    *(
        "sum(map(may, fr))",
        "len(list(filter(lambda b: may(b) > 2, fr)))",
        "min((x - may(3) for x in fr), default=may(5))",
    ),
    *("max([x for x in fr], default=may(5))", "sum((may(x) for x in fr), may(n))", "sum([may(x) for x in fr], may(n))"),
    *(
        "[may(x) for x in fr][1]",
        "[[may(x) for x in fr] for _ in range(2)][1][0]",
        "(lambda a, b: a * 10 + b)(may(2), may(3))",
    ),
    *(
        "sum(a * b for a, b in zip(fr, [may(x) for x in fr]))",
        "sum(may(x) for x in fr if may(2) < 50)",
        "dict(zip(fr, [may(1), may(2), 3]))[4]",
    ),
    *(
        "(lambda: may(2))() + (lambda x=may(3): x + may(1))()",
        "twice(lambda x: may(x) + 1, n)",
        "sum(may(k) for k in fr)",
    ),
    *(
        "sum(x + y for x in fr for y in [may(x)])",
        "sum(itertools.accumulate(fr, lambda a, b: a + may(b)))",
        "'ab'.count('a') + may(2) * may(1)",
    ),
)
ENDS = {"in one statement": "return USE * 1000 + SEEN", "in the next": "t = USE\n    return t * 1000 + SEEN"}


def program(change, use, end):
    new, body, seen = CHANGES[change]
    lines = ["import functools, itertools", "from collections import deque", "", "class Box:"]
    lines += [
        "    def __init__(self, n): self.n = n",
        "",
        "def twice(f, x): return f(x) + f(x + 1)",
        "",
        "def main(n):",
    ]
    lines += [f"    fr, k = [4, n, 2], {new}", "    def may(x):", f"        {body}"]
    text = "\n".join([*lines, "    " + ENDS[end].replace("USE", f"({use})").replace("SEEN", f"({seen})"), ""])
    return made(text)


def grid():
    for i, use in enumerate(USES):
        for j, change in enumerate(CHANGES):
            for k, end in enumerate(ENDS):
                is_quick = i % len(CHANGES) == j and (i // len(CHANGES)) % len(ENDS) == k
                yield pytest.param(change, use, end, marks=[] if is_quick else pytest.mark.slow)


@pytest.mark.parametrize(("change", "use", "end"), [*grid()])
def test_changes_are_seen_as_in_python(change, use, end):
    """Regression: changes by a call in a generator expression or a lambda were lost, if the statement read it."""
    right_or_refused(program(change, use, end), NUMBERS)
