"""A block -> a guess of the seconds it takes on a CPU, and the number of turns that a visit of it counts for.

A stretch is a number of turns (``runtime/pace.py``). A visit of a block that takes much longer than a turn counts as
several turns, so that a stretch in which lanes visit that block takes no longer than others.

``cost.py`` counts one operation for each element of a result. XLA's code for some primitives takes ten to three hundred
times as long, which matters for absolute times: a sort calls a comparison for each pair of elements, and libraries have
a speed of their own.

Measured with 20 lanes of 1,000 numbers, or of 20 x 20, on two cores with AVX-512 (jax 0.10.2, 2026-11).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from hlobatch._jax import Equation, Jaxpr, subjaxprs_of
from hlobatch.analysis.cost import UNKNOWN_TRIPS, block_cost, jaxprs_of
from hlobatch.ir.program import Block, Program
from hlobatch.jax_primitives import Trait, having

SECONDS_AN_OPERATION: Final = 3e-10
"""Time assumed for an operation on a number, before a run was timed."""
SECONDS_A_TURN: Final = 1e-6
"""Time assumed for a turn, its operations aside, before a run was timed."""
LEAST_TURNS_COUNTED: Final = 50
"""Least number of turns that a visit counts for, if it counts for more than one. Chosen by judgement (2026-11), not
measured."""
MOST_TURNS_COUNTED: Final = 1 << 20


def seconds_of(program: Program, block: Block) -> float:
    """A guess of the time that a block takes in a lane."""
    return block_cost(program, block) * SECONDS_AN_OPERATION + sum(map(_of_jaxpr, jaxprs_of(block)))


def turns_counted(seconds: float) -> int:
    """How many more turns a visit of blocks counts as, given its time; 0 if these are few."""
    turns = min(round(seconds / SECONDS_A_TURN), MOST_TURNS_COUNTED)
    return turns if turns >= LEAST_TURNS_COUNTED else 0


def _of_jaxpr(jaxpr: Jaxpr) -> float:
    return sum((_of_equation(equation) for equation in jaxpr.eqns), 0.0)


def _of_equation(equation: Equation) -> float:
    name = equation.primitive.name
    if name in _SLOW:
        return _SLOW[name](equation)
    trips = float({"scan": equation.params.get("length", 1), "while": UNKNOWN_TRIPS}.get(name, 1))
    return trips * sum((_of_jaxpr(inner) for inner in subjaxprs_of(equation)), 0.0)


Seconds = Callable[[Any], float]
"""A function from an equation to the seconds that it takes."""


def _taken(equation: Equation) -> int:
    """Elements of the first operand."""
    return math.prod(equation.invars[0].aval.shape)


def _each(nanoseconds: float) -> Seconds:
    """A time proportional to the elements of the first operand."""
    return lambda equation: 1e-9 * nanoseconds * _taken(equation)


def _sort(equation: Equation) -> float:
    """Cost of a sort per element: the comparisons of a binary search, times the number of arrays sorted together."""
    length = equation.invars[0].aval.shape[equation.params["dimension"]]
    return float(20e-9 * len(equation.invars) * _taken(equation) * math.log2(max(length, 2)))


def _window(equation: Equation) -> float:
    """A time proportional to the elements of all windows."""
    window = math.prod(equation.params["window_dimensions"])
    return float(1.3e-9 * window * math.prod(equation.outvars[0].aval.shape))


def _convolution(equation: Equation) -> float:
    return float(0.3e-9 * math.prod(equation.outvars[0].aval.shape) * math.prod(equation.invars[1].aval.shape))


def _matrix(nanoseconds: float) -> Seconds:
    """The time of an operation on matrices: for each element, the given one, and as much again per 30 columns."""
    return lambda equation: 1e-9 * nanoseconds * _taken(equation) * (1 + equation.invars[0].aval.shape[-1] / 30)


_SLOW: Final[Mapping[str, Seconds]] = MappingProxyType(
    {
        **dict.fromkeys(having(Trait.LAPACK), _matrix(100.0)),
        **dict.fromkeys(("cholesky", "lu", "triangular_solve"), _matrix(15.0)),
        **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), _each(8.0)),
        **dict.fromkeys(("argmax", "argmin"), _each(15.0)),
        **dict.fromkeys(("reduce_window", "reduce_window_max", "reduce_window_min", "reduce_window_sum"), _window),
        "conv_general_dilated": _convolution,
        "digamma": _each(75.0),
        "fft": _each(12.0),
        "lgamma": _each(25.0),
        "sort": _sort,
        "top_k": _each(5.0),
    }
)
