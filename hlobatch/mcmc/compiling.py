"""Functions that take little of a run's time -> the same, jitted so that they compile in a fraction of the usual time.

On a CPU, XLA's older emitters compile the noise in a third of the time that its newer ones take, to code that is as
fast. LLVM need not optimize functions that are called only a few times in a run (2026-11).
"""

from __future__ import annotations

import functools
from typing import Any, Final

import jax

from hlobatch.typing import Function

OLDER_EMITTERS: Final[dict[str, Any]] = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 2}
NOT_OPTIMIZED: Final[dict[str, Any]] = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0}


def quickly_compiled(function: Function, *, runs_seldom: bool = False, static: tuple[str, ...] = ()) -> Function:
    """Returns a jitted function that compiles quickly.

    Args:
        function: The function.
        runs_seldom: Whether a run calls it only a few times.
        static: The names of static arguments.
    """
    options = _known(runs_seldom) if jax.default_backend() == "cpu" else {}
    return jax.jit(function, static_argnames=static, compiler_options=options)


@functools.cache
def _known(runs_seldom: bool) -> dict[str, Any]:
    """The options that this release of XLA has: from jaxlib 0.12 on, it has no older emitters."""
    wanted = NOT_OPTIMIZED if runs_seldom else OLDER_EMITTERS
    try:
        jax.jit(lambda: 0, compiler_options=wanted).lower().compile()
    except jax.errors.JaxRuntimeError:
        return {name: value for name, value in wanted.items() if name != "xla_cpu_use_fusion_emitters"}
    return wanted
