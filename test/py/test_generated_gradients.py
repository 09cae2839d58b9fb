"""Derivatives of programs drawn by a seed are those of plain Python, or are refused in plain words."""

import pytest
from feature_pairs import check
from smooth_programs import by_turns, outcome, program

BY_DAY = range(2, 5)
"""Seeds of small programs."""
BY_NIGHT = 5_000

WERE_WRONG = {
    "a call gives a constant to a variable that has a tangent": """
import jax.numpy as jnp

def check(u):
    if u > 0.6:
        raise ValueError("large")
    return u * u

def main(x, y, n, v, w):
    m = None if n > 1 else y
    t = y
    if m is None:
        m = check(-abs(check(-abs(-0.16))))
    else:
        t += m * x
    t = 0.6 * t + jnp.sin(m if m is not None else check(-abs(t * 0.73)))
    return t * x
""",
}
"""What was found in such programs, smaller."""


@pytest.mark.parametrize("what", WERE_WRONG)
def test_gradients_that_were_wrong(what):
    assert outcome(WERE_WRONG[what]).kind == "ran"


def test_gradients_of_programs_of_several_features():
    check(BY_DAY, program, by_turns, outcome)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, 125))
def test_gradients_of_many_programs_of_several_features(first):
    check(range(first, first + 125), program, outcome)
