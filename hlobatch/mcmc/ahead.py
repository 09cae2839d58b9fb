"""The shapes of a run -> its programs, compiled side by side before it begins.

A run calls one program after another, and each compiles at its first call. Here they compile at the same time: XLA's
threads compile the programs of plain JAX while this thread traces and compiles `advance`, which takes most of the time.
JAX and hlobatch keep what was compiled, so the run finds it at its calls.

Without it, a first call would take 1.15 to 1.4 times as long on two cores for eight schools and for stochastic
volatility, and 1.04 to 1.1 for a logistic regression, where `advance` takes longer to compile. This follows from the
processor time of each compilation: 0.4 to 0.6 of 1.5 to 2.6 seconds are beside the calling thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
from jax import Array

from hlobatch.mcmc.chains import Chain, Limits
from hlobatch.mcmc.nuts import Point
from hlobatch.mcmc.programs import PIECE, Programs
from hlobatch.mcmc.windows import windows
from hlobatch.typing import ArrayLike, DType, Function, PyTree


def compile_ahead(
    programs: Programs,
    keep: Callable[[ArrayLike], PyTree],
    key: Array,
    data: PyTree,
    *,
    chains: int,
    rows: int,
    warmup: int,
) -> None:
    """Compile the programs of a run that has made no draws, unless another run of the same shapes has done so.

    Args:
        programs: The functions of the run.
        keep: Positions, `Float[Array, "chains rows dim"]`, -> what is kept of them.
        key: The key of the run.
        data: The data of the log density.
        chains: The number of chains.
        rows: The most draws of each chain in a call.
        warmup: The number of draws of the warm-up.
    """
    shapes = (chains, rows, key.dtype, *((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(data)))
    if shapes in programs.compiled:
        return
    programs.compiled.add(shapes)
    moments, scale = programs.nothing_learned(chains)
    dtype, width = scale.dtype, moments.mean.shape[-1]
    keys, made = _type(key.dtype, chains), _type(np.int32, chains)
    with ThreadPoolExecutor() as pool:

        def beside(function: Function, *args: PyTree) -> PyTree:
            """Have another thread compile a jitted function; returns the types of its results."""
            if not isinstance(function, jax.stages.Wrapped):
                return jax.eval_shape(function, *args)
            lowered = function.lower(*args)
            pool.submit(lowered.compile)
            return lowered.out_info

        noise = beside(programs.noise, keys, made, rows)
        number, position = _type(dtype, chains), _type(dtype, chains, noise.momentum.shape[-1])
        unknown = Point(position, number, position, number)
        point, step = beside(programs.begin, unknown, position, noise.momentum, scale, data)
        if windows(warmup):
            beside(programs.learn, moments, _type(dtype, chains, PIECE, width), _type(np.bool_, chains, PIECE))
        beside(keep, _type(dtype, chains, rows, width))
        limits = Limits(_type(np.int32), _type(np.int32), _type(dtype))
        begun = Chain(keys, made, point, step)
        programs.advance.trace(begun, noise, made, made, limits, scale, data).lower().compile()


def _type(dtype: DType, *shape: int) -> ArrayLike:
    """An array of a dtype and a shape, without its values."""
    return jax.ShapeDtypeStruct(shape, dtype)
