"""Functions on JAX arrays -> ``func.func``s of a StableHLO module that is being built, and calls of those.

A function is traced when it is added, which tells the types that a call of it needs. All functions that were added are
lowered later, together, by JAX's ``jit(…).lower``: JAX makes an MLIR context for each lowering, which takes longer than
to lower a small function. The result is carried over as bytecode (locations and all), under names that are free in the
module. In a module of symbolic sizes, functions take the sizes as leading operands, which calls supply.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import Aval, func, ir, lower_to_stablehlo, mlir, without_shardings
from hlobatch.lowering.module.functions import new_function
from hlobatch.lowering.module.trim import Part
from hlobatch.typing import ArrayLike

Avals = Sequence[jax.ShapeDtypeStruct]

_MAIN: Final = "main"
_CALL: Final = "func.call"
_OF_SOME: Final = ".of_some"
"""The end of the name of a function that takes only some of the operands that it was added with."""


def type_of(aval: Aval) -> Any:
    """The MLIR type of an array, whose sizes may be symbolic."""
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
        sizes: Values of the symbolic sizes, where calls are built.
    """

    module: Any
    platforms: tuple[str, ...]
    sizes: Sequence[Any] = ()
    _added: dict[str, Part] = field(default_factory=dict)

    def add(self, function: Callable[..., Sequence[Any]], avals: Avals, name: str) -> Spliced:
        """Trace a function of flat arguments. It can be called at once; ``finish`` copies it into the module."""
        part = function if isinstance(function, Part) else Part.all_of(function, avals)
        symbol = self._free(name)
        self._added[symbol] = part
        return Spliced(symbol, tuple(map(type_of, part.results)))

    def call(self, spliced: Spliced, arguments: Sequence[Any]) -> list[Any]:
        """Call a function of the module at the current insertion point."""
        symbol = ir.FlatSymbolRefAttr.get(spliced.symbol)
        return list(func.CallOp(list(spliced.results), symbol, [*self.sizes, *arguments]).results)

    def finish(self) -> None:
        """Lower all functions that were added, together, and copy them into the module."""
        if not self._added:
            return
        parts = list(self._added.values())

        # One function that calls all of them is lowered, since each lowering makes an MLIR context of its own.
        def everything(*arrays: ArrayLike) -> list[Any]:
            supply = iter(arrays)
            return [part.whole(*islice(supply, len(part.avals))) for part in parts]

        traced = jax.jit(everything, keep_unused=True).trace(*(aval for part in parts for aval in part.avals))
        buffer = io.BytesIO()
        lower_to_stablehlo(traced, self.platforms).operation.write_bytecode(buffer)
        lowered = ir.Module.parse(buffer.getvalue())
        without_shardings(lowered)
        self._rename(lowered)
        self._added.clear()
        for operation in lowered.body.operations:
            if name_of(operation) != _MAIN:
                self._insert(operation)

    def _free(self, name: str, others: Collection[str] = ()) -> str:
        """A name like ``name`` that is free: in the module, among functions that were added, and among ``others``."""
        ours = ir.SymbolTable(self.module.operation)
        names = (f"{name}_{count}" if count else name for count in itertools.count())
        return next(new for new in names if new not in ours and new not in self._added and new not in others)

    def _rename(self, lowered: Any) -> None:
        """Rename the functions of a lowered module.

        Those that ``main`` calls, in order, are cut to the parts that are used, and get the names that they were added
        under. Functions that these call get free names.
        """
        functions = {name_of(operation): operation for operation in lowered.body.operations}
        body = functions.pop(_MAIN).regions[0].blocks[0]
        calls = [operation for operation in body.operations if operation.operation.name == _CALL]
        called = list(map(callee, calls))
        for old, function in functions.items():  # callees first: they may have names of added functions
            if old not in called:
                _rename(lowered, function, self._free(old, functions.keys() - {old}))
        count = first = len(self.sizes)
        for call, old, (new, part) in zip(calls, called, self._added.items(), strict=True):
            passed = [ir.BlockArgument(value).arg_number - first for value in list(call.operands)[count:]]
            first += len(part.avals)
            has = _cut(functions[old], count, passed, part)
            is_whole = has == list(part.taken)
            _rename(lowered, functions[old], new if is_whole else f"{new}{_OF_SOME}")
            if not is_whole:
                self._wrap(new, has, part)

    def _wrap(self, name: str, has: Sequence[int], part: Part) -> None:
        """Wrap a function in one with all operands of a part; JAX, from 0.12 on, may leave out unused ones."""
        types = [*(value.type for value in self.sizes), *(type_of(part.avals[i]) for i in part.taken)]
        results = list(map(type_of, part.results))
        with ir.InsertionPoint(self.module.body):
            _, entry = new_function(name, types, results)
        count = len(self.sizes)
        given = [*entry.arguments[:count], *(entry.arguments[count + part.taken.index(i)] for i in has)]
        with ir.InsertionPoint(entry):
            func.ReturnOp(list(func.CallOp(results, ir.FlatSymbolRefAttr.get(f"{name}{_OF_SOME}"), given).results))

    def _insert(self, operation: Any) -> None:
        operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
        for attribute in ("arg_attrs", "res_attrs"):
            if attribute in operation.attributes:
                del operation.attributes[attribute]
        with ir.InsertionPoint(self.module.body):
            operation.operation.clone()


def callee(call: Any) -> str:
    """The symbol of the function that a call calls."""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


def name_of(function: Any) -> str:
    """The symbol of a function."""
    return ir.StringAttr(function.attributes["sym_name"]).value


def _cut(function: Any, leading: int, passed: Sequence[int], part: Part) -> list[int]:
    """Cut a function down to the operands and results of a part of it.

    Args:
        function: The function, which is changed.
        leading: The number of operands in front, symbolic sizes, which stay.
        passed: For each other operand, its position among those of the whole function.
        part: The part.

    Returns:
        Positions of the operands that are left.
    """
    entry = function.regions[0].blocks[0]
    leave = entry.operations[len(entry.operations) - 1]
    results = [leave.operands[i] for i in part.kept]
    with leave.location, ir.InsertionPoint(leave):
        func.ReturnOp(results)
    leave.operation.erase()
    for place, i in reversed(list(enumerate(passed))):
        if i not in part.taken:
            entry.erase_argument(leading + place)
    kind = ir.FunctionType.get([value.type for value in entry.arguments], [value.type for value in results])
    function.attributes["function_type"] = ir.TypeAttr.get(kind)
    return [i for i in passed if i in part.taken]


def _rename(module: Any, function: Any, name: str) -> None:
    ir.SymbolTable.replace_all_symbol_uses(name_of(function), name, module.operation)
    ir.SymbolTable.set_symbol_name(function, name)
