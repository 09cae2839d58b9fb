"""Functions and their inputs -> contenders, compiled ahead of time.

The four kinds of contender: a function batched by hlobatch, a single-example JAX function under `jax.vmap`, a JAX
function of the whole batch (the roofline), and a serial function of NumPy arrays compiled by numba.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb
from benchmarks.workload import Prepared, Size

Work = Callable[[Any], float]
"""A result -> useful units of work."""
Executions = Callable[[Any], float]
"""The result of one batch in lockstep -> the number of executions of its costly kernel."""


def total(counts: Any) -> float:
    """The sum of integer counts, in 64 bits, since it may exceed an int32."""
    return float(np.asarray(counts).sum(dtype=np.int64))


def without(*optimizations: str) -> dict[str, Any]:
    """Options of `batched` that turn some optimizations off."""
    return {"optimizations": hb.Optimizations(**dict.fromkeys(optimizations, False))}


def batched(
    function: hb.BatchedFunction,
    args: Sequence[Any],
    *,
    work: Work,
    comparable: Callable[[Any], Any] | None = None,
    inside_jit: bool = False,
    **options: Any,
) -> Prepared:
    """A contender: a function batched by hlobatch.

    Args:
        function: A function decorated with `hb.batch`, whose `in_axes` are kept.
        args: The arguments, with all inputs.
        work: The units of work of a result.
        comparable: The part of a result that must agree between contenders.
        inside_jit: Whether it runs inside of a `jax.jit`, as in a user's own.
        **options: Options of `hb.batch`, in place of the function's own; without them hlobatch chooses the lanes.
    """

    def anew() -> hb.BatchedFunction:
        return hb.batch(function.function, in_axes=function.in_axes, **options)

    fresh = anew()
    if inside_jit:
        return jitted(fresh, args, work=work, comparable=comparable)

    def compilation() -> Any:
        return anew().trace(*args).lower().compile()

    compiled, seconds = timed_compilation(compilation)
    result, stats = fresh.with_stats(*args)
    costly = max(stats.blocks, key=lambda block: block.cost * block.active)

    def run() -> Any:
        return jax.block_until_ready(fresh(*args))

    run()  # compiles again: stacks may have grown, and blocks are no longer counted
    return Prepared(
        run=run,
        work=work(result),
        compile_seconds=seconds,
        temp_bytes=temp_bytes(compiled, compiled.threads),
        lane_use=stats.utilization_of(costly.name),
        note=f"{stats.lanes:,} lanes in flight, {stats.choice.splitlines()[0]}",
        comparable=comparable,
        compile=compilation,
    )


def lockstep(
    function: Callable[..., Any],
    args: Sequence[Any],
    size: Size,
    *,
    work: Work,
    in_axes: Any = 0,
    comparable: Callable[[Any], Any] | None = None,
    executions: Executions | None = None,
    note: str = "",
) -> Prepared:
    """A contender: a single-example JAX function under `jax.vmap`, one batch of `lanes` after another.

    Args:
        function: A function with `lax.while_loop`, `lax.cond` and the like.
        args: The arguments, with all inputs.
        size: The number of inputs in total and in a batch.
        work: The units of work of the result for all inputs.
        in_axes: As in `jax.vmap`.
        comparable: The part of a result that must agree between contenders.
        executions: The number of executions of the costly kernel, from the result of a batch; gives the lane use.
        note: A note for the reader.
    """
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    vmapped = jax.vmap(function, axes)
    batches = -(-size.inputs // size.lanes)
    if batches * size.lanes != size.inputs:
        raise ValueError(f"{size.inputs} inputs cannot be run in batches of {size.lanes}")

    def split(x: Any) -> Any:
        return x.reshape(batches, size.lanes, *x.shape[1:])

    def run_all(*args: Any) -> Any:
        if batches == 1:
            return vmapped(*args)
        shared = [x for x, axis in zip(args, axes, strict=True) if axis is None]
        own = [jax.tree.map(split, x) for x, axis in zip(args, axes, strict=True) if axis is not None]

        def one_batch(own: list[Any]) -> Any:
            rest, common = iter(own), iter(shared)
            return vmapped(*[next(common) if axis is None else next(rest) for axis in axes])

        return jax.tree.map(lambda x: x.reshape(size.inputs, *x.shape[2:]), jax.lax.map(one_batch, own))

    prepared, result = _compiled(run_all, args, work=work, comparable=comparable, note=note)
    if executions is None:
        return prepared
    result = jax.tree.map(lambda x: split(np.asarray(x)), result)
    ran = sum(executions(jax.tree.map(lambda x, k=k: x[k], result)) for k in range(batches))
    return replace(prepared, lane_use=prepared.work / (ran * size.lanes))


def jitted(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    work: Work,
    comparable: Callable[[Any], Any] | None = None,
    note: str = "",
) -> Prepared:
    """A contender: a JAX function of the whole batch."""
    return _compiled(function, args, work=work, comparable=comparable, note=note)[0]


def _compiled(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    work: Work,
    comparable: Callable[[Any], Any] | None,
    note: str,
) -> tuple[Prepared, Any]:
    """A contender that is a JAX function of the whole batch, and its result."""

    def anew() -> Any:
        return jax.jit(lambda *args: function(*args))  # noqa: PLW0108  (jax.jit finds what it compiled for `function` before)

    def compilation() -> Any:
        return anew().lower(*args).compile()

    fresh = anew()
    compiled, seconds = timed_compilation(compilation)
    result = jax.block_until_ready(fresh(*args))
    prepared = Prepared(
        run=lambda: jax.block_until_ready(fresh(*args)),
        work=work(result),
        compile_seconds=seconds,
        temp_bytes=temp_bytes(compiled),
        note=note,
        comparable=comparable,
        compile=compilation,
    )
    return prepared, result


def timed_compilation(run: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a compilation from the start, and its seconds."""
    begin = time.perf_counter()
    compiled = run()
    return compiled, time.perf_counter() - begin


