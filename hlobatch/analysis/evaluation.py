"""Jaxprs, evaluated equation by equation, with what they call in the places of the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax

from hlobatch._jax import ClosedJaxpr, Literal, called_by, function_of, in_place_of

Run = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""An equation and the values of its operands -> those of its results."""


def variables_among(atoms: Iterable[Any]) -> list[Any]:
    """The atoms that are variables, not literals."""
    return [atom for atom in atoms if not isinstance(atom, Literal)]


def known_at_first(closed: ClosedJaxpr, arrays: Sequence[Any]) -> dict[Any, Any]:
    """The values of a jaxpr's variables before its first equation, given its arguments."""
    jaxpr: Any = closed.jaxpr
    return dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *arrays), strict=True))


def needed_for(atoms: Iterable[Any], equations: Sequence[Any], known: Iterable[Any] = ()) -> list[Any]:
    """The equations, in order, that it takes to compute some atoms, where some variables are known."""
    given, needed = set(known), set(variables_among(atoms))
    found: list[Any] = []
    for equation in reversed(equations):
        if needed.difference(given).intersection(equation.outvars):
            found.append(equation)
            needed.update(variables_among(equation.invars))
    return found[::-1]


def as_it_is(equation: Any, values: Sequence[Any]) -> Sequence[Any]:
    """The results of an equation."""
    return function_of(equation)(*values)


def evaluated(
    equations: Iterable[Any], known: dict[Any, Any], outputs: Sequence[Any], run: Run = as_it_is
) -> list[Any]:
    """The values of some atoms after some equations.

    Args:
        equations: In order.
        known: Values of variables; those that the equations compute are added.
        outputs: The atoms.
        run: What an equation that is no call does.
    """

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else known[atom]

    for equation in equations:
        given, called = [value(atom) for atom in equation.invars], called_by(equation)
        with in_place_of(equation):
            results = run(equation, given) if called is None else _of_call(called, given, run)
        known.update(zip(equation.outvars, results, strict=True))
    return [value(atom) for atom in outputs]


def inlined(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The code with what it calls in the place of the calls."""
    jaxpr: Any = closed.jaxpr
    if all(called_by(equation) is None for equation in jaxpr.eqns):
        return closed
    return traced(lambda *arrays: _of_call(closed, arrays, as_it_is), jaxpr.invars)


def traced(run: Callable[..., list[Any]], inputs: Sequence[Any]) -> ClosedJaxpr:
    """The jaxpr of a function of arrays like some variables."""
    avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type) for v in inputs]
    return jax.make_jaxpr(run)(*avals)


def _of_call(closed: ClosedJaxpr, arrays: Sequence[Any], run: Run) -> list[Any]:
    jaxpr: Any = closed.jaxpr
    return evaluated(jaxpr.eqns, known_at_first(closed, arrays), jaxpr.outvars, run)
