"""A machine's profile -> the costs of XLA's loop over all lanes there, by which a strategy is chosen.

Some costs follow from the profile: they are times, expressed as the number of operations (on one number of one lane)
that take as long. The others are numbers of lanes, turns and inputs, and ratios of them, which are the same on every
machine. They were fitted to the workloads of ``benchmarks/`` in 2026-11 with jax 0.10, on two cores of a server with
AVX-512 and on two with AVX2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

from hlobatch.targets.profile import Profile, server


class Flight(NamedTuple):
    """How many lanes are in flight.

    Attributes:
        most: Largest number of lanes at once, whose state still stays in the cache.
        enough: Smallest number of lanes that keeps the machine busy: with fewer, a queue of inputs does not pay.
    """

    most: int
    enough: int


class Worth(NamedTuple):
    """The size of a part of a batch that pays for a thread of its own.

    Attributes:
        inputs: Smallest number of inputs of the part.
        turns: Assumed number of turns over all blocks of the part. A thread pays if they take longer than its start.
    """

    inputs: int
    turns: int


@final
@dataclass(frozen=True)
class LoopCosts:
    """The costs of XLA's loop: the machine's profile, and fitted constants.

    Attributes:
        profile: The measurements of the machine.
        typical_step: The time of a step of a typical program relative to the measured step, which has fewer blocks and
            kernels.
        cheap_lanes: Lanes for which running every block of a cheap program takes as long as dispatching to one block.
        lanes: Lanes in flight of a program that tests which block runs. With far fewer, vectors and kernels are badly
            used.
        swept_lanes: Largest number of lanes in flight of a cheap program without stacks.
        swept_stack_lanes: Lanes in flight of a cheap program with stacks, which XLA pushes and pops lane by lane, so
            that a lane costs nearly as much among few as among many.
        queue_inputs_per_lane: Inputs per lane from which a queue pays.
        once_bytes: Largest size of the largest array of all lanes, if each input runs every block once.
        turns_per_test: Turns over all blocks between two tests whether any lane is left, if a test starts a kernel.
        looping: The part that pays for a thread if lanes loop; a loop may make only a few hundred turns.
        recursive: The part that pays for a thread if lanes recurse, and so run their blocks many times.
        matrix_inputs: Smallest number of inputs of a part if a matrix is too large for a core's cache, so that they
            share each fetch of it.
        handed_over_elements_per_operation: Elements of an argument that no lane assigns, per operation of a turn, from
            which copying a lane's part of it takes longer than several turns. A lane's own matrix of moderate size that
            is multiplied by a vector in each turn has about two.
        queue_inputs_where_much_is_handed_over: Inputs per lane from which a queue pays with such an argument, since
            the part of each new input is copied, and arrays of that many inputs stay in larger caches only.
        cheap_lanes_per_done: In a cheap program, lanes that are done take new inputs once they are one in this many.
        lanes_per_done: The same number for other programs, where an idle lane costs more.
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
        """Operations, of all lanes together, that take as long as dispatching to a block and starting its kernels."""
        return self.typical_step * self.profile.operations("kernel_ns")

    @cached_property
    def cheap_operations(self) -> float:
        """Largest cost of a cheap program: operations and stored elements per lane of all its blocks together.

        Then ``cheap_lanes`` lanes (or ``busy_lanes`` of the machine, if more) run every block in the time of one
        dispatch.
        """
        # Without a measured `kernel_ns`, `step_operations` is the server's, and the server's number of lanes fits it.
        lanes = self.cheap_lanes if self.profile.kernel_ns is None else max(self.cheap_lanes, self.profile.busy_lanes)
        return self.step_operations / lanes

    @cached_property
    def test_operations(self) -> float:
        """Operations, of all lanes together, that take as long as the host waits at a test; 0 if it does not wait."""
        return 0.0 if self.profile.test_ns is None else self.profile.operations("test_ns")

    def thread_operations(self, worth: Worth) -> float:
        """Operations of a turn over all blocks, of all lanes of a part, from which the part pays for a thread."""
        return self.profile.operations("thread_ns") / worth.turns

    @cached_property
    def matrix_bytes(self) -> int:
        """Bytes of a matrix from which it does not stay in a core's cache, so that inputs had better share a fetch."""
        return self.profile.core_bytes or server().core_bytes or 0
