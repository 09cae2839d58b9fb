"""A function -> the lines of the file that it was made from, and whose file that is.

A file may change after it was imported, and be imported again. What is on the disk then is not what an old function was
made from: the lines are read once for a function, as early as possible, and if the file has changed since this process
began, it has to compile to the function's code.
"""

from __future__ import annotations

import functools
import importlib.machinery
import linecache
import sysconfig
import time
import types
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hlobatch.analysis.draws import code_within
from hlobatch.diagnostics import is_internal
from hlobatch.frontend.scopes import HELPER

_BEGUN: Final = time.time()
_INSTALLED: Final = tuple(
    Path(folder) for name in ("stdlib", "platstdlib") if (folder := sysconfig.get_paths().get(name))
)
"""Where Python's own library lies."""
_NO_FILE: Final = "<string>"
"""What ``exec`` calls its code; from Python 3.13 on ``linecache`` knows the program of ``-c`` by that name."""
_KNOWN: Final[weakref.WeakKeyDictionary[types.FunctionType, Sequence[str]]] = weakref.WeakKeyDictionary()


def lines_of(function: types.FunctionType) -> Sequence[str]:
    """The lines of the file; none if there is no file, or if it is not the one any more."""
    code = function.__code__
    if function not in _KNOWN:
        linecache.checkcache(code.co_filename)
        lines = [] if code.co_filename == _NO_FILE else linecache.getlines(code.co_filename, function.__globals__)
        if not lines or (_may_have_changed(function) and not _compiles_to(lines, code)):
            return ()
        _KNOWN[function] = lines
    return _KNOWN[function]


def remember(function: types.FunctionType, lines: Sequence[str]) -> None:
    """Take lines for those of a function that was made in another process, whose file may not be here."""
    file = function.__code__.co_filename
    _KNOWN[function] = lines
    if not linecache.getlines(file):
        linecache.cache[file] = (sum(map(len, lines)), None, list(lines), file)


def _may_have_changed(function: types.FunctionType) -> bool:
    """Whether the file is younger than this process; a loader that is not Python's own may change it as it loads it."""
    loader = function.__globals__.get("__loader__")
    try:
        changed = Path(function.__code__.co_filename).stat().st_mtime
    except OSError:
        return False
    return changed > _BEGUN and type(loader) is importlib.machinery.SourceFileLoader


def _compiles_to(lines: Sequence[str], wanted: types.CodeType) -> bool:
    """Whether some code is among what the lines compile to."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile("".join(lines), wanted.co_filename, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return wanted in code_within(module)


def is_users(function: types.FunctionType) -> bool:
    """Whether a function was written by the user: it stands in a file outside of what is installed.

    A lambda of code that is being traced is part of that code.
    """
    return HELPER not in function.__qualname__ and _is_users_file(function.__code__.co_filename)


@functools.cache
def _is_users_file(file: str) -> bool:
    if not file or file.startswith("<frozen") or is_internal(file):
        return False
    path = Path(file)
    installed = any(root in path.parents for root in _INSTALLED)
    return not installed and not {"site-packages", "dist-packages"}.intersection(path.parts)
