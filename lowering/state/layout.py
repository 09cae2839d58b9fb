"""A program and sizes -> the layout of a run's state: which arrays the loop carries, and what a program counter means.

Program counters::

    0 … n-1          waits at that block
    n  (leave)       done with its input; with a queue of inputs: about to hand in its result and take the next one
    n+1              with a queue: no input left
    parked + i       waits at block i until its stacks have grown

Parked lanes do not run; the loop ends when all lanes are at or past ``done``. A lane whose input is stopped is done
with it like any other. Why it was stopped is in a slot of its own, where that can happen; see ``fates.py``.

Arrays are ``[lanes, *event]``. A stack has one more axis in front, of ``depth + 1`` rows, and its top is an array
beside it. The last row is spare: lanes that do not push write to it, so that every index is in bounds (compilers differ
in what they do with an index that is not).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from hlobatch.analysis.call_frames import CallFrames
from hlobatch.ir.names import is_tape
from hlobatch.ir.ops import LogOp
from hlobatch.ir.physical import array_bytes, physical
from hlobatch.ir.program import STORED, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.transforms.lower_calls import return_addresses
from hlobatch.typing import ArrayLike, DType

Dim = Any
"""A size: an int, or a symbolic dimension of ``jax.export``."""

Slots = dict[str, Any]
"""Arrays by name."""

PC, FATE, ITEM, HEAD, STEPS = "pc", "fate", "item", "head", "steps"
EXECUTIONS, ACTIVE = "executions", "active"
LOG, LOGGED = "log", "logged"

DRAINED_ENTRIES, DRAINED_WORDS = 16, 256
"""Entries, and words of 32 bits in them, that a lane's log has room for where the host reads it whenever it is full."""
KEPT_ENTRIES, KEPT_WORDS = 1024, 1 << 24
"""Entries that a lane's log has room for where nobody reads it before the end, and words in the logs of all lanes."""


def most_words(program: Program) -> int:
    """The most words that the operands of one of a program's effects take."""
    return max(effect.size for effect in program.effects)


