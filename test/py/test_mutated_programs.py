"""Programs of the corpus with a few changes, drawn by a seed, give what Python gives, or are refused in plain words."""

import mutated_programs
import pytest
from feature_pairs import check

BY_DAY = range(40, 60)
BY_NIGHT = 3_000
EACH = 50
"""Programs of a test by night: few enough for a share of the slow tests that ends soon."""


def check_some(seeds):
    check(seeds, mutated_programs.program, mutated_programs.outcome, at_least=1 / 3)  # a third makes no sense to Python


def test_changed_programs():
    check_some(BY_DAY)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, EACH))
def test_many_changed_programs(first):
    check_some(range(first, first + EACH))
