"""A program with explicit stacks -> a kernel of Pallas for TPUs, in which 1,024 lanes lie in tiles of 8 x 128 numbers.

A tile is what a vector register of a TPU holds. Each number of a lane is an element of a tile, each stack is an array
of tiles in the fast memory (VMEM), and a group of lanes runs until the last of them has ended. In a turn, all blocks
run in program order, with a mask of the lanes that are at the block. So the loop and all that it reads stay in the
core, where XLA's loop starts dozens of kernels in each turn.

This first version runs programs on numbers: ``bool``, ``int32``, ``uint32`` and ``float32``, with calls, ``max_steps``
and counted blocks. It refuses lanes with arrays (so random keys too, and what may raise), arrays that all lanes read,
other dtypes, loops within a primitive, and effects on the host. A group does not take new inputs while its other lanes
go on, and no block is left out because no lane is at it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ClosedJaxpr, Equation, Jaxpr
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.ir.code import variables
from hlobatch.ir.evaluation import as_it_is, evaluated
from hlobatch.ir.fate import NUMBER, Fate
from hlobatch.ir.names import is_tape
from hlobatch.ir.ops import HALT, BranchOp, GotoOp, IndirectGotoOp, LogOp, Op, PopOp, PrimOp, PushGotoOp, PushOp
from hlobatch.ir.physical import lane_function, physical
from hlobatch.ir.program import Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import TensorType
from hlobatch.kernels.grid import FOR_EVER, Grid
from hlobatch.kernels.interface import Operands, Options
from hlobatch.kernels.module import KernelModule
from hlobatch.kernels.types import NoKernelError
from hlobatch.typing import DType

TILE: Final = (8, 128)
"""The shape of a vector register."""
LANES: Final = math.prod(TILE)
"""Lanes of a group."""
DTYPES: Final = frozenset({"bool", "int32", "uint32", "float32"})
"""Dtypes of a lane's numbers; conditions are kept as ``int32``."""
TURNS_PER_TEST: Final = 4
"""Turns between two tests whether a lane is left, for which a number leaves the vector unit. By judgement (2026-11)."""

Tile = Any


@dataclass(frozen=True)
class TileModule(KernelModule):
    """The kernel of a program for TPUs.

    Attributes:
        tiles: The function that the kernel is made of.
    """

    tiles: Any = field(default=None, compare=False)


def module_of(program: Program, name: str, operands: Operands, options: Options) -> TileModule:
    """The kernel of a program.

    Raises:
        NoKernelError: It has something that this kernel has no code for.
    """
    tiles = Tiles(program, operands, options)
    areas = [tiles.stacks[tiles.calls.pointers[v]] for v in tiles.stacked for _ in tiles.leaves[v]]
    tapes = frozenset(number for pointer, number in tiles.stacks.items() if is_tape(pointer))
    near = (0,) * len(tiles.stacks)
    counted = len(program.graph.blocks) if options.counts else 0
    text = f"// {name}\n{program}\n// {options}, {operands}"
    return TileModule(text, (4,) * len(areas), tuple(areas), tapes, near, 0, 0, counted, tiles=tiles)


@dataclass
class _State:
    """The state of a group within a turn.

    Attributes:
        counter: The block that each lane is at.
        fates: Why a lane has stopped before its end; 0 if it has not.
        steps: Blocks that each lane has run.
        tops: The numbers of each variable that is kept.
        pointers: The frames in use on each stack.
        counts: Runs of each block, if they are counted.
        within: The numbers of variables of the block that runs.
        rows: For each stack, the frame that the block that runs restores or saves.
    """

    counter: Tile
    fates: Tile
    steps: Tile
    tops: dict[str, list[Tile]]
    pointers: dict[str, Tile]
    counts: list[Tile]
    within: dict[str, list[Tile]] = field(default_factory=dict)
    rows: dict[str, Tile] = field(default_factory=dict)

    @property
    def kept(self) -> tuple[Any, ...]:
        """What is kept from turn to turn."""
        return self.counter, self.fates, self.steps, self.tops, self.pointers, self.counts


