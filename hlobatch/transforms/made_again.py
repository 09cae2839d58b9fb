"""Makes a typed program a second time if its code has added to objects outside of it, to see whether that changes it.

User code may memoize, in a dict or in an attribute that was None: then making the program again adds nothing, and gives
the same code. Code that counts its calls, or asks whether it was called before, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hlobatch.analysis.outside import remembering
from hlobatch.analysis.tracing import remembered

Made = TypeVar("Made")


def made_again(make: Callable[[], Made]) -> Made:
    """What ``make`` gives: a program, or an attempt at one.

    Raises:
        UnsupportedSyntaxError: It depends on what its code has added to an object outside of it.
        HloBatchError: Any error of making the program.
    """
    with remembering() as notes:
        with remembered() as traced:
            program = make()
        if notes.added:
            notes.is_all = True
            with remembered(traced):
                make()
        return program
