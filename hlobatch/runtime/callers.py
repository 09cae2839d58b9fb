"""The Python stack -> the place in the user's code, outside of hlobatch, that a call was made from."""

from __future__ import annotations

import sys
from types import FrameType

from hlobatch.diagnostics import UNKNOWN, Location, is_internal


def caller() -> Location:
    """The span of the innermost call in the user's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return UNKNOWN
    file, function = frame.f_code.co_filename, frame.f_code.co_qualname
    line, end_line, offset, end_offset = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if line is None or end_line is None or offset is None or end_offset is None:
        return Location(file, frame.f_lineno, 1, frame.f_lineno, 1, function)
    return Location.from_offsets(file, line, offset, end_line, end_offset, function)