class Tiles:
    """The function of a kernel.

    Attributes:
        program: The program.
        operands: The arrays that it takes.
        options: What it is made for.
        calls: What calls save in one frame.
        leaves: For each variable, the types of its numbers.
        numbers: The number of each block; the largest stands for the end.
        stacked: The variables that have a stack.
        stacks: For each stack pointer, by name, the number of its stack.
        codes: By the identity of a primitive, its jaxpr on numbers.

    Raises:
        NoKernelError: The program has something that this kernel has no code for.
    """

    def __init__(self, program: Program, operands: Operands, options: Options) -> None:
        self.program, self.operands, self.options = program, operands, options
        self.calls = CallFrames(program)
        names = [*(block.name for block in program.graph), HALT]
        self.numbers = {name: np.int32(k) for k, name in enumerate(names)}
        self.leaves = {v: self._stored_types(v) for v in program.var_defs}
        if program.failures:
            raise NoKernelError("it may raise, and what its lanes tell of an exception is an array")
        for leaf in (leaf for leaves in self.leaves.values() for leaf in leaves):
            _check(leaf.shape, leaf.dtype, "a variable of a lane")
        if operands.captured:
            raise NoKernelError("it reads an array that all lanes share, and lanes of a TPU's tiles have numbers alone")
        full = (v for v in program.var_defs if program.alloc(v) is Alloc.FULL and self.leaves[v])
        self.stacked = list(full)
        self.stacks = {name: k for k, name in enumerate(dict.fromkeys(self.calls.pointers[v] for v in self.stacked))}
        ops = [op for block in program.graph for op in program.ops_in_loop(block)]
        self.codes = {id(op): self._code(op) for op in ops if isinstance(op, PrimOp)}
        if (log := next((op for op in ops if isinstance(op, LogOp)), None)) is not None:
            raise NoKernelError(f"what lanes have Python do has no code: {log.text}")

    def _types(self, v: str) -> list[TensorType]:
        return [physical(leaf) for leaf in self.program.var_defs[v].tensor_leaves]

    def _stored_types(self, v: str) -> list[TensorType]:
        interface = v in self.program.vars_in or v in self.program.vars_out
        return self._types(v) if interface or self.program.alloc(v) is not Alloc.NULL else []

    def _code(self, op: PrimOp) -> Any:
        """The jaxpr of a primitive, on numbers."""
        types = self.program.var_defs
        jaxpr = op.code.jaxpr_for([types[v] for v in op.vars_in], [types[v] for v in op.vars_out])
        if jaxpr is None:
            avals = [leaf.aval for v in op.vars_in for leaf in self._types(v)]
            jaxpr = jax.make_jaxpr(lane_function(op, types))(*avals)
        for variable in (*jaxpr.jaxpr.constvars, *variables(jaxpr.jaxpr)):
            _check(variable.aval.shape, variable.aval.dtype, f"`{op.text}`")
        if not op.code.is_total:
            raise NoKernelError(f"`{op.text}` has a loop inside, and a kernel of tiles has those of the program alone")
        return jaxpr

    @cached_property
    def given(self) -> list[bool]:
        """For each array that the kernel takes, whether all lanes share it."""
        shared = sum(len(self.leaves[v]) for v in self.operands.computed)
        return [*self.operands.shared, *[True] * shared]

    @property
    def given_dtypes(self) -> list[Any]:
        """Dtypes of the tiles that a group is given."""
        names = (*self.program.vars_in, *self.operands.computed)
        found = [leaf.dtype for v in names for leaf in self.leaves[v]]
        return [*map(kept, found)]

    @cached_property
    def _kept(self) -> list[str]:
        """The variables that keep their numbers from block to block, and are written."""
        written = {v for op in self.program.ops for v in (*op.defs, *op.moved)} - set(self.operands.computed)
        temporary = {v for v in self.leaves if self.program.alloc(v) is Alloc.TEMPORARY} - {*self.program.vars_out}
        return [v for v in self.leaves if v in written - temporary or v in self.program.vars_out]

    @property
    def results(self) -> list[Any]:
        """Dtypes of the tiles that a group writes: of results, of the status, and of counts."""
        found = [leaf.dtype for v in self.program.vars_out for leaf in self.leaves[v]]
        counts = len(self.program.graph.blocks) if self.options.counts else 0
        return [*map(kept, found), *[np.dtype(np.int32)] * (1 + counts)]

    # A group

    def kernel(self, grid: Grid) -> Callable[..., None]:
        """The function of a group of lanes, of references to its tiles: those given, its results, and its stacks."""

        def run(*refs: Any) -> None:
            from jax.experimental import pallas as pl  # noqa: PLC0415  # it takes a second

            count = len(self.given)
            given = [ref[...] for ref in refs[:count]]
            outputs, frames = refs[count : count + len(self.results)], iter(refs[count + len(self.results) :])
            levels = {v: [next(frames) for _ in self.leaves[v]] for v in self.stacked}
            group = _Group(self, given, levels)
            rows, columns = (jax.lax.broadcasted_iota(jnp.int32, TILE, axis) for axis in (0, 1))
            index = pl.program_id(0) * LANES + rows * TILE[1] + columns
            state = group.run(group.begun(index < grid.inputs), grid.turns)
            for ref, tile in zip(outputs, group.ended(state), strict=True):
                ref[...] = tile

        return run


