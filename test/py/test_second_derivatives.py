"""Second derivatives of programs drawn by a seed, and first ones in 32 bits, are those of JAX on plain Python."""

import pytest
from feature_pairs import check
from second_derivatives import in_32_bits, outcome
from smooth_programs import program

BY_DAY = (316, 269, 342)
"""Seeds of small programs: one for each order of the modes."""
BY_NIGHT = 400
EACH = 20


@pytest.mark.parametrize("seed", BY_DAY)
def test_derivatives_of_a_program(seed):
    check([seed], program, outcome)
    check([seed], program, in_32_bits)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, EACH))
@pytest.mark.parametrize("judge", [outcome, in_32_bits], ids=["second", "32 bits"])
def test_derivatives_of_many_programs(first, judge):
    check(range(first, first + EACH), program, judge)
