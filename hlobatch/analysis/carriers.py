"""The name of a class that stands for something of Python's while code is traced -> what the user knows it by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from hlobatch.ir.carrier import Carrier
from hlobatch.ir.growing import Growing

_TRACER: Final = re.compile(r"\b\w*Tracer\b(?:\([^()]*(?:\([^()]*\))?[^()]*\))?")


def in_words(text: str) -> str:
    """A text, such as that of an exception of Python's, without names of classes that the user does not know."""
    for name, python in _names().items():
        text = re.sub(rf"\b{name}\b", python, text)
    return _TRACER.sub("array", text)


def carriers_in(text: str) -> list[str]:
    """What the user knows those by that a text names, but for arrays."""
    return list(dict.fromkeys(python for name, python in _names().items() if re.search(rf"\b{name}\b", text)))


def _names() -> dict[str, str]:
    kinds = ((kind.__name__, getattr(kind, "python", object)) for kind in _derived(Carrier, Growing))
    return {name: python.__name__ for name, python in kinds}


def _derived(*kinds: Any) -> Iterator[Any]:
    """All classes that are derived from some."""
    for kind in kinds:
        yield from kind.__subclasses__()
        yield from _derived(*kind.__subclasses__())
