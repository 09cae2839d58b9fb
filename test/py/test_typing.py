"""Types for type checkers: parameters and results of batched functions, methods, the decorator's options.

Each line that is wrong says so; mypy has to find exactly these.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import functools

import jax
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def steps(n: jax.Array, limit: int = 3) -> jax.Array:
    return n if limit > 3 else steps(n, limit + 1)


@hb.batch(max_steps=10, static_argnames="rule")
def ruled(n: jax.Array, rule: str) -> tuple[jax.Array, jax.Array]:
    return n, n


class Model:
    @hb.batch(static_argnames="self")
    def step(self, x: jax.Array) -> jax.Array:
        return x


x = jnp.arange(3)
one: jax.Array = steps(x, limit=2)
two: tuple[jax.Array, jax.Array] = ruled(x, "up")
three: jax.Array = Model().step(x)
four: jax.Array = Model.step(Model(), x)
five: tuple[jax.Array, hb.RunStats] = steps.with_stats(x)
six: hb.BatchedFunction[[jax.Array, int], jax.Array] = hb.batch(lambda n, k: n + k)
seven = functools.partial(hb.batch, in_axes=(0, None))(lambda n, k: n + k)

steps("three")  # arg-type
steps(x, lim=3)  # call-arg
ruled(x)  # call-arg
ruled(x, 3)  # arg-type
Model().step()  # call-arg
Model().step("x")  # arg-type
hb.batch(max_step=3)  # call-overload
hb.batch(3)  # call-overload
eight: str = steps(x)  # assignment
nine: str = Model().step(x)  # assignment
"""


def test_mypy_finds_what_is_wrong(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    kept = getattr(pytestconfig, "cache", None)  # what it found in hlobatch, for later runs
    folder = kept.mkdir("mypy") if kept is not None else tmp_path / "cache"
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=500)
    found = dict(re.findall(r"program\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE))
    lines = enumerate(PROGRAM.splitlines(), 1)
    wanted = {str(number): line.rpartition("# ")[2] for number, line in lines if "  # " in line}
    assert found == wanted, done.stdout + done.stderr
