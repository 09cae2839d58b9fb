"""The files of artifacts: written as a whole or not at all, and read so that nothing in them is trusted."""

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlobatch as hb

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
    assert os.listdir(tmp_path) == ["f.hlob"]
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
