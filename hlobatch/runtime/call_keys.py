"""The arguments of a call -> the key under which its prepared run is kept; calls with equal keys are alike.

A key has the pytree of the arguments, the types of its leaves, and the JAX settings. Calls whose arguments hold Python
objects other than numbers have no key, since such objects are not compared.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import jax
import numpy as np

from hlobatch._jax import abstract, is_key, tracing_context, words_of
from hlobatch.ir.types import metadata_of
from hlobatch.runtime.arguments import number_array
from hlobatch.runtime.kinds_of_calls import Args, Kwargs
from hlobatch.runtime.places import has_several_devices
from hlobatch.typing import Arrays
from hlobatch.values.number_tables import NUMBERS
from hlobatch.values.type_join import MisfitError

_AROUND: Final = 3
"""Nodes of the pytree of a call's arguments besides array leaves: the pair, the positional tuple, the keyword dict."""
SMALL: Final = 1 << 31
"""Numbers below this are in the range of each of JAX's types, which saves the microseconds of a closer look."""


class Key(NamedTuple):
    """The key of a call.

    Attributes:
        treedef: The pytree of its positional and keyword arguments.
        metadata: The static data of the pytree's nodes, such as dataclass fields; empty for positional arrays alone.
        types: The types of its leaves; on several devices also their shardings.
        context: The JAX settings.
    """

    treedef: Any
    metadata: tuple[Any, ...]
    types: tuple[Any, ...]
    context: Any


def key_of(args: Args, kwargs: Kwargs) -> tuple[Key | None, list[Any]]:
    """The key of a call, None if it has none, and its leaves, with the words of a typed key in its place."""
    leaves, treedef = jax.tree.flatten((args, kwargs))
    concrete = array_type()
    types: list[Any] = []
    for i, leaf in enumerate(leaves):
        if type(leaf) is concrete:
            types.append(abstract(leaf))
        elif type(leaf) is np.ndarray:
            types.append((leaf.shape, leaf.dtype))
        elif isinstance(leaf, jax.Array) and is_key(leaf):
            types.append((leaf.shape, leaf.dtype))
            leaves[i] = words_of(leaf)
        elif type(leaf) in NUMBERS and _fits(leaf):
            types.append(type(leaf))
        else:
            return None, leaves
    if has_several_devices():
        types += [leaf.sharding for leaf in leaves if isinstance(leaf, jax.Array)]
    return Key(treedef, _metadata(treedef, leaves), tuple(types), tracing_context()), leaves


def are_compared_by_jax(args: Args, kwargs: Kwargs) -> bool:
    """Whether JAX's compiled dispatch tells the arguments from others.

    It takes a masked array, or one of another byte order, for any other, and gives its bytes to the program.
    """
    for leaf in jax.tree.leaves((args, kwargs) if kwargs else args):
        if isinstance(leaf, np.ndarray) and (type(leaf) is not np.ndarray or not leaf.dtype.isnative):
            return False
    return True


def _fits(number: complex) -> bool:
    """Whether a number is in the range of JAX's numbers."""
    if abs(number) < SMALL:
        return True
    try:
        number_array(number)
    except MisfitError:
        return False
    return True


def _metadata(treedef: Any, leaves: Arrays) -> tuple[Any, ...]:
    return () if treedef.num_nodes == len(leaves) + _AROUND else metadata_of(treedef)


@cache
def array_type() -> type:
    """The class of concrete JAX arrays; tracers and typed keys are ``jax.Array``, but of other classes."""
    return type(jax.device_put(np.zeros(())))  # jnp.zeros would be compiled first, for ten milliseconds
