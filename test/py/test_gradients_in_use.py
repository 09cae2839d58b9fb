"""Derivatives as users take them: of any arguments, within JAX's transformations, and beside lanes that raise."""

from __future__ import annotations

import dataclasses
import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from derivative_checks import double_precision
from shares import by_day

import hlobatch as hb

pytestmark = pytest.mark.usefixtures(double_precision.__name__)

X, N, W = np.array([0.5, 0.7, 0.9, 1.1]), np.array([2, 0, 3, 1]), np.array([0.5, 0.8])


@hb.batch(in_axes=(0, 0, None))
def turns(x, n, w):
    while n > 0:
        x = jnp.sin(x * w[n % 2]) + x
        n -= 1
    return x


def loss(x: Any, w: Any) -> Any:
    return turns(x, N, w).sum()


def by_hand() -> tuple[Any, Any]:
    """The gradient, example by example, by JAX."""

    def one(x: Any, w: Any, n: int) -> Any:
        for k in range(n, 0, -1):
            x = jnp.sin(x * w[k % 2]) + x
        return x

    parts = [jax.grad(one, (0, 1))(x, W, int(n)) for x, n in zip(jnp.asarray(X), N, strict=True)]
    return jnp.stack([x for x, _ in parts]), sum(w for _, w in parts)


def assert_close(found: Any, wanted: Any) -> None:
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-10), tuple(found), tuple(wanted))


gradient = jax.grad(loss, (0, 1))
both = hb.value_and_grad(turns, (0, 2))
WAYS: dict[str, Callable[..., Any]] = {
    "grad": gradient,
    "jit": jax.jit(gradient),
    "value_and_grad": lambda x, w: both(x, N, w)[1],
    "value_and_grad, jit": lambda x, w: jax.jit(both)(x, N, w)[1],
    "value_and_grad, compiled ahead": lambda x, w: jax.jit(both).lower(x, N, w).compile()(x, N, w)[1],
    "value_and_grad, vmap": lambda x, w: [
        g[1] for g in jax.vmap(both, (0, None, 0))(jnp.stack([w[0] * x, x]), N, jnp.stack([w, w]))[1]
    ],
    "jax.export": lambda x, w: jax.export.deserialize(jax.export.export(jax.jit(gradient))(x, w).serialize()).call(
        x, w
    ),
    "value_and_grad, jax.export": lambda x, w: jax.export.export(jax.jit(both))(x, N, w).call(x, N, w)[1],
    "jacrev": lambda x, w: [jnp.diag(jax.jacrev(lambda x: turns(x, N, w))(x)), gradient(x, w)[1]],
    "jacfwd": lambda x, w: [a.sum(0) for a in jax.jacfwd(lambda *s: turns(s[0], N, s[1]), (0, 1))(x, w)],
    "jacfwd, jit": lambda x, w: [a.sum(0) for a in jax.jit(jax.jacfwd(lambda *s: turns(s[0], N, s[1]), (0, 1)))(x, w)],
    "linear_transpose": lambda x, w: jax.linear_transpose(jax.linearize(loss, x, w)[1], x, w)(1.0),
    "checkpoint": jax.grad(jax.checkpoint(loss), (0, 1)),
}


@pytest.mark.parametrize("way", by_day(list(WAYS), 4))
def test_every_way_gives_the_same_gradient(way: str) -> None:
    assert_close(WAYS[way](jnp.asarray(X), jnp.asarray(W)), by_hand())


