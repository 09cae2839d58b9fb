"""The program data model under the names of TFP's ``auto_batching``: types, operations, programs, their interpreter."""

from hlobatch.interpreters.definitional import interpret
from hlobatch.ir.ops import (
    HALT,
    BranchOp,
    FunctionCallOp,
    GotoOp,
    IndirectGotoOp,
    LogOp,
    Op,
    PopOp,
    PrimOp,
    PushGotoOp,
    PushOp,
    Terminator,
)
from hlobatch.ir.printer import print_program
from hlobatch.ir.program import MAIN, Block, ControlFlowGraph, Function, Program, VariableAllocation
from hlobatch.ir.types import Static, TensorType, Type, tensor
from hlobatch.ir.verifier import verify

__all__ = [
    "HALT",
    "MAIN",
    "Block",
    "BranchOp",
    "ControlFlowGraph",
    "Function",
    "FunctionCallOp",
    "GotoOp",
    "IndirectGotoOp",
    "LogOp",
    "Op",
    "PopOp",
    "PrimOp",
    "Program",
    "PushGotoOp",
    "PushOp",
    "Static",
    "TensorType",
    "Terminator",
    "Type",
    "VariableAllocation",
    "interpret",
    "print_program",
    "tensor",
    "verify",
]
