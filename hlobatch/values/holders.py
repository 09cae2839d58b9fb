"""Objects that hold one container each, so that variables have the container by reference: by the holder's number.

::

    cur = []                    cur = hb_Holder0([])
    groups.append(cur)    ==>   groups.append(cur)
    cur.append(k)               cur.hb_content0.append(k)

A program is written in this way (``frontend/by_reference/``) where containers have names that only a lane's values tell
apart. All uses of such a container are of its attribute. Anything else that code asks of a holder would be answered of
the wrong object, so it is refused.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.carrier import BINARY, UNARY

PREFIX: Final = "hb_Holder"
"""Prefix of the names of the classes of holders."""
CONTENT: Final = "hb_content"
"""Prefix of the names of their attributes."""
FILE: Final = "<containers>"
"""The file that their code is said to be in."""
MOST: Final = 8
"""The number of classes of holders: as many kinds of containers a program may have by reference."""


def is_content(name: str) -> bool:
    """Whether an attribute is the container in a holder."""
    return name.startswith(CONTENT)


def text(number: int) -> str:
    """The text of a class of holders."""
    return f"class {PREFIX}{number}:\n    def __init__(self, content):\n        self.{CONTENT}{number} = content\n"


def holder(name: str) -> type | None:
    """The class of holders with a name; None if it is no such name."""
    return HOLDERS.get(name)


def is_holder(kind: type) -> bool:
    """Whether a class is one of holders."""
    return any(base in _KINDS for base in kind.__mro__)


def not_of_holders() -> UnsupportedSyntaxError:
    """The error for what would be answered of the holder in place of the container."""
    return UnsupportedSyntaxError(
        "this code asks for something that a container by reference cannot be asked for",
        help="give the container a name in a statement before.",
    )


def _refused(*_: Any, **__: Any) -> Any:
    raise not_of_holders()


def _unseen(_: Any, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _refused()


def _made(number: int) -> type:
    namespace: dict[str, Any] = {"__name__": "hlobatch_holders"}
    exec(compile(text(number), FILE, "exec", dont_inherit=True), namespace)
    kind: type = namespace[f"{PREFIX}{number}"]
    for name in (*BINARY, *(f"r{name}" for name in BINARY), *(f"i{name}" for name in BINARY), *UNARY, *_ASKED):
        setattr(kind, f"__{name}__", _refused)
    kind.__getattr__ = _unseen  # type: ignore[attr-defined]
    return kind


_ASKED: Final = (
    *("eq", "ne", "lt", "le", "gt", "ge", "len", "iter", "contains", "getitem", "setitem", "delitem"),
    *("index", "reversed", "int", "float"),
)
HOLDERS: Final[Mapping[str, type]] = {f"{PREFIX}{number}": _made(number) for number in range(MOST)}
"""The classes of holders, by name."""
_KINDS: Final = frozenset(HOLDERS.values())


def initializers() -> list[tuple[types.FunctionType, str]]:
    """The ``__init__`` of each class of holders, and the text of the class."""
    kinds: list[Callable[..., Any]] = [kind.__init__ for kind in HOLDERS.values()]  # type: ignore[misc]
    return [(one, text(number)) for number, one in enumerate(kinds)]  # type: ignore[misc]
