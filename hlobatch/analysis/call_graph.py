"""A program with calls -> its call graph: callees, recursion groups, and the calls that need no return address.

Functions that can call each other in a circle form one recursion group (a strongly connected component); they share one
stack of return addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from hlobatch.ir.ops import HALT, FunctionCallOp, GotoOp
from hlobatch.ir.program import Block, Function, Program


@dataclass(frozen=True)
class CallSite:
    """A call: the caller, the block, and the operation, which is the block's last instruction."""

    function: Function
    block: Block
    op: FunctionCallOp

    @property
    def is_tail(self) -> bool:
        """Whether the caller has nothing left to do after the call: its result is the caller's result."""
        target = self.block.terminator
        return isinstance(target, GotoOp) and target.block == HALT and self.op.vars_out == self.function.vars_out


def call_sites(program: Program) -> Iterator[CallSite]:
    """All calls of a program, in program order."""
    for function in program.all_functions:
        for block in function.graph:
            for op in block.instructions:
                if isinstance(op, FunctionCallOp):
                    yield CallSite(function, block, op)


@dataclass(frozen=True)
class CallGraph:
    """The call graph of a program."""

    program: Program

    @cached_property
    def sites(self) -> tuple[CallSite, ...]:
        return tuple(call_sites(self.program))

    @cached_property
    def callees(self) -> Mapping[str, frozenset[str]]:
        """For each function, the functions that it calls directly."""
        found: dict[str, set[str]] = {f.name: set() for f in self.program.all_functions}
        for site in self.sites:
            found[site.function.name].add(site.op.function)
        return {name: frozenset(names) for name, names in found.items()}

    @cached_property
    def reachable(self) -> Mapping[str, frozenset[str]]:
        """For each function, those that may run during a call of it, itself included only if it recurses."""
        closure = {name: set(callees) for name, callees in self.callees.items()}
        changed = True
        while changed:
            changed = False
            for reached in closure.values():
                more = set().union(*(closure[name] for name in reached)) - reached
                changed |= bool(more)
                reached |= more
        return {name: frozenset(names) for name, names in closure.items()}

    def is_recursive(self, name: str) -> bool:
        """Whether a function can be called again before it has returned."""
        return name in self.reachable[name]

    def group(self, name: str) -> str:
        """The recursion group of a function, named after its first member in program order."""
        for function in self.program.all_functions:
            other = function.name
            if other == name or (other in self.reachable[name] and name in self.reachable[other]):
                return other
        raise KeyError(name)
