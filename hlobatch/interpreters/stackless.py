"""Local static autobatching: masks and a queue of waiting points; Python's recursion serves for recursion.

Each function call runs in its own recursive call of the interpreter, with a mask of the lanes that made it, so lanes do
not meet across calls at different depths. Invariants: the masks in a queue are disjoint and never empty, and there is
at most one entry per block (entries for the same block are merged).

Reference: paper section 2, algorithm 1; TFP ``auto_batching.stackless.execute``; Bradbury and Fu (2018).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hlobatch.interpreters.backends import Backend, Mask
from hlobatch.interpreters.segments import (
    BlockCodeCache,
    Environment,
    Segment,
    emit,
    masked_update,
    parts,
    run_segment,
)
from hlobatch.ir.effects import Emission
from hlobatch.ir.failures import checked
from hlobatch.ir.ops import BranchOp, FunctionCallOp, GotoOp, LogOp, Op
from hlobatch.ir.physical import array_count, flatten, physical
from hlobatch.ir.program import ControlFlowGraph, Function, Program
from hlobatch.ir.types import Leaf, TensorType
from hlobatch.typing import ArrayLike
from hlobatch.values.user_values import user_value


@dataclass
class WaitingPoints:
    """The queue: for each block index, the mask of the lanes that wait to run from there."""

    masks: dict[int, Mask] = field(default_factory=dict)
    heap: list[int] = field(default_factory=list)

    def enqueue(self, index: int, mask: Mask) -> None:
        """Add lanes that wait for a block. An empty mask is never queued, or recursion would not end."""
        if not mask.any():
            return
        if index in self.masks:
            self.masks[index] = self.masks[index] | mask
        else:
            self.masks[index] = mask
            heapq.heappush(self.heap, index)

    def dequeue(self) -> tuple[int, Mask]:
        """The lowest block index at which lanes wait, and the mask of these lanes."""
        index = heapq.heappop(self.heap)
        return index, self.masks.pop(index)


def execute(
    program: Program, backend: Backend, block_code_cache: BlockCodeCache | None, *inputs: ArrayLike
) -> list[Any]:
    """Run a batch through a typed program with calls.

    Args:
        program: The program; calls are not lowered.
        backend: Array library; see ``interpreters.backends``.
        block_code_cache: Compiled straight-line code, kept between calls; None for a new cache for this call.
        *inputs: Values of ``program.vars_in``, every array ``[batch, *event]``.

    Returns:
        The values of ``program.vars_out``, every array ``[batch, *event]``; without failure numbers and details, if the
        program may raise.

    Raises:
        LaneError: Some lanes raised.
    """
    types = program.var_defs
    env = {
        name: [backend.asarray(a) for a in flatten(value, types[name])]
        for name, value in zip(program.vars_in, inputs, strict=True)
    }
    batch = next(len(arrays[0]) for arrays in env.values() if arrays)
    with Emission() as emission:
        run = _Run(program, backend, {} if block_code_cache is None else block_code_cache, emission)
        if batch:
            run.function(program.main_function(), env, np.ones(batch, bool))
    return checked(program, [_result(program, env, name, batch, backend) for name in program.vars_out])


def _result(program: Program, env: Environment, name: str, batch: int, backend: Backend) -> Any:
    type_ = program.var_defs[name]
    if not batch:
        leaves = [physical(t) for t in type_.tensor_leaves]
        return user_value([backend.zeros((0, *t.shape), t.dtype) for t in leaves], type_)
    return user_value(env.get(name, []), type_)


@dataclass
class _Run:
    program: Program
    backend: Backend
    cache: BlockCodeCache
    emission: Emission

    def function(self, function: Function, env: Environment, active: Mask) -> None:
        """Run a function for the active lanes; results are left in ``env``."""
        graph = function.graph
        waiting = WaitingPoints()
        waiting.enqueue(0, active)
        while True:
            index, mask = waiting.dequeue()
            if index == graph.exit_index():
                return
            block = graph.blocks[index]
            for part in parts(block):
                self._part(part, env, mask)
            self._leave(graph, block.terminator, env, mask, waiting)

    def _part(self, part: Segment | Op, env: Environment, mask: Mask) -> None:
        if isinstance(part, Segment):
            values = run_segment(self.program, part, env, mask, self.backend, self.cache)
            masked_update(env, values, mask, self.backend)
        elif isinstance(part, FunctionCallOp):
            self._call(part, env, mask)
        elif isinstance(part, LogOp):
            emit(self.program, part, env, mask, self.emission)
        else:
            raise TypeError(f"stackless execution has no meaning for {part!r}; give it a program with calls")

    def _call(self, op: FunctionCallOp, env: Environment, mask: Mask) -> None:
        """A recursive call of the interpreter, with registers of its own."""
        callee = self.program.function(op.function)
        inner: Environment = {}
        for parameter, argument in zip(callee.vars_in, op.vars_in, strict=True):
            inner[parameter] = self._passed(env.get(argument, []), argument, parameter, len(mask))
        for name, arrays in env.items():
            if name in self.program.main_function().vars_in or name in self._hoisted:
                inner.setdefault(name, arrays)
        self.function(callee, inner, mask)
        results = {
            target: self._passed(inner.get(source, []), source, target, len(mask))
            for target, source in zip(op.vars_out, callee.vars_out, strict=True)
        }
        masked_update(env, results, mask, self.backend)

    @property
    def _hoisted(self) -> frozenset[str]:
        """Variables that other functions read from main: shared values."""
        entry = self.program.graph.enter_block()
        return frozenset(v for op in entry.instructions if not isinstance(op, FunctionCallOp) for v in op.defs)

    def _passed(self, arrays: list[Any], source: str, target: str, lanes: int) -> list[Any]:
        """The arrays of variable ``source``, in the dtypes of variable ``target``."""
        types = self.program.var_defs
        if len(arrays) < array_count(types[target]):  # a Python number in one may be an array in the other
            supply = iter(arrays)
            pairs = list(zip(types[source].leaves, types[target].leaves, strict=True))
            arrays = [self._leaf(given, supply, lanes) for given, wanted in pairs if isinstance(wanted, TensorType)]
        leaves = types[target].tensor_leaves
        return [a if t.is_key or a.dtype == t.dtype else a.astype(t.dtype) for a, t in zip(arrays, leaves, strict=True)]

    def _leaf(self, given: Leaf, arrays: Iterator[Any], lanes: int) -> Any:
        """The next array of a variable, or a Python number as an array of all lanes."""
        if isinstance(given, TensorType):
            return next(arrays)
        return self.backend.asarray(np.broadcast_to(np.asarray(given.value), (lanes,)))

    def _leave(
        self, graph: ControlFlowGraph, terminator: Op, env: Environment, mask: Mask, waiting: WaitingPoints
    ) -> None:
        match terminator:
            case GotoOp():
                waiting.enqueue(graph.block_index(terminator.block), mask)
            case BranchOp():
                condition = np.asarray(env[terminator.cond_var][0]).astype(bool)
                waiting.enqueue(graph.block_index(terminator.true_block), mask & condition)
                waiting.enqueue(graph.block_index(terminator.false_block), mask & ~condition)
            case _:
                raise TypeError(f"stackless execution has no meaning for {terminator!r}")
