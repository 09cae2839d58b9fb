"""The name of a platform that is no CPU and no GPU, such as TPUs -> its target: lanes in a loop, and held stacks."""

from __future__ import annotations

from typing import Final

from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import Profile, own
from hlobatch.targets.target import Target

BUSY_LANES: Final = 65_536
"""Lanes that keep a machine busy of which nothing is known but that it computes for thousands of lanes at a time."""


def accelerator(platform: str) -> Target:
    """The target that a platform is: a machine that divides among its cores what all lanes do."""
    costs = LoopCosts(own(platform) or Profile(platform, busy_lanes=BUSY_LANES))
    return Target(platform, costs, holds_stacks=True)
