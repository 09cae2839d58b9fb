"""Gives each array of a variable that holds several a variable of its own (scalar replacement of aggregates).

::

    %f.state = prim "State(x, n + 1)" (%f.x, %f.n)          %f.state:position = prim "move" (%f.x)
                                                     ==>    %f.state:count = prim "State(x, n + 1)" (%f.n)
    %f.r = call @g(%f.state)                                %f.r = call @g(%f.state:position, %f.state:count)

A variable holds what the user assigns to a name, which may be a tuple, a dict or an object of many arrays. Only an
array with a name of its own can be found to be dead, saved by a call, copied or updated in place. An array that a
statement only passes on becomes a copy, which ``coalesce.py`` may then drop.

The inputs and results of the program keep their structure: main takes inputs apart and puts results together. A
variable stays whole if no operation reads or writes one of its arrays alone, since splitting gains nothing then.

Source: "scalar replacement of aggregates", Muchnick, "Advanced Compiler Design and Implementation", 1997, section 12.2.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from hlobatch._jax import Atom, Jaxpr, Literal
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.analysis.updates import tensors
from hlobatch.ir.code import MOVE, JaxprCode, Select
from hlobatch.ir.evaluation import evaluated, needed_for, traced, variables_among
from hlobatch.ir.names import unused
from hlobatch.ir.ops import HALT, FunctionCallOp, GotoOp, Op, PrimOp, renaming
from hlobatch.ir.program import MAIN, Block, ControlFlowGraph, Function, Program
from hlobatch.ir.types import TensorType, Type, grouped, is_leaf

Parts = Mapping[str, tuple[str, ...]]
"""For each variable that is split, the variables that its arrays go to."""


def split_aggregates(program: Program) -> Program:
    """The typed program with calls, in which variables whose arrays are used one by one are split."""
    if not all(op.code.is_open for op in program.ops if isinstance(op, PrimOp)):
        return program  # code that was read from a module stays as it is
    wanted = _taken_apart(program)
    kept = frozenset((*program.vars_in, *program.vars_out))
    parts: dict[str, tuple[str, ...]] = {}
    types = {v: t for v, t in program.var_defs.items() if v in kept or v not in wanted}
    for name, places in wanted.items():
        paths, leaves = _paths(program.var_defs[name]), program.var_defs[name].leaves
        parts[name] = tuple(unused(name + paths[i], types) for i in places)
        types |= {part: Type(leaves[i]) for part, i in zip(parts[name], places, strict=True)}
    if not parts:
        return program
    splitter = _Splitter(program.var_defs, parts, wanted)
    return program.map_functions(splitter.function).replace(var_defs=types)


def _is_aggregate(type_: Type) -> bool:
    """Whether a type is a container of leaves, and not a single leaf."""
    return bool(type_.leaves) and type_ != Type(type_.leaves[0])


def _paths(type_: Type) -> list[str]:
    """For each leaf of a type its path, as a suffix for the name of a variable."""
    found, _ = jax.tree_util.tree_flatten_with_path(type_.tensors, is_leaf)
    return ["".join(f":{jax.tree_util.keystr((key,), simple=True)}" for key in path) for path, _ in found]


def _taken_apart(program: Program) -> Mapping[str, Sequence[int]]:
    """The variables to split, each with the indices of the leaves that get a variable of their own.

    A variable is split if an operation passes on one of its arrays alone, or if it exchanges values with a split
    variable, as an argument does with a parameter. What is a Python number in one of those may be an array in another,
    and gets a variable then.
    """
    types, web = program.var_defs, _webs(program)
    wanted = set()
    for op in program.ops:
        if isinstance(op, PrimOp) and (code := op.code.typed) is not None:
            for target, source in _passed_on(op, code):
                if web[target] != web[source]:
                    wanted |= {web[v] for v in (target, source) if _is_aggregate(types[v])}
    places: dict[int, set[int]] = {number: set() for number in wanted}
    for v, type_ in types.items():
        if web[v] in wanted:
            places[web[v]] |= {i for i, leaf in enumerate(type_.leaves) if isinstance(leaf, TensorType)}
    unlike = {web[v] for v, type_ in types.items() if web[v] in wanted and not _is_aggregate(type_)}
    return {v: sorted(places[web[v]]) for v in types if web[v] in wanted - unlike}


def _webs(program: Program) -> Mapping[str, int]:
    """For each variable, the number of its web: the variables that exchange values, directly or through others."""
    alike: dict[str, set[str]] = collections.defaultdict(set)
    for one, other in _handed_over(program):
        alike[one].add(other)
        alike[other].add(one)
    web: dict[str, int] = {}
    for number, start in enumerate(program.var_defs):
        pending = [start]
        while pending:
            name = pending.pop()
            if name not in web:
                web[name] = number
                pending += alike[name]
    return web


def _handed_over(program: Program) -> Iterator[tuple[str, str]]:
    """Pairs of variables of which one gets the other's value unchanged: by a call, a return, a copy or a select."""
    for op in program.ops:
        if isinstance(op, FunctionCallOp):
            callee = program.function(op.function)
            yield from zip((*callee.vars_in, *callee.vars_out), (*op.vars_in, *op.vars_out), strict=True)
        elif isinstance(op, PrimOp) and isinstance(op.code, Select):
            yield from ((op.vars_out[0], side) for side in op.vars_in[1:])
        elif op.code.is_copy:
            yield from zip(op.defs, op.uses, strict=True)


