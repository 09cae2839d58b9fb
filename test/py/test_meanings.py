"""Python's own functions, indexing, comparison and ``math`` on a lane's values, in every position, equal plain Python.

One function of many expressions is compiled for each subject and position. In plain Python it runs on Python's numbers:
the results have to be of the same kind, and equal. By day each expression stands in one position, at night in all.
"""

import types
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from marked import Marked
from meanings import POSITIONS, PRELUDE, SUBJECTS
from zoo import optimizing_little

import hlobatch as hb

VARIABLES = {
    "n": [0, 1, 2, 3, 4, 5, 7],
    "k": [-3, 2, 0, 1, -1, 3, 4],
    "x": [0.25, 1.0, 2.5, 0.5, 3.75, 6.0, 1.5],
    "y": [-2.5, 0.5, 1.25, -0.75, 3.5, -4.25, 2.0],
    "b": [True, False, True, True, False, False, True],
}
"""Rows of each variable; floats are exact in 32 bits."""


def expressions(subject: str) -> list[str]:
    return SUBJECTS[subject].strip().splitlines()


def text_of(lines: list[str], position: str) -> str:
    """A module with a function that gives the values of some expressions."""
    helpers = "".join(
        f"def helper{i}(n, k, x, y, b):\n    if n > 100:\n        n = 100\n    return {line}\n"
        for i, line in enumerate(lines)
        if position == "in a helper"
    )
    placed = [POSITIONS[position].format(i if position == "in a helper" else line) for i, line in enumerate(lines)]
    body = "".join(f"    r{i} = {line}\n" for i, line in enumerate(placed))
    names = ", ".join(f"r{i}" for i in range(len(placed)))
    return f"{PRELUDE}\n{helpers}\ndef f(n, k, x, y, b):\n{body}    return [{names}]\n"


def arrays(dtypes: dict[str, Any]) -> list[np.ndarray]:
    return [np.array(values, dtypes.get(name)) for name, values in VARIABLES.items()]


def check(module: types.ModuleType, lines: list[str], found: list[Any], rtol: float = 2e-5) -> None:
    """Every expression's value in each lane, and its kind, is what Python gives for Python's numbers."""
    wrong = []
    for row in range(len(VARIABLES["n"])):
        expected = module.f(*(values[row] for values in VARIABLES.values()))
        for line, value, want in zip(lines, found, expected, strict=True):
            leaves, structure = jax.tree.flatten(value)
            wanted, wanted_structure = jax.tree.flatten(want)
            assert structure == wanted_structure, line
            for a, b in zip(leaves, wanted, strict=True):
                one = np.asarray(a)[row]
                kind = one.dtype.kind.replace("u", "i")
                if kind != np.asarray(b).dtype.kind or not np.allclose(one, b, rtol=rtol, atol=1e-6, equal_nan=True):
                    wrong.append(f"{line}: {one!r} for {b!r} in row {row}")
    assert not wrong, "\n".join(wrong)


def equal_python(lines: list[str], position: str, tmp_path: Path) -> None:
    module = Marked(text_of(lines, position), None, ()).module(tmp_path)
    with optimizing_little():
        found = hb.batch(module.f)(*arrays({"n": np.int32, "k": np.int32, "x": np.float32, "y": np.float32}))
    check(module, lines, found)


OF_ARRAYS = ("numpy", "members")
"""Subjects whose values may be arrays, which are no conditions."""
CASES = [(s, p) for s in SUBJECTS for p in POSITIONS if s not in OF_ARRAYS or p != "in a condition"]


@pytest.mark.parametrize(("subject", "position"), CASES)
def test_expressions_equal_python(subject: str, position: str, tmp_path: Path) -> None:
    first = list(POSITIONS).index(position)
    equal_python(expressions(subject)[first :: len(POSITIONS)], position, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "position"), CASES)
def test_expressions_in_every_position(subject: str, position: str, tmp_path: Path) -> None:
    equal_python(expressions(subject), position, tmp_path)
