"""A parameter that is a container of the function's own where none is given -> a variable for that container.

::

    def fib(n, memo=None):                    def fib(n, memo=None):
        if memo is None:                          if memo is None:
            memo = {}                 ==>             memo_ = {}
        memo[n] = …                                   memo_[n] = …
                                                  memo[n] = …

Whether a container is given is known when the program is built, so one of the two bodies is left in each copy of the
function. In the other form, the name may stand for an object of the caller's and for another one, and a change in place
could not be given back to the caller.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from hlobatch.frontend.nodes import located, walk

MOST: int = 2
"""Most parameters of a function of this kind: each doubles its statements. Chosen by judgement (2026-11)."""


def with_own_containers(node: ast.FunctionDef) -> ast.FunctionDef:
    """The definition with other variables for the containers that it makes where none is given."""
    parameters = {part.arg for part in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    if not any(_container_of(statement, parameters) for statement in node.body) or _has_own_rules(node):
        return node
    new = copy.copy(node)
    new.body = _separated(node.body, parameters, {part.id for part in walk(node) if isinstance(part, ast.Name)}, MOST)
    return new


def _separated(body: list[ast.stmt], parameters: set[str], taken: set[str], most: int) -> list[ast.stmt]:
    """Statements, with those behind the first container written once for the caller's and once for the function's."""
    for at, statement in enumerate(body):
        found = _container_of(statement, parameters)
        if found is None or not most:
            continue
        name, value = found
        own = name + "_"
        while own in taken:
            own += "_"
        taken.add(own)
        rest = _separated(body[at + 1 :], parameters, taken, most - 1)
        if not rest:
            return body
        made = located(ast.Assign([located(ast.Name(own, ast.Store()), value)], value), statement)
        inside = [made, *(_Renaming(name, own).visit(copy.deepcopy(part)) for part in rest)]
        if not isinstance(inside[-1], (ast.Return, ast.Raise)):
            inside.append(located(ast.Return(None), rest[-1]))
        test = located(
            ast.Compare(
                located(ast.Name(name, ast.Load()), statement), [ast.Is()], [located(ast.Constant(None), statement)]
            ),
            statement,
        )
        return [*body[:at], located(ast.If(test, inside, []), statement), *rest]
    return body


def _container_of(statement: ast.stmt, parameters: set[str]) -> tuple[str, ast.expr] | None:
    """The parameter and the container that it is where none is given; None for any other statement."""
    match statement:
        case ast.If(
            ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)]), [ast.Assign([ast.Name(own)], value)], []
        ):
            pass
        case ast.Assign(
            [ast.Name(own)], ast.IfExp(ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)]), value, given)
        ) if isinstance(given, ast.Name) and given.id == name:
            pass
        case _:
            return None
    return (name, value) if name == own and name in parameters and _is_container(value) else None


def _is_container(value: ast.expr) -> bool:
    """Whether an expression makes a list, a set or a dict."""
    called = value.func if isinstance(value, ast.Call) else None
    name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
    is_display = isinstance(value, (ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp))
    return is_display or name in ("list", "set", "dict", "deque", "defaultdict", "Counter", "OrderedDict")


def _has_own_rules(node: ast.FunctionDef) -> bool:
    """Whether the statements of a function cannot be written twice, or have inner scopes, where names mean others."""
    inner = (ast.Yield, ast.YieldFrom, ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal)
    return any(isinstance(part, inner) for part in walk(node) if part is not node)


class _Renaming(ast.NodeTransformer):
    """Another name in place of one."""

    def __init__(self, name: str, other: str) -> None:
        self.name, self.other = name, other

    def visit_Name(self, node: ast.Name) -> Any:
        return located(ast.Name(self.other, node.ctx), node) if node.id == self.name else node
