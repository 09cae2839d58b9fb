"""A function's ``type_inference`` and its inferred types -> an error if the two disagree on the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from hlobatch.diagnostics import BatchTypeError, HloBatchError
from hlobatch.ir.program import Function
from hlobatch.ir.types import TensorType, Type


def check_declared(function: Function, types: Mapping[str, Type]) -> None:
    """Compare the result type that the user declared with the inferred one."""
    if function.type_inference is None or any(n not in types for n in (*function.vars_in, *function.vars_out)):
        return
    declared = _as_type(function.type_inference([types[name] for name in function.vars_in]))
    found = types[function.vars_out[0]]
    if _bare(declared) != _bare(found):
        raise BatchTypeError(
            f"type_inference of {function.name!r} says {declared}, but it returns {found}",
            function.location,
            help="correct the callable, or leave it out: types are inferred.",
        )


def _as_type(declared: Any) -> Type:
    if isinstance(declared, Type):
        return declared
    if isinstance(declared, HloBatchError):
        raise declared
    is_leaf: Callable[[Any], bool] = lambda x: isinstance(x, (Type, TensorType))  # noqa: E731
    return Type(jax.tree.map(lambda x: x.tensors if isinstance(x, Type) else x, declared, is_leaf=is_leaf))


def _bare(type_: Type) -> tuple[Any, Sequence[Any]]:
    """A type without weakness of its dtypes, for comparison."""
    leaves = [(str(leaf.dtype), leaf.shape) if isinstance(leaf, TensorType) else leaf for leaf in type_.leaves]
    return type_.treedef, leaves
