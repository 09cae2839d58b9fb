"""``with`` on an object of the user's -> ``try`` and ``finally``, before anything else reads the definition.

::

    with Ledger(n) as ledger:             ledger = Ledger(n)
        ledger.pay(3)             ==>     ledger.__enter__()
                                          try: ledger.pay(3)
                                          finally: ledger.__exit__(None, None, None)

``__exit__`` must not look at the exception, which differs between lanes, and drops all of them or none. Known, too, are
``contextlib.suppress``, ``closing`` and ``nullcontext``, and ``numpy.errstate``. Any other ``with`` stays, and is
refused where it is lowered.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

_MANAGER: Final = "_hb_manager"


@dataclass
class WithoutWith(ast.NodeTransformer):
    """Rewrites the ``with`` statements of one function.

    Attributes:
        resolve: Gives the value of a name from outside of the function.
        definition: Gives the definition of a method.
        node: The function.
    """

    resolve: Callable[[str], Any]
    definition: Callable[[types.FunctionType], ast.FunctionDef]
    node: ast.FunctionDef
    _managers: int = 0

    def of(self) -> ast.FunctionDef:
        """The definition without them."""
        return ast.fix_missing_locations(self.visit(copy.deepcopy(self.node)))  # type: ignore[no-any-return]

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        body = node.body
        for item in reversed(node.items):
            inner = self._lowered(item, body)
            if inner is None:
                return node
            body = [ast.copy_location(statement, item.context_expr) for statement in inner]
        return body

    def _lowered(self, item: ast.withitem, body: list[ast.stmt]) -> list[ast.stmt] | None:
        """Statements in place of a ``with`` of one item; None if there are none."""
        kind = self._kind(item.context_expr)
        given = item.context_expr.args if isinstance(item.context_expr, ast.Call) else []
        target = item.optional_vars
        if kind is contextlib.suppress and target is None and given:
            caught = ast.Tuple(given, ast.Load())
            return [ast.Try(body, [ast.ExceptHandler(caught, None, [ast.Pass()])], [], [])]
        if kind is contextlib.nullcontext:
            return [*_assigned(target, given[0] if given else ast.Constant(None)), *body]
        if kind is np.errstate and target is None and not _raises(item.context_expr):
            return body
        if kind is contextlib.closing and len(given) == 1:
            name = self._name(target, body)
            closing = ast.Expr(ast.Call(ast.Attribute(_read(name), "close", ast.Load()), [], []))
            return [*_assigned(_stored(name), given[0]), ast.Try(body, [], [], [closing])]
        return self._of_users(kind, item, body) if isinstance(kind, type) else None

    def _of_users(self, kind: type, item: ast.withitem, body: list[ast.stmt]) -> list[ast.stmt] | None:
        """Statements in place of a ``with`` on an object of a class of the user's."""
        methods = [getattr(kind, name, None) for name in ("__enter__", "__exit__")]
        known = [self.definition(method) for method in methods if isinstance(method, types.FunctionType)]
        if len(known) < len(methods):
            return None
        enter, leave = known
        drops = _drops(leave)
        if drops is None:
            return None
        is_same = _returns_itself(enter)
        name = item.context_expr.id if isinstance(item.context_expr, ast.Name) else ""
        if name and _is_given(name, body):
            return None
        made = (
            [] if name else _assigned(_stored(name := self._name(item.optional_vars, body, is_same)), item.context_expr)
        )
        entered = ast.Call(ast.Attribute(_read(name), "__enter__", ast.Load()), [], [])
        begin: list[ast.stmt] = []
        if not is_same:
            begin = _assigned(item.optional_vars or _stored(self._fresh()), entered)
        elif len(_statements(enter)) > 1:
            begin = [ast.Expr(entered)]
        if is_same and item.optional_vars is not None and not _is_named(item.optional_vars, name):
            begin += _assigned(item.optional_vars, _read(name))
        arguments: list[ast.expr] = [ast.Constant(None)] * (len(leave.args.args) - 1 or 3)
        left = ast.Expr(ast.Call(ast.Attribute(_read(name), "__exit__", ast.Load()), arguments, []))
        has_effect = any(not isinstance(part, (ast.Pass, ast.Return)) for part in _statements(leave))
        dropping = [ast.ExceptHandler(None, None, [ast.Pass()])] if drops else []  # of the body, not of `__exit__`
        leaving: list[ast.stmt] = [left] if has_effect else []
        inside = [ast.Try(body, dropping, [], leaving)] if dropping or leaving else body
        return [*made, *begin, *inside]

    def _kind(self, manager: ast.expr) -> Any:
        """The class of an object, as far as names outside of the function tell."""
        if isinstance(manager, ast.Call):
            return self._value(manager.func)
        if not isinstance(manager, ast.Name):
            return None
        parts = list(ast.walk(self.node))
        pairs = (pair for part in parts if isinstance(part, ast.Assign) for pair in _pairs(part))
        values = [value for target, value in pairs if _is_named(target, manager.id)]
        if len(values) < sum(map(functools.partial(_gives, manager.id), parts)):
            return None
        kinds = [self._value(value.func) if isinstance(value, ast.Call) else None for value in values]
        return kinds[0] if kinds and all(kind is kinds[0] for kind in kinds) else None

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return None if node.id in self._local else self.resolve(node.id)
        if isinstance(node, ast.Attribute) and isinstance(owner := self._value(node.value), (types.ModuleType, type)):
            return getattr(owner, node.attr, None)
        return None

    @property
    def _local(self) -> set[str]:
        parts = list(ast.walk(self.node))
        stored = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        return stored | {part.arg for part in parts if isinstance(part, ast.arg)}

    def _name(self, target: ast.expr | None, body: Sequence[ast.stmt], is_same: bool = True) -> str:
        """The variable for the object: the one after ``as``, if that is the object, and stays it."""
        is_kept = isinstance(target, ast.Name) and is_same and not _is_given(target.id, body)
        return target.id if isinstance(target, ast.Name) and is_kept else self._fresh()

    def _fresh(self) -> str:
        self._managers += 1
        return f"{_MANAGER}{self._managers}"


