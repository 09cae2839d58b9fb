"""The name of a platform of GPUs or TPUs -> its target: thousands of lanes in flight, and stacks that are held.

A GPU that was not measured is taken for the one that was. Its host waits for the device at each test of a loop, 8 to 25
microseconds, in which the device computes about 1e9 operations. So every block runs in each turn, up to 1e9 operations
for all lanes and blocks together. Measured in 2026-11 on an H100 with jax 0.11 (``docs/design.md``): up to 7e8
operations a turn, ten workloads took a half to a tenth of the time that tests took; NUTS on a Gaussian, with 96,000
operations per lane, took a fifth with 1,000 lanes, as long with 10,000 and 1.7 times as long with 65,536.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from hlobatch.lowering.idiom import Idiom
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.profile import Profile, h100, own
from hlobatch.targets.target import Run, Target

GPU: Final = "gpu"
"""The name that JAX has for the platform of all GPUs."""
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
    unmeasured = h100() if platform == GPU else Profile(platform, busy_lanes=BUSY_LANES)
    return Accelerator(platform, LoopCosts(own(platform) or unmeasured))
