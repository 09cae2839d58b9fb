"""A group of 1,024 lanes in a kernel for TPUs, while Pallas traces it: its state, and what a turn makes of it.

In a turn, all blocks run in program order, each with a mask of the lanes that are at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.ir.fate import NUMBER, Fate
from hlobatch.ir.ops import HALT, BranchOp, GotoOp, IndirectGotoOp, Op, PopOp, PrimOp, PushGotoOp, PushOp
from hlobatch.ir.program import Block
from hlobatch.kernels.grid import FOR_EVER, Grid
from hlobatch.kernels.types import NoKernelError
from hlobatch.targets.tpu.arrays import on_tiles
from hlobatch.targets.tpu.tile import LANES, TILE, Tile, as_bits, full, held, kept, put_word, unheld, unkept, word_at
from hlobatch.targets.tpu.tiles import Tiles

TURNS_PER_TEST: Final = 4
"""Turns between two tests whether a lane is left, for which a number leaves the vector unit. By judgement (2026-11)."""


def kernel_of(tiles: Tiles, grid: Grid) -> Callable[..., None]:
    """The function of a group of lanes, of references to its tiles: those given, its results, and its stacks."""

    def run(*refs: Any) -> None:
        from jax.experimental import pallas as pl  # noqa: PLC0415  # it takes a second

        count = len(tiles.given)
        outputs, frames = refs[count : count + len(tiles.results)], iter(refs[count + len(tiles.results) :])
        levels = {v: [next(frames) for _ in tiles.leaves[v]] for v in tiles.stacked}
        group = Group(tiles, [ref[...] for ref in refs[:count]], levels)
        rows, columns = (jax.lax.broadcasted_iota(jnp.int32, TILE, axis) for axis in (0, 1))
        index = pl.program_id(0) * LANES + rows * TILE[1] + columns
        state = group.run(group.begun(index < grid.inputs), grid.turns)
        for ref, tile in zip(outputs, group.ended(state), strict=True):
            ref[...] = tile

    return run


@dataclass
class State:
    """The arrays that a group keeps from turn to turn.

    Attributes:
        counter: The block that each lane is at.
        fates: Why a lane has stopped before its end; 0 if it has not.
        steps: Blocks that each lane has run.
        tops: The numbers of each variable that is kept.
        pointers: The frames in use on each stack.
        counts: Runs of each block, if they are counted.
    """

    counter: Tile
    fates: Tile
    steps: Tile
    tops: dict[str, list[Tile]]
    pointers: dict[str, Tile]
    counts: list[Tile]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All tiles, as a loop of JAX's carries them."""
        return self.counter, self.fates, self.steps, self.tops, self.pointers, self.counts

    @classmethod
    def of(cls, arrays: tuple[Any, ...]) -> State:
        """A new state, made of the given tiles."""
        counter, fates, steps, tops, pointers, counts = arrays
        return cls(counter, fates, steps, {v: list(own) for v, own in tops.items()}, dict(pointers), list(counts))


