"""The items that a loop goes over by their numbers, whose names stand for parts of the container (``by_place.py``)."""

from __future__ import annotations

from collections import deque
from typing import Any

from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.builtins import is_array
from hlobatch.ir.growing import Growing
from hlobatch.ir.value import Collection


def numbered(value: Any, error: HloBatchError) -> Any:
    """A container whose items are found by their numbers, in the order in which a loop comes by them.

    Raises:
        HloBatchError: It is none.
    """
    is_one = type(value) in (list, tuple, deque) or is_array(value)
    if not is_one and not (isinstance(value, Collection) and isinstance(value, Growing) and not _has_keys(value)):
        raise error
    return value


def _has_keys(value: Any) -> bool:
    return issubclass(getattr(value, "python", list), (dict, set))
