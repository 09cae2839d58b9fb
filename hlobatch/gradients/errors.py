"""Explains JAX's errors about code without a derivative, with the user's line and advice."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from hlobatch.diagnostics import DerivativeError, HloBatchError
from hlobatch.ir.ops import PrimOp

HELP: Final = (
    "give it one with jax.custom_jvp or jax.custom_vjp, write the loop in Python in place of jax.lax.while_loop, "
    "or keep what needs no derivative out with jax.lax.stop_gradient."
)


@contextlib.contextmanager
def explaining(op: PrimOp) -> Iterator[None]:
    """A context in which a primitive is differentiated.

    Raises:
        DerivativeError: It has no derivative.
    """
    try:
        yield
    except HloBatchError as error:
        raise error.at(op.location) from None
    except (TypeError, ValueError, NotImplementedError, RuntimeError) as error:
        reason = str(error).split("\n", 1)[0].rstrip(".")
        raise DerivativeError(f"`{op.text}` has no derivative: {reason}", op.location, help=HELP) from error
