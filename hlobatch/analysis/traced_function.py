"""Straight-line code after tracing: what it computes, as a jaxpr, and what can be asked of that."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import (
    ClosedJaxpr,
    Literal,
    is_debug_effect,
    is_key,
    jaxpr_as_fun,
    subjaxprs,
    subjaxprs_of,
)
from hlobatch.analysis.identity import NOTHING, Identity
from hlobatch.diagnostics import HloBatchError
from hlobatch.ir.evaluation import inlined
from hlobatch.ir.types import Leaf, Static, TensorType, Type, grouped, rebuilt

KEYS: Final = "key<fry>"
"""The dtype of typed random keys of JAX's default generator, which draws for each lane by itself."""


@dataclass(frozen=True, eq=False)
class TracedFunction:
    """Straight-line code after tracing: callable like the user's function, but it no longer runs the user's Python.

    Attributes:
        in_types: Types of the parameters.
        out_types: Types of the results; narrower than those of the variables they go to where a Python scalar meets an
            array on another path.
        jaxpr: What it computes on the tensors of one lane.
        doubts: What is wrong with it if these are the types to stay.
        identity: Which objects are which, before and after.
    """

    in_types: tuple[Type, ...]
    out_types: tuple[Type, ...]
    jaxpr: ClosedJaxpr
    doubts: tuple[HloBatchError, ...] = field(default=(), kw_only=True)
    identity: Identity = field(default=NOTHING, kw_only=True)

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Run on one lane's pytrees."""
        tensors = [t for type_, value in zip(self.in_types, values, strict=True) for t in type_.flatten(value)]
        return tuple(rebuilt(self.flat(*tensors), self.out_types))

    def flat(self, *tensors: Any) -> list[Any]:
        """Run on one lane's tensors, all parameters' in order."""
        run = jaxpr_as_fun(self.jaxpr)
        if self._draws_together:
            run = jax.custom_batching.sequential_vmap(run)
        return list(run(*tensors))

    @property
    def is_identity(self) -> bool:
        """Whether it gives back what it is given, in order."""
        jaxpr: Any = self.jaxpr.jaxpr
        return not jaxpr.eqns and list(jaxpr.outvars) == list(jaxpr.invars)

    def code_for(self, in_types: Sequence[Type], out_types: Sequence[Type]) -> ClosedJaxpr | None:
        """The jaxpr, if it is of what variables of some types hold as it is, and lanes may run it together."""
        is_of_them = _tensors(self.in_types) == _tensors(in_types) and _tensors(self.out_types) == _tensors(out_types)
        return self.jaxpr if is_of_them and not self._draws_together else None

    @cached_property
    def _draws_together(self) -> bool:
        """Whether ``jax.vmap`` gives all lanes what the generator makes of the first one's key."""
        return _has_other_keys(self.jaxpr.jaxpr) or "rng_bit_generator" in self.primitives

    @cached_property
    def inlined(self) -> ClosedJaxpr:
        """The jaxpr with what it calls in the place of the calls."""
        return inlined(self.jaxpr)

    @cached_property
    def looked_at(self) -> tuple[int, ...]:
        """Which parameters have arrays that anything is computed of, or that are given back."""
        jaxpr: Any = self.jaxpr.jaxpr
        atoms = itertools.chain(jaxpr.outvars, *(equation.invars for equation in jaxpr.eqns))
        read = {atom for atom in atoms if not isinstance(atom, Literal)}
        return tuple(i for i, own in enumerate(self._own_variables) if not read.isdisjoint(own))

    def jaxpr_of(self, parameters: Sequence[int]) -> ClosedJaxpr:
        """The jaxpr without the arrays of other parameters, which nothing looks at."""
        jaxpr: Any = self.jaxpr.jaxpr
        kept = [variable for i in parameters for variable in self._own_variables[i]]
        if len(kept) == len(jaxpr.invars):
            return self.jaxpr
        return ClosedJaxpr(jaxpr.replace(invars=kept), self.jaxpr.consts)

    @property
    def _own_variables(self) -> list[list[Any]]:
        """For each parameter its arrays' variables in the jaxpr."""
        variables: list[Any] = self.jaxpr.jaxpr.invars
        return grouped(variables, self.in_types)

    @property
    def written_types(self) -> tuple[Type, ...]:
        """``out_types``, with Python numbers that are written out in the code for the tensors they are taken for."""
        supply = iter(self.jaxpr.jaxpr.outvars)

        def written(leaf: Leaf) -> Leaf:
            if not isinstance(leaf, TensorType):
                return leaf
            value = next(supply)
            return Static(_python_number(value.val)) if leaf.weak and isinstance(value, Literal) else leaf

        return tuple(Type.of_leaves(tuple(map(written, t.leaves)), t.treedef) for t in self.out_types)

    def with_out_types(self, out_types: tuple[Type, ...]) -> TracedFunction:
        return replace(self, out_types=out_types)

    @cached_property
    def has_host_do(self) -> bool:
        """Whether it has the host do something, such as to print."""
        return any(map(is_debug_effect, self.jaxpr.effects))

    @cached_property
    def primitives(self) -> frozenset[str]:
        """Names of the JAX primitives it uses, at any depth."""
        return frozenset().union(*map(equation_primitives, self.jaxpr.jaxpr.eqns))


def _python_number(value: Any) -> Any:
    """A number as it was written; one of 32 bits has digits that nobody wrote."""
    value = np.asarray(value)[()]
    return float(str(value)) if isinstance(value, np.floating) else value.item()


def _tensors(types: Sequence[Type]) -> list[tuple[Any, tuple[int, ...]]]:
    return [(leaf.dtype, leaf.shape) for type_ in types for leaf in type_.tensor_leaves]


def _has_other_keys(jaxpr: Any) -> bool:
    """Whether there are typed keys of another generator than JAX's default."""
    others = (is_key(v.aval) and v.aval.dtype.name != KEYS for v in variables(jaxpr))
    return any(others) or any(map(_has_other_keys, subjaxprs(jaxpr)))


def variables(jaxpr: Any) -> Iterator[Any]:
    """What a jaxpr is given and what its equations compute, without what is inside those."""
    yield from jaxpr.invars
    for equation in jaxpr.eqns:
        yield from equation.outvars


def equation_primitives(equation: Any) -> frozenset[str]:
    """Names of the JAX primitives of an equation: its own, and those of what it runs."""
    inner = (e for jaxpr in subjaxprs_of(equation) for e in jaxpr.eqns)
    return frozenset({equation.primitive.name}).union(*map(equation_primitives, inner))
