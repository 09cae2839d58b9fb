"""Stores a list of numbers as one array where lanes index it by themselves: the reverse of ``split_aggregates.py``.

::

    %f.counts: [i32[]*, …]   fifty of them                        %f.counts: i32[50]
    %f.counts = prim "counts[k] += 1" (%f.counts, %f.k)    ==>    %f.counts = prim "counts[k] += 1" (%f.counts, %f.k)
       an array of fifty arguments, a scatter, fifty results         a scatter

In the user's code a list of fixed length is a Python object, and stays one while types are found: its items may be of
any type, and what means one object is known. Code that finds a number by a lane's index makes an array of all
(``ir/joined.py``); where all that is done to a variable goes well with that array, it is what the variable holds,
so that a table of thousands costs no more to compile than one of ten, and a store what it changes.

The inputs and results of the program keep their structure.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import Literal, weakly
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.ir.code import MOVE, JaxprCode
from hlobatch.ir.evaluation import evaluated
from hlobatch.ir.growing import Growing
from hlobatch.ir.joined import FEWEST, makes_one, makes_parts
from hlobatch.ir.names import unused
from hlobatch.ir.ops import FunctionCallOp, GotoOp, Op, PrimOp
from hlobatch.ir.program import Block, ControlFlowGraph, Program
from hlobatch.ir.types import Leaf, Static, TensorType, Type, opened

_FEW: Final = 4
"""Stretches of an array that are written one by one; of more, a new one is put together."""


def merge_lists(program: Program, *, keeps: bool = True) -> Program:
    """The typed program with calls, in which lists that lanes index are arrays.

    Args:
        program: The program.
        keeps: Whether variables keep the arrays. If not, each statement makes its own.
    """
    if not all(op.code.is_open for op in program.ops if isinstance(op, PrimOp)):
        return program  # code that was read from a module stays as it is
    if not any(_works_on_arrays(op) for op in program.ops):
        return program
    layouts = {v: _Layout.of(program.var_defs[v]) for v in (_to_merge(program) if keeps else ())}
    types = {**program.var_defs, **{v: layout.merged for v, layout in layouts.items()}}
    merger = _Merger(program, layouts, types)
    return program.map_graphs(merger.graph).replace(var_defs=merger.types)


def _works_on_arrays(op: Op) -> bool:
    """Whether it makes an array of a list's numbers, or numbers of an array."""
    code = op.code.rewritable
    return code is not None and any(makes_one(e) or makes_parts(e) for e in code.inlined.jaxpr.eqns)


def _to_merge(program: Program) -> list[str]:
    """The variables with lists that lanes index, and those that get them from there, or give them to it."""
    border = {*program.vars_in, *program.vars_out}
    merging = {v for v, t in program.var_defs.items() if v not in border and _Layout.of(t).merged != t}
    alike = dict[str, set[str]]()
    wanted = set[str]()
    for op in program.ops:
        touched = merging.intersection((*op.uses, *op.defs))
        if isinstance(op, FunctionCallOp):
            callee = program.function(op.function)
            pairs = zip((*op.vars_in, *op.vars_out), (*callee.vars_in, *callee.vars_out), strict=True)
            groups = [merging.intersection(pair) for pair in pairs]
        else:
            groups = [touched]
            wanted |= touched if _works_on_arrays(op) else set()
        for group in groups:
            for v in group:
                alike.setdefault(v, set()).update(group)
    pending, found = list(wanted), dict.fromkeys(wanted)
    while pending:
        for other in alike.get(pending.pop(), ()):
            if other not in found:
                found[other] = None
                pending.append(other)
    return list(found)


