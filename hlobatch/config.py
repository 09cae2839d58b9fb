"""Settings read from the environment, in one place.

A setting is read whenever it is needed, never at import, so that a test or a shell can set it for one run.
"""

from __future__ import annotations

import os
from pathlib import Path

INITIAL_STACK_DEPTH = 32
"""Frames each stack holds before it has to grow (the default of ``max_stack_depth``)."""

STACK_DEPTH_LIMIT = 1 << 16
"""Depth in frames beyond which a growing stack is taken for endless recursion."""


def dump_directory() -> Path | None:
    """Folder to write the numbered IR to after each stage (``HLOBATCH_DUMP_IR``); None for no dumps."""
    value = os.environ.get("HLOBATCH_DUMP_IR")
    return Path(value) if value else None


def internal_frames_shown() -> bool:
    """Whether tracebacks keep hlobatch's own frames (``HLOBATCH_INTERNAL_FRAMES=1``)."""
    return os.environ.get("HLOBATCH_INTERNAL_FRAMES", "") not in ("", "0")


def verify_each() -> bool:
    """Whether the verifier runs between passes (on unless ``HLOBATCH_VERIFY_EACH=0``)."""
    return os.environ.get("HLOBATCH_VERIFY_EACH", "1") != "0"


def profile() -> Path | None:
    """File with measurements of this machine (``HLOBATCH_PROFILE``); None for the built-in measurements."""
    value = os.environ.get("HLOBATCH_PROFILE")
    return Path(value) if value else None


def own_code() -> str | None:
    """Which threads of a GPU run code of lanes (``HLOBATCH_OWN_CODE``); None for those that are expected to win."""
    return os.environ.get("HLOBATCH_OWN_CODE") or None
