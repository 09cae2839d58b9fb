"""The name of a platform other than CPUs and GPUs -> its target: XLA's loop, with held stacks."""

from __future__ import annotations

from typing import Final

from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import Profile, own
from hlobatch.targets.target import Target

BUSY_LANES: Final = 65_536
"""Lanes that keep an unknown machine busy, which is assumed to compute thousands of lanes at a time."""


def accelerator(platform: str) -> Target:
    """The target of a platform whose machines divide the work of all lanes among their cores."""
    costs = LoopCosts(own(platform) or Profile(platform, busy_lanes=BUSY_LANES))
    return Target(platform, costs, holds_stacks=True)
