"""Functions on arrays -> ``func.func``s of a module that is being built.

Code is traced when it is added, so that it can be called, and lowered by JAX's ``jit(…).lower`` later, all that was
added at once: for each lowering JAX makes an MLIR context, which takes longer than to lower a small function. What
comes of it is carried over as bytecode (locations and all), under names that are free in the module. In a module of
symbolic sizes, functions take the sizes as leading operands, which calls supply.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import func, ir, lower_to_stablehlo, mlir, without_shardings
from hlobatch.dialect.patterns import dtype_of

Avals = Sequence[jax.ShapeDtypeStruct]

_MAIN: Final = "main"
CALL: Final = "func.call"
_OF_SOME: Final = ".of_some"
"""Ends the name of a function that takes but some of the operands it was added with."""


def aval_of(value: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of a value of a module, whose sizes are known."""
    kind = ir.RankedTensorType(value.type)
    return jax.ShapeDtypeStruct(tuple(kind.shape), dtype_of(kind.element_type))


def type_of(aval: Any) -> Any:
    """The type that a module has for an array, whose sizes may be symbolic."""
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [d if isinstance(d, int) else dynamic for d in aval.shape]
    return ir.RankedTensorType.get(shape, mlir.dtype_to_ir_type(np.dtype(aval.dtype)))


@dataclass(frozen=True)
class Spliced:
    """A function of the module: its symbol, and its result types."""

    symbol: str
    results: tuple[Any, ...]


@dataclass
class Splicer:
    """Adds functions to a module.

    Attributes:
        module: The module; its context and a location are current while functions are added.
        platforms: What JAX lowers for.
        random_in_loops: Whether random numbers are drawn in a loop, as JAX does it on a CPU.
        sizes: Values of the symbolic sizes, where calls are built.
    """

    module: Any
    platforms: tuple[str, ...]
    random_in_loops: bool = False
    sizes: Sequence[Any] = ()
    _added: dict[str, tuple[Any, Avals]] = field(default_factory=dict)

    def add(self, function: Callable[..., Sequence[Any]], avals: Avals, name: str) -> Spliced:
        """Trace a function of flat arguments. It may be called, and is part of the module once that is finished."""
        jitted = jax.jit(lambda *a: list(function(*a)))
        results = jitted.trace(*avals).out_info
        symbol = self._free(name)
        self._added[symbol] = jitted, avals
        return Spliced(symbol, tuple(map(type_of, results)))

    def call(self, spliced: Spliced, arguments: Sequence[Any]) -> list[Any]:
        """Call a function of the module at the current insertion point."""
        symbol = ir.FlatSymbolRefAttr.get(spliced.symbol)
        return list(func.CallOp(list(spliced.results), symbol, [*self.sizes, *arguments]).results)

    def finish(self) -> None:
        """Make all that was added part of the module."""
        if not self._added:
            return
        functions = list(self._added.values())

        def everything(*arrays: Any) -> list[Any]:
            supply = iter(arrays)
            return [jitted(*(next(supply) for _ in avals)) for jitted, avals in functions]

        traced = jax.jit(everything, keep_unused=True).trace(*(aval for _, avals in functions for aval in avals))
        buffer = io.BytesIO()
        lower_to_stablehlo(traced, self.platforms, random_in_loops=self.random_in_loops).operation.write_bytecode(
            buffer
        )
        part = ir.Module.parse(buffer.getvalue())
        without_shardings(part)
        self._rename(part)
        self._added.clear()
        for operation in part.body.operations:
            if _name_of(operation) != _MAIN:
                self._insert(operation)

    def _free(self, name: str, others: Collection[str] = ()) -> str:
        """A name that nothing in the module has, nor anything that was added or is among others."""
        ours = ir.SymbolTable(self.module.operation)
        names = (f"{name}_{count}" if count else name for count in itertools.count())
        return next(new for new in names if new not in ours and new not in self._added and new not in others)

    def _rename(self, part: Any) -> None:
        """Give what a module's main function calls, in order, the names it has here, and what that calls free ones."""
        functions = {_name_of(operation): operation for operation in part.body.operations}
        body = functions.pop(_MAIN).regions[0].blocks[0]
        calls = [operation for operation in body.operations if operation.operation.name == CALL]
        called = list(map(callee, calls))
        for old, function in functions.items():  # what those call first: it may be named like one that was added
            if old not in called:
                _rename(part, function, self._free(old, functions.keys() - {old}))
        first = len(self.sizes)
        for call, old, (new, (_, avals)) in zip(calls, called, self._added.items(), strict=True):
            taken = [ir.BlockArgument(value).arg_number - first for value in list(call.operands)[len(self.sizes) :]]
            first += len(avals)
            _rename(part, functions[old], new if len(taken) == len(avals) else f"{new}{_OF_SOME}")
            if len(taken) < len(avals):
                self._wrap(new, taken, avals, [value.type for value in call.results])

    def _wrap(self, name: str, taken: Sequence[int], avals: Avals, results: Sequence[Any]) -> None:
        """Give a function the operands it was added with; JAX, from 0.12 on, may leave out what is not used."""
        types = [*(value.type for value in self.sizes), *map(type_of, avals)]
        kind = ir.FunctionType.get(types, results)
        with ir.InsertionPoint(self.module.body):
            function = func.FuncOp(name, kind, visibility="private")  # type: ignore[call-arg]
        entry = function.add_entry_block()  # type: ignore[attr-defined]
        count = len(self.sizes)
        given = [*entry.arguments[:count], *(entry.arguments[count + i] for i in taken)]
        with ir.InsertionPoint(entry):
            func.ReturnOp(
                list(func.CallOp(list(results), ir.FlatSymbolRefAttr.get(f"{name}{_OF_SOME}"), given).results)
            )

    def _insert(self, operation: Any) -> None:
        operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
        for attribute in ("arg_attrs", "res_attrs"):
            if attribute in operation.attributes:
                del operation.attributes[attribute]
        with ir.InsertionPoint(self.module.body):
            operation.operation.clone()


def callee(call: Any) -> str:
    """The symbol of the function that a call is of."""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


def _name_of(function: Any) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def _rename(part: Any, function: Any, name: str) -> None:
    ir.SymbolTable.replace_all_symbol_uses(_name_of(function), name, part.operation)
    ir.SymbolTable.set_symbol_name(function, name)
