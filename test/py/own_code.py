"""Kernels in tests: which programs of the zoo have none and why, and the mode that checks each access to memory."""

import contextlib
import importlib.util
from collections.abc import Iterator
from unittest import mock

import pytest

HAS_LLVM = importlib.util.find_spec("llvmlite") is not None
needs_llvm = pytest.mark.skipif(not HAS_LLVM, reason="llvmlite is not installed, which kernels are compiled by")

WITHOUT = {
    "narrow_types": "arguments and results of type int4, which lie several to a byte, have no code",
    "prints": "what lanes have Python do has no code: print",
}
"""Programs of the zoo that neither a kernel nor a gang runs, and their errors."""


@contextlib.contextmanager
def checking() -> Iterator[None]:
    """A context in which new kernels check each access to memory, and report a lane that would leave an array."""
    with mock.patch("hlobatch.runtime.kernel_plan.CHECKED", new=True):
        yield
