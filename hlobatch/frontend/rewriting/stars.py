"""A star in front of a container that later operands may change -> a star in front of a copy of the container.

::

    [*xs, xs.pop(), *xs]           ==>      [*[*xs], xs.pop(), *xs]
    f(**options, x=take())         ==>      f(**{**options}, x=take())

This is what Python computes: it takes the items before it evaluates what stands to the right of them. Where all
operands are computed and then joined, the container itself would be looked at too late.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

from hlobatch.frontend.nodes import located, walk, with_fields
from hlobatch.frontend.scopes import with_parts

_ITEMS_OF_ITS_OWN: Final = (ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.Constant, ast.JoinedStr)
"""Operands that give a container which no other expression can change, so that its items need not be copied."""
_WITH_EFFECTS: Final = (ast.Call, ast.NamedExpr)


def with_items_in_order(node: ast.FunctionDef) -> ast.FunctionDef:
    """The definition in which items behind stars are taken in Python's order; the node itself if they are already."""
    return _rewritten(node) if any(map(_has_stars, walk(node))) else node


def _has_stars(node: ast.AST) -> bool:
    return isinstance(node, ast.Starred) or (isinstance(node, (ast.Dict, ast.Call)) and _has_two_stars(node))


def _has_two_stars(node: ast.Dict | ast.Call) -> bool:
    return None in (node.keys if isinstance(node, ast.Dict) else [keyword.arg for keyword in node.keywords])


def _rewritten(node: Any) -> Any:
    new = with_parts(node, _rewritten)
    match new:
        case ast.List(elts, ast.Load()) | ast.Tuple(elts, ast.Load()) | ast.Set(elts):
            parts = [_taken(part, elts[i + 1 :]) for i, part in enumerate(elts)]
            return new if parts == elts else with_fields(new, elts=parts)
        case ast.Dict(keys, values):
            behind = [[part for part in (*keys[i + 1 :], *values[i + 1 :]) if part] for i in range(len(keys))]
            pairs = zip(keys, values, behind, strict=True)
            parts = [_entries(value, later) if key is None else value for key, value, later in pairs]
            return new if parts == values else with_fields(new, values=parts)
        case ast.Call(_, args, keywords):
            return _call(new, args, keywords)
    return new


def _call(node: ast.Call, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> ast.Call:
    named = [keyword.value for keyword in keywords]
    new = [_taken(part, [*args[i + 1 :], *named]) for i, part in enumerate(args)]
    values = [_entries(k.value, named[i + 1 :]) if k.arg is None else k.value for i, k in enumerate(keywords)]
    if new == args and values == named:
        return node
    pairs = zip(keywords, values, strict=True)
    return with_fields(node, args=new, keywords=[with_fields(keyword, value=value) for keyword, value in pairs])


def _taken(part: ast.expr, later: Sequence[ast.expr]) -> ast.expr:
    """A starred operand, with a list of its items if one of the later operands may change them."""
    match part:
        case ast.Starred(value) if not isinstance(value, _ITEMS_OF_ITS_OWN) and _has_effect(later):
            return located(ast.Starred(_items(value), ast.Load()), part)
    return part


def _items(value: ast.expr) -> ast.expr:
    """A list of the items; of one of two containers, it is made where the container is chosen."""
    match value:
        case ast.IfExp(test, body, orelse):
            return located(ast.IfExp(test, _items(body), _items(orelse)), value)
    return located(ast.List([located(ast.Starred(value, ast.Load()), value)], ast.Load()), value)


def _entries(value: ast.expr, later: Sequence[ast.expr]) -> ast.expr:
    """A dict behind two stars, or a copy of it if one of the later operands may change it."""
    if not isinstance(value, (ast.Dict, ast.DictComp)) and _has_effect(later):
        return located(ast.Dict([None], [value]), value)
    return value


def _has_effect(parts: Sequence[ast.expr]) -> bool:
    return any(isinstance(node, _WITH_EFFECTS) for part in parts for node in walk(part))
