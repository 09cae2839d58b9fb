"""GPUs and TPUs as targets: thousands of lanes in flight, and on a GPU a wait for the host at each test of a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from hlobatch.lowering.idiom import Idiom
from hlobatch.targets.loop import LoopCosts
from hlobatch.targets.target import Run, Target

LEAST_LANES: Final = 65_536
"""Lanes that keep a machine busy on which thousands run at a time."""

SWEPT_OPERATIONS: Final = 1e9
"""Operations of a turn, for all lanes and blocks together, up to which every block runs in each turn. The host waits
for a GPU at each test, 8 to 25 microseconds, in which the GPU computes about that many. Measured in 2026-11 on an H100
with jax 0.11 (``docs/design.md``): up to 7e8 operations a turn, ten workloads took a half to a tenth of the time that
tests took; NUTS on a Gaussian, with 96,000 operations per lane, took a fifth with 1,000 lanes, as long with 10,000 and
1.7 times as long with 65,536."""


@final
@dataclass(frozen=True)
class Accelerator(Target):
    """A machine that divides what all lanes do among its cores.

    Its compiler takes the blocks of a sweep for one piece of code, and pops wherever what was popped is read.
    """

    loop: LoopCosts = LoopCosts(least_lanes=LEAST_LANES)

    def idiom(self, run: Run) -> Idiom:
        del run
        return Idiom(holds_stacks=True)


GPU: Final = Accelerator("gpu", loop=LoopCosts(least_lanes=LEAST_LANES, swept_operations=SWEPT_OPERATIONS))
