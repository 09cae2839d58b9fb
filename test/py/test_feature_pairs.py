"""Programs of two or three features each, drawn by a seed, give what Python gives, or are refused in plain words."""

import pytest
from feature_pairs import check

BY_DAY = 6
BY_NIGHT = 20_000


def test_programs_of_several_features():
    check(range(BY_DAY))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(BY_DAY, BY_NIGHT, 199))
def test_many_programs_of_several_features(first):
    check(range(first, min(first + 199, BY_NIGHT)))
