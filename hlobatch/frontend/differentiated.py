"""``jax.grad(f)`` in code of a lane -> a callable object, which is followed if JAX cannot trace ``f``.

::

    jax.grad(f)(x)      f can be traced: JAX's own derivative
                    f loops or calls itself: %$1 = call @slopes(%x)        of ``prelude/jax.py``

The derivatives in ``slopes`` are a marker primitive. Once types are known, the way back through ``f`` replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp

from hlobatch._jax import Primitive, differentiated_by
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.traced_functions import as_meant

GRADIENT_MARK: Final = "__hlobatch_gradient__"
"""Attribute of the result of ``hb.value_and_grad``: the function to differentiate, ``argnums`` and ``has_aux``."""

slopes_p: Final = Primitive("hlobatch_slopes")
"""The marker: its operands are a number and arrays that it depends on, its results the derivatives by these arrays."""
slopes_p.multiple_results = True
slopes_p.def_abstract_eval(lambda *avals: list(avals[1:]))

apart_p: Final = Primitive("hlobatch_apart")
"""A copy of the arrays to differentiate by, so that other uses of them in the function do not count."""
apart_p.multiple_results = True
apart_p.def_abstract_eval(lambda *arrays: list(arrays))


class How(NamedTuple):
    """The options of a derivative.

    Attributes:
        argnums: The position of an argument, or several.
        has_aux: Whether the function returns a pair, whose second part is passed on.
        gives_value: Whether the value is returned, too.
    """

    argnums: int | tuple[int, ...]
    has_aux: bool
    gives_value: bool


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, eq=False)
class Differentiated:
    """A function that computes the derivatives of another.

    Attributes:
        function: The function to differentiate.
        how: The options.
    """

    function: Any
    how: How

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the derivative as JAX traces it."""
        argnums, has_aux, gives_value = self.how
        make: Callable[..., Any] = jax.value_and_grad if gives_value else jax.grad
        function = as_meant(self.function, (args, kwargs))
        return make(function, argnums, has_aux)(*args, **kwargs)

    def tree_flatten(self) -> tuple[tuple[Any, ...], How]:
        return (self.function,), self.how

    @classmethod
    def tree_unflatten(cls, how: How, functions: Sequence[Any]) -> Differentiated:
        return cls(functions[0], how)

    # The methods that the prelude calls

    @property
    def _numbers(self) -> tuple[int, ...]:
        return (self.how.argnums,) if isinstance(self.how.argnums, int) else self.how.argnums

    def as_arrays(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with arrays in place of all numbers to differentiate by.

        Raises:
            BatchTypeError: There is no such argument, or its leaves have no derivatives.
        """
        found = list(args)
        for number in self._numbers:
            if not -len(args) <= number < len(args):
                raise BatchTypeError(
                    f"argnums names argument {number}, and {len(args)} are given by position",
                    help="pass what is differentiated by position.",
                )
            arrays, tree = jax.tree.flatten(args[number])
            found[number] = jax.tree.unflatten(tree, apart_p.bind(*map(_as_array, arrays)))
        return tuple(found)

    def given(self, result: Any, args: tuple[Any, ...]) -> Any:
        """The result of the call.

        Raises:
            BatchTypeError: The function does not return a number.
        """
        is_pair = isinstance(result, tuple) and len(result) == 2
        if self.how.has_aux and not is_pair:
            raise BatchTypeError("with has_aux=True the function gives a pair, and this one does not")
        value, aux = result if self.how.has_aux else (result, None)
        arrays, tree = jax.tree.flatten([args[number] for number in self._numbers])
        slopes = jax.tree.unflatten(tree, slopes_p.bind(_as_number(value), *arrays))
        by = slopes[0] if isinstance(self.how.argnums, int) else tuple(slopes)
        return (result, by) if self.how.gives_value else (by, aux) if self.how.has_aux else by


def _as_array(value: Any) -> Any:
    array = jnp.asarray(value)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise BatchTypeError(
            f"a gradient is by floating-point numbers, and this holds {array.dtype}",
            help="pass floating-point numbers, or leave it out of argnums.",
        )
    return array


def _as_number(value: Any) -> Any:
    array = None if isinstance(value, (str, bytes)) or value is None else jnp.asarray(value)
    if array is None or array.shape or not jnp.issubdtype(array.dtype, jnp.floating):
        found = "None" if array is None else f"{array.dtype}{list(array.shape)}"
        raise BatchTypeError(
            f"a gradient is of one floating-point number, and the function gives {found}",
            help="give back one number, such as a sum, or a pair of it and more with has_aux=True.",
        )
    return array


def differentiated(function: Any) -> Any:
    """A derivative made by JAX or ``hb.value_and_grad``, as ``Differentiated``; any other object unchanged."""
    if (own := getattr(function, GRADIENT_MARK, None)) is not None and not isinstance(function, type):
        of, argnums, has_aux = own
        return Differentiated(of, How(argnums, has_aux, True))
    if (jaxs := differentiated_by(function)) is not None:
        of, argnums, has_aux, gives_value = jaxs
        return Differentiated(of, How(argnums, has_aux, gives_value))
    return function


def is_differentiated(function: Any) -> bool:
    """Whether calls of an object compute derivatives of another function."""
    return isinstance(differentiated(function), Differentiated)


def differentiates(function: Any) -> bool:
    """Whether an object is ``jax.grad`` or ``jax.value_and_grad``."""
    return function is jax.grad or function is jax.value_and_grad


def differentiating(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Differentiated | None:
    """The result of a call of ``jax.grad`` or ``jax.value_and_grad``; None if it has other options."""
    if not differentiates(function) or not 1 <= len(args) <= 3:
        return None
    given = {"argnums": 0, "has_aux": False, **dict(zip(("argnums", "has_aux"), args[1:], strict=False)), **kwargs}
    if given.keys() != {"argnums", "has_aux"}:
        return None
    numbers = given["argnums"]
    argnums = numbers if isinstance(numbers, int) else tuple(numbers)
    return Differentiated(args[0], How(argnums, bool(given["has_aux"]), function is jax.value_and_grad))
