"""Program counter autobatching, eagerly: the reference for the lowering to StableHLO.

Every lane has a program counter and, for each ``FULL`` variable, a stack ``[depth, lanes, *event]`` with a pointer; the
top is kept beside it. One step runs the first block in program order at which a lane waits, for all lanes that wait
there, whatever their stacks.

Reference: paper section 3.1, algorithm 2; section 3.2, optimization 4 (the cached top).
"""

from __future__ import annotations

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
from hlobatch.ir.fate import Fate, stop_of
from hlobatch.ir.ops import BranchOp, GotoOp, IndirectGotoOp, LogOp, Op, PopOp, PushGotoOp, PushOp
from hlobatch.ir.physical import flatten, physical
from hlobatch.ir.program import Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.values.user_values import user_value

Array = Any


@dataclass
class Stack:
    """The frames under a variable's cached top.

    Attributes:
        frames: One buffer ``[depth, lanes, *event]`` per leaf.
        pointer: ``i32[lanes]``, frames in use.
    """

    frames: list[Array]
    pointer: np.ndarray[Any, np.dtype[np.int32]]


@dataclass
class Machine:
    """The state of a run.

    Attributes:
        max_steps: Blocks that a lane may run, or None.
        counter: ``i32[lanes]``: index of the block each lane waits at; ``exit_index`` when it is done or was stopped.
        fates: ``i32[lanes]``: the fate of each lane.
        steps: ``i32[lanes]``: number of blocks that each lane has run.
        tops: Current values, ``[lanes, *event]``.
        stacks: Saved values of ``FULL`` variables.
        executions: Number of executions of each block, by name.
        active: Number of lanes that each block ran for, summed over executions.
        emission: Carries out the effects of lanes.
    """

    program: Program
    backend: Backend
    cache: BlockCodeCache
    depth: int
    lanes: int
    max_steps: int | None = None
    counter: np.ndarray[Any, np.dtype[np.int32]] = field(init=False)
    fates: np.ndarray[Any, np.dtype[np.int32]] = field(init=False)
    steps: np.ndarray[Any, np.dtype[np.int32]] = field(init=False)
    tops: Environment = field(default_factory=dict)
    stacks: dict[str, Stack] = field(default_factory=dict)
    executions: dict[str, int] = field(default_factory=dict)
    active: dict[str, int] = field(default_factory=dict)
    emission: Emission = field(default_factory=Emission)

    def __post_init__(self) -> None:
        graph = self.program.graph
        self.counter, self.fates, self.steps = np.zeros((3, self.lanes), np.int32)
        self.executions = dict.fromkeys((b.name for b in graph), 0)
        self.active = dict(self.executions)
        for name, type_ in self.program.var_defs.items():
            leaves = [physical(leaf) for leaf in type_.tensor_leaves]
            self.tops[name] = [self.backend.zeros((self.lanes, *leaf.shape), leaf.dtype) for leaf in leaves]
            if self.program.alloc(name) is Alloc.FULL:
                frames = [self.backend.zeros((self.depth, self.lanes, *leaf.shape), leaf.dtype) for leaf in leaves]
                self.stacks[name] = Stack(frames, np.zeros(self.lanes, np.int32))
        for op in self.program.ops:
            if isinstance(op, (PushGotoOp, IndirectGotoOp)):
                self.tops[op.counter] = [self.backend.asarray(np.full(self.lanes, graph.exit_index(), np.int32))]

    def step(self) -> bool:
        """Run the first block at which lanes wait; False once all lanes are done."""
        index = int(self.counter.min())
        if index == self.program.graph.exit_index():
            return False
        block = self.program.graph.blocks[index]
        mask = self.counter == index
        if self.max_steps is not None:
            mask = self._stop(mask, self.steps >= self.max_steps, Fate.STEPPED_OUT)
        self.steps += mask
        self.executions[block.name] += 1
        self.active[block.name] += int(mask.sum())
        for part in parts(block):
            if mask.any():
                mask = self._part(part, mask)
        if mask.any():
            self._leave(block, mask)
        return True

    def _stop(self, mask: Mask, stopped: Mask, fate: Fate) -> Mask:
        """Stop some lanes of the mask with a fate; returns the mask of the others."""
        self.fates = np.where(mask & stopped, np.int32(fate), self.fates)
        self.counter = np.where(mask & stopped, np.int32(self.program.graph.exit_index()), self.counter)
        return mask & ~stopped

    def _part(self, part: Segment | Op, mask: Mask) -> Mask:
        """Carry out a part of a block; returns the mask of the lanes that go on."""
        match part:
            case Segment():
                values = run_segment(self.program, part, self.tops, mask, self.backend, self.cache)
                masked_update(self.tops, values, mask, self.backend)
            case LogOp():
                emit(self.program, part, self.tops, mask, self.emission)
            case PushOp():
                for name in part.vars:
                    mask = self._push(name, mask)
            case PopOp():
                for name in part.vars:
                    self._pop(name, mask)
            case _:
                raise TypeError(f"the virtual machine has no meaning for {part!r}; lower calls first")
        return mask

    def _push(self, name: str, mask: Mask) -> Mask:
        """Save the top; returns the mask of lanes with room for it. A register is not saved: its old value is dead."""
        stack = self.stacks.get(name)
        if stack is None:
            return mask
        mask = self._stop(mask, stack.pointer >= self.depth, Fate.PARKED)
        rows = np.minimum(stack.pointer, self.depth - 1)
        tops = self.tops[name]
        stack.frames = [self.backend.scatter(f, rows, mask, t) for f, t in zip(stack.frames, tops, strict=True)]
        stack.pointer = stack.pointer + mask.astype(np.int32)
        return mask

    def _pop(self, name: str, mask: Mask) -> None:
        """Restore the value saved last; the top of an empty stack is left unchanged."""
        stack = self.stacks.get(name)
        if stack is None:
            return
        stack.pointer = np.maximum(stack.pointer - mask.astype(np.int32), 0)
        saved = [self.backend.gather(f, np.minimum(stack.pointer, self.depth - 1)) for f in stack.frames]
        masked_update(self.tops, {name: saved}, mask, self.backend)

    def _leave(self, block: Block, mask: Mask) -> None:
        graph, terminator = self.program.graph, block.terminator
        match terminator:
            case GotoOp():
                target: Any = graph.block_index(terminator.block)
            case BranchOp():
                condition = np.asarray(self.tops[terminator.cond_var][0]).astype(bool)
                sides = (graph.block_index(terminator.true_block), graph.block_index(terminator.false_block))
                target = np.where(condition, *sides)
            case PushGotoOp():
                target = graph.block_index(terminator.goto_block)
                mask = self._push(terminator.counter, mask)
                back = np.full(self.lanes, graph.block_index(terminator.push_block), np.int32)
                masked_update(self.tops, {terminator.counter: [self.backend.asarray(back)]}, mask, self.backend)
            case IndirectGotoOp():
                target = np.asarray(self.tops[terminator.counter][0])
                self._pop(terminator.counter, mask)
            case _:
                raise TypeError(f"the virtual machine has no meaning for {terminator!r}")
        self.counter = np.where(mask, target, self.counter).astype(np.int32)


