"""Programs that are modules of the dialect: read from a file, run on arrays.

A program with calls is optimized like one from Python; one with explicit stacks runs as it is written. If a module has
no allocations, variables are allocated here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np

from hlobatch.analysis.allocation import allocate
from hlobatch.analysis.definedness import check_definedness
from hlobatch.diagnostics import BatchTypeError
from hlobatch.dialect.locations import start_of
from hlobatch.dialect.text import parse
from hlobatch.dialect.to_program import to_program
from hlobatch.dialect.verifier import Symbols, verify
from hlobatch.ir.ops import FunctionCallOp
from hlobatch.ir.physical import physical
from hlobatch.ir.program import Program, VariableAllocation
from hlobatch.ir.types import Type
from hlobatch.runtime.execute import execute
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.programs import Programs
from hlobatch.runtime.stats import RunStats
from hlobatch.strategy.options import Options
from hlobatch.transforms.pipeline import lowered_program, optimized_program
from hlobatch.values.user_values import user_value


@dataclass(frozen=True, eq=False)
class ReadPrograms(Programs):
    """The forms of a program that was read from a module, with calls or with explicit stacks."""

    @cached_property
    def with_calls(self) -> Program:
        if not _has_calls(self.specialized):
            return self.specialized
        return optimized_program(self.specialized, self.shared, self.options.optimizations)

    @cached_property
    def in_program_order(self) -> Program:
        if _has_calls(self.specialized):
            return lowered_program(self.with_calls, self.options.optimizations)
        return self.specialized if len(self.specialized.var_alloc) > len(self.shared) else allocate(self.specialized)

    @cached_property
    def of_a_lane(self) -> Program:
        # Branches are converted before calls are lowered: a program that was read with explicit stacks has one form.
        return super().of_a_lane if _has_calls(self.specialized) else self.of_a_gang


@dataclass(frozen=True, eq=False)
class ModulePlan(Plan):
    """The plan of a program that was read from a module, which may have any number of results."""

    @cached_property
    def programs(self) -> Programs:
        return ReadPrograms(self.specialized, self.shared, self.options)

    @property
    def out_type(self) -> Type:
        types = [self.specialized.var_defs[v] for v in self.specialized.vars_out]
        return types[0] if len(types) == 1 else Type(tuple(t.tensors for t in types))


def plan_of(name: str, program: Program, options: Options) -> ModulePlan:
    """The plan of a program that was read from a module; inputs allocated ``SHARED`` are shared by all lanes."""
    shared = frozenset(v for v in program.vars_in if program.var_alloc.get(v) is VariableAllocation.SHARED)
    return ModulePlan(name, program, shared, options)


def _has_calls(program: Program) -> bool:
    return bool(program.functions) or any(isinstance(op, FunctionCallOp) for op in program.ops)


@dataclass(frozen=True)
class Module:
    """A program that was read from a module, with its plan.

    Attributes:
        plan: The plan.
    """

    plan: ModulePlan

    @classmethod
    def load(cls, path: Path, options: Options | None = None) -> Module:
        """Read a module from text or bytecode.

        Raises:
            ParseError: The file is not a module.
            VerificationError: The module is not a valid program.
            UndefinedVariableError: A variable may be read before it has a value.
            BatchTypeError: It has 64-bit types, and these are disabled in JAX.
        """
        file = str(path)
        module = parse(path.read_bytes(), file)
        verify(module, file)
        _check_bits(module, file)
        program = to_program(module, file)
        check_definedness(program)
        return cls(plan_of(path.stem, program, options or Options()))

    def run(self, inputs: Mapping[str, Any], *, stats: bool = False) -> tuple[Any, RunStats | None]:
        """Run on arrays with the batch axis first.

        Args:
            inputs: By parameter, with or without the name of its function; or ``arr_0``, ``arr_1``, … in order. The
                arrays of a parameter that holds several are named ``parameter.0``, ``parameter.1``, ….
            stats: Whether to count executions.

        Raises:
            BatchTypeError: The arrays do not fit the program's inputs.
        """
        names = self._names()
        numbered = {f"arr_{i}": name for i, name in enumerate(names)}
        given = {numbered.get(key, key): value for key, value in inputs.items()}
        if given.keys() - set(names) or len(given) < len(names):
            raise BatchTypeError(
                f"the program takes {', '.join(names) or 'nothing'}; given are {', '.join(inputs) or 'no arrays'}",
                self.plan.specialized.location,
            )
        avals = [(name, *pair) for name, pair in zip(names, self._arrays(), strict=True)]
        arrays = [_checked(name, given[name], leaf, per_lane) for name, leaf, per_lane in avals]
        sizes = {len(a) for a, (_, _, per_lane) in zip(arrays, avals, strict=True) if per_lane}
        if len(sizes) != 1:
            raise BatchTypeError(f"the arrays have batches of sizes {sorted(sizes)}", self.plan.specialized.location)
        outcome = execute(self.plan, arrays, stats=stats)
        return user_value(outcome.results, self.plan.out_type), outcome.stats

    def _names(self) -> list[str]:
        """A name for each input array."""
        names = []
        for variable, type_ in zip(self.plan.specialized.vars_in, self.plan.in_types, strict=True):
            short, count = variable.rpartition(".")[2], len(type_.tensor_leaves)
            names += [short] if count == 1 else [f"{short}.{i}" for i in range(count)]
        return names

    def _arrays(self) -> list[tuple[Any, bool]]:
        """For each input array, its type per lane, and whether each lane has its own."""
        leaves = [physical(leaf) for type_ in self.plan.in_types for leaf in type_.tensor_leaves]
        return list(zip(leaves, (not shared for shared in self.plan.input_shared), strict=True))


def _check_bits(module: Any, file: str) -> None:
    """Refuse types that JAX would replace by types with fewer bits."""
    with module.context:
        types = Symbols(module).types.values()
    kinds = {leaf.dtype for type_ in types for leaf in type_.tensor_leaves if not leaf.is_key}
    wide = sorted(str(dtype) for dtype in kinds if jax.dtypes.canonicalize_dtype(dtype) != dtype)
    if wide:
        raise BatchTypeError(
            f"the program computes with {wide[0]}, and JAX is not allowed to",
            start_of(file),
            help="set JAX_ENABLE_X64=1 in the environment, or jax.config.update('jax_enable_x64', True).",
        )


def _checked(name: str, value: Any, leaf: Any, per_lane: bool) -> Any:
    array = np.asarray(value)
    if array.shape[1 if per_lane else 0 :] != leaf.shape or array.ndim != len(leaf.shape) + per_lane:
        raise BatchTypeError(f"{name!r} is an array {array.shape}; one lane takes {leaf}")
    if not np.can_cast(array.dtype, leaf.dtype, "same_kind"):
        raise BatchTypeError(f"{name!r} is an array of {array.dtype}; the program takes {leaf}")
    return array.astype(leaf.dtype)
