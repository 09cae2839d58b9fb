"""A function of one lane -> the same function on arrays of all lanes, whose last axis is that of lanes.

::

    %y = dot_general %w, %x        : f32[10]          %y = dot_general %w, %x        : f32[10, lanes]
    %z = reduce_sum[axes=0] %y     : f32[]      ==>   %z = reduce_sum[axes=0] %y     : f32[lanes]
    %b = broadcast_in_dim %z       : f32[10]          %b = broadcast_in_dim %z       : f32[10, lanes]

The innermost loop over an array ``[*event, lanes]`` is over lanes, however small an event is, and LLVM vectorizes it.
``jax.vmap`` can begin and end with lanes as the last axis, but puts them in front wherever something is broadcast,
indexed or contracted, and XLA then transposes arrays again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import (
    ClosedJaxpr,
    Literal,
    called_by,
    function_of,
    in_place_of,
    is_key,
    keys_of,
    operands_of_scan,
    random_function,
)
from hlobatch.lowering.arrays.where import where
from hlobatch.targets.cpu.batching_rules import RULES, Value, Values

Function = Callable[..., Sequence[Any]]


def over_lanes(function: Function | ClosedJaxpr, varies: Sequence[bool], lanes: int) -> Callable[..., list[Any]]:
    """The function of all lanes.

    Args:
        function: Of one lane's arrays, to a sequence of arrays; or its jaxpr, if it has been traced.
        varies: For each argument, whether lanes differ in it.
        lanes: How many there are.

    Returns:
        From arrays ``[*event, lanes]``, those that lanes share ``[*event]``, to arrays ``[*event, lanes]``.
    """

    def run(*arrays: Any) -> list[Any]:
        given = [Value(array, differ) for array, differ in zip(arrays, varies, strict=True)]
        return [value.everywhere(lanes) for value in _Batch(lanes).apply(function, given)]

    return run


@dataclass(frozen=True)
class _Batch:
    lanes: int

    def apply(self, function: Function | ClosedJaxpr, given: Values) -> list[Value]:
        """The results of a function of one lane's arrays."""
        if isinstance(function, ClosedJaxpr):
            return self.evaluate(function, given)
        return self.evaluate(jax.make_jaxpr(function)(*(_of_one_lane(value) for value in given)), given)

    def evaluate(self, closed: Any, given: Values) -> list[Value]:
        """The results of a jaxpr of one lane."""
        jaxpr: Any = closed.jaxpr
        known: dict[Any, Value] = {v: _shared(const) for v, const in zip(jaxpr.constvars, closed.consts, strict=True)}
        known.update(zip(jaxpr.invars, given, strict=True))

        def read(atom: Any) -> Value:
            return _constant(atom) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            with in_place_of(equation):
                results = self._equation(equation, [read(atom) for atom in equation.invars])
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, equation: Any, values: Values) -> list[Value]:
        called = called_by(equation)
        if called is not None:
            return self.evaluate(called, values)
        name = equation.primitive.name
        if name in ("random_wrap", "random_unwrap"):
            return list(values)
        if name == "optimization_barrier":
            held = function_of(equation)(*(value.array for value in values))
            return [replace(value, array=array) for value, array in zip(values, held, strict=True)]
        if not any(value.varies for value in values):
            return _as_jax_has_it(equation, values)
        if name in _CONTROL:
            return _CONTROL[name](self, equation.params, values)
        drawn = random_function(equation)
        if drawn is not None:
            return self.apply(drawn, values)
        has_keys = any(is_key(atom.aval) for atom in (*equation.invars, *equation.outvars))
        results = None if has_keys or name not in RULES else RULES[name](equation, values, self.lanes)
        return self._by_vmap(equation, values) if results is None else [Value(array, True) for array in results]

    def _by_vmap(self, equation: Any, values: Values) -> list[Value]:
        """The results of an equation that no rule knows. An array of keys has its lanes in front there."""
        given, results = equation.invars, equation.outvars
        arrays, axes = [], []
        for value, atom in zip(values, given, strict=True):
            first = value.varies and is_key(atom.aval)
            array = jnp.moveaxis(value.array, -1, 0) if first else value.array
            arrays.append(_typed(array, atom.aval))
            axes.append((0 if first else atom.aval.ndim) if value.varies else None)
        out_axes = [0 if is_key(v.aval) else v.aval.ndim for v in results]
        found = jax.vmap(function_of(equation), tuple(axes), out_axes, axis_size=self.lanes)(*arrays)
        found = [jnp.moveaxis(jax.random.key_data(x), 0, -1) if is_key(x) else x for x in found]
        return [Value(array, True) for array in found]

    def varying(self, run: Callable[[Values], Values], given: Values) -> list[bool]:
        """Which results differ between lanes."""
        found: list[bool] = []

        def traced(arrays: Sequence[Any]) -> None:
            found[:] = [v.varies for v in run(_with(arrays, given))]

        jax.eval_shape(traced, [value.array for value in given])
        return found

    def carried(self, run: Callable[[Values], Values], carry: Values) -> list[Value]:
        """What a loop carries, with lanes where its turns, from what they carry to what they carry, put some."""
        varies = [value.varies for value in carry]
        while True:
            values = self.spread(carry, varies)
            after = [a or b for a, b in zip(varies, self.varying(run, values), strict=True)]
            if after == varies:
                return values
            varies = after

    def spread(self, values: Values, varies: Sequence[bool]) -> list[Value]:
        """The values, with lanes in those that are to have them."""
        return [Value(v.everywhere(self.lanes), True) if to else v for v, to in zip(values, varies, strict=True)]


