"""The result of a batched function -> a value that is None in no lane.

::

    return memo[n]      ==>      the lane fails where the item is None: results are arrays, and cannot hold None

That is for values that may be None as far as their type says. A function that has ``return None`` in it, or ends
without a ``return``, is refused.
"""

from __future__ import annotations

from typing import Any

from hlobatch.analysis.type_errors import none_or_result
from hlobatch.diagnostics import MissingValueError
from hlobatch.ir.boxed import mapped
from hlobatch.values.facts import NotYet
from hlobatch.values.lane_failures import given
from hlobatch.values.optional import any_optional, is_optional


def has_to_return(value: Any) -> Any:
    """The result of the program, with a failure in lanes where a part of it is None.

    Raises:
        NotYet: It is None in all lanes, as far as is known.
    """
    if value is None:
        raise NotYet(none_or_result())
    return mapped(_given, value, is_optional) if any_optional(value) else value


def _given(part: Any) -> Any:
    return given(part, MissingValueError, "the result is None, and results are arrays: return a number in its place")
