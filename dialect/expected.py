"""Compares diagnostics with the ``// expected-error {{…}}`` comments in a text.

The comments are those of MLIR's own tools: ``@+1``, ``@-2``, ``@above``, ``@below`` and ``@7`` change the line; ``-re``
allows a regular expression between ``{{`` and ``}}`` within the text; notes are compared only where some are expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_EXPECTED: Final = re.compile(
    r"expected-(?P<kind>error|note|warning|remark)(?P<regex>-re)? *"
    r"(?:@(?P<place>[+-]?\d+|above|below|unknown))? *\{\{(?P<text>.*?)\}\}(?=\s|$|\*)"
)


@dataclass(frozen=True)
class Diagnostic:
    """A diagnostic of a tool: ``error`` or ``note``, its line (0 if it has none), and its message."""

    kind: str
    line: int
    message: str


@dataclass(frozen=True)
class Expectation:
    """A diagnostic that a comment announces."""

    kind: str
    line: int
    pattern: re.Pattern[str]
    text: str

    def is_met(self, diagnostic: Diagnostic) -> bool:
        same = (self.kind, self.line) == (diagnostic.kind, diagnostic.line)
        return same and self.pattern.search(diagnostic.message) is not None


def expectations(text: str) -> Iterator[Expectation]:
    """The diagnostics that comments in a text announce."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in _EXPECTED.finditer(line):
            pattern = _regex(match["text"]) if match["regex"] else re.escape(match["text"])
            yield Expectation(match["kind"], _line(match["place"], number), re.compile(pattern), match["text"])


def _line(place: str | None, number: int) -> int:
    named = {None: number, "above": number - 1, "below": number + 1, "unknown": 0}
    if place in named:
        return named[place]
    assert place is not None
    return number + int(place) if place[0] in "+-" else int(place)


def _regex(text: str) -> str:
    """A regular expression for plain text with regular expressions between double braces."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts))


def mismatches(text: str, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Expected diagnostics that were not produced, and errors that were not expected, as diagnostics."""
    left = list(found)
    missing = []
    for expectation in expectations(text):
        met = next((d for d in left if expectation.is_met(d)), None)
        if met is None:
            message = f'expected {expectation.kind} "{expectation.text}" was not produced'
            missing.append(Diagnostic("error", expectation.line, message))
        else:
            left.remove(met)
    unexpected = [d for d in left if d.kind == "error"]
    return missing + [Diagnostic("error", d.line, f"unexpected {d.kind}: {d.message}") for d in unexpected]
