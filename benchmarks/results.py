"""The files of results: rows of figures, each with the environment that it was measured in."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np

import hlobatch
from benchmarks.measure import Row


def environment() -> dict[str, Any]:
    """The environment that the figures depend on: processor, device, versions, date."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "platform": jax.default_backend(),
        "device": jax.devices()[0].device_kind,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "jax": jax.__version__,
        "jaxlib": version("jaxlib"),
        "numpy": np.__version__,
        "hlobatch": hlobatch.__version__,
    }


_VECTORS: Final = {"avx512f": "AVX-512", "avx2": "AVX2"}
"""Names of vector units by the flags of processors, the widest first. They are added to the model's name, which may be
only the vendor's."""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    model, flags = told.get("model name", platform.machine()), told.get("flags", "").split()
    units = [name for flag, name in _VECTORS.items() if flag in flags]
    return f"{model} with {units[0]}" if units else model


def file_of(path: Path, environment: dict[str, Any]) -> Path:
    """The path itself if it is a JSON file; for a folder, the path of the platform's file in it."""
    return path if path.suffix == ".json" else path / f"{environment['platform']}.json"


def load(path: Path) -> list[Row]:
    """The rows of a file; empty if it does not exist."""
    return list(json.loads(path.read_text())["rows"]) if path.exists() else []


def save(path: Path, rows: list[Row]) -> None:
    """Write a file, one row per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f'{{"rows": [\n{lines}\n]}}\n')


def merge(old: list[Row], new: list[Row], order: list[str]) -> list[Row]:
    """Old and new rows, sorted; new rows replace old ones of the same workload, size and contender.

    Args:
        old: The rows of the file.
        new: The rows that were measured now.
        order: Names of workloads, for sorting.
    """
    replaced = {_identity(row) for row in new}
    rows = [row for row in old if _identity(row) not in replaced] + new
    position = {name: k for k, name in enumerate(order)}
    return sorted(rows, key=lambda r: (position.get(r["workload"], len(order)), r["inputs"], r["lanes"]))


def _identity(row: Row) -> tuple[str, int, int, str]:
    return row["workload"], row["lanes"], row["inputs"], row["contender"]
