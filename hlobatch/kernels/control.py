"""JAX's primitives that run jaxprs (``while``, ``scan``, ``cond``, calls) -> LLVM IR: loops and branches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from hlobatch._jax import operands_of_scan
from hlobatch.kernels.arrays import Params, Values
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.rules import Out, on_arrays
from hlobatch.kernels.text import Index
from hlobatch.kernels.types import number, size
from hlobatch.kernels.values import Value

LEAST_TURNS_LEFT: Final = 10_000
"""Length of a ``scan`` from which its iterations check whether the run is to stop. Chosen by judgement (2026-11), not
measured."""


def _homes(e: Emitter, values: Sequence[Value]) -> list[str]:
    """Allocate memory for the loop-carried values, initialized with their first values."""
    places = [e.memory(v.dtype, size(v.shape)) for v in values]
    with e.at_once():
        for place, v in zip(places, values, strict=True):
            e.copy_to(v, place)
    return places


@on_arrays("while")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    n, m = p["cond_nconsts"], p["body_nconsts"]
    of_condition, of_body, carried = values[:n], values[n : n + m], values[n + m :]
    places = _homes(e, carried)

    def now() -> Values:
        return [e.resident(place, dtype, shape) for place, (dtype, shape) in zip(places, out, strict=True)]

    def goes_on() -> str:
        state = now()
        with e.protecting([*of_condition, *of_body, *state]):
            (answer,) = e.closed(p["cond_jaxpr"], [*of_condition, *state])
        return e.element(answer, 0)

    def turn() -> None:
        e.turned()
        with e.protecting([*of_condition, *of_body]):
            e.settle(places, e.closed(p["body_jaxpr"], [*of_body, *now()]))

    e.loop_while(goes_on, turn)
    return now()


@on_arrays("scan")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    of_every_turn, carried, over = operands_of_scan(p, values)
    places, count = _homes(e, carried), len(carried)
    collected = [e.fresh(dtype, shape) for dtype, shape in out[count:]]

    def now() -> Values:
        return [e.resident(place, dtype, shape) for place, (dtype, shape) in zip(places, out, strict=False)]

    def turn(j: Index) -> None:
        i = e.minus(p["length"] - 1, j) if p["reverse"] else j
        if p["length"] >= LEAST_TURNS_LEFT:
            e.turned()

        def row(x: Value) -> Value:
            first = e.times(i, size(x.shape[1:]))
            if not x.shape[1:]:
                return Value(x.dtype, (), e.element(x, first))
            return Value(x.dtype, x.shape[1:], e.address(x.ref, x.dtype, first), x.root)

        with e.protecting([*of_every_turn, *over]):
            results = e.closed(p["jaxpr"], [*of_every_turn, *now(), *map(row, over)])
        with e.at_once():
            for ys, y in zip(collected, results[count:], strict=True):
                e.copy_to(y, e.address(ys.ref, ys.dtype, e.times(i, size(ys.shape[1:]))))
        e.settle(places, results[:count])

    e.loop(p["length"], turn)
    return [*now(), *collected]


@on_arrays("platform_index")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    ((dtype, _),) = out
    names = p["platforms"]
    which = next(i for i, name in enumerate(names) if name is None or e.processor.platform in name)
    return [Value(dtype, (), number(which, dtype))]


@on_arrays("cond")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    which, *operands = values
    branches = p["branches"]
    places = [e.memory(dtype, size(shape)) for dtype, shape in out]

    def run(branch: Any) -> None:
        with e.protecting(operands):  # other branches read the operands unchanged
            results = e.closed(branch, operands)
        with e.at_once():
            for place, value in zip(places, results, strict=True):
                e.copy_to(value, place)

    e.one_of(e.element(which, 0), which.dtype, [partial(run, branch) for branch in branches])
    return [e.resident(place, dtype, shape) for place, (dtype, shape) in zip(places, out, strict=True)]


@on_arrays("custom_linear_solve")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    """Emit the solver; the products with the matrix and its transpose are only needed for derivatives."""
    before = sum(p["const_lengths"][:2])
    of_solver, right = values[before : before + p["const_lengths"][2]], values[sum(p["const_lengths"]) :]
    return e.closed(p["jaxprs"].solve, [*of_solver, *right])
