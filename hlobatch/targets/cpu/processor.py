"""The processor of this machine -> how many cores it has, how wide vectors are, and whether masked stores are fast."""

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
    """Numbers of 32 bits in a vector of the processor; LLVM uses vectors of the width that it is asked for."""
    return 16 if _has_avx512() else 8


@cache
def stores_masked() -> bool:
    """Whether it is quick to store a vector in some lanes and not in others.

    With AVX-512, a masked store is fast. With AVX2 alone it is slow on processors of AMD; NumPy does not say who made a
    processor, so it counts as slow on all of those. Older processors have no masked store: LLVM makes a select and a
    whole store in its place, which is fast.
    """
    return _has_avx512() or not _extensions() & {"AVX2", "X86_V3"}


def _has_avx512() -> bool:
    return any(name == "X86_V4" or name.startswith("AVX512") for name in _extensions())


def _extensions() -> frozenset[str]:
    """The processor's vector extensions, in NumPy's words."""
    found = np.show_config(mode="dicts").get("SIMD Extensions", {})  # NumPy leaves out what is empty
    return frozenset({*found.get("baseline", ()), *found.get("found", ())})
