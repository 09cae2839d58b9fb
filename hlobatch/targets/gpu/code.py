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
"""The compute capability that code is made for if no card is present; newer cards run it."""
NEWEST: Final = (9, 0)
"""The newest compute capability that code is made for; newer cards run that code, too."""
FEATURES: Final = "+ptx80"
"""The version of PTX, as LLVM's feature; drivers of CUDA 12 and later translate it."""
PLACES: Final = ("CUDA_HOME", "CUDA_PATH")
"""Environment variables that name the folder of CUDA."""
LIBRARY: Final = Path("nvvm", "libdevice", "libdevice.10.bc")
"""NVIDIA's library of mathematical functions, such as ``exp``, as LLVM's bitcode."""


def ptx(text: str, capability: tuple[int, int] | None = None) -> str:
    """The PTX of a module.

    Args:
        text: LLVM IR.
        capability: The compute capability of the oldest card that is to run it; by default that of this machine's.

    Raises:
        NoKernelError: LLVM does not take it, or a library that it needs is not found.
    """
    return _ptx(text, capability or capability_here())


@lru_cache(maxsize=64)
def _ptx(text: str, capability: tuple[int, int]) -> str:
    library = needed_library(text)
    bits = library.read_bytes() if library else b""
    major, minor = capability
    return jit.assembly(text, NVPTX.triple, f"sm_{major}{minor}", FEATURES, bits, KERNEL)


def needed_library(text: str) -> Path | None:
    """The path of the library that a module needs; None if it needs none.

    Raises:
        NoKernelError: The library is not found.
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
    """Folders where CUDA may be: those that the user names, the packages of JAX's plugin, and the usual one."""
    yield from (Path(os.environ[name]) for name in PLACES if os.environ.get(name))
    packages = importlib.util.find_spec("nvidia")
    for place in (packages and packages.submodule_search_locations) or ():
        yield from sorted(Path(place).iterdir())
    yield Path("/usr/local/cuda")


def capability_here() -> tuple[int, int]:
    """The compute capability of this machine's card, at most ``NEWEST``; ``OLDEST`` if it is not known."""
    told = getattr(_card(), "compute_capability", None)
    if not isinstance(told, str) or told.count(".") != 1:
        return OLDEST
    major, minor = (int(n) for n in told.split("."))
    return min((major, minor), NEWEST)


def cores_here(otherwise: int) -> int:
    """The number of multiprocessors of the card; ``otherwise`` if it is not known."""
    told = getattr(_card(), "core_count", None)
    return told if isinstance(told, int) and told > 0 else otherwise


def _card() -> Any:
    """JAX's first GPU, or None."""
    return jax.local_devices()[0] if jax.default_backend() == "gpu" else None
