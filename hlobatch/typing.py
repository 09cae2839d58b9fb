"""Names of types of what users and JAX hand over, about which Python's type checkers cannot be told more.

They are `Any` for a type checker. In a signature they say what is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

PyTree: TypeAlias = Any
"""Nested tuples, lists, dicts and other nodes that JAX knows, with arrays or numbers as leaves."""

ArrayLike: TypeAlias = Any
"""An array of JAX or NumPy, a tracer, or a number of Python."""

Arrays: TypeAlias = Sequence[ArrayLike]
"""The leaves of a pytree, or the operands of a program."""

Axes: TypeAlias = Any
"""The batch axis of arguments, as for `jax.vmap`: one for all, None for none, or a pytree of such axes."""

DType: TypeAlias = Any
"""What `np.dtype` takes, or a dtype of typed keys."""

Function: TypeAlias = Callable[..., Any]
"""A function of the user, with any parameters and any result."""
