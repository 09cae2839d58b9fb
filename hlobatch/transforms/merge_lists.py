"""Keeps a list of numbers in one array if lanes index it: the reverse of ``split_aggregates.py``.

::

    %f.counts: [i32[]*, …]   fifty of them                        %f.counts: i32[50]
    %f.counts = prim "counts[k] += 1" (%f.counts, %f.k)    ==>    %f.counts = prim "counts[k] += 1" (%f.counts, %f.k)
       fifty operands, a concatenation, a scatter,                   a scatter
       fifty results

The input and the result are typed programs with calls. Only variables inside change their types: the program's inputs
and results keep their structure.

In the user's code a list of fixed length is a Python object, and stays one during type inference: its items may be of
any type, and an item with a known value stays known. Code that indexes the list by a lane's value makes one array of
all numbers first (``ir/joined.py``). This pass finds the variables that such code reads or writes, and those that
exchange values with them, and lets each hold the array itself. So a table of thousands of numbers costs no more to
compile than one of ten, and a store costs no more than the numbers it changes.

``list_layouts.py`` maps types, and ``list_elements.py`` maps the code of primitives.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.code import MOVE, JaxprCode
from hlobatch.ir.joined import makes_one, makes_parts
from hlobatch.ir.names import unused
from hlobatch.ir.ops import FunctionCallOp, GotoOp, Op, PrimOp
from hlobatch.ir.program import Block, ControlFlowGraph, Program
from hlobatch.ir.types import TensorType, Type
from hlobatch.transforms.list_elements import Element, ElementEvaluator
from hlobatch.transforms.list_layouts import ListLayout


def merge_lists(program: Program, *, keeps: bool = True) -> Program:
    """The typed program with calls, in which lists that lanes index are arrays.

    Args:
        program: The program.
        keeps: Whether variables hold the arrays. If not, each statement makes its own from the numbers.
    """
    if not all(op.code.is_open for op in program.ops if isinstance(op, PrimOp)):
        return program  # code that was read from a module stays as it is
    if not any(_works_on_arrays(op) for op in program.ops):
        return program
    layouts = _layouts(program) if keeps else {}
    types = {**program.var_defs, **{v: layout.merged for v, layout in layouts.items()}}
    merger = _Merger(program, layouts, types)
    return program.map_graphs(merger.graph).replace(var_defs=merger.types)


# Which variables are merged


def _works_on_arrays(op: Op) -> bool:
    """Whether an operation makes an array of a list's numbers, or numbers from an array."""
    code = op.code.rewritable
    return code is not None and any(makes_one(e) or makes_parts(e) for e in code.inlined.jaxpr.eqns)


def _layouts(program: Program) -> dict[str, ListLayout]:
    """Layouts of the variables to merge: lists that lanes index, and lists that exchange values with such lists."""
    border = {*program.vars_in, *program.vars_out}
    layouts = {v: ListLayout.of(t) for v, t in program.var_defs.items() if v not in border}
    lists = {v for v, layout in layouts.items() if not layout.is_trivial}
    neighbours, indexed = dict[str, set[str]](), set[str]()
    for op in program.ops:
        for group in _exchanging(op, lists, program):
            for v in group:
                neighbours.setdefault(v, set()).update(group)
        if not isinstance(op, FunctionCallOp) and _works_on_arrays(op):
            indexed |= lists.intersection((*op.uses, *op.defs))
    return {v: layouts[v] for v in _reachable(indexed, neighbours)}


def _exchanging(op: Op, lists: set[str], program: Program) -> list[set[str]]:
    """The sets of lists between which an operation may move values."""
    if not isinstance(op, FunctionCallOp):
        return [lists.intersection((*op.uses, *op.defs))]
    callee = program.function(op.function)
    pairs = zip((*op.vars_in, *op.vars_out), (*callee.vars_in, *callee.vars_out), strict=True)
    return [lists.intersection(pair) for pair in pairs]


def _reachable(start: Iterable[str], neighbours: Mapping[str, set[str]]) -> list[str]:
    """The variables that can be reached from some variables, which are included."""
    pending = list(start)
    found = dict.fromkeys(pending)
    while pending:
        for other in neighbours.get(pending.pop(), ()):
            if other not in found:
                found[other] = None
                pending.append(other)
    return list(found)


# Blocks and calls


