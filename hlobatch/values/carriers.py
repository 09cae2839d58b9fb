"""Names of hlobatch's classes that stand for Python's while code is traced -> the names of Python's classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from hlobatch.ir.carrier import Carrier
from hlobatch.ir.growing import Growing

_TRACER: Final = re.compile(r"\b\w*Tracer\b(?:\([^()]*(?:\([^()]*\))?[^()]*\))?")


def in_words(text: str) -> str:
    """A text, such as the message of a Python exception, with Python's names in place of hlobatch's classes."""
    for name, python in _names().items():
        text = re.sub(rf"\b{name}\b", python, text)
    return _TRACER.sub("array", text)


def carriers_in(text: str) -> list[str]:
    """The names, as the user knows them, of the classes that a text mentions; arrays are left out."""
    return list(dict.fromkeys(python for name, python in _names().items() if re.search(rf"\b{name}\b", text)))


def _names() -> dict[str, str]:
    kinds = ((kind.__name__, getattr(kind, "python", object)) for kind in _kinds(Carrier, Growing))
    return {name: python.__name__ for name, python in kinds}


def _kinds(*bases: Any) -> Iterator[Any]:
    """The classes of which there are objects among all subclasses; a base such as ``Table`` may be a user's name."""
    for kind in (kind for base in bases for kind in base.__subclasses__()):
        if "python" in vars(kind) or not kind.__subclasses__():
            yield kind
        yield from _kinds(kind)
