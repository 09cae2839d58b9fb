"""``a if c else b``, ``and``, ``or`` and chained comparisons in lambdas and comprehensions -> selects.

::

    [x if x > 0 else 0 for x in xs]    ==>    [__hb_choose(x > 0, lambda: x, lambda: 0) for x in xs]

Elsewhere these are control flow; a lambda or a comprehension is straight-line code, which Python runs as it is traced.
If the condition differs between lanes, both sides are computed and one is selected. If it is known when the program is
built, only the side that is taken is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from hlobatch.frontend.builtins import is_array, truth
from hlobatch.frontend.lane_numbers import select
from hlobatch.frontend.sequences import both, compare
from hlobatch.values.lane_failures import where

Later = Callable[[], Any]


def choose(test: Any, then: Later, otherwise: Later) -> Any:
    """``then() if test else otherwise()``."""
    holds = truth(test)
    if type(holds) is bool:
        return then() if holds else otherwise()
    with where(holds):
        one = then()
    with where(jnp.logical_not(holds)):
        other = otherwise()
    return select(holds, one, other)


def conjunction(value: Any, *others: Later) -> Any:
    """``value and …``: the first operand that is false, else the last."""
    return _decided(True, value, others)


def disjunction(value: Any, *others: Later) -> Any:
    """``value or …``: the first operand that is true, else the last."""
    return _decided(False, value, others)


def _decided(goes_on: bool, value: Any, others: tuple[Later, ...]) -> Any:
    if not others:
        return value
    holds = truth(value)
    if type(holds) is bool:
        return _decided(goes_on, others[0](), others[1:]) if holds is goes_on else value
    with where(holds if goes_on else jnp.logical_not(holds)):
        rest = _decided(goes_on, others[0](), others[1:])
    if all(type(side) is bool or (is_array(side) and side.dtype == jnp.bool_) for side in (value, rest)):
        return jnp.logical_and(value, rest) if goes_on else jnp.logical_or(value, rest)
    return select(holds, rest, value) if goes_on else select(holds, value, rest)


def chain(operations: tuple[str, ...], value: Any, *others: Later) -> Any:
    """``value < others[0]() <= …``, with operations named as in ``operator``."""
    found: Any = True
    for operation, other in zip(operations, others, strict=True):
        with where(found):
            right = other()
            found = both((found, truth(compare(operation, value, right))))
        if found is False:
            break
        value = right
    return found
