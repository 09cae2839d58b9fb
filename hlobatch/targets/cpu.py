"""The processor of this machine as a target: code of lanes, whole runs in one kernel, and a thread for each core."""

from __future__ import annotations

from hlobatch.kernels.processors import CPU
from hlobatch.targets import machine
from hlobatch.targets.target import Target


def cpu() -> Target:
    """The cores that this process may use now, with the vectors that they have."""
    return Target(
        "cpu",
        CPU,
        is_host=True,
        divides=True,
        threads=machine.cores(),
        vector=machine.vector(),
        stores_masked=machine.stores_masked(),
        makes_one_kernel=True,
        narrows_long_blocks=True,
    )
