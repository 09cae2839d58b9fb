"""The wheel holds what the checkout's symlinks point to, under the one name it is imported by."""

import ast
import graphlib
import os
import re
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import hlobatch

ROOT = Path(__file__).parents[2]
# The top-level folders that are imported as hlobatch/<folder>.
FOLDERS = [path.name for path in (ROOT / "hlobatch").iterdir() if (ROOT / path.name).is_dir()]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the source distribution of the checkout, unpacked."""
    out = tmp_path_factory.mktemp("sdist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(out)],
        cwd=ROOT,
        check=True,
    )
    [archive] = out.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(out, filter="data")
    return out / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module", params=["checkout", "sdist"])
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a wheel, built from the checkout or from the source distribution."""
    source = ROOT if request.param == "checkout" else request.getfixturevalue("sdist")
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)], cwd=source, check=True)
    [path] = out.glob("*.whl")
    return path


def modules(folder: Path) -> set[str]:
    """Returns the paths of the modules in `folder`, also behind the symlinks in it."""
    return {
        (Path(parent) / name).relative_to(folder).as_posix()
        for parent, _, names in os.walk(folder, followlinks=True)
        for name in names
        if name.endswith(".py")
    }


def test_wheel_holds_every_module_as_a_regular_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.infolist()
    assert not [entry.filename for entry in entries if stat.S_ISLNK(entry.external_attr >> 16)]
    names = {entry.filename for entry in entries}
    assert "hlobatch/py.typed" in names
    packed = {name for name in names if name.startswith("hlobatch/") and name.endswith(".py")}
    assert packed == {f"hlobatch/{module}" for module in modules(ROOT / "hlobatch")}
    assert {"hlobatch/dialect/__init__.py", "hlobatch/lowering/__init__.py"} <= packed
    assert not [name for name in names if name.endswith((".cpp", ".h", ".td"))]


def test_wheel_has_one_top_level_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        top = {name.split("/")[0] for name in archive.namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"hlobatch"}


def test_sdist_holds_the_folders_under_both_names(sdist: Path) -> None:
    assert {"dialect", "lowering"} <= set(FOLDERS)
    for folder in FOLDERS:
        assert modules(sdist / folder) == modules(ROOT / folder)
        assert modules(sdist / "hlobatch" / folder) == modules(ROOT / folder)


def imported_by(file: Path) -> set[str]:
    """The modules of the same folder that a module imports, wherever in it, also for types alone."""
    package = f"hlobatch.{file.parent.name}"
    found = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
    within = {name.name for node in found if node.module == package for name in node.names}
    return within | {node.module.split(".")[2] for node in found if (node.module or "").startswith(f"{package}.")}


def test_the_frontend_has_no_circles_of_imports() -> None:
    files = (Path(hlobatch.__file__).parent / "frontend").glob("*.py")
    graphlib.TopologicalSorter({file.stem: imported_by(file) for file in files}).prepare()


# What decides


DECIDING_BY_TEXT = {
    "_jax.is_out_of_memory",  # XLA has one class for all errors of a run
    "export._run",
    "analysis.explanations._of_carrier",  # these only choose the words of a message
    "analysis.explanations._of_jax",
    "analysis.explanations._of_type_error",
    "values.lane_failures.is_of_tracing",  # the reasons of these two are in docs/design.md
    "transforms.attempts.is_as_wrong_as",
}
"""The functions that look into the text of an error to decide; the list only shrinks."""
SEARCHES = {"search", "match", "fullmatch", "startswith", "endswith", "carriers_in"}


def is_error(argument: ast.arg) -> bool:
    kind = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    return any(word in kind for word in ("Exception", "Error"))


def reads_text(node: ast.AST, errors: set[str]) -> bool:
    """Whether `node` is `error.message`, or `str(error)` of one of `errors`."""
    match node:
        case ast.Attribute(attr="message"):
            return True
        case ast.Call(ast.Name("str" | "repr"), [ast.Name(name)]):
            return name in errors
    return False


def decides_by_text(function: ast.FunctionDef) -> bool:
    """Whether `function` compares or searches the text of an error."""
    nodes = list(ast.walk(function))
    errors = {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    errors |= {node.arg for node in nodes if isinstance(node, ast.arg) and is_error(node)}
    methods = {node.func for node in nodes if isinstance(node, ast.Call)}

    def decides(node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return getattr(node.func, "attr", getattr(node.func, "id", "")) in SEARCHES
        return isinstance(node, (ast.Compare, ast.Tuple))

    places = filter(decides, nodes)
    return any(reads_text(part, errors) and part not in methods for place in places for part in ast.walk(place))


def test_no_text_of_an_error_decides() -> None:
    package = ROOT / "hlobatch"
    found = {
        f"{'.'.join(path.relative_to(package).with_suffix('').parts)}.{node.name}"
        for path in package.rglob("*.py")
        if re.search(r"\.message\b|\b(str|repr)\(\w+\)", text := path.read_text()) and "Error" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and decides_by_text(node)
    }
    assert found == DECIDING_BY_TEXT
