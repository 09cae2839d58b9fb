"""A loop -> its trip count, if that is the same for every lane that reaches the loop (a uniform counted loop).

It is the same if the loop is a single block whose counter goes, by a constant integer step, from a number that is
assigned before the loop to a bound that is known or that all lanes share. Other variables may differ between lanes, and
lanes may reach the loop at different times. The trip count of a loop of several blocks serves only as a guess of
whether lanes take about equally long.

References:
    Bacon, Graham and Sharp, "Compiler transformations for high-performance computing", ACM Computing Surveys 26, 1994,
    on counted loops. Karrenberg and Hack, "Whole-function vectorization", CGO 2011, on branches that are uniform.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from hlobatch._jax import Atom, Jaxpr, Literal
from hlobatch.ir.code import JaxprCode
from hlobatch.ir.ops import BranchOp, GotoOp, PrimOp
from hlobatch.ir.program import Block, ControlFlowGraph
from hlobatch.typing import DType

_RELATIONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@dataclass(frozen=True)
class UniformLoop:
    """A loop of one block, tested at its end.

    Attributes:
        block: The block.
        after: The successor outside of the loop.
        before: The predecessors outside of the loop.
        turns: The trip count; None if it is not known, and the condition is tested before the first turn too.
        starts: Definitions of variables that every predecessor gives the same value, the counter among them.
    """

    block: Block
    after: str
    before: tuple[Block, ...]
    turns: int | None
    starts: Mapping[str, PrimOp]


def uniform_loop(graph: ControlFlowGraph, block: Block, shared: AbstractSet[str]) -> UniformLoop | None:
    """A block as a uniform counted loop; None if it is no loop, or if its trip count may differ between lanes.

    Args:
        graph: The graph of the block.
        block: The block.
        shared: Variables that have the same value in every lane.
    """
    branch = block.terminator
    if not isinstance(branch, BranchOp) or block.name != branch.true_block or block.name == branch.false_block:
        return None
    if block is graph.enter_block() or not all(isinstance(op, PrimOp) for op in block.instructions):
        return None
    before = tuple(graph.block(name) for name in graph.predecessors[block.name] if name != block.name)
    test, starts = _test(block), _starts(block, before)
    if test is None or test.counter not in starts or not all(_leads_to(each, block) for each in before):
        return None
    start, step = _whole_number(starts[test.counter]), _step(block, test.counter)
    if start is None or step is None:
        return None
    is_asked = [isinstance(each.terminator, BranchOp) for each in before]
    if isinstance(test.bound, int):
        turns = _turns(start, step, test, is_asked=any(is_asked))
        if turns is None:
            return None
    else:
        turns = None
        surely_ends = (test.relation, step) in (
            ("lt", 1),
            ("gt", -1),
        )  # a step of one cannot pass the bound
        if not (test.bound in shared and all(is_asked) and surely_ends):
            return None
    return UniformLoop(block, branch.false_block, before, turns, starts)


class _Test(NamedTuple):
    """The condition of a loop: a comparison of its counter with a bound."""

    counter: str
    relation: str
    bound: str | int
    dtype: DType


def _test(block: Block) -> _Test | None:
    """The condition of a loop, if it compares a number that the block assigns with one that it does not; else None."""
    (condition,) = block.terminator.uses
    equation = _equation(_definition(block, condition), _RELATIONS)
    if equation is None:
        return None
    name, left, right, dtype = equation
    for counter, relation, bound in ((left, name, right), (right, _MIRRORED[name], left)):
        if isinstance(counter, str) and 0 <= _place(block, counter) < _place(block, condition):
            if bound is None or (isinstance(bound, str) and _place(block, bound) >= 0):
                return None
            return _Test(counter, relation, bound, dtype)
    return None


def _step(block: Block, counter: str) -> int | None:
    """The constant that a turn adds to the counter; None if the block changes the counter in another way."""
    if sum(counter in op.defs for op in block.instructions) != 1:
        return None
    equation = _equation(_definition(block, counter), ("add", "sub"))
    if equation is None:
        return None
    name, left, right, _ = equation
    if name == "add" and right == counter:
        left, right = right, left
    if left != counter or not isinstance(right, int) or right == 0:
        return None
    return right if name == "add" else -right


def _turns(start: int, step: int, test: _Test, *, is_asked: bool) -> int | None:
    """The trip count of a loop tested at its end, and before it too if ``is_asked``; None if it is not known."""
    relation, bound = test.relation, test.bound
    assert isinstance(bound, int)
    if is_asked and not _RELATIONS[relation](start, bound):
        return None  # the loop is not entered
    if (relation in ("lt", "le")) != (step > 0):
        return None
    ending = bound + (relation == "le") - (relation == "ge")  # the first value for which the condition fails
    turns = max(1, -((start - ending) // step))
    limits = np.iinfo(test.dtype)
    return turns if limits.min <= start + turns * step <= limits.max else None


# Before a loop


def _leads_to(before: Block, block: Block) -> bool:
    """Whether a block always goes on to a loop, or does so under the loop's own condition."""
    end, branch = before.terminator, block.terminator
    if isinstance(end, GotoOp):
        return not before.instructions or isinstance(before.instructions[-1], PrimOp)  # not after a call
    if not isinstance(end, BranchOp) or end.successors != branch.successors:
        return False
    asked, again = _definition(before, end.cond_var), _definition(block, *branch.uses)
    if asked is None or asked != again:
        return False
    return all(_place(before, v) < _place(before, end.cond_var) for v in asked.vars_in)


