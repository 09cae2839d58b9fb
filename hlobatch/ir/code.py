"""What a primitive computes on one lane: code that says of itself what passes, executors and the lowering ask.

Before types are known it is a function of the user's, of which nothing is known. After that it is code with a jaxpr,
traced here or read from a module, or one of the few operations that passes make themselves, for operands of any type:
``MOVE``, ``SELECT``, and what joins two conditions. No pass asks for its class except where that is the subject.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self, final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ClosedJaxpr, is_debug_effect, is_key, jaxpr_as_fun, subjaxprs, subjaxprs_of
from hlobatch.ir.evaluation import inlined
from hlobatch.ir.types import Type, rebuilt

KEYS: Final = "key<fry>"
"""The dtype of typed random keys of JAX's default generator, which draws for each lane by itself."""


class Code(ABC):
    """What a primitive computes. What is said here is true of code of which nothing is known."""

    @abstractmethod
    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Run on one lane's pytrees: those of the primitive's ``vars_in``, to those of its ``vars_out``."""

    @property
    def typed(self) -> JaxprCode | None:
        """Itself, if its types are known, and a jaxpr that computes it."""
        return None

    @property
    def rewritable(self) -> JaxprCode | None:
        """The same, if passes may put other code in its place."""
        return self.typed if self.is_open else None

    @property
    def is_open(self) -> bool:
        """Whether it is known what it computes, so that passes may take it apart; else it is one piece."""
        return False

    @property
    def is_total(self) -> bool:
        """Whether it comes to an end wherever it is run, so that it may be run where the program would not have."""
        return False

    @property
    def is_copy(self) -> bool:
        """Whether it gives back what it is given, in order, as it is."""
        return False

    @property
    def deletes(self) -> bool:
        """Whether it leaves its variables without a value, as the user's ``del x`` does."""
        return False

    @property
    def is_undefined(self) -> bool:
        """Whether what it gives is never read, so that any value of the variable's type will do."""
        return False

    @property
    def has_host_do(self) -> bool:
        """Whether it has the host do something, such as to print."""
        return False

    @property
    def primitives(self) -> frozenset[str]:
        """Names of the JAX primitives it uses, at any depth."""
        return frozenset()

    @property
    def captured(self) -> Sequence[Any]:
        """Arrays that it takes from its surroundings."""
        return ()

    @property
    def size(self) -> int:
        """How many operations it is, those of inner loops and branches not counted."""
        return 1

    def jaxpr_for(self, in_types: Sequence[Type], out_types: Sequence[Type]) -> ClosedJaxpr | None:
        """Its jaxpr, if it is of what variables of some types hold as it is, and lanes may run it together."""
        del in_types, out_types
        return None


@final
class UnknownCode(Code):
    """Code of which nothing is known: a function of the user's, which is called directly."""

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        raise AssertionError


UNKNOWN_CODE: Final = UnknownCode()


# What the frontend makes that computes nothing


@final
@dataclass(frozen=True)
class Deletion(Code):
    """What ``del x`` does; there is none left once types are known."""

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        raise AssertionError

    @property
    def deletes(self) -> bool:
        return True


@final
@dataclass(frozen=True)
class Undefined(Code):
    """What nothing reads; once types are known, zeros of the variable's type."""

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        raise AssertionError

    @property
    def is_undefined(self) -> bool:
        return True


DELETION: Final = Deletion()
UNDEFINED: Final = Undefined()


# What passes make


class _MadeHere(Code):
    """Code of ours, for operands of any type, that may be run anywhere."""

    @property
    def is_open(self) -> bool:
        return True

    @property
    def is_total(self) -> bool:
        return True


@final
@dataclass(frozen=True)
class Move(_MadeHere):
    """Copies its operands, all read before any is written."""

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        return values

    @property
    def is_copy(self) -> bool:
        return True


@final
@dataclass(frozen=True)
class Select(_MadeHere):
    """Picks one of two values of the same type."""

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        condition, yes, no = values
        return (jax.tree.map(lambda a, b: jnp.where(condition, a, b) if _is_array(a) else a, yes, no),)


