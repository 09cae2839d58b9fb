"""Artifacts: what is saved and loaded gives the same results, checks its arguments, and is never silently wrong."""

import importlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb

export_module = importlib.import_module("hlobatch.export")


@hb.batch
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


INPUTS = np.array([0, 1, 5, 7, 10], np.int32)


class State(NamedTuple):
    x: Any
    key: Any


WEIGHTS = np.arange(60, dtype=np.float32).reshape(20, 3) / 60


@hb.batch(in_axes=(0, None))
def shrink(state, data):
    y = data @ (WEIGHTS @ state.x)
    while jnp.sum(y) > 1.0:
        y = y / 2
    return State(y, state.key), {"none": None, "sum": jnp.sum(y)}


def arguments() -> tuple[State, np.ndarray]:
    rng = np.random.default_rng(0)
    state = State(rng.random((5, 3), np.float32), jax.random.split(jax.random.key(0), 5))
    return state, rng.random((7, 20), np.float32)


def test_round_trip(tmp_path: Path) -> None:
    args = arguments()
    path = hb.export(shrink, *args).save(tmp_path / "shrink.hlob")
    loaded = hb.load(path).call(*args)
    several_kernels = hb.Optimizations(one_kernel=False)  # one may add in another order; what is exported never is one
    wanted = hb.batch(shrink.function, in_axes=shrink.in_axes, optimizations=several_kernels)(*args)
    assert jax.tree.structure(loaded) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(loaded), jax.tree.leaves(wanted), strict=True):
        assert bool((one == other).all())


def test_any_batch_size(tmp_path: Path) -> None:
    (b,) = jax.export.symbolic_shape("b")
    path = hb.export(fibonacci, jax.ShapeDtypeStruct((b,), jnp.int32)).save(tmp_path / "fibonacci.hlob")
    artifact = hb.load(path)
    for size in (5, 2, 1, 0):
        assert artifact.call(INPUTS[:size]).tolist() == fibonacci(INPUTS[:size]).tolist()


