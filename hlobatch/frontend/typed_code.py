"""Code that no file holds -> the text that it was typed as, where Python still has that.

That is the program of ``python -c``, one that was given as the standard input, if that is a file, and what was typed at
a prompt, if that keeps a history. IPython, and Python from 3.13 on, give what is typed to ``linecache`` themselves.
What is found has to compile to the very code.
"""

from __future__ import annotations
import __future__

import linecache
import os
import stat
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hlobatch.ir.walk import code_within

PROGRAM: Final = "<string>"
"""What ``python -c`` calls its program, and ``exec`` what it is given."""
INPUT: Final = "<stdin>"
"""What a prompt calls what is typed there, and Python its standard input."""
PROMPTS: Final = (INPUT, "<console>")
_FUTURES: Final = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_MOST_LINES_AFTER: Final = 50
"""Lines of what was typed that may follow the last one that anything was made of, such as brackets."""
_MOST_TEXTS_COMPILED: Final = 2_000
"""Texts that are compiled in the search."""


def typed(code: types.CodeType) -> tuple[str, Sequence[str]] | None:
    """The text that some code was typed as, and the name that ``linecache`` knows it by; None if it is gone."""
    name = code.co_filename
    if name == PROGRAM and sys.orig_argv[:-1] and (text := _argument()) is not None:
        return _known(name, text) if compiles_to(text, code) else None
    if name not in PROMPTS:
        return None
    if name == INPUT and (text := _input()) is not None and compiles_to(text, code):
        return _known(name, text)
    for number, text in enumerate(_typed_texts(code)):
        if number == _MOST_TEXTS_COMPILED:
            break
        if compiles_to(text, code):
            return _known(f"{name[:-1]}-{len(linecache.cache)}>", text)
    return None


def compiles_to(text: str, wanted: types.CodeType) -> bool:
    """Whether some code is among what a text compiles to."""
    flags = wanted.co_flags & _FUTURES
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(text, wanted.co_filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return wanted in code_within(module)


def _known(name: str, text: str) -> tuple[str, Sequence[str]]:
    """The text by a name that errors find it by."""
    lines = text.splitlines(keepends=True)
    linecache.cache[name] = (len(text), None, lines, name)
    return name, lines


def _argument() -> str | None:
    """The program of ``python -c``."""
    arguments = sys.orig_argv
    options = [i for i, argument in enumerate(arguments) if argument.startswith("-") and argument.endswith("c")]
    return f"{arguments[options[0] + 1]}\n" if options and sys.argv[:1] == ["-c"] else None


def _input() -> str | None:
    """The standard input, if it is a file, whose place stays as it is."""
    try:
        status = os.fstat(0)
        return os.pread(0, status.st_size, 0).decode() if stat.S_ISREG(status.st_mode) else None
    except (OSError, ValueError, AttributeError):  # closed; no text; a system that has no `pread`
        return None


def _typed_texts(code: types.CodeType) -> Iterator[str]:
    """What may have been typed at once, the last first, as far as the code may have been made of it."""
    lines = _history()
    first = code.co_firstlineno - 1
    length = max((line for _, _, line in code.co_lines() if line), default=first + 1)
    for start in reversed(range(len(lines) - length + 1)):
        begin = lines[start + first].lstrip()
        if lines[start][:1].isspace() or not (begin.startswith(("@", "def ")) or "lambda" in begin):
            continue
        for end in range(start + length, min(start + length + _MOST_LINES_AFTER, len(lines)) + 1):
            yield "\n".join(lines[start:end]) + "\n"


def _history() -> list[str]:
    readline: Any = sys.modules.get("readline")
    if readline is None:
        return []
    return [readline.get_history_item(i + 1) or "" for i in range(readline.get_current_history_length())]
