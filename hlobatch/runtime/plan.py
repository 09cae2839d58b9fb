"""A program for inputs of given types -> what is needed to run it, at any batch size and stack depth.

A plan is made once per function, types, and choice of shared inputs; it is compared by identity and may be a parameter
of a JAX primitive.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import jax

from hlobatch._jax import freed_with_its_program, is_x64
from hlobatch.analysis.constants import constants, tables
from hlobatch.analysis.cost import block_cost, largest_array
from hlobatch.analysis.libraries import shared_library_calls
from hlobatch.analysis.machine_flow import headers, never_goes_back, repeated_blocks
from hlobatch.analysis.one_kernel import fits_one_kernel
from hlobatch.analysis.updates import taken_as_a_whole
from hlobatch.ir.physical import array_bytes, physical, user_value
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import Type
from hlobatch.lowering.state.captures import Captures, captures
from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.to_stablehlo import Request
from hlobatch.lowering.turns.dispatch import SWEEPS
from hlobatch.runtime.pace import Pace
from hlobatch.strategy.choice import Choice, choose
from hlobatch.strategy.options import Options
from hlobatch.strategy.widths import widths
from hlobatch.targets.machine import stores_masked, vector
from hlobatch.transforms.pipeline import (
    allocated_program,
    computed_once,
    lowered_program,
    machine_program,
    ordered_program,
)

WORTH_A_THREAD: Final = 256 * 1024
"""Bytes from which XLA divides a kernel that only moves them."""

LONG_ROW: Final = 64
"""Numbers in a row that are enough to work on several of them at a time, and not on several lanes."""

SECONDS: Final = 3e-10
"""For an operation on a number, and …"""
STEP: Final = 1e-6
"""… for what is around them in a turn: guesses, before a run was timed."""

WORTH_SHARING: Final = 256 * 1024
"""Bytes that cores had better read from one array, which they have in their cache together, than each from its own."""


class Room(NamedTuple):
    """What there is room for on the stacks of a run.

    Attributes:
        depth: Frames per stack.
        grows: Whether lanes whose stacks are full wait until these have grown; else their inputs are stopped.
    """

    depth: int
    grows: bool = True


@dataclass
class Ends:
    """What is known of the ends of runs, where few lanes are left.

    Attributes:
        seconds: Spent on turns of all lanes of which few had something left to do.
        are_expected: Whether a run had such an end for which there was a program.
    """

    seconds: float = 0.0
    are_expected: bool = False


class Executables(dict[Any, Callable[..., Any]]):
    """What was compiled of a plan and its variants, by what it was compiled for.

    Whoever runs a plan keeps them, not the plan: an equation has it, JAX keeps equations by the function that they were
    traced from, and function, equation and plan would keep each other, and all captured arrays, for ever.
    """


@freed_with_its_program
@dataclass(frozen=True, eq=False)
class Plan:
    """How to run a program.

    Attributes:
        name: The user's name for the function.
        specialized: The typed program, before optimization.
        shared: Inputs that all lanes share.
        options: How it runs.
        grown: Holds the stack depth that was enough for the runs so far, once one of them has grown its stacks.
        x64: Whether 64-bit types are on, as they were when the program was typed.
    """

    name: str
    specialized: Program
    shared: frozenset[str]
    options: Options
    grown: list[int] = field(default_factory=list)
    x64: bool = field(default_factory=is_x64)
    _kept: weakref.WeakValueDictionary[str, Executables] = field(default_factory=weakref.WeakValueDictionary)

    def __repr__(self) -> str:
        return f"Plan({self.name})"  # a jaxpr that calls it prints it

    def as_typed(self) -> Any:
        """Within it, 64-bit types are on or off as they were when the program was typed, as ``jax.jit`` has it."""
        return jax.enable_x64(self.x64)

    @cached_property
    def program(self) -> Program:
        """The optimized program, with calls."""
        return allocated_program(self._computed_once, self.options.optimizations)

    @cached_property
    def _computed_once(self) -> Program:
        """The program before its branches and loops are looked at."""
        return computed_once(self.specialized, self.shared, self.options.optimizations)

    @cached_property
    def in_order(self) -> Program:
        """The program with explicit stacks, its blocks in program order."""
        return lowered_program(self.program, self.options.optimizations)

    @cached_property
    def choice(self) -> Choice:
        """How it runs in several kernels: dispatch, schedule, lanes."""
        return choose(self.in_order, self.options, jax.default_backend())

    @cached_property
    def choice_for_a_kernel(self) -> Choice:
        """How it runs in one kernel; threads and block order are the same."""
        return choose(self.in_order, self.options, jax.default_backend(), one_kernel=True)

    def choice_of(self, *, one_kernel: bool) -> Choice:
        """How a run goes, in one kernel or in several."""
        return self.choice_for_a_kernel if one_kernel else self.choice

    @cached_property
    def lowered(self) -> Program:
        """The program with explicit stacks, its blocks in the order in which they are run."""
        if self.choice.schedule == "earliest":
            return self.in_order  # that order is the schedule
        return ordered_program(self.in_order)

    @cached_property
    def machine(self) -> Program:
        """The same as it runs; what it gives back are the arrays of its results."""
        return machine_program(self.lowered, self.options.optimizations)

    @cached_property
    def kernel_program(self) -> Program:
        """The program with explicit stacks as a lane runs it by itself.

        No block does what its successors would: such a lane loses nothing by a branch, and runs one side of it. But a
        loop that is one block without branches is a loop over arrays, and remains that.
        """
        wanted = replace(self.options.optimizations, ask_ahead=False)
        converted = machine_program(self.in_order, wanted)
        if not wanted.if_conversion:
            return converted
        wanted = replace(wanted, if_conversion=False)
        branching = lowered_program(allocated_program(self._computed_once, wanted), wanted)
        return converted if len(headers(converted)) < len(headers(branching)) else machine_program(branching, wanted)

    @cached_property
    def captures(self) -> Captures:
        return captures(self.machine)

    @cached_property
    def kernel_captures(self) -> Captures:
        """Those of the program of a lane by itself, which may read others, and in another order."""
        return captures(self.kernel_program)

    @cached_property
    def kernel_captured(self) -> tuple[Any, ...]:
        """The arrays that it captures as they are passed."""
        return tuple(self.kernel_captures.operands())

    @cached_property
    def captured(self) -> tuple[Any, ...]:
        """The captured arrays as they are passed."""
        return tuple(self.captures.operands())

    @cached_property
    def has_stacks(self) -> bool:
        """Whether any variable needs a stack."""
        return Alloc.FULL in self.machine.var_alloc.values()

    @property
    def has_effects(self) -> bool:
        """Whether lanes have the host do anything, such as to print."""
        return bool(self.specialized.effects)

    @cached_property
    def may_stop(self) -> bool:
        """Whether a run can end before all inputs are done; the same for any number of them."""
        return self.layout(1, self.depth).may_stop

    @cached_property
    def may_be_endless(self) -> bool:
        """Whether nothing is known that ends a run: one by itself goes in stretches then."""
        return not never_goes_back(self.machine)

    def pace(self, inputs: int) -> Pace:
        """How many turns the loop makes in a stretch of a run of so many inputs."""
        if inputs not in self._paces:
            layout = self.on_one_cpu(inputs, self.declared_depth)
            choice = self.choice_of(one_kernel=layout.one_kernel).at(layout.lanes)
            rounds = choice.rounds if choice.form in SWEEPS else 1 / len(self.block_costs)
            self._paces[inputs] = Pace.guessed(layout.lanes * sum(self.block_costs) * rounds * SECONDS + STEP)
        return self._paces[inputs]

    @cached_property
    def _paces(self) -> dict[int, Pace]:
        return {}

    @cached_property
    def shares_values(self) -> bool:
        """Whether threads are given what is computed once for all lanes: each computing its own may not be best.

        It may be large, or be computed by a library that only one thread may call at a time.
        """
        program = self.machine
        if shared_library_calls(program):
            return True
        computed = {v for v, alloc in program.var_alloc.items() if alloc is Alloc.SHARED}.difference(program.vars_in)
        leaves = (t for v in computed for t in program.var_defs[v].tensor_leaves)
        return sum(map(array_bytes, map(physical, leaves))) >= WORTH_SHARING

    @cached_property
    def has_long_rows(self) -> bool:
        """Whether most of what is pushed is long rows, which are better copied than gathered from arrays of lanes."""
        pushed = (v for v, alloc in self.machine.var_alloc.items() if alloc is Alloc.FULL)
        shapes = [physical(t).shape for v in pushed for t in self.machine.var_defs[v].tensor_leaves]
        in_long_rows = sum(math.prod(shape) for shape in shapes if shape and shape[-1] >= LONG_ROW)
        return 2 * in_long_rows > sum(map(math.prod, shapes))

    @cached_property
    def block_costs(self) -> tuple[float, ...]:
        return tuple(block_cost(self.machine, block) for block in self.machine.graph)

    @cached_property
    def largest_array(self) -> int:
        """Bytes per lane of the largest array that a block computes which a lane comes to again and again."""
        repeated = repeated_blocks(self.machine)
        return max((largest_array(block) for block in self.machine.graph if block.name in repeated), default=0)

    @cached_property
    def tables(self) -> frozenset[str]:
        """Arguments that lanes look things up in where they lie."""
        return tables(self.machine) if self.options.optimizations.tables else frozenset()

    @cached_property
    def constants(self) -> frozenset[str]:
        """Arguments that no lane assigns, which may be read where they lie."""
        return constants(self.machine) if self.options.optimizations.tables else frozenset()

    @cached_property
    def touched_in_part(self) -> frozenset[str]:
        """Variables of which blocks that a lane comes to again and again only read or change some elements."""
        repeated = repeated_blocks(self.machine)
        blocks = (block for block in self.machine.graph if block.name in repeated)
        return frozenset(self.machine.var_defs.keys() - taken_as_a_whole(blocks))

    def on_one_cpu(self, inputs: Any, depth: int, stats: bool = False, **how: bool) -> Layout:
        """The state of a run on a CPU: of one kernel, where XLA can make one and no array is worth another thread."""
        kernel = self.layout(inputs, depth, stats, one_kernel=True, **how)
        fits = self.is_small(kernel) and self.fits_one_kernel(kernel.lanes)
        return kernel if fits else self.layout(inputs, depth, stats, **how)

    def is_small(self, layout: Layout) -> bool:
        """Whether no array that a block computes again and again is worth the time it takes to wake another thread."""
        if not isinstance(layout.inputs, int):
            return False
        touched_in_part = layout.buffers.union(layout.handed_in, *map(layout.tops, self.touched_in_part))
        slots = layout.slots | {top: aval for v in layout.in_place for top, aval in layout.variable(v).items()}
        sizes = (array_bytes(aval) for slot, aval in slots.items() if slot not in touched_in_part)
        return bool(max(layout.lanes * self.largest_array, *sizes) < WORTH_A_THREAD)

    def fits_one_kernel(self, lanes: int) -> bool:
        """Whether a run of so many lanes may be one kernel on a CPU."""
        if lanes not in self._fits:
            self._fits[lanes] = self.options.optimizations.one_kernel and fits_one_kernel(self.machine, lanes, vector())
        return self._fits[lanes]

    def has_small_kernels(self, layout: Layout) -> bool:
        """Whether, in a run of several kernels on a CPU, what works on little is in kernels of its own."""
        return layout.lanes == 1 and not layout.one_kernel and self.options.optimizations.one_kernel

    @cached_property
    def _fits(self) -> dict[int, bool]:
        return {}

    def request(self, layout: Layout, **how: Any) -> Request:
        """What to build for a state; ``how`` are the other attributes of ``Request``."""
        choice = self.choice_of(one_kernel=layout.one_kernel).at(layout.lanes)
        groups = choice.groups(self.machine)
        wanted = self.options.optimizations
        few = widths(self.machine, layout, jax.default_backend()) if wanted.compaction else {}
        schedule = choice.schedule_of(self.machine, groups, layout, few)
        how |= {"in_place": wanted.in_place, "light_ties": wanted.light_ties}
        return Request(layout, choice.form, groups, schedule, choice.rounds, choice.share, few, **how)

    @property
    def declared_depth(self) -> int:
        """The stack depth that the user gave: what a run has inside another computation, where stacks cannot grow."""
        return self.options.max_stack_depth

    @property
    def depth(self) -> int:
        """The stack depth that a run by itself begins with: what was enough for those before it."""
        return self.grown[0] if self.grown else self.declared_depth

    def layout(self, inputs: Any, depth: int, stats: bool = False, one_kernel: bool = False, **how: bool) -> Layout:
        """The state for a batch of ``inputs``; ``how`` are the other attributes of ``Layout`` that say how it runs."""
        lanes = self._lanes(inputs, self.choice_of(one_kernel=one_kernel))
        queue = lanes is not None
        return Layout(
            program=self.machine,
            inputs=inputs,
            lanes=lanes if queue else inputs,
            depth=depth,
            queue=queue,
            max_steps=self.options.max_steps,
            stats=stats,
            one_kernel=one_kernel,
            long_rows=self.has_long_rows,
            vector=vector(),
            stores_masked=stores_masked(),
            tables=self.tables,
            constants=self.constants,
            **how,
        )

    def _lanes(self, inputs: Any, choice: Choice) -> int | None:
        """Lanes in flight where they are fewer than the inputs, else None.

        A batch of unknown size has more inputs than lanes if the user asked for lanes.
        """
        if not isinstance(inputs, int):
            return self.options.lanes
        lanes = choice.lanes_for(inputs)
        return lanes if lanes < inputs else None

    @property
    def in_types(self) -> tuple[Type, ...]:
        return tuple(self.specialized.var_defs[v] for v in self.specialized.vars_in)

    @property
    def out_type(self) -> Type:
        return self.specialized.var_defs[self.specialized.vars_out[0]]

    @cached_property
    def input_shared(self) -> tuple[bool, ...]:
        """For each input array, whether all lanes share it."""
        pairs = zip(self.specialized.vars_in, self.in_types, strict=True)
        return tuple(v in self.shared for v, t in pairs for _ in t.tensor_leaves)

    def result_avals(self, inputs: Any) -> list[jax.ShapeDtypeStruct]:
        """The results as they are stored."""
        program = self.specialized
        kept = (*program.vars_out[:-2], program.vars_out[-1]) if program.failures else program.vars_out
        leaves = [physical(t) for v in kept for t in program.var_defs[v].tensor_leaves]
        return [jax.ShapeDtypeStruct((inputs, *t.shape), t.dtype) for t in leaves]

    @cached_property
    def result_arrays(self) -> int:
        """How many arrays a run gives back, those that exceptions are made of among them."""
        return len(self.result_avals(1))

    def result(self, arrays: Sequence[Any]) -> Any:
        """What the user gets, of what a run gives back."""
        return user_value(list(arrays[: len(self.out_type.tensor_leaves)]), self.out_type)

    def batch_size(self, arrays: Sequence[Any]) -> Any:
        """The size of the batch that the input arrays make up."""
        return arrays[self.batch_size_position].shape[0]

    @cached_property
    def batch_size_position(self) -> int:
        """Position of the first input array that has a batch axis."""
        return self.input_shared.index(False)

    def unsharing(self, positions: Sequence[int]) -> Plan:
        """The plan in which the input arrays at ``positions`` differ between lanes after all."""
        owners = [v for v, t in zip(self.specialized.vars_in, self.in_types, strict=True) for _ in t.tensor_leaves]
        shared = self.shared - {owners[p] for p in positions}
        if shared not in self._variants:
            self._variants[shared] = replace(self, shared=shared, grown=[])
        return self._variants[shared]

    def divided(self, threads: int) -> Plan:
        """The plan for a part of a batch that is divided among threads: lanes that the user asked for are divided."""
        if threads == 1 or self.options.lanes is None:
            return self
        if threads not in self._variants:
            options = replace(self.options, lanes=-(-self.options.lanes // threads))
            self._variants[threads] = replace(self, options=options)
        return self._variants[threads]

    @cached_property
    def _variants(self) -> dict[Any, Plan]:
        return {self.shared: self}

    @property
    def executables(self) -> Executables:
        """Those of the plan and its variants, as long as somebody keeps them."""
        return self._kept.setdefault("executables", Executables())

    @cached_property
    def ends(self) -> Ends:
        """What is known of the ends of its runs."""
        return Ends()

    def has_executable(self, key: Any) -> bool:
        """Whether there is one of a key."""
        return (id(self), key) in self.executables

    def executable(self, key: Any, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """The executable of a key, which is made if there is none yet."""
        executables, key = self.executables, (id(self), key)
        if key not in executables:
            executables[key] = make()
        return executables[key]