class Group:
    """A group of lanes in a kernel that is traced.

    Attributes:
        tiles: What is known of the program.
        known: Numbers that lanes are given: those of inputs, and shared ones that were computed before.
        captured: By their identity, the arrays that the program's code captured.
        levels: For each variable with a stack, references to its frames.
        exit: The counter of lanes that have ended.
    """

    def __init__(self, tiles: Tiles, given: Sequence[Tile], levels: Mapping[str, Sequence[Any]]) -> None:
        self.tiles, self.levels, self.exit = tiles, levels, tiles.numbers[HALT]
        supply = iter(given)
        self.captured = {captured: unkept(next(supply), leaf.dtype) for captured, leaf in tiles.captured.items()}
        names = (*tiles.program.vars_in, *tiles.operands.computed)
        self.known = {v: [next(supply) for _ in tiles.leaves[v]] for v in names}

    def begun(self, is_input: Tile) -> State:
        """The state of lanes before their first block; those without an input have ended."""
        tiles, zeros = self.tiles, full(0, jnp.int32)
        tops = {v: [full(0, kept(leaf.dtype), held(leaf.shape)) for leaf in tiles.leaves[v]] for v in tiles.kept}
        tops |= {v: list(values) for v, values in self.known.items() if v in tops}
        for op in tiles.program.ops:
            if isinstance(op, (PushGotoOp, IndirectGotoOp)):
                tops[op.counter] = [full(self.exit, jnp.int32)]
        begin = tiles.numbers[tiles.program.graph.enter_block().name]
        counts = [zeros for _ in tiles.program.graph] if tiles.options.counts else []
        counter = jnp.where(is_input, begin, self.exit)
        return State(counter, zeros, zeros, tops, dict.fromkeys(tiles.stacks, zeros), counts)

    def run(self, state: State, turns: int) -> State:
        """The state once all lanes have ended, or after a number of turns."""
        is_limited = turns < FOR_EVER and turns <= np.iinfo(np.int32).max

        def goes_on(carry: Any) -> Any:
            turn, (counter, *_) = carry
            some = jnp.min(counter) < self.exit
            return jnp.logical_and(some, turn < turns) if is_limited else some

        def several(carry: Any) -> Any:
            turn, arrays = carry
            for _ in range(TURNS_PER_TEST):
                arrays = self._turn(State.of(arrays)).arrays
            return turn + TURNS_PER_TEST if is_limited else turn, arrays

        _, arrays = jax.lax.while_loop(goes_on, several, (jnp.int32(0), state.arrays))
        return State.of(arrays)

    def ended(self, state: State) -> list[Tile]:
        """The tiles that a group writes."""
        results = [tile for v in self.tiles.program.vars_out for tile in state.tops[v]]
        fates = state.fates
        if self.tiles.program.failures:
            (failure,) = state.tops[self.tiles.program.vars_out[-2]]
            has_failed = (failure != 0) & (fates == int(Fate.FINISHED))
            fates = jnp.where(has_failed, failure.astype(jnp.int32) << NUMBER | int(Fate.FAILED), fates)
        return [*results, jnp.where(state.counter == self.exit, fates, int(Fate.RUNNING)), *state.counts]

    def _turn(self, state: State) -> State:
        for block in self.tiles.program.graph:
            Visit(self, block, state).run()
        return state


