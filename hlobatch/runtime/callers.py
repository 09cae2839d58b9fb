"""Finds the place in the user's code, outside of hlobatch, from which hlobatch was called."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import ParamSpec, TypeVar

from hlobatch.diagnostics import UNKNOWN, HloBatchError, Location, is_internal, shown

P = ParamSpec("P")
R = TypeVar("R")


def at_the_call(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate ``function`` such that errors without a place in the user's code get that of the call.

    It is for packages that use hlobatch, such as its sampler.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except HloBatchError as error:
            raise shown(error.in_users_code(caller())) from error.__cause__

    return run


def is_in_function_with_derivative() -> bool:
    """Whether a function made by ``jax.custom_jvp`` or ``jax.custom_vjp`` is among the callers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.endswith("/jax/_src/custom_derivatives.py"):
        frame = frame.f_back
    return frame is not None


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
