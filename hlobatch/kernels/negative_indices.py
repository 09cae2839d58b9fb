"""A jaxpr -> its indices that count from the end if they are negative, each with the number that is then added to it.

::

    b = lt a 0
    c = add a 128         JAX's form of the index of `x[a]` for an array of 128 elements: `d` is `a`, counted from the
    d = select_n b a c    end if it is negative

Most indices are not negative. A kernel can test whether ``a`` is inside of the array, and compute ``d`` only if not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hlobatch._jax import Atom, Equation, Literal


def counted_from_the_end(equations: Sequence[Equation]) -> dict[Any, int]:
    """For each result of a select like ``d``, the number that is added to a negative index."""
    writers = {v: equation for equation in equations for v in equation.outvars}

    def written(variable: Atom, name: str) -> Any:
        """The equation that defines a variable, if its primitive has this name; else None."""
        equation = None if isinstance(variable, Literal) else writers.get(variable)
        return equation if equation is not None and equation.primitive.name == name else None

    def source(variable: Atom) -> Any:
        while (equation := written(variable, "convert_element_type")) is not None:
            if equation.invars[0].aval.dtype != variable.aval.dtype:
                return variable
            variable = equation.invars[0]
        return variable

    def added(equation: Equation) -> int | None:
        if equation.primitive.name != "select_n" or len(equation.invars) != 3 or equation.outvars[0].aval.shape:
            return None
        condition, index, moved = equation.invars
        test, total = written(condition, "lt"), written(source(moved), "add")
        if test is None or total is None or isinstance(index, Literal):
            return None
        is_same = source(test.invars[0]) is source(total.invars[0]) is source(index)
        return _number(total.invars[1]) if is_same and _number(test.invars[1]) == 0 else None

    found = {equation.outvars[0]: added(equation) for equation in equations}
    return {v: more for v, more in found.items() if more is not None}


def _number(variable: Atom) -> int | None:
    """The integer that a literal holds; None if the atom is anything else."""
    is_known = isinstance(variable, Literal) and np.ndim(variable.val) == 0
    return int(variable.val) if is_known and np.issubdtype(variable.aval.dtype, np.integer) else None
