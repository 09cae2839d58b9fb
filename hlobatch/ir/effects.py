"""Statements that lanes have the host carry out, such as ``print``: each lane's in its own order.

A program notes that a lane came to an effect, and the words of its operands (``LogOp``). Whatever runs the program
hands both to an ``Emission``, which runs the user's code on the host with the values of that lane. Lanes print in whole
lines, each with the lane's number in front.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Self

import numpy as np

from hlobatch.diagnostics import UNKNOWN, Location
from hlobatch.ir.types import Type
from hlobatch.ir.words import decoded, size_of
from hlobatch.scoped import having

MOST_WORDS: Final = 4096
"""32-bit words that the operands of an effect may take."""


@dataclass(frozen=True)
class Effect:
    """A statement that does something outside of the program.

    Attributes:
        text: The statement as the user wrote it.
        perform: Carries it out, given its operands as NumPy arrays and scalars.
        in_types: Types of the operands.
        location: The statement's place in the user's code.
    """

    text: str
    perform: Callable[..., object] = field(compare=False)
    in_types: tuple[Type, ...] = ()
    location: Location = field(default=UNKNOWN, compare=False)

    @cached_property
    def size(self) -> int:
        """Number of words that its operands take."""
        return size_of(self.in_types, MOST_WORDS)

    def __call__(self, words: Any) -> None:
        """Carry out the statement, given the words of its operands, ``i32[words]``."""
        with np.printoptions(legacy="1.25"):  # without it, NumPy scalars in tuples and lists print as np.float32(…)
            self.perform(*decoded(np.asarray(words, np.int32), self.in_types, MOST_WORDS))


@dataclass
class Emission:
    """The effects of the lanes of one run, and the lines that lanes have begun to print.

    Attributes:
        begun: By lane and file, the text of a line that has not ended.
    """

    begun: dict[tuple[int, Any], str] = field(default_factory=dict)

    def perform(self, effect: Effect, lane: int, words: Any) -> None:
        """Carry out an effect for a lane.

        Args:
            effect: The effect.
            lane: The lane's number.
            words: The encoded operands, ``i32[words]``.
        """
        with having(_current, (self, lane)):
            effect(words)

    def write(self, lane: int, text: str, file: Any = None) -> None:
        """Print the whole lines of a lane's text, and keep the rest until its line ends."""
        key = lane, None if file is sys.stdout else file
        *lines, begun = (self.begun.pop(key, "") + text).split("\n")
        for line in lines:
            builtins.print(f"lane {lane}: {line}", file=file)
        if begun:
            self.begun[key] = begun

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Print the lines that have not ended."""
        for lane, file in list(self.begun):
            self.write(lane, "\n", file)


_current: contextvars.ContextVar[tuple[Emission, int] | None] = contextvars.ContextVar("hlobatch_lane", default=None)


def lane_print(
    *values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
) -> None:
    """``print``, for the lane whose effect is being carried out."""
    current = _current.get()
    if current is None:
        builtins.print(*values, sep=sep, end=end, file=file, flush=flush)
        return
    text = io.StringIO()
    builtins.print(*values, sep=sep, end=end, file=text)
    emission, lane = current
    emission.write(lane, text.getvalue(), file)


@contextlib.contextmanager
def lines_of_lane() -> Iterator[None]:
    """Within it, standard output is printed as lines of the lane whose effect is being carried out."""
    current = _current.get()
    if current is None:
        yield
        return
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            yield
    finally:
        emission, lane = current
        emission.write(lane, text.getvalue())
