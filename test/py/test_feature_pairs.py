"""Programs of two or three features each, drawn by a seed, give what Python gives, or are refused in plain words."""

import pytest
from feature_pairs import check, outcome

BY_DAY = 6
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
}
"""What was found in such programs, smaller."""


@pytest.mark.parametrize("what", WERE_WRONG)
def test_what_was_wrong(what):
    assert outcome(WERE_WRONG[what]).kind == "ran"


def test_programs_of_several_features():
    check(range(BY_DAY))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(BY_DAY, BY_NIGHT, EACH))
def test_many_programs_of_several_features(first):
    check(range(first, min(first + EACH, BY_NIGHT)))