class _Group:
    """A group of lanes in a kernel that is traced.

    Attributes:
        tiles: The function.
        known: Numbers that lanes are given: those of inputs, and shared ones that were computed before.
        levels: For each variable with a stack, references to its frames.
    """

    def __init__(self, tiles: Tiles, given: Sequence[Tile], levels: Mapping[str, Sequence[Any]]) -> None:
        self.tiles, self.levels, self.exit = tiles, levels, tiles.numbers[HALT]
        supply = iter(given)
        names = (*tiles.program.vars_in, *tiles.operands.computed)
        self.known = {v: [next(supply) for _ in tiles.leaves[v]] for v in names}

    def begun(self, is_input: Tile) -> _State:
        """The state of lanes before their first block; those without an input have ended."""
        tiles, zeros = self.tiles, _full(0, jnp.int32)
        tops = {v: [_full(0, kept(leaf.dtype)) for leaf in tiles.leaves[v]] for v in tiles._kept}
        tops |= {v: list(values) for v, values in self.known.items() if v in tops}
        for op in tiles.program.ops:
            if isinstance(op, (PushGotoOp, IndirectGotoOp)):
                tops[op.counter] = [_full(self.exit, jnp.int32)]
        begin = tiles.numbers[tiles.program.graph.enter_block().name]
        counts = [zeros for _ in tiles.program.graph] if tiles.options.counts else []
        counter = jnp.where(is_input, begin, self.exit)
        return _State(counter, zeros, zeros, tops, dict.fromkeys(tiles.stacks, zeros), counts)

    def run(self, state: _State, turns: int) -> _State:
        """The state once all lanes have ended, or after a number of turns."""
        is_limited = turns < FOR_EVER and turns <= np.iinfo(np.int32).max

        def goes_on(carry: Any) -> Any:
            turn, kept = carry
            some = jnp.min(kept[0]) < self.exit
            return jnp.logical_and(some, turn < turns) if is_limited else some

        def several(carry: Any) -> Any:
            turn, kept = carry
            for _ in range(TURNS_PER_TEST):
                kept = self._turn(_State(*kept)).kept
            return turn + TURNS_PER_TEST if is_limited else turn, kept

        _, kept = jax.lax.while_loop(goes_on, several, (jnp.int32(0), state.kept))
        return _State(*kept)

    def ended(self, state: _State) -> list[Tile]:
        """The tiles that a group writes."""
        results = [tile for v in self.tiles.program.vars_out for tile in state.tops[v]]
        return [*results, jnp.where(state.counter == self.exit, state.fates, int(Fate.RUNNING)), *state.counts]

    # Blocks

    def _turn(self, state: _State) -> _State:
        state = _State(*state.kept)
        state.tops = {v: list(values) for v, values in state.tops.items()}
        state.pointers, state.counts = dict(state.pointers), list(state.counts)
        for block in self.tiles.program.graph:
            self._block(state, block)
        return state

    def _block(self, state: _State, block: Block) -> None:
        number = self.tiles.numbers[block.name]
        mask = state.counter == number
        state.within, state.rows = {}, {}
        if self.tiles.options.max_steps is not None:
            mask = self._stop(state, mask, state.steps >= self.tiles.options.max_steps, int(Fate.STEPPED_OUT))
            state.steps = state.steps + mask.astype(jnp.int32)
        if state.counts:
            state.counts[int(number)] = state.counts[int(number)] + mask.astype(jnp.int32)
        mask = self._arrive(state, block, mask)
        for op in self.tiles.calls.moving(block, self.tiles.program.ops_in_loop(block)):
            if op is not block.terminator:
                mask = self._operation(state, op, mask)
        self._leave(state, block, mask)

    def _stop(self, state: _State, mask: Tile, stopped: Tile, fate: int) -> Tile:
        """Stop some lanes of the mask with a fate; returns the mask of the others."""
        stopped = mask & stopped
        state.fates = jnp.where(stopped, fate, state.fates)
        state.counter = jnp.where(stopped, self.exit, state.counter)
        return mask & ~stopped

    def _operation(self, state: _State, op: Op, mask: Tile) -> Tile:
        """Carry out an operation of a block; returns the mask of the lanes that go on."""
        match op:
            case PrimOp():
                self._primitive(state, op, mask)
            case PushOp():
                return self._push(state, op.vars, mask)
            case PopOp():
                self._pop(state, op.vars, mask)
            case _:
                raise NoKernelError(f"`{type(op).__name__}` has no code")
        return mask

    def _primitive(self, state: _State, op: PrimOp, mask: Tile) -> None:
        code = self.tiles.codes[id(op)]
        operands = [x for v in op.vars_in for x in self._read(state, v)]
        constants = [_full(np.asarray(array).item(), array.dtype) for array in code.consts]
        results = iter(_on_tiles(code, [*constants, *operands]))
        for v in op.vars_out:
            found = [next(results).astype(leaf.dtype) for leaf in self.tiles._types(v)]
            if self.tiles.leaves[v]:
                self._write(state, v, found, mask)

    def _read(self, state: _State, v: str) -> list[Tile]:
        if v in state.within:
            return state.within[v]
        if not self.tiles.leaves[v] and self.tiles._types(v):
            raise NoKernelError(f"`{v}` is read and not kept")
        tiles = state.tops[v] if v in state.tops else self.known.get(v, [])
        return [_unkept(tile, leaf.dtype) for tile, leaf in zip(tiles, self.tiles.leaves[v], strict=True)]

    def _write(self, state: _State, v: str, values: Sequence[Tile], mask: Tile) -> None:
        if v not in state.tops:
            state.within[v] = list(values)
            return
        pairs = zip(values, state.tops[v], strict=True)
        state.tops[v] = [jnp.where(mask, new.astype(old.dtype), old) for new, old in pairs]

    def _leave(self, state: _State, block: Block, mask: Tile) -> None:
        end, numbers = block.terminator, self.tiles.numbers
        match end:
            case GotoOp():
                target: Any = numbers[end.block]
            case BranchOp():
                (condition,) = self._read(state, end.cond_var)
                target = jnp.where(condition != 0, numbers[end.true_block], numbers[end.false_block])
            case PushGotoOp():
                mask = self._push(state, self.tiles.calls.moves(end), mask)
                self._write(state, end.counter, [_full(numbers[end.push_block], jnp.int32)], mask)
                target = numbers[end.goto_block]
            case IndirectGotoOp():
                (target,) = self._read(state, end.counter)
                self._pop(state, self.tiles.calls.moves(end), mask)
            case _:
                raise NoKernelError(f"`{type(end).__name__}` has no code")
        state.counter = jnp.where(mask, target, state.counter)

    # Stacks

    def _arrive(self, state: _State, block: Block, mask: Tile) -> Tile:
        """Find the frame that a block restores or saves, and move the stack pointer."""
        calls = self.tiles.calls
        released, up = calls.released(block), calls.moved_up(block)
        if released is not None:
            name = calls.pointers[released]
            state.rows[name] = row = state.pointers[name] - 1
            if calls.moved_down(block) is not None:
                self._set(state, name, row, mask)
        if up is not None:
            name = calls.pointers[up]
            mask = self._with_room(state, name, mask)
            state.rows[name] = row = state.pointers[name]
            self._set(state, name, row + 1, mask)
        return mask

    def _set(self, state: _State, name: str, row: Tile, mask: Tile) -> None:
        state.pointers[name] = jnp.where(mask, row, state.pointers[name])

    def _with_room(self, state: _State, name: str, mask: Tile) -> Tile:
        """The mask of the lanes whose stack has room for another frame; the others are parked."""
        depth = next(self.levels[v][0].shape[0] for v in self.tiles.stacked if self.tiles.calls.pointers[v] == name)
        fate = int(Fate.PARKED) + (self.tiles.stacks[name] + 1 << NUMBER)
        return self._stop(state, mask, state.pointers[name] >= depth, fate)

    def _push(self, state: _State, names: Sequence[str], mask: Tile) -> Tile:
        for name, together in self._by_pointer(names):
            if (row := state.rows.get(name)) is None:
                mask = self._with_room(state, name, mask)
                row = state.pointers[name]
                self._set(state, name, row + 1, mask)
            for v in together:
                for ref, tile in zip(self.levels[v], state.tops[v], strict=True):
                    _put(ref, row, _as(tile, jnp.int32), mask)
        return mask

    def _pop(self, state: _State, names: Sequence[str], mask: Tile) -> None:
        for name, together in self._by_pointer(names):
            if (row := state.rows.get(name)) is None:
                row = jnp.maximum(state.pointers[name] - 1, 0)
                self._set(state, name, row, mask)
            for v in together:
                pairs = zip(self.levels[v], state.tops[v], strict=True)
                state.tops[v] = [jnp.where(mask, _as(_at(ref, row), top.dtype), top) for ref, top in pairs]

    def _by_pointer(self, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """The variables that have stacks, by stack pointer; one that is named twice is in two groups."""
        waiting = [v for v in names if v in self.levels]
        while waiting:
            name = self.tiles.calls.pointers[waiting[0]]
            together = list(dict.fromkeys(v for v in waiting if self.tiles.calls.pointers[v] == name))
            for v in together:
                waiting.remove(v)
            yield name, together


def _at(ref: Any, row: Tile) -> Tile:
    """The word in a frame of each lane's own: of all levels of the stack, all but one count as nothing."""
    return jnp.sum(jnp.where(_levels(ref) == row, ref[...], 0), axis=0, dtype=jnp.int32)


def _put(ref: Any, row: Tile, word: Tile, mask: Tile) -> None:
    """Write a word into a frame of each lane's own, at one of all levels of the stack."""
    row = jnp.where(mask, row, -1)
    ref[...] = jnp.where(_levels(ref) == row, jnp.broadcast_to(word, ref.shape), ref[...])


def _levels(ref: Any) -> Any:
    return jax.lax.broadcasted_iota(jnp.int32, ref.shape, 0)


def _as(tile: Tile, dtype: DType) -> Tile:
    """The bits of a tile as numbers of another dtype of 32 bits."""
    return tile if tile.dtype == dtype else jax.lax.bitcast_convert_type(tile, dtype)


def _on_tiles(code: ClosedJaxpr, values: Sequence[Tile]) -> list[Tile]:
    """The results of a primitive on tiles: its jaxpr for each element."""
    jaxpr: Jaxpr = code.jaxpr

    def of_a_lane(*numbers: Any) -> list[Any]:
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), numbers, strict=True))
        return evaluated(jaxpr.eqns, known, jaxpr.outvars, _evaluated)

    if not values:
        return [jnp.broadcast_to(x, TILE) for x in of_a_lane()]
    return list(jax.vmap(jax.vmap(of_a_lane))(*values))


