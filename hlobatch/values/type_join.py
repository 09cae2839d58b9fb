"""Two types -> their join in the lattice of types: the type of a variable that is assigned values of both.

    nothing known  <  Python number  <  weak array  <  array

Python numbers adopt the dtype of an array they meet, as everywhere in JAX; two arrays have to agree exactly.
"""

from __future__ import annotations

import contextlib
import enum
import functools
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.boxed import Boxed
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import ALTERNATIVES, KINDS, Growing
from hlobatch.ir.maybe import Maybe
from hlobatch.ir.patterns import INSIDE, are_alike, parts_of, remade
from hlobatch.ir.reference import Reference, is_reference
from hlobatch.ir.types import Leaf, Static, TensorType, Type, is_leaf
from hlobatch.ir.value import is_value
from hlobatch.values import number_classes, whole_numbers
from hlobatch.values.kinds import Kinds, kind_of
from hlobatch.values.leaf_types import is_scalar, widened_leaf
from hlobatch.values.number_tables import NUMBERS, class_of
from hlobatch.values.one_of import OneOf

_CLASSES: Final = frozenset(NUMBERS)
_JOINING: Final = (Reference, OneOf, Maybe)
"""The kinds of value that are joins of other kinds, in the order in which they are tried: None beside an object is one
of two objects, and beside a number it is a number that may be None. A type does not know what it becomes beside
another, so this is the one place that lists kinds."""


class DisagreementError(Exception):
    """Two types without a join; the text says how they differ."""


class MisfitError(DisagreementError):
    """A Python number that is too large for a dtype.

    Attributes:
        number: The number.
        dtype: The dtype.
    """

    def __init__(self, number: complex, joined: TensorType) -> None:
        super().__init__(f"one is {number}, the other {joined}, which cannot hold it")
        self.number, self.dtype = number, joined.dtype


class NoneError(DisagreementError):
    """One type has None where the other has a value, or they have different Python objects."""


class SeveralError(DisagreementError):
    """Two types that have a join if a variable may hold numbers, texts, containers of several kinds."""


class EndlessError(DisagreementError):
    """Objects of one class, each in an attribute of another, to no known depth: no finite type is above all of them."""


MOST_INSIDE: Final = 8
"""Most levels of nesting of values that may be None; a loop that links objects adds a level each turn."""
MOST_LEAVES_OF_A_TREE: Final = 24
"""Most leaves of a value in which values that may be None are nested ``LEAST_INSIDE_OF_A_TREE`` deep: an object with
two attributes of its own class doubles them with each level, and inference takes minutes with a hundred. Such objects
are held in columns (``transforms/remedies.py``). Chosen by judgement (2026-11)."""
LEAST_INSIDE_OF_A_TREE: Final = 3


def join(left: Type, right: Type, *, optional: bool = False, several: bool = False) -> Type:
    """The least type above both.

    Args:
        left: One type.
        right: The other.
        optional: Whether None and a value have a join.
        several: Whether values of any two kinds have a join, and None, too.

    Raises:
        DisagreementError: The types have no join.
    """
    if left == right:
        return left
    if left.grows or right.grows:
        left, right = map(Type, _both_aligned(left.tensors, right.tensors))
    try:
        return _join_patterns(left, right)
    except DisagreementError as reason:
        if left.treedef == right.treedef and not left.has_pattern_of(right):
            raise  # they differ in metadata of nodes, which has no join
        try:
            joined = Type(remade(_SEVERAL.above if several else _above, left.tensors, right.tensors))
        except EndlessError:
            raise
        except (DisagreementError, BatchTypeError):
            if not several and _has_join_of_several(left, right):
                raise SeveralError(str(reason)) from None
            raise reason from None
        if not optional and not several and not _only_refers(left, right, joined):
            raise NoneError(str(reason)) from None
        return joined


def _has_join_of_several(left: Type, right: Type) -> bool:
    with contextlib.suppress(DisagreementError, BatchTypeError):
        remade(_SEVERAL.above, left.tensors, right.tensors)
        return True
    return False


