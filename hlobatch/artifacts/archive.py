"""Parts of an artifact by name <-> the bytes of a zip file, with a checksum of each part.

What is read may be anything: no part is unpacked before its size is known to be believable. ``SHA256SUMS`` is what
``sha256sum --check`` reads. It finds what was damaged; who changes a part on purpose changes its checksum too.
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
"""Bytes that a part may have, however little of the file it takes."""
_BEGINNING: Final = b"PK"
_PIECE: Final = 1 << 20
_MOST_WITHOUT_SIZE: Final = 1 << 30
"""Bytes that are read of what does not say how many it has."""
_RATIO: Final = 100
"""How many times as large as what stands for it in the file a larger part may be."""


def pack(parts: Mapping[str, bytes]) -> bytes:
    """The zip file of parts, and of their checksums."""
    content = io.BytesIO()
    sums = "".join(f"{hashlib.sha256(part).hexdigest()}  {name}\n" for name, part in parts.items())
    with zipfile.ZipFile(content, "w") as file:
        for name, part in {**parts, SUMS: sums.encode()}.items():
            is_believable = len(part) <= _SMALL or len(part) <= _RATIO * len(zlib.compress(part, 1))
            file.writestr(name, part, zipfile.ZIP_DEFLATED if is_believable else zipfile.ZIP_STORED)
    return content.getvalue()


def content_of(path: str | Path) -> bytes:
    """The bytes of a file; of what has no size, such as a pipe or a device, so many as an artifact may have.

    Raises:
        ArtifactError: It does not begin as a zip file does, or there is no end to it.
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
    """The parts of a zip file; their checksums are among them, and were compared, where there are any.

    Raises:
        ArtifactError: A part differs from its checksum, or is of a size that there is no reason for.
        Exception: It is no zip file, or damaged: ``zipfile`` has no one class for that.
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
