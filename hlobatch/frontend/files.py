"""A function -> the lines of the file that it was made from, and whether that file is the user's.

A file may change after it was imported, and be imported again. Then its text on disk is not the source of an old
function. So the lines are read once for a function, as early as possible; if the file has changed since this process
began, it has to compile to the function's code.
"""

from __future__ import annotations

import functools
import importlib.machinery
import linecache
import sysconfig
import time
import types
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hlobatch.diagnostics import is_internal
from hlobatch.frontend.scopes import HELPER
from hlobatch.frontend.typed_code import PROGRAM, PROMPTS, compiles_to, typed

_BEGUN: Final = time.time()
_INSTALLED: Final = tuple(
    Path(folder) for name in ("stdlib", "platstdlib") if (folder := sysconfig.get_paths().get(name))
)
"""The folders of Python's own library."""
_KNOWN: Final[weakref.WeakKeyDictionary[types.FunctionType, tuple[str, Sequence[str]]]] = weakref.WeakKeyDictionary()
"""The file, or the name of a typed text, that a function was made from, with its lines."""


def lines_of(function: types.FunctionType) -> Sequence[str]:
    """The lines of the function's file; none if there is no file, or it has changed since the function was made."""
    if function not in _KNOWN:
        found = _of_file(function) or typed(function.__code__)
        if found is None:
            return ()
        _KNOWN[function] = found
    return _KNOWN[function][1]


def file_of(function: types.FunctionType) -> str:
    """The name under which Python has the lines of the function's file, or of the text that was typed."""
    return _KNOWN[function][0] if function in _KNOWN else function.__code__.co_filename


def _of_file(function: types.FunctionType) -> tuple[str, Sequence[str]] | None:
    """The file and its lines; None if the lines do not compile to the function's code."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    is_doubtful = code.co_filename in (PROGRAM, *PROMPTS) or _may_have_changed(function)
    if not lines or (is_doubtful and not compiles_to("".join(lines), code)):
        return None
    return code.co_filename, lines


def remember(function: types.FunctionType, lines: Sequence[str]) -> None:
    """Set the lines of a function that was made in another process, whose file may not exist here."""
    file = function.__code__.co_filename
    _KNOWN[function] = file, lines
    if not linecache.getlines(file):
        linecache.cache[file] = (sum(map(len, lines)), None, list(lines), file)


def _may_have_changed(function: types.FunctionType) -> bool:
    """Whether the file is newer than this process; loaders other than Python's may rewrite it, and are trusted."""
    loader = function.__globals__.get("__loader__")
    try:
        changed = Path(function.__code__.co_filename).stat().st_mtime
    except OSError:
        return False
    return changed > _BEGUN and type(loader) is importlib.machinery.SourceFileLoader


def is_users(function: types.FunctionType) -> bool:
    """Whether the user wrote a function: it is in a file outside of installed packages.

    A lambda in code that is being traced counts as part of that code.
    """
    return HELPER not in function.__qualname__ and _is_users_file(function.__code__.co_filename)


@functools.cache
def _is_users_file(file: str) -> bool:
    if not file or file.startswith("<frozen") or is_internal(file):
        return False
    path = Path(file)
    installed = any(root in path.parents for root in _INSTALLED)
    return not installed and not {"site-packages", "dist-packages"}.intersection(path.parts)
