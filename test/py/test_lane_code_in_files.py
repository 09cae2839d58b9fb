"""Artifacts with the code of kernels.

It runs where it fits the machine, the module runs elsewhere, and no damaged code runs.
"""

import copy
import io
import json
import pickle
import platform
import zipfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.artifacts import lane_code
from hlobatch.artifacts.archive import SUMS, pack

NUMBERS = np.arange(12, dtype=np.int32)
TABLE = jnp.linspace(0, 1, 1000).astype(jnp.bfloat16)


@hb.batch(max_stack_depth=4)
def fibonacci(n):
    if n > 20:
        raise ValueError("too many")
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


@hb.batch(in_axes=(0, None, 1))
def looked_up(n, scale, x):
    while n > 0:
        x = x + jnp.sin(scale * TABLE[n * n].astype(jnp.float32))
        n -= 1
    return {"x": x, "left": n}


def loaded(artifact: hb.Artifact, tmp_path: Path, **how: bool) -> hb.Artifact:
    return hb.load(artifact.save(tmp_path / "f.hlob"), **how)


def test_code_of_lanes_gives_what_the_module_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hb.export(fibonacci, NUMBERS[:0], kernels=True)
    with_code, without = loaded(made, tmp_path, kernels=True), loaded(made, tmp_path)
    assert without.lanes is None
    with pytest.raises(hb.StackOverflowError):  # the stacks of a module do not grow, those of code of lanes do
        without.call(NUMBERS)
    assert without.call(NUMBERS[:3]).tolist() == [1, 1, 2]
    expected = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]
    for artifact in (made, with_code, pickle.loads(pickle.dumps(with_code)), copy.copy(with_code)):
        assert artifact.call(NUMBERS).tolist() == expected
        assert artifact.call(NUMBERS[:0]).tolist() == []
    with pytest.raises(hb.LaneError, match=r"lane 1 of 'fibonacci' raised, the first: .*too many") as caught:
        with_code.call(np.array([3, 25, 4], np.int32))
    assert np.asarray(caught.value.outputs)[[0, 2]].tolist() == [3, 5]
    monkeypatch.setattr(platform, "machine", lambda: "another kind")
    assert with_code.call(NUMBERS[:3]).tolist() == [1, 1, 2]


def test_captured_and_shared_arrays(tmp_path: Path) -> None:
    given = NUMBERS, np.float32(0.5), np.ones((3, 12), np.float32)
    artifact = loaded(hb.export(looked_up, *given, kernels=True), tmp_path, kernels=True)
    found, expected = artifact.call(*given), looked_up(*given)
    np.testing.assert_allclose(found["x"], expected["x"], rtol=1e-6)
    assert found["left"].tolist() == expected["left"].tolist()
    assert artifact.lanes is not None
    assert [array.dtype for array in artifact.lanes.captured] == [TABLE.dtype]


def changed(artifact: hb.Artifact, tmp_path: Path, **parts: Any) -> Path:
    """A file with other parts, and checksums that fit."""
    path = artifact.save(tmp_path / "f.hlob")
    with zipfile.ZipFile(path) as file:
        found = {name: file.read(name) for name in file.namelist() if name != SUMS}
    for name, change in parts.items():
        key = f"lanes.{name}"
        made = change(found[key])
        found = {k: v for k, v in found.items() if k != key} | ({} if made is None else {key: made})
    path.write_bytes(pack(found))
    return path


def with_numbers(**changes: Any) -> Any:
    return lambda content: json.dumps(json.loads(content) | changes).encode()


def archive(*arrays: Any) -> Any:
    def make(_: bytes) -> bytes:
        content = io.BytesIO()
        np.savez(content, *arrays)
        return content.getvalue()

    return make


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another function": ({"ll": lambda c: c + b"\ndeclare i32 @system(ptr)\n"}, "calls 'system'"),
    "a quoted one": ({"ll": lambda c: c + b'\ndeclare i32 @"system"(ptr)\n'}, "no function of numbers"),
    "instructions": ({"ll": lambda c: c + b'\nmodule asm "nop"\n'}, "instructions of a processor"),
    "some in a function": (
        {"ll": lambda c: c + b'\ndefine void @f() {\n call void asm sideeffect "nop", ""()\n ret void\n}\n'},
        "instructions of a processor",
    ),
    "no code": ({"ll": lambda c: c + b"what is this"}, "cannot be compiled"),
    "nothing to call": ({"ll": lambda _: b"define void @f() {\n ret void\n}\n"}, "nothing that is called"),
    "a part that is missing": ({"npz": lambda _: None}, "has the parts"),
    "no JSON": ({"json": lambda _: b"{"}, "is no JSON"),
    "more in it": ({"json": with_numbers(more=3)}, "more than it should"),
    "a number too large": ({"json": with_numbers(local_bytes=1 << 60)}, "what cannot be"),
    "less than none": ({"json": with_numbers(local_bytes=-1)}, "what cannot be"),
    "no list": ({"json": with_numbers(tapes=3)}, "what cannot be"),
    "no stack of a piece": ({"json": with_numbers(stack_of=[])}, "do not fit together"),
    "other results": ({"json": with_numbers(results=[["float32", []]])}, "other arrays than its manifest"),
    "a kind that there is not": ({"json": with_numbers(results=[["object", []]])}, "of an array, which cannot be"),
    "another way to call": ({"json": with_numbers(fields={})}, "another version"),
    "other arrays": ({"npz": archive(np.zeros(3, np.uint8))}, "has 1 arrays"),
    "pickled arrays": (
        {"npz": archive(np.array([{}], object)), "json": with_numbers(captured=[["int8", [1]]])},
        "allow_pickle",
    ),
    "smaller arrays": (
        {"npz": archive(np.zeros(3, np.uint8)), "json": with_numbers(captured=[["int8", [4]]])},
        "another size",
    ),
}


@pytest.fixture(scope="module")
def made() -> hb.Artifact:
    return hb.export(fibonacci, NUMBERS[:0], kernels=True)


@pytest.mark.parametrize(("parts", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_not_run(made: hb.Artifact, parts: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = changed(made, tmp_path, **parts)
    with pytest.raises(hb.ArtifactError, match=said):
        hb.load(path, kernels=True)


def test_code_is_loaded_only_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hb.export(fibonacci, NUMBERS[:0], kernels=True)
    monkeypatch.setattr(lane_code.jit, "check", lambda _: pytest.fail("it was looked at"))
    assert hb.load(made.save(tmp_path / "f.hlob"), untrusted=False).call(NUMBERS[:2]).tolist() == [1, 1]
    with pytest.raises(ValueError, match="files that are trusted"):
        hb.load(tmp_path / "f.hlob", untrusted=True, kernels=True)
    plain = hb.export(fibonacci, NUMBERS[:0]).save(tmp_path / "g.hlob")
    with pytest.raises(hb.ArtifactError, match="has no code of lanes"):
        hb.load(plain, kernels=True)


def test_what_has_no_code_of_lanes_is_refused() -> None:
    @hb.batch
    def f(x, n):
        while n > 0:
            x, n = jnp.fft.fft(x).real, n - 1
        return x

    with pytest.raises(hb.ArtifactError, match="has no code of lanes"):
        hb.export(f, jnp.ones((3, 4)), jnp.arange(3), kernels=True)

    @hb.batch(in_axes=(0, None))
    def g(n, weights):
        total = jnp.sum(jax.nn.softmax(weights))
        while n > 0:
            n -= 1
        return n + total

    with pytest.raises(hb.ArtifactError, match="values that all lanes share"):
        hb.export(g, jnp.arange(3), jnp.ones(4), kernels=True)
