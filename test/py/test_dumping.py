"""``HLOBATCH_DUMP_IR``: the program after each pass, and the module that is built from it, in order."""

from pathlib import Path

import jax.numpy as jnp
import pytest

import hlobatch as hb
from hlobatch._jax import ir, mlir


@hb.batch(dispatch="chain")
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def test_every_pass_leaves_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOBATCH_DUMP_IR", str(tmp_path))
    lowered = fibonacci.trace(jnp.arange(8)).lower()
    lowered.as_text("stablehlo")
    files = sorted(tmp_path.iterdir())
    names = [(file.stem.split("-", 1)[1], file.suffix) for file in files]
    programs, modules = ([name for name, suffix in names if suffix == wanted] for wanted in (".txt", ".mlir"))
    assert "lower-calls" in programs
    assert "to-stablehlo" in modules
    assert names.index(("lower-calls", ".txt")) < names.index(("to-stablehlo", ".mlir"))
    with mlir.make_ir_context():
        for file in files:
            if file.suffix == ".mlir":
                assert "func.func" in str(ir.Module.parse(file.read_text()))
