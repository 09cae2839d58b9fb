"""The code of a primitive after tracing: a jaxpr, and the types of its operands and results.

It is called like the user's function, but does not run the user's Python any more.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from hlobatch._jax import ClosedJaxpr, Jaxpr, Literal
from hlobatch.diagnostics import HloBatchError
from hlobatch.ir.code import JaxprCode
from hlobatch.ir.types import Leaf, Static, TensorType, Type, grouped
from hlobatch.values.facts import Site
from hlobatch.values.identity import NOTHING, Identity
from hlobatch.values.lane_failures import NO_VALUE


@final
@dataclass(frozen=True, eq=False)
class TracedFunction(JaxprCode):
    """Straight-line code after tracing: callable like the user's function, but it no longer runs the user's Python.

    Attributes:
        doubts: Errors that the code has unless types change before inference ends.
        learned: Facts with which the program has to be built again, each with its site.
        identity: Which objects in its results are objects in its operands.
    """

    doubts: tuple[HloBatchError, ...] = field(default=(), kw_only=True)
    learned: tuple[tuple[Site, Any], ...] = field(default=(), kw_only=True)
    identity: Identity = field(default=NOTHING, kw_only=True)

    @property
    def is_open(self) -> bool:
        return True

    @property
    def gives_nothing(self) -> bool:
        """Whether the function raises in every lane that calls it, so that variables have no value."""
        return any(map(is_no_value, self.out_types))

    @cached_property
    def looked_at(self) -> tuple[int, ...]:
        """The parameters with arrays that the jaxpr computes with or returns, by position."""
        jaxpr: Jaxpr = self.jaxpr.jaxpr
        atoms = itertools.chain(jaxpr.outvars, *(equation.invars for equation in jaxpr.eqns))
        read = {atom for atom in atoms if not isinstance(atom, Literal)}
        return tuple(i for i, own in enumerate(self._own_variables) if not read.isdisjoint(own))

    def jaxpr_of(self, parameters: Sequence[int]) -> ClosedJaxpr:
        """The jaxpr as a function of the arrays of some parameters alone, the only ones that it reads."""
        jaxpr: Jaxpr = self.jaxpr.jaxpr
        kept = [variable for i in parameters for variable in self._own_variables[i]]
        if len(kept) == len(jaxpr.invars):
            return self.jaxpr
        return ClosedJaxpr(jaxpr.replace(invars=kept), self.jaxpr.consts)

    @property
    def _own_variables(self) -> list[list[Any]]:
        """For each parameter, the variables of its arrays in the jaxpr."""
        variables: list[Any] = self.jaxpr.jaxpr.invars
        return grouped(variables, self.in_types)

    def is_like(self, other: TracedFunction) -> bool:
        """Whether another trace of the same statement computes the same."""
        return self is other or (self.out_types == other.out_types and self._text == other._text)

    @property
    def _text(self) -> str:
        """The text of the jaxpr with its constants, and without addresses of objects."""
        constants = [np.asarray(value).tobytes() for value in self.jaxpr.consts]
        return re.sub(r"0x[0-9a-f]+", "", f"{self.jaxpr.jaxpr}{constants}")

    @property
    def written_types(self) -> tuple[Type, ...]:
        """``out_types``, with literals of Python numbers as static numbers instead of tensors."""
        supply = iter(self.jaxpr.jaxpr.outvars)

        def written(leaf: Leaf) -> Leaf:
            if not isinstance(leaf, TensorType):
                return leaf
            value = next(supply)
            return Static(_python_number(value.val)) if leaf.weak and isinstance(value, Literal) else leaf

        return tuple(Type.of_leaves(tuple(map(written, t.leaves)), t.treedef) for t in self.out_types)


def is_no_value(type_: Type) -> bool:
    """Whether a type is that of a result that is missing, since the code raises in every lane."""
    return any(isinstance(leaf, Static) and leaf.value is NO_VALUE for leaf in type_.leaves)


def _python_number(value: Any) -> Any:
    """The Python number of a literal; a float of 32 bits is the shortest decimal that rounds to it."""
    value = np.asarray(value)[()]
    return float(str(value)) if isinstance(value, np.floating) else value.item()