def _evaluated(equation: Equation, numbers: Sequence[Any]) -> Sequence[Any]:
    """The results of an equation; Mosaic has no copies, and signs only where there is a TPU."""
    if equation.primitive.name == "copy":
        return numbers
    if equation.primitive.name == "sign":
        (x,) = numbers
        one = jnp.ones((), x.dtype)
        return [jnp.where(x > 0, one, jnp.where(x < 0, -one, x))]
    return as_it_is(equation, numbers)


def _full(value: Any, dtype: DType) -> Tile:
    return jnp.full(TILE, value, dtype)


def kept(dtype: DType) -> np.dtype[Any]:
    """The dtype in which a number is kept: Mosaic carries no conditions from turn to turn."""
    return np.dtype(np.int32) if dtype == np.bool_ else np.dtype(dtype)


def _unkept(tile: Tile, dtype: DType) -> Tile:
    return tile != 0 if dtype == np.bool_ and tile.dtype != np.bool_ else tile


def _check(shape: Sequence[int], dtype: DType, what: str) -> None:
    """Refuse what is not a number of one of ``DTYPES``."""
    if shape:
        raise NoKernelError(f"{what} has arrays, and lanes of a TPU's tiles have numbers alone")
    if str(dtype) not in DTYPES:
        raise NoKernelError(f"{what} has numbers of {dtype}, and tiles hold {', '.join(sorted(DTYPES))}")
