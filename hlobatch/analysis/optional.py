"""Variables that are None in some lanes: what traced code sees in place of them, and how a value becomes a flag and it.

::

    best = None                                %best = (is_there: bool[], value: f32[])
    while x > 0:
        if best is None or x > best:     ==>   branch on ``not is_there``; then on ``x > value``
            best = x                           %best = (True, x)

Code that uses such a variable without a test for None sees the value, which is zeros in lanes where the variable is
None. Which variable a value comes from is known by the identity of the object: the result of an operation is another
object, and not None in any lane.
"""

from __future__ import annotations

import contextvars
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import jax
import jax.numpy as jnp

from hlobatch.analysis.boxes import attributes_of, is_boxable
from hlobatch.analysis.facts import Learned, MayBeNone
from hlobatch.ir.boxed import Boxed, mapped, object_of
from hlobatch.ir.choice import Choice, moved, without_none
from hlobatch.ir.code import Code
from hlobatch.ir.growing import Growing
from hlobatch.ir.maybe import Maybe
from hlobatch.ir.types import Static, TensorType, Type, opened

_known: contextvars.ContextVar[dict[int, Maybe]] = contextvars.ContextVar("hlobatch_optional")


@dataclass(frozen=True, eq=False)
class Present:
    """A value that is not None any more, as code gives it back."""

    value: Any


def is_none(value: Any) -> Any:
    """Whether a value is None: a Python bool, or one that differs between lanes."""
    if isinstance(value, Choice):
        return value.each(lambda one: one is None)
    known = optional(value)
    return value is None if known is None else jnp.logical_not(known.is_there)


def asked(value: Any, variable: str) -> Any:
    """The value of a variable, of which code asks whether it is None to go on to what it does with it.

    Raises:
        Learned: It is None in some lanes: where it turns out not to be, it is the value alone.
    """
    if optional(value) is not None or (isinstance(value, Choice) and any(one is None for one in value.objects)):
        fact = MayBeNone(variable)
        raise Learned(fact.site, fact)
    return value


def optional(value: Any) -> Maybe | None:
    """The flag and the value of what is None in some lanes."""
    known = _known.get({}).get(id(value))
    return known if known is not None and known.value is value else None


def is_any_optional() -> bool:
    """Whether code that is being traced is given something that is None in some lanes."""
    return bool(_known.get({}))


def any_optional(values: Any) -> bool:
    """Whether something in values is None in some lanes, an attribute of an object among them too."""
    return bool(_known.get({})) and _any_optional(values, ())


def _any_optional(values: Any, around: tuple[int, ...]) -> bool:
    parts = jax.tree.leaves(values, is_leaf=is_optional)
    objects = [part for part in parts if is_boxable(part) and id(part) not in around]
    return any(map(is_optional, parts)) or any(
        _any_optional([*attributes_of(part).values()], (*around, id(part))) for part in objects
    )


def is_optional(part: Any) -> bool:
    """Whether a value is known to be None in some lanes."""
    return optional(part) is not None


def with_flags(values: Any) -> Any:
    """Values with what is None in some lanes as flags and values."""
    return mapped(lambda part: optional(part) or part, values, is_optional)


@final
@dataclass(frozen=True)
class NotNone(Code):
    """What a variable holds where it has turned out not to be None."""

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        (value,) = values
        if isinstance(value, Choice):
            return (without_none(value),)
        return (value if optional(value) is None else Present(value),)


NOT_NONE: Final = NotNone()


