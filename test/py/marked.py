r"""Texts of users' files with marked spans of errors, and the errors that they have to give.

Marks are « and » for the error's own span, and single ones of that kind for those of its notes, in order. A file of
mistakes (``errors/*.test``) holds cases like this one::

    [case a variable that may have no value]
    @hb.batch
    def f(n):
        if n > 1:
            y = n
        return «y»
    [UndefinedVariableError] 'y' may be read before it has a value
    [help] give 'y' a value
    [rewrite]     if n > 1: => y = 0\n    if n > 1:

A case whose error prints code has the program after that advice: each ``[rewrite] old => new`` changes a text that
occurs once (``\n`` is the end of a line). If the result may differ from Python's for the original program,
``[other values]`` gives the reason. A case whose code cannot be applied by itself gives the reason in ``[no rewrite]``.
"""

import importlib.util
import re
import types
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import hlobatch as hb
from hlobatch.diagnostics import Location

HEADER = """\
import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb

X = jnp.arange(4)

"""

Span = tuple[int, int, int, int]
"""First line and column, last line and column just past the end; all from 1."""

ERROR_MARKS = ("\u00ab", "\u00bb")
NOTE_MARKS = ("\u2039", "\u203a")


@dataclass(frozen=True)
class Marked:
    """A source text without its marks, and where they were.

    Attributes:
        text: The text of the user's file.
        error: The marked span of the error, or None.
        notes: The marked spans of its notes.
    """

    text: str
    error: Span | None
    notes: tuple[Span, ...]

    def module(self, folder: Path, name: str = "user") -> types.ModuleType:
        """Write the file and import it."""
        path = folder / f"{name}.py"
        path.write_text(self.text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def carets(self, span: Span) -> str:
        """The two lines that show a span: its first source line, and carets under exactly its part of it."""
        line, column, end_line, end_column = span
        source = self.text.splitlines()[line - 1]
        end = end_column if end_line == line else len(source) + 1
        pad = re.sub(r"[^\t]", " ", source[: column - 1])
        return f"  {line} | {source}\n  {' ' * len(str(line))} | {pad}{'^' * (end - column)}"


def marked(source: str, header: str = HEADER) -> Marked:
    """Read and remove the marks."""
    text = ""
    starts: dict[str, tuple[int, int]] = {}
    spans: dict[str, list[Span]] = {ERROR_MARKS[1]: [], NOTE_MARKS[1]: []}
    closing = dict([ERROR_MARKS, NOTE_MARKS])
    for character in header + source:
        place = text.count("\n") + 1, len(text) - text.rfind("\n")
        if character in closing:
            starts[closing[character]] = place
        elif character in spans:
            spans[character].append((*starts[character], *place))
        else:
            text += character
    return Marked(text, next(iter(spans[ERROR_MARKS[1]]), None), tuple(spans[NOTE_MARKS[1]]))


@dataclass(frozen=True)
class Mistake:
    """A user's mistake.

    Attributes:
        name: The names of the file and of the case.
        source: The user's file.
        error: The class that is raised.
        message: A part of its message.
        help: A part of its help.
        rewritten: The user's file after the advice; None if the case does not give it.
        other_values: The reason why its values differ from Python's for the source; empty if they do not.
        no_rewrite: The reason why there is no rewrite; empty if there is one, or none is needed.
    """

    name: str
    source: Marked
    error: type[hb.HloBatchError]
    message: str
    help: str
    rewritten: Marked | None
    other_values: str
    no_rewrite: str

    @property
    def written(self) -> list[str]:
        """The lines that the rewrite adds."""
        assert self.rewritten is not None
        return [*(Counter(self.rewritten.text.splitlines()) - Counter(self.source.text.splitlines()))]


def mistakes(file: Path) -> list[Mistake]:
    """The cases of a file."""
    text = file.read_text(encoding="utf-8")
    found = []
    for part in re.split(r"^\[case ", text, flags=re.MULTILINE)[1:]:
        title, body = part.split("]\n", 1)
        match = _CASE.fullmatch(body.rstrip())
        assert match is not None, f"case {title!r} of {file.name} names no error"
        error = getattr(hb, match["error"])
        source = marked(match["source"])
        rewritten, notes = _rewritten(source, match["rest"], title)
        found.append(
            Mistake(f"{file.stem}: {title}", source, error, match["message"], match["help"] or "", rewritten, *notes)
        )
    return found


def _rewritten(source: Marked, rest: str, title: str) -> tuple[Marked | None, tuple[str, str]]:
    """The rest of a case: the rewritten file, or None, and the texts of ``other values`` and ``no rewrite``."""
    text, notes = source.text, {"other values": "", "no rewrite": ""}
    for line in rest.strip().splitlines():
        kind, what = line.removeprefix("[").split("] ", 1)
        if kind != "rewrite":
            assert kind in notes, f"case {title!r} has a line {line!r}"
            notes[kind] = what
            continue
        old, new = (part.replace("\\n", "\n") for part in what.split(" => ", 1))
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in case {title!r}"
        text = text.replace(old, new)
    return (None if text == source.text else Marked(text, None, ())), (notes["other values"], notes["no rewrite"])


_CASE = re.compile(
    r"(?P<source>.*?)^\[(?P<error>\w+Error)\] (?P<message>[^\n]*)(\n\[help\] (?P<help>[^\n]*))?(?P<rest>(\n\[[^\n]*)*)",
    re.MULTILINE | re.DOTALL,
)


def span(location: Location) -> Span:
    """The coordinates of a location."""
    return location.line, location.column, location.end_line, location.end_column


def check(error: hb.HloBatchError, source: Marked, file: str | None) -> None:
    """Assert that an error and its notes are at the marked spans, and that its text shows them."""
    assert source.error is not None
    assert span(error.location) == source.error
    assert error.location.file == file
    text = str(error)
    assert text.startswith(f"{file}:{source.error[0]}:{source.error[1]}: error: {error.message}\n")
    assert source.carets(source.error) in text
    assert [span(note.location) for note in error.notes] == list(source.notes)
    for note, place in zip(error.notes, source.notes, strict=True):
        assert f"{file}:{place[0]}:{place[1]}: note: {note.message}\n{source.carets(place)}" in text
    assert text.endswith(f"help: {error.help}" if error.help else text)
