"""A batched function is an ordinary JAX function: under jit, vmap, scan, shard_map and export, with any pytrees."""

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
from zoo import LOOP

import hlobatch as hb


@hb.batch
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


@hb.batch(in_axes=(0, None))
def sum_to(i, data):
    total = 0.0
    while i > 0:
        total += data[i]
        i -= 1
    return total


INPUTS = np.array([0, 1, 5, 7, 10], np.int32)
FIBONACCI = np.array([1, 1, 8, 21, 89])
DATA = jnp.arange(10.0)
TO = np.array([1, 5, 9], np.int32)
SUMS = np.array([1.0, 15.0, 45.0])


def test_jit() -> None:
    assert jax.jit(lambda x: fibonacci(x) + 1)(INPUTS).tolist() == (FIBONACCI + 1).tolist()


def test_jit_of_jit_shares_one_program() -> None:
    twice = jax.jit(lambda x: fibonacci(x) + fibonacci(x))
    assert twice(INPUTS).tolist() == (2 * FIBONACCI).tolist()


def test_vmap_adds_lanes() -> None:
    pair = np.stack([INPUTS, INPUTS[::-1]])
    assert jax.vmap(fibonacci)(pair).tolist() == [FIBONACCI.tolist(), FIBONACCI[::-1].tolist()]
    columns = jax.vmap(fibonacci, in_axes=1, out_axes=1)(pair.T)
    assert columns.T.tolist() == [FIBONACCI.tolist(), FIBONACCI[::-1].tolist()]
    assert jax.vmap(jax.vmap(fibonacci))(pair[None]).shape == (1, 2, 5)


def test_vmap_of_a_shared_argument() -> None:
    data = jnp.stack([DATA, 2 * DATA])
    assert jax.vmap(sum_to, (None, 0))(TO, data).tolist() == [SUMS.tolist(), (2 * SUMS).tolist()]
    assert jax.vmap(sum_to, (0, None))(np.stack([TO, TO]), DATA).tolist() == [SUMS.tolist()] * 2
    both = jax.vmap(jax.vmap(sum_to, (0, None)), (None, 0))(np.stack([TO, TO]), data)
    assert both.tolist() == [[SUMS.tolist()] * 2, [(2 * SUMS).tolist()] * 2]


SQUARE = jnp.arange(300 * 300, dtype=jnp.int32).reshape(300, 300) % 97
WIDE = SQUARE[:, :256]
ROW, OTHER_ROW = SQUARE[0], 1000 + SQUARE[0]


@pytest.mark.parametrize("fold_constants", [False, True])
@pytest.mark.parametrize("array", [SQUARE, WIDE], ids=["square", "wide"])
def test_vmap_of_a_shared_argument_may_change_what_is_computed_of_captured_arrays(array, fold_constants):
    """What is no longer shared as a whole is shared in part, and the captured array is another."""

    @hb.batch(in_axes=(0, None), optimizations=hb.Optimizations(fold_constants=fold_constants))
    def total(n, scale):
        table, sums = jnp.cumsum(array.T, axis=0) * scale, 0
        while n > 0:
            sums, n = sums + table[n, n], n - 1
        return sums

    n, scales = jnp.arange(5), jnp.arange(1, 4)
    wanted = [total(n, scale).tolist() for scale in scales]
    assert jax.vmap(total, (None, 0))(n, scales).tolist() == wanted
    assert jax.jit(jax.vmap(total, (None, 0)))(n, scales).tolist() == wanted
    assert jax.vmap(jax.jit(total), (None, 0))(n, scales).tolist() == wanted


def test_vmap_of_a_shared_argument_may_change_the_order_of_captured_arrays():
    def total(row, other_row):
        @hb.batch(in_axes=(0, None))
        def total(n, scale):
            first = row[n]
            table, sums = other_row * scale, 0
            while n > 0:
                sums, n = sums + table[n] + first, n - 1
            return sums

        return total

    n, scales = jnp.arange(5), jnp.arange(1, 4)
    plain = total(ROW, OTHER_ROW)
    wanted = [plain(n, scale).tolist() for scale in scales]
    assert jax.vmap(plain, (None, 0))(n, scales).tolist() == wanted
    traced = jax.jit(lambda row, other: jax.vmap(jax.jit(total(row, other)), (None, 0))(n, scales))
    assert traced(ROW, OTHER_ROW).tolist() == wanted


