"""A platform and a program -> whether lanes had better run code of their own there, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, final

from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.ir.program import Program
from hlobatch.kernels.processors import CPU, Processor
from hlobatch.targets.work import Work


class Verdict(NamedTuple):
    """What a target says of a program.

    Attributes:
        by_themselves: Whether each lane runs code of its own.
        reason: Why, in words.
    """

    by_themselves: bool
    reason: str


@final
@dataclass(frozen=True)
class Costs:
    """What work takes, as operations on a number, in the two forms.

    A loop over all lanes computes several of them at a time, but blocks for more lanes than stand there; each element
    that is pushed, popped or found by index it moves by itself. Fitted to the workloads of ``benchmarks/kernels.py``.

    Attributes:
        vector: Lanes that the loop over all computes at a time.
        idle: Times as many lanes as have a use for it that it computes a block for.
        read: What it takes there to find an element by index.
        update: What it takes there to change one.
        saved: What it takes there to push or pop an element.
        function: What a function of a float takes.
        own_place: What it takes a lane by itself to find an element, or to change it.
        own_saved: What it takes it to push or pop one.
        gain: Times as long as the other form that the loop has to take, for which the code of a lane is made.
    """

    vector: float = 8
    idle: float = 2
    read: float = 10
    update: float = 40
    saved: float = 7
    function: float = 20
    own_place: float = 1
    own_saved: float = 2
    gain: float = 1.5

    def of_loop(self, work: Work) -> float:
        """What a loop over all lanes takes for one of them."""
        numbers = work.whole + work.floats + work.wide + self.function * work.functions
        moved = self.read * work.reads + self.update * work.updates + self.saved * work.saved
        return numbers * self.idle / self.vector + moved

    def of_lane(self, work: Work) -> float:
        """What a lane takes by itself."""
        numbers = work.whole + work.floats + work.wide / self.vector + self.function * work.functions
        return numbers + self.own_place * (work.reads + work.updates) + self.own_saved * work.saved


@final
@dataclass(frozen=True)
class Target:
    """A platform.

    Attributes:
        name: In JAX's words.
        processor: What code of lanes is made for; None where there is none yet.
        costs: What work takes there.
        swept: Operations of all blocks and lanes together up to which a loop over all lanes had better run every block
            in each turn than test whether any lane waits for it.
    """

    name: str
    processor: Processor | None
    costs: Costs = Costs()
    swept: float = 0

    def judge(self, program: Program) -> Verdict:
        """Whether the lanes of a program with explicit stacks had better run by themselves."""
        if self.processor is None:
            return Verdict(False, f"code of its own is not made for {self.name!r}")
        if not repeated_blocks(program):
            return Verdict(False, "no lane goes back to a block")
        work = Work.of(program)
        if not work.saved and not work.reads + work.updates:
            return Verdict(False, "nothing but numbers is computed, of several lanes at a time")
        if not work.saved and work.floats + work.functions + work.wide > work.whole:
            return Verdict(False, "floats are computed without a stack, of several lanes at a time")
        times = self.costs.of_loop(work) / max(self.costs.of_lane(work), 1)
        said = f"a loop over all lanes would take {times:.1f} times as long"
        return Verdict(times >= self.costs.gain, said)


SWEPT_ON_A_GPU: Final = 1e9
"""Operations. The host waits for a GPU at each test, 8 to 25 microseconds, in which the GPU computes about that many.
Measured on an H100 with jax 0.11 (``docs/design.md``): up to 7e8 operations a turn, ten workloads took a half to a
tenth of the time that tests took; NUTS on a Gaussian, with 96,000 operations per lane, took a fifth with 1,000 lanes,
as long with 10,000 and 1.7 times as long with 65,536."""

_TARGETS: Final = {"cpu": Target("cpu", CPU), "gpu": Target("gpu", None, swept=SWEPT_ON_A_GPU)}


def target_of(platform: str) -> Target:
    """The target that a platform is, in JAX's words."""
    return _TARGETS.get(platform) or Target(platform, None)
