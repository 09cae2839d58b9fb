"""Tests of a ``match`` on the structure of its subject -> their results, which all lanes share.

::

    case [x, *rest]:          __hb_is_sequence(subject, 1, …); x = subject[0]; rest = __hb_middle(subject, 1, 0)
    case Point(x=0):          __hb_is_of_class(subject, Point, …)

``patterns.py`` puts these functions into programs; they run while the code is traced.

Reference: PEP 634.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.builtins import is_array, logical_not, truth
from hlobatch.frontend.lane_numbers import as_bool
from hlobatch.frontend.lane_ranges import LaneRange
from hlobatch.frontend.python_numbers import as_python, has_attribute, is_instance
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing
from hlobatch.values.one_of import for_each
from hlobatch.values.optional import is_several
from hlobatch.values.own_containers import content

_ITSELF: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional pattern matches the subject itself."""


def is_singleton(subject: Any, value: bool) -> Any:
    """Whether the subject is ``True`` or ``False``; for a bool of a lane, the bool or its negation."""
    if is_several(subject):
        return for_each(lambda one: is_singleton(one, value), subject)
    if not is_array(subject):
        return subject is value
    if subject.dtype != bool or subject.shape != ():
        as_python(subject)  # asks for the class of a number
        return False
    return truth(subject) if value else logical_not(subject)


def is_sequence(subject: Any, least: int, or_more: bool) -> Any:
    """Whether the subject is a sequence of ``least`` items, or at least as many; arrays and texts are no sequences."""
    if is_several(subject):
        return for_each(lambda one: is_sequence(one, least, or_more), subject)
    subject = content(subject)
    if isinstance(subject, LaneRange):
        length = subject.length()
        return as_bool(length >= least if or_more else length == least)
    if isinstance(subject, Growing) and subject.python is not str:
        raise _refused_length(subject)
    if is_array(subject) or isinstance(subject, (str, bytes, bytearray)) or not isinstance(subject, Sequence):
        return False
    return len(subject) >= least if or_more else len(subject) == least


def _refused_length(subject: Growing) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"a `match` looks into a {subject.python.__name__} of another length in each lane",
        help="ask for its length and take its items, as in `if len(items) > 0` and `first = items[0]`.",
    )


def middle(subject: Sequence[Any], begin: int, end: int) -> list[Any]:
    """The list that a starred pattern binds; ``end`` counts from the subject's end."""
    if isinstance(subject, Choice):
        return for_each(lambda one: middle(one, begin, end), subject)  # type: ignore[no-any-return]
    return list(content(subject))[begin : len(subject) + end]


def is_mapping(subject: Any, *keys: Any) -> Any:
    """Whether the subject is a dict with these keys."""
    if is_several(subject):
        return for_each(lambda one: is_mapping(one, *keys), subject)
    subject = content(subject)
    if isinstance(subject, Growing) and subject.python is not str:
        raise _refused_length(subject)
    return isinstance(subject, Mapping) and all(key in subject for key in keys)


def remaining(subject: Mapping[Any, Any], *keys: Any) -> dict[Any, Any]:
    """The entries of a dict without the keys that have patterns."""
    return {key: value for key, value in content(subject).items() if key not in keys}


def is_of_class(subject: Any, kind: Any, *attributes: int | str) -> Any:
    """Whether the subject is an instance of a class and has the attributes for which there are patterns."""
    if is_several(subject):
        return for_each(lambda one: is_of_class(one, kind, *attributes), subject)
    if not isinstance(kind, type):
        raise TypeError("called match pattern must be a class")
    if not is_instance(subject, kind):
        return False
    positional = [name for name in attributes if isinstance(name, int)]
    limit = 1 if kind in _ITSELF else len(getattr(kind, "__match_args__", ()))
    if len(positional) > limit:
        raise TypeError(f"{kind.__name__}() accepts {limit} positional sub-patterns ({len(positional)} given)")
    names = (_name(kind, a) for a in attributes)
    return all(name is None or has_attribute(subject, name) for name in names)


def attribute(subject: Any, kind: Any, which: int | str) -> Any:
    """The part of the subject that a pattern inside a class pattern matches."""
    name = _name(kind, which)
    return subject if name is None else getattr(subject, name)


def _name(kind: Any, which: int | str) -> str | None:
    """The name of an attribute; None if the pattern matches the subject itself."""
    if isinstance(which, str):
        return which
    name: str | None = None if kind in _ITSELF else kind.__match_args__[which]
    return name