def repeated(kernel: Callable[[Any], Any], state: Any, size: Size, *, times: int, units: float = 1.0) -> Prepared:
    """The roofline: a batched kernel, repeated in a `fori_loop`.

    Args:
        kernel: Computes the next state of all lanes.
        state: The first state, of `size.lanes` lanes. Arrays have to be in it: captured arrays are constants to XLA.
        size: The number of lanes.
        times: The number of repetitions.
        units: Units of work of one lane in one execution.
    """

    def loop(state: Any) -> Any:
        return jax.lax.fori_loop(0, times, lambda _, state: kernel(state), state)

    return jitted(loop, [state], work=lambda _: units * times * size.lanes)


def serial(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    work: Work,
    comparable: Callable[[Any], Any] | None = None,
) -> Prepared:
    """A contender: a function of NumPy arrays compiled by numba, one example after another on one core.

    Args:
        function: A function made by `numba.njit` that was not called yet.
        args: The arguments, with all inputs.
        work: The units of work of a result.
        comparable: The part of a result that must agree between contenders.
    """
    arrays = [np.asarray(x) for x in args]
    begin = time.perf_counter()
    result = function(*[x[:1] if x.ndim else x for x in arrays])
    seconds = time.perf_counter() - begin
    result = function(*arrays)
    return Prepared(lambda: function(*arrays), work(result), seconds, comparable=comparable)


def uniform(seed: int, low: float, high: float, *shape: int) -> jax.Array:
    """Random `Float[Array, "*shape"]`, the same everywhere."""
    return jnp.asarray(np.random.default_rng(seed).uniform(low, high, shape), jnp.float32)


def temp_bytes(compiled: Any, times: int = 1) -> int | None:
    """The temporary memory of `times` concurrent runs of an executable, in bytes; None if XLA does not report it."""
    analysis = compiled.memory_analysis()
    return None if analysis is None else times * int(analysis.temp_size_in_bytes)
