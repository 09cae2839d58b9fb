"""The CPU of this machine as a target: code of lanes, XLA's loop over all lanes, and a thread for each core."""

from __future__ import annotations

from hlobatch.kernels.processors import CPU
from hlobatch.kernels.vector_functions import has_library
from hlobatch.targets.cpu import processor
from hlobatch.targets.lanes import LaneCosts
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import own, server
from hlobatch.targets.target import Target


def cpu() -> Target:
    """The target of this machine's CPU, with the cores that this process may use now."""
    profile = own("cpu") or server()
    lanes = LaneCosts.of(profile)
    return Target(
        "cpu",
        LoopCosts(profile),
        CPU,
        lanes if has_library() else lanes.without_vector_functions,
        is_host=True,
        divides=True,
        threads=processor.cores(),
        narrows_long_blocks=True,
    )
