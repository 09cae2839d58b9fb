"""Programs in a row share the single operations that JAX has compiled for them, which are mostly the same ones."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import shares


def neighbors() -> int:
    """The number of programs that share operations; compiled code of all programs in all forms takes gigabytes."""
    return 12 if shares.by_night else 160


def share_operations(program: Any, programs: Sequence[Any]) -> None:
    """Drop compiled code of programs in other parts of a list."""
    _only(type(program), programs.index(program) // neighbors())


@functools.lru_cache(maxsize=1)
def _only(kind: type, part: int) -> None:
    jax.clear_caches()
