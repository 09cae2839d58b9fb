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
def stores_masked() -> bool:
    """Whether it is quick to store a vector in some lanes and not in others.

    With AVX-512 it is. With AVX2 alone it is not on processors of AMD, and NumPy does not say who made one. Others have
    no instruction for it, so that LLVM makes a choice and a whole store.
    """
    vectors = np.show_config(mode="dicts").get("SIMD Extensions", {})  # NumPy leaves out what is empty
    names = {*vectors.get("baseline", ()), *vectors.get("found", ())}
    has_avx2 = bool(names & {"AVX2", "X86_V3"})
    return not has_avx2 or any(name == "X86_V4" or name.startswith("AVX512") for name in names)
