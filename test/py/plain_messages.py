"""Every error of hlobatch that a test provokes -> a failure of that test if its message has internal names."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hlobatch as hb
from hlobatch import diagnostics

_CODE = Path(hb.__file__).parent
_OF_MODULES = (hb.VerificationError, hb.ParseError)
"""Errors about programs themselves, whose messages have names of the compiler."""


def _own_classes() -> frozenset[str]:
    """Names of the package's internal classes, except single words and names of public classes."""
    files = [*_CODE.glob("*.py"), *(_CODE / "analysis").glob("*.py"), *(_CODE / "frontend").glob("*.py")]
    files += [*(_CODE / "ir").glob("*.py"), *(_CODE / "runtime").glob("*.py"), *(_CODE / "transforms").glob("*.py")]
    found = {name for file in files for name in re.findall(r"^ *class (\w+)[(:\[]", file.read_text(), re.MULTILINE)}
    several_words = {name for name in found if re.search(r"[a-z][A-Z]", name)}
    return frozenset(several_words - set(hb.__all__) - {name for name in found if name.startswith("_")})


_INTERNAL = re.compile(rf"\b(?:{'|'.join(sorted(_own_classes()))}|\w+Tracer|_+hb_\w+)\b|\$\w+")


def internal_names(text: str) -> list[str]:
    """The internal names in a text."""
    return _INTERNAL.findall(text)


@pytest.fixture(autouse=True)
def messages_in_words(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that provokes an error whose message has internal names."""
    found: list[str] = []
    as_it_is = diagnostics.without_internal_frames

    def watched(error: BaseException, *args: Any) -> BaseException:
        if isinstance(error, hb.HloBatchError) and not isinstance(error, _OF_MODULES):
            said = [error.message, error.help, *(note.message for note in error.notes)]
            found.extend(str(error) for text in said if internal_names(text))
        return as_it_is(error, *args)

    monkeypatch.setattr(diagnostics, "without_internal_frames", watched)
    yield
    assert not found, found[0]
