"""Arguments of artifacts: their types, and symbolic sizes and axes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_functions import fibonacci, ints, total

import hlobatch as hb


def test_artifact_took_other_arguments_than_it_was_made_for() -> None:
    @hb.batch(static_argnames="mode")
    def combine(x, y=2, mode="add"):
        return x + y if mode == "add" else x - y

    artifact = hb.export(combine, ints(1, 2))
    assert artifact.call(ints(1, 2)).tolist() == [3, 4]
    for args in ((ints(1), 7), (ints(1), 2, "subtract"), (np.float32([1.5]),), (3,)):
        with pytest.raises(hb.BatchTypeError, match="was exported for"):
            artifact.call(*args)


def test_artifact_of_a_compound_symbolic_size() -> None:
    (b,) = jax.export.symbolic_shape("b")
    artifact = hb.export(fibonacci, jax.ShapeDtypeStruct((2 * b + 1,), np.int32))
    assert artifact.call(ints(0, 1, 2)).tolist() == [1, 1, 2]


def test_symbolic_event_shape_is_refused() -> None:
    b, k = jax.export.symbolic_shape("b, k")
    with pytest.raises(hb.BatchTypeError, match="only the size of the batch may be symbolic"):
        total.trace(jax.ShapeDtypeStruct((b, k), np.float32))


def test_queue_with_64_bit_types() -> None:
    with jax.enable_x64(True):
        assert hb.batch(fibonacci.function, lanes=2)(np.array([3, 4, 5])).tolist() == [3, 5, 8]


def test_axis_as_a_numpy_integer() -> None:
    last = hb.batch(lambda x: jnp.sum(x), in_axes=np.int32(-1))
    assert last(ints([1, 2], [3, 4])).tolist() == [4, 6]


def test_lambda_in_a_lambda_on_one_line_was_not_found() -> None:
    make = lambda: hb.batch(lambda x: x + 1 if x > 0 else x)  # noqa: E731
    assert make()(ints(1, -2)).tolist() == [2, -2]


class Scale:
    factor = 3

    @hb.batch(static_argnames="self")
    def scaled(self, n, shift=1):
        return n * self.factor + shift


def test_the_object_of_a_method_is_no_argument_of_its_artifact() -> None:
    artifact = hb.export(Scale().scaled, ints(1, 2))
    assert artifact.call(ints(1, 2)).tolist() == [4, 7]
    assert repr(artifact).startswith("Artifact(scaled(n: i32[2])")
