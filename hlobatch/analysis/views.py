"""A traced statement -> the resulting arrays that are, in NumPy, views of its operands.

``a[i]`` of a matrix, ``a[1:3]``, ``a.T`` and ``a.reshape(-1)`` are; ``a + 1``, ``a[[0, 2]]`` and ``a.copy()`` are not.

Where a result may be one of several arrays that the statement makes, as in ``max(a, key=sum)``, the statement is traced
with these arrays as further results (``identity.OnTheWay``), and so they are found in its jaxpr. They are dropped then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from hlobatch._jax import Atom, ClosedJaxpr, Equation, Jaxpr, Literal
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.evaluation import inlined
from hlobatch.ir.types import TensorType, Type, is_leaf
from hlobatch.jax_primitives import VIEWS
from hlobatch.values.identity import Identity, Node, OnTheWay, Spot, parts_of_type
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
    found, shown = views(one.inlined), one.identity.shown
    if not found and not shown:
        return one.identity
    given, made = _tensor_nodes(one.in_types), _tensor_nodes(one.out_types)
    sources = dict(one.identity.sources)
    for node, nodes in shown.items():
        sources[node] = tuple(dict.fromkeys((*sources.get(node, ()), *nodes)))
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


def without_further_results(
    code: ClosedJaxpr, further: OnTheWay, identity: Identity, in_types: Sequence[Type]
) -> tuple[ClosedJaxpr, Identity, Spot | None]:
    """A jaxpr without the arrays that a statement makes on the way, the identity of its results, and a change.

    The change is the place where the code of a function changes an array that is read as it was later; else None.

    Args:
        code: The jaxpr, whose last results are these arrays.
        further: The arrays.
        identity: The identity of the results as far as it was noted.
        in_types: The types of the operands.
    """
    own = len(code.jaxpr.outvars) - len(further.arrays)
    plain: Jaxpr = inlined(code).jaxpr
    defined = {v: equation for equation in plain.eqns for v in equation.outvars}
    arguments, nodes = {v: i for i, v in enumerate(plain.invars)}, _tensor_nodes(in_types)
    origins = [viewed(variable, defined) for variable in plain.outvars[own:]]
    places = [nodes[arguments[origin]] if origin in arguments else None for origin in origins]

    def seen_in(made: Sequence[int]) -> list[Node]:
        return [place for place in map(places.__getitem__, made) if place is not None]

    shown = {node: seen for node, made in further.results.items() if (seen := seen_in(made))}
    held = dict(identity.held)
    for node, items in further.items.items():
        if any(map(seen_in, items)):
            held[node] = [
                (*known, *seen_in(item)) for known, item in zip(held.get(node, [()] * len(items)), items, strict=True)
            ]
    variables = plain.outvars[own:]
    stale = (spot for old, new, spot in further.renewed if _is_read_later(plain, own, variables[old], variables[new]))
    jaxpr = code.jaxpr.replace(outvars=code.jaxpr.outvars[:own])
    return ClosedJaxpr(jaxpr, code.consts), replace(identity, shown=shown, held=held), next(stale, None)


def _is_read_later(jaxpr: Jaxpr, results: int, old: Atom, new: Atom) -> bool:
    """Whether an array, or a view of it, is read after another array takes its place.

    Args:
        jaxpr: The jaxpr.
        results: The number of its results; those behind them do not count.
        old: The array before.
        new: The array after.
    """
    made_at = {v: index for index, equation in enumerate(jaxpr.eqns) for v in equation.outvars}
    if isinstance(old, Literal) or isinstance(new, Literal) or new not in made_at:
        return False
    defined = {v: jaxpr.eqns[index] for v, index in made_at.items()}
    origin, needed = viewed(old, defined), {v for v in jaxpr.outvars[:results] if not isinstance(v, Literal)}
    read = set(needed)
    for equation in reversed(jaxpr.eqns[made_at[new] + 1 :]):
        if not needed.isdisjoint(equation.outvars):
            variables = {v for v in equation.invars if not isinstance(v, Literal)}
            needed |= variables
            read |= variables
    return any(v is not new and viewed(v, defined) is origin for v in read)


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
