"""The properties of a lowered program that a strategy depends on, each computed when it is first read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hlobatch.analysis.constants import never_assigned, tables
from hlobatch.analysis.cost import block_cost, bytes_of, largest_array, primitives_time
from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.libraries import library_calls
from hlobatch.analysis.machine_flow import repeated_blocks
from hlobatch.analysis.updates import taken_as_a_whole
from hlobatch.ir.physical import array_bytes, elements, physical
from hlobatch.ir.program import STORED, Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.jax_primitives import LOOPS


@dataclass(frozen=True, eq=False)
class Properties:
    """The properties of a program with explicit stacks.

    Attributes:
        program: The program, its blocks in program order.
        has_tables: Whether tables (arguments that lanes only read single elements of) are read in place.
    """

    program: Program
    has_tables: bool = True

    @cached_property
    def work(self) -> float:
        """Operations of all blocks, plus elements that a turn reads and writes, per lane."""
        program, whole = self.program, taken_as_a_whole(self.program.graph)
        stored = [t for name, t in program.var_defs.items() if program.alloc(name) in STORED and name in whole]
        return sum(block_cost(program, block) for block in program.graph) + sum(map(elements, stored))

    @cached_property
    def has_stacks(self) -> bool:
        """Whether any variable needs a stack."""
        return Alloc.FULL in self.program.var_alloc.values()

    @cached_property
    def repeats(self) -> bool:
        """Whether any block may run more than once for a lane."""
        return bool(repeated_blocks(self.program))

    @cached_property
    def has_inner_loops(self) -> bool:
        """Whether any primitive in the loop has an inner loop."""
        primitives = (op for block in self.program.graph for op in self.program.primitives_in_loop(block))
        return any(op.code.primitives & LOOPS for op in primitives)

    @property
    def blocks(self) -> int:
        """Number of blocks in the program."""
        return len(self.program.graph.blocks)

    @property
    def has_a_block_that_turns(self) -> bool:
        """Whether a block may be its own successor, so that each turn tests whether a lane is left there."""
        return any(block.goes_on_to_itself for block in self.program.graph)

    @cached_property
    def largest_computed(self) -> int:
        """Bytes per lane of the largest array that a block computes."""
        return max(map(largest_array, self.program.graph), default=0)

    @cached_property
    def largest_matrix(self) -> int:
        """Bytes of the largest shared array that an operation with a matrix product reads in the loop."""
        program, sizes = self.program, [0]
        for op in (op for block in program.graph for op in program.primitives_in_loop(block)):
            code = op.code.typed
            if code is not None and "dot_general" in code.primitives:
                shared = (v for v in op.vars_in if program.alloc(v) is Alloc.SHARED)
                sizes += map(bytes_of, code.jaxpr.jaxpr.constvars)
                sizes += (array_bytes(physical(t)) for v in shared for t in program.var_defs[v].tensor_leaves)
        return max(sizes)

    @cached_property
    def library_called(self) -> str:
        """The primitives that call a library which is not safe to call from two threads, in words; "" if none."""
        called = library_calls(self.program)
        if not called:
            return ""
        library = next(iter(called.values()))
        names = ", ".join(f"`{name}`" for name, other in called.items() if other == library)
        return f"{names} calls {library}, where two threads may wait for each other for ever"

    def much_handed_over(self, elements_per_operation: float) -> str:
        """Why a batch is not divided, if an argument takes longer to copy to a thread than a turn takes; else "".

        Args:
            elements_per_operation: Elements of an argument, per operation of a turn, above which it takes longer to
                copy.
        """
        large = self._large_arguments(elements_per_operation)
        return f"`{user_name(large[0])}` takes longer to hand over than what a turn computes" if large else ""

    def is_much_taken_along(self, elements_per_operation: float) -> bool:
        """Whether copying an argument to its lane takes longer than a turn; tables are not copied."""
        besides = tables(self.program) if self.has_tables else frozenset[str]()
        return any(v not in besides for v in self._large_arguments(elements_per_operation))

    def _large_arguments(self, elements_per_operation: float) -> list[str]:
        """The arguments that no lane assigns, and that have many elements for the number of operations of a turn."""
        program = self.program
        if self.has_stacks or not self.repeats:
            return []
        repeated = repeated_blocks(program)
        turn = sum(primitives_time(program, block) for block in program.graph if block.name in repeated)
        return [v for v in never_assigned(program) if elements(program.var_defs[v]) > elements_per_operation * turn]
