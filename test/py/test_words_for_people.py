"""The texts that objects print in a session, and the command's help."""

import subprocess
import sys

import numpy as np
import pytest

import hlobatch as hb
from hlobatch.values import growing_lists

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


def test_what_is_inside_prints_short_as_well() -> None:
    """However long a program is, and however many arguments a function has."""

    @hb.batch
    def many(tree, n):
        while n > 0:
            n -= 1
        return tree, n

    traced = many.trace({f"argument{i}": X for i in range(100)}, X)
    artifact = hb.export(many, {f"argument{i}": X for i in range(100)}, X)
    programs = traced.program, traced.lowered_program, traced.machine_program
    strategy = traced.plan.strategy(9)
    layout = traced.plan.layout(strategy, 8, grows=False)
    parts = [part for program in programs for part in (program, program.graph, program.graph.blocks[0])]
    for thing in (traced, traced.call, traced.lower(), *parts, artifact, artifact.manifest, strategy, layout):
        assert len(repr(thing)) <= 500


def test_a_notebook_opens_what_is_long() -> None:
    _, stats = halved.with_stats(X, X + 2)
    for thing in (stats, halved.trace(X, X + 2).program, hb.export(halved, X, X + 2)):
        title, text = thing._repr_html_().split("<pre>")
        assert str(thing).count("\n") == text.count("\n")
        assert "\n" not in title


def test_settings_print_what_is_not_as_by_default() -> None:
    assert repr(hb.Optimizations()) == "Optimizations()"
    options = hb.batch(halved.function, lanes=4, optimizations=hb.Optimizations(kernels=False)).options
    assert repr(options) == "Options(lanes=4, optimizations=Optimizations(kernels=False))"
    assert eval(repr(options.optimizations), vars(hb)) == options.optimizations


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_the_package_is_a_command(arguments: list[str]) -> None:
    said = subprocess.run([sys.executable, "-m", "hlobatch", *arguments], capture_output=True, text=True, check=True)
    assert "hlobatch" in said.stdout
    assert arguments == ["--help"] or hb.__version__ in said.stdout


def test_a_fault_of_hlobatch_is_said_to_be_one(monkeypatch):
    """Regression: a name that is missing in a module of hlobatch was shown as if the user's code had no such name."""
    file, names = growing_lists.__file__, {}
    exec(compile("def append(self, value):\n    return a_name_that_is_missing", file, "exec"), names)
    monkeypatch.setattr(growing_lists.GrowingList, "append", names["append"])

    def f(n):
        items = []
        while n > len(items):
            items.append(n)
        return len(items)

    with pytest.raises(hb.HloBatchError, match="a fault of hlobatch, and not of this code: NameError") as caught:
        hb.batch(f)(np.arange(3))
    assert not isinstance(caught.value, NameError)
    assert "please report it" in str(caught.value)
