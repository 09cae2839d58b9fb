"""What a command prints -> standard output, or an error of ours that says why it cannot be written."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from hlobatch.diagnostics import HloBatchError


class UsageError(Exception):
    """Something in the command line is wrong; the text says what."""


def say(*values: Any, sep: str = " ", end: str = "\n") -> None:
    """``print``, written at once.

    Raises:
        HloBatchError: The disk is full, or the encoding of the terminal lacks a character.
        BrokenPipeError: Whoever reads has seen enough.
    """
    try:
        with _writing():
            print(*values, sep=sep, end=end, flush=True)
    except UnicodeEncodeError as error:
        raise HloBatchError(
            f"the output has the character {error.object[error.start]!a}, which {error.encoding} lacks",
            help="set PYTHONIOENCODING=utf-8 in the environment.",
        ) from None


def say_bytes(data: bytes) -> None:
    """Write bytes, as ``say`` writes text."""
    with _writing():
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        _discard()
        raise
    except OSError as error:
        _discard()
        raise HloBatchError(f"the output cannot be written: {error.strerror}") from None


def _discard() -> None:
    """Let nobody read the rest: Python would fail again as it writes that at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
