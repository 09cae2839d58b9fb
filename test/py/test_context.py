"""The predecessor's way in: ``Context``, its call-time options, ``truthy``, and the user guide's own program."""

import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb

ctx = hb.Context()


def fib_type(arg_types):
    return arg_types[0]


@ctx.batch(type_inference=fib_type)
def fibonacci(n):
    if hb.truthy(n > 2):
        return fibonacci(n - 1) + fibonacci(n - 2)
    else:
        return 1


INPUTS = jnp.array([6, 7, 8, 7])


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="compiled"),
        pytest.param({"max_stack_depth": 3}, id="shallow"),
        pytest.param({"stackless": True}, id="stackless"),
        pytest.param(
            {"stackless": True, "backend": hb.stackless.NumpyBackend(), "block_code_cache": {}}, id="stackless-numpy"
        ),
        pytest.param({"backend": hb.virtual_machine.NumpyBackend()}, id="machine-numpy"),
        pytest.param({"backend": hb.virtual_machine.JaxBackend(), "max_stack_depth": 10}, id="machine-jax"),
    ],
)
def test_user_guide_program(options: dict) -> None:
    assert np.asarray(fibonacci(INPUTS, **options)).tolist() == [8, 13, 21, 13]


def test_dry_run() -> None:
    """A dry run is plain Python on one example, with or without a batch axis of size 1."""
    assert fibonacci(7, dry_run=True) == 13
    assert fibonacci(np.array([7]), dry_run=True) == 13


def test_batch_uncurried() -> None:
    double = ctx.batch_uncurried(lambda x: x + x, None)
    assert double(INPUTS).tolist() == [12, 14, 16, 14]
    assert double in ctx.functions


def test_declared_types_are_checked() -> None:
    @ctx.batch(type_inference=lambda types: hb.instructions.tensor(np.float32))
    def wrong(n):
        return n

    with pytest.raises(hb.BatchTypeError, match="type_inference of 'wrong' says f32"):
        wrong(INPUTS)


def test_virtual_machine_does_not_grow() -> None:
    with pytest.raises(hb.StackOverflowError, match="needed more than 2 stack frames"):
        fibonacci(INPUTS, backend=hb.virtual_machine.NumpyBackend(), max_stack_depth=2)
