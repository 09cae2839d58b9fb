"""The shape of a plan's kernel: whether it runs lanes one by one or as a gang, its program, and the arrays it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import jax

from hlobatch.analysis.cost import block_cost
from hlobatch.diagnostics import KernelError
from hlobatch.ir.names import is_sum, summed_for
from hlobatch.ir.ops import PrimOp
from hlobatch.ir.physical import physical
from hlobatch.ir.program import Program
from hlobatch.ir.program import VariableAllocation as Alloc
from hlobatch.ir.types import Type
from hlobatch.kernels import jit
from hlobatch.kernels.interface import Operands
from hlobatch.kernels.interface import Options as CodeOptions
from hlobatch.kernels.module import KernelModule, to_llvm
from hlobatch.kernels.processors import CPU, Processor, gang
from hlobatch.kernels.types import NoKernelError, alignment
from hlobatch.lowering.state.captures import Captures, captures
from hlobatch.lowering.state.inputs import Inputs
from hlobatch.runtime.plan import Plan
from hlobatch.targets.target import Form, Target
from hlobatch.transforms.set_apart import set_apart
from hlobatch.typing import Arrays

VECTORS: Final = 4
"""Vectors that hold one 32-bit number of all lanes of a gang: several, so that operations overlap …"""
VECTORS_OF_ARRAYS: Final = 2
"""… and fewer if lanes have arrays, so that these stay in the smallest cache."""


@dataclass(frozen=True, eq=False)
class Shape:
    """The parts that a kernel is made from.

    Attributes:
        plan: The plan.
        is_gang: Whether each thread runs several lanes at once, and not one.
        hands_over: Whether XLA computes a primitive, in turn with the kernel; None if it computes none.
    """

    plan: Plan
    is_gang: bool
    hands_over: Callable[[PrimOp], bool] | None = None

    def for_form(self, form: Form, target: Target) -> Shape:
        """The shape for a form of lanes' code, in which XLA may compute some primitives."""
        return replace(self, hands_over=target.hands_over) if form.processor.in_turn else self

    @property
    def program(self) -> Program:
        return self._apart[0]

    @property
    def errands(self) -> tuple[str, ...]:
        """Names of the blocks whose primitive XLA computes."""
        return self._apart[1]

    @cached_property
    def _apart(self) -> tuple[Program, tuple[str, ...]]:
        program = self.plan.programs.of_a_gang if self.is_gang else self.plan.programs.of_a_lane
        return (program, ()) if self.hands_over is None else set_apart(program, self.hands_over)

    @cached_property
    def processor(self) -> Processor:
        if not self.is_gang:
            return CPU
        bits, kept = jit.vector_bits(), [physical(leaf) for v in self._own for leaf in v.tensor_leaves]
        widest = max((alignment(leaf.dtype) for leaf in kept), default=4)
        vectors = VECTORS_OF_ARRAYS if any(leaf.shape for leaf in kept) else VECTORS
        return gang(vectors * bits // (8 * max(widest, 4)), bits)

    @property
    def _own(self) -> list[Type]:
        """Types of the variables that are not shared."""
        shared = self.plan.shared | {v for v in self.program.var_defs if self.program.alloc(v) is Alloc.SHARED}
        return [kind for v, kind in self.program.var_defs.items() if v not in shared]

    @cached_property
    def captures(self) -> Captures:
        """The captures of the kernel's program; they may differ, in arrays and order, from those of XLA's loop."""
        return captures(self.program)

    @cached_property
    def captured(self) -> tuple[Any, ...]:
        """The captured arrays, as they are passed."""
        return tuple(self.captures.operands())

    @cached_property
    def computed(self) -> tuple[str, ...]:
        """The shared variables that are computed once, before the kernel is called."""
        program = self.program
        shared = (v for v in program.var_defs if program.alloc(v) is Alloc.SHARED)
        return tuple(v for v in shared if v not in program.vars_in)

    def operands(self, *, sums: bool = False) -> Operands:
        """The arrays that the kernel takes before the arrays for its results."""
        summed = self.summed_results if sums else ()
        return Operands(tuple(self.captures.positions), self.plan.input_shared, self.computed, summed)

    @cached_property
    def summed_results(self) -> tuple[int, ...]:
        """Positions of the result arrays that a kernel can sum over inputs: cotangents of shared inputs."""
        if self.is_gang:
            return ()
        places = [v for v in self.program.vars_out for _ in self.program.var_defs[v].tensor_leaves]
        return tuple(k for k, v in enumerate(places) if is_sum(v) and summed_for(v) in self.plan.shared)

    @property
    def result_types(self) -> list[Any]:
        """Types of the result arrays, without the batch axis; if lanes may fail, one is the failure's number."""
        return [physical(leaf) for v in self.program.vars_out for leaf in self.program.var_defs[v].tensor_leaves]

    def kept_results(self, results: Sequence[Any]) -> list[Any]:
        """The results without the failure's number, which is part of an input's status."""
        if not self.plan.specialized.failures:
            return list(results)
        after = sum(len(self.program.var_defs[v].tensor_leaves) for v in self.program.vars_out[-1:])
        return [*results[: -1 - after], *results[len(results) - after :]]

    @property
    def block_costs(self) -> list[float]:
        """The cost of each block of the program."""
        return [block_cost(self.program, block) for block in self.program.graph]

    @cached_property
    def shared_function(self) -> Callable[..., list[Any]]:
        """The function that computes the shared values from captured arrays and inputs; it reads only shared inputs."""
        count, wanted = len(self.captures.arrays), set(self.computed)
        layout = replace(self.plan.layout_of_one, program=self.program)

        def run(*given: Any) -> list[Any]:
            if not wanted:
                return []
            supply = iter(Inputs(layout).shared(self.captures, given[:count], given[count:]))
            pairs = [(v, next(supply)) for v in layout.shared for _ in layout.tops(v)]
            return [value for v, value in pairs if v in wanted]

        return run

    @cached_property
    def compiled_shared_function(self) -> Callable[..., list[Any]]:
        return jax.jit(self.shared_function)

    def shared_values(self, inputs: Arrays) -> list[Any]:
        """The shared values, from inputs as they are stored."""
        if not self.computed:
            return []
        given = [x if shared else None for x, shared in zip(inputs, self.plan.input_shared, strict=True)]
        return list(self.compiled_shared_function(*self.captured, *given))

    def module(
        self,
        processor: Processor | None = None,
        make: Callable[..., KernelModule] = to_llvm,
        *,
        counts: bool = False,
        checked: bool = False,
        sums: bool = False,
    ) -> KernelModule:
        """The kernel's code, for this machine or for another processor.

        Args:
            processor: The processor; this machine's by default.
            make: Makes the code of a program, given the user's name of it, operands and options.
            counts: Whether it counts executions of blocks.
            checked: Whether each memory access is checked.
            sums: Whether it sums the results in ``summed_results`` over inputs.

        Raises:
            NoKernelError: The program has something that kernels have no code for.
        """
        plan = self.plan
        options = CodeOptions(processor or self.processor, plan.options.max_steps, counts, checked, self.errands)
        try:
            with plan.as_typed(), jax.ensure_compile_time_eval():
                return make(self.program, plan.name, self.operands(sums=sums), options)
        except NoKernelError:
            raise
        except Exception as error:  # whatever the error, the program can run without a kernel
            raise NoKernelError(f"its code could not be made ({type(error).__name__}: {error})") from error

    def counted(self, counts: Any) -> tuple[Any, Any]:
        """The number of executions of each block, and of its lanes, from a kernel's counts."""
        half = len(counts) // 2
        return (counts[:half], counts[half:]) if self.is_gang else (counts, counts)


def no_kernel(plan: Plan, reason: str) -> KernelError:
    """The error for a plan that cannot run as a kernel."""
    return KernelError(
        f"{plan.name!r} has no kernel: {reason}",
        plan.specialized.location,
        help="leave dispatch at 'auto', with which XLA runs it.",
    )
