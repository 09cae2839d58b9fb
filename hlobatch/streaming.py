"""``hb.stream``: runs a batched function on a stream of batches, in chunks of one size, by one compiled program."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.api import BatchedFunction, BoundFunction
from hlobatch.console import Line, Progress
from hlobatch.diagnostics import BatchTypeError, LaneError, Note
from hlobatch.ir.boxed import boxes_in
from hlobatch.runtime.callers import caller
from hlobatch.strategy.options import is_int
from hlobatch.typing import Function, PyTree
from hlobatch.values.ragged import is_ragged, joined


def stream(  # users expect one flat list of keywords
    fun: Function,
    batches: Iterable[PyTree],
    *,
    chunk: int | None = None,
    state: int = 0,
    progress: bool | Callable[[Progress], object] = False,
    **others: Any,
) -> Stream:
    """Run a batched function on inputs that come in batches, which need not all be in memory at once.

    The batches may be of any sizes. Their inputs are run in chunks of one size, by one compiled program; the last chunk
    is filled up with inputs whose results are dropped.

    Args:
        fun: A batched function.
        batches: Any iterable. Each item is the first argument of ``fun``, or a tuple of its first arguments: pytrees of
            arrays ``[batch, *event]``.
        chunk: Number of inputs in a chunk; None for the size of the first batch.
        state: The ``state`` of an earlier stream, to continue it: the inputs that it has finished are skipped.
        progress: Whether a line on standard error, or a notebook's output, shows how many inputs are done; or a
            function that is called with an ``hb.Progress`` instead.
        **others: The other arguments of ``fun``, by name, the same for all inputs, such as shared arrays.

    Returns:
        An iterator over the results of the chunks in order, each like the result of a call: pytrees of arrays
            ``[chunk, *event]``, the last ones shorter.

    Raises:
        BatchTypeError: ``fun`` is not batched, or takes batches along other axes than the first; in an iteration: a
            batch has arrays of different sizes.
        LaneError: In an iteration: some inputs of a chunk raised an exception. Lanes in the error are those of the
            chunk, and a note says where it is in the stream. The next item is the next chunk.
        Interrupted: In an iteration: the user pressed Ctrl-C. The next item is the same chunk.

    Examples:
        >>> import hlobatch as hb, numpy as np
        >>> @hb.batch
        ... def halvings(n):
        ...     return 0 if n <= 1 else 1 + halvings(n // 2)
        >>> batches = (np.arange(3) + 3 * i for i in range(4))  # as if they were read from files
        >>> for result in hb.stream(halvings, batches, chunk=5):
        ...     print(result)
        [0 0 1 1 2]
        [2 2 2 3 3]
        [3 3]
    """
    if not isinstance(fun, (BatchedFunction, BoundFunction)):
        raise BatchTypeError(
            f"hb.stream takes a batched function, not {fun!r}", caller(), help="decorate it with @hb.batch."
        )
    if not (chunk is None or (is_int(chunk) and chunk > 0)):
        raise ValueError(f"chunk is a positive int, not {chunk!r}")
    if not (is_int(state) and state >= 0):
        raise ValueError(f"state is the state of an earlier stream, a number of inputs, not {state!r}")
    return Stream(fun, iter(batches), chunk, int(state), progress, others)


class Stream(Iterator[PyTree]):
    """The results of a stream of inputs, in order; made by ``hb.stream``.

    Attributes:
        state: Number of inputs that are done; another stream of the same inputs can continue from it.
    """

    def __init__(  # it is made in one place
        self,
        fun: BatchedFunction[..., Any] | BoundFunction[..., Any],
        batches: Iterator[PyTree],
        chunk: int | None,
        state: int,
        progress: bool | Callable[[Progress], object],
        others: dict[str, Any],
    ) -> None:
        self.state = state
        self._fun, self._batches, self._chunk, self._others = fun, batches, chunk, others
        self._waiting: deque[tuple[Any, int]] = deque()  # arguments, and their number of inputs
        self._passed_over, self._began = state, perf_counter()
        self._tell = progress if callable(progress) else Line() if progress else None
        self._may_fill: bool | None = None

    def __repr__(self) -> str:
        return f"<hlobatch.Stream of {getattr(self._fun, '__qualname__', self._fun)!r}: {self.state:,} inputs done>"

    def __next__(self) -> PyTree:
        """The results of the next chunk."""
        args, size = self._next_chunk()
        self._report(is_last=not size)
        if not size:
            raise StopIteration
        try:
            result = self._run(args, size)
        except LaneError as error:
            self._forget(size)
            where = f"lane 0 of this chunk is input {self.state - size:,} of the stream"
            raise error.with_note(Note(where)) from error.__cause__
        self._forget(size)
        return result

    def _run(self, args: Any, size: int) -> Any:
        """The results of a chunk; a short one is filled up to the chunk size if that is possible."""
        assert self._chunk
        if size == self._chunk or not self._may_fill:
            return self._fun(*args, **self._others)
        rows = np.minimum(np.arange(self._chunk), size - 1)
        try:
            results = self._fun(*jax.tree.map(lambda x: x[rows], args), **self._others)
        except LaneError:  # the failed inputs may include repeated ones
            return self._fun(*args, **self._others)
        return jax.tree.map(lambda x: x[:size] if isinstance(x, jax.Array) else x, results)  # others are of all lanes

    def _next_chunk(self) -> tuple[Any, int]:
        """The arguments of the next chunk, and its number of inputs, which is smaller at the end."""
        waiting = sum(size for _, size in self._waiting)
        while self._chunk is None or waiting < self._chunk:
            batch = next(self._batches, None)
            if batch is None:
                break
            waiting += self._take(batch if isinstance(batch, tuple) else (batch,))
        size = min(waiting, self._chunk or 0)
        return (self._first_of(size) if size else ()), size

    def _take(self, args: tuple[Any, ...]) -> int:
        """Queue a batch, without the inputs to skip; returns the number of inputs that were queued."""
        size = self._size(args)
        if self._may_fill is None:
            self._learn(args)
        self._chunk = self._chunk or size or None
        over = min(size, self._passed_over)
        self._passed_over -= over
        if over < size:
            self._waiting.append((jax.tree.map(lambda x: x[over:], args) if over else args, size - over))
        return size - over

    def _size(self, args: tuple[Any, ...]) -> int:
        """Number of inputs in a batch."""
        sizes = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(args)}
        if len(sizes) != 1 or () in sizes:
            single = "`batches` gives single inputs here: have it give some at once, as in `np.stack(inputs)`."
            shared = "give what is the same for all inputs by name: hb.stream(f, batches, weights=weights)."
            raise BatchTypeError(
                f"the arrays of a batch have an axis of inputs in front, of one size, and these have {sorted(sizes)}",
                caller(),
                help=single if sizes == {()} else shared,
            )
        ((size,),) = sizes
        return int(size)

    def _learn(self, args: tuple[Any, ...]) -> None:
        """Check that the function takes the first batch along its first axis; note whether it has effects."""
        traced = self._fun.trace(*args, **self._others)
        if any(axis != 0 for axis in traced.call.axes[: len(jax.tree.leaves(args))]):
            raise BatchTypeError(
                "a stream takes batches along the first axis, and in_axes says otherwise",
                caller(),
                help="transpose batches as they come, and give what all lanes share by name.",
            )
        # Effects of repeated inputs would be repeated; and JAX neither looks into objects nor keeps the order of dicts.
        self._may_fill = not traced.plan.has_effects and not boxes_in(traced.plan.out_type.tensors)

    def _first_of(self, size: int) -> Any:
        """The first ``size`` of the queued inputs, as arguments."""
        first, count = self._waiting[0]
        if count == size:
            return first
        if count > size:
            return jax.tree.map(lambda x: x[:size], first)
        parts, left = [], size
        for args, count in self._waiting:
            parts.append(args if count <= left else jax.tree.map(lambda x, left=left: x[:left], args))
            left -= min(count, left)
            if not left:
                break
        return jax.tree.map(_joined, *parts, is_leaf=is_ragged)

    def _forget(self, size: int) -> None:
        """Remove the first ``size`` queued inputs, which are done."""
        self.state += size
        while size:
            args, count = self._waiting.popleft()
            if count > size:
                self._waiting.appendleft((jax.tree.map(lambda x, size=size: x[size:], args), count - size))
            size -= min(count, size)

    def _report(self, *, is_last: bool) -> None:
        if self._tell:
            seconds = perf_counter() - self._began
            name = getattr(self._fun, "__name__", "stream")
            self._tell(Progress(name, self.state, None, seconds, is_last))


def _joined(*arrays: Any) -> Any:
    if all(map(is_ragged, arrays)):
        return joined(arrays)
    if all(isinstance(array, np.ndarray) for array in arrays):
        return np.concatenate(arrays)
    return jnp.concatenate(arrays)
