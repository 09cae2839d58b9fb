"""What lanes have the host do, such as to print -> done, for each lane by itself, in order.

A program notes that a lane came to an effect, and the words of its operands (``LogOp``). Whoever runs it hands both to
an ``Emission``, which runs the user's code on the host with the values of that lane. What lanes print comes in whole
lines, each with the number of its lane in front.
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

MOST_WORDS: Final = 4096
"""Words of 32 bits that the operands of an effect may take."""


@dataclass(frozen=True)
class Effect:
    """A statement that does something outside of the program.

    Attributes:
        text: The statement as the user wrote it.
        perform: Does it, given its operands as NumPy's arrays and scalars.
        in_types: Types of those.
        location: Where it stands.
    """

    text: str
    perform: Callable[..., object] = field(compare=False)
    in_types: tuple[Type, ...] = ()
    location: Location = field(default=UNKNOWN, compare=False)

    @cached_property
    def size(self) -> int:
        """How many words its operands take."""
        return size_of(self.in_types, MOST_WORDS)

    def __call__(self, words: Any) -> None:
        """Do it, given the words of its operands, ``i32[words]``."""
        with np.printoptions(legacy="1.25"):  # in tuples and lists, numbers without their types around them
            self.perform(*decoded(np.asarray(words, np.int32), self.in_types, MOST_WORDS))


@dataclass
class Emission:
    """What the lanes of one run have done on the host, and what they have begun to print.

    Attributes:
        begun: By lane and file, what has been printed of a line that is not over.
    """

    begun: dict[tuple[int, Any], str] = field(default_factory=dict)

    def perform(self, effect: Effect, lane: int, words: Any) -> None:
        """Do what a lane has done.

        Args:
            effect: What it came to.
            lane: Its number.
            words: Of the operands, ``i32[words]``.
        """
        token = _current.set((self, lane))
        try:
            effect(words)
        finally:
            _current.reset(token)

    def write(self, lane: int, text: str, file: Any = None) -> None:
        """Print what a lane prints, as far as it is whole lines."""
        key = lane, None if file is sys.stdout else file
        *lines, begun = (self.begun.pop(key, "") + text).split("\n")
        for line in lines:
            builtins.print(f"lane {lane}: {line}", file=file)
        if begun:
            self.begun[key] = begun

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the lines that are not over."""
        for lane, file in list(self.begun):
            self.write(lane, "\n", file)


_current: contextvars.ContextVar[tuple[Emission, int] | None] = contextvars.ContextVar("hlobatch_lane", default=None)


def lane_print(
    *values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
) -> None:
    """``print``, of the lane whose effects are being performed."""
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
    """Within it, what is written to the standard output is printed by the lane whose effects are being performed."""
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
