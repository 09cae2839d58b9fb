"""Packs named parts of an artifact into a zip file with checksums, and unpacks it.

The file to read may be anything: no part is unpacked before its size is known to be plausible. ``SHA256SUMS`` is in the
format of ``sha256sum --check``. It detects damage; whoever changes a part on purpose can change its checksum too.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hlobatch.diagnostics import ArtifactError

SUMS: Final = "SHA256SUMS"
_MOST_PARTS: Final = 8
_SMALL: Final = 256 << 20
"""Bytes that any part may have, whatever its compression ratio."""
_BEGINNING: Final = b"PK"
_PIECE: Final = 1 << 20
_MOST_WITHOUT_SIZE: Final = 1 << 30
"""Bytes that are read at most from a source without a size."""
_RATIO: Final = 100
"""Largest compression ratio of a larger part."""


def pack(parts: Mapping[str, bytes]) -> bytes:
    """The zip file with the parts and their checksums."""
    content = io.BytesIO()
    sums = "".join(f"{hashlib.sha256(part).hexdigest()}  {name}\n" for name, part in parts.items())
    with zipfile.ZipFile(content, "w") as file:
        for name, part in {**parts, SUMS: sums.encode()}.items():
            is_believable = len(part) <= _SMALL or len(part) <= _RATIO * len(zlib.compress(part, 1))
            file.writestr(name, part, zipfile.ZIP_DEFLATED if is_believable else zipfile.ZIP_STORED)
    return content.getvalue()


def content_of(path: str | Path) -> bytes:
    """The bytes of a file; from a source without a size, such as a pipe, up to the size that an artifact may have.

    Raises:
        ArtifactError: It does not begin like a zip file, or does not end.
        OSError: There is no such file, or it cannot be read.
    """
    with Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        most = status.st_size if stat.S_ISREG(status.st_mode) and status.st_size else _MOST_WITHOUT_SIZE
        content = bytearray(file.read(len(_BEGINNING)))
        if content != _BEGINNING:
            raise ArtifactError("it is no zip file")
        while piece := file.read(min(_PIECE, most + 1 - len(content))):
            content += piece
    if len(content) > most:
        raise ArtifactError(f"it is more than {most} bytes long, and there may be no end to it")
    return bytes(content)


def unpack(content: bytes) -> dict[str, bytes]:
    """The parts of a zip file, checked against its checksums, which are among the parts, if it has any.

    Raises:
        ArtifactError: A part differs from its checksum, or has an implausible size.
        Exception: It is not a zip file, or damaged: ``zipfile`` has no single class for that.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        entries = file.infolist()
        _check_entries(entries, len(content))
        parts = {entry.filename: file.read(entry) for entry in entries}
    if SUMS in parts:
        _compare(parts)
    return parts


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names) or len(names) > _MOST_PARTS:
        raise ArtifactError(f"it has {len(names)} parts, some of one name or more than there can be")
    for entry in entries:
        if entry.file_size > max(_SMALL, _RATIO * min(entry.compress_size, size)):
            raise ArtifactError(f"{entry.filename!r} would be {entry.file_size} bytes, of a file of {size}")


def _compare(parts: Mapping[str, bytes]) -> None:
    """Compare all parts with their checksums."""
    wanted: dict[bytes, bytes] = {}
    for line in parts[SUMS].splitlines():
        checksum, _, name = line.partition(b"  ")
        wanted[name] = checksum
    found = {n.encode(): hashlib.sha256(p).hexdigest().encode() for n, p in parts.items() if n != SUMS}
    if wanted != found:
        differing = sorted(n.decode(errors="replace") for n in wanted.keys() | found if wanted.get(n) != found.get(n))
        raise ArtifactError(f"it is damaged: {', '.join(differing)} and the checksum of it differ")
