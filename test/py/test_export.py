"""Artifacts: what is saved and loaded gives the same results, checks its arguments, and is never silently wrong."""

import copy
import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch._jax import ir, make_context, stablehlo

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
    loop = hb.Optimizations(kernels=False)  # code of lanes may add in another order
    wanted = hb.batch(shrink.function, in_axes=shrink.in_axes, optimizations=loop)(*args)
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
    assert run_elsewhere(script, tmp_path) == "('x', 'key') (5, 7) ['none', 'sum']\n"


def run_elsewhere(script: str, folder: Path) -> str:
    """The output of a script in a process of its own, which cannot import the tests' code."""
    root = Path(__file__).parent.parent.parent
    environment = os.environ | {"PYTHONPATH": str(root), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_overflow_is_reported() -> None:
    artifact = hb.export(hb.batch(fibonacci.function, max_stack_depth=4), INPUTS)
    with pytest.raises(hb.StackOverflowError, match="lanes 3, 4 of 'fibonacci' needed more than 4 stack frames"):
        artifact.call(INPUTS)
    assert artifact.call(np.zeros(5, np.int32)).tolist() == [1] * 5


def test_step_limit_is_reported() -> None:
    artifact = hb.export(hb.batch(fibonacci.function, max_steps=30), INPUTS)
    with pytest.raises(hb.StepLimitError, match="had not finished after 30 blocks"):
        artifact.call(INPUTS)


def test_a_stopped_input_of_an_artifact_leaves_its_lane_to_the_next() -> None:
    @hb.batch(lanes=1, max_stack_depth=8)
    def down(n):
        if n == 0:
            return 0
        return 1 + down(n - 1)

    artifact = hb.export(down, np.arange(3, dtype=np.int32))
    with pytest.raises(hb.StackOverflowError, match="lane 1 of 'down'") as caught:
        artifact.call(np.array([3, 100, 5], np.int32))
    assert caught.value.lanes == caught.value.unfinished == (1,)
    assert np.asarray(caught.value.outputs)[[0, 2]].tolist() == [3, 5]


def test_arguments_are_checked() -> None:
    artifact = hb.export(shrink, *arguments())
    state, data = arguments()
    with pytest.raises(hb.BatchTypeError, match="exported for"):
        artifact.call(state)
    with pytest.raises(hb.BatchTypeError, match="exported for"):
        artifact.call(State(state.x[:, :2], state.key), data)


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


def run_bare(artifact: hb.Artifact, *arrays: np.ndarray) -> list[np.ndarray]:
    """The results of the bare module in StableHLO's interpreter."""
    module = stablehlo.deserialize_portable_artifact(make_context(), artifact.stablehlo)
    with module.context, ir.Location.unknown():
        operands = [ir.DenseElementsAttr.get(array) for array in arrays]
        return [np.array(result) for result in stablehlo.eval_module(module, operands)]


@pytest.mark.parametrize("options", [{"max_stack_depth": 4}, {"max_steps": 20}, {"max_stack_depth": 4, "lanes": 2}])
def test_the_bare_module_marks_what_was_stopped(options: dict[str, int]) -> None:
    """For who does not look at ``stopped`` and ``status`` beside."""

    @hb.batch(**options)
    def count(n):
        if n <= 0:
            return 0, 0.0, n > 0
        fewer, halves, _ = count(n - 1)
        return fewer + 1, halves + 0.5, n > 0

    n = np.array([0, 3, 100, 2, 50], np.int32)
    artifact = hb.export(count, n)
    counts, halves, positive, stopped, status = run_bare(artifact, n)
    with pytest.raises(hb.LaneError) as caught:
        artifact.call(n)
    unfinished = list(caught.value.unfinished)
    assert {2, 4} <= set(unfinished)
    assert stopped != 0
    assert np.flatnonzero(status).tolist() == unfinished
    wanted = n.astype(np.int64)
    wanted[unfinished] = np.iinfo(np.int32).min
    assert counts.tolist() == wanted.tolist()
    np.testing.assert_array_equal(halves, np.where(status != 0, np.nan, n / 2))
    np.testing.assert_array_equal(positive, (status == 0) & (n > 0))
    assert run_bare(artifact, np.array([0, 1, 2, 1, 0], np.int32))[0].tolist() == [0, 1, 2, 1, 0]


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


# Arguments


@hb.batch(static_argnames=("steps", "mode"))
def halved(x, other, *, steps, mode="all"):
    for _ in range(steps):
        x = x / 2
    x = x + other
    return x if mode == "all" else -x


def test_arguments_are_given_as_the_function_takes_them(tmp_path: Path) -> None:
    x = np.arange(3, dtype=np.float32)
    artifact = hb.load(hb.export(halved, x, x, steps=2).save(tmp_path / "f.hlob"))
    wanted = halved(x, x, steps=2).tolist()
    assert artifact.call(x, x, steps=2).tolist() == wanted
    assert artifact.call(x, x).tolist() == wanted
    assert artifact.call(x, x, mode="all").tolist() == wanted
    for args, keywords in (((x, x), {"steps": 3}), ((x, x), {"mode": "none"}), ((x,), {}), ((x[1:], x[1:]), {})):
        with pytest.raises(hb.BatchTypeError, match="was exported for"):
            artifact.call(*args, **keywords)
    with pytest.raises(hb.BatchTypeError, match="is called wrongly: too many positional"):
        artifact.call(x, x, x)
    with pytest.raises(hb.BatchTypeError, match="is called wrongly: got an unexpected keyword argument 'stepz'"):
        artifact.call(x, x, stepz=2)
    with pytest.raises(hb.BatchTypeError, match="was exported for arguments"):
        artifact.call(steps=2)
    with pytest.raises(hb.BatchTypeError, match="missing a required"):
        hb.export(halved, x)


def test_an_argument_is_static_by_position_or_keyword() -> None:
    @hb.batch(static_argnames="steps")
    def f(x, steps):
        for _ in range(steps):
            x = x / 2
        return x

    x = np.ones(3, np.float32)
    for artifact in (hb.export(f, x, steps=5), hb.export(f, x, 5), hb.export(f, x=x, steps=5)):
        for found in (artifact.call(x), artifact.call(x, 5), artifact.call(x=x, steps=5)):
            assert found.tolist() == f(x, 5).tolist()


# Platforms and types


def test_platforms_are_names() -> None:
    assert hb.export(fibonacci, INPUTS, platforms="cpu").exported.platforms == ("cpu",)
    assert hb.export(fibonacci, INPUTS, platforms=["cpu", "cuda"]).exported.platforms == ("cpu", "cuda")
    for wrong in ("cpi", ["cpu", "gpu"], ["c", "p", "u"]):
        with pytest.raises(ValueError, match=r"platforms names '\w+', and JAX knows cpu, cuda"):
            hb.export(fibonacci, INPUTS, platforms=wrong)
    for wrong in ([], ["cpu", "cpu"]):
        with pytest.raises(ValueError, match="one or several names"):
            hb.export(fibonacci, INPUTS, platforms=wrong)


@pytest.mark.skipif(jax.default_backend() == "tpu", reason="it is for a TPU")
def test_an_artifact_for_another_platform_says_so(tmp_path: Path) -> None:
    path = hb.export(fibonacci, INPUTS, platforms="tpu").save(tmp_path / "f.hlob")
    with pytest.raises(hb.ArtifactError, match="fibonacci was exported for tpu, and that is not where its arguments"):
        hb.load(path).call(INPUTS)


@pytest.mark.parametrize("size", [5, 0])
def test_narrow_integers_and_floats_are_results(size: int, tmp_path: Path) -> None:
    names = ["int2", "int4", "uint2", "uint4", "int8", "float8_e4m3fn", "float4_e2m1fn", "bfloat16"]

    @hb.batch
    def narrow(n):
        count = 0
        while n > 1:
            n, count = n // 2, count + 1
        return {name: jnp.asarray(count % 2).astype(name) for name in names}

    artifact = hb.load(hb.export(narrow, INPUTS[:size]).save(tmp_path / "f.hlob"))
    wanted, found = narrow(INPUTS), artifact.call(INPUTS)
    for name in names:
        assert found[name].dtype == name
        assert found[name].astype(float).tolist() == wanted[name].astype(float).tolist()
    again = hb.export(hb.batch(lambda x: x + x), found["int4"])
    assert again.call(found["int4"]).dtype == jnp.int4
    jax.export.export(jax.jit(hb.batch(narrow.function, max_steps=1000)))(INPUTS)  # where what is stopped is least


def test_an_artifact_of_64_bits_runs_where_they_are_off(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 5)
    with jax.enable_x64(True):
        path = hb.export(hb.batch(lambda x, n: x / 3 + n), x, np.arange(5)).save(tmp_path / "f.hlob")
    artifact = hb.load(path)
    found = artifact.call(x, np.arange(5))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(np.asarray(found), x / 3 + np.arange(5))
    with pytest.raises(hb.BatchTypeError, match=r"pass np\.asarray\(…, np\.float64\): JAX makes no such arrays unless"):
        artifact.call(jnp.asarray(x), np.arange(5))
    with jax.enable_x64(True), pytest.raises(hb.BatchTypeError, match=r"convert it with \.astype"):
        artifact.call(jnp.asarray(x, np.float32), np.arange(5))


def test_what_jax_does_not_export_is_refused() -> None:
    @hb.batch
    def f(x):
        return jax.ffi.ffi_call("unknown", jax.ShapeDtypeStruct((), x.dtype), vmap_method="broadcast_all")(x)

    with pytest.raises(hb.ArtifactError, match=r"(?s)test_export.*'f' has something that JAX does not export"):
        hb.export(f, np.ones(3, np.float32))


# Copies


def test_an_artifact_is_pickled_and_copied(tmp_path: Path) -> None:
    state, data = arguments()
    artifact = hb.export(shrink, state, data)
    wanted = artifact.call(state, data)
    for other in (pickle.loads(pickle.dumps(artifact)), copy.copy(artifact), copy.deepcopy([artifact])[0]):
        found = other.call(state, data)
        assert type(found[0]) is type(wanted[0])
        assert all(bool((a == b).all()) for a, b in zip(*map(jax.tree.leaves, (found, wanted)), strict=True))
    (tmp_path / "artifact").write_bytes(pickle.dumps(hb.export(fibonacci, INPUTS)))
    np.save(tmp_path / "inputs.npy", INPUTS)
    script = """
import pickle, numpy as np
with open("artifact", "rb") as file:
    print(pickle.load(file).call(np.load("inputs.npy")).tolist())
"""
    assert run_elsewhere(script, tmp_path) == "[1, 1, 8, 21, 89]\n"


def test_it_says_what_its_modules_take_and_give() -> None:
    """By the paths of the caller's pytrees, in the order and the shapes of the module's own."""

    def f(tree, weights, mode):
        found = {"z": tree["x"] @ weights}
        found["a"] = (tree["key"], None, mode == "fast")
        return found

    batched = hb.batch(f, in_axes=({"x": 1, "key": 0}, None), static_argnames="mode")
    arguments = {"x": jnp.ones((3, 5)), "key": jax.random.split(jax.random.key(0), 5)}, jnp.ones((3, 2))
    artifact = hb.export(batched, *arguments, mode="fast")
    assert artifact.operands == ("tree['key']: u32[5,2]", "tree['x']: f32[5,3]", "weights: f32[3,2]")
    assert artifact.results[0] == "result['z']: f32[5,2]"
    assert artifact.results[1:3] == ("result['a'][0]: u32[5,2]", "result['a'][2]: bool[5]")
    assert artifact.results[3:] == ("stopped: i32[]", "status: i32[5]")
    for words, avals in (
        (artifact.operands, artifact.exported.in_avals),
        (artifact.results, artifact.exported.out_avals),
    ):
        assert [text.split("[")[-1][:-1] for text in words] == [",".join(map(str, aval.shape)) for aval in avals]
