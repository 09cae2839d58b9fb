"""``f(*items)`` for a list whose length differs between lanes -> ``f`` with the list as its parameter ``*args``.

::

    math.hypot(*side)          def hypot(*coordinates): …      ==>      coordinates = a list like ``side``

Which function is called is the same in every lane, and so is the number of its other arguments. So the stars have to
give all arguments of a parameter ``*args``, and no other ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.dict_order import in_known_order
from hlobatch.frontend.growing_items import as_list, listed
from hlobatch.ir.value import Collection


@dataclass(frozen=True)
class Several:
    """As many arguments as a list has items, where that differs between lanes."""

    items: Any

    def hb_refuse_kept(self) -> None:
        """Refuse to keep it in a variable, as an argument that is computed before the call.

        Raises:
            BatchTypeError: Always.
        """
        raise refusal()


def spread(items: Any, /) -> Any:
    """The arguments that ``*items`` gives."""
    return (Several(as_list(items)),) if isinstance(in_known_order(items), Collection) else items


def is_spread(args: Sequence[Any]) -> bool:
    """Whether the number of arguments differs between lanes."""
    return any(isinstance(value, Several) for value in args)


def received(signature: inspect.Signature, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call by parameter, in order.

    Raises:
        BatchTypeError: A parameter is given an item of a list whose length differs between lanes.
    """
    if is_spread(list(arguments.values())):
        raise refusal(str(signature))
    return tuple(map(_all_of, arguments.values()))


def _all_of(value: Any) -> Any:
    """The argument of a parameter; a list, and no tuple, if its number of items differs between lanes."""
    if not isinstance(value, tuple) or not is_spread(value):
        return value
    parts = [part.items if isinstance(part, Several) else part for part in value]
    return listed([isinstance(part, Several) for part in value], *parts)


def refusal(parameters: str = "") -> BatchTypeError:
    """The error for a call of a function that cannot take a number of arguments that differs between lanes."""
    return BatchTypeError(
        "`*` gives a function as many arguments as a list has items, and that differs between lanes",
        help=f"pass the list itself{f' (the parameters are {parameters})' if parameters else ''}.",
    )
