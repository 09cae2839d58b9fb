"""Evaluates jaxprs equation by equation, with called jaxprs inlined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from hlobatch._jax import (
    Atom,
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Literal,
    at_the_place_of,
    called_by,
    function_of,
    in_place_of,
    is_variable,
    jaxpr_of,
    may_be_folded,
    variable_like,
)
from hlobatch.ir.joined import makes_one, makes_parts
from hlobatch.ir.outer import adds_outer_product

Run = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""Takes an equation and the values of its operands, returns the values of its results."""
Called = Callable[[Any], ClosedJaxpr | None]
"""Takes an equation, returns the code to put in its place, if there is any."""


def variables_among(atoms: Iterable[Atom]) -> list[Any]:
    """The atoms that are variables, not literals."""
    return [atom for atom in atoms if not isinstance(atom, Literal)]


def known_at_first(closed: ClosedJaxpr, arrays: Sequence[Any]) -> dict[Any, Any]:
    """The values of a jaxpr's variables before its first equation, given its arguments."""
    jaxpr: Jaxpr = closed.jaxpr
    return dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *arrays), strict=True))


def needed_for(atoms: Iterable[Atom], equations: Sequence[Equation], known: Iterable[Atom] = ()) -> list[Any]:
    """The equations, in order, that compute some atoms when the variables ``known`` have values."""
    given, needed = set(known), set(variables_among(atoms))
    found: list[Any] = []
    for equation in reversed(equations):
        if needed.difference(given).intersection(equation.outvars):
            found.append(equation)
            needed.update(variables_among(equation.invars))
    return found[::-1]


def as_it_is(equation: Equation, values: Sequence[Any]) -> Sequence[Any]:
    """The results of an equation, evaluated unchanged."""
    return function_of(equation)(*values)


def called_within(equation: Equation) -> ClosedJaxpr | None:
    """The jaxpr that an equation calls; None if it is no call, or one that stands for a single operation.

    Making an array of numbers and taking it apart count as operations, which ``transforms/merge_lists.py`` looks for.
    """
    is_operation = makes_one(equation) or makes_parts(equation) or adds_outer_product(equation)
    called: ClosedJaxpr | None = None if is_operation else called_by(equation)
    return called


def evaluated(
    equations: Iterable[Equation],
    known: dict[Any, Any],
    outputs: Sequence[Any],
    run: Run = as_it_is,
    called: Called = called_within,
) -> list[Any]:
    """The values of some atoms after some equations.

    Args:
        equations: In order.
        known: Values of variables; those that the equations compute are added.
        outputs: The atoms.
        run: Evaluates an equation that is not a call.
        called: The code to put in the place of an equation.
    """
    for equation in equations:
        given, inner = values_of(equation.invars, known), called(equation)
        with in_place_of(equation):
            results = run(equation, given) if inner is None else _of_call(inner, given, run, called)
        known.update(zip(equation.outvars, results, strict=True))
    return values_of(outputs, known)


def values_of(atoms: Iterable[Atom], known: Mapping[Any, Any]) -> list[Any]:
    """The values of some atoms, given those of variables."""
    return [atom.val if isinstance(atom, Literal) else known[atom] for atom in atoms]


def are_alike(one: Any, other: Any) -> bool:
    """Whether two jaxprs are the same but for the names of their variables, and capture the same arrays."""
    names: dict[Any, Any] = {}
    pairs = [(one.jaxpr.constvars, other.jaxpr.constvars), (one.jaxpr.invars, other.jaxpr.invars)]
    if list(map(id, one.consts)) != list(map(id, other.consts)) or not all(_are_named(*pair, names) for pair in pairs):
        return False
    if len(one.jaxpr.eqns) != len(other.jaxpr.eqns):
        return False
    equations = zip(one.jaxpr.eqns, other.jaxpr.eqns, strict=True)
    return all(_do_the_same(*pair, names) for pair in equations) and _are_same_atoms(
        one.jaxpr.outvars, other.jaxpr.outvars, names
    )


def _do_the_same(one: Any, other: Any, names: dict[Any, Any]) -> bool:
    """Whether two equations are the same with ``names`` for the first's operands; adds the names of its results."""
    if one.primitive is not other.primitive or one.params.keys() != other.params.keys():
        return False
    params = ((value, other.params[name]) for name, value in one.params.items())
    return (
        _are_same_atoms(one.invars, other.invars, names)
        and all(are_alike(*pair) if isinstance(pair[0], ClosedJaxpr) else pair[0] == pair[1] for pair in params)
        and _are_named(one.outvars, other.outvars, names)
    )


def _are_named(variables: Sequence[Any], others: Sequence[Any], names: dict[Any, Any]) -> bool:
    """Adds which variable stands for which to ``names``; whether both have as many variables, of the same types."""
    names.update(zip(variables, others, strict=False))
    return [v.aval for v in variables] == [v.aval for v in others]


