"""Calls -> batched functions: which call expressions the program itself carries out.

A callee is found by what its name stands for, not by how it is spelled: a batched function under any name, or the plain
Python function behind one that is already part of the program (so ``fast = hb.batch(slow)`` recurses into ``fast``
although the body says ``slow``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeGuard, runtime_checkable

from hlobatch.diagnostics import HloBatchError, Location
from hlobatch.frontend.source import MISSING, Source, plain_function, read_source
from hlobatch.ir.names import unused

SYNC_MARK: Final = "__hlobatch_sync__"
"""Attribute of ``hb.sync`` by which the frontend knows it."""


@runtime_checkable
class Batched(Protocol):
    """What the frontend needs of a batched function."""

    @property
    def __hlobatch_function__(self) -> Callable[..., Any]:
        """The plain Python function."""

    @property
    def __hlobatch_type_inference__(self) -> Callable[..., Any] | None:
        """The user's word on its result type."""


@dataclass(eq=False)
class Callee:
    """A batched function as part of a program.

    Attributes:
        name: Its name in the program.
        source: Where it is written.
        type_inference: The user's word on its result type.
        called_from: The first call of it in the program.
    """

    name: str
    source: Source
    type_inference: Callable[..., Any] | None = None
    called_from: Location | None = None


@dataclass
class Callees:
    """The batched functions of one program, found as calls are met."""

    by_function: dict[Any, Callee] = field(default_factory=dict)

    def add(self, function: Callable[..., Any], type_inference: Callable[..., Any] | None = None) -> Callee:
        """The callee for a plain function, entered under a unique name at its first mention."""
        plain = plain_function(function)
        if plain not in self.by_function:
            taken = {callee.name for callee in self.by_function.values()} | {"main"}
            stem = "lambda" if plain.__name__ == "<lambda>" else plain.__name__
            name = unused(stem, taken, separator="_")
            self.by_function[plain] = Callee(name, read_source(plain), type_inference)
        return self.by_function[plain]

    def of_object(self, value: Any) -> Callee | None:
        """The callee an object stands for, if it is batched."""
        if isinstance(value, type):
            return None
        if isinstance(value, Batched):
            return self.add(value.__hlobatch_function__, value.__hlobatch_type_inference__)
        try:
            return self.by_function.get(value)
        except TypeError:
            return None

    def of_call(self, node: ast.expr, source: Source, local: frozenset[str]) -> Callee | None:
        """The callee of a call expression, if it is batched."""
        if not isinstance(node, ast.Call):
            return None
        try:
            return self.of_object(static_value(node.func, source, local))
        except HloBatchError as error:
            raise error.at(source.location(node)) from None


def static_value(node: ast.expr, source: Source, local: frozenset[str]) -> Any:
    """What a dotted name that starts outside the function stands for, or ``MISSING``."""
    if isinstance(node, ast.Name):
        return MISSING if node.id in local else source.resolve(node.id)
    if isinstance(node, ast.Attribute):
        value = static_value(node.value, source, local)
        try:
            return MISSING if value is MISSING else getattr(value, node.attr, MISSING)
        except Exception:  # noqa: BLE001  # the user's property; its error gets a place where the code runs
            return MISSING
    return MISSING


def is_sync(node: ast.expr, source: Source, local: frozenset[str]) -> TypeGuard[ast.Call]:
    """Whether an expression is a call of ``hb.sync``."""
    return isinstance(node, ast.Call) and bool(
        getattr(static_value(node.func, source, local), SYNC_MARK, False) is True
    )
