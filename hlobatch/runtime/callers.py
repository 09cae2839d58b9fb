"""Where in the user's code a call into hlobatch was made."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import hlobatch.diagnostics as _diagnostics
from hlobatch.diagnostics import UNKNOWN, Location

_PACKAGE = str(Path(_diagnostics.__file__).resolve().parent)
_LOWERING = str(Path(_diagnostics.__file__).parent.joinpath("lowering").resolve())


def is_internal(file: str) -> bool:
    """Whether a file is hlobatch's own or JAX's."""
    return file.startswith((_PACKAGE, _LOWERING, "<")) or "/jax/_src/" in file or "/contextlib.py" in file


def caller() -> Location:
    """The span of the innermost call in the user's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return UNKNOWN
    position = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    line, end_line, column, end_column = position
    if line is None or column is None:
        return Location(frame.f_code.co_filename, frame.f_lineno, 1, frame.f_lineno, 1)
    return Location(
        frame.f_code.co_filename, line, column + 1, end_line or line, (end_column or column) + 1, frame.f_code.co_name
    )
