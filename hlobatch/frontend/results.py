"""What a batched function returns -> a value in every lane.

::

    return memo[n]      ==>      the lane fails where that is None: results are arrays, in which None has no place

So it is where a value may be None as far as its type says. A function that says ``return None`` itself, or comes to its
end without a word, is refused.
"""

from __future__ import annotations

from typing import Any

from hlobatch.analysis.facts import NotYet
from hlobatch.analysis.lane_failures import given
from hlobatch.analysis.optional import any_optional, is_optional
from hlobatch.analysis.type_errors import none_or_result
from hlobatch.diagnostics import MissingValueError
from hlobatch.ir.boxed import mapped


def has_to_return(value: Any) -> Any:
    """What is returned, of which no part is None in any lane that goes on.

    Raises:
        NotYet: It is None in all lanes, as far as is known.
    """
    if value is None:
        raise NotYet(none_or_result())
    return mapped(_given, value, is_optional) if any_optional(value) else value


def _given(part: Any) -> Any:
    return given(part, MissingValueError, "the result is None, and results are arrays: return a number in its place")
