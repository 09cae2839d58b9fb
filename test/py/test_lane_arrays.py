"""Arrays whose length differs between lanes, slices with a lane's bounds above all: values and errors, as in NumPy."""

import copy
import importlib.util
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shares import share

import hlobatch as hb

ROWS = np.array([[3, 1, 4, 1, 5, 9], [2, 7, 1, 8, 2, 8], [1, 1, 2, 3, 5, 8], [6, 0, 0, 4, 0, 2], [5, 5, 5, 5, 5, 5]])
STARTS = np.array([0, 3, -2, 1, 5])
ENDS = np.array([0, 5, 6, -1, 99])
MATRICES = np.arange(60).reshape(5, 4, 3) * 7 % 11


def in_python(value: Any) -> Any:
    """A value with Python's lists in place of arrays and tuples."""
    if isinstance(value, (tuple, list)):
        return [in_python(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def of_lane(found: Any, lane: int) -> Any:
    if isinstance(found, (tuple, list)):
        return [of_lane(part, lane) for part in found]
    return in_python(found[lane] if isinstance(found, hb.Ragged) else np.asarray(found)[lane])


def check(function: Any, *columns: Any, batch: int = 5) -> None:
    """Assert that each lane has the value that NumPy gives, or the class of the exception."""
    columns = tuple(np.resize(column, (batch, *column.shape[1:])) for column in columns)
    errors: dict[int, Any] = {}
    try:
        found = hb.batch(function)(*columns)
    except hb.LaneError as error:
        found, errors = error.outputs, error.errors
    for lane in range(batch):
        kind, expected = outcome(function, [copy.deepcopy(column[lane]) for column in columns])
        assert isinstance(errors.get(lane), kind), errors
        assert kind is not type(None) or is_close(of_lane(found, lane), expected), lane


def outcome(function: Any, given: list[Any]) -> tuple[type, Any]:
    """The class of the exception that Python raises, or that of None, and the value."""
    try:
        return type(None), in_python(function(*given))
    except (ValueError, IndexError) as error:
        return type(error), None


def is_close(one: Any, other: Any) -> bool:
    """Whether two values are equal but for the last digits of floats."""
    if isinstance(other, list):
        return isinstance(one, list) and len(one) == len(other) and all(map(is_close, one, other))
    return one == pytest.approx(other, nan_ok=True)


# A table: how an array is made, and what is asked of it


MADE = {
    "head": "y = x[:j]",
    "part": "y = x[i:j]",
    "stepped": "y = x[j:i:-2]",
    "masked": "y = x[x > i]",
    "computed": "y = 2 * x[i:j] + 1",
    "joined": "y = np.concatenate([x[:i], x[j:]])",
    "either": "y = x\n    if i > 0: y = x[i:j]",
    "of_function": "y = cut(x, i, j)",
    "of_object": "y = Box(x[i:j]).rows",
    "of_list": "parts = [x[:2], x[i:j]]\n    y = parts[1]",
    "narrowed": "y = x[:j]\n    while len(y) > 2: y = y[1:]",
    "floats": "y = x[i:j] / 4",
}
ASKED = {
    "length": "len(y), y.size, y.shape[0], y.ndim",
    "sum": "sum(y), y.sum(), np.sum(y), y.prod()",
    "mean": "y.mean() if len(y) else 0.0",
    "std": "(y.std(), np.var(y)) if len(y) else (0.0, 0.0)",
    "max": "tried(lambda: y.max())",
    "least": "tried(lambda: min(y))",
    "place": "tried(lambda: np.argmax(y))",
    "last_place": "tried(lambda: y.argmin())",
    "median": "np.median(y) if len(y) else 0.0",
    "first": "tried(lambda: y[0])",
    "last": "tried(lambda: y[-1])",
    "far": "tried(lambda: y[3])",
    "member": "3 in y, 100 in y, (y == y).all(), any(y), all(y), y.any()",
    "order": "np.sort(y), sorted(y), np.sort(y)[::-1]",
    "so_far": "np.cumsum(y), y.cumprod()",
    "distinct": "np.unique(y), len(set(y))",
    "where": "np.where(y > 2, y, 0), np.where(y > 2)[0], np.count_nonzero(y)",
    "inner": "y[y > 1], y[:2], y[1:-1], y[::-1]",
    "computed": "y + 1, 3 * y, y - y, abs(y * 1), np.maximum(y, 3), (y * 1.0) ** 2, y * y",
    "lists": "list(y), [v + 1 for v in y], [k for k, v in enumerate(y) if v], list(zip(y, y[1:]))",
    "turns": "walked(y)",
    "dot": "np.dot(y * 1, y * 1), np.linalg.norm(y * 1.0)",
    "joined": "np.append(y, 7), np.concatenate([y, y[:1]])",
    "truth": "tried(lambda: 1 if y else 0)",
    "unfit": "tried(lambda: (y + x).sum())",
    "equal": "np.array_equal(y, x), np.array_equal(y, y.copy())",
    "closure": "(lambda: y.sum() + len(y))()",
    "written": "stored(x.copy(), y)",
}
PRELUDE = """
import numpy as np

class Box:
    def __init__(self, rows): self.rows = rows

def cut(x, i, j):
    if i > 2: return x[:j]
    return x[i:j]

def walked(y):
    total = 0
    for v in y:
        if v > 6: continue
        total = total * 3 + v
    return total

def stored(z, y):
    z[: len(y)] = y
    return z
"""


def module_of(made: str, asked: list[str], folder: Path) -> types.ModuleType:
    """A module with a function for each question; ``tried(lambda: e)`` is ``e``, or -9 where that raises."""
    functions = []
    for name in asked:
        asks, question = "", ASKED[name]
        if question.startswith("tried(lambda: ") and question.endswith(")"):
            asks = f"    try:\n        r = {question[14:-1]}\n    except (ValueError, IndexError):\n        r = -9\n"
            question = "r"
        functions.append(f"def {name}_(x, i, j):\n    {MADE[made]}\n{asks}    return {question}\n")
    file = folder / f"{made}.py"
    file.write_text("\n".join([PRELUDE, *functions]))
    spec = importlib.util.spec_from_file_location(f"lane_arrays_{made}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_all(made: str, asked: list[str], folder: Path) -> None:
    module = module_of(made, asked, folder)
    for name in asked:
        check(getattr(module, f"{name}_"), ROWS, STARTS, ENDS)


@pytest.mark.parametrize("made", MADE)
def test_some_questions_are_answered_as_numpy_does(made: str, tmp_path: Path) -> None:
    check_all(made, share(made, list(ASKED), 2), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("made", MADE)
def test_all_questions_are_answered_as_numpy_does(made: str, tmp_path: Path) -> None:
    check_all(made, list(ASKED), tmp_path)


# Programs


def sorted_by_recursion(x, i, j):
    def quick(a):
        if len(a) <= 1:
            return a
        pivot, rest = a[0], a[1:]
        return np.concatenate([quick(rest[rest < pivot]), [pivot], quick(rest[rest >= pivot])])

    return quick(x), quick(x[i:j])


def found_by_halves(x, i, j):
    def has(a, v):
        if len(a) == 0:
            return False
        m = len(a) // 2
        if a[m] == v:
            return True
        return has(a[:m], v) if v < a[m] else has(a[m + 1 :], v)

    return has(np.sort(x), i + 2), has(np.sort(x), j)


def pancakes(x, i, j):
    for n in range(len(x), 1, -1):
        k = int(np.argmax(x[:n]))
        x[: k + 1] = x[: k + 1][::-1]
        x[:n] = x[:n][::-1]
    return x


def written_by_masks_and_slices(x, i, j):
    y = np.zeros(6, int)
    m = x > 2
    y[m] = x[m]
    y[j:] = x[j:] * 2
    y[:j] = y[:j] + x[:j]
    y[:j] += 1
    return y


def none_or_an_array(x, i, j):
    best = None
    for k in range(4):
        part = x[k : k + 2]
        if part.sum() > 5 and (best is None or part.sum() > best.sum()):
            best = part
    return -1 if best is None else best[0], 0 if best is None else len(best)


def the_longest_of_several(x, i, j):
    parts = []
    for k in range(3):
        part = x[k:j]
        parts.append(part)
    return len(max(parts, key=len)), [part.sum() for part in parts]


def windows(x, i, j):
    k = 1 + j % 4
    return max(sum(x[a : a + k]) for a in range(len(x) - k + 1)), max(x[a : a + k].max() for a in range(3))


def a_balance(x, i, j):
    for k in range(len(x)):
        if sum(x[:k]) == sum(x[k + 1 :]):
            return k
    return -1


def kept_and_changed(x, i, j):
    part, twice = x[i:j].copy(), x[i:j] * 2
    x[0] = 50
    return part, twice, x


PROGRAMS = [
    sorted_by_recursion,
    found_by_halves,
    pancakes,
    written_by_masks_and_slices,
    none_or_an_array,
    the_longest_of_several,
    windows,
    a_balance,
    kept_and_changed,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_gives_what_numpy_gives(program: Any) -> None:
    for batch in (0, 1, 17) if program is pancakes else (5,):
        check(program, ROWS, STARTS, ENDS, batch=batch)


def rows_of_a_matrix(g, i, j):
    part = g[i:j]
    return part.sum(), part.sum(axis=0), part.max(axis=1) if len(part) else part[:, 0], part.size, part[:, 1], 5 in part


def elements_of_a_matrix(g, i, j):
    row = g[1, i:j]
    return g[g > 4].sum(), g[g[:, 0] > i], np.argwhere(g > 7), row, row.sum(), [r.sum() for r in g[i:j]]


def computed_of_a_matrix(g, i, j):
    part = g[i:j] * np.array([1, 2, 3])
    return part, -part, part.mean() if len(part) else 0.0, np.where(part > 5, 1, 0)


@pytest.mark.parametrize("program", [rows_of_a_matrix, elements_of_a_matrix, computed_of_a_matrix])
def test_rows_of_a_matrix_are_as_numpy_has_them(program: Any) -> None:
    check(program, MATRICES, STARTS, ENDS)


def test_a_result_is_an_array_for_each_input_and_an_argument() -> None:
    found = hb.batch(lambda x, n: x[:n])(ROWS, ENDS)
    assert [part.tolist() for part in found] == [row[:n].tolist() for row, n in zip(ROWS, ENDS, strict=True)]
    assert hb.batch(lambda part: part.sum() + len(part))(found).tolist() == [
        row[:n].sum() + len(row[:n]) for row, n in zip(ROWS, ENDS, strict=True)
    ]


# What cannot be done


def assigned(x, i, j):
    y = x[i:j]
    y[0] = 1
    return x


def changed_by_another_name(x, i, j):
    y = x[i:j]
    x[0] = 1
    return y.sum()


def added_in_place(x, i, j):
    y = x[i:j]
    y += 1
    return x


def along_the_second_axis(x, i, j):
    return x.reshape(2, 3)[:, i:j].sum()


def in_two_brackets(x, i, j):
    x[i:j][0] = 1
    return x


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (assigned, "an element of an array whose length differs between lanes is assigned"),
        (changed_by_another_name, "this changes 'x' in place, of which 'y' is another name, or a part"),
        (added_in_place, "an array is changed in place by an operator"),
        (along_the_second_axis, "along an axis that is not the first one which is left"),
        (in_two_brackets, "an element of a slice is assigned, whose bounds differ between lanes"),
    ],
)
def test_what_cannot_be_done_is_refused_at_the_users_line(program: Any, text: str) -> None:
    with pytest.raises(hb.HloBatchError, match=text) as caught:
        hb.batch(program)(ROWS, STARTS, ENDS)
    assert "LaneArray" not in str(caught.value)
    assert f"in {program.__name__}" in str(caught.value)
