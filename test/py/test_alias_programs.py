"""Programs in which objects have several names give what Python gives, or are refused in plain words."""

import pytest
from alias_programs import program
from feature_pairs import check

BY_DAY = range(6)
BY_NIGHT = 3_000
EACH = 50


def test_programs_of_aliases():
    check(BY_DAY, program, at_least=1 / 6)  # most would need references


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, EACH))
def test_many_programs_of_aliases(first):
    check(range(first, first + EACH), program, at_least=1 / 6)
