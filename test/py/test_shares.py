"""Tests of the choice of cases that run by day, and of the parts into which slow tests are divided."""

import itertools

import pytest
import shares


def test_each_test_is_in_one_of_the_parts() -> None:
    names = [f"test/py/test_gangs.py::test_stacks[{i}-{i % 3}]" for i in range(1000)]
    parts = [[name for name in names if name in shares.Part.read(f"{number}/20")] for number in range(20)]
    assert sorted(itertools.chain(*parts)) == sorted(names)
    assert max(map(len, parts)) < 2 * min(map(len, parts))


@pytest.mark.parametrize("text", ["20/20", "0/0", "7", "-1/20", "1/20 "])
def test_there_is_no_such_part(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="the last of twenty is 19/20"):
        shares.Part.read(text)


def called_by_the_next(items):
    return items.pop()


def calls(items):
    return sorted(items), called_by_the_next(items)


def test_what_a_program_calls_is_a_feature_unless_its_own_file_defines_it() -> None:
    found = shares.pairs_and_calls(calls)
    assert {"sorted", ("Call", "Return")} <= found
    assert "called_by_the_next" not in found
    assert "pop" in shares.pairs_and_calls(called_by_the_next)


def test_in_a_choice_of_cases_all_values_occur() -> None:
    cases = {(a, b): {a, b} for a in "xyz" for b in "123"}
    chosen = shares.each_value(cases)
    assert set().union(*chosen) == set("xyz123")
    assert len(chosen) == 3
