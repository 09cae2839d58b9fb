"""Objects of several classes in one variable: every operation, however they get there, is Python's or refused."""

import pathlib
import random
import re
import sys
from collections.abc import Callable, Iterable
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, Final

import numpy as np
import pytest
from objects_of_classes import CLASSES, MORE, MORE_REFUSED, OPERATIONS, REFUSED, WAYS, function

import hlobatch as hb

INPUTS = np.array([-3.5, -1.0, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0] * 2 + [4.5], np.float32)
WAYS_BY_DAY = [*WAYS]


def loaded(path: pathlib.Path, source: str) -> Any:
    path.write_text(source)
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def by_python(plain: Callable[[float], Any], x: float) -> float | str:
    try:
        return float(plain(x))
    except Exception as error:  # noqa: BLE001  # any that a lane may raise
        return type(error).__name__


def by_lanes(batched: Callable[[Any], Any], inputs: Any) -> list[float | str]:
    try:
        return [float(value) for value in np.asarray(batched(inputs))]
    except hb.LaneError as error:
        given = np.asarray(error.outputs)
        return [
            type(error.errors[lane]).__name__ if lane in error.errors else float(given[lane])
            for lane in range(len(inputs))
        ]


def check(plain: Callable[[float], Any], refusals: tuple[str, ...], sizes: tuple[int, ...] = (17,)) -> None:
    batched = hb.batch(plain)
    for size in sizes:
        try:
            found = by_lanes(batched, INPUTS[:size])
        except hb.HloBatchError as error:
            assert any(text in str(error) for text in refusals), error  # noqa: PT017
            return
        for x, value in zip(INPUTS[:size], found, strict=True):
            wanted = by_python(plain, float(x))
            assert (value == wanted) if isinstance(wanted, str) else np.isclose(value, wanted, rtol=1e-4), (x, wanted)


def variants_by_night(operations: Iterable[str]) -> list[Any]:
    """All operations; by day not those that are numbered, which are variants of the operation of that name."""
    return [pytest.param(name, marks=pytest.mark.slow) if name[-1].isdigit() else name for name in operations]


@pytest.mark.parametrize("operation", variants_by_night(OPERATIONS))
def test_an_operation_is_pythons(operation: str, tmp_path: pathlib.Path) -> None:
    way = WAYS_BY_DAY[[*OPERATIONS].index(operation) % len(WAYS)]
    module = loaded(tmp_path / f"kinds_{operation}.py", CLASSES + function(way, operation))
    check(getattr(module, f"{way}_{operation}"), REFUSED.get(operation, ()))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_operation_is_pythons_in_every_way(way: str, tmp_path: pathlib.Path) -> None:
    source = CLASSES + "".join(function(way, operation) for operation in OPERATIONS)
    module = loaded(tmp_path / f"kinds_of_{way}.py", source)
    for operation in OPERATIONS:
        check(getattr(module, f"{way}_{operation}"), REFUSED.get(operation, ()), (0, 1, 2, 17))


@pytest.mark.parametrize("name", re.findall(r"def (f_\w+)", MORE))
def test_objects_with_several_names_are_pythons_or_refused(name: str, tmp_path: pathlib.Path) -> None:
    module = loaded(tmp_path / f"kinds_{name}.py", CLASSES + MORE)
    check(getattr(module, name), MORE_REFUSED)


def test_a_result_of_several_classes_is_refused(tmp_path: pathlib.Path) -> None:
    module = loaded(tmp_path / "kinds_returned.py", CLASSES + "def returned(x):\n    return make(x)\n")
    with pytest.raises(hb.HloBatchError, match="results are arrays"):
        hb.batch(module.returned)(INPUTS)


STATEMENTS: Final = """
t += s.area()

s.grow({k})

s = s.other()

s, r = r, s

if isinstance(s, Circle):
    t += s.size
    s = Square(s.size + {k})
else:
    s.side -= {k}

if t > {k}:
    s = make(t - 2 * x)

for _ in range(2):
    if isinstance(r, Square) and r.side > {k}:
        break
    r = r.other()
    t += r.area()

match r:
    case Circle(size=q) if q > {k}:
        r.grow(0.5)
    case Square():
        t -= r.side
        r = r.other()

box.swap()

t += box.shape.area() + box.count

box.shape.grow({k})

if isinstance(box.shape, Square):
    box.shape = Circle(box.shape.side)
    t += 1

t += measure_all(s if t > {k} else r)

enlarge(s, {k})

k = 0
while s and k < 3:
    s = s + 1.0
    k += 1
    if k == {k}:
        continue
    t += s.size

try:
    if t > 10 * {k}:
        raise ValueError
    s = s.other()
    t += s.side
except (ValueError, AttributeError):
    t *= 0.25

t = max(min(t, 50.0), -50.0)
""".strip().split("\n\n")


def generated(seed: int) -> str:
    """A function of statements on objects of two classes, some of them in a loop."""
    draw = random.Random(seed)
    lines = ["s = make(x)", "r = Circle(x) if x > 2 else Square(x)", "box = Box(make(-x))", "t = 0.0"]
    chosen = [draw.choice(STATEMENTS).replace("{k}", str(draw.choice((1, 2, 3)))) for _ in range(draw.randint(3, 7))]
    for statement in chosen:
        if draw.random() < 0.25:
            lines += [f"for _ in range({draw.choice(('2', '3', 'int(abs(x)) % 3'))}):"]
            lines += [f"    {line}" for line in f"{statement}\nt = max(min(t, 50.0), -50.0)".split("\n")]
        else:
            lines += statement.split("\n")
    lines += ["return max(min(t + s.area() + r.size - box.shape.area(), 1e6), -1e6)"]
    return "\n".join([f"def made_{seed}(x):", *(f"    {line}" for line in lines), ""])


def check_generated(seeds: range, path: pathlib.Path) -> None:
    module = loaded(path / f"kinds_made_{seeds.start}.py", CLASSES + "".join(map(generated, seeds)))
    for seed in seeds:
        check(getattr(module, f"made_{seed}"), ("another name", "is still read", "several things at once"))


def test_generated_statements_are_pythons(tmp_path: pathlib.Path) -> None:
    check_generated(range(2), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 120, 10))
def test_many_generated_statements_are_pythons(first: int, tmp_path: pathlib.Path) -> None:
    check_generated(range(first, first + 10), tmp_path)


class Gauge:
    def __init__(self, level):
        self.level = level

    def __bool__(self):
        return self.level != 0


def test_an_object_beside_a_number_is_called_so() -> None:
    def either(n):
        gauge = Gauge(n)
        return (gauge and 5) if n else 0

    with pytest.raises(hb.BatchTypeError, match="one is Gauge"):
        hb.batch(either)(np.arange(3))
