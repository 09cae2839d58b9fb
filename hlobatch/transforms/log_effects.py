"""Splits primitives with effects on the host (``print``, callbacks) into one that computes and a ``log``.

::

    prim "print(x, y + 1)" (%x, %y)      ==>      %$log1 = prim "print(x, y + 1)" (%x, %y)
                                                  log "print(x, y + 1)" (%$log1)

The remaining primitive has no effects, like all others, so that passes need to know nothing of printing. Passes do not
move a ``log`` operation, since it is not a primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from hlobatch._jax import Equation, done_on_host, has_host_do, keys_of
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.effects import MOST_WORDS, Effect, lines_of_lane
from hlobatch.ir.evaluation import as_it_is, evaluated, known_at_first, traced
from hlobatch.ir.names import unused
from hlobatch.ir.ops import LogOp, Op, PrimOp
from hlobatch.ir.program import Function, Program
from hlobatch.ir.types import TensorType, Type
from hlobatch.ir.words import encoded, words_for


def log_effects(program: Program) -> Program:
    """The program with all effects on the host in ``log`` operations."""
    if not any(op.code.has_host_do for op in program.ops):
        return program
    logging = _Logging(dict(program.var_defs))
    changed = program.map_functions(logging.function)
    return changed.replace(var_defs=logging.types, effects=tuple(logging.effects))


@dataclass
class _Logging:
    """Collects the effects of a program, and the types of the variables that hold their operands."""

    types: dict[str, Type]
    effects: list[Effect] = field(default_factory=list)

    def function(self, function: Function) -> Function:
        """The function with its effects as ``log`` operations."""
        return function.map_blocks(lambda block: block.expand_instructions(lambda op: self._ops(op, function.name)))

    def _ops(self, op: Op, name: str) -> Iterator[Op]:
        typed = op.code.typed
        if not isinstance(op, PrimOp) or typed is None or not typed.has_host_do:
            yield op
            return
        code: Any = typed.inlined
        logs = [self._log(equation, op, name) for equation in code.jaxpr.eqns if has_host_do(equation)]
        words = tuple(v for log in logs for v in log.vars_in)
        kinds = (*typed.out_types, *(self.types[v] for v in words))
        function = TracedFunction(typed.in_types, kinds, _computing(code))
        if op.vars_out or words:
            yield op.replace(vars_out=(*op.vars_out, *words), function=function)
        yield from logs

    def _log(self, equation: Equation, op: PrimOp, name: str) -> LogOp:
        """The operation that logs an effect, which is added to the program's."""
        perform, prints = done_on_host(equation)
        leaves = _operands(equation)
        if sum(map(words_for, leaves)) > MOST_WORDS:
            raise UnsupportedSyntaxError(
                f"{op.text!r} takes more than {MOST_WORDS} words of 32 bits out of each lane",
                op.location,
                help="print less of it, as in `print(x[:10])` or `print(x.sum())`.",
            )
        effect = Effect(op.text, _performing(perform, leaves, prints=prints), tuple(map(Type, leaves)), op.location)
        self.effects.append(effect)
        number = len(self.effects) - 1
        if not effect.size:
            return LogOp(number, (), op.text, location=op.location)
        variable = unused(f"{name}.$log", self.types)
        self.types[variable] = Type(TensorType(jnp.dtype("int32"), (effect.size,)))
        return LogOp(number, (variable,), op.text, location=op.location)


def _operands(equation: Equation) -> list[TensorType]:
    """The types of an effect's operands, as arrays that are not weak."""
    return [TensorType(atom.aval.dtype, atom.aval.shape) for atom in equation.invars]


def _performing(perform: Callable[..., object], leaves: list[TensorType], *, prints: bool) -> Callable[..., None]:
    """The function that the host calls with an effect's operands, as NumPy arrays."""

    def run(*values: Any) -> None:
        arrays = [_as_keys(value, leaf) if leaf.is_key else value for value, leaf in zip(values, leaves, strict=True)]
        if not prints:
            perform(*arrays)
            return
        with lines_of_lane():
            perform(*arrays)

    return run


def _as_keys(words: Any, leaf: TensorType) -> Any:
    shape = jax.eval_shape(jax.random.key_data, leaf.aval).shape
    return keys_of(words.reshape(shape), leaf)


def _computing(code: Any) -> Any:
    """The jaxpr of code without its effects, with the encoded operands of the effects as additional results."""

    def run(*arrays: Any) -> list[Any]:
        words: list[Any] = []

        def one(equation: Equation, values: Any) -> Any:
            if not has_host_do(equation):
                return as_it_is(equation, values)
            types = list(map(Type, _operands(equation)))
            leaves = [value if hasattr(value, "dtype") else jnp.asarray(value) for value in values]
            size = Effect("", run, tuple(types)).size
            words.extend([encoded(leaves, types, size, MOST_WORDS)] if size else [])
            return []

        results = evaluated(code.jaxpr.eqns, known_at_first(code, arrays), code.jaxpr.outvars, one)
        return [*results, *words]

    return traced(run, code.jaxpr.invars)