def power_of(weight, steps):
    @hb.batch
    def power(n):
        product = weight * 0 + 1
        while n > 0:
            product = product * weight
            n -= 1
        return product

    return power(steps)


def test_closure_over_a_traced_value() -> None:
    """A batched function may be made inside a traced one, around its values."""
    weight, steps = jnp.array([1.0, 2.0, 3.0]), np.array([0, 2, 3], np.int32)
    wanted = np.asarray(weight) ** steps[:, None]
    assert jax.jit(power_of)(weight, steps).tolist() == wanted.tolist()
    assert jax.jit(power_of)(2 * weight, steps).tolist() == ((2 * np.asarray(weight)) ** steps[:, None]).tolist()


def test_mapped_value_in_a_closure() -> None:
    found = jax.vmap(power_of, (0, None))(jnp.array([1.0, 2.0]), np.array([0, 2, 3], np.int32))
    assert found.tolist() == [[1.0, 1.0, 1.0], [1.0, 4.0, 8.0]]


@hb.batch
def weighted(n):
    total = 0.0
    while n > 0:
        total += TABLE[n]
        n -= 1
    return total


TABLE = jnp.arange(32.0)


def test_first_call_inside_a_trace_leaks_nothing() -> None:
    assert jax.jit(weighted)(INPUTS[:3]).tolist() == [0.0, 1.0, 15.0]
    assert weighted(INPUTS[:3]).tolist() == [0.0, 1.0, 15.0]


def test_scan() -> None:
    _, found = jax.lax.scan(lambda c, x: (c, fibonacci(x)), 0, np.stack([INPUTS, INPUTS]))
    assert found.tolist() == [FIBONACCI.tolist()] * 2


def test_empty_batch_in_jit() -> None:
    assert jax.jit(fibonacci)(np.zeros(0, np.int32)).shape == (0,)


def test_gradient_of_what_all_lanes_share() -> None:
    gradient = jax.grad(lambda data: sum_to(TO, data).sum())(DATA)
    assert gradient.tolist() == [0.0, *(float(np.sum(i <= TO)) for i in range(1, 10))]


@pytest.mark.parametrize("vmapped", [False, True])
def test_overflow_inside_jit_is_reported(vmapped: bool) -> None:
    shallow = hb.batch(fibonacci.function, max_stack_depth=4)
    call = jax.jit(jax.vmap(shallow)) if vmapped else jax.jit(shallow)
    with pytest.raises(jax.errors.JaxRuntimeError, match="needed more than 4 stack frames"):
        jax.block_until_ready(call(np.stack([INPUTS, INPUTS]) if vmapped else INPUTS))
    assert jax.jit(shallow)(INPUTS[:3]).tolist() == FIBONACCI[:3].tolist()


def test_how_deep_it_goes_inside_a_transformation_does_not_depend_on_calls_before() -> None:
    """A call by itself grows its stacks and remembers how far; other computations have the depth that was declared."""
    (b,) = jax.export.symbolic_shape("b")
    inside: dict[str, Callable[[hb.BatchedFunction], object]] = {
        "jit": lambda f: jax.jit(f)(INPUTS),
        "vmap": lambda f: jax.vmap(f)(INPUTS[None]),
        "scan": lambda f: jax.lax.scan(lambda c, x: (c, f(x)), 0, INPUTS[None]),
        "export": lambda f: hb.export(f, INPUTS).call(INPUTS),
        "jax.export": lambda f: jax.export.export(jax.jit(f))(jax.ShapeDtypeStruct((b,), jnp.int32)).call(INPUTS),
    }
    once_called = hb.batch(fibonacci.function, max_stack_depth=4, optimizations=LOOP)
    for name, run in inside.items():
        assert once_called(INPUTS).tolist() == FIBONACCI.tolist()
        if name == "jax.export":
            assert np.min(run(once_called)) == np.iinfo(np.int32).min
            continue
        with pytest.raises((jax.errors.JaxRuntimeError, hb.StackOverflowError), match="max_stack_depth"):
            jax.block_until_ready(run(once_called))
        assert once_called.with_stats(INPUTS)[1].resumptions == 0


