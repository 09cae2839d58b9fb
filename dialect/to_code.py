"""The code of a traced ``PrimOp``: its batched StableHLO, for any number of lanes.

JAX lowers the primitive for a symbolic number of lanes. JAX's own additions are removed: the operand with the number of
lanes, which is a dimension of the first batched operand, and attributes for JAX's use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import jax

from hlobatch._jax import ir, stablehlo, tracing_context, without_shardings
from hlobatch.analysis.cost import primitive_cost
from hlobatch.diagnostics import HloBatchError
from hlobatch.dialect.code import COST, COUNTED, Code, CodeFunction
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import lane_function, physical
from hlobatch.ir.types import Type


def to_code(op: PrimOp, types: Mapping[str, Type], shared: Sequence[bool]) -> Code:
    """The code of a primitive.

    Args:
        op: The primitive.
        types: Types of its variables.
        shared: For each of ``op.vars_in``, whether it is the same in every lane.

    Raises:
        HloBatchError: JAX cannot lower the primitive for a symbolic number of lanes.
    """
    in_types, out_types = tuple(types[v] for v in op.vars_in), tuple(types[v] for v in op.vars_out)
    key = (op.function, in_types, out_types, tuple(shared), tracing_context())
    try:
        return _code(*key)
    except Exception as error:
        if isinstance(error, HloBatchError):
            raise
        message = f"JAX cannot lower {op.text!r} for a number of lanes that is not known: {_first_line(error)}"
        raise HloBatchError(message, op.location) from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


@lru_cache(maxsize=512)
def _code(
    function: Any, in_types: tuple[Type, ...], out_types: tuple[Type, ...], shared: tuple[bool, ...], _: Any
) -> Code:
    axes = tuple(None if s else 0 for s, t in zip(shared, in_types, strict=True) for _ in t.tensor_leaves)
    if isinstance(function, CodeFunction) and _fits(function, in_types, out_types, axes):
        return function.code
    ins, outs = [f"i{i}" for i in range(len(in_types))], [f"o{i}" for i in range(len(out_types))]
    op = PrimOp(tuple(ins), tuple(outs), function)
    lane = lane_function(op, dict(zip((*ins, *outs), (*in_types, *out_types), strict=True)))
    batched = jax.vmap(lane, in_axes=axes) if any(a == 0 for a in axes) else lane
    (lanes,) = jax.export.symbolic_shape("lanes")
    leaves = [physical(leaf) for t in in_types for leaf in t.tensor_leaves]
    avals = [
        jax.ShapeDtypeStruct(leaf.shape if axis is None else (lanes, *leaf.shape), leaf.dtype)
        for leaf, axis in zip(leaves, axes, strict=True)
    ]
    traced = jax.jit(lambda *arrays: list(batched(*arrays)), keep_unused=True).trace(*avals)
    module = traced.lower(lowering_platforms=(jax.default_backend(),)).compiler_ir("stablehlo")
    marks: dict[str, Callable[[], Any]] = {COST: lambda: ir.FloatAttr.get_f64(primitive_cost(op))}
    if {"while", "scan"} & op.code.primitives == {"scan"}:
        marks[COUNTED] = ir.UnitAttr.get
    return canonical(module, marks)


def _fits(
    function: CodeFunction, in_types: tuple[Type, ...], out_types: tuple[Type, ...], axes: tuple[int | None, ...]
) -> bool:
    """Whether code can be used unchanged for these types and axes."""
    same = (function.in_types, function.out_types) == (in_types, out_types)
    return same and all(p.batched == (a == 0) for p, a in zip(function.code.parameters, axes, strict=True))


Marks = Mapping[str, Callable[[], Any]]


def canonical(module: Any, marks: Marks = MappingProxyType({})) -> Code:
    """The code whose main function is a module's ``@main``; the module is changed, and marked with attributes."""
    with module.context, ir.Location.unknown():
        without_shardings(module)
        functions = list(module.body.operations)
        for function in functions:
            is_main = function.attributes["sym_name"].value == "main"
            _stripped(function, is_main)
            if is_main:
                _measures_lanes(function)
                for name, make in marks.items():
                    function.attributes[name] = make()
        for name in list(module.operation.attributes):
            del module.operation.attributes[name]
        return Code(module.operation.get_asm())


def _stripped(function: Any, is_main: bool) -> None:
    """Remove the attributes that JAX adds for its own use."""
    marks = function.attributes.get("arg_attrs")
    has_lanes = is_main and marks is not None and any("jax.global_constant" in mark for mark in marks)
    kept = {"sym_name", "function_type", COST, COUNTED} | ({"arg_attrs"} if has_lanes else set())
    for name in list(function.attributes):
        if name not in kept:
            del function.attributes[name]
    if not is_main:
        function.attributes["sym_visibility"] = ir.StringAttr.get("private")


def _measures_lanes(main: Any) -> None:
    """Replace the argument with the number of lanes by a dimension of an operand."""
    if "arg_attrs" not in main.attributes:
        return
    del main.attributes["arg_attrs"]
    block = main.regions[0].blocks[0]
    count, *arguments = block.arguments
    if list(count.uses):
        first = next(a for a in arguments if a.type.rank and a.type.is_dynamic_dim(0))
        with ir.InsertionPoint.at_block_begin(block):
            count.replace_all_uses_with(stablehlo.get_dimension_size(first, 0))
    block.erase_argument(0)
    kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kind.inputs[1:], kind.results))
