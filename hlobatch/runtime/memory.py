"""Bytes of memory that are free on a device; for a CPU, within every limit on the process."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import jax

from hlobatch.targets.registry import target_of

BYTES_SURELY_THERE: Final = 2**26
"""Bytes that are taken to be free without a check."""
_CGROUP: Final = Path("/sys/fs/cgroup")


def available() -> int:
    """Bytes that arrays on the default device may still take; ``sys.maxsize`` if that is not known."""
    if target_of(jax.default_backend()).is_host:
        return max(0, min(_limits(), default=sys.maxsize))
    told = jax.local_devices()[0].memory_stats() or {}
    return max(0, int(told.get("bytes_limit", sys.maxsize)) - int(told.get("bytes_in_use", 0)))


def _limits() -> Iterator[int]:
    """The bytes that each limit leaves, for those limits that the system reports."""
    for limit in (_of_machine, _of_addresses, _of_group, _of_first_group):
        try:
            left = limit()
        except (ImportError, OSError, ValueError, KeyError, AttributeError):
            continue  # this system has no such limit
        if left is not None:
            yield left


def _of_machine() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines() if sys.platform == "linux" else []
    for line in lines:
        name, amount, *_ = line.split()
        if name == "MemAvailable:":
            return int(amount) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _of_addresses() -> int | None:
    """The bytes that ``ulimit -v`` leaves."""
    resource = importlib.import_module("resource")  # not on every system
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return int(limit) - pages * os.sysconf("SC_PAGE_SIZE")


def _of_group() -> int | None:
    """The bytes that the process's control group, version 2, leaves."""
    return _left(_CGROUP / _group(""), "memory.max", "memory.current", "inactive_file")


def _of_first_group() -> int | None:
    """The bytes that the process's control group, version 1, leaves."""
    folder = _CGROUP / "memory"
    inside = folder / _group("memory")
    found = inside if inside.exists() else folder  # a container sees its own group as the root group
    return _left(found, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def _group(controller: str) -> str:
    """The path of the process's control group for a controller; in version 2 the controller's name is empty."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    groups = {name: path for _, names, path in (line.split(":", 2) for line in lines) for name in names.split(",")}
    return groups[controller].lstrip("/")


def _left(folder: Path, limit: str, used: str, reclaimable: str) -> int | None:
    text = (folder / limit).read_text().strip()
    if text == "max":
        return None
    told = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return int(text) - int((folder / used).read_text()) + int(told[reclaimable])
