"""The optimizations by their switches, and which of them a function is compiled with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Optimizations:
    """What makes runs faster; each may be switched off, and the meaning stays.

    Attributes:
        write_out_loops: Write out the turns of short loops over what is known when the program is built; not a pass,
            but how the program is made.
        merge_lists: Keep the numbers of a list that lanes index in one array.
        reduce_strength: Shift and mask whole numbers that are divided by powers of two.
        hoist_shared: Compute what is the same in every lane once.
        split_shared: Compute once what is the same in every lane and part of a primitive that computes what differs.
        fold_constants: Compute what depends on captured arrays alone once for all runs.
        if_conversion: Turn cheap branches into selects.
        rotate_loops: Test loop conditions where turns end.
        uniform_loops: Make one primitive of a loop that turns equally often in every lane.
        dead_code: Drop what nothing reads.
        split_aggregates: Give each array of a variable that holds several a variable of its own.
        pop_push: Cancel pops against pushes (paper section 3.2, optimization 5).
        coalesce: Let both sides of a copy share storage.
        results_in_parts: Give back the arrays of a result from where they are.
        ask_ahead: Ask in a block what the next one would ask, or return for it, if that is all it does.
        compaction: Compute an expensive block on arrays of only the lanes that wait there, where those are few; not a
            pass, but how what they made is run.
        in_place: Update arrays of which a statement changes a part where they are, instead of choosing between the old
            and the new for each lane; likewise.
        light_ties: Keep XLA from moving code out of a block by a choice of as little as will do, not of all that the
            block reads; likewise.
        tables: Look things up in an argument that no lane assigns where it lies, instead of in a copy that each lane
            has, and read it there where lanes have one input each; likewise.
        few_lanes: Let the last lanes of a run go on by themselves, in a program of as few; likewise.
        kernels: Give lanes code of their own on a CPU, where the target says that this is the faster form; likewise.
        one_kernel: Let a small run on a CPU be one kernel, and of one lane in several what works on little; likewise.
    """

    write_out_loops: bool = True
    merge_lists: bool = True
    reduce_strength: bool = True
    hoist_shared: bool = True
    split_shared: bool = True
    fold_constants: bool = True
    if_conversion: bool = True
    rotate_loops: bool = True
    uniform_loops: bool = True
    dead_code: bool = True
    split_aggregates: bool = True
    pop_push: bool = True
    coalesce: bool = True
    results_in_parts: bool = True
    ask_ahead: bool = True
    compaction: bool = True
    in_place: bool = True
    light_ties: bool = True
    tables: bool = True
    few_lanes: bool = True
    kernels: bool = True
    one_kernel: bool = True


ALL = Optimizations()
