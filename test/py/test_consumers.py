"""Artifacts where hlobatch is not: the recipes of `docs/deploy.md`, each run by itself, beside the artifact's call.

TensorFlow, IREE and the header of PJRT are looked for in this environment, or in that of the interpreter which
``HLOBATCH_TENSORFLOW_PYTHON`` and ``HLOBATCH_IREE_PYTHON`` name; without them, their tests are skipped.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hlobatch as hb
from hlobatch.cli import main

RECIPES = Path(__file__).parents[2] / "docs/deploy"
NUMBERS = np.array([0, 1, 5, 7, 10], np.int32)
SOURCE = """
import hlobatch as hb

@hb.batch(max_stack_depth=8)
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a function, exported for any batch and for one of five, and with its inputs."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "f.py").write_text(SOURCE)
    np.save(folder / "in.npy", NUMBERS)
    for name, size in (("any", "b"), ("five", "5")):
        others = ["--stablehlo", f"{folder}/{name}.stablehlo", "--jax", f"{folder}/{name}.jax"]
        given = ["--args", f"i32[{size}]", "--output", f"{folder}/{name}.hlob", *others]
        assert main(["export", f"{folder}/f.py:fibonacci", *given]) == 0
    return folder


def python_with(module: str) -> str:
    """The interpreter that has a package."""
    variable = f"HLOBATCH_{module.upper()}_PYTHON"
    if variable in os.environ:
        return os.environ[variable]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed here, and {variable} names no Python that has it")
    return sys.executable


def consumed(recipe: str, file: Path, python: str, blocked: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The result of a recipe for a file, in a process that cannot import some packages."""
    hide = f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))"
    run = "import runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    found = file.with_suffix(".npz")
    command = [
        python,
        "-c",
        f"{hide}; {run}",
        str(RECIPES / recipe),
        str(file),
        str(file.parent / "in.npy"),
        str(found),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return dict(np.load(found))


def check(found: dict[str, np.ndarray], artifact: hb.Artifact) -> None:
    """The last number of the inputs needs more stack than was exported: it is named, and the others' results stand."""
    with pytest.raises(hb.StackOverflowError) as caught:
        artifact.call(NUMBERS)
    assert found["result"][:4].tolist() == caught.value.outputs[:4].tolist() == [1, 1, 8, 21]
    assert (int(found["stopped"]), found["status"].tolist()) == (1, [0, 0, 0, 0, 1])


SIZES = ["any", pytest.param("five", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", SIZES)
def test_jax_without_hlobatch(files: Path, name: str) -> None:
    check(
        consumed("with_jax.py", files / f"{name}.jax", sys.executable, ("hlobatch",)), hb.load(files / f"{name}.hlob")
    )


@pytest.mark.parametrize("name", SIZES)
def test_tensorflow_without_jax(files: Path, name: str) -> None:
    file = files / f"{name}.hlob"
    check(consumed("with_tensorflow.py", file, python_with("tensorflow"), ("hlobatch", "jax")), hb.load(file))


def test_iree(files: Path) -> None:
    found = consumed("with_iree.py", files / "five.stablehlo", python_with("iree"), ("hlobatch", "jax"))
    check(found, hb.load(files / "five.hlob"))
    assert found["result"][4] == np.iinfo(np.int32).min  # the bare module marks what was stopped


def test_the_host_in_c_plus_plus_compiles(tmp_path: Path) -> None:
    """And runs, where ``HLOBATCH_PJRT_PLUGIN`` names a plugin."""
    if (compiler := shutil.which("g++") or shutil.which("clang++")) is None:
        pytest.skip("there is no C++ compiler here")
    find = "import importlib.util; print(importlib.util.find_spec('tensorflow').submodule_search_locations[0])"
    package = subprocess.run([python_with("tensorflow"), "-c", find], capture_output=True, text=True, check=True).stdout
    headers = [*Path(package.strip()).rglob("pjrt/c/pjrt_c_api.h")]
    if not headers:
        pytest.skip("this TensorFlow comes without pjrt_c_api.h")
    options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", str(headers[0].parent)]
    host = tmp_path / "host"
    subprocess.run([compiler, *options, str(RECIPES / "with_pjrt.cc"), "-o", str(host), "-ldl"], check=True)
    done = subprocess.run([host, "no plugin", "f", "1"], capture_output=True, text=True, check=False)
    assert (done.returncode, "no plugin" in done.stderr) == (1, True)
