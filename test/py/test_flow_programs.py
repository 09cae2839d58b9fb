"""Programs of nested statements and scopes give what Python gives, or are refused in plain words."""

import pytest
from feature_pairs import check
from flow_programs import outcome, program

BY_DAY = range(4)
BY_NIGHT = 1_500
EACH = 50


def test_programs_of_nested_statements():
    check(BY_DAY, program, outcome)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, EACH))
def test_many_programs_of_nested_statements(first):
    check(range(first, first + EACH), program, outcome)
