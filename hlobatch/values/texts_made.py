"""A text that Python makes of a lane's value, by whatever way -> an error.

::

    [*map(str, (x, y))]    Python asks the tracer of ``x`` for its text: "JitTracer(~int32[])", the same in all lanes

The frontend gives functions and formats that make texts a meaning of their own, where it sees them. This module sees
the others: a ``str`` that is passed on, the ``__repr__`` of a dataclass, a library function that formats values.
"""

from __future__ import annotations

import dis
import sys
from types import FrameType
from typing import Any, Final

import jax

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError, is_internal, is_own
from hlobatch.values.lane_failures import LEFT_OUT, leaves_out_texts

INSTEAD_OF_A_TEXT: Final = (
    "compare and compute with the number itself; to show it, make the text inside of `print(…)` or `raise …`, "
    "or in the statement before."
)
"""Help where code makes a text that lanes cannot make."""
_FORMATS: Final = frozenset({"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE"})
"""Names of the instructions of an f-string."""
_DEBUGGERS: Final = ("/pdb.py", "/reprlib.py")


def text_of_lane(maker: FrameType) -> str | None:
    """The text of a lane's value; None for the one that JAX gives it, which names its type.

    Args:
        maker: The frame of the code that makes the text.

    Raises:
        BatchTypeError: The text is the user's, and not one of a message that a library or hlobatch makes.
    """
    file = maker.f_code.co_filename
    if is_own(file):
        if dis.opname[maker.f_code.co_code[maker.f_lasti]] in _FORMATS:
            return None
    elif is_internal(file) or file.endswith(_DEBUGGERS):
        return None
    if leaves_out_texts():
        return str(LEFT_OUT)
    raise BatchTypeError(
        "this code makes a text of a value that differs between lanes",
        help=INSTEAD_OF_A_TEXT,
    )


def shown(value: Any, otherwise: str) -> str:
    """The ``__repr__`` of an object of hlobatch's: ``otherwise``, unless the user's code makes a text of a traced one.

    Raises:
        BatchTypeError: As ``text_of_lane``.
    """
    text = text_of_lane(sys._getframe(2)) if any(map(is_tracer, jax.tree.leaves(value))) else None
    return otherwise if text is None else text