def run(
    function: Callable[..., Any], values: Sequence[Any], see: Callable[[list[Any]], None]
) -> tuple[list[Any], Callable[[Any], Any]]:
    """What code makes of the values of variables: it is given those behind flags, and they come back with the flags.

    Args:
        function: The code.
        values: What the variables hold that it reads.
        see: Is told what the code is given, before it runs.

    Returns:
        The results, and what makes of an attribute of an object in them the attribute with its flags.
    """
    known: dict[int, Maybe] = {}

    def given(part: Any) -> Any:
        if isinstance(part, Boxed):
            return object_of(part, all_given)
        if not isinstance(part, Maybe):
            return part
        inner = all_given(part.value)
        known[id(inner)] = Maybe(part.is_there, inner)
        return inner

    def all_given(value: Any) -> Any:
        return jax.tree.map(given, value, is_leaf=lambda part: isinstance(part, (Maybe, Boxed)))

    def held(part: Any) -> Any:
        return part.value if isinstance(part, Present) else known.get(id(part), part)

    arguments = list(map(all_given, values))  # what is made here is known by its identity: it is made once
    see(arguments)
    token = _known.set(known)
    try:
        results = list(function(*arguments))
    finally:
        _known.reset(token)
    is_whole: Callable[[Any], bool] = lambda part: isinstance(part, Present) or id(part) in known  # noqa: E731
    whole: Callable[[Any], Any] = lambda value: mapped(held, value, is_whole) if known else value  # noqa: E731
    return list(map(whole, results)), whole


def _is_maybe(part: Any) -> bool:
    return isinstance(part, Maybe)


def differs_by_lane(type_: Type) -> bool:
    """Whether something in a variable is None, or one of several objects, depending on the lane."""
    kinds = (Maybe, Choice, TensorType, Static)
    leaves = jax.tree.leaves(type_.tensors, is_leaf=lambda part: isinstance(part, kinds))
    return any(isinstance(leaf, (Maybe, Choice)) for leaf in leaves)


def is_made_on_the_way(type_: Type) -> bool:
    """Whether values of other types become what a variable holds where they go there."""
    return type_.grows or differs_by_lane(type_)


def has_to_be_lifted(given: Type, held: Type) -> bool:
    """Whether a value of one type is not what a variable of another holds, but is made that by ``lift``."""
    if given.treedef != held.treedef or given.metadata != held.metadata:
        return True
    pairs = list(zip(given.leaves, held.leaves, strict=True))
    if held.grows and any(_as_stored(a) != _as_stored(b) for a, b in pairs):
        return True
    return any(isinstance(a, Static) and isinstance(a.value, enum.Enum) and isinstance(b, TensorType) for a, b in pairs)


def _as_stored(leaf: TensorType | Static) -> Any:
    return (leaf.dtype, leaf.shape) if isinstance(leaf, TensorType) else leaf


def lift(value: Any, type_: Type) -> Any:
    """A value as a variable of some type holds it, which may be None in other lanes."""
    return _lifted(value, type_.tensors)


def _lifted(value: Any, kind: Any) -> Any:
    if isinstance(kind, Maybe):
        if value is None:
            return Maybe(jnp.bool_(False), jax.tree.map(_nothing, kind.value, is_leaf=_is_leaf))
        if isinstance(value, Maybe):
            return Maybe(value.is_there, _lifted(value.value, kind.value))
        return Maybe(jnp.bool_(True), _lifted(value, kind.value))
    if isinstance(kind, Choice):
        return Choice(jnp.asarray(moved(value, kind)), kind.objects)
    if isinstance(kind, Growing):
        return kind.hold(value)
    if isinstance(kind, TensorType) and isinstance(value, Choice):
        return jnp.asarray(value.each(int), kind.dtype)
    if isinstance(kind, TensorType) and isinstance(value, enum.IntEnum):
        return jnp.asarray(int(value), kind.dtype)
    if isinstance(kind, TensorType):
        return jnp.asarray(value, kind.dtype) if not kind.is_key else value
    if isinstance(kind, Static) or kind is None:
        return value
    parts, structure = opened(kind)
    given: Any = structure
    return jax.tree.unflatten(structure, map(_lifted, given.flatten_up_to(value), parts))


def _nothing(leaf: TensorType | Static) -> Any:
    """What stands in place of a value where there is none."""
    return jnp.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, TensorType) else leaf.value


def _is_leaf(part: Any) -> bool:
    return isinstance(part, (TensorType, Static))
