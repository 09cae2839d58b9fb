"""Programs of two or three features each, drawn by a seed, give what Python gives, or are refused in plain words."""

import pytest
from feature_pairs import check

BY_DAY = 6
BY_NIGHT = 20_000
EACH = 50
"""Programs of a test by night: few enough for a share of the slow tests that ends soon."""


def test_programs_of_several_features():
    check(range(BY_DAY))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(BY_DAY, BY_NIGHT, EACH))
def test_many_programs_of_several_features(first):
    check(range(first, min(first + EACH, BY_NIGHT)))
