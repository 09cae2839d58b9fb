"""Parses modules from text or bytecode, with diagnostics that name the file, and prints them."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any, Final

from hlobatch._jax import ir, make_context, make_plain_context
from hlobatch.diagnostics import Location, Note, ParseError
from hlobatch.dialect.bytecode import fault, is_bytecode
from hlobatch.dialect.locations import start_of, to_location


def parse(source: str | bytes, file: str = "-", context: Any = None) -> Any:
    """The module in a text or in bytecode.

    Args:
        source: The text, or bytes of either.
        file: The name of the source in messages.
        context: A context from ``make_context``; None for a new one.

    Raises:
        ParseError: It is not a module; the message is MLIR's, with its location in the text.
    """
    if isinstance(source, bytes) and not is_bytecode(source):
        source = decoded(source, file)
    if isinstance(source, str):
        _check(source, file)
    elif found := fault(source):
        raise ParseError(found, start_of(file))
    with context or make_context():
        try:
            return ir.Module.parse(source)
        except ir.MLIRError as error:
            raise parse_error(error, file) from None
        except (MemoryError, ValueError) as error:  # bytecode with sizes that do not fit in memory
            raise ParseError(f"this is no module: {error}", start_of(file)) from None


def decoded(source: bytes, file: str) -> str:
    """The text in some bytes.

    Raises:
        ParseError: They are not UTF-8.
    """
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1
        raise ParseError("the text is not UTF-8", Location(file, line, 1, line, 2)) from None


MAX_DEPTH: Final = 256
"""Largest nesting depth of brackets: MLIR's parser recurses for each, and would overflow the process's stack."""
_MARK: Final = re.compile(r'(?P<string>"(?:[^"\\\n]|\\.)*")|//[^\n]*|->|(?P<open>[\[({<])|(?P<close>[\])}>])')
_ESCAPE: Final = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|.)")


def _check(text: str, file: str) -> None:
    """Refuse text that would crash MLIR: brackets nested too deeply, strings that are not UTF-8 (see ``bytecode``)."""
    depth = 0
    for mark in _MARK.finditer(text):
        depth += (mark["open"] is not None) - (mark["close"] is not None)
        if depth > MAX_DEPTH:
            raise ParseError(f"more than {MAX_DEPTH} brackets are open here", _place_in(text, mark.start(), file))
        if "\\" in (mark["string"] or "") and not _is_text(mark["string"].encode()):
            raise ParseError("a string is not UTF-8", _place_in(text, mark.start(), file))


def _is_text(string: bytes) -> bool:
    """Whether a string is UTF-8 after its escapes are replaced."""
    try:
        _ESCAPE.sub(lambda m: bytes.fromhex(m[1].decode()) if m[1] else b"", string).decode()
    except UnicodeDecodeError:
        return False
    return True


def _place_in(text: str, at: int, file: str) -> Location:
    """The location of a character in a text."""
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return Location(file, line, column, line, column + 1)


def parse_error(error: Any, file: str) -> ParseError:
    """MLIR's error as one of hlobatch's: the first diagnostic, with the others as notes."""
    found = [Note(_first_line(d.message), _place(d.location, file)) for d in _flat(error.error_diagnostics)]
    first, *rest = found or [Note(_first_line(str(error)), start_of(file))]
    return ParseError(first.message, first.location, notes=rest)


def _flat(diagnostics: Sequence[Any]) -> list[Any]:
    """The diagnostics and their notes, without those that only print the operation."""
    found = [d for diagnostic in diagnostics for d in (diagnostic, *_flat(diagnostic.notes))]
    return [d for d in found if not d.message.startswith("see current operation")]


def _first_line(message: str) -> str:
    return next(iter(message.strip().splitlines()), "this is no module")


def _place(location: ir.Location, file: str) -> Location:
    """A location in the text; the start of the text if it has no line."""
    place = to_location(ir.Location.from_attr(location.attr), file)  # from_attr returns the location's concrete class
    return place if place.line else start_of(file)


def as_text(module: ir.Module, *, debug_info: bool = False, generic: bool = False) -> str:
    """A module as text.

    Args:
        module: The module.
        debug_info: Whether operations are printed with locations.
        generic: Whether code is printed in generic form as well, for tools without StableHLO.
    """
    return str(module.operation.get_asm(enable_debug_info=debug_info, print_generic_op_form=generic))


def as_bytecode(module: ir.Module, *, generic: bool = False) -> bytes:
    """A module as bytecode, with locations.

    Args:
        module: The module.
        generic: Whether the attributes of code are written in generic form, for tools without StableHLO; StableHLO's
            own form is smaller, and is the one that hlobatch reads.
    """
    buffer = io.BytesIO()
    if generic:
        with make_plain_context():
            module = ir.Module.parse(as_text(module, debug_info=True, generic=True))
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()
