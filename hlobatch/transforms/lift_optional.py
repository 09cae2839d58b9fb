"""Converts values that are assigned to a variable that may be None in some lanes: to a flag and the value.

::

    %best = prim "x" (%x)                        %best = prim "x" (%x)      which gives (True, x)
    %y = call @step(%best, %x)      ==>          %best:given = prim "move" (%best); %y = call @step(%best:given, %x)

The result of a primitive is converted in the primitive itself, when it gets its types (``specialize.py`` calls
``lifted``). The pass ``lift_optional`` converts arguments and results of calls: a variable may hold None in the callee
but not in the caller, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import jax

from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.names import unused
from hlobatch.ir.ops import FunctionCallOp, GotoOp, Op, PrimOp
from hlobatch.ir.program import Block, Function, Program
from hlobatch.ir.types import Type, rebuilt
from hlobatch.values.lifting import lift, may_need_lift, needs_lift


def lifted(function: TracedFunction, held: Sequence[Type]) -> TracedFunction:
    """A primitive's code with its results converted to the types of the variables that it writes."""
    targets = [
        wanted if needs_lift(type_, wanted) else type_ for type_, wanted in zip(function.out_types, held, strict=True)
    ]
    if targets == list(function.out_types):
        return function

    def on_tensors(*tensors: jax.Array) -> list[jax.Array]:
        values = rebuilt(function.flat(*tensors), function.out_types)
        values = [
            lift(value, target) if target is not type_ else value
            for value, target, type_ in zip(values, targets, function.out_types, strict=True)
        ]
        return [tensor for value, target in zip(values, targets, strict=True) for tensor in target.flatten(value)]

    jaxpr = jax.make_jaxpr(on_tensors)(*(leaf.aval for type_ in function.in_types for leaf in type_.tensor_leaves))
    return TracedFunction(function.in_types, tuple(targets), jaxpr, doubts=function.doubts)


def lift_optional(program: Program) -> Program:
    """The typed program with calls whose arguments and results are converted to the receiving variables' types."""
    if not any(map(may_need_lift, program.var_defs.values())):
        return program
    types = dict(program.var_defs)
    return program.map_functions(lambda f: _with_lifted_calls(program, f, types)).replace(var_defs=types)


def _with_lifted_calls(program: Program, function: Function, types: dict[str, Type]) -> Function:
    taken = {block.name for block in function.graph}

    def lifted_calls(block: Block) -> Iterator[Block]:
        call = block.instructions[-1] if block.instructions else None
        if not isinstance(call, FunctionCallOp):
            yield block
            return
        callee = program.function(call.function)
        before, given = _moved(call.vars_in, callee.vars_in, types, call)
        fresh = [
            _name(name, types) if _differ(types, name, result) else name
            for name, result in zip(call.vars_out, callee.vars_out, strict=True)
        ]
        received = zip(fresh, call.vars_out, callee.vars_out, strict=True)
        types.update({name: types[result] for name, old, result in received if name != old})
        after, _ = _moved(fresh, call.vars_out, types, call, onto=call.vars_out)
        call = call.replace(vars_in=tuple(given), vars_out=tuple(fresh))
        lifted_block = block.replace(instructions=(*block.instructions[:-1], *before, call))
        if after:
            name = unused(f"{block.name}.given", taken)
            taken.add(name)
            yield lifted_block.replace(terminator=GotoOp(name, location=call.location))
            yield Block(name, tuple(after), block.terminator, call.location)
        else:
            yield lifted_block

    return function.replace(graph=function.graph.expand_blocks(lifted_calls))


def _differ(types: Mapping[str, Type], name: str, other: str) -> bool:
    """Whether a value of one variable has to be converted for the other."""
    mine, others = types.get(name), types.get(other)
    return mine is not None and others is not None and needs_lift(others, mine)


def _name(name: str, types: Mapping[str, Type]) -> str:
    return unused(f"{name}:given", types)


def _moved(
    sources: Sequence[str],
    targets: Sequence[str],
    types: dict[str, Type],
    call: FunctionCallOp,
    onto: Sequence[str] | None = None,
) -> tuple[list[Op], list[str]]:
    """Copies of ``sources`` converted to the types of ``targets`` where these differ, and the names to use instead."""
    ops: list[Op] = []
    names: list[str] = []
    for index, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if not _differ(types, target, source):
            names.append(source)
            continue
        name = _name(source, types) if onto is None else onto[index]
        types[name] = types[target]
        type_ = types[source]
        same = jax.make_jaxpr(lambda *tensors: list(tensors))(*(leaf.aval for leaf in type_.tensor_leaves))
        move = lifted(TracedFunction((type_,), (type_,), same), [types[target]])
        uses = () if type_.is_static else (source,)
        if not uses:
            move = TracedFunction((), move.out_types, move.jaxpr)
        ops.append(PrimOp(uses, (name,), move, "move", location=call.location))
        names.append(name)
    return ops, names