def test_loads_where_the_code_is_not(tmp_path: Path) -> None:
    """A namedtuple whose class cannot be imported comes back as one like it."""
    state, data = arguments()
    path = hb.export(shrink, state, data).save(tmp_path / "shrink.hlob")
    np.savez(tmp_path / "data.npz", x=state.x, data=data)
    script = f"""
import collections, jax, numpy as np, hlobatch as hb
z = np.load({str(tmp_path / "data.npz")!r})
artifact = hb.load({str(path)!r})
State = type(artifact.result_type.tensors[0])
(state, rest) = artifact.call(State(z["x"], jax.random.split(jax.random.key(0), 5)), z["data"])
print(state._fields, state.x.shape, sorted(rest))
"""
    root = Path(__file__).parent.parent.parent
    environment = {"PYTHONPATH": str(root), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "('x', 'key') (5, 7) ['none', 'sum']\n", done.stderr


def test_overflow_is_reported() -> None:
    artifact = hb.export(hb.batch(fibonacci.function, max_stack_depth=4), INPUTS)
    with pytest.raises(hb.StackOverflowError, match="lanes 3, 4 of 'fibonacci' needed more than 4 stack frames"):
        artifact.call(INPUTS)
    assert artifact.call(np.zeros(5, np.int32)).tolist() == [1] * 5


def test_step_limit_is_reported() -> None:
    artifact = hb.export(hb.batch(fibonacci.function, max_steps=30), INPUTS)
    with pytest.raises(hb.StepLimitError, match="had not finished after 30 blocks"):
        artifact.call(INPUTS)


def test_an_artifact_tells_inputs_that_had_not_started_from_those_that_stopped_it() -> None:
    @hb.batch(lanes=1, max_stack_depth=8)
    def down(n):
        if n == 0:
            return 0
        return 1 + down(n - 1)

    artifact = hb.export(down, np.arange(3, dtype=np.int32))
    with pytest.raises(hb.StackOverflowError, match="lane 1 of 'down'") as caught:
        artifact.call(np.array([3, 100, 5], np.int32))
    assert caught.value.lanes == (1,)
    assert caught.value.unfinished == (1, 2)


def test_arguments_are_checked() -> None:
    artifact = hb.export(shrink, *arguments())
    state, data = arguments()
    with pytest.raises(hb.BatchTypeError, match="exported for"):
        artifact.call(state)
    with pytest.raises(hb.BatchTypeError, match="exported for"):
        artifact.call(State(state.x[:, :2], state.key), data)


def test_files_that_are_no_artifacts_are_refused(tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense"
    nonsense.write_bytes(b"not a zip file")
    with pytest.raises(hb.ArtifactError, match="is not an artifact"):
        hb.load(nonsense)
    path = hb.export(fibonacci, INPUTS).save(tmp_path / "f.hlob")
    newer = tmp_path / "newer.hlob"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(newer, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(
                name, json.dumps({**json.loads(content), "format": 99}) if name == "manifest.json" else content
            )
    with pytest.raises(hb.ArtifactError, match="has format 99"):
        hb.load(newer)


def test_results_that_a_file_cannot_describe_are_refused() -> None:
    @hb.batch
    def odd(x):
        return {1: x}

    with pytest.raises(hb.ArtifactError, match="cannot be described"):
        hb.export(odd, INPUTS)


def test_bare_artifact_is_portable_stablehlo() -> None:
    """The bare module has the inputs as operands and nothing else: captured arrays are constants in it."""
    artifact = hb.export(shrink, *arguments())
    assert artifact.stablehlo.startswith(b"ML\xefR\rStableHLO_v1.")
    assert "stablehlo.while" in artifact.as_text()


def test_what_has_no_form_in_a_version_of_stablehlo_is_refused_for_that_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a version named, what is written has no bare part, and says so."""
    rounded = hb.batch(lambda x: x.astype(jnp.float8_e8m0fnu).astype(jnp.float32))
    with pytest.raises(hb.ArtifactError, match=r"has no form in StableHLO 1\.0\.0: "):
        hb.export(rounded, np.ones(2, np.float32), target_version="1.0.0")
    assert hb.export(rounded, np.ones(2, np.float32)).stablehlo

    def refuse(*_: Any) -> bytes:
        raise ValueError

    monkeypatch.setattr(export_module, "serialize_portable", refuse)
    artifact = hb.load(hb.export(fibonacci, INPUTS).save(tmp_path / "f.hlob"))
    assert artifact.stablehlo is None
    assert artifact.call(INPUTS).tolist() == [1, 1, 8, 21, 89]


def test_one_for_an_empty_batch_takes_any() -> None:
    artifact = hb.export(fibonacci, INPUTS[:0])
    assert artifact.call(INPUTS).tolist() == [1, 1, 8, 21, 89]
    assert artifact.call(INPUTS[:0]).shape == (0,)


def test_what_is_not_batched_is_refused() -> None:
    for function in (fibonacci.function, jax.jit(fibonacci)):
        with pytest.raises(TypeError, match=r"decorated with @hb\.batch, and no more around it"):
            hb.export(function, INPUTS)


@hb.batch(in_axes=({"x": 1, "y": None}, None))
def mixed(arrays, scale):
    total = 0.0
    for i in range(3):
        if arrays["x"][i] > 0:
            total = total + arrays["x"][i] * arrays["y"][i] * scale
    return total


def test_the_batch_is_along_the_axis_it_was_exported_for(tmp_path: Path) -> None:
    """Also where some arrays of an argument have none."""
    x = jnp.arange(9.0).reshape(3, 3) - 4
    arrays = {"x": x, "y": jnp.array([1.0, 2.0, 4.0])}
    artifact = hb.load(hb.export(mixed, arrays, 2.0).save(tmp_path / "mixed.hlob"))
    np.testing.assert_array_equal(artifact.call(arrays, 2.0), mixed(arrays, 2.0))
    np.testing.assert_array_equal(artifact.call({**arrays, "x": -x}, 2.0), mixed({**arrays, "x": -x}, 2.0))
    with pytest.raises(hb.BatchTypeError, match="axis 1 is the batch"):
        artifact.call({**arrays, "x": x[:2]}, 2.0)
    with pytest.raises(hb.BatchTypeError, match="it has no batch axis"):
        artifact.call({**arrays, "y": x}, 2.0)
    keys = jax.random.split(jax.random.key(0), (2, 3))
    drawn = hb.batch(lambda key: jax.random.uniform(key[0]), in_axes=-1)
    np.testing.assert_array_equal(hb.export(drawn, keys).call(keys), drawn(keys))


def test_artifacts_of_format_1_have_the_batch_first(tmp_path: Path) -> None:
    new = hb.export(shrink, *arguments()).save(tmp_path / "new.hlob")
    old = tmp_path / "old.hlob"
    with zipfile.ZipFile(new) as file, zipfile.ZipFile(old, "w") as copy:
        for name in file.namelist():
            content = file.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                assert manifest.pop("axes") == [0, 0, None]
                content = json.dumps(manifest | {"format": 1}).encode()
            copy.writestr(name, content)
    for one, other in zip(*(jax.tree.leaves(hb.load(p).call(*arguments())) for p in (old, new)), strict=True):
        assert bool((one == other).all())


def test_sizes_of_batches_are_compared() -> None:
    add = hb.batch(lambda a, b: a + b)
    artifact = hb.export(add, jnp.zeros(3), jnp.zeros(3))
    with pytest.raises(hb.BatchTypeError, match="batches of sizes 0, 7"):
        artifact.call(jnp.zeros(0), jnp.ones(7))
    for size in (0, 2):
        with pytest.raises(hb.BatchTypeError, match=f"exported for a batch of size 3, but this one has size {size}"):
            artifact.call(jnp.zeros(size), jnp.zeros(size))


@pytest.mark.parametrize("wrong", [[1, 2, 3], "abc", None])
def test_what_is_no_array_is_refused(wrong: Any) -> None:
    artifact = hb.export(fibonacci, INPUTS)
    with pytest.raises(hb.BatchTypeError, match="was exported for"):
        artifact.call(wrong)
    with pytest.raises(hb.HloBatchError, match="inside a JAX transformation"):
        jax.jit(artifact.call)(INPUTS)


def test_a_stopped_artifact_keeps_results() -> None:
    @hb.batch(max_steps=5)
    def count(n):
        steps = 0
        while n > 0:
            n, steps = n - 1, steps + 1
        return steps

    with pytest.raises(hb.StepLimitError) as caught:
        hb.export(count, np.arange(9)).call(np.arange(9, dtype=np.int32))
    done = [i for i in range(9) if i not in caught.value.unfinished]
    assert done
    assert np.asarray(caught.value.outputs)[done].tolist() == done


@pytest.mark.parametrize("manifest", [[1], {"format": 2}, {"format": 1, "name": "f", "inputs": 3}])
def test_damaged_manifests_are_refused(tmp_path: Path, manifest: Any) -> None:
    good, bad = hb.export(fibonacci, INPUTS).save(tmp_path / "good.hlob"), tmp_path / "bad.hlob"
    with zipfile.ZipFile(good) as file, zipfile.ZipFile(bad, "w") as copy:
        for name in file.namelist():
            copy.writestr(name, json.dumps(manifest) if name == "manifest.json" else file.read(name))
    with pytest.raises(hb.ArtifactError):
        hb.load(bad)
