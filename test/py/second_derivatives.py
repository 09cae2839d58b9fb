"""Second derivatives of generated smooth programs, in each order of the two modes, against those of unrolled JAX.

The judge is JAX on plain Python: for each example, ``jax.jvp`` of ``jax.grad`` goes through the statements that it
executes. The batched program is differentiated forward over reverse, reverse over forward, and by ``jax.hessian``; and,
with ``bits=32``, the first derivatives are those of plain Python in 64 bits, to the precision of 32.

    python test/py/second_derivatives.py 17            one program: its text, and its outcome
    python test/py/second_derivatives.py 0 200         some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import feature_pairs
import jax
import jax.numpy as jnp
import numpy as np
from feature_pairs import OWN_WORDS, SKIPPED, Outcome, made
from smooth_programs import ARGUMENTS, DIRECTIONS, IN_AXES, LANES, VARIED, program
from zoo import optimizing_little

import hlobatch as hb

Arrays = list[Any]


def unrolled(main: Callable[..., Any], row: int, dtype: Any) -> tuple[Arrays, Arrays] | None:
    """The gradient of an example, and its derivative along the direction; None if the program raises."""
    own = [a if axis is None else a[row] for a, axis in zip(ARGUMENTS, IN_AXES, strict=True)]
    given = [int(a) if i not in VARIED else jnp.asarray(a, dtype) for i, a in enumerate(own)]
    along = [d if IN_AXES[i] is None else d[row] for i, d in zip(VARIED, DIRECTIONS, strict=True)]

    def of_varied(*some: Any) -> Any:
        return jnp.asarray(main(*_with(given, some)), dtype)

    point = [given[i] for i in VARIED]
    try:
        return jax.jvp(jax.grad(of_varied, range(len(point))), point, [jnp.asarray(d, dtype) for d in along])
    except SKIPPED:
        raise
    except Exception:  # noqa: BLE001  # whatever the program raises
        return None


def _with(given: Sequence[Any], some: Sequence[Any]) -> list[Any]:
    """All arguments, with values of those that vary."""
    changed = list(given)
    for place, value in zip(VARIED, some, strict=True):
        changed[place] = value
    return changed


class Second:
    """The derivatives of a batched program at the lanes that do not raise."""

    def __init__(self, batched: Any, lanes: Sequence[int], dtype: Any) -> None:
        self.batched = batched
        self.given = [
            jnp.asarray(a if axis is None else a[np.array(lanes)], dtype if i in VARIED else np.int32)
            for i, (a, axis) in enumerate(zip(ARGUMENTS, IN_AXES, strict=True))
        ]
        self.point = [self.given[i] for i in VARIED]
        self.along = [
            jnp.asarray(d if IN_AXES[i] is None else d[np.array(lanes)], dtype)
            for i, d in zip(VARIED, DIRECTIONS, strict=True)
        ]
        self.places = tuple(range(len(VARIED)))

    def total(self, *some: Any) -> Any:
        return self.batched(*_with(self.given, some)).sum()

    def gradient(self) -> Arrays:
        return jax.grad(self.total, self.places)(*self.point)

    def forward_over_reverse(self) -> Arrays:
        return jax.jvp(jax.grad(self.total, self.places), self.point, self.along)[1]

    def reverse_over_forward(self) -> Arrays:
        return jax.grad(lambda *some: jax.jvp(self.total, some, tuple(self.along))[1], self.places)(*self.point)

    def by_hessian(self) -> Arrays:
        blocks = jax.hessian(self.total, self.places)(*self.point)
        return [
            sum(jnp.tensordot(block, d, d.ndim) for block, d in zip(row, self.along, strict=True)) for row in blocks
        ]


ROOM = {"max_stack_depth": 256, "max_tape": 4096}
"""For ``jax.hessian``, inside of which no stack grows."""
WAYS = (Second.forward_over_reverse, Second.reverse_over_forward, Second.by_hessian)


def outcome(text: str, bits: int = 64, **options: Any) -> Outcome:
    """The outcome of a program's second derivatives, in a way chosen by the text's checksum; first ones in 32 bits."""
    dtype = np.float32 if bits == 32 else np.float64
    way = WAYS[zlib.crc32(text.encode()) % len(WAYS)] if bits == 64 else Second.gradient
    main = made(text)
    with jax.enable_x64(True):
        try:
            wanted = [unrolled(main, row, np.float64) for row in range(LANES)]
        except SKIPPED as error:
            return Outcome("skipped", repr(error))
    lanes = [row for row, one in enumerate(wanted) if one is not None]
    if not lanes:
        return Outcome("skipped", "every lane raises")
    rows = [one[bits == 64] for one in wanted if one is not None]
    with jax.enable_x64(bits == 64), optimizing_little():
        options = {"dispatch": "kernel", **ROOM, **options}
        batched = hb.batch(main, in_axes=IN_AXES, max_steps=100_000, **options)
        try:
            found = way(Second(batched, lanes, dtype))
        except (hb.KernelError, hb.LaneError) as error:
            return Outcome("refused", str(error))
        except hb.VerificationError as error:
            return Outcome("wrong", str(error))
        except hb.HloBatchError as error:
            said = next((word for word in OWN_WORDS if word in str(error)), None)
            return Outcome("refused" if said is None else "wrong", str(error))
        except Exception as error:  # noqa: BLE001  # whatever comes out of the compiler
            return Outcome("wrong", f"{way.__name__}: {error!r}")
    return _compared(way.__name__, found, rows, 1e-8 if bits == 64 else 2e-3)


def _compared(way: str, found: Arrays, rows: Sequence[Arrays], precision: float) -> Outcome:
    """Whether derivatives are those of unrolled JAX, where these are numbers."""
    for place, i in enumerate(VARIED):
        own = np.stack([np.asarray(row[place]) for row in rows])
        wanted = own.sum(0) if IN_AXES[i] is None else own
        got, is_number = np.asarray(found[place]), np.isfinite(wanted)
        scale = max(1.0, float(np.abs(own[np.isfinite(own)]).max(initial=0)))
        if not np.allclose(got[is_number], wanted[is_number], rtol=precision, atol=precision * scale):
            return Outcome("wrong", f"{way}, argument {i}: {got.tolist()}, unrolled {wanted.tolist()}")
    return Outcome("ran")


def in_32_bits(text: str) -> Outcome:
    """The outcome of a program's first derivatives in 32 bits."""
    return outcome(text, bits=32)


if __name__ == "__main__":
    feature_pairs.main(sys.argv[1:], program, outcome)
