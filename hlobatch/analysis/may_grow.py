"""An error while code is traced -> the variables whose containers may have to become growing ones to mend it."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any, Final

from hlobatch.diagnostics import HloBatchError
from hlobatch.ir.boxed import as_dict
from hlobatch.ir.growing import Growing
from hlobatch.ir.names import unsplit
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.patterns import parts_of
from hlobatch.ir.types import Static, Type

_BY_KEY: Final = (dict, set, collections.Counter, collections.defaultdict, collections.OrderedDict)


def may_grow(error: Exception, op: PrimOp, in_types: Sequence[Type]) -> tuple[tuple[str, int], ...]:
    """The variables whose containers may have to grow, with the nesting depths of these; empty for any other error.

    Args:
        error: The error.
        op: The primitive that was traced.
        in_types: The types of its operands.
    """
    kinds: tuple[type, ...] = ()
    empty = False
    about = error.about if isinstance(error, HloBatchError) else None
    if isinstance(about, tuple):
        return tuple(sorted({(unsplit(op.vars_in[index]), len(path)) for index, path in about}))
    if isinstance(error, (IndexError, ValueError)):
        kinds, empty = (list, collections.deque), True
    elif about is not None:
        kinds = (about,)
    elif isinstance(error, KeyError):
        kinds = _BY_KEY
    pairs = zip(op.vars_in, in_types, strict=True) if kinds else ()
    found = {(unsplit(n), depth) for n, type_ in pairs for depth in _depths(type_.tensors, kinds, empty)}
    return tuple(sorted(found))


def depths_of(pattern: Any, objects: Sequence[Any]) -> set[int]:
    """The nesting depths in a pattern of some Python objects in it."""
    if isinstance(pattern, Static):
        return {0} if any(pattern.value is one for one in objects) else set()
    if isinstance(pattern, Growing):
        return set()
    return {depth + 1 for part in parts_of(pattern) for depth in depths_of(part, objects)}


def _depths(pattern: Any, kinds: tuple[type, ...], empty: bool) -> set[int]:
    """The nesting depths in a pattern of the outermost containers of some classes.

    Args:
        pattern: The pattern.
        kinds: The classes.
        empty: Whether only containers without items count.
    """
    container = pattern.value if isinstance(pattern, Static) else as_dict(pattern)
    if type(container) in kinds and not (empty and len(container)):
        return {0}
    if isinstance(pattern, Growing):
        return set()
    return {depth + 1 for part in parts_of(pattern) for depth in _depths(part, kinds, empty)}
