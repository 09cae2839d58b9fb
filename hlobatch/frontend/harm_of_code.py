"""An expression of a function that is being lowered -> what it may do, with what its names stand for.

::

    a + b          nothing, unless a class of the user's has ``__add__``
    area(s)        what the statements of ``area`` do
    s.area()       what those of the one method of this name do

What is known of operations themselves stands in ``harm.py``. An exception is seen where a program catches it, and in
the report of a lane. So what may raise is computed before what Python evaluates after it: the arguments of an exception
before the ``raise``, and an operand before a call to the right of it that has effects, or raises something else.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Hashable, Iterable
from typing import Any, Final

from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.callees import static_value
from hlobatch.frontend.changes import changed_by
from hlobatch.frontend.following import Calls, called
from hlobatch.frontend.harm import ANY, NONE, RAISES, READS, Harm, of_given, of_operation
from hlobatch.frontend.nested import Template
from hlobatch.frontend.nodes import walk, walk_all
from hlobatch.frontend.scopes import MISSING, local_names, positional, root_of
from hlobatch.frontend.source import Source, source_of
from hlobatch.frontend.special_methods import methods_called
from hlobatch.frontend.straight_line import StraightLineLowering

_STATEMENTS: Final = (
    *(ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Break, ast.Continue, ast.Expr, ast.For, ast.If, ast.Pass),
    *(ast.Return, ast.While),
)
"""Statements that do what their expressions and targets do."""


def harm_of(node: ast.expr, lowering: StraightLineLowering) -> Harm:
    """What the operation of an expression may do, whatever its operands are.

    Args:
        node: The expression.
        lowering: The lowering of the function that it stands in, which knows what names stand for.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_text(node.left, lowering):
        return READS
    found = of_operation(node, lowering.static_value)
    if found == ANY and isinstance(node, ast.Call):
        found = _of_callee(node.func, lowering).joined(of_given(node, lowering.static_value))
    if found.of_classes and lowering.callees.has_methods(methods_called(node)):
        return ANY
    return found


def may_raise(node: ast.expr, lowering: StraightLineLowering) -> bool:
    """Whether a part of an expression may raise; the other argument is that of ``harm_of``."""
    if isinstance(node, (ast.Lambda, ast.GeneratorExp)):
        return False
    return any(isinstance(part, ast.expr) and harm_of(part, lowering).raises for part in walk(node))


def _of_callee(function: ast.expr, lowering: StraightLineLowering) -> Harm:
    """What a function may do that is not Python's or a library's."""
    match function:
        case ast.Call(ast.Name("__hb_closure"), [ast.Name(name), *_]):
            return of_template(lowering.constants[name])
        case ast.Name(name) if name in lowering.scope:
            return of_template(lowering.scope[name])
        case ast.Attribute(_, name) if lowering.static_value(function) is MISSING:
            return _of_calls(lowering.callees.method(name), ())
    return _of_calls(called(lowering.static_value(function)), ())


def _of_calls(calls: Calls | None, seen: tuple[Hashable, ...]) -> Harm:
    """What a call of a known function may do; of an unknown one, anything."""
    if calls is None:
        return ANY
    if isinstance(calls.function, Template):
        return of_template(calls.function, seen)
    if calls.function in seen:
        return NONE  # it does what its other statements do
    try:
        source = source_of(calls.function)
    except (HloBatchError, TypeError, AttributeError):
        return ANY
    own = positional(source.node)[:1] if calls.receiver in ("made", "filled") else []
    return _of_function(source, (*seen, calls.function), frozenset(own))


def of_template(template: Template, seen: tuple[Hashable, ...] = ()) -> Harm:
    """What a call of a function that is defined inside may do."""
    if template.key in seen:
        return NONE
    return _of_function(template.source, (*seen, template.key), frozenset())


def changed_around(template: Template) -> frozenset[str]:
    """The variables whose objects the calls in a function that is defined inside may change."""
    source = template.source
    local = local_names(source.node).union(template.captured)

    def harm(node: ast.expr) -> Harm:
        return of_operation(node, lambda part: static_value(part, source, local))

    roots = (root_of(value) for part in walk(source.node) for value in changed_by(part, harm))
    return frozenset(root.id for root in roots if isinstance(root, ast.Name))


def _of_function(source: Source, seen: tuple[Hashable, ...], new: frozenset[str]) -> Harm:
    """What the statements of a function may do.

    Args:
        source: The function.
        seen: The functions whose statements are being looked at.
        new: The variables that hold an object that nobody else has.
    """
    local = local_names(source.node)

    def value_of(node: ast.expr) -> Any:
        return static_value(node, source, local)

    def of(part: ast.AST) -> Harm:
        match part:
            case ast.Raise() | ast.Assert():
                return RAISES
            case ast.AugAssign(ast.Name(name)):
                return NONE if _is_number(name, source.node) else ANY
            case ast.NamedExpr():
                return NONE
            case ast.Attribute(ast.Name(name), ctx=ast.Store()) if name in new:
                return NONE
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                return ANY
            case ast.Call(function):
                found, value = of_operation(part, value_of), value_of(function)
                if found != ANY or value is MISSING:
                    return found
                return _of_calls(called(value), seen).joined(of_given(part, value_of))
            case ast.stmt():
                return NONE if isinstance(part, _STATEMENTS) else ANY
        return of_operation(part, value_of)

    return functools.reduce(Harm.joined, map(of, _inside(source.node)), NONE)


def _inside(node: ast.FunctionDef) -> Iterable[ast.AST]:
    """The nodes in the statements of a function, without annotations."""
    parts = walk_all(node.body)
    notes = {id(note) for part in parts if isinstance(part, ast.AnnAssign) for note in walk(part.annotation)}
    return (part for part in parts if id(part) not in notes)


def _is_number(name: str, node: ast.FunctionDef) -> bool:
    """Whether a function gives a variable numbers or texts, so that ``+=`` gives it another one."""
    if name in positional(node):
        return False
    parts = walk_all(node.body)
    given = [part.value for part in parts if isinstance(part, ast.Assign) and _is_target(name, part.targets)]
    stores = sum(isinstance(p, ast.Name) and p.id == name and isinstance(p.ctx, ast.Store) for p in parts)
    added = sum(isinstance(p, ast.AugAssign) and _is_target(name, [p.target]) for p in parts)
    return bool(given) and len(given) + added == stores and all(isinstance(value, ast.Constant) for value in given)


def _is_target(name: str, targets: list[ast.expr]) -> bool:
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name


def _is_text(node: ast.expr, lowering: StraightLineLowering) -> bool:
    """Whether an expression is a known text, or a variable that is assigned one, so that ``%`` formats it."""
    if isinstance(node, ast.Name) and node.id in lowering.local:
        around = (part for part in ast.walk(lowering.source.node) if isinstance(part, ast.Assign))
        return any(_is_known_text(one.value, lowering) for one in around if _is_target(node.id, one.targets))
    return _is_known_text(node, lowering)


def _is_known_text(node: ast.expr, lowering: StraightLineLowering) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(lowering.static_value(node), str)