def _only_refers(left: Type, right: Type, joined: Type) -> bool:
    """Whether the join has nothing that may be None, and is so in neither type, but references."""
    if not any(map(is_reference, jax.tree.leaves(joined.tensors, is_leaf=is_reference))):
        return False
    return _differing(joined.tensors) <= max(map(_differing, (left.tensors, right.tensors)))


def _differing(pattern: Any) -> int:
    """The number of parts that are None, or one of several objects, depending on the lane, but for references."""
    differs = is_value(pattern) and pattern.hb_differs and not is_reference(pattern)
    return differs + (0 if is_leaf(pattern) else sum(map(_differing, parts_of(pattern))))


def join_of_results(left: Type, right: Type) -> Type:
    """The join of two types of a result of the program, in which no part is one of several objects.

    Raises:
        DisagreementError: The types have no join.
    """
    try:
        with number_classes.keeping(apart=False):
            return join(left, right)
    except NoneError as reason:
        joined = with_texts(join(left, right, optional=True))
        parts = jax.tree.leaves(joined.tensors, is_leaf=is_value)
        if any(is_value(part) and part.hb_differs for part in parts):
            raise reason from None
        return joined


def with_texts(type_: Type) -> Type:
    """A type with lanes' texts in place of choices among known texts, and one number in place of several kinds."""
    return Type(jax.tree.map(_as_text, type_.tensors, is_leaf=is_pattern))


def _as_text(part: Any) -> Any:
    if isinstance(part, Kinds) and all(kind in NUMBERS for kind in part.hb_kinds):
        return widened_leaf(max(part.hb_parts, key=lambda one: NUMBERS.index(kind_of(one))))
    is_text = isinstance(part, Choice) and all(type(one) is str for one in part.hb_objects)
    return KINDS[str].type_of(part) if is_text else part


def makes_kinds(left: Type, right: Type) -> bool:
    """Whether the join of two types has an object of one of several kinds where neither of them has."""
    try:
        joined = join(left, right, optional=True)
    except DisagreementError:
        return False
    return _kinds_in(joined) > max(map(_kinds_in, (left, right)))


def _kinds_in(type_: Type) -> int:
    """The number of parts of a type that are objects of one of several kinds."""
    pending, found = [type_.tensors], 0
    while pending:
        part = pending.pop()
        found += isinstance(part, Kinds)
        pending += [] if is_leaf(part) else parts_of(part)
    return found


def _both_aligned(left: Any, right: Any) -> tuple[Any, Any]:
    """Two patterns, with containers that grow in both where they do in one."""
    return (
        remade(lambda one, other: _aligned(one, other, one), left, right),
        remade(lambda other, one: _aligned(one, other, other), right, left),
    )


def _aligned(left: Any, right: Any, own: Any) -> Any:
    """The pattern ``own``, with a container that grows on either side replaced by one that can hold both."""
    for one, other in ((left, right), (right, left)):
        may_be_none = (
            isinstance(one, Growing) and one.hb_inside is not one and (other is None or isinstance(other, Maybe))
        )
        if isinstance(one, Growing) and not may_be_none:
            if _is_no_container(other) or (is_leaf(other) and kind_of(other) in (*NUMBERS, "array")):
                return own  # no container of the kind
            try:
                return one.together(other)
            except BatchTypeError as reason:
                raise DisagreementError(reason.message) from None
    is_whole = any(part is None or is_pattern(part) for part in (left, right))
    return own if is_whole or not are_alike(left, right) else INSIDE


def _is_no_container(part: Any) -> bool:
    return isinstance(part, Kinds) or (isinstance(part, Boxed) and not issubclass(part.cls, dict))


def _join_patterns(left: Type, right: Type) -> Type:
    if left.treedef != right.treedef:
        raise DisagreementError(f"one is {left}, the other {right}")
    for one, other in zip(left.metadata, right.metadata, strict=True):
        if one != other:
            raise DisagreementError(f"one has {one} beside its arrays, the other {other}")
    pairs = zip(left.leaves, right.leaves, strict=True)
    return Type.of_leaves(tuple(_join_leaves(a, b) for a, b in pairs), left.treedef)


