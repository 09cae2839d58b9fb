"""When items are made shows as in Python, or the program is refused: each producer with each consumer and effect."""

import items_in_turn
import pytest
from feature_pairs import check

BY_DAY = range(12)
BY_NIGHT = 10_000
"""Programs by night, of more than three times as many: their numbers are far apart in the table."""
EACH = 100
"""Programs of a test by night."""


def check_some(seeds):
    check(seeds, items_in_turn.program, at_least=1 / 8)  # most keep an iterator for several uses, which is refused


def test_items_in_turn():
    check_some(BY_DAY)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, BY_NIGHT, EACH))
def test_many_items_in_turn(first):
    check_some(range(first, first + EACH))
