"""Small programs, each a statement or an expression in some position, equal plain Python.

Every statement of ``statements.py`` stands in every position there, and so do the expressions of ``meanings.py``. Each
program is traced by itself, and the definitional interpreter runs it on a few examples. By day each statement stands in
one position, at night in all; an expression, at night, in a few.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import meanings
import numpy as np
import pytest
import statements
from marked import Marked
from programs.table import Program, WrongResultError, check
from statements import PLACES, POSITIONS, REFUSED, STATEMENTS, parted, placed, statements_of
from zoo import optimizing_little

import hlobatch as hb

COLUMNS = (
    [0, 1, 2, 3, 7],
    [-3, 2, 0, 1, 4],
    [0.25, 1.0, 2.5, 0.5, 1.5],
    [-2.5, 0.5, 1.25, -0.75, 2.0],
    [True, False, True, False, True],
    np.array([[1, -2, 3, 0], [4, 4, 0, 1], [2, 2, 2, 2], [5, -1, 0, 3], [0, 7, 1, 9]], np.int32),
    np.array([[0.5, 1.5, -1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 1.0], [-0.5, 3.0, 0.25], [4.0, 2.0, 0.0]], np.float32),
)
"""Five examples: n, k, x, y, b, v and w."""
HEADER = f"import hlobatch as hb\n{meanings.PRELUDE}{statements.PRELUDE}\n"


def programs(texts: Sequence[str], folder: Path) -> list[Program]:
    """Programs of which each is the function ``f`` of a text."""
    modules = [Marked(HEADER + text, None, ()).module(folder, f"small{i}") for i, text in enumerate(texts)]
    return [Program(module.f, COLUMNS, raises=Exception) for module in modules]


def interpreted(program: Program) -> tuple[Any, dict[int, type]]:
    """The results of the examples that end with one, and what the others raise."""
    code = program.trace().program
    results, raised = [], dict[int, type]()
    for row in range(program.rows):
        try:
            results.append(hb.instructions.interpret(code, *program.example(row)))
        except hb.HloBatchError:
            raise
        except Exception as error:  # noqa: BLE001  # the user's
            raised[row] = type(error)
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *results), raised


def batched(program: Program) -> tuple[Any, dict[int, type]]:
    """The results of a batch in the default form."""
    try:
        return program.call(program.variant(), list(range(program.rows))), {}
    except hb.LaneError as error:
        found = jax.tree.map(lambda x: x[np.array(program.finishing)], error.outputs)
        return found, {row: type(raised) for row, raised in error.errors.items()}


def wrong(program: Program, run: Any) -> str:
    """The difference of a program from plain Python, as text; empty if there is none."""
    with hb.disable_batching(), np.errstate(all="ignore"):
        wanted = {row: type(o) for row, o in enumerate(program.outcomes) if isinstance(o, Exception)}
    try:
        results, raised = run(program)
        assert raised == wanted, f"raises {raised} for {wanted}"
        check(program, program.finishing, results)
    except (hb.HloBatchError, WrongResultError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def all_equal_python(texts: Sequence[str], folder: Path, run: Any = interpreted) -> None:
    with optimizing_little():
        found = [(text, wrong(program, run)) for text, program in zip(texts, programs(texts, folder), strict=True)]
    assert not any(error for _, error in found), "\n".join(f"{text}\n{error}" for text, error in found if error)


EACH = [(subject, position) for subject in STATEMENTS for position in POSITIONS]


@pytest.mark.parametrize(("subject", "position"), EACH)
def test_statements_equal_python(subject: str, position: str, tmp_path: Path) -> None:
    mine = statements_of(subject)[list(POSITIONS).index(position) :: len(POSITIONS)]
    all_equal_python([placed(text, POSITIONS[position]) for text in mine], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("subject", "position"), EACH)
def test_statements_in_every_position(subject: str, position: str, tmp_path: Path) -> None:
    all_equal_python([placed(text, POSITIONS[position]) for text in statements_of(subject)], tmp_path)


@pytest.mark.parametrize("subject", STATEMENTS)
def test_a_statement_compiled(subject: str, tmp_path: Path) -> None:
    all_equal_python([placed(statements_of(subject)[-1], POSITIONS["in a helper"])], tmp_path, batched)


@pytest.mark.slow
@pytest.mark.parametrize("subject", STATEMENTS)
def test_statements_compiled(subject: str, tmp_path: Path) -> None:
    all_equal_python([placed(text, POSITIONS["in a while"]) for text in statements_of(subject)], tmp_path, batched)


ARRAYS = ("numpy", "members")
"""Subjects of ``meanings.py`` whose values may be arrays, which are no conditions."""
CONDITIONS = ("in an if", "in a while", "in a condition of a comprehension")


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("subject", meanings.SUBJECTS)
def test_expressions_in_every_place(subject: str, place: str, tmp_path: Path) -> None:
    if place in CONDITIONS and subject in ARRAYS:
        return
    expressions = meanings.SUBJECTS[subject].strip().splitlines()
    all_equal_python(
        [PLACES[place].replace("{}", text, 1) for text in expressions[list(PLACES).index(place) % 2 :: 2]], tmp_path
    )


@pytest.mark.parametrize("position", POSITIONS)
def test_what_is_refused_is_listed(position: str, tmp_path: Path) -> None:
    """It is always refused, with an error of hlobatch."""
    mine = parted(REFUSED)[list(POSITIONS).index(position) % 2 :: 2]
    for text, program in zip(
        mine, programs([placed(text, POSITIONS[position]) for text in mine], tmp_path), strict=True
    ):
        assert not isinstance(outcome(program), hb.Traced), f"it runs, take it off the list:\n{text}"


def outcome(program: Program) -> hb.Traced | hb.HloBatchError:
    try:
        return program.trace()
    except hb.HloBatchError as error:
        return error
