"""Settings that save compile time in tests of small programs by day, beyond those that JAX itself has."""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import pytest
from jax._src import compiler, traceback_util
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir

from hlobatch.kernels import jit

LEFT_OUT = {
    "xla_cpu_use_fusion_emitters": False,  # they take more time than the rest of XLA for a small program
    "xla_cpu_parallel_codegen_split_count": 1,  # XLA sets up LLVM for each part of a divided program
}
"""Options of XLA that are set together with ``jax_disable_most_optimizations``."""
USES = 200
"""Programs that are lowered in one MLIR context, which keeps every type and source location that it has met."""


_kernels = threading.local()


def begin() -> None:
    """Use these settings from now on in this process."""
    known = {name: value for name, value in LEFT_OUT.items() if _is_known(name, value)}
    compiler.get_compile_options = _leaving_out(known, compiler.get_compile_options)
    mlir.ModuleContext.__init__ = _in_kept_context(mlir.ModuleContext.__init__)
    jit._loaded = _hardly_optimized(jit._loaded)
    # JAX asks this for each frame of each exception, and asks the disk for it.
    traceback_util.include_filename = functools.cache(traceback_util.include_filename)


@contextlib.contextmanager
def optimizing_kernels() -> Iterator[None]:
    """A context in which LLVM optimizes kernels as for users, by day as well."""
    before, _kernels.in_full = getattr(_kernels, "in_full", False), True
    try:
        yield
    finally:
        _kernels.in_full = before


@pytest.fixture
def optimized_kernels() -> Iterator[None]:
    with optimizing_kernels():
        yield


def _hardly_optimized(as_it_is: Callable[..., Any]) -> Callable[..., Any]:
    """Compile kernels without LLVM's optimizations, which take nine tenths of the time."""

    @functools.wraps(as_it_is)
    def loaded(text: str, level: int) -> Any:
        little = jax.config.values["jax_disable_most_optimizations"] and not getattr(_kernels, "in_full", False)
        return as_it_is(text, 0 if little else level)

    return loaded


def _is_known(name: str, value: Any) -> bool:
    """Whether this release of XLA has an option."""
    try:
        jax.jit(lambda: 0, compiler_options={name: value}).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


def _leaving_out(known: dict[str, Any], as_it_is: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(as_it_is)
    def options(*args: Any, env_options_overrides: dict[str, Any] | None = None, **named: Any) -> Any:
        little = known if jax.config.values["jax_disable_most_optimizations"] else {}
        overrides = little | (env_options_overrides or {})
        return as_it_is(*args, env_options_overrides=overrides, **named)

    return options


def _in_kept_context(as_it_is: Callable[..., None]) -> Callable[..., None]:
    """Reuse MLIR contexts: JAX makes one for each program that it lowers, which takes half of the lowering's time."""
    kept = threading.local()

    @functools.wraps(as_it_is)
    def init(self: Any, *, context: Any = None, **named: Any) -> None:
        if context is None and ir.Context.current is None:  # a nested lowering gets its own context
            kept.uses = getattr(kept, "uses", -1) + 1
            if kept.uses % USES == 0:
                kept.context = mlir.make_ir_context()
            context = kept.context
        as_it_is(self, context=context, **named)

    return init
