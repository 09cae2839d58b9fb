"""Specializes an untyped program for the types of its inputs: its primitives no longer run the user's Python.

Branches decided when the program is built become jumps, and blocks that cannot be reached then are dropped. Python
objects are no longer operands or results of primitives, and neither are arrays of which only the type matters.

::

    %$if1 = prim "mode == 'fast'" (%mode)      with mode known to be 'fast'
    branch %$if1, then, else              ==>  jump then
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from hlobatch.analysis import machine_flow
from hlobatch.analysis.aliases import check_aliases
from hlobatch.analysis.definedness import check_definedness, undefined_reads
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.analysis.type_errors import none_or_result
from hlobatch.analysis.type_inference import Inference, Place, infer_types
from hlobatch.diagnostics import BatchTypeError, HloBatchError, Location, UndefinedVariableError
from hlobatch.ir.ops import NO_RESULT, BranchOp, FunctionCallOp, GotoOp, Op, PrimOp
from hlobatch.ir.program import MAIN, Block, ControlFlowGraph, Function, Program
from hlobatch.ir.types import Type
from hlobatch.transforms.dropped_results import check_dropped_results
from hlobatch.transforms.failures import failures_of, raise_what_is_reached, without_failures
from hlobatch.transforms.foresee_branches import foresee_branches
from hlobatch.transforms.lift_optional import lift_optional, lifted
from hlobatch.transforms.log_effects import log_effects
from hlobatch.transforms.simplify_cfg import reachable, simplify_cfg
from hlobatch.transforms.split_live_ranges import split_live_ranges, split_live_ranges_of
from hlobatch.values.facts import NONE_KNOWN, Facts
from hlobatch.values.lifting import differs_by_lane, needs_lift

Infer = Callable[[Program], Inference]
"""Infers the types of a program."""
LookOn = Callable[[frozenset[Place]], Sequence[HloBatchError]]
"""Searches the code behind a conflict, as ``Inference.look_on``."""


def specialize(program: Program, in_types: Mapping[str, Type], facts: Facts = NONE_KNOWN) -> Program:
    """The program for inputs of given types.

    Args:
        program: Calls not lowered, variables renamed by live range.
        in_types: Types of its inputs.
        facts: Facts that earlier rounds of tracing found.

    Raises:
        BatchTypeError: Types conflict, or a call never returns.
        UndefinedVariableError: A variable may be read before it has a value.
        UnsupportedSyntaxError: See ``infer_types``.
    """
    infer = partial(infer_types, in_types=in_types, facts=facts)
    folded, found = _defined(*_decided(program, infer), infer)
    _check_returns(folded, found)
    check_aliases(folded, found.types, lambda function, block, i: found.traced.get(((function, block), i)))
    kept = [f for f in folded.functions if (f.name, f.graph.enter_block().name) in found.reached]
    typed = folded.replace(functions=tuple(kept))
    raise_what_is_reached(typed, found)
    check_dropped_results(typed, found)
    failures = failures_of(typed, found)
    lost = _without_value(typed, found)
    typed = typed.map_functions(lambda f: _traced(f, found)).replace(failures=failures)
    _check_reads(typed, lost)
    if typed.vars_out[1:] and not failures:
        typed = without_failures(typed)
    elif typed.vars_out[1:] and found.types[typed.vars_out[-2]].is_static:  # every failure is caught
        typed = typed.replace(vars_out=typed.vars_out[:1], failures=())
    mentioned = {v for f in typed.all_functions for v in (*f.vars_in, *f.vars_out)}
    mentioned |= {v for op in typed.ops for v in (*op.uses, *op.defs)}
    typed = typed.replace(var_defs={v: t for v, t in found.types.items() if v in mentioned})
    _check_results(typed)
    return simplify_cfg(lift_optional(log_effects(typed)))


def _without_value(program: Program, found: Inference) -> frozenset[str]:
    """The variables that hold arrays, and to which some code gives a Python object that is no value of them."""
    pairs = (
        (v, type_)
        for f in program.all_functions
        for block in f.graph
        for i, op in enumerate(block.instructions)
        if (traced := found.traced.get(((f.name, block.name), i))) is not None and isinstance(op, PrimOp)
        for v, type_ in zip(op.vars_out, traced.out_types, strict=True)
        if type_.is_static
    )
    held = ((v, type_, found.types[v]) for v, type_ in pairs)
    return frozenset(v for v, type_, wanted in held if not wanted.is_static and not needs_lift(type_, wanted))


def _check_reads(program: Program, lost: frozenset[str]) -> None:
    """Check that no operation reads a variable to which some code gives no value, since its type is another one."""
    wrong = [(op, v) for op in (program.ops if lost else ()) for v in sorted(lost.intersection(op.uses))]
    assert not wrong, f"the type of {wrong[0][1]} is not that of its value"


def _check_results(program: Program) -> None:
    """Refuse results that are None in some lanes, or one of several objects."""
    if not any(differs_by_lane(program.var_defs[name]) for name in program.vars_out if name in program.var_defs):
        return
    raise none_or_result(_place_of_results(program))


def _place_of_results(program: Program) -> Location:
    called = next(op.function for block in program.graph for op in block.ops if isinstance(op, FunctionCallOp))
    main = program.function(called)
    returns = [op for block in main.graph for op in block.ops if main.vars_out[0] in op.defs]
    gives = (
        op for op in returns if isinstance(op, FunctionCallOp) or (isinstance(op, PrimOp) and op.text != NO_RESULT)
    )
    return next((op.location for op in gives), program.location)


def _decided(program: Program, infer: Infer) -> tuple[Program, Inference]:
    """The program with decided branches turned into jumps, and its types."""
    program, found = _inferred(program, infer)
    return program.map_functions(lambda f: _folded(f, found)), found


def _defined(program: Program, found: Inference, infer: Infer) -> tuple[Program, Inference]:
    """The program and its types, such that every variable that is read has a value.

    If a variable may have none, jumps are threaded: if the first turn of a loop surely happens, so do its assignments.
    """
    try:
        check_definedness(program)
    except UndefinedVariableError as error:
        unsure = [f for f in program.all_functions if any(undefined_reads(f))]
        ahead = program.with_functions({f.name: foresee_branches(f, found.types) for f in unsure})
        program, found = _decided(split_live_ranges(ahead), infer)
        if any(any(undefined_reads(f)) for f in program.all_functions):
            raise error from None
    return program, found


def _inferred(program: Program, infer: Infer) -> tuple[Program, Inference]:
    """The program, its live ranges split as far as decided branches allow, and its types.

    ``if scale is None: scale = 1.0`` gives one name two types, although no read sees both. If types conflict, both
    sides of each branch decided so far are set to the side that is taken, live ranges are split again, and inference
    starts anew. In the end, each of these branches has to be decided as it was before. One that is not was decided by a
    type that is no longer there: inference starts again without it.
    """
    found, given = infer(program), program
    first, bent, turned = found, dict(found.taken), set[Place]()
    while found.conflict is not None:
        before, program = program, program.map_functions(partial(_bent, taken=bent))
        if program is not before:
            found = infer(program)
        if other := {place for place, holds in bent.items() if found.taken.get(place, holds) != holds}:
            turned |= other
            bent = {place: holds for place, holds in bent.items() if place not in turned}
            program, found = given, replace(found, conflict=first.conflict)
            continue
        if found.conflict is not None and found.taken.keys() <= bent.keys() | turned:
            found.conflict.may_grow = (*found.conflict.may_grow, *(first.conflict.may_grow if first.conflict else ()))
            looks = [found.look_on] if program is given else [found.look_on, first.look_on]
            found.conflict.look_on = partial(_looked_on, looks, frozenset(bent))
            raise found.conflict
        bent |= {place: holds for place, holds in found.taken.items() if place not in turned}
    undecided = [place for place in bent if place in found.reached and place not in found.taken]
    if first.conflict is not None and undecided:
        raise first.conflict
    return program, found


def _looked_on(looks: Sequence[LookOn], harmless: frozenset[Place]) -> Sequence[HloBatchError]:
    """The errors behind a conflict in the bent program, and those of growing containers in the program as it was given.

    The bent program lacks the loops over a container that seemed to be empty, and turned out to grow.
    """
    found = [*looks[0](harmless)]
    for look in looks[1:]:
        found += (error for error in look(harmless) if error.is_of_growth)
    return found


def _bent(function: Function, taken: Mapping[Place, bool]) -> Function:
    """The function in which both sides of each decided branch lead to the side that is taken, its live ranges split."""

    def bend(block: Block) -> Block:
        holds, branch = taken.get((function.name, block.name)), block.terminator
        if holds is None or not isinstance(branch, BranchOp):
            return block
        side = branch.true_block if holds else branch.false_block
        return block.replace(terminator=branch.replace(true_block=side, false_block=side))

    bent = function.replace(graph=function.graph.map_blocks(bend))
    return function if bent is function else split_live_ranges_of(bent.replace(graph=reachable(bent.graph)))


def _folded(function: Function, found: Inference) -> Function:
    """The function with decided branches turned into jumps."""

    def fold(block: Block) -> Block:
        holds = found.taken.get((function.name, block.name))
        branch = block.terminator
        if holds is None or not isinstance(branch, BranchOp):
            return block
        side = branch.true_block if holds else branch.false_block
        return block.replace(terminator=GotoOp(side, location=branch.location))

    return function.replace(graph=reachable(function.graph.map_blocks(fold)))


def _check_returns(program: Program, found: Inference) -> None:
    """Refuse calls that can never return."""
    if not found.stuck:
        return
    place = min(found.stuck, key=lambda place: place[0] == MAIN)
    call = found.stuck[place]
    if any(function == call.function for function, _ in found.stuck):
        raise BatchTypeError(
            f"{call.function!r} never returns: every path through it calls it again",
            call.location,
            help="give the recursion a base case that returns without a call.",
        )
    raise BatchTypeError(
        f"{call.function!r} never returns: every path through it leads into a loop that has no way out",
        _endless_loop(program.function(call.function).graph).location,
        help="give the loop a condition, or leave it with `break` or `return`.",
    )


def _endless_loop(graph: ControlFlowGraph) -> Block:
    """The first block of an endless loop: every block that it can reach leads back to it."""
    after = {block.name: block.terminator.targets for block in graph}
    onward = {name: machine_flow.reachable(after, after[name]) for name in after}
    return next(b for b in graph if b.name in onward[b.name] and all(b.name in onward[n] for n in onward[b.name]))


def _traced(function: Function, found: Inference) -> Function:
    """The function with its primitives replaced by their traced code, without blocks that are not reached."""

    def typed(block: Block) -> Iterator[Block]:
        if (place := (function.name, block.name)) not in found.reached:
            return
        ops = [
            _typed(op, lifted(found.traced[place, i], [found.types[v] for v in op.vars_out]))
            if isinstance(op, PrimOp)
            else op
            for i, op in enumerate(block.instructions)
            if not op.code.deletes and (not isinstance(op, PrimOp) or (place, i) in found.traced)
        ]
        kept = (op for op in ops if op.defs or not isinstance(op, PrimOp) or op.code.has_host_do)
        yield block.replace(instructions=tuple(kept))

    return function.replace(graph=function.graph.expand_blocks(typed))


def _typed(op: PrimOp, traced: TracedFunction) -> Op:
    """The primitive with the operands that its traced code uses; Python objects are constants of the code already."""
    kept_in = traced.looked_at
    kept_out = [i for i, t in enumerate(traced.out_types) if not t.is_static]
    function = TracedFunction(
        tuple(traced.in_types[i] for i in kept_in),
        tuple(traced.out_types[i] for i in kept_out),
        traced.jaxpr_of(kept_in),
    )
    return op.replace(
        vars_in=tuple(op.vars_in[i] for i in kept_in),
        vars_out=tuple(op.vars_out[i] for i in kept_out),
        function=function,
    )
