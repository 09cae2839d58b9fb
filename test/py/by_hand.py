"""Programs written down block by block."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hlobatch.instructions import Block, ControlFlowGraph, Op, PrimOp, Program, Terminator, tensor

INT, BOOL, FLOAT = tensor(np.int32), tensor(np.bool_), tensor(np.float32)


def prim(text: str, inputs: str, outputs: str, function: Callable[..., Any]) -> PrimOp:
    """A primitive from names separated by spaces and a function of one result."""
    return PrimOp(tuple(inputs.split()), tuple(outputs.split()), lambda *values: (function(*values),), text)


def graph(*blocks: Block) -> ControlFlowGraph:
    return ControlFlowGraph(blocks)


def block(name: str, *ops: Op) -> Block:
    *instructions, terminator = ops
    assert isinstance(terminator, Terminator)
    return Block(name, tuple(instructions), terminator)


def program(*blocks: Block, **changes: Any) -> Program:
    """A program of these blocks from %n to %r, without types or functions unless ``changes`` say otherwise."""
    return Program(graph(*blocks), (), {}, ("n",), ("r",), {}).replace(**changes)


def step(text: str) -> PrimOp:
    """``"a b -> c"``: a primitive that reads a and b and writes c."""
    left, right = text.split("->")
    return prim(text, left, right, lambda *_: None)


def names(text: str) -> frozenset[str]:
    """Names separated by spaces."""
    return frozenset(text.split())
