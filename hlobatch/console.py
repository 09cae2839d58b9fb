"""Output to the user: commands' output on standard output, progress on standard error, and short object reprs."""

from __future__ import annotations

import contextlib
import html
import os
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final, NamedTuple

from hlobatch.diagnostics import HloBatchError

BAR_CHARACTERS: Final = 30
"""Length of a progress bar."""


ONE_LINE: Final = 240
"""Characters of an object's ``repr`` that are for its types."""


def repr_of_settings(settings: Any) -> str:
    """The ``repr`` of a dataclass of settings, with only those that differ from their defaults."""
    named = [(given.name, getattr(settings, given.name)) for given in fields(settings)]
    defaults = {given.name: given.default for given in fields(settings)}
    changed = ", ".join(f"{name}={value!r}" for name, value in named if value != defaults[name])
    return f"{type(settings).__name__}({changed})"


def counted(number: int, noun: str) -> str:
    """A number of things, as in ``1 block`` and ``2 blocks``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def folded(title: str, text: str) -> str:
    """The HTML that a notebook shows for an object with a long text: a title that opens to the text."""
    title, text = html.escape(title), html.escape(text)
    return f"<details><summary><code>{title}</code></summary><pre>{text}</pre></details>"


class UsageError(Exception):
    """An error in the command line, described by its message."""


def say(*values: Any, sep: str = " ", end: str = "\n") -> None:
    """Print, and flush.

    Raises:
        HloBatchError: The disk is full, or the encoding of the terminal lacks a character.
        BrokenPipeError: The reader has closed the pipe.
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
    """Redirect standard output to the null device, since Python would fail again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Progress(NamedTuple):
    """The progress of a run.

    Attributes:
        name: The user's name for the function.
        done: Number of inputs that have ended.
        total: Number of all inputs; None if that is not known.
        seconds: Seconds since the run began.
        is_last: Whether this is the run's last report.
    """

    name: str
    done: int
    total: int | None
    seconds: float
    is_last: bool = False

    def __str__(self) -> str:
        if self.total is None:
            speed = f"{self.done / self.seconds:,.0f} a second" if self.seconds else ""
            return f"{self.name}: {self.done:,} inputs  {self.seconds:.1f} s  {speed}"
        filled = BAR_CHARACTERS * self.done // max(self.total, 1)
        bar = "█" * filled + "░" * (BAR_CHARACTERS - filled)
        return f"{self.name} {bar} {self.done:,} of {self.total:,} inputs  {self.seconds:.1f} s"


class Line:
    """A line on standard error, or an output of a notebook cell, that is overwritten by each report."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        """Show a progress report."""
        if _shows_outputs():
            self._show(progress)
            return
        text = str(progress)
        sys.stderr.write(f"\r{text.ljust(self._width)}{chr(10) if progress.is_last else ''}")
        sys.stderr.flush()
        self._width = len(text)

    def _show(self, progress: Progress) -> None:
        display: Any = sys.modules["IPython"].display.display
        shown = {"text/plain": str(progress)}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


def _shows_outputs() -> bool:
    """Whether the code runs in a notebook that shows displayed objects."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")
