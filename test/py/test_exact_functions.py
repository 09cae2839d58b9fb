"""Functions of ``math`` are exact where Python's are, and raise where they do."""

import math

import jax
import numpy as np
import pytest

import hlobatch as hb

EXACT = {
    "log2": (lambda x: math.log2(x), [2.0**k for k in range(-120, 120)]),
    "log to base 3": (lambda x: math.log(x, 3), [3.0**k for k in range(16)]),
    "log to base 7": (lambda x: math.log(x, 7), [7.0**k for k in range(9)]),
    "log10": (lambda x: math.log10(x), [float(f"1e{k}") for k in range(-30, 30)]),
    "exp2": (lambda x: math.exp2(x), [float(k) for k in range(-120, 120)]),
    "gamma": (lambda x: math.gamma(x), [float(k) for k in range(1, 30)]),
    "pow": (lambda x: (math.pow(10.0, x), 2.0**x)[0], [float(k) for k in range(11)]),
}


@pytest.mark.usefixtures("optimized_in_full")
@pytest.mark.parametrize("dispatch", ["kernel", "sweep"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EXACT)
def test_values_are_pythons(name, dtype, dispatch):
    """``int(math.log2(8192))`` was 12, and ``int(math.gamma(3))`` was 1."""
    function, numbers = EXACT[name]
    numbers = np.array(numbers, dtype)
    with jax.enable_x64(dtype == np.float64):
        found = hb.batch(function, dispatch="sweep" if name == "gamma" else dispatch)(numbers)
    assert found.tolist() == [float(dtype(function(float(x)))) for x in numbers]


@pytest.mark.usefixtures("optimized_in_full")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_roots_of_cubes_are_whole(dtype):
    roots = np.arange(-200, 200) / 2
    with jax.enable_x64(dtype == np.float64):
        found = hb.batch(lambda x: math.cbrt(x), dispatch="sweep")((roots**3).astype(dtype))
    assert found.tolist() == roots.tolist()


@pytest.mark.usefixtures("optimized_in_full")
def test_numbers_of_bits_are_pythons():
    """``int(math.log2(n))`` is Python's beside powers of two, also where float32 has few bits left."""
    numbers = [2**k + d for k in range(3, 24) for d in (-1, 0, 1)]
    found = hb.batch(lambda n: int(math.log2(n)))(np.array(numbers, np.int32))
    assert found.tolist() == [int(math.log2(n)) for n in numbers]


def test_they_have_derivatives():
    @hb.batch
    def slopes(x):
        log2, log10 = jax.grad(lambda v: math.log2(v))(x), jax.grad(lambda v: math.log10(v))(x)
        exp2, cbrt = jax.grad(lambda v: math.exp2(v))(x), jax.grad(lambda v: math.cbrt(v))(x)
        return log2, log10, exp2, cbrt, jax.grad(lambda v: math.log(v, 3))(x)

    def by_hand(x):
        powers = 1 / (x * math.log(2)), 1 / (x * math.log(10)), math.log(2) * 2**x, x ** (-2 / 3) / 3
        return [*powers, 1 / (x * math.log(3))]

    numbers = [8.0, 5.0, 9.0, 100.0]
    for given, x in zip(np.transpose(slopes(np.array(numbers, np.float32))), numbers, strict=True):
        np.testing.assert_allclose(given, by_hand(x), rtol=1e-5)


ERRORS = {
    "isqrt": (lambda n, x: math.isqrt(n), ValueError),
    "factorial": (lambda n, x: math.factorial(n), ValueError),
    "comb": (lambda n, x: math.comb(n, 2) + math.comb(3, n), ValueError),
    "perm": (lambda n, x: math.perm(n, 2), ValueError),
    "shift left": (lambda n, x: 1 << n, ValueError),
    "shift right": (lambda n, x: 8 >> n, ValueError),
    "int of inf": (lambda n, x: int(x), OverflowError),
    "floor of inf": (lambda n, x: math.floor(x), OverflowError),
    "int of nan": (lambda n, x: int(x - x), ValueError),
    "round of nan": (lambda n, x: round(x - x), ValueError),
    "log": (lambda n, x: math.log(n), ValueError),
    "log2": (lambda n, x: math.log2(n), ValueError),
    "log to base 1": (lambda n, x: math.log(2.0, n), ZeroDivisionError),
    "sqrt": (lambda n, x: math.sqrt(n), ValueError),
    "acos": (lambda n, x: math.acos(n), ValueError),
    "sin": (lambda n, x: math.sin(x), ValueError),
    "fmod": (lambda n, x: math.fmod(5.0, n), ValueError),
    "remainder": (lambda n, x: math.remainder(x, 2.0), ValueError),
    "gamma": (lambda n, x: math.gamma(n), ValueError),
    "math.pow": (lambda n, x: math.pow(n, 0.5) + math.pow(0.0, n), ValueError),
    "power of zero": (lambda n, x: 0.0**n, ZeroDivisionError),
    "pow": (lambda n, x: pow(3, 2, n), ValueError),
    "exp2": (lambda n, x: math.exp2(2000.0 * n), OverflowError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_pythons(name):
    """A lane went on with what JAX gives, though the program catches what Python raises.

    ``int`` of a float would raise as well, for a NaN or an infinity: the functions' values are returned as they are.
    """
    function, kind = ERRORS[name]

    def caught(n, x):
        try:
            r = float(function(n, x))
        except kind:
            r = -9.0
        return r

    numbers, floats = [-3, 0, 1, 2], [np.inf, 1.5, -np.inf, 2.5]
    found = hb.batch(caught)(np.array(numbers, np.int32), np.array(floats, np.float32)).tolist()
    for n, x, given in zip(numbers, floats, found, strict=True):
        try:
            wanted = float(function(n, x))
        except kind:
            wanted = -9.0
        except (ArithmeticError, ValueError):
            continue  # which nothing catches here
        assert given == pytest.approx(wanted, rel=1e-5, nan_ok=True), (n, x)
    assert -9.0 in found