@dataclass(frozen=True)
class Layout:
    """Names, shapes and dtypes of a run's state.

    Attributes:
        program: The program, with calls lowered and variables allocated.
        inputs: Size of the batch.
        lanes: How many inputs are in flight; equal to ``inputs`` where there is no queue.
        depth: Frames per stack.
        queue: Whether lanes take new inputs when they are done.
        grows: Whether a lane whose stacks are full waits until they have grown; else its input is stopped.
        max_steps: Blocks an input may run, or None.
        stretches: Whether the loop ends after a given number of turns, so that another call goes on from the state.
        stats: Whether executions are counted.
        holds_stacks: Whether each block of a sweep stands behind a barrier, so that stacks are read before they are
            written.
        tables: Arguments that are no part of the state: lanes look things up in the rows of their inputs.
        constants: Arguments that no lane assigns; see ``in_place``.
        tape_ratio: How many times as many frames a tape has as any other stack.
        drains: Whether the host reads and empties the logs whenever one is full, and lanes then go on; else it
            reads them at the end, and entries for which there is no room are lost.
        summed: Results that lanes only add to: one array for all lanes, without the lane axis.
    """

    program: Program
    inputs: Dim
    lanes: Dim
    depth: int
    queue: bool = False
    grows: bool = True
    max_steps: int | None = None
    stretches: bool = False
    stats: bool = False
    holds_stacks: bool = False
    tables: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    drains: bool = True
    tape_ratio: int = 1
    summed: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Layout({self.inputs} inputs on {self.lanes} lanes, {self.depth} frames for each stack)"

    def array(self, event: tuple[int, ...], dtype: DType, *leading: int) -> jax.ShapeDtypeStruct:
        """An array of all lanes, with axes in front of theirs."""
        return jax.ShapeDtypeStruct((*leading, self.lanes, *event), dtype)

    def event(self, array: ArrayLike) -> tuple[int, ...]:
        """The shape of what one lane has of an array of lanes."""
        return tuple(array.shape[1:])

    @property
    def blocks(self) -> int:
        return len(self.program.graph.blocks)

    @property
    def leave(self) -> int:
        """Program counter of a lane that has just finished an input."""
        return self.blocks

    @property
    def done(self) -> int:
        """Program counter of a lane that has nothing left to do."""
        return self.blocks + 1 if self.queue else self.blocks

    @property
    def parked(self) -> int:
        """The number that is added to a lane's program counter when it parks."""
        return self.done + 1

    def tops(self, variable: str) -> list[str]:
        """Slots of a variable's current value, one per leaf."""
        count = len(self.program.var_defs[variable].tensor_leaves)
        return [f"{variable}#{i}" for i in range(count)]

    def frames(self, variable: str) -> list[str]:
        """Slots of a variable's stack, one per leaf."""
        return [f"{slot}.frames" for slot in self.tops(variable)]

    def pointer(self, variable: str) -> str:
        """Slot of a variable's stack pointer; variables whose stacks move together have the same one."""
        return f"{self.calls.pointers[variable]}.pointer"

    def depth_of(self, pointer: str) -> int:
        """Frames of the stacks that share a pointer, given the variable that it is named after; tapes have more."""
        return self.depth * self.tape_ratio if is_tape(pointer) else self.depth

    @cached_property
    def calls(self) -> CallFrames:
        """The call frames of the program: which variables are saved and restored together."""
        return CallFrames(self.program)

    @property
    def pointers(self) -> list[str]:
        """Slots of all stack pointers."""
        return list(dict.fromkeys(map(self.pointer, self.stacked)))

    @cached_property
    def handed_in(self) -> dict[str, str]:
        """With a queue: by the slot that collects a result for all inputs, the slot that a lane hands in to it."""
        results = [slot for v in self.program.vars_out if v not in self.summed for slot in self.tops(v)]
        return {f"{slot}.out": slot for slot in [*results, *([FATE] if self.stops_inputs else [])]}

    @cached_property
    def stored(self) -> tuple[str, ...]:
        """Variables that the loop carries."""
        return tuple(v for v in self.program.var_defs if self.is_stored(v))

    def is_stored(self, variable: str) -> bool:
        """Whether the loop carries a variable."""
        return self.program.alloc(variable) in STORED and variable not in self.tables | self.in_place

    @cached_property
    def in_place(self) -> frozenset[str]:
        """Arguments that are no part of the state either: lanes that keep their inputs read them where they lie."""
        return frozenset() if self.queue else self.constants - self.tables

    @cached_property
    def stacked(self) -> tuple[str, ...]:
        """Variables with a stack."""
        return tuple(v for v in self.stored if self.program.alloc(v) is Alloc.FULL)

    @property
    def may_end_early(self) -> bool:
        """Whether a run can end before all inputs are done."""
        return bool(self.stacked) or self.max_steps is not None or self.stretches or self.waits_for_host

    @property
    def may_stop(self) -> bool:
        """Whether some input may end without a result."""
        return self.may_end_early or bool(self.program.failures)

    @property
    def failure(self) -> str | None:
        """The slot of the number of a lane's failure, 0 for none; None if the program raises nothing."""
        return self.tops(self.program.vars_out[-2])[0] if self.program.failures else None

    @property
    def results(self) -> tuple[str, ...]:
        """Variables given back: results and, if the program may raise, the values that exceptions are made of."""
        outputs = self.program.vars_out
        return (*outputs[:-2], outputs[-1]) if self.program.failures else outputs

    @property
    def stops_inputs(self) -> bool:
        """Whether an input may end without a result, so that its lane goes on to the next."""
        return self.max_steps is not None or (bool(self.stacked) and not self.grows)

    @cached_property
    def not_of_lanes(self) -> frozenset[str]:
        """Slots without a lane axis: sums, and counts of executions."""
        return frozenset((EXECUTIONS, ACTIVE, *(top for v in self.summed for top in self.tops(v))))

    @cached_property
    def stacks(self) -> frozenset[str]:
        """Slots of all stacks, without the tops beside them."""
        return frozenset(slot for v in self.stacked for slot in self.frames(v))

    @cached_property
    def buffers(self) -> frozenset[str]:
        """Slots of arrays with an axis of rows in front, in which each lane is at a row of its own."""
        return self.stacks | ({LOG} if self.logs else frozenset())

    @property
    def logs(self) -> bool:
        """Whether lanes log effects for the host."""
        return bool(self.program.effects)

    @property
    def waits_for_host(self) -> bool:
        """Whether a lane whose log is full waits until the host has read it."""
        return self.logs and self.drains

    @property
    def may_park(self) -> bool:
        """Whether a lane may wait for the host, to grow its stacks or to read its log."""
        return (bool(self.stacked) and self.grows) or self.waits_for_host

    @cached_property
    def log_words(self) -> int:
        """Words of an entry of a log: the number of the effect, that of the input with a queue, and its operands."""
        return 1 + self.queue + most_words(self.program)

    @cached_property
    def most_logged(self) -> int:
        """The most entries that one block logs."""
        return max(sum(isinstance(op, LogOp) for op in block.instructions) for block in self.program.graph)

    @cached_property
    def log_rows(self) -> int:
        """Entries that a lane's log has room for."""
        words = 2 + most_words(self.program)  # with or without a queue: the run of the last few lanes has none
        few = max(self.most_logged, min(DRAINED_ENTRIES, DRAINED_WORDS // words))
        if self.drains or not isinstance(self.lanes, int):
            return few
        return max(few, min(KEPT_ENTRIES, KEPT_WORDS // (max(self.lanes, 1) * words)))

    @property
    def stack_bytes(self) -> int:
        """Memory that all stacks take."""
        return sum(array_bytes(self.slots[slot]) for slot in self.stacks)

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Variables computed once, without a batch axis."""
        return tuple(v for v in self.program.var_defs if self.program.alloc(v) is Alloc.SHARED)

    @cached_property
    def slots(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the arrays of the state, by slot, in order."""
        lanes = self.array((), np.int32)
        found: dict[str, jax.ShapeDtypeStruct] = {PC: lanes}
        for variable in self.stored:
            found |= self.variable(variable)
        if self.queue:
            types = self.program.var_defs
            found |= {ITEM: lanes, HEAD: jax.ShapeDtypeStruct((), np.int32)}
            of_inputs = [v for v in self.program.vars_out if v not in self.summed]
            leaves: list[Any] = [physical(t) for v in of_inputs for t in types[v].tensor_leaves]
            leaves += [jax.ShapeDtypeStruct((), np.int32)] if self.stops_inputs else []
            for slot, leaf in zip(self.handed_in, leaves, strict=True):
                found[slot] = jax.ShapeDtypeStruct((self.inputs + 1, *leaf.shape), leaf.dtype)
        if self.stops_inputs:
            found[FATE] = lanes
        if self.max_steps is not None:
            found[STEPS] = lanes
        if self.logs:
            found[LOG] = self.array((self.log_words,), np.int32, self.log_rows + 1)
            found[LOGGED] = lanes
        if self.stats:
            found[EXECUTIONS] = jax.ShapeDtypeStruct((self.blocks,), np.uint32)
            found[ACTIVE] = jax.ShapeDtypeStruct((self.blocks, 2), np.uint32)
        return found

    def variable(self, variable: str) -> dict[str, jax.ShapeDtypeStruct]:
        """The slots of a variable that differs between lanes: its top and, if it has one, its stack and pointer."""
        leaves = [physical(t) for t in self.program.var_defs[variable].tensor_leaves]
        pairs = list(zip(self.tops(variable), leaves, strict=True))
        if variable in self.summed:
            return {slot: jax.ShapeDtypeStruct(t.shape, t.dtype) for slot, t in pairs}
        found = {slot: self.array(t.shape, t.dtype) for slot, t in pairs}
        if self.program.alloc(variable) is Alloc.FULL:
            found[self.pointer(variable)] = self.array((), np.int32)
            for slot, (_, t) in zip(self.frames(variable), pairs, strict=True):
                found[slot] = self.array(t.shape, t.dtype, self.depth_of(self.calls.pointers[variable]) + 1)
        return found

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """By slot, the least and the greatest number where each number is a place: of a block, a frame or an input."""
        found = {PC: (0, self.parked + self.blocks - 1), ITEM: (-1, self.inputs - 1), HEAD: (0, self.inputs)}
        found |= {slot: (0, self.depth_of(slot.removesuffix(".pointer"))) for slot in self.pointers}
        for counter in return_addresses(self.program):
            found |= dict.fromkeys([*self.tops(counter), *self.frames(counter)], (0, self.leave))
        found |= {LOGGED: (0, self.log_rows)} if self.logs else {}
        return {slot: bounds for slot, bounds in found.items() if slot in self.slots}

    @cached_property
    def shared_slots(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shapes and dtypes of shared values, in order; they are computed before the loop and captured by it."""
        found = {}
        for variable in self.shared:
            leaves = [physical(t) for t in self.program.var_defs[variable].tensor_leaves]
            for slot, leaf in zip(self.tops(variable), leaves, strict=True):
                found[slot] = jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
        return found

    @cached_property
    def input_avals(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the module's inputs: ``vars_in``, of which shared variables have no batch axis."""
        found: list[jax.ShapeDtypeStruct] = []
        for variable in self.program.vars_in:
            shared = self.program.alloc(variable) is Alloc.SHARED
            batch = () if shared else (self.inputs,)
            leaves = map(physical, self.program.var_defs[variable].tensor_leaves)
            found += [jax.ShapeDtypeStruct((*batch, *t.shape), t.dtype) for t in leaves]
        return found
