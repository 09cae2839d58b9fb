"""The ways in which an expression can be written: with a holder as its value, or with the container.

An expression is written with the holder where the container is passed on (``kept``); with the container where something
is asked of it (``plain``); and with the containers in the container, too, where it leaves the program (``whole``).
"""

from __future__ import annotations

import abc
import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hlobatch.frontend.by_reference.flow import Flow
from hlobatch.frontend.by_reference.library import COPIES, KINDS
from hlobatch.frontend.by_reference.places import Objects
from hlobatch.frontend.nodes import located
from hlobatch.frontend.syntax import literal, load
from hlobatch.values.holders import CONTENT, PREFIX

_FRESH: Final = (ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.BinOp)
"""Expressions that make a container, if their value is one."""
_MAKERS: Final = frozenset({*(one for one, kind in KINDS.items() if kind != "tuple"), copy.copy})
"""Functions that make a container."""
_MOST_DEPTH: Final = 4
"""The most containers in each other that leave the program."""


class CannotBeWrittenError(Exception):
    """A definition cannot be written with containers by reference."""


class Ways(abc.ABC):
    """Writes expressions in different ways.

    Attributes:
        flow: Which expressions may have one container as their value.
        held: The number of the holders' class, by the set of containers.
        is_first: Whether the function that is being written is the batched one.
        depth: The number of comprehensions and lambdas around the code.
    """

    def __init__(self, flow: Flow, held: Mapping[Objects, int]) -> None:
        self.flow, self.held = flow, held
        self.is_first, self._fresh_names, self.depth = False, 0, 0

    @abc.abstractmethod
    def made(self, node: ast.expr) -> ast.expr:
        """An expression with its parts written anew."""

    def number(self, node: ast.expr) -> int | None:
        """The number of the class of holders that an expression has as its value; None if it has no holder."""
        return self.held.get(self.flow.of(node).root())

    def number_of(self, objects: Objects) -> int | None:
        """The number of the class of holders for some objects; None if they have no holders."""
        return self.held.get(objects.root())

    def holds_held(self, objects: Objects, seen: frozenset[Objects] = frozenset()) -> bool:
        """Whether there are holders in some objects."""
        root = objects.root()
        if root in seen:
            return False
        return any(one in self.held or self.holds_held(one, seen | {root}) for one in root.inside)

    def wrapped(self, value: ast.expr, number: int, node: ast.AST) -> ast.expr:
        """A new holder with a container."""
        return located(ast.Call(load(f"{PREFIX}{number}", node), [value], []), node)

    def content(self, value: ast.expr, number: int, node: ast.expr, context: Any = None) -> ast.expr:
        """The container in a holder."""
        return located(ast.Attribute(value, f"{CONTENT}{number}", context or ast.Load()), node)

    def plain(self, node: ast.expr, context: Any = None) -> ast.expr:
        """An expression with the container as its value."""
        number = self.number(node)
        if number is None:
            return self.kept(node)
        if self._is_made(node):
            return self.made(node)
        return self.content(self.kept(node), number, node, context)

    def kept(self, node: ast.expr) -> ast.expr:
        """An expression with the holder as its value, if it has one."""
        number = self.number(node)
        if number is not None and self._is_made(node):
            return self.wrapped(self.made(node), number, node)
        return self.made(node)

    def many(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        """Expressions with holders as their values."""
        return [self.kept(one) for one in nodes]

    def whole(self, node: ast.expr) -> ast.expr:
        """An expression with the container as its value, and with containers in it."""
        objects = self.flow.of(node)
        if not self.holds_held(objects):
            return self.plain(node)
        if isinstance(node, ast.Tuple):
            return located(ast.Tuple([self.whole(one) for one in node.elts], ast.Load()), node)
        if isinstance(node, ast.IfExp):
            return located(ast.IfExp(self.truth(node.test), self.whole(node.body), self.whole(node.orelse)), node)
        return self._opened(self.plain(node), objects, node, _MOST_DEPTH)

    def _opened(self, value: ast.expr, objects: Objects, node: ast.expr, depth: int) -> ast.expr:
        """A container with containers in place of the holders in it."""
        kinds = objects.root().kinds
        if not depth or "None" in objects.items.root().kinds:
            raise CannotBeWrittenError
        item, name = objects.items, self.fresh()
        number = self.number_of(item)
        one = load(name, node) if number is None else self.content(load(name, node), number, node)
        one = self._opened(one, item, node, depth - 1) if self.holds_held(item) else one
        target: ast.expr = located(ast.Name(name, ast.Store()), node)
        if kinds == {"list"}:
            return located(ast.ListComp(one, [ast.comprehension(target, value, [], 0)]), node)
        if kinds == {"dict"} and self.number_of(objects.keys) is None and not self.holds_held(objects.keys):
            key = self.fresh()
            target = located(ast.Tuple([located(ast.Name(key, ast.Store()), node), target], ast.Store()), node)
            items = located(ast.Call(located(ast.Attribute(value, "items", ast.Load()), node), [], []), node)
            return located(ast.DictComp(load(key, node), one, [ast.comprehension(target, items, [], 0)]), node)
        raise CannotBeWrittenError

    def fresh(self) -> str:
        """A name that the user cannot have written."""
        self._fresh_names += 1
        return f"_hb_held{self._fresh_names}"

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression whose truth is asked for."""
        match node:
            case ast.BoolOp(op, values):
                return located(ast.BoolOp(op, [self.truth(one) for one in values]), node)
            case ast.UnaryOp(ast.Not() as op, value):
                return located(ast.UnaryOp(op, self.truth(value)), node)
        if self.number(node) is None:
            return self.kept(node)
        if "None" not in self.flow.of(node).kinds:
            return self.plain(node)
        if not is_path(node):
            raise CannotBeWrittenError
        is_there = located(ast.Compare(self.kept(node), [ast.IsNot()], [literal(None, node)]), node)
        return located(ast.BoolOp(ast.And(), [is_there, self.plain(node)]), node)

    def _is_made(self, node: ast.expr) -> bool:
        """Whether an expression makes the container that is its value."""
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Slice)
        if isinstance(node, ast.Call):
            called = self.flow.called.get(id(node))
            if called == "method":
                return isinstance(node.func, ast.Attribute) and node.func.attr in COPIES
            return one_of(called, _MAKERS)
        return isinstance(node, _FRESH)


def given_by(objects: Objects) -> Objects:
    """What a loop over objects gives."""
    return objects.keys if "dict" in objects.root().kinds else objects.items


def is_path(node: ast.expr) -> bool:
    """Whether an expression is a variable, or an attribute of one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def one_of(value: Any, known: Any) -> bool:
    """Whether an object, which need not be one that can be hashed, is in a collection."""
    try:
        return value in known
    except (TypeError, ValueError):
        return False