def start(
    program: Program,
    args: Any,
    max_stack_depth: int,
    backend: Backend,
    cache: BlockCodeCache | None = None,
    max_steps: int | None = None,
) -> Machine:
    """A machine with its inputs stored and every lane at the entry."""
    arrays = [flatten(value, program.var_defs[name]) for name, value in zip(program.vars_in, args, strict=True)]
    lanes = next(len(a[0]) for a in arrays if a)
    machine = Machine(program, backend, {} if cache is None else cache, max_stack_depth, lanes, max_steps)
    for name, values in zip(program.vars_in, arrays, strict=True):
        machine.tops[name] = [backend.asarray(value) for value in values]
    return machine


def execute(
    program: Program,
    args: Any,
    max_stack_depth: int,
    backend: Backend,
    block_code_cache: BlockCodeCache | None = None,
    *,
    max_steps: int | None = None,
) -> list[Any]:
    """Run a batch through a lowered program.

    Args:
        program: The program, typed and allocated, with calls lowered.
        args: Values of ``program.vars_in``, every array ``[batch, *event]``.
        max_stack_depth: Frames per stack.
        backend: Array library; see ``interpreters.backends``.
        block_code_cache: Compiled straight-line code, kept between calls.
        max_steps: Blocks that a lane may run, or None.

    Returns:
        The values of ``program.vars_out``, every array ``[batch, *event]``; without failure numbers and details, if the
        program may raise.

    Raises:
        StackOverflowError: Some lanes needed more frames; the stacks here do not grow.
        StepLimitError: Some lanes had not finished after ``max_steps`` blocks.
        LaneError: Some lanes raised.
    """
    machine = start(program, args, max_stack_depth, backend, block_code_cache, max_steps)
    with machine.emission:
        while machine.lanes and machine.step():
            pass
    results = [user_value(machine.tops[name], program.var_defs[name]) for name in program.vars_out]
    if machine.fates.any():
        stop = stop_of(machine.fates)
        message, advice = stop.message(None, max_steps, max_stack_depth), "raise max_steps or max_stack_depth."
        raise stop.error(
            message, program.location, lanes=stop.lanes, outputs=results, unfinished=stop.unfinished, help=advice
        )
    return checked(program, results)