def _starts(block: Block, before: Sequence[Block]) -> dict[str, PrimOp]:
    """The definitions of variables that the loop reads, if all predecessors give the variable the same constant."""
    found: dict[str, PrimOp] = {}
    for name in dict.fromkeys(v for op in block.ops for v in op.uses):
        first, *others = [_definition(each, name) for each in before] or [None]
        if first is not None and first.vars_out == (name,) and _is_given(first):
            alike = all(op is not None and _is_same_start(first, op) for op in others)
            found |= {name: first} if alike else {}
    return found


def _is_given(op: PrimOp) -> bool:
    """Whether a primitive is a constant: it has no operands and computes nothing."""
    code = op.code.rewritable
    return code is not None and not op.vars_in and not code.jaxpr.jaxpr.eqns


def _is_same_start(op: PrimOp, other: PrimOp) -> bool:
    if op.function is other.function:
        return True
    number = _whole_number(op)
    return number is not None and _is_given(other) and number == _whole_number(other)


# Primitives and their jaxprs


def _definition(block: Block, name: str) -> PrimOp | None:
    """The primitive of a block that computes a variable's value at the end of the block; None if there is none."""
    place = _place(block, name)
    op = block.instructions[place] if place >= 0 else None
    return op if isinstance(op, PrimOp) else None


def _place(block: Block, name: str) -> int:
    """The position of the last operation of a block that writes a variable; -1 if none does."""
    return max((place for place, op in enumerate(block.instructions) if name in op.defs), default=-1)


class _Equation(NamedTuple):
    """An operation on two integers. Each operand is a constant, a variable, or None if it is neither."""

    name: str
    left: str | int | None
    right: str | int | None
    dtype: DType


def _equation(op: PrimOp | None, wanted: Collection[str]) -> _Equation | None:
    """The equation that computes a primitive's only result; None if it is none of the ``wanted`` operations."""
    code = op.code.rewritable if op is not None else None
    if op is None or len(op.vars_out) != 1 or code is None:
        return None
    jaxpr: Jaxpr = code.inlined.jaxpr
    atom = _strong(jaxpr, jaxpr.outvars[0]) if len(jaxpr.outvars) == 1 else None
    equation = next((e for e in jaxpr.eqns if atom in e.outvars), None)
    if equation is None or equation.primitive.name not in wanted:
        return None
    left, right = (_known(op, code, jaxpr, atom) for atom in equation.invars)
    return _Equation(equation.primitive.name, left, right, equation.invars[0].aval.dtype)


def _whole_number(op: PrimOp) -> int | None:
    """The integer that a constant primitive returns; None if it returns anything else."""
    code = op.code.typed
    assert code is not None
    jaxpr: Jaxpr = code.jaxpr.jaxpr
    number = _known(op, code, jaxpr, jaxpr.outvars[0]) if len(jaxpr.outvars) == 1 else None
    return number if isinstance(number, int) else None


def _known(op: PrimOp, code: JaxprCode, jaxpr: Jaxpr, atom: Atom) -> str | int | None:
    """The integer constant that a jaxpr atom is, or the variable that it is an operand for; None if it is neither."""
    atom = _strong(jaxpr, atom)
    if atom.aval.shape or not np.issubdtype(atom.aval.dtype, np.integer):
        return None
    if isinstance(atom, Literal):
        return int(atom.val)
    types = zip(op.vars_in, code.in_types, strict=True)
    owners = [name if len(type_.leaves) == 1 else None for name, type_ in types for _ in type_.tensor_leaves]
    return next((owner for v, owner in zip(jaxpr.invars, owners, strict=True) if v is atom), None)


def _strong(jaxpr: Jaxpr, atom: Atom) -> Any:
    """The atom before conversions that only make a weakly typed number strong."""
    for equation in reversed(jaxpr.eqns):
        if not isinstance(atom, Literal) and equation.outvars[0] is atom:
            converted = equation.primitive.name == "convert_element_type"
            if converted and equation.invars[0].aval.dtype == atom.aval.dtype:
                atom = equation.invars[0]
    return atom
