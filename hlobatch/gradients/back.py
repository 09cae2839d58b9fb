"""The way back through one block: what a lane saves on the way forward, and how cotangents pass through the block.

::

    a: %y = prim "sin(x)" (%x)                    back.a:        %$bar = call @back.f(%r:bar0)
       %r = call @f(%y)                    ==>    back.a:called: pop %$lane.tape0
                                                                 %x:bar0 = prim (%$lane.tape0, %$bar, %x:bar0)

The cotangent of an array before the block is the sum of what comes back through the block's primitives, what comes back
through the call that ends it, and, if the block does not write the array, its cotangent after the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import jax.numpy as jnp

from hlobatch.gradients.arrays import Array, primitive, tensor_of, zeros
from hlobatch.gradients.block_adjoint import Pullback, Straight
from hlobatch.gradients.recomputed import Again
from hlobatch.gradients.variables import Variables
from hlobatch.ir.ops import FunctionCallOp, GotoOp, Op, PopOp, PrimOp
from hlobatch.ir.program import Block, Function
from hlobatch.typing import ArrayLike, Arrays


def back_of(name: str) -> str:
    """The name of the function or block that goes back through the named one."""
    return f"back.{name}"


class Border(NamedTuple):
    """The arrays with cotangents that are live at the beginning of a block, and at its end."""

    before: Sequence[Array]
    after: Sequence[Array]


class Back:
    """The way back through one block.

    Attributes:
        variables: Names and types.
        owner: The name of the block's function.
        block: The block.
        border: The arrays with cotangents that are live around it.
        call: The call that ends it, if one does.
    """

    def __init__(self, variables: Variables, owner: str, block: Block, border: Border) -> None:
        self.variables, self.owner, self.block, self.border = variables, owner, block, border
        self.types = variables.types
        last = block.instructions[-1] if block.instructions else None
        self.call = last if isinstance(last, FunctionCallOp) else None
        ops = tuple(op for op in block.instructions if isinstance(op, PrimOp))
        self.straight = Straight(variables.program, ops, variables.used.after_primitives(owner, block))
        self.again = Again(variables, owner, self.call) if self.call is not None and self.call.again else None

    # The tape

    @cached_property
    def saved(self) -> Mapping[Array, str]:
        """The arrays that a lane saves when it enters the block, each with its tape."""
        arrays = [a for a in self._needs if not self.variables.is_input(a)]
        return dict(zip(arrays, self.variables.tapes_for(arrays), strict=True))

    @cached_property
    def _needs(self) -> tuple[Array, ...]:
        """The arrays that the way back through the primitives reads."""
        return () if self._pullback is None else self._pullback.needs

    @cached_property
    def _pullback(self) -> Pullback | None:
        """The pullback through the primitives; None if no cotangent passes through them."""
        outputs = tuple(a for a in self._terms if a.variable in self.straight.written)
        inputs = tuple(self.straight.on_which(outputs, self.variables.active))
        return Pullback(self.straight, outputs, inputs) if inputs else None

    # Through the call

    @cached_property
    def _callee(self) -> Function:
        assert self.call is not None
        return self.variables.program.function(self.call.function)

    @cached_property
    def _returned(self) -> list[tuple[Array, str]]:
        """The arrays of arguments whose cotangents come back from the call, and the variables that receive them."""
        if self.call is None:
            return []
        arguments = dict(zip(self._callee.vars_in, self.call.vars_in, strict=True))
        arrays = self.variables.with_bars(self._callee.vars_in)
        return [(Array(arguments[a.variable], a.place), self.variables.like(a, f"{self.owner}.$bar")) for a in arrays]

    def called(self) -> Iterator[Block]:
        """The blocks that go back through the call; none if there is no call."""
        if self.call is None:
            return
        results = dict(zip(self._callee.vars_out, self.call.vars_out, strict=True))
        given, constant = [], []
        for array in self.variables.with_bars(self._callee.vars_out):
            own = Array(results[array.variable], array.place)
            if own not in self.border.after:  # a result that is not used after this call
                constant.append(self.variables.like(array, f"{self.owner}.$bar"))
            given.append(self.variables.bar(own) if own in self.border.after else constant[-1])
        vars_out = tuple(name for _, name in self._returned)
        call = FunctionCallOp(back_of(self._callee.name), tuple(given), vars_out, location=self.call.location)
        ops = (*((zeros(constant, self.types, self.call),) if constant else ()), call)
        name = back_of(self.block.name)
        if self.again is not None:
            yield Block(name, tuple(self.again.back()), GotoOp(f"{name}:again"), self.block.location)
            name = f"{name}:again"
        yield Block(name, ops, GotoOp(self.name), self.block.location)

    @property
    def name(self) -> str:
        """The name of the block that goes back through the primitives."""
        return back_of(self.block.name) + ("" if self.call is None else ":called")

    # Through the primitives

    @cached_property
    def _terms(self) -> Mapping[Array, Sequence[str]]:
        """For each array with a cotangent between primitives and call, the variables whose sum the cotangent is."""
        results = () if self.call is None else self.call.vars_out
        found = {a: [self.variables.bar(a)] for a in self.border.after if a.variable not in results}
        for array, name in self._returned:
            if self.variables.has_bar(array):
                found.setdefault(array, []).append(name)
        return found

    def ops(self) -> Iterator[Op]:
        """The operations that turn cotangents between primitives and call into cotangents before the block."""
        if self.saved:
            yield PopOp(tuple(self.saved.values()), location=self.block.location)
        targets = list(self._targets())
        if not targets:
            return
        needs = [self.saved.get(a, a.variable) for a in self._needs]
        outputs = () if self._pullback is None else self._pullback.outputs
        terms = [name for a in outputs for name in self._terms[a]]
        reads = list(dict.fromkeys([*needs, *terms, *(name for target in targets for name in target.terms)]))
        writes = [target.name for target in targets]

        def run(*arrays: ArrayLike) -> list[Any]:
            known = self._by_array(reads, arrays)
            through = self._pulled(known)
            return [self._value(target, known, through) for target in targets]

        yield primitive(run, reads, writes, self.types, f"back through {self.block.name}", self.block)

    def _targets(self) -> Iterator[_Target]:
        """The cotangents to compute, each with the variables to sum."""
        through = () if self._pullback is None else self._pullback.inputs
        kept = {a: terms for a, terms in self._terms.items() if a.variable not in self.straight.written}
        for array in dict.fromkeys((*kept, *(a for a in through if self.variables.has_bar(a)))):
            bar = self.variables.bar(array)
            if array in through or list(kept[array]) != [bar]:
                yield _Target(array, bar, tuple(kept.get(array, ())))
        for array in self.border.before:
            if array not in kept and array not in through:
                yield _Target(array, self.variables.bar(array), ())
        from_call = [
            (a, name) for a, name in self._returned if a in self.variables.active and self.variables.is_input(a)
        ]
        for array in dict.fromkeys((*(a for a in through if self.variables.is_input(a)), *(a for a, _ in from_call))):
            total = self.variables.sum_of(array)
            yield _Target(array, total, (total, *(name for a, name in from_call if a == array)))

    def _pulled(self, known: Mapping[tuple[str, int], Any]) -> Mapping[Array, Callable[[Any], Any]]:
        """For each array, a function that adds the cotangent from the primitives to a total."""
        if self._pullback is None:
            return {}
        values = [known[self.saved[a], 0] if a in self.saved else known[a] for a in self._needs]
        cotangents = [reduce(add, (known[name, 0] for name in self._terms[a])) for a in self._pullback.outputs]
        return dict(zip(self._pullback.inputs, self._pullback(values, cotangents), strict=True))

    def _value(
        self, target: _Target, known: Mapping[tuple[str, int], Any], through: Mapping[Array, Callable[[Any], Any]]
    ) -> Any:
        terms = [known[name, 0] for name in target.terms]
        total = reduce(add, terms) if terms else None
        if target.array in through:
            return through[target.array](total)
        tensor = tensor_of(target.array, self.types)
        return jnp.zeros(tensor.shape, tensor.dtype) if total is None else total

    def _by_array(self, variables: Sequence[str], values: Arrays) -> dict[tuple[str, int], Any]:
        supply = iter(values)
        return {(v, i): next(supply) for v in variables for i in range(len(self.types[v].tensor_leaves))}


class _Target(NamedTuple):
    """A cotangent that the way back through a block computes.

    Attributes:
        array: The array whose cotangent it is.
        name: The variable that receives it.
        terms: The variables to sum, besides the cotangent that comes back through the primitives.
    """

    array: Array
    name: str
    terms: tuple[str, ...]
