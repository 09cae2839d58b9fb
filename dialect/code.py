"""The code of a primitive: a batched StableHLO function as text, and a JAX primitive that calls it.

``Code`` is compared by its text, which is canonical: a module whose ``@main`` takes and returns arrays ``tensor<?x…>``
with the lanes first (or ``tensor<…>``, if shared by all lanes), followed by the functions it calls. To JAX it is a
single operation on arrays with an axis of lanes; ``jax.vmap`` only adds lanes, and for a known number of lanes it
becomes StableHLO with static shapes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, Final, NamedTuple, final

import jax
import jax.numpy as jnp

from hlobatch._jax import (
    NOT_MAPPED,
    PassManager,
    Primitive,
    ShapedArray,
    batching,
    embed_module,
    ir,
    make_context,
    mapped_first,
    mapped_size,
    mlir,
    refuse_derivative,
    stablehlo,
)
from hlobatch.diagnostics import HloBatchError
from hlobatch.dialect.patterns import tensor_type, to_leaf
from hlobatch.ir.code import JaxprCode
from hlobatch.ir.physical import from_physical, to_physical
from hlobatch.ir.types import TensorType, Type

COST: Final = "autobatch.cost"
"""The attribute of ``@main`` with its cost per lane."""
COUNTED: Final = "autobatch.counted"
"""The attribute of ``@main`` that marks code whose loops all have a known number of turns."""
_OPERATION: Final = re.compile(r'"?(?:stablehlo|chlo)\.(\w+)')


@lru_cache(maxsize=1)
def _reading() -> Any:
    """The context in which signatures are parsed."""
    return make_context()


@dataclass(frozen=True)
class Array:
    """A parameter or result of code: its type per lane, and whether it has an axis of lanes."""

    leaf: TensorType
    batched: bool

    def shape(self, lanes: Any) -> tuple[Any, ...]:
        return (lanes, *self.leaf.shape) if self.batched else self.leaf.shape

    def type(self, lanes: int) -> Any:
        """Its MLIR type for a number of lanes."""
        return tensor_type(self.leaf, *([lanes] if self.batched else []))


class Signature(NamedTuple):
    """The properties of code that are read from its text."""

    parameters: tuple[Array, ...]
    results: tuple[Array, ...]
    cost: float
    is_copy: bool


@dataclass(frozen=True)
class Code:
    """A batched function, compared by its canonical text."""

    text: str

    def __repr__(self) -> str:
        """A short fingerprint, to keep printed programs and jaxprs readable."""
        return f"Code({hashlib.sha256(self.text.encode()).hexdigest()[:8]})"

    @cached_property
    def _signature(self) -> Signature:
        with _reading(), ir.Location.unknown():
            main = ir.SymbolTable(ir.Module.parse(self.text).operation)["main"]
            kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
            cost = float(ir.FloatAttr(main.attributes[COST]).value) if COST in main.attributes else self._guess
            block = main.regions[0].blocks[0]
            same = list(block.operations[0].operands) == list(block.arguments)
            copies = len(block.operations) == 1 and same
            return Signature(tuple(map(to_array, kind.inputs)), tuple(map(to_array, kind.results)), cost, copies)

    @property
    def parameters(self) -> tuple[Array, ...]:
        return self._signature.parameters

    @property
    def results(self) -> tuple[Array, ...]:
        return self._signature.results

    @property
    def cost(self) -> float:
        """Operations per lane, as counted by ``analysis.cost`` if the code was traced here."""
        return self._signature.cost

    @property
    def is_copy(self) -> bool:
        """Whether it returns its operands unchanged."""
        return self._signature.is_copy

    @cached_property
    def operations(self) -> frozenset[str]:
        """Names of its StableHLO operations; a loop with a known number of turns counts as a ``scan``, as in JAX."""
        found = frozenset(_OPERATION.findall(self.text))
        return found - {"while"} | {"scan"} if COUNTED in self.text and "while" in found else found

    @property
    def _guess(self) -> float:
        return float(len(_OPERATION.findall(self.text)))

    @property
    def is_batched(self) -> bool:
        return any(p.batched for p in self.parameters)

    def lanes(self, operands: Sequence[Any]) -> Any:
        """The number of lanes in operands; None if no operand has an axis of lanes."""
        return next((x.shape[0] for p, x in zip(self.parameters, operands, strict=True) if p.batched), None)

    def as_module(self) -> Any:
        """The code as a module in the current context, unchanged."""
        return ir.Module.parse(self.text)

    def lowered(self, lanes: int | None) -> Any:
        """The code as a module in the current context, to be run; with static shapes if the number of lanes is known.

        Raises:
            HloBatchError: It is not StableHLO, or its shapes do not follow from those of its operands.
        """
        try:
            return self._lowered(lanes)
        except ir.MLIRError as error:
            raise HloBatchError(f"the code of a primitive cannot be lowered: {error}") from None

    def _lowered(self, lanes: int | None) -> Any:
        module = self.as_module()
        _refuse_unknown(module)
        if lanes is not None and self.is_batched:
            _give_each_call_its_own(module)
            types = ",".join(str(p.type(lanes)) for p in self.parameters)
            stablehlo.register_stablehlo_passes()
            passes = f"stablehlo-refine-arguments{{types={types}}},stablehlo-refine-shapes"
            tail = "func.func(stablehlo-canonicalize-dynamism)"
            PassManager.parse(f"builtin.module({passes},{tail})").run(module.operation)
        return module


def _refuse_unknown(module: ir.Module) -> None:
    """Raise an error if an operation is of an unknown dialect: shape refinement may crash on it."""
    unknown: list[str] = []

    def look(operation: Any) -> Any:
        if not operation.context.is_registered_operation(operation.name):
            unknown.append(operation.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    if unknown:
        raise HloBatchError(f"the code of a primitive cannot be lowered: {unknown[0]!r} is unknown")


def _give_each_call_its_own(module: ir.Module) -> None:
    """Copy functions with several callers: shape refinement makes constant operands part of a callee's type."""
    functions, called = ir.SymbolTable(module.operation), set[str]()
    pending = ["main"]

    def look(operation: Any) -> Any:
        if operation.name == "func.call":
            name = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            if name in called:
                copy = functions[name].operation.clone(ir.InsertionPoint(module.body))
                name = ir.StringAttr(functions.insert(copy)).value
                operation.attributes["callee"] = ir.FlatSymbolRefAttr.get(name)
            called.add(name)
            pending.append(name)
        return ir.WalkResult.ADVANCE

    while pending:
        functions[pending.pop()].operation.walk(look)


