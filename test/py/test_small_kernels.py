"""In a run of one lane that is several kernels, what works on little is in kernels of its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch._jax import ir, mlir
from hlobatch.targets.cpu import small_kernels
from hlobatch.targets.cpu.small_kernels import MOST_ELEMENTS, in_small_kernels

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="XLA makes such kernels on a CPU only")

SIZE = 700
"""Of a square matrix whose product with a vector is worth a library."""


def lowered(function, *args, **options):
    """What XLA is given of a batched function."""
    return str(hb.batch(function, **options).trace(*args).lower()._jax.compiler_ir("stablehlo")).splitlines()


def functions(lines):
    """For each function of a module, the operations in it, at any depth."""
    found = {}
    for line in lines:
        if "func.func" in line:
            name = line.split("@")[1].split("(")[0]
        elif "stablehlo." in line:
            found.setdefault(name, []).append(line.split("stablehlo.")[1].split()[0].split("(")[0])
    return found


@pytest.fixture
def walk():
    matrix = jnp.asarray(np.random.default_rng(0).normal(size=(SIZE, SIZE)) / SIZE, jnp.float32)

    def walk(x, count):
        steps = 0
        total = jnp.float32(0.0)
        while count > 0:
            if x[0] > 0.1:
                x = jnp.tanh(matrix @ x)
                steps = steps + 1
            else:
                x = x.at[0].add(0.05)
                total = total + jnp.sqrt(1.0 + x[0] ** 2)
            count = count - 1
        return x, steps, total

    return walk


def test_kernels_of_what_works_on_little_stand_around_a_large_product(walk):
    x, count = jnp.ones((1, SIZE)), jnp.array([7])
    inside = functions(lowered(walk, x, count))
    small = [operations for name, operations in inside.items() if "small_" in name]
    others = [operations for name, operations in inside.items() if "small_" not in name]
    assert small
    assert not any("dot_general" in operations for operations in small)
    assert sum(operations.count("dot_general") for operations in others) == 1
    loops = sum(operations.count("while") for operations in others)
    assert loops == 2  # that of the run, and the test of the block with the product
    wanted = walk(x[0], 7)
    for got, value in zip(hb.batch(walk)(x, count), wanted, strict=True):
        np.testing.assert_allclose(got[0], value, rtol=1e-5, atol=1e-7)  # sums of 700 numbers, some of them nearly zero


@pytest.mark.parametrize("lanes", [1, 2])
def test_only_a_run_of_one_lane_has_them(walk, lanes):
    names = functions(lowered(walk, jnp.ones((lanes, SIZE)), jnp.full(lanes, 7)))
    assert any("small_" in name for name in names) == (lanes == 1)


def test_without_kernels_of_whole_runs_there_are_none_of_parts(walk):
    names = functions(
        lowered(walk, jnp.ones((1, SIZE)), jnp.array([7]), optimizations=hb.Optimizations(one_kernel=False))
    )
    assert not any("small_" in name for name in names)


@pytest.mark.usefixtures("optimized_in_full")
def test_registers_are_updated_in_place(walk):
    """A kernel gives back no register that it changes: XLA would copy it in each turn."""
    compiled = hb.batch(walk).trace(jnp.ones((1, SIZE)), jnp.array([7])).lower().compile().executable.as_text()
    bodies = [part for part in compiled.split("\n\n") if " dot(" in part]
    assert len(bodies) == 1
    assert bodies[0].count(" copy(") <= 2


# What is given back besides

GIVEN_BACK = {
    "an array that a part of is changed": (
        """func.func public @main(%x: tensor<8xf32>, %u: tensor<2xf32>, %i: tensor<i32>) -> tensor<8xf32> {
             %r = "stablehlo.dynamic_update_slice"(%x, %u, %i)
                 : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
             return %r : tensor<8xf32> }""",
        {"tensor<2xf32>", "tensor<i32>"},
    ),
    "one of which nothing is left": (
        """func.func public @main(%x: tensor<8xf32>, %u: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
             %r = "stablehlo.dynamic_update_slice"(%x, %u, %i)
                 : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
             return %r : tensor<8xf32> }""",
        {"tensor<8xf32>", "tensor<i32>"},
    ),
    "what a mask may leave": (
        """func.func public @main(%m: tensor<i32>, %x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
             %c = stablehlo.constant dense<3> : tensor<i32>
             %p = stablehlo.compare EQ, %m, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
             %n = stablehlo.concatenate %y, %y, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
             %r = stablehlo.select %p, %n, %x : tensor<i1>, tensor<8xf32>
             return %r : tensor<8xf32> }""",
        {"tensor<i32>", "tensor<4xf32>"},
    ),
    "what a known mask may not leave": (
        """func.func public @main(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
             %p = stablehlo.constant dense<true> : tensor<i1>
             %n = stablehlo.concatenate %y, %y, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
             %r = stablehlo.select %p, %n, %x : tensor<i1>, tensor<8xf32>
             return %r : tensor<8xf32> }""",
        {"tensor<8xf32>", "tensor<4xf32>"},
    ),
    "what a mask that is always true may not leave": (
        """func.func public @main(%m: tensor<ui32>, %x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
             %c = stablehlo.constant dense<0> : tensor<ui32>
             %p = stablehlo.compare GE, %m, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
             %n = stablehlo.concatenate %y, %y, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
             %r = stablehlo.select %p, %n, %x : tensor<i1>, tensor<8xf32>
             return %r : tensor<8xf32> }""",
        {"tensor<ui32>", "tensor<8xf32>", "tensor<4xf32>"},
    ),
    "what a number that equals itself may not leave": (
        """func.func public @main(%m: tensor<i32>, %x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
             %p = stablehlo.compare EQ, %m, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
             %n = stablehlo.concatenate %y, %y, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
             %r = stablehlo.select %p, %n, %x : tensor<i1>, tensor<8xf32>
             return %r : tensor<8xf32> }""",
        {"tensor<i32>", "tensor<8xf32>", "tensor<4xf32>"},
    ),
    "what a loop carries": (
        """func.func public @main(%n: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
             %c = stablehlo.constant dense<3> : tensor<i32>
             %r:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<8xf32> cond {
               %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %p : tensor<i1> } do {
               %j = stablehlo.add %i, %i : tensor<i32>
               %z = stablehlo.negate %y : tensor<8xf32>
               stablehlo.return %j, %z : tensor<i32>, tensor<8xf32> }
             return %r#1 : tensor<8xf32> }""",
        {"tensor<i32>"},  # nobody asks for the count in the end
    ),
    "what a loop of known length carries": (
        """func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
             %c = stablehlo.constant dense<3> : tensor<i32>
             %n = stablehlo.constant dense<0> : tensor<i32>
             %r:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<8xf32> cond {
               %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %p : tensor<i1> } do {
               %j = stablehlo.add %i, %c : tensor<i32>
               %z = stablehlo.negate %y : tensor<8xf32>
               stablehlo.return %j, %z : tensor<i32>, tensor<8xf32> }
             return %r#1 : tensor<8xf32> }""",
        {"tensor<8xf32>"},
    ),
}


