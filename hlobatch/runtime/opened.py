"""Plans made from other plans, and plans that take another plan's captured arrays as inputs.

An array that the user's function closes over may have a tangent, or be mapped over. Then it has to be an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hlobatch.gradients.closures import with_captured_as_inputs
from hlobatch.ir.ops import LogOp, Op
from hlobatch.ir.program import Program
from hlobatch.runtime.plan import Plan, Reverse
from hlobatch.typing import Arrays


def derived(plan: Plan, program: Program, shared: frozenset[str], inputs: tuple[int, ...] | None = None) -> Plan:
    """The plan of a program that was made from a plan's program; ``inputs`` are those with tangents, if it has any."""
    tangents_of = None if inputs is None else (plan, inputs)
    return replace(plan, specialized=program, shared=shared, grown=[], tangents_of=tangents_of, cotangents_of=None)


def quiet(plan: Plan) -> Plan:
    """The plan of the same program without effects on the host."""
    if not plan.has_effects:
        return plan

    def made() -> Plan:
        def kept(op: Op) -> tuple[Op, ...]:
            return () if isinstance(op, LogOp) else (op,)

        program = plan.specialized
        silent = program.map_graphs(lambda graph: graph.map_blocks(lambda block: block.expand_instructions(kept)))
        return derived(plan, silent.replace(effects=()), plan.shared)

    found: Plan = plan.derived("quiet", made)
    return found


def split(plan: Plan, operands: Arrays) -> tuple[Sequence[Any], Sequence[Any]]:
    """The captured arrays and the inputs, from the operands of a run."""
    count = len(plan.captures.arrays)
    return operands[:count], operands[count:]


def with_captured(plan: Plan, other: Plan, captured: Arrays) -> list[Any]:
    """Values of the arrays that a plan captures, in its order.

    Args:
        plan: The plan. It may capture more arrays than ``other``, in another order, if it was optimized for other
            inputs.
        other: A plan of the same function.
        captured: Values of the arrays that ``other`` captures, in its order.
    """
    known = {id(a): x for a, x in zip(other.captures.arrays, captured, strict=True)}
    return list(plan.captures.operands(known))


class Opened(NamedTuple):
    """A plan that takes some captured arrays of another plan as inputs.

    Attributes:
        plan: The plan.
        places: The positions of these arrays among the captured arrays of the other plan.
    """

    plan: Plan
    places: tuple[int, ...]

    def operands(self, like: Plan, operands: Arrays) -> list[Any]:
        """The operands of this plan, from the operands of the other."""
        captured, inputs = split(like, operands)
        return [*with_captured(self.plan, like, captured), *inputs, *(captured[i] for i in self.places)]

    def belonging(self, like: Plan, each: Sequence[Any], nothing: Any) -> list[Any]:
        """Data for each operand of this plan (tangents, mapped axes), from that for the operands of the other.

        Args:
            like: The other plan.
            each: The data for the other plan's operands.
            nothing: The data for an array that is still captured.
        """
        captured, inputs = split(like, each)
        return [nothing] * len(self.plan.captures.arrays) + [*inputs, *(captured[i] for i in self.places)]


def _opened(plan: Plan, arrays: Arrays) -> Reverse | None:
    """The ``cotangents_of`` of a plan in which some captured arrays are inputs; None if it computes no cotangents."""
    of = plan.cotangents_of
    if of is None:
        return None
    places = {id(array): place for place, array in enumerate(of.plan.captures.arrays)}
    if not places.keys() >= set(map(id, arrays)):
        return None
    without = opened_at(of.plan, tuple(places[id(array)] for array in arrays)).plan
    count = len(plan.input_shared)
    return of._replace(plan=without, known=(*of.known, *range(count, count + len(arrays))))


def opened_at(plan: Plan, places: tuple[int, ...]) -> Opened:
    """The plan that takes the captured arrays at these positions as inputs."""

    def made() -> Opened:
        arrays = [plan.captures.arrays[i] for i in places]
        with plan.as_typed():
            program = with_captured_as_inputs(plan.specialized, arrays)
        shared = plan.shared.union(program.vars_in[len(plan.specialized.vars_in) :])
        return Opened(replace(derived(plan, program, shared), cotangents_of=_opened(plan, arrays)), places)

    found: Opened = plan.derived(("opened", places), made)
    return found
