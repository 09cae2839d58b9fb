"""Replaces calls by pushes, pops and jumps: the paper's figure 2 to figure 4.

::

    a:                                     fib.a:
      %fib.m = prim "n - 2" (%fib.n)         push %fib.n
      %fib.l = call @fib(%fib.m)             %fib.m = prim "n - 2" (%fib.n)
      jump b                         ==>     %fib.n = prim "move" (%fib.m)
                                             push_jump fib.entry, return to fib.b' by %fib.$return
                                           fib.b':
                                             pop %fib.n
                                             %fib.l = prim "move" (%fib.$result)
                                             jump fib.b

The caller saves the variables that are live after the call and may be overwritten during it, and no others. It saves
them as early as it can: an argument that is made from a saved variable may then be computed in place (``coalesce.py``).
Addresses to return to are in one variable per recursion group (``$return``), which needs a stack only if the group
calls itself other than in tail position. A call in tail position within its group moves the arguments and jumps,
without a push or a return address. A group that is entered by a single call needs no return address either: its
functions return to the one known block, and become part of their caller.

All graphs become one; blocks keep their order, main's first, then each function's. The initial top of every ``$return``
is ``HALT``, so that main's own tail call needs no return address either.

Reference: seed data model, "the post-lowering function call sequence"; paper sections 3 and 3.2, optimization 1.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping

import numpy as np

from hlobatch.analysis.allocation import RETURN_ADDRESS, allocate, is_recursive_call, saved_across
from hlobatch.analysis.call_graph import CallGraph, CallSite
from hlobatch.diagnostics import Location
from hlobatch.ir.code import MOVE
from hlobatch.ir.ops import HALT, BranchOp, GotoOp, IndirectGotoOp, Op, PopOp, PrimOp, PushGotoOp, PushOp, Terminator
from hlobatch.ir.program import MAIN, Block, ControlFlowGraph, Function, Program, VariableAllocation
from hlobatch.ir.types import tensor


def lower_calls(program: Program) -> Program:
    """The program as one graph without calls, typed and allocated."""
    return _Lowering(_with_shared_results(program)).program()


def _with_shared_results(program: Program) -> Program:
    """The program in which functions that tail-call each other have the same result variables.

    Only then can the tail call be a jump. Functions whose results differ in type keep their own variables. A result may
    be a parameter, too, which the function gives back changed; so parameters are renamed with the results.
    """
    graph = CallGraph(program)
    name = {v: v for f in program.all_functions for v in f.vars_out}

    def root(v: str) -> str:
        while name.get(v, v) != v:
            v = name[v]
        return v

    for site in graph.sites:
        callee = program.function(site.op.function)
        same_group = site.function.name == MAIN or graph.group(callee.name) == graph.group(site.function.name)
        if site.is_tail and same_group:
            for mine, theirs in zip(site.function.vars_out, callee.vars_out, strict=True):
                if program.var_defs[mine] == program.var_defs[theirs] and mine not in program.vars_in:
                    name[root(mine)] = root(theirs)

    def renamed(function: Function) -> Function:
        changed = function.map_blocks(lambda block: block.rename(root, root))
        return changed.replace(vars_in=tuple(map(root, function.vars_in)), vars_out=tuple(map(root, function.vars_out)))

    kept = {v: t for v, t in program.var_defs.items() if root(v) == v}
    return program.map_functions(renamed).replace(var_defs=kept)


class _Lowering:
    def __init__(self, program: Program) -> None:
        self.source = program
        self.graph = CallGraph(program)
        self.saved = saved_across(program)
        self.sites = {(s.function.name, s.block.name): s for s in self.graph.sites}
        self.way_back = self._ways_back()
        self.counters = self._counters()

    def _ways_back(self) -> Mapping[str, str]:
        """For each group of functions with a single call site outside, the block that it returns to."""
        entering: dict[str, list[CallSite]] = collections.defaultdict(list)
        for site in self.graph.sites:
            within = site.function.name != MAIN and self._group(site.function.name) == self._group(site.op.function)
            if not (within and self._is_jump(site)):
                entering[self._group(site.op.function)].append(site)
        only = {group: sites[0] for group, sites in entering.items() if len(sites) == 1}
        return {
            group: f"{site.function.name}.{site.block.name}.return"
            for group, site in only.items()
            if not self._is_jump(site) and not is_recursive_call(self.graph, site)
        }

    def _group(self, function: str) -> str:
        return self.graph.group(function)

    def _counters(self) -> Mapping[str, VariableAllocation]:
        """The return-address variables, with their allocation; groups that return to one known block have none."""
        found: dict[str, VariableAllocation] = {}
        for site in self.graph.sites:
            if not self._is_jump(site) and self._group(site.op.function) not in self.way_back:
                counter = self.counter(site.op.function)
                recursive = is_recursive_call(self.graph, site)
                full = recursive or found.get(counter) is VariableAllocation.FULL
                found[counter] = VariableAllocation.FULL if full else VariableAllocation.REGISTER
        return found

    def counter(self, function: str) -> str:
        return self._group(function) + RETURN_ADDRESS

    def _is_jump(self, site: CallSite) -> bool:
        """Whether a call becomes a plain jump: a tail call within its group, with the same result variables."""
        caller, callee = site.function, self.source.function(site.op.function)
        same_group = caller.name == MAIN or self._group(caller.name) == self._group(callee.name)
        return site.is_tail and same_group and caller.vars_out == callee.vars_out

    def program(self) -> Program:
        blocks = [block for function in self.source.all_functions for block in self._function(function)]
        program = self.source.replace(
            graph=ControlFlowGraph(tuple(blocks)),
            functions=(),
            var_defs={**self.source.var_defs, **{c: tensor(np.int32) for c in self.counters}},
            var_alloc={**self.source.var_alloc, **self.counters},
        )
        return allocate(program)

    def _function(self, function: Function) -> Iterator[Block]:
        for block in function.graph:
            leave = self._leave_by_branch(function, block)
            block = self._leaving(function, block)
            site = self.sites.get((function.name, block.name))
            name = f"{function.name}.{block.name}"
            if site is None:
                yield block.replace(name=name, terminator=self._onward(function, block.terminator))
                yield from leave
            else:
                yield from self._call(site, block.replace(name=name))

    def _onward(self, function: Function, terminator: Terminator) -> Terminator:
        """The terminator with its targets renamed for the one graph of all functions."""
        end = HALT if function.name == MAIN else self.way_back.get(self._group(function.name), HALT)
        return terminator.retarget(lambda name: end if name == HALT else f"{function.name}.{name}")

    def _returns(self, function: Function) -> bool:
        """Whether a function returns through a return address."""
        return function.name != MAIN and self.counter(function.name) in self.counters

    def _leaving(self, function: Function, block: Block) -> Block:
        """The block with a return in place of ``HALT``, if the function has a return address."""
        terminator = block.terminator
        if not self._returns(function) or HALT not in terminator.successors:
            return block
        if isinstance(terminator, GotoOp):
            return block.replace(terminator=IndirectGotoOp(self.counter(function.name), location=terminator.location))
        return block.replace(terminator=terminator.retarget(lambda b: f"{block.name}.leave" if b == HALT else b))

    def _leave_by_branch(self, function: Function, block: Block) -> tuple[Block, ...]:
        """The extra block that returns, for a branch one side of which leaves the function; else none."""
        terminator = block.terminator
        if not self._returns(function) or not isinstance(terminator, BranchOp) or HALT not in terminator.successors:
            return ()
        back = IndirectGotoOp(self.counter(function.name), location=terminator.location)
        return (Block(f"{function.name}.{block.name}.leave", (), back, terminator.location),)

    def _call(self, site: CallSite, block: Block) -> Iterator[Block]:
        op, location = site.op, site.op.location
        callee = self.source.function(op.function)
        target = f"{callee.name}.{callee.graph.enter_block().name}"
        first = block.instructions[:-1]
        arguments = self._moves(callee.vars_in, op.vars_in, location)
        if self._is_jump(site):
            yield block.replace(instructions=(*first, *arguments), terminator=GotoOp(target, location=location))
            return
        saved = tuple(sorted(self.saved[site.function.name, site.block.name]))
        back = f"{block.name}.return"
        last = max((i for i, each in enumerate(first, 1) if any(v in saved for v in each.defs)), default=0)
        push = (PushOp(saved, location=location),) if saved else ()
        terminator: Terminator = PushGotoOp(back, target, self.counter(callee.name), location=location)
        if self._group(callee.name) in self.way_back:
            terminator = GotoOp(target, location=location)
        instructions = (*first[:last], *push, *first[last:], *arguments)
        yield block.replace(instructions=instructions, terminator=terminator)
        pop = (PopOp(saved, location=location),) if saved else ()
        results = self._moves(op.vars_out, callee.vars_out, location)
        # A parameter that the callee gives back changed may be one that the caller saves: its result is moved first.
        is_lost = not set(saved).isdisjoint(callee.vars_out)
        first = (*results, *pop) if is_lost else (*pop, *results)
        yield Block(back, first, self._onward(site.function, block.terminator), location)

    def _moves(self, targets: tuple[str, ...], sources: tuple[str, ...], location: Location) -> tuple[Op, ...]:
        """A parallel copy of sources to targets, without copies to itself and without Python objects."""
        types = self.source.var_defs
        pairs = [(t, s) for t, s in zip(targets, sources, strict=True) if t != s and t in types]
        pairs = [(t, s) for t, s in pairs if not types[t].is_static]
        if not pairs:
            return ()
        outs, ins = zip(*pairs, strict=True)
        return (PrimOp(ins, outs, MOVE, "move", location=location),)


def return_addresses(program: Program) -> list[str]:
    """The variables of a lowered program that hold return addresses; at the start each holds ``HALT``."""
    counters = [op.counter for op in program.ops if isinstance(op, (PushGotoOp, IndirectGotoOp))]
    return list(dict.fromkeys(counters))
