"""The code of a primitive for one lane, with the properties that passes, executors and the lowering ask about.

Before types are known it is a function of the user's, of which nothing is known. After that it is code with a jaxpr,
traced here or read from a module, or one of the few operations that passes insert, for operands of any type:
``MOVE``, ``SELECT``, and the logical operations on two conditions. No pass asks for its class except where that is the
subject.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self, final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ClosedJaxpr, Equation, Jaxpr, is_debug_effect, is_key, jaxpr_as_fun, subjaxprs, subjaxprs_of
from hlobatch.ir.evaluation import inlined
from hlobatch.ir.types import Type, rebuilt
from hlobatch.ir.value import WithoutVirtual

KEYS: Final = "key<fry>"
"""The dtype of typed keys of JAX's default generator, which ``jax.vmap`` batches lane by lane."""


class Code(metaclass=WithoutVirtual):
    """The code of a primitive. The defaults here hold for code of which nothing is known."""

    @abstractmethod
    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Run on one lane's pytrees: takes the values of ``vars_in``, returns those of ``vars_out``."""

    @property
    def typed(self) -> JaxprCode | None:
        """The code itself if it has a jaxpr and types, else None."""
        return None

    @property
    def rewritable(self) -> JaxprCode | None:
        """The code itself if it has a jaxpr that passes may replace, else None."""
        return self.typed if self.is_open else None

    @property
    def is_open(self) -> bool:
        """Whether passes may look inside and take it apart; False for code that is one opaque piece."""
        return False

    @property
    def is_total(self) -> bool:
        """Whether it terminates on any input, so that it may be run speculatively."""
        return False

    @property
    def is_copy(self) -> bool:
        """Whether it returns its operands, in order, unchanged."""
        return False

    @property
    def deletes(self) -> bool:
        """Whether it leaves its variables without a value, as the user's ``del x`` does."""
        return False

    @property
    def is_undefined(self) -> bool:
        """Whether its result is never read, so that any value of the right type will do."""
        return False

    @property
    def has_host_do(self) -> bool:
        """Whether it has an effect on the host, such as to print."""
        return False

    @property
    def primitives(self) -> frozenset[str]:
        """Names of the JAX primitives it uses, at any depth."""
        return frozenset()

    @property
    def captured(self) -> Sequence[Any]:
        """Arrays that the code closes over."""
        return ()

    @property
    def size(self) -> int:
        """Number of operations, without those in inner loops and branches."""
        return 1

    def jaxpr_for(self, in_types: Sequence[Type], out_types: Sequence[Type]) -> ClosedJaxpr | None:
        """Its jaxpr, if it takes and returns exactly the tensors of these types and can be batched; else None."""
        del in_types, out_types
        return None


@final
class UnknownCode(Code):
    """A function of the user's, before types are known."""

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        raise AssertionError


UNKNOWN_CODE: Final = UnknownCode()


# Code that the frontend makes and that computes nothing


@final
@dataclass(frozen=True)
class Deletion(Code):
    """``del x``; replaced before types are known."""

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        raise AssertionError

    @property
    def deletes(self) -> bool:
        return True


@final
@dataclass(frozen=True)
class Undefined(Code):
    """A value that is never read; once types are known, zeros of the variable's type."""

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        raise AssertionError

    @property
    def is_undefined(self) -> bool:
        return True


DELETION: Final = Deletion()
UNDEFINED: Final = Undefined()


# Code that passes insert


class _MadeHere(Code):
    """Code that passes insert, for operands of any type, and that may be run anywhere."""

    @property
    def is_open(self) -> bool:
        return True

    @property
    def is_total(self) -> bool:
        return True


@final
@dataclass(frozen=True)
class Move(_MadeHere):
    """Copies its operands; all are read before any result is written."""

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
    """Whether a leaf is an array; other leaves are Python objects, which are the same on both sides."""
    return isinstance(value, (jax.Array, np.ndarray, np.generic))


@final
@dataclass(frozen=True)
class Logic(_MadeHere):
    """A boolean function of two conditions.

    Attributes:
        name: For the printer.
        function: The function.
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


# Code that has a jaxpr


@dataclass(frozen=True, eq=False)
class JaxprCode(Code):
    """Code for operands of known types.

    Attributes:
        in_types: Types of the parameters.
        out_types: Types of the results; narrower than those of the variables they go to where a Python scalar meets an
            array on another path.
        jaxpr: Takes and returns the tensors of one lane.
    """

    in_types: tuple[Type, ...]
    out_types: tuple[Type, ...]
    jaxpr: ClosedJaxpr

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        tensors = [t for type_, value in zip(self.in_types, values, strict=True) for t in type_.flatten(value)]
        return tuple(rebuilt(self.flat(*tensors), self.out_types))

    def flat(self, *tensors: Any) -> list[Any]:
        """Run on one lane's tensors, those of all parameters in order."""
        run = jaxpr_as_fun(self.jaxpr)
        if self._draws_together:
            run = jax.custom_batching.sequential_vmap(run)
        return list(run(*tensors))

    def with_out_types(self, out_types: tuple[Type, ...]) -> Self:
        """The code with other result types, which hold the same tensors."""
        return replace(self, out_types=out_types)

    @property
    def typed(self) -> JaxprCode:
        return self

    @property
    def stated_cost(self) -> float | None:
        """Operations per lane, if the code declares them; None to count them."""
        return None

    @property
    def is_total(self) -> bool:
        return "while" not in self.primitives

    @property
    def is_identity(self) -> bool:
        """Whether it returns its tensors in order, unchanged; the types may differ."""
        jaxpr: Jaxpr = self.jaxpr.jaxpr
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
        """The jaxpr with called jaxprs inlined."""
        return inlined(self.jaxpr)

    @cached_property
    def _draws_together(self) -> bool:
        """Whether ``jax.vmap`` would draw from the first lane's key for all, so that lanes have to run one by one."""
        return _has_other_keys(self.jaxpr.jaxpr) or "rng_bit_generator" in self.primitives


def _tensors(types: Sequence[Type]) -> list[tuple[Any, tuple[int, ...]]]:
    return [(leaf.dtype, leaf.shape) for type_ in types for leaf in type_.tensor_leaves]


def _has_other_keys(jaxpr: Jaxpr) -> bool:
    """Whether a jaxpr has typed keys of a generator other than JAX's default."""
    others = (is_key(v.aval) and v.aval.dtype.name != KEYS for v in variables(jaxpr))
    return any(others) or any(map(_has_other_keys, subjaxprs(jaxpr)))


def variables(jaxpr: Jaxpr) -> Iterator[Any]:
    """The inputs of a jaxpr and the results of its equations, without those of inner jaxprs."""
    yield from jaxpr.invars
    for equation in jaxpr.eqns:
        yield from equation.outvars


def equation_primitives(equation: Equation) -> frozenset[str]:
    """Names of the JAX primitives in an equation: its own, and those in its inner jaxprs."""
    inner = (e for jaxpr in subjaxprs_of(equation) for e in jaxpr.eqns)
    return frozenset({equation.primitive.name}).union(*map(equation_primitives, inner))