def to_array(type_: Any) -> Array:
    """A parameter or result, from its MLIR type; if its first dimension is dynamic, that is the axis of lanes.

    Raises:
        PatternError: It is not an array, or another dimension is dynamic too.
    """
    shape = list(type_.shape) if isinstance(type_, ir.RankedTensorType) else []
    batched = bool(shape) and type_.is_dynamic_dim(0)
    return Array(to_leaf(ir.RankedTensorType.get(shape[1:], type_.element_type) if batched else type_), batched)


# The JAX primitive


code_p = Primitive("stablehlo")
code_p.multiple_results = True


def _abstract(*operands: Any, code: Code) -> list[Any]:
    lanes = code.lanes(operands)
    return [ShapedArray(r.shape(lanes), r.leaf.dtype, operands) for r in code.results]


@lru_cache(maxsize=1024)
def _compiled(code: Code) -> Any:
    return jax.jit(partial(code_p.bind, code=code))


def _lowering(ctx: Any, *operands: Any, code: Code) -> list[Any]:
    lanes = code.lanes(ctx.avals_in)

    def build(context: Any) -> Any:
        with context, ir.Location.unknown():
            return code.lowered(lanes if isinstance(lanes, int) else None)

    return embed_module(ctx, build, "code", operands, [])


def _batching(operands: Sequence[Any], dims: Sequence[Any], *, code: Code) -> Any:
    """Batching rule: ``jax.vmap`` of lanes is more lanes."""
    if any(d is not NOT_MAPPED for p, d in zip(code.parameters, dims, strict=True) if not p.batched):
        return _one_by_one(operands, dims, code)
    outer = mapped_size(operands, dims)
    batched = [p.batched for p in code.parameters]
    rows = [mapped_first(x, d, outer) if b else x for b, x, d in zip(batched, operands, dims, strict=True)]
    inner = next(x.shape[1] for b, x in zip(batched, rows, strict=True) if b)
    flat = [x.reshape((outer * inner, *x.shape[2:])) if b else x for b, x in zip(batched, rows, strict=True)]
    results = code_p.bind(*flat, code=code)
    split = [r.reshape((outer, inner, *r.shape[1:])) for r in results]
    return split, [0] * len(split)