def test_step_limit_inside_jit_is_reported() -> None:
    limited = hb.batch(fibonacci.function, max_steps=20)
    with pytest.raises(jax.errors.JaxRuntimeError, match="had not finished after 20 blocks"):
        jax.block_until_ready(jax.jit(limited)(INPUTS))


def test_jax_export_with_symbolic_sizes() -> None:
    (b,) = jax.export.symbolic_shape("b")
    doubled = jax.export.export(jax.jit(lambda x: fibonacci(x) * 2))(jax.ShapeDtypeStruct((b,), jnp.int32))
    assert doubled.call(INPUTS).tolist() == (2 * FIBONACCI).tolist()
    assert doubled.call(INPUTS[:2]).tolist() == [2, 2]
    thrice = jax.export.export(jax.jit(lambda x: fibonacci(jnp.concatenate([x, x, x[:1]]))))
    expression = thrice(jax.ShapeDtypeStruct((b,), jnp.int32))
    assert expression.call(INPUTS).tolist() == [*FIBONACCI, *FIBONACCI, FIBONACCI[0]]
    shapes = jax.export.symbolic_shape("k, b")
    mapped = jax.export.export(jax.jit(jax.vmap(fibonacci)))(jax.ShapeDtypeStruct(shapes, jnp.int32))
    assert mapped.call(np.stack([INPUTS, INPUTS])).tolist() == [FIBONACCI.tolist()] * 2


def test_a_batch_of_a_symbolic_size_is_not_compiled() -> None:
    (b,) = jax.export.symbolic_shape("b")
    lowered = fibonacci.trace(jax.ShapeDtypeStruct((b,), jnp.int32)).lower()
    assert "tensor<?xi32>" in lowered.as_text()
    for translated in (lowered.compile, lambda: lowered.as_text("hlo")):
        with pytest.raises(hb.BatchTypeError, match="has size b, and XLA has to know the number") as caught:
            translated()
        assert "hb.export" in str(caught.value)


def test_an_empty_batch_has_no_module() -> None:
    lowered = fibonacci.trace(jnp.zeros(0, jnp.int32)).lower()
    with pytest.raises(hb.BatchTypeError, match="is empty, and nothing is run for it"):
        lowered.as_text()
    assert lowered.compile()(jnp.zeros(0, jnp.int32)).tolist() == []


def test_avals_are_not_run() -> None:
    with pytest.raises(hb.BatchTypeError, match=r"n is a jax\.ShapeDtypeStruct, which holds no numbers") as caught:
        fibonacci(jax.ShapeDtypeStruct((4,), jnp.int32))
    assert "trace" in str(caught.value)
    with pytest.raises(hb.BatchTypeError, match="holds no numbers"):
        fibonacci.with_stats(jax.ShapeDtypeStruct((4,), jnp.int32))


def test_nothing_is_moved_to_the_device_behind_the_users_back() -> None:
    fresh = hb.batch(fibonacci.function)
    there = jax.device_put(INPUTS)
    with jax.transfer_guard("disallow"):
        found = fresh(there), fresh(there)
    assert [x.tolist() for x in found] == [FIBONACCI.tolist()] * 2


def test_jax_export_never_gives_a_wrong_number() -> None:
    """What is exported has no host to report to: results of lanes that overflowed are poisoned."""
    shallow = hb.batch(fibonacci.function, max_stack_depth=4)
    found = jax.export.export(jax.jit(shallow))(INPUTS).call(INPUTS)
    assert found.tolist() == [1, 1, 8, *[np.iinfo(np.int32).min] * 2]


IN_A_PROCESS = """
import jax
import numpy as np
from test_jax import DATA, FIBONACCI, INPUTS, SUMS, TO, fibonacci, sum_to

missed = []
jax.monitoring.register_event_listener(lambda event, **_: missed.append(event) if "cache_misses" in event else None)
np.testing.assert_array_equal(fibonacci(INPUTS), FIBONACCI)
np.testing.assert_array_equal(sum_to(TO, DATA), SUMS)
print(len(missed))
"""


