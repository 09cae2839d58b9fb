"""What tests of small programs need not wait for in JAX's compiler by day, beside what JAX has a setting for."""

import functools
import threading
from collections.abc import Callable
from typing import Any

import jax
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir

LEFT_OUT = {
    "xla_cpu_use_fusion_emitters": False,  # they take longer than all else that XLA does for a small program
    "xla_cpu_parallel_codegen_split_count": 1,  # as many times as it divides a program, it sets up LLVM
}
"""Options of XLA that come with ``jax_disable_most_optimizations``."""
USES = 200
"""Programs that are written in one context of MLIR, which keeps each type and each place in a source that it met."""


def begin() -> None:
    """Compile so from now on in this process."""
    known = {name: value for name, value in LEFT_OUT.items() if _is_known(name, value)}
    compiler.get_compile_options = _leaving_out(known, compiler.get_compile_options)
    mlir.ModuleContext.__init__ = _in_kept_context(mlir.ModuleContext.__init__)


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
    """JAX makes a context for each program that it writes, which takes as long as all else that it writes."""
    kept = threading.local()

    @functools.wraps(as_it_is)
    def init(self: Any, *, context: Any = None, **named: Any) -> None:
        if context is None and ir.Context.current is None:  # a program within another one is no part of that
            kept.uses = getattr(kept, "uses", -1) + 1
            if kept.uses % USES == 0:
                kept.context = mlir.make_ir_context()
            context = kept.context
        as_it_is(self, context=context, **named)

    return init
