"""The name of a JAX primitive -> the rule that writes LLVM IR for it: the tables that the modules of rules fill in.

A rule on numbers is given the emitter, the type of the result and that of the first operand, the primitive's
parameters, and the operands. A rule on arrays is given the emitter, the parameters, the operands, and the types and
shapes of the results. A primitive without a rule raises ``NoKernelError``, and the whole program is left to XLA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from hlobatch.jax_primitives import Costs, costing
from hlobatch.kernels.complex_functions import OF_COMPLEX
from hlobatch.kernels.short_floats import narrowed, widened
from hlobatch.kernels.types import FLOAT32, NoKernelError, is_complex, is_short_float
from hlobatch.kernels.values import Value
from hlobatch.typing import DType

Out: TypeAlias = Sequence[tuple[np.dtype[Any], tuple[int, ...]]]
Rule: TypeAlias = Callable[..., list[Value]]

NUMBERS: Final[dict[str, Callable[..., str]]] = {}
"""Primitives that are computed element by element."""
ARRAYS: Final[dict[str, Rule]] = {}
"""Primitives that work on whole arrays."""
USE_ONCE: Final[set[str]] = set()
"""Primitives on arrays that read each element of their operands at most once, or store operands that they read again;
their operands may be computed where they are read."""


def on_numbers(*names: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Registers a rule for primitives that are computed element by element."""

    def register(rule: Callable[..., str]) -> Callable[..., str]:
        NUMBERS.update(dict.fromkeys(names, rule))
        return rule

    return register


OUTER_PRODUCT: Final = "with_outer_product"
CALLS: Final[dict[str, Rule]] = {}
"""Rules for functions that a jaxpr calls by name, such as ``ir.outer.with_outer_product``."""


def on_arrays(*names: str, uses_once: bool = False) -> Callable[[Rule], Rule]:
    """Registers a rule for primitives that work on whole arrays."""

    def register(rule: Rule) -> Rule:
        ARRAYS.update(dict.fromkeys(names, rule))
        USE_ONCE.update(names if uses_once else ())
        return rule

    return register


READ_TOGETHER: Final[dict[str, Rule]] = {}
"""Rules for primitives with several arrays as results, all of which one equation reads, element by element: the
elements are computed where they are read, those of all results at once."""


def on_read_together(name: str) -> Callable[[Rule], Rule]:
    """Registers a rule for a primitive whose results are read together."""

    def register(rule: Rule) -> Rule:
        READ_TOGETHER[name] = rule
        return rule

    return register


FUNCTIONS: Final = costing(Costs.FUNCTION)
"""Primitives that are functions of a real number, by which no other function of a complex number is computed."""
AS_BITS: Final = frozenset({"bitcast_convert_type", "convert_element_type", "select_n", "copy"})
"""Primitives that work on short floats without converting them to float32."""


def apply(e: Any, name: str, dtype: DType, *operands: str, of: Any = None, **params: Any) -> str:
    """Emit a primitive on numbers.

    Floats of 8 and 16 bits are computed in float32 and rounded after each operation; functions of complex numbers are
    computed by functions of their parts.

    Args:
        e: The emitter.
        name: The primitive.
        dtype: Type of the result.
        *operands: The numbers.
        of: Type of the first operand, if it differs from the result's.
        **params: The primitive's parameters.
    """
    dtype, source = np.dtype(dtype), np.dtype(dtype if of is None else of)
    if is_complex(source) and name in OF_COMPLEX:
        return str(e.written(OF_COMPLEX[name], *[Value(source, (), x) for x in operands])[0].ref)
    if name not in NUMBERS or (is_complex(source) and name in FUNCTIONS):
        raise NoKernelError(f"`{name}` of {source} has no code" if name in NUMBERS else f"`{name}` has no code")
    rule = NUMBERS[name]
    if not is_short_float(source) or name in AS_BITS:
        return rule(e, dtype, source, params, *operands)
    wide = [widened(e, x, source) for x in operands]
    if dtype != source:
        return rule(e, dtype, FLOAT32, params, *wide)
    return narrowed(e, rule(e, FLOAT32, FLOAT32, params, *wide), dtype)
