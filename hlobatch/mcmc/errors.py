"""What a user gives the sampler that cannot be meant -> an error that says so; and draws that are bad, a warning."""

from __future__ import annotations

from collections.abc import Sequence

import hlobatch as hb


class ArgumentError(hb.HloBatchError, ValueError):
    """An argument that cannot be what was meant, or does not fit the others.

    Fix: the message says what to write.
    """


class SamplingWarning(UserWarning):
    """What is to be known of draws before they are used: some diverged, chains do not agree, there are few.

    Fix: the message says what to try. `Result.diagnosis` has the numbers.
    """


class InitialValueError(ArgumentError):
    """Some chain's initial values have no finite log density, or no finite gradient.

    Fix: start where the density is positive, and has a gradient.

    Attributes:
        chain: The number of the first such chain.
        parameters: Names of those to blame, as far as can be told.
    """

    def __init__(self, message: str, chain: int, parameters: Sequence[str], help: str = "") -> None:
        self.chain = chain
        self.parameters = tuple(parameters)
        super().__init__(message, help=help)
