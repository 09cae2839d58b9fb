"""What the processor of this machine is like."""

from __future__ import annotations

import os
from functools import cache

import numpy as np


def cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def vector() -> int:
    """Numbers of 32 bits that it does at a time; of what it has, LLVM uses as much as it is asked to."""
    return 16 if _has_avx512() else 8


@cache
def stores_masked() -> bool:
    """Whether it is quick to store a vector in some lanes and not in others.

    With AVX-512 it is. With AVX2 alone it is not on processors of AMD, and NumPy does not say who made one. Others have
    no instruction for it, so that LLVM makes a choice and a whole store.
    """
    return _has_avx512() or not _extensions() & {"AVX2", "X86_V3"}


def _has_avx512() -> bool:
    return any(name == "X86_V4" or name.startswith("AVX512") for name in _extensions())


def _extensions() -> frozenset[str]:
    """What it can do to vectors, in NumPy's words."""
    found = np.show_config(mode="dicts").get("SIMD Extensions", {})  # NumPy leaves out what is empty
    return frozenset({*found.get("baseline", ()), *found.get("found", ())})
