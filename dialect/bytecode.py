"""Finds data in bytecode that would crash the process, before MLIR reads it.

MLIR's Python bindings crash if a message quotes a string that is not UTF-8, and MLIR's reader writes out of bounds if
there are more attributes or types than the bytecode declares. If bytes do not have the form of bytecode, the search
just ends, since MLIR refuses them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

MAGIC: Final = b"ML\xefR"
_STRINGS, _ATTRIBUTES, _OFFSETS = 0, 2, 3
"""The numbers of sections: strings, attributes and types, and their offsets."""


def is_bytecode(source: bytes) -> bool:
    """Whether bytes hold a module as bytecode, and not as text."""
    return source.startswith(MAGIC)


def fault(source: bytes) -> str | None:
    """The fault in some bytecode; None if none is found."""
    try:
        for string in _strings(source):
            string.decode()
    except UnicodeDecodeError:
        return "a string is not UTF-8"
    except OverflowError:
        return "this is no module: more attributes or types than it says"
    except EOFError:
        pass
    return None


class _Reader:
    """Reads bytes from the start; raises EOFError if they end too soon."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise EOFError
        self.at += count
        return self.data[self.at - count : self.at]

    def text(self) -> bytes:
        """The bytes before the next zero byte."""
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise EOFError
        return self.take(end + 1 - self.at)[:-1]

    def number(self) -> int:
        """A number whose first byte ends in as many zero bits as there are further bytes."""
        first = self.take(1)
        if first == b"\0":
            return int.from_bytes(self.take(8), "little")
        more = (first[0] & -first[0]).bit_length() - 1
        return int.from_bytes(first + self.take(more), "little") >> (more + 1)


def _strings(source: bytes) -> Iterator[bytes]:
    """The producer's name, the strings of the string section, and attributes and types in text form."""
    reader = _Reader(source)
    reader.take(len(MAGIC))
    reader.number()  # the version of the format
    yield reader.text()
    sections = _sections(reader)
    yield from _string_section(_Reader(sections.get(_STRINGS, b"")))
    yield from _texts(_Reader(sections.get(_ATTRIBUTES, b"")), _Reader(sections.get(_OFFSETS, b"")))


def _sections(reader: _Reader) -> dict[int, bytes]:
    """The sections, by number."""
    found: dict[int, bytes] = {}
    while reader.at < len(reader.data):
        (kind,) = reader.take(1)
        length = reader.number()
        if kind & 0x80:  # the section is aligned
            alignment = max(reader.number(), 1)
            reader.take(-reader.at % alignment)
        found[kind & 0x7F] = reader.take(length)
    return found


def _string_section(reader: _Reader) -> Iterator[bytes]:
    lengths = [reader.number() for _ in range(min(reader.number(), len(reader.data)))]
    for length in reversed(lengths):  # written last first; each counts the zero at its end
        yield reader.take(length)[:-1]


def _texts(data: _Reader, offsets: _Reader) -> Iterator[bytes]:
    """Attributes and types in text form, which they have if their dialect has no bytecode form for them.

    Raises:
        OverflowError: There are more than declared.
    """
    for left in (offsets.number(), offsets.number()):  # the numbers of attributes and of types come first
        while left:
            offsets.number()  # the number of their dialect
            count = offsets.number()
            if count > left:
                raise OverflowError
            left -= count
            for _ in range(count):
                size = offsets.number()
                found = data.take(size >> 1)
                if not size & 1:
                    yield found.rstrip(b"\0")
