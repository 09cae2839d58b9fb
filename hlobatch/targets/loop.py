"""The costs of XLA's loop over all lanes on one machine, as numbers by which a strategy is chosen.

An operation is an operation on one number of one lane. The defaults were fitted in 2026-11 to the workloads of
``benchmarks/`` with jax 0.10, on two cores of a server with AVX-512 and on two with AVX2; ``accelerators.py`` has
those of GPUs and TPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final


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
        operations: All blocks run once for all of them.
    """

    inputs: int
    operations: float


@final
@dataclass(frozen=True)
class LoopCosts:
    """The sizes.

    Attributes:
        cheap_operations: Of a lane, elements that it stores among them, all blocks together, up to which to run every
            block in each turn is cheapest.
        sweep_excess: Times as much as its lanes need that such a turn computes, from which it pays to find the block
            with the most lanes, where a run is one kernel.
        step_operations: Operations of all lanes together that take as long as to find a block and start its kernels.
        kernel_step_operations: The same number where a run is one kernel, which has no other to start.
        lanes: Of a program of which blocks are tested. Many fewer leave vectors and kernels badly used.
        swept_lanes: Of a cheap program at most, without stacks.
        swept_stacks: Of a cheap program with stacks, which XLA pushes and pops lane by lane: a lane costs nearly as
            much among few as among many.
        kernel_lanes: Of a cheap program in one kernel. Fewer lanes end more nearly together, and there is no kernel to
            start.
        kernel_stacks: Of one with stacks, all blocks in each turn. LLVM unrolls loops over up to so many.
        kernel_most_lanes: Of one kernel that runs the block with the most lanes, by the numbers of 32 bits in a vector.
        kernel_dear: Of any other program in one kernel: enough to use vectors well, and few enough for products to
            stay in the smallest cache.
        kernel_bytes: Of the largest array of all lanes in one kernel that runs the block with the most lanes. The
            smallest cache does not hold a larger one, of which each lane reads and writes elements.
        kernel_queue_inputs: Per lane, from which a queue pays in one kernel that is not cheap.
        queue_inputs: Per lane, from which a queue pays anywhere else.
        alike_turns: Turns of a loop around all others that every lane makes, from which lanes take about as long. They
            had better take new inputs together then; with ten turns that is no gain.
        vectors: Lanes in one kernel are a multiple of so many vectors: what is left over is worked on by halves.
        once_bytes: Of the largest array of all lanes, where each input goes through every block once.
        rounds: Turns over all blocks between two tests of whether any lane is left, where such a test starts a kernel.
        looping: What is worth a thread where lanes loop; a loop may turn but a few times.
        recursive: What is worth one where lanes recurse, and so run their blocks many times.
        matrix_bytes: Of a matrix that a core fetches anew for each product, from which inputs had better share it.
        matrix_inputs: That are worth fetching such a matrix.
        handed_over_elements: Of an argument that no lane assigns, per operation of a turn, from which to copy a
            thread's part of it takes longer than several turns.
        cheap_share: One in so many lanes is done before those that are take new inputs, in a cheap program.
        share: One in so many lanes is done before that in any other, where an idle lane costs more.
        least_lanes: That keep the machine busy, whatever the program: thousands where so many run at a time.
        swept_operations: Of all lanes and blocks together, up to which every block runs in each turn of a program that
            is not cheap, because a test takes longer.
    """

    cheap_operations: float = 400.0
    sweep_excess: float = 3.0
    step_operations: float = 40_000.0
    kernel_step_operations: float = 4_000.0
    lanes: Flight = Flight(256, 64)
    swept_lanes: int = 1024
    swept_stacks: Flight = Flight(512, 192)
    kernel_lanes: Flight = Flight(128, 64)
    kernel_stacks: Flight = Flight(96, 96)
    kernel_most_lanes: tuple[tuple[int, Flight], ...] = ((8, Flight(96, 64)), (16, Flight(128, 64)))
    kernel_dear: Flight = Flight(64, 64)
    kernel_bytes: int = 3 * 2**14
    kernel_queue_inputs: float = 1.25
    queue_inputs: float = 2.0
    alike_turns: int = 50
    vectors: int = 4
    once_bytes: int = 2**28
    rounds: int = 16
    looping: Worth = Worth(16, 30_000.0)
    recursive: Worth = Worth(1, 1_000.0)
    matrix_bytes: int = 2**20
    matrix_inputs: int = 16
    handed_over_elements: float = 2.0
    cheap_share: int = 8
    share: int = 32
    least_lanes: int = 0
    swept_operations: float = 0.0
