"""A float of a lane where Python asks for an integer is an error at its line, and is not taken as an integer."""

import numpy as np
import pytest
from feature_pairs import made

import hlobatch as hb

SETUPS = {
    "a list": "xs = [n, 2, 7, 8]",
    "a list of a lane's length": "xs = [i for i in range(n + 3)]",
    "a deque": "xs = deque([n, 2, 7])",
    "an array": "xs = np.arange(8)",
}
STATEMENTS = [
    *("del xs[:h]", "del xs[h]", "xs.pop(h)", "xs.insert(h, 3)", "xs *= h", "xs = xs * h", "xs = [0] * h", "xs[h] = 3"),
    *("xs[h] += 3", "xs = xs[1:h]", "xs = xs[::h]", "xs[:h] = [3]", "xs.index(2, h)", "xs = 'abc' * h", "xs.rotate(h)"),
    *("xs = list('abc'.rjust(h))", "xs = list('abcdef'[h])", "xs = list('abcdef'[:h])", "xs = list(range(h))"),
]
ARE_PYTHONS = {("an array", "xs *= h"), ("an array", "xs = xs * h")}
"""What is right in Python."""


def grid():
    for i, setup in enumerate(SETUPS):
        for j, statement in enumerate(STATEMENTS):
            if (setup, statement) not in ARE_PYTHONS:
                yield pytest.param(setup, statement, marks=[] if i == j % len(SETUPS) else pytest.mark.slow)


@pytest.mark.parametrize(("setup", "statement"), [*grid()])
def test_it_is_refused(setup, statement):
    text = f"from collections import deque\nimport numpy as np\n\ndef main(n):\n    h = n * 0.5\n    {SETUPS[setup]}\n"
    main = made(f"{text}    {statement}\n    return len(xs)\n")
    with pytest.raises((TypeError, AttributeError, IndexError, ValueError)):  # Python's error
        main(3)
    with pytest.raises(hb.HloBatchError) as caught:
        hb.batch(main)(np.array([1, 3, 5], np.int32))
    assert caught.value.location.line == 7
