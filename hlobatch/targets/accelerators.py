"""The name of a platform that is no CPU and no GPU, such as TPUs -> its target: lanes in a loop, and held stacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from hlobatch.lowering.idiom import Idiom
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import Profile, own
from hlobatch.targets.target import Run, Target

BUSY_LANES: Final = 65_536
"""Lanes that keep a machine busy of which nothing is known but that it computes for thousands of lanes at a time."""


@final
@dataclass(frozen=True)
class Accelerator(Target):
    """A machine that divides what all lanes do among its cores.

    Its compiler takes the blocks of a sweep for one piece of code, and pops wherever what was popped is read.
    """

    def idiom(self, run: Run) -> Idiom:
        del run
        return Idiom(holds_stacks=True)


def accelerator(platform: str) -> Accelerator:
    """The target that a platform is, with what was measured of it."""
    return Accelerator(platform, LoopCosts(own(platform) or Profile(platform, busy_lanes=BUSY_LANES)))
