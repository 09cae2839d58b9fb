"""NumPy's moves of data that the tests use by day are JAX's."""

from collections.abc import Callable, Mapping
from typing import Any

import eager_moves
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

AS_IT_IS = {primitive: getattr(primitive.impl, "__wrapped__", primitive.impl) for primitive in eager_moves.MOVES}
BY_NUMPY = {primitive: eager_moves.by_numpy(AS_IT_IS[primitive], rule) for primitive, rule in eager_moves.MOVES.items()}

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "numbers": lambda x, i: [
        jnp.asarray([1, -2]),
        jnp.array([1.5]),
        jnp.asarray([True]),
        jnp.asarray(3),
        jnp.array([]),
    ],
    "arrays": lambda x, i: [jnp.asarray(np.array([1e300, 2])), jnp.asarray(np.array([1 << 40, -1])), jnp.uint8(3)],
    "filled": lambda x, i: [jnp.zeros((2, 0)), jnp.ones(3, jnp.int8), jnp.full(2, 7), jnp.full((), 2.5, jnp.bfloat16)],
    "ranges": lambda x, i: [jnp.arange(5), jnp.arange(2, 9, 3), jnp.arange(3.0), jnp.eye(3), lax.iota(jnp.int8, 4)],
    "converted": lambda x, i: [x.astype(int), x.astype(jnp.bfloat16), x.astype(bool), i.astype(np.float16), i > 0],
    "parts": lambda x, i: [x[1], x[:, 1:3], x[..., ::2], x[::-1], x[-1, :, -2], x[0, 0, 0], x[i[0]], x[None]],
    "beyond": lambda x, i: [lax.dynamic_slice(x, (5, -7, 1), (1, 2, 2)), lax.dynamic_slice(i, (i[1],), (2,))],
    "shapes": lambda x, i: [
        x.reshape(-1),
        jnp.broadcast_to(i, (2, 3)),
        lax.broadcast_in_dim(i, (3, 2), (0,)),
        x[:1, 0],
    ],
    "kept on a device": lambda x, i: [jax.device_put(x, jax.devices()[0])[1], jax.random.split(jax.random.key(0))[1]],
}


@pytest.mark.parametrize("way", WAYS)
def test_they_are_those_of_jax(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(how: Mapping[Any, Callable[..., Any]]) -> list[Any]:
        for primitive, impl in how.items():
            monkeypatch.setattr(primitive, "impl", impl)
        with np.errstate(over="ignore"):
            return WAYS[way](jnp.asarray(X), jnp.asarray(np.array([1, -5, 7], np.int32)))

    for wide in (False, True):
        with jax.enable_x64(wide):
            for got, wanted in zip(found(BY_NUMPY), found(AS_IT_IS), strict=True):
                assert (got.aval, got.sharding, got._committed) == (wanted.aval, wanted.sharding, wanted._committed)
                np.testing.assert_array_equal(numbers(got), numbers(wanted))


def numbers(array: Any) -> np.ndarray[Any, Any]:
    is_key = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(array) if is_key else array)


def test_they_are_not_computed_by_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    for primitive, rule in eager_moves.MOVES.items():
        monkeypatch.setattr(primitive, "impl", eager_moves.by_numpy(pytest.fail, rule))
    assert jnp.asarray([1, 2])[1] + jnp.zeros(3)[0] == 2


def test_programs_of_jax_have_them() -> None:
    text = str(jax.make_jaxpr(lambda x: x.reshape(4)[1:3] + jnp.arange(2))(np.zeros((2, 2))))
    assert all(name in text for name in ("reshape", "slice", "iota"))