def _passed_on(op: PrimOp, code: JaxprCode) -> Iterator[tuple[str, str]]:
    """Pairs of a result and an operand, where an array of the operand becomes one of the result unchanged."""
    jaxpr: Jaxpr = code.jaxpr.jaxpr
    sources = dict(zip(jaxpr.invars, tensors(op.vars_in, code.in_types), strict=True))
    for v, atom in zip(tensors(op.vars_out, code.out_types), jaxpr.outvars, strict=True):
        if not isinstance(atom, Literal) and atom in sources:
            yield v, sources[atom]


@dataclass(frozen=True)
class _Splitter:
    """Splits the variables of functions.

    Attributes:
        types: Types of all variables, as they were.
        parts: For each variable that is split, its new variables.
        places: For each variable that is split, the indices of the leaves that get a variable.
    """

    types: Mapping[str, Type]
    parts: Parts
    places: Mapping[str, Sequence[int]]

    def function(self, function: Function) -> Function:
        function = function.map_blocks(lambda block: block.expand_instructions(self._ops))
        if function.name == MAIN:
            return function.replace(graph=self._at_the_border(function))
        return function.replace(vars_in=self._names(function.vars_in), vars_out=self._names(function.vars_out))

    def _at_the_border(self, main: Function) -> ControlFlowGraph:
        """Main's graph, which splits its parameters at the beginning and puts its results together at the end."""
        apart = tuple(self._apart(v) for v in main.vars_in if v in self.parts)
        graph = main.graph.starting_with(apart)
        together = tuple(self._together(v) for v in main.vars_out if v in self.parts)
        if not together:
            return graph
        end = "results"
        while end in graph:
            end += "'"
        ends = graph.map_blocks(lambda block: block.retarget(renaming({HALT: end})))
        return ControlFlowGraph((*ends, Block(end, together, GotoOp(HALT))))

    def _apart(self, variable: str) -> PrimOp:
        return self._same((variable,), self.parts[variable], variable)

    def _together(self, variable: str) -> PrimOp:
        return self._same(self.parts[variable], (variable,), variable)

    def _same(self, given: tuple[str, ...], results: tuple[str, ...], variable: str) -> PrimOp:
        """A copy of a variable's arrays, from the variable to its parts or back."""
        leaves = self.types[variable].tensor_leaves
        of_parts = self._flat_types([variable], [self.types[variable]])
        in_types, out_types = (
            (self.types[variable],) if names == (variable,) else of_parts for names in (given, results)
        )
        jaxpr = jax.make_jaxpr(lambda *arrays: arrays)(*(leaf.aval for leaf in leaves))
        return PrimOp(given, results, TracedFunction(in_types, out_types, jaxpr), variable.rpartition(".")[2])

    def _names(self, variables: Sequence[str]) -> tuple[str, ...]:
        return tuple(part for v in variables for part in self.parts.get(v, (v,)))

    def _ops(self, op: Op) -> Iterator[Op]:
        """The operations that replace one."""
        if self.parts.keys().isdisjoint((*op.uses, *op.defs)):
            yield op
        elif isinstance(op, PrimOp) and isinstance(op.code, Select):
            condition, yes, no = op.vars_in
            for each in zip(*(self._names([v]) for v in (*op.vars_out, yes, no)), strict=True):
                yield op.replace(vars_in=(condition, *each[1:]), vars_out=each[:1], read_at=())
        elif isinstance(op, (PrimOp, FunctionCallOp)):
            names = {"vars_in": self._names(op.vars_in), "vars_out": self._names(op.vars_out), "read_at": ()}
            if isinstance(op, PrimOp) and (code := op.code.typed) is not None:
                function = self._flat(op, code)
                yield from _without_copies(op.replace(function=function, **names), function)
            else:
                yield op.replace(**names)

    def _flat(self, op: PrimOp, code: JaxprCode) -> TracedFunction:
        """The code of a primitive with the parts of its operands and results as parameters and results."""
        in_types = self._flat_types(op.vars_in, code.in_types)
        out_types = self._flat_types(op.vars_out, code.out_types)
        return TracedFunction(in_types, out_types, code.jaxpr)

    def _flat_types(self, variables: Sequence[str], types: Sequence[Type]) -> tuple[Type, ...]:
        found: list[Type] = []
        for v, type_ in zip(variables, types, strict=True):
            found += [Type(type_.leaves[i]) for i in self.places[v]] if v in self.parts else [type_]
        return tuple(found)