@dataclass(frozen=True)
class _Join:
    """The join of two patterns, one of which has None or a Python object where the other has something else.

    Attributes:
        several: Whether values of any two kinds have a join.
    """

    several: bool

    def above(self, left: Any, right: Any) -> Any:
        """The join of two parts of patterns; ``INSIDE`` if it is that of the parts inside of them."""
        if left is None and right is None:
            return None
        # Beside a number, a member of an `IntEnum` is an integer.
        if any(isinstance(one, TensorType) or (isinstance(one, Static) and is_scalar(one)) for one in (left, right)):
            left, right = map(as_number, (left, right))
        if self.several:
            left, right = _none_beside(left, right), _none_beside(right, left)
        for kind in _JOINING:
            joined = kind.hb_join(left, right, self.of_one_kind, _beside_none)
            if joined is not NotImplemented:
                return joined
        if (joined := Kinds.hb_join(left, right, self.of_one_kind, _bounded)) is not NotImplemented:
            return joined
        try:
            if is_leaf(left) and is_leaf(right):
                return _join_leaves(left, right)
            if are_alike(left, right):
                return INSIDE
            raise DisagreementError("they are of different kinds")
        except DisagreementError:
            if not self.several or not _are_apart(left, right):
                raise
            if (joined := Kinds.hb_of_several(left, right, self.of_one_kind, _bounded)) is NotImplemented:
                raise
            return joined

    def of_one_kind(self, left: Any, right: Any) -> Any:
        """The join of two patterns of one kind of object."""
        return remade(self.above, *_both_aligned(left, right))


_above: Final = _Join(False).above
_SEVERAL: Final = _Join(True)


def _none_beside(part: Any, other: Any) -> Any:
    """A pattern with None beside the other objects of a choice, where the other pattern is no object."""
    if not isinstance(part, Choice) or isinstance(other, Choice) or other is None or kind_of(other) == "object":
        return part
    left = [Static(one) for one in part.hb_objects if one is not None]
    if len(left) == len(part.hb_objects):
        return part
    return Maybe(TensorType(np.dtype(bool)), functools.reduce(_above, left))


def _are_apart(left: Any, right: Any) -> bool:
    """Whether two patterns are of kinds that no code takes for one: not tuples of two lengths, nor number and array."""
    kinds = kind_of(left), kind_of(right)
    if kinds[0] == kinds[1] or all(isinstance(kind, tuple) for kind in kinds):
        return False
    return not ("array" in kinds and any(kind in NUMBERS for kind in kinds))


def _beside_none(value: Any) -> Any:
    """The type of a value that may be None, with numbers as tensors; the empty tuple may become a longer one."""
    if type(value) is tuple and not value:
        value = ALTERNATIVES[tuple].type_of(value)
    if isinstance(value, Growing):
        value = value.counted()
    if isinstance(value, Kinds):
        parts = [part if kind_of(part) == "object" else _beside_none(part) for part in value.hb_parts]
        return _bounded(Kinds(value.hb_tag, parts, value.hb_kinds))
    leaves = jax.tree.leaves(_bounded(value), is_leaf=is_leaf)
    if not leaves or not all(is_scalar(leaf) or (isinstance(leaf, TensorType) and not leaf.is_key) for leaf in leaves):
        raise DisagreementError("there is nothing that can stand for None")
    return jax.tree.map(widened_leaf, value, is_leaf=is_leaf)


def _bounded(value: Any) -> Any:
    """A type that is None, or of another kind, in some lanes.

    Raises:
        EndlessError: Such types are nested in it too deeply.
    """
    depth, size = _depth(value), len(jax.tree.leaves(value, is_leaf=is_leaf))
    if depth > MOST_INSIDE or (depth >= LEAST_INSIDE_OF_A_TREE and size > MOST_LEAVES_OF_A_TREE):
        raise EndlessError("one holds a value or None, that another, and so on without end")
    return value


