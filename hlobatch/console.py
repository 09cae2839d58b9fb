"""What is told: what a command prints, on standard output, how far a run is, on standard error, objects in short."""

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
"""Of a bar of progress."""


ONE_LINE: Final = 240
"""Characters that an object's ``repr`` has of its types."""


def repr_of_settings(settings: Any) -> str:
    """The ``repr`` of a dataclass of settings: those alone that are not what they are by default."""
    named = [(given.name, getattr(settings, given.name)) for given in fields(settings)]
    defaults = {given.name: given.default for given in fields(settings)}
    changed = ", ".join(f"{name}={value!r}" for name, value in named if value != defaults[name])
    return f"{type(settings).__name__}({changed})"


def folded(title: str, text: str) -> str:
    """What a notebook shows of an object with a long text: its title, which opens to the text."""
    title, text = html.escape(title), html.escape(text)
    return f"<details><summary><code>{title}</code></summary><pre>{text}</pre></details>"


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


class Progress(NamedTuple):
    """How far a run is.

    Attributes:
        name: The user's name for the function.
        done: Inputs that have come to their end.
        total: Inputs in all; None if that is not known.
        seconds: Since the run began.
        is_last: Whether nothing more is told of it.
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
    """A line on standard error, or an output of a notebook's cell, that is written over itself."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        """Tell how far a run is."""
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
    """Whether a notebook is there to show what is displayed."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")