def _are_same_atoms(atoms: Sequence[Atom], others: Sequence[Any], names: dict[Any, Any]) -> bool:
    def is_same(atom: Atom, other: Any) -> bool:
        if isinstance(atom, Literal):
            return isinstance(other, Literal) and atom.aval == other.aval and bool(atom.val == other.val)
        return names[atom] is other

    return len(atoms) == len(others) and all(map(is_same, atoms, others))


def inlined(closed: ClosedJaxpr, called: Called = called_within) -> ClosedJaxpr:
    """The code with what it calls in the place of the calls.

    Args:
        closed: The code.
        called: The code to put in the place of an equation.
    """
    jaxpr: Jaxpr = closed.jaxpr
    if all(called(equation) is None for equation in jaxpr.eqns):
        return closed
    if (substituted := _substituted(closed, called)) is not None:
        return substituted
    return traced(lambda *arrays: _of_call(closed, arrays, as_it_is, called), jaxpr.invars)


def _substituted(closed: ClosedJaxpr, called: Called) -> ClosedJaxpr | None:
    """The code with the equations of what it calls in the place of the calls; None where that is not enough.

    That is what tracing it gives, which takes ten times as long.
    """
    jaxpr: Jaxpr = closed.jaxpr
    if closed.effects:
        return None
    try:
        substitution = _Substitution(frozenset(jaxpr.constvars), called)
        outputs = substitution.add(jaxpr, {}, None)
    except _NotSubstitutedError:
        return None
    return ClosedJaxpr(jaxpr.replace(eqns=substitution.equations, outvars=outputs), closed.consts)


class _NotSubstitutedError(Exception):
    """Raised where code that is called captures arrays, does more than to compute, or gives other types."""


@dataclass
class _Substitution:
    """Puts equations of what is called in the place of the calls.

    Attributes:
        constants: Variables that hold what is known.
        called: The code to put in the place of an equation.
        equations: Those so far.
    """

    constants: frozenset[Any]
    called: Called
    equations: list[Equation] = field(default_factory=list)

    def add(self, jaxpr: Jaxpr, atoms: dict[Any, Any], call: Any) -> list[Any]:
        """Add the equations of a jaxpr, and of what it calls.

        Args:
            jaxpr: The jaxpr.
            atoms: What stands for its variables where they are added; more are.
            call: The equation that calls it, if one does: its results get variables of their own then.

        Returns:
            What stands for its results.
        """
        for equation in jaxpr.eqns:
            called, placed = self.called(equation), at_the_place_of(call, equation)
            operands = _standing_for(equation.invars, atoms)
            if called is not None:
                results = self._call(called, operands, placed)
            elif may_be_folded(equation) and any(not is_variable(one) or one in self.constants for one in operands):
                results = _folded(equation, operands)
            else:
                results = equation.outvars if call is None else [*map(variable_like, equation.outvars)]
                self.equations.append(placed.replace(invars=operands, outvars=results))
            atoms.update(zip(equation.outvars, results, strict=True))
        return _standing_for(jaxpr.outvars, atoms)

    def _call(self, called: ClosedJaxpr, operands: Sequence[Any], equation: Equation) -> list[Any]:
        jaxpr: Jaxpr = called.jaxpr
        results = [atom.aval for atom in jaxpr.outvars]
        if called.consts or called.effects or results != [variable.aval for variable in equation.outvars]:
            raise _NotSubstitutedError
        return self.add(jaxpr, dict(zip(jaxpr.invars, operands, strict=True)), equation)


def _standing_for(atoms: Iterable[Atom], others: Mapping[Any, Any]) -> list[Any]:
    """The values of a caller in place of atoms of the code that it calls."""
    return [others.get(atom, atom) if is_variable(atom) else atom for atom in atoms]


def _folded(equation: Equation, operands: Sequence[Any]) -> list[Any]:
    """The literals that JAX computes while it traces an equation whose operands are known.

    Raises:
        _NotSubstitutedError: No literals.
    """
    if any(map(is_variable, operands)):
        raise _NotSubstitutedError
    made: Any = traced(lambda: list(as_it_is(equation, [one.val for one in operands])), ()).jaxpr
    if made.eqns or any(map(is_variable, made.outvars)):
        raise _NotSubstitutedError
    return list(made.outvars)


def traced(run: Callable[..., list[Any]], inputs: Sequence[Any]) -> ClosedJaxpr:
    """The jaxpr of a function of arrays that have the shapes and dtypes of some variables."""
    avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type) for v in inputs]
    return jaxpr_of(run, avals)


def _of_call(closed: ClosedJaxpr, arrays: Sequence[Any], run: Run, called: Called) -> list[Any]:
    jaxpr: Jaxpr = closed.jaxpr
    return evaluated(jaxpr.eqns, known_at_first(closed, arrays), jaxpr.outvars, run, called)
