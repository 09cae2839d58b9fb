"""Programs of two or three features each, drawn by a seed, give what Python gives, or are refused in plain words."""

import pytest
from feature_pairs import outcome, program, reduced

BY_DAY = 96
BY_NIGHT = 20_000


def check(seeds):
    """Fail at a program that differs, with what is left of it without what does not matter; most programs run."""
    kinds = []
    for seed in seeds:
        text = program(seed)
        kinds.append(outcome(text).kind)
        if kinds[-1] == "wrong":
            small = reduced(text, lambda smaller: outcome(smaller).kind == "wrong")
            pytest.fail(f"seed {seed}:\n{small}\n{outcome(small).what}")
    assert kinds.count("ran") > len(kinds) // 2


@pytest.mark.parametrize("first", range(0, BY_DAY, 12))
def test_programs_of_several_features(first):
    check(range(first, first + 12))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(BY_DAY, BY_NIGHT, 199))
def test_many_programs_of_several_features(first):
    check(range(first, min(first + 199, BY_NIGHT)))
