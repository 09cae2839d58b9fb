"""A module -> the same, in which operations on little data that follow each other are outlined to one kernel on a CPU.

::

    %a = stablehlo.select %m, %x, %y             %a, %b = call @small_0(%m, %x, %y, …)
    %b = stablehlo.while(…) { … }         ==>        {xla_cpu_small_call = "true", …}
    %c = stablehlo.dot_general %a, %w            %c = stablehlo.dot_general %a, %w
                                                 func @small_0(%m, %x, %y, …) { select, while, … }

A run is several kernels if it has products that are worth a library, or operations that only a library has. If it is a
run of one lane, all other operations work on a few numbers each, and to start a kernel for each takes longer than to
run it. So operations of that kind that follow each other are outlined: they become a function that is compiled to one
kernel. Loops and branches that hold only such operations are part of the kernel, with all their tests.

As in ``one_kernel.py``, a kernel may have no argument that XLA finds unused. Were all arguments given back, as in a run
that is one kernel, arrays could not be updated in place. So an argument is given back only if nothing in the kernel is
sure to use it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from hlobatch._jax import func, ir
from hlobatch.jax_primitives import IN_KERNELS, Batched, batched, operations
from hlobatch.lowering.module.functions import new_function
from hlobatch.lowering.module.splice import CALL, callee
from hlobatch.lowering.module.while_loop import WHILE
from hlobatch.targets.cpu.one_kernel import call_kernel, is_marked
from hlobatch.targets.cpu.reductions import FOR_A_LIBRARY

MOST_ELEMENTS: Final = 4096
"""Elements of a result that one core works on in less time than it takes to start a kernel, or a few."""
LEAST_OPERATIONS: Final = 8
"""Operations that are worth a kernel of their own: XLA would fuse fewer with each other, or with what follows."""

_CONSTANT: Final = "stablehlo.constant"
_SELECT: Final = "stablehlo.select"
_IN_REGIONS: Final = frozenset({WHILE, "stablehlo.case", "stablehlo.if"})
_SCATTER: Final = "stablehlo.scatter"
_ONE_AND_RETURN: Final = 2
_UPDATED: Final = {"stablehlo.dynamic_update_slice": 1, _SCATTER: 2}
"""Operations that change a part of their first operand, and the position of the operand that is written to it."""
_READ: Final = frozenset({"stablehlo.dot_general", "stablehlo.reduce"})
"""Operations whose time grows with the size of their operands, and not of their results."""
_RESHAPED: Final = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape"})
"""Operations whose result has the elements of their operand, all of them."""
_LEAVING: Final = frozenset({"func.return", "stablehlo.return"})
_EMITTED: Final = operations(IN_KERNELS - batched(Batched.CONTROL)) | {_CONSTANT} | _LEAVING
"""Operations that XLA emits into a kernel."""
_NUMBERS: Final = "i1 i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 f32 f64 complex<f32> complex<f64>"
_TYPES: Final = frozenset(_NUMBERS.split())
"""Types of elements that XLA's emitter is known to work on."""


def in_small_kernels(module: Any) -> None:
    """Outline operations on little data that follow each other, in ``main`` and in what it calls, in place."""
    _Outlining(module).function("main")


