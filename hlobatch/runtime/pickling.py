"""The form in which ``pickle`` keeps a batched function: the name to import it by, or its parts.

Plain functions are kept in the same two ways: ``pickle`` and ``multiprocessing`` keep the name, and ``cloudpickle``
keeps the value if the function was written in a notebook or a script. A batched function that is kept by value includes
its source, since programs are made from source.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any, Final

from hlobatch.frontend.files import lines_of, remember

_SCRIPT: Final = "__main__"
_BY_VALUE: Final = "cloudpickle"
"""Part of the name of each module that pickles functions by value: Ray and joblib have copies of cloudpickle."""
_LINES: Final = "lines"


def reduced(made: Any, parts: Mapping[str, Any]) -> str | tuple[Any, ...]:
    """The result of ``made.__reduce__``, which has to call this directly.

    Args:
        made: A batched function.
        parts: The arguments of its class, by parameter.
    """
    by_value = _BY_VALUE in sys._getframe(2).f_globals.get("__name__", "")
    name = getattr(made, "__qualname__", "")  # none if the function is no function of Python
    if _stands_at(made.__module__, name) is made and not (by_value and made.__module__ == _SCRIPT):
        return str(name)
    is_read = by_value and isinstance(parts["function"], types.FunctionType)
    lines = tuple(lines_of(parts["function"])) if is_read else ()
    return _blank, (type(made),), {**parts, _LINES: lines}


def restore(made: Any, state: Mapping[str, Any]) -> None:
    """Initialize a batched function from its pickled state."""
    parts = dict(state)
    if lines := parts.pop(_LINES):
        remember(parts["function"], lines)
    made.__init__(**parts)


def _blank(kind: type[Any]) -> Any:
    """An uninitialized object: it exists before its function is unpickled, which may refer to it."""
    return object.__new__(kind)


def _stands_at(module: str, name: str) -> Any:
    """The object that a module has under a dotted name; None if there is none."""
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value
