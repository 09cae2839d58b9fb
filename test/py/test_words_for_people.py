"""What objects print of themselves in a session, and what the command says of itself."""

import subprocess
import sys

import numpy as np
import pytest

import hlobatch as hb

X = np.arange(9, dtype=np.int32)
MOST = 160
"""Characters of what stands in one line of a notebook."""


@hb.batch
def halved(n, by):
    while n > 1:
        n = n // by
    return n


def test_what_objects_print_is_short_and_names_the_function() -> None:
    """None shows its parts: these are programs, modules and caches, thousands of lines."""
    traced = halved.trace(X, X + 2)
    lowered = traced.lower()
    for thing in (halved, traced, lowered, lowered.compile(), hb.export(halved, X, X + 2)):
        assert len(repr(thing)) <= MOST
        assert "halved" in repr(thing)
    assert repr(traced) == "Traced(halved; n: i32[], by: i32[]; 9 inputs)"
    _, stats = halved.with_stats(X, X + 2)
    assert repr(stats) == f"RunStats({str(stats).splitlines()[0]})"


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_the_package_is_a_command(arguments: list[str]) -> None:
    said = subprocess.run([sys.executable, "-m", "hlobatch", *arguments], capture_output=True, text=True, check=True)
    assert "hlobatch" in said.stdout
    assert arguments == ["--help"] or hb.__version__ in said.stdout
