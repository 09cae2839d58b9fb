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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from hlobatch.frontend.nodes import located, with_fields
from hlobatch.frontend.scopes import places_in
from hlobatch.frontend.syntax import assigned, helper, literal, load

ITEM: Final = "[]"
ATTRIBUTE: Final = "."
"""The kinds of steps from a value to a part of it."""


_WITHOUT_EFFECTS: Final = ("abs", "int", "len", "max", "min", "round", "sum")


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
        steps.append(located(ast.Tuple([literal(kind, node), located(key, node)], ast.Load()), node))
        node = node.value
    return Place(node, tuple(reversed(steps)))


def key_of(index: ast.expr) -> ast.expr:
    """An index as an expression; a slice becomes a call."""
    if isinstance(index, ast.Slice):
        bounds = [part or literal(None, index) for part in (index.lower, index.upper, index.step)]
        return helper("__hb_slice", [*bounds, _length(index) or literal(None, index)], index)
    if isinstance(index, ast.Tuple):
        return located(ast.Tuple([key_of(part) for part in index.elts], ast.Load()), index)
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
        return [_stored("__hb_stored", place_of(target), value, target)]
    pattern, parts = unpacked(target, fresh)
    rest = [s for part, name in parts for s in assignments(part, load(name, part), fresh)]
    return [_bind(pattern, value), *rest]


def unpacked(target: ast.expr, fresh: Callable[[], str]) -> tuple[ast.expr, list[tuple[ast.expr, str]]]:
    """A target with new names for its parts, and pairs of a part and its name in Python's order of assignment."""
    parts: list[tuple[ast.expr, str]] = []

    def renamed(part: ast.expr) -> ast.expr:
        if isinstance(part, (ast.Tuple, ast.List)):
            return located(ast.Tuple([renamed(p) for p in part.elts], ast.Store()), part)
        if isinstance(part, ast.Starred):
            return located(ast.Starred(renamed(part.value), ast.Store()), part)
        parts.append((part, fresh()))
        return located(ast.Name(parts[-1][1], ast.Store()), part)

    return renamed(target), parts


def augmented(node: ast.AugAssign, fresh: Callable[[], str]) -> list[ast.stmt]:
    """Statements with the effect of ``target += value`` on an item or attribute; the last but one applies ``+=``."""
    target, part = node.target, fresh()
    before, place = _with_keys_once(place_of(target), fresh)
    return [
        *before,
        assigned(part, helper("__hb_part", [place.root, *place.steps], target), target),
        located(ast.AugAssign(located(ast.Name(part, ast.Store()), target), node.op, node.value), node),
        _stored("__hb_put", place, load(part, target), node),
    ]


def _with_keys_once(place: Place, fresh: Callable[[], str]) -> tuple[list[ast.stmt], Place]:
    """Statements that evaluate the keys of a place that is read and then stored to, and the place by their values."""
    before = list[ast.stmt]()

    def evaluated_once(key: ast.expr) -> ast.expr:
        if isinstance(key, (ast.Name, ast.Constant)):
            return key
        if isinstance(key, ast.Call) and _is_slice(key):  # no variable holds a slice of a lane's bounds
            return with_fields(key, args=[evaluated_once(bound) for bound in key.args])
        if isinstance(key, ast.Tuple):
            return with_fields(key, elts=[evaluated_once(part) for part in key.elts])
        name = fresh()
        before.append(assigned(name, key, key))
        return load(name, key)

    steps = [with_fields(step, elts=[step.elts[0], evaluated_once(step.elts[1])]) for step in place.steps]
    return before, Place(place.root, tuple(steps))


def changed(call: ast.Call, fresh: Callable[[], str], result: str = "") -> list[ast.stmt]:
    """Statements with the effect of ``items[i].append(x)`` that assign to names only.

    Args:
        call: The call.
        fresh: Makes unused names.
        result: The name for the result of the call; empty if it is not used.
    """
    assert isinstance(call.func, ast.Attribute)
    target, part = call.func.value, fresh()
    before, place = _with_keys_once(place_of(target), fresh)
    function = located(ast.Attribute(load(part, target), call.func.attr, ast.Load()), call.func)
    value = located(ast.Call(function, call.args, call.keywords), call)
    return [
        *before,
        assigned(part, helper("__hb_part_to_change", [place.root, *place.steps], target), target),
        assigned(result, value, call) if result else located(ast.Expr(value), call),
        _stored("__hb_put_back", place, load(part, target), target),
    ]


def as_target(place: ast.expr) -> ast.expr:
    """An item or an attribute as a target of an assignment."""
    return with_fields(place, ctx=ast.Store())


def put_back(target: ast.expr, value: ast.expr) -> list[ast.stmt]:
    """Statements that store a callee's new value of an item or attribute, and assign to names only."""
    return [_stored("__hb_put_back", place_of(target), value, target)]


def _stored(name: str, place: Place, value: ast.expr, node: ast.AST) -> ast.stmt:
    """The assignment of a variable's new value, which a helper gives: the old one with ``value`` at a place."""
    root = place.root
    assert isinstance(root, ast.Name)
    return _bind(located(ast.Name(root.id, ast.Store()), root), helper(name, [root, value, *place.steps], node))


def _bind(target: ast.expr, value: ast.expr) -> ast.stmt:
    return located(ast.Assign([target], value), value)


def _is_slice(key: ast.Call) -> bool:
    """Whether an index is a slice that ``key_of`` made a call."""
    return isinstance(key.func, ast.Name) and key.func.id == "__hb_slice"


def _length(index: ast.Slice) -> ast.expr | None:
    """``upper - lower`` of a slice, without terms that cancel: 3 for ``i:i + 3``; None without both, or with a step.

    None as well where a bound may have an effect, which the difference would repeat.
    """
    if index.lower is None or index.upper is None or index.step is not None or _may_have_effects(index):
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
    result: ast.expr = literal(0, index)
    for sign, term in rest:
        operator = ast.Add() if sign > 0 else ast.Sub()
        result = located(ast.BinOp(result, operator, copy.copy(term)), index)
    return result


def _may_have_effects(index: ast.Slice) -> bool:
    """Whether a slice calls what may be a function of the user's, or assigns to a variable."""
    return any(
        isinstance(part, ast.NamedExpr)
        or (isinstance(part, ast.Call) and not (isinstance(part.func, ast.Name) and part.func.id in _WITHOUT_EFFECTS))
        for part in ast.walk(index)
    )


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[int, ast.expr]]:
    """The terms of a sum with their signs."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield from _terms(node.left, sign)
        yield from _terms(node.right, sign if isinstance(node.op, ast.Add) else -sign)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield from _terms(node.operand, -sign)
    else:
        yield sign, node
