"""A variable that holds an object of one of several kinds -> the variable in the lanes of one kind, with that object.

::

    %shape: Kinds(tag, Circle(r), Square(side))
    %circle = prim "shape of kind 0" (%shape)              ==>    Circle(r)

``frontend/by_kind.py`` branches on the tag before. The object is the one that the variable holds, and no copy.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from hlobatch.values import identity
from hlobatch.values.kinds import Kinds, Way, asked, held_as, kind_of_value
from hlobatch.values.one_of import maybe
from hlobatch.values.optional import optional


def is_of_kind(root: Any, way: Way, kinds: tuple[Any, ...], number: int) -> Any:
    """Whether the object in a part of a variable is of a kind; known if it is the same for all lanes.

    Args:
        root: The value of the variable.
        way: The steps to the part.
        kinds: The kinds.
        number: The number of the kind.
    """
    value = _part(root, way)
    if not isinstance(value, Kinds):
        kind = kind_of_value(value)
        return number == (kinds.index(kind) if kind in kinds else 0)
    if kinds[number] in value.hb_kinds:
        return value.hb_tag == value.hb_kinds.index(kinds[number])
    # An integer may have been of a kind of its own before a float was known, so that the answer differed between lanes.
    return jnp.bool_(False) & (value.hb_tag == 0) if held_as(kinds[number], value.hb_kinds) in value.hb_kinds else False


def of_kind(root: Any, way: Way, kinds: tuple[Any, ...], number: int) -> Any:
    """The value of a variable, in a part of which there is an object of one kind.

    Args:
        root: The value of the variable.
        way: The steps to the part.
        kinds: The kinds, which are tested for one after the other.
        number: The number of the kind.

    Raises:
        Learned: There are other kinds than those.
    """
    value = _part(root, way)
    if not isinstance(value, Kinds):
        return root
    if not set(kinds).issuperset(value.hb_kinds):
        asked(value)
    own = held_as(kinds[number], value.hb_kinds)
    kind = value.hb_kinds.index(own) if own in value.hb_kinds else 0  # no lane gets here
    part, known = value.hb_parts[kind], optional(value)
    return _with_part(root, way, part if known is None else maybe(known.is_there, part))


def _part(value: Any, way: Way) -> Any:
    """The part of a value to which steps lead; None if there is none."""
    for kind, key in way:
        try:
            value = getattr(value, key) if kind == "." else value[key]
        except (AttributeError, LookupError, TypeError):
            return None
    return value


def _with_part(value: Any, way: Way, new: Any) -> Any:
    """The value with ``new`` for the part to which steps lead, which stands for the same object."""
    if not way:
        return new
    (kind, key), *rest = way
    inner = _with_part(_part(value, way[:1]), tuple(rest), new)
    if hasattr(value, "_fields"):
        return value._replace(**{key: inner})
    if isinstance(value, tuple):
        return tuple(inner if index == key else item for index, item in enumerate(value))
    if kind == ".":
        object.__setattr__(value, key, inner)
    else:
        value[key] = inner
    identity.is_as_before(value)
    return value