@dataclass(frozen=True)
class _Layout:
    """What becomes of the leaves of a type.

    Attributes:
        whole: The type.
        merged: The type in which lists of numbers are arrays.
        counts: For each leaf of ``merged`` how many of ``whole`` it stands for; 0 if it is one of those itself.
    """

    whole: Type
    merged: Type
    counts: tuple[int, ...]

    @classmethod
    def of(cls, type_: Type) -> _Layout:
        if len(type_.leaves) < FEWEST:
            return cls(type_, type_, (0,) * len(type_.leaves))
        counts = list[int]()
        merged = Type(_merged(type_.tensors, counts))
        return cls(type_, merged, tuple(counts))

    @property
    def stretches(self) -> Iterator[tuple[Leaf, Sequence[Leaf], bool]]:
        """Leaves of the merged type, each with those it stands for, and whether it is an array of them."""
        supply = iter(self.whole.leaves)
        for leaf, count in zip(self.merged.leaves, self.counts, strict=True):
            yield leaf, [next(supply) for _ in range(count or 1)], count > 0


def _merged(tree: Any, counts: list[int]) -> Any:
    """A type with arrays for lists of numbers, which are counted."""
    if isinstance(tree, (TensorType, Static)):
        counts.append(0)
        return tree
    if isinstance(tree, Growing):
        counts += [0] * len(_leaves(tree))
        return tree
    leaves = _leaves(tree)
    if type(tree) is list and len(leaves) >= FEWEST and _are_one(leaves) and _is_list_of_lists(tree):
        counts.append(len(leaves))
        return replace(leaves[0], shape=(len(leaves),))
    parts, structure = opened(tree)
    return jax.tree.unflatten(structure, [_merged(part, counts) for part in parts])


def _leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree, is_leaf=lambda part: isinstance(part, (TensorType, Static)))


def _are_one(leaves: Sequence[Any]) -> bool:
    first = leaves[0]
    return isinstance(first, TensorType) and first.shape == () and not first.is_key and all(x == first for x in leaves)


def _is_list_of_lists(tree: Any) -> bool:
    """Whether there are but lists and tuples, whose leaves are in the order of the items."""
    return isinstance(tree, TensorType) or (type(tree) in (list, tuple) and all(map(_is_list_of_lists, tree)))


@dataclass
class _Merger:
    """Changes what a program does to variables that it merges.

    Attributes:
        program: As it was.
        layouts: Of the variables that are merged.
        types: Of all variables as they become, new ones among them.
    """

    program: Program
    layouts: dict[str, _Layout]
    types: dict[str, Type]

    def graph(self, graph: ControlFlowGraph) -> ControlFlowGraph:
        taken = {block.name for block in graph}
        return graph.expand_blocks(lambda block: self._blocks(block, taken))

    def _blocks(self, block: Block, taken: set[str]) -> Iterator[Block]:
        """A block, and one behind it for what is done to the results of its call."""
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

    def _call(self, op: FunctionCallOp) -> tuple[list[Op], Op, list[Op]]:
        """A call, after what gives it its arguments as the callee has them, and before what takes its results so."""
        callee = self.program.function(op.function)
        before, after = list[Op](), list[Op]()
        vars_in, vars_out = list(op.vars_in), list(op.vars_out)
        for i, theirs in enumerate(callee.vars_in):
            mine = vars_in[i]
            if self._are_unlike(mine, theirs):
                vars_in[i] = self._another(mine, theirs)
                before.append(self._copy(mine, vars_in[i], self.program.var_defs[mine], op))
        for i, theirs in enumerate(callee.vars_out):
            mine = vars_out[i]
            if self._are_unlike(mine, theirs):
                vars_out[i] = self._another(mine, theirs)
                after.append(self._copy(vars_out[i], mine, self.program.var_defs[theirs], op))
        return before, op.replace(vars_in=tuple(vars_in), vars_out=tuple(vars_out)), after

    def _are_unlike(self, mine: str, theirs: str) -> bool:
        is_merged = not self.layouts.keys().isdisjoint((mine, theirs))
        return is_merged and self.types[mine] != self.types[theirs]

    def _another(self, mine: str, theirs: str) -> str:
        """A variable that holds what the caller calls by one name, as the callee has it."""
        new = unused(mine, self.types)
        self.types[new] = self.types[theirs]
        if theirs in self.layouts:
            self.layouts[new] = self.layouts[theirs]
        return new

    def _copy(self, source: str, target: str, type_: Type, op: FunctionCallOp) -> PrimOp:
        """What gives a variable the value of another, of which at least one is merged."""
        jaxpr = jax.make_jaxpr(lambda *arrays: arrays)(*(leaf.aval for leaf in type_.tensor_leaves))
        code = _Code(self.layouts, TracedFunction((type_,), (type_,), jaxpr))
        return code.of(PrimOp((source,), (target,), MOVE, target.rpartition(".")[2], location=op.location))

    def _primitive(self, op: PrimOp) -> PrimOp:
        touched = not self.layouts.keys().isdisjoint((*op.vars_in, *op.vars_out))
        code = op.code.typed
        if code is None or not (touched or _works_on_arrays(op)):
            return op
        return _Code(self.layouts, code).of(op)


