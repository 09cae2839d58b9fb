"""Containers whose items a loop addresses by index, since names stand for parts of them (``by_place.py``)."""

from __future__ import annotations

from collections import deque
from typing import Any

from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.builtins import is_array
from hlobatch.ir.growing import Growing
from hlobatch.ir.value import Collection


def numbered(value: Any, error: HloBatchError) -> Any:
    """The container, if its items can be indexed in the order of iteration.

    Raises:
        HloBatchError: They cannot; it is the given error.
    """
    is_one = type(value) in (list, tuple, deque) or is_array(value)
    if not is_one and not (isinstance(value, Collection) and isinstance(value, Growing) and not _has_keys(value)):
        raise error
    return value


def _has_keys(value: Any) -> bool:
    return issubclass(getattr(value, "python", list), (dict, set))