def _is_named(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _gives(name: str, part: ast.AST) -> bool:
    """Whether a node gives a name another value."""
    if isinstance(part, ast.Name):
        return part.id == name and not isinstance(part.ctx, ast.Load)
    return isinstance(part, ast.arg) and part.arg == name


def _is_given(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether statements give a name another value."""
    return any(_gives(name, part) for statement in body for part in ast.walk(statement))


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with its value; those in tuples as far as the value is a tuple, too."""
    found = list[tuple[ast.expr, ast.expr]]()
    for target in node.targets:
        if (
            isinstance(target, ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and len(target.elts) == len(node.value.elts)
        ):
            found += zip(target.elts, node.value.elts, strict=True)
        else:
            found.append((target, node.value))
    return found


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _stored(name: str) -> ast.expr:
    return ast.Name(name, ast.Store())


def _assigned(target: ast.expr | None, value: ast.expr) -> list[ast.stmt]:
    return [] if target is None else [ast.Assign([target], value)]


def _statements(definition: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a method, without its text of documentation."""
    return definition.body[ast.get_docstring(definition) is not None :]


def _returns(definition: ast.FunctionDef) -> list[ast.expr | None]:
    return [part.value for part in ast.walk(definition) if isinstance(part, ast.Return)]


def _returns_itself(enter: ast.FunctionDef) -> bool:
    """Whether ``__enter__`` returns its object at its end, and nothing before."""
    first, returned = enter.args.args[0].arg, _returns(enter)
    return len(returned) == 1 and isinstance(enter.body[-1], ast.Return) and _is_named(enter.body[-1].value, first)


def _drops(leave: ast.FunctionDef) -> bool | None:
    """Whether ``__exit__`` drops an exception; None if that depends, or it looks at the exception."""
    _, *others = [part.arg for part in ast.walk(leave.args) if isinstance(part, ast.arg)]
    if any(isinstance(part, ast.Name) and part.id in others for part in ast.walk(leave)):
        return None
    returned = [part.value if isinstance(part, ast.Constant) else part for part in _returns(leave)]
    if all(value is None or value is False for value in returned):
        return False
    is_always = all(value is True for value in returned) and isinstance(leave.body[-1], ast.Return)
    return True if is_always else None


def _raises(errstate: ast.expr) -> bool:
    """Whether ``numpy.errstate(…)`` asks for exceptions, or calls."""
    quiet = ("ignore", "warn")
    given = [keyword.value for keyword in errstate.keywords] if isinstance(errstate, ast.Call) else []
    return not all(isinstance(value, ast.Constant) and value.value in quiet for value in given)
