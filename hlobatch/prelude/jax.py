"""The program's function for a call of ``jax.grad(f)`` or ``jax.value_and_grad(f)``, where ``f`` loops or is recursive.

It calls ``f``. Once types are known, the passes that make derivatives of programs (``gradients/inner.py``) make the way
back from the whole of ``with_slopes``.
"""

from __future__ import annotations

from typing import Any


def slopes(differentiated: Any, /, *args: Any, **kwargs: Any) -> Any:
    return with_slopes(differentiated, differentiated.as_arrays(args), kwargs)


def with_slopes(differentiated: Any, args: Any, kwargs: Any) -> Any:
    result = differentiated.function(*args, **kwargs)
    return differentiated.given(result, args)
