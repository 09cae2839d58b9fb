"""A function on named arrays -> the function without operands that it does not use or results that it does not change.

A block that changes one array of a variable that has many then gives back one array to the loop or branch around it,
not all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax

from hlobatch._jax import Aval, ClosedJaxpr, jaxpr_as_fun
from hlobatch.ir.evaluation import variables_among


@dataclass(frozen=True)
class Part:
    """Some results of a function that is traced once, and the operands that these need.

    Attributes:
        whole: The function, jitted.
        traced: The trace of it.
        avals: Shapes and dtypes of its operands.
        taken: Positions of the operands that are needed.
        kept: Positions of the results.
    """

    whole: Any
    traced: Any
    avals: Sequence[Aval]
    taken: Sequence[int]
    kept: Sequence[int]

    @staticmethod
    def all_of(function: Callable[..., Sequence[Any]], avals: Sequence[Aval]) -> Part:
        """A function of flat arguments, with all operands and results."""
        whole = jax.jit(lambda *values: list(function(*values)), keep_unused=True)
        traced = whole.trace(*avals)
        return Part(whole, traced, avals, range(len(avals)), range(len(traced.out_info)))

    @property
    def results(self) -> list[Any]:
        """The avals of the results."""
        every = self.traced.jaxpr.out_avals
        return [every[i] for i in self.kept]

    @cached_property
    def code(self) -> ClosedJaxpr:
        """The jaxpr that computes the results."""
        whole: Any = self.traced.jaxpr.jaxpr
        taken, kept = [whole.invars[i] for i in self.taken], [whole.outvars[i] for i in self.kept]
        return ClosedJaxpr(whole.replace(invars=taken, outvars=kept), self.traced.jaxpr.consts)

    def __call__(self, *values: Any) -> list[Any]:
        """The results, computed in place instead of in a call."""
        return list(jaxpr_as_fun(self.code)(*values))


def code_of(function: Callable[..., Sequence[Any]], avals: Sequence[Aval]) -> ClosedJaxpr:
    """The jaxpr of a function of flat arguments; a ``Part`` has been traced already, others are traced here."""
    return function.code if isinstance(function, Part) else jax.make_jaxpr(function)(*avals)


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
    every = Part.all_of(run, [avals[slot] for slot in reads])
    jaxpr = every.traced.jaxpr.jaxpr
    entering = dict(zip(reads, jaxpr.invars, strict=True))
    kept = [i for i, (slot, var) in enumerate(zip(writes, jaxpr.outvars, strict=True)) if entering.get(slot) is not var]
    used = {v for equation in jaxpr.eqns for v in variables_among(equation.invars)}
    used |= {*variables_among(jaxpr.outvars[i] for i in kept)}
    taken = [i for i, var in enumerate(jaxpr.invars) if var in used]
    part = replace(every, taken=taken, kept=kept)
    return Trimmed(tuple(reads[i] for i in taken), tuple(writes[i] for i in kept), part)
