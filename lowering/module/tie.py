"""The function of a block -> the same function, from whose loop XLA moves no loop-invariant code out.

::

    while(turns) { r = r + f(%a) * r }    ==>    while(turns) { r = r + f(turns ? %a : 0) * r }

A block that may be passed over stands in a loop that turns once or not at all. Code of the block that reads only
registers that the block does not change is invariant in that loop. XLA's loop-invariant code motion would move it out,
to where it runs whether or not the block does. To prevent that, a register is *tied* to the loop: it goes through a
select whose condition always holds, but reads a scalar that the loop changes, so that XLA takes the register to change,
too. XLA fuses the select into whatever reads the register, except into a call of a library, for which it copies the
register. So only registers are tied without which some code could be moved out: a matrix that is multiplied by what the
block changes is not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import jax.numpy as jnp

from hlobatch._jax import Aval, Equation, Jaxpr, Literal, operands_of_scan
from hlobatch.ir.evaluation import inlined, variables_among
from hlobatch.jax_primitives import FREE
from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.module.trim import Trimmed, code_of
from hlobatch.typing import ArrayLike

_NOTHING: Final = frozenset[str]()


def slots_to_tie(part: Trimmed, slots: Collection[str]) -> list[str]:
    """The slots to tie, small ones rather than large, so that XLA can move no code of a function out of its loop.

    Args:
        part: A function on slots.
        slots: The slots that it reads and its loop does not change.
    """
    jaxpr: Jaxpr = inlined(code_of(part.run, ())).jaxpr
    entering = list(zip(jaxpr.invars, part.reads, strict=True))
    search = _Search({slot: _size(v.aval) for v, slot in entering})
    changing = {v for v, slot in entering if slot in part.writes}
    search.look_through(jaxpr, {v: frozenset([slot]) for v, slot in entering if slot in slots}, changing)
    return [slot for slot in part.reads if slot in search.tied]


@dataclass
class _Search:
    """A search for code that could be moved out of a loop.

    Attributes:
        sizes: The sizes of all slots.
        tied: The slots that have to be tied, of those seen so far.
    """

    sizes: Mapping[str, int]
    tied: set[str] = field(default_factory=set)

    def look_through(self, jaxpr: Jaxpr, known: Mapping[Any, frozenset[str]], changing: Collection[Any]) -> None:
        """Find equations that could be moved out of code, and tie a slot that each of them reads.

        Args:
            jaxpr: The code, without calls.
            known: By value, the slots that it is computed from, if the loop changes none of them.
            changing: Values that change from turn to turn.
        """
        sources, changing = dict(known), set(changing)
        for equation in jaxpr.eqns:
            given = variables_among(equation.invars)
            slots = _NOTHING.union(*(sources.get(v, _NOTHING) for v in given))
            for inner, operands in _inner(equation):
                always = {v: x for v, x in zip(inner.invars, operands, strict=True) if not isinstance(x, Literal)}
                own = {v: sources[x] for v, x in always.items() if x in sources}
                self.look_through(inner, own, {v for v, x in always.items() if x is None or x in changing})
            may_be_moved = slots and changing.isdisjoint(given) and self.tied.isdisjoint(slots)
            if may_be_moved and equation.primitive.name not in FREE:
                self.tied.add(min(sorted(slots), key=self.sizes.__getitem__))
            if may_be_moved and equation.primitive.name in FREE:
                sources.update(dict.fromkeys(equation.outvars, slots))
            elif slots or not changing.isdisjoint(given):
                changing.update(equation.outvars)


def _inner(equation: Equation) -> Iterator[tuple[Any, Sequence[Any]]]:
    """The jaxprs of loops and branches in an equation, each with the operand that each argument always is, or None."""
    params, operands = equation.params, equation.invars
    match equation.primitive.name:
        case "scan":
            always, *others = operands_of_scan(params, operands)
            yield params["jaxpr"].jaxpr, [*always, *(None for each in others for _ in each)]
        case "while":
            first, second = params["cond_nconsts"], params["body_nconsts"]
            carried = [None] * (len(operands) - first - second)
            yield params["cond_jaxpr"].jaxpr, [*operands[:first], *carried]
            yield params["body_jaxpr"].jaxpr, [*operands[first : first + second], *carried]
        case "cond":
            yield from ((branch.jaxpr, operands[1:]) for branch in params["branches"])


def _size(aval: Aval) -> int:
    """The size of an array in elements; if the number of lanes is not known, the size for one lane."""
    return math.prod(size for size in aval.shape if isinstance(size, int))


def tied(part: Trimmed, slots: Sequence[str], anchor: str, *, lightly: bool = True) -> Trimmed:
    """The function tied to the loop that it runs in.

    Args:
        part: A function on slots.
        slots: The slots that it reads and its loop does not change.
        anchor: A scalar slot that it writes, and that is never negative.
        lightly: Whether to tie only the slots that have to be tied.
    """
    places = frozenset(part.reads.index(slot) for slot in (slots_to_tie(part, slots) if lightly else slots))
    if not places:
        return part
    reads = part.reads if anchor in part.reads else (*part.reads, anchor)
    position = reads.index(anchor)

    def run(*values: Any) -> list[Any]:
        always = values[position] >= 0  # always true, which XLA does not know
        given = (_if(always, v) if i in places else v for i, v in enumerate(values[: len(part.reads)]))
        return part.run(*given)

    return replace(part, reads=reads, run=run)


def _if(always: Any, array: ArrayLike) -> Any:
    """The array, through a select that always chooses it."""
    return where(always, array, jnp.zeros((), array.dtype))
