"""Bytes -> a file that holds them as a whole, or is as it was."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside the one that is there, and put it in its place when all of it is written.

    Whatever happens before, the old file stays, and nothing else is left behind. A link keeps leading where it does,
    and a file keeps its permissions. What is no file, such as a pipe, is written to.

    Raises:
        OSError: It cannot be written: the disk is full, or something forbids it.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        target.write_bytes(content)
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
        if mode is not None:
            beside.chmod(stat.S_IMODE(mode))
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
