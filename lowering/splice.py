"""Functions on arrays -> ``func.func``s of a module that is being built.

Code is traced and lowered by JAX's ``jit(…).lower``, carried over as bytecode (locations and all), given names
that are free in the module, and called. Functions of symbolic sizes take the sizes as leading operands, which calls
supply.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from hlobatch._jax import func, ir, lower_to_stablehlo, without_shardings
from hlobatch.dialect.patterns import dtype_of

Avals = Sequence[jax.ShapeDtypeStruct]


def aval_of(value: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of a value of a module, whose sizes are known."""
    kind = ir.RankedTensorType(value.type)
    return jax.ShapeDtypeStruct(tuple(kind.shape), dtype_of(kind.element_type))


@dataclass(frozen=True)
class Spliced:
    """A function that is part of the module: its symbol, its result types, the sizes it takes before its arguments."""

    symbol: str
    results: tuple[Any, ...]
    sizes: tuple[str, ...]


@dataclass
class Splicer:
    """Adds functions to a module.

    Attributes:
        module: The module; its context and a location are current while functions are added.
        platforms: What JAX lowers for.
        sizes: Values of the symbolic sizes, by name, where calls are built.
    """

    module: Any
    platforms: tuple[str, ...]
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def add(self, function: Callable[..., Sequence[Any]], avals: Avals, name: str) -> Spliced:
        """Trace a function of flat arguments and make it part of the module."""
        traced = jax.jit(lambda *a: list(function(*a)), keep_unused=True).trace(*avals)
        source = lower_to_stablehlo(traced, self.platforms)
        buffer = io.BytesIO()
        source.operation.write_bytecode(buffer)
        part = ir.Module.parse(buffer.getvalue())
        without_shardings(part)
        main = self._renamed(part, name)
        sizes = _sizes(main)
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        for operation in part.body.operations:
            self._insert(operation)
        return Spliced(ir.StringAttr(main.attributes["sym_name"]).value, tuple(kind.results), sizes)

    def call(self, spliced: Spliced, arguments: Sequence[Any]) -> list[Any]:
        """Call a function of the module at the current insertion point."""
        operands = [*(self.sizes[name] for name in spliced.sizes), *arguments]
        symbol = ir.FlatSymbolRefAttr.get(spliced.symbol)
        return list(func.CallOp(list(spliced.results), symbol, operands).results)

    def _renamed(self, part: Any, name: str) -> Any:
        """Give every function of ``part`` a name that is free in the module; returns its main function."""
        ours = ir.SymbolTable(self.module.operation)
        theirs = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in part.body.operations}
        main = theirs["main"]
        for old, operation in theirs.items():
            wanted = name if old == "main" else f"{name}.{old}"
            new, count = wanted, 0
            while new in ours or (new in theirs and new != old):
                count += 1
                new = f"{wanted}_{count}"
            ir.SymbolTable.replace_all_symbol_uses(old, new, part.operation)
            ir.SymbolTable.set_symbol_name(operation, new)
        return main

    def _insert(self, operation: Any) -> None:
        operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
        for attribute in ("arg_attrs", "res_attrs"):
            if attribute in operation.attributes:
                del operation.attributes[attribute]
        with ir.InsertionPoint(self.module.body):
            operation.operation.clone()


def _sizes(main: Any) -> tuple[str, ...]:
    """Names of the symbolic sizes that a function takes before its arguments."""
    if "arg_attrs" not in main.attributes:
        return ()
    marked = [a["jax.global_constant"] for a in main.attributes["arg_attrs"] if "jax.global_constant" in a]
    return tuple(ir.StringAttr(mark).value for mark in marked)