def test_compiled_once_for_all_processes(tmp_path: Path) -> None:
    """The second process finds all that it needs in JAX's persistent cache, whatever the order of its sets."""
    always = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
    missed = []
    for seed in ("1", "2"):
        environment = {**os.environ, **always, "JAX_COMPILATION_CACHE_DIR": str(tmp_path), "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=Path(__file__).parent,
        )
        assert done.returncode == 0, done.stderr
        missed.append(int(done.stdout))
    assert missed[0] > 0
    assert missed[1] == 0


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_arrays_that_are_known_inside_a_trace(kind: Callable[..., Any], known: bool) -> None:
    """They are no tracers, but what is called is part of the computation all the same."""

    @hb.batch
    def halvings(x):
        steps = 0
        while x > 1:
            x, steps = x / 2, steps + 1
        return steps

    x = kind(np.arange(6, dtype=np.float32))
    wanted = [0, 0, 1, 2, 2, 3]
    if known:
        assert halvings(x).tolist() == wanted
    assert jax.jit(lambda y: halvings(x) + y)(1).tolist() == [n + 1 for n in wanted]
    sums = jax.lax.scan(lambda total, _: (total + halvings(x), None), jnp.zeros(6, jnp.int32), length=3)[0]
    assert sums.tolist() == [3 * n for n in wanted]
    assert jax.vmap(lambda y: halvings(x) + y)(jnp.arange(2)).tolist() == [wanted, [n + 1 for n in wanted]]
    assert halvings(x).tolist() == wanted


SHARDED = """
import hlobatch as hb, jax, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from test_jax import fibonacci, sum_to
mesh = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
x = np.arange(16, dtype=np.int32) % 9
for check in (True, False):
    mapped = jax.jit(jax.shard_map(fibonacci, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=check))
    assert mapped(x).tolist() == fibonacci(x).tolist()
    text = mapped.lower(x).compile().as_text()
    assert not [w for w in ("all-reduce", "all-gather", "collective-permute", "all-to-all") if w in text]
data = np.arange(10, dtype=np.float32)
shared = jax.jit(jax.shard_map(sum_to, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x")))
assert shared(x, data).tolist() == sum_to(x, data).tolist()
spread = jax.device_put(x, NamedSharding(mesh, P("x")))
compiled = fibonacci.trace(spread).lower().compile()
assert compiled(spread).tolist() == fibonacci(spread).tolist() == fibonacci(x).tolist()
assert "num_partitions=8" in fibonacci.trace(spread).lower().compile().as_text()
explicit = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Explicit,))
with jax.set_mesh(explicit):
    spread = jax.device_put(x, NamedSharding(explicit, P("x")))
    limited = hb.batch(fibonacci.function, max_steps=20)
    try:
        limited(spread)
    except hb.StepLimitError as error:
        assert error.lanes == (5, 6, 7, 8, 14, 15), error.lanes
    else:
        raise AssertionError
    assert np.asarray(limited.finish(limited.start(spread % 3))).tolist() == fibonacci(x % 3).tolist()
    try:
        jax.vmap(fibonacci)(jax.numpy.stack([spread, spread]))
    except hb.HloBatchError as error:
        assert "jax.shard_map" in str(error)
    else:
        raise AssertionError
print("sharded over", len(jax.devices()))
"""


def test_shard_map_on_eight_devices() -> None:
    """Each device runs its own loop: no collectives."""
    here = Path(__file__).parent
    command = [sys.executable, "-c", SHARDED]
    path = f"{here}:{here.parent.parent}"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=os.environ | flags, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "sharded over 8\n", done.stderr


class Pair(NamedTuple):
    a: Any
    b: Any


def test_pytrees_in_and_out() -> None:
    @hb.batch
    def turn(state, key):
        steps = 0
        while state["pair"].a < state["pair"].b[0]:
            key, part = jax.random.split(key)
            state = {"pair": Pair(state["pair"].a + jax.random.uniform(part), state["pair"].b)}
            steps += 1
        return [Pair(state, key), (steps, None)]

    state = {"pair": Pair(jnp.zeros(4), jnp.array([[0.5, 1.0], [2.0, 1.0], [0.0, 1.0], [3.0, 1.0]]))}
    (pair, (steps, nothing)) = turn(state, jax.random.split(jax.random.key(0), 4))
    assert nothing is None
    assert isinstance(pair, Pair)
    assert jnp.issubdtype(pair.b.dtype, jax.dtypes.prng_key)
    assert steps[2] == 0
    assert bool((pair.a["pair"].a >= state["pair"].b[:, 0]).all())