@dataclass
class _Merger:
    """Rewrites the operations of a program for the variables that are merged.

    Attributes:
        program: The program as it was.
        layouts: Layouts of the merged variables; those of variables made for calls are added.
        types: New types of all variables; those of variables made for calls are added.
    """

    program: Program
    layouts: dict[str, ListLayout]
    types: dict[str, Type]

    def graph(self, graph: ControlFlowGraph) -> ControlFlowGraph:
        taken = {block.name for block in graph}
        return graph.expand_blocks(lambda block: self._blocks(block, taken))

    def _blocks(self, block: Block, taken: set[str]) -> Iterator[Block]:
        """The block, and, as a call ends its block, a second block if results of the call have to be converted."""
        ops, after = list[Op](), list[Op]()
        for op in block.instructions:
            if isinstance(op, PrimOp):
                ops.append(self._primitive(op))
            elif isinstance(op, FunctionCallOp):
                before, call, after = self._call(op)
                ops += [*before, call]
            else:
                ops.append(op)
        if not after:
            yield block.replace(instructions=tuple(ops))
            return
        name = unused(f"{block.name}.results", taken, ".")
        taken.add(name)
        yield block.replace(instructions=tuple(ops), terminator=GotoOp(name, location=block.location))
        yield Block(name, tuple(after), block.terminator, block.location)

    def _primitive(self, op: PrimOp) -> PrimOp:
        is_touched = not self.layouts.keys().isdisjoint((*op.vars_in, *op.vars_out))
        code = op.code.typed
        if code is None or not (is_touched or _works_on_arrays(op)):
            return op
        return _Code(self.layouts, code).of(op)

    def _call(self, op: FunctionCallOp) -> tuple[list[Op], Op, list[Op]]:
        """Conversions of arguments to the callee's types, the call, and conversions of its results.

        They are needed where the caller's variable is merged and the callee's is not, or the reverse.
        """
        callee = self.program.function(op.function)
        before, after = list[Op](), list[Op]()
        vars_in, vars_out = list(op.vars_in), list(op.vars_out)
        for i, (mine, theirs) in enumerate(zip(op.vars_in, callee.vars_in, strict=True)):
            if self._have_other_types(mine, theirs):
                vars_in[i] = self._variable_like(theirs, mine)
                before.append(self._copy(mine, vars_in[i], self.program.var_defs[mine], op))
        for i, (mine, theirs) in enumerate(zip(op.vars_out, callee.vars_out, strict=True)):
            if self._have_other_types(mine, theirs):
                vars_out[i] = self._variable_like(theirs, mine)
                after.append(self._copy(vars_out[i], mine, self.program.var_defs[theirs], op))
        return before, op.replace(vars_in=tuple(vars_in), vars_out=tuple(vars_out)), after

    def _have_other_types(self, mine: str, theirs: str) -> bool:
        is_merged = not self.layouts.keys().isdisjoint((mine, theirs))
        return is_merged and self.types[mine] != self.types[theirs]

    def _variable_like(self, theirs: str, mine: str) -> str:
        """A new variable of the callee's type, named after the caller's variable."""
        new = unused(mine, self.types)
        self.types[new] = self.types[theirs]
        if theirs in self.layouts:
            self.layouts[new] = self.layouts[theirs]
        return new

    def _copy(self, source: str, target: str, type_: Type, op: FunctionCallOp) -> PrimOp:
        """A move between two variables, at least one of them merged; ``type_`` is the type of both before merging."""
        jaxpr = jax.make_jaxpr(lambda *arrays: arrays)(*(leaf.aval for leaf in type_.tensor_leaves))
        code = _Code(self.layouts, TracedFunction((type_,), (type_,), jaxpr))
        return code.of(PrimOp((source,), (target,), MOVE, target.rpartition(".")[2], location=op.location))


# Primitives


@dataclass(frozen=True)
class _Code:
    """The code of a primitive, on merged variables.

    Attributes:
        layouts: Layouts of the merged variables.
        function: The code before, on lists of numbers.
    """

    layouts: Mapping[str, ListLayout]
    function: JaxprCode

    def of(self, op: PrimOp) -> PrimOp:
        """The operation with its code on arrays."""
        in_types = tuple(self._merged(v, t) for v, t in zip(op.vars_in, self.function.in_types, strict=True))
        out_types = tuple(self._merged(v, t) for v, t in zip(op.vars_out, self.function.out_types, strict=True))
        avals = [leaf.aval for type_ in in_types for leaf in type_.tensor_leaves]
        jaxpr = jax.make_jaxpr(lambda *arrays: self._results(op, arrays))(*avals)
        return op.replace(function=TracedFunction(in_types, out_types, jaxpr))

    def _merged(self, variable: str, type_: Type) -> Type:
        return self.layouts[variable].merged if variable in self.layouts else type_

    def _results(self, op: PrimOp, arrays: Iterable[Any]) -> list[Any]:
        """Computes the arrays of the results from those of the operands."""
        supply, arguments = iter(arrays), list[Any]()
        for v, type_ in zip(op.vars_in, self.function.in_types, strict=True):
            arguments += self._opened(v, type_, supply)
        evaluator = ElementEvaluator()
        results, found = iter(evaluator.results(self.function.inlined, arguments)), list[Any]()
        for v, type_ in zip(op.vars_out, self.function.out_types, strict=True):
            values = [next(results) if isinstance(leaf, TensorType) else leaf.value for leaf in type_.leaves]
            found += self._closed(v, type_, values, evaluator)
        return found

    def _opened(self, variable: str, type_: Type, arrays: Iterator[Any]) -> Iterator[Any]:
        """The tensors of a variable: arrays, and elements of the arrays that its lists have become.

        Args:
            variable: The variable.
            type_: The type that the code was traced for.
            arrays: The stored arrays, those of this variable next.
        """
        if variable not in self.layouts:
            yield from itertools.islice(arrays, len(type_.tensor_leaves))
            return
        traced_leaves = iter(type_.leaves)
        for merged in self.layouts[variable].leaves():
            array = next(arrays) if isinstance(merged.leaf, TensorType) else None
            for position, leaf in enumerate(itertools.islice(traced_leaves, len(merged.items))):
                if isinstance(leaf, TensorType):
                    yield Element(array, position, leaf.dtype, leaf.weak) if merged.is_list else array

    def _closed(self, variable: str, type_: Type, values: Sequence[Any], evaluator: ElementEvaluator) -> Iterator[Any]:
        """The arrays that store a variable.

        Args:
            variable: The variable.
            type_: The type of the code's result for it.
            values: The code's result, leaf by leaf.
            evaluator: The evaluator that computed the result.
        """
        if variable not in self.layouts:
            pairs = zip(values, type_.leaves, strict=True)
            yield from (evaluator.as_array(value) for value, leaf in pairs if isinstance(leaf, TensorType))
            return
        supply = iter(values)
        for merged in self.layouts[variable].leaves():
            items = list(itertools.islice(supply, len(merged.items)))
            if not isinstance(merged.leaf, TensorType):
                continue
            if merged.is_list:
                yield evaluator.joined(items, merged.leaf.dtype)
            else:
                yield jnp.asarray(evaluator.as_array(items[0]), merged.leaf.dtype)