@dataclass
class _Outlining:
    module: Any
    _is_little: dict[str, bool] = field(default_factory=dict)
    _visited: set[str] = field(default_factory=set)
    _kernels: int = 0

    def function(self, symbol: str) -> None:
        """Outline kernels from a function, and from those it calls that are not part of one."""
        if symbol not in self._visited:
            self._visited.add(symbol)
            self._block(self._body(symbol))

    @cached_property
    def _functions(self) -> Any:
        return ir.SymbolTable(self.module.operation)

    def _body(self, symbol: str) -> Any:
        return self._functions[symbol].regions[0].blocks[0]

    def _block(self, block: Any) -> None:
        runs: list[list[Any]] = [[]]
        for operation in _operations(block):
            if operation.name == _CONSTANT or operation.name in _LEAVING:
                continue
            if self._belongs(operation):
                runs[-1].append(operation)
                continue
            runs.append([])
            if operation.name == CALL and not is_marked(operation):
                self.function(callee(operation))
            elif operation.name in _IN_REGIONS:
                for inner in _blocks(operation):
                    self._block(inner)
        for run in runs:
            if sum(map(self._count, run)) >= LEAST_OPERATIONS:
                self._outline(_Run(run))

    def _belongs(self, operation: Any) -> bool:
        """Whether XLA emits an operation into a kernel, and it works on little."""
        name = operation.name
        if name == CALL:
            return not is_marked(operation) and self._has_little(callee(operation))
        if name in _IN_REGIONS:
            return all(map(self._belongs, _inside(operation)))
        if not (name in _EMITTED or (name.startswith("chlo.") and name != "chlo.top_k")):
            return False
        values = [*operation.operands, *operation.results]
        if not all(str(_kind(v).element_type) in _TYPES and _elements(v) for v in values):
            return False  # XLA takes an array of no elements for a constant, and leaves its argument unused
        if name in _UPDATED:
            return _changes_one_part(operation) and _elements(operation.operands[_UPDATED[name]]) <= MOST_ELEMENTS
        if name in _READ:
            return math.prod(map(_elements, operation.operands)) < FOR_A_LIBRARY
        return all(_elements(v) <= MOST_ELEMENTS for v in operation.results)

    def _has_little(self, symbol: str) -> bool:
        if symbol not in self._is_little:
            self._is_little[symbol] = all(map(self._belongs, _operations(self._body(symbol))))
        return self._is_little[symbol]

    def _count(self, operation: Any) -> int:
        """How many operations it is, those of functions it calls among them."""
        if operation.name == CALL:
            return sum(map(self._count, _operations(self._body(callee(operation)))))
        return int(operation.name != _CONSTANT) + sum(map(self._count, _inside(operation)))

    def _outline(self, run: _Run) -> None:
        given, constants = run.captured()
        results = run.results()
        if not given or not results:
            return
        back = [value for value in given if not run.is_sure_to_use(value)]
        symbol, self._kernels = f"small_{self._kernels}", self._kernels + 1
        types = [value.type for value in given]
        kinds = [value.type for value in (*results, *back)]
        with ir.InsertionPoint(self.module.body):
            _, entry = new_function(symbol, types, kinds)
        with ir.InsertionPoint(run.operations[-1]):
            made = call_kernel(symbol, kinds, given)
        for old, new in zip(results, made, strict=False):
            for use in run.uses_outside(old):
                use.owner.operands[use.operand_number] = new
        there = dict(zip(given, entry.arguments, strict=True))
        with ir.InsertionPoint(entry):
            there |= {value: value.owner.clone().results[0] for value in constants}
            leave = func.ReturnOp([*results, *(there[value] for value in back)])
        for operation in run.operations:
            operation.move_before(leave.operation)
        for operation in run.at_any_depth:
            for position, value in enumerate(operation.operands):
                if value in there:
                    operation.operands[position] = there[value]


