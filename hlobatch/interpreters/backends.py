"""The array libraries of the eager interpreters, and how each runs straight-line code.

| Backend        | arrays | straight-line code                                            |
|----------------|--------|---------------------------------------------------------------|
| ``NumpyBackend`` | NumPy  | one active lane at a time: no lane ever computes on junk      |
| ``JaxBackend``   | JAX    | ``jax.vmap``, operation by operation                          |
| ``XlaBackend``   | JAX    | ``jax.vmap``, compiled: the paper's hybrid (section 4)        |

All control state (masks, queues, program counters) is NumPy in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.typing import Arrays, DType

Mask = np.ndarray[Any, np.dtype[np.bool_]]
LaneFunction = Callable[..., list[Any]]
BatchFunction = Callable[[Sequence[Any], Mask], list[Any]]


class Backend(Protocol):
    """The operations that an eager interpreter needs of an array library."""

    def asarray(self, value: Any) -> Any:
        """A value in this library's own array type."""

    def where(self, mask: Mask, new: Any, old: Any) -> Any:
        """``new`` in lanes of ``mask`` (``bool[lanes]``), ``old`` elsewhere; arrays ``[lanes, *event]``."""

    def zeros(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """An array of zeros."""

    def gather(self, stack: Any, rows: Any) -> Any:
        """``stack[rows[b], b]`` for each lane b; ``stack`` is ``[depth, lanes, *event]``."""

    def scatter(self, stack: Any, rows: Any, mask: Mask, values: Any) -> Any:
        """``stack`` with ``values[b]`` at ``[rows[b], b]`` for the lanes of ``mask``."""

    def wrap_straightline_callable(self, function: LaneFunction) -> BatchFunction:
        """Single-example code as a function of arrays ``[lanes, *event]`` and a mask of active lanes.

        Its results in inactive lanes have no meaning.
        """


class NumpyBackend:
    """NumPy arrays; each active lane runs by itself."""

    def asarray(self, value: Any) -> Any:
        return np.asarray(value)

    def where(self, mask: Mask, new: Any, old: Any) -> Any:
        return np.where(_over_events(mask, new), new, old)

    def zeros(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return np.zeros(shape, dtype)

    def gather(self, stack: Any, rows: Any) -> Any:
        return stack[rows, np.arange(len(rows))]

    def scatter(self, stack: Any, rows: Any, mask: Mask, values: Any) -> Any:
        lanes = np.flatnonzero(mask)
        stack = stack.copy()
        stack[rows[lanes], lanes] = values[lanes]
        return stack

    def wrap_straightline_callable(self, function: LaneFunction) -> BatchFunction:
        compiled = jax.jit(function)

        def run(arrays: Arrays, mask: Mask) -> list[Any]:
            rows = {lane: compiled(*(a[lane] for a in arrays)) for lane in np.flatnonzero(mask)}
            first = next(iter(rows.values()))
            outputs = [np.zeros((len(mask), *np.shape(value)), value.dtype) for value in first]
            for lane, values in rows.items():
                for output, value in zip(outputs, values, strict=True):
                    output[lane] = np.asarray(value)
            return outputs

        return run


class JaxBackend:
    """JAX arrays; straight-line code runs operation by operation under ``jax.vmap``."""

    def asarray(self, value: Any) -> Any:
        return jnp.asarray(value)

    def where(self, mask: Mask, new: Any, old: Any) -> Any:
        return jnp.where(_over_events(mask, new), new, old)

    def zeros(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return jnp.zeros(shape, dtype)

    def gather(self, stack: Any, rows: Any) -> Any:
        return stack[rows, np.arange(len(rows))]

    def scatter(self, stack: Any, rows: Any, mask: Mask, values: Any) -> Any:
        lanes = np.flatnonzero(mask)
        return stack.at[rows[lanes], lanes].set(values[lanes])

    def wrap_straightline_callable(self, function: LaneFunction) -> BatchFunction:
        def run(arrays: Arrays, mask: Mask) -> list[Any]:
            return batched(function, [in_active_lanes(a, mask) for a in arrays], len(mask))

        return run


class XlaBackend(JaxBackend):
    """JAX arrays; straight-line code is compiled, control is not."""

    def wrap_straightline_callable(self, function: LaneFunction) -> BatchFunction:
        @jax.jit
        def compiled(arrays: Arrays, mask: Any) -> list[Any]:
            return batched(function, [in_active_lanes(a, mask) for a in arrays], mask.shape[0])

        return lambda arrays, mask: compiled(list(arrays), mask)


def batched(function: LaneFunction, arrays: Arrays, lanes: int) -> list[Any]:
    """Single-example code mapped over a leading axis, even if it has no inputs."""
    return list(jax.vmap(function, axis_size=lanes)(*arrays))


def in_active_lanes(array: Any, mask: Any) -> Any:
    """``array`` with the first active lane's value in every inactive lane, so that code never sees junk."""
    return jnp.where(_over_events(mask, array), array, array[jnp.argmax(mask)][None])


def _over_events(mask: Any, array: Any) -> Any:
    return mask.reshape(mask.shape + (1,) * (np.ndim(array) - 1))
