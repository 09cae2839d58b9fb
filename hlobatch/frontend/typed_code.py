"""Code that is in no file -> the text that was typed, if Python still has it.

That is the program of ``python -c``, a program on the standard input if that is a file, and the input of a prompt that
keeps a history. IPython, and Python from 3.13 on, register their input in ``linecache`` themselves. A text is only used
if it compiles to the very code.
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
"""Python's file name for the program of ``python -c``, and for the argument of ``exec``."""
INPUT: Final = "<stdin>"
"""Python's file name for its standard input, and for the input of its prompt."""
PROMPTS: Final = (INPUT, "<console>")
_FUTURES: Final = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_MOST_LINES_AFTER: Final = 50
"""Most lines of input that may follow the last line with code, such as closing brackets."""
_MOST_TEXTS_COMPILED: Final = 2_000
"""Most texts that are compiled in the search."""


def typed(code: types.CodeType) -> tuple[str, Sequence[str]] | None:
    """The text that code was typed as, with its name in ``linecache``; None if the text is gone."""
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
    """Whether a text compiles to a module that contains some code."""
    flags = wanted.co_flags & _FUTURES
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(text, wanted.co_filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return wanted in code_within(module)


def _known(name: str, text: str) -> tuple[str, Sequence[str]]:
    """A name under which errors find the text, and its lines."""
    lines = text.splitlines(keepends=True)
    linecache.cache[name] = (len(text), None, lines, name)
    return name, lines


def _argument() -> str | None:
    """The program of ``python -c``."""
    arguments = sys.orig_argv
    options = [i for i, argument in enumerate(arguments) if argument.startswith("-") and argument.endswith("c")]
    return f"{arguments[options[0] + 1]}\n" if options and sys.argv[:1] == ["-c"] else None


def _input() -> str | None:
    """The standard input, if it is a file, without a change of its position; else None."""
    try:
        status = os.fstat(0)
        return os.pread(0, status.st_size, 0).decode() if stat.S_ISREG(status.st_mode) else None
    except (OSError, ValueError, AttributeError):  # the file is closed or holds no text, or the system has no `pread`
        return None


def _typed_texts(code: types.CodeType) -> Iterator[str]:
    """Texts that may have been typed as one input, the latest first, and that may contain the code."""
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
