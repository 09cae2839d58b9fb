"""Runs a batch in parts, one after the other: results of single inputs are concatenated, results of all are summed.

So a run that returns a large array for each input, of which only the sum is wanted, takes memory for one part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch._jax import is_tracer
from hlobatch.typing import Arrays

Part = Callable[[Sequence[Any]], tuple[list[Any], list[Any]]]
"""Maps the inputs of a part to results of single inputs, ``[part, ...]``, and to sums over the part."""


def in_parts(run: Part, inputs: Arrays, shared: Sequence[bool], most: int) -> tuple[list[Any], list[Any]]:
    """The results of a run for a batch.

    Args:
        run: The run of a part.
        inputs: Arrays ``[batch, ...]``, or without that axis if all inputs of the batch share them.
        shared: For each array, whether it is shared.
        most: Largest number of inputs in a part; a batch of unknown size is one part.
    """
    size = inputs[shared.index(False)].shape[0]
    if not isinstance(size, int) or size <= max(most, 1):
        return run(inputs)
    each = -(-size // -(-size // max(most, 1)))
    full = size // each

    def some(first: int, last: int) -> list[Any]:
        return [x if is_shared else x[first:last] for x, is_shared in zip(inputs, shared, strict=True)]

    if any(map(is_tracer, inputs)):
        own, sums = _scanned(run, some(0, full * each), shared, full)
    else:
        own, sums = _joined([run(some(i * each, (i + 1) * each)) for i in range(full)])
    if full * each == size:
        return own, sums
    return _joined([(own, sums), run(some(full * each, size))])


def _joined(parts: Sequence[tuple[list[Any], list[Any]]]) -> tuple[list[Any], list[Any]]:
    own, sums = parts[0]
    for _, others in parts[1:]:
        sums = list(map(add, sums, others))
    together = [jnp.concatenate([part[i] for part, _ in parts]) for i in range(len(own))]
    return together, sums


def _scanned(run: Part, inputs: Arrays, shared: Sequence[bool], parts: int) -> tuple[list[Any], list[Any]]:
    """The results inside a computation that JAX is tracing, as a ``scan`` over the parts."""
    divided = [x if s else x.reshape((parts, -1, *x.shape[1:])) for x, s in zip(inputs, shared, strict=True)]
    of_parts = [x for x, s in zip(divided, shared, strict=True) if not s]

    def of(some: Arrays) -> list[Any]:
        supply = iter(some)
        return [x if s else next(supply) for x, s in zip(divided, shared, strict=True)]

    first, total = run(of([x[0] for x in of_parts]))

    def step(sums: list[Any], some: Arrays) -> tuple[list[Any], list[Any]]:
        own, more = run(of(some))
        return list(map(add, sums, more)), own

    sums, others = jax.lax.scan(step, total, [x[1:] for x in of_parts])
    together = [jnp.concatenate([a, b.reshape((-1, *b.shape[2:]))]) for a, b in zip(first, others, strict=True)]
    return together, sums
