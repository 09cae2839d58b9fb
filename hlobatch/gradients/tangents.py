"""Forward mode: makes a typed program compute tangents beside its values.

::

    def f(%f.x) -> (%f.$result):              def f(%f.x, %f.x:dot0) -> (%f.$result, %f.$result:dot0):
      %f.y = prim "x * x" (%f.x)        ==>     %f.y, %f.y:dot0 = prim "x * x" (%f.x, %f.x:dot0)
      %f.$result = call @g(%f.y)                %f.$result, %f.$result:dot0 = call @g(%f.y, %f.y:dot0)

The tangent of each active array is in a variable of its own, which is written, saved and restored where the array is.
Each primitive is replaced by its ``jax.jvp``. Control flow depends on the values only. Main takes the tangents of its
differentiated inputs after its inputs, and returns a pair: its result, and the tangents of the result's active arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from hlobatch.gradients.activity import active_arrays
from hlobatch.gradients.arrays import (
    Array,
    arrays_of,
    is_differentiable,
    on_arrays,
    own_type,
    primitive,
    tensor_of,
    with_values,
    zeros,
)
from hlobatch.gradients.certain import Constant, constant_perhaps
from hlobatch.gradients.errors import explaining
from hlobatch.gradients.own_rules import Rules
from hlobatch.gradients.prepared import prepared
from hlobatch.gradients.zeros import in_forward_mode
from hlobatch.ir.names import NewNames
from hlobatch.ir.ops import HALT, FunctionCallOp, GotoOp, Op, PopOp, PrimOp, PushOp
from hlobatch.ir.program import MAIN, Block, Function, Program
from hlobatch.ir.types import Type
from hlobatch.typing import ArrayLike


@dataclass(frozen=True)
class WithTangents:
    """A program that computes tangents.

    Attributes:
        program: The program. Its first result is a pair of the result and a tuple of tangents.
        inputs: The arrays whose tangents it takes, in the order of main's last parameters.
        outputs: The arrays of the result whose tangents it returns, in order; other arrays have a zero tangent.
    """

    program: Program
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def with_tangents(program: Program, inputs: Sequence[Array]) -> WithTangents:
    """The program with tangents.

    Args:
        program: The program, typed, with calls.
        inputs: The arrays of main's parameters that have tangents.

    Raises:
        DerivativeError: A primitive has no derivative.
    """
    program = prepared(program)
    result = program.vars_out[0]
    wanted = [
        array for array in arrays_of(result, program.var_defs) if is_differentiable(tensor_of(array, program.var_defs))
    ]
    active = with_results_of_calls(program, active_arrays(program, inputs, wanted) | set(inputs))
    return _Forward(program, tuple(inputs), active).made()


def with_results_of_calls(program: Program, active: Collection[Array]) -> frozenset[Array]:
    """Adds results of functions to the active arrays where a call assigns them to an active array.

    A constant result then has a zero tangent. Without one, the variable would keep its tangent from before the call.
    """
    calls = [op for op in program.ops if isinstance(op, FunctionCallOp)]
    found, before = frozenset(active), frozenset[Array]()
    while found != before:
        before = found
        for op in calls:
            pairs = zip(program.function(op.function).vars_out, op.vars_out, strict=True)
            found |= {Array(own, array.place) for own, v in pairs for array in found if array.variable == v}
    return found


@dataclass
class _Forward:
    """Makes the program with tangents.

    Attributes:
        program: The program, prepared for derivatives.
        inputs: The arrays of main's parameters that have tangents.
        active: All arrays that have a tangent.
        types: Types of all variables; those of new variables are added.
        dots: The variable of each array's tangent.
    """

    program: Program
    inputs: tuple[Array, ...]
    active: Collection[Array]
    types: dict[str, Type] = field(init=False)
    dots: dict[Array, str] = field(default_factory=dict)
    new_name: NewNames = field(init=False)

    def __post_init__(self) -> None:
        self.types = dict(self.program.var_defs)
        self._constant = Constant(self.program, self.active)
        self.new_name = NewNames(self.types)
        for array in sorted(self.active):
            self.dots[array] = self._like(array, f"{array.variable}:dot{array.place}")

    def made(self) -> WithTangents:
        program = self.program.map_functions(self._function)
        outputs = tuple(self._active(self.program.vars_out[:1]))
        both, type_ = self.new_name("main.$with_tangents"), self.types[self.program.vars_out[0]]
        self.types[both] = Type((type_.tensors, tuple(tensor_of(array, self.types) for array in outputs)))
        reads = [self.program.vars_out[0], *map(self.dots.__getitem__, outputs)]
        packed = primitive(lambda *arrays: arrays, reads, [both], self.types, "result, tangents", self.program)
        main = ended_with(program.main_function(), [packed])
        vars_in = (*program.vars_in, *map(self.dots.__getitem__, self.inputs))
        program = program.with_functions(
            {MAIN: main.replace(vars_in=vars_in, vars_out=(both, *self.program.vars_out[1:]))}
        )
        return WithTangents(program.replace(var_defs=self.types), self.inputs, outputs)

    def _active(self, variables: Sequence[str]) -> list[Array]:
        return [array for v in variables for array in arrays_of(v, self.types) if array in self.active]

    def _function(self, function: Function) -> Function:
        changed = function.map_blocks(lambda block: block.expand_instructions(self._op))
        if function.name == MAIN:
            return changed
        return changed.replace(
            vars_in=(*function.vars_in, *map(self.dots.__getitem__, self._active(function.vars_in))),
            vars_out=(*function.vars_out, *map(self.dots.__getitem__, self._active(function.vars_out))),
        )

    def _op(self, op: Op) -> Iterator[Op]:
        if isinstance(op, PrimOp):
            yield self._primitive(op)
        elif isinstance(op, FunctionCallOp):
            yield from self._call(op)
        elif isinstance(op, (PushOp, PopOp)):
            yield op.replace(vars=(*op.vars, *map(self.dots.__getitem__, self._active(op.vars))))
        else:
            yield op

    def _primitive(self, op: PrimOp) -> PrimOp:
        """A primitive that also computes the tangents of its results."""
        outputs, inputs = self._active(op.vars_out), self._active(op.vars_in)
        if not outputs:
            return op
        reads, writes = (
            [*op.vars_in, *map(self.dots.__getitem__, inputs)],
            [*op.vars_out, *map(self.dots.__getitem__, outputs)],
        )
        with explaining(op):
            return primitive(self._jvp(op, outputs), reads, writes, self.types, op.text, op)

    def _jvp(self, op: PrimOp, outputs: Sequence[Array]) -> Callable[..., list[Any]]:
        """A function of the arrays that a primitive reads, and the tangents of those that are active.

        Its results are the arrays that the primitive writes, and the tangents of ``outputs``.
        """
        read = [array for v in op.vars_in for array in arrays_of(v, self.types)]
        written = [array for v in op.vars_out for array in arrays_of(v, self.types)]
        varied = [place for place, array in enumerate(read) if array in self.active]  # it may read a variable twice
        wanted = [written.index(array) for array in outputs]
        steep, _ = constant_perhaps(op.code.typed.jaxpr, self._constant.operands(op)) if op.code.typed else ((), None)
        run = on_arrays(op, self.types, Rules(varied, steep, in_forward_mode))

        def both(*arrays: ArrayLike) -> list[Any]:
            values, tangents = list(arrays[: len(read)]), arrays[len(read) :]

            def of_varied(*some: Any) -> tuple[list[Any], list[Any]]:
                results = run(*with_values(values, varied, some))
                return [results[place] for place in wanted], results

            given = tuple(values[place] for place in varied)
            given = tuple(jax.numpy.asarray(x, t.dtype) for x, t in zip(given, tangents, strict=True))
            _, dots, results = jax.jvp(of_varied, given, tangents, has_aux=True)
            return [*results, *dots]

        return both

    def _call(self, op: FunctionCallOp) -> Iterator[Op]:
        """A call that passes tangents on, and zeros for arguments that have none where other calls pass one."""
        callee = self.program.function(op.function)
        arguments = dict(zip(callee.vars_in, op.vars_in, strict=True))
        results = dict(zip(callee.vars_out, op.vars_out, strict=True))
        given, constant = [], []
        for array in self._active(callee.vars_in):
            own = Array(arguments[array.variable], array.place)
            given.append(self.dots[own] if own in self.active else self._temporary(array, op))
            constant += [] if own in self.active else given[-1:]
        taken = [Array(results[array.variable], array.place) for array in self._active(callee.vars_out)]
        names = [self.dots[own] if own in self.active else self._temporary(own, op) for own in taken]
        if constant:
            yield zeros(constant, self.types, op)
        yield op.replace(vars_in=(*op.vars_in, *given), vars_out=(*op.vars_out, *names))

    def _temporary(self, array: Array, op: FunctionCallOp) -> str:
        """A variable for a tangent in a call, of an array that is not active in the caller."""
        owner = (*op.vars_out, *op.vars_in)[0].rsplit(".", 1)[0]
        return self._like(array, f"{owner}.$tangent")

    def _like(self, array: Array, name: str) -> str:
        """A new variable for an array like this one, with that name or a similar one."""
        name = self.new_name(name)
        self.types[name] = own_type(tensor_of(array, self.types))
        return name


def ended_with(function: Function, ops: Sequence[Op]) -> Function:
    """A function with operations added before each of its ends."""
    name = NewNames(block.name for block in function.graph)("exit")
    graph = function.graph.map_blocks(lambda block: block.retarget(lambda target: name if target == HALT else target))
    last = Block(name, tuple(ops), GotoOp(HALT, location=function.location), function.location)
    return function.replace(graph=type(graph)((*graph.blocks, last)))
