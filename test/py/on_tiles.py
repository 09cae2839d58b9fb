"""A TPU for tests: Pallas's interpreter runs a kernel whose lanes lie in tiles."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

from hlobatch.targets.tpu.target import TPU, Tpu, tpu

NO_TILES = (
    "tiles hold",
    "has a loop inside",
    "tiles have no room",
    "have Python do",
    "`lu` of arrays has no code",
    "Mosaic does not take it (Only float32 is supported)",  # argmax of integers
)
"""Parts of the reasons for which programs have no kernel of tiles."""


@contextlib.contextmanager
def on_tiles() -> Iterator[Tpu]:
    """A context in which JAX seems to have a TPU."""
    target = replace(tpu(), interpreted=True)
    with (
        mock.patch("hlobatch.targets.tpu.group.TURNS_PER_TEST", 1),  # XLA compiles a turn for the CPU in some seconds
        mock.patch("jax.default_backend", return_value=TPU),
        mock.patch("hlobatch.targets.registry.tpu", return_value=target),
        mock.patch("hlobatch.runtime.primitive.lowering_platforms", return_value=(TPU,)),
        mock.patch("hlobatch.runtime.sums.lowering_platforms", return_value=(TPU,)),
        mock.patch("hlobatch.runtime.primitive.is_for_one_cpu", return_value=False),
    ):
        yield target
