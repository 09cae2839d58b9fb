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
"""The result of one batch in lockstep -> how often its costly kernel ran."""


def total(counts: Any) -> float:
    """The sum of integer counts, which may be more than an int32 holds."""
    return float(np.asarray(counts).sum(dtype=np.int64))


def without(*optimizations: str) -> dict[str, Any]:
    """Options of `batched` with which some optimizations are off."""
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
    """A function batched by hlobatch.

    Args:
        function: Decorated with `hb.batch`; its `in_axes` hold here too.
        args: The whole batch.
        work: Of a result.
        comparable: What must agree.
        inside_jit: Whether it is part of another computation, as in a user's own `jax.jit`.
        **options: Of `hb.batch`, in place of the function's own; how many lanes there are hlobatch chooses else.
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

    run()  # compiles once more: the stacks may have grown, and nothing is counted
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
    """A single-example JAX function under `jax.vmap`, one batch of `lanes` after another.

    Args:
        function: With `lax.while_loop`, `lax.cond` and the like.
        args: All inputs.
        size: How many of them make a batch.
        work: Of the result for all inputs.
        in_axes: As in `jax.vmap`.
        comparable: What must agree.
        executions: How often the costly kernel ran for the result of one batch; gives the lane use.
        note: For the reader.
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
    """A JAX function of the whole batch."""
    return _compiled(function, args, work=work, comparable=comparable, note=note)[0]


def _compiled(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    work: Work,
    comparable: Callable[[Any], Any] | None,
    note: str,
) -> tuple[Prepared, Any]:
    """A JAX function of the whole batch, and its result."""

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
    """What comes of compiling something from the start, and the seconds that it takes."""
    begin = time.perf_counter()
    compiled = run()
    return compiled, time.perf_counter() - begin


def repeated(kernel: Callable[[Any], Any], state: Any, size: Size, *, times: int, units: float = 1.0) -> Prepared:
    """The roofline: a batched kernel, `times` times over in a `fori_loop`.

    Args:
        kernel: From the state of all lanes to the next.
        state: Of `size.lanes` lanes. What is captured instead is a constant to XLA, so arrays belong in here.
        size: Says how many lanes.
        times: How often.
        units: Of work that one lane does in one execution.
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
    """A function of NumPy arrays compiled by numba, one example after another on one core.

    Args:
        function: What `numba.njit` made, not called yet.
        args: All inputs.
        work: Of a result.
        comparable: What must agree.
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
    """The temporary memory that XLA allocates for as many runs of an executable; None where it does not say."""
    analysis = compiled.memory_analysis()
    return None if analysis is None else times * int(analysis.temp_size_in_bytes)
