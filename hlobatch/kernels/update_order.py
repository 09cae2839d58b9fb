"""The equations of a jaxpr -> an order in which each update of an array comes after the reads of the old array.

In such an order, arrays can be updated in place. In ``x.at[i].set(x[j]).at[j].set(x[i])``, for example, the old ``x``
is read again after its first update.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hlobatch._jax import Equation
from hlobatch.ir.evaluation import variables_among
from hlobatch.jax_primitives import ALIASES, UPDATES


def updates_last(equations: Sequence[Equation]) -> list[Any]:
    """The equations with updates behind other uses of the array, as far as dependences allow it."""
    order = list(equations)
    uses = Counter(v for e in order for v in variables_among(e.invars))
    views = {v for e in order if e.primitive.name in ALIASES for v in e.outvars}
    for update in [e for e in equations if e.primitive.name in UPDATES]:
        target = update.invars[0]
        if uses[target] > 1 or target in views:
            order = _moved(order, update)
    return order


def _moved(order: list[Any], update: Any) -> list[Any]:
    """Move an update behind the later equations that read the old array and do not depend on the update."""
    at = next(i for i, e in enumerate(order) if e is update)
    later = order[at + 1 :]
    there = _lying_there(order, update)
    depends = set(update.outvars)
    for e in later:
        if not depends.isdisjoint(variables_among(e.invars)):
            depends.update(e.outvars)
    wanted: set[Any] = set()
    before: list[Any] = []
    for e in reversed(later):
        reads = not there.isdisjoint(variables_among(e.invars)) and depends.isdisjoint(e.outvars)
        if reads or not wanted.isdisjoint(e.outvars):
            before.append(e)
            wanted.update(variables_among(e.invars))
    ids = set(map(id, before))
    return [*order[:at], *reversed(before), update, *[e for e in later if id(e) not in ids]]


def _lying_there(order: Sequence[Any], update: Any) -> set[Any]:
    """The variables that share the memory of an update's operand: its aliases, such as reshaped arrays."""
    there = {update.invars[0]}
    for e in reversed(order):
        if e.primitive.name in ALIASES and not there.isdisjoint(e.outvars):
            there.update(variables_among(e.invars[:1]))
    for e in order:
        if e.primitive.name in ALIASES and not there.isdisjoint(variables_among(e.invars[:1])):
            there.update(e.outvars)
    return there
