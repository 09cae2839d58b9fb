"""A program for inputs of given types -> its plan: what is needed to run it, at any batch size and stack depth.

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
from hlobatch.ir.physical import array_bytes, physical, user_value
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import Type
from hlobatch.lowering.idiom import PORTABLE, Idiom
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

LEAST_BYTES_SHARED: Final = 256 * 1024
"""Bytes that cores had better read from one array, which they have in their cache together, than each from its own."""


class Room(NamedTuple):
    """What there is room for on the stacks of a run.

    Attributes:
        depth: Frames per stack.
        grows: Whether lanes whose stacks are full wait until these have grown; else their inputs are stopped.
    """

    depth: int
    grows: bool = True


class Reverse(NamedTuple):
    """What a plan computes cotangents of.

    Attributes:
        plan: That of the program without.
        inputs: The positions of the inputs whose cotangents it gives, behind all results.
        results: The positions of the results whose cotangents it takes.
        known: Where among its inputs those of the program are, in order.
        given: Where among them the cotangents are that it takes.
    """

    plan: Plan
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    known: tuple[int, ...]
    given: tuple[int, ...]


@dataclass
class Ends:
    """What is known of the tails of earlier runs, in which few lanes were left.

    Attributes:
        seconds: Spent on turns of all lanes of which few had something left to do.
        are_expected: Whether a run had such an end for which there was a program.
    """

    seconds: float = 0.0
    are_expected: bool = False


class Executables(dict[Any, Callable[..., Any]]):
    """The executables of a plan and its variants, by keys that say what they were compiled for.

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
        tangents_of: If it computes tangents, the plan of the program without, and the positions of the inputs that have
            some.
        cotangents_of: If it computes cotangents, of what.
        sums_in_loop: Whether results that are sums over lanes are had as such, where the loop can have them.
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
        return f"Plan({self.name})"  # a jaxpr that calls it prints it

    def as_typed(self) -> Any:
        """A context in which 64-bit types are on or off as when the program was typed, as ``jax.jit`` does it."""
        return jax.enable_x64(self.x64)

    @cached_property
    def programs(self) -> Programs:
        """The forms that the program takes on its way to the machine."""
        return Programs(self.specialized, self.shared, self.options)

    @cached_property
    def states(self) -> States:
        """The states that runs have."""
        return States(self.programs.machine, self.options, self.summed)

    @cached_property
    def summed(self) -> frozenset[str]:
        """The results that all lanes have together: cotangents of what they share."""
        program = self.programs.machine
        wanted = {v for v in program.vars_out if is_sum(v) and summed_for(v) in self.shared}
        return summed_in_place(program, wanted) if self.sums_in_loop else frozenset()

    @cached_property
    def summed_results(self) -> tuple[int, ...]:
        """Their positions among the arrays of the results, which have no axis of inputs there."""
        if not self.summed:
            return ()
        program = self.programs.machine
        places = [v for v in program.vars_out for _ in program.var_defs[v].tensor_leaves]
        return tuple(k for k, v in enumerate(places) if v in self.summed)

    def strategy(self, inputs: Any, *, is_alone: bool) -> Strategy:
        """How a batch of so many inputs runs; alone on a device of this machine, or wherever it is lowered for."""
        key = inputs, is_alone
        if key not in self._strategies:
            self._strategies[key] = plan_run(self.programs.policies, self.states, inputs, is_alone=is_alone)
        return self._strategies[key]

    @cached_property
    def _strategies(self) -> dict[Any, Strategy]:
        return {}

    def idiom(self, strategy: Strategy) -> Idiom:
        """The idiom of a run by itself."""
        return self.states.idiom(strategy, self.programs.policies.target)

    def layout(self, strategy: Strategy, depth: int, idiom: Idiom = PORTABLE, **how: bool) -> Layout:
        """The state of a run with so many frames per stack; ``how`` are attributes of ``Layout`` on how it ends."""
        return self.states.layout(strategy, idiom, depth, **how)

    @cached_property
    def layout_of_one(self) -> Layout:
        """The state of a run of one input, to ask what is true of all states of the program."""
        return self.layout(self.strategy(1, is_alone=False), self.declared_depth)

    @cached_property
    def captures(self) -> Captures:
        return captures(self.programs.machine)

    @cached_property
    def captured(self) -> tuple[Any, ...]:
        """The captured arrays as they are passed."""
        return tuple(self.captures.operands())

    @cached_property
    def has_stacks(self) -> bool:
        """Whether any variable needs a stack."""
        return Alloc.FULL in self.programs.machine.var_alloc.values()

    @property
    def has_effects(self) -> bool:
        """Whether lanes have the host do anything, such as to print."""
        return bool(self.specialized.effects)

    @property
    def may_stop(self) -> bool:
        """Whether a run can end before all inputs are done."""
        return self.layout_of_one.may_stop

    @cached_property
    def may_be_endless(self) -> bool:
        """Whether nothing is known that ends a run: one by itself goes in stretches then."""
        return not never_goes_back(self.programs.machine)

    def pace(self, inputs: int) -> Pace:
        """How many turns the loop makes in a stretch of a run of so many inputs."""
        if inputs not in self._paces:
            strategy = self.strategy(inputs, is_alone=True)
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
        """Whether shared values are computed once and given to all threads, instead of in each thread anew.

        It may be large, or be computed by a library that only one thread may call at a time.
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
        """What to build for a strategy and its state; ``how`` are the other attributes of ``Request``."""
        wanted, target = self.options.optimizations, self.programs.policies.target
        groups = strategy.groups(self.programs.machine)
        few = widths(layout, target) if wanted.compaction else {}
        order = strategy.order(layout, groups, few, target.loop)
        how |= {"in_place": wanted.in_place, "light_ties": wanted.light_ties}
        policy = strategy.policy
        return Request(layout, policy.form, groups, order, policy.rounds, policy.share, few, **how)

    @property
    def declared_depth(self) -> int:
        """The stack depth that the user gave: what a run has inside another computation, where stacks cannot grow."""
        return self.options.max_stack_depth

    @property
    def tape_depth(self) -> int:
        """The depth of tapes to begin with: what a run has inside another computation."""
        return self.declared_depth * self.options.tape_ratio

    @cached_property
    def has_tape(self) -> bool:
        """Whether it keeps a tape, to go back along it."""
        return any(map(is_tape, self.specialized.var_defs))

    @property
    def depth(self) -> int:
        """The stack depth that a run by itself begins with: what was enough for those before it."""
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
        """The results as they are stored; sums over all inputs without their axis."""
        program = self.specialized
        kept = (*program.vars_out[:-2], program.vars_out[-1]) if program.failures else program.vars_out
        leaves = [physical(t) for v in kept for t in program.var_defs[v].tensor_leaves]
        summed = self.summed_results
        batches = (() if i in summed else (inputs,) for i in range(len(leaves)))
        return [jax.ShapeDtypeStruct((*batch, *t.shape), t.dtype) for batch, t in zip(batches, leaves, strict=True)]

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

    def derived(self, key: Any, make: Callable[[], Any]) -> Any:
        """Something that was made of the plan, such as the plan of a derivative, which is made once."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    @cached_property
    def _derived(self) -> dict[Any, Any]:
        return {}

    @property
    def executables(self) -> Executables:
        """The executables of the plan and its variants, as long as somebody keeps them."""
        return self._kept.setdefault("executables", Executables())

    @cached_property
    def ends(self) -> Ends:
        """What is known of the tails of the plan's runs."""
        return Ends()

    def has_executable(self, key: Any) -> bool:
        """Whether there is an executable for a key."""
        return (id(self), key) in self.executables

    def executable(self, key: Any, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
        """The executable for a key, which is made if there is none yet, with the types that the plan was typed with."""
        executables, key = self.executables, (id(self), key)
        if key not in executables:
            with self.as_typed():
                executables[key] = make()
        return executables[key]
