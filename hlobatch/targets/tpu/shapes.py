"""JAX's primitives that move elements of a lane's array, or combine them -> operations on tiles."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from hlobatch.ir.evaluation import as_it_is
from hlobatch.kernels.types import NoKernelError
from hlobatch.targets.tpu.rules import RULES, Rule, all_indices, rule, shape_of
from hlobatch.targets.tpu.tile import TILE, Tile, full


@rule("copy", "random_wrap", "random_unwrap", "optimization_barrier")
def _(_equation: Any, given: Sequence[Tile]) -> list[Tile]:
    return list(given)


@rule("sign")
def _(_equation: Any, given: Sequence[Tile]) -> Tile:
    """Mosaic has signs only where there is a TPU."""
    (x,) = given
    one = jnp.ones((), x.dtype)
    return jnp.where(x > 0, one, jnp.where(x < 0, -one, x))


@rule("iota_2x32_shape")
def _(equation: Any, _given: Sequence[Tile]) -> list[Tile]:
    shape = shape_of(equation.outvars[0])
    low = [full(k, jnp.uint32) for k in range(math.prod(shape))]
    return [full(0, jnp.uint32, shape), jnp.stack(low).reshape(*shape, *TILE)]


@rule("reshape")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    return given[0].reshape(*shape_of(equation.outvars[0]), *TILE)


@rule("broadcast_in_dim")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    (x, shape), axes = (given[0], shape_of(equation.outvars[0])), list(equation.params["broadcast_dimensions"])
    axes += range(len(shape) - (x.ndim - len(TILE) - len(axes)), len(shape))  # a key has an axis of words
    sizes = dict(zip(axes, x.shape, strict=False))
    return jnp.broadcast_to(x.reshape(*[sizes.get(k, 1) for k in range(len(shape))], *TILE), (*shape, *TILE))


@rule("iota")
def _(equation: Any, _given: Sequence[Tile]) -> Tile:
    shape, dtype = shape_of(equation.outvars[0]), equation.params["dtype"]
    return lax.broadcasted_iota(jnp.int32, (*shape, *TILE), equation.params["dimension"]).astype(dtype)


@rule("transpose")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    order, count = equation.params["permutation"], given[0].ndim
    return given[0].transpose(*order, *range(len(order), count))


@rule("slice")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    p = equation.params
    steps = p["strides"] or [1] * len(p["start_indices"])
    return given[0][tuple(map(slice, p["start_indices"], p["limit_indices"], steps))]


@rule("pad")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    x, filler = given
    for axis, (low, high, within) in enumerate(equation.params["padding_config"]):
        if low < 0 or high < 0 or within:
            raise NoKernelError("`pad` of this kind has no code in tiles")
        before, after = (
            [jnp.broadcast_to(filler, (*x.shape[:axis], n, *x.shape[axis + 1 :]))] if n else [] for n in (low, high)
        )
        parts = [*before, *([x] if x.size else []), *after]
        x = jnp.concatenate(parts, axis) if len(parts) > 1 else parts[0]
    return x


@rule("rev")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    """Part by part, since Mosaic turns nothing around."""
    (x,) = given
    for axis in equation.params["dimensions"]:
        parts = [lax.slice_in_dim(x, k, k + 1, axis=axis) for k in range(x.shape[axis])]
        x = jnp.concatenate(parts[::-1], axis) if len(parts) > 1 else x
    return x


@rule("split")
def _(equation: Any, given: Sequence[Tile]) -> list[Tile]:
    (x,), axis = given, equation.params["axis"]
    ends = [0, *itertools.accumulate(equation.params["sizes"])]
    return [lax.slice_in_dim(x, begin, end, axis=axis) for begin, end in itertools.pairwise(ends)]


@rule("concatenate")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    return jnp.concatenate([x for x in given if x.size], equation.params["dimension"])


@rule("stack")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    return jnp.stack(given, equation.params["axis"])


@rule("select_n")
def _(_equation: Any, given: Sequence[Tile]) -> Tile:
    which, *cases = given
    own = which.shape[: -len(TILE)]
    which = which.reshape(*own, *[1] * (cases[0].ndim - which.ndim), *TILE)  # keys have an axis of words
    return lax.select_n(jnp.broadcast_to(which, cases[0].shape), *cases)


@rule("dot_general")
def _(equation: Any, given: Sequence[Tile]) -> Tile:
    """Sums of products, element by element: a lane's arrays are small."""
    (contracted, batches), dtype = equation.params["dimension_numbers"], equation.outvars[0].aval.dtype
    counts = [x.ndim - len(TILE) for x in given]
    own = [[a for a in range(n) if a not in (*c, *b)] for n, c, b in zip(counts, contracted, batches, strict=True)]
    moved = []
    for k, x in enumerate(given):
        lead, inner = [x.shape[a] for a in batches[k]], [x.shape[a] for a in contracted[k]]
        mine = [x.shape[a] for a in own[k]]
        others = [1] * len(own[1 - k])
        x = x.transpose(*batches[k], *own[k], *contracted[k], *range(counts[k], x.ndim)).astype(dtype)
        moved.append(x.reshape(*lead, *(mine + others if k == 0 else others + mine), *inner, *TILE))
    first = len(batches[0]) + len(own[0]) + len(own[1])
    return jnp.sum(moved[0] * moved[1], axis=tuple(range(first, first + len(contracted[0]))), dtype=dtype)


# Sums


def _reduced(combine: Callable[[Tile, Tile], Tile]) -> Rule:
    """The rule of a sum, product or extreme, element by element where Mosaic has none, that is of unsigned numbers."""

    def run(equation: Any, given: Sequence[Tile]) -> Tile | list[Tile]:
        (x,) = given
        if not jnp.issubdtype(x.dtype, jnp.unsignedinteger):
            return list(as_it_is(equation, given))
        for axis in sorted(equation.params["axes"], reverse=True):
            parts = [lax.index_in_dim(x, k, axis, keepdims=False) for k in range(x.shape[axis])]
            x = functools.reduce(combine, parts)
        return x

    return run


def _running(combine: Callable[[Tile, Tile], Tile]) -> Rule:
    """The rule of sums, products and extremes of all elements so far."""

    def run(equation: Any, given: Sequence[Tile]) -> Tile:
        (x,), axis, totals = given, equation.params["axis"], list[Tile]()
        order = list(all_indices([x.shape[axis]]))[:: -1 if equation.params["reverse"] else 1]
        for (k,) in order:
            part = lax.index_in_dim(x, k, axis, keepdims=False)
            totals.append(combine(totals[-1], part) if totals else part)
        return jnp.stack(totals[:: -1 if equation.params["reverse"] else 1], axis)

    return run


for _name, _combine in (("sum", lax.add), ("prod", lax.mul), ("max", lax.max), ("min", lax.min)):
    RULES.update({f"cum{_name}": _running(_combine), f"reduce_{_name}": _reduced(_combine)})