def test_in_axes_of_a_pytree() -> None:
    @hb.batch(in_axes=({"a": 1, "b": None},))
    def add(t):
        return t["a"] + t["b"]

    found = add({"a": np.ones((2, 3), np.float32), "b": np.arange(2.0, dtype=np.float32)})
    assert found.tolist() == [[1.0, 2.0]] * 3


def test_x64_and_x32_do_not_share_code() -> None:
    @hb.batch
    def half(x):
        while x > 1:
            x = x / 2
        return x

    assert half(np.array([3.0, 5.0])).dtype == np.float32
    with jax.enable_x64(True):
        assert half(np.array([3.0, 5.0])).dtype == np.float64
    assert half(np.array([3.0, 5.0])).dtype == np.float32


@pytest.mark.parametrize("within", [False, True], ids=["by itself", "inside jit"])
@pytest.mark.parametrize("wide", [False, True])
def test_stages_keep_to_the_types_that_were_traced(within: bool, wide: bool) -> None:
    """Stages keep their types, like those of ``jax.jit``, if 64-bit types are switched on or off meanwhile."""

    @hb.batch(max_stack_depth=2)
    def halvings(x, n):
        if x <= 1:
            return x, n
        y, m = halvings(x / 2, n + 1)
        return y + x, m

    starts, counts = np.array([3.0, 5.0, 100.0]), np.arange(3)
    with jax.enable_x64(wide):
        args = jnp.asarray(starts), jnp.asarray(counts)
        expected = halvings(*args)
        deep = hb.batch(halvings.function, max_stack_depth=16)
        traced = jax.jit(deep).trace(*args) if within else halvings.trace(*args)
    with jax.enable_x64(not wide):
        lowered = traced.lower()
        assert ("f64" in lowered.as_text()) == wide
        results = lowered.compile()(*args)
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("function", [jnp.square, jax.nn.softplus, jax.nn.softmax])
def test_a_function_of_jax_that_can_be_read_is_batched(function: Callable[..., Any]) -> None:
    rows = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    np.testing.assert_allclose(hb.batch(function)(rows), jax.vmap(function)(rows), rtol=1e-6)


@pytest.mark.parametrize("limit", [3, np.int32(3), np.float32(2.5)])
def test_a_static_argument_may_be_a_number_of_numpy(limit: Any) -> None:
    @hb.batch(static_argnames="limit")
    def up_to(n, limit):
        while n < limit:
            n += 1
        return n

    assert up_to(np.arange(5, dtype=np.int32), limit).tolist() == [3, 3, 3, 3, 4]


def test_in_axes_of_the_arguments_that_are_given() -> None:
    """Entries of ``in_axes``, as in ``jax.vmap``: parameters with a default need none."""

    @hb.batch(in_axes=(0, None))
    def scaled(a, b, k=2, name="none"):
        return a * b * k + len(name)

    a, b = jnp.arange(3), jnp.asarray(5)
    assert scaled(a, b).tolist() == [4, 14, 24]
    every = hb.batch(scaled.function, in_axes=(0, None, 0), static_argnames="name")
    assert every(a, b, a, name="").tolist() == [0, 5, 20]


class Model:
    def __init__(self, base: int) -> None:
        self.base = base

    @functools.partial(hb.batch, static_argnames="self")
    def halvings(self, n):
        steps = self.base
        while n > 1:
            n, steps = n // 2, steps + 1
        return steps


def test_methods_are_bound() -> None:
    assert Model(10).halvings(jnp.array([1, 8, 9])).tolist() == [10, 13, 13]
    assert Model.halvings(Model(20), jnp.array([1, 8, 9])).tolist() == [20, 23, 23]


def test_bound_methods_have_all_that_batched_functions_have() -> None:
    x, model = jnp.array([1, 8, 9]), Model(10)
    result, stats = model.halvings.with_stats(x)
    assert result.tolist() == [10, 13, 13]
    assert stats.inputs == 3
    assert model.halvings.trace(x).lower().compile()(x).tolist() == [10, 13, 13]
    assert model.halvings == model.halvings != Model(10).halvings
    assert len({model.halvings, model.halvings}) == 1
    assert model.halvings.__self__ is model
    assert model.halvings.__func__ is Model.halvings
    assert model.halvings.__name__ == "halvings"
    with pytest.raises(hb.BatchTypeError, match="missing a required argument: 'n'"):
        model.halvings()
