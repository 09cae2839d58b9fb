"""A block and traced slots -> the slots after one run of the block, in the lanes of a mask.

::

    slots  {pc, l, l.ptr, l.frames, r, …}     lanes  those at the block (``compaction.py``: all, or a few)

    1. lanes whose stacks or logs are full leave the mask, and wait    (fates.py, log.py)
    2. steps and executions are counted, if the layout has slots for them
    3. operations run, one after the other                             (primitives.py, updates.py, frames.py)
    4. the terminator gives each lane its next program counter

JAX traces a run once for each block (``block.py``). Lanes outside of the mask keep all their values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property, singledispatchmethod
from itertools import groupby
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.analysis.sums_over_lanes import Lanes, adding, places_of
from hlobatch.ir.fate import Fate
from hlobatch.ir.ops import HALT, BranchOp, GotoOp, IndirectGotoOp, LogOp, Op, PopOp, PrimOp, PushGotoOp, PushOp
from hlobatch.ir.physical import array_count
from hlobatch.ir.program import STORED
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.blocks.compaction import Everyone, Selection, Values, compacted
from hlobatch.lowering.blocks.frames import Frames
from hlobatch.lowering.blocks.primitives import Call, needs_real_inputs
from hlobatch.lowering.blocks.updates import held
from hlobatch.lowering.state import fates, log
from hlobatch.lowering.state.footprint import capture_slot
from hlobatch.lowering.state.layout import ACTIVE, EXECUTIONS, ITEM, PC, STEPS, Layout, Slots
from hlobatch.typing import ArrayLike

if TYPE_CHECKING:
    from hlobatch.lowering.blocks.block import BlockFunction


@dataclass
class BlockRun:
    """One run of a block on traced arrays.

    Attributes:
        function: The block.
        slots: The values of the slots, which operations replace as they run.
        lanes: The lanes at the block; primitives may be computed on arrays of these lanes alone.
        temporaries: Values of variables that are not stored, by name, of ``lanes.count`` lanes.
        read_from: By variable that is updated in place, the variables computed from it that no barrier holds yet.
    """

    function: BlockFunction
    slots: Slots
    lanes: Selection
    temporaries: dict[str, list[Any]] = field(default_factory=dict)
    read_from: dict[str, set[str]] = field(default_factory=dict)

    @cached_property
    def _frames(self) -> Frames:
        return Frames(self.function)

    @property
    def layout(self) -> Layout:
        return self.function.layout

    @property
    def mask(self) -> Any:
        return self.lanes.mask

    def result(self) -> tuple[Any, ...]:
        """The values of the slots written, in order."""
        # Lanes that cannot run the block leave the mask first, so that nothing of theirs is counted or changed.
        self._park()
        self._count()
        self.slots |= self._frames.take_and_leave(self.slots, self.mask)
        ops = self.function.ops
        done = 0
        for are_primitives, group in groupby(ops, lambda op: isinstance(op, PrimOp)):
            together = list(group)
            done += len(together)
            if are_primitives and self.function.widths:
                self._compacted(together, ops[done:])
            else:
                for op in together:
                    self.run(op)
        return tuple(self.slots[slot] for slot in self.function.writes)

    def _keep(self, mask: ArrayLike) -> None:
        """Let only the lanes of a mask go on with the block."""
        self.lanes = Everyone(mask)

    def _compacted(self, ops: Sequence[Op], after: Sequence[Op]) -> None:
        """Run primitives that follow each other on narrower arrays, if few lanes are at the block (compaction).

        Results go back to arrays of all lanes: to slots, and for temporaries that later operations read (``after``) to
        blank arrays, which are passed through the loops of compaction as if they were slots.
        """
        layout, alloc = self.layout, self.layout.program.alloc
        read_later = {v for op in (*after, *self.function.block.asks) for v in op.uses}
        defined = dict.fromkeys(v for op in ops for v in op.defs)
        stored = [v for v in defined if alloc(v) in STORED]
        passed_on = [v for v in defined if alloc(v) is Alloc.TEMPORARY and v in read_later]
        values = {slot: self.slots[slot] for op in ops for slot in self.function.slots_of(op)}
        for v in passed_on:
            values |= {top: jnp.zeros(aval.shape, aval.dtype) for top, aval in layout.variable(v).items()}
        for v in self.temporaries:
            values |= zip(layout.tops(v), self.temporaries[v], strict=True)

        def run(lanes: Selection, given: Values) -> list[Any]:
            inner = BlockRun(self.function, dict(given), lanes)
            for op in ops:
                inner.run(op)
            for v in passed_on:
                for top, array in zip(layout.tops(v), inner.temporaries[v], strict=True):
                    inner.slots[top] = lanes.put(given[top], array)
            return [inner.slots[top] for top in written]

        written = [top for v in (*stored, *passed_on) for top in layout.tops(v)]
        of_lanes = {v for op in ops for v in (*op.uses, *op.defs) if alloc(v) is not Alloc.SHARED} - layout.tables
        varying = [ITEM, *(top for v in of_lanes for top in layout.tops(v))]
        changed = compacted(run, self.function.widths, self.mask, values, varying, written)
        for v in passed_on:
            self.temporaries[v] = [changed.pop(top) for top in layout.tops(v)]
        self.slots |= changed

    def _park(self) -> None:
        """Take out of the mask the lanes whose stacks or logs have no room for the block's pushes or log entries."""
        full = self._frames.full(self.slots)
        if full is not None:
            self.slots |= fates.full(self.layout, self.slots, self.mask & full, self.function.index)
            self._keep(self.mask & ~full)
        if self.function.logged and self.layout.drains:
            waits = self.mask & log.without_room(self.layout, self.slots, self.function.logged)
            self.slots |= fates.parked(self.layout, self.slots, waits, self.function.index)
            self._keep(self.mask & ~waits)

    def _count(self) -> None:
        """Count the steps of inputs if they are limited, and executions of blocks if statistics are asked for."""
        if STEPS in self.slots:
            assert self.layout.max_steps is not None
            spent = self.mask & (self.slots[STEPS] >= self.layout.max_steps)
            self.slots |= fates.stopped(self.layout, self.slots, spent, Fate.STEPPED_OUT)
            self._keep(self.mask & ~spent)
            self.slots[STEPS] = self.slots[STEPS] + self.mask.astype(jnp.int32)
        if EXECUTIONS in self.slots:
            index = self.function.index
            self.slots[EXECUTIONS] = self.slots[EXECUTIONS].at[index].add(jnp.uint32(1))
            # Active lanes are counted in 64 bits, as two words, since JAX may have 64-bit types switched off.
            low, high = self.slots[ACTIVE][index, 0], self.slots[ACTIVE][index, 1]
            total = low + jnp.sum(self.mask, dtype=jnp.uint32)
            carry = (total < low).astype(jnp.uint32)
            self.slots[ACTIVE] = self.slots[ACTIVE].at[index].set(jnp.stack([total, high + carry]))

    def _goto(self, target: Any) -> None:
        self.slots[PC] = self.lanes.put(self.slots[PC], target)

    def _index(self, block: str) -> int:
        return self.layout.leave if block == HALT else self.layout.program.graph.block_index(block)

    def _place(self, block: str) -> Any:
        """The program counter of a lane that goes to a block.

        If the block's branch or return was copied here (``transforms/ask_ahead.py``), the lane goes on to where that
        leads.
        """
        match dict(self.function.block.asked).get(block):
            case None:
                return np.int32(self._index(block))
            case BranchOp() as branch:
                return self._chosen(branch)
            case IndirectGotoOp() as end:
                return self._way_back(end)

    def _way_back(self, end: IndirectGotoOp) -> Any:
        """The program counter that a return goes to.

        After a call in the same block, it is the block to which the callee returns, since the callee's return was
        copied here.
        """
        call = self.function.block.terminator
        if isinstance(call, PushGotoOp) and call.counter == end.counter:
            return np.int32(self._index(call.push_block))
        (top,) = self.layout.tops(end.counter)
        return self.slots[top]

    def _chosen(self, branch: BranchOp) -> Any:
        (condition,) = self._value(branch.cond_var)
        return where(condition, self._place(branch.true_block), self._place(branch.false_block))

    def _value(self, variable: str) -> list[Any]:
        if variable in self.temporaries:
            return self.temporaries[variable]
        if self.layout.program.var_defs[variable].is_static:
            return []
        return [self.slots[slot] for slot in self.layout.tops(variable)]

    def _taken(self, variable: str) -> list[Any]:
        """The arrays of a variable that differs between lanes, as a primitive is given them: of the selected lanes."""
        if variable in self.temporaries or self.layout.program.var_defs[variable].is_static:
            return self._value(variable)
        return [self.lanes.taken(self.slots[slot]) for slot in self.layout.tops(variable)]

    @singledispatchmethod
    def run(self, op: Op) -> None:
        """Carry out one operation in the lanes of the mask."""
        raise TypeError(f"no lowering for {op!r}")

    @run.register
    def _prim(self, op: PrimOp) -> None:
        types, alloc = self.layout.program.var_defs, self.layout.program.alloc
        targets = self.function.targets(op) if isinstance(self.lanes, Everyone) else {}
        mask = self._mask_once_read() if targets else None
        real = self.lanes.real if needs_real_inputs(op) else lambda array: array
        arrays: list[Any] = []
        varies: list[bool] = []
        tables: list[int] = []
        for variable in op.vars_in:
            is_table = variable in self.layout.tables
            is_whole = is_table or alloc(variable) is Alloc.SHARED or variable in self.layout.summed
            given = self._value(variable) if is_whole else [real(array) for array in self._taken(variable)]
            tables += range(len(arrays), len(arrays) + len(given)) if is_table else ()
            arrays += given
            varies += [not is_whole] * len(given)
        rows = real(self.lanes.taken(self._rows)) if tables else None
        substituted = self.function.captures.substituted(op, _Operands(self.slots))
        call = Call(substituted, self.layout, self.lanes.count, arrays, varies, tuple(tables), rows)
        results, as_they_were = self._results(call, mask, targets)
        supply = enumerate(results)
        for variable in op.vars_out:
            new = [next(supply) for _ in range(array_count(types[variable]))]
            if variable in self.layout.summed and variable not in op.vars_in:
                continue  # the sum of all lanes is not set back
            self._write(variable, [array for _, array in new], [i in as_they_were for i, _ in new])
        self._note_reads(op)

    def _results(self, call: Call, mask: ArrayLike, targets: Mapping[int, int]) -> tuple[list[Any], AbstractSet[int]]:
        """The results of a call, and the positions of those that are updates in place."""
        totals = places_of(self.layout.program, call.op, self.layout.summed) if call.part is None else {}
        if totals:
            return self._added(call, totals, mask, targets)
        if targets:
            return call.updating(mask, targets)
        return self._unless_empty(call.op, call.results), frozenset()

    def _added(
        self, call: Call, totals: Mapping[int, int], mask: ArrayLike, targets: Mapping[int, int]
    ) -> tuple[list[Any], AbstractSet[int]]:
        """``_results`` of a call that adds to sums over all lanes."""
        found = adding(call.code, totals) if call.code is not None else None
        assert found is not None, "summed_in_place has looked at it"
        given, others = found.given, found.others
        tables = tuple(given.index(i) for i in call.tables)
        arrays, varies = [call.arrays[i] for i in given], [call.varies[i] for i in given]
        own = {others.index(result): given.index(argument) for result, argument in targets.items()}
        part = replace(call, arrays=arrays, varies=varies, tables=tables, part=found.code)
        results, in_place = self._results(part, mask, own)
        lanes, both = Lanes(results[len(others) :], self.lanes.each_once), dict(zip(others, results, strict=False))
        both |= {result: add(call.arrays[argument], lanes) for result, (argument, add) in found.adders.items()}
        return [both[i] for i in range(len(both))], {*(others[i] for i in in_place), *totals}

    @cached_property
    def _rows(self) -> Any:
        """The index of each lane's input; for a lane without an input, some index that is in bounds."""
        if self.layout.queue:
            return jnp.maximum(self.slots[ITEM], 0)
        return jnp.minimum(jnp.arange(self.mask.shape[0], dtype=jnp.int32), self.layout.inputs - 1)

    def _note_reads(self, op: PrimOp) -> None:
        """Remember the variables that were computed from arrays that the block updates in place."""
        for variable in self.function.updated:
            read = self.read_from.setdefault(variable, set())
            if variable in op.vars_in or not read.isdisjoint(op.vars_in):
                read.update(v for v in op.vars_out if v not in self.function.updated)

    def _mask_once_read(self) -> Any:
        """The mask, behind a barrier with all that was computed from arrays that the block updates in place.

        An update needs the mask, and so comes after these reads. Else XLA might fuse a read into a use after the
        update, and copy the whole array for it.
        """
        variables = sorted({v for read in self.read_from.values() for v in read if self._value(v)})
        self.read_from.clear()
        mask, *values = held([self.mask, *(array for v in variables for array in self._value(v))])
        supply = iter(values)
        for v in variables:
            arrays = [next(supply) for _ in self._value(v)]
            if v in self.temporaries:
                self.temporaries[v] = arrays
            else:
                self.slots.update(zip(self.layout.tops(v), arrays, strict=True))
        return mask

    def _unless_empty(self, op: PrimOp, run: Callable[[], Any]) -> Any:
        """The results of a primitive; one with a loop, which might not end on junk, is skipped if no lane is active.

        A block runs without an active lane in a sweep, or if all lanes that wait at it have full stacks or no steps
        left.
        """
        if not needs_real_inputs(op):
            return run()
        nothing = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(run))
        return jax.lax.cond(jnp.any(self.mask), run, lambda: nothing)

    def _write(self, variable: str, arrays: list[Any], as_they_were: Sequence[bool]) -> None:
        """Assign arrays to a variable in the lanes of the mask.

        Args:
            variable: The variable.
            arrays: Its new arrays.
            as_they_were: For each, whether it has the old values outside of the mask already, as after an update in
                place, so that it needs no select.
        """
        if self.layout.program.alloc(variable) in (Alloc.TEMPORARY, Alloc.NULL):
            self.temporaries[variable] = arrays
            return
        for slot, array, is_its_own in zip(self.layout.tops(variable), arrays, as_they_were, strict=True):
            if array is not self.slots[slot]:
                self.slots[slot] = array if is_its_own else self.lanes.put(self.slots[slot], array)

    @run.register
    def _log(self, op: LogOp) -> None:
        words = [array for v in op.vars_in for array in self._value(v)]
        self.slots |= log.with_entry(self.layout, self.slots, op.number, words, self.mask)

    @run.register
    def _push(self, op: PushOp) -> None:
        self.slots |= self._frames.push(op.vars, self.slots, self.mask)

    @run.register
    def _pop(self, op: PopOp) -> None:
        self.slots |= self._frames.pop(op.vars, self.slots, self.mask)

    @run.register
    def _goto_op(self, op: GotoOp) -> None:
        self._goto(self._place(op.block))

    @run.register
    def _branch(self, op: BranchOp) -> None:
        self._goto(self._chosen(op))

    @run.register
    def _push_goto(self, op: PushGotoOp) -> None:
        self.slots |= self._frames.push(self.function.moved_by(op), self.slots, self.mask)
        (top,) = self.layout.tops(op.counter)
        self.slots[top] = self.lanes.put(self.slots[top], self._index(op.push_block))
        self._goto(self._place(op.goto_block))

    @run.register
    def _indirect_goto(self, op: IndirectGotoOp) -> None:
        self._goto(self._way_back(op))
        self.slots |= self._frames.pop(self.function.moved_by(op), self.slots, self.mask)


class _Operands(Sequence[Any]):
    """The captured arrays by position, those alone that the block is given: a view of its slots."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots

    def __getitem__(self, position: Any) -> Any:
        return self.slots[capture_slot(position)]

    def __len__(self) -> int:
        return len(self.slots)
