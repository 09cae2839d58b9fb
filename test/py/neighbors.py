"""Programs in a row share the single operations that JAX has compiled for them, which are mostly the same ones."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import shares


def neighbors() -> int:
    """How many do; what is compiled for all of them, in all forms, takes gigabytes."""
    return 12 if shares.by_night else 48


def share_operations(program: Any, programs: Sequence[Any]) -> None:
    """Drop what was compiled for programs in other parts of a list."""
    _only(type(program), programs.index(program) // neighbors())


@functools.lru_cache(maxsize=1)
def _only(kind: type, part: int) -> None:
    jax.clear_caches()
