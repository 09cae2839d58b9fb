"""Functions of numbers whose derivative is zero where what it is multiplied by is zero, however steep the function is.

::

    y = sqrt(x)                       the cotangent of x: zero if that of y is zero, even if x is zero and the slope
    return y if x > 0 else x          infinite; else the cotangent of y times the slope

A derivative is that of the path that a lane took. But a lane may compute values that its result does not depend on:
before a branch that does not read them, on the side of a conditional expression that is not selected, or in a statement
that raises. Their cotangents are zero, and zero times an infinite slope would be a NaN, which the sum with all other
cotangents would be, too. In forward mode, the tangent of a variable that is constant on the path is zero, likewise.

``certain.py`` finds the equations to which this may happen. Only a NaN is replaced. So a product of a zero and a finite
slope keeps its own derivative, which higher derivatives need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from hlobatch._jax import Equation, Literal
from hlobatch.ir.evaluation import as_it_is

STEEP: Final = frozenset((
    "mul", "div", "rem", "pow", "integer_pow", "square", "sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1", "log",
    "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "logistic", "erf", "erfc", "erf_inv", "lgamma", "digamma", "abs",
))  # fmt: skip
"""Primitives of which each element of the result depends on one element of each operand, by a slope that may be
infinite or a NaN."""

Rule = Callable[[Equation, Sequence[Any]], Sequence[Any]]
"""The results of an equation, with derivatives of its own."""


def is_called(equation: Equation) -> bool:
    """Whether an equation is a call that has no derivative rule of its own."""
    return bool(equation.primitive.name == "jit")


def is_steep(equation: Equation) -> bool:
    """Whether an equation computes such a function of floats, of arrays of one shape."""
    if equation.primitive.name not in STEEP:
        return False
    (result,) = (v.aval for v in equation.outvars)
    operands = [equation.invars[i].aval for i in _varied(equation)]
    return all(jnp.issubdtype(a.dtype, jnp.floating) and a.shape == result.shape for a in (result, *operands))


def _varied(equation: Equation) -> list[int]:
    """The positions of the operands that may have derivatives; a literal has none."""
    return [
        i
        for i, atom in enumerate(equation.invars)
        if jnp.issubdtype(atom.aval.dtype, jnp.inexact) and not isinstance(atom, Literal)
    ]


def in_forward_mode(equation: Equation, given: Sequence[Any]) -> list[Any]:
    """The results of such an equation, for ``jax.jvp``."""

    @jax.custom_jvp
    def run(*operands: Any) -> Any:
        return as_it_is(equation, operands)[0]

    def tangent(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        total = None
        for place, own in enumerate(tangents):
            if isinstance(own, SymbolicZero):
                continue

            def of_one(x: Any, place: int = place) -> Any:
                return as_it_is(equation, [*primals[:place], x, *primals[place + 1 :]])[0]

            _, dot = jax.jvp(of_one, (primals[place],), (own,))
            dot = _zero_if_given(own, dot)
            total = dot if total is None else total + dot
        (result,) = as_it_is(equation, primals)
        return result, jnp.zeros_like(result) if total is None else total

    run.defjvp(tangent, symbolic_zeros=True)
    return [run(*given)]


def in_reverse_mode(equation: Equation, given: Sequence[Any]) -> list[Any]:
    """The results of such an equation, for ``jax.vjp``."""
    places = _varied(equation)

    @jax.custom_vjp
    def run(*operands: Any) -> Any:
        return as_it_is(equation, operands)[0]

    def forward(*operands: Any) -> tuple[Any, Any]:
        def of_floats(*some: Any) -> Any:
            values = list(operands)
            for place, x in zip(places, some, strict=True):
                values[place] = x
            return as_it_is(equation, values)[0]

        return jax.vjp(of_floats, *(operands[i] for i in places))

    def back(pull: Callable[[Any], Any], bar: Any) -> tuple[Any, ...]:
        found = dict(zip(places, (_zero_if_given(bar, own) for own in pull(bar)), strict=True))
        return tuple(found.get(i) for i in range(len(given)))

    run.defvjp(forward, back)
    return [run(*given)]


def _zero_if_given(one: Any, product: Any) -> Any:
    """The product of a tangent or cotangent and a slope, but zero instead of a NaN if the first is zero."""
    is_void = jax.lax.bitwise_and(jax.lax.ne(product, product), jax.lax.eq(one, jnp.zeros_like(one)))
    return jax.lax.select(is_void, jnp.zeros_like(product), product)
