"""A traced statement -> the resulting arrays that are, in NumPy, views of its operands.

``a[i]`` of a matrix, ``a[1:3]``, ``a.T`` and ``a.reshape(-1)`` are; ``a + 1``, ``a[[0, 2]]`` and ``a.copy()`` are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from hlobatch._jax import Atom, ClosedJaxpr, Equation, Jaxpr, Literal
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.types import TensorType, Type, is_leaf
from hlobatch.jax_primitives import VIEWS
from hlobatch.values.identity import Identity, Node, parts_of_type
from hlobatch.values.texts import is_lane_text


def views(code: ClosedJaxpr) -> Mapping[int, int]:
    """By the position of a result that is a view of an argument, the position of that argument; both count tensors."""
    jaxpr: Jaxpr = code.jaxpr
    defined = {v: equation for equation in jaxpr.eqns for v in equation.outvars}
    places = {v: i for i, v in enumerate(jaxpr.invars)}
    found = {}
    for index, result in enumerate(jaxpr.outvars):
        origin = viewed(result, defined)
        if origin in places and _is_array(result):
            found[index] = places[origin]
    return found


def viewed(variable: Atom, defined: Mapping[Any, Any]) -> Any:
    """The array that an array is a view of; the array itself if it is no view; None for a literal."""
    while not isinstance(variable, Literal) and variable in defined:
        equation = defined[variable]
        if not (equation.primitive.name in VIEWS or _takes_one(equation)):
            break
        variable = equation.invars[0]
    return None if isinstance(variable, Literal) else variable


def identity_with_views(one: TracedFunction) -> Identity:
    """The effect of a primitive on objects, with views counted as the same object as the array that they show."""
    found = views(one.inlined)
    if not found:
        return one.identity
    given, made = _tensor_nodes(one.in_types), _tensor_nodes(one.out_types)
    sources = dict(one.identity.sources)
    for result, argument in found.items():
        node = made[result]
        if node not in sources and node not in one.identity.fresh:
            sources[node] = (given[argument],)
    return replace(one.identity, sources=sources)


def are_of_texts(types: Iterable[Type]) -> list[bool]:
    """For each tensor of some values, whether it is a part of a text, which no code changes in place."""
    found = list[bool]()
    for type_ in types:
        for part in jax.tree.leaves(type_.tensors, is_leaf=lambda part: is_lane_text(part) or is_leaf(part)):
            tensors = [leaf for leaf in jax.tree.leaves(part, is_leaf=is_leaf) if isinstance(leaf, TensorType)]
            found += [is_lane_text(part)] * len(tensors)
    return found


def overwritten_views(code: ClosedJaxpr, updates: Sequence[int], array: Any) -> bool:
    """Whether an update of an array, other than the first, writes a view of the array's value before the updates."""
    jaxpr: Jaxpr = code.jaxpr
    defined = {v: equation for equation in jaxpr.eqns for v in equation.outvars}
    written = (jaxpr.eqns[index].invars[1:] for index in sorted(updates)[1:])
    return any(_is_array(v) and viewed(v, defined) is array for values in written for v in values)


def _is_array(variable: Atom) -> bool:
    return not isinstance(variable, Literal) and bool(variable.aval.ndim)


def _takes_one(equation: Equation) -> bool:
    """Whether an equation is a gather at one index, as in ``a[i]``, and not at an array of indices."""
    return bool(equation.primitive.name == "gather" and equation.invars[1].aval.ndim == 1)


def _tensor_nodes(types: Iterable[Type]) -> list[Node]:
    """For each tensor of some values, the index of the value and the path to the tensor."""
    return [
        (index, path)
        for index, type_ in enumerate(types)
        for path, leaf in parts_of_type(type_.tensors)
        if isinstance(leaf, TensorType)
    ]
