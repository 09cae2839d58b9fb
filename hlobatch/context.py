"""``hb.Context``: the interface of the predecessor, for programs that were written for it.

``ctx.batch(type_inference=…)`` is ``hb.batch`` whose result also takes options at the call: ``dry_run``, ``stackless``,
``max_stack_depth``, ``backend`` and ``block_code_cache``, which choose among plain Python, the eager interpreters and
the compiled program. Code is single-example, as everywhere in hlobatch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hlobatch import stackless as _stackless
from hlobatch import virtual_machine as _virtual_machine
from hlobatch.api import BatchedFunction, batch, disable_batching
from hlobatch.interpreters.backends import Backend
from hlobatch.interpreters.segments import BlockCodeCache
from hlobatch.runtime.arguments import as_batches


@dataclass(eq=False)
class ContextFunction:
    """A batched function that takes the predecessor's options when it is called.

    Attributes:
        batched: The function as ``hb.batch`` makes it.
    """

    batched: BatchedFunction[..., Any]

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.batched.function, updated=())

    @property
    def __hlobatch_function__(self) -> Callable[..., Any]:
        return self.batched.function

    @property
    def __hlobatch_type_inference__(self) -> Callable[..., Any] | None:
        return self.batched.type_inference

    def __call__(
        self,
        *args: Any,
        dry_run: bool = False,
        stackless: bool = False,
        max_stack_depth: int | None = None,
        backend: Backend | None = None,
        block_code_cache: BlockCodeCache | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the function.

        Args:
            *args: Arguments with a batch axis, arrays ``[batch, *event]``; in a dry run, of one example.
            dry_run: Whether to run the plain Python.
            stackless: Whether to run the paper's local static autobatching (algorithm 1), eagerly.
            max_stack_depth: Initial depth of each stack, in frames; None for that of the function's options.
            backend: The array library to run on eagerly, stackless or on the virtual machine (algorithm 2); None
                compiles.
            block_code_cache: Compiled straight-line code of the eager executors, kept between calls.
            **kwargs: Arguments by keyword.

        Returns:
            The result, arrays ``[batch, *event]``; in a dry run, of one example.

        Raises:
            HloBatchError: Any error of a call of a batched function.
        """
        if dry_run:
            with disable_batching():
                return self.batched(*args, **kwargs)
        if not stackless and backend is None:
            return self._compiled(max_stack_depth)(*args, **kwargs)
        traced = self.batched.trace(*args, **kwargs)
        inputs = as_batches(traced.call)
        library = _stackless.XlaBackend() if backend is None else backend
        if stackless:
            (result,) = _stackless.execute(traced.program, library, block_code_cache, *inputs)
            return result
        depth = max_stack_depth or self.batched.options.max_stack_depth
        (result,) = _virtual_machine.execute(traced.lowered_program, inputs, depth, library, block_code_cache)
        return result

    @functools.lru_cache(maxsize=16)  # noqa: B019  # as many as there are depths, and as long-lived as the function
    def _compiled(self, max_stack_depth: int | None) -> BatchedFunction[..., Any]:
        if max_stack_depth is None:
            return self.batched
        return batch(self.batched.function, type_inference=self.batched.type_inference, max_stack_depth=max_stack_depth)


@dataclass
class Context:
    """Collects the functions of a program, as the ``Context`` of TFP's ``auto_batching`` did.

    Attributes:
        functions: The functions batched so far.
    """

    functions: list[ContextFunction] = field(default_factory=list)

    def batch(
        self, type_inference: Callable[..., Any] | None = None
    ) -> Callable[[Callable[..., Any]], ContextFunction]:
        """A decorator that batches a function.

        Args:
            type_inference: Maps a list of argument types to the result's type, which is checked; None to infer it.

        Examples:
            >>> import hlobatch as hb, jax.numpy as jnp
            >>> ctx = hb.Context()
            >>> def fib_type(arg_types):
            ...     return arg_types[0]
            >>> @ctx.batch(type_inference=fib_type)
            ... def fibonacci(n):
            ...     if n > 2:
            ...         return fibonacci(n - 1) + fibonacci(n - 2)
            ...     else:
            ...         return 1
            >>> fibonacci(jnp.array([6, 7, 8, 7])).tolist()
            [8, 13, 21, 13]
        """
        return functools.partial(self.batch_uncurried, type_inference=type_inference)

    def batch_uncurried(
        self, function: Callable[..., Any], type_inference: Callable[..., Any] | None = None
    ) -> ContextFunction:
        """Batch a function, as ``batch`` does, in one call.

        Args:
            function: The function of one example.
            type_inference: Maps a list of argument types to the result's type, which is checked; None to infer it.

        Returns:
            The batched function, which is also kept in ``functions``.
        """
        made = ContextFunction(batch(function, type_inference=type_inference))
        self.functions.append(made)
        return made
