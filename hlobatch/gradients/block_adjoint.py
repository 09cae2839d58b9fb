"""The primitives of a block as one function of arrays, and its pullback, which takes cotangents back through them.

::

    %t = prim "exp(y)" (%y)                 the way back:  %y:bar0 = prim (%y, %e:bar0, %y:bar0)
    %e = prim "t - x" (%t, %x)      ==>                    by jax.vjp of each primitive in turn
    %y = prim "y - e" (%y, %e)

Intermediate values such as ``t`` are computed again on the way back. The arrays that this takes are those that the
block reads before it writes them, without those that turn out not to be needed (for ``x + 1``, none is).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp

from hlobatch._jax import Atom, ClosedJaxpr, Jaxpr
from hlobatch.gradients.activity import dependences
from hlobatch.gradients.arrays import Array, arrays_of, on_arrays, tensor_of, with_values
from hlobatch.gradients.certain import Used, unused_perhaps
from hlobatch.gradients.errors import explaining
from hlobatch.gradients.own_rules import Rules
from hlobatch.gradients.spread import added_in_place
from hlobatch.gradients.zeros import in_reverse_mode
from hlobatch.ir.code import Select
from hlobatch.ir.evaluation import inlined, needed_for, variables_among
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.program import Program
from hlobatch.typing import ArrayLike, Arrays


@dataclass(frozen=True)
class Straight:
    """The primitives of a block, in order.

    Attributes:
        program: The program that the block is from.
        ops: The primitives.
        used: The arrays that are used after them on every path of a lane.
    """

    program: Program
    ops: tuple[PrimOp, ...]
    used: frozenset[Array]

    @cached_property
    def written(self) -> frozenset[str]:
        """The variables that the primitives write."""
        return frozenset(v for op in self.ops for v in op.vars_out)

    @cached_property
    def reads(self) -> tuple[Array, ...]:
        """The arrays that the primitives read before they are written, in order."""
        found: dict[Array, None] = {}
        written: set[str] = set()
        for op in self.ops:
            before = [v for v in op.vars_in if v not in written]
            found |= dict.fromkeys(array for v in before for array in arrays_of(v, self.program.var_defs))
            written.update(op.vars_out)
        return tuple(found)

    def on_which(self, outputs: Collection[Array], active: Collection[Array]) -> list[Array]:
        """The active arrays among ``reads`` on which some of ``outputs`` may depend."""
        wanted = set(outputs)
        for op in reversed(self.ops):
            edges = [(a, b) for a, b in dependences(self.program, op) if b in wanted]
            wanted = {array for array in wanted if array.variable not in op.vars_out}
            wanted |= {before for before, _ in edges}
        return [array for array in self.reads if array in wanted and array in active]

    def links(self, inputs: Collection[Array], outputs: Collection[Array]) -> list[Link]:
        """For each primitive, the arrays through which outputs may depend on inputs."""
        varied, forward = set(inputs), []
        for op in self.ops:
            edges = [(a, b) for a, b in dependences(self.program, op) if a in varied]
            varied = {array for array in varied if array.variable not in op.vars_out} | {b for _, b in edges}
            forward.append(edges)
        wanted, found = set(outputs), list[Link]()
        for op, edges in zip(reversed(self.ops), reversed(forward), strict=True):
            edges = [(a, b) for a, b in edges if b in wanted]
            wanted = {array for array in wanted if array.variable not in op.vars_out} | {a for a, _ in edges}
            found.append(Link(frozenset(a for a, _ in edges), frozenset(b for _, b in edges)))
        return found[::-1]

    def steep(self) -> list[Collection[int]]:
        """For each primitive, the identities of its equations that keep a zero cotangent (``zeros.py``)."""
        used, after, found = Used(self.program), self.used, list[Collection[int]]()
        for op in reversed(self.ops):
            code = op.code.typed
            found.append(unused_perhaps(code.jaxpr, used.results(op, after))[0] if code is not None else ())
            after = used.before(op, after)
        return found[::-1]


class Link(NamedTuple):
    """The arrays that a primitive reads, and those that it writes, through which derivatives pass."""

    read: Collection[Array]
    written: Collection[Array]


@dataclass(frozen=True)
class Pullback:
    """Takes cotangents back through a block.

    Attributes:
        straight: The block's primitives.
        outputs: The arrays after the block whose cotangents it takes, in order.
        inputs: The arrays before the block whose cotangents it returns, in order.
    """

    straight: Straight
    outputs: tuple[Array, ...]
    inputs: tuple[Array, ...]

    @cached_property
    def _jaxpr(self) -> ClosedJaxpr:
        """The pullback as a jaxpr: from the arrays that the block reads, and cotangents, to cotangents."""
        types, reads = self.straight.program.var_defs, self.straight.reads
        avals = [_aval(array, types) for array in (*reads, *self.outputs)]

        def back(*arrays: ArrayLike) -> list[Any]:
            links = self.straight.links(self.inputs, self.outputs)
            run = _Recorded(self.straight, dict(zip(reads, arrays, strict=False)), links)
            found = run.back(dict(zip(self.outputs, arrays[len(reads) :], strict=True)))
            zero = [jnp.zeros(t.shape, t.dtype) for t in (tensor_of(a, types) for a in self.inputs)]
            return [found.get(array, z) for array, z in zip(self.inputs, zero, strict=True)]

        return inlined(jax.make_jaxpr(back)(*avals))

    @cached_property
    def _equations(self) -> list[Any]:
        jaxpr: Jaxpr = self._jaxpr.jaxpr
        return needed_for(jaxpr.outvars, jaxpr.eqns)

    @cached_property
    def needs(self) -> tuple[Array, ...]:
        """The arrays before the block that the pullback reads, in order."""
        jaxpr: Jaxpr = self._jaxpr.jaxpr
        atoms: Iterable[Atom] = (*jaxpr.outvars, *(v for e in self._equations for v in e.invars))
        read = set(variables_among(atoms))
        return tuple(a for a, v in zip(self.straight.reads, jaxpr.invars, strict=False) if v in read)

    def __call__(self, values: Arrays, cotangents: Arrays) -> list[Callable[[Any], Any]]:
        """The cotangents of ``inputs``, given the values of ``needs`` and the cotangents of ``outputs``.

        Returns:
            For each cotangent, a function that adds it to a total; the total None stands for zeros.
        """
        jaxpr: Jaxpr = self._jaxpr.jaxpr
        places = {array: place for place, array in enumerate(self.straight.reads)}
        variables = [jaxpr.invars[places[array]] for array in self.needs]
        variables += jaxpr.invars[len(self.straight.reads) :]
        known = dict(zip(variables, (*values, *cotangents), strict=True))
        known |= dict(zip(jaxpr.constvars, self._jaxpr.consts, strict=True))
        return added_in_place(self._equations, known, jaxpr.outvars)


class _Step(NamedTuple):
    """A primitive that has run.

    Attributes:
        op: The primitive.
        varied: The arrays that it read whose cotangents it returns.
        wanted: The arrays that it wrote whose cotangents it takes.
        written: All arrays that it wrote.
        pull: Its pullback from ``jax.vjp``; None if no derivative passes through it.
        condition: The condition of a select; None for other primitives.
    """

    op: PrimOp
    varied: tuple[Array, ...]
    wanted: tuple[Array, ...]
    written: tuple[Array, ...]
    pull: Callable[..., Any] | None
    condition: Any


class _Recorded:
    """A run of a block's primitives that records what is needed to go back through each.

    Cheap branches have become selects, both sides of which are computed (``if_conversion.py``). The results of the side
    that was not taken are not used, so no cotangent may come back through it, not even a NaN, such as zero times the
    slope of a square root at zero.

    Args:
        straight: The primitives.
        values: The arrays before them.
        links: For each primitive, the arrays through which derivatives pass.
    """

    def __init__(self, straight: Straight, values: Mapping[Array, Any], links: Sequence[Link]) -> None:
        self.types, self.steps = straight.program.var_defs, list[_Step]()
        known = dict(values)
        for op, link, steep in zip(straight.ops, links, straight.steep(), strict=True):
            with explaining(op):
                known |= self._run(op, known, link, steep)

    def _run(self, op: PrimOp, known: Mapping[Array, Any], link: Link, steep: Collection[int]) -> dict[Array, Any]:
        types = self.types
        read = [array for v in op.vars_in for array in arrays_of(v, types)]
        written = tuple(array for v in op.vars_out for array in arrays_of(v, types))
        wanted = [i for i, array in enumerate(written) if array in link.written]
        varied = [i for i, array in enumerate(read) if array in link.read]
        values = [known[array] for array in read]
        run = on_arrays(op, types, Rules(varied if wanted else (), steep, in_reverse_mode))

        def of_varied(*some: Any) -> tuple[list[Any], list[Any]]:
            results = run(*with_values(values, varied, some))
            return [results[i] for i in wanted], results

        pull = None
        if varied and wanted:
            _, pull, results = jax.vjp(of_varied, *(values[i] for i in varied), has_aux=True)
        else:
            results = run(*values)
        condition = values[0] if isinstance(op.code, Select) else None
        taken, gives = tuple(written[i] for i in wanted), tuple(read[i] for i in varied)
        self.steps.append(_Step(op, gives, taken, written, pull, condition))
        return dict(zip(written, results, strict=True))

    def back(self, cotangents: Mapping[Array, Any]) -> dict[Array, Any]:
        """The cotangents of the arrays before the primitives, given cotangents of arrays after them."""
        found = dict(cotangents)
        used: dict[str, Any] = dict.fromkeys((array.variable for array in cotangents), True)
        for step in reversed(self.steps):
            given = {a: found.pop(a) for a in step.written if a in found}
            is_used = _either([used.pop(v) for v in step.op.vars_out if v in used])
            if is_used is None:
                continue
            for place, variable in enumerate(step.op.vars_in):
                used[variable] = _either([*_some(used, variable), _where_read(is_used, step, place)])
            if step.pull is None or not given:
                continue
            with explaining(step.op):
                pulled = step.pull([given.get(a, self._zero(a)) for a in step.wanted])
            for array, bar in zip(step.varied, pulled, strict=True):
                bar = bar if is_used is True else jnp.where(is_used, bar, jnp.zeros_like(bar))
                found[array] = found[array] + bar if array in found else bar
        return found

    def _zero(self, array: Array) -> Any:
        tensor = tensor_of(array, self.types)
        return jnp.zeros(tensor.shape, tensor.dtype)


_YES: Final = 1
"""The position of the value for a true condition among a select's operands."""


def _where_read(is_used: Any, step: _Step, place: int) -> Any:
    """The condition under which an operand is used, given that for the results; True for always."""
    if step.condition is None or place == 0:
        return is_used
    own = step.condition if place == _YES else jnp.logical_not(step.condition)
    return own if is_used is True else jnp.logical_and(own, is_used)


def _either(conditions: Sequence[Any]) -> Any:
    """The disjunction of some conditions; None if there are none."""
    if any(condition is True for condition in conditions):
        return True
    return functools.reduce(jnp.logical_or, conditions) if conditions else None


def _some(used: Mapping[str, Any], variable: str) -> list[Any]:
    return [used[variable]] if variable in used else []


def _aval(array: Array, types: Any) -> jax.ShapeDtypeStruct:
    tensor = tensor_of(array, types)
    return jax.ShapeDtypeStruct(tensor.shape, tensor.dtype)
