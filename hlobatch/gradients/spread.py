"""Adds cotangents that are mostly zero, or an outer product, to a total in place.

::

    %ct   = the cotangent of table[i]                     the total of table's cotangents:
    %zero = broadcast 0                             ==>
    %bar  = scatter-add %zero, i, %ct                     %total = scatter-add %total, i, %ct
    %total = add %total, %bar

JAX's transpose of an indexed read makes a whole array of zeros with the part in it. Adding that to a total takes time
in proportion to the size of the array, each time that a lane reads one item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch._jax import Atom, Equation, Literal
from hlobatch.ir.evaluation import as_it_is, evaluated
from hlobatch.ir.outer import with_outer_product
from hlobatch.typing import Arrays

Adder = Callable[[Any], Any]
"""Adds something to a total; the total None stands for zeros."""


def added_in_place(equations: Sequence[Equation], known: dict[Any, Any], outputs: Arrays) -> list[Adder]:
    """For each atom in ``outputs``, a function that adds its value to a total.

    Args:
        equations: The equations that compute the atoms, in order.
        known: The values of variables before the equations.
        outputs: The atoms.
    """
    defined = {v: equation for equation in equations for v in equation.outvars}
    read = [v for equation in equations for v in equation.invars if not isinstance(v, Literal)]
    parts = [(v, defined[v]) for v in outputs if not isinstance(v, Literal) and v in defined and v not in read]
    alone = {v: equation for v, equation in parts if outputs.count(v) == 1}
    found: dict[Any, tuple[Sequence[Any], Callable[..., Any]]] = {}
    for v, equation in alone.items():
        if _is_spread(v, defined):
            found[v] = equation.invars, partial(_onto, equation)
        elif (factors := _factors(equation, defined, read)) is not None:
            found[v] = factors, _with_product
    own = {id(defined[v]) for v in found}
    operands = [atom for atoms, _ in found.values() for atom in atoms]
    others = [v for v in outputs if isinstance(v, Literal) or v not in found]
    values = evaluated([e for e in equations if id(e) not in own], known, [*others, *operands])
    plain, supply = iter(values[: len(others)]), iter(values[len(others) :])
    adders = {v: partial(add, [next(supply) for _ in atoms]) for v, (atoms, add) in found.items()}
    return [partial(_plus, next(plain)) if isinstance(v, Literal) or v not in adders else adders[v] for v in outputs]


def _factors(equation: Equation, defined: dict[Any, Any], read: Sequence[Any]) -> Sequence[Any] | None:
    """The factors of the outer product that an equation computes, maybe transposed; None if it computes none."""
    if equation.primitive.name == "dot_general" and not any(map(any, equation.params["dimension_numbers"])):
        return tuple(equation.invars)
    (operand, *_) = equation.invars
    if equation.primitive.name != "transpose" or isinstance(operand, Literal) or read.count(operand) != 1:
        return None
    product = defined.get(operand)
    if product is None or (factors := _factors(product, {}, read)) is None:
        return None
    one, other = (len(v.aval.shape) for v in factors)
    is_turned = tuple(equation.params["permutation"]) == (*range(one, one + other), *range(one))
    return factors[::-1] if is_turned else None


def _with_product(factors: Arrays, total: Any) -> Any:
    one, other = factors
    return jnp.tensordot(one, other, axes=0) if total is None else with_outer_product(total, one, other)


def _plus(value: Any, total: Any) -> Any:
    return value if total is None else total + value


_SPREADING: Final = ("scatter-add", "dynamic_update_slice")


def _is_spread(variable: Atom, defined: dict[Any, Any]) -> bool:
    """Whether an array is zero except for a part that is written to it."""
    equation = defined.get(variable)
    if equation is None or equation.primitive.name not in _SPREADING:
        return False
    operand = equation.invars[0]
    base = None if isinstance(operand, Literal) else defined.get(operand)
    return base is not None and base.primitive.name == "broadcast_in_dim" and _is_zero(base.invars[0])


def _is_zero(atom: Atom) -> bool:
    return isinstance(atom, Literal) and atom.val == 0


def _onto(equation: Equation, operands: Arrays, total: Any) -> Any:
    """The total with the part added to it."""
    if total is None:
        return as_it_is(equation, operands)[0]
    _, *others = operands
    if equation.primitive.name == "dynamic_update_slice":
        part, *start = others
        axes = tuple(range(part.ndim))
        numbers = jax.lax.ScatterDimensionNumbers(axes, (), axes)
        at = jnp.stack([jnp.asarray(i, jnp.int32) for i in start])
        return jax.lax.scatter_add(total, at, part, numbers, unique_indices=True, mode=jax.lax.GatherScatterMode.CLIP)
    return as_it_is(equation, [total, *others])[0]
