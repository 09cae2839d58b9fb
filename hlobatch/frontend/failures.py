"""A ``raise`` in code that is being traced -> the number of the failure, and the values that its message needs.

::

    raise ValueError(f"{x} is negative")     ==>     (3, the words of x)       for the third ``raise`` of the program

A lane has no exceptions. The words come back to the host with the results of the lane; ``Recorder.exception`` then runs
the user's expression on them. ``raising.py`` and ``try_statements.py`` put the functions of this module into programs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import LimitError, Location, MissingValueError, UnsupportedSyntaxError
from hlobatch.frontend.builtins import is_array
from hlobatch.frontend.sequences import either
from hlobatch.ir.boxed import in_python
from hlobatch.ir.types import Type
from hlobatch.ir.walk import attributes
from hlobatch.ir.words import encoded, shortened, size_of
from hlobatch.prelude import is_of_prelude
from hlobatch.values.boxes import boxed
from hlobatch.values.facts import WHOLE_PROGRAM, Learned
from hlobatch.values.lane_failures import LEFT_OUT, given
from hlobatch.values.leaf_types import leaf_type
from hlobatch.values.one_of import for_each
from hlobatch.values.optional import is_several


@dataclass(frozen=True, slots=True)
class AlwaysRaises:
    """The fact that a function never returns: every path that ends raises.

    Attributes:
        is_so: False if a fact learned later, such as that a statement can fail, has shown a path that returns. That is
            final: a fact that came and went would have the program built again for ever.
    """

    is_so: bool = True


@dataclass(frozen=True, slots=True)
class Raises:
    """The fact that a function may raise."""


@dataclass(frozen=True, slots=True)
class LooksAt:
    """The fact that the program reads parts of exceptions that it catches: functions return them beside their number.

    Attributes:
        caught: The classes in handlers that do.
        raised: The classes of what such a handler may catch. There is one variable for the exceptions of each.
    """

    caught: tuple[type[BaseException], ...] = ()
    raised: tuple[type[BaseException], ...] = ()

    def joined(self, known: LooksAt) -> LooksAt:
        """This fact joined with the one known before."""
        pairs = ((known.caught, self.caught), (known.raised, self.raised))
        return LooksAt(*(tuple(dict.fromkeys((*before, *now))) for before, now in pairs))

    def of(self, kinds: Collection[type[BaseException]]) -> list[int]:
        """The numbers of the classes in ``raised`` that a handler of some classes catches, derived classes first."""
        found = [i for i, kind in enumerate(self.raised) if issubclass(kind, tuple(kinds))]
        return sorted(found, key=lambda i: -len(self.raised[i].__mro__))


@dataclass(frozen=True, slots=True)
class Words:
    """The fact that the values of an exception of the program need a number of 32-bit words.

    Attributes:
        size: The number of words, for the exception that needs most.
    """

    size: int

    def joined(self, known: Words) -> Words:
        """This fact joined with the one known before."""
        return Words(max(known.size, self.size))


@dataclass(frozen=True)
class Recorder:
    """A ``raise`` as the function of a ``PrimOp``: it returns the number of the failure and the encoded values.

    Attributes:
        number: The number of the failure in the program.
        kind: Class of the exception.
        text: The statement.
        make: Makes the exception from the values of the variables that its expression reads.
        location: The place of the statement.
        size: The number of words for the values.
    """

    number: int
    kind: type[BaseException]
    text: str
    make: Callable[..., tuple[BaseException]] = field(repr=False)
    location: Location
    size: int

    def __call__(self, *values: Any) -> tuple[int, Any]:
        parts = shortened([boxed(value, ()) for value in values])
        types = [Type(jax.tree.map(leaf_type, value)) for value in parts]
        wanted = size_of(types)
        if wanted > self.size:
            raise Learned(WHOLE_PROGRAM, Words(wanted))
        leaves = [leaf for type_, value in zip(types, parts, strict=True) for leaf in type_.flatten(value)]
        return self.number, encoded(leaves, types, self.size)

    def exception(self, *values: Any) -> BaseException:
        """The exception for these values."""
        found: Any = self.make(*in_python(values))[0]
        made: BaseException = found() if isinstance(found, type) else found
        return made


@dataclass(frozen=True, eq=False)
class Relay:
    """A call of a library function that raised, as the function of a ``PrimOp``: it makes the call the failure's place.

    Its number is combined with that of the ``raise`` in the prelude. An exception from a function of the user's that
    the library calls keeps its own place.

    Attributes:
        number: The number of the call among the failures of the program.
        text: The call.
        location: The place of the call.
        failures: The failures of the program.
    """

    number: int
    text: str
    location: Location
    failures: Failures = field(repr=False)

    def __call__(self, number: Any) -> tuple[Any]:
        of_library, above = self.failures.of_library, self.number * MOST_FAILURES
        if not is_array(number):
            return (number + above if number in of_library else number,)
        return (jnp.where(jnp.isin(number, np.array(of_library, np.int32)), number + above, number),)


MOST_FAILURES: Final = 1 << 11
"""A bound on the places in a program that raise. A number above it also encodes the place of the library call."""


@dataclass(eq=False)
class Failures:
    """The failures of one program, collected as its statements are lowered."""

    all: list[Recorder | Relay] = field(default_factory=list)

    @property
    def of_library(self) -> list[int]:
        """The numbers of the failures that the prelude raises."""
        raised = [one for one in self.all if isinstance(one, Recorder)]
        return [one.number for one in raised if is_of_prelude(one.location.file)]

    def caught(self, number: Any, kinds: Any) -> Any:
        """Whether a failure is an instance of some classes; a Python bool if that is known when the program is built.

        Args:
            number: The number of the failure.
            kinds: A class of exceptions, or a tuple of them.
        """
        raised = [one for one in self.all if isinstance(one, Recorder)]
        numbers = [f.number for f in raised if issubclass(f.kind, kinds) and not issubclass(f.kind, LimitError)]
        number = number if len(raised) == len(self.all) else number % MOST_FAILURES
        if len(numbers) == len(raised) or not is_array(number):
            return len(numbers) == len(raised) or number in numbers
        return jnp.isin(number, np.array(numbers, np.int32)) if numbers else False


def looked_at(exception: Any, names: tuple[str, ...] | None) -> Any:
    """An exception that has been caught, of which the handler reads parts.

    Args:
        exception: The exception; None in lanes in which an operation raised it.
        names: The attributes that the handler reads; None if it uses the exception as a whole.

    Raises:
        UnsupportedSyntaxError: It is an operation's, or what is read is a text that only the host makes.
    """
    text = "this looks at an exception that an operation raised, of which only the class is known"
    if exception is None:
        raise UnsupportedSyntaxError(text, help="test for it before, and `raise` an exception with what is needed.")
    exception = given(exception, MissingValueError, text)
    if is_several(exception):
        return for_each(looked_at, exception, names)
    parts = [part for name, part in attributes(exception).items() if names is None or name in names]
    if any(isinstance(leaf, str) and str(LEFT_OUT) in leaf for leaf in jax.tree.leaves(parts)):
        raise UnsupportedSyntaxError(
            "this reads a text of the exception that is made of the lane's values, which only the host makes",
            help="keep the numbers in attributes of the exception, and read these.",
        )
    return exception


def no_details(size: int) -> Any:
    """The words of the details where there is no failure."""
    return jnp.zeros(size, jnp.int32)


def has_failed(number: Any) -> Any:
    """Whether a call failed."""
    return number != 0


def has_failed_by_itself(way: int | None, *statuses: Any) -> Any:
    """Whether one of several statements failed, in the way of this number, or in any if ``way`` is None."""
    return either(status != 0 if way is None else status == way for status in statuses)
