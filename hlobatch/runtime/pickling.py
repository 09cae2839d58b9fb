"""A batched function -> what ``pickle`` keeps of it: the name by which it can be imported, or what it was made of.

Plain functions are kept in the same two ways: by ``pickle`` and ``multiprocessing`` by name, and by ``cloudpickle`` by
value if they were written in a notebook or a script. A batched function that is kept by value takes its source along,
since a program is made from source.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from hlobatch.frontend.files import lines_of, remember

_SCRIPT: Final = "__main__"
_BY_VALUE: Final = "cloudpickle"
"""What is part of the name of each module that pickles functions by value: Ray and joblib have copies of it."""
_LINES: Final = "lines"


def reduced(made: Any, parts: Mapping[str, Any]) -> str | tuple[Any, ...]:
    """What ``made.__reduce__`` gives, from where this has to be called.

    Args:
        made: A batched function.
        parts: What it is made of, by parameter of its class.
    """
    by_value = _BY_VALUE in sys._getframe(2).f_globals.get("__name__", "")
    name = made.__qualname__
    if _stands_at(made.__module__, name) is made and not (by_value and made.__module__ == _SCRIPT):
        return str(name)
    lines = tuple(lines_of(parts["function"])) if by_value else ()
    return _blank, (type(made),), {**parts, _LINES: lines}


def restore(made: Any, state: Mapping[str, Any]) -> None:
    """Make a batched function of what was kept of it."""
    parts = dict(state)
    if lines := parts.pop(_LINES):
        remember(parts["function"], lines)
    made.__init__(**parts)


def _blank(kind: type[Any]) -> Any:
    """An object to be restored: it exists before its function is known, which may name it."""
    return object.__new__(kind)


def _stands_at(module: str, name: str) -> Any:
    """What a module has by a dotted name."""
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value