def _of_one_lane(value: Value) -> Any:
    array = value.array
    return jax.ShapeDtypeStruct(array.shape[:-1] if value.varies else array.shape, array.dtype)


def _constant(literal: Any) -> Value:
    return Value(np.asarray(literal.val, literal.aval.dtype), False)  # which JAX would put on a device


def _shared(array: Any) -> Value:
    return Value(jax.random.key_data(array) if is_key(array) else array, False)


def _typed(array: Any, aval: Any) -> Any:
    return keys_of(array, aval) if is_key(aval) else array


def _with(arrays: Sequence[Any], like: Values) -> list[Value]:
    return [Value(array, value.varies) for array, value in zip(arrays, like, strict=True)]


def _as_jax_has_it(equation: Any, values: Values) -> list[Value]:
    arrays = [_typed(value.array, atom.aval) for value, atom in zip(values, equation.invars, strict=True)]
    return [_shared(array) for array in function_of(equation)(*arrays)]


def _cond(batch: _Batch, params: Any, values: Values) -> list[Value]:
    index, *given = values
    branches = [partial(batch.evaluate, branch) for branch in params["branches"]]
    if index.varies:
        results = [batch.spread(values, [True] * len(values)) for values in (branch(given) for branch in branches)]
        place = jnp.clip(index.array, 0, len(branches) - 1)
        return [Value(_chosen(place, [v.array for v in each]), True) for each in zip(*results, strict=True)]
    varies = [any(each) for each in zip(*(batch.varying(branch, given) for branch in branches), strict=True)]

    def taken(branch: Callable[[Values], Values]) -> Callable[..., list[Any]]:
        return lambda arrays: [v.array for v in batch.spread(branch(_with(arrays, given)), varies)]

    arrays = lax.switch(index.array, [taken(branch) for branch in branches], [value.array for value in given])
    return [Value(array, differ) for array, differ in zip(arrays, varies, strict=True)]


def _chosen(index: Any, arrays: Sequence[Any]) -> Any:
    return lax.select_n(jnp.broadcast_to(index, arrays[0].shape), *arrays)


def _while(batch: _Batch, params: Any, values: Values) -> list[Value]:
    split = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    of_cond, of_body, entering = values[: split[0]], values[split[0] : split[1]], values[split[1] :]

    def wanted(carry: Values) -> Value:
        return batch.evaluate(params["cond_jaxpr"], [*of_cond, *carry])[0]

    def turn(carry: Values) -> list[Value]:
        after, go_on = batch.evaluate(params["body_jaxpr"], [*of_body, *carry]), wanted(carry)
        if not go_on.varies:
            return after
        pairs = zip(batch.spread(after, [True] * len(after)), carry, strict=True)
        return [Value(where(go_on.array, new.array, old.everywhere(batch.lanes)), True) for new, old in pairs]

    carry = batch.carried(turn, entering)
    arrays = lax.while_loop(
        lambda arrays: jnp.any(wanted(_with(arrays, carry)).array),
        lambda arrays: [v.array for v in batch.spread(turn(_with(arrays, carry)), [v.varies for v in carry])],
        [value.array for value in carry],
    )
    return _with(arrays, carry)


def _scan(batch: _Batch, params: Any, values: Values) -> list[Value]:
    consts, entering, over = operands_of_scan(params, values)
    first = [Value(jax.ShapeDtypeStruct(v.array.shape[1:], v.array.dtype), v.varies) for v in over]

    def turn(carry: Values, each: Values) -> list[Value]:
        return batch.evaluate(params["jaxpr"], [*consts, *carry, *each])

    count = len(entering)
    carry = batch.carried(lambda carry: turn(carry, _blank(first))[:count], entering)
    varies = batch.varying(lambda both: turn(both[:count], both[count:]), [*carry, *_blank(first)])
    varies = [*(value.varies for value in carry), *varies[count:]]

    def step(carried: Sequence[Any], each: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        results = batch.spread(turn(_with(carried, carry), _with(each, first)), varies)
        arrays = [value.array for value in results]
        return arrays[:count], arrays[count:]

    how = {name: params[name] for name in ("length", "reverse", "unroll")}
    last, collected = lax.scan(step, [v.array for v in carry], [v.array for v in over], **how)
    return [Value(array, differ) for array, differ in zip([*last, *collected], varies, strict=True)]


def _blank(values: Values) -> list[Value]:
    return [Value(jnp.zeros(v.array.shape, v.array.dtype), v.varies) for v in values]


_CONTROL = {"cond": _cond, "while": _while, "scan": _scan}
