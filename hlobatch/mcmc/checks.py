"""The arguments of `sample` -> the same in the form that the sampler uses, or an error that says what to write.

Parameters and their constraints are checked where they are described (`parameters.py`), and starting points where
chains start (`start.py`).
"""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from hlobatch.mcmc.errors import ArgumentError
from hlobatch.mcmc.parameters import Parameters
from hlobatch.mcmc.result import Result, State
from hlobatch.typing import PyTree

MOST_DOUBLINGS: Final = 30
"""The most doublings of a trajectory, whose leapfrog steps are counted in 32 bits."""


def checked_count(name: str, value: Any, least: int, most: float = math.inf) -> int:
    """Returns a count as an int."""
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool):
        raise ArgumentError(f"{name}={value!r} is no whole number.", help=_rounded(name, value))
    if not least <= count <= most:
        bounds = f"{least} or more" if most == math.inf else f"from {least} to {most}"
        raise ArgumentError(f"{name}={count} has to be {bounds}.")
    return count


def _rounded(name: str, value: Any) -> str:
    """The help for a count that is no whole number."""
    example = round(value) if isinstance(value, float) and math.isfinite(value) else 4
    return f"write a number without a point: {name}={example}."


def checked_number(name: str, value: Any, low: float, high: float) -> float:
    """Returns a real number that is at least `low` and less than `high`."""
    is_number = isinstance(value, numbers.Real) or (np.ndim(value) == 0 and hasattr(value, "dtype"))
    if not is_number or not low <= float(value) < high:
        bounds = f"between {low:g} and {high:g}" if high < math.inf else f"a number of {low:g} or more"
        raise ArgumentError(f"{name}={value!r} has to be {bounds}.")
    return float(value)


def checked_key(key: Any) -> Array:
    """Returns a typed key; an untyped one, as from `jax.random.PRNGKey`, is converted."""
    is_array = hasattr(key, "dtype") and hasattr(key, "shape")
    if is_array and jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        found: Array = key
    elif is_array and key.dtype == np.uint32 and np.ndim(key) > 0:
        found = jax.random.wrap_key_data(jnp.asarray(key))
    else:
        raise ArgumentError(f"key is {_shown(key)}, which is no key.", help="write jax.random.key(0).")
    if found.shape != ():
        raise ArgumentError(
            f"key is an array of {_shape(found.shape)} keys, and `sample` takes one for all chains.",
            help="write jax.random.key(0), or keys[0].",
        )
    return found


def checked_data(data: PyTree, chains: int, *, per_chain: bool) -> tuple[Any, ...]:
    """Returns the arguments of the log density after the parameters, as arrays."""
    if not isinstance(data, (tuple, list)):
        raise ArgumentError(
            f"data is {_shown(data)}, and has to be a tuple: each item is an argument of the log density.",
            help="write data=(y,), with a comma.",
        )
    for path, leaf in jax.tree.leaves_with_path(tuple(data)):
        name = f"data{jax.tree_util.keystr(path)}"
        if not _is_array(leaf):
            raise ArgumentError(
                f"{name} is {_shown(leaf)}, and data are arrays.",
                help="what is no array, the log density reads from outside, or is given by functools.partial.",
            )
        if per_chain and np.shape(leaf)[:1] != (chains,):
            raise ArgumentError(
                f"{name} has shape {np.shape(leaf)}, and with data_per_chain=True there is an axis of {chains} chains "
                "in front.",
                help="repeat what all chains share, as in jnp.broadcast_to(x, (chains, *x.shape)), or close over it.",
            )
    arrays: tuple[Any, ...] = jax.tree.map(jnp.asarray, tuple(data))
    return arrays


def checked_state(
    state: Any, parameters: Parameters, chains: int, *, pool: bool, dense: bool, gradients: bool
) -> State:
    """Returns the state to go on from, after a check that it is one of such chains."""
    if isinstance(state, Result):
        raise ArgumentError("state is a result.", help="write state=result.state.")
    if not isinstance(state, State):
        raise ArgumentError(f"state is {_shown(state)}, and has to be the `state` of a result.")
    count, dim = state.chains.point.position.shape
    if count != chains:
        raise ArgumentError(
            f"state has {count} chains, and this run {chains}.",
            help=f"write chains={count}, or begin with these chains without a state.",
        )
    if dim != parameters.dim:
        raise ArgumentError(
            f"state has {dim} free coordinates for each chain, and these parameters have {parameters.dim}.",
            help="give the init and the constraints that the state was made with.",
        )
    metric = (dim, dim) if dense else (dim,)
    wanted = metric if pool else (chains, *metric)
    if np.shape(state.scale) != wanted:
        raise ArgumentError(
            f"state has a metric of shape {np.shape(state.scale)}, and with pool={pool} and dense={dense} it has shape "
            f"{wanted}.",
            help="give the pool and the dense that the state was made with.",
        )
    if state.window.shape[2] != (2 if gradients else 1) * dim:
        raise ArgumentError(
            f"state is of a run that learned its metric {'without' if gradients else 'from'} gradients.",
            help=f"write gradients={not gradients}.",
        )
    return state


def _is_array(value: Any) -> bool:
    """Whether JAX can make an array of a value."""
    try:
        jax.eval_shape(jnp.asarray, value)
    except (TypeError, ValueError):
        return False
    return True


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _shown(value: Any) -> str:
    """A value in an error: an array by its shape and dtype."""
    if hasattr(value, "dtype") and np.shape(value):
        return f"an array of {value.dtype}, of shape {np.shape(value)}"
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
