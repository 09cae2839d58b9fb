"""The optimizations that a function is compiled with, each with a switch."""

from __future__ import annotations

from dataclasses import dataclass

from hlobatch.console import repr_of_settings


@dataclass(frozen=True)
class Optimizations:
    """The optimizations of a function. Each may be switched off, and results stay the same.

    ``write_out_loops`` affects how a program is built. The switches from ``merge_lists`` to ``ask_ahead`` are passes on
    programs. The others, from ``compaction`` on, affect how the lowered program is run.

    Attributes:
        write_out_loops: Unroll short loops over what is known when the program is built.
        merge_lists: Keep the numbers of a list that lanes index in one array.
        reduce_strength: Shift and mask integers that are divided by powers of two (strength reduction).
        hoist_shared: Compute what is the same in every lane once.
        split_shared: Move the part of a primitive that is the same in every lane out of it (invariant code motion).
        fold_constants: Compute what depends on captured arrays alone once for all runs.
        if_conversion: Turn cheap branches into selects.
        rotate_loops: Test loop conditions where turns end (loop rotation).
        uniform_loops: Make one primitive of a loop that turns equally often in every lane.
        dead_code: Drop what nothing reads.
        split_aggregates: Give each array of a variable a variable of its own (scalar replacement of aggregates).
        pop_push: Cancel pops against pushes (paper section 3.2, optimization 5).
        coalesce: Let both sides of a copy share storage.
        results_in_parts: Give back the arrays of a result from where they are.
        ask_ahead: Copy the branches and returns of small blocks into the blocks that lead to them (tail duplication).
        compaction: Compute an expensive block on arrays of only the lanes that wait at it, if those are few (stream
            compaction).
        in_place: Mask the update where a statement changes a part of an array, so that the array is updated in place,
            instead of selecting between the old and the new array for each lane.
        light_ties: Keep XLA from moving code out of a block by selects on as few of the arrays that the block reads as
            will do, instead of on all of them.
        tables: Read arguments that no lane assigns in place, in the array of all inputs, instead of giving each lane a
            copy: tables always, others if there is no queue.
        few_lanes: Let the last lanes of a run go on by themselves, in a program for that few lanes.
        kernels: Run lanes by code of their own on a CPU, where the target says that this is the faster form.
        gangs: Run several lanes at once in the vectors of a thread, by code of their own, where the target says so.
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
    gangs: bool = True

    def __repr__(self) -> str:
        return repr_of_settings(self)


ALL = Optimizations()