def _without_copies(op: PrimOp, function: TracedFunction) -> Iterator[PrimOp]:
    """A primitive split into a copy of what it passes on unchanged and the rest, if either of the two can run first."""
    code = _Code(op, function)
    passed_on = code.copied()
    rest = [v for v in op.vars_out if v not in passed_on]
    other = code.of(rest)
    copied = {target: source for target, source in passed_on.items() if target != source}
    if not copied:
        yield from (other,) if rest else ()
        return
    copy = PrimOp(tuple(copied.values()), tuple(copied), MOVE, op.text, location=op.location)
    if not rest:
        yield copy
    elif not copied.keys() & {*other.vars_in}:
        yield from (copy, other)
    elif not {*rest} & {*copied.values()}:
        yield from (other, copy)
    else:
        yield op


class _Code:
    """A primitive, and the atoms of its jaxpr that belong to each of its variables."""

    def __init__(self, op: PrimOp, function: TracedFunction) -> None:
        self.op = op
        self.function = function
        jaxpr: Jaxpr = function.jaxpr.jaxpr
        self.jaxpr = jaxpr
        self.given = _grouped(op.vars_in, self.function.in_types, jaxpr.invars)
        self.results = _grouped(op.vars_out, self.function.out_types, jaxpr.outvars)

    def copied(self) -> dict[str, str]:
        """The results that are copies of operands, each with the operand."""
        sources = {atoms[0]: (v, type_) for v, type_, atoms in self.given if len(atoms) == 1}
        found: dict[str, str] = {}
        for v, type_, atoms in self.results:
            if len(atoms) == 1 and not isinstance(atoms[0], Literal) and atoms[0] in sources:
                source, as_read = sources[atoms[0]]
                found |= {v: source} if type_ == as_read else {}
        return found

    def of(self, wanted: Sequence[str]) -> PrimOp:
        """The primitive with some of its results, and only the operands that these need."""
        kept = [each for each in self.results if each[0] in wanted]
        results = [a for _, _, atoms in kept for a in atoms]
        equations = needed_for(results, self.jaxpr.eqns)
        read = {*variables_among(results), *(v for e in equations for v in variables_among(e.invars))}
        given = [each for each in self.given if read.intersection(each[2])]
        if len(given) == len(self.given) and len(kept) == len(self.results):
            return self.op
        inputs = [v for _, _, atoms in given for v in atoms]

        def run(*arrays: Any) -> list[Any]:
            known = dict(zip(inputs, arrays, strict=True))
            known |= dict(zip(self.jaxpr.constvars, self.function.jaxpr.consts, strict=True))
            return evaluated(equations, known, results)

        (vars_in, in_types), (vars_out, out_types) = (
            ([v for v, _, _ in each], tuple(t for _, t, _ in each)) for each in (given, kept)
        )
        function = TracedFunction(in_types, out_types, traced(run, inputs))
        return self.op.replace(vars_in=tuple(vars_in), vars_out=tuple(vars_out), function=function, read_at=())


def _grouped(
    variables: Sequence[str], types: Sequence[Type], atoms: Sequence[Atom]
) -> list[tuple[str, Type, list[Any]]]:
    """Each variable with its type and its atoms."""
    return list(zip(variables, types, grouped(atoms, types), strict=True))
