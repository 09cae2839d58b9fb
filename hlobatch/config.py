"""Switches read from the environment, in one place.

Every switch is read when it is needed, never at import, so that a test or a shell can set it for one run.
"""

from __future__ import annotations

import os
from pathlib import Path

INITIAL_STACK_DEPTH = 32
"""Frames each stack holds before it has to grow (the default of ``max_stack_depth``)."""

STACK_DEPTH_LIMIT = 1 << 16
"""Frames beyond which a growing stack is taken for endless recursion."""


def dump_directory() -> Path | None:
    """Folder that receives the numbered IR after each stage (``HLOBATCH_DUMP_IR``), or None."""
    value = os.environ.get("HLOBATCH_DUMP_IR")
    return Path(value) if value else None


def internal_frames_shown() -> bool:
    """Whether tracebacks keep hlobatch's own frames (``HLOBATCH_INTERNAL_FRAMES=1``)."""
    return os.environ.get("HLOBATCH_INTERNAL_FRAMES", "") not in ("", "0")


def verify_each() -> bool:
    """Whether the verifier runs between passes (on unless ``HLOBATCH_VERIFY_EACH=0``)."""
    return os.environ.get("HLOBATCH_VERIFY_EACH", "1") != "0"


def profile() -> Path | None:
    """File with what was measured of this machine (``HLOBATCH_PROFILE``), or None for what hlobatch was tried on."""
    value = os.environ.get("HLOBATCH_PROFILE")
    return Path(value) if value else None


def names_xla_flag(name: str) -> bool:
    """Whether the user set a flag of XLA's (``XLA_FLAGS``)."""
    return name in os.environ.get("XLA_FLAGS", "")