@pytest.mark.parametrize("case", GIVEN_BACK)
def test_what_nothing_is_sure_to_use_is_given_back(case, monkeypatch):
    monkeypatch.setattr(small_kernels, "LEAST_OPERATIONS", 1)
    text, wanted = GIVEN_BACK[case]
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        in_small_kernels(module)
        module.operation.verify()
        kernel = ir.SymbolTable(module.operation)["small_0"]
        kind = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
        results = list(map(str, kind.results))
    assert results[0] == "tensor<8xf32>"
    assert set(results[1:]) == wanted


@pytest.mark.parametrize(("size", "are_some"), [(MOST_ELEMENTS, True), (MOST_ELEMENTS + 1, False), (0, False)])
def test_large_arrays_stay_outside_and_empty_ones(size, are_some):
    lines = "\n".join(f"%{i + 1} = stablehlo.sine %{i} : tensor<{size}xf32>" for i in range(9))
    kind = f"tensor<{size}xf32>"
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(f"func.func public @main(%0: {kind}) -> {kind} {{ {lines}\n return %9 : {kind} }}")
        in_small_kernels(module)
        assert ("small_0" in ir.SymbolTable(module.operation)) == are_some


@pytest.mark.parametrize("how", ["set", "add", "multiply", "max", "min"])
@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_changes_of_a_part(how, mode, monkeypatch):
    monkeypatch.setattr(small_kernels, "LEAST_OPERATIONS", 1)

    def change(x, y, place):
        row = getattr(y.at[place, 1:3], how)(x[1:3], mode=mode)
        return getattr(row.at[0, place], how)(x[2], mode=mode)

    def changed(x, y, first):
        turns = 0
        while turns < 3:
            y = change(x, y, (first + 5 * turns) % 11 - 2)
            x = jnp.sort(x) + 0.1 * y.sum()
            turns = turns + 1
        return x, y

    x, y = jnp.linspace(-1.0, 1.0, 12)[None], jnp.ones((1, 8, 4))
    for got, value in zip(hb.batch(changed)(x, y, jnp.array([3])), changed(x[0], y[0], jnp.int32(3)), strict=True):
        np.testing.assert_allclose(got[0], value, rtol=1e-5)


