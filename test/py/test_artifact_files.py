"""The files of artifacts: written as a whole or not at all, and read so that nothing in them is trusted."""

import contextlib
import hashlib
import io
import json
import os
import stat
import sys
import threading
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import fuzz_artifacts
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb

FOLDER = Path(__file__).parent / "artifacts"
INPUTS = np.array([0, 1, 5, 7, 10], np.int32)


@hb.batch
def double(x):
    return x + x


@pytest.fixture(scope="module")
def artifact() -> hb.Artifact:
    return hb.export(double, INPUTS)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("function", ["write", "replace"])
def test_a_file_stays_as_it_is_where_another_cannot_be_written(
    artifact: hb.Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, function: str
) -> None:
    path = artifact.save(tmp_path / "f.hlob")
    old = path.read_bytes()

    def fail(*_: Any) -> None:
        raise error

    if function == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    else:
        opened = Path.open

        def open_failing(self: Path, *args: Any, **kwargs: Any) -> Any:
            file = opened(self, *args, **kwargs)
            file.close()  # so that a write fails as on a disk that is full
            raise error

        monkeypatch.setattr(Path, "open", open_failing)
    with pytest.raises(type(error) if isinstance(error, OSError) else error):
        artifact.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]
    assert hb.load(path).call(INPUTS).tolist() == (INPUTS * 2).tolist()


