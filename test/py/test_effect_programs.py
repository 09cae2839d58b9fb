"""Programs of expressions with effects give what Python gives, or are refused in plain words."""

import pytest
from effect_programs import program
from feature_pairs import check

BY_DAY = range(6)
BY_NIGHT = 3_000
EACH = 50


def test_programs_of_effects():
    check(BY_DAY, program)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, EACH))
def test_many_programs_of_effects(first):
    check(range(first, first + EACH), program)
