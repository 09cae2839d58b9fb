"""Assignments to items and attributes -> assignments to the variables that they are parts of.

::

    a[i] = v                      a = __hb_stored(a, v, ("[]", i))
    grid[y][x] += 1        ==>    $1 = __hb_part(grid, ("[]", y), ("[]", x))
                                  $1 += 1
                                  grid = __hb_put(grid, $1, ("[]", y), ("[]", x))
    a[i], a[j] = a[j], a[i]       $1, $2 = a[j], a[i]
                                  a = __hb_stored(a, $1, ("[]", i))
                                  a = __hb_stored(a, $2, ("[]", j))

A value never changes: the variable is bound to a new value, equal to Python's changed object (``stores.py``).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from hlobatch.frontend.scopes import places_in
from hlobatch.frontend.syntax import helper

_Node = TypeVar("_Node", bound=ast.AST)

ITEM: Final = "[]"
ATTRIBUTE: Final = "."
"""The kinds of steps from a value to a part of it."""


@dataclass(frozen=True)
class Place:
    """A part of a variable's value.

    Attributes:
        root: The expression at the beginning of the path to it; a name, if the part can be assigned to.
        steps: The items and attributes on the path, each as the tuple that ``stores.py`` takes.
    """

    root: ast.expr
    steps: tuple[ast.Tuple, ...]


def place_of(node: ast.expr) -> Place:
    """The place of an item or an attribute."""
    steps: list[ast.Tuple] = []
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        if isinstance(node, ast.Subscript):
            kind, key = ITEM, key_of(node.slice)
        else:
            kind, key = ATTRIBUTE, ast.Constant(node.attr)
        steps.append(_at(node, ast.Tuple([_at(node, ast.Constant(kind)), _at(node, key)], ast.Load())))
        node = node.value
    return Place(node, tuple(reversed(steps)))


def key_of(index: ast.expr) -> ast.expr:
    """An index as an expression; a slice becomes a call."""
    if isinstance(index, ast.Slice):
        bounds = [part or _at(index, ast.Constant(None)) for part in (index.lower, index.upper, index.step)]
        return helper("__hb_slice", [*bounds, _length(index) or _at(index, ast.Constant(None))], index)
    if isinstance(index, ast.Tuple):
        return ast.copy_location(ast.Tuple([key_of(part) for part in index.elts], ast.Load()), index)
    return index


def assignments(target: ast.expr, value: ast.expr, fresh: Callable[[], str]) -> list[ast.stmt]:
    """Statements with the effect of ``target = value`` that assign to names only.

    Args:
        target: The target.
        value: Straight-line code.
        fresh: Makes unused names.
    """
    if not any(True for _ in places_in(target)):
        return [_bind(target, value)]
    if isinstance(target, (ast.Subscript, ast.Attribute)):
        place = place_of(target)
        return [_bind(_stored_name(place), _call("__hb_stored", place, [value], target))]
    pattern, parts = unpacked(target, fresh)
    rest = [s for part, name in parts for s in assignments(part, _at(part, ast.Name(name, ast.Load())), fresh)]
    return [_bind(pattern, value), *rest]


def unpacked(target: ast.expr, fresh: Callable[[], str]) -> tuple[ast.expr, list[tuple[ast.expr, str]]]:
    """A target with new names for its parts, and pairs of a part and its name in Python's order of assignment."""
    parts: list[tuple[ast.expr, str]] = []

    def renamed(part: ast.expr) -> ast.expr:
        if isinstance(part, (ast.Tuple, ast.List)):
            return ast.copy_location(ast.Tuple([renamed(p) for p in part.elts], ast.Store()), part)
        if isinstance(part, ast.Starred):
            return ast.copy_location(ast.Starred(renamed(part.value), ast.Store()), part)
        parts.append((part, fresh()))
        return _at(part, ast.Name(parts[-1][1], ast.Store()))

    return renamed(target), parts


