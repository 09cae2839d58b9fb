"""What lanes keep, bit by bit: the same as by a choice, for every type, with no choice left that LLVM could find."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from runs import as_one_kernel, chosen_layout, request_of

import hlobatch as hb
from hlobatch.lowering.arrays.masks import masked, putting
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.targets.cpu.processor import cores, stores_masked, vector

LANES = 40
MASK = jnp.arange(LANES) % 3 == 0
NUMBERS = ("float32", "int32", "uint32")
WIDE = ("float64", "int64", "uint64")
OTHERS = ("bool", "int8", "float16", "bfloat16", "complex64")


def array(dtype: Any, shape: tuple[int, ...], seed: int) -> Any:
    """Any bits that a type has, those of no number and of negative zero among them."""
    size = jnp.dtype(dtype).itemsize * int(np.prod(shape))
    bits = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
    if dtype == "bool":
        bits = bits % 2
    numbers = bits.view(jnp.dtype(dtype)).reshape(shape).copy()
    if jnp.issubdtype(dtype, jnp.inexact):
        numbers[..., 0], numbers[..., 1], numbers[..., 3] = np.nan, -0.0, -0.0
    return jnp.asarray(numbers)


@pytest.mark.parametrize("event", [(), (3,), (2, 3)])
@pytest.mark.parametrize("dtype", [*NUMBERS, *WIDE, *OTHERS])
def test_numbers_are_put_as_by_a_choice(dtype: str, event: tuple[int, ...]) -> None:
    with jax.enable_x64(dtype in WIDE):
        old, new = (array(dtype, (*event, LANES), seed) for seed in (1, 2))
        found = jax.jit(lambda *a: putting(a[0], -1, by_bits=True)(*a[1:]))(MASK, old, new)
        expected = masked(MASK, new, old, -1)
    assert found.dtype == expected.dtype == old.dtype
    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


def test_one_number_may_be_for_all_lanes() -> None:
    old = jnp.arange(LANES)
    assert putting(MASK, -1, by_bits=True)(old, 7).tolist() == jnp.where(MASK, 7, old).tolist()


@pytest.mark.parametrize("dtype", [*NUMBERS, *OTHERS])
def test_a_choice_is_left_only_where_there_are_no_masked_stores(dtype: str) -> None:
    old = jnp.zeros(LANES, dtype)
    text = jax.jit(lambda *a: putting(a[0], -1, by_bits=True)(*a[1:])).lower(MASK, old, old).as_text()
    assert ("stablehlo.select" in text) == (dtype in OTHERS)


@hb.batch
def fibonacci(n: Any) -> Any:
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@pytest.mark.parametrize(
    ("lanes", "stores_masked", "by_bits"), [(40, False, True), (40, True, False), (8, False, False)]
)
def test_many_lanes_of_one_kernel_are_put_so(lanes: int, stores_masked: bool, by_bits: bool) -> None:
    plan = fibonacci.trace(jnp.arange(lanes)).plan
    layout = as_one_kernel(plan, chosen_layout(plan, lanes), stores_masked=stores_masked)
    text = str(to_stablehlo(request_of(plan, layout)))
    assert ("stablehlo.xor" in text) == by_bits


@pytest.mark.parametrize(
    ("baseline", "found", "masked", "numbers"),
    [
        (["X86_V2"], ["X86_V3"], False, 8),
        (["SSE3"], ["AVX2", "FMA3"], False, 8),
        (["X86_V2"], ["X86_V3", "X86_V4", "AVX512_ICL"], True, 16),
        (["SSE3"], ["AVX2", "AVX512F", "AVX512_SKX"], True, 16),
        (["X86_V3", "X86_V4"], [], True, 16),
        (["X86_V2"], [], True, 8),
        (["NEON", "ASIMD"], ["SVE"], True, 8),
    ],
)
def test_what_processors_do_with_vectors(
    baseline: list[str], found: list[str], masked: bool, numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"baseline": baseline, "found": found, "not found": []}
    known = {"SIMD Extensions": {name: those for name, those in names.items() if those}}
    monkeypatch.setattr(np, "show_config", lambda mode: known)
    assert (stores_masked.__wrapped__(), vector.__wrapped__()) == (masked, numbers)


def test_this_processor() -> None:
    assert cores() >= 1
    assert isinstance(stores_masked(), bool)
    assert vector() in (8, 16)