# What XLA finds unused, and would end the process for


def covered(x, y):
    return y.at[:].set(x[:4] * 2.0)


def one_turn(x, y):
    return jax.lax.fori_loop(0, 1, lambda i, _: x[:4] + i, y)


def no_turn(x, y):
    return jax.lax.fori_loop(0, 0, lambda i, c: c * x[:4], y)


def known_mask(x, y):
    return jnp.where(jnp.array([True, True, True, True]), x[:4], y)


def unsigned_mask(x, y):
    number, kept = x[:4].astype(jnp.uint32), jax.lax.sort(y)
    return jax.lax.select(number >= jnp.uint32(0), x[:4], kept)


def mask_of_equals(x, y):
    number, kept = x[:4].astype(jnp.int32), jax.lax.sort(y)
    return jax.lax.select(jax.lax.eq(number, number), x[:4], kept)


def counted_turns(x, y):
    kept = jax.lax.sort(y)
    return jax.lax.while_loop(lambda c: (c[0] < 1) & (c[2] > -1e9), lambda c: (c[0] + 1, x[:4], c[2]), (0, kept, x[0]))[
        1
    ]


def times_nothing(x, y):
    return x[:4] + (y.astype(jnp.int32) * 0).astype(jnp.float32)


def carried_for_nobody(x, y):
    ends = jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2, c[2] + 1), (0, y, x[:4]))
    return ends[1]


def with_nothing(x, y):
    return jnp.concatenate([y, x[:0]]) * 0.5


@pytest.mark.parametrize(
    "change",
    [
        covered,
        one_turn,
        no_turn,
        known_mask,
        unsigned_mask,
        mask_of_equals,
        counted_turns,
        times_nothing,
        carried_for_nobody,
        with_nothing,
    ],
)
@pytest.mark.parametrize("in_jit", [False, True])
def test_what_xla_finds_unused_does_no_harm(change, in_jit, monkeypatch):
    monkeypatch.setattr(small_kernels, "LEAST_OPERATIONS", 1)

    def sorted_again(x, y):
        turns = 0
        while turns < 3:
            y = change(x, y)
            x = jnp.sort(x) + y[1]
            turns = turns + 1
        return x, y

    x, y = np.random.default_rng(0).normal(size=(1, 12)).astype(np.float32), np.ones((1, 4), np.float32)
    wanted = sorted_again(jnp.asarray(x[0]), jnp.asarray(y[0]))
    batched = hb.batch(sorted_again)
    results = jax.jit(lambda *args: batched(*args))(x, y) if in_jit else batched(x, y)
    for got, value in zip(results, wanted, strict=True):
        np.testing.assert_allclose(got[0], value, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "summed"), [(2, 9), (2, 64), (1, 9), (3, 3)])
@pytest.mark.parametrize("lanes", [1, 2, 20])
def test_contractions_that_xla_wants_a_library_for(lanes, rows, summed, dtype):
    """In kernels there is none, and some did not compile: in jit, where XLA cannot be asked, and for one lane."""

    def gram(a, n):
        total = a.T @ a
        for _ in range(n):
            total = total * 0.5 + (a.T @ a if total[0, 0] > 1 else a.T @ a * 2)
        return total

    a = np.random.default_rng(0).normal(size=(lanes, summed, rows)).astype(dtype)
    n = np.arange(lanes) % 3 + 1
    with jax.enable_x64(dtype is np.float64):
        with hb.disable_batching():
            expected = [gram(each, count) for each, count in zip(a, n, strict=True)]
        for run in (hb.batch(gram), jax.jit(lambda *args: hb.batch(gram)(*args))):
            np.testing.assert_allclose(run(a, n), expected, rtol=2e-5)


def test_a_contraction_in_a_small_kernel_is_a_loop(monkeypatch):
    monkeypatch.setattr(small_kernels, "LEAST_OPERATIONS", 1)
    big = jnp.asarray(np.random.default_rng(0).normal(size=(SIZE, SIZE)) / SIZE, jnp.float32)

    def both(x, n):
        total = 0.0
        while total < n:
            y = x[:20].reshape(10, 2)
            total += jnp.tanh(y.T @ y).sum() ** 2 + 1.0
            x = big @ x
        return total

    lines = lowered(both, jnp.ones((1, SIZE), jnp.float32), jnp.full(1, 100.0))
    dots = [line for line in lines if "stablehlo.dot_general" in line]
    assert dots
    assert all(f"{SIZE}x{SIZE}" in line for line in dots)