@dataclass
class _Run:
    """Operations of a block that follow each other, but for constants between them.

    Attributes:
        operations: In order.
    """

    operations: Sequence[Any]

    @cached_property
    def outermost(self) -> frozenset[Any]:
        return frozenset(self.operations)

    @cached_property
    def at_any_depth(self) -> dict[Any, None]:
        """The operations, and all inside of them, in order."""
        return dict.fromkeys(inner for outer in self.operations for inner in (outer, *_at_any_depth(outer)))

    def captured(self) -> tuple[list[Any], list[Any]]:
        """What is used here and made elsewhere: values, and small constants."""
        used = dict.fromkeys(value for operation in self.at_any_depth for value in operation.operands)
        elsewhere = [value for value in used if _maker(value) not in self.at_any_depth]
        given = [value for value in elsewhere if not _is_small_constant(value)]
        return given, [value for value in elsewhere if _is_small_constant(value)]

    def results(self) -> list[Any]:
        """What is made here and used elsewhere."""
        made = (value for operation in self.operations for value in operation.results)
        return [value for value in made if any(True for _ in self.uses_outside(value))]

    def uses_outside(self, value: Any) -> list[Any]:
        return [use for use in value.uses if use.owner.operation not in self.at_any_depth]

    def is_sure_to_use(self, given: Any) -> bool:
        """Whether XLA cannot find that nothing needs a value, for what it stands in is given back, or needed for that.

        That is what a loop carries first, an array that a part of is changed, and what a select may leave as it is.
        """
        return any(self._needs(use.owner.operation, use.operand_number) for use in given.uses)

    def _needs(self, operation: Any, position: int) -> bool:
        if operation not in self.outermost:
            return False
        if operation.name == WHILE:
            return self._may_not_turn(operation) and self._is_needed(operation.results[position])
        if operation.name in _UPDATED:
            is_part = _elements(operation.operands[_UPDATED[operation.name]]) < _elements(operation.operands[0])
            return position == 0 and is_part and self._is_needed(operation.results[0])
        is_left = operation.name == _SELECT and position == 2 and self._may_be_false(operation.operands[0])
        return is_left and bool(self.uses_outside(operation.results[0]))  # one in another XLA may drop

    def _is_needed(self, value: Any) -> bool:
        """Whether a value is given back, or in the place of one that is."""
        return bool(self.uses_outside(value)) or self.is_sure_to_use(value)

    def _may_not_turn(self, loop: Any) -> bool:
        """Whether XLA cannot count a loop's turns: all that its condition reads before the first one is given."""
        condition = loop.regions[0].blocks[0]
        read = {value for operation in _operations(condition) for value in operation.operands}
        first = [loop.operands[i] for i, argument in enumerate(condition.arguments) if argument in read]
        return bool(first) and all(self._is_given(value) or self._is_of_such_a_loop(value) for value in first)

    def _is_of_such_a_loop(self, value: Any) -> bool:
        owner = _maker(value)
        return owner in self.at_any_depth and owner.name == WHILE and self._may_not_turn(owner)

    def _may_be_false(self, mask: Any) -> bool:
        """Whether XLA cannot find that a mask is true: it is given, or whether what is given equals a constant.

        Of other comparisons XLA knows some: that no unsigned number is below zero, that a number equals itself.
        """
        if self._is_given(mask):
            return True
        owner = _maker(mask)
        if owner.name == "stablehlo.compare":
            is_equal = "EQ" in str(owner.attributes["comparison_direction"])
            left, right = owner.operands
            return is_equal and self._is_given(left) and self._is_constant(right)
        passes_on = owner.name == "stablehlo.and" or owner.name in _RESHAPED
        return passes_on and any(map(self._may_be_false, owner.operands))

    def _is_constant(self, value: Any) -> bool:
        owner = _maker(value)
        is_reshaped = owner in self.at_any_depth and owner.name in _RESHAPED
        return self._is_constant(owner.operands[0]) if is_reshaped else _is_small_constant(value)

    def _is_given(self, value: Any) -> bool:
        return _maker(value) not in self.at_any_depth and not _is_small_constant(value)


def _maker(value: Any) -> Any:
    """The operation that a value is a result of, or an argument in."""
    owner = value.owner
    return owner.owner.operation if isinstance(owner, ir.Block) else owner.operation


def _is_small_constant(value: Any) -> bool:
    is_constant = not isinstance(value.owner, ir.Block) and value.owner.name == _CONSTANT
    return is_constant and _elements(value) <= MOST_ELEMENTS


def _changes_one_part(update: Any) -> bool:
    """Whether it changes one part of one array, of a scatter: by at most an operation on what is there."""
    if update.name != _SCATTER:
        return True
    places = _kind(update.operands[1]).shape[:-1]
    return math.prod(places) == 1 and len(update.results) == 1 and len(list(_inside(update))) <= _ONE_AND_RETURN


def _kind(value: Any) -> Any:
    return ir.RankedTensorType(value.type)


def _elements(value: Any) -> int:
    return math.prod(_kind(value).shape)


def _blocks(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        yield from region.blocks


def _operations(block: Any) -> list[Any]:
    return [inner.operation for inner in block.operations]


def _inside(operation: Any) -> Iterator[Any]:
    """Operations of an operation's regions, but not inside of those."""
    for block in _blocks(operation):
        yield from _operations(block)


def _at_any_depth(operation: Any) -> Iterator[Any]:
    for inner in _inside(operation):
        yield inner
        yield from _at_any_depth(inner)