def _is_array(value: Any) -> bool:
    """Whether a leaf is an array; other objects are the same on both sides, as their types are."""
    return isinstance(value, (jax.Array, np.ndarray, np.generic))


@final
@dataclass(frozen=True)
class Logic(_MadeHere):
    """Joins two conditions.

    Attributes:
        name: For the printer.
        function: From the conditions to whether both together hold.
    """

    name: str
    function: Callable[[Any, Any], Any]

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        first, second = values
        return (self.function(first, second),)


def _neither_but(first: Any, second: Any) -> Any:
    return jnp.logical_and(jnp.logical_not(first), second)


def _unless(first: Any, second: Any) -> Any:
    return jnp.logical_or(jnp.logical_not(first), second)


MOVE: Final = Move()
SELECT: Final = Select()
BOTH: Final = Logic("both", jnp.logical_and)
"""Holds where both conditions do."""
EITHER: Final = Logic("either", jnp.logical_or)
"""Holds where one of two conditions does."""
NEITHER_BUT: Final = Logic("neither_but", _neither_but)
"""Holds where the second condition does and the first does not."""
UNLESS: Final = Logic("unless", _unless)
"""Holds where the first condition does not or the second does."""


# What has a jaxpr


@dataclass(frozen=True, eq=False)
class JaxprCode(Code):
    """Code for operands of some types.

    Attributes:
        in_types: Types of the parameters.
        out_types: Types of the results; narrower than those of the variables they go to where a Python scalar meets an
            array on another path.
        jaxpr: What it computes on the tensors of one lane.
    """

    in_types: tuple[Type, ...]
    out_types: tuple[Type, ...]
    jaxpr: ClosedJaxpr

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        tensors = [t for type_, value in zip(self.in_types, values, strict=True) for t in type_.flatten(value)]
        return tuple(rebuilt(self.flat(*tensors), self.out_types))

    def flat(self, *tensors: Any) -> list[Any]:
        """Run on one lane's tensors, all parameters' in order."""
        run = jaxpr_as_fun(self.jaxpr)
        if self._draws_together:
            run = jax.custom_batching.sequential_vmap(run)
        return list(run(*tensors))

    def with_out_types(self, out_types: tuple[Type, ...]) -> Self:
        """The code with results of other types, which hold the same tensors."""
        return replace(self, out_types=out_types)

    @property
    def typed(self) -> JaxprCode:
        return self

    @property
    def stated_cost(self) -> float | None:
        """Operations per lane, if it says so itself; else they are counted."""
        return None

    @property
    def is_total(self) -> bool:
        return "while" not in self.primitives

    @property
    def is_identity(self) -> bool:
        """Whether it gives back the tensors it is given, in order; their types may be others."""
        jaxpr: Any = self.jaxpr.jaxpr
        return not jaxpr.eqns and list(jaxpr.outvars) == list(jaxpr.invars)

    @property
    def is_copy(self) -> bool:
        return self.is_identity and self.in_types == self.out_types

    @cached_property
    def has_host_do(self) -> bool:
        return any(map(is_debug_effect, self.jaxpr.effects))

    @cached_property
    def primitives(self) -> frozenset[str]:
        return frozenset().union(*map(equation_primitives, self.jaxpr.jaxpr.eqns))

    @property
    def captured(self) -> Sequence[Any]:
        return tuple(self.jaxpr.consts)

    @property
    def size(self) -> int:
        return len(self.inlined.jaxpr.eqns)

    def jaxpr_for(self, in_types: Sequence[Type], out_types: Sequence[Type]) -> ClosedJaxpr | None:
        is_of_them = _tensors(self.in_types) == _tensors(in_types) and _tensors(self.out_types) == _tensors(out_types)
        return self.jaxpr if is_of_them and not self._draws_together else None

    @cached_property
    def inlined(self) -> ClosedJaxpr:
        """The jaxpr with what it calls in the place of the calls."""
        return inlined(self.jaxpr)

    @cached_property
    def _draws_together(self) -> bool:
        """Whether ``jax.vmap`` gives all lanes what the generator makes of the first one's key."""
        return _has_other_keys(self.jaxpr.jaxpr) or "rng_bit_generator" in self.primitives


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
