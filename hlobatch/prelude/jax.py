"""What a call of ``jax.grad(f)`` or ``jax.value_and_grad(f)`` is where ``f`` loops or calls itself.

It calls ``f``. The way back is made of the whole of ``with_slopes`` when its types are known, by the passes that make
derivatives of programs (``gradients/inner.py``).
"""

from __future__ import annotations

from typing import Any


def slopes(differentiated: Any, /, *args: Any, **kwargs: Any) -> Any:
    return with_slopes(differentiated, differentiated.as_arrays(args), kwargs)


def with_slopes(differentiated: Any, args: Any, kwargs: Any) -> Any:
    result = differentiated.function(*args, **kwargs)
    return differentiated.given(result, args)
