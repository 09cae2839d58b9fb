"""Complex numbers in code of lanes, one at a time and in gangs: functions and operators, also of extreme numbers."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from own_code import needs_llvm
from zoo import LOOP

import hlobatch as hb
from hlobatch.kernels.complex_functions import OF_COMPLEX

pytestmark = needs_llvm

PARTS = (0.0, -0.0, 1.0, -1.0, 0.3, 1e30, -1e30, math.inf, -math.inf, math.nan, -100.0, 90.0)
EXTREME = np.asarray([complex(x, y) for x in PARTS for y in PARTS], np.complex64)
ORDINARY = (np.random.default_rng(0).normal(size=(90, 2)) @ [1, 1j]).astype(np.complex64)
NUMPYS = ("abs", "cos", "cosh", "exp", "expm1", "log", "log1p", "sin", "sinh", "sqrt", "square", "tan", "tanh")
"""Functions that NumPy computes of complex numbers, in 64 bits; those of this name in ``jax.numpy``."""
UNARY: dict[str, Callable[[Any], Any]] = {name: getattr(jnp, name) for name in NUMPYS} | {
    "conj": jnp.conj,
    "cube": lambda z: z**3,
    "exp2": jnp.exp2,
    "logistic": jax.nn.sigmoid,
    "neg": lambda z: -z,
    "reciprocal": lambda z: 1 / z,
    "rsqrt": jax.lax.rsqrt,
    "sign": jnp.sign,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "div": lambda a, b: a / b,
    "eq": lambda a, b: a == b,
    "max": jnp.maximum,
    "min": jnp.minimum,
    "mul": lambda a, b: a * b,
    "pow": lambda a, b: a**b,
    "sub": lambda a, b: a - b,
    "where": lambda a, b: jnp.where(a.real < b.imag, a, b),
}
OWN = ("logistic", "pow", "rsqrt", "cube", "mul", "sqrt", "log1p", "sinh", "cosh")
"""What XLA computes in another way, so that extreme numbers give it other infinities and NaN."""


def repeated(functions: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """All functions of each lane's numbers, in a loop of a length of its own."""

    def run(n, *numbers):
        found = {name: f(*numbers) for name, f in functions.items()}
        while n > 0:
            found, n = {name: f(*numbers) for name, f in functions.items()}, n - 1
        return found

    return run


def lengths(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.arange(len(numbers), dtype=np.int32) % 3


def close(found: Any, wanted: Any, name: str, *, rtol: float = 1e-4) -> None:
    """Part by part: infinite or NaN in the same parts, else equal to some digits."""
    parts = [np.stack([np.real(x), np.imag(x)]) for x in (np.asarray(found), np.asarray(wanted))]
    np.testing.assert_allclose(*parts, rtol=rtol, atol=1e-5, err_msg=name)


@pytest.fixture(scope="module", params=["kernel", "gang"])
def unary(request: pytest.FixtureRequest) -> hb.BatchedFunction:
    return hb.batch(repeated(UNARY), dispatch=request.param)


def test_every_function_is_tested() -> None:
    assert OF_COMPLEX.keys() <= {*UNARY, *BINARY}


def test_functions_of_ordinary_numbers(unary: hb.BatchedFunction) -> None:
    found = unary(lengths(ORDINARY), ORDINARY)
    for name in NUMPYS:
        close(found[name], getattr(np, name)(ORDINARY.astype(np.complex128)), name, rtol=2e-5)
    loop = hb.batch(repeated(UNARY), optimizations=LOOP)(lengths(ORDINARY), ORDINARY)
    for name, one in found.items():
        close(one, loop[name], name)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_extreme_numbers(unary: hb.BatchedFunction) -> None:
    found = unary(lengths(EXTREME), EXTREME)
    loop = hb.batch(repeated(UNARY), optimizations=LOOP)(lengths(EXTREME), EXTREME)
    is_number = ~np.isnan(EXTREME)  # of NaN beside an infinity, releases of XLA differ
    for name, one in found.items():
        if name not in OWN:
            close(np.asarray(one)[is_number], np.asarray(loop[name])[is_number], name)
    close(found["abs"], np.abs(EXTREME), "abs")
    wanted = np.sqrt(EXTREME.astype(np.complex128)).astype(np.complex64)
    close(np.asarray(found["sqrt"])[is_number], wanted[is_number], "sqrt")


@pytest.mark.parametrize("is_extreme", [False, True])
def test_operators(is_extreme: bool) -> None:
    """Powers of extreme numbers are left out: they depend on the last bits of functions."""
    numbers = EXTREME[::5] if is_extreme else ORDINARY[:24]
    a, b = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    forms = [
        hb.batch(repeated(BINARY), **form)
        for form in ({"dispatch": "kernel"}, {"dispatch": "gang"}, {"optimizations": LOOP})
    ]
    lane, gang, loop = (form(lengths(a), a, b) for form in forms)
    for name in BINARY:
        if name != "pow" or not is_extreme:
            close(lane[name], gang[name], name)
        if name not in OWN or not is_extreme:
            close(lane[name], loop[name], name, rtol=1e-3)


@pytest.mark.parametrize("dispatch", ["kernel", "gang"])
def test_powers_of_zero(dispatch: str) -> None:
    exponents = np.asarray([2, 0, 0.5, -1, 1j, 1 + 1j], np.complex64)
    found = hb.batch(lambda n, b: repeated({"pow": lambda b: (0 * b) ** b})(n, b), dispatch=dispatch)(
        lengths(exponents), exponents
    )
    np.testing.assert_array_equal(
        np.asarray(found["pow"]),
        [0, 1, 0, complex(math.nan, math.nan), complex(math.nan, math.nan), complex(math.nan, math.nan)],
    )
