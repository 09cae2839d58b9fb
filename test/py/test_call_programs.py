"""Calls in all the ways that Python has give what Python gives, or are refused in plain words."""

import pytest
from call_programs import program
from feature_pairs import check

BY_DAY = range(6)
BY_NIGHT = 1_000
EACH = 50
LEAST_THAT_RUN = 0.3
"""A call that lacks an argument is refused where it stands."""


def test_programs_of_calls():
    check(BY_DAY, program, at_least=LEAST_THAT_RUN)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, EACH))
def test_many_programs_of_calls(first):
    check(range(first, first + EACH), program, at_least=LEAST_THAT_RUN)