def augmented(node: ast.AugAssign, fresh: Callable[[], str]) -> list[ast.stmt]:
    """Statements with the effect of ``target += value`` on an item or attribute; the last but one applies ``+=``."""
    place, before = place_of(node.target), list[ast.stmt]()
    for index, step in enumerate(place.steps):
        kind, key = step.elts
        if not isinstance(key, (ast.Name, ast.Constant)):  # evaluated once
            name = fresh()
            before.append(_bind(_at(key, ast.Name(name, ast.Store())), key))
            step = ast.copy_location(ast.Tuple([kind, _at(key, ast.Name(name, ast.Load()))], ast.Load()), step)
            place = Place(place.root, (*place.steps[:index], step, *place.steps[index + 1 :]))
    name = fresh()
    part, load = (_at(node.target, ast.Name(name, context)) for context in (ast.Store(), ast.Load()))
    return [
        *before,
        _bind(part, _call("__hb_part", place, [], node.target)),
        ast.copy_location(ast.AugAssign(part, node.op, node.value), node),
        _bind(_stored_name(place), _call("__hb_put", place, [load], node)),
    ]


def changed(call: ast.Call, fresh: Callable[[], str], result: str = "") -> list[ast.stmt]:
    """Statements with the effect of ``items[i].append(x)`` that assign to names only.

    Args:
        call: The call.
        fresh: Makes unused names.
        result: The name for the result of the call; empty if it is not used.
    """
    assert isinstance(call.func, ast.Attribute)
    target, name = call.func.value, fresh()
    place = place_of(target)
    part, load = (_at(target, ast.Name(name, context)) for context in (ast.Store(), ast.Load()))
    function = _at(call.func, ast.Attribute(load, call.func.attr, ast.Load()))
    value = _at(call, ast.Call(function, call.args, call.keywords))
    step = _bind(_at(call, ast.Name(result, ast.Store())), value) if result else _at(call, ast.Expr(value))
    return [
        _bind(part, _call("__hb_part_to_change", place, [], target)),
        step,
        _bind(_stored_name(place), _call("__hb_put_back", place, [load], target)),
    ]


def as_target(place: ast.expr) -> ast.expr:
    """An item or an attribute as a target of an assignment."""
    return ast.copy_location(type(place)(**{**dict(ast.iter_fields(place)), "ctx": ast.Store()}), place)


def put_back(target: ast.expr, value: ast.expr) -> list[ast.stmt]:
    """Statements that store a callee's new value of an item or attribute, and assign to names only."""
    place = place_of(target)
    return [_bind(_stored_name(place), _call("__hb_put_back", place, [value], target))]


def _call(name: str, place: Place, values: Sequence[ast.expr], node: ast.AST) -> ast.expr:
    return helper(name, [place.root, *values, *place.steps], node)


def _stored_name(place: Place) -> ast.expr:
    assert isinstance(place.root, ast.Name)
    return _at(place.root, ast.Name(place.root.id, ast.Store()))


def _bind(target: ast.expr, value: ast.expr) -> ast.stmt:
    return ast.copy_location(ast.Assign([target], value), value)


def _at(where: ast.AST, node: _Node) -> _Node:
    return ast.copy_location(node, where)


def _length(index: ast.Slice) -> ast.expr | None:
    """``upper - lower`` of a slice, without terms that cancel: 3 for ``i:i + 3``; None without both, or with a step."""
    if index.lower is None or index.upper is None or index.step is not None:
        return None
    lower, upper = list(_terms(index.lower, 1)), list(_terms(index.upper, 1))
    rest = list[tuple[int, ast.expr]]()
    for sign, term in upper:
        same = next((t for t in lower if t[0] == sign and ast.dump(t[1]) == ast.dump(term)), None)
        if same is None:
            rest.append((sign, term))
        else:
            lower.remove(same)
    rest += [(-sign, term) for sign, term in lower]
    result: ast.expr = _at(index, ast.Constant(0))
    for sign, term in rest:
        operator = ast.Add() if sign > 0 else ast.Sub()
        result = _at(index, ast.BinOp(result, operator, copy.copy(term)))
    return result


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[int, ast.expr]]:
    """The terms of a sum with their signs."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield from _terms(node.left, sign)
        yield from _terms(node.right, sign if isinstance(node.op, ast.Add) else -sign)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield from _terms(node.operand, -sign)
    else:
        yield sign, node
