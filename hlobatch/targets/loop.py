"""What was measured of a machine -> the costs of XLA's loop over all lanes there, by which a strategy is chosen.

Some costs follow from a machine's profile: they are how many operations take as long as something else does. An
operation is an operation on one number of one lane. The others are numbers of lanes, of turns and of inputs, and ratios
of them, which are the same on every machine. They were fitted to the workloads of ``benchmarks/`` in 2026-11 with jax
0.10, on two cores of a server with AVX-512 and on two with AVX2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

from hlobatch.targets.profile import Profile, server


class Flight(NamedTuple):
    """How many lanes are in flight.

    Attributes:
        most: Lanes at once, so many that what they keep stays in the cache.
        enough: Lanes that keep the machine busy: with fewer, a queue of inputs does not pay.
    """

    most: int
    enough: int


class Worth(NamedTuple):
    """What is worth a thread of its own.

    Attributes:
        inputs: At least so many.
        turns: Turns over all blocks that such a part makes. A thread pays if they take longer than to start it.
    """

    inputs: int
    turns: int


@final
@dataclass(frozen=True)
class LoopCosts:
    """The costs, and what was fitted.

    Attributes:
        profile: What was measured of the machine.
        typical_step: Times as long as the step that was measured takes one of a typical program, which has more blocks,
            and more kernels in each.
        cheap_lanes: Lanes that can go through every block of a cheap program in the time that it takes to find one.
        lanes: Of a program of which blocks are tested. Many fewer leave vectors and kernels badly used.
        swept_lanes: Of a cheap program at most, without stacks.
        swept_stack_lanes: Of a cheap program with stacks, which XLA pushes and pops lane by lane: a lane costs nearly
            as much among few as among many.
        queue_inputs_per_lane: From which a queue pays.
        once_bytes: Of the largest array of all lanes, where each input goes through every block once.
        turns_per_test: Turns over all blocks between two tests of whether any lane is left, where such a test starts a
            kernel.
        looping: What is worth a thread where lanes loop; a loop may turn but a few hundred times.
        recursive: What is worth one where lanes recurse, and so run their blocks many times.
        matrix_inputs: That are worth fetching a matrix that does not stay in a core's cache.
        handed_over_elements_per_operation: Of an argument that no lane assigns, per operation of a turn, from which to
            copy a part of it takes longer than several turns. A lane's own matrix of some size that is multiplied by a
            vector in each turn has about two.
        queue_inputs_where_much_is_handed_over: Per lane, from which a queue pays where there is such an argument: what
            an input that takes a lane brings with it is copied, and arrays of so many inputs stay in larger caches.
        cheap_lanes_per_done: One in so many lanes is done before those that are take new inputs, in a cheap program.
        lanes_per_done: One in so many lanes is done before that in any other, where an idle lane costs more.
    """

    profile: Profile
    typical_step: float = 1.44
    cheap_lanes: int = 100
    lanes: Flight = Flight(256, 64)
    swept_lanes: int = 1024
    swept_stack_lanes: Flight = Flight(512, 192)
    queue_inputs_per_lane: float = 2.0
    once_bytes: int = 2**28
    turns_per_test: int = 16
    looping: Worth = Worth(16, 256)
    recursive: Worth = Worth(1, 8_192)
    matrix_inputs: int = 16
    handed_over_elements_per_operation: float = 1.5
    queue_inputs_where_much_is_handed_over: float = 8.0
    cheap_lanes_per_done: int = 8
    lanes_per_done: int = 32

    @cached_property
    def step_operations(self) -> float:
        """Operations of all lanes together that take as long as to find a block and start its kernels."""
        return self.typical_step * self.profile.operations("kernel_ns")

    @cached_property
    def cheap_operations(self) -> float:
        """Operations and stored elements per lane, of all blocks together, up to which a program is cheap.

        As many lanes as there are at least run every block of such a program in the time that it takes to find one.
        """
        # Where kernels were not measured, a step counts as many operations as on the server, and so do lanes.
        lanes = self.cheap_lanes if self.profile.kernel_ns is None else max(self.cheap_lanes, self.profile.busy_lanes)
        return self.step_operations / lanes

    @cached_property
    def test_operations(self) -> float:
        """Operations of all lanes together that take as long as the host waits at each test; 0 where it does not."""
        return 0.0 if self.profile.test_ns is None else self.profile.operations("test_ns")

    def thread_operations(self, worth: Worth) -> float:
        """Operations of a turn over all blocks that are worth a thread, for all its lanes together."""
        return self.profile.operations("thread_ns") / worth.turns

    @cached_property
    def matrix_bytes(self) -> int:
        """Bytes of a matrix that a core fetches anew for each product, from which inputs had better share it."""
        return self.profile.core_bytes or server().core_bytes or 0
