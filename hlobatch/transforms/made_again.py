"""What makes a typed program -> the program, made once more if its code has added to objects outside of it.

Code may remember what it has computed, in a dict or in an attribute that was None. That is so if nothing is added when
the program is made again, and all code is as it was. What counts its calls, or asks whether it was called before, is
refused.
"""

from __future__ import annotations

from collections.abc import Callable

from hlobatch.analysis.outside import remembering
from hlobatch.analysis.tracing import remembered
from hlobatch.ir.program import Program


def made_again(make: Callable[[], Program]) -> Program:
    """The program.

    Raises:
        UnsupportedSyntaxError: It depends on what its code has added to an object outside of it.
        HloBatchError: Whatever is wrong with it.
    """
    with remembering() as notes:
        with remembered() as traced:
            program = make()
        if notes.added:
            notes.is_all = True
            with remembered(traced):
                make()
        return program
