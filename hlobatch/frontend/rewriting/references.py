"""Attributes of objects that refer to each other -> items of columns, by the number of the object.

::

    node.next.val                 _hb_val_of_Node0[__hb_row(_hb_next_of_Node0[__hb_row(node, …)], …)]
    tail.next = node      ==>     _hb_next_of_Node0[__hb_row(tail, …)] = node

What an object is shows only with types. So every attribute of such a name is taken for one of an object that is held in
columns, until tracing learns that it belongs to another one (``BelongsTo``). Columns are variables of every function
of the program: each call passes them, and gives back those that the callee changes.
"""

from __future__ import annotations

import ast
import contextvars
import copy
import types
import weakref
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from hlobatch.frontend.nodes import located
from hlobatch.frontend.rewriting.recompiled import recompiled
from hlobatch.frontend.scopes import positional
from hlobatch.frontend.syntax import helper, literal, load
from hlobatch.scoped import having
from hlobatch.values.columns import Place, site_of
from hlobatch.values.facts import WHOLE_PROGRAM, Facts
from hlobatch.values.held_classes import BelongsTo, HeldInColumns, family
from hlobatch.values.holders import is_content

if TYPE_CHECKING:
    from hlobatch.frontend.source import Source


@dataclass(frozen=True)
class Referring:
    """What is known of the attributes of a program's objects.

    Attributes:
        held: The classes whose objects are held in columns.
        others: The places of attributes that belong to another family than the first one with that name, or to none.
    """

    held: HeldInColumns
    others: Mapping[Place, type | None] = field(hash=False)

    def owner(self, node: ast.Attribute, place: Place, method_of: str, first: str) -> type | None:
        """The family to which an attribute belongs; None if its object is not held in columns.

        Args:
            node: The attribute.
            place: Its place.
            method_of: The name of the class of which the code is a method; else empty.
            first: The name of the function's first parameter.
        """
        if place in self.others and not is_content(node.attr):  # a container is read where its holder is, too
            return self.others[place]
        found = self.held.families_with(node.attr)
        if method_of and isinstance(node.value, ast.Name) and node.value.id == first:
            found = [kind for kind in found if method_of in self._names(kind)]
        return found[0] if found else None

    def _names(self, kind: type) -> set[str]:
        """The names of the classes of a family."""
        return {base.__name__ for own, _ in self.held.kinds if family(own) is kind for base in own.__mro__[:-1]}


_referring: contextvars.ContextVar[Referring | None] = contextvars.ContextVar("hlobatch_referring", default=None)


def referring(facts: Facts) -> AbstractContextManager[Any]:
    """A context in which functions are read with items of columns in place of attributes, as facts say."""
    held = facts.of(HeldInColumns, WHOLE_PROGRAM)
    if held is None:
        return having(_referring, None)
    others = {site_of(site): fact.family for (kind, site), fact in facts.known.items() if kind is BelongsTo}
    return having(_referring, Referring(held, others))


def columns() -> tuple[str, ...]:
    """The variables that each function of the program has: columns, and the number of objects made so far."""
    known = _referring.get()
    return () if known is None else known.held.variables


_MADE: Final[weakref.WeakKeyDictionary[types.FunctionType, dict[Any, Any]]] = weakref.WeakKeyDictionary()
"""The definitions and codes that were made of a function, which stay the same while facts are learned elsewhere."""


def with_columns(source: Source) -> Source:
    """A function with items of columns in place of attributes; the source itself if it has none."""
    known = _referring.get()
    if known is None or source.is_of_prelude:
        return source
    if known.held.containers is not None:
        source = known.held.containers.of(source)
    others = tuple(sorted((p, id(k)) for p, k in known.others.items() if p[0] == source.file))
    kept = _MADE.setdefault(source.function, {})
    key = (known.held, others, ast.dump(source.node, include_attributes=True))
    if key not in kept:
        kept[key] = _rewritten(source, known)
    node, code = kept[key]
    return source if node is None else replace(source, node=node, code=code)


def _rewritten(source: Source, known: Referring) -> tuple[ast.FunctionDef | None, types.CodeType | None]:
    rewriting = _Columns(source, known)
    body = [rewriting.visit(copy.deepcopy(statement)) for statement in source.node.body]
    if not rewriting.has_any:
        return None, None
    node = copy.copy(source.node)
    node.body = body
    arguments = copy.copy(node.args)
    arguments.kwonlyargs = [*arguments.kwonlyargs, *(ast.arg(name) for name in known.held.variables)]
    arguments.kw_defaults = [*arguments.kw_defaults, *(None for _ in known.held.variables)]
    with_variables = copy.copy(node)
    with_variables.args = arguments
    return node, recompiled(with_variables, body, source.code, source.file)


class _Columns(ast.NodeTransformer):
    """Puts items of columns in place of attributes."""

    def __init__(self, source: Source, known: Referring) -> None:
        self.known, self.file, self.has_any = known, source.file, False
        *_, owner, _ = ("", "", *source.function.__qualname__.split("."))
        self.method_of = "" if owner == "<locals>" else owner
        self.first = next(iter(positional(source.node)), "")

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        place = (self.file, node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        is_one = node.attr in self.known.held.names and not isinstance(node.ctx, ast.Del)
        owner = self.known.owner(node, place, self.method_of, self.first) if is_one else None
        self.generic_visit(node)
        if owner is None:
            return node
        self.has_any = True
        families = list(self.known.held.families)
        given = [node.value, *(literal(value, node) for value in (node.attr, place, families.index(owner)))]
        column = load(self.known.held.columns[owner, node.attr], node)
        return located(ast.Subscript(column, helper("__hb_row", given, node), node.ctx), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        node.target = self.visit(node.target)
        node.value = node.value and self.visit(node.value)
        if isinstance(node.target, ast.Subscript) and node.value is not None:
            return located(ast.Assign([node.target], node.value), node)
        return node
