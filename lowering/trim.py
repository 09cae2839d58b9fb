"""A function on named arrays -> the same function on only those it uses, giving back only those it changes.

A value of many arrays that passes through a block, one of them changed, is then one operand and one result of the
conditional around the block, not many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch._jax import Literal, jaxpr_as_fun


@dataclass(frozen=True)
class Trimmed:
    """A function on slots that takes only those it uses and gives back only those it changes.

    Attributes:
        reads: Slots it takes.
        writes: Slots it changes.
        run: ``reads -> writes``.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    run: Callable[..., list[Any]]


def trimmed(run: Callable[..., Any], reads: Sequence[str], writes: Sequence[str], avals: Mapping[str, Any]) -> Trimmed:
    """Trace a function on slots once, and leave out what it does not use or change."""
    given = [avals[slot] for slot in reads]
    closed = jax.jit(lambda *values: list(run(*values)), keep_unused=True).trace(*given).jaxpr
    jaxpr = closed.jaxpr
    entering = dict(zip(reads, jaxpr.invars, strict=True))
    kept = [i for i, (slot, var) in enumerate(zip(writes, jaxpr.outvars, strict=True)) if entering.get(slot) is not var]
    used = {v for equation in jaxpr.eqns for v in equation.invars if not isinstance(v, Literal)}
    used |= {jaxpr.outvars[i] for i in kept if not isinstance(jaxpr.outvars[i], Literal)}
    taken = [i for i, var in enumerate(jaxpr.invars) if var in used]
    function = jaxpr_as_fun(closed)

    def of_used(*values: Any) -> list[Any]:
        supply = dict(zip(taken, values, strict=True))
        results = function(*(supply[i] if i in supply else jnp.zeros(a.shape, a.dtype) for i, a in enumerate(given)))
        return [results[i] for i in kept]

    return Trimmed(tuple(reads[i] for i in taken), tuple(writes[i] for i in kept), of_used)
