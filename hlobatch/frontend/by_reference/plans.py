"""A function -> its program with containers in holders: each definition written anew, and the classes of the holders.

A container gets a holder if it is bound to another name, or put into another container or object, and is changed in
place, as far as the code tells. What comes from outside of the function stays as it is.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.by_reference.flow import Flow
from hlobatch.frontend.by_reference.places import CONTAINERS, Objects
from hlobatch.frontend.by_reference.rewritten import Rewritten
from hlobatch.frontend.by_reference.statements import look
from hlobatch.frontend.by_reference.ways import CannotBeWrittenError
from hlobatch.frontend.rewriting.recompiled import recompiled
from hlobatch.frontend.source import Source, keep_source, plain_function
from hlobatch.values.held_classes import HeldInColumns
from hlobatch.values.holders import CONTENT, FILE, MOST, PREFIX, holder, initializers


@dataclass(frozen=True, eq=False)
class Plan:
    """The definitions of a program with containers in holders.

    Attributes:
        definitions: By the place and name of each function, its definition.
        may_be_none: The attributes of holders that may be None where the attribute is read.
    """

    definitions: Mapping[Any, ast.FunctionDef]
    may_be_none: frozenset[str] = frozenset()
    made: dict[Any, Any] = field(default_factory=dict)

    def of(self, source: Source) -> Source:
        """The source of a function as it is written anew; the source itself if it stays as it is."""
        key = _key(source)
        if key not in self.definitions:
            return source
        if key not in self.made:
            node = self.definitions[key]
            self.made[key] = node, recompiled(node, node.body, source.code, source.file)
        node, code = self.made[key]
        return replace(source, node=node, code=code)


def _key(source: Source) -> Any:
    code = source.function.__code__
    return source.file, code.co_firstlineno, code.co_qualname


def planned(function: Callable[..., Any]) -> tuple[Plan, tuple[tuple[type, tuple[str, ...]], ...]] | None:
    """The plan for a function, and the classes of holders with their attributes; None if there is none."""
    try:
        flow = Flow(plain_function(function), look)
        held = _chosen(flow)
        if not held:
            return None
        writing = Rewritten(flow, held)
        definitions = {
            _key(one.source): writing.definition(one.source.node, one is flow.first) for one in flow.functions.values()
        }
    except (HloBatchError, CannotBeWrittenError, RecursionError):
        return None
    kinds = tuple((holder(f"{PREFIX}{number}"), (f"{CONTENT}{number}",)) for number in held.values())
    may_be_none = frozenset(f"{CONTENT}{number}" for one, number in held.items() if "None" in one.kinds)
    return Plan(definitions, may_be_none), kinds  # type: ignore[return-value]


def _chosen(flow: Flow) -> dict[Objects, int]:
    """The sets of containers that need a holder, each with the number of its class."""
    found = dict.fromkeys(one.root() for one in flow.objects.values())
    chosen = [
        one
        for one in found
        if len(one.kinds & CONTAINERS) == 1
        and one.kinds <= CONTAINERS | {"None"}
        and {"bound", "changed"} <= one.said
        and not one.said & {"outside", "unclear"}
    ]
    return {one: number for number, one in enumerate(chosen)} if len(chosen) <= MOST else {}


def with_containers(function: Callable[..., Any], others: HeldInColumns | None) -> HeldInColumns | None:
    """What is held in columns where containers are in holders; None if no container needs one.

    Args:
        function: The batched function.
        others: What else may be held in columns.
    """
    found = planned(function)
    if found is None:
        return None
    plan, kinds = found
    return HeldInColumns((*(others.kinds if others else ()), *kinds), plan)


def _keep_sources() -> None:
    for one, text in initializers():
        (kind,) = ast.parse(text).body
        assert isinstance(kind, ast.ClassDef)
        assert isinstance(kind.body[0], ast.FunctionDef)
        code: types.CodeType = one.__code__
        keep_source(Source(one, FILE, kind.body[0], tuple(text.splitlines(keepends=True)), code))


_keep_sources()
