"""``hb.checkpoint``: a function whose values a derivative computes again on the way back, instead of saving them.

It is a part of every program that calls it, like a batched function; each call of it is marked as to be computed again.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar, final

from hlobatch._jax import checkpointed_by_jax

P = ParamSpec("P")
R = TypeVar("R")


@final
@dataclass(unsafe_hash=True)
class Checkpointed(Generic[P, R]):
    """A function whose values are computed again on the way back; made by ``hb.checkpoint``.

    Attributes:
        function: The function.
        is_tried: Whether it is traced by JAX where that is possible, since it was made by ``jax.checkpoint``.
    """

    function: Callable[P, R]
    is_tried: bool = False

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.__hlobatch_function__, updated=())

    @property
    def __hlobatch_function__(self) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self.function, "__hlobatch_function__", self.function)
        return found

    @property
    def __hlobatch_type_inference__(self) -> Callable[..., Any] | None:
        found: Callable[..., Any] | None = getattr(self.function, "__hlobatch_type_inference__", None)
        return found

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The function as a method of an object, which is its first argument."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function; outside of a batched function it has no other effect."""
        return self.function(*args, **kwargs)


def checkpoint(function: Callable[P, R]) -> Checkpointed[P, R]:
    """A function for which reverse-mode derivatives save only the arguments, and compute its values once more.

    Going back through a batched function takes a tape of what each block needs, as long as the lane has run. A call of
    a checkpointed function puts its arguments on the tape. On the way back it is called again, with a tape for this
    call alone. So a loop of ``n`` turns that call a function of ``m`` turns needs a tape of some ``n + m`` entries in
    place of ``n * m``, and goes forward twice.

    Args:
        function: A function that is called in batched code. ``jax.checkpoint`` of one that loops or branches is taken
            for the same; its policy is ignored.

    Returns:
        The function, which can be called as before, in batched code and in plain Python.

    Examples:
        >>> import hlobatch as hb, jax, jax.numpy as jnp
        >>> @hb.checkpoint
        ... def eight_turns(x):
        ...     for i in range(8):
        ...         x = jnp.sin(x) if x > 0.5 else x * 1.5
        ...     return x
        >>> @hb.batch(max_tape=32)
        ... def turns(x, n):
        ...     while n > 0:
        ...         x, n = eight_turns(x), n - 1
        ...     return x
        >>> x, n = jnp.array([1.0, 2.0]), jnp.array([3, 12])
        >>> jax.jit(jax.grad(lambda x: turns(x, n).sum()))(x).shape
        (2,)
    """
    if isinstance(function, Checkpointed):
        return function
    by_jax = from_jax(function)
    return Checkpointed(function if by_jax is None else by_jax.function)


def from_jax(function: Any) -> Checkpointed[..., Any] | None:
    """The result of ``jax.checkpoint`` as a ``Checkpointed``; None for any other object."""
    plain = checkpointed_by_jax(function)
    return None if plain is None else Checkpointed(plain, is_tried=True)


def is_computed_again(function: Any) -> bool:
    """Whether calls of a function are computed again on the way back."""
    return isinstance(function, Checkpointed)