@dataclass
class Visit:
    """A run of a block, for the lanes that are at it.

    Attributes:
        group: The group.
        block: The block.
        state: The group's state, which the visit changes.
        within: The numbers of variables that do not outlive the block.
        rows: For each stack, the frame that the block restores or saves.
    """

    group: Group
    block: Block
    state: State
    within: dict[str, list[Tile]] = field(default_factory=dict)
    rows: dict[str, Tile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mask = self.state.counter == self._number

    @property
    def tiles(self) -> Tiles:
        return self.group.tiles

    @cached_property
    def _number(self) -> Any:
        return self.tiles.numbers[self.block.name]

    def run(self) -> None:
        """Change the state as the block does."""
        self._count()
        self._arrive()
        for op in self.tiles.calls.moving(self.block, self.tiles.program.ops_in_loop(self.block)):
            if op is not self.block.terminator:
                self._operation(op)
        self._leave()

    def _stop(self, lanes: Tile, fate: int) -> None:
        """Stop some lanes of the mask with a fate; the others go on."""
        lanes = self.mask & lanes
        self.state.fates = jnp.where(lanes, fate, self.state.fates)
        self.state.counter = jnp.where(lanes, self.group.exit, self.state.counter)
        self.mask = self.mask & ~lanes

    def _count(self) -> None:
        """Count steps if they are limited, and runs of blocks if statistics are asked for."""
        state, most = self.state, self.tiles.options.max_steps
        if most is not None:
            self._stop(state.steps >= most, int(Fate.STEPPED_OUT))
            state.steps = state.steps + self.mask.astype(jnp.int32)
        if state.counts:
            state.counts[int(self._number)] = state.counts[int(self._number)] + self.mask.astype(jnp.int32)

    def _leave(self) -> None:
        """Give each lane its next block."""
        end, numbers = self.block.terminator, self.tiles.numbers
        match end:
            case GotoOp():
                target: Any = numbers[end.block]
            case BranchOp():
                (condition,) = self._read(end.cond_var)
                target = jnp.where(condition != 0, numbers[end.true_block], numbers[end.false_block])
            case PushGotoOp():
                self._push(self.tiles.calls.moves(end))
                self._write(end.counter, [full(numbers[end.push_block], jnp.int32)])
                target = numbers[end.goto_block]
            case IndirectGotoOp():
                (target,) = self._read(end.counter)
                self._pop(self.tiles.calls.moves(end))
            case _:
                raise NoKernelError(f"`{type(end).__name__}` has no code")
        self.state.counter = jnp.where(self.mask, target, self.state.counter)

    # Operations

    def _operation(self, op: Op) -> None:
        match op:
            case PrimOp():
                self._primitive(op)
            case PushOp():
                self._push(op.vars)
            case PopOp():
                self._pop(op.vars)
            case _:
                raise NoKernelError(f"`{type(op).__name__}` has no code")

    def _primitive(self, op: PrimOp) -> None:
        code = self.tiles.codes[id(op)]
        operands = [x for v in op.vars_in for x in self._read(v)]
        results = iter(on_tiles(code, operands, self.group.captured))
        for v in op.vars_out:
            found = [next(results).astype(leaf.dtype) for leaf in self.tiles.types(v)]
            found = [x if x.size else full(0, x.dtype) for x in found]
            if self.tiles.leaves[v]:
                self._write(v, found)

    def _read(self, v: str) -> list[Tile]:
        if v in self.within:
            return [unheld(x, leaf.shape) for x, leaf in zip(self.within[v], self.tiles.types(v), strict=True)]
        if not self.tiles.leaves[v] and self.tiles.types(v):
            raise NoKernelError(f"`{v}` is read and not kept")
        tops = self.state.tops
        tiles = tops[v] if v in tops else self.group.known.get(v, [])
        leaves = self.tiles.leaves[v]
        return [unheld(unkept(x, leaf.dtype), leaf.shape) for x, leaf in zip(tiles, leaves, strict=True)]

    def _write(self, v: str, values: Sequence[Tile]) -> None:
        tops = self.state.tops
        if v not in tops:
            self.within[v] = list(values)
            return
        pairs = zip(values, tops[v], strict=True)
        tops[v] = [jnp.where(self.mask, new.astype(old.dtype), old) for new, old in pairs]

    # Stacks

    def _arrive(self) -> None:
        """Find the frame that the block restores or saves, and move the stack pointer."""
        calls, pointers = self.tiles.calls, self.state.pointers
        released, up = calls.released(self.block), calls.moved_up(self.block)
        if released is not None:
            name = calls.pointers[released]
            self.rows[name] = row = pointers[name] - 1
            if calls.moved_down(self.block) is not None:
                self._set(name, row)
        if up is not None:
            name = calls.pointers[up]
            self._park_without_room(name)
            self.rows[name] = row = pointers[name]
            self._set(name, row + 1)

    def _set(self, name: str, row: Tile) -> None:
        pointers = self.state.pointers
        pointers[name] = jnp.where(self.mask, row, pointers[name])

    def _park_without_room(self, name: str) -> None:
        """Park the lanes whose stack has no room for another frame."""
        depth = next(self.group.levels[v][0].shape[0] for v in self.tiles.stacked if self._pointer(v) == name)
        fate = int(Fate.PARKED) + (self.tiles.stacks[name] + 1 << NUMBER)
        self._stop(self.state.pointers[name] >= depth, fate)

    def _push(self, names: Sequence[str]) -> None:
        for name, together in self._by_pointer(names):
            if (row := self.rows.get(name)) is None:
                self._park_without_room(name)
                row = self.state.pointers[name]
                self._set(name, row + 1)
            for v in together:
                for ref, tile in zip(self.group.levels[v], self.state.tops[v], strict=True):
                    put_word(ref, row, as_bits(tile, jnp.int32), self.mask)

    def _pop(self, names: Sequence[str]) -> None:
        tops = self.state.tops
        for name, together in self._by_pointer(names):
            if (row := self.rows.get(name)) is None:
                row = jnp.maximum(self.state.pointers[name] - 1, 0)
                self._set(name, row)
            for v in together:
                pairs = zip(self.group.levels[v], tops[v], strict=True)
                tops[v] = [jnp.where(self.mask, as_bits(word_at(ref, row), top.dtype), top) for ref, top in pairs]

    def _by_pointer(self, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """The variables that have stacks, by stack pointer; one that is named twice is in two groups."""
        waiting = [v for v in names if v in self.group.levels]
        while waiting:
            name = self._pointer(waiting[0])
            together = list(dict.fromkeys(v for v in waiting if self._pointer(v) == name))
            for v in together:
                waiting.remove(v)
            yield name, together

    def _pointer(self, v: str) -> str:
        return self.tiles.calls.pointers[v]
