"""The lock with which syntax is compiled: CPython 3.11 fails with a ``SystemError`` where two threads do so."""

from __future__ import annotations

import threading
from typing import Final

ONE_AT_A_TIME: Final = threading.Lock()
"""Held while syntax trees are made or compiled."""
