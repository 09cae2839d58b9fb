"""A jaxpr -> the results that are one of its arguments with some elements changed (in-place updates).

::

    lambda buffer, i, x: (buffer.at[i].set(x), i + 1)     the first result is the first argument, updated
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from hlobatch._jax import Atom, ClosedJaxpr, Equation, Jaxpr, Literal
from hlobatch.ir.code import JaxprCode
from hlobatch.ir.evaluation import variables_among
from hlobatch.ir.ops import Op
from hlobatch.ir.program import Block
from hlobatch.ir.types import Type
from hlobatch.jax_primitives import READS, UPDATES

SLICE: Final = "dynamic_update_slice"


@dataclass(frozen=True)
class Origins:
    """The origins of values in a jaxpr without calls.

    Attributes:
        closed: The jaxpr.
    """

    closed: ClosedJaxpr

    @property
    def jaxpr(self) -> Any:
        return self.closed.jaxpr

    @cached_property
    def _defined(self) -> Mapping[Any, int]:
        """For each variable, the index of the equation that computes it."""
        return {v: i for i, equation in enumerate(self.jaxpr.eqns) for v in equation.outvars}

    def origin(self, result: Any) -> tuple[Any, Sequence[int]]:
        """The variable that holds a value before all updates, and the indices of the equations that update it."""
        updates = []
        while not isinstance(result, Literal) and result in self._defined:
            index = self._defined[result]
            if self.jaxpr.eqns[index].primitive.name not in UPDATES:
                break
            updates.append(index)
            result = self.jaxpr.eqns[index].invars[0]
        return result, updates


def elements_updated(equation: Equation) -> int:
    """The number of elements that an update changes."""
    return math.prod(equation.invars[1 if equation.primitive.name == SLICE else 2].aval.shape)


def updated(function: JaxprCode) -> dict[int, int]:
    """By the position of a resulting array that is an argument, perhaps updated: the position of that argument.

    Both count the tensors of all results, or arguments, in order.
    """
    jaxpr: Jaxpr = function.jaxpr.jaxpr
    if UPDATES.isdisjoint(function.primitives) and set(jaxpr.invars).isdisjoint(variables_among(jaxpr.outvars)):
        return {}
    code = Origins(function.inlined)
    arguments = {v: i for i, v in enumerate(code.jaxpr.invars) if v.aval.ndim}
    origins = [code.origin(result)[0] for result in code.jaxpr.outvars]
    return {i: arguments[v] for i, v in enumerate(origins) if not isinstance(v, Literal) and v in arguments}


def taken_as_a_whole(blocks: Iterable[Block]) -> set[str]:
    """Variables that some operation of the blocks uses in another way than to read or change some elements."""
    return {v for block in blocks for op in block.ops for v in taken_as_a_whole_by(op)}


def taken_as_a_whole_by(op: Op) -> set[str]:
    """Variables that an operation uses in another way than to read or change some elements."""
    function = op.code.typed
    if function is None:
        return {*op.uses, *op.defs}
    code, in_place = Origins(function.inlined), updated(function)
    given, results = tensors(op.uses, function.in_types), tensors(op.defs, function.out_types)
    read = {v for v, x in zip(given, code.jaxpr.invars, strict=True) if not _is_touched_in_part(code.jaxpr, x)}
    return read | {v for i, v in enumerate(results) if i not in in_place or given[in_place[i]] != v}


def tensors(variables: Sequence[str], types: Sequence[Type]) -> list[str]:
    """For each tensor of some variables, its variable."""
    return [v for v, kind in zip(variables, types, strict=True) for _ in kind.tensor_leaves]


def _is_touched_in_part(jaxpr: Jaxpr, variable: Atom) -> bool:
    for equation in jaxpr.eqns:
        places = [i for i, atom in enumerate(equation.invars) if atom is variable]
        if not places or (equation.primitive.name in READS and places == [0]):
            continue
        if equation.primitive.name not in UPDATES or places != [0]:
            return False
        if not _is_touched_in_part(jaxpr, equation.outvars[0]):
            return False
    return True


def is_looked_up_in(jaxpr: Jaxpr, variable: Atom) -> bool:
    """Whether code without calls only reads elements of an array."""
    if any(result is variable for result in jaxpr.outvars):
        return False
    using = [equation for equation in jaxpr.eqns if any(atom is variable for atom in equation.invars)]
    return all(
        equation.primitive.name in READS and not any(atom is variable for atom in equation.invars[1:])
        for equation in using
    )