def test_hessian() -> None:
    found = jax.hessian(lambda x: loss(x, W))(jnp.asarray(X))
    slopes = [(gradient(X + d, W)[0] - gradient(X - d, W)[0]) / 2e-5 for d in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(found, np.stack(slopes), rtol=1e-6, atol=1e-7)


@hb.batch(in_axes=(0, 0, None), dispatch="kernel")
def kept(x, n, w):
    """Within ``shard_map``, arrays of a dict are made with JAX's ``reshard``, which does nothing in a lane."""
    found = {}
    while n > 0:
        found[n % 2] = found.get(n % 2, 0.1) + x
        n -= 1
    return sum(found.values()) + w.sum()


SHARDED = """
import jax
import numpy as np
from jax.sharding import AxisType, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
from test_gradients_in_use import N, W, X, assert_close, both, by_hand, kept, turns
mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
for check in (True, False):
    def mapped(function, out_specs):
        specs = dict(in_specs=(P("x"), P("x"), P()), out_specs=out_specs, check_vma=check)
        return jax.shard_map(function, mesh=mesh, **specs)
    around = jax.grad(lambda x, w: mapped(turns, P("x"))(x, N, w).sum(), (0, 1))
    def within(x, n, w):
        of_x, of_w = jax.grad(lambda x, w: turns(x, n, w).sum(), (0, 1))(x, w)
        return of_x, of_w if check else jax.lax.psum(of_w, "x")
    def in_one_run(x, n, w):
        of_x, of_w = both(x, n, w)[1]
        return of_x, jax.lax.psum(of_w, "x")
    if check or ALL:
        assert_close(jax.jit(around)(X, W), by_hand())
        assert_close(jax.jit(mapped(kept, P("x")))(X, N, W), kept(X, N, W))
        assert_close(jax.jit(mapped(in_one_run, (P("x"), P())))(X, N, W), by_hand())
    if not check or ALL:
        assert_close(jax.jit(mapped(within, (P("x"), P())))(X, N, W), by_hand())
print("sharded over", len(jax.devices()))
"""


@pytest.mark.parametrize("in_all_ways", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_shard_map_on_two_devices(in_all_ways: bool) -> None:
    here = Path(__file__).parent
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "PYTHONPATH": f"{here}:{here.parent.parent}",
        "JAX_PLATFORMS": "cpu",
    }
    command = [sys.executable, "-c", f"ALL = {in_all_ways}\n{SHARDED}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "sharded over 2\n", done.stderr


# Arguments


def test_keys_and_integers_beside() -> None:
    @hb.batch
    def walk(x, key, n):
        for _ in range(n):
            key, part = jax.random.split(key)
            x = x * jax.random.uniform(part) + x
        return x

    for keys in (jax.random.split(jax.random.key(0), 4), jax.random.split(jax.random.PRNGKey(0), 4)):
        slope = (walk(X + 1e-6, keys, N) - walk(X - 1e-6, keys, N)) / 2e-6
        np.testing.assert_allclose(jax.grad(lambda x, keys=keys: walk(x, keys, N).sum())(X), slope, rtol=1e-7)
        np.testing.assert_allclose(jax.jit(hb.value_and_grad(walk))(X, keys, N)[1], slope, rtol=1e-7)


def test_complex_numbers() -> None:
    def spiral(c, n):
        while n > 0:
            c = c * c + 0.3j * c
            n -= 1
        return jnp.abs(c)

    c = jnp.asarray(X + 0.5j * X)
    wanted = [jax.grad(spiral)(z, int(n)) for z, n in zip(c, N, strict=True)]
    np.testing.assert_allclose(jax.grad(lambda c: hb.batch(spiral)(c, N).sum())(c), wanted, rtol=1e-10)
    np.testing.assert_allclose(hb.value_and_grad(hb.batch(spiral))(c, N)[1], wanted, rtol=1e-10)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_precision_is_that_of_the_argument(dtype: Any) -> None:
    precise, x = gradient(X, W)[0], jnp.asarray(X, dtype)
    function = functools.partial(turns, n=N, w=jnp.asarray(W, dtype))
    eps = float(jnp.finfo(dtype).eps)
    tangent = jax.jvp(function, (x,), (jnp.ones_like(x),))[1]
    reverse = jax.grad(lambda x: function(x).sum())(x)
    at_once = both(x, N, jnp.asarray(W, dtype))[1][0]
    for found in (tangent, reverse, at_once):
        assert found.dtype == dtype
        np.testing.assert_allclose(found.astype(np.float64), precise, rtol=30 * eps)


class Pair(NamedTuple):
    scale: Any
    kind: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weights: Any
    often: Any


@hb.batch(in_axes=(0, None, 0))
def of_objects(point, layer, pair):
    total = point["x"]
    for i in range(layer.often):
        total = total + pair.scale * layer.weights[i % 2]
        if pair.kind > 1:
            total = total * 0.5
    return total


def test_pytrees_and_objects() -> None:
    args = {"x": jnp.asarray(X)}, Layer(jnp.asarray(W), jnp.asarray(3)), Pair(jnp.asarray(X), jnp.asarray(N))
    _, found = hb.value_and_grad(of_objects, (0, 1, 2))(*args)
    wanted = jax.grad(lambda *args: of_objects(*args).sum(), (0, 1, 2), allow_int=True)(*args)
    assert jax.tree.structure(found) == jax.tree.structure(wanted) == jax.tree.structure(args)
    for own, other, arg in zip(*map(jax.tree.leaves, (found, wanted, args)), strict=True):
        assert own.shape == other.shape == arg.shape
        assert own.dtype == other.dtype
        if own.dtype != jax.dtypes.float0:
            np.testing.assert_allclose(own, other, rtol=1e-12)
    step = {"x": X + 1e-6}, {"x": X - 1e-6}
    ahead, behind = (of_objects(x, *args[1:]) for x in step)
    np.testing.assert_allclose(found[0]["x"], (ahead - behind) / 2e-6, rtol=1e-7)


@hb.batch
def weighed(items, x):
    total = 0.0
    for i, item in enumerate(items):
        total += item * item * (i + 1) * x
    return total


def test_the_gradient_of_a_ragged_argument_can_be_read() -> None:
    items = hb.Ragged.of([[1.0, 2.0], [3.0], []])
    values, (of_items, of_x) = hb.value_and_grad(weighed, (0, 1))(items, jnp.ones(3))
    assert values.tolist() == of_x.tolist() == [9.0, 9.0, 0.0]
    assert of_items.tolist() == [[2.0, 8.0], [6.0], []]
    assert hb.value_and_grad(weighed)(of_items, jnp.ones(3))[1].tolist() == [[4.0, 32.0], [12.0], []]


def test_gradients_are_as_the_arguments_were_passed() -> None:
    """The batch is along the same axis, and what is shared inside of an argument has one gradient."""

    @hb.batch(in_axes=(-1, {"own": 1, "all": None}))
    def product(v, parts):
        total = v[0] * 1.0
        while total < 3:
            total = total + v.sum() * parts["own"][1] * parts["all"][0]
        return total

    v, parts = jnp.stack([X, X + 1, X * 2]), {"own": jnp.stack([X, X + 2]), "all": jnp.asarray(W)}
    _, found = hb.value_and_grad(product, (0, 1))(v, parts)
    wanted = jax.grad(lambda v, parts: product(v, parts).sum(), (0, 1))(v, parts)
    assert_close(found, wanted)
    assert found[1]["all"].shape == W.shape


def test_static_arguments_defaults_and_keywords() -> None:
    @hb.batch(static_argnames="mode", in_axes=(0, 0))
    def grown(x, scale=2.0, *, mode="sine"):
        while x < scale:
            x = x + (jnp.sin(x) if mode == "sine" else x)
        return x

    assert jax.grad(lambda x: grown(x, mode="double").sum())(X).tolist() == [4.0, 4.0, 4.0, 2.0]
    values, slopes = hb.value_and_grad(grown)(x=X, mode="double")
    assert (values.tolist(), slopes.tolist()) == ((X * [4, 4, 4, 2]).tolist(), [4.0, 4.0, 4.0, 2.0])
    np.testing.assert_allclose(hb.value_and_grad(grown)(X)[1], jax.grad(lambda x: grown(x).sum())(X), rtol=1e-12)


def test_methods() -> None:
    class Scaled:
        def __init__(self, by: float) -> None:
            self.by = by

        @hb.batch(static_argnames="self")
        def turned(self, x, n):
            for _ in range(n):
                x = x * self.by
            return x

    double = Scaled(2.0)
    assert jax.grad(lambda x: double.turned(x, N).sum())(X).tolist() == [4.0, 1.0, 8.0, 2.0]
    assert hb.value_and_grad(double.turned)(X, N)[1].tolist() == [4.0, 1.0, 8.0, 2.0]


def test_plain_python_has_the_gradient_of_one_example() -> None:
    with hb.disable_batching():
        value, (of_x, of_w) = hb.value_and_grad(turns, (0, 2))(jnp.asarray(X[0]), 2, jnp.asarray(W))
        alone = jax.grad(lambda x: turns(x, 2, W))(jnp.asarray(X[0]))
    values, (of_xs, _) = both(X[:1], N[:1], W)
    assert_close([value, of_x, of_w, alone], [values[0], of_xs[0], both(X[:1], N[:1], W)[1][1], of_x])


def test_what_takes_no_part_needs_no_derivative() -> None:
    """JAX has none of ``apply``, and what it is applied to does not depend on ``x``, or nothing depends on it."""

    @hb.batch
    def beside(x, n):
        signs, unused = jnp.ones(4), x
        while n > 0:
            signs = signs.at[n].apply(jnp.negative)
            unused = (signs * unused).at[0].apply(jnp.negative)[1]
            x = 2 * x * signs[0] + 0 * unused.astype(int)
            n -= 1
        return x, signs

    value, pull = jax.vjp(lambda x: beside(x, N), X)
    assert value[0].tolist() == (X * 2**N).tolist()
    assert pull((jnp.ones(4), jnp.ones((4, 4))))[0].tolist() == [4.0, 1.0, 8.0, 2.0]


# Lanes that raise, and that print


@hb.batch(in_axes=(0, 0, None))
def raising(x, n, w):
    for i in range(n):
        if i == 2:
            raise ValueError(f"turn {i}")
        x = jnp.sin(x) * w[i]
    return x


def test_a_lane_that_raises_has_no_gradient_and_the_others_have_theirs() -> None:
    with pytest.raises(hb.LaneError) as primal:
        raising(X, N, W)
    sound = [0, 1, 3]
    values, (of_x, of_w) = hb.value_and_grad(raising, (0, 2))(X[sound], N[sound], W)
    with pytest.raises(hb.LaneError) as found:
        hb.value_and_grad(raising, (0, 2))(X, N, W)
    results, gradients = found.value.outputs
    np.testing.assert_allclose(results[np.array(sound)], values, rtol=1e-12)
    assert_close([gradients[0][np.array(sound)], gradients[1]], [of_x, of_w])
    assert gradients[0][2] == 0
    for way in (
        lambda: jax.grad(lambda x: raising(x, N, W).sum())(X),
        lambda: jax.jvp(lambda x: raising(x, N, W), (X,), (X,)),
    ):
        with pytest.raises(hb.LaneError) as other:
            way()
        for error in (found.value, other.value):
            assert str(error) == str(primal.value)
            assert repr(error.errors) == repr(primal.value.errors) == "{2: ValueError('turn 2')}"
    with pytest.raises(jax.errors.JaxRuntimeError, match="lane 2 of 'raising' raised ValueError: turn 2"):
        jax.block_until_ready(jax.jit(hb.value_and_grad(raising))(X, N, W))


def test_the_error_of_a_batch_that_runs_in_parts_is_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlobatch.runtime.sums.MOST_BYTES_OF_ROWS", 2 * W.nbytes)
    assert_close(both(X, N, W)[1], by_hand())
    with pytest.raises(hb.LaneError, match="lane 2 of 'raising' raised ValueError: turn 2") as found:
        hb.value_and_grad(raising, (0, 2))(X, N, W)
    assert found.value.lanes == (2,)
    results, gradients = found.value.outputs
    assert results.shape == X.shape
    assert gradients is None


@pytest.mark.parametrize("way", ["grad", "jit", "value_and_grad", "jvp"])
def test_lanes_print_once(way: str, capfd: pytest.CaptureFixture[str]) -> None:
    @hb.batch
    def spoken(x, n):
        while n > 0:
            print("x =", x)
            x = x * 2
            n -= 1
        return x

    x, n = jnp.array([1.0, 3.0]), jnp.array([2, 1])
    spoken(x, n)
    wanted = capfd.readouterr().out
    ways: dict[str, Callable[[], Any]] = {
        "grad": lambda: jax.grad(lambda x: spoken(x, n).sum())(x),
        "jit": lambda: jax.jit(jax.grad(lambda x: spoken(x, n).sum()))(x),
        "value_and_grad": lambda: hb.value_and_grad(spoken)(x, n)[1],
        "jvp": lambda: jax.jvp(lambda x: spoken(x, n), (x,), (jnp.ones(2),))[1],
    }
    assert jax.block_until_ready(ways[way]()).tolist() == [4.0, 2.0]
    jax.effects_barrier()
    assert capfd.readouterr().out == wanted != ""


@pytest.mark.parametrize("how", ["value_and_grad", "grad", "jvp"])
def test_lists_get_more_room_in_derivatives_as_well(how: str) -> None:
    @hb.batch
    def squares(x, n):
        items = []
        while n > 0:
            items.append(x * n)
            x, n = x * 0.99, n - 1
        total = 0.0
        for item in items:
            total = total + item * item
        return total

    x, n = jnp.array([1.0, 2.0]), jnp.array([3, 150])
    ways: dict[str, Callable[[], Any]] = {
        "value_and_grad": lambda: hb.value_and_grad(squares)(x, n),
        "grad": lambda: (jax.grad(lambda x: squares(x, n).sum())(x), squares(x, n))[::-1],
        "jvp": lambda: jax.jvp(lambda x: squares(x, n), (x,), (jnp.ones(2),)),
    }
    values, found = ways[how]()
    np.testing.assert_allclose(found, 2 * values / x, rtol=1e-12)


# Errors


def test_an_argument_that_there_is_not() -> None:
    with pytest.raises(
        hb.BatchTypeError, match=r"(?s)names argument 3, and there are 3.*help: the arguments are x, n, w"
    ):
        hb.value_and_grad(turns, 3)(X, N, W)


def test_integers_are_refused_by_jax() -> None:
    with pytest.raises(TypeError, match="real- or complex-valued inputs"):
        jax.grad(lambda n: turns(X, n, W).sum())(N)


def test_what_has_no_number_for_each_example() -> None:
    with pytest.raises(hb.BatchTypeError, match=r"(?s)one floating-point number per example.*else use jax\.vjp"):
        hb.value_and_grad(hb.batch(lambda x: (x, x)))(X)
    with pytest.raises(hb.BatchTypeError, match=r"(?s)is not batched.*@hb\.batch"):
        hb.value_and_grad(lambda x: x)


def test_a_gradient_is_exported_by_jax() -> None:
    with pytest.raises(TypeError, match=r"JAX exports a gradient: jax\.export"):
        hb.export(hb.value_and_grad(turns), X, N, W)
