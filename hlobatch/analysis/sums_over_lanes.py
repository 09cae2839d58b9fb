"""Code of a lane that adds to an array -> code that computes the summands of all lanes, and adds them at once.

::

    %sum = outer(%u, %v) + %sum           %sum  [4, 8]   of all lanes
                                   ==>    %u    [lanes, 4],  %v  [lanes, 8]      what each lane computes
                                          %sum = dot(%u, %v over lanes) + %sum

The cotangent of an array that all lanes share is a sum over lanes. Where lanes run in one loop, all of them add to one
array: no lane has a sum of its own, and where a sum of products is a product, the summands of lanes are never computed.
A lane that is not active adds zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import Atom, ClosedJaxpr, Equation, Jaxpr, Literal, function_of
from hlobatch.ir.evaluation import evaluated, inlined, needed_for, variables_among
from hlobatch.ir.names import is_sum
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.outer import adds_outer_product
from hlobatch.ir.program import Program


class Lanes(NamedTuple):
    """Results of lanes.

    Attributes:
        parts: Arrays ``[lanes, *event]``.
        mask: The lanes that add anything, ``bool[lanes]``.
    """

    parts: Sequence[Any]
    mask: Any

    def part(self, place: int) -> Any:
        """An array of ``parts``, with zero in lanes outside of the mask, even where they have a NaN."""
        array = self.parts[place]
        mask = self.mask.reshape(self.mask.shape + (1,) * (array.ndim - 1))
        return jnp.where(mask, array, jnp.zeros((), array.dtype))


Sum = Callable[[Lanes], Any]
"""Computes the sum of a value over lanes."""
Adder = Callable[[Any, Lanes], Any]
"""Adds the summands of all lanes to a total, and returns the new total."""


class Adding(NamedTuple):
    """Code that adds to some of its arguments.

    Attributes:
        code: The code of a lane, without these arguments: it returns all other results, and then parts of the summands.
        others: The positions of these other results among the results of the whole code.
        given: The positions of the remaining arguments among those of the whole code.
        adders: By the position of a result that is an argument with summands added: that argument, and what adds them.
    """

    code: ClosedJaxpr
    others: tuple[int, ...]
    given: tuple[int, ...]
    adders: Mapping[int, tuple[int, Adder]]


def adding(closed: ClosedJaxpr, totals: Mapping[int, int]) -> Adding | None:
    """Code that only adds to some arguments, in its parts; None if it uses one of them in any other way.

    Args:
        closed: The code of a lane.
        totals: By the position of a result, that of the argument whose new value it is.
    """
    closed = inlined(closed)
    jaxpr: Jaxpr = closed.jaxpr
    search = _Search(jaxpr)
    adders = {}
    for result, argument in totals.items():
        adder = search.adder(jaxpr.outvars[result], jaxpr.invars[argument])
        if adder is None:
            return None
        adders[result] = argument, adder
    others = tuple(i for i in range(len(jaxpr.outvars)) if i not in totals)
    given = tuple(i for i in range(len(jaxpr.invars)) if i not in totals.values())
    results = [*(jaxpr.outvars[i] for i in others), *search.parts]
    own = jaxpr.replace(eqns=needed_for(results, jaxpr.eqns), invars=[jaxpr.invars[i] for i in given], outvars=results)
    return Adding(ClosedJaxpr(own, closed.consts), others, given, adders)


def summed_in_place(program: Program, candidates: Collection[str]) -> frozenset[str]:
    """The sums among ``candidates`` of which all lanes may share one array, since the program only adds to them.

    Args:
        program: With explicit stacks, as it runs.
        candidates: Sums that are among the results.
    """
    found = {v for v in candidates if is_sum(v) and program.vars_out.count(v) == 1}
    for block in program.graph:
        for op in block.ops:
            found -= {v for v in {*op.uses, *op.defs} & found if not _only_adds(program, block.name, op, v)}
    return frozenset(found)


def _only_adds(program: Program, block: str, op: Any, variable: str) -> bool:
    """Whether an operation only adds to a sum, or sets it to zero in the entry block."""
    if not isinstance(op, PrimOp) or op.vars_out.count(variable) != 1:
        return False
    code = op.code.jaxpr_for(*([program.var_defs[v] for v in vs] for vs in (op.vars_in, op.vars_out)))
    if code is None or len(program.var_defs[variable].tensor_leaves) != 1:
        return False
    if variable not in op.vars_in:
        return block == program.graph.enter_block().name and _is_zero(code, _place(program, op.vars_out, variable))
    if op.vars_in.count(variable) != 1:
        return False
    place = _place(program, op.vars_out, variable), _place(program, op.vars_in, variable)
    return adding(code, dict([place])) is not None


def _place(program: Program, variables: Sequence[str], variable: str) -> int:
    """The position of a variable's only array among the arrays of ``variables``."""
    before = variables[: variables.index(variable)]
    return sum(len(program.var_defs[v].tensor_leaves) for v in before)


