"""Values of one variable whose types do not fit together -> an error at both of them, with what to write instead.

The error names the user's variable and the calls that led there. For type inference, it also names the containers that
would fit if they grew, or the variable that would fit if it might be None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import jax

from hlobatch.analysis.advice import advice
from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.explanations import LARGE_NUMBERS
from hlobatch.diagnostics import UNKNOWN, BatchTypeError, HloBatchError, Location, Note
from hlobatch.ir.boxed import as_dict
from hlobatch.ir.growing import ALTERNATIVES, KINDS, Growing
from hlobatch.ir.names import as_written, unsplit
from hlobatch.ir.patterns import parts_of
from hlobatch.ir.program import MAIN
from hlobatch.ir.types import Static, Type
from hlobatch.values.growing_tables import GrowingDict
from hlobatch.values.type_join import (
    DisagreementError,
    EndlessError,
    MisfitError,
    NoneError,
    SeveralError,
    is_pattern,
    join,
)

RESULT: Final = "$result"
"""The value of an error's ``none_or_value`` if it is about the program's result."""

Origin = tuple[Location, Type]
"""A place that gives a variable a value, and the type of the value."""


def disagreement(
    name: str, new: Origin, origins: Sequence[Origin], reason: DisagreementError, *, is_result: bool
) -> BatchTypeError:
    """The error for values of a variable whose types do not fit together.

    Args:
        name: The variable.
        new: The place and the type of the newest value.
        origins: The places and types of earlier values.
        reason: The disagreement.
        is_result: Whether it is a result of the program.
    """
    (location, type_), short = new, as_written(user_name(name))
    what = _values_of(short)
    others = [(w, t) for w, t in origins if not _joinable(t, type_)]
    if not others and isinstance(reason, MisfitError):  # the number does not fit even by itself
        return BatchTypeError(f"{what}: {reason.number} is too large for {reason.dtype}", location, help=LARGE_NUMBERS)
    if isinstance(reason, EndlessError):
        endless = BatchTypeError(
            f"{what} have no one type: {reason}",
            location,
            help="keep what the objects hold in lists, and let them refer to each other by index: `values.append(v)`, "
            "`following.append(head)`, `head = len(values) - 1`, with -1 for None.",
        )
        endless.is_of_references = True
        return endless
    where, other = (*others, *origins)[0]  # each may have a join with the new one that all have not
    error = BatchTypeError(
        f"{what} have types that disagree between two paths: {reason}",
        location,
        notes=[Note(f"here it is {other}", where)],
        help=f"here it is {type_}; {advice((type_, location), (other, where), short)}",
    )
    depths = (_depth_of_difference(type_.tensors, t.tensors) for _, t in origins)
    error.may_grow = tuple((unsplit(name), depth) for depth in {*depths} if depth is not None)
    error.orders = frozenset(keys for _, t in origins for keys in _orders_that_differ(type_.tensors, t.tensors))
    if isinstance(reason, NoneError):
        error.none_or_value = RESULT if is_result else unsplit(name)
    if isinstance(reason, SeveralError) and not is_result:
        error.of_several = unsplit(name)
    return error


def none_or_result(location: Location = UNKNOWN) -> BatchTypeError:
    """The error for a result of the program that is None in some lanes, or one of several objects."""
    error = BatchTypeError(
        "what is returned here is None in some lanes, or one of several objects, and results are arrays",
        location,
        help="return a number in its place where it `is None`, or a flag beside it; numbers in place of objects.",
    )
    error.none_or_value = RESULT
    return error


def _values_of(short: str) -> str:
    """The values of a variable, in the words of a message."""
    if short == "$result":
        return "the values returned"
    return "the two sides" if short.startswith("$") else f"the values of {short!r}"


def _joinable(left: Type, right: Type) -> bool:
    try:
        join(left, right)
    except DisagreementError:
        return False
    return True


def _depth_of_difference(left: Any, right: Any) -> int | None:
    """The nesting depth in two patterns of lists of different lengths, dicts of other keys, or other Python objects."""
    left, right = as_dict(left), as_dict(right)
    if isinstance(left, dict) and isinstance(right, dict) and list(left) != list(right):
        if left.keys() == right.keys() and any(isinstance(part, str) for part in jax.tree.leaves(list(left))):
            return None  # such dicts, which may be results, are sorted, as JAX has them
        return 0 if GrowingDict.can_hold(left) and GrowingDict.can_hold(right) else None
    if isinstance(left, list) and isinstance(right, list) and len(left) != len(right):
        return 0
    if type(left) is tuple and type(right) is tuple and len(left) != len(right):
        return 0 if all(map(ALTERNATIVES[tuple].can_hold, (left, right))) else None
    if any(part is None or is_pattern(part) or isinstance(part, Growing) for part in (left, right)):
        kinds = [type(part.value) for part in (left, right) if isinstance(part, Static)]
        return 0 if kinds and kinds[:1] == kinds[1:] and kinds[0] in KINDS and kinds[0] is not str else None
    depths = map(_depth_of_difference, parts_of(left), parts_of(right))
    return next((depth + 1 for depth in depths if depth is not None), None)


def _orders_that_differ(left: Any, right: Any) -> Iterator[frozenset[Any]]:
    """The keys of those dicts in two patterns that have the same keys in different orders."""
    left, right = as_dict(left), as_dict(right)
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys() and list(left) != list(right):
        yield frozenset(left)
        right = {key: right[key] for key in left}
    if not any(part is None or is_pattern(part) for part in (left, right)):
        for one, other in zip(_inside(left), _inside(right), strict=False):
            yield from _orders_that_differ(one, other)


def _inside(pattern: Any) -> list[Any]:
    return list(pattern.values()) if isinstance(pattern, dict) else parts_of(pattern)


def through_calls(
    error: HloBatchError, function: str, called_from: Mapping[str, tuple[str, Location]]
) -> HloBatchError:
    """An error with notes on the calls by which control first reached its function."""
    seen: set[str] = set()
    while function in called_from and function not in seen:
        seen.add(function)
        function, location = called_from[function]
        if function != MAIN:
            error = error.called_from(location)
    return error
