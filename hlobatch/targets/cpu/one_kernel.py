"""A module -> the same, whose ``main`` XLA compiles to one kernel on a CPU.

::

    func @main(%x) { … }    ==>    func @main(%x) { %y = optimization_barrier %x
                                                     call @kernel(%y) {xla_cpu_small_call = "true", …} }
                                   func @kernel(%x) { …, and %x }

XLA's CPU runtime starts a kernel for each group of operations that it fuses, and hands some of the kernels to other
threads. To start a small kernel takes longer than to run it. For a ``while`` that it takes to be small, XLA has another
way: one LLVM function for all of it, loops and branches included. XLA marks the call of such a function with an
attribute, and so does this pass. In a run of several kernels, small code that runs again and again, such as the
schedule, can be a kernel of this kind, too (``in_a_kernel``).

XLA's emitter ends the process if a kernel has an argument that nothing uses. So the kernel gives back its arguments,
besides its results. The arguments come through a barrier, without which XLA replaces some of them by constants of the
computation around the call, and leaves the arguments unused.

Source: XLA, ``xla/service/cpu/small_while_loop_hoisting_pass.cc`` and
``xla/backends/cpu/codegen/computation_kernel_emitter.cc``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hlobatch._jax import func, ir, stablehlo
from hlobatch.lowering.idiom import Ahead, Called, Function
from hlobatch.lowering.module.functions import new_function
from hlobatch.lowering.module.splice import Avals, Splicer

KERNEL: Final = "kernel"
"""Name of the function that was ``main``."""
NOT_INLINED: Final = {"inlineable": "false"}
"""What XLA is told of a call that is to stay one."""
_ATTRIBUTES: Final = {**NOT_INLINED, "xla_cpu_small_call": "true"}


_MARKS: Final = "mhlo.frontend_attributes"


def in_a_kernel(splicer: Splicer, function: Function, avals: Avals, name: str) -> Called:
    """Add a function of flat arguments, whose sizes are known, to a module; each of its calls is one kernel."""
    spliced = splicer.add(lambda *given: [*function(*given), *given], avals, name)
    count = len(spliced.results) - len(avals)
    return Called(lambda given: call_kernel(spliced.symbol, spliced.results, given)[:count], count)


def in_one_kernel(module: Any, ahead: Ahead | None = None) -> None:
    """Let ``main``, whose sizes are known, be a call of what it was; the module is changed.

    Args:
        module: That is changed.
        ahead: What is computed before the call, and no operand of ``main`` any more.
    """
    body = ir.SymbolTable(module.operation)["main"]
    entry = body.regions[0].blocks[0]
    arguments, leave = list(entry.arguments), entry.operations[len(entry.operations) - 1]
    results = list(leave.operands)
    types = [value.type for value in arguments]
    with ir.InsertionPoint(leave):
        func.ReturnOp([*results, *arguments])
    leave.operation.erase()
    given = [value.type for value in results]
    body.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [*given, *types]))
    body.attributes["sym_visibility"] = ir.StringAttr.get("private")
    ir.SymbolTable.set_symbol_name(body.operation, KERNEL)
    place, count = (ahead.place, ahead.made.results) if ahead else (0, 0)
    taken = [*types[:place], *types[place + count :]]
    with ir.InsertionPoint.at_block_begin(module.body):
        _, start = new_function("main", taken, given, is_public=True)
    with ir.InsertionPoint(start):
        operands = list(start.arguments)
        if ahead:
            operands[place:place] = ahead.made.call(operands[:place])
        func.ReturnOp(call_kernel(KERNEL, [*given, *types], operands)[: len(given)])


def call_kernel(symbol: str, results: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """What a function gives back, arguments and all, that is to be one kernel."""
    operands = list(stablehlo.OptimizationBarrierOp(list(arguments)).results)
    call = func.CallOp(list(results), ir.FlatSymbolRefAttr.get(symbol), operands)
    mark(call, _ATTRIBUTES)
    return list(call.results)


def mark(operation: Any, attributes: Mapping[str, str]) -> None:
    """Tell XLA of an operation by attributes that it hands on to its passes."""
    marks: dict[str, ir.Attribute] = {name: ir.StringAttr.get(value) for name, value in attributes.items()}
    operation.operation.attributes[_MARKS] = ir.DictAttr.get(marks)


def is_marked(operation: Any) -> bool:
    """Whether XLA is told anything of an operation."""
    return _MARKS in operation.attributes
