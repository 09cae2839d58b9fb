"""Gradients inside of lanes: replaces each mark of ``jax.grad`` in a program by a call that goes forward and back.

::

    def with_slopes(%args):                               def with_slopes(%args):
      %result = call @root(%args)                           %pair = call @with_slopes.back(%args, one)
      %$result = prim "…slopes…" (%result, %args)    ==>    %$result = prim "…" (%pair, %args)
                                                          def with_slopes.back(%args, %cotangent): …
                                                            forward and back, with the tapes of the lane

A mark (``frontend/differentiated.py``) is at the end of a function that calls the function to differentiate. The marked
function and all that it calls are taken as a program of their own, which is differentiated like any other
(``cotangents.py``). The result becomes functions of the original program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp

from hlobatch._jax import Equation, Literal
from hlobatch.analysis.call_graph import CallGraph
from hlobatch.diagnostics import DerivativeError, Location
from hlobatch.frontend.differentiated import apart_p, slopes_p
from hlobatch.gradients.arrays import Array, arrays_of, primitive, tensor_of
from hlobatch.gradients.cotangents import WithCotangents, with_cotangents
from hlobatch.gradients.prepared import with_inputs_read_directly
from hlobatch.ir.evaluation import as_it_is, evaluated, known_at_first
from hlobatch.ir.names import NewNames, is_tape
from hlobatch.ir.ops import HALT, FunctionCallOp, GotoOp, Op, PrimOp, renaming
from hlobatch.ir.program import MAIN, Block, ControlFlowGraph, Function, Program
from hlobatch.ir.types import TensorType, Type, tensor
from hlobatch.prelude import is_of_prelude
from hlobatch.transforms.optimizations import ALL, Optimizations
from hlobatch.transforms.split_aggregates import split_aggregates
from hlobatch.typing import ArrayLike, Arrays


def with_inner_gradients(
    program: Program, optimizations: Optimizations = ALL, *, checkpoint_loops: bool = False
) -> Program:
    """The program with the way back in place of each mark; the program itself if there is none.

    Args:
        program: The program, typed, with calls.
        optimizations: Which passes run.
        checkpoint_loops: Whether the way back computes loops again, stretch by stretch.

    Raises:
        DerivativeError: A primitive has no derivative, or a function takes a gradient of itself.
    """
    marked = [mark.function.name for mark in _marks(program)]
    if not marked:
        return program
    program = with_inputs_read_directly(split_aggregates(program))
    graph = CallGraph(program)
    for name in sorted(marked, key=lambda name: len(graph.reachable[name])):  # a gradient inside of another comes first
        inner = _Inner(program, next(mark for mark in _marks(program) if mark.function.name == name))
        program = inner.made(optimizations, checkpoint_loops)
    return program.map_graphs(lambda graph: graph.map_blocks(lambda block: block.map_instructions(_together(program))))


def _together(program: Program) -> Callable[[Op], Op]:
    """A function from an operation to the same operation without ``apart_p`` equations."""

    def made(op: Op) -> Op:
        code = op.code.typed
        if code is None or not isinstance(op, PrimOp) or all(e.primitive is not apart_p for e in code.jaxpr.jaxpr.eqns):
            return op
        closed: Any = code.jaxpr

        def run(*arrays: ArrayLike) -> list[Any]:
            return evaluated(closed.jaxpr.eqns, known_at_first(closed, arrays), closed.jaxpr.outvars, _as_given)

        return primitive(run, op.vars_in, op.vars_out, program.var_defs, op.text, op)

    return made


def _as_given(equation: Equation, values: Arrays) -> Sequence[Any]:
    return values if equation.primitive is apart_p else as_it_is(equation, values)


@dataclass(frozen=True)
class _Mark:
    """A mark: it asks for the way back of the function up to here.

    Attributes:
        function: The function that the mark is in.
        block: The block that the mark is in.
        op: The primitive that the mark is in.
        equation: The equation that is the mark.
    """

    function: Function
    block: Block
    op: PrimOp
    equation: Equation


def _marks(program: Program) -> Iterator[_Mark]:
    for function in program.all_functions:
        for block in function.graph:
            for op in block.instructions:
                code = op.code.typed
                for equation in code.jaxpr.jaxpr.eqns if code is not None else ():
                    if equation.primitive is slopes_p:
                        assert isinstance(op, PrimOp)
                        yield _Mark(function, block, op, equation)


class _Inner:
    """Makes the way back of one function with a mark.

    Attributes:
        program: The program.
        mark: The mark.
        types: Types of all variables; those of new variables are added.
        new_name: Makes names that no variable has.
    """

    def __init__(self, program: Program, mark: _Mark) -> None:
        self.program, self.mark, self.function = program, mark, mark.function
        self.types: dict[str, Type] = dict(program.var_defs)
        self.new_name = NewNames(self.types)

    def made(self, optimizations: Optimizations, checkpoint_loops: bool) -> Program:
        """The program with the way back in place of the mark."""
        before = self._alone()
        number = [Array(before.vars_out[0], 0)]
        found = with_cotangents(before, self._wanted, number, optimizations, checkpoint_loops=checkpoint_loops)
        names = self._names(found.program)
        self.types |= {names[v]: type_ for v, type_ in found.program.var_defs.items()}
        functions = [self._renamed(f, names) for f in found.program.all_functions]
        back, *others = (f.replace(name=self._function_name(f.name)) for f in functions)
        back = back.replace(vars_in=tuple(v for v in back.vars_in if v not in self.program.vars_in))
        kept = {self.function.name: self._around(found, back)}
        program = self.program.with_functions(kept)
        program = program.replace(functions=(*program.functions, back, *others), var_defs=self.types)
        return _without_what_is_unused(program)

    @property
    def _jaxpr(self) -> Any:
        code = self.mark.op.code.typed
        assert code is not None
        return code.jaxpr

    @cached_property
    def _read(self) -> list[Array]:
        """The arrays that the primitive with the mark reads, in order."""
        return [array for v in self.mark.op.vars_in for array in arrays_of(v, self.types)]

    @cached_property
    def _wanted(self) -> list[Array]:
        """The arrays whose cotangents the mark asks for; they are inputs of the function."""
        places = {v: i for i, v in enumerate(self._jaxpr.jaxpr.invars)}
        return [self._read[places[v]] for v in self.mark.equation.invars[1:] if v in places]

    @cached_property
    def _own(self) -> list[Array]:
        """The arrays that the primitive with the mark reads and that are not inputs of the function."""
        inputs = {*self.function.vars_in, *self.program.vars_in}
        return [array for array in self._read if array.variable not in inputs]

    @cached_property
    def _rest(self) -> tuple[Op, ...]:
        """The operations of the block after the mark."""
        ops = self.mark.block.instructions
        return ops[ops.index(self.mark.op) + 1 :]

    @cached_property
    def _others(self) -> tuple[str, ...]:
        """The results of the function that are written before the mark, such as its failure number."""
        behind = {v for op in (self.mark.op, *self._rest) for v in op.defs}
        return tuple(v for v in self.function.vars_out if v not in behind)

    # The differentiated function, as a program of its own

    def _alone(self) -> Program:
        """The function up to the mark as main, with the functions that it calls; its result is the number."""
        reachable = CallGraph(self.program).reachable[self.function.name]
        if self.function.name in reachable:
            raise self._of_itself()
        pack, value = self._packed()
        block = self.mark.block
        cut = block.replace(instructions=(*block.instructions[: block.instructions.index(self.mark.op)], value))
        ended = self.function.map_blocks(lambda other: cut if other.name == block.name else self._defining(other, pack))
        return self.program.replace(
            graph=ended.graph,
            functions=tuple(f for f in self.program.functions if f.name in reachable),
            vars_in=(*self.function.vars_in, *self.program.vars_in),
            vars_out=(pack, *self._others),
            failures=self.program.failures if self._others else (),
            var_defs=dict(self.types),
            location=self._location(),
        )

    def _packed(self) -> tuple[str, PrimOp]:
        """A variable for that result, and the primitive that writes it: the number, and the arrays in ``_own``."""
        op, closed = self.mark.op, self._jaxpr
        number = self.mark.equation.invars[0]
        pack = self.new_name(f"{self.function.name}.$forth")
        parts = (number.aval, *(tensor_of(array, self.types) for array in self._own))
        self.types[pack] = Type(tuple(TensorType(part.dtype, tuple(part.shape)) for part in parts))
        places = [self._read.index(array) for array in self._own]

        def run(*arrays: ArrayLike) -> list[Any]:
            ahead = [e for e in closed.jaxpr.eqns if e is not self.mark.equation]
            (value,) = evaluated(ahead, known_at_first(closed, arrays), [number])
            return [value, *(arrays[place] for place in places)]

        return pack, primitive(run, op.vars_in, [pack], self.types, op.text, op)

    def _defining(self, block: Block, pack: str) -> Block:
        """A block that ends the function without the mark, as after a failure, with zeros written to ``pack``."""
        if HALT not in block.terminator.successors:
            return block
        tensors = self.types[pack].tensor_leaves
        op = primitive(
            lambda: [jnp.zeros(t.shape, t.dtype) for t in tensors], (), [pack], self.types, "no result", block
        )
        return block.replace(instructions=(*block.instructions, op))

    def _location(self) -> Location:
        """The place where the user takes the gradient."""
        name, seen = self.function.name, set[str]()
        while name not in seen:
            seen.add(name)
            sites = [site for site in CallGraph(self.program).sites if site.op.function == name]
            if not sites:
                break
            name = sites[0].function.name
            if not is_of_prelude(sites[0].op.location.file):
                return sites[0].op.location
        return self.mark.op.location

    def _of_itself(self) -> DerivativeError:
        return DerivativeError(
            "a gradient is taken of a function that takes this gradient itself",
            self._location(),
            help="take the inner one in a function that does not call the outer one.",
        )

    # As functions of the original program

    def _names(self, made: Program) -> Mapping[str, str]:
        """New names for the made program's variables; inputs of main keep theirs, and all ways back share tapes."""

        def name(variable: str, type_: Type) -> str:
            is_there = is_tape(variable) and self.program.var_defs.get(variable) == type_
            return variable if variable in self.program.vars_in or is_there else self.new_name(variable)

        return {variable: name(variable, type_) for variable, type_ in made.var_defs.items()}

    def _function_name(self, name: str) -> str:
        return f"{self.function.name}.{'back' if name == MAIN else name}"

    def _renamed(self, function: Function, names: Mapping[str, str]) -> Function:
        """A function with its variables and its callees renamed."""
        rename = renaming(names)

        def renamed(op: Op) -> Op:
            if isinstance(op, FunctionCallOp):
                op = op.replace(function=self._function_name(op.function))
            return op.rename(rename, rename)

        def block(old: Block) -> Block:
            return old.map_instructions(renamed).replace(terminator=old.terminator.rename(rename, rename))

        return function.map_blocks(block).replace(
            vars_in=tuple(map(rename, function.vars_in)), vars_out=tuple(map(rename, function.vars_out))
        )

    def _around(self, found: WithCotangents, back: Function) -> Function:
        """The marked function with a call that goes forward and back."""
        op, name = self.mark.op, self.function.name
        number = self.mark.equation.invars[0].aval
        one, pair = self.new_name(f"{name}.$one"), self.new_name(f"{name}.$back")
        self.types |= {one: tensor(number.dtype), pair: self.types[back.vars_out[0]]}
        ones = [primitive(lambda: [jnp.ones((), number.dtype)], (), [one], self.types, "1.0", op)]
        given = [one] if found.outputs else []  # no results if the value does not depend on the inputs
        call = FunctionCallOp(
            back.name,
            (*self.function.vars_in, *given),
            (pair, *self._others),
            location=op.location,
        )
        first = Block("entry", (*(ones if given else ()), call), GotoOp("after_back"), op.location)
        last = Block("after_back", (self._finished(found, pair), *self._rest), GotoOp(HALT), op.location)
        return self.function.replace(graph=ControlFlowGraph((first, last)))

    def _finished(self, found: WithCotangents, pair: str) -> PrimOp:
        """The primitive that had the mark, with the cotangents that came back in place of the mark's results."""
        op, closed, mark = self.mark.op, self._jaxpr, self.mark.equation
        inputs = [v for v in op.vars_in if v in {*self.function.vars_in, *self.program.vars_in}]
        read = [array for v in inputs for array in arrays_of(v, self.types)]
        wanted = [None if isinstance(v, Literal) else v for v in mark.invars[1:]]
        places = {v: i for i, v in enumerate(closed.jaxpr.invars)}

        def run(*arrays: ArrayLike) -> list[Any]:
            given = dict(zip(read, arrays, strict=False))
            _, *own, bars = self._parts(arrays[len(read) :], len(self._own))
            given |= dict(zip(self._own, own, strict=True))
            slopes = dict(zip(found.inputs, bars, strict=True))
            known = known_at_first(closed, [given[array] for array in self._read])
            for atom, result in zip(wanted, mark.outvars, strict=True):
                array = self._read[places[atom]] if atom in places else None
                zero = jnp.zeros(result.aval.shape, result.aval.dtype)
                known[result] = slopes.get(array, zero) if array is not None else zero
            equations = [e for e in closed.jaxpr.eqns if e is not mark]
            return evaluated(equations, known, closed.jaxpr.outvars)

        return primitive(run, [*inputs, pair], op.vars_out, self.types, op.text, op)

    @staticmethod
    def _parts(arrays: Arrays, own: int) -> list[Any]:
        """The parts of a pair: the number, the other results, and the cotangents as a list."""
        return [*arrays[: 1 + own], list(arrays[1 + own :])]


def _without_what_is_unused(program: Program) -> Program:
    """The program without functions that are never called, and without their variables."""
    reachable = CallGraph(program).reachable[MAIN]
    program = program.replace(functions=tuple(f for f in program.functions if f.name in reachable))
    mentioned = {v for f in program.all_functions for v in (*f.vars_in, *f.vars_out)}
    mentioned |= {v for op in program.ops for v in (*op.uses, *op.defs)}
    return program.replace(var_defs={v: type_ for v, type_ in program.var_defs.items() if v in mentioned})
