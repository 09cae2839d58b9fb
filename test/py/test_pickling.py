"""Batched functions sent to other processes: pickled by name, by value, and errors on the way back."""

import functools
import itertools
import pickle
import subprocess
import sys
from pathlib import Path

import cloudpickle
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.diagnostics import UNKNOWN, Location, Note, as_also


def halved(n):
    return n // 2


@hb.batch
def steps(n):
    count = 0
    while n != 1:
        n = halved(n) if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def doubled_or_not(n, double):
    return 2 * n if double else n


renamed = hb.batch(doubled_or_not, static_argnames="double", max_steps=100)


class Model:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return isinstance(other, Model) and self.k == other.k

    def __hash__(self):
        return hash(self.k)

    @hb.batch(static_argnames="self")
    def scaled(self, x):
        return x * self.k


@pytest.mark.parametrize("package", [pickle, cloudpickle])
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_by_name(package, protocol):
    assert package.loads(package.dumps([steps, steps], protocol)) == [steps, steps]
    assert package.loads(package.dumps(Model.scaled, protocol)) is Model.scaled


def test_one_whose_name_is_the_plain_functions():
    copy = pickle.loads(pickle.dumps(renamed))
    assert copy is not renamed
    assert (copy.function, copy.options, copy.static) == (renamed.function, renamed.options, renamed.static)
    assert copy(np.arange(3), True).tolist() == [0, 2, 4]


def test_a_method_of_an_object():
    copy = pickle.loads(pickle.dumps(Model(3).scaled))
    assert copy(np.arange(3)).tolist() == [0, 3, 6]
    assert copy.__func__ is Model.scaled


def test_one_that_was_made_inside():
    factor = 3

    @functools.partial(hb.batch, max_steps=50)
    def power(n):
        return 1 if n == 0 else factor * power(n - 1)

    copy = cloudpickle.loads(cloudpickle.dumps(power))
    assert copy.options.max_steps == 50
    assert copy(np.arange(4)).tolist() == [1, 3, 9, 27]
    with pytest.raises((pickle.PicklingError, AttributeError), match="power"):
        pickle.dumps(power)


SCRIPT = """
import multiprocessing
import sys

import numpy as np

import hlobatch as hb


def helper(n):
    return n // 2 if n % 2 == 0 else 3 * n + 1


@hb.batch
def steps(n):
    if n == 1:
        return 0
    return 1 + steps(helper(n))


@hb.batch
def wrong(n):
    return n.missing


def count(n):
    return steps(n).tolist()


if __name__ == "__main__":
    if sys.argv[1:]:
        import cloudpickle

        with open(sys.argv[1], "wb") as file:
            file.write(cloudpickle.dumps([steps, wrong]))
    else:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            batches = [np.arange(1, 4), np.arange(1, 6)]
            print(pool.map(count, batches), [x.tolist() for x in pool.map(steps, batches)])
            try:
                pool.map(wrong, batches)
            except hb.BatchTypeError as error:
                print(error.location.text, error.location.line)
"""


def python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_processes_that_are_spawned(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    expected = [[0, 1, 7], [0, 1, 7, 2, 5]]
    assert python(str(file)).splitlines() == [f"{expected} {expected}", "n.missing 23"]


def test_a_script_whose_file_is_gone(tmp_path: Path) -> None:
    """The source is part of the pickle, as for a notebook."""
    file, kept = tmp_path / "script.py", tmp_path / "steps.pickle"
    file.write_text(SCRIPT)
    python(str(file), str(kept))
    file.unlink()
    code = f"""
import pickle, numpy as np, hlobatch as hb
steps, wrong = pickle.load(open({str(kept)!r}, "rb"))
print(steps(np.arange(1, 6)).tolist())
try:
    wrong(np.arange(3))
except hb.BatchTypeError as error:
    print(error.location.text, error.location.line)
"""
    assert python("-W", "ignore", "-c", code).splitlines() == ["[0, 1, 7, 2, 5]", "n.missing 23"]


PLACE = Location("file.py", 1, 2, 1, 5, "f")


@pytest.mark.parametrize(
    "error",
    [
        hb.HloBatchError("no place", help="none"),
        hb.BatchTypeError("a place", PLACE, notes=[Note("there", PLACE)]),
        as_also(hb.BatchTypeError, KeyError)("a user's class, too", PLACE),
        hb.VerificationError("rule_c1", "broken", PLACE),
        hb.StepLimitError("stuck", PLACE, lanes=[1, 2], outputs=jnp.arange(3), unfinished=[1, 2, 3]),
        hb.TimeLimitError("late", PLACE, lanes=[1, 2], outputs=jnp.arange(3), unfinished=[1, 2, 3]),
    ],
    ids=itertools.count(),
)
def test_errors(error: hb.HloBatchError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert [kind.__name__ for kind in type(copy).__mro__] == [kind.__name__ for kind in type(error).__mro__]
    assert str(copy) == str(error)
    assert (copy.location, copy.notes, copy.help) == (error.location, error.notes, error.help)
    assert (copy.location is UNKNOWN) == (error.location is UNKNOWN)
    if isinstance(error, hb.LaneError):
        assert (copy.lanes, copy.unfinished, copy.outputs.tolist()) == ((1, 2), (1, 2, 3), [0, 1, 2])


def test_what_has_no_source_is_pickled() -> None:
    """It is no function of Python, and an error when it is called."""
    again = pickle.loads(cloudpickle.dumps(hb.batch(functools.partial(halved))))
    with pytest.raises(hb.UnsupportedSyntaxError, match="is a partial, not a Python function"):
        again(np.arange(3))