@dataclass(frozen=True)
class _Part:
    """An element of an array, which is only taken out of it where something is computed of it alone.

    Attributes:
        array: Of one dimension.
        place: Where.
        dtype: Of the number, which may be another than the array's.
        weak: Whether it is one of Python's.
    """

    array: Any
    place: int
    dtype: Any
    weak: bool

    def follows(self, other: Any) -> bool:
        same = isinstance(other, _Part) and other.array is self.array and other.dtype == self.dtype
        return same and other.place + 1 == self.place


@dataclass(frozen=True)
class _Code:
    """The code of a primitive, on merged variables.

    Attributes:
        layouts: Of the variables that are merged.
        function: The code.
    """

    layouts: Mapping[str, _Layout]
    function: JaxprCode

    def of(self, op: PrimOp) -> PrimOp:
        in_types = tuple(self._merged(v, t) for v, t in zip(op.vars_in, self.function.in_types, strict=True))
        out_types = tuple(self._merged(v, t) for v, t in zip(op.vars_out, self.function.out_types, strict=True))
        avals = [leaf.aval for type_ in in_types for leaf in type_.tensor_leaves]
        jaxpr = jax.make_jaxpr(lambda *arrays: self._run(op, arrays))(*avals)
        return op.replace(function=TracedFunction(in_types, out_types, jaxpr))

    def _merged(self, variable: str, type_: Type) -> Type:
        return self.layouts[variable].merged if variable in self.layouts else type_

    def _run(self, op: PrimOp, arrays: Sequence[Any]) -> list[Any]:
        """The results of the code."""
        supply, given = iter(arrays), list[Any]()
        for v, type_ in zip(op.vars_in, self.function.in_types, strict=True):
            if v not in self.layouts:
                given += [next(supply) for _ in type_.tensor_leaves]
                continue
            as_given = iter(type_.leaves)
            for leaf, leaves, is_array in self.layouts[v].stretches:
                value = next(supply) if isinstance(leaf, TensorType) else None
                for place in range(len(leaves)):
                    kind = next(as_given)
                    if isinstance(kind, TensorType):
                        given.append(_Part(value, place, kind.dtype, kind.weak) if is_array else value)
        run = _Run()
        results = iter(run.results(self.function.inlined, given))
        flat = list[Any]()
        for v, type_ in zip(op.vars_out, self.function.out_types, strict=True):
            values = [next(results) if isinstance(leaf, TensorType) else leaf.value for leaf in type_.leaves]
            if v not in self.layouts:
                flat += [
                    run.alone(x) for x, leaf in zip(values, type_.leaves, strict=True) if isinstance(leaf, TensorType)
                ]
                continue
            items = iter(values)
            for leaf, leaves, is_array in self.layouts[v].stretches:
                stretch = list(itertools.islice(items, len(leaves)))
                if is_array and isinstance(leaf, TensorType):
                    flat.append(run.together(stretch, leaf.dtype))
                elif isinstance(leaf, TensorType):
                    flat.append(jnp.asarray(run.alone(stretch[0]), leaf.dtype))
        return flat


