"""The plan of a program for inputs of given types: all that is needed to run it, at any batch size and stack depth.

A plan is made once per function, types, and choice of shared inputs; it is compared by identity and may be a parameter
of a JAX primitive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import jax

from hlobatch._jax import freed_with_its_program, is_x64
from hlobatch.analysis.cost import block_cost
from hlobatch.analysis.libraries import shared_library_calls
from hlobatch.analysis.machine_flow import never_goes_back
from hlobatch.analysis.slow_operations import SECONDS_A_TURN, seconds_of, turns_counted
from hlobatch.analysis.sums_over_lanes import summed_in_place
from hlobatch.ir.names import is_sum, is_tape, summed_for
from hlobatch.ir.physical import array_bytes, physical
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import Type
from hlobatch.lowering.state.captures import Captures, captures
from hlobatch.lowering.state.layout import Layout
from hlobatch.lowering.to_stablehlo import Request
from hlobatch.lowering.turns.dispatch import SWEEPS
from hlobatch.runtime.pace import Pace
from hlobatch.runtime.programs import Programs
from hlobatch.strategy.options import Options
from hlobatch.strategy.plan_run import plan_run
from hlobatch.strategy.state import States
from hlobatch.strategy.strategy import Strategy
from hlobatch.strategy.widths import widths
from hlobatch.typing import Arrays
from hlobatch.values.user_values import user_value

LEAST_BYTES_SHARED: Final = 256 * 1024
"""Bytes from which threads read one array, which is in their common cache, instead of computing one each."""


class Room(NamedTuple):
    """The depth of the stacks in a run.

    Attributes:
        depth: Frames per stack.
        grows: Whether lanes whose stacks are full wait until the stacks have grown; otherwise their inputs are stopped.
    """

    depth: int
    grows: bool = True


class Reverse(NamedTuple):
    """Which cotangents a plan computes.

    Attributes:
        plan: The plan of the program without derivatives.
        inputs: Positions of the inputs whose cotangents it returns, after all results.
        results: Positions of the results whose cotangents it takes.
        known: Positions, among its own inputs, of the inputs of ``plan``, in order.
        given: Positions, among its own inputs, of the cotangents that it takes.
    """

    plan: Plan
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    known: tuple[int, ...]
    given: tuple[int, ...]


@dataclass
class Ends:
    """The tails of earlier runs, in which few lanes were left.

    Attributes:
        seconds: Time spent on turns of all lanes of which few had work left.
        are_expected: Whether an earlier run had a tail for which a program was compiled.
    """

    seconds: float = 0.0
    are_expected: bool = False


class Executables(dict[Any, Callable[..., Any]]):
    """The executables of a plan and its variants, by keys that say what they were compiled for.

    They are kept by whatever runs a plan, and not by the plan: an equation refers to the plan, and JAX keeps equations
    by the function that they were traced from. Function, equation and plan would keep each other, and all captured
    arrays, alive forever.
    """


@freed_with_its_program
@dataclass(frozen=True, eq=False)
class Plan:
    """How to run a program.

    Attributes:
        name: The user's name for the function.
        specialized: The typed program, before optimization.
        shared: Inputs that all lanes share.
        options: The user's options.
        grown: The stack depth that was enough for the runs so far; empty until a run has grown its stacks.
        tangents_of: If it computes tangents, the plan of the program without them, and the positions of the inputs
            that have tangents; else None.
        cotangents_of: If it computes cotangents, which; else None.
        sums_in_loop: Whether results that are sums over lanes are summed in the loop, where it can do that.
        x64: Whether 64-bit types are on, as they were when the program was typed.
    """

    name: str
    specialized: Program
    shared: frozenset[str]
    options: Options
    grown: list[int] = field(default_factory=list)
    tangents_of: tuple[Plan, tuple[int, ...]] | None = None
    cotangents_of: Reverse | None = None
    sums_in_loop: bool = False
    x64: bool = field(default_factory=is_x64)
    _kept: weakref.WeakValueDictionary[str, Executables] = field(default_factory=weakref.WeakValueDictionary)

    def __repr__(self) -> str:
        return f"Plan({self.name})"  # short, since jaxprs print the plans that they call

    def as_typed(self) -> Any:
        """A context in which 64-bit types are on or off as they were when the program was typed."""
        return jax.enable_x64(self.x64)

    @cached_property
    def programs(self) -> Programs:
        """The forms that the program takes on its way to the machine."""
        return Programs(self.specialized, self.shared, self.options)

    @cached_property
    def states(self) -> States:
        """The states of the program's runs."""
        return States(self.programs.machine, self.options, self.summed)

    @cached_property
    def summed(self) -> frozenset[str]:
        """The results that are summed over lanes in the loop: cotangents of shared inputs."""
        if not self.sums_in_loop:
            return frozenset()
        program = self.programs.machine
        wanted = {v for v in program.vars_out if is_sum(v) and summed_for(v) in self.shared}
        return summed_in_place(program, wanted)

    @cached_property
    def summed_results(self) -> tuple[int, ...]:
        """The positions of ``summed`` among the result arrays; these have no axis of inputs."""
        if not self.summed:
            return ()
        program = self.programs.machine
        places = [v for v in program.vars_out for _ in program.var_defs[v].tensor_leaves]
        return tuple(k for k, v in enumerate(places) if v in self.summed)

    def strategy(self, inputs: Any) -> Strategy:
        """The strategy for a number of inputs."""
        if inputs not in self._strategies:
            self._strategies[inputs] = plan_run(self.programs.policies, inputs)
        return self._strategies[inputs]

    @cached_property
    def _strategies(self) -> dict[Any, Strategy]:
        return {}

    def layout(self, strategy: Strategy, depth: int, **how: bool) -> Layout:
        """The state of a run with ``depth`` frames per stack; ``how`` are attributes of ``Layout`` on how it ends."""
        return self.states.layout(strategy, depth, **how)

    def layout_here(self, strategy: Strategy, depth: int, **how: bool) -> Layout:
        """``layout``, for the machine that JAX runs on."""
        return self.layout(strategy, depth, holds_stacks=self.programs.policies.target.holds_stacks, **how)

    @cached_property
    def layout_of_one(self) -> Layout:
        """The state of a run of one input, to ask what is true of all states of the program."""
        return self.layout(self.strategy(1), self.declared_depth)

    @cached_property
    def captures(self) -> Captures:
        return captures(self.programs.machine)

    @cached_property
    def captures_tracers(self) -> bool:
        """Whether some of the captured arrays are tracers, which mean nothing outside the trace that they belong to."""
        return captures(self.programs.in_program_order).are_traced  # kernels do not need the program of XLA's loop

    @cached_property
    def captured(self) -> tuple[Any, ...]:
        """The captured arrays, as they are passed to executables."""
        return tuple(self.captures.operands())

    @cached_property
    def has_stacks(self) -> bool:
        """Whether any variable needs a stack."""
        return Alloc.FULL in self.programs.machine.var_alloc.values()

    @property
    def has_effects(self) -> bool:
        """Whether lanes have effects on the host, such as to print."""
        return bool(self.specialized.effects)

    @property
    def may_stop(self) -> bool:
        """Whether a run can end before all inputs are done."""
        return self.layout_of_one.may_stop

    @cached_property
    def may_be_endless(self) -> bool:
        """Whether the loop has no known end, so that a run goes in stretches."""
        return not never_goes_back(self.programs.machine)

    def pace(self, inputs: int) -> Pace:
        """The pace of a run of this number of inputs: the turns that its loop makes in a stretch."""
        if inputs not in self._paces:
            strategy = self.strategy(inputs)
            rounds = strategy.policy.rounds if strategy.policy.form in SWEEPS else 1 / len(self.block_costs)
            program = self.programs.machine
            of_blocks = (strategy.lanes * seconds_of(program, block) for block in program.graph)
            seconds = sum(each for each in of_blocks if not turns_counted(each))
            self._paces[inputs] = Pace.guessed(rounds * seconds + SECONDS_A_TURN)
        return self._paces[inputs]

    @cached_property
    def _paces(self) -> dict[int, Pace]:
        return {}

    @cached_property
    def shares_values(self) -> bool:
        """Whether shared values are computed once and passed to all threads, instead of in each thread.

        They are if they are large, or are computed by a library that only one thread may call at a time.
        """
        program = self.programs.machine
        if shared_library_calls(program):
            return True
        computed = {v for v, alloc in program.var_alloc.items() if alloc is Alloc.SHARED}.difference(program.vars_in)
        leaves = (t for v in computed for t in program.var_defs[v].tensor_leaves)
        return sum(map(array_bytes, map(physical, leaves))) >= LEAST_BYTES_SHARED

    @cached_property
    def block_costs(self) -> tuple[float, ...]:
        return tuple(block_cost(self.programs.machine, block) for block in self.programs.machine.graph)

    def request(self, strategy: Strategy, layout: Layout, **how: Any) -> Request:
        """The request for a module by a strategy and its layout; ``how`` are the other attributes of ``Request``."""
        wanted, target = self.options.optimizations, self.programs.policies.target
        groups = strategy.groups(self.programs.machine)
        few = widths(layout, target) if wanted.compaction else {}
        order = strategy.order(layout, groups, few, target.loop)
        how |= {"in_place": wanted.in_place, "light_ties": wanted.light_ties}
        policy = strategy.policy
        return Request(layout, policy.form, groups, order, policy.rounds, policy.share, few, **how)

    @property
    def declared_depth(self) -> int:
        """The stack depth that the user gave, which a run within another computation has, as its stacks cannot grow."""
        return self.options.max_stack_depth

    @property
    def tape_depth(self) -> int:
        """The initial depth of tapes, and their depth within another computation."""
        return self.declared_depth * self.options.tape_ratio

    @cached_property
    def has_tape(self) -> bool:
        """Whether the program keeps a tape for reverse mode."""
        return any(map(is_tape, self.specialized.var_defs))

    @property
    def depth(self) -> int:
        """The initial stack depth of a run outside of other computations: what was enough for earlier runs."""
        return self.grown[0] if self.grown else self.declared_depth

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
        """Shapes and dtypes of the results as they are stored; sums over all inputs have no batch axis."""
        program = self.specialized
        kept = (*program.vars_out[:-2], program.vars_out[-1]) if program.failures else program.vars_out
        leaves = [physical(t) for v in kept for t in program.var_defs[v].tensor_leaves]
        summed = self.summed_results
        batches = (() if i in summed else (inputs,) for i in range(len(leaves)))
        return [jax.ShapeDtypeStruct((*batch, *t.shape), t.dtype) for batch, t in zip(batches, leaves, strict=True)]

    @cached_property
    def result_arrays(self) -> int:
        """Number of arrays that a run returns, the values of exceptions included."""
        return len(self.result_avals(1))

    def result(self, arrays: Arrays) -> Any:
        """The user's result, from the arrays that a run returns."""
        return user_value(list(arrays[: len(self.out_type.tensor_leaves)]), self.out_type)

    def batch_size(self, arrays: Arrays) -> Any:
        """The size of the batch in the input arrays."""
        return arrays[self.batch_size_position].shape[0]

    @cached_property
    def batch_size_position(self) -> int:
        """Position of the first input array that has a batch axis."""
        return self.input_shared.index(False)

    def unsharing(self, positions: Sequence[int]) -> Plan:
        """The plan in which the input arrays at ``positions`` are not shared."""
        owners = [v for v, t in zip(self.specialized.vars_in, self.in_types, strict=True) for _ in t.tensor_leaves]
        shared = self.shared - {owners[p] for p in positions}
        if shared not in self._variants:
            self._variants[shared] = replace(self, shared=shared, grown=[])
        return self._variants[shared]

    def divided(self, threads: int) -> Plan:
        """The plan for a part of a batch that is divided among threads, as are the lanes that the user asked for."""
        if threads == 1 or self.options.lanes is None:
            return self
        if threads not in self._variants:
            options = replace(self.options, lanes=-(-self.options.lanes // threads))
            self._variants[threads] = replace(self, options=options)
        return self._variants[threads]

    @cached_property
    def _variants(self) -> dict[Any, Plan]:
        return {self.shared: self}

    def derived(self, key: Any, make: Callable[[], Any]) -> Any:
        """An object that belongs to the plan, such as the plan of a derivative; it is made once per key."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    @cached_property
    def _derived(self) -> dict[Any, Any]:
        return {}

    @property
    def executables(self) -> Executables:
        """The executables of the plan and its variants, which live as long as something else refers to them."""
        return self._kept.setdefault("executables", Executables())

    @cached_property
    def ends(self) -> Ends:
        """The record of the tails of the plan's runs."""
        return Ends()

    def has_executable(self, key: Any) -> bool:
        """Whether there is an executable for a key."""
        return (id(self), key) in self.executables

    def executable(self, key: Any, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """The executable for a key, made on first use, with 64-bit types on or off as when the program was typed."""
        executables, key = self.executables, (id(self), key)
        if key not in executables:
            with self.as_typed():
                executables[key] = make()
        return executables[key]
