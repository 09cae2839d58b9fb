"""Programs on arrays, drawn by a seed, give what Python gives with NumPy or JAX, or are refused in plain words."""

import pytest
from array_programs import by_turns, program
from feature_pairs import check

BY_DAY = range(0, 40, 20)
"""The first seeds of programs by day, ten in a row."""
BY_NIGHT = 8_000


@pytest.mark.parametrize("first", BY_DAY)
def test_programs_on_arrays(first: int) -> None:
    check(range(first, first + 10), program, by_turns)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, 50))
def test_many_programs_on_arrays(first: int) -> None:
    check(range(first, first + 50), program, by_turns)