class _Run:
    """Computes code of numbers some of which are elements of arrays."""

    def __init__(self) -> None:
        self.taken: dict[tuple[int, int, Any, bool], Any] = {}
        self.kept: list[Any] = []

    def results(self, closed: Any, given: Sequence[Any]) -> list[Any]:
        jaxpr = closed.jaxpr
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *given), strict=True))

        def value(atom: Any) -> Any:
            return atom.val if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            values = list(map(value, equation.invars))
            if makes_one(equation):
                aval = equation.outvars[0].aval
                made = self.together(values, aval.dtype)
                known[equation.outvars[0]] = weakly(made, aval.dtype) if aval.weak_type and not made.weak_type else made
            elif makes_parts(equation):
                array = self.alone(values[0])
                for place, v in enumerate(equation.outvars):
                    known[v] = _Part(array, place, array.dtype, v.aval.weak_type)
            elif equation.primitive.name == "convert_element_type" and isinstance(values[0], _Part):
                v, part = equation.outvars[0], values[0]
                known[v] = _Part(part.array, part.place, v.aval.dtype, v.aval.weak_type)
            else:
                pairs = zip(equation.invars, values, strict=True)
                alone = {atom: self.alone(x) for atom, x in pairs if not isinstance(atom, Literal)}
                known.update(zip(equation.outvars, evaluated([equation], alone, equation.outvars), strict=True))
        return list(map(value, jaxpr.outvars))

    def alone(self, value: Any) -> Any:
        """A value as an array of its own."""
        if not isinstance(value, _Part):
            return value
        key = id(value.array), value.place, value.dtype, value.weak
        if key not in self.taken:
            number = lax.squeeze(lax.slice_in_dim(value.array, value.place, value.place + 1), (0,))
            if value.weak and not number.weak_type:
                number = weakly(number, value.dtype)
            self.taken[key] = _as(number, value.dtype)
            self.kept.append(value.array)
        return self.taken[key]

    def together(self, values: Sequence[Any], dtype: Any) -> Any:
        """An array of numbers: one of those that they are elements of, where that is how they lie."""
        runs = _runs(values)
        whole = self._most_of(runs, len(values))
        if whole is None:
            made = [self._stretch(run, dtype) for run in runs]
            return made[0] if len(made) == 1 else lax.concatenate(made, 0)
        array = _as(whole, dtype)
        place = 0
        for run in runs:
            if not (isinstance(run[0], _Part) and run[0].array is whole and run[0].place == place):
                array = lax.dynamic_update_slice(array, self._stretch(run, dtype), (place,))
            place += len(run)
        return array

    def _most_of(self, runs: Sequence[Sequence[Any]], size: int) -> Any:
        """The array of which most numbers are elements, each in its place, if what differs is in few stretches."""
        counts, place = dict[int, int](), 0
        arrays = {}
        for run in runs:
            first = run[0]
            if isinstance(first, _Part) and first.place == place and first.array.shape == (size,):
                counts[id(first.array)] = counts.get(id(first.array), 0) + len(run)
                arrays[id(first.array)] = first.array
            place += len(run)
        if not counts:
            return None
        best = max(counts, key=counts.__getitem__)
        others = sum(not (isinstance(run[0], _Part) and run[0].array is arrays[best]) for run in runs)
        return arrays[best] if others <= _FEW or counts[best] * 2 > size else None

    def _stretch(self, run: Sequence[Any], dtype: Any) -> Any:
        first = run[0]
        if isinstance(first, _Part):
            return _as(lax.slice_in_dim(first.array, first.place, first.place + len(run)), dtype)
        if _is_known(first):
            numbers = np.array([np.asarray(value) for value in run]).astype(dtype)
            return lax.full(numbers.shape, numbers[0]) if (numbers == numbers[0]).all() else jnp.asarray(numbers)
        return lax.reshape(jnp.asarray(first, dtype), (1,))


def _runs(values: Sequence[Any]) -> list[list[Any]]:
    """Numbers in stretches: elements of an array that follow each other, what is known, and what stands alone."""
    runs = list[list[Any]]()
    for value in values:
        last = runs[-1][-1] if runs else None
        follows = value.follows(last) if isinstance(value, _Part) else _is_known(value) and _is_known(last)
        if runs and follows:
            runs[-1].append(value)
        else:
            runs.append([value])
    return runs


def _is_known(value: Any) -> bool:
    return value is not None and not isinstance(value, (_Part, jax.core.Tracer))


def _as(array: Any, dtype: Any) -> Any:
    return array if array.dtype == dtype else lax.convert_element_type(array, dtype)
