"""Reads ``Autobatch.td`` into records, from which the classes and the documentation are generated.

It reads the subset of TableGen that the file keeps to (described in its first comment) and refuses everything else,
with the line. ``mlir-tblgen`` reads the same file in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("Autobatch.td")


class TableGenError(Exception):
    """The file is not in the subset of TableGen that is read here."""


@dataclass(frozen=True)
class Argument:
    """An entry of a dag such as ``(ins StrAttr:$name)``: its kind and its name."""

    kind: str
    name: str


@dataclass(frozen=True)
class Record:
    """A ``def``.

    Attributes:
        name: The name in the ``def``.
        base: The class it inherits from.
        parameters: The arguments of the class, as text.
        values: Its ``let``s, as text.
        line: The line where it begins.
    """

    name: str
    base: str
    parameters: tuple[str, ...]
    values: dict[str, str] = field(default_factory=dict)
    line: int = 0

    @property
    def class_name(self) -> str:
        return self.name.partition("_")[2]

    @property
    def mnemonic(self) -> str:
        """The quoted parameter: the name of an operation or a type in MLIR text."""
        return [p.strip('"') for p in self.parameters if p.startswith('"')][-1]

    @property
    def traits(self) -> tuple[str, ...]:
        """Names of the traits, without their arguments."""
        listed = next((p[1:-1] for p in self.parameters if p.startswith("[")), "")
        return tuple(part.split("<")[0].strip() for part in _split(listed))

    @property
    def parent(self) -> str:
        """The class of the operation that it has to be in; empty if there is no restriction."""
        found = re.search(r'HasParent<"(?:::mlir::)?(\w+)">', " ".join(self.parameters))
        return found[1] if found else ""

    def dag(self, name: str) -> tuple[Argument, ...]:
        """The entries of a dag-valued ``let``; empty if there is no such ``let``."""
        text = self.values.get(name, "(ins)")
        inner = re.sub(r"^\(\w+\s*|\)$", "", text.strip())
        return tuple(_argument(part, self) for part in _split(inner))

    @property
    def summary(self) -> str:
        return self.values.get("summary", "").strip('"')

    @property
    def description(self) -> str:
        """The prose, without constraints and example."""
        return self._sections()[""]

    @property
    def example(self) -> str:
        """An example in MLIR's custom assembly format."""
        return self._sections().get("Example", "").removeprefix("```mlir\n").removesuffix("\n```")

    @property
    def constraints(self) -> dict[str, str]:
        """The text of each constraint, by label, in order."""
        items = re.split(r"^\* ", self._sections().get("Constraints", ""), flags=re.MULTILINE)[1:]
        pairs = (" ".join(item.split()).partition(": ") for item in items)
        return {label: text for label, _, text in pairs}

    def _sections(self) -> dict[str, str]:
        first, *rest = re.split(r"^#### (.*)\n", _dedented(self.values.get("description", "")), flags=re.MULTILINE)
        return {"": first.strip(), **{k: v.strip() for k, v in zip(rest[::2], rest[1::2], strict=True)}}


def _argument(text: str, record: Record) -> Argument:
    kind, colon, name = text.rpartition(":$")
    if not colon:
        raise TableGenError(f"{SOURCE.name}:{record.line}: {text!r} in {record.name} has no name")
    return Argument(kind.strip().strip('"'), name)


def _dedented(text: str) -> str:
    """A ``[{ … }]`` text without its brackets and without common indentation."""
    lines = text.removeprefix("[{").removesuffix("}]").strip("\n").splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:].rstrip() for line in lines)


def _split(text: str) -> list[str]:
    """The parts between commas that are in no bracket and no quotes."""
    parts, depth, quoted, current = [], 0, False, ""
    for c in text:
        quoted ^= c == '"'
        depth += 0 if quoted else (c in "<[(") - (c in ">])")
        if c == "," and not depth and not quoted:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [part for part in [*parts, current.strip()] if part]


_DEF: Final = re.compile(r"def (?P<name>\w+) : (?P<base>\w+)(?:<(?P<parameters>.*)>)? ?(?P<end>\{|;)$")
_LET: Final = re.compile(r"  let (?P<name>\w+) = (?P<value>.*)$")
_SKIPPED: Final = re.compile(r"$|//|#|include |class |\}$|  let .*;$")
"""Lines to skip between records: blank lines, comments, guards, and base classes with their ``let``s."""


def read(text: str | None = None) -> tuple[Record, ...]:
    """The records of a text; of ``Autobatch.td`` if None.

    Raises:
        TableGenError: A line is not in the subset.
    """
    lines = (SOURCE.read_text(encoding="utf-8") if text is None else text).splitlines()
    numbered = iter(enumerate(lines, 1))
    return tuple(_records(numbered))


def _records(lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
    for number, line in lines:
        match = _DEF.match(line)
        if match is None and not _SKIPPED.match(line):
            raise TableGenError(f"{SOURCE.name}:{number}: this is not read: {line.strip()}")
        if match is not None:
            values = dict(_lets(lines)) if match["end"] == "{" else {}
            yield Record(match["name"], match["base"], tuple(_split(match["parameters"] or "")), values, number)


def _lets(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """The ``let``s up to the brace that closes the record."""
    for number, line in lines:
        if line == "}":
            return
        match = _LET.match(line)
        if match is None:
            raise TableGenError(f"{SOURCE.name}:{number}: this is not read: {line.strip()}")
        value = match["value"]
        while not value.endswith(";"):
            value += "\n" + next(lines)[1]
        yield match["name"], value.removesuffix(";")


@dataclass(frozen=True)
class Definition:
    """The dialect, its types and its operations, in the file's order."""

    dialect: Record
    types: tuple[Record, ...]
    ops: tuple[Record, ...]

    @property
    def constraints(self) -> dict[str, str]:
        """The text of every constraint, by label."""
        return {
            label: text
            for record in (self.dialect, *self.types, *self.ops)
            for label, text in record.constraints.items()
        }


def definition(text: str | None = None) -> Definition:
    """The dialect that a text defines; ``Autobatch.td`` if None."""
    records = read(text)
    by_base = {base: tuple(r for r in records if r.base == base) for base in {r.base for r in records}}
    return Definition(by_base["Dialect"][0], by_base["Autobatch_Type"], by_base["Autobatch_Op"])