def places_of(program: Program, op: PrimOp, sums: Collection[str]) -> dict[int, int]:
    """For each result of an operation that is a sum it adds to, the position of the result and of its argument."""
    both = [v for v in op.vars_out if v in sums and v in op.vars_in]
    return {_place(program, op.vars_out, v): _place(program, op.vars_in, v) for v in both}


def _is_zero(code: ClosedJaxpr, place: int) -> bool:
    """Whether a result of code is always zero."""
    jaxpr: Jaxpr = code.jaxpr
    needed = needed_for([jaxpr.outvars[place]], jaxpr.eqns)
    read = {*variables_among([jaxpr.outvars[place]]), *(v for e in needed for v in variables_among(e.invars))}
    if not read.isdisjoint((*jaxpr.invars, *jaxpr.constvars)):
        return False
    with jax.ensure_compile_time_eval():
        (value,) = evaluated(needed, {}, [jaxpr.outvars[place]])
    return not np.any(np.asarray(value))


@dataclass
class _Search:
    """Searches code for additions to an array.

    Attributes:
        jaxpr: The code.
        parts: Values that lanes compute, and that are summed over lanes.
    """

    jaxpr: Jaxpr
    parts: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.defined = {v: equation for equation in self.jaxpr.eqns for v in equation.outvars}
        atoms = [*self.jaxpr.outvars, *(a for equation in self.jaxpr.eqns for a in equation.invars)]
        self.read = Counter(variables_among(atoms))

    def adder(self, result: Any, total: Any) -> Adder | None:
        """The function that adds the summands of all lanes to a total; None if ``result`` is something else.

        Args:
            result: A result of the code.
            total: The argument of which the result is the new value.
        """
        steps = list[Adder]()
        while result is not total:
            equation = None if isinstance(result, Literal) else self.defined.get(result)
            step = None if equation is None or self.read[result] != 1 else self._step(equation, total)
            if step is None:
                return None
            result, add = step
            steps.append(add)
        return (lambda given, lanes: _all_of(steps, given, lanes)) if self.read[total] == 1 and steps else None

    def _step(self, equation: Equation, total: Any) -> tuple[Any, Adder] | None:
        """The total before an equation that adds to it, and what adds its summand; None for any other equation."""
        name, atoms = equation.primitive.name, equation.invars
        if adds_outer_product(equation):
            sum_ = self._product(atoms[1], atoms[2], (((), ()), ((), ())), {})
            return atoms[0], lambda given, lanes: given + sum_(lanes).astype(given.dtype)
        if name == "scatter-add" and not equation.params["dimension_numbers"].operand_batching_dims:
            return atoms[0], self._scatter(equation)
        if name not in ("add", "add_any"):
            return None
        before, other = atoms if self._comes_from(atoms[0], total) else atoms[::-1]
        sum_ = self.over_lanes(other)
        return before, lambda given, lanes: given + sum_(lanes)

    def _comes_from(self, atom: Atom, total: Any) -> bool:
        """Whether a value is computed from the total."""
        if isinstance(atom, Literal):
            return False
        before = needed_for([atom], self.jaxpr.eqns)
        return atom is total or any(total in variables_among(e.invars) for e in before)

    def over_lanes(self, atom: Atom) -> Sum:
        """The sum of a value over lanes; a sum of products becomes a product."""
        equation = None if isinstance(atom, Literal) else self.defined.get(atom)
        if equation is None or self.read[atom] != 1:
            return self._of_part(atom)
        name, atoms, params = equation.primitive.name, equation.invars, equation.params
        if name in ("add", "add_any"):
            one, other = map(self.over_lanes, atoms)
            return lambda lanes: one(lanes) + other(lanes)
        if name in ("neg", "transpose"):
            inner, function = self.over_lanes(atoms[0]), function_of(equation)
            return lambda lanes: function(inner(lanes))[0]
        if name == "dot_general":
            return self._product(atoms[0], atoms[1], params["dimension_numbers"], _product_options(params))
        if name == "select_n" and len(atoms) == 3 and self._is_zero(atoms[1]):
            return self._masked(atoms[0], atoms[2]) or self._of_part(atom)
        return self._of_part(atom)

    def _of_part(self, atom: Atom) -> Sum:
        place = self._part(atom)
        return lambda lanes: jnp.sum(lanes.part(place), 0, dtype=lanes.parts[place].dtype)

    def _part(self, atom: Atom) -> int:
        self.parts.append(atom)
        return len(self.parts) - 1

    def _product(self, one: Any, other: Any, numbers: Any, how: Mapping[str, Any]) -> Sum:
        """The sum over lanes of a product: the same product, contracted over lanes too."""
        moved: Any = [[[axis + 1 for axis in axes] for axes in both] for both in numbers]
        for axes in moved[0]:  # the axis of lanes is contracted, too
            axes.insert(0, 0)
        left, right = self._part(one), self._part(other)
        return lambda lanes: lax.dot_general(lanes.part(left), lanes.part(right), moved, **how)

    def _masked(self, condition: Any, atom: Atom) -> Sum | None:
        """The sum of a value over lanes in which a condition holds; None if the condition is no scalar of the lane."""
        whole = self._scalar(condition)
        if whole is None:
            return None
        place, inner = self._part(whole), self.over_lanes(atom)
        return lambda lanes: inner(lanes._replace(mask=lanes.mask & lanes.parts[place]))

    def _scalar(self, atom: Atom) -> Any:
        """The scalar that a value is a broadcast of; None if it is no broadcast."""
        if not atom.aval.shape:
            return atom
        equation = None if isinstance(atom, Literal) else self.defined.get(atom)
        if equation is None or equation.primitive.name != "broadcast_in_dim":
            return None
        return self._scalar(equation.invars[0])

    def _is_zero(self, atom: Atom) -> bool:
        scalar = self._scalar(atom)
        return isinstance(scalar, Literal) and not scalar.val

    def _scatter(self, equation: Equation) -> Adder:
        """Adds to some elements of a total, for all lanes at once, in one scatter."""
        numbers = equation.params["dimension_numbers"]
        moved = numbers._replace(update_window_dims=tuple(axis + 1 for axis in numbers.update_window_dims))
        how = {"dimension_numbers": moved, "unique_indices": False, "indices_are_sorted": False}
        function = function_of(equation, **how)
        index, update = (self._part(atom) for atom in equation.invars[1:])
        return lambda given, lanes: function(given, lanes.part(index), lanes.part(update))[0]


def _all_of(steps: Sequence[Adder], total: Any, lanes: Lanes) -> Any:
    for step in reversed(steps):
        total = step(total, lanes)
    return total


def _product_options(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: params[name] for name in ("precision", "preferred_element_type", "out_sharding") if name in params}
