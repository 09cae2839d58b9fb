"""A module of LLVM IR for NVIDIA's GPUs -> PTX, their assembly, which the driver translates for the card at hand."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import jax

from hlobatch.kernels import jit
from hlobatch.kernels.grid import KERNEL
from hlobatch.kernels.processors import NVPTX
from hlobatch.kernels.types import NoKernelError

OLDEST: Final = (8, 0)
"""The compute capability that code is made for where there is no card; newer ones run it."""
NEWEST: Final = (9, 0)
"""The newest that code is made for: newer ones run it, too."""
FEATURES: Final = "+ptx80"
"""The version of PTX, which drivers of CUDA 12 and later translate."""
PLACES: Final = ("CUDA_HOME", "CUDA_PATH")
"""Variables of the environment that say where CUDA is."""
LIBRARY: Final = Path("nvvm", "libdevice", "libdevice.10.bc")
"""NVIDIA's functions of numbers, such as ``exp``, as LLVM's bitcode."""


def ptx(text: str, capability: tuple[int, int] | None = None) -> str:
    """The code of a module.

    Args:
        text: LLVM IR.
        capability: Of the oldest card that is to run it; by default of the card at hand.

    Raises:
        NoKernelError: LLVM does not take it, or functions that it calls are nowhere.
    """
    return _ptx(text, capability or capability_here())


@lru_cache(maxsize=64)
def _ptx(text: str, capability: tuple[int, int]) -> str:
    library = needed_library(text)
    bits = library.read_bytes() if library else b""
    major, minor = capability
    return jit.assembly(text, NVPTX.triple, f"sm_{major}{minor}", FEATURES, bits, KERNEL)


def needed_library(text: str) -> Path | None:
    """The library that a module needs, if it does.

    Raises:
        NoKernelError: It is nowhere.
    """
    if f"@{NVPTX.math_prefix}" not in text:
        return None
    if (found := _library()) is None:
        raise NoKernelError(
            f"it computes functions of floats, and NVIDIA's library of those, `{LIBRARY.name}`, is not there: "
            "it comes with the package `nvidia-cuda-nvcc`, or CUDA_HOME says where CUDA is"
        )
    return found


@cache
def _library() -> Path | None:
    return next((folder / LIBRARY for folder in _folders() if (folder / LIBRARY).is_file()), None)


def _folders() -> Iterator[Path]:
    """Where CUDA may be: where the user says, in the packages that JAX's plugin brings, and where it usually is."""
    yield from (Path(os.environ[name]) for name in PLACES if os.environ.get(name))
    packages = importlib.util.find_spec("nvidia")
    for place in (packages and packages.submodule_search_locations) or ():
        yield from sorted(Path(place).iterdir())
    yield Path("/usr/local/cuda")


def capability_here() -> tuple[int, int]:
    """The compute capability that code is made for: that of the card, as far as it is known."""
    told = getattr(_card(), "compute_capability", None)
    if not isinstance(told, str) or told.count(".") != 1:
        return OLDEST
    major, minor = (int(n) for n in told.split("."))
    return min((major, minor), NEWEST)


def cores_here(otherwise: int) -> int:
    """Multiprocessors of the card, if it says how many."""
    told = getattr(_card(), "core_count", None)
    return told if isinstance(told, int) and told > 0 else otherwise


def _card() -> Any:
    """The first GPU that JAX has, if it has one."""
    return jax.local_devices()[0] if jax.default_backend() == "gpu" else None
