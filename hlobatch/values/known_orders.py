"""A dict whose order is asked for -> an error, if that order depends on the lane; see ``frontend/dict_order.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.boxed import has_lost_its_order


def check_order(entries: Mapping[Any, Any], does: str, instead: str = "") -> None:
    """Raise an error if the keys of a dict are in no known order.

    Args:
        entries: The dict.
        does: What the code does with a dict for which its order matters.
        instead: The beginning of the help: what else to do.

    Raises:
        BatchTypeError: Its keys are in different orders on two paths.
    """
    if has_lost_its_order(entries):
        error = BatchTypeError(
            f"this {does} a dict whose keys are in different orders on two paths",
            help=f"{instead}insert its keys in one order on both paths.",
        )
        error.orders = frozenset({frozenset(entries)})
        raise error
