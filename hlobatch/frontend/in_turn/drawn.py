"""Generators of the user's in code that is being traced -> their items, or the fact that a loop takes turns with them.

::

    for x in upto(3): …       the generator runs to its end while the program is built
    for x in upto(n): …       a lane's value decides how many items there are: its statements become the loop's

The second kind is learned where a generator is called, as for any function that has to be followed (``Calls``).
``generator_loops.py`` lowers such loops.
"""

from __future__ import annotations

import enum
import types
from dataclasses import dataclass
from typing import Any

import jax

from hlobatch.frontend.effects import prints
from hlobatch.frontend.files import is_users
from hlobatch.frontend.following import called, drawn, follow, is_generator
from hlobatch.frontend.in_turn.kept_iterators import check_iterated
from hlobatch.values.facts import Learned, Site


@dataclass(frozen=True, slots=True)
class Iterates:
    """The fact that a loop goes over an object of the user's, and takes turns with the generator that is its method.

    Attributes:
        function: The method, ``__iter__``.
    """

    function: types.FunctionType


def iterated(site: Site, value: Any, takes_turns: bool) -> Any:
    """A value that a loop goes over.

    Args:
        site: The place of the iterable.
        value: The value.
        takes_turns: Whether the body of the loop may change it.

    Raises:
        Learned: It is an object of the user's with a generator for its ``__iter__``, which takes turns with the loop.
    """
    check_iterated(site, value)
    own = getattr(type(value), "__iter__", None)
    if not isinstance(own, types.FunctionType) or not is_users(own) or not is_generator(own):
        return value
    if takes_turns or prints(own):
        raise Learned(site, Iterates(own))
    return drawn(site, Iterates(own), own, (value,), {})


def follow_in_turns(site: Site, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The value of a call whose items a loop goes over, the body of which may change an object that a generator reads.

    Raises:
        Learned: The function is a generator, which takes turns with the loop.
    """
    target = called(function)
    is_plain = isinstance(function, types.FunctionType) and not function.__closure__
    is_fixed = is_plain and all(map(_is_fixed, (*args, *kwargs.values())))
    if target is not None and is_generator(target.function) and not is_fixed:
        raise Learned(site, target)
    return follow(site, function, *args, **kwargs)


def _is_fixed(value: Any) -> bool:
    """Whether a value is a number, or another one that no code can change."""
    if isinstance(value, tuple):
        return all(map(_is_fixed, value))
    return value is None or isinstance(value, (bool, int, float, complex, str, range, enum.Enum, jax.Array))
