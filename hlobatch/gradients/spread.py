"""Cotangents of arrays of which a primitive reads a part: that part alone is added, in place.

::

    %ct   = the cotangent of table[i]                     the total of table's cotangents:
    %zero = broadcast 0                             ==>
    %bar  = scatter-add %zero, i, %ct                     %total = scatter-add %total, i, %ct
    %total = add %total, %bar

JAX's transpose of an indexed read makes a whole array of zeros with the part in it. To add that to a total takes as
long as the array is large, each time that a lane reads one item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch._jax import Literal
from hlobatch.ir.evaluation import as_it_is, evaluated

Adder = Callable[[Any], Any]
"""From a total, None for zeros, to the total with something added."""


def added_in_place(equations: Sequence[Any], known: dict[Any, Any], outputs: Sequence[Any]) -> list[Adder]:
    """For each of some atoms after some equations, what adds it to a total.

    Args:
        equations: In order.
        known: The values of variables before them.
        outputs: The atoms.
    """
    defined = {v: equation for equation in equations for v in equation.outvars}
    read = [v for equation in equations for v in equation.invars if not isinstance(v, Literal)]
    spread = [v for v in outputs if not isinstance(v, Literal) and _is_spread(v, defined) and v not in read]
    spread = [v for v in spread if outputs.count(v) == 1]
    own = {id(defined[v]) for v in spread}
    operands = [v for name in spread for v in defined[name].invars]
    others = [v for v in outputs if v not in spread]
    found = evaluated([e for e in equations if id(e) not in own], known, [*others, *operands])
    values = dict(zip(map(id, others), found, strict=False))
    supply = iter(found[len(others) :])
    given = {v: [next(supply) for _ in defined[v].invars] for v in spread}
    return [
        partial(_onto, defined[v], given[v])
        if not isinstance(v, Literal) and v in given
        else partial(_plus, values[id(v)])
        for v in outputs
    ]


def _plus(value: Any, total: Any) -> Any:
    return value if total is None else total + value


_SPREADING: Final = ("scatter-add", "dynamic_update_slice")


def _is_spread(variable: Any, defined: dict[Any, Any]) -> bool:
    """Whether an array is zero but for a part that is written to it."""
    equation = defined.get(variable)
    if equation is None or equation.primitive.name not in _SPREADING:
        return False
    operand = equation.invars[0]
    base = None if isinstance(operand, Literal) else defined.get(operand)
    return base is not None and base.primitive.name == "broadcast_in_dim" and _is_zero(base.invars[0])


def _is_zero(atom: Any) -> bool:
    return isinstance(atom, Literal) and atom.val == 0


def _onto(equation: Any, operands: Sequence[Any], total: Any) -> Any:
    """The total with a part added to it."""
    if total is None:
        return as_it_is(equation, operands)[0]
    _, *others = operands
    if equation.primitive.name == "dynamic_update_slice":
        part, *start = others
        there = jax.lax.dynamic_slice(total, start, part.shape)
        return jax.lax.dynamic_update_slice(total, jnp.add(there, part), start)
    return as_it_is(equation, [total, *others])[0]