def test_a_link_stays_one_and_permissions_stay(artifact: hb.Artifact, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    file, link = folder / "f.hlob", tmp_path / "link.hlob"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    artifact.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert hb.load(file).call(INPUTS).tolist() == hb.load(link).call(INPUTS).tolist()
    new = tmp_path / "new.hlob"
    old_mask = os.umask(0o027)
    try:
        artifact.save(new)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640
    (tmp_path / "dangling").symlink_to(folder / "made.hlob")
    artifact.save(tmp_path / "dangling")
    assert hb.load(folder / "made.hlob").name == "double"


def test_what_is_no_file_is_not_replaced(artifact: hb.Artifact, tmp_path: Path) -> None:
    artifact.save("/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(IsADirectoryError):
        artifact.save(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_must_not_be_written_is_not_replaced(artifact: hb.Artifact, tmp_path: Path) -> None:
    path = artifact.save(tmp_path / "f.hlob")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        artifact.save(path)


# Reading


class Pair(NamedTuple):
    first: Any
    second: Any


@hb.batch(in_axes=({"x": 0}, None))
def pair(arrays, scale):
    return Pair(arrays["x"] * scale, [arrays["x"]])


@pytest.fixture(scope="module")
def parts() -> dict[str, bytes]:
    artifact = hb.export(pair, {"x": jnp.arange(3.0)}, 2.0)
    with zipfile.ZipFile(io.BytesIO(artifact._packed())) as file:
        return {name: file.read(name) for name in file.namelist()}


def written(path: Path, parts: dict[str, bytes], *, mended: bool = True) -> Path:
    """A file of these parts, with checksums that are right."""
    if mended and "SHA256SUMS" in parts:
        others = {name: part for name, part in parts.items() if name != "SHA256SUMS"}
        sums = "".join(f"{hashlib.sha256(part).hexdigest()}  {name}\n" for name, part in others.items())
        parts = {**others, "SHA256SUMS": sums.encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in parts.items():
            file.writestr(name, part)
    return path


def with_manifest(parts: dict[str, bytes], change: Callable[[Any], Any]) -> dict[str, bytes]:
    manifest = json.loads(parts["manifest.json"])
    changed = change(manifest)
    return {**parts, "manifest.json": json.dumps(manifest if changed is None else changed).encode()}


def test_checksums_are_those_that_tools_read(parts: dict[str, bytes], tmp_path: Path) -> None:
    for name, part in parts.items():
        (tmp_path / name).write_bytes(part)
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert [line.split("  ")[1] for line in lines] == ["manifest.json", "module.mlirbc", "module.stablehlo"]
    for line in lines:
        checksum, name = line.split("  ")
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == checksum


@pytest.mark.parametrize("name", ["manifest.json", "module.mlirbc", "module.stablehlo", "SHA256SUMS"])
def test_a_part_that_was_changed_or_lost_is_found(parts: dict[str, bytes], tmp_path: Path, name: str) -> None:
    changed = parts[name].replace(b"0", b"1", 1)
    assert changed != parts[name]
    with pytest.raises(hb.ArtifactError, match="is damaged"):
        hb.load(written(tmp_path / "changed", {**parts, name: changed}, mended=False))
    lost = {other: part for other, part in parts.items() if other != name}
    with pytest.raises(hb.ArtifactError, match=r"is damaged|has no manifest|has the parts"):
        hb.load(written(tmp_path / "lost", lost, mended=False))
    with pytest.raises(hb.ArtifactError, match="has the parts"):
        hb.load(written(tmp_path / "more", {**parts, "more": b""}))


def test_what_is_no_artifact_is_refused(parts: dict[str, bytes], tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense"
    for content in (b"", b"not a zip file", b"PK\5\6" + bytes(18)):
        nonsense.write_bytes(content)
        with pytest.raises(hb.ArtifactError, match="is not an artifact"):
            hb.load(nonsense)
    newer = with_manifest(parts, lambda manifest: manifest.update(format=99))
    with pytest.raises(hb.ArtifactError, match="has format 99"):
        hb.load(written(nonsense, newer))
    with pytest.raises(FileNotFoundError):
        hb.load(tmp_path / "nowhere")


def deep(levels: int) -> Any:
    schema: Any = {"kind": "none"}
    for _ in range(levels):
        schema = {"kind": "tuple", "items": [schema]}
    return schema


ARRAY = {"kind": "array", "dtype": "float32", "shape": []}
WRONG: dict[str, list[Any]] = {
    "format": ["3", 3.0, True, None],
    "name": [1, "", "f" * 2000, "\n"],
    "parameters": [None, [], {"x": "keyword-only"}, {"1": "keyword-only", "y": "keyword-only"}, {"x": [], "y": 1}],
    "inputs": [3, [], {"kind": "list", "items": []}, {"kind": "tuple", "items": [ARRAY]}, {"kind": "tuple"}],
    "shared": [None, [0, 1], [True], [True, True], [False, True, True]],
    "axes": [None, [], ["0", None], [1, None], [-2, None], [0, 0], [None, None], [False, None], [0, None, None]],
    "result": [
        *(None, 1, "x", [], {}, {"kind": "tuple"}, {"kind": []}, ARRAY, {**ARRAY, "more": 1}, deep(100)),
        *({**ARRAY, "dtype": dtype} for dtype in ("object", "S5", "float128", "i4,i4", "key<odd>", "a" * 99, 3)),
        *({**ARRAY, "shape": shape} for shape in (None, [-1], [True], [1.5], [1 << 70], [1 << 30, 1 << 30], [[]])),
        *({"kind": "namedtuple", "class": name, "items": {}} for name in ("a:b c", "a", "", ":", "a:class")),
        {"kind": "namedtuple", "class": "m:N", "items": {"_x": ARRAY}},
        {"kind": "static", "value": {}},
    ],
    "depth": [None, 0, -1, 1.5, "1", True, 1 << 70],
    "max_steps": [0, -1, "1", 1.5, False],
    "batch": [0, -1, "b", 4, None, True],
    "platforms": [None, "cpu", [], [1], ["cpu", "cpu"], ["no such"], ["tpu", "cpu"], ["cpu"] * 99],
    "calling_convention": [None, 0, 1, 10**6, "9"],
}


@pytest.mark.parametrize("key", WRONG)
def test_a_manifest_is_checked_as_a_whole(parts: dict[str, bytes], tmp_path: Path, key: str) -> None:
    """A manifest with a right checksum is checked, too."""
    for value in WRONG[key]:
        path = written(
            tmp_path / "f", with_manifest(parts, lambda manifest, value=value: manifest.update({key: value}))
        )
        with pytest.raises(hb.ArtifactError):
            hb.load(path)
    path = written(tmp_path / "f", with_manifest(parts, lambda manifest: [manifest.pop(key), None][1]))
    with pytest.raises(hb.ArtifactError):
        hb.load(path)


@pytest.mark.parametrize(
    "text", [b"", b"[1]", b"{", b"\xff", b'{"format": 3}', b"[" * 100_000, b'{"format": 3, "format": 3}']
)
def test_a_manifest_is_json(parts: dict[str, bytes], tmp_path: Path, text: bytes) -> None:
    with pytest.raises(hb.ArtifactError):
        hb.load(written(tmp_path / "f", {**parts, "manifest.json": text}))


def module_of(function: Callable[..., Any], *avals: Any) -> bytes:
    return bytes(jax.export.export(jax.jit(function, keep_unused=True))(*avals).mlir_module_serialized)


def test_the_module_is_compared_with_the_manifest(parts: dict[str, bytes], tmp_path: Path) -> None:
    x, scale, code, status = jnp.arange(3.0), jnp.float32(2), jnp.int32(0), jnp.zeros(3, jnp.int32)
    good = module_of(lambda x, s: (x * 3, x, code, status), x, scale)
    arrays = {"x": x}
    assert hb.load(written(tmp_path / "f", {**parts, "module.mlirbc": good})).call(arrays, 2.0)[0].tolist() == [0, 3, 6]
    for wrong in (
        module_of(lambda x, s: (x, x, code), x, scale),
        module_of(lambda x, s: (x, x, code, status), x[:2], scale),
        module_of(lambda x, s: (x, x, code, status), x.astype(int), scale),
        module_of(lambda x: (x, x, code, status), x),
    ):
        with pytest.raises(hb.ArtifactError, match="as its manifest says"):
            hb.load(written(tmp_path / "f", {**parts, "module.mlirbc": wrong}))
    for wrong in (b"", b"module {}", good[:-100], b"ML\xefR" + bytes(100)):
        with pytest.raises(hb.ArtifactError, match="its module cannot be read"):
            hb.load(written(tmp_path / "f", {**parts, "module.mlirbc": wrong}))


def test_a_module_calls_no_other_libraries_than_are_exported(parts: dict[str, bytes], tmp_path: Path) -> None:
    def calls(x, scale):
        other = jax.ffi.ffi_call("system", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
        return other, x, jnp.int32(0), jnp.zeros(3, jnp.int32)

    unsafe = jax.export.DisabledSafetyCheck.custom_call("system")
    exported = jax.export.export(jax.jit(calls, keep_unused=True), disabled_checks=[unsafe])(
        jnp.arange(3.0), jnp.float32(2)
    )
    module = bytes(exported.mlir_module_serialized)
    with pytest.raises(hb.ArtifactError, match="its module calls 'system'"):
        hb.load(written(tmp_path / "f", {**parts, "module.mlirbc": module}))


def test_no_part_is_unpacked_that_is_too_large(parts: dict[str, bytes], tmp_path: Path) -> None:
    bomb = tmp_path / "bomb"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("manifest.json", "w") as part:
            for _ in range(300):
                part.write(bytes(1 << 20))
        file.writestr("module.mlirbc", parts["module.mlirbc"])
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(hb.ArtifactError, match=r"'manifest.json' would be 314572800 bytes, of a file of \d+"):
        hb.load(bomb)
    for extra in range(20):
        parts = {**parts, f"more{extra}": b""}
    with pytest.raises(hb.ArtifactError, match="parts"):
        hb.load(written(bomb, parts))


# What is not trusted


def test_a_file_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once if it is none of ours, such as a device, and else once it is longer than an artifact is."""
    with pytest.raises(hb.ArtifactError, match="it is no zip file"):
        hb.load("/dev/zero")
    monkeypatch.setattr("hlobatch.artifacts.archive._MOST_WITHOUT_SIZE", 5 << 20)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            file.write(b"PK")
            while True:
                file.write(bytes(1 << 16))

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    with pytest.raises(hb.ArtifactError, match="more than 5242880 bytes long"):
        hb.load(pipe)
    writer.join(10)


def test_an_artifact_comes_through_a_pipe(artifact: hb.Artifact, tmp_path: Path) -> None:
    pipe, content = tmp_path / "pipe", artifact.save(tmp_path / "f").read_bytes()
    os.mkfifo(pipe)
    threading.Thread(target=lambda: pipe.write_bytes(content), daemon=True).start()
    assert hb.load(pipe).call(INPUTS).tolist() == (INPUTS * 2).tolist()


def test_what_is_not_trusted_is_tried_elsewhere_first(
    artifact: hb.Artifact, parts: dict[str, bytes], tmp_path: Path
) -> None:
    """MLIR's reader ends the process at the second of these, in which a property of an operation is another."""
    ends_the_reader = (FOLDER / "ends_the_reader.mlirbc").read_bytes()
    assert hb.load(artifact.save(tmp_path / "f"), untrusted=True).call(INPUTS).tolist() == (INPUTS * 2).tolist()
    with pytest.raises(hb.ArtifactError, match=r"its module cannot be read|too much memory, or ends the process"):
        hb.load(written(tmp_path / "f", {**parts, "module.mlirbc": ends_the_reader}), untrusted=True)
    wrong = with_manifest(parts, lambda manifest: manifest.update(depth=0))
    with pytest.raises(hb.ArtifactError, match="its manifest says 0 for 'depth'"):
        hb.load(written(tmp_path / "f", wrong), untrusted=True)


@pytest.mark.parametrize(
    ("count", "seed"), [(50, 0), *(pytest.param(1000, seed, marks=pytest.mark.slow) for seed in range(1, 11))]
)
def test_damaged_and_forged_files_give_errors_of_ours_or_right_values(count: int, seed: int) -> None:
    """``main`` exits where one does not, or where one that is not trusted ends a process.

    By day there is no file among them that runs until its time is over.
    """
    found = fuzz_artifacts.main(count, seed)
    assert found.total() == count
    assert {"damaged refused", "manifest refused", "module refused", "parts refused", "text refused"} <= found.keys()


# Classes


def test_reading_imports_nothing(parts: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also no module of a package that would import it when it is asked for."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    lazy = types.ModuleType("lazy")

    def load(name: str) -> Any:
        raise SystemExit("imported")

    lazy.__getattr__ = load  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy", lazy)
    for name in ("evil:Pair", "lazy:Pair", "lazy:Pair.Inner", "os:path.join.x"):
        changed = with_manifest(parts, lambda manifest, name=name: manifest["result"].update({"class": name}))
        artifact = hb.load(written(tmp_path / "f", changed))
        found = artifact.call({"x": jnp.arange(3.0)}, 2.0)
        assert found._fields == Pair._fields
        assert type(found) is not Pair
    assert "evil" not in sys.modules


def test_classes_are_found_where_they_are_imported_or_given(parts: dict[str, bytes], tmp_path: Path) -> None:
    Other = NamedTuple("Other", [("first", Any), ("second", Any)])  # noqa: UP014  # as a module's own, to be found by name
    moved = with_manifest(parts, lambda manifest: manifest["result"].update({"class": "elsewhere:Other"}))
    path, args = written(tmp_path / "f", moved), ({"x": jnp.arange(3.0)}, 2.0)
    Other.__qualname__ = "Other"
    assert type(hb.load(path, classes=[Other]).call(*args)) is Other
    assert type(hb.load(path, classes=[Pair]).call(*args)) not in (Other, Pair)
    assert type(hb.load(written(tmp_path / "g", parts)).call(*args)) is Pair


# Old formats


def test_files_of_the_formats_before_are_read() -> None:
    fibonacci = hb.load(FOLDER / "format_2.hlob")
    assert fibonacci.call(INPUTS).tolist() == [1, 1, 8, 21, 89]
    shrink = hb.load(FOLDER / "format_1.hlob")
    state = type(shrink.argument_types.tensors[0])(jnp.ones((5, 3)), jax.random.split(jax.random.key(0), 5))
    found, sums = shrink.call(state, jnp.ones((7, 3)))
    np.testing.assert_allclose(sums["sum"], np.full(5, 21 / 32))
    assert bool((found.key == state.key).all())