def _depth(pattern: Any) -> int:
    """How deeply values that may be None, or of several kinds, are nested in a pattern."""
    return isinstance(pattern, (Maybe, Kinds)) + max(map(_depth, parts_of(pattern)), default=0)


def is_pattern(part: Any) -> bool:
    """Whether a part of a type is a leaf, or a choice among objects or kinds, which takes the place of one."""
    return is_leaf(part) or isinstance(part, (Choice, Kinds))


def as_number(pattern: Any) -> Any:
    """A pattern; for a member of an ``IntEnum``, or a choice among such, the pattern of an integer."""
    if isinstance(pattern, Static) and isinstance(pattern.value, enum.IntEnum):
        number_classes.member_is_number()
        return Static(int(pattern.value))
    if isinstance(pattern, Choice) and all(isinstance(value, enum.IntEnum) for value in pattern.hb_objects):
        number_classes.member_is_number()
        return widened_leaf(Static(0))
    return pattern


def _join_leaves(left: Leaf, right: Leaf) -> Leaf:
    if left == right:
        return left
    kinds = kind_of(left), kind_of(right)
    if kinds[0] != kinds[1] and _CLASSES.issuperset(kinds) and number_classes.stay_apart():
        raise DisagreementError(f"one is {left}, the other {right}")
    if isinstance(left, Static) or isinstance(right, Static):
        if not all(isinstance(leaf, TensorType) or is_scalar(leaf) for leaf in (left, right)):
            raise DisagreementError(f"one is {left}, the other {right}")
        joined = _join_leaves(*_widened_for_each_other(left, right))
        check_number(left, joined)
        check_number(right, joined)
        return joined
    if left.shape != right.shape:
        raise DisagreementError(f"one has shape {list(left.shape)}, the other {list(right.shape)}")
    return _join_dtypes(left, right)


def _widened_for_each_other(left: Leaf, right: Leaf) -> tuple[Leaf, Leaf]:
    """Two leaves as tensors; an integer beside a float becomes a float whatever its size."""
    widened = widened_leaf(left), widened_leaf(right)
    if any(isinstance(leaf, TensorType) and jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in widened):
        small = Static(0)
        return tuple(  # type: ignore[return-value]
            widened_leaf(small) if isinstance(leaf, Static) and type(leaf.value) is int else wide
            for leaf, wide in zip((left, right), widened, strict=True)
        )
    return widened


def _join_dtypes(left: TensorType, right: TensorType) -> TensorType:
    if left.dtype == right.dtype:
        return TensorType(left.dtype, left.shape, left.weak and right.weak)
    if left.weak and right.weak and bool not in (left.dtype, right.dtype):
        return left if jnp.promote_types(left.dtype, right.dtype) == left.dtype else right
    for weak, strong in ((left, right), (right, left)):
        if weak.weak and not strong.weak and adopts(weak, strong):
            return strong
    raise DisagreementError(f"one is {left}, the other {right}")


def check_number(leaf: Leaf, joined: Leaf) -> None:
    """Refuse a Python number that overflows in the dtype of the join."""
    if not isinstance(leaf, Static) or not isinstance(joined, TensorType):
        return
    number, dtype = leaf.value, joined.dtype
    if jnp.issubdtype(dtype, jnp.integer):
        is_held = whole_numbers.fits(number, dtype)
    else:
        with np.errstate(over="ignore"):
            is_held = not np.isfinite(number) or bool(np.isfinite(np.asarray(number).astype(dtype)))
    if not is_held:
        raise MisfitError(number, joined)


def adopts(weak: TensorType, strong: TensorType) -> bool:
    """Whether a Python number takes exactly the dtype of the other type when the two meet in JAX."""
    if weak.is_key or strong.is_key or bool in (weak.dtype, strong.dtype):
        return False
    # `jax.dtypes.result_type` knows the weakness of values, but not of types.
    return NUMBERS.index(class_of(weak.dtype)) <= NUMBERS.index(class_of(strong.dtype))
