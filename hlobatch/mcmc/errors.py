"""The errors for invalid arguments of samplers, and the warning for unreliable draws."""

from __future__ import annotations

from collections.abc import Sequence

import hlobatch as hb


class ArgumentError(hb.HloBatchError, ValueError):
    """An argument is invalid, or does not fit the other arguments.

    Fix: the message says what to write.
    """


class SamplingWarning(UserWarning):
    """The draws are unreliable: some diverged, chains disagree, or effective draws are few.

    Fix: the message says what to try. `Result.diagnosis` has the numbers.
    """


class InitialValueError(ArgumentError):
    """Some chain's initial values have no finite log density, or no finite gradient.

    Fix: start where the density is positive, and has a gradient.

    Attributes:
        chain: The number of the first such chain.
        parameters: Names of the parameters that cause it, as far as this is known.
    """

    def __init__(self, message: str, chain: int, parameters: Sequence[str], help: str = "") -> None:
        self.chain = chain
        self.parameters = tuple(parameters)
        super().__init__(message, help=help)