def _one_by_one(operands: Sequence[Any], dims: Sequence[Any], code: Code) -> Any:
    """Batching rule for mapped operands that the code shares between lanes: one run for each element, in turn."""
    mapped = [jnp.moveaxis(x, d, 0) for x, d in zip(operands, dims, strict=True) if d is not NOT_MAPPED]

    def one(rows: Sequence[Any]) -> Any:
        supply = iter(rows)
        return code_p.bind(
            *(x if d is NOT_MAPPED else next(supply) for x, d in zip(operands, dims, strict=True)), code=code
        )

    results = jax.lax.map(one, mapped)
    return results, [0] * len(results)


def _no_derivative(*_: Any, **__: Any) -> Any:
    raise HloBatchError(
        "code that was read from a module cannot be differentiated through",
        help="differentiate before the program is written.",
    )


code_p.def_abstract_eval(_abstract)
code_p.def_impl(lambda *operands, code: _compiled(code)(*operands))
mlir.register_lowering(code_p, _lowering)
batching.primitive_batchers[code_p] = _batching
refuse_derivative(code_p, _no_derivative)


# As the function of a PrimOp


@final
@dataclass(frozen=True, eq=False)
class CodeFunction(JaxprCode):
    """Code as the function of a ``PrimOp``, in place of a traced function; compared by value.

    Attributes:
        code: The code.
    """

    code: Code

    @classmethod
    def of(cls, code: Code, in_types: tuple[Type, ...], out_types: tuple[Type, ...]) -> CodeFunction:
        """The function of code, with parameters and results of given types."""
        return cls(in_types, out_types, _jaxpr(code, in_types, out_types), code)

    @cached_property
    def primitives(self) -> frozenset[str]:
        return self.code.operations

    @property
    def stated_cost(self) -> float:
        return self.code.cost

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodeFunction) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self.code)

    @property
    def _key(self) -> Any:
        return self.code, self.in_types, self.out_types


@lru_cache(maxsize=1024)
def _jaxpr(code: Code, in_types: tuple[Type, ...], out_types: tuple[Type, ...]) -> Any:
    """The jaxpr that calls the code with one lane's tensors."""
    ins = [leaf for type_ in in_types for leaf in type_.tensor_leaves]
    outs = [leaf for type_ in out_types for leaf in type_.tensor_leaves]

    def run(*tensors: Any) -> list[Any]:
        if code.is_copy and ins == outs:
            return list(tensors)
        stored = [to_physical(x, leaf) for x, leaf in zip(tensors, ins, strict=True)]
        lanes = [x[None] if p.batched else x for x, p in zip(stored, code.parameters, strict=True)]
        results = code_p.bind(*lanes, code=code)
        rows = [r[0] if a.batched else r for r, a in zip(results, code.results, strict=True)]
        return [from_physical(r, leaf) for r, leaf in zip(rows, outs, strict=True)]

    return jax.make_jaxpr(run)(*(leaf.aval for leaf in ins))
