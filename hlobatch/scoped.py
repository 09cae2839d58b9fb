"""A context in which a context variable has a value; most modules that keep one offer it under a name of their own.

::

    def with_room(times):
        return having(_room, times)         within it, ``_room.get()`` is ``times``
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any, TypeVar

T = TypeVar("T")


@contextlib.contextmanager
def having(variable: contextvars.ContextVar[Any], value: T) -> Iterator[T]:
    """A context in which a variable has a value, which ``with … as`` gives."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
