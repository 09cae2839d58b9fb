"""Functions that no file holds: typed at prompts, given to Python as an argument or as its input, made by ``exec``."""

import linecache
import os
import pty
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

import jax.numpy as jnp
import pytest

import hlobatch as hb

PROGRAM = """
import hlobatch as hb
import numpy as np

def helper(n):
    while n > 5:
        n = n - 1
    return n

@hb.batch
def halvings(n):
    steps = 0
    while n > 1:
        n = n // 2
        steps += 1
    return steps + helper(n)

print("gave", halvings(np.array([1, 2, 9])).tolist())
print("gave", hb.batch(lambda n: -n if n > 2 else n)(np.array([1, 3])).tolist())
wrong = hb.batch(lambda n: n if n else [n])
try:
    wrong(np.array([1, 3]))
except hb.HloBatchError as error:
    print("error", error)
"""
GIVEN = "gave [1, 2, 4]\ngave [1, -3]\n"


def run(arguments: Sequence[str], **how: object) -> str:
    """The output of a new Python process."""
    environment = {**os.environ, "PYTHONPATH": str(Path(hb.__file__).parents[1]), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=300, env=environment, check=False, **how
    )
    assert not done.stderr.count("Traceback"), done.stderr
    return done.stdout


@pytest.mark.parametrize("options", [["-Xutf8", "-Bc"], pytest.param(["-c"], marks=pytest.mark.slow)], ids=" ".join)
def test_an_argument(options):
    out = run([*options, PROGRAM, "-c", "x"])
    assert out.startswith(GIVEN)
    assert "wrong = hb.batch(lambda n: n if n else [n])" in out  # the line that is at fault, as it was written


def test_an_input_that_is_a_file(tmp_path):
    file = tmp_path / "program"
    file.write_text(PROGRAM)
    with file.open() as given:
        out = run([], stdin=given)
    assert out.startswith(GIVEN)
    assert "wrong = hb.batch(lambda n: n if n else [n])" in out


AT_THE_PROMPT = """
import hlobatch as hb
import numpy as np
def unlike(n):
    return n

@hb.batch
def halvings(n):
    steps = 0
    while n > 1:
        n = n // 2
        steps += 1
    return steps

def less(n):
    while n > 7: n = n - 7
    return n

@hb.batch
def again(n):
    return halvings(less(n))

print("gave", halvings(np.array([1, 2, 9])).tolist(), again(np.array([8, 9])).tolist())
f = hb.batch(lambda n: -n if n > 2 else n)
print("gave", f(np.array([1, 3])).tolist())
"""


def test_a_prompt(tmp_path):
    """As a user types, in a terminal: the prompt keeps a history, or Python what was typed."""
    if sys.version_info < (3, 13):
        pytest.importorskip("readline")
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(hb.__file__).parents[1]),
        "HOME": str(tmp_path),
        "TERM": "dumb",
        "PYTHON_BASIC_REPL": "1",
    }
    prompt = subprocess.Popen([sys.executable, "-q", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    os.write(ours, AT_THE_PROMPT.lstrip().encode() + b"exit()\n")
    seen, end = b"", time.monotonic() + 300
    while time.monotonic() < end:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
    prompt.wait(timeout=60)
    os.close(ours)
    lines = [line for line in seen.decode().splitlines() if line.startswith("gave")]
    assert lines == ["gave [0, 1, 3] [0, 1]", "gave [1, -3]"], seen.decode()


def test_an_input_that_is_not_kept():
    """A pipe is read once: one sentence says what to do."""
    if sys.version_info >= (3, 13):
        pytest.skip("Python keeps it")
    asked = PROGRAM[: PROGRAM.index("print")] + textwrap.dedent("""
        try:
            halvings(np.array([1]))
        except hb.HloBatchError as error:
            print(error)
        """)
    out = run(["-"], input=asked)
    assert "the source of 'halvings' cannot be read (<stdin>)" in out
    assert "help: put the function in a file, and import it" in out


TEXT = "def f(n):\n    while n > 3:\n        n = n - 1\n    return n\n"


def test_what_exec_makes():
    names: dict[str, object] = {}
    exec(TEXT, names)
    with pytest.raises(hb.UnsupportedSyntaxError, match="cannot be read") as caught:
        hb.batch(names["f"])(jnp.arange(5))
    assert "`linecache.cache[name] = len(text), None, text.splitlines(True), name`" in caught.value.help


def test_what_exec_makes_of_a_text_with_a_name():
    """As the error says, and as IPython does."""
    text, name, names = TEXT, "<cell 1>", dict[str, object]()
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    exec(compile(text, name, "exec"), names)
    assert hb.batch(names["f"])(jnp.arange(6)).tolist() == [0, 1, 2, 3, 3, 3]
